/* scriptasm.h - TWV-16 assembler: text to words. Host only.
 *
 * Syntax: docs/SCRIPT_ISA.md "Assembler". The verifier is not run here.
 */
#pragma once
#include "engine/base/err.h"
#include <stdbool.h>
#include <stdio.h>

typedef struct tw_asm_diag {
    unsigned line, col; /* 1-based, in the text given */
    bool warning;
    char text[160]; /* what was expected, nearest spelling */
} tw_asm_diag_t;

typedef struct tw_asm_out {
    uint8_t code[65536]; /* little-endian halfwords */
    uint32_t code_bytes;
    uint8_t pool[65536]; /* literal pool, follows the code rounded up to 4 */
    uint32_t pool_bytes;
    tw_asm_diag_t diags[32];
    unsigned n_diags; /* errors and warnings, at most 32 kept */
    unsigned n_errors;
} tw_asm_out_t;

/** Assemble `n` bytes of text. @return true when there were no errors. */
bool tw_asm(const char *text, size_t n, tw_asm_out_t *out);

/** True when the last instruction can go on to nothing: some ret, or an unconditional jump. */
bool tw_asm_ends(const uint8_t *code, uint32_t code_bytes);
