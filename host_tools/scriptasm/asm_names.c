/* asm_names.c - tables of the assembler's names, and the nearest spelling of a wrong one. */
#include "host_tools/scriptasm/asm_names_priv.h"
#include "engine/base/err.h"
#include <string.h>

static const asm_op_t ops[] = {
#define TW_SOP(key, NAME, mnemonic, FORM, EFFECT, COST, meaning) {mnemonic, key, F_##FORM, false},
#include "engine/script/script_opcodes.def"
    {"cals", OP_CALLSYS, F_CSYS, false},
    {"pshc", OP_MOVI, F_LIT, false},
    {"gtr", OP_GTS, F_XY, false},
};

static const asm_type_t types[] = {
#define TW_STYPE(code, NAME, name, bytes, data) {name, data, code, bytes},
#include "engine/script/script_types.def"
};

static const char *const registers[] = {"r0", "r1", "r2", "r3", "r4", "r5",   "p0", "p1",
                                        "p2", "p3", "p4", "p5", "lc", "zero", "s0", "s1"};

static const struct {
    const char *name;
    uint8_t k;
} syscalls[] = {
#define TW_SYSCALL(k, NAME, name, pops, privileged, arguments) {name, k},
#include "engine/script/script_syscalls.def"
};

static bool find_exact(const char *name, asm_op_t *op)
{
    for (size_t i = 0; i < TW_COUNT(ops); i++) {
        if (strcmp(ops[i].name, name) == 0) {
            *op = ops[i];
            return true;
        }
    }
    return false;
}

bool asm_find_op(const char *name, asm_op_t *op)
{
    if (find_exact(name, op)) {
        return true;
    }
    if (name[0] != 'c' || !find_exact(name + 1, op) || op->form > F_CSCR) {
        return false;
    }
    op->conditional = true;
    return true;
}

const asm_type_t *asm_find_type(const char *name, bool data)
{
    for (size_t i = 0; i < TW_COUNT(types); i++) {
        if (strcmp(data ? types[i].data : types[i].name, name) == 0) {
            return &types[i];
        }
    }
    return NULL;
}

int asm_find_register(const char *name)
{
    for (size_t i = 0; i < TW_COUNT(registers); i++) {
        if (strcmp(registers[i], name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

int asm_find_syscall(const char *name)
{
    for (size_t i = 0; i < TW_COUNT(syscalls); i++) {
        if (strcmp(syscalls[i].name, name) == 0) {
            return syscalls[i].k;
        }
    }
    return -1;
}

static const char *name_of(asm_names_t set, size_t i)
{
    switch (set) {
    case NAMES_OPS:
        return i < TW_COUNT(ops) ? ops[i].name : NULL;
    case NAMES_TYPES:
        return i < TW_COUNT(types) ? types[i].name : NULL;
    case NAMES_REGISTERS:
        return i < TW_COUNT(registers) ? registers[i] : NULL;
    case NAMES_SYSCALLS:
        return i < TW_COUNT(syscalls) ? syscalls[i].name : NULL;
    }
    return NULL;
}

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    const unsigned m = a < b ? a : b;
    return m < c ? m : c;
}

/* Insertions, deletions and replacements from a to b; names are short. */
TW_UNTRACED static unsigned distance(const char *a, const char *b)
{
    enum { LONGEST = 40 };
    unsigned row[LONGEST + 1];
    const size_t n = strlen(b);
    if (n > LONGEST) {
        return LONGEST;
    }
    for (unsigned j = 0; j <= n; j++) {
        row[j] = j;
    }
    for (unsigned i = 1; a[i - 1] != 0; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= n; j++) {
            const unsigned replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = least(row[j] + 1, row[j - 1] + 1, replaced);
        }
    }
    return row[n];
}

const char *asm_nearest(asm_names_t set, const char *name)
{
    const char *best = NULL;
    unsigned best_distance = 3;
    const size_t n = strlen(name);
    for (size_t i = 0; name_of(set, i) != NULL; i++) {
        const size_t m = strlen(name_of(set, i));
        if (m >= n + best_distance || n >= m + best_distance) {
            continue;
        }
        const unsigned d = distance(name, name_of(set, i));
        if (d < best_distance) {
            best_distance = d;
            best = name_of(set, i);
        }
    }
    return best;
}
