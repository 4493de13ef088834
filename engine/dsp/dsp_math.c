#include "engine/dsp/dsp_math.h"
#include <string.h>

#define LN2_HI 6.93147180369123816490e-01 /* the upper 32 bits of ln 2: times a small integer it is exact */
#define LN2_LO 1.90821492927058770002e-10
#define HALF_PI_HI 1.57079632673412561417e+00 /* the upper 33 bits of pi / 2 */
#define HALF_PI_LO 6.07710050650619224932e-11
#define SQRT2 1.41421356237309504880

static double from_bits(uint64_t u)
{
    double d;
    memcpy(&d, &u, sizeof d);
    return d;
}

static uint64_t to_bits(double d)
{
    uint64_t u;
    memcpy(&u, &d, sizeof u);
    return u;
}

static int32_t nearest(double x)
{
    return (int32_t)(x + (x < 0 ? -0.5 : 0.5));
}

double tw_exp(double x)
{
    if (!(x > -708.0)) {
        return x < 0 ? 0.0 : x; /* NaN stays */
    }
    if (x > 709.0) {
        return from_bits(0x7FF0000000000000u);
    }
    const int32_t k = nearest(x * 1.44269504088896340736);
    const double r = x - k * LN2_HI - k * LN2_LO;
    double sum = 1.0;
    for (int i = 14; i >= 1; i--) { /* Taylor, |r| <= 0.347 */
        sum = 1.0 + sum * r / i;
    }
    return sum * from_bits((uint64_t)(k + 1023) << 52);
}

double tw_log(double x)
{
    if (!(x > 0.0)) {
        return x <= 0.0 ? from_bits(0xFFF0000000000000u) : x;
    }
    int32_t e = 0;
    if (x < 2.3e-308) { /* denormal */
        x *= 18014398509481984.0;
        e = -54;
    }
    const uint64_t u = to_bits(x);
    if (u >= 0x7FF0000000000000u) {
        return x;
    }
    e += (int32_t)(u >> 52) - 1023;
    double m = from_bits((u & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u);
    if (m > SQRT2) {
        m *= 0.5;
        e++;
    }
    const double z = (m - 1.0) / (m + 1.0), q = z * z; /* ln m = 2 artanh z, |z| <= 0.172 */
    double sum = 0.0;
    for (int i = 21; i >= 3; i -= 2) {
        sum = (sum + 1.0 / i) * q;
    }
    return e * LN2_HI + (e * LN2_LO + 2.0 * z * sum + 2.0 * z);
}

double tw_pow(double x, double y)
{
    if (x > 0.0) {
        return tw_exp(y * tw_log(x));
    }
    return y == 0.0 ? 1.0 : x < 0.0 ? from_bits(0x7FF8000000000000u) : y > 0.0 ? 0.0 : from_bits(0x7FF0000000000000u);
}

double tw_sqrt(double x)
{
    if (!(x > 0.0)) {
        return 0.0;
    }
    if (x < 2.3e-308 || to_bits(x) >= 0x7FF0000000000000u) {
        return x < 1.0 ? tw_sqrt(x * 18014398509481984.0) / 134217728.0 : x;
    }
    double y = from_bits((to_bits(x) >> 1) + 0x1FF7A3BEA91D9B1Bu); /* halves the exponent: within 4 % */
    for (int i = 0; i < 4; i++) {
        y = 0.5 * (y + x / y);
    }
    return y;
}

static double sin_small(double r)
{
    const double s = r * r;
    double sum = 1.0;
    for (int k = 16; k >= 2; k -= 2) {
        sum = 1.0 - sum * s / (k * (k + 1));
    }
    return r * sum;
}

static double cos_small(double r)
{
    const double s = r * r;
    double sum = 1.0;
    for (int k = 17; k >= 1; k -= 2) {
        sum = 1.0 - sum * s / (k * (k + 1));
    }
    return sum;
}

/* sin(x + quarters * pi / 2) */
static double sine(double x, int32_t quarters)
{
    const int32_t k = nearest(x * 0.63661977236758134308);
    const double r = x - k * HALF_PI_HI - k * HALF_PI_LO;
    const uint32_t q = (uint32_t)(k + quarters) & 3u;
    const double v = (q & 1u) != 0 ? cos_small(r) : sin_small(r);
    return q < 2 ? v : -v;
}

static int in_reach(double x)
{
    return x > -1073741824.0 && x < 1073741824.0;
}

double tw_sin(double x)
{
    return in_reach(x) ? sine(x, 0) : 0.0;
}

double tw_cos(double x)
{
    return in_reach(x) ? sine(x, 1) : 1.0;
}

/* |t| <= tan(pi / 8): Euler's series, each term at most 0.146 of the one before. */
static double atan_small(double t)
{
    const double q = t * t / (1.0 + t * t);
    double sum = 1.0;
    for (int k = 20; k >= 1; k--) {
        sum = 1.0 + sum * q * (2.0 * k) / (2.0 * k + 1.0);
    }
    return sum * t / (1.0 + t * t);
}

double tw_atan(double x)
{
    const double t = x < 0 ? -x : x;
    double a;
    if (t > 2.414213562373095) {
        a = TW_PI / 2 - atan_small(1.0 / t);
    } else if (t > 0.4142135623730950) {
        a = TW_PI / 4 + atan_small((t - 1.0) / (t + 1.0));
    } else {
        a = atan_small(t); /* NaN comes here and stays */
    }
    return x < 0 ? -a : a;
}

double tw_atan2(double y, double x)
{
    const double ax = x < 0 ? -x : x, ay = y < 0 ? -y : y;
    if (ax == 0.0 && ay == 0.0) {
        return 0.0;
    }
    const double first = ay <= ax ? tw_atan(ay / ax) : TW_PI / 2 - tw_atan(ax / ay);
    const double half = x < 0 ? TW_PI - first : first;
    return y < 0 ? -half : half;
}

double tw_floor(double x)
{
    if (!(x > -4503599627370496.0 && x < 4503599627370496.0)) {
        return x; /* whole already, or no number */
    }
    const double t = (double)(int64_t)x;
    return t > x ? t - 1.0 : t;
}

uint32_t tw_rand(uint32_t *state)
{
    uint32_t v = *state == 0 ? 1u : *state;
    v ^= v << 13;
    v ^= v >> 17;
    v ^= v << 5;
    *state = v;
    return v;
}

/* a after b; NaN after all numbers */
static int after(float a, float b)
{
    return a > b || (a != a && b == b);
}

static void sift_down(float *v, uint32_t root, uint32_t n)
{
    for (uint32_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
        if (child + 1 < n && after(v[child + 1], v[child])) {
            child++;
        }
        if (!after(v[child], v[root])) {
            return;
        }
        const float t = v[root];
        v[root] = v[child];
        v[child] = t;
        root = child;
    }
}

void tw_sort_f32(float *v, uint32_t n)
{
    for (uint32_t i = n / 2; i-- > 0;) {
        sift_down(v, i, n);
    }
    for (uint32_t last = n; last-- > 1;) {
        const float t = v[0];
        v[0] = v[last];
        v[last] = t;
        sift_down(v, 0, last);
    }
}
