/* manifest_priv.h - what the readers of manifests share among themselves. */
#pragma once
#include "engine/board/manifest_kind.h"
#include "engine/board/manifest_lex.h"

#define TW_STREAM_MAJOR 1u /* version of the scheduler nodes are made for */

/** A manifest that says nothing: every default. */
void tw_node_manifest_init(tw_node_manifest_t *m, const char *file);
/** Node manifests without tags: a value for every line. Errors go to the text's diagnostics. */
void tw_node_positional(tw_node_manifest_t *m, tw_text_t *t);
