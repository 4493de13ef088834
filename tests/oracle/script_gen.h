/* script_gen.h - random TWV-16 programs, most of which the verifier accepts.
 *
 * Knows words and their operands, nothing of what they do: it keeps count of the stack and of the pointers that are
 * set, so that loops, branches, calls and windows come out well formed. Same seed, same program.
 */
#pragma once
#include "engine/script/script.h"

enum {
    GEN_SCRIPTS = 3, /* the program and what it may name by callscript */
    GEN_CODE = 512,  /* [bytes] */
    GEN_POOL = 160,
    GEN_MEM = 64,
    GEN_ARGS = 3
};

typedef struct gen_script {
    uint8_t bytes[GEN_CODE + 4 + GEN_POOL]; /* code, zeros to a multiple of 4, pool */
    uint16_t code_bytes, pool_bytes;
    uint8_t regs, ptrs, stack, shared;
    uint8_t mem_bytes; /* 0: none */
    uint8_t mem[GEN_MEM];
} gen_script_t;

typedef struct gen_program {
    gen_script_t scripts[GEN_SCRIPTS];
    unsigned n_scripts;
    uint32_t budget;
    bool flag, privileged;
    unsigned n_args;
    int64_t args[GEN_ARGS];
} gen_program_t;

uint64_t gen_random(uint64_t *seed);

/** One program; what the generator believes to be sound. `size` limits the items of the main routine. */
void gen_program(uint64_t *seed, unsigned size, gen_program_t *p);

/** A few words at random: mostly refused, but near the edges of what is accepted. */
void gen_wild(uint64_t *seed, gen_program_t *p);

/** Change a few words, operands or limits. */
void gen_mutate(uint64_t *seed, gen_program_t *p);

/** The stored form of script i as the verifier and the machines take it; memory is the caller's. */
tw_script_t gen_view(const gen_program_t *p, unsigned i, uint8_t *mem);
