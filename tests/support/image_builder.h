/* image_builder.h - TWG1 images by hand, for tests of the loader and the engine.
 *
 * Shares only twg1.h with the compiler and the loader, so a mistake of either shows. Everything goes
 * into one bank (VID 0); checksums are set at the end, or left wrong on purpose.
 */
#pragma once
#include "engine/graph/twg1.h"
#include "engine/node/node.h"

enum { TW_IB_SECTION_MAX = 16384, TW_IB_NODES_MAX = 64, TW_IB_FORMATS_MAX = 64, TW_IB_IO = 0xFFF };

typedef struct tw_ib {
    uint8_t sec[TW_SEC_COUNT][TW_IB_SECTION_MAX];
    uint32_t used[TW_SEC_COUNT];
    tw_format_t formats[TW_IB_FORMATS_MAX];
    uint32_t n_formats, n_ios, n_nodes, n_arcs, n_scripts;
    uint32_t record[TW_IB_NODES_MAX + 1]; /* of each node, inside its own buffer */
    uint32_t params[TW_IB_NODES_MAX][3];  /* offset, tag, bytes; bytes 0 = none */
    uint32_t fixed, working;              /* bytes of the bank */
    bool apart;                           /* working blocks are not laid over one another */
    bool dynamic;                         /* nodes from now on ask for their memory at load */
    bool compact;                         /* and have records of two words and arcs */
    uint32_t arc_bank, arc_bytes;         /* VID of a bank of their own for arcs, 0 none; bytes of it */
    uint32_t swap;                        /* TW_NB_IN_OUT or TW_NB_IN: nodes from now on run elsewhere */
    uint32_t asked;                       /* bytes they will find */
    uint32_t late[TW_IB_NODES_MAX * 6];   /* places of working blocks, moved behind the static ones */
    uint32_t n_late;
    uint8_t symbols[2048];
    uint32_t symbol_bytes;
    uint8_t code[8192];
    uint32_t code_bytes;
    uint32_t control; /* header word 7 */
    uint32_t services, platform, uid;
} tw_ib_t;

void tw_ib_init(tw_ib_t *b);
uint32_t tw_ib_format(tw_ib_t *b, uint32_t raw, uint32_t channels, uint32_t samples, float rate_hz);
/** An arc of `bytes`; ports count over the node's whole list, receive arcs first. */
uint32_t tw_ib_arc(tw_ib_t *b, uint32_t from, uint32_t from_port, uint32_t to, uint32_t to_port,
                   uint32_t producer_format, uint32_t consumer_format, uint32_t bytes);
/** Zero frames the arc starts with, and its flow-error policies. */
void tw_ib_arc_fill(tw_ib_t *b, uint32_t arc, uint32_t fill_bytes);
void tw_ib_arc_policy(tw_ib_t *b, uint32_t arc, uint32_t underflow, uint32_t overflow);
/** The IO gets the arc, and the arc the IO. */
uint32_t tw_ib_io(tw_ib_t *b, uint32_t hwid, bool tx, uint32_t arc, uint32_t format);
/** A node with its arcs (rx first; bits as TW_NA_*); memory sized from its descriptor and placed. */
uint32_t tw_ib_node(tw_ib_t *b, const tw_node_desc_t *d, unsigned rx, unsigned tx, const uint16_t *arcs);
void tw_ib_node_script(tw_ib_t *b, uint32_t node, uint32_t script);
void tw_ib_node_params(tw_ib_t *b, uint32_t node, uint32_t tag, const void *value, uint32_t bytes);
uint32_t tw_ib_script(tw_ib_t *b, const uint16_t *code, uint32_t halfwords, uint32_t regs, uint32_t ptrs,
                      uint32_t stack);
/** The script gets memory: its own, or scratch. */
void tw_ib_script_memory(tw_ib_t *b, uint32_t script, bool shared);
/** Its size in units of 64 bytes. */
void tw_ib_script_units(tw_ib_t *b, uint32_t script, uint32_t units);
void tw_ib_symbol(tw_ib_t *b, uint32_t kind, uint32_t index, const char *name);
/** Lay out. @return bytes of the image, 0 when `cap` is too small */
uint32_t tw_ib_finish(const tw_ib_t *b, uint8_t *out, uint32_t cap);

/** Both checksums of an image that was changed; `bytes` >= 128. */
void tw_image_fix(uint8_t *img, uint32_t bytes);
/** Byte offset of a section. */
uint32_t tw_image_section(const uint8_t *img, tw_section_t s);
/** Byte offset of a node record. */
uint32_t tw_image_node(const uint8_t *img, uint32_t node);
/** Replace bits hi..lo of the word at `at`. */
void tw_image_poke(uint8_t *img, uint32_t at, unsigned hi, unsigned lo, uint32_t value);
/** A block of a node gets another size and place: what only the type itself can say. */
void tw_ib_node_block(tw_ib_t *b, uint32_t node, uint32_t block, uint32_t bytes);
/** A format becomes a picture's: width times height samples. */
void tw_ib_picture(tw_ib_t *b, uint32_t format, uint32_t width, uint32_t height);
