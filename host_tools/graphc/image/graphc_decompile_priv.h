/* graphc_decompile_priv.h - what the parts of the decompiler share: the image, its node types, the text so far. */
#pragma once
#include "engine/graph/twg1_read.h"
#include "host_tools/graphc/graphc_priv.h"

/** A node type as the text names it. */
typedef struct dec_type {
    uint32_t hash;
    const char *name;
    const tw_node_manifest_t *manifest; /* NULL: of the node library */
    const tw_node_desc_t *desc;         /* NULL: of the platform only */
    uint32_t used;                      /* instances so far */
} dec_type_t;

typedef struct dec_node {
    uint32_t type, inst;
    uint32_t own_script; /* code of a script node, G_NONE */
} dec_node_t;

typedef struct dec {
    const uint8_t *img;
    uint32_t bytes;
    tw_img_counts_t n;
    unsigned flags;
    const char *file;              /* for diagnostics */
    const tw_platform_t *platform; /* NULL: not known */
    tw_diags_t *d;
    tw_node_order_t order; /* of this program's node library, when the image names a catalogue */
    dec_type_t *types;
    uint32_t n_types;
    dec_node_t *nodes;
    char (*names)[TW_SYMBOL_MAX + 1];    /* symbols of one kind after another */
    uint32_t names_of[TW_SYM_GRAPH + 2]; /* where those of a kind begin */
    char *text;
    size_t text_n, text_cap, text_max;
    bool failed;
} dec_t;

/** Append to the text. */
__attribute__((format(printf, 2, 3))) void dec_put(dec_t *x, const char *fmt, ...);
/** Word `word` of the record at byte `at`. */
static inline uint32_t dec_word(const dec_t *x, uint32_t at, uint32_t word)
{
    return tw_img_word(x->img, at, word);
}
/** Name of an object, "" when the image has none. */
const char *dec_symbol(const dec_t *x, uint32_t kind, uint32_t index);
/** Something that no text can say; the byte of the image is told. */
__attribute__((format(printf, 3, 4))) void dec_lost(dec_t *x, uint32_t at, const char *fmt, ...);
/** The shortest decimal that reads back as this float. */
void dec_f32(char *to, size_t size, float v);
/** Data lines of raw bytes, 16 a line. */
void dec_bytes(dec_t *x, const char *indent, const uint8_t *p, uint32_t n);
/** Format record as a device decodes it. */
tw_format_t dec_format(const dec_t *x, uint32_t index);

void dec_scripts(dec_t *x);
/** Tags and code of a script node's own script. */
void dec_own_script(dec_t *x, uint32_t node, uint32_t script);
void dec_node(dec_t *x, uint32_t node);
void dec_arcs(dec_t *x);
