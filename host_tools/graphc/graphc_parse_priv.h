/* graphc_parse_priv.h - what the readers of graph_tags.def share. A reader takes the rest of its tag's line into the
 * record that is open, and says false after an error. */
#pragma once
#include "host_tools/graphc/graphc_priv.h"

typedef enum g_in { IN_TOP, IN_FORMAT, IN_IO, IN_NODE, IN_SCRIPT, IN_ARC } g_in_t;
typedef enum g_lines {
    LINES_TAGS,
    LINES_DATA,    /* node_parameters */
    LINES_CODE,    /* script_code */
    LINES_POOL,    /* script_pool */
    LINES_ASM,     /* script_assembler */
    LINES_FORMATS, /* rows of the older form */
    LINES_INTERFACE,
    LINES_NODE_NAME, /* `node` alone: its name is on the next line */
    LINES_IGNORED,   /* inside a block that was refused */
} g_lines_t;

typedef struct g_parser {
    g_model_t *m;
    const tw_text_source_t *src;
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
    bool has_tag;    /* first byte of the parameters seen */
    g_pos_t asm_at;
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
/** Append `count` bytes to *data, which grows; false after an error. */
bool g_append(g_parser_t *p, uint8_t **data, uint32_t *n, uint32_t *cap, const void *bytes, uint32_t count);
/** True when the line begins a data line. */
bool g_is_data(const tw_text_t *t);
bool g_code_line(g_parser_t *p);
bool g_code_end(g_parser_t *p);
/** A data line of script_pool. */
bool g_pool_line(g_parser_t *p);
bool g_asm_line(g_parser_t *p);
bool g_asm_end(g_parser_t *p);

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

/* ---- blocks, graphc_parse.c ---------------------------------------------------- */

/** A block of kind `in` begins at this line. */
void g_start(g_parser_t *p, g_in_t in);
/** Open a text on top of the stack. @return false when it cannot be read */
bool g_open_text(g_parser_t *p, const char *path);

/* ---- records being read ---------------------------------------------------------- */

g_format_t *g_format_here(g_parser_t *p);
g_node_t *g_node_here(g_parser_t *p);
g_arc_t *g_arc_here(g_parser_t *p);
/** A line "type instance" that opens a node. */
bool g_open_node(g_parser_t *p);
/** Number of a memory block of the node that is open. */
bool g_take_block(g_parser_t *p, uint32_t *block);
bool g_data_line(g_parser_t *p);
bool g_format_row(g_parser_t *p);
bool g_interface_row(g_parser_t *p);

/* ---- scopes, graphc_scope.c -------------------------------------------------------- */

/** Numbers of the text that was read become indexes of the model; needs all of the text. */
void g_end_scope(g_parser_t *p);
