/* cobs.c - consistent overhead byte stuffing: any bytes as bytes without zero.
 *
 * A code byte c stands for c - 1 bytes that follow and, when c < 255 and more
 * follows, one zero. Delimiters are the transport's. Used on UART and SPI.
 */
#include "protocol/frame.h"

enum { RUN_MAX = 0xFF };

size_t tw_cobs_encode(const uint8_t *in, size_t n, uint8_t *out, size_t cap)
{
    size_t code_at = 0, w = 1;
    uint8_t code = 1;
    if (cap == 0) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (code == RUN_MAX) { /* a full run stands for no zero: only opened when a byte follows it */
            out[code_at] = code;
            code_at = w++;
            code = 1;
        }
        if (w + (in[i] != 0) > cap) {
            return 0;
        }
        if (in[i] != 0) {
            out[w++] = in[i];
            code++;
        } else {
            out[code_at] = code;
            code_at = w++;
            code = 1;
        }
    }
    if (w > cap) {
        return 0;
    }
    out[code_at] = code;
    return w;
}

size_t tw_cobs_decode(const uint8_t *in, size_t n, uint8_t *out, size_t cap)
{
    size_t w = 0;
    for (size_t i = 0; i < n;) {
        const size_t run = in[i++];
        if (run == 0 || run - 1 > n - i || run - 1 > cap - w) {
            return 0;
        }
        for (size_t k = 1; k < run; k++, i++) {
            if (in[i] == 0) {
                return 0;
            }
            out[w++] = in[i];
        }
        if (run < RUN_MAX && i < n) {
            if (w == cap) {
                return 0;
            }
            out[w++] = 0;
        }
    }
    return w;
}
