/* server_text.h - short texts for people, built without stdio into a fixed buffer.
 *
 * Always NUL-terminated; what does not fit is cut. Numbers are printed to six
 * significant digits, enough to recognise a parameter value.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct tw_text {
    char *p;
    uint32_t cap, used; /* `used` without the NUL */
} tw_text_t;

void tw_text_init(tw_text_t *t, char *buf, size_t cap);
/** Whatever is no printable UTF-8 becomes '?': names come from clients and images. */
void tw_text_str(tw_text_t *t, const char *s);
void tw_text_int(tw_text_t *t, int64_t v);
void tw_text_hex(tw_text_t *t, uint32_t v);
void tw_text_num(tw_text_t *t, double v);

/** Copy a string into a message field, cut and terminated, as tw_text_str() does. */
void tw_copy_str(char *dst, size_t cap, const char *src);
