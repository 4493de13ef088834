/* graphc_draw_image.c - the picture of a compiled image. It trusts nothing: every offset is checked before use, and
 * what cannot be found is left out of the words, never guessed.
 */
#include "engine/base/crc.h"
#include "engine/node/node.h"
#include "host_tools/graphc/draw/graphc_draw.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct image {
    const uint8_t *p;
    uint32_t bytes;
    bool wide;
} image_t;

__attribute__((format(printf, 3, 4))) static void more(char *to, size_t size, const char *fmt, ...)
{
    const size_t used = strlen(to);
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(to + used, size - used, fmt, ap);
    va_end(ap);
}

static uint32_t header(const image_t *x, uint32_t word)
{
    return tw_img_word(x->p, 0, word);
}

static uint32_t section(const image_t *x, tw_section_t s)
{
    return header(x, TW_W_DIRECTORY + 2u * s);
}

static bool inside(const image_t *x, uint64_t at, uint64_t bytes)
{
    return at % 4 == 0 && at + bytes <= x->bytes;
}

/* Offset of record i of `words` in a section, 0 when it is outside. */
static uint32_t record(const image_t *x, tw_section_t s, uint32_t i, uint32_t words)
{
    const uint64_t at = section(x, s) + (uint64_t)i * words * 4u;
    return inside(x, at, words * 4u) ? (uint32_t)at : 0;
}

static bool is_image(image_t *x, const uint8_t *p, uint32_t bytes)
{
    static const uint8_t zero[4];
    if (bytes < TW_IMG_HEADER_BYTES || tw_img_word(p, 0, TW_W_MAGIC) != TW_IMG_MAGIC ||
        tw_bits(tw_img_word(p, 0, TW_W_VERSION), TW_W1_MAJOR) != TW_IMG_MAJOR ||
        tw_img_word(p, 0, TW_W_TOTAL) != bytes) {
        return false;
    }
    uint32_t crc = tw_crc32c(0, p, 4u * TW_W_HEADER_CRC);
    crc = tw_crc32c(crc, zero, sizeof zero);
    crc = tw_crc32c(crc, p + 4u * TW_W_HEADER_CRC + 4u, TW_IMG_HEADER_BYTES - 4u * TW_W_HEADER_CRC - 4u);
    *x = (image_t){.p = p, .bytes = bytes, .wide = tw_bits(tw_img_word(p, 0, TW_W_CONTROL), TW_W7_WIDE) != 0};
    return crc == tw_img_word(p, 0, TW_W_HEADER_CRC) &&
           tw_crc32c(0, p + TW_IMG_HEADER_BYTES, bytes - TW_IMG_HEADER_BYTES) == tw_img_word(p, 0, TW_W_PAYLOAD_CRC);
}

static bool read_format(const image_t *x, uint32_t index, tw_pic_format_t *f)
{
    const uint32_t at = record(x, TW_SEC_FORMATS, index, TW_FORMAT_WORDS);
    if (at == 0 || index >= tw_bits(header(x, TW_W_COUNTS2), TW_W13_FORMATS)) {
        return false;
    }
    const uint32_t f1 = tw_img_word(x->p, at, 1);
    *f = (tw_pic_format_t){.frame_bytes = tw_img_word(x->p, at, 0),
                           .raw = tw_bits(f1, TW_F1_RAW),
                           .channels = tw_bits(f1, TW_F1_CHANNELS) + 1u,
                           .interleave = tw_bits(f1, TW_F1_INTERLEAVE),
                           .domain = tw_bits(f1, TW_F1_DOMAIN),
                           .unit = tw_bits(f1, TW_F1_UNIT),
                           .rate_hz = (double)tw_get_f32(x->p + at + 8)};
    return true;
}

/* ---- symbols ----------------------------------------------------------------------------- */

static void take_symbol(tw_pic_t *p, uint32_t kind, uint32_t index, const char *name, uint32_t n)
{
    char *to = kind == TW_SYM_NODE && index < p->n_nodes ? p->nodes[index].name
               : kind == TW_SYM_IO && index < p->n_ios   ? p->ios[index].name
               : kind == TW_SYM_GRAPH                    ? p->name
                                                         : NULL;
    if (to != NULL && n <= TW_SYMBOL_MAX) {
        memcpy(to, name, n);
        to[n] = 0;
    }
}

static void read_symbols(const image_t *x, tw_pic_t *p, uint32_t at, uint32_t bytes)
{
    for (uint32_t i = 0; i + 4 <= bytes;) {
        const uint8_t *e = x->p + at + i;
        const uint32_t n = e[1];
        if (i + 4 + n > bytes) {
            return;
        }
        take_symbol(p, e[0], tw_get_le16(e + 2), (const char *)e + 4, n);
        i += 4 + n;
    }
}

static void find_symbols(const image_t *x, tw_pic_t *p)
{
    const uint64_t start = section(x, TW_SEC_EXT), end = start + header(x, TW_W_DIRECTORY + 2u * TW_SEC_EXT + 1u);
    for (uint64_t at = start; at + 8 <= end && inside(x, at, 8);) {
        const uint32_t bytes = tw_bits(tw_img_word(x->p, (uint32_t)at, 1), TW_EXT_BYTES);
        if (!inside(x, at, 8ull + bytes)) {
            return;
        }
        if (tw_img_word(x->p, (uint32_t)at, 0) == TW_EXT_SYMB) {
            read_symbols(x, p, (uint32_t)at + 8, bytes);
        }
        at += 8ull + ((bytes + 3ull) & ~3ull);
    }
}

/* ---- records ------------------------------------------------------------------------------- */

static bool draw_node(const image_t *x, uint32_t i, tw_pic_node_t *n)
{
    const uint64_t entry = section(x, TW_SEC_NODES) + 4ull * i;
    const uint32_t at = inside(x, entry, 4) ? tw_img_word(x->p, (uint32_t)entry, 0) : 0;
    if (at == 0 || !inside(x, at, 16)) {
        return false;
    }
    const uint32_t n0 = tw_img_word(x->p, at, 0), n1 = tw_img_word(x->p, at, 1), hash = tw_img_word(x->p, at, 2);
    const tw_node_desc_t *d = tw_node_find(hash);
    (void)snprintf(n->name, sizeof n->name, "node.%u", i);
    if (d != NULL) {
        (void)snprintf(n->type, sizeof n->type, "%s", d->name);
    } else {
        (void)snprintf(n->type, sizeof n->type, "type %08x", hash);
    }
    n->rx = (uint8_t)tw_bits(n1, TW_N1_RX);
    n->tx = (uint8_t)tw_bits(n1, TW_N1_TX);
    const uint32_t preset = tw_bits(n1, TW_N1_PRESET), script = tw_bits(n1, TW_N1_SCRIPT);
    if (preset != 0) {
        more(n->words, sizeof n->words, "preset %u", preset);
    }
    if (tw_bits(n0, TW_N0_PARAMS) != 0) {
        more(n->words, sizeof n->words, "%sparams", n->words[0] != 0 ? ", " : "");
    }
    if (script != 0) {
        more(n->words, sizeof n->words, "%sscript %u", n->words[0] != 0 ? ", " : "", script - 1);
    }
    return true;
}

static bool draw_io(const image_t *x, uint32_t i, tw_pic_io_t *io)
{
    const uint32_t at = record(x, TW_SEC_IOS, i, TW_IO_WORDS);
    tw_pic_format_t f;
    if (at == 0 || !read_format(x, tw_bits(tw_img_word(x->p, at, 1), TW_I1_FORMAT), &f)) {
        return false;
    }
    const uint32_t i0 = tw_img_word(x->p, at, 0);
    const char *domain = tw_domain_text(f.domain);
    io->out = tw_bits(i0, TW_I0_TX) != 0;
    (void)snprintf(io->name, sizeof io->name, "io.%u", i);
    (void)snprintf(io->words, sizeof io->words, "%s, hwid %u", domain != NULL ? domain : "?", tw_bits(i0, TW_I0_HWID));
    (void)snprintf(io->tip, sizeof io->tip, "%s of the graph, %s", io->out ? "output" : "input", io->words);
    return true;
}

enum { CONSTANT = 3 }; /* type of an arc */

static bool is_end(const tw_pic_t *p, uint32_t end)
{
    return (end & TW_PIC_IO) != 0 ? (end & ~TW_PIC_IO) < p->n_ios : end < p->n_nodes;
}

/* @return false when the record is broken; *kept says whether it is drawn */
static bool draw_arc(const image_t *x, const tw_pic_t *p, uint32_t i, tw_pic_arc_t *a, bool *kept)
{
    const uint32_t at = record(x, TW_SEC_ARCS, i, TW_ARC_WORDS);
    if (at == 0) {
        return false;
    }
    const uint32_t a0 = tw_img_word(x->p, at, 0), a3 = tw_img_word(x->p, at, 3), a7 = tw_img_word(x->p, at, 7);
    const uint32_t none = x->wide ? TW_ARC_IO_WIDE : TW_ARC_IO, io = TW_PIC_IO + tw_bits(a7, TW_A7_IO);
    const uint32_t from = x->wide ? tw_bits(a3, TW_A3W_PRODUCER) : tw_bits(a3, TW_A3_PRODUCER);
    const uint32_t to = x->wide ? tw_bits(a3, TW_A3W_CONSUMER) : tw_bits(a3, TW_A3_CONSUMER);
    tw_pic_format_t f, g;
    *a = (tw_pic_arc_t){.from = from == none ? io : from, .to = to == none ? io : to};
    a->from_port = (uint8_t)(x->wide ? tw_bits(a7, TW_A7W_PRODUCER_PORT) : tw_bits(a3, TW_A3_PRODUCER_PORT));
    a->to_port = (uint8_t)(x->wide ? tw_bits(a7, TW_A7W_CONSUMER_PORT) : tw_bits(a3, TW_A3_CONSUMER_PORT));
    a->delayed = tw_img_word(x->p, at, 5) != 0;
    /* a lock arc goes from a node to itself and holds nothing; a constant comes from nowhere */
    *kept = (from != to || a->delayed) && tw_bits(a0, TW_A0_TYPE) != CONSTANT;
    a->from = *kept ? a->from : a->to;
    if (!is_end(p, a->from) || !is_end(p, a->to) || !read_format(x, tw_bits(a0, TW_A0_PRODUCER_FORMAT), &f) ||
        !read_format(x, tw_bits(a0, TW_A0_CONSUMER_FORMAT), &g)) {
        return false;
    }
    (void)snprintf(a->tip, sizeof a->tip, "arc %u\nbuffer of %u bytes in bank %u at %u", i, tw_img_word(x->p, at, 2),
                   tw_bits(a0, TW_A0_VID), tw_img_word(x->p, at, 1));
    tw_pic_arc_words(a, &f, &g, tw_img_word(x->p, at, 2));
    return true;
}

static bool draw(const image_t *x, tw_pic_t *p)
{
    const uint32_t arcs = p->n_arcs;
    bool ok = true, kept = false;
    (void)snprintf(p->name, sizeof p->name, "graph");
    for (uint32_t i = 0; ok && i < p->n_nodes; i++) {
        ok = draw_node(x, i, &p->nodes[i]);
    }
    for (uint32_t i = 0; ok && i < p->n_ios; i++) {
        ok = draw_io(x, i, &p->ios[i]);
    }
    p->n_arcs = 0;
    for (uint32_t i = 0; ok && i < arcs; i++) {
        ok = draw_arc(x, p, i, &p->arcs[p->n_arcs], &kept);
        p->n_arcs += kept;
    }
    find_symbols(x, p);
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        tw_pic_node_t *n = &p->nodes[i];
        (void)snprintf(n->tip, sizeof n->tip, "%s: %s\n%s", n->name, n->type, n->words);
    }
    return ok;
}

bool tw_pic_of_image(tw_pic_t *p, const uint8_t *image, uint32_t bytes)
{
    image_t x;
    *p = (tw_pic_t){0};
    if (!is_image(&x, image, bytes)) {
        return false;
    }
    const uint32_t nodes = tw_bits(header(&x, TW_W_COUNTS), TW_W12_NODES),
                   arcs = tw_bits(header(&x, TW_W_COUNTS), TW_W12_ARCS);
    if (!tw_pic_open(p, nodes, tw_bits(header(&x, TW_W_COUNTS2), TW_W13_IOS), arcs, 1)) {
        return false;
    }
    if (!draw(&x, p)) {
        tw_pic_close(p);
        return false;
    }
    return true;
}
