/* manifest_priv.h - what the readers of manifests share among themselves. */
#pragma once
#include "engine/board/manifest_kind.h"
#include "engine/board/manifest_lex.h"

#define TW_STREAM_MAJOR 1u /* version of the scheduler nodes are made for */

/** A manifest that says nothing: every default. */
void tw_node_manifest_init(tw_node_manifest_t *m, const char *file);
/** Node manifests without tags: a value for every line. Errors go to the text's diagnostics. */
void tw_node_positional(tw_node_manifest_t *m, tw_text_t *t);

/** Go to the next line; "file ends, expected .." when there is none. */
bool tw_text_need_line(tw_text_t *t, const char *what);
/** Numbers the line begins with, without taking them. */
unsigned tw_text_numbers(const tw_text_t *t);
bool tw_take_u32(tw_text_t *t, const char *what, uint32_t hi, uint32_t *v);
/** Add a bank, or an error at `at` when there are too many or its VID is taken. */
bool tw_platform_add_bank(tw_platform_t *p, tw_text_t *t, const tw_tok_t *at, const tw_bank_manifest_t *b);
bool tw_platform_add_processor(tw_platform_t *p, tw_text_t *t, const tw_tok_t *at, const tw_processor_manifest_t *x);
/** Processors and memory of the first generation. */
bool tw_platform_manifest_parse(tw_platform_t *p, tw_text_t *t);

/* ---- rows of numbers ---------------------------------------------------------- */

#define TW_ROW_NUMBERS 16u
typedef struct tw_row {
    tw_text_t *t;
    bool from_zero; /* default entries count from 0 */
    tw_tok_t at;    /* first token of the row */
    double v[TW_ROW_NUMBERS];
    unsigned n;
} tw_row_t;

/** The numbers the next line begins with, at least `least`; words after them are remarks. */
bool tw_row_take(tw_row_t *r, const char *what, unsigned least);
/** Number i of the row as an integer in 0..hi. */
bool tw_row_u8(tw_row_t *r, unsigned i, const char *what, unsigned hi, uint8_t *to);
/** A row and its first number. */
bool tw_row_one(tw_row_t *r, const char *what, unsigned hi, uint8_t *to);
/** A row "index v..": options in lo..hi. */
bool tw_row_list(tw_row_t *r, const char *what, double lo, double hi, tw_options_t *o);

/** IO manifests without tags, after name and domain. Errors go to the text's diagnostics. */
void tw_io_positional(tw_io_manifest_t *m, tw_text_t *t);
