/* biquad_design.c - see biquad_design.h. */
#include "host_tools/client/biquad_design.h"
#include <math.h>

/* Cookbook form: b and a with a0 not yet divided out. */
typedef struct raw_biquad {
    double b0, b1, b2, a0, a1, a2;
} raw_biquad_t;

static raw_biquad_t cookbook(tw_biquad_kind_t kind, double w, double q, double gain_db)
{
    const double c = cos(w), alpha = sin(w) / (2 * q), amp = pow(10, gain_db / 40);
    switch (kind) {
    case TW_BQ_BYPASS:
        break;
    case TW_BQ_LOWPASS:
        return (raw_biquad_t){(1 - c) / 2, 1 - c, (1 - c) / 2, 1 + alpha, -2 * c, 1 - alpha};
    case TW_BQ_HIGHPASS:
        return (raw_biquad_t){(1 + c) / 2, -(1 + c), (1 + c) / 2, 1 + alpha, -2 * c, 1 - alpha};
    case TW_BQ_BANDPASS:
        return (raw_biquad_t){alpha, 0, -alpha, 1 + alpha, -2 * c, 1 - alpha};
    case TW_BQ_NOTCH:
        return (raw_biquad_t){1, -2 * c, 1, 1 + alpha, -2 * c, 1 - alpha};
    case TW_BQ_PEAK:
        return (raw_biquad_t){1 + alpha * amp, -2 * c, 1 - alpha * amp, 1 + alpha / amp, -2 * c, 1 - alpha / amp};
    }
    return (raw_biquad_t){.b0 = 1, .a0 = 1};
}

bool tw_biquad_design(tw_biquad_kind_t kind, double f_hz, double rate_hz, double q, double gain_db, tw_biquad_t *out)
{
    if (kind != TW_BQ_BYPASS && !(f_hz > 0 && f_hz < rate_hz / 2 && q > 0 && isfinite(q) && fabs(gain_db) <= 120)) {
        return false;
    }
    const raw_biquad_t r = cookbook(kind, rate_hz > 0 ? 2 * M_PI * f_hz / rate_hz : 0, q, gain_db);
    *out = (tw_biquad_t){r.b0 / r.a0, r.b1 / r.a0, r.b2 / r.a0, -r.a1 / r.a0, -r.a2 / r.a0};
    return true;
}

double tw_biquad_gain(const tw_biquad_t *s, double f_hz, double rate_hz)
{
    const double w = 2 * M_PI * f_hz / rate_hz;
    const double c1 = cos(w), s1 = sin(w), c2 = cos(2 * w), s2 = sin(2 * w);
    const double num = hypot(s->b0 + s->b1 * c1 + s->b2 * c2, s->b1 * s1 + s->b2 * s2);
    const double den = hypot(1 - s->a1 * c1 - s->a2 * c2, s->a1 * s1 + s->a2 * s2);
    return num / den;
}

/* Poles: roots of z^2 - a1 z - a2. */
double tw_biquad_radius(const tw_biquad_t *s)
{
    const double d = s->a1 * s->a1 + 4 * s->a2;
    if (d < 0) {
        return sqrt(-s->a2);
    }
    return fmax(fabs(s->a1 + sqrt(d)), fabs(s->a1 - sqrt(d))) / 2;
}

static bool to_q15(const tw_biquad_t *s, int shift, int16_t out[5])
{
    const double c[5] = {s->b0, s->b1, s->b2, s->a1, s->a2};
    for (unsigned i = 0; i < 5; i++) {
        const double q = nearbyint(ldexp(c[i], 15 - shift));
        /* Exactly one, as in a bypass, is worth one step less rather than a whole bit of all others. */
        if (!(q >= -32768 && q <= 32768)) {
            return false;
        }
        out[i] = (int16_t)(q > 32767 ? 32767 : q);
    }
    return true;
}

bool tw_biquad_quantise(const tw_biquad_t *s, unsigned stages, int shift_max, int16_t (*out)[5], int *post_shift)
{
    for (int shift = 0; shift <= shift_max; shift++) {
        bool fits = true;
        for (unsigned i = 0; i < stages && fits; i++) {
            fits = to_q15(&s[i], shift, out[i]);
        }
        if (fits) {
            *post_shift = shift;
            return true;
        }
    }
    return false;
}

tw_biquad_t tw_biquad_from_q15(const int16_t q[5], int post_shift)
{
    return (tw_biquad_t){ldexp(q[0], post_shift - 15), ldexp(q[1], post_shift - 15), ldexp(q[2], post_shift - 15),
                         ldexp(q[3], post_shift - 15), ldexp(q[4], post_shift - 15)};
}

static double cascade_gain(const tw_biquad_t *s, unsigned stages, double f)
{
    double g = 1;
    for (unsigned i = 0; i < stages; i++) {
        g *= tw_biquad_gain(&s[i], f, 2);
    }
    return g;
}

double tw_biquad_distance(const tw_biquad_t *a, const tw_biquad_t *b, unsigned stages)
{
    double top = 0, worst = 0;
    for (int i = 0; i <= 2000; i++) {
        /* half the points below 1/100 of the band: low corners are where few bits hurt */
        const double f = i <= 1000 ? i / 100000.0 : 0.01 + (i - 1000) * 0.00099;
        const double ga = cascade_gain(a, stages, f);
        top = fmax(top, ga);
        worst = fmax(worst, fabs(ga - cascade_gain(b, stages, f)));
    }
    return top > 0 ? worst / top : worst;
}
