/* script_compute.c - see script_compute.h. Elements are taken out of their window in short runs of one type, so that
 * the type is looked at once a run and not once an element. */
#include "engine/base/crc.h"
#include "engine/script/script_compute.h"
#include "engine/script/script_value_priv.h"

enum { CHUNK = 32 };
#define LN10 2.30258509299404568402
#define PER_LN10 0.43429448190325182765
#define NOT_A_NUMBER_BITS 0x7FF8000000000000u

typedef struct window {
    uint8_t *at;
    uint32_t n; /* elements */
    uint8_t type, bytes;
} window_t;

typedef enum form { F_WINDOW, F_PAIR, F_MOVE, F_ONE, F_TWO } form_t;
static const struct {
    uint8_t id, form;
    const char *name, *form_name;
} rows[] = {
#define TW_COMPUTE(id, NAME, name, FORM, meaning) {id, F_##FORM, name, #FORM},
#include "engine/script/script_compute.def"
};

const char *tw_script_compute_name(uint32_t id, const char **form)
{
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        if (rows[i].id == id) {
            *form = rows[i].form_name;
            return rows[i].name;
        }
    }
    return NULL;
}

/* ---- elements ---------------------------------------------------------------------- */

static bool computable(unsigned type)
{
    return type != TW_T_PTR && type != TW_T_FP8A && type != TW_T_FP8B;
}

static bool is_real(unsigned type)
{
    return type == TW_T_FP16 || type == TW_T_FP32 || type == TW_T_FP64;
}

static tw_sv_t element(const window_t *w, uint32_t i)
{
    uint64_t bits = 0;
    for (uint32_t b = 0; b < w->bytes; b++) {
        bits |= (uint64_t)w->at[(size_t)i * w->bytes + b] << 8 * b;
    }
    return tw_sv_from_bits(w->type, bits);
}

static void set_element(const window_t *w, uint32_t i, tw_sv_t v)
{
    uint8_t unused = 0;
    const uint64_t bits = tw_sv_bits(tw_sv_convert(v, w->type, &unused));
    for (uint32_t b = 0; b < w->bytes; b++) {
        w->at[(size_t)i * w->bytes + b] = (uint8_t)(bits >> 8 * b);
    }
}

static double real(tw_sv_t v)
{
    uint8_t unused = 0;
    return tw_sv_convert(v, TW_T_FP64, &unused).v.f;
}

static tw_sv_t real_value(double v)
{
    return (tw_sv_t){{.f = v}, TW_T_FP64};
}

#define LOAD_AS(name, ctype, to_type)                                                           \
    static void name(const window_t *w, uint32_t first, uint32_t step, uint32_t n, to_type *to) \
    {                                                                                           \
        for (uint32_t i = 0; i < n; i++) {                                                      \
            ctype v;                                                                            \
            memcpy(&v, w->at + ((size_t)first + (size_t)i * step) * sizeof v, sizeof v);        \
            to[i] = (to_type)v;                                                                 \
        }                                                                                       \
    }
LOAD_AS(load_i16_real, int16_t, double)
LOAD_AS(load_i32_real, int32_t, double)
LOAD_AS(load_f32_real, float, double)
LOAD_AS(load_i16_int, int16_t, int64_t)
LOAD_AS(load_i32_int, int32_t, int64_t)

/* Elements first, first + step, .. as real numbers; the types met most by loops of their own. */
static void load_real(const window_t *w, uint32_t first, uint32_t step, uint32_t n, double *to)
{
    switch (w->type) {
    case TW_T_I16:
        load_i16_real(w, first, step, n, to);
        break;
    case TW_T_I32:
        load_i32_real(w, first, step, n, to);
        break;
    case TW_T_FP32:
        load_f32_real(w, first, step, n, to);
        break;
    default:
        for (uint32_t i = 0; i < n; i++) {
            to[i] = real(element(w, first + i * step));
        }
        break;
    }
}

/* The same of integers; uint64 as its bits. */
static void load_int(const window_t *w, uint32_t first, uint32_t step, uint32_t n, int64_t *to)
{
    switch (w->type) {
    case TW_T_I16:
        load_i16_int(w, first, step, n, to);
        break;
    case TW_T_I32:
        load_i32_int(w, first, step, n, to);
        break;
    default:
        for (uint32_t i = 0; i < n; i++) {
            to[i] = element(w, first + i * step).v.i;
        }
        break;
    }
}

/* ---- windows -------------------------------------------------------------------------- */

static window_t window_of(const tw_script_ctx_t *c, unsigned ptr, bool for_write)
{
    uint32_t bytes = 0;
    uint8_t *at = tw_script_window(c, ptr, &bytes, for_write);
    const uint8_t type = at != NULL ? c->p[ptr].type : (uint8_t)TW_T_U8;
    const uint8_t size = (uint8_t)tw_stype_bytes(type);
    return (window_t){at, bytes / size, type, size};
}

static tw_err_t charge(tw_script_compute_t *k, uint32_t elements)
{
    if (elements > k->left) {
        return TW_E_SCR_BUDGET;
    }
    k->left -= elements;
    return TW_OK;
}

/* r2 elements of a window, 0 all of it. */
static tw_err_t open_first(const tw_script_ctx_t *c, unsigned ptr, bool for_write, window_t *w)
{
    *w = window_of(c, ptr, for_write);
    const int64_t want = tw_script_reg_int(c, 2);
    if (w->at == NULL || w->n == 0 || want < 0 || want > w->n) {
        return TW_E_SCR_BAD_PTR;
    }
    w->n = want != 0 ? (uint32_t)want : w->n;
    return !computable(w->type) ? TW_E_SCR_BAD_TYPE : w->n > TW_COMPUTE_WINDOW ? TW_E_RANGE : TW_OK;
}

/* The other one, of at least `need` elements. */
static tw_err_t open_second(const tw_script_ctx_t *c, unsigned ptr, bool for_write, uint64_t need, window_t *w)
{
    *w = window_of(c, ptr, for_write);
    if (w->at == NULL || w->n < need) {
        return TW_E_SCR_BAD_PTR;
    }
    return computable(w->type) ? TW_OK : TW_E_SCR_BAD_TYPE;
}

/* ---- results ------------------------------------------------------------------------------ */

static void give(tw_script_ctx_t *c, tw_sv_t v, tw_stype_t type)
{
    uint8_t unused = 0;
    const tw_sv_t r = tw_sv_convert(v, type, &unused);
    c->r[1] = r.v;
    c->rt[1] = r.t;
}

static void give_int(tw_script_ctx_t *c, int64_t v, tw_stype_t type)
{
    tw_script_set_int(c, 1, type, v);
}

/* ---- figures of a window -------------------------------------------------------------------- */

/* -1 before any: NaN never wins. Magnitudes are compared where `magnitude` is asked for. */
static int64_t extreme(const window_t *w, bool largest, bool magnitude, double *value)
{
    double best = 0;
    int64_t at = -1;
    double x[CHUNK];
    for (uint32_t i = 0; i < w->n; i += CHUNK) {
        const uint32_t n = tw_min_u32(CHUNK, w->n - i);
        load_real(w, i, 1, n, x);
        for (uint32_t k = 0; k < n; k++) {
            const double v = magnitude && x[k] < 0 ? -x[k] : x[k];
            if (v == v && (at < 0 || (largest ? v > best : v < best))) {
                best = v;
                at = i + k;
            }
        }
    }
    *value = best;
    return at;
}

/* Of 64-bit integers a double is too short. */
static int64_t extreme_int(const window_t *w, bool largest, bool magnitude, int64_t *place)
{
    tw_sv_t best = element(w, 0);
    *place = 0;
    uint8_t unused = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        tw_sv_t v = element(w, i);
        if (magnitude && v.t != TW_T_U64 && v.v.i < 0) {
            v = (tw_sv_t){{.u = 0u - v.v.u}, TW_T_U64};
        }
        const int order = i == 0 ? 0 : tw_sv_compare(v, best);
        if (i == 0 || (largest ? order > 0 : order < 0)) {
            best = v;
            *place = i;
        }
    }
    return tw_sv_to_int(best, &unused);
}

static void find_extreme(tw_script_ctx_t *c, const window_t *w, bool largest, bool magnitude, bool place)
{
    double value = 0;
    int64_t at = -1, whole = 0;
    if (is_real(w->type)) {
        at = extreme(w, largest, magnitude, &value);
    } else {
        whole = extreme_int(w, largest, magnitude, &at);
    }
    if (place) {
        give_int(c, at, TW_T_I32);
    } else if (is_real(w->type)) {
        uint64_t nan = NOT_A_NUMBER_BITS;
        give(c, at < 0 ? tw_sv_from_bits(TW_T_FP64, nan) : real_value(value), TW_T_FP32);
    } else {
        give_int(c, whole, TW_T_I64);
    }
}

static double sum_real(const window_t *w, bool squares)
{
    double sum = 0, x[CHUNK];
    for (uint32_t i = 0; i < w->n; i += CHUNK) {
        const uint32_t n = tw_min_u32(CHUNK, w->n - i);
        load_real(w, i, 1, n, x);
        for (uint32_t k = 0; k < n; k++) {
            sum += squares ? x[k] * x[k] : x[k];
        }
    }
    return sum;
}

static int64_t sum_int(const window_t *w)
{
    uint64_t sum = 0;
    int64_t x[CHUNK];
    for (uint32_t i = 0; i < w->n; i += CHUNK) {
        const uint32_t n = tw_min_u32(CHUNK, w->n - i);
        load_int(w, i, 1, n, x);
        for (uint32_t k = 0; k < n; k++) {
            sum += (uint64_t)x[k];
        }
    }
    return (int64_t)sum;
}

static tw_err_t of_window(tw_script_compute_t *k, tw_script_ctx_t *c, unsigned id)
{
    window_t w;
    TW_TRY(open_first(c, 0, false, &w));
    TW_TRY(charge(k, w.n));
    switch (id) {
    case TW_COMPUTE_MIN:
        find_extreme(c, &w, false, false, false);
        break;
    case TW_COMPUTE_MAX:
        find_extreme(c, &w, true, false, false);
        break;
    case TW_COMPUTE_ABSMAX:
        find_extreme(c, &w, true, true, false);
        break;
    case TW_COMPUTE_ARGMAX:
        find_extreme(c, &w, true, false, true);
        break;
    case TW_COMPUTE_SUM:
        if (is_real(w.type)) {
            give(c, real_value(sum_real(&w, false)), TW_T_FP32);
        } else {
            give_int(c, sum_int(&w), TW_T_I64);
        }
        break;
    case TW_COMPUTE_MEAN:
        give(c, real_value(sum_real(&w, false) / w.n), TW_T_FP32);
        break;
    case TW_COMPUTE_RMS:
        give(c, real_value(k->math.sqrt(sum_real(&w, true) / w.n)), TW_T_FP32);
        break;
    default: /* CRC32C */
        give_int(c, tw_crc32c((uint32_t)tw_script_reg_int(c, 1), w.at, (size_t)w.n * w.bytes), TW_T_U32);
        break;
    }
    return TW_OK;
}

/* ---- two windows ------------------------------------------------------------------------------- */

static double dot_real(const window_t *a, uint32_t step, const window_t *b)
{
    double sum = 0, x[CHUNK], y[CHUNK];
    for (uint32_t i = 0; i < b->n; i += CHUNK) {
        const uint32_t n = tw_min_u32(CHUNK, b->n - i);
        load_real(a, i * step, step, n, x);
        load_real(b, i, 1, n, y);
        for (uint32_t k = 0; k < n; k++) {
            sum += x[k] * y[k];
        }
    }
    return sum;
}

static int64_t dot_int(const window_t *a, uint32_t step, const window_t *b)
{
    uint64_t sum = 0;
    int64_t x[CHUNK], y[CHUNK];
    for (uint32_t i = 0; i < b->n; i += CHUNK) {
        const uint32_t n = tw_min_u32(CHUNK, b->n - i);
        load_int(a, i * step, step, n, x);
        load_int(b, i, 1, n, y);
        for (uint32_t k = 0; k < n; k++) {
            sum += (uint64_t)x[k] * (uint64_t)y[k];
        }
    }
    return (int64_t)sum;
}

/* r2 counts the products: elements of p1. */
static tw_err_t of_pair(tw_script_compute_t *k, tw_script_ctx_t *c, unsigned id)
{
    window_t a, b;
    const int64_t step = id == TW_COMPUTE_FIR ? tw_script_reg_int(c, 1) : 1;
    if (step < 1 || step > TW_COMPUTE_WINDOW) {
        return TW_E_ARG;
    }
    TW_TRY(open_first(c, id == TW_COMPUTE_FIR && tw_script_reg_int(c, 2) == 0 ? 1 : 0, false, &a));
    const uint32_t n = a.n;
    TW_TRY(open_second(c, 0, false, (uint64_t)(n - 1u) * (uint64_t)step + 1u, &a));
    TW_TRY(open_second(c, 1, false, n, &b));
    TW_TRY(charge(k, n));
    b.n = n;
    if (is_real(a.type) || is_real(b.type)) {
        give(c, real_value(dot_real(&a, (uint32_t)step, &b)), TW_T_FP32);
    } else {
        give_int(c, dot_int(&a, (uint32_t)step, &b), TW_T_I64);
    }
    return TW_OK;
}

/* ---- windows that change --------------------------------------------------------------------------- */

/* a stands before b. NaN goes to the end. */
static bool before(tw_sv_t a, tw_sv_t b)
{
    const int order = tw_sv_compare(a, b);
    return order == TW_CMP_UNORDERED ? tw_sv_compare(a, a) == 0 && tw_sv_compare(b, b) != 0 : order < 0;
}

/* Of a heap whose largest is at its root: element i goes down to its place. */
static void sink(const window_t *w, uint32_t i, uint32_t n)
{
    const tw_sv_t v = element(w, i);
    for (uint32_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && before(element(w, child), element(w, child + 1))) {
            child++;
        }
        if (!before(v, element(w, child))) {
            break;
        }
        set_element(w, i, element(w, child));
        i = child;
    }
    set_element(w, i, v);
}

static void sort(const window_t *w)
{
    for (uint32_t i = w->n / 2; i-- > 0;) {
        sink(w, i, w->n);
    }
    for (uint32_t n = w->n; n-- > 1;) {
        const tw_sv_t largest = element(w, 0);
        set_element(w, 0, element(w, n));
        set_element(w, n, largest);
        sink(w, 0, n);
    }
}

static uint32_t log2_up(uint32_t n)
{
    uint32_t bits = 1;
    while ((1u << bits) < n) {
        bits++;
    }
    return bits;
}

static void move(const tw_script_ctx_t *c, unsigned id, const window_t *from, const window_t *to)
{
    const tw_sv_t r1 = {c->r[1], c->rt[1]};
    const double gain = tw_script_reg_real(c, 1);
    for (uint32_t i = 0; i < to->n; i++) {
        if (id == TW_COMPUTE_FILL) {
            set_element(to, i, r1);
        } else if (id == TW_COMPUTE_COPY) {
            set_element(to, i, element(from, i));
        } else if (id == TW_COMPUTE_SCALE) {
            set_element(to, i, real_value(real(element(to, i)) * gain));
        } else {
            set_element(to, i, real_value(real(element(to, i)) + real(element(from, i)) * gain));
        }
    }
}

static tw_err_t of_move(tw_script_compute_t *k, tw_script_ctx_t *c, unsigned id)
{
    const bool two = id == TW_COMPUTE_COPY || id == TW_COMPUTE_MIX;
    window_t from, to;
    TW_TRY(open_first(c, 0, !two, &from));
    to = from;
    if (two) {
        TW_TRY(open_second(c, 1, true, from.n, &to));
        to.n = from.n;
    }
    TW_TRY(charge(k, id == TW_COMPUTE_SORT ? from.n * log2_up(from.n) : from.n));
    if (id == TW_COMPUTE_SORT) {
        sort(&to);
    } else {
        move(c, id, &from, &to);
    }
    return TW_OK;
}

/* ---- numbers ----------------------------------------------------------------------------------------- */

/* tw_exp() of the platform table may round 10^3 either way; whole powers are what people compare with. */
static double power_of_ten(const tw_script_math_t *m, double x)
{
    const bool near = x > -30 && x < 30;
    if (near && x == (double)(int32_t)x) {
        double v = 1;
        for (int32_t i = 0; i < (int32_t)(x < 0 ? -x : x); i++) {
            v *= 10;
        }
        return x < 0 ? 1 / v : v;
    }
    return m->exp(x * LN10);
}

static double nan_below(const tw_script_math_t *m, double x)
{
    return x < 0 ? tw_sv_from_bits(TW_T_FP64, NOT_A_NUMBER_BITS).v.f : m->log(x);
}

static double of_number(tw_script_compute_t *k, unsigned id, double x, double y)
{
    const tw_script_math_t *m = &k->math;
    switch (id) {
    case TW_COMPUTE_LOG10:
        return nan_below(m, x) * PER_LN10;
    case TW_COMPUTE_EXP10:
        return power_of_ten(m, x);
    case TW_COMPUTE_DB:
        return 20 * PER_LN10 * m->log(x < 0 ? -x : x);
    case TW_COMPUTE_UNDB:
        return power_of_ten(m, x / 20);
    case TW_COMPUTE_SIN:
        return m->sin(x);
    case TW_COMPUTE_COS:
        return m->cos(x);
    case TW_COMPUTE_ATAN2:
        return m->atan2(x, y);
    case TW_COMPUTE_SQRT:
        return m->sqrt(x);
    case TW_COMPUTE_RAND:
        return (m->rand(&k->random) >> 8) / 16777216.0; /* all of fp32's bits, below 1 */
    case TW_COMPUTE_LOG:
        return nan_below(m, x);
    case TW_COMPUTE_EXP:
        return m->exp(x);
    default: /* POW */
        return m->pow(x, y);
    }
}

static tw_err_t of_numbers(tw_script_compute_t *k, tw_script_ctx_t *c, unsigned id)
{
    TW_TRY(computable(c->rt[1]) && computable(c->rt[2]) ? TW_OK : TW_E_SCR_BAD_TYPE);
    TW_TRY(charge(k, 1));
    give(c, real_value(of_number(k, id, tw_script_reg_real(c, 1), tw_script_reg_real(c, 2))), TW_T_FP32);
    return TW_OK;
}

tw_err_t tw_script_compute(tw_script_compute_t *k, tw_script_ctx_t *c)
{
    const int64_t id = tw_script_reg_int(c, 0);
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        if (rows[i].id != id) {
            continue;
        }
        switch ((form_t)rows[i].form) {
        case F_WINDOW:
            return of_window(k, c, rows[i].id);
        case F_PAIR:
            return of_pair(k, c, rows[i].id);
        case F_MOVE:
            return of_move(k, c, rows[i].id);
        case F_ONE:
        case F_TWO:
            return of_numbers(k, c, rows[i].id);
        }
    }
    return TW_E_ARG;
}
