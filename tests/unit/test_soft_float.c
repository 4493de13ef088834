/* The small devices' floating point against the processor's: the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "firmware/small/soft_float.c"

static float value(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return f != f ? NOT_A_NUMBER : u; /* one NaN is as good as another */
}

/* Numbers where rounding, cancelling, subnormals and infinity begin. */
static const uint32_t corners[] = {
    0,           0x80000000u, 1,           2,           0x007FFFFFu, 0x00800000u, 0x00800001u, 0x00FFFFFFu, 0x01000000u,
    0x3F7FFFFFu, 0x3F800000u, 0x3F800001u, 0x3FFFFFFFu, 0x40000000u, 0x4B000000u, 0x4B7FFFFFu, 0x4B800000u, 0x7F7FFFFFu,
    0x7F800000u, 0xFF800000u, 0x7FC00000u, 0xBF800000u, 0x80000001u, 0x34000000u, 0x33800000u, 0xB3800001u, 0x7E800000u,
};
enum { CORNERS = sizeof corners / sizeof corners[0] };

static void pair(uint32_t a, uint32_t b)
{
    const volatile float x = value(a), y = value(b); /* computed by the processor, not by the compiler */
    const float sum = x + y, difference = x - y, product = x * y;
    if (__aeabi_fadd(a, b) != bits_of(sum) || __aeabi_fsub(a, b) != bits_of(difference) ||
        __aeabi_fmul(a, b) != bits_of(product)) {
        fail_msg("%08x and %08x: sum %08x %08x, difference %08x %08x, product %08x %08x", a, b, __aeabi_fadd(a, b),
                 bits_of(sum), __aeabi_fsub(a, b), bits_of(difference), __aeabi_fmul(a, b), bits_of(product));
    }
    if (__aeabi_fcmpeq(a, b) != (x == y) || __aeabi_fcmplt(a, b) != (x < y) || __aeabi_fcmple(a, b) != (x <= y) ||
        __aeabi_fcmpgt(a, b) != (x > y) || __aeabi_fcmpge(a, b) != (x >= y)) {
        fail_msg("%08x and %08x: compared otherwise", a, b);
    }
}

static uint32_t next(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

static void sums_products_and_comparisons_are_those_of_the_processor(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CORNERS; i++) {
        for (unsigned k = 0; k < CORNERS; k++) {
            pair(corners[i], corners[k]);
        }
    }
    uint32_t seed = 1;
    for (unsigned i = 0; i < 1000000; i++) {
        const uint32_t a = next(&seed), b = next(&seed);
        pair(a, b);
        pair(a, (a & 0xFF800000u) + (b & 0x03FFFFFFu)); /* near each other: cancelling */
        pair(a, corners[b % CORNERS]);
    }
}

static void integers_become_what_the_processor_makes_of_them(void **state)
{
    (void)state;
    uint32_t seed = 7;
    for (unsigned i = 0; i < 1000000; i++) {
        const int32_t v = (int32_t)(next(&seed) >> i % 32);
        const volatile int32_t w = v;
        assert_int_equal(__aeabi_i2f(v), bits_of((float)w));
        assert_int_equal(__aeabi_i2f((int32_t)(0u - (uint32_t)v)), bits_of((float)(int32_t)(0u - (uint32_t)w)));
    }
    assert_int_equal(__aeabi_i2f(0), 0);
    assert_int_equal(__aeabi_i2f(INT32_MIN), 0xCF000000u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_products_and_comparisons_are_those_of_the_processor),
        cmocka_unit_test(integers_become_what_the_processor_makes_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
