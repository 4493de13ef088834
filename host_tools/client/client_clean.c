/* client_clean.c - strings from a device made fit for a terminal and for JSON.
 *
 * A name may hold any bytes; an escape sequence in it would command the user's terminal, and broken UTF-8 would
 * cost a whole JSON document. Both become '?', in place, once, where messages are decoded.
 */
#include "host_tools/client/client_priv.h"
#include <pb_common.h>

/* Bytes of the UTF-8 sequence at p, 0 when it is none (or an overlong, surrogate or C1 control). */
static size_t utf8_length(const uint8_t *p)
{
    const size_t n = p[0] < 0x80                   ? 1
                     : p[0] >= 0xC2 && p[0] < 0xE0 ? 2
                     : (p[0] & 0xF0) == 0xE0       ? 3
                     : p[0] >= 0xF0 && p[0] < 0xF5 ? 4
                                                   : 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80) { /* also the end of the string */
            return 0;
        }
    }
    const bool overlong = (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xF0 && p[1] < 0x90);
    const bool outside = (p[0] == 0xED && p[1] >= 0xA0) || (p[0] == 0xF4 && p[1] >= 0x90);
    const bool control = (p[0] == 0xC2 && p[1] < 0xA0) || (n == 1 && (p[0] < 0x20 || p[0] == 0x7F));
    return overlong || outside || control ? 0 : n;
}

void client_clean_text(char *text)
{
    for (uint8_t *p = (uint8_t *)text; *p;) {
        const size_t n = utf8_length(p);
        if (n == 0) {
            *p = '?';
        }
        p += n ? n : 1;
    }
}

/* Depth is that of the schema, not of anything received. */
void client_clean(const pb_msgdesc_t *fields, void *msg)
{
    pb_field_iter_t f;
    if (!pb_field_iter_begin(&f, fields, msg)) {
        return;
    }
    do {
        if (PB_ATYPE(f.type) != PB_ATYPE_STATIC || PB_HTYPE(f.type) == PB_HTYPE_REPEATED) {
            continue;
        }
        if (PB_LTYPE(f.type) == PB_LTYPE_STRING) {
            client_clean_text(f.pData);
        } else if (PB_LTYPE_IS_SUBMSG(f.type)) {
            client_clean(f.submsg_desc, f.pData);
        }
    } while (pb_field_iter_next(&f));
}
