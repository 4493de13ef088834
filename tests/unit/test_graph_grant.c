/* Memory asked for at load, and compact node records. */
#include "tests/support/engine_rig.h"
#include "engine/base/crc.h"
#include "engine/graph/graph.h"
#include "engine/graph/twg1_read.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

static tw_ib_t ib;
static uint8_t image[32768];
static uint32_t bytes;
static rig_t rig;

enum { PLACED, DYNAMIC, COMPACT };

/* IO 0 -> filter -> amplifier -> IO 4, its memory in the image or not. */
static void build(unsigned how)
{
    tw_ib_init(&ib);
    ib.dynamic = how == DYNAMIC;
    ib.compact = how == COMPACT;
    const uint32_t f = tw_ib_format(&ib, TW_RAW_S16, 1, RIG_SAMPLES, 16000.0f);
    const uint16_t in = (uint16_t)tw_ib_arc(&ib, TW_IB_IO, 0, 0, 0, f, f, RIG_FRAME);
    const uint16_t mid = (uint16_t)tw_ib_arc(&ib, 0, 1, 1, 0, f, f, RIG_FRAME);
    const uint16_t out = (uint16_t)tw_ib_arc(&ib, 1, 1, TW_IB_IO, 0, f, f, RIG_FRAME);
    tw_ib_io(&ib, 0, false, in, f);
    tw_ib_io(&ib, 4, true, out, f);
    tw_ib_node(&ib, rig_type("ARM/arm_stream_filter"), 1, 1, (uint16_t[]){in, mid});
    tw_ib_node(&ib, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){mid, out});
    tw_ib_symbol(&ib, TW_SYM_NODE, 0, "eq");
    bytes = tw_ib_finish(&ib, image, sizeof image);
    assert_true(bytes != 0);
}

static void run(void)
{
    for (unsigned i = 0; i < 30; i++) {
        if (i == 10) {
            assert_int_equal(tw_engine_put_control(rig.engine, 1, TW_CTL_RESET, 0), TW_OK);
            (void)tw_engine_publish(rig.engine);
        }
        assert_true(tw_engine_tick(rig.engine));
        (void)rig_events(&rig, TW_EV_FLOW, NULL);
    }
}

static void memory_asked_for_sounds_like_memory_placed(void **state)
{
    (void)state;
    static uint8_t expected[RIG_OUT_MAX];
    static const char *const names[] = {"placed", "asked for", "compact"};
    uint32_t n = 0, size[3];
    for (unsigned how = PLACED; how <= COMPACT; how++) {
        rig_open(&rig, 4096, 8192);
        build(how);
        size[how] = tw_img_word(image, 0, TW_W_DIRECTORY + 2 * TW_SEC_NODES + 1);
        rig_load(&rig, image, bytes);
        run();
        if (how == PLACED) {
            n = rig.out_bytes[4];
            memcpy(expected, rig.out[4], n);
        }
        if (n == 0 || rig.out_bytes[4] != n || memcmp(rig.out[4], expected, n) != 0) {
            fail_msg("%s: other samples", names[how]);
        }
        rig_close(&rig);
    }
    assert_true(size[COMPACT] < size[DYNAMIC] && size[DYNAMIC] < size[PLACED]);
}

/* The bank's static bytes are cut word by word: it loads, or it says how much more it needs, and with that it loads. */
static void what_is_missing_is_what_it_takes(void **state)
{
    (void)state;
    rig_open(&rig, 4096, 8192);
    unsigned refusals = 0;
    for (unsigned how = DYNAMIC; how <= COMPACT; how++) {
        build(how);
        const uint32_t bank = tw_image_section(image, TW_SEC_BANKS) + 4, all = tw_get_le32(image + bank);
        for (uint32_t room = all; room >= ib.fixed; room -= 8) {
            tw_fault_t fault;
            tw_put_le32(image + bank, room);
            tw_image_fix(image, bytes);
            const tw_err_t err = tw_engine_prime(rig.engine, image, bytes, false, &fault);
            if (err == TW_OK) {
                tw_engine_unprime(rig.engine);
                continue;
            }
            assert_int_equal(err, TW_E_NOMEM);
            assert_int_equal(fault.section, TW_SEC_NODES + 1);
            assert_in_range(fault.at, 1, all);
            refusals++;
            tw_put_le32(image + bank, room + fault.at);
            tw_image_fix(image, bytes);
            assert_int_equal(tw_engine_prime(rig.engine, image, bytes, false, &fault), TW_OK);
            tw_engine_unprime(rig.engine);
        }
    }
    assert_true(refusals > 0);
    rig_close(&rig);
}

/* What a type would do with requests it was not made for, without an instance. */
static void every_type_answers_memreq_without_an_instance(void **state)
{
    (void)state;
    uint32_t n;
    const tw_node_desc_t *const *all = tw_node_catalogue(&n);
    for (uint32_t i = 0; i < n; i++) {
        tw_node_memreq_t q = {0};
        tw_xdm_t data = {.ptr = &q, .bytes = sizeof q};
        uint32_t word = 0;
        assert_int_equal(all[i]->run(TW_CMD_MEMREQ, NULL, &data, &word), -TW_E_UNSUPPORTED);
        assert_int_equal(q.ask[0].bytes, 0);
    }
}

static void the_catalogue_is_in_the_order_of_its_names(void **state)
{
    (void)state;
    tw_node_order_t order;
    uint32_t n, crc = 0;
    (void)tw_node_catalogue(&n);
    tw_node_order(&order);
    assert_int_equal(order.n, n);
    char before[100] = "";
    for (uint32_t i = 0; i < n; i++) {
        const tw_node_desc_t *d = tw_node_entry(&order, i);
        char line[100];
        const int length = snprintf(line, sizeof line, "%s/%s/%u\n", d->developer, d->name, d->version >> 8);
        assert_true(strcmp(before, line) < 0);
        crc = tw_crc32c(crc, line, (uint32_t)length);
        memcpy(before, line, sizeof before);
    }
    assert_int_equal(order.id, crc);
    assert_null(tw_node_entry(&order, n));
}

static const struct {
    const char *why;
    uint32_t node, word;
    unsigned hi, lo;
    uint32_t value;
    tw_err_t err;
} rows[] = {
    {"no such entry", 0, 0, 11, 0, 95, TW_E_IMG_NODE_MISSING},
    {"blocks too", 0, 1, 10, 8, 1, TW_E_IMG_NODE},
    {"parameters too", 1, 0, 26, 26, 1, TW_E_IMG_NODE},
    {"placed nowhere and not asked for", 1, 1, 11, 11, 0, TW_E_IMG_NODE},
    {"keyed", 1, 0, 29, 29, 1, TW_E_IMG_NODE_KEY},
    {"another processor", 0, 0, 15, 12, 3, TW_E_IMG_NODE_ARCH},
    {"no transmit arc", 1, 1, 7, 4, 0, TW_E_IMG_NO_TX},
};

static void a_compact_record_has_its_refusals(void **state)
{
    (void)state;
    rig_open(&rig, 4096, 8192);
    for (uint32_t i = 0; i < TW_COUNT(rows); i++) {
        tw_fault_t fault;
        build(COMPACT);
        const uint32_t at = tw_image_node(image, rows[i].node);
        tw_image_poke(image, at + 4 * rows[i].word, rows[i].hi, rows[i].lo, rows[i].value);
        tw_image_fix(image, bytes);
        const tw_err_t err = tw_engine_prime(rig.engine, image, bytes, false, &fault);
        if (err != rows[i].err || fault.section != TW_SEC_NODES + 1 || fault.at < at || fault.at > at + 4) {
            fail_msg("%s: %s at %u", rows[i].why, tw_err_name(err), (unsigned)fault.at);
        }
    }
    rig_close(&rig);
}

static void another_catalogue_is_told_by_its_word(void **state)
{
    (void)state;
    tw_fault_t fault;
    rig_open(&rig, 4096, 8192);
    build(COMPACT);
    image[4 * TW_W_CATALOGUE] ^= 1;
    tw_image_fix(image, bytes);
    assert_int_equal(tw_engine_prime(rig.engine, image, bytes, false, &fault), TW_E_IMG_CATALOGUE);
    assert_true(fault.section == 0 && fault.at == 4 * TW_W_CATALOGUE);
    tw_put_le32(image + 4 * TW_W_CATALOGUE, 0);
    tw_image_fix(image, bytes);
    assert_int_equal(tw_engine_prime(rig.engine, image, bytes, false, &fault), TW_E_IMG_CATALOGUE);
    assert_true(fault.section == TW_SEC_NODES + 1 && fault.at == tw_image_node(image, 0));
    rig_close(&rig);
}

static void every_flipped_bit_of_a_compact_image_is_refused_or_harmless(void **state)
{
    (void)state;
    rig_open(&rig, 4096, 8192);
    build(COMPACT);
    for (uint32_t bit = 0; bit < bytes * 8; bit++) {
        tw_fault_t fault;
        image[bit / 8] ^= (uint8_t)(1u << bit % 8);
        tw_image_fix(image, bytes);
        if (tw_engine_prime(rig.engine, image, bytes, false, &fault) == TW_OK) {
            assert_int_equal(tw_engine_put_swap(rig.engine, 0, true), TW_OK);
            (void)tw_engine_publish(rig.engine);
            for (unsigned i = 0; i < 3; i++) {
                tw_engine_tick(rig.engine);
            }
            (void)rig_events(&rig, TW_EV_FLOW, NULL);
            rig.out_bytes[4] = 0;
        }
        image[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_asked_for_sounds_like_memory_placed),
        cmocka_unit_test(what_is_missing_is_what_it_takes),
        cmocka_unit_test(every_type_answers_memreq_without_an_instance),
        cmocka_unit_test(the_catalogue_is_in_the_order_of_its_names),
        cmocka_unit_test(a_compact_record_has_its_refusals),
        cmocka_unit_test(another_catalogue_is_told_by_its_word),
        cmocka_unit_test(every_flipped_bit_of_a_compact_image_is_refused_or_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
