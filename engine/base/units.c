#include "engine/base/units.h"

static const tw_unit_scale_t scales[] = {
#define TW_UNIT(code, text, NAME, primary, num, den, offset, kind) [code] = {primary, TW_UNIT_##kind, offset, num, den},
#include "engine/base/units.def"
};

const tw_unit_scale_t *tw_unit_scale(uint32_t unit)
{
    return unit < TW_COUNT(scales) ? &scales[unit] : NULL;
}

static tw_err_t find_pair(uint32_t from, uint32_t to, const tw_unit_scale_t **f, const tw_unit_scale_t **t)
{
    *f = tw_unit_scale(from);
    *t = tw_unit_scale(to);
    if (*f == NULL || *t == NULL) {
        return TW_E_ARG;
    }
    return (*f)->primary == (*t)->primary ? TW_OK : TW_E_UNSUPPORTED;
}

/* ---- rationals ------------------------------------------------------------------ */

static uint64_t magnitude(int64_t v)
{
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

static int64_t common(int64_t a, int64_t b)
{
    uint64_t x = magnitude(a), y = magnitude(b);
    while (y != 0) {
        const uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x > INT64_MAX || x == 0 ? 1 : (int64_t)x;
}

static tw_ratio_t reduced(int64_t num, int64_t den)
{
    const int64_t by = common(num, den);
    return (tw_ratio_t){num / by, den / by};
}

/* *v *= num / den. Crosswise reduction first: what fits reduced is not refused for its steps. */
static bool scale(tw_ratio_t *v, int64_t num, int64_t den)
{
    const tw_ratio_t a = reduced(v->num, den), b = reduced(num, v->den);
    tw_ratio_t out;
    if (__builtin_mul_overflow(a.num, b.num, &out.num) || __builtin_mul_overflow(b.den, a.den, &out.den)) {
        return false;
    }
    *v = reduced(out.num, out.den);
    return true;
}

static bool add(tw_ratio_t *v, int64_t whole)
{
    int64_t step;
    tw_ratio_t out = *v;
    if (__builtin_mul_overflow(whole, v->den, &step) || __builtin_add_overflow(v->num, step, &out.num)) {
        return false;
    }
    *v = reduced(out.num, out.den);
    return true;
}

tw_err_t tw_unit_convert_exact(uint32_t from, uint32_t to, tw_ratio_t v, tw_ratio_t *out)
{
    const tw_unit_scale_t *f, *t;
    TW_TRY(find_pair(from, to, &f, &t));
    if (v.den <= 0) {
        return TW_E_ARG;
    }
    v = reduced(v.num, v.den);
    if (from != to && !(scale(&v, f->num, f->den) && add(&v, f->offset - t->offset) && scale(&v, t->den, t->num))) {
        return TW_E_RANGE;
    }
    *out = v;
    return TW_OK;
}

/* ---- doubles ---------------------------------------------------------------------- */

tw_err_t tw_unit_convert_f64(uint32_t from, uint32_t to, double v, double *out)
{
    const tw_unit_scale_t *f, *t;
    TW_TRY(find_pair(from, to, &f, &t));
    *out = from == to ? v : (v * f->num / f->den + (f->offset - t->offset)) * t->den / t->num;
    return TW_OK;
}

tw_unit_kind_t tw_unit_convert_kind(uint32_t from, uint32_t to)
{
    const tw_unit_scale_t *f = tw_unit_scale(from), *t = tw_unit_scale(to);
    if (from == to || f == NULL || t == NULL) {
        return TW_UNIT_EXACT;
    }
    return f->kind > t->kind ? (tw_unit_kind_t)f->kind : (tw_unit_kind_t)t->kind;
}
