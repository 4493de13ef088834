/* divide.c - unsigned division bit by bit, for cores that have none, where size counts more than speed. */
#include <stdint.h>

/* Run-time ABI for the Arm architecture: quotient in r0, remainder in r1. */
uint64_t __aeabi_uidivmod(uint32_t n, uint32_t d);
uint32_t __aeabi_uidiv(uint32_t n, uint32_t d);

/* d is not 0: nothing the loader accepts divides by it. */
uint64_t __aeabi_uidivmod(uint32_t n, uint32_t d)
{
    uint32_t quotient = 0, rest = 0;
    for (unsigned i = 0; i < 32; i++) {
        rest = rest << 1 | n >> 31;
        n <<= 1;
        quotient <<= 1;
        if (rest >= d) {
            rest -= d;
            quotient |= 1u;
        }
    }
    return (uint64_t)rest << 32 | quotient;
}

uint32_t __aeabi_uidiv(uint32_t n, uint32_t d)
{
    return (uint32_t)__aeabi_uidivmod(n, d);
}
