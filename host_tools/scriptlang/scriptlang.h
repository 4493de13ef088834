/* scriptlang.h - the readable script language: statements to TWV-16 words. Host only.
 *
 * Language: docs/SCRIPT_LANGUAGE.md. It knows no graph and no wire: what nodes, arcs and
 * parameters are called comes from a tw_sl_world_t. What it hands out has passed the verifier.
 */
#pragma once
#include "engine/base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    TW_SL_TEXT_MAX = 1 << 16, /* [bytes] of a text */
    TW_SL_CODE_MAX = 8192,    /* [bytes] of code, and of literals */
    TW_SL_LINES_MAX = TW_SL_CODE_MAX / 2,
    TW_SL_DIAGS_MAX = 32,
};

/** A parameter as a node describes it. */
typedef struct tw_sl_param {
    const char *name;
    uint16_t tag;
    uint8_t raw;    /* tw_raw_t of one element */
    uint8_t unit;   /* units.def */
    uint32_t count; /* elements */
    bool read_only;
    double min, max; /* inclusive; both 0: not known */
} tw_sl_param_t;

typedef enum tw_sl_kind { TW_SL_NODE, TW_SL_ARC, TW_SL_SCRIPT } tw_sl_kind_t;

/** Names of a graph, borrowed during tw_script_compile(). */
typedef struct tw_sl_world {
    void *ctx;
    uint32_t n[3]; /* objects of each tw_sl_kind_t */
    /** Name of object `i` as the device numbers it; NULL: it has none. */
    const char *(*name)(void *ctx, tw_sl_kind_t kind, uint32_t i);
    /** Parameters of node `i`. @return table or NULL; *n its length */
    const tw_sl_param_t *(*params)(void *ctx, uint32_t i, uint32_t *n);
} tw_sl_world_t;

/** What the script may use; 0 = the machine's most, or as noted. */
typedef struct tw_sl_opts {
    const tw_sl_world_t *world; /* NULL: objects by number only, no parameters */
    uint8_t regs;               /* 3..6 */
    uint8_t ptrs;               /* 2..6, 0 = 2; the last one shows the memory */
    uint8_t stack;              /* [entries] */
    uint32_t mem_bytes;
    uint32_t code_bytes; /* of code and literals together */
    uint32_t script;     /* its own number, for timers */
    bool shared;         /* its memory does not last: no `var` */
} tw_sl_opts_t;

typedef enum tw_sl_grade { TW_SL_ERROR, TW_SL_WARNING, TW_SL_NOTE } tw_sl_grade_t;

typedef struct tw_sl_diag {
    unsigned line, col; /* 1-based, in the text given; 0: the whole text */
    tw_sl_grade_t grade;
    char text[200];
} tw_sl_diag_t;

typedef struct tw_sl_line {
    uint16_t pc;   /* [bytes] first instruction of the line */
    uint16_t line; /* 1-based */
} tw_sl_line_t;

typedef struct tw_sl_out {
    uint8_t code[TW_SL_CODE_MAX]; /* little-endian halfwords */
    uint32_t code_bytes;
    uint8_t pool[TW_SL_CODE_MAX]; /* literal pool, follows the code rounded up to 4 */
    uint32_t pool_bytes;
    uint8_t regs, ptrs, stack; /* what it must be declared with */
    uint32_t mem_bytes;        /* memory it needs, a multiple of 4 */
    uint32_t cost;             /* most instructions of a call, when `bounded` */
    bool bounded;              /* false: a loop without a known end, or another script is called */
    tw_sl_line_t lines[TW_SL_LINES_MAX];
    uint32_t n_lines; /* rising pc */
    tw_sl_diag_t diags[TW_SL_DIAGS_MAX];
    unsigned n_diags; /* at most TW_SL_DIAGS_MAX kept */
    unsigned n_errors;
} tw_sl_out_t;

/**
 * Compile `n` bytes of text.
 * @return true when there were no errors; the code then passes tw_script_verify() with what `out` declares.
 *         After an error there is no code.
 */
bool tw_script_compile(const char *text, size_t n, const tw_sl_opts_t *opts, tw_sl_out_t *out);

/** The compiled code as assembler text, each line of the source as a comment before what it became. */
void tw_script_listing(FILE *f, const tw_sl_out_t *out, const char *text, size_t n);
