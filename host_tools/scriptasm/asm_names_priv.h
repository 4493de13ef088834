/* asm_names_priv.h - the assembler's names: mnemonics, registers, types, system calls.
 *
 * Expanded from the engine's .def files; finds a name or the nearest one.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum form {
    F_CLABEL,
    F_CREL,
    F_CSYS,
    F_CAPP,
    F_CSCR,
    F_LABEL,
    F_MASK,
    F_K8,
    F_XY,
    F_LOAD,
    F_LOADI,
    F_STORE,
    F_STOREI,
    F_LIT,
    F_PR,
    F_RP,
    F_PT,
    F_RS8,
    F_RN6,
    F_FIELD,
    F_NONE,
    F_X,
    F_XT,
    F_RANGE
} form_t;

enum {
#define TW_SOP(key, NAME, mnemonic, FORM, EFFECT, COST, meaning) OP_##NAME = (key),
#include "engine/script/script_opcodes.def"
};

typedef struct asm_op {
    const char *name;
    uint8_t key;
    form_t form;
    bool conditional; /* the c- prefix was used */
} asm_op_t;

typedef struct asm_type {
    const char *name, *data;
    uint8_t code, bytes;
} asm_type_t;

/** Names are lower case. @return false: unknown. Whole names win over the c- prefix. */
bool asm_find_op(const char *name, asm_op_t *op);
/** Type by name ("int16") or data name ("i16"), or NULL. */
const asm_type_t *asm_find_type(const char *name, bool data);
/** Register code 0..15, or -1. */
int asm_find_register(const char *name);
/** System call number, or -1. */
int asm_find_syscall(const char *name);

typedef enum asm_names { NAMES_OPS, NAMES_TYPES, NAMES_REGISTERS, NAMES_SYSCALLS } asm_names_t;
/** The nearest name of that set within two edits, or NULL. */
const char *asm_nearest(asm_names_t set, const char *name);
