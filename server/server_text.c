/* server_text.c - numbers and strings into a line of text. */
#include "engine/base/utf8.h"
#include "server/server_text.h"

void tw_text_init(tw_text_t *t, char *buf, size_t cap)
{
    *t = (tw_text_t){.p = buf, .cap = (uint32_t)cap};
    buf[0] = '\0';
}

static void put(tw_text_t *t, char c)
{
    if (t->used + 1 < t->cap) {
        t->p[t->used++] = c;
        t->p[t->used] = '\0';
    }
}

/* Whole characters only; '?' for what must not be shown. */
void tw_text_str(tw_text_t *t, const char *s)
{
    while (*s != '\0') {
        const size_t n = tw_utf8_printable((const uint8_t *)s);
        if (n == 0) {
            put(t, '?');
        } else if (t->used + n >= t->cap) {
            return;
        }
        for (size_t i = 0; i < n; i++) {
            put(t, s[i]);
        }
        s += n != 0 ? n : 1;
    }
}

static void put_u64(tw_text_t *t, uint64_t v)
{
    char digits[20];
    unsigned n = 0;
    do {
        digits[n++] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    while (n > 0) {
        put(t, digits[--n]);
    }
}

void tw_text_int(tw_text_t *t, int64_t v)
{
    if (v < 0) {
        put(t, '-');
    }
    put_u64(t, v < 0 ? 0u - (uint64_t)v : (uint64_t)v);
}

void tw_text_hex(tw_text_t *t, uint32_t v)
{
    tw_text_str(t, "0x");
    int shift = 28;
    while (shift > 0 && (v >> shift) == 0) {
        shift -= 4;
    }
    for (; shift >= 0; shift -= 4) {
        put(t, "0123456789abcdef"[(v >> shift) & 15u]);
    }
}

/* `v` rounded to the millionth, trailing zeros left out; v < 1e7. */
static void put_fixed(tw_text_t *t, double v)
{
    const uint64_t scaled = (uint64_t)(v * 1e6 + 0.5);
    put_u64(t, scaled / 1000000);
    uint32_t frac = (uint32_t)(scaled % 1000000);
    if (frac == 0) {
        return;
    }
    put(t, '.');
    for (; frac != 0; frac = frac % 100000 * 10) {
        put(t, (char)('0' + frac / 100000));
    }
}

void tw_text_num(tw_text_t *t, double v)
{
    if (v != v) {
        tw_text_str(t, "NaN");
        return;
    }
    if (v < 0) {
        put(t, '-');
        v = -v;
    }
    if (v > 1.7976931348623157e308) {
        tw_text_str(t, "infinity");
        return;
    }
    int exponent = 0;
    while (v >= 1e7) {
        v /= 10;
        exponent++;
    }
    while (v != 0 && v < 1e-4) {
        v *= 10;
        exponent--;
    }
    /* a large number is reduced to 1..10 so that six digits say it all */
    while (exponent > 0 && v >= 10) {
        v /= 10;
        exponent++;
    }
    put_fixed(t, v);
    if (exponent != 0) {
        put(t, 'e');
        tw_text_int(t, exponent);
    }
}

void tw_copy_str(char *dst, size_t cap, const char *src)
{
    tw_text_t t;
    tw_text_init(&t, dst, cap);
    tw_text_str(&t, src);
}
