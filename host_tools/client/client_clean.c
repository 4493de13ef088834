/* client_clean.c - strings from a device made fit for a terminal and for JSON.
 *
 * A name may hold any bytes; an escape sequence in it would command the user's terminal, and broken UTF-8 would
 * cost a whole JSON document. Both become '?', in place, once, where messages are decoded.
 */
#include "engine/base/utf8.h"
#include "host_tools/client/client_priv.h"
#include <pb_common.h>

void client_clean_text(char *text)
{
    for (uint8_t *p = (uint8_t *)text; *p;) {
        const size_t n = tw_utf8_printable(p);
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
