/* graphc_priv.h - the compiler's passes and the model they hand on.
 *
 *   text --parse--> model --resolve--> manifests --insert--> whole graph --plan--> addresses --emit--> image
 *                     |                                                                  '-> report, picture
 *                     '-- every record keeps its place in the text
 *
 * The parser knows tags and no manifest: it expands sub-graphs and leaves indexes into the model's tables
 * where the text had numbers. Resolve knows manifests and no addresses; insert adds the converters and
 * splits that the formats ask for; plan knows addresses and no words of the image; emit decides nothing.
 * Each pass is linear in the text (plan: n log n) and stops the next one when it found errors. Names are
 * slices of the texts, which live as long.
 *
 * Folders: parse/ (text, sub-graphs, scripts), middle/ (resolve, insert, names, verify, plan), image/ (emit,
 * decompile), report/, draw/, fmt/, legacy/ (texts and listings of older eras). The model is graphc_model.c.
 */
#pragma once
#include "engine/base/bytes.h"
#include "engine/board/manifest_lex.h"
#include "engine/graph/twg1.h"
#include "engine/node/node.h"
#include "host_tools/graphc/graphc.h"

#define G_FORMATS_MAX 255u /* one is kept for lock arcs */
#define G_IOS_MAX 255u
#define G_SCRIPTS_MAX 127u /* id + 1 must fit 7 bits */
#define G_NODES_MAX 65534u
#define G_ARCS_MAX 65534u
#define G_PARAMS_MAX (16u << 20) /* [bytes] all boot parameters */
#define G_INCLUDE_MAX 8u
#define G_SCOPE_DEPTH 5u  /* sub-graphs inside one another */
#define G_SCOPES_MAX 257u /* the graph and 256 uses of sub-graphs */
#define G_NONE 0xFFFFFFFFu
#define G_IO 0xFFFFFFFEu /* where a node is meant: the graph's IO */

typedef struct g_pos {
    const char *file;
    unsigned line, col;
} g_pos_t;

typedef struct g_slice {
    const char *p;
    uint32_t n;
} g_slice_t;

/* A sub-graph as used once; scope 0 is the graph itself. */
typedef struct g_scope {
    g_pos_t pos;
    uint32_t parent;              /* scope it stands in; of scope 0: 0 */
    uint32_t depth;               /* of scope 0: 0 */
    char name[TW_SYMBOL_MAX + 1]; /* mangled: "front.eq"; of scope 0: "" */
    char *file;                   /* its own copy */
} g_scope_t;

typedef struct g_control {
    uint8_t location, debug_script, sched_return, map_vid;
    uint32_t processors;
    uint32_t subgraphs; /* instances, as written or as expanded */
    uint32_t trace_io;  /* id in the text, index after parse; G_NONE not said */
    uint32_t trace_level;
    uint32_t debug_by; /* script that debug_script_fields calls; it stands first in the image */
    uint32_t sequence; /* of a text that was decompiled */
    uint32_t fill;     /* pattern of all banks at load */
    char name[TW_SYMBOL_MAX + 1];
} g_control_t;

typedef struct g_format {
    g_pos_t pos;
    uint32_t id;
    uint32_t frame_bytes, mapping, border, samples;
    uint16_t height, width;
    uint8_t raw, interleave, channels, ts, ts_size, unit, domain;
    double rate;
    g_pos_t raw_pos; /* of a raw type given by number; line 0: by name, or not at all */
} g_format_t;

/* The image's mapping word: channels of a sound or a sensor, width and height of a picture. */
static inline uint32_t g_format_mapping(const g_format_t *f)
{
    const bool picture = f->domain == 6 || f->domain == 7;
    return picture ? (uint32_t)f->height << 16 | f->width : f->mapping;
}

typedef struct g_io {
    g_pos_t pos;
    uint32_t id;
    uint32_t setting[3];
    uint16_t hwid;
    uint8_t format; /* id in the text, index after parse */
    bool has_hwid;
    bool setting_given; /* setting[] is the text's word, zeros too */
    uint32_t arc;       /* after resolve */
    const tw_io_manifest_t *manifest;
    bool placed; /* buffer_vid and buffer_at are the text's word */
    uint8_t buffer_vid;
    uint32_t buffer_at, buffer_bytes;
    char symbol[TW_SYMBOL_MAX + 1]; /* stream_io_name, "" none; the symbol after names */
} g_io_t;

typedef struct g_script {
    g_pos_t pos;
    uint32_t id;   /* of the text; a node's own script has none: G_NONE */
    uint32_t node; /* owner, or G_NONE */
    uint32_t scope;
    g_slice_t name;
    uint8_t regs, ptrs, stack, shared, privileged, vid;
    uint16_t budget; /* instructions */
    uint16_t heap;   /* 32-bit words asked for, 0: the least */
    uint8_t *code;   /* code, padding to 4, literals */
    uint32_t code_bytes, literal_bytes;
    bool has_code;
    char *source; /* of script_source, until g_compile_scripts(); NULL none */
    uint32_t source_bytes, source_lines;
    g_pos_t *source_pos; /* of each line */
    char symbol[TW_SYMBOL_MAX + 1];
} g_script_t;

typedef struct g_node {
    g_pos_t pos;
    g_slice_t type;
    uint32_t inst;
    char name[TW_SYMBOL_MAX + 1]; /* node_name, "" none; the symbol after resolve */
    uint8_t preset, proc, arch, rtos, verbose, trace;
    uint8_t vid[6];
    uint32_t e[6];
    uint8_t copied;  /* bit per block: brought to copy_vid[] before it is used */
    uint8_t swapped; /* of these: and taken back afterwards */
    uint8_t copy_vid[6];
    uint8_t copy_placed; /* bit per block: copy_at[] is the text's word */
    uint32_t copy_at[6]; /* place in the bank of copy_vid[] */
    bool trace_given, verbose_given;
    g_pos_t trace_pos;
    uint32_t scope;        /* sub-graph it stands in */
    uint8_t vid_given;     /* bit per block: vid[] is the text's word, not a default */
    uint8_t placed;        /* bit per block: block_at[] is the text's word too */
    uint8_t sized;         /* bit per block: block_bytes[] too */
    uint32_t blocks_named; /* one more than the highest block a tag spoke of */
    g_pos_t blocks_pos;
    uint32_t script; /* id in the text, G_NONE none; index after parse */
    g_pos_t script_pos;
    uint32_t own_script; /* index into scripts, G_NONE none */
    bool has_params;
    g_pos_t params_pos;
    uint16_t tag;                     /* 256 = all */
    uint32_t params_at, params_bytes; /* inside model.params */
    /* after resolve */
    const tw_node_manifest_t *manifest;
    uint32_t manifest_index;
    uint8_t rx, tx;    /* arcs in use: as the manifest says, fewer where it allows */
    bool inserted;     /* by the compiler */
    uint32_t near;     /* of an inserted one: node of the text it follows, G_NONE an IO */
    uint32_t arcs[16]; /* by position: receive first; G_NONE not connected */
    /* after plan */
    uint32_t block_at[6], block_bytes[6];
    uint8_t block_vid[6];
    uint8_t block_home[6]; /* bank of the original of a copied block */
    uint8_t staged; /* bit per block: shares the place of its copy, at block_at[]; the original is at home_at[] */
    uint32_t home_at[6];
    uint8_t meta;  /* table of its parameters in EXT META, from 1; 0 none */
    bool compact;  /* its record is: no type, blocks, parameters */
    uint8_t entry; /* of the catalogue, when it is */
} g_node_t;

typedef struct g_end {
    g_pos_t pos;
    g_slice_t type;
    uint32_t inst, port, format;
    uint32_t node; /* after parse; G_IO: the graph's IO, G_NONE: was reported */
    uint32_t slot; /* position among the node's arcs */
} g_end_t;

/* A constant begins at G_IO without an IO. */
typedef enum g_arc_kind { G_ARC_IN, G_ARC_OUT, G_ARC_NODES, G_ARC_CONSTANT } g_arc_kind_t;
typedef struct g_arc {
    g_pos_t pos;
    g_arc_kind_t kind;
    uint32_t io; /* id in the text, index after parse */
    g_end_t from, to;
    uint8_t debug_cmd, debug_reg, debug_page, flush, vid;
    uint8_t underflow, overflow, crumb_in, crumb_out, ring;
    bool by_domain, crumbs, hqos, set_buffer, lock, no_convert;
    bool vid_given, placed; /* vid, or vid and at, are the text's word */
    bool sized;             /* bytes too */
    uint32_t fill_pattern;  /* of the buffer at load, 0 none */
    uint32_t scope;         /* sub-graph it stands in */
    uint32_t delay, script;
    bool has_data; /* of arc_parameters: what the first of the delay's frames hold, zeros behind */
    g_pos_t data_pos;
    uint32_t data_at, data_bytes; /* inside model.aside */
    double jitter;
    char name[TW_SYMBOL_MAX + 1];
    /* after plan */
    uint8_t bank;
    bool shares;     /* its buffer is another's too */
    uint32_t shared; /* 1 + the arc whose buffer it uses, 0 its own */
    uint32_t at, bytes, fill_at, fill_bytes;
} g_arc_t;

typedef struct g_map {
    g_pos_t pos;
    uint8_t orig, vid;
    uint32_t start, bytes;
} g_map_t;

/* A further node_parameters block of a node, for one of its parameters. */
typedef struct g_set {
    g_pos_t pos;
    uint32_t node;
    uint16_t tag;       /* 256 = all */
    uint32_t at, bytes; /* inside model.aside */
} g_set_t;

/* Words of a bank record that the text gives: memory_plan. */
typedef struct g_bank_plan {
    g_pos_t pos;
    uint8_t vid;
    uint32_t fixed, working;
} g_bank_plan_t;

/* A bank in use, as planned. */
typedef struct g_bank {
    const tw_bank_manifest_t *manifest;
    uint32_t fixed, working; /* bytes */
    uint8_t log2_align;
} g_bank_t;

/* A memory block that did not get what its manifest asks for. */
typedef struct g_spill {
    uint32_t node;
    uint8_t block, vid; /* where it is */
    char why[60];       /* "no room in fast memory" */
} g_spill_t;

/* What the compiler added, for the report and the picture. */
typedef struct g_insertion {
    uint32_t node, arc; /* the new node; the arc of the text it serves */
    char why[96];       /* "S16 to FP32, 16000 to 8000 Hz" */
} g_insertion_t;

typedef struct g_model {
    g_control_t control;
    g_format_t *formats;
    g_io_t *ios;
    g_node_t *nodes;
    g_arc_t *arcs;
    g_script_t *scripts;
    g_map_t *maps;
    g_scope_t *scopes;
    g_insertion_t *insertions;
    g_set_t *sets;
    g_bank_plan_t *plans;
    g_spill_t *spills;
    uint8_t *params;
    uint8_t *aside; /* data lines that are not boot parameters as they stand: contents of arcs, further blocks */
    uint32_t n_sets, cap_sets, n_aside, cap_aside;
    uint32_t n_formats, n_ios, n_nodes, n_arcs, n_scripts, n_maps, n_params, n_scopes, n_insertions;
    uint32_t cap_formats, cap_ios, cap_nodes, cap_arcs, cap_scripts, cap_maps, cap_params, cap_scopes, cap_insertions;
    uint32_t n_plans, cap_plans, n_spills, cap_spills;
    uint32_t n_shared;   /* scripts declared by number come first; the graph's own stand at their numbers */
    uint32_t *node_hash; /* open addressing over (scope, type, instance), node + 1, 0 empty */
    uint32_t hash_size;
    char **texts; /* kept for slices and positions */
    char **names;
    size_t *sizes;
    uint32_t **line_maps; /* of texts that were translated, see tw_text_t.map; else NULL */
    uint32_t n_texts, cap_texts, cap_names, cap_sizes, cap_line_maps;
    bool no_in_place; /* every arc has a buffer of its own */
    bool want_compact;
    uint32_t catalogue; /* id of the catalogue that compact records are entries of, 0: none is compact */
    bool syntax_only;   /* the one text: files it names are not read, its numbers not looked up; graphc_fmt.c */
    const char *const *include_dirs; /* where files are looked for that are not in their folder */
    unsigned n_include_dirs;
    void (*canon)(void *ctx, const char *p, size_t n); /* takes the canonical text, see tw_text_t */
    void *canon_ctx;
    uint32_t uid;  /* after g_identify() */
    uint8_t *meta; /* EXT META as it goes into the image */
    uint32_t n_meta;
    /* after resolve and plan */
    const tw_platform_t *platform;
    tw_diags_t *diags;
    uint32_t services;
    uint32_t *order; /* schedule: position to node of the text */
    uint32_t *place; /* node of the text to position */
    g_bank_t banks[16];
    uint32_t n_banks;
    uint32_t state_bytes;
} g_model_t;

/** Room for one more element; false when memory is out. */
bool g_grow(void *array, uint32_t n, uint32_t *cap, size_t size);
__attribute__((format(printf, 3, 4))) void g_error(g_model_t *m, const g_pos_t *pos, const char *fmt, ...);
__attribute__((format(printf, 3, 4))) void g_warn(g_model_t *m, const g_pos_t *pos, const char *fmt, ...);
/** More about the error or warning just added: where the other declaration stands, what would help. */
__attribute__((format(printf, 3, 4))) void g_note(g_model_t *m, const g_pos_t *pos, const char *fmt, ...);
/** Append a record. @return its index, or G_NONE after an error at its `pos` */
uint32_t g_add_arc(g_model_t *m, const g_arc_t *a);
uint32_t g_add_node(g_model_t *m, const g_node_t *n);
/** Node of that type and instance in a scope, or G_NONE. */
uint32_t g_find_node(const g_model_t *m, uint32_t scope, const g_slice_t *type, uint32_t inst);
/** Enter nodes[index] in the table; false when memory is out. */
bool g_enter_node(g_model_t *m, uint32_t index);
/** "scope.name" in what a symbol holds: the scope's name is cut first. */
void g_mangle(char *to, const char *scope, const char *name);
/** Node type of the platform, or NULL. */
const tw_node_manifest_t *g_find_type(const g_model_t *m, const char *name, size_t n);
void g_model_free(g_model_t *m);

/* ---- passes: true when they added no error ---------------------------------- */
/** True when the text could be read: numbers that mean nothing were reported, and resolve has more to say. */
bool g_parse(g_model_t *m, const char *path, const tw_text_source_t *src);
/** True when there is no error yet. */
bool g_resolve(g_model_t *m);
/** Converters where the two ends of an arc differ, splits where one port feeds several arcs. */
bool g_insert(g_model_t *m);
bool g_names(g_model_t *m);
/** script_source becomes code, with what it needs declared; after g_names(). */
bool g_compile_scripts(g_model_t *m);
bool g_plan(g_model_t *m);
/** Words of the script's memory: what it asked for in whole units of the image. */
static inline uint32_t g_heap_words(const g_script_t *s)
{
    return tw_round_up(tw_max_u32(s->heap, 1), TW_SCRIPT_MEM_UNIT / 4u);
}
/** Further blocks of boot parameters go over the first; after g_resolve(). */
bool g_merge_params(g_model_t *m);
/** What the device would refuse of scripts and boot parameters; after g_names(). */
bool g_verify(g_model_t *m);
/** FNV-1a-32 of "developer/name". */
uint32_t g_node_hash(const tw_node_manifest_t *x);
/** High QoS frees the node that reads the arc from waiting for its others; its writer only at the graph's end, where an
 *  output asks for data at its own pace. */
bool g_slot_hqos(const g_model_t *m, const g_node_t *n, uint32_t slot);
/**
 * What the order of the text decided and the image should not show: boot parameters and the scripts of nodes take
 * the order of the schedule. After this a graph and its decompiled text are one model. @return false after an error
 */
bool g_canon(g_model_t *m);
/** @return malloc'ed image, or NULL when memory is out or it would be too large (an error was added) */
uint8_t *g_emit(g_model_t *m, uint32_t sequence, uint32_t *bytes);
/** Set the identity of an image that has none yet. @return false after an error */
bool g_identify(g_model_t *m, uint8_t *img, uint32_t bytes);
/** tw_decompile() of an image that was just made or verified. *text has `*bytes` bytes and a NUL. */
bool g_decompile_made(const uint8_t *img, uint32_t n, const tw_platform_t *p, unsigned flags, char **text,
                      size_t *bytes, tw_diags_t *d);
char *g_report(const g_model_t *m, uint32_t image_bytes);
char *g_report_json(const g_model_t *m, uint32_t image_bytes);
/** The planned graph as Graphviz text, malloc'ed. */
char *g_draw(const g_model_t *m);

/** The whole compiler over any source of texts; `platform` is read already. */
bool g_compile(const char *path, const tw_graphc_opts_t *opts, const tw_platform_t *platform,
               const tw_text_source_t *src, tw_graphc_out_t *out);
