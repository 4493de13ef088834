/* The loader: every refusal has its own code and place, and a refused image changes nothing. */
#include "tests/support/engine_rig.h"
#include "engine/base/crc.h"
#include "engine/graph/graph.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static tw_ib_t ib;
static uint8_t good[32768], bad[32768];
static uint32_t good_bytes;
static rig_t rig;

/* pshc int8 1; gtr; cjmp #1; pshc int16 0; cals readparam; labl #1; ret */
static const uint16_t read_script[] = {0x2E00, 0x0001, 0xECE0, 0x0081, 0x2E02, 0x0000, 0x0320, 0x0501, 0xC000};
static const uint16_t ret_script[] = {0xC000};

static void build_good(void)
{
    static const uint8_t mute[1] = {1};
    rig_chain_open(&ib);
    ib.platform = 77;
    tw_ib_node_params(&ib, 1, 3, mute, 1);
    tw_ib_script(&ib, ret_script, TW_COUNT(ret_script), 2, 1, 0);
    tw_ib_script(&ib, read_script, TW_COUNT(read_script), 2, 1, 2);
    tw_ib_symbol(&ib, TW_SYM_NODE, 0, "eq");
    tw_ib_symbol(&ib, TW_SYM_GRAPH, 0, "test");
    good_bytes = tw_ib_finish(&ib, good, sizeof good);
    assert_true(good_bytes != 0);
}

/* Where a row's word lies. */
typedef enum base { HEADER, BANK, FORMAT, IO, NODE, ARC, SCRIPT, EXT, NODE_TABLE, PARAM } base_t;

static uint32_t base_at(base_t base, uint32_t index)
{
    static const tw_section_t sec[] = {
        [BANK] = TW_SEC_BANKS,     [FORMAT] = TW_SEC_FORMATS, [IO] = TW_SEC_IOS,           [ARC] = TW_SEC_ARCS,
        [SCRIPT] = TW_SEC_SCRIPTS, [EXT] = TW_SEC_EXT,        [NODE_TABLE] = TW_SEC_NODES, [PARAM] = TW_SEC_PARAMS};
    static const uint32_t words[] = {[BANK] = TW_BANK_WORDS,     [FORMAT] = TW_FORMAT_WORDS,
                                     [IO] = TW_IO_WORDS,         [ARC] = TW_ARC_WORDS,
                                     [SCRIPT] = TW_SCRIPT_WORDS, [EXT] = 1,
                                     [NODE_TABLE] = 1,           [PARAM] = 1};
    if (base == HEADER) {
        return 0;
    }
    return base == NODE ? tw_image_node(good, index) : tw_image_section(good, sec[base]) + 4 * words[base] * index;
}

static uint32_t section_of(base_t base)
{
    static const uint32_t sec[] = {[HEADER] = 0,
                                   [BANK] = TW_SEC_BANKS + 1,
                                   [FORMAT] = TW_SEC_FORMATS + 1,
                                   [IO] = TW_SEC_IOS + 1,
                                   [NODE] = TW_SEC_NODES + 1,
                                   [ARC] = TW_SEC_ARCS + 1,
                                   [SCRIPT] = TW_SEC_SCRIPTS + 1,
                                   [EXT] = TW_SEC_EXT + 1,
                                   [NODE_TABLE] = TW_SEC_NODES + 1,
                                   [PARAM] = TW_SEC_PARAMS + 1};
    return sec[base];
}

/* Filter record: 4 words, 1 word of arcs, 2 blocks of 3 words, 2 words of parameters. */
enum { BLOCKS = 5 };

/* One field changed in the good image; `place` is where the refusal must point, in words from `at`. */
static const struct {
    const char *why;
    base_t base;
    uint32_t index, word;
    unsigned hi, lo;
    uint32_t value;
    tw_err_t err;
    uint32_t place;
} rows[] = {
    {"magic", HEADER, 0, 0, 7, 0, 'X', TW_E_IMG_MAGIC, 0},
    {"major 2", HEADER, 0, 1, 31, 24, 2, TW_E_IMG_MAJOR, 1},
    {"total not the file's", HEADER, 0, 2, 31, 0, 4096, TW_E_IMG_SIZE, 2},
    {"header size", HEADER, 0, 1, 15, 0, 124, TW_E_IMG_SIZE, 1},
    {"section beyond the end", HEADER, 0, 16 + 2 * TW_SEC_ARCS, 31, 0, 0xFFFFFFF0, TW_E_IMG_SECTION,
     16 + 2 * TW_SEC_ARCS},
    {"section misaligned", HEADER, 0, 16 + 2 * TW_SEC_IOS, 3, 0, 4, TW_E_IMG_SECTION, 16 + 2 * TW_SEC_IOS},
    {"section in the header", HEADER, 0, 16 + 2 * TW_SEC_PARAMS, 31, 0, 64, TW_E_IMG_SECTION, 16 + 2 * TW_SEC_PARAMS},
    {"sections overlap", HEADER, 0, 16 + 2 * TW_SEC_PARAMS, 31, 0, 128, TW_E_IMG_SECTION, 16 + 2 * TW_SEC_PARAMS},
    {"more arcs than the section holds", HEADER, 0, 12, 15, 0, 4000, TW_E_IMG_SECTION, 16 + 2 * TW_SEC_ARCS},
    {"unknown critical extension", EXT, 0, 0, 31, 0, 0x58585858, TW_E_IMG_EXT, 0},
    {"extension longer than the section", EXT, 0, 1, 30, 0, 4096, TW_E_IMG_EXT, 0},
    {"symbol of no node", EXT, 0, 2, 31, 16, 7, TW_E_IMG_EXT, 2},
    {"symbol of no kind", EXT, 0, 2, 7, 0, 9, TW_E_IMG_EXT, 2},
    {"symbol without a name", EXT, 0, 2, 15, 8, 0, TW_E_IMG_EXT, 2},
    {"symbol character", EXT, 0, 3, 7, 0, '\n', TW_E_IMG_EXT, 3},
    {"another platform", HEADER, 0, 10, 31, 0, 78, TW_E_IMG_PLATFORM, 10},
    {"not for this processor", HEADER, 0, 8, 31, 0, 2, TW_E_IMG_PLATFORM, 8},
    {"reserved control bits", HEADER, 0, 7, 15, 15, 1, TW_E_IMG_RESERVED, 7},
    {"reserved bank bits", BANK, 0, 0, 31, 31, 1, TW_E_IMG_RESERVED, 0},
    {"bank of 3 GB", BANK, 0, 1, 31, 0, 0xC0000000, TW_E_IMG_BANK, 0},
    {"reserved format bits", FORMAT, 0, 1, 30, 30, 1, TW_E_IMG_RESERVED, 1},
    {"raw type 52", FORMAT, 0, 1, 16, 11, 52, TW_E_IMG_FORMAT, 1},
    {"unit 107", FORMAT, 0, 1, 28, 21, 107, TW_E_IMG_FORMAT, 1},
    {"interleave 2", FORMAT, 0, 1, 6, 5, 2, TW_E_IMG_FORMAT, 1},
    {"rate NaN", FORMAT, 0, 2, 31, 0, 0x7FC00000, TW_E_IMG_FORMAT, 2},
    {"rate negative", FORMAT, 0, 2, 31, 31, 1, TW_E_IMG_FORMAT, 2},
    {"full scale infinite", FORMAT, 0, 4, 31, 0, 0x7F800000, TW_E_IMG_FORMAT, 4},
    {"frame not its samples", FORMAT, 0, 0, 31, 0, 31, TW_E_IMG_FORMAT, 0},
    {"frame of nothing", FORMAT, 0, 0, 31, 0, 0, TW_E_IMG_FORMAT, 0},
    {"no samples", FORMAT, 0, 7, 31, 0, 0, TW_E_IMG_FORMAT, 0},
    {"reserved IO bits", IO, 0, 0, 30, 30, 1, TW_E_IMG_RESERVED, 0},
    {"no such hardware IO", IO, 0, 0, 15, 0, 99, TW_E_IMG_IO, 0},
    {"IO the other way", IO, 0, 0, 16, 16, 1, TW_E_IMG_IO, 0},
    {"IO of no arc", IO, 1, 1, 15, 0, 3, TW_E_IMG_IO, 1},
    {"IO of an inner arc", IO, 0, 1, 15, 0, 1, TW_E_IMG_IO, 1},
    {"IO of no format", IO, 0, 1, 23, 16, 9, TW_E_IMG_IO, 1},
    {"record outside the section", NODE_TABLE, 1, 0, 31, 0, 64, TW_E_IMG_NODE, 0},
    {"record misaligned", NODE_TABLE, 1, 0, 1, 0, 1, TW_E_IMG_NODE, 0},
    {"more blocks than fit", NODE, 1, 1, 10, 8, 7, TW_E_IMG_NODE, 0},
    {"compact record without a catalogue", NODE, 0, 0, 25, 25, 1, TW_E_IMG_CATALOGUE, 0},
    {"another catalogue", HEADER, 0, 11, 31, 0, 1, TW_E_IMG_CATALOGUE, 11},
    {"memory placed and asked for", NODE, 0, 1, 11, 11, 1, TW_E_IMG_NODE, 0},
    {"keyed node", NODE, 0, 0, 29, 29, 1, TW_E_IMG_NODE_KEY, 0},
    {"unknown type", NODE, 0, 2, 0, 0, 1, TW_E_IMG_NODE_MISSING, 2},
    {"newer minor version", NODE, 0, 3, 31, 16, 0x01FF, TW_E_IMG_NODE_VERSION, 3},
    {"another major version", NODE, 0, 3, 31, 16, 0x0900, TW_E_IMG_NODE_VERSION, 3},
    {"processor 2", NODE, 0, 0, 15, 12, 2, TW_E_IMG_NODE_ARCH, 0},
    {"no transmit arc", NODE, 0, 1, 7, 4, 0, TW_E_IMG_NO_TX, 1},
    {"two receive arcs", NODE, 0, 1, 3, 0, 2, TW_E_IMG_NODE, 1},
    {"script that is not there", NODE, 0, 1, 18, 12, 3, TW_E_IMG_NODE, 1},
    {"preset that is not there", NODE, 1, 1, 24, 19, 60, TW_E_PARAM_PRESET, 1},
    {"reserved block bits", NODE, 0, BLOCKS, 26, 26, 1, TW_E_IMG_RESERVED, BLOCKS},
    {"swap 4", NODE, 0, BLOCKS, 17, 15, 4, TW_E_IMG_MEM_SWAP, BLOCKS},
    {"copied from the place it is in", NODE, 0, BLOCKS, 17, 15, 1, TW_E_IMG_MEM, BLOCKS},
    {"home of a block that is no copy", NODE, 0, BLOCKS, 25, 18, 1, TW_E_IMG_RESERVED, BLOCKS},
    {"block in no bank", NODE, 0, BLOCKS, 7, 0, 3, TW_E_IMG_MEM, BLOCKS},
    {"block beyond its bank", NODE, 0, BLOCKS + 1, 31, 0, 0x10000, TW_E_IMG_MEM, BLOCKS},
    {"block misaligned", NODE, 0, BLOCKS + 1, 1, 0, 2, TW_E_IMG_MEM, BLOCKS},
    {"state in working memory", NODE, 0, BLOCKS, 11, 10, 1, TW_E_IMG_MEM, BLOCKS},
    {"block too small", NODE, 0, BLOCKS + 2, 31, 0, 8, TW_E_IMG_MEM, BLOCKS + 2},
    {"block on an arc buffer", NODE, 0, BLOCKS + 1, 31, 0, 72, TW_E_IMG_MEM, BLOCKS},
    {"reserved arc bits", ARC, 0, 0, 31, 31, 1, TW_E_IMG_RESERVED, 0},
    {"modulo ring of one frame: full is one byte less", ARC, 0, 0, 25, 24, 2, TW_E_IMG_ARC_BUFFER, 2},
    {"constant between nodes", ARC, 1, 0, 25, 24, 3, TW_E_IMG_ARC_ENDS, 3},
    {"figure without a register", ARC, 1, 4, 15, 10, 1, TW_E_IMG_ARC, 0},
    {"IO buffer beyond the bank", IO, 0, 7, 31, 0, 0x40000, TW_E_IMG_IO, 6},
    {"reserved bits of an IO's bank", IO, 0, 5, 8, 8, 1, TW_E_IMG_RESERVED, 5},
    {"script of an arc that is not there", ARC, 1, 4, 30, 24, 9, TW_E_IMG_ARC, 0},
    {"format that is not there", ARC, 1, 0, 15, 8, 8, TW_E_IMG_ARC_FORMAT, 0},
    {"producer is another node", ARC, 1, 3, 11, 0, 1, TW_E_IMG_ARC_ENDS, 3},
    {"consumer is no node", ARC, 1, 3, 23, 12, 9, TW_E_IMG_ARC_ENDS, 3},
    {"producer port", ARC, 1, 3, 27, 24, 0, TW_E_IMG_ARC_ENDS, 3},
    {"consumer port", ARC, 1, 3, 31, 28, 1, TW_E_IMG_ARC_ENDS, 3},
    {"both ends IO", ARC, 1, 3, 23, 0, 0xFFFFFF, TW_E_IMG_ARC_ENDS, 3},
    {"buffer below a frame", ARC, 1, 2, 31, 0, 28, TW_E_IMG_ARC_BUFFER, 2},
    {"buffer misaligned", ARC, 2, 1, 1, 0, 2, TW_E_IMG_ARC_BUFFER, 1},
    {"buffer beyond the bank", ARC, 2, 1, 31, 0, 0x40000, TW_E_IMG_ARC_BUFFER, 1},
    {"buffer in no bank", ARC, 2, 0, 7, 0, 3, TW_E_IMG_ARC_BUFFER, 1},
    {"buffers overlap", ARC, 2, 1, 31, 0, 32, TW_E_IMG_ARC_BUFFER, 1},
    {"filled above its size", ARC, 1, 5, 31, 0, 64, TW_E_IMG_ARC_BUFFER, 5},
    {"filled with part of a frame", ARC, 1, 5, 31, 0, 16, TW_E_IMG_ARC_BUFFER, 5},
    {"script code misplaced", SCRIPT, 0, 0, 31, 0, 0x7FFFFFFC, TW_E_IMG_SCRIPT, 0},
    {"script of odd bytes", SCRIPT, 0, 1, 15, 0, 1, TW_E_IMG_SCRIPT, 0},
    {"script of 7 registers", SCRIPT, 0, 2, 3, 0, 7, TW_E_IMG_SCRIPT, 2},
    {"size of a memory it has not", SCRIPT, 0, 2, 20, 20, 1, TW_E_IMG_RESERVED, 2},
    {"script checksum", SCRIPT, 1, 3, 15, 0, 0, TW_E_IMG_SCRIPT, 3},
    {"script budget", SCRIPT, 1, 3, 31, 16, 0x1000, TW_E_SCR_BUDGET, 3},
};

static void poke(uint32_t i)
{
    const uint32_t at = base_at(rows[i].base, rows[i].index) + 4 * rows[i].word;
    memcpy(bad, good, good_bytes);
    tw_image_poke(bad, at, rows[i].hi, rows[i].lo, rows[i].value);
    if (rows[i].err == TW_E_IMG_EXT && rows[i].word == 0) {
        tw_image_poke(bad, at + 4, 31, 31, 1);
    }
    tw_image_fix(bad, good_bytes);
}

static void each_mistake_has_its_code_and_its_place(void **state)
{
    (void)state;
    rig_open(&rig, 4096, 8192);
    build_good();
    for (uint32_t i = 0; i < TW_COUNT(rows); i++) {
        tw_fault_t fault;
        poke(i);
        const tw_err_t err = tw_engine_prime(rig.engine, bad, good_bytes, false, &fault);
        const uint32_t at = base_at(rows[i].base, rows[i].index) + 4 * rows[i].place;
        if (err != rows[i].err || fault.err != err || fault.section != section_of(rows[i].base) || fault.at != at) {
            fail_msg("%s: %s in section %u at %u, expected %s in %u at %u", rows[i].why, tw_err_name(err),
                     (unsigned)fault.section, (unsigned)fault.at, tw_err_name(rows[i].err),
                     (unsigned)section_of(rows[i].base), (unsigned)at);
        }
    }
    rig_close(&rig);
}

static void refused(const uint8_t *img, uint32_t bytes, tw_err_t want, uint32_t section, uint32_t at)
{
    tw_fault_t fault;
    const tw_err_t err = tw_engine_prime(rig.engine, img, bytes, false, &fault);
    if (err != want || fault.section != section || fault.at != at) {
        fail_msg("%s in section %u at %u, expected %s in %u at %u", tw_err_name(err), (unsigned)fault.section,
                 (unsigned)fault.at, tw_err_name(want), (unsigned)section, (unsigned)at);
    }
}

static void checksums_are_looked_at_before_what_they_cover(void **state)
{
    (void)state;
    rig_open(&rig, 4096, 8192);
    build_good();
    memcpy(bad, good, good_bytes);
    bad[4 * TW_W_COUNTS] ^= 1;
    refused(bad, good_bytes, TW_E_IMG_HEADER_CRC, 0, 4 * TW_W_HEADER_CRC);
    memcpy(bad, good, good_bytes);
    bad[good_bytes - 1] ^= 1;
    refused(bad, good_bytes, TW_E_IMG_PAYLOAD_CRC, 0, 4 * TW_W_PAYLOAD_CRC);
    rig_close(&rig);
}

/* What a later minor version adds comes as extensions; those it can do without are skipped. */
static void a_later_minor_version_loads_unless_it_is_critical(void **state)
{
    (void)state;
    tw_fault_t fault;
    rig_open(&rig, 4096, 8192);
    build_good();
    memcpy(bad, good, good_bytes);
    const uint32_t ext = tw_image_section(bad, TW_SEC_EXT);
    tw_image_poke(bad, 4, 23, 16, 255);
    tw_put_le32(bad + ext, 0x58585858);
    tw_image_fix(bad, good_bytes);
    assert_int_equal(tw_engine_prime(rig.engine, bad, good_bytes, false, &fault), TW_OK);
    tw_engine_unprime(rig.engine);
    tw_put_le32(bad + ext, TW_EXT_SIGN); /* a signature that need not be honoured */
    tw_image_fix(bad, good_bytes);
    assert_int_equal(tw_engine_prime(rig.engine, bad, good_bytes, false, &fault), TW_OK);
    tw_engine_unprime(rig.engine);
    tw_put_le32(bad + ext, 0x58585858);
    tw_image_poke(bad, ext + 4, 31, 31, 1);
    tw_image_fix(bad, good_bytes);
    refused(bad, good_bytes, TW_E_IMG_EXT, TW_SEC_EXT + 1, ext);
    rig_close(&rig);
}

static void what_one_field_cannot_show_is_refused_too(void **state)
{
    (void)state;
    rig_open(&rig, 4096, 8192);
    build_good();
    /* a value the node refuses */
    memcpy(bad, good, good_bytes);
    const uint32_t value = tw_image_section(bad, TW_SEC_PARAMS);
    bad[value] = 2;
    tw_image_fix(bad, good_bytes);
    refused(bad, good_bytes, TW_E_PARAM_RANGE, TW_SEC_PARAMS + 1, value);
    /* parameters outside their section */
    memcpy(bad, good, good_bytes);
    const uint32_t params = tw_image_node(bad, 1) + 4 * (BLOCKS + 3);
    tw_put_le32(bad + params, 4096);
    tw_image_fix(bad, good_bytes);
    refused(bad, good_bytes, TW_E_IMG_PARAM, TW_SEC_NODES + 1, params);
    /* code the verifier refuses, at the instruction */
    memcpy(bad, good, good_bytes);
    const uint32_t entry = tw_image_section(bad, TW_SEC_SCRIPTS), code = tw_get_le32(bad + entry);
    tw_put_le16(bad + code, 0xB000);
    tw_put_le16(bad + entry + 12, tw_crc16(TW_CRC16_INIT, bad + code, 2));
    tw_image_fix(bad, good_bytes);
    refused(bad, good_bytes, TW_E_SCR_RESERVED, TW_SEC_SCRIPTS + 1, code);
    /* a critical signature nobody can verify */
    memcpy(bad, good, good_bytes);
    const uint32_t ext = tw_image_section(bad, TW_SEC_EXT);
    tw_put_le32(bad + ext, TW_EXT_SIGN);
    tw_image_poke(bad, ext + 4, 31, 31, 1);
    tw_image_fix(bad, good_bytes);
    refused(bad, good_bytes, TW_E_IMG_SIGNATURE, TW_SEC_EXT + 1, ext);
    /* services the device lacks */
    rig.board.services = 0;
    refused(good, good_bytes, TW_E_IMG_SERVICE, TW_SEC_NODES + 1, tw_image_node(good, 0) + 8);
    rig.board.services = 0xFFFFFFFF;
    /* a board that cannot */
    rig.refuse = TW_E_IO;
    refused(good, good_bytes, TW_E_IO, TW_SEC_IOS + 1, tw_image_section(good, TW_SEC_IOS));
    rig.refuse = TW_OK;
    static const uint32_t banks[1] = {16};
    rig.board.bank_bytes = banks;
    rig.board.n_banks = 1;
    refused(good, good_bytes, TW_E_IMG_BANK, TW_SEC_BANKS + 1, tw_image_section(good, TW_SEC_BANKS));
    rig_close(&rig);
}

static void formats_of_an_arc_must_match(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint32_t raw, channels, samples;
        float rate;
        tw_err_t err;
    } pairs[] = {
        {"same", TW_RAW_S16, 1, 16, 16000.0f, TW_OK},
        {"shorter: the next arc would stand half full for ever", TW_RAW_S16, 1, 8, 16000.0f, TW_E_IMG_ARC_BUFFER},
        {"longer than the buffer", TW_RAW_S16, 1, 32, 16000.0f, TW_E_IMG_ARC_BUFFER},
        {"other raw type", TW_RAW_FP32, 1, 8, 16000.0f, TW_E_IMG_ARC_FORMAT},
        {"other channels", TW_RAW_S16, 2, 8, 16000.0f, TW_E_IMG_ARC_FORMAT},
        {"other rate", TW_RAW_S16, 1, 16, 8000.0f, TW_E_IMG_ARC_FORMAT},
    };
    rig_open(&rig, 4096, 8192);
    for (uint32_t i = 0; i < TW_COUNT(pairs); i++) {
        rig_chain_open(&ib);
        tw_ib_format(&ib, pairs[i].raw, pairs[i].channels, pairs[i].samples, pairs[i].rate);
        tw_fault_t fault;
        const uint32_t bytes = tw_ib_finish(&ib, bad, sizeof bad),
                       at = tw_image_section(bad, TW_SEC_ARCS) + 4 * TW_ARC_WORDS;
        tw_image_poke(bad, at, 23, 16, 1);
        tw_image_fix(bad, bytes);
        const tw_err_t err = tw_engine_prime(rig.engine, bad, bytes, false, &fault);
        /* a buffer is refused at its size, here of this arc or the next one */
        const uint32_t place = err == TW_E_IMG_ARC_BUFFER ? at + 8 + (pairs[i].samples < 16 ? 32u : 0u) : at;
        if (err != pairs[i].err || (err != TW_OK && fault.at != place)) {
            fail_msg("%s: %s at %u", pairs[i].why, tw_err_name(err), (unsigned)fault.at);
        }
    }
    rig_close(&rig);
}

static void a_raw_type_the_node_cannot_compute_is_refused(void **state)
{
    (void)state;
    rig_open(&rig, 4096, 8192);
    tw_ib_init(&ib);
    const uint32_t f = tw_ib_format(&ib, TW_RAW_U8, 1, 32, 16000.0f);
    const uint16_t in = (uint16_t)tw_ib_arc(&ib, TW_IB_IO, 0, 0, 0, f, f, 32);
    const uint16_t out = (uint16_t)tw_ib_arc(&ib, 0, 1, TW_IB_IO, 0, f, f, 32);
    tw_ib_io(&ib, 0, false, in, f);
    tw_ib_io(&ib, 4, true, out, f);
    tw_ib_node(&ib, rig_type("ARM/arm_stream_filter"), 1, 1, (uint16_t[]){in, out});
    const uint32_t bytes = tw_ib_finish(&ib, bad, sizeof bad);
    refused(bad, bytes, TW_E_IMG_RAW, TW_SEC_NODES + 1, tw_image_node(bad, 0) + 16);
    rig_close(&rig);
}

/* filter -> amplifier -> filter, with or without a frame on the way back */
static uint32_t circle(uint32_t fill)
{
    tw_ib_init(&ib);
    const uint32_t f = tw_ib_format(&ib, TW_RAW_S16, 1, RIG_SAMPLES, 16000.0f);
    const uint16_t a = (uint16_t)tw_ib_arc(&ib, 0, 1, 1, 0, f, f, RIG_FRAME);
    const uint16_t b = (uint16_t)tw_ib_arc(&ib, 1, 1, 0, 0, f, f, RIG_FRAME);
    tw_ib_arc_fill(&ib, b, fill);
    tw_ib_node(&ib, rig_type("ARM/arm_stream_filter"), 1, 1, (uint16_t[]){b, a});
    tw_ib_node(&ib, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){a, b});
    return tw_ib_finish(&ib, bad, sizeof bad);
}

static void a_loop_needs_a_delay_and_then_ends_every_block(void **state)
{
    (void)state;
    rig_open(&rig, 4096, 8192);
    const uint32_t bytes = circle(0);
    refused(bad, bytes, TW_E_IMG_LOOP, TW_SEC_NODES + 1, tw_image_node(bad, 0));
    rig_load(&rig, bad, circle(RIG_FRAME));
    tw_engine_node_t n;
    for (unsigned i = 0; i < 10; i++) {
        assert_true(tw_engine_tick(rig.engine));
    }
    assert_int_equal(tw_engine_node(rig.engine, 0, &n), TW_OK);
    assert_in_range(n.runs, 10, 10 * 64);
    rig_close(&rig);
}

static void scripts_that_call_in_a_circle_are_refused(void **state)
{
    (void)state;
    static const uint16_t call1[] = {0x0441, 0xC000}, call0[] = {0x0440, 0xC000};
    rig_open(&rig, 4096, 8192);
    rig_chain_open(&ib);
    tw_ib_script(&ib, call1, 2, 2, 1, 0);
    tw_ib_script(&ib, call0, 2, 2, 1, 0);
    const uint32_t bytes = tw_ib_finish(&ib, bad, sizeof bad);
    refused(bad, bytes, TW_E_SCR_DEPTH, TW_SEC_SCRIPTS + 1, tw_image_section(bad, TW_SEC_SCRIPTS));
    rig_close(&rig);
}

static void memory_that_is_missing_is_named(void **state)
{
    (void)state;
    rig_board(&rig);
    build_good();
    static _Alignas(64) uint8_t mem[65536];
    uint32_t enough = 0;
    for (uint32_t size = 0; size < sizeof mem && enough == 0; size += 64) {
        tw_arena_t arena = {.base = mem, .size = size};
        tw_fault_t fault = {0};
        const tw_err_t err = tw_graph_check(good, good_bytes, &rig.board, &arena, &fault);
        assert_true(err == TW_OK || (err == TW_E_NOMEM && fault.at > 0));
        assert_int_equal(arena.used, 0);
        if (err != TW_OK) {
            continue;
        }
        tw_graph_t g;
        const tw_graph_env_t env = {.port = &rig.port, .board = &rig.board};
        const tw_err_t load = tw_graph_load(&g, good, &env, &arena, &fault);
        assert_true(load == TW_OK || (load == TW_E_NOMEM && fault.at > 0 && arena.used == 0));
        enough = load == TW_OK ? size : 0;
    }
    assert_in_range(enough, 64, sizeof mem);
}

/* A refusal at any time must not be heard: the output with refusals equals the one without. */
static void refusals_do_not_touch_the_running_graph(void **state)
{
    (void)state;
    static rig_t quiet;
    build_good();
    static uint8_t chain[16384];
    static tw_ib_t chain_ib;
    const uint32_t bytes = rig_chain(&chain_ib, chain, sizeof chain);
    rig_open(&rig, 4096, 8192);
    rig_open(&quiet, 4096, 8192);
    rig_load(&rig, chain, bytes);
    rig_load(&quiet, chain, bytes);
    for (uint32_t i = 0; i < TW_COUNT(rows); i++) {
        tw_fault_t fault;
        tw_engine_tick(quiet.engine);
        tw_engine_tick(rig.engine);
        poke(i);
        assert_int_not_equal(tw_engine_prime(rig.engine, bad, good_bytes, false, &fault), TW_OK);
    }
    assert_int_equal(rig.out_bytes[4], quiet.out_bytes[4]);
    assert_memory_equal(rig.out[4], quiet.out[4], quiet.out_bytes[4]);
    rig_close(&rig);
    rig_close(&quiet);
}

/* Accepted images must run; the sanitizers watch. */
static void try_to_run(const uint8_t *img, uint32_t bytes, unsigned *accepted)
{
    tw_fault_t fault;
    uint8_t *exact = malloc(bytes + 1);
    memcpy(exact, img, bytes);
    const tw_err_t err = tw_engine_prime(rig.engine, exact, bytes, false, &fault);
    free(exact);
    if (err != TW_OK) {
        assert_int_equal(err, fault.err);
        return;
    }
    (*accepted)++;
    assert_int_equal(tw_engine_put_swap(rig.engine, 0, true), TW_OK);
    (void)tw_engine_publish(rig.engine);
    for (unsigned i = 0; i < 4; i++) {
        tw_engine_tick(rig.engine);
    }
    (void)rig_events(&rig, TW_EV_FLOW, NULL);
    rig.out_bytes[4] = 0;
}

static void every_flipped_bit_is_refused_or_harmless(void **state)
{
    (void)state;
    unsigned accepted = 0;
    rig_open(&rig, 4096, 8192);
    build_good();
    for (uint32_t bit = 0; bit < good_bytes * 8; bit++) {
        memcpy(bad, good, good_bytes);
        bad[bit / 8] ^= (uint8_t)(1u << bit % 8);
        unsigned plain = 0;
        try_to_run(bad, good_bytes, &plain);
        assert_int_equal(plain, 0); /* the checksums see every single bit */
        tw_image_fix(bad, good_bytes);
        try_to_run(bad, good_bytes, &accepted);
    }
    assert_in_range(accepted, 1, good_bytes * 8);
    rig_close(&rig);
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    unsigned accepted = 0;
    rig_open(&rig, 4096, 8192);
    build_good();
    for (uint32_t n = 0; n < good_bytes; n++) {
        memcpy(bad, good, n);
        try_to_run(bad, n, &accepted);
        if (n >= TW_IMG_HEADER_BYTES) {
            tw_put_le32(bad + 4 * TW_W_TOTAL, n);
            tw_image_fix(bad, n);
            unsigned with_size = 0;
            try_to_run(bad, n, &with_size);
            assert_int_equal(with_size, 0);
        }
    }
    assert_int_equal(accepted, 0);
    rig_close(&rig);
}

static void an_image_may_stay_in_flash(void **state)
{
    (void)state;
    tw_fault_t fault;
    rig_open(&rig, 4096, 8192);
    build_good();
    assert_int_equal(tw_engine_prime(rig.engine, good, good_bytes, true, &fault), TW_OK);
    assert_int_equal(tw_engine_put_swap(rig.engine, 0, true), TW_OK);
    (void)tw_engine_publish(rig.engine);
    memcpy(bad, good, good_bytes);
    for (unsigned i = 0; i < 20; i++) {
        assert_true(tw_engine_tick(rig.engine));
    }
    assert_memory_equal(bad, good, good_bytes);
    tw_engine_node_t n;
    assert_int_equal(tw_engine_node(rig.engine, 0, &n), TW_OK);
    assert_string_equal(n.name, "eq");
    assert_int_equal(tw_engine_node(rig.engine, 1, &n), TW_OK);
    assert_string_equal(n.name, "arm_stream_amplifier.1");
    tw_engine_info_t info;
    tw_engine_info(rig.engine, &info);
    assert_string_equal(info.name, "test");
    assert_int_equal(info.uid, 0x1234);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mistake_has_its_code_and_its_place),
        cmocka_unit_test(checksums_are_looked_at_before_what_they_cover),
        cmocka_unit_test(a_later_minor_version_loads_unless_it_is_critical),
        cmocka_unit_test(what_one_field_cannot_show_is_refused_too),
        cmocka_unit_test(formats_of_an_arc_must_match),
        cmocka_unit_test(a_raw_type_the_node_cannot_compute_is_refused),
        cmocka_unit_test(a_loop_needs_a_delay_and_then_ends_every_block),
        cmocka_unit_test(scripts_that_call_in_a_circle_are_refused),
        cmocka_unit_test(memory_that_is_missing_is_named),
        cmocka_unit_test(refusals_do_not_touch_the_running_graph),
        cmocka_unit_test(every_flipped_bit_is_refused_or_harmless),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(an_image_may_stay_in_flash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
