#include "tests/support/image_builder.h"
#include "engine/base/crc.h"
#include "engine/base/formats.h"
#include <assert.h>

#define BITS(value, ...) tw_put_bits((value), TW_LO_(__VA_ARGS__))

static uint8_t *grow(tw_ib_t *b, tw_section_t s, uint32_t bytes)
{
    assert(b->used[s] + bytes <= TW_IB_SECTION_MAX);
    uint8_t *p = b->sec[s] + b->used[s];
    memset(p, 0, bytes);
    b->used[s] += bytes;
    return p;
}

void tw_ib_init(tw_ib_t *b)
{
    memset(b, 0, sizeof *b);
    b->uid = 0x1234;
}

uint32_t tw_ib_format(tw_ib_t *b, uint32_t raw, uint32_t channels, uint32_t samples, float rate_hz)
{
    uint8_t *p = grow(b, TW_SEC_FORMATS, 4 * TW_FORMAT_WORDS);
    tw_put_le32(p, (channels * samples * tw_raw_bits(raw) + 7) / 8);
    tw_put_le32(p + 4, BITS(channels - 1, TW_F1_CHANNELS) | BITS(raw, TW_F1_RAW));
    tw_put_f32(p + 8, rate_hz);
    tw_put_f32(p + 16, 1.0f);
    tw_put_le32(p + 28, samples);
    assert(b->n_formats < TW_IB_FORMATS_MAX);
    b->formats[b->n_formats] = (tw_format_t){.frame_bytes = tw_get_le32(p),
                                             .samples = samples,
                                             .rate_hz = rate_hz,
                                             .raw = (uint8_t)raw,
                                             .channels = (uint8_t)channels,
                                             .full_scale = 1.0f};
    return b->n_formats++;
}

void tw_ib_picture(tw_ib_t *b, uint32_t format, uint32_t width, uint32_t height)
{
    uint8_t *p = b->sec[TW_SEC_FORMATS] + 4 * TW_FORMAT_WORDS * format;
    const uint32_t domain_2d_in = 6;
    tw_put_le32(p + 4, tw_get_le32(p + 4) | BITS(domain_2d_in, TW_F1_DOMAIN));
    tw_put_le32(p + 12, height << 16 | width);
}

void tw_ib_node_block(tw_ib_t *b, uint32_t node, uint32_t block, uint32_t bytes)
{
    uint8_t *p = b->sec[TW_SEC_NODES] + b->record[node];
    const uint32_t n1 = tw_get_le32(p + 4), arcs = tw_bits(n1, TW_N1_RX) + tw_bits(n1, TW_N1_TX);
    uint8_t *first = p + 16 + 4 * ((arcs + 1) / 2), *w = first + 4 * TW_NODE_BLOCK_WORDS * block;
    uint8_t *home = first + 4 * TW_NODE_BLOCK_WORDS * tw_bits(n1, TW_N1_BLOCKS);
    b->fixed = tw_round_up(b->fixed, 64);
    tw_put_le32(w + 8, bytes);
    if (tw_bits(tw_get_le32(w), TW_NB_SWAP) >= TW_NB_IN_OUT) { /* as all blocks of the node, then */
        tw_put_le32(home + 4 * block, b->fixed);
        b->working = tw_round_up(b->working, 64);
        tw_put_le32(w + 4, b->working);
        b->working += bytes;
    } else {
        tw_put_le32(w + 4, b->fixed);
    }
    b->fixed += bytes;
}

uint32_t tw_ib_arc(tw_ib_t *b, uint32_t from, uint32_t from_port, uint32_t to, uint32_t to_port,
                   uint32_t producer_format, uint32_t consumer_format, uint32_t bytes)
{
    uint8_t *p = grow(b, TW_SEC_ARCS, 4 * TW_ARC_WORDS);
    uint32_t *top = b->arc_bank != 0 ? &b->arc_bytes : &b->fixed;
    tw_put_le32(p, BITS(producer_format, TW_A0_PRODUCER_FORMAT) | BITS(consumer_format, TW_A0_CONSUMER_FORMAT) |
                       BITS(b->arc_bank, TW_A0_VID));
    tw_put_le32(p + 4, *top);
    tw_put_le32(p + 8, bytes);
    tw_put_le32(p + 12, BITS(from, TW_A3_PRODUCER) | BITS(to, TW_A3_CONSUMER) | BITS(from_port, TW_A3_PRODUCER_PORT) |
                            BITS(to_port, TW_A3_CONSUMER_PORT));
    *top += tw_round_up(bytes, 8);
    return b->n_arcs++;
}

static uint8_t *arc_words(tw_ib_t *b, uint32_t arc)
{
    return b->sec[TW_SEC_ARCS] + 4 * TW_ARC_WORDS * arc;
}

void tw_ib_arc_fill(tw_ib_t *b, uint32_t arc, uint32_t fill_bytes)
{
    tw_put_le32(arc_words(b, arc) + 20, fill_bytes);
}

void tw_ib_arc_policy(tw_ib_t *b, uint32_t arc, uint32_t underflow, uint32_t overflow)
{
    tw_put_le32(arc_words(b, arc) + 16, BITS(underflow, TW_A4_UNDERFLOW) | BITS(overflow, TW_A4_OVERFLOW));
}

uint32_t tw_ib_io(tw_ib_t *b, uint32_t hwid, bool tx, uint32_t arc, uint32_t format)
{
    uint8_t *p = grow(b, TW_SEC_IOS, 4 * TW_IO_WORDS);
    tw_put_le32(p, BITS(hwid, TW_I0_HWID) | BITS((uint32_t)tx, TW_I0_TX));
    tw_put_le32(p + 4, BITS(arc, TW_I1_ARC) | BITS(format, TW_I1_FORMAT));
    tw_put_le32(arc_words(b, arc) + 28, b->n_ios);
    return b->n_ios++;
}

/* Samples of the format an arc has at its consumer or producer end. */
static const uint8_t *format_of(const tw_ib_t *b, uint16_t ref, bool tx)
{
    const uint32_t a0 = tw_get_le32(b->sec[TW_SEC_ARCS] + 4 * TW_ARC_WORDS * (ref & 0xFFFu));
    const uint32_t f = tx ? tw_bits(a0, TW_A0_PRODUCER_FORMAT) : tw_bits(a0, TW_A0_CONSUMER_FORMAT);
    return b->sec[TW_SEC_FORMATS] + 4 * TW_FORMAT_WORDS * f;
}

static uint32_t block_bytes(const tw_ib_t *b, const tw_mem_req_t *q, unsigned rx, const uint16_t *arcs)
{
    const uint8_t *fb = format_of(b, arcs[q->b_arc], q->b_arc >= rx),
                  *fc = format_of(b, arcs[q->c_arc], q->c_arc >= rx);
    const uint8_t *fd = format_of(b, arcs[q->d_arc], q->d_arc >= rx);
    const double bytes = q->a + (double)q->b * (tw_bits(tw_get_le32(fb + 4), TW_F1_CHANNELS) + 1) +
                         (double)q->c * (double)tw_get_f32(fc + 8) + (double)q->d * tw_get_le32(fd);
    return tw_round_up((uint32_t)(bytes + 0.999), 8);
}

/* Place of a type in the order of names. */
static uint32_t entry_of(const tw_node_desc_t *d)
{
    tw_node_order_t order;
    tw_node_order(&order);
    uint32_t i = 0;
    while (tw_node_entry(&order, i) != d) {
        assert(i < order.n);
        i++;
    }
    return i;
}

/* What a type asks for beyond its formulas, which is nothing when its formats are refused: so will the image be. */
static void more_bytes(const tw_ib_t *b, const tw_node_desc_t *d, unsigned rx, unsigned tx, const uint16_t *arcs,
                       uint32_t *extra)
{
    const tw_format_t *fmt[TW_MAX_NODE_ARCS];
    uint32_t arc;
    for (unsigned i = 0; i < rx + tx; i++) {
        const uint32_t a0 = tw_get_le32(b->sec[TW_SEC_ARCS] + 4 * TW_ARC_WORDS * (arcs[i] & 0xFFFu));
        fmt[i] = &b->formats[i >= rx ? tw_bits(a0, TW_A0_PRODUCER_FORMAT) : tw_bits(a0, TW_A0_CONSUMER_FORMAT)];
    }
    if (d->memreq != NULL) {
        (void)d->memreq(fmt, rx, tx, extra, &arc);
    }
}

/* Working blocks of all nodes overlay, those of one do not; *own is the end of its. */
static void add_block(tw_ib_t *b, const tw_mem_req_t *q, uint32_t bytes, uint32_t *own, uint32_t *home, uint32_t *homes)
{
    const uint32_t align = tw_max_u32(q->align, 8), swap = q->type == 1 ? TW_NB_STAYS : b->swap;
    const bool late = q->type == 1 || swap != TW_NB_STAYS;
    uint32_t fixed = tw_round_up(b->fixed, align);
    const uint32_t offset = late ? tw_round_up(*own, align) : fixed;
    uint8_t *w = grow(b, TW_SEC_NODES, 4 * TW_NODE_BLOCK_WORDS);
    tw_put_le32(w, BITS((uint32_t)q->type, TW_NB_TYPE) | BITS(swap, TW_NB_SWAP));
    tw_put_le32(w + 4, offset);
    tw_put_le32(w + 8, bytes);
    if (q->type != 1) {
        b->fixed = fixed + bytes;
    }
    if (late) {
        *own = offset + bytes;
        b->working = tw_max_u32(b->working, *own);
        b->late[b->n_late++] = b->used[TW_SEC_NODES] - 8;
    }
    if (swap != TW_NB_STAYS) {
        home[(*homes)++] = fixed;
    }
}

uint32_t tw_ib_node(tw_ib_t *b, const tw_node_desc_t *d, unsigned rx, unsigned tx, const uint16_t *arcs)
{
    const uint32_t node = b->n_nodes++, at = b->used[TW_SEC_NODES], head = b->compact ? 8 : 16;
    const bool asks = b->compact || b->dynamic;
    assert(node < TW_IB_NODES_MAX);
    b->record[node] = at;
    uint8_t *p = grow(b, TW_SEC_NODES, head + 4 * ((rx + tx + 1) / 2));
    tw_put_le32(p, b->compact ? BITS(1u, TW_N0_COMPACT) | BITS(entry_of(d), TW_N0_ENTRY) : 0);
    tw_put_le32(p + 4, BITS(rx, TW_N1_RX) | BITS(tx, TW_N1_TX) | BITS((uint32_t)asks, TW_N1_DYNAMIC) |
                           BITS(asks ? 0u : d->n_mem, TW_N1_BLOCKS));
    if (!b->compact) {
        tw_put_le32(p + 8, d->hash);
        tw_put_le32(p + 12, BITS((uint32_t)d->version, TW_N3_VERSION));
    }
    for (unsigned i = 0; i < rx + tx; i++) {
        tw_put_le16(p + head + 2 * i, (uint16_t)(arcs[i] | BITS(i >= rx ? 1u : 0u, TW_NA_TX)));
    }
    uint32_t extra[TW_MAX_NODE_MEM] = {0};
    more_bytes(b, d, rx, tx, arcs, extra);
    for (unsigned m = 0; asks && m < d->n_mem; m++) {
        const uint32_t align = tw_max_u32(d->mem[m].align, 8);
        b->asked += tw_round_up(block_bytes(b, &d->mem[m], rx, arcs) + extra[m], align) + align;
    }
    uint32_t home[TW_MAX_NODE_MEM], homes = 0, own = b->apart ? b->working : 0;
    for (unsigned m = 0; !asks && m < d->n_mem; m++) {
        const uint32_t bytes = block_bytes(b, &d->mem[m], rx, arcs) + tw_round_up(extra[m], 8);
        add_block(b, &d->mem[m], bytes, &own, home, &homes);
    }
    for (unsigned m = 0; m < homes; m++) {
        tw_put_le32(grow(b, TW_SEC_NODES, 4), home[m]);
    }
    grow(b, TW_SEC_NODES, 8); /* room for boot parameters */
    return node;
}

void tw_ib_node_script(tw_ib_t *b, uint32_t node, uint32_t script)
{
    uint8_t *p = b->sec[TW_SEC_NODES] + b->record[node] + 4;
    tw_put_le32(p, tw_get_le32(p) | BITS(script + 1, TW_N1_SCRIPT));
}

void tw_ib_node_params(tw_ib_t *b, uint32_t node, uint32_t tag, const void *value, uint32_t bytes)
{
    const uint32_t at = b->used[TW_SEC_PARAMS];
    memcpy(grow(b, TW_SEC_PARAMS, tw_round_up(bytes, 8)), value, bytes);
    uint8_t *p = b->sec[TW_SEC_NODES] + b->record[node];
    tw_put_le32(p, tw_get_le32(p) | BITS(1u, TW_N0_PARAMS));
    const uint32_t n1 = tw_get_le32(p + 4), arcs = tw_bits(n1, TW_N1_RX) + tw_bits(n1, TW_N1_TX);
    uint8_t *w = p + 16 + 4 * ((arcs + 1) / 2);
    uint32_t homes = 0;
    for (uint32_t m = tw_bits(n1, TW_N1_BLOCKS); m > 0; m--, w += 4 * TW_NODE_BLOCK_WORDS) {
        homes += tw_bits(tw_get_le32(w), TW_NB_SWAP) >= TW_NB_IN_OUT;
    }
    w += 4 * homes;
    tw_put_le32(w, at);
    tw_put_le32(w + 4, BITS(tag, TW_NP_TAG) | BITS(bytes, TW_NP_BYTES));
}

uint32_t tw_ib_script(tw_ib_t *b, const uint16_t *code, uint32_t halfwords, uint32_t regs, uint32_t ptrs,
                      uint32_t stack)
{
    uint8_t *p = grow(b, TW_SEC_SCRIPTS, 4 * TW_SCRIPT_WORDS), *c = b->code + b->code_bytes;
    assert(b->code_bytes + 2 * halfwords + 4 <= sizeof b->code);
    for (uint32_t i = 0; i < halfwords; i++) {
        tw_put_le16(c + 2 * i, code[i]);
    }
    tw_put_le32(p, b->code_bytes); /* moved in tw_ib_finish() */
    tw_put_le32(p + 4, BITS(2 * halfwords, TW_S1_CODE));
    tw_put_le32(p + 8, BITS(regs, TW_S2_REGS) | BITS(ptrs, TW_S2_PTRS) | BITS(stack, TW_S2_STACK));
    tw_put_le32(p + 12, BITS((uint32_t)tw_crc16(TW_CRC16_INIT, c, 2 * halfwords), TW_S3_CRC));
    b->code_bytes += tw_round_up(2 * halfwords, 4);
    return b->n_scripts++;
}

void tw_ib_script_memory(tw_ib_t *b, uint32_t script, bool shared)
{
    uint8_t *p = b->sec[TW_SEC_SCRIPTS] + 4 * TW_SCRIPT_WORDS * script + 8;
    tw_put_le32(p, tw_get_le32(p) | (shared ? BITS(1u, TW_S2_SHARED) : BITS(1u, TW_S2_PRIVATE)));
}

void tw_ib_script_units(tw_ib_t *b, uint32_t script, uint32_t units)
{
    uint8_t *p = b->sec[TW_SEC_SCRIPTS] + 4 * TW_SCRIPT_WORDS * script + 8;
    tw_put_le32(p, tw_get_le32(p) | BITS(units - 1, TW_S2_MEM));
}

void tw_ib_symbol(tw_ib_t *b, uint32_t kind, uint32_t index, const char *name)
{
    const uint32_t n = (uint32_t)strlen(name);
    uint8_t *p = b->symbols + b->symbol_bytes;
    assert(b->symbol_bytes + 4 + n <= sizeof b->symbols);
    p[0] = (uint8_t)kind;
    p[1] = (uint8_t)n;
    tw_put_le16(p + 2, (uint16_t)index);
    memcpy(p + 4, name, n);
    b->symbol_bytes += 4 + n;
}

static uint32_t place_section(uint8_t *out, tw_section_t s, uint32_t at, uint32_t bytes)
{
    if (bytes != 0) {
        tw_put_le32(out + 4 * (TW_W_DIRECTORY + 2 * (uint32_t)s), at);
        tw_put_le32(out + 4 * (TW_W_DIRECTORY + 2 * (uint32_t)s) + 4, bytes);
    }
    return tw_round_up(at + bytes, TW_IMG_ALIGN);
}

static void put_nodes(const tw_ib_t *b, uint8_t *out, uint32_t at)
{
    const uint32_t records = at + 4 * b->n_nodes;
    memcpy(out + records, b->sec[TW_SEC_NODES], b->used[TW_SEC_NODES]);
    for (uint32_t i = 0; i < b->n_nodes; i++) {
        tw_put_le32(out + at + 4 * i, records + b->record[i]);
    }
    for (uint32_t i = 0; i < b->n_late; i++) {
        uint8_t *w = out + records + b->late[i];
        tw_put_le32(w, tw_round_up(b->fixed + b->asked, 64) + tw_get_le32(w));
    }
}

static void put_scripts(const tw_ib_t *b, uint8_t *out, uint32_t at)
{
    const uint32_t code = at + b->used[TW_SEC_SCRIPTS];
    memcpy(out + at, b->sec[TW_SEC_SCRIPTS], b->used[TW_SEC_SCRIPTS]);
    memcpy(out + code, b->code, b->code_bytes);
    for (uint32_t i = 0; i < b->n_scripts; i++) {
        uint8_t *p = out + at + 4 * TW_SCRIPT_WORDS * i;
        tw_put_le32(p, tw_get_le32(p) + code);
    }
}

static void put_header(const tw_ib_t *b, uint8_t *out, uint32_t total)
{
    tw_put_le32(out, TW_IMG_MAGIC);
    tw_put_le32(out + 4 * TW_W_VERSION, BITS(TW_IMG_MAJOR, TW_W1_MAJOR) | BITS(TW_IMG_HEADER_BYTES, TW_W1_HEADER));
    tw_put_le32(out + 4 * TW_W_TOTAL, total);
    tw_put_le32(out + 4 * TW_W_UID, b->uid);
    tw_put_le32(out + 4 * TW_W_CONTROL, b->control);
    tw_put_le32(out + 4 * TW_W_PROCESSORS, 1);
    tw_put_le32(out + 4 * TW_W_SERVICES, b->services);
    tw_put_le32(out + 4 * TW_W_PLATFORM, b->platform);
    if (b->compact) {
        tw_node_order_t order;
        tw_node_order(&order);
        tw_put_le32(out + 4 * TW_W_CATALOGUE, order.id);
    }
    tw_put_le32(out + 4 * TW_W_COUNTS, BITS(b->n_nodes, TW_W12_NODES) | BITS(b->n_arcs, TW_W12_ARCS));
    tw_put_le32(out + 4 * TW_W_COUNTS2, BITS(b->n_formats, TW_W13_FORMATS) | BITS(b->n_ios, TW_W13_IOS) |
                                            BITS(b->n_scripts, TW_W13_SCRIPTS) |
                                            BITS(b->arc_bank != 0 ? 2u : 1u, TW_W13_BANKS));
}

uint32_t tw_ib_finish(const tw_ib_t *b, uint8_t *out, uint32_t cap)
{
    uint32_t bytes[TW_SEC_COUNT], at[TW_SEC_COUNT], end = TW_IMG_HEADER_BYTES;
    memcpy(bytes, b->used, sizeof bytes);
    bytes[TW_SEC_BANKS] = 4 * TW_BANK_WORDS * (b->arc_bank != 0 ? 2 : 1);
    bytes[TW_SEC_NODES] += 4 * b->n_nodes;
    bytes[TW_SEC_SCRIPTS] += b->code_bytes;
    bytes[TW_SEC_EXT] = b->symbol_bytes != 0 ? 8 + tw_round_up(b->symbol_bytes, 4) : 0;
    for (uint32_t s = 0; s < TW_SEC_COUNT; s++) {
        at[s] = end;
        end = tw_round_up(end + bytes[s], TW_IMG_ALIGN);
    }
    if (end > cap) {
        return 0;
    }
    memset(out, 0, end);
    for (uint32_t s = 0; s < TW_SEC_COUNT; s++) {
        place_section(out, (tw_section_t)s, at[s], bytes[s]);
        if (s == TW_SEC_FORMATS || s == TW_SEC_IOS || s == TW_SEC_ARCS || s == TW_SEC_PARAMS) {
            memcpy(out + at[s], b->sec[s], b->used[s]);
        }
    }
    put_header(b, out, end);
    tw_put_le32(out + at[TW_SEC_BANKS], BITS(6u, TW_B0_ALIGN));
    tw_put_le32(out + at[TW_SEC_BANKS] + 4, tw_round_up(b->fixed + b->asked, 64));
    tw_put_le32(out + at[TW_SEC_BANKS] + 8, b->working);
    if (b->arc_bank != 0) {
        tw_put_le32(out + at[TW_SEC_BANKS] + 4 * TW_BANK_WORDS, BITS(6u, TW_B0_ALIGN) | BITS(b->arc_bank, TW_B0_VID));
        tw_put_le32(out + at[TW_SEC_BANKS] + 4 * TW_BANK_WORDS + 4, b->arc_bytes);
    }
    put_nodes(b, out, at[TW_SEC_NODES]);
    put_scripts(b, out, at[TW_SEC_SCRIPTS]);
    if (b->symbol_bytes != 0) {
        tw_put_le32(out + at[TW_SEC_EXT], TW_EXT_SYMB);
        tw_put_le32(out + at[TW_SEC_EXT] + 4, b->symbol_bytes);
        memcpy(out + at[TW_SEC_EXT] + 8, b->symbols, b->symbol_bytes);
    }
    tw_image_fix(out, end);
    return end;
}

void tw_image_fix(uint8_t *img, uint32_t bytes)
{
    tw_put_le32(img + 4 * TW_W_PAYLOAD_CRC, tw_crc32c(0, img + TW_IMG_HEADER_BYTES, bytes - TW_IMG_HEADER_BYTES));
    tw_put_le32(img + 4 * TW_W_HEADER_CRC, 0);
    tw_put_le32(img + 4 * TW_W_HEADER_CRC, tw_crc32c(0, img, TW_IMG_HEADER_BYTES));
}

uint32_t tw_image_section(const uint8_t *img, tw_section_t s)
{
    return tw_img_word(img, 0, TW_W_DIRECTORY + 2 * (uint32_t)s);
}

uint32_t tw_image_node(const uint8_t *img, uint32_t node)
{
    return tw_img_word(img, tw_image_section(img, TW_SEC_NODES), node);
}

void tw_image_poke(uint8_t *img, uint32_t at, unsigned hi, unsigned lo, uint32_t value)
{
    const uint32_t mask = (hi - lo == 31 ? 0xFFFFFFFFu : (1u << (hi - lo + 1)) - 1u) << lo;
    tw_put_le32(img + at, (tw_get_le32(img + at) & ~mask) | (value << lo & mask));
}
