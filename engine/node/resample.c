#include "engine/node/resample.h"
#include <stddef.h>

enum { SIDE = 32 }; /* of the window, in samples of the lower rate */
#define CUT_OFF 0.45
#define BETA 10.06

/* ---- the ratio -------------------------------------------------------------------- */

static double distance(double a, double b)
{
    return a > b ? a - b : b - a;
}

/* Convergents of the continued fraction of v, 0 < v <= 1: each is the nearest with numbers as small. */
static bool fraction(double v, uint32_t *num, uint32_t *den)
{
    uint32_t p0 = 1, q0 = 0, p1 = 0, q1 = 1;
    double rest = v;
    while (distance((double)p1 / (double)q1, v) > v / 8388608.0) {
        if (rest * TW_RESAMPLE_RATIO_MAX < 1.0) {
            return false;
        }
        const double turned = 1.0 / rest;
        const uint32_t a = (uint32_t)turned;
        const uint32_t p = a * p1 + p0, q = a * q1 + q0;
        if (q > TW_RESAMPLE_RATIO_MAX) {
            return false;
        }
        p0 = p1;
        q0 = q1;
        p1 = p;
        q1 = q;
        rest = turned - (double)a;
    }
    *num = p1;
    *den = q1;
    return true;
}

bool tw_resample_plan(tw_resample_t *r, float from_hz, float to_hz)
{
    if (!(from_hz > 0 && from_hz < 1e30f && to_hz > 0 && to_hz < 1e30f)) {
        return false;
    }
    const double ratio = (double)to_hz / (double)from_hz;
    const bool ok = ratio <= 1 ? fraction(ratio, &r->up, &r->down) : fraction(1 / ratio, &r->down, &r->up);
    if (ok) {
        r->half = r->down <= r->up ? SIDE : (SIDE * r->down + r->up - 1) / r->up;
    }
    return ok;
}

/* ---- the filter ---------------------------------------------------------------------- */

/* sin(pi x), x >= 0: Taylor on a quarter of a turn, error below 1e-12. */
static double sin_pi(double x)
{
    double t = x - 2.0 * (double)(uint32_t)(x / 2.0); /* 0 .. 2 */
    const double sign = t > 1.0 ? -1.0 : 1.0;
    t = t > 1.0 ? t - 1.0 : t;
    t = t > 0.5 ? 1.0 - t : t;
    const double a = t * 3.14159265358979324, s = a * a;
    double sum = 1.0;
    for (int k = 16; k >= 2; k -= 2) {
        sum = 1.0 - sum * s / (double)(k * (k + 1));
    }
    return sign * a * sum;
}

/* Modified Bessel function I0 by its series in (x / 2)^2; 30 terms leave 1e-15 for x up to 12. */
static double bessel_i0(double square)
{
    double sum = 1.0;
    for (int k = 30; k >= 1; k--) {
        sum = 1.0 + sum * square / (double)(k * k);
    }
    return sum;
}

double tw_resample_tap(double u, double low, uint32_t half)
{
    const double away = u < 0 ? -u : u, x = 2.0 * CUT_OFF * low * away, edge = away / (double)half;
    const double sinc = away > 0 ? sin_pi(x) / (3.14159265358979324 * x) : 1.0;
    const double window = edge < 1.0 ? bessel_i0(BETA * BETA / 4.0 * (1.0 - edge * edge)) : 1.0;
    return sinc * window;
}

static double tap(const tw_resample_t *r, uint32_t v)
{
    const double low = r->down > r->up ? (double)r->up / (double)r->down : 1.0;
    return tw_resample_tap((double)v / (double)r->up, low, r->half);
}

static double row_sum(const float *row, uint32_t n)
{
    double sum = 0;
    for (uint32_t k = 0; k < n; k++) {
        sum += (double)row[k];
    }
    return sum;
}

/* Phases p and up - p use the same two rows, so one factor serves both. */
static void scale(const tw_resample_t *r, float *table, uint32_t p)
{
    float *a = table + p * r->half, *b = table + (r->up - p) * r->half;
    const double factor = 1.0 / (row_sum(a, r->half) + row_sum(b, r->half));
    for (uint32_t k = 0; k < r->half; k++) {
        a[k] = (float)((double)a[k] * factor);
        b[k] = a == b ? a[k] : (float)((double)b[k] * factor);
    }
}

void tw_resample_design(const tw_resample_t *r, float *table)
{
    const double top = tap(r, 0);
    for (uint32_t p = 0; p <= r->up; p++) {
        for (uint32_t k = 0; k < r->half; k++) {
            table[p * r->half + k] = (float)(tap(r, k * r->up + p) / top);
        }
    }
    for (uint32_t p = 0; p <= r->up / 2; p++) {
        scale(r, table, p);
    }
}

/* Two sums each, so that an addition need not wait for the one before. x runs back in time, or forth. */
static float dot_back(const float *x, const float *row, uint32_t n)
{
    float even = 0, odd = 0;
    for (uint32_t k = 0; k + 1 < n; k += 2) {
        even += x[-(int32_t)k] * row[k];
        odd += x[-(int32_t)k - 1] * row[k + 1];
    }
    return even + odd + (n % 2 != 0 ? x[-(int32_t)(n - 1)] * row[n - 1] : 0.0f);
}

static float dot_forth(const float *x, const float *row, uint32_t n)
{
    float even = 0, odd = 0;
    for (uint32_t k = 0; k + 1 < n; k += 2) {
        even += x[k] * row[k];
        odd += x[k + 1] * row[k + 1];
    }
    return even + odd + (n % 2 != 0 ? x[n - 1] * row[n - 1] : 0.0f);
}

void tw_resample_run(const tw_resample_t *r, const float *table, const float *x, uint32_t pos, double *y, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++, pos += r->down) {
        const uint32_t phase = pos % r->up;
        const float *centre = x + pos / r->up + r->half;
        y[i] = (double)(dot_back(centre - 1, table + phase * r->half, r->half) +
                        dot_forth(centre, table + (r->up - phase) * r->half, r->half));
    }
}

/* ---- any ratio, even one that moves -------------------------------------------------------- */

bool tw_drift_plan(tw_drift_t *d, float from_hz, float to_hz)
{
    tw_resample_t r;
    if (!(from_hz > 0 && from_hz < 1e30f && to_hz > 0 && to_hz < 1e30f && from_hz <= to_hz * TW_DRIFT_RATIO_MAX &&
          to_hz <= from_hz * TW_DRIFT_RATIO_MAX)) {
        return false;
    }
    const double ratio = (double)from_hz / (double)to_hz;
    *d = (tw_drift_t){.step = (uint64_t)(ratio * 4294967296.0), .den = 1};
    d->low = ratio > 1.0 ? 1.0 / ratio : 1.0;
    d->half = SIDE;
    while ((double)d->half < SIDE * ratio) {
        d->half++;
    }
    if (tw_resample_plan(&r, from_hz, to_hz) && (double)from_hz * r.up == (double)to_hz * r.down) { /* and no nearer */
        d->den = r.up;
        d->step = ((uint64_t)r.down << 32) / r.up;
        d->rest = (uint32_t)(((uint64_t)r.down << 32) % r.up);
    }
    return true;
}

void tw_drift_design(const tw_drift_t *d, float *table)
{
    const uint32_t n = 2 * d->half;
    const double top = tw_resample_tap(0.0, d->low, d->half);
    for (uint32_t p = 0; p < TW_DRIFT_ROWS; p++) {
        float *row = table + (size_t)p * n;
        for (uint32_t k = 0; k < n; k++) {
            const double u = (double)(n - 1 - k) + ((double)p - 1.0) / TW_DRIFT_PHASES - (double)d->half;
            row[k] = (float)(tw_resample_tap(u, d->low, d->half) / top);
        }
        const double factor = 1.0 / row_sum(row, n);
        for (uint32_t k = 0; k < n; k++) {
            row[k] = (float)((double)row[k] * factor);
        }
    }
}

void tw_drift_filter(const tw_drift_t *d, const float *restrict table, uint32_t phase, float *restrict row)
{
    const uint32_t n = 2 * d->half;
    const float t = (float)(phase << TW_DRIFT_PHASES_LOG2) * (1.0f / 4294967296.0f);
    const float *restrict a = table + (size_t)(phase >> (32 - TW_DRIFT_PHASES_LOG2)) * n;
    const float *restrict b = a + n, *restrict c = b + n, *restrict e = c + n;
    const float wa = t * (t - 1) * (t - 2) * (-1.0f / 6.0f), wb = (t + 1) * (t - 1) * (t - 2) * 0.5f;
    const float wc = (t + 1) * t * (t - 2) * -0.5f, we = (t + 1) * t * (t - 1) * (1.0f / 6.0f);
    for (uint32_t k = 0; k < n; k++) {
        row[k] = wa * a[k] + wb * b[k] + wc * c[k] + we * e[k];
    }
}

/* Eight sums each, so that a vector unit may add them side by side. */
float tw_drift_dot(const float *restrict row, const float *restrict x, uint32_t n)
{
    float sum[8] = {0};
    uint32_t k = 0;
    for (; k + 8 <= n; k += 8) {
        for (uint32_t i = 0; i < 8; i++) {
            sum[i] += row[k + i] * x[k + i];
        }
    }
    for (; k < n; k++) {
        sum[k % 8] += row[k] * x[k];
    }
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}
