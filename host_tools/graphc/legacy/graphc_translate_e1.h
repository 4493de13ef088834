/* graphc_translate_e1.h - shared by the translators of positional graph texts. */
#pragma once
#include "host_tools/graphc/legacy/graphc_translate.h"

#define G_E1_LINKS 32u

/* Port of a sub-graph that an arc connects with an IO of the graph. */
typedef struct g_e1_link {
    g_slice_t name;
    uint32_t port, io;
} g_e1_link_t;

typedef struct g_e1 {
    g_trans_t *x;
    bool again;          /* the line being read opens the next section */
    bool is_sub;         /* a sub-graph: its interfaces are counted from 1 */
    bool has_set;        /* the second number of an interface in an arc is meant */
    bool has_code_vid;   /* the last VID of a node is its code's */
    uint8_t scripts[16]; /* bit per script that the text has */
    uint8_t io_used[32]; /* bit per IO that an arc connects with a node or a sub-graph */
    g_e1_link_t links[G_E1_LINKS];
    unsigned n_links;
} g_e1_t;

/** Next row of a section. @return false when the section is over, or the text */
bool g_e1_row(g_e1_t *e, tw_tok_t *tok);
/** True for the words that close a section. */
bool g_e1_closes(const tw_tok_t *tok);
/** Numbers of the row, missing ones 0. @return how many; 0 after an error naming `what` */
unsigned g_e1_numbers(g_e1_t *e, double *v, unsigned least, unsigned most, const char *what);
/** A section `node`. */
void g_e1_node(g_e1_t *e);
bool g_e1_is_script(const g_slice_t *name);
/** Script numbers have no gaps: empty ones where the text has none. */
void g_e1_fill_scripts(g_e1_t *e);
