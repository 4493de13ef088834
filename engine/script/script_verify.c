/* script_verify.c - every path of a script, judged before it runs.
 *
 * Two linear scans settle what a word says by itself (codes, labels, registers). Then
 * an abstract interpretation carries, from join to join, what must hold on all paths
 * (stack depth, pointers usable) and what may hold on some (fp8 values, scratch memory).
 * States exist at jump targets only, so RAM does not grow with the code. Facts move one
 * way only; each can change a join a few dozen times, which bounds the work.
 *
 * A routine is what one `call` label reaches by jumps and fall-through. It has its own
 * stack frame, one way of returning (with or without a result), and shares no instruction
 * with another routine. Nothing here runs code, and nothing is patched.
 */
#include "engine/script/script_op_priv.h"

#ifndef TW_SCRIPT_MAX_HALFWORDS
#define TW_SCRIPT_MAX_HALFWORDS 4096u
#endif
#ifndef TW_SCRIPT_JOINS
#define TW_SCRIPT_JOINS 192u /* different jump targets of a script, its entry included */
#endif
#ifndef TW_SCRIPT_ROUTINES
#define TW_SCRIPT_ROUTINES 32u /* main and labels that are called */
#endif
_Static_assert(TW_SCRIPT_MAX_HALFWORDS <= 32767u, "offsets are 16 bits, 0xFFFF means none");
_Static_assert(TW_SCRIPT_ROUTINES <= 32u, "callers are a 32-bit mask");

/* Inside, a refusal is its reason; script_reasons.def says which error that is. */
enum {
    REASON_BASE = 1000, /* beyond the numbers of errors */
#define TW_SREASON(NAME, ERROR, text) WHY_##NAME,
#include "engine/script/script_reasons.def"
};
#define WHY(NAME) ((tw_err_t)-WHY_##NAME)

enum { NO_RETURN, RETURNS, RETURNS_RESULT };
enum { MAIN = 0, FRESH = 0xFF };

/* `must`: true on all paths, joined by AND. One bit per pointer in each group. */
#define CAN_READ(p) (1u << (p))
#define CAN_WRITE(p) (1u << (6 + (p)))
#define SCRATCH_WRITTEN (1u << 12)
/* `may`: true on some path, joined by OR. */
#define IS_SCRATCH(p) (1u << (p))
#define PTR_FP8(p) (1u << (6 + (p)))
#define REG_FP8(r) (1u << (12 + (r)))
#define ALL_REG_FP8 (63u << 12)

typedef struct state {
    uint32_t may;
    uint16_t must;
    uint8_t depth; /* entries of this routine on the stack */
    uint8_t routine;
} state_t;

typedef struct join {
    state_t st;
    uint16_t at; /* [halfwords] */
    bool seen, dirty;
} join_t;

typedef struct routine {
    state_t exit;     /* joined over its returns; depth unused */
    uint32_t callers; /* mask of routines */
    uint8_t label;
    uint8_t level; /* return addresses below it, most over all calls */
    uint8_t base;  /* stack entries below it, most over all calls */
    uint8_t returns;
} routine_t;

typedef struct verifier {
    const tw_script_t *s;
    tw_spool_t pool;
    state_t entry;
    uint32_t n;  /* halfwords */
    uint32_t at; /* instruction looked at [halfwords] */
    bool privileged;
    uint8_t n_routines;
    uint16_t n_joins;
    uint16_t labels[TW_SCRIPT_LABELS]; /* [halfwords] */
    uint32_t starts[(TW_SCRIPT_MAX_HALFWORDS + 31) / 32];
    uint32_t targets[(TW_SCRIPT_MAX_HALFWORDS + 31) / 32];
    join_t joins[TW_SCRIPT_JOINS];
    routine_t routines[TW_SCRIPT_ROUTINES];
} verifier_t;

/* Along a straight line. Pointers on the stack never cross a join, so they need no place in it. */
typedef struct walk {
    state_t st;
    uint64_t stacked_ptrs; /* bit = stack entry of this routine */
    uint8_t top;           /* depth when the instruction started: fixes s1 */
} walk_t;

static bool bit(const uint32_t *map, uint32_t i)
{
    return (map[i / 32] >> (i % 32) & 1) != 0;
}

static void set_bit(uint32_t *map, uint32_t i)
{
    map[i / 32] |= 1u << (i % 32);
}

static void decode_at(const verifier_t *v, uint32_t at, tw_sinsn_t *in)
{
    tw_sop_decode(tw_get_le16(v->s->code + 2 * at), in);
}

static bool is_ptr(unsigned code)
{
    return code >= TW_RC_P0 && code < TW_RC_LC;
}

static unsigned ptr_of(unsigned code)
{
    return code - TW_RC_P0;
}

/* ---- first scan: each instruction by itself ---- */

static tw_err_t check_value(const verifier_t *v, unsigned code)
{
    if (is_ptr(code)) {
        return WHY(POINTER_AS_VALUE);
    }
    return code < TW_RC_P0 && code >= v->s->regs ? WHY(NO_REGISTER) : TW_OK;
}

static tw_err_t check_pointer(const verifier_t *v, unsigned code)
{
    return is_ptr(code) && ptr_of(code) < v->s->ptrs ? TW_OK : WHY(NO_POINTER);
}

/* copy, copyt, ccopy, swap: two values or two pointers; copy and copyt also take one off the stack. */
static tw_err_t check_move(const verifier_t *v, const tw_sinsn_t *in)
{
    if (!is_ptr(in->x) && !is_ptr(in->y)) {
        TW_TRY(check_value(v, in->x));
        return check_value(v, in->y);
    }
    if (!is_ptr(in->x)) {
        return WHY(POINTER_AS_VALUE);
    }
    TW_TRY(check_pointer(v, in->x));
    if (in->y == TW_RC_S0 && in->effect == TW_SX_MOVE) {
        return TW_OK;
    }
    return is_ptr(in->y) ? check_pointer(v, in->y) : WHY(POINTER_AS_VALUE);
}

static tw_err_t check_xy(const verifier_t *v, const tw_sinsn_t *in)
{
    switch (in->effect) {
    case TW_SX_MOVE:
    case TW_SX_CMOVE:
    case TW_SX_SWAP:
        return check_move(v, in);
    case TW_SX_WRAP:
        TW_TRY(is_ptr(in->x) ? check_pointer(v, in->x) : check_value(v, in->x));
        return check_value(v, in->y);
    default:
        TW_TRY(check_value(v, in->x));
        return check_value(v, in->y);
    }
}

/* An 8-bit literal fills half a halfword; the rest is 0 so that a value has one encoding. */
static tw_err_t check_literal(const verifier_t *v, const tw_sinsn_t *in)
{
    if (in->y == TW_T_PTR || tw_stype_missing(in->y) || (tw_stype_is_fp8(in->y) && in->x >= TW_RC_S0)) {
        return WHY(TYPE_HERE);
    }
    if (tw_stype_bytes(in->y) == 1 && v->s->code[2 * v->at + 3] != 0) {
        return WHY(LITERAL_HALF);
    }
    return check_value(v, in->x);
}

static tw_err_t check_type_operand(const verifier_t *v, const tw_sinsn_t *in)
{
    if (in->y == TW_T_PTR || tw_stype_missing(in->y) || (in->key == TW_SOP_CONV && tw_stype_is_fp8(in->y))) {
        return WHY(TYPE_HERE);
    }
    return in->form == TW_SF_PT ? check_pointer(v, in->x) : check_value(v, in->x);
}

static tw_err_t check_syscall(const verifier_t *v, uint32_t k)
{
    if (tw_ssys_pops(k) < 0 || (tw_ssys_privileged(k) && !v->privileged)) {
        return WHY(NO_SYSCALL);
    }
    return TW_OK;
}

static tw_err_t check_field(const verifier_t *v, const tw_sinsn_t *in)
{
    if (!tw_sop_field_ok(tw_get_le16(v->s->code + 2 * v->at + 2))) {
        return WHY(FIELD_WORD);
    }
    TW_TRY(check_value(v, in->x));
    return check_value(v, in->y);
}

static tw_err_t check_operands(const verifier_t *v, const tw_sinsn_t *in)
{
    switch (in->form) {
    case TW_SF_CSYS:
        return check_syscall(v, in->word & 127);
    case TW_SF_XY:
        return check_xy(v, in);
    case TW_SF_LOAD:
    case TW_SF_LOADI:
    case TW_SF_PR:
    case TW_SF_RP:
        TW_TRY(check_pointer(v, in->y));
        return check_value(v, in->x);
    case TW_SF_STORE:
    case TW_SF_STOREI:
        TW_TRY(check_pointer(v, in->x));
        return check_value(v, in->y);
    case TW_SF_LIT:
        return check_literal(v, in);
    case TW_SF_PT:
    case TW_SF_XT:
        return check_type_operand(v, in);
    case TW_SF_RS8:
    case TW_SF_RN6:
    case TW_SF_X:
        return check_value(v, in->x);
    case TW_SF_FIELD:
        return check_field(v, in);
    case TW_SF_RANGE:
        TW_TRY(check_value(v, in->x));
        return in->y + 1u < v->s->regs ? TW_OK : WHY(NO_REGISTER);
    default:
        return TW_OK;
    }
}

static tw_err_t define_label(verifier_t *v, uint32_t k)
{
    tw_sptr_t unused;
    if (v->labels[k] != TW_SCRIPT_NO_LABEL || tw_spool_find(&v->pool, k, &unused)) {
        return WHY(LABEL_TWICE);
    }
    v->labels[k] = (uint16_t)v->at;
    return TW_OK;
}

static tw_err_t scan_words(verifier_t *v)
{
    tw_sinsn_t in;
    for (v->at = 0; v->at < v->n; v->at += in.halfwords) {
        decode_at(v, v->at, &in);
        if (tw_sop_check(&in) != TW_OK) {
            return tw_sop_check(&in) == TW_E_SCR_RESERVED ? WHY(RESERVED_WORD) : WHY(NO_SUCH_WORD);
        }
        if (!tw_inside(v->at, in.halfwords, v->n)) {
            return WHY(CUT_OFF);
        }
        TW_TRY(check_operands(v, &in));
        if (in.key == TW_SOP_LABL) {
            TW_TRY(define_label(v, in.word & 127));
        }
        set_bit(v->starts, v->at);
    }
    return TW_OK;
}

/* ---- second scan: targets ---- */

static tw_err_t target(verifier_t *v, uint32_t at)
{
    if (at >= v->n || !bit(v->starts, at)) {
        return WHY(NO_TARGET);
    }
    set_bit(v->targets, at);
    return TW_OK;
}

static unsigned routine_of_label(const verifier_t *v, unsigned label)
{
    unsigned i = 1;
    while (i < v->n_routines && v->routines[i].label != label) {
        i++;
    }
    return i;
}

static tw_err_t scan_target(verifier_t *v, const tw_sinsn_t *in)
{
    const unsigned k = in->word & 127;
    tw_sptr_t unused;
    switch (in->key) {
    case TW_SOP_JMP:
    case TW_SOP_BANZ:
        return target(v, v->labels[k]);
    case TW_SOP_JMPR: /* below 0 wraps to a number beyond the end */
        return target(v, v->at + 1 + k - (k < 64 ? 0u : 128u));
    case TW_SOP_PSHA:
        return tw_spool_find(&v->pool, k, &unused) ? TW_OK : WHY(NO_CONSTANTS);
    case TW_SOP_CALL:
        TW_TRY(target(v, v->labels[k]));
        if (routine_of_label(v, k) < v->n_routines) {
            return TW_OK;
        }
        if (v->n_routines == TW_SCRIPT_ROUTINES) {
            return WHY(MANY_ROUTINES);
        }
        v->routines[v->n_routines++] = (routine_t){.label = (uint8_t)k};
        return TW_OK;
    default:
        return TW_OK;
    }
}

static tw_err_t scan_targets(verifier_t *v)
{
    tw_sinsn_t in;
    for (v->at = 0; v->at < v->n; v->at += in.halfwords) {
        decode_at(v, v->at, &in);
        TW_TRY(scan_target(v, &in));
    }
    set_bit(v->targets, 0);
    for (v->at = 0; v->at < v->n; v->at++) {
        if (!bit(v->targets, v->at)) {
            continue;
        }
        if (v->n_joins == TW_SCRIPT_JOINS) {
            return WHY(MANY_TARGETS);
        }
        v->joins[v->n_joins++] = (join_t){.at = (uint16_t)v->at, .st.routine = FRESH};
    }
    return TW_OK;
}

/* ---- states ---- */

static join_t *join_at(verifier_t *v, uint32_t at)
{
    uint32_t low = 0;
    uint32_t high = v->n_joins;
    while (high - low > 1) {
        const uint32_t mid = (low + high) / 2;
        if (v->joins[mid].at <= at) {
            low = mid;
        } else {
            high = mid;
        }
    }
    return &v->joins[low];
}

/* @return true when `into` changed. */
static bool merge(state_t *into, const state_t *from)
{
    const state_t old = *into;
    into->must &= from->must;
    into->may |= from->may;
    return into->must != old.must || into->may != old.may;
}

static tw_err_t flow_to(verifier_t *v, const walk_t *w, uint32_t at)
{
    join_t *const j = join_at(v, at);
    if (w->stacked_ptrs != 0) {
        return WHY(POINTER_STACKED);
    }
    if (!j->seen) {
        j->st = w->st;
        j->seen = j->dirty = true;
        return TW_OK;
    }
    if (j->st.routine != w->st.routine) {
        return WHY(TWO_ROUTINES);
    }
    if (j->st.depth != w->st.depth) {
        return WHY(TWO_DEPTHS);
    }
    j->dirty |= merge(&j->st, &w->st);
    return TW_OK;
}

static void touch_routines(verifier_t *v, uint32_t mask)
{
    for (unsigned i = 0; i < v->n_joins; i++) {
        join_t *const j = &v->joins[i];
        j->dirty |= j->seen && (mask >> j->st.routine & 1) != 0;
    }
}

/* ---- operands along a path ---- */

static tw_err_t push(const verifier_t *v, walk_t *w)
{
    if (v->routines[w->st.routine].base + w->st.depth >= v->s->stack) {
        return WHY(PUSH_FULL);
    }
    w->st.depth++;
    return TW_OK;
}

static bool stacked_ptr(const walk_t *w, unsigned entry)
{
    return (w->stacked_ptrs >> entry & 1) != 0;
}

static tw_err_t read_value(walk_t *w, unsigned code)
{
    if (code == TW_RC_S0) {
        if (w->st.depth == 0) {
            return WHY(POP_EMPTY);
        }
        w->st.depth--;
        return stacked_ptr(w, w->st.depth) ? WHY(POINTER_STACKED) : TW_OK;
    }
    if (code == TW_RC_S1) {
        if (w->top < 2) {
            return WHY(NO_SECOND);
        }
        return stacked_ptr(w, w->top - 2u) ? WHY(POINTER_STACKED) : TW_OK;
    }
    return TW_OK;
}

/* fp8: the value may be one; only registers hold those. */
static tw_err_t write_value(const verifier_t *v, walk_t *w, unsigned code, bool fp8)
{
    if (code < TW_RC_P0) {
        w->st.may = (w->st.may & ~REG_FP8(code)) | (fp8 ? REG_FP8(code) : 0);
        return TW_OK;
    }
    if (fp8 && code >= TW_RC_S0) {
        return WHY(FP8_STACKED);
    }
    if (code == TW_RC_S1) { /* the entry must be there still: pops of this instruction may have taken it */
        if (w->top < 2 || w->top - 2 >= w->st.depth) {
            return w->top < 2 ? WHY(NO_SECOND) : WHY(SECOND_GONE);
        }
        return stacked_ptr(w, w->top - 2u) ? WHY(POINTER_STACKED)
                                           : TW_OK; /* a number in its place would be taken for it */
    }
    return code == TW_RC_S0 ? push(v, w) : TW_OK;
}

static bool maybe_fp8(const walk_t *w, unsigned code)
{
    return code < TW_RC_P0 && (w->st.may & REG_FP8(code)) != 0;
}

static void copy_pointer(state_t *to, unsigned x, const state_t *from, unsigned y)
{
    to->must &= (uint16_t) ~(CAN_READ(x) | CAN_WRITE(x));
    to->must |= (uint16_t)((from->must & CAN_READ(y)) != 0 ? CAN_READ(x) : 0);
    to->must |= (uint16_t)((from->must & CAN_WRITE(y)) != 0 ? CAN_WRITE(x) : 0);
    to->may &= ~(IS_SCRATCH(x) | PTR_FP8(x));
    to->may |= (from->may & IS_SCRATCH(y)) != 0 ? IS_SCRATCH(x) : 0;
    to->may |= (from->may & PTR_FP8(y)) != 0 ? PTR_FP8(x) : 0;
}

/* The only pointers on the stack are psha's: constants of a type the directory names. */
static tw_err_t take_pointer(const verifier_t *v, walk_t *w, unsigned x)
{
    if (w->st.depth == 0) {
        return WHY(POP_EMPTY);
    }
    w->st.depth--;
    if (!stacked_ptr(w, w->st.depth)) {
        return WHY(NO_POINTER_STACKED);
    }
    w->stacked_ptrs &= ~((uint64_t)1 << w->st.depth);
    w->st.must = (uint16_t)((w->st.must & ~CAN_WRITE(x)) | CAN_READ(x));
    w->st.may &= ~(IS_SCRATCH(x) | PTR_FP8(x));
    for (uint32_t i = 0; i < v->pool.labels; i++) { /* which label is not tracked: any fp8 data taints */
        w->st.may |= tw_stype_is_fp8(v->pool.dir[4 * i + 1]) ? PTR_FP8(x) : 0;
    }
    return TW_OK;
}

static tw_err_t move_pointer(const verifier_t *v, walk_t *w, const tw_sinsn_t *in)
{
    const unsigned x = ptr_of(in->x);
    const unsigned y = ptr_of(in->y);
    const state_t old = w->st;
    if (in->y == TW_RC_S0) {
        return take_pointer(v, w, x);
    }
    copy_pointer(&w->st, x, &old, y);
    if (in->effect == TW_SX_SWAP) {
        copy_pointer(&w->st, y, &old, x);
    } else if (in->effect == TW_SX_CMOVE) {
        merge(&w->st, &old);
    }
    return TW_OK;
}

static tw_err_t move(const verifier_t *v, walk_t *w, const tw_sinsn_t *in)
{
    const bool fp8_x = maybe_fp8(w, in->x);
    const bool fp8_y = maybe_fp8(w, in->y);
    if (is_ptr(in->x)) {
        return move_pointer(v, w, in);
    }
    if (in->effect == TW_SX_SWAP) {
        TW_TRY(read_value(w, in->x));
        TW_TRY(read_value(w, in->y));
        TW_TRY(write_value(v, w, in->x, fp8_y));
        return write_value(v, w, in->y, fp8_x);
    }
    if (in->effect == TW_SX_CMOVE && in->x == TW_RC_S0) { /* pushed or not: two depths */
        return WHY(MAYBE_PUSHES);
    }
    TW_TRY(read_value(w, in->y));
    const bool keeps_type = in->key != TW_SOP_COPYT && in->x < TW_RC_P0;
    return write_value(v, w, in->x, keeps_type ? fp8_x : fp8_y);
}

static tw_err_t load(const verifier_t *v, walk_t *w, const tw_sinsn_t *in)
{
    const unsigned p = ptr_of(in->y);
    if ((w->st.must & CAN_READ(p)) == 0) {
        return WHY(LOAD_UNSET);
    }
    if ((w->st.may & IS_SCRATCH(p)) != 0 && (w->st.must & SCRATCH_WRITTEN) == 0) {
        return WHY(NOT_WRITTEN);
    }
    return write_value(v, w, in->x, (w->st.may & PTR_FP8(p)) != 0);
}

static tw_err_t store(walk_t *w, const tw_sinsn_t *in)
{
    const unsigned p = ptr_of(in->x);
    TW_TRY(read_value(w, in->y));
    if ((w->st.must & CAN_WRITE(p)) == 0) {
        return WHY(STORE_UNSET);
    }
    if ((w->st.may & IS_SCRATCH(p)) != 0) {
        w->st.must |= SCRATCH_WRITTEN;
    }
    return TW_OK;
}

/* Every other instruction: what the EFFECT column says of X and Y. */
static tw_err_t generic(const verifier_t *v, walk_t *w, const tw_sinsn_t *in)
{
    const unsigned effect = in->effect;
    const bool on_pointer = is_ptr(in->x); /* addm, subm */
    const bool second = (effect & TW_SE_RY) != 0;
    const bool fp8_x = maybe_fp8(w, in->x);
    if ((effect & TW_SE_MATH) != 0 && (fp8_x || (second && maybe_fp8(w, in->y)))) {
        return WHY(FP8_COMPUTED);
    }
    if (in->form == TW_SF_RANGE && maybe_fp8(w, in->y + 1u)) {
        return WHY(FP8_COMPUTED);
    }
    if ((effect & TW_SE_RX) != 0 && !on_pointer) {
        TW_TRY(read_value(w, in->x));
    }
    if (second) {
        TW_TRY(read_value(w, in->y));
    }
    if ((effect & TW_SE_POP) != 0 && !on_pointer) {
        TW_TRY(read_value(w, TW_RC_S0));
    }
    if ((effect & TW_SE_WX) == 0 || on_pointer) {
        return TW_OK;
    }
    const bool retyped = in->form == TW_SF_LIT || in->form == TW_SF_XT;
    return write_value(v, w, in->x, retyped ? tw_stype_is_fp8(in->y) : fp8_x);
}

/* ---- calls and returns ---- */

static tw_err_t enter(verifier_t *v, walk_t *w, unsigned callee)
{
    routine_t *const me = &v->routines[w->st.routine];
    routine_t *const r = &v->routines[callee];
    walk_t inside = *w;
    inside.st.depth = 0;
    inside.st.routine = (uint8_t)callee;
    if (me->level >= TW_SCRIPT_CALL_DEPTH) { /* recursion raises the level at each turn and ends here too */
        return WHY(DEEP_CALLS);
    }
    r->callers |= 1u << w->st.routine;
    const unsigned base = (unsigned)me->base + w->st.depth;
    if (base > v->s->stack) { /* a caller's own base grew meanwhile */
        return WHY(PUSH_FULL);
    }
    if (r->level < me->level + 1 || r->base < base) {
        r->level = (uint8_t)tw_max_u32(r->level, me->level + 1u);
        r->base = (uint8_t)tw_max_u32(r->base, base);
        touch_routines(v, 1u << callee);
    }
    return flow_to(v, &inside, v->labels[r->label]);
}

/* @param goes_on  false: nothing is known yet to follow the call */
static tw_err_t call(verifier_t *v, walk_t *w, const tw_sinsn_t *in, bool *goes_on)
{
    const bool conditional = (in->word & 0x80) != 0;
    const unsigned callee = routine_of_label(v, in->word & 127);
    TW_TRY(enter(v, w, callee));
    const routine_t *const r = &v->routines[callee];
    if (r->returns == NO_RETURN) {
        *goes_on = conditional;
        return TW_OK;
    }
    if (conditional) {
        merge(&w->st, &r->exit);
        return r->returns == RETURNS_RESULT ? WHY(MAYBE_PUSHES) : TW_OK;
    }
    w->st.must = r->exit.must;
    w->st.may = r->exit.may;
    return r->returns == RETURNS_RESULT ? push(v, w) : TW_OK;
}

static tw_err_t give_back(verifier_t *v, walk_t *w, const tw_sinsn_t *in)
{
    routine_t *const r = &v->routines[w->st.routine];
    const uint8_t how = in->key == TW_SOP_RETP ? RETURNS_RESULT : RETURNS;
    if (in->key == TW_SOP_RETP) {
        if (maybe_fp8(w, in->x)) {
            return WHY(FP8_STACKED);
        }
        TW_TRY(read_value(w, in->x));
        w->st.depth = 0;
        TW_TRY(push(v, w));
    }
    if (in->key == TW_SOP_RETK) {
        w->st.may &= ~ALL_REG_FP8 | (uint32_t)(in->word & 63) << 12;
    }
    if (w->st.routine == MAIN) {
        return TW_OK;
    }
    if (r->returns != NO_RETURN && r->returns != how) {
        return WHY(TWO_RETURNS);
    }
    const bool first = r->returns == NO_RETURN;
    if (first) {
        r->exit = w->st;
        r->returns = how;
    }
    if (first || merge(&r->exit, &w->st)) {
        touch_routines(v, r->callers);
    }
    return TW_OK;
}

/* The host sees p0 and p1 and sets r0; that it fills a buffer is taken for granted. */
static tw_err_t call_host(walk_t *w, const tw_sinsn_t *in)
{
    const int pops = in->key == TW_SOP_CALLSYS ? tw_ssys_pops(in->word & 127) : 0;
    const bool conditional = (in->word & 0x80) != 0;
    if (pops > 0) {
        if (conditional) { /* popped or not: two depths */
            return WHY(MAYBE_POPS);
        }
        TW_TRY(read_value(w, TW_RC_S0));
    }
    if (conditional) {
        return TW_OK;
    }
    w->st.may &= ~REG_FP8(0);
    if ((w->st.may & IS_SCRATCH(0)) != 0) {
        w->st.must |= SCRATCH_WRITTEN;
    }
    return TW_OK;
}

/* The other script leaves pointers as at entry, and no fp8. */
static tw_err_t call_script(verifier_t *v, walk_t *w, const tw_sinsn_t *in)
{
    if (v->routines[w->st.routine].level >= TW_SCRIPT_CALL_DEPTH) {
        return WHY(DEEP_CALLS);
    }
    if (w->stacked_ptrs != 0) {
        return WHY(POINTER_STACKED);
    }
    state_t after = v->entry;
    after.must |= w->st.must & SCRATCH_WRITTEN;
    if ((in->word & 0x80) != 0) {
        merge(&w->st, &after);
    } else {
        w->st.must = after.must;
        w->st.may = after.may;
    }
    return TW_OK;
}

/* ---- one path ---- */

static tw_err_t step(verifier_t *v, walk_t *w, const tw_sinsn_t *in, bool *goes_on)
{
    w->top = w->st.depth;
    switch (in->key) {
    case TW_SOP_JMP:
        *goes_on = (in->word & 0x80) != 0;
        return flow_to(v, w, v->labels[in->word & 127]);
    case TW_SOP_JMPR: {
        const unsigned k = in->word & 127;
        *goes_on = (in->word & 0x80) != 0;
        return flow_to(v, w, v->at + 1 + k - (k < 64 ? 0u : 128u));
    }
    case TW_SOP_BANZ:
        return flow_to(v, w, v->labels[in->word & 127]);
    case TW_SOP_CALL:
        return call(v, w, in, goes_on);
    case TW_SOP_RET:
    case TW_SOP_RETK:
    case TW_SOP_RETP:
        *goes_on = false;
        return give_back(v, w, in);
    case TW_SOP_CALLSYS:
    case TW_SOP_CALLAPP:
        return call_host(w, in);
    case TW_SOP_CALLSCRIPT:
        return call_script(v, w, in);
    case TW_SOP_COPY:
    case TW_SOP_COPYT:
    case TW_SOP_CCOPY:
    case TW_SOP_SWAP:
        return move(v, w, in);
    case TW_SOP_LOAD:
    case TW_SOP_LOADI:
        return load(v, w, in);
    case TW_SOP_STORE:
    case TW_SOP_STOREI:
        return store(w, in);
    case TW_SOP_PTYPE:
        w->st.may &= ~PTR_FP8(ptr_of(in->x));
        w->st.may |= tw_stype_is_fp8(in->y) ? PTR_FP8(ptr_of(in->x)) : 0;
        return TW_OK;
    case TW_SOP_PSHA:
        TW_TRY(push(v, w));
        w->stacked_ptrs |= (uint64_t)1 << (w->st.depth - 1);
        return TW_OK;
    case TW_SOP_PSHT:
        return push(v, w);
    case TW_SOP_DUP:
        TW_TRY(read_value(w, TW_RC_S0));
        w->st.depth++;
        return push(v, w);
    case TW_SOP_RESET:
        w->st.depth = 0;
        w->stacked_ptrs = 0;
        w->st.may &= ~ALL_REG_FP8;
        return TW_OK;
    default:
        return generic(v, w, in);
    }
}

/* From a join to the end of its straight line, or to the next join. */
static tw_err_t walk_from(verifier_t *v, join_t *j)
{
    walk_t w = {.st = j->st};
    uint32_t next = j->at;
    j->dirty = false;
    do {
        tw_sinsn_t in;
        bool goes_on = true;
        v->at = next;
        decode_at(v, v->at, &in);
        TW_TRY(step(v, &w, &in, &goes_on));
        if (!goes_on) {
            return TW_OK;
        }
        next = v->at + in.halfwords;
        if (next >= v->n) {
            return WHY(FALLS_OFF);
        }
    } while (!bit(v->targets, next));
    return flow_to(v, &w, next);
}

static tw_err_t walk_all(verifier_t *v)
{
    join_t *const first = &v->joins[0];
    first->st = v->entry;
    first->seen = first->dirty = true;
    for (bool more = true; more;) {
        more = false;
        for (unsigned i = 0; i < v->n_joins; i++) {
            if (v->joins[i].dirty) {
                more = true;
                TW_TRY(walk_from(v, &v->joins[i]));
            }
        }
    }
    return TW_OK;
}

/* ---- the whole ---- */

static state_t entry_state(const tw_script_t *s)
{
    state_t st = {.routine = MAIN};
    if (s->mem_bytes != 0 && s->ptrs != 0) { /* the place may be chosen after the check */
        const unsigned p = s->ptrs - 1u;
        st.must = (uint16_t)(CAN_READ(p) | CAN_WRITE(p));
        st.may = s->shared ? IS_SCRATCH(p) : 0;
    }
    return st;
}

static tw_err_t check_limits(verifier_t *v)
{
    const tw_script_t *const s = v->s;
    if (s->regs > TW_SCRIPT_REGS || s->ptrs > TW_SCRIPT_PTRS) {
        return WHY(DECLARED_MANY);
    }
    if (s->stack > TW_SCRIPT_STACK_MAX) {
        return WHY(STACK_DECLARED);
    }
    if (s->budget > TW_SCRIPT_BUDGET_MAX) {
        return WHY(BUDGET_DECLARED);
    }
    if (s->code_bytes == 0) {
        return WHY(EMPTY);
    }
    if ((s->code_bytes & 1) != 0 || s->code_bytes > 2 * TW_SCRIPT_MAX_HALFWORDS || s->pool_bytes > 65535) {
        return WHY(BAD_SIZE);
    }
    return tw_spool_open(s, &v->pool) && tw_spool_check(&v->pool) ? TW_OK : WHY(BAD_POOL);
}

static tw_err_t verify(verifier_t *v)
{
    TW_TRY(check_limits(v));
    v->n = v->s->code_bytes / 2;
    for (unsigned i = 0; i < TW_SCRIPT_LABELS; i++) {
        v->labels[i] = TW_SCRIPT_NO_LABEL;
    }
    v->n_routines = 1;
    v->entry = entry_state(v->s);
    TW_TRY(scan_words(v));
    TW_TRY(scan_targets(v));
    return walk_all(v);
}

static tw_err_t error_of(int why)
{
    switch (why) {
#define TW_SREASON(NAME, ERROR, text) \
    case WHY_##NAME:                  \
        return TW_E_SCR_##ERROR;
#include "engine/script/script_reasons.def"
    default:
        return TW_OK;
    }
}

tw_err_t tw_script_verify(const tw_script_t *s, bool privileged, uint64_t *calls, tw_fault_t *fault)
{
    verifier_t v;
    memset(&v, 0, sizeof v);
    v.s = s;
    v.privileged = privileged;
    const int why = -(int)verify(&v);
    if (why != 0) {
        *fault = (tw_fault_t){.err = error_of(why), .section = (uint32_t)(why - REASON_BASE), .at = 2 * v.at};
        return fault->err;
    }
    if (calls != NULL) {
        *calls = tw_script_calls(s);
    }
    return TW_OK;
}
