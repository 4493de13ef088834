/* sl_gen_priv.h - code generation: what the parts share.
 *
 * Registers: r1 is where an expression's value appears, as it does of a system call; r0 and r2 help, and nothing of
 * value is in the three between two parts of an expression: what must wait is on the machine's stack. Locals live in
 * r3 and up, further ones in memory. The last pointer shows the memory for good; p0 and p1 are for arguments.
 */
#pragma once
#include "host_tools/scriptlang/sl_check_priv.h"

enum { R0, R1, R2, FIRST_LOCAL, P0 = 6, P1 = 7, LC = 12, ZERO = 13, S0 = 14 };

enum {
#define TW_SOP(key, NAME, mnemonic, FORM, EFFECT, COST, meaning) K_##NAME = (key),
#include "engine/script/script_opcodes.def"
};
enum {
#define TW_SYSCALL(k, NAME, ...) SYS_##NAME = (k),
#include "engine/script/script_syscalls.def"
};

typedef enum item_kind { I_CODE, I_JUMP, I_CJUMP, I_BANZ, I_CALL, I_CCALL, I_LABEL } item_kind_t;

/* An instruction, or the place of a label. */
typedef struct item {
    uint16_t words[5];
    uint8_t n, kind;
    uint16_t label;
    uint16_t line;
    uint32_t at; /* [halfwords] */
} item_t;

/* Where a pointer points, as far as it is known here. */
typedef struct place {
    bool memory;        /* it shows the script's memory at all */
    int32_t elem, type; /* -1 not known */
} place_t;

typedef struct label {
    bool placed, reached; /* reached: by a jump, whose place is `arg` and `mem` */
    bool absolute;        /* some jump is too far away, or a banz or call: it has a number */
    uint8_t number;
    uint32_t item;
    place_t arg, mem;
} label_t;

enum { ITEMS_MAX = 12288, LABELS_MAX = 3000, POOL_LABELS_MAX = 60, NO_LABEL = 0xFFFF };

typedef struct gen {
    compiler_t *c;
    item_t *items;
    uint32_t n_items, main_item; /* functions come first in `items`, the main part last */
    label_t *labels;
    uint32_t n_labels;
    uint8_t pool[TW_SL_CODE_MAX];
    uint32_t pool_bytes;
    uint8_t dir[POOL_LABELS_MAX][4];
    uint32_t entry_bytes[POOL_LABELS_MAX];
    unsigned n_dir;
    bool full; /* told that it is too long */

    unsigned regs, local_regs, mem_ptr;
    uint32_t frame_at, scratch_at; /* [bytes] in memory */
    bool uses_scratch;

    /* the routine at hand */
    symbol_t *function;
    uint32_t base; /* its first local */
    unsigned depth, most_depth;
    uint32_t cost;
    bool bounded;
    bool reach; /* can control come here? */
    unsigned line;
    place_t arg, mem; /* p0, and the memory's pointer */
    uint32_t break_to, continue_to, machine_end;
    const node_t *machine;
} gen_t;

/* ---- sl_emit.c: instructions ---------------------------------------------------------------------- */
void sl_put(gen_t *g, uint32_t word);
void sl_xy(gen_t *g, unsigned key, unsigned x, unsigned y);
void sl_rs8(gen_t *g, unsigned key, unsigned r, int k);
/** movi: `type` a tw_stype_t. */
void sl_movi(gen_t *g, unsigned type, unsigned r, uint64_t bits);
/** A constant of which only the number matters, in its shortest form. */
void sl_small(gen_t *g, unsigned r, int32_t v);
/** A constant in the type it has. */
void sl_load_number(gen_t *g, unsigned r, double v, type_t type);
uint32_t sl_label(gen_t *g);
/** @param backward  jumps to it may still come: nothing is known of pointers behind it */
void sl_place(gen_t *g, uint32_t label, bool backward);
void sl_jump(gen_t *g, item_kind_t kind, uint32_t label);
void sl_push(gen_t *g, unsigned r);
void sl_pop(gen_t *g, unsigned r);
/** Depth of the stack changed otherwise. */
void sl_pushed(gen_t *g, int entries);
void sl_callsys(gen_t *g, unsigned k);
/** Constants in the pool; the same bytes once. @return its label */
unsigned sl_pool(gen_t *g, const uint8_t *p, uint32_t n, unsigned type);
/** Lay out, verify, write c->out. */
void sl_finish(gen_t *g);

/* ---- sl_gen_expr.c --------------------------------------------------------------------------------- */
/** Value of an expression in r1. */
void sl_value(gen_t *g, const node_t *e);
void sl_value_in(gen_t *g, const node_t *e, unsigned r);
/** Number or scalar: needs no register but its own. */
bool sl_is_simple(const node_t *e);
/** A simple operand: its register, or loaded into `spare`. */
unsigned sl_operand(gen_t *g, const node_t *e, unsigned spare);
/** Register of a local, 0 when it is in memory or no local. */
unsigned sl_local_register(const gen_t *g, const symbol_t *s);
/** Byte of a scalar in memory. */
uint32_t sl_address(gen_t *g, const symbol_t *s);
/** Jump when (e != 0) == sense. */
void sl_jump_if(gen_t *g, const node_t *e, uint32_t label, bool sense);
/** T = ((e != 0) == want); e is no `and` or `or`. */
void sl_test(gen_t *g, const node_t *e, bool want);
void sl_store(gen_t *g, const symbol_t *s);
void sl_store_index(gen_t *g, const node_t *target, const node_t *value);
void sl_set_parameter(gen_t *g, const node_t *target, const node_t *value);
void sl_system_call(gen_t *g, const node_t *n, bool used);
void sl_call_function(gen_t *g, const node_t *n);
/** Show memory at `byte` through pointer `p` (P0, P1 or the memory's own) as elements of `type`. */
void sl_point(gen_t *g, unsigned p, uint32_t byte, unsigned type, unsigned spare);
