/* memory.c - the four memory functions the engine needs, a byte at a time: for cores where size counts more than speed.
 */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
int memcmp(const void *a, const void *b, size_t n);

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    while (n-- > 0) {
        *t++ = *f++;
    }
    return to;
}

void *memmove(void *to, const void *from, size_t n)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    if (t <= f) {
        return memcpy(to, from, n);
    }
    while (n-- > 0) {
        t[n] = f[n];
    }
    return to;
}

void *memset(void *to, int value, size_t n)
{
    uint8_t *t = to;
    while (n-- > 0) {
        *t++ = (uint8_t)value;
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const uint8_t *x = a, *y = b;
    for (; n-- > 0; x++, y++) {
        if (*x != *y) {
            return *x - *y;
        }
    }
    return 0;
}
