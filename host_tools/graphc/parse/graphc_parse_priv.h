/* graphc_parse_priv.h - what the readers of graph_tags.def share. A reader takes the rest of its tag's line into the
 * record that is open, and says false after an error. */
#pragma once
#include "host_tools/graphc/graphc_priv.h"

typedef enum g_in { IN_TOP, IN_FORMAT, IN_IO, IN_NODE, IN_SCRIPT, IN_ARC } g_in_t;
typedef enum g_lines {
    LINES_TAGS,
    LINES_DATA,    /* node_parameters, arc_parameters */
    LINES_SCRIPT,  /* node_parameters of a script */
    LINES_CODE,    /* script_code */
    LINES_POOL,    /* script_pool */
    LINES_ASM,     /* script_assembler */
    LINES_SOURCE,  /* script_source */
    LINES_FORMATS, /* rows of the older form */
    LINES_INTERFACE,
    LINES_MAPPING,   /* rows of top_memory_mapping */
    LINES_TRACE,     /* rows of top_trace_node */
    LINES_NODE_NAME, /* `node` alone: its name is on the next line */
    LINES_SUBGRAPH,  /* name, file and lists of a sub-graph */
    LINES_IGNORED,   /* inside a block that was refused */
} g_lines_t;

/* What a script's code is written in. */
typedef enum g_code { CODE_NONE, CODE_WORDS, CODE_ASM, CODE_SOURCE, CODE_REFUSED } g_code_t;

/* A line of a script's node_parameters: kept until its code is whole, for labels may be used before. */
typedef struct g_script_data {
    g_pos_t pos;
    g_slice_t label; /* of the block, "" none */
    bool first;      /* of its block */
    uint8_t type, size;
    uint32_t at, bytes; /* inside script_bytes */
} g_script_data_t;

#define G_INTERFACES_MAX 255u
#define G_TEXTS_MAX 256u               /* files */
#define G_OPENED_MAX 4096u             /* times that one is opened */
#define G_OPENED_BYTES_MAX (64u << 20) /* and what that comes to */
#define G_SUB 0xFFFFFFFDu              /* end of an arc at a sub-graph, which g_end.slot names, interface g_end.port */

/* What the numbers of one scope's text mean. */
typedef struct g_local {
    uint32_t text;                                       /* its file, index into texts */
    g_slice_t name;                                      /* as the parent calls it */
    uint32_t format_of[256], io_of[256], script_of[128]; /* id to index, G_NONE none; IOs: of the graph alone */
    uint32_t ios[G_INTERFACES_MAX]; /* interface - 1 to the parent's number, G_NONE: connected by its arcs */
    uint8_t vids[G_INTERFACES_MAX]; /* VID - 1 to the bank */
    uint32_t n_ios, n_vids;
    uint32_t dialect; /* 2025, 2024, 0 not said */
    bool later;       /* tags of the later texts were seen */
    bool refused;     /* its text has errors, and would have them again */
    g_pos_t ios_pos, vids_pos;
    uint32_t first_format, first_node, first_arc, first_script, end_node, end_arc, end_script;
} g_local_t;

/* A row of graph_trace_node. */
typedef struct g_trace {
    g_pos_t pos;
    g_slice_t path; /* "front/eq/amplifier" */
    uint32_t inst;
} g_trace_t;

typedef struct g_parser {
    g_model_t *m;
    const tw_text_source_t *src;
    g_local_t *locals; /* one per scope */
    uint32_t cap_locals;
    uint32_t scope;     /* being read */
    uint32_t sub;       /* LINES_SUBGRAPH: its scope, G_NONE while that is not known */
    unsigned sub_lines; /* of it taken */
    g_slice_t sub_name;
    g_pos_t sub_pos;
    g_trace_t *traces;
    uint32_t n_traces, cap_traces;
    bool has_level;
    uint32_t set; /* LINES_DATA: a further block of the node, G_NONE its first */
    uint32_t opened;
    size_t opened_bytes;
    tw_text_t stack[G_INCLUDE_MAX + 1]; /* texts being read, innermost last */
    unsigned depth;
    tw_text_t *t; /* the innermost */
    g_in_t in;
    g_lines_t lines;
    tw_tok_t tag;  /* of the line being read */
    g_pos_t block; /* where the node, script or block began */
    char dir[256]; /* of the graph: include never leaves it */
    char paths[16][256];
    bool has_path[16];
    uint32_t script; /* being read, G_NONE none */
    bool unknown;    /* the last tag was none: data below it are its block's */
    bool has_tag;    /* first byte of the parameters seen */
    g_code_t code;
    g_pos_t code_at;
    g_script_data_t *script_data;
    uint32_t n_script_data, cap_script_data;
    uint8_t *script_bytes;
    uint32_t script_data_bytes, cap_script_bytes;
    g_slice_t script_label;
    bool unread;      /* syntax_only: an include stands among the script */
    g_pos_t *asm_pos; /* of each line */
    uint32_t cap_asm_pos;
    uint8_t *asm_text;
    uint32_t asm_bytes, asm_cap, asm_lines;
    uint8_t *data; /* bytes of the block being read */
    uint32_t data_bytes, data_cap, literal_bytes, literal_cap;
    uint8_t *literals;
    uint8_t literal_dir[64][4]; /* label, type, offset of each literal line */
    uint32_t n_literals;
    bool has_pool; /* script_pool was read: literals is the pool, directory and all */
} g_parser_t;

typedef bool g_reader_fn(g_parser_t *p);
#define TW_GRAPH_CALL(tag, where, reader, args, dflt, text) g_reader_fn g_read_##reader;
#include "host_tools/graphc/graph_tags.def"

/* ---- data and code, graphc_data.c and graphc_script.c ------------------------- */

/** Script record that the tags inside a node or a script speak of; made when there is none. */
g_script_t *g_script_here(g_parser_t *p);
/** One data line "N type; v1 .. vN" appended to *data. @return its type's name, NULL after an error */
const char *g_take_data(g_parser_t *p, uint8_t **data, uint32_t *n, uint32_t *cap);
/** The "N type;" that begins a list of whole numbers, N at most `most`. */
bool g_take_count(g_parser_t *p, uint32_t most, uint32_t *count);
/** Append `count` bytes to *data, which grows; false after an error. */
bool g_append(g_parser_t *p, uint8_t **data, uint32_t *n, uint32_t *cap, const void *bytes, uint32_t count);
/** True when the line begins a data line. */
bool g_is_data(const tw_text_t *t);
bool g_code_line(g_parser_t *p);
/** Open the data of a script, "[label]". */
bool g_script_data_open(g_parser_t *p);
bool g_script_data_line(g_parser_t *p);
/** Type of a data line as registers have it, and its size. */
void g_data_type(const char *name, uint8_t *type, uint8_t *bytes);
/** The record of a script ends: its code, literals and data become one. */
bool g_script_end(g_parser_t *p);
/** A data line of script_pool. */
bool g_pool_line(g_parser_t *p);
bool g_asm_line(g_parser_t *p);

/* ---- tokens, graphc_parse_take.c ---------------------------------------------- */

g_pos_t g_here(const g_parser_t *p, const tw_tok_t *tok);
/** Error at a token, NULL: at the line's tag. @return false */
bool g_fail(g_parser_t *p, const tw_tok_t *tok, const char *what);
bool g_take_u32(g_parser_t *p, const char *what, int64_t lo, int64_t hi, uint32_t *v);
bool g_take_word(g_parser_t *p, const char *what, tw_tok_t *tok);
/** A word that may travel as a symbol. */
bool g_take_symbol(g_parser_t *p, tw_tok_t *tok);
/** -1 or nothing G_NONE, else a script's id. */
bool g_take_script_id(g_parser_t *p, uint32_t *id);
/** True when the line has another token. */
bool g_more(const g_parser_t *p);
/** The same of a number: what else stands there is comment. */
bool g_more_number(const g_parser_t *p);

/* ---- blocks, graphc_parse.c ---------------------------------------------------- */

/** A block of kind `in` begins at this line. */
void g_start(g_parser_t *p, g_in_t in);
/** Read texts[index] next, as `name` calls it. @return false after an error */
bool g_open_text(g_parser_t *p, const tw_tok_t *at, uint32_t index, const char *name);

/* ---- files, graphc_files.c -------------------------------------------------------- */

/** A text, read once however often it is used. @return index into texts, G_NONE when it cannot be read */
uint32_t g_load_text(g_parser_t *p, const char *path);
/** Take "path-index file" and find that text. @return G_NONE after an error */
uint32_t g_take_file(g_parser_t *p, tw_tok_t *tok);

/* ---- records being read ---------------------------------------------------------- */

g_format_t *g_format_here(g_parser_t *p);
g_node_t *g_node_here(g_parser_t *p);
g_arc_t *g_arc_here(g_parser_t *p);
/** A line "type instance" that opens a node. */
bool g_open_node(g_parser_t *p);
/** Number of a memory block of the node that is open. */
bool g_take_block(g_parser_t *p, uint32_t *block);
/** A data line of boot parameters or of an arc's. */
bool g_data_line(g_parser_t *p);
bool g_data_end(g_parser_t *p);
bool g_format_row(g_parser_t *p);
bool g_interface_row(g_parser_t *p);
bool g_mapping_row(g_parser_t *p);
bool g_trace_row(g_parser_t *p);
/** What the trace tags say, to the nodes they mean; all scopes were joined. */
void g_apply_trace(g_parser_t *p);

/* ---- scopes -------------------------------------------------------------------------- */

g_local_t *g_local_here(g_parser_t *p);
/** A new scope, not read yet. @return its number, G_NONE after an error */
uint32_t g_add_scope(g_parser_t *p, uint32_t parent, uint32_t text, const g_pos_t *pos);
/** A line of a `subgraph` block. */
bool g_subgraph_line(g_parser_t *p);
bool g_subgraph_end(g_parser_t *p);
/** A symbol, mangled as the scope asks, into TW_SYMBOL_MAX + 1 bytes. */
bool g_take_name_here(g_parser_t *p, char *to);
/** Bank that the text's number means here, 0 to itself. @return false after an error */
bool g_take_vid(g_parser_t *p, const char *what, uint8_t *vid);
/** The same of a number that was taken already, at `at`. */
bool g_vid_here(g_parser_t *p, const tw_tok_t *at, uint32_t v, uint8_t *vid);
/** Sub-graph that the scope calls so, G_NONE none. */
uint32_t g_find_subgraph(const g_parser_t *p, uint32_t scope, const g_slice_t *name);
/** The text of the scope was read: formats it shares with others become one. */
void g_close_scope(g_parser_t *p);
/** Numbers of the texts become indexes of the model; needs all of them. */
void g_look_up(g_parser_t *p);
/** Arcs that meet at the edge of a sub-graph become one; scripts get their places. */
void g_join(g_parser_t *p);
void g_join_scripts(g_parser_t *p);
