/* graph_check.c - tw_graph_check(): header, sections, platform, banks, formats, IOs, extensions.
 *
 * Nothing of the image is used before it was checked, and the order is the one of
 * docs/GRAPH_IMAGE.md, so the first refusal is the cause and not a consequence.
 */
#include "engine/base/crc.h"
#include "engine/graph/graph_priv.h"

TW_OWN_FRAME tw_err_t check_refused(const check_t *c, uint32_t number, uint32_t section, uint32_t at)
{
    const tw_err_t err = (tw_err_t)(-(int32_t)number);
    *c->fault = (tw_fault_t){.err = err, .section = section, .at = at};
    return err;
}

static tw_err_t check_identity(const check_t *c)
{
    if (TW_ALIGNED_IMAGES && (uintptr_t)c->img % 4 != 0) {
        return check_refuse(c, TW_E_ALIGN, 0, 0);
    }
    if (c->bytes < TW_IMG_HEADER_BYTES) {
        return check_refuse(
            c, c->bytes >= 4 && tw_img_word(c->img, 0, 0) == TW_IMG_MAGIC ? TW_E_IMG_SIZE : TW_E_IMG_MAGIC, 0, 0);
    }
    if (tw_img_word(c->img, 0, TW_W_MAGIC) != TW_IMG_MAGIC) {
        return check_refuse(c, TW_E_IMG_MAGIC, 0, 0);
    }
    if (tw_bits(tw_img_word(c->img, 0, TW_W_VERSION), TW_W1_MAJOR) != TW_IMG_MAJOR) {
        return check_refuse(c, TW_E_IMG_MAJOR, 0, 4u * TW_W_VERSION);
    }
    return TW_OK;
}

static tw_err_t check_header_crc(const check_t *c)
{
    static const uint8_t zero[4];
    uint32_t crc = tw_crc32c(0, c->img, 4u * TW_W_HEADER_CRC);
    crc = tw_crc32c(crc, zero, sizeof zero);
    const uint32_t after = 4u * TW_W_HEADER_CRC + 4u;
    crc = tw_crc32c(crc, c->img + after, TW_IMG_HEADER_BYTES - after);
    if (crc != tw_img_word(c->img, 0, TW_W_HEADER_CRC)) {
        return check_refuse(c, TW_E_IMG_HEADER_CRC, 0, 4u * TW_W_HEADER_CRC);
    }
    return TW_OK;
}

/* Bytes a section must have at least for the records the header counts. */
static uint32_t section_need(const check_t *c, uint32_t s)
{
    static const uint8_t words[TW_SEC_COUNT] = {
        [TW_SEC_BANKS] = TW_BANK_WORDS, [TW_SEC_FORMATS] = TW_FORMAT_WORDS,
        [TW_SEC_IOS] = TW_IO_WORDS,     [TW_SEC_NODES] = 1,
        [TW_SEC_ARCS] = TW_ARC_WORDS,   [TW_SEC_SCRIPTS] = TW_SCRIPT_WORDS,
    };
    const uint32_t counts[TW_SEC_COUNT] = {
        [TW_SEC_BANKS] = c->n.banks, [TW_SEC_FORMATS] = c->n.formats, [TW_SEC_IOS] = c->n.ios,
        [TW_SEC_NODES] = c->n.nodes, [TW_SEC_ARCS] = c->n.arcs,       [TW_SEC_SCRIPTS] = c->n.scripts,
    };
    return 4u * words[s] * counts[s];
}

/* Sections may stand in any order; in the small profile in theirs, as the compiler writes them, so that one look at
 * the end of those before is enough. */
static bool overlaps(const check_t *c, uint32_t s, uint32_t *end)
{
    const tw_img_section_t a = tw_img_section(c->img, (tw_section_t)s);
    const bool before = a.at < *end;
    *end = a.at + a.bytes;
    for (uint32_t k = 0; !TW_SMALL && k < s; k++) {
        const tw_img_section_t b = tw_img_section(c->img, (tw_section_t)k);
        if (b.bytes != 0 && a.at < b.at + b.bytes && b.at < a.at + a.bytes) {
            return true;
        }
    }
    return TW_SMALL && before;
}

static tw_err_t check_layout(const check_t *c)
{
    const uint32_t total = tw_img_word(c->img, 0, TW_W_TOTAL);
    if (total != c->bytes || total % TW_IMG_ALIGN != 0) {
        return check_refuse(c, TW_E_IMG_SIZE, 0, 4u * TW_W_TOTAL);
    }
    if (tw_bits(tw_img_word(c->img, 0, TW_W_VERSION), TW_W1_HEADER) != TW_IMG_HEADER_BYTES) {
        return check_refuse(c, TW_E_IMG_SIZE, 0, 4u * TW_W_VERSION);
    }
    uint32_t end = TW_IMG_HEADER_BYTES;
    for (uint32_t s = 0; s < TW_SEC_COUNT; s++) {
        const tw_img_section_t sec = tw_img_section(c->img, (tw_section_t)s);
        const uint32_t at = 4u * (TW_W_DIRECTORY + 2u * s);
        if (sec.bytes < section_need(c, s)) {
            return check_refuse(c, TW_E_IMG_SECTION, 0, at);
        }
        if (sec.bytes == 0) {
            continue;
        }
        if (sec.at < TW_IMG_HEADER_BYTES || sec.at % TW_IMG_ALIGN != 0 || !tw_inside32(sec.at, sec.bytes, total) ||
            overlaps(c, s, &end)) {
            return check_refuse(c, TW_E_IMG_SECTION, 0, at);
        }
    }
    return TW_OK;
}

static tw_err_t check_payload_crc(const check_t *c)
{
    const uint32_t crc = tw_crc32c(0, c->img + TW_IMG_HEADER_BYTES, c->bytes - TW_IMG_HEADER_BYTES);
    if (crc != tw_img_word(c->img, 0, TW_W_PAYLOAD_CRC)) {
        return check_refuse(c, TW_E_IMG_PAYLOAD_CRC, 0, 4u * TW_W_PAYLOAD_CRC);
    }
    return TW_OK;
}

/* How many nodes and arcs the kind of image numbers, and whether this device takes the wide kind. */
static tw_err_t check_kind(const check_t *c)
{
#if !TW_MULTIPROCESSOR
    if (tw_bits(tw_img_word(c->img, 0, TW_W_CONTROL), TW_W7_MP) != 0) {
        return check_refuse(c, TW_E_IMG_MP, 0, 4 * TW_W_CONTROL);
    }
#endif
    const bool wide = tw_bits(tw_img_word(c->img, 0, TW_W_CONTROL), TW_W7_WIDE) != 0;
    if (tw_bits(tw_img_word(c->img, 0, TW_W_CONTROL), TW_W7_ZERO) != 0) {
        return check_refuse(c, TW_E_IMG_RESERVED, 0, 4u * TW_W_CONTROL);
    }
    if (wide && TW_WIDE_IMAGES == 0) {
        return check_refuse(c, TW_E_IMG_WIDE, 0, 4u * TW_W_CONTROL);
    }
    if (c->n.nodes > (wide ? TW_IMG_WIDE_NODES : TW_IMG_NARROW_NODES) ||
        c->n.arcs > (wide ? TW_IMG_WIDE_ARCS : TW_IMG_NARROW_ARCS)) {
        return check_refuse(c, TW_E_IMG_SIZE, 0, 4u * TW_W_COUNTS);
    }
    return TW_OK;
}

static tw_err_t check_platform(const check_t *c)
{
    if (c->board == NULL) {
        return TW_OK;
    }
    const uint32_t platform = tw_img_word(c->img, 0, TW_W_PLATFORM), services = tw_img_word(c->img, 0, TW_W_SERVICES);
    if (platform != 0 && platform != c->board->platform_id) {
        return check_refuse(c, TW_E_IMG_PLATFORM, 0, 4u * TW_W_PLATFORM);
    }
    if ((tw_img_word(c->img, 0, TW_W_PROCESSORS) & tw_board_processors(c->board)) == 0) {
        return check_refuse(c, TW_E_IMG_PLATFORM, 0, 4u * TW_W_PROCESSORS);
    }
    if ((services & ~c->board->services) != 0) {
        return check_refuse(c, TW_E_IMG_SERVICE, 0, 4u * TW_W_SERVICES);
    }
#if TW_COMPACT_RECORDS
    const uint32_t catalogue = tw_img_word(c->img, 0, TW_W_CATALOGUE);
    if (catalogue != 0 && catalogue != c->order->id) {
        return check_refuse(c, TW_E_IMG_CATALOGUE, 0, 4u * TW_W_CATALOGUE);
    }
#endif
    return TW_OK;
}

static tw_err_t check_bank(const check_t *c, uint32_t i)
{
    const uint32_t at = tw_img_record(c->img, TW_SEC_BANKS, i, TW_BANK_WORDS), b0 = tw_img_word(c->img, at, 0);
    const uint32_t vid = tw_bits(b0, TW_B0_VID);
    if (tw_bits(b0, TW_B0_ZERO) != 0) {
        return check_refuse(c, TW_E_IMG_RESERVED, SEC(BANKS), at);
    }
    const uint64_t need = (uint64_t)tw_img_word(c->img, at, 1) + tw_img_word(c->img, at, 2);
    const bool twice = img_bank(c->img, vid) != (int)i;
    if (twice || need > UINT32_MAX / 2) {
        return check_refuse(c, TW_E_IMG_BANK, SEC(BANKS), at);
    }
    if (c->board != NULL && c->board->bank_bytes != NULL &&
        (vid >= c->board->n_banks || need > c->board->bank_bytes[vid])) {
        return check_refuse(c, TW_E_IMG_BANK, SEC(BANKS), at);
    }
    return TW_OK;
}

/* Numbers of bits of a frame. */
#if TW_SMALL
typedef uint32_t tw_bits_t;
#else
typedef uint64_t tw_bits_t;
#endif

static uint32_t stamp_bytes(uint32_t ts, uint32_t size)
{
    return ts == 0 ? 0 : tw_min_u32(2u << size, 8);
}

/* Frame bytes say the same as channels, samples, raw type and time stamp, and keep samples
 * aligned when frames follow one another. */
static bool frame_fits(const tw_format_t *f)
{
    const uint32_t bits = tw_raw_bits(f->raw), stamp = stamp_bytes(f->ts, f->ts_size);
    if (f->frame_bytes <= stamp || f->frame_bytes > UINT32_MAX / 8) {
        return false;
    }
    if (bits == 0) {
        return true; /* self-describing array */
    }
    if (TW_SMALL && (f->frame_bytes > 0xFFFFu || f->samples > 0xFFFFu)) {
        return false; /* so that 32 bits hold the product, on devices where such a frame has no room anyway */
    }
    const tw_bits_t payload = ((tw_bits_t)f->channels * f->samples * bits + 7) / 8;
    const uint32_t align = bits % 32 == 0 ? 4 : bits == 16 ? 2 : 1;
    return f->samples != 0 && payload + stamp == f->frame_bytes && f->frame_bytes % align == 0;
}

/* Of an FP32 word, by its exponent: no arithmetic on what may be a signalling NaN. */
static bool finite_f32(uint32_t word)
{
    return (word >> 23 & 0xFFu) != 0xFFu;
}

/* 0, or 1e-6 to 1e9: positive numbers are ordered as their bits are. */
static bool rate_ok(uint32_t word)
{
    return word == 0 || (word >= 0x358637BDu && word <= 0x4E6E6B28u);
}

static tw_err_t check_format(const check_t *c, uint32_t i)
{
    const uint32_t at = tw_img_record(c->img, TW_SEC_FORMATS, i, TW_FORMAT_WORDS);
    tw_format_t f;
    img_format(c->img, i, &f);
    if (tw_bits(tw_img_word(c->img, at, 1), TW_F1_ZERO) != 0) {
        return check_refuse(c, TW_E_IMG_RESERVED, SEC(FORMATS), at + 4);
    }
    if (f.raw >= TW_RAW_COUNT || f.interleave > 1 || f.unit >= TW_UNIT_COUNT) {
        return check_refuse(c, TW_E_IMG_FORMAT, SEC(FORMATS), at + 4);
    }
    if (!rate_ok(tw_img_word(c->img, at, 2))) {
        return check_refuse(c, TW_E_IMG_FORMAT, SEC(FORMATS), at + 8);
    }
    if (!finite_f32(tw_img_word(c->img, at, 4)) || !finite_f32(tw_img_word(c->img, at, 5))) {
        return check_refuse(c, TW_E_IMG_FORMAT, SEC(FORMATS), at + 16);
    }
    if (!frame_fits(&f)) {
        return check_refuse(c, TW_E_IMG_FORMAT, SEC(FORMATS), at);
    }
    return TW_OK;
}

static const tw_board_io_t *board_io(const tw_board_t *b, uint32_t hwid)
{
    for (uint32_t i = 0; i < b->n_ios; i++) {
        if (b->ios[i].hwid == hwid) {
            return &b->ios[i];
        }
    }
    return NULL;
}

static bool board_has(const tw_board_t *b, uint32_t hwid, uint32_t tx)
{
    const tw_board_io_t *io = b != NULL ? board_io(b, hwid) : NULL;
    return b == NULL || (io != NULL && io->direction == tx);
}

static bool hwid_used_before(const check_t *c, uint32_t io, uint32_t hwid)
{
    for (uint32_t k = 0; k < io; k++) {
        const uint32_t at = tw_img_record(c->img, TW_SEC_IOS, k, TW_IO_WORDS);
        if (tw_bits(tw_img_word(c->img, at, 0), TW_I0_HWID) == hwid) {
            return true;
        }
    }
    return false;
}

/* The arc must name this IO, on the side the direction says, with this format. */
static bool io_arc_agrees(const check_t *c, uint32_t io, uint32_t arc, uint32_t format, bool tx)
{
    if (arc >= c->n.arcs || format >= c->n.formats) {
        return false;
    }
    const tw_img_ends_t e = tw_img_ends(c->img, arc);
    return tw_bits(tw_img_word(c->img, tw_img_arc(c->img, arc), 0), TW_A0_TYPE) != TW_ARC_CONSTANT &&
           (tx ? e.to : e.from) == TW_IMG_IO && tw_img_arc_format(c->img, arc, tx) == format &&
           tw_img_arc_io(c->img, arc) == io;
}

static tw_err_t check_io(const check_t *c, uint32_t i)
{
    const uint32_t at = tw_img_record(c->img, TW_SEC_IOS, i, TW_IO_WORDS);
    const uint32_t i0 = tw_img_word(c->img, at, 0), i1 = tw_img_word(c->img, at, 1);
    if (tw_bits(i0, TW_I0_ZERO) != 0 || tw_bits(i1, TW_I1_ZERO) != 0) {
        return check_refuse(c, TW_E_IMG_RESERVED, SEC(IOS), at);
    }
    const uint32_t hwid = tw_bits(i0, TW_I0_HWID), tx = tw_bits(i0, TW_I0_TX);
    if (!board_has(c->board, hwid, tx) || hwid_used_before(c, i, hwid)) {
        return check_refuse(c, TW_E_IMG_IO, SEC(IOS), at);
    }
    if (!io_arc_agrees(c, i, tw_bits(i1, TW_I1_ARC), tw_bits(i1, TW_I1_FORMAT), tx != 0)) {
        return check_refuse(c, TW_E_IMG_IO, SEC(IOS), at + 4);
    }
    return TW_OK;
}

TW_OWN_FRAME static tw_err_t check_records(const check_t *c)
{
    for (uint32_t i = 0; i < c->n.banks; i++) {
        TW_TRY(check_bank(c, i));
    }
    for (uint32_t i = 0; i < c->n.formats; i++) {
        TW_TRY(check_format(c, i));
    }
    if (c->board != NULL && c->n.ios > TW_MAX_IOS) {
        return check_refuse(c, TW_E_IMG_IO, 0, 4u * TW_W_COUNTS2);
    }
    for (uint32_t i = 0; i < c->n.ios; i++) {
        TW_TRY(check_io(c, i));
    }
    return TW_OK;
}

/* Last of all, because it is the only step that tells somebody. */
static tw_err_t ask_board(const check_t *c)
{
    for (uint32_t i = 0; !TW_SMALL && c->board != NULL && c->board->accept != NULL && i < c->n.ios; i++) {
        const uint32_t at = tw_img_record(c->img, TW_SEC_IOS, i, TW_IO_WORDS);
        const uint32_t settings[3] = {tw_img_word(c->img, at, 2), tw_img_word(c->img, at, 3),
                                      tw_img_word(c->img, at, 4)};
        tw_format_t f;
        img_format(c->img, tw_bits(tw_img_word(c->img, at, 1), TW_I1_FORMAT), &f);
        const tw_err_t err = c->board->accept(c->board->ctx, tw_bits(tw_img_word(c->img, at, 0), TW_I0_HWID), f.raw,
                                              f.channels, f.rate_hz, f.frame_bytes, settings);
        if (err != TW_OK) {
            return check_refuse(c, err, SEC(IOS), at);
        }
    }
    return TW_OK;
}

static tw_err_t check_all(const check_t *c)
{
    TW_TRY(check_payload_crc(c));
    TW_TRY(check_ext(c));
    TW_TRY(check_platform(c));
    TW_TRY(check_kind(c));
    TW_TRY(check_records(c));
    TW_TRY(check_nodes(c));
    TW_TRY(check_memory(c));
    TW_TRY(check_fills(c));
    TW_TRY(check_arcs(c));
#if TW_COMPACT_RECORDS
    TW_TRY(check_grants(c));
#endif
    TW_TRY(check_loops(c));
    TW_TRY(check_scripts(c));
    TW_TRY(check_boot_params(c));
    return ask_board(c);
}

static tw_err_t check_image(check_t *c)
{
    *c->fault = (tw_fault_t){0};
    TW_TRY(check_identity(c));
    TW_TRY(check_header_crc(c));
#if TW_COMPACT_RECORDS
    if (tw_img_word(c->img, 0, TW_W_CATALOGUE) != 0) {
        tw_node_order(c->order);
    }
#endif
    c->n = tw_img_counts(c->img);
    TW_TRY(check_layout(c));
    const size_t mark = c->scratch->used;
    const tw_err_t err = check_all(c);
    c->scratch->used = mark;
    return err;
}

TW_OWN_FRAME tw_err_t tw_graph_check(const uint8_t *img, uint32_t bytes, const tw_board_t *board, tw_arena_t *scratch,
                                     tw_fault_t *fault)
{
    check_t c = {.img = img, .bytes = bytes, .board = board, .scratch = scratch, .fault = fault};
#if TW_COMPACT_RECORDS
    tw_node_order_t order = {0};
    c.order = &order;
#endif
    return check_image(&c);
}

tw_err_t tw_graph_check_structure(const uint8_t *img, uint32_t bytes, tw_arena_t *scratch, tw_fault_t *fault)
{
    check_t c = {.img = img, .bytes = bytes, .scratch = scratch, .fault = fault};
#if TW_COMPACT_RECORDS
    tw_node_order_t order = {0};
    c.order = &order;
#endif
    return check_image(&c);
}
