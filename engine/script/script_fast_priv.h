/* script_fast_priv.h - the fast script machine: what translation leaves behind and execution reads.
 *
 * A translated script is an array of operations (uops) with operands resolved: values are indices into the registers
 * and the stack of tw_script_ctx_t (one array), pointers byte offsets in it, jumps distances, literals immediate. Types
 * are those that hold on every path; they stand in the context as the compact machine would have left them, so that at
 * any operation the compact machine can go on. That is how everything rare is done: budgets that end, windows missed,
 * calls of the host. Nothing here writes code that a processor runs.
 *
 * A block begins where a jump lands or where the compact machine may hand back, and reaches over conditional jumps to
 * the next such place. Its instructions are paid where it begins; who leaves early takes back the rest.
 */
#pragma once
#include "engine/script/script_value_priv.h"

typedef enum tw_uop_code {
#define TW_UOP(NAME) TW_U_##NAME,
#include "engine/script/script_fast_uops.def"
    TW_U_COUNT
} tw_uop_code_t;

enum { TW_FAST_ANY = 0xFF, TW_FAST_NO_HEAD = 0xFFFF };

/** What is known of types: registers, then the stack's first entries. */
#define TW_FAST_TYPES 16u

typedef struct tw_uop {
    uint16_t op;
    uint8_t d, a, b, e; /* places of values in tw_script_ctx_t.v; pointers: byte offset in the context */
    int16_t n;          /* of jumps: what the place reached costs less than staying */
    union {
        int64_t i;
        uint64_t u;
        double f;
        const uint8_t *at;
        struct {
            int32_t lo, hi;
        };
        struct {
            int32_t to; /* of jumps: distance in operations */
            union {
                int32_t k;
                float s;
            };
        };
    };
} tw_uop_t;
_Static_assert(sizeof(tw_uop_t) == 16, "four to a cache line");

/** Where an operation comes from. */
typedef struct tw_uop_info {
    uint16_t pc;   /* [bytes] of its first instruction */
    uint16_t rest; /* instructions paid that have not begun when it starts */
    uint8_t depth; /* stack entries above the routine's base */
    uint8_t covers;
} tw_uop_info_t;

/** Where execution can begin, and what must be so for it. */
typedef struct tw_fast_head {
    uint64_t want[2], mask[2]; /* of the first TW_FAST_TYPES types of a context, compared as words */
    uint16_t pc, uop;
    uint8_t p[TW_SCRIPT_PTRS];
    uint8_t depth, base;
} tw_fast_head_t;
_Static_assert(TW_FAST_TYPES == 16, "two words");

typedef struct tw_fast {
    const tw_uop_t *uops;
    const tw_uop_info_t *info;
    const tw_fast_head_t *heads;
    const uint16_t *map; /* head at each halfword, or TW_FAST_NO_HEAD */
    uint32_t code_bytes;
} tw_fast_t;

/* ---- types along the code ---- */

#ifndef TW_FAST_JOINS
#define TW_FAST_JOINS 192u /* as many as the verifier takes */
#endif
enum { TW_FAST_ROUTINES = 32, TW_FAST_HALFWORDS = 4096 };

typedef struct tw_flow {
    uint8_t t[TW_SCRIPT_REGS + TW_SCRIPT_STACK_MAX]; /* tw_stype_t or TW_FAST_ANY */
    uint8_t p[TW_SCRIPT_PTRS];                       /* of the elements of pointers */
    uint8_t depth;                                   /* stack entries above base */
    uint8_t base;                                    /* stack entries of the callers, TW_FAST_ANY: it depends */
    uint8_t routine;                                 /* 0 main */
    uint8_t pushed;                                  /* 1 + label of the psha just before */
} tw_flow_t;

typedef struct tw_flow_join {
    uint8_t t[TW_FAST_TYPES];
    uint8_t p[TW_SCRIPT_PTRS];
    uint8_t depth, base, routine;
    bool seen, dirty;
    uint16_t at; /* [halfwords] */
} tw_flow_join_t;

typedef struct tw_flows {
    const tw_script_t *s;
    tw_spool_t pool;
    uint32_t n; /* halfwords */
    uint16_t n_joins;
    uint8_t n_routines;
    uint16_t labels[TW_SCRIPT_LABELS]; /* [bytes] */
    uint8_t routine_label[TW_FAST_ROUTINES];
    tw_flow_join_t exits[TW_FAST_ROUTINES]; /* joined over the returns; t[TW_SCRIPT_REGS] is the result, if any */
    bool result[TW_FAST_ROUTINES];
    uint32_t targets[TW_FAST_HALFWORDS / 32];
    tw_flow_join_t joins[TW_FAST_JOINS];
} tw_flows_t;

/** Types at every join of a verified script. @return false: too large */
bool tw_flows_find(tw_flows_t *f, const tw_script_t *s);
/** State at a join; @return false: no path comes here. */
bool tw_flows_at(const tw_flows_t *f, uint32_t at, tw_flow_t *st);
bool tw_flows_is_target(const tw_flows_t *f, uint32_t at);
/** Over one instruction, not a call of a routine. @return false: what follows is not reached from it */
bool tw_flow_step(const tw_flows_t *f, tw_flow_t *st, const tw_sinsn_t *in);
/** Over a call of a routine, to where it comes back. @return false: it never does */
bool tw_flow_call(const tw_flows_t *f, tw_flow_t *st, const tw_sinsn_t *in);
/** Halfword a jump or call goes to. */
uint32_t tw_flow_target(const tw_flows_t *f, uint32_t at, const tw_sinsn_t *in);

/** Place of a stack entry `depth` above the routine's base. @return TW_FAST_ANY where it depends on the caller */
static inline unsigned tw_flow_slot(const tw_flow_t *st, int depth)
{
    const int i = TW_SCRIPT_REGS + st->base + depth;
    return st->base == TW_FAST_ANY || depth < 0 || i >= TW_SCRIPT_REGS + TW_SCRIPT_STACK_MAX ? TW_FAST_ANY
                                                                                             : (unsigned)i;
}

static inline unsigned tw_flow_type(const tw_flow_t *st, unsigned slot)
{
    return slot == TW_FAST_ANY ? TW_FAST_ANY : st->t[slot];
}

/** Run c on from c->next as far as translated code goes; the rest is for the compact machine. */
void tw_fast_run(tw_script_ctx_t *c);
