/* The platforms that come with Tunewire: they read without a word, and have what the seed's list of IOs and the
 * node library ask for. */
#include "engine/base/bytes.h"
#include "engine/board/manifest.h"
#include "engine/node/node.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COMPUTER "examples/platform/top_manifest_computer.txt"
#define DUAL "examples/platform_dual/top_manifest_dual.txt"

static void read_quietly(tw_platform_t *p, const char *path)
{
    static tw_diags_t d;
    d = (tw_diags_t){0};
    if (!tw_platform_read(p, path, &d) || d.n != 0) {
        fail_msg("%s: %s:%u %s", path, d.rows[0].file, d.rows[0].line, d.rows[0].text);
    }
}

static const tw_io_manifest_t *io_of(const tw_platform_t *p, uint32_t hwid)
{
    for (unsigned i = 0; i < p->n_ios; i++) {
        if (p->ios[i].hwid == hwid) {
            return &p->ios[i];
        }
    }
    return NULL;
}

/* S0:L577-587, without what the scan repeats and misreads. */
static void test_S0_L577_the_ten_IOs_of_the_computer(void **state)
{
    (void)state;
    static const struct {
        uint32_t hwid;
        const char *name;
        uint8_t domain, direction;
    } list[] = {
        {0, "io_platform_data_in_0", 0, 0},       {1, "io_platform_data_in_1", 0, 0},
        {2, "io_platform_analog_sensor_0", 8, 0}, {3, "io_platform_motion_in_0", 5, 0},
        {4, "io_platform_audio_in_0", 1, 0},      {5, "io_platform_2d_in_0", 6, 0},
        {6, "io_platform_line_out_0", 2, 1},      {7, "io_platform_gpio_out_0", 4, 1},
        {8, "io_platform_gpio_out_1", 4, 1},      {9, "io_platform_data_out_0", 0, 1},
    };
    tw_platform_t p;
    read_quietly(&p, COMPUTER);
    assert_int_equal(p.n_ios, TW_COUNT(list));
    for (size_t i = 0; i < TW_COUNT(list); i++) {
        const tw_io_manifest_t *io = io_of(&p, list[i].hwid);
        if (io == NULL || strcmp(io->name, list[i].name) != 0 || io->domain != list[i].domain ||
            io->direction != list[i].direction) {
            fail_msg("IO %u is %s", list[i].hwid, io != NULL ? io->name : "missing");
        }
        assert_non_null(tw_io_extra(io, "io_backend"));
    }
    tw_platform_free(&p);
}

static void the_dual_platform_has_two_processors_with_banks_of_their_own(void **state)
{
    (void)state;
    tw_platform_t p;
    read_quietly(&p, DUAL);
    assert_int_equal(p.processors, 3);
    unsigned private_banks = 0, retention = 0, flash = 0, working = 0;
    for (unsigned i = 0; i < p.n_banks; i++) {
        const tw_bank_manifest_t *b = &p.banks[i];
        private_banks += b->is_private;
        retention += b->type == 3;
        flash += b->prog == 2;
        working += b->type == 1;
    }
    assert_int_equal(private_banks, 5);
    assert_int_equal(retention, 1);
    assert_int_equal(flash, 1);
    assert_int_equal(working, 3);
    /* one IO of each domain a board like this has, both processors serve some, the codec has its own clock */
    static const uint8_t domains[] = {0, 1, 2, 3, 4, 5, 6, 8, 10};
    uint32_t seen = 0, processors = 0;
    for (unsigned i = 0; i < p.n_ios; i++) {
        seen |= 1u << p.ios[i].domain;
        processors |= p.ios[i].proc_mask;
        assert_int_equal(p.ios[i].clock_domain, p.ios[i].domain == 1 || p.ios[i].domain == 2);
    }
    for (size_t i = 0; i < TW_COUNT(domains); i++) {
        assert_true(seen >> domains[i] & 1);
    }
    assert_int_equal(processors, 3);
    tw_platform_free(&p);
}

static const tw_node_manifest_t *node_of(const tw_platform_t *p, const char *name)
{
    for (unsigned i = 0; i < p->n_nodes; i++) {
        if (strcmp(p->nodes[i].name, name) == 0) {
            return &p->nodes[i];
        }
    }
    return NULL;
}

/* S0:L590 leaves the list of nodes empty; ours is nodes.def, installed types first. */
static void test_S0_L590_both_platforms_list_the_whole_node_library(void **state)
{
    (void)state;
    static const char *const names[] = {
#define TW_NODE(id, name) "arm_stream_" #name,
#define TW_NODE_LATER(id, name)
#include "engine/node/nodes.def"
#define TW_NODE(id, name)
#define TW_NODE_LATER(id, name) "arm_stream_" #name,
#include "engine/node/nodes.def"
    };
    const char *const tops[] = {COMPUTER, DUAL};
    for (size_t k = 0; k < TW_COUNT(tops); k++) {
        tw_platform_t p;
        read_quietly(&p, tops[k]);
        assert_int_equal(p.n_nodes, TW_COUNT(names));
        for (size_t i = 0; i < TW_COUNT(names); i++) {
            assert_string_equal(p.nodes[i].name, names[i]);
            assert_string_equal(p.nodes[i].developer, "ARM");
            assert_true(p.nodes[i].tx >= 1 && p.nodes[i].n_mem >= 1);
        }
        tw_platform_free(&p);
    }
}

/* Arcs and numbers as the seed era's node list has them. */
static void described_nodes_have_the_arcs_of_the_reference(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint8_t rx, tx, rx_min, tx_min;
    } list[] = {
        {"router", 7, 7, 1, 1},
        {"converter", 1, 1, 1, 1},
        {"mixer", 8, 1, 1, 1},
        {"rescaler", 1, 1, 1, 1},
        {"compressor", 1, 1, 1, 1},
        {"decompressor", 1, 1, 1, 1},
        {"modulator", 1, 1, 0, 1},
        {"demodulator", 1, 1, 1, 1},
        {"resampler", 1, 1, 1, 1},
        {"qos", 7, 7, 1, 1},
        {"split", 1, 15, 1, 1},
        {"detector2D", 1, 2, 1, 1},
        {"filter2D", 1, 1, 1, 1},
        {"analysis", 1, 1, 1, 1},
        {"mfcc", 1, 1, 1, 1},
        {"probe", 1, 1, 1, 0},
        {"noise_suppression", 1, 1, 1, 1},
        {"infer", 4, 4, 1, 1},
        {"graph_control", 1, 1, 0, 0},
    };
    tw_platform_t p;
    read_quietly(&p, COMPUTER);
    for (size_t i = 0; i < TW_COUNT(list); i++) {
        char name[64];
        snprintf(name, sizeof name, "arm_stream_%s", list[i].name);
        const tw_node_manifest_t *m = node_of(&p, name);
        if (m == NULL || m->rx != list[i].rx || m->tx != list[i].tx || m->rx_min != list[i].rx_min ||
            m->tx_min != list[i].tx_min) {
            fail_msg("%s", name);
        }
    }
    tw_platform_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_S0_L577_the_ten_IOs_of_the_computer),
        cmocka_unit_test(the_dual_platform_has_two_processors_with_banks_of_their_own),
        cmocka_unit_test(test_S0_L590_both_platforms_list_the_whole_node_library),
        cmocka_unit_test(described_nodes_have_the_arcs_of_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
