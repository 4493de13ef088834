/* utf8.h - which bytes of a foreign string may be shown.
 *
 * Names come from images and from clients and may hold any bytes: an escape sequence would command
 * the terminal that shows it, and broken UTF-8 costs a protobuf reader the whole message.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of the UTF-8 sequence at p, which ends with NUL; 0: none, an overlong one, a surrogate or a control. */
static inline size_t tw_utf8_printable(const uint8_t *p)
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
