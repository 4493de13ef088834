/* graphc_draw.h - a graph as a picture: boxes, arrows and their words, and the Graphviz text of it. Host only.
 *
 * A picture is made from a planned model or from an image, and knows neither any more. Names and words may hold
 * anything; what goes into the Graphviz text is escaped there.
 */
#pragma once
#include "engine/board/manifest.h"
#include "engine/graph/twg1.h"

enum { TW_PIC_WORDS = 96, TW_PIC_TIP = 480 };

typedef struct tw_pic_node {
    char name[TW_SYMBOL_MAX + 1], type[64];
    char words[TW_PIC_WORDS]; /* "preset 1, 22 B of parameters" */
    char tip[TW_PIC_TIP];
    uint32_t scope; /* sub-graph it stands in, 0 the graph */
    uint32_t row;   /* after tw_pic_fold() */
    bool inserted;  /* by the compiler */
    uint8_t rx, tx; /* its ports are numbered at the arrows when there are several */
} tw_pic_node_t;

typedef struct tw_pic_io {
    char name[TW_SYMBOL_MAX + 1];
    char words[TW_PIC_WORDS]; /* "audio_in, hwid 4" */
    char tip[TW_PIC_TIP];
    bool out;
    uint32_t row; /* after tw_pic_fold() */
} tw_pic_io_t;

typedef struct tw_pic_arc {
    uint32_t from, to; /* node, or TW_PIC_IO + IO */
    uint8_t from_port, to_port;
    bool delayed;
    char format[48];                      /* "S16 x1 48 kHz" */
    uint32_t from_bytes, to_bytes, bytes; /* frames of producer and consumer, buffer */
    char tip[TW_PIC_TIP];
} tw_pic_arc_t;
#define TW_PIC_IO 0x80000000u

typedef struct tw_pic_scope {
    char name[TW_SYMBOL_MAX + 1];
    uint32_t parent;
} tw_pic_scope_t;

typedef struct tw_pic {
    char name[TW_SYMBOL_MAX + 1];
    tw_pic_node_t *nodes;
    tw_pic_io_t *ios;
    tw_pic_arc_t *arcs;
    tw_pic_scope_t *scopes; /* 0 is the graph itself */
    uint32_t n_nodes, n_ios, n_arcs, n_scopes;
    uint32_t n_rows; /* after tw_pic_fold(): 1 when it is not folded */
} tw_pic_t;

/** Room for so many; false when memory is out. */
bool tw_pic_open(tw_pic_t *p, uint32_t nodes, uint32_t ios, uint32_t arcs, uint32_t scopes);
void tw_pic_close(tw_pic_t *p);
/**
 * A graph much longer than wide goes into rows, as text goes into lines; sub-graphs are left whole.
 * @return false when memory is out
 */
bool tw_pic_fold(tw_pic_t *p);
/** The picture as Graphviz text, malloc'ed; NULL when memory is out. Folds it first. */
char *tw_pic_dot(tw_pic_t *p);

typedef struct tw_pic_format {
    uint32_t frame_bytes, raw, channels, interleave, domain, unit;
    double rate_hz;
} tw_pic_format_t;
/** Words of an arc from the formats of its ends and its buffer. */
void tw_pic_arc_words(tw_pic_arc_t *a, const tw_pic_format_t *from, const tw_pic_format_t *to, uint32_t bytes);
/** "44.1 kHz" */
void tw_pic_rate(char *to, size_t size, double hz);

/** Picture of an image as it would be loaded; its checks must have passed. @return false when it cannot be drawn */
bool tw_pic_of_image(tw_pic_t *p, const uint8_t *image, uint32_t bytes);
