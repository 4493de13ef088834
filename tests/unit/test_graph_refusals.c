/* The order of the loader's steps: an image wrong in two ways is refused by the earlier one, with its code and place.
 */
#include "tests/support/engine_rig.h"
#include "engine/base/crc.h"
#include "engine/graph/graph.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

static tw_ib_t ib;
static uint8_t good[32768], bad[32768];
static uint32_t good_bytes;
static rig_t rig;

static const uint16_t ret_script[] = {0xC000};

/* IO 0 -> filter -> amplifier -> IO 4, and a circle of two amplifiers with a delay. */
static void build_good(void)
{
    static const uint8_t mute[1] = {1};
    rig_chain_open(&ib);
    const uint16_t a = (uint16_t)tw_ib_arc(&ib, 2, 1, 3, 0, 0, 0, RIG_FRAME);
    const uint16_t b = (uint16_t)tw_ib_arc(&ib, 3, 1, 2, 0, 0, 0, RIG_FRAME);
    tw_ib_arc_fill(&ib, b, RIG_FRAME);
    tw_ib_node(&ib, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){b, a});
    tw_ib_node(&ib, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){a, b});
    ib.platform = 77;
    tw_ib_node_params(&ib, 1, 3, mute, 1);
    tw_ib_script(&ib, ret_script, TW_COUNT(ret_script), 2, 1, 0);
    tw_ib_symbol(&ib, TW_SYM_NODE, 0, "eq");
    good_bytes = tw_ib_finish(&ib, good, sizeof good);
    assert_true(good_bytes != 0);
}

/* Parts of the image; places are bytes from the first of a part. */
typedef enum part { HEADER, EXT, BANK, FORMAT, IO, NODE0, NODE1, NODE2, ARC1, ARC4, SCRIPT, PARAM, PARTS } part_t;

static const struct {
    tw_section_t section;
    uint32_t words; /* from the start of the section; of nodes: the number */
    bool node;
} parts[PARTS] = {
    [EXT] = {TW_SEC_EXT, 0, false},
    [BANK] = {TW_SEC_BANKS, 0, false},
    [FORMAT] = {TW_SEC_FORMATS, 0, false},
    [IO] = {TW_SEC_IOS, 0, false},
    [NODE0] = {TW_SEC_NODES, 0, true},
    [NODE1] = {TW_SEC_NODES, 1, true},
    [NODE2] = {TW_SEC_NODES, 2, true},
    [ARC1] = {TW_SEC_ARCS, TW_ARC_WORDS, false},
    [ARC4] = {TW_SEC_ARCS, 4 * TW_ARC_WORDS, false},
    [SCRIPT] = {TW_SEC_SCRIPTS, 0, false},
    [PARAM] = {TW_SEC_PARAMS, 0, false},
};

static uint32_t part_at(part_t part)
{
    if (part == HEADER) {
        return 0;
    }
    return parts[part].node ? tw_image_node(good, parts[part].words)
                            : tw_image_section(good, parts[part].section) + 4 * parts[part].words;
}

static uint32_t part_section(part_t part)
{
    return part == HEADER ? 0 : (uint32_t)parts[part].section + 1;
}

#define WORD(w) (4u * (w))
#define DIRECTORY(s) (4u * (TW_W_DIRECTORY + 2u * (s)))
/* A record of one word of arcs: its first block. */
enum { BLOCK_AT = 20 };

/* A mistake for each step, in the order of docs/GRAPH_IMAGE.md, each in a field no other row changes. */
static const struct {
    const char *step;
    part_t part;
    uint32_t byte;
    unsigned hi, lo;
    uint32_t value;
    tw_err_t err;
    part_t place;
    uint32_t place_byte;
} steps[] = {
    {"1 magic", HEADER, WORD(TW_W_MAGIC), 7, 0, 'X', TW_E_IMG_MAGIC, HEADER, 0},
    {"1 major", HEADER, WORD(TW_W_VERSION), 31, 24, 2, TW_E_IMG_MAJOR, HEADER, WORD(TW_W_VERSION)},
    {"2 header CRC", HEADER, WORD(TW_W_HEADER_CRC), 31, 0, 0x11111111, TW_E_IMG_HEADER_CRC, HEADER,
     WORD(TW_W_HEADER_CRC)},
    {"3 total", HEADER, WORD(TW_W_TOTAL), 31, 0, 4096, TW_E_IMG_SIZE, HEADER, WORD(TW_W_TOTAL)},
    {"3 sections", HEADER, DIRECTORY(TW_SEC_PARAMS), 31, 0, 64, TW_E_IMG_SECTION, HEADER, DIRECTORY(TW_SEC_PARAMS)},
    {"4 payload CRC", HEADER, WORD(TW_W_PAYLOAD_CRC), 31, 0, 0x22222222, TW_E_IMG_PAYLOAD_CRC, HEADER,
     WORD(TW_W_PAYLOAD_CRC)},
    {"5 extensions and signature", EXT, 4, 30, 0, 4096, TW_E_IMG_EXT, EXT, 0},
    {"6 platform", HEADER, WORD(TW_W_PLATFORM), 31, 0, 78, TW_E_IMG_PLATFORM, HEADER, WORD(TW_W_PLATFORM)},
    {"6 processors", HEADER, WORD(TW_W_PROCESSORS), 31, 0, 2, TW_E_IMG_PLATFORM, HEADER, WORD(TW_W_PROCESSORS)},
    {"6 services", HEADER, WORD(TW_W_SERVICES), 31, 31, 1, TW_E_IMG_SERVICE, HEADER, WORD(TW_W_SERVICES)},
    {"6 kind", HEADER, WORD(TW_W_CONTROL), 31, 31, 1, TW_E_IMG_RESERVED, HEADER, WORD(TW_W_CONTROL)},
    {"7 banks", BANK, 8, 31, 0, 0xC0000000, TW_E_IMG_BANK, BANK, 0},
    {"8 formats", FORMAT, 4, 16, 11, 52, TW_E_IMG_FORMAT, FORMAT, 4},
    {"9 IOs", IO, 0, 15, 0, 99, TW_E_IMG_IO, IO, 0},
    {"10 node types", NODE0, 8, 0, 0, 1, TW_E_IMG_NODE_MISSING, NODE0, 8},
    {"13 transmit arcs, a matter of the record", NODE2, 4, 7, 4, 0, TW_E_IMG_NO_TX, NODE2, 4},
    {"11 memory", NODE1, BLOCK_AT + 4, 1, 0, 2, TW_E_IMG_MEM, NODE1, BLOCK_AT},
    {"12 ends of arcs", ARC1, 12, 11, 0, 1, TW_E_IMG_ARC_ENDS, ARC1, 12},
    {"12 buffers", ARC1, 20, 31, 0, 5, TW_E_IMG_ARC_BUFFER, ARC1, 20},
    {"13 loops", ARC4, 20, 31, 0, 0, TW_E_IMG_LOOP, NODE2, 0},
    {"14 scripts", SCRIPT, 12, 15, 0, 0x1234, TW_E_IMG_SCRIPT, SCRIPT, 12},
    {"15 parameters", PARAM, 0, 7, 0, 2, TW_E_PARAM_RANGE, PARAM, 0},
};

static bool is_crc(uint32_t row)
{
    return steps[row].err == TW_E_IMG_HEADER_CRC || steps[row].err == TW_E_IMG_PAYLOAD_CRC;
}

static void spoil(uint32_t row)
{
    tw_image_poke(bad, part_at(steps[row].part) + steps[row].byte, steps[row].hi, steps[row].lo, steps[row].value);
}

static void spoil_crc(uint32_t row)
{
    spoil(row);
    if (steps[row].err == TW_E_IMG_PAYLOAD_CRC) {
        tw_put_le32(bad + WORD(TW_W_HEADER_CRC), 0);
        tw_put_le32(bad + WORD(TW_W_HEADER_CRC), tw_crc32c(0, bad, TW_IMG_HEADER_BYTES));
    }
}

/* Checksums are made right for all mistakes but those in themselves. @param a  not behind b */
static void spoil_two(uint32_t a, uint32_t b)
{
    const uint32_t rows[] = {b, a}; /* the header's checksum covers the other one */
    memcpy(bad, good, good_bytes);
    for (unsigned i = 0; i < 2; i++) {
        if (!is_crc(rows[i])) {
            spoil(rows[i]);
        }
    }
    tw_image_fix(bad, good_bytes);
    for (unsigned i = 0; i < 2; i++) {
        if (is_crc(rows[i])) {
            spoil_crc(rows[i]);
        }
    }
}

static void expect_row(uint32_t row, uint32_t other)
{
    tw_fault_t fault;
    const tw_err_t err = tw_engine_prime(rig.engine, bad, good_bytes, false, &fault);
    const uint32_t at = part_at(steps[row].place) + steps[row].place_byte;
    if (err != steps[row].err || fault.err != err || fault.section != part_section(steps[row].place) ||
        fault.at != at) {
        fail_msg("\"%s\" and \"%s\": %s in section %u at %u, expected %s in %u at %u", steps[row].step,
                 steps[other].step, tw_err_name(err), (unsigned)fault.section, (unsigned)fault.at,
                 tw_err_name(steps[row].err), (unsigned)part_section(steps[row].place), (unsigned)at);
    }
}

static void open_rig(void)
{
    rig_open(&rig, 4096, 8192);
    rig.board.services = 0x7FFFFFFF;
    build_good();
}

static void of_two_mistakes_the_earlier_step_is_told(void **state)
{
    (void)state;
    open_rig();
    rig.refuse = TW_E_IO; /* the board is asked last of all */
    for (uint32_t i = 0; i < TW_COUNT(steps); i++) {
        for (uint32_t k = i; k < TW_COUNT(steps); k++) {
            spoil_two(i, k);
            expect_row(i, k);
        }
    }
    tw_fault_t fault;
    assert_int_equal(tw_engine_prime(rig.engine, good, good_bytes, false, &fault), TW_E_IO);
    assert_int_equal(fault.section, TW_SEC_IOS + 1);
    rig.refuse = TW_OK;
    assert_int_equal(tw_engine_prime(rig.engine, good, good_bytes, false, &fault), TW_OK);
    rig_close(&rig);
}

/* Two mistakes of one kind: the first in the image. */
static void of_two_alike_the_first_is_told(void **state)
{
    (void)state;
    open_rig();
    memcpy(bad, good, good_bytes);
    tw_fault_t fault;
    for (uint32_t node = 4; node-- > 0;) {
        tw_image_poke(bad, tw_image_node(bad, node), 29, 29, 1);
        tw_image_fix(bad, good_bytes);
        assert_int_equal(tw_engine_prime(rig.engine, bad, good_bytes, false, &fault), TW_E_IMG_NODE_KEY);
        assert_int_equal(fault.at, tw_image_node(bad, node));
    }
    rig_close(&rig);
}

/* ---- the signature ------------------------------------------------------------------------------------ */

/* Without a key of the device a signature is one more extension; whoever asks for its verification is refused. */
static void a_signature_is_taken_unless_it_must_be_honoured(void **state)
{
    (void)state;
    open_rig();
    memcpy(bad, good, good_bytes);
    const uint32_t ext = tw_image_section(bad, TW_SEC_EXT);
    tw_fault_t fault;
    tw_put_le32(bad + ext, TW_EXT_SIGN);
    tw_image_poke(bad, WORD(TW_W_CONTROL), 11, 11, 1);
    tw_image_fix(bad, good_bytes);
    assert_int_equal(tw_engine_prime(rig.engine, bad, good_bytes, false, &fault), TW_OK);
    tw_engine_unprime(rig.engine);
    tw_image_poke(bad, ext + 4, 31, 31, 1);
    tw_image_fix(bad, good_bytes);
    assert_int_equal(tw_engine_prime(rig.engine, bad, good_bytes, false, &fault), TW_E_IMG_SIGNATURE);
    assert_true(fault.section == TW_SEC_EXT + 1 && fault.at == ext);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_two_mistakes_the_earlier_step_is_told),
        cmocka_unit_test(of_two_alike_the_first_is_told),
        cmocka_unit_test(a_signature_is_taken_unless_it_must_be_honoured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
