/* script_fast_run.c - the fast script machine: translated operations, one after the other.
 *
 * What it cannot do it hands to the compact machine, before anything of it has happened: c is then as that machine
 * would have left it. Every window is checked at every access, as there; types and depths were found when the script
 * was translated and are compared with the context whenever this machine is entered.
 */
#include "engine/script/script_fast_priv.h"

/* Jumping from each operation straight to the next is what makes it fast, and an extension of gcc and clang. */
#if defined(__GNUC__) && !defined(TW_FAST_SWITCH)
#pragma GCC diagnostic ignored "-Wpedantic"
#define THREADED 1
#else
#define THREADED 0
#endif

static unsigned log2_bytes(unsigned t)
{
    return tw_stype_kind[t & 15] & TW_SK_LOG2;
}

static bool types_known(const tw_script_ctx_t *c, const tw_fast_head_t *h)
{
    uint64_t have[2];
    memcpy(have, c->t, sizeof have);
    return (((have[0] ^ h->want[0]) & h->mask[0]) | ((have[1] ^ h->want[1]) & h->mask[1])) == 0;
}

/* Pointers are as the host and the loader may make them: of the type expected, and empty or set. */
static bool pointers_sound(const tw_script_ctx_t *c, const tw_fast_head_t *h)
{
    bool sound = true;
    for (unsigned i = 0; i < c->script->ptrs; i++) {
        const tw_sptr_t *const p = &c->p[i];
        sound &= h->p[i] == TW_FAST_ANY || h->p[i] == p->type;
        sound &= p->size == 0 || (p->base != NULL && p->space != 0);
    }
    return sound;
}

/* Where to begin, if what was found of types holds: a host may have changed anything. */
static const tw_fast_head_t *head_at(const tw_script_ctx_t *c, const tw_fast_t *f)
{
    if ((c->next & 1) != 0 || c->next >= f->code_bytes || f->map[c->next / 2] == TW_FAST_NO_HEAD) {
        return NULL;
    }
    const tw_fast_head_t *const h = &f->heads[f->map[c->next / 2]];
    const bool placed = (h->base == TW_FAST_ANY || h->base == c->base) && c->sp == c->base + h->depth;
    return placed && types_known(c, h) && pointers_sound(c, h) ? h : NULL;
}

static int64_t clamp(int64_t v, int32_t lo, int32_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static tw_sv_t value(const tw_script_ctx_t *c, unsigned i)
{
    return (tw_sv_t){c->v[i], c->t[i]};
}

static void set(tw_script_ctx_t *c, unsigned i, tw_sv_t v)
{
    c->v[i] = v.v;
    c->t[i] = v.t;
}

static int64_t by_zero(tw_script_ctx_t *c)
{
    c->errors |= TW_SERR_DIV0;
    return 0;
}

static int64_t divide_i32(tw_script_ctx_t *c, int32_t a, int32_t b)
{
    return b == 0 ? by_zero(c) : b == -1 ? (int32_t)(0 - (uint32_t)a) : a / b;
}

static int64_t remain_i32(tw_script_ctx_t *c, int32_t a, int32_t b)
{
    return b == 0 ? by_zero(c) : b == -1 ? 0 : a % b;
}

static int64_t divide_u32(tw_script_ctx_t *c, uint32_t a, uint32_t b)
{
    return b == 0 ? by_zero(c) : a / b;
}

static int64_t remain_u32(tw_script_ctx_t *c, uint32_t a, uint32_t b)
{
    return b == 0 ? by_zero(c) : a % b;
}

static float divide_f32(tw_script_ctx_t *c, float a, float b)
{
    return b == 0.0f ? (float)by_zero(c) : a / b;
}

static double divide_f64(tw_script_ctx_t *c, double a, double b)
{
    return b == 0.0 ? (double)by_zero(c) : a / b;
}

/* Into 0..m-1; mostly it is there already. */
static int64_t modulo(tw_script_ctx_t *c, uint64_t sum, int64_t m)
{
    if (sum < (uint64_t)m && m > 0) {
        return (int64_t)sum;
    }
    if (m <= 0) {
        return by_zero(c);
    }
    const int64_t r = (int64_t)sum % m;
    return r < 0 ? r + m : r;
}

static bool condition(unsigned key, int order)
{
    switch (key) {
    case TW_SOP_EQU:
    case TW_SOP_EQK:
        return order == 0;
    case TW_SOP_NEQ:
        return order != 0;
    case TW_SOP_LTS:
    case TW_SOP_LTK:
        return order == -1;
    case TW_SOP_LTE:
        return order == -1 || order == 0;
    case TW_SOP_GTS:
    case TW_SOP_GTK:
        return order == 1;
    default:
        return order == 1 || order == 0;
    }
}

/* ---- operations by type at run time: as in script_vm.c ---- */

static void any_binary(tw_script_ctx_t *c, const tw_uop_t *u)
{
    tw_sv_t a = value(c, u->a);
    tw_sv_t b = value(c, u->b);
    if (u->n != TW_ALU_ASHFT) {
        tw_sv_become(&b, a.t, &c->errors);
    }
    tw_sv_alu((unsigned)u->n, &a, &b, NULL, &c->errors);
    set(c, u->d, a);
}

static void any_unary(tw_script_ctx_t *c, const tw_uop_t *u)
{
    tw_sv_t b = value(c, u->a);
    const unsigned t = u->b != 0 ? b.t : c->t[u->d];
    tw_sv_t a = {.t = (uint8_t)t};
    if (u->n != TW_ALU_NORM) {
        tw_sv_become(&b, t, &c->errors);
    }
    tw_sv_alu((unsigned)u->n, &a, &b, NULL, &c->errors);
    if (u->b == 0) {
        tw_sv_become(&a, t, &c->errors);
    }
    set(c, u->d, a);
}

/* Of three operands. */
static void any_blend(tw_script_ctx_t *c, const tw_uop_t *u)
{
    tw_sv_t a = value(c, u->a);
    tw_sv_t b = value(c, u->b);
    tw_sv_t k = value(c, u->e);
    tw_sv_become(&b, a.t, &c->errors);
    tw_sv_alu((unsigned)u->n, &a, &b, &k, &c->errors);
    set(c, u->d, a);
}

/* With a small number: a float takes its value, an integer is added to before it is fitted. */
static void any_small(tw_script_ctx_t *c, const tw_uop_t *u)
{
    tw_sv_t a = value(c, u->a);
    tw_sv_t b = {.v.i = u->i, .t = TW_T_I32};
    if (u->n == TW_ALU_ADD && tw_stype_is_float(a.t)) {
        tw_sv_become(&b, a.t, &c->errors);
    }
    tw_sv_alu((unsigned)u->n, &a, &b, NULL, &c->errors);
    set(c, u->d, a);
}

static uint32_t element_count(const tw_sptr_t *p)
{
    return p->size >> log2_bytes(p->type);
}

static void wrap_pointer(tw_sptr_t *p, bool minus, int32_t by)
{
    const int64_t n = element_count(p);
    const int64_t at = (int64_t)p->offset + (minus ? -(int64_t)by : by);
    if (at < 0 || at >= n) {
        const int64_t r = n == 0 ? 0 : at % n;
        p->offset = (uint32_t)(r < 0 ? r + n : r);
    } else {
        p->offset = (uint32_t)at;
    }
}

/* ---- memory ---- */

/* The element a pointer stands at, NULL when its window does not hold all of it. */
static inline uint8_t *element(const tw_sptr_t *p, unsigned log2)
{
    const uint64_t at = (uint64_t)p->offset << log2;
    return at + (1u << log2) > p->size ? NULL : p->base + at;
}

static inline uint8_t *element_to_write(const tw_sptr_t *p, unsigned log2)
{
    return p->space == 2 ? NULL : element(p, log2);
}

static bool load_any(tw_script_ctx_t *c, const tw_uop_t *u, tw_sptr_t *p)
{
    const uint8_t *const at = element(p, log2_bytes(p->type));
    uint64_t bits = 0;
    if (at == NULL) {
        return false;
    }
    for (unsigned i = 0; i < tw_stype_bytes(p->type); i++) {
        bits |= (uint64_t)at[i] << (8 * i);
    }
    set(c, u->d, tw_sv_from_bits(p->type, bits));
    p->offset += (uint32_t)u->n;
    return true;
}

static bool store_any(tw_script_ctx_t *c, const tw_uop_t *u, tw_sptr_t *p)
{
    uint8_t *const at = element_to_write(p, log2_bytes(p->type));
    if (at == NULL) {
        return false;
    }
    const uint64_t bits = tw_sv_bits(tw_sv_convert(value(c, u->a), p->type, &c->errors));
    for (unsigned i = 0; i < tw_stype_bytes(p->type); i++) {
        at[i] = (uint8_t)(bits >> (8 * i));
    }
    p->offset += (uint32_t)u->n;
    return true;
}

/* A NaN has one image. */
static void put_f32(uint8_t *at, float s)
{
    tw_put_f32(at, s);
    if (s != s) {
        tw_put_le32(at, 0x7FC00000u);
    }
}

static void put_f64(uint8_t *at, tw_sval_t v)
{
    tw_put_le64(at, v.f == v.f ? v.u : 0x7FF8000000000000u);
}

/* ---- the machine ---- */

#if THREADED
#define CASE(NAME) case_##NAME:
#define NEXT goto *places[u->op]
#else
#define CASE(NAME) case TW_U_##NAME:
#define NEXT continue
#endif
#define DONE  \
    {         \
        u++;  \
        NEXT; \
    }
#define GO                     \
    {                          \
        if (left + u->n < 0) { \
            goto leave;        \
        }                      \
        left += u->n;          \
        u += u->to;            \
        NEXT;                  \
    }

#define D (c->v[u->d])
#define A (c->v[u->a])
#define B (c->v[u->b])
#define E (c->v[u->e])
#define POINTER(place) ((tw_sptr_t *)(void *)((uint8_t *)c + 8u * (place)))

#define SIMPLE(NAME, action) \
    CASE(NAME)               \
    {                        \
        action;              \
        DONE                 \
    }
#define I32(x) ((int32_t)(uint32_t)(x))
#define U32(x) ((uint32_t)(x))
#define BY_KIND(NAME, e_int, e_flt)                                            \
    SIMPLE(NAME##_I32, D.i = I32(e_int(A.u, B.u)))                             \
    SIMPLE(NAME##_I32_K, D.i = I32(e_int(A.u, u->u)))                          \
    SIMPLE(NAME##_U32, D.u = U32(e_int(A.u, B.u)))                             \
    SIMPLE(NAME##_U32_K, D.u = U32(e_int(A.u, u->u)))                          \
    SIMPLE(NAME##_W64, D.u = e_int(A.u, B.u))                                  \
    SIMPLE(NAME##_W64_K, D.u = e_int(A.u, u->u))                               \
    SIMPLE(NAME##_SAT, D.i = clamp(e_int(A.i, B.i), u->lo, u->hi))             \
    SIMPLE(NAME##_SAT_K, D.i = clamp(e_int(A.i, (int64_t)u->n), u->lo, u->hi)) \
    SIMPLE(NAME##_F32, D.s = e_flt(A.s, B.s))                                  \
    SIMPLE(NAME##_F32_K, D.s = e_flt(A.s, u->s))                               \
    SIMPLE(NAME##_F64, D.f = e_flt(A.f, B.f))                                  \
    SIMPLE(NAME##_F64_K, D.f = e_flt(A.f, u->f))
#define BITWISE(NAME, op)                        \
    SIMPLE(NAME##_I32, D.i = I32(A.u op B.u))    \
    SIMPLE(NAME##_I32_K, D.i = I32(A.u op u->u)) \
    SIMPLE(NAME##_U32, D.u = U32(A.u op B.u))    \
    SIMPLE(NAME##_U32_K, D.u = U32(A.u op u->u)) \
    SIMPLE(NAME##_W64, D.u = A.u op B.u)         \
    SIMPLE(NAME##_W64_K, D.u = A.u op u->u)
#define ORDERED(NAME, op)                                \
    SIMPLE(NAME##_INT, D.i = B.i op A.i ? B.i : A.i)     \
    SIMPLE(NAME##_INT_K, D.i = u->i op A.i ? u->i : A.i) \
    SIMPLE(NAME##_F32, D.s = B.s op A.s ? B.s : A.s)     \
    SIMPLE(NAME##_F32_K, D.s = u->s op A.s ? u->s : A.s) \
    SIMPLE(NAME##_F64, D.f = B.f op A.f ? B.f : A.f)     \
    SIMPLE(NAME##_F64_K, D.f = u->f op A.f ? u->f : A.f)
#define ADDED(a, b) ((a) + (b))
#define LESS(a, b) ((a) - (b))
#define FROM(a, b) ((b) - (a))
#define TIMES(a, b) ((a) * (b))

/* A test, and the same with the jump behind it. */
#define TEST(NAME, condition)         \
    SIMPLE(T_##NAME, t = (condition)) \
    CASE(B_##NAME)                    \
    {                                 \
        t = (condition);              \
        if (t) {                      \
            GO                        \
        }                             \
        DONE                          \
    }
#define COMPARED(NAME, op)                   \
    TEST(NAME##_INT, A.i op B.i)             \
    TEST(NAME##_INT_K, A.i op(int64_t) u->k) \
    TEST(NAME##_F32, A.s op B.s)             \
    TEST(NAME##_F32_K, A.s op u->s)          \
    TEST(NAME##_F64, A.f op B.f)             \
    TEST(NAME##_F64_K, A.f op(double) u->s)

#define LOADED(NAME, log2, member, get)             \
    CASE(LD_##NAME)                                 \
    {                                               \
        tw_sptr_t *const p = POINTER(u->b);         \
        const uint8_t *const at = element(p, log2); \
        if (at == NULL) {                           \
            goto leave;                             \
        }                                           \
        D.member = get;                             \
        p->offset += (uint32_t)u->n;                \
        DONE                                        \
    }                                               \
    CASE(LDT_##NAME)                                \
    {                                               \
        tw_sptr_t *const p = POINTER(u->b);         \
        const uint8_t *const at = element(p, log2); \
        if (at == NULL) {                           \
            goto leave;                             \
        }                                           \
        D.member = get;                             \
        c->t[u->d] = u->e;                          \
        p->offset += (uint32_t)u->n;                \
        DONE                                        \
    }
#define STORED(NAME, log2, put)                        \
    CASE(ST_##NAME)                                    \
    {                                                  \
        tw_sptr_t *const p = POINTER(u->b);            \
        uint8_t *const at = element_to_write(p, log2); \
        if (at == NULL) {                              \
            goto leave;                                \
        }                                              \
        put;                                           \
        p->offset += (uint32_t)u->n;                   \
        DONE                                           \
    }

#define AROUND                 \
    if (lc != 1) {             \
        if (left + u->n < 0) { \
            goto leave;        \
        }                      \
        lc--;                  \
        left += u->n;          \
        u += u->to;            \
        NEXT;                  \
    }                          \
    lc = 0;                    \
    DONE

/* Pairs. What the second takes from the first (r) does not go through memory: that is most of what they gain. */
#define U64(r) ((uint64_t)(r))
#define HELD_i int64_t
#define HELD_u uint64_t
#define HELD_s float
#define CHAINED(FIRST, SECOND, member, one, two) \
    CASE(P_##FIRST##_##SECOND)                   \
    {                                            \
        const HELD_##member r = one;             \
        D.member = r;                            \
        u++;                                     \
        D.member = two;                          \
        DONE                                     \
    }
#define CHAINED_LOAD(TYPE, SECOND, log2, member, get, two) \
    CASE(P_LD_##TYPE##_##SECOND)                           \
    {                                                      \
        tw_sptr_t *const p = POINTER(u->b);                \
        const uint8_t *const at = element(p, log2);        \
        if (at == NULL) {                                  \
            goto leave;                                    \
        }                                                  \
        const HELD_##member r = get;                       \
        D.member = r;                                      \
        p->offset += (uint32_t)u->n;                       \
        u++;                                               \
        D.member = two;                                    \
        DONE                                               \
    }
#define PLACED_LOAD(TYPE, log2, member, get)               \
    CASE(P_PBASE_LD_##TYPE)                                \
    {                                                      \
        tw_sptr_t *const p = POINTER(u->b);                \
        const uint32_t offset = U32(A.u);                  \
        const uint64_t first = (uint64_t)offset << (log2); \
        p->offset = offset;                                \
        u++;                                               \
        if (first + (1u << (log2)) > p->size) {            \
            goto leave;                                    \
        }                                                  \
        const uint8_t *const at = p->base + first;         \
        D.member = get;                                    \
        p->offset = offset + (uint32_t)u->n;               \
        DONE                                               \
    }
#define LOOPED(NAME, action) \
    CASE(P_##NAME##_BANZ)    \
    {                        \
        action;              \
        u++;                 \
        AROUND               \
    }

void tw_fast_run(tw_script_ctx_t *c)
{
#if THREADED
    static const void *const places[] = {
#define TW_UOP(NAME) &&case_##NAME,
#include "engine/script/script_fast_uops.def"
    };
#endif
    const tw_fast_t *const f = c->script->fast;
    const tw_fast_head_t *const head = head_at(c, f);
    if (head == NULL) {
        return;
    }
    const tw_uop_t *u = f->uops + head->uop;
    int32_t left = (int32_t)(c->budget - c->used);
    uint16_t lc = c->lc;
    bool t = c->flag != 0;
#if THREADED
    NEXT;
#else
    for (;;) {
        switch ((tw_uop_code_t)u->op) {
#endif

    CASE(EXIT)
    {
        goto leave;
    }
    CASE(CHARGE)
    {
        if (left < u->n) {
            goto leave;
        }
        left -= u->n;
        DONE
    }
    CASE(JMP){GO} CASE(BT)
    {
        if (t) {
            GO
        }
        DONE
    }
    CASE(BANZ){AROUND} CASE(CALL)
    {
        if (u->e != 0 && !t) {
            DONE
        }
        if (c->depth >= TW_SCRIPT_CALL_DEPTH || left + u->n < 0) {
            goto leave;
        }
        c->frames[c->depth++] = (tw_script_frame_t){
            .script = c->script, .labels = c->labels, .next = f->info[u - f->uops].pc + 2u, .base = c->base};
        c->base = (uint16_t)(c->base + u->d);
        left += u->n;
        u += u->to;
        NEXT;
    }
    CASE(RETK)
    {
        if (c->depth != 0 && c->frames[c->depth - 1].callscript) {
            goto leave;
        }
        for (unsigned i = 0; i < TW_SCRIPT_REGS; i++) {
            if ((u->n >> i & 1) == 0) {
                set(c, i, (tw_sv_t){.t = TW_T_I32});
            }
        }
        c->sp = c->base;
        goto give_back;
    }
    CASE(RETP)
    {
        if ((c->depth != 0 && c->frames[c->depth - 1].callscript) || c->base >= TW_SCRIPT_STACK_MAX) {
            goto leave;
        }
        set(c, TW_SCRIPT_REGS + c->base, value(c, u->a));
        c->sp = (uint16_t)(c->base + 1);
        goto give_back;
    }
    CASE(RET)
    {
        if (c->depth != 0 && c->frames[c->depth - 1].callscript) {
            goto leave;
        }
        c->sp = c->base;
        goto give_back;
    }

    SIMPLE(MOV, D = A)
    SIMPLE(MOVT, (D = A, c->t[u->d] = c->t[u->a]))
    SIMPLE(MOVK, D.u = u->u)
    SIMPLE(MOVKT, (D.u = u->u, c->t[u->d] = u->e))
    SIMPLE(SETT, c->t[u->d] = u->e)
    SIMPLE(CMOV, D = t ? A : D)
    CASE(SWAP)
    {
        const tw_sv_t x = value(c, u->d);
        set(c, u->d, value(c, u->a));
        set(c, u->a, x);
        DONE
    }
    SIMPLE(PSHT, set(c, u->d, (tw_sv_t){.v.u = t, .t = TW_T_U8}))
    SIMPLE(LC_INT, lc = (uint16_t)clamp(A.i, 0, 65535))
    SIMPLE(LC_K, lc = (uint16_t)u->u)
    SIMPLE(LC_ANY, lc = (uint16_t)tw_sv_convert(value(c, u->a), TW_T_U16, &c->errors).v.u)
    SIMPLE(OF_LC, D.u = lc)

    BY_KIND(ADD, ADDED, ADDED)
    BY_KIND(SUB, LESS, LESS)
    BY_KIND(RSB, FROM, FROM)
    BY_KIND(MUL, TIMES, TIMES)
    BITWISE(AND, &)
    BITWISE(OR, |)
    BITWISE(XOR, ^)
    ORDERED(MIN, <)
    ORDERED(MAX, >)
    SIMPLE(SQRA_I32, D.i = I32(A.u + B.u * B.u))
    SIMPLE(SQRA_F32, D.s = A.s + B.s * B.s)
    SIMPLE(DIV_I32, D.i = divide_i32(c, I32(A.u), I32(B.u)))
    SIMPLE(DIV_I32_K, D.i = divide_i32(c, I32(A.u), I32(u->u)))
    SIMPLE(DIV_U32, D.i = divide_u32(c, U32(A.u), U32(B.u)))
    SIMPLE(DIV_U32_K, D.i = divide_u32(c, U32(A.u), U32(u->u)))
    SIMPLE(MOD_I32, D.i = remain_i32(c, I32(A.u), I32(B.u)))
    SIMPLE(MOD_I32_K, D.i = remain_i32(c, I32(A.u), I32(u->u)))
    SIMPLE(MOD_U32, D.i = remain_u32(c, U32(A.u), U32(B.u)))
    SIMPLE(MOD_U32_K, D.i = remain_u32(c, U32(A.u), U32(u->u)))
    SIMPLE(DIV_F32, D.s = divide_f32(c, A.s, B.s))
    SIMPLE(DIV_F32_K, D.s = divide_f32(c, A.s, u->s))
    SIMPLE(DIV_F64, D.f = divide_f64(c, A.f, B.f))
    SIMPLE(DIV_F64_K, D.f = divide_f64(c, A.f, u->f))
    SIMPLE(SHL_I32, D.i = I32(A.u << u->n))
    SIMPLE(SHL_U32, D.u = U32(A.u << u->n))
    SIMPLE(SHL_W64, D.u = A.u << u->n)
    SIMPLE(SHR_I32, D.i = I32(U32(A.u) >> u->n))
    SIMPLE(SHR_UNS, D.u = A.u >> u->n)
    SIMPLE(ASR_SGN, D.i = A.i >> u->n)
    SIMPLE(ROT_I32, D.i = I32(U32(A.u) << u->n | U32(A.u) >> ((32 - u->n) & 31)))
    SIMPLE(ROT_U32, D.u = U32(A.u) << u->n | U32(A.u) >> ((32 - u->n) & 31))
    SIMPLE(ABS_I32, D.i = A.i < 0 ? I32(0 - A.u) : A.i)
    SIMPLE(ABS_SAT, D.i = clamp(A.i < 0 ? -A.i : A.i, u->lo, u->hi))
    SIMPLE(ABS_F32, (D.u = A.u, D.s = __builtin_fabsf(D.s)))
    SIMPLE(ABS_F64, D.f = __builtin_fabs(A.f))
    SIMPLE(NEG_F32, (D.u = A.u, D.s = -D.s))
    SIMPLE(NEG_F64, D.f = -A.f)
    SIMPLE(BFX, D.u = A.u >> u->n & u->u)
    SIMPLE(BFI_I32, D.i = I32((D.u & ~(u->u << u->n)) | (A.u & u->u) << u->n))
    SIMPLE(BFI_U32, D.u = U32((D.u & ~(u->u << u->n)) | (A.u & u->u) << u->n))
    SIMPLE(BFI_W64, D.u = (D.u & ~(u->u << u->n)) | (A.u & u->u) << u->n)
    CASE(LERP_F32)
    {
        const float part = (B.s - A.s) * E.s;
        D.s = A.s + part;
        DONE
    }
    SIMPLE(ADDM_INT, D.i = modulo(c, A.u + B.u, E.i))
    SIMPLE(ADDM_INT_K, D.i = modulo(c, A.u + B.u, u->i))
    SIMPLE(SUBM_INT, D.i = modulo(c, A.u - B.u, E.i))
    SIMPLE(SUBM_INT_K, D.i = modulo(c, A.u - B.u, u->i))
    SIMPLE(CVT_I32, D.i = I32(A.u))
    SIMPLE(CVT_U32, D.u = U32(A.u))
    SIMPLE(CVT_SAT, D.i = clamp(A.i, u->lo, u->hi))
    SIMPLE(CVT_F32_INT, D.s = (float)A.i)
    SIMPLE(CVT_F64_INT, D.f = (double)A.i)
    CASE(CVT_I32_F32)
    {
        const float s = A.s;
        const bool inside = s >= -2147483648.0f && s < 2147483648.0f;
        D.i = inside ? (int32_t)s : tw_sv_convert((tw_sv_t){A, TW_T_FP32}, TW_T_I32, &c->errors).v.i;
        DONE
    }
    SIMPLE(CVT_F64_F32, D.f = (double)A.s)
    SIMPLE(CVT_F32_F64, D.s = (float)A.f)

    COMPARED(EQ, ==)
    COMPARED(NE, !=)
    COMPARED(LT, <)
    COMPARED(LE, <=)
    COMPARED(GT, >)
    COMPARED(GE, >=)
    TEST(TST, (A.u & B.u) != 0)
    TEST(TST_K, (A.u & (uint32_t)u->k) != 0)
    TEST(BIT0, (A.u >> u->b & 1) == 0)
    TEST(BIT1, (A.u >> u->b & 1) != 0)
    TEST(INR_INT, A.i >= B.i && A.i <= E.i)
    TEST(INR_F32, A.s >= B.s && A.s <= E.s)
    SIMPLE(NEGT, t = !t)
    SIMPLE(ANDT_INT, t = t && A.i != 0)
    SIMPLE(ORT_INT, t = t || A.i != 0)

    LOADED(I8, 0, i, (int8_t)at[0])
    LOADED(U8, 0, i, at[0])
    LOADED(I16, 1, i, (int16_t)tw_get_le16(at))
    LOADED(U16, 1, i, tw_get_le16(at))
    LOADED(I32, 2, i, I32(tw_get_le32(at)))
    LOADED(U32, 2, i, tw_get_le32(at))
    LOADED(64, 3, u, tw_get_le64(at))
    LOADED(F32, 2, s, tw_get_f32(at))
    CASE(LD_ANY)
    {
        if (!load_any(c, u, POINTER(u->b))) {
            goto leave;
        }
        DONE
    }
    STORED(8, 0, at[0] = (uint8_t)A.u)
    STORED(16, 1, tw_put_le16(at, (uint16_t)A.u))
    STORED(32, 2, tw_put_le32(at, U32(A.u)))
    STORED(64, 3, tw_put_le64(at, A.u))
    STORED(S8, 0, at[0] = (uint8_t)clamp(A.i, u->lo, u->hi))
    STORED(S16, 1, tw_put_le16(at, (uint16_t)clamp(A.i, u->lo, u->hi)))
    STORED(F32, 2, put_f32(at, A.s))
    STORED(F64, 3, put_f64(at, A))
    CASE(ST_ANY)
    {
        if (!store_any(c, u, POINTER(u->b))) {
            goto leave;
        }
        DONE
    }
    SIMPLE(PBASE, POINTER(u->b)->offset = U32(A.u))
    SIMPLE(PBASE_K, POINTER(u->b)->offset = (uint32_t)u->k)
    SIMPLE(PADD, POINTER(u->b)->offset += U32(A.u))
    SIMPLE(PADD_K, POINTER(u->b)->offset += (uint32_t)u->k)
    SIMPLE(PMOD, wrap_pointer(POINTER(u->b), u->n != 0, I32(A.u)))
    SIMPLE(PMOD_K, wrap_pointer(POINTER(u->b), u->n != 0, u->k))
    SIMPLE(PTYPE, POINTER(u->b)->type = u->e)
    CASE(PLEN)
    {
        const tw_sptr_t *const p = POINTER(u->b);
        const uint32_t n = element_count(p);
        D.u = p->offset < n ? n - p->offset : 0;
        DONE
    }
    SIMPLE(PCOPY, *POINTER(u->d) = *POINTER(u->a))
    CASE(PCONST) /* never written: every store looks at the space */
    {
        *POINTER(u->d) =
            (tw_sptr_t){.base = (uint8_t *)(uintptr_t)u->at, .size = (uint16_t)u->n, .space = 2, .type = u->e};
        DONE
    }

    SIMPLE(ANY_BINARY, any_binary(c, u))
    SIMPLE(ANY_UNARY, any_unary(c, u))
    SIMPLE(ANY_BLEND, any_blend(c, u))
    SIMPLE(ANY_SMALL, any_small(c, u))
    SIMPLE(ANY_COMPARE, t = condition((unsigned)u->n, tw_sv_compare(value(c, u->a), value(c, u->b))))
    SIMPLE(ANY_COMPARE_K,
           t = condition((unsigned)u->n, tw_sv_compare(value(c, u->a), (tw_sv_t){.v.i = u->i, .t = TW_T_I32})))
    SIMPLE(ANY_COPY, set(c, u->d, tw_sv_convert(value(c, u->a), c->t[u->d], &c->errors)))
    SIMPLE(ANY_CONV, set(c, u->d, tw_sv_convert(value(c, u->a), u->e, &c->errors)))
    SIMPLE(ANY_CAST, set(c, u->d, tw_sv_from_bits(u->e, tw_sv_bits(value(c, u->a)))))

    CHAINED(MUL_I32_K, ADD_I32, i, I32(A.u * u->u), I32(A.u + U64(r)))
    CHAINED(MUL_F32_K, ADD_F32, s, A.s * u->s, A.s + r)
    CHAINED(MUL_I32, ADD_I32, i, I32(A.u * B.u), I32(A.u + U64(r)))
    CHAINED(MUL_F32, ADD_F32, s, A.s * B.s, A.s + r)
    CHAINED(MUL_I32_K, ASR_SGN, i, I32(A.u * u->u), r >> u->n)
    CHAINED(MUL_I32, ASR_SGN, i, I32(A.u * B.u), r >> u->n)
    CHAINED(SUB_F32, MUL_F32_K, s, A.s - B.s, r * u->s)
    CHAINED(SUB_F32, MUL_F32, s, A.s - B.s, r * B.s)
    CHAINED(ADD_F32, ADD_F32, s, A.s + B.s, r + B.s)
    CHAINED(ADD_F32, MIN_F32_K, s, A.s + B.s, u->s < r ? u->s : r)
    CHAINED(MIN_F32_K, MAX_F32_K, s, u->s < A.s ? u->s : A.s, u->s > r ? u->s : r)
    CHAINED(MIN_INT_K, MAX_INT_K, i, u->i < A.i ? u->i : A.i, u->i > r ? u->i : r)
    CHAINED(ADD_I32_K, MIN_INT, i, I32(A.u + u->u), B.i < r ? B.i : r)
    CHAINED(XOR_U32, AND_U32_K, u, U32(A.u ^ B.u), U32(r & u->u))
    CHAINED(XOR_U32, AND_U32, u, U32(A.u ^ B.u), U32(A.u & r))
    CHAINED(AND_U32, XOR_U32_K, u, U32(A.u & B.u), U32(r ^ u->u))
    CHAINED(AND_U32, XOR_U32, u, U32(A.u & B.u), U32(r ^ B.u))
    CHAINED(AND_U32, AND_U32, u, U32(A.u & B.u), U32(r & B.u))
    CHAINED(SHR_UNS, XOR_U32, u, A.u >> u->n, U32(r ^ B.u))
    CHAINED_LOAD(I16, ADD_I32, 1, i, (int16_t)tw_get_le16(at), I32(A.u + U64(r)))
    CHAINED_LOAD(I16, SUB_I32, 1, i, (int16_t)tw_get_le16(at), I32(A.u - U64(r)))
    CHAINED_LOAD(F32, ADD_F32, 2, s, tw_get_f32(at), A.s + r)
    CHAINED_LOAD(F32, SUB_F32, 2, s, tw_get_f32(at), r - B.s)
    CHAINED_LOAD(U8, XOR_U32, 0, u, at[0], U32(A.u ^ r))
    CHAINED_LOAD(U32, XOR_U32, 2, u, tw_get_le32(at), U32(r ^ B.u))
    CHAINED_LOAD(I16, MUL_I32_K, 1, i, (int16_t)tw_get_le16(at), I32(U64(r) * u->u))
    CHAINED_LOAD(I16, MUL_I32, 1, i, (int16_t)tw_get_le16(at), I32(U64(r) * B.u))
    CASE(P_ASR_SGN_ST_S16)
    {
        const int64_t r = A.i >> u->n;
        D.i = r;
        u++;
        tw_sptr_t *const p = POINTER(u->b);
        uint8_t *const at = element_to_write(p, 1);
        if (at == NULL) {
            goto leave;
        }
        tw_put_le16(at, (uint16_t)clamp(r, u->lo, u->hi));
        p->offset += (uint32_t)u->n;
        DONE
    }
    PLACED_LOAD(I16, 1, i, (int16_t)tw_get_le16(at))
    PLACED_LOAD(U32, 2, i, tw_get_le32(at))
    PLACED_LOAD(F32, 2, s, tw_get_f32(at))
    CASE(P_MOV_MOV)
    {
        D = A;
        u++;
        D = A;
        DONE
    }
    LOOPED(MOV, D = A)
    LOOPED(ADD_I32, D.i = I32(A.u + B.u))
    LOOPED(ADD_F32, D.s = A.s + B.s)
    LOOPED(OR_U32, D.u = U32(A.u | B.u))
    LOOPED(XOR_U32, D.u = U32(A.u ^ B.u))
    CASE(P_ST_S16_BANZ)
    {
        tw_sptr_t *const p = POINTER(u->b);
        uint8_t *const at = element_to_write(p, 1);
        if (at == NULL) {
            goto leave;
        }
        tw_put_le16(at, (uint16_t)clamp(A.i, u->lo, u->hi));
        p->offset += (uint32_t)u->n;
        u++;
        AROUND
    }

give_back:
    if (c->depth == 0) {
        c->done = true;
        c->pc = f->info[u - f->uops].pc;
        c->next = c->pc + 2;
        goto sync;
    }
    const tw_script_frame_t *const back = &c->frames[--c->depth];
    c->base = back->base;
    c->next = back->next;
    const uint16_t place = f->map[c->next / 2];
    if (place == TW_FAST_NO_HEAD || (f->heads[place].base != TW_FAST_ANY && f->heads[place].base != c->base)) {
        goto sync;
    }
    u = f->uops + f->heads[place].uop;
    NEXT;

#if !THREADED
case TW_U_COUNT:
    goto leave;
}
}
#endif

leave:
{
    const tw_uop_info_t *const at = &f->info[u - f->uops];
    c->next = at->pc;
    c->sp = (uint16_t)(c->base + at->depth);
    left += at->rest;
}
sync : c->used = c->budget - (uint32_t)left;
c->lc = lc;
c->flag = t;
}
