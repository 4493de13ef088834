/* script_debug.h - looking into a script that is held between two instructions, and changing what it sees.
 *
 * Values travel as a type and a memory image: the bits a store of that type would write, zero-extended to 64. Knows
 * no graph and no breakpoints (engine/graph/graph_debug.h).
 */
#pragma once
#include "engine/script/script.h"

/** What can be looked at by number: the register codes of instructions, and beyond them what has none. */
enum {
    TW_LOOK_R0 = 0, /* ..5 */
    TW_LOOK_LC = 12,
    TW_LOOK_S0 = 14, /* top of the stack; looking does not pop */
    TW_LOOK_S1 = 15,
    TW_LOOK_T = 16,
    TW_LOOK_USED = 17, /* instructions executed; read-only */
};

/** Value by number. @return SCR_BAD_REG: no such thing, or the stack is not so deep */
tw_err_t tw_script_look(const tw_script_ctx_t *c, unsigned what, tw_stype_t *type, uint64_t *bits);
/**
 * Change it. lc and T keep their types. The machine goes on with whatever stands there, so nothing that was verified
 * depends on it: pointers on the stack and their labels cannot be changed, and fp8 cannot be put in.
 * @return SCR_BAD_REG as above or read-only; BAD_TYPE: ptr, fp8. Nothing changed then
 */
tw_err_t tw_script_change(tw_script_ctx_t *c, unsigned what, tw_stype_t type, uint64_t bits);
/** Two values compared as the machine does: -1, 0, 1, or 2 when one is no number. */
int tw_script_order(tw_stype_t a_type, uint64_t a, tw_stype_t b_type, uint64_t b);
/** Entry `at` of the stack, 0 the lowest. @return false: not so deep */
bool tw_script_stack(const tw_script_ctx_t *c, unsigned at, tw_stype_t *type, uint64_t *bits);
/** Bytes of a value of the type in memory. */
unsigned tw_script_type_bytes(tw_stype_t type);
/** An instruction begins at this byte: not the middle of one, not a literal, not beyond the end. */
bool tw_script_starts(const tw_script_t *s, uint32_t at);
/** Bytes of the instruction at `at`, which begins one. */
uint32_t tw_script_length(const tw_script_t *s, uint32_t at);
