/* script_fast_flow.c - the types of registers, pointers and stack entries along verified code.
 *
 * A forward analysis over joins, as in script_verify.c, of the one thing the verifier does not look at. A type is
 * known where it is the same on all paths; it can only become unknown, which bounds the work. The code is trusted to
 * be verified as far as depths and targets go; what the host may change is not trusted here but checked whenever
 * translated code is entered.
 */
#include "engine/script/script_fast_priv.h"

static bool is_ptr(unsigned code)
{
    return code >= TW_RC_P0 && code < TW_RC_LC;
}

static void decode_at(const tw_flows_t *f, uint32_t at, tw_sinsn_t *in)
{
    tw_sop_decode(tw_get_le16(f->s->code + 2 * at), in);
}

static bool is_conditional(const tw_sinsn_t *in)
{
    return (in->word & 0x80) != 0;
}

bool tw_flows_is_target(const tw_flows_t *f, uint32_t at)
{
    return (f->targets[at / 32] >> (at % 32) & 1) != 0;
}

uint32_t tw_flow_target(const tw_flows_t *f, uint32_t at, const tw_sinsn_t *in)
{
    const unsigned k = in->word & 127;
    return in->key == TW_SOP_JMPR ? at + 1 + k - (k < 64 ? 0u : 128u) : f->labels[k] / 2u;
}

/* ---- one instruction ---- */

static void set_slot(tw_flow_t *st, unsigned slot, unsigned type)
{
    if (slot != TW_FAST_ANY) {
        st->t[slot] = (uint8_t)type;
    }
}

static void push(tw_flow_t *st, unsigned type)
{
    set_slot(st, tw_flow_slot(st, st->depth), type);
    st->depth++;
}

/* @param top  depth when the instruction started */
static unsigned read(tw_flow_t *st, unsigned code, int top)
{
    switch (code) {
    case TW_RC_LC:
        return TW_T_U16;
    case TW_RC_ZERO:
        return TW_T_I32;
    case TW_RC_S0:
        st->depth--;
        return tw_flow_type(st, tw_flow_slot(st, st->depth));
    case TW_RC_S1:
        return tw_flow_type(st, tw_flow_slot(st, top - 2));
    default:
        return code < TW_RC_P0 ? st->t[code] : TW_FAST_ANY;
    }
}

static void write(tw_flow_t *st, unsigned code, int top, unsigned type)
{
    if (code < TW_RC_P0) {
        st->t[code] = (uint8_t)type;
    } else if (code == TW_RC_S0) {
        push(st, type);
    } else if (code == TW_RC_S1) {
        set_slot(st, tw_flow_slot(st, top - 2), type);
    }
}

/* A register and s1 keep their type; what is pushed brings its own. */
static void write_kept(tw_flow_t *st, unsigned code, unsigned type)
{
    if (code == TW_RC_S0) {
        push(st, type);
    }
}

static unsigned both(unsigned a, unsigned b)
{
    return a == b ? a : TW_FAST_ANY;
}

static void take_pointer(const tw_flows_t *f, tw_flow_t *st, unsigned p, unsigned label)
{
    tw_sptr_t at;
    st->depth--;
    st->p[p] = label != 0 && tw_spool_find(&f->pool, label - 1, &at) ? at.type : TW_FAST_ANY;
}

static void move(const tw_flows_t *f, tw_flow_t *st, const tw_sinsn_t *in, unsigned label)
{
    const int top = st->depth;
    const unsigned x = in->x - TW_RC_P0;
    const unsigned y = in->y - TW_RC_P0;
    if (is_ptr(in->x) && in->y == TW_RC_S0) {
        take_pointer(f, st, x, label);
    } else if (is_ptr(in->x) && in->key == TW_SOP_SWAP) {
        const uint8_t t = st->p[x];
        st->p[x] = st->p[y];
        st->p[y] = t;
    } else if (is_ptr(in->x)) {
        st->p[x] = (uint8_t)(in->key == TW_SOP_CCOPY ? both(st->p[x], st->p[y]) : st->p[y]);
    } else if (in->key == TW_SOP_SWAP) {
        const unsigned tx = read(st, in->x, top);
        const unsigned ty = read(st, in->y, top);
        write(st, in->x, top, ty);
        write(st, in->y, top, tx);
    } else {
        const unsigned ty = read(st, in->y, top);
        if (in->key == TW_SOP_COPYT) {
            write(st, in->x, top, ty);
        } else {
            write_kept(st, in->x, ty);
        }
    }
}

/* Calls of the host are supposed to touch r0 and r1 alone; tw_fast_run() finds out when they do more. */
static void call_host(tw_flow_t *st, const tw_sinsn_t *in)
{
    const int pops = in->key == TW_SOP_CALLSYS ? tw_ssys_pops(in->word & 127) : 0;
    st->depth = (uint8_t)(st->depth - tw_max_u32(0, (uint32_t)pops));
    st->t[0] = (uint8_t)(is_conditional(in) ? both(st->t[0], TW_T_I32) : TW_T_I32);
    st->t[1] = TW_FAST_ANY;
}

/* The other script leaves any registers, and pointers as at entry; conditional or not: they may be so. */
static void call_script(tw_flow_t *st, const tw_sinsn_t *in)
{
    memset(st->t, TW_FAST_ANY, TW_SCRIPT_REGS);
    for (unsigned i = 0; i < TW_SCRIPT_PTRS; i++) {
        st->p[i] = (uint8_t)(is_conditional(in) ? both(st->p[i], TW_T_I32) : TW_T_I32);
    }
}

static void compute(tw_flow_t *st, const tw_sinsn_t *in)
{
    const int top = st->depth;
    const unsigned effect = in->effect;
    const bool on_pointer = is_ptr(in->x);
    const unsigned tx = (effect & TW_SE_RX) != 0 && !on_pointer ? read(st, in->x, top) : TW_FAST_ANY;
    const unsigned ty = (effect & TW_SE_RY) != 0 ? read(st, in->y, top) : TW_FAST_ANY;
    if ((effect & TW_SE_POP) != 0 && !on_pointer) {
        st->depth--;
    }
    if ((effect & TW_SE_WX) == 0 || on_pointer) {
        return;
    }
    if (in->form == TW_SF_LIT || in->form == TW_SF_XT) {
        write(st, in->x, top, in->y);
    } else if (in->form == TW_SF_RP) {
        write_kept(st, in->x, TW_T_U32);
    } else if (in->key == TW_SOP_BFX || in->key == TW_SOP_NORM) {
        write_kept(st, in->x, in->key == TW_SOP_BFX ? TW_T_U64 : TW_T_I32);
    } else {
        write_kept(st, in->x, (effect & TW_SE_RX) != 0 ? tx : ty);
    }
}

static bool step(const tw_flows_t *f, tw_flow_t *st, const tw_sinsn_t *in)
{
    const int top = st->depth;
    const unsigned label = st->pushed;
    st->pushed = 0;
    switch (in->key) {
    case TW_SOP_JMP:
    case TW_SOP_JMPR:
        return is_conditional(in);
    case TW_SOP_RET:
    case TW_SOP_RETK:
    case TW_SOP_RETP:
        return false;
    case TW_SOP_BANZ:
    case TW_SOP_CALL: /* tw_flow_call() */
        return true;
    case TW_SOP_CALLSYS:
    case TW_SOP_CALLAPP:
        call_host(st, in);
        return true;
    case TW_SOP_CALLSCRIPT:
        call_script(st, in);
        return true;
    case TW_SOP_COPY:
    case TW_SOP_COPYT:
    case TW_SOP_CCOPY:
    case TW_SOP_SWAP:
        move(f, st, in, label);
        return true;
    case TW_SOP_LOAD:
    case TW_SOP_LOADI:
        write(st, in->x, top, st->p[in->y - TW_RC_P0]);
        return true;
    case TW_SOP_STORE:
    case TW_SOP_STOREI:
        (void)read(st, in->y, top);
        return true;
    case TW_SOP_PTYPE:
        st->p[in->x - TW_RC_P0] = in->y;
        return true;
    case TW_SOP_PSHA:
        push(st, TW_T_PTR);
        st->pushed = (uint8_t)(1 + (in->word & 127));
        return true;
    case TW_SOP_PSHT:
        push(st, TW_T_U8);
        return true;
    case TW_SOP_DUP:
        push(st, tw_flow_type(st, tw_flow_slot(st, top - 1)));
        return true;
    case TW_SOP_RESET:
        memset(st->t, TW_T_I32, TW_SCRIPT_REGS);
        st->depth = 0;
        return true;
    default:
        compute(st, in);
        return true;
    }
}

bool tw_flow_step(const tw_flows_t *f, tw_flow_t *st, const tw_sinsn_t *in)
{
    const int top = st->depth;
    const bool goes_on = step(f, st, in);
    for (int gone = st->depth; gone < top; gone++) { /* what is popped may never have been there */
        set_slot(st, tw_flow_slot(st, gone), TW_FAST_ANY);
    }
    return goes_on;
}

/* ---- joins ---- */

static tw_flow_join_t *join_at(tw_flows_t *f, uint32_t at)
{
    uint32_t low = 0;
    uint32_t high = f->n_joins;
    while (high - low > 1) {
        const uint32_t mid = (low + high) / 2;
        if (f->joins[mid].at <= at) {
            low = mid;
        } else {
            high = mid;
        }
    }
    return &f->joins[low];
}

static bool forget(uint8_t *known, const uint8_t *also, unsigned n)
{
    bool changed = false;
    for (unsigned i = 0; i < n; i++) {
        const uint8_t t = (uint8_t)both(known[i], also[i]);
        changed |= t != known[i];
        known[i] = t;
    }
    return changed;
}

static void merge_into(tw_flow_join_t *j, const tw_flow_t *st)
{
    if (!j->seen) {
        memcpy(j->t, st->t, sizeof j->t);
        memcpy(j->p, st->p, sizeof j->p);
        j->depth = st->depth;
        j->base = st->base;
        j->routine = st->routine;
        j->seen = j->dirty = true;
        return;
    }
    j->dirty |= forget(j->t, st->t, sizeof j->t);
    j->dirty |= forget(j->p, st->p, sizeof j->p);
    if (j->base != st->base && j->base != TW_FAST_ANY) {
        j->base = TW_FAST_ANY;
        j->dirty = true;
    }
    if (j->base == TW_FAST_ANY) {
        memset(j->t + TW_SCRIPT_REGS, TW_FAST_ANY, sizeof j->t - TW_SCRIPT_REGS);
    }
}

static void state_of(const tw_flow_join_t *j, tw_flow_t *st)
{
    memset(st, TW_FAST_ANY, sizeof *st);
    memcpy(st->t, j->t, sizeof j->t);
    memcpy(st->p, j->p, sizeof j->p);
    st->depth = j->depth;
    st->base = j->base;
    st->routine = j->routine;
    st->pushed = 0;
}

bool tw_flows_at(const tw_flows_t *f, uint32_t at, tw_flow_t *st)
{
    uint32_t low = 0;
    for (uint32_t high = f->n_joins; high - low > 1;) {
        const uint32_t mid = (low + high) / 2;
        *(f->joins[mid].at <= at ? &low : &high) = mid;
    }
    state_of(&f->joins[low], st);
    return f->joins[low].seen;
}

/* ---- routines ---- */

static unsigned routine_of(const tw_flows_t *f, unsigned label)
{
    unsigned i = 1;
    while (i < f->n_routines && f->routine_label[i] != label) {
        i++;
    }
    return i;
}

/* The caller's own stack entries become unknown: nothing here says what a routine leaves of them. */
static bool after_call(const tw_flows_t *f, tw_flow_t *st, const tw_sinsn_t *in)
{
    const unsigned callee = routine_of(f, in->word & 127);
    const tw_flow_join_t *const x = &f->exits[callee];
    if (!x->seen) {
        return is_conditional(in);
    }
    memset(st->t + TW_SCRIPT_REGS, TW_FAST_ANY, TW_SCRIPT_STACK_MAX);
    if (is_conditional(in)) {
        forget(st->t, x->t, TW_SCRIPT_REGS);
        forget(st->p, x->p, sizeof x->p);
        return true;
    }
    memcpy(st->t, x->t, TW_SCRIPT_REGS);
    memcpy(st->p, x->p, sizeof x->p);
    if (f->result[callee]) {
        push(st, x->t[TW_SCRIPT_REGS]);
    }
    return true;
}

bool tw_flow_call(const tw_flows_t *f, tw_flow_t *st, const tw_sinsn_t *in)
{
    st->pushed = 0;
    return after_call(f, st, in);
}

static void enter(tw_flows_t *f, const tw_flow_t *st, const tw_sinsn_t *in)
{
    tw_flow_t inside = *st;
    const unsigned base = (unsigned)st->base + st->depth;
    inside.routine = (uint8_t)routine_of(f, in->word & 127);
    inside.base = (uint8_t)(st->base == TW_FAST_ANY || base > TW_SCRIPT_STACK_MAX ? TW_FAST_ANY : base);
    inside.depth = 0;
    memset(inside.t + TW_SCRIPT_REGS, TW_FAST_ANY, TW_SCRIPT_STACK_MAX);
    merge_into(join_at(f, f->labels[in->word & 127] / 2u), &inside);
}

static void give_back(tw_flows_t *f, const tw_flow_t *at, const tw_sinsn_t *in)
{
    tw_flow_join_t *const x = &f->exits[at->routine];
    tw_flow_t st = *at;
    if (in->key == TW_SOP_RETP) {
        f->result[at->routine] = true;
        st.t[TW_SCRIPT_REGS] = (uint8_t)read(&st, in->x, st.depth);
    }
    for (unsigned i = 0; i < TW_SCRIPT_REGS && in->key == TW_SOP_RETK; i++) {
        st.t[i] = (in->word >> i & 1) == 0 ? (uint8_t)TW_T_I32 : st.t[i];
    }
    st.base = 0; /* of no meaning for what a routine leaves */
    x->dirty = false;
    merge_into(x, &st);
    for (unsigned i = 0; x->dirty && at->routine != 0 && i < f->n_joins; i++) {
        f->joins[i].dirty |= f->joins[i].seen;
    }
}

/* ---- all of it ---- */

static bool add_target(tw_flows_t *f, uint32_t at, const tw_sinsn_t *in)
{
    const uint32_t to = tw_flow_target(f, at, in);
    f->targets[to / 32] |= 1u << (to % 32);
    if (in->key == TW_SOP_CALL && routine_of(f, in->word & 127) == f->n_routines) {
        if (f->n_routines == TW_FAST_ROUTINES) {
            return false;
        }
        f->routine_label[f->n_routines++] = (uint8_t)(in->word & 127);
    }
    return true;
}

static bool find_joins(tw_flows_t *f)
{
    tw_sinsn_t in;
    for (uint32_t at = 0; at < f->n; at += in.halfwords) {
        decode_at(f, at, &in);
        const bool goes =
            in.key == TW_SOP_JMP || in.key == TW_SOP_JMPR || in.key == TW_SOP_BANZ || in.key == TW_SOP_CALL;
        if (goes && !add_target(f, at, &in)) {
            return false;
        }
    }
    f->targets[0] |= 1;
    for (uint32_t at = 0; at < f->n; at++) {
        if (tw_flows_is_target(f, at)) {
            if (f->n_joins == TW_FAST_JOINS) {
                return false;
            }
            f->joins[f->n_joins++] = (tw_flow_join_t){.at = (uint16_t)at};
        }
    }
    return true;
}

/* @return true: the next instruction is reached */
static bool walk_over(tw_flows_t *f, tw_flow_t *st, uint32_t at, const tw_sinsn_t *in)
{
    switch (in->key) {
    case TW_SOP_JMP:
    case TW_SOP_JMPR:
    case TW_SOP_BANZ:
        merge_into(join_at(f, tw_flow_target(f, at, in)), st);
        break;
    case TW_SOP_CALL:
        enter(f, st, in);
        return tw_flow_call(f, st, in);
    case TW_SOP_RET:
    case TW_SOP_RETK:
    case TW_SOP_RETP:
        give_back(f, st, in);
        break;
    }
    return tw_flow_step(f, st, in);
}

static void walk_from(tw_flows_t *f, tw_flow_join_t *j)
{
    tw_flow_t st;
    tw_sinsn_t in;
    state_of(j, &st);
    j->dirty = false;
    for (uint32_t at = j->at; at < f->n; at += in.halfwords) {
        if (at != j->at && tw_flows_is_target(f, at)) {
            merge_into(join_at(f, at), &st);
            return;
        }
        decode_at(f, at, &in);
        if (!walk_over(f, &st, at, &in)) {
            return;
        }
    }
}

bool tw_flows_find(tw_flows_t *f, const tw_script_t *s)
{
    memset(f, 0, sizeof *f);
    f->s = s;
    f->n = s->code_bytes / 2;
    f->n_routines = 1;
    if (f->n == 0 || f->n > TW_FAST_HALFWORDS || !tw_spool_open(s, &f->pool)) {
        return false;
    }
    tw_script_index(s, f->labels);
    if (!find_joins(f)) {
        return false;
    }
    tw_flow_t entry;
    memset(&entry, TW_FAST_ANY, sizeof entry); /* arguments may be there or not, and of any type after callscript */
    memset(entry.p, TW_T_I32, sizeof entry.p);
    entry.depth = entry.base = entry.routine = entry.pushed = 0;
    merge_into(&f->joins[0], &entry);
    for (bool more = true; more;) {
        more = false;
        for (unsigned i = 0; i < f->n_joins; i++) {
            if (f->joins[i].dirty) {
                more = true;
                walk_from(f, &f->joins[i]);
            }
        }
    }
    return true;
}
