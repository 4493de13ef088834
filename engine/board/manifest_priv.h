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
