/* Converters and splits: where they are inserted, where they are refused, and what becomes of the arc of the text. */
#include "tests/unit/graphc_rig.h"

#define FORMATS                                                                                                  \
    "format 0\n format_frame_length 32\n format_sampling_rate 16000\n"                                           \
    "format 1\n format_raw_data FP32\n format_frame_length 64\n format_sampling_rate 16000\n"                    \
    "format 2\n format_raw_data FP32\n format_frame_length 128\n format_nbchan 2\n format_sampling_rate 16000\n" \
    "format 3\n format_frame_length 96\n format_sampling_rate 48000\n"                                           \
    "format 4\n format_frame_length 64\n format_sampling_rate 16000\n"                                           \
    "format 5\n format_frame_length 64\n format_sampling_rate 48000\n"
#define IOS "stream_io 0\n stream_io_hwid 0\nstream_io 1\n stream_io_hwid 5\n"
#define TWO FORMATS IOS "node gain 0\n_end_\nnode any 0\n_end_\n"
#define ENDS "arc_input 0 gain 0 0 0\n"

/* "gain.0>converter.0 32/32 3": nodes at both ends, frames of producer and consumer, in the order of arcs. */
static const char *arcs_text(const g_model_t *m)
{
    static char text[8192];
    size_t n = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        const g_arc_t *a = &m->arcs[i];
        const char *from = a->from.node == G_IO ? m->ios[a->io].symbol : m->nodes[a->from.node].name;
        const char *to = a->to.node == G_IO ? m->ios[a->io].symbol : m->nodes[a->to.node].name;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s>%s %u/%u\n", from, to,
                              m->formats[a->from.format].frame_bytes, m->formats[a->to.format].frame_bytes);
    }
    return text;
}

/* Both ends of every arc are of one stream, and every node's list and its arcs agree. */
static void check_whole(const char *why, const g_model_t *m)
{
    char differ[96];
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        const g_arc_t *a = &m->arcs[i];
        if (g_differ(&m->formats[a->from.format], &m->formats[a->to.format], differ, sizeof differ)) {
            fail_msg("%s: arc %u still differs: %s", why, i, differ);
        }
        assert_true(a->from.node == G_IO ? m->ios[a->io].arc == i : m->nodes[a->from.node].arcs[a->from.slot] == i);
        assert_true(a->to.node == G_IO ? m->ios[a->io].arc == i
                                       : a->lock || m->nodes[a->to.node].arcs[a->to.slot] == i);
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const g_node_t *n = &m->nodes[i];
        for (uint32_t k = 0; k < (uint32_t)(n->rx + n->tx); k++) {
            if (n->arcs[k] == G_NONE) {
                fail_msg("%s: node %s has a hole at %u", why, n->name, k);
            }
            const g_end_t *e = k < n->rx ? &m->arcs[n->arcs[k]].to : &m->arcs[n->arcs[k]].from;
            assert_int_equal(e->node, i);
            assert_int_equal(e->slot, k);
        }
    }
}

static const struct {
    const char *why, *text, *arcs, *insertions;
} cases[] = {
    {"S1:L462 equal formats need nothing", TWO ENDS "arc gain 0 1 0 any 0 0 0\narc_output 1 any 0 1 0\n",
     "io_in0>gain.0 32/32\ngain.0>any.0 32/32\nany.0>io_out0 32/32\n", ""},
    {"frames that differ in length only are cut without a converter",
     TWO ENDS "arc gain 0 1 0 any 0 0 4\narc_output 1 any 0 1 4\n",
     "io_in0>gain.0 32/32\ngain.0>any.0 32/64\nany.0>io_out0 64/32\n", ""},
    {"S1:L462 raw types differ between two nodes", TWO ENDS "arc gain 0 1 0 any 0 0 1\narc_output 1 any 0 1 0\n",
     "io_in0>gain.0 32/32\nconverter.0>any.0 64/64\nany.0>io_out0 32/32\ngain.0>converter.0 32/32\n", "S16 to FP32\n"},
    {"behind an input and before an output",
     FORMATS IOS "node gain32 0\n_end_\narc_input 0 gain32 0 0 1\narc_output 1 gain32 0 1 1\n",
     "converter.0>gain32.0 64/64\nconverter.1>io_out0 32/32\nio_in0>converter.0 32/32\ngain32.0>converter.1 64/64\n",
     "S16 to FP32\nFP32 to S16\n"},
    {"all that differs is said", TWO ENDS "arc gain 0 1 0 any 0 0 2\narc_output 1 any 0 1 2\n",
     "io_in0>gain.0 32/32\nconverter.0>any.0 128/128\nconverter.1>io_out0 32/32\ngain.0>converter.0 32/32\n"
     "any.0>converter.1 128/128\n",
     "S16 to FP32, 1 to 2 channels\nFP32 to S16, 2 to 1 channels\n"},
    {"rates differ and frames last as long", TWO ENDS "arc gain 0 1 0 any 0 0 3\narc_output 1 any 0 1 3\n",
     "io_in0>gain.0 32/32\nconverter.0>any.0 96/96\nconverter.1>io_out0 32/32\ngain.0>converter.0 32/32\n"
     "any.0>converter.1 96/96\n",
     "16000 to 48000 Hz\n48000 to 16000 Hz\n"},
    {"rates differ and frames do not last as long: the converter cuts them",
     TWO ENDS "arc gain 0 1 0 any 0 0 5\narc_output 1 any 0 1 3\n",
     "io_in0>gain.0 32/32\nconverter.0>any.0 64/64\nconverter.1>io_out0 32/32\ngain.0>converter.0 32/32\n"
     "any.0>converter.1 96/96\n",
     "16000 to 48000 Hz\n48000 to 16000 Hz\n"},
    {"S0:L450 fan-out of a port: a split",
     FORMATS IOS "stream_io 2\n stream_io_hwid 6\nnode gain 0\n_end_\n" ENDS
                 "arc_output 1 gain 0 1 0\narc_output 2 gain 0 1 0\n",
     "io_in0>gain.0 32/32\nsplit.0>io_out0 32/32\nsplit.0>io_out1 32/32\ngain.0>split.0 32/32\n",
     "one port feeds 2 arcs\n"},
    {"S0:L445 fan-out of an input: a split",
     FORMATS IOS "stream_io 2\n stream_io_hwid 6\nnode gain 0\n_end_\nnode any 0\n_end_\n" ENDS
                 "arc_input 0 any 0 0 0\narc_output 1 gain 0 1 0\narc_output 2 any 0 1 0\n",
     "split.0>gain.0 32/32\nsplit.0>any.0 32/32\ngain.0>io_out0 32/32\nany.0>io_out1 32/32\nio_in0>split.0 32/32\n",
     "one port feeds 2 arcs\n"},
    {"consumers of one other stream share its converter",
     FORMATS IOS
     "stream_io 2\n stream_io_hwid 6\nstream_io 3\n stream_io_hwid 7\nnode gain 0\n_end_\nnode any 0\n_end_\n"
     "node any 1\n_end_\n" ENDS
     "arc gain 0 1 0 any 0 0 1\narc gain 0 1 0 any 1 0 1\narc_output 1 gain 0 1 0\narc_output 2 any 0 1 0\n"
     "arc_output 3 any 1 1 0\n",
     "io_in0>gain.0 32/32\nsplit.0>any.0 64/64\nsplit.0>any.1 64/64\nsplit.1>io_out0 32/32\nany.0>io_out1 32/32\n"
     "any.1>io_out2 32/32\nsplit.1>converter.0 32/32\nconverter.0>split.0 64/64\ngain.0>split.1 32/32\n",
     "S16 to FP32\none port feeds 2 arcs\none port feeds 2 arcs\n"},
};

static void what_differs_gets_a_converter_and_what_fans_out_a_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        rig_t r;
        char why[1024] = "";
        rig_must(&r, cases[i].why, cases[i].text);
        for (uint32_t k = 0; k < r.m.n_insertions; k++) {
            const size_t n = strlen(why);
            snprintf(why + n, sizeof why - n, "%s\n", r.m.insertions[k].why);
        }
        if (strcmp(arcs_text(&r.m), cases[i].arcs) != 0 || strcmp(why, cases[i].insertions) != 0) {
            fail_msg("%s:\n%s%s", cases[i].why, arcs_text(&r.m), why);
        }
        check_whole(cases[i].why, &r.m);
        rig_free(&r);
    }
}

/* n consumers of one port, n up to 255 outputs are too many IOs, so they end in mixers. */
static char *fan(unsigned n)
{
    const unsigned mixers = (n + 3) / 4;
    char *text = malloc(512 + 64 * (n + 4 * mixers) + 4096), *p = text;
    p += sprintf(p, FORMATS IOS "node gain 0\n_end_\n" ENDS);
    for (unsigned i = 0; i < mixers; i++) {
        p += sprintf(p, "node mix %u\n_end_\n", i);
    }
    for (unsigned i = 0; i < n; i++) {
        p += sprintf(p, "arc gain 0 1 0 mix %u %u 0\n", i / 4, i % 4);
    }
    unsigned heads = mixers, first = 0, made = mixers;
    while (heads > 1) { /* mixers of mixers */
        for (unsigned i = 0; i < heads; i++) {
            if (i % 4 == 0) {
                p += sprintf(p, "node mix %u\n_end_\n", made + i / 4);
            }
        }
        for (unsigned i = 0; i < heads; i++) {
            p += sprintf(p, "arc mix %u 4 0 mix %u %u 0\n", first + i, made + i / 4, i % 4);
        }
        first = made;
        heads = (heads + 3) / 4;
        made += heads;
    }
    sprintf(p, "arc_output 1 mix %u 4 0\n", made - 1);
    return text;
}

static void a_port_feeds_any_number_through_a_tree_of_splits(void **state)
{
    (void)state;
    static const struct {
        unsigned consumers, splits;
    } trees[] = {{2, 1}, {15, 1}, {16, 2}, {29, 2}, {30, 3}, {200, 15}, {1000, 72}};
    for (size_t i = 0; i < TW_COUNT(trees); i++) {
        rig_t r;
        char *text = fan(trees[i].consumers);
        rig_must(&r, "tree", text);
        assert_int_equal(r.m.n_insertions, trees[i].splits);
        check_whole("tree", &r.m);
        for (uint32_t k = 0; k < r.m.n_insertions; k++) {
            const g_node_t *n = &r.m.nodes[r.m.insertions[k].node];
            assert_true(n->inserted && n->rx == 1 && n->tx >= 2 && n->tx <= 15);
        }
        rig_free(&r);
        free(text);
    }
}

/* What the text says of an arc stays before the consumer, except what concerns the IO. */
static void attributes_stay_on_the_part_they_speak_of(void **state)
{
    (void)state;
    rig_t r;
    rig_must(&r, "attributes",
             TWO "arc_input 0 gain 0 0 0\n"
                 "arc gain 0 1 0 any 0 0 1\n arc_flow_error 1 2\n arc_debug_cmd 1\n arc_debug_reg 3\n arc_delay 2\n"
                 " arc_jitter_ctrl 3\n arc_map_hwblock 1\narc_output 1 any 0 1 0\n");
    const g_arc_t *text = &r.m.arcs[1], *made = &r.m.arcs[3];
    assert_int_equal(text->debug_cmd, 1);
    assert_int_equal(text->delay, 0); /* whole frames there are the producer's */
    assert_true(text->jitter == 3.0);
    assert_int_equal(made->debug_cmd, 0);
    assert_int_equal(made->delay, 2);
    assert_true(made->jitter == 1.0);
    assert_int_equal(made->underflow, 1);
    assert_int_equal(made->overflow, 2);
    assert_int_equal(made->bank, 1);
    assert_int_equal(text->bank, 1);
    rig_free(&r);

    rig_must(&r, "attributes of an IO",
             FORMATS IOS "node gain32 0\n_end_\narc_input 0 gain32 0 0 1\n arc_jitter_ctrl 4\n arc_crumbs 1 0\n"
                         " arc_flow_error 2 1\n arc_debug_cmd 1\narc_output 1 gain32 0 1 1\n");
    const g_arc_t *at_io = &r.m.arcs[r.m.ios[0].arc], *inner = &r.m.arcs[0];
    assert_true(at_io != inner);
    assert_true(at_io->jitter == 4.0 && inner->jitter == 1.0);
    assert_true(at_io->crumbs);
    assert_int_equal(at_io->underflow, 2);
    assert_int_equal(at_io->debug_cmd, 0);
    assert_int_equal(inner->debug_cmd, 1);
    rig_free(&r);
}

/* Behind the node that feeds it, before the next of the text. */
static void inserted_nodes_run_behind_what_feeds_them(void **state)
{
    (void)state;
    rig_t r;
    rig_must(&r, "order", TWO ENDS "arc gain 0 1 0 any 0 0 1\narc_output 1 any 0 1 0\n");
    assert_string_equal(r.m.nodes[r.m.order[0]].name, "gain.0");
    assert_string_equal(r.m.nodes[r.m.order[1]].name, "converter.0");
    assert_string_equal(r.m.nodes[r.m.order[2]].name, "any.0");
    rig_free(&r);
}

static void instances_of_the_text_keep_their_numbers(void **state)
{
    (void)state;
    rig_t r;
    rig_must(&r, "instances",
             FORMATS IOS "node arm_stream_converter 0\n_end_\nnode gain32 0\n_end_\n"
                         "arc_input 0 arm_stream_converter 0 0 0\narc arm_stream_converter 0 1 1 gain32 0 0 1\n"
                         "arc_output 1 gain32 0 1 1\n");
    assert_int_equal(r.m.n_insertions, 1);
    assert_int_equal(r.m.nodes[r.m.insertions[0].node].inst, 1);
    rig_free(&r);
}

static const struct {
    const char *why, *text, *said;
} refusals[] = {
    {"S1:L462 arc_no_convert forbids, and says what differs",
     TWO ENDS "arc gain 0 1 0 any 0 0 1\n arc_no_convert\narc_output 1 any 0 1 0\n",
     "error: formats of the two ends differ: S16 to FP32, and arc_no_convert forbids a converter\n"
     "1:8 note: format of the producer\n4:8 note: format of the consumer\n"},
    {"one of two that share a converter forbids it",
     FORMATS IOS "stream_io 2\n stream_io_hwid 6\nnode gain 0\n_end_\nnode any 0\n_end_\nnode any 1\n_end_\n" ENDS
                 "arc gain 0 1 0 any 0 0 1\narc gain 0 1 0 any 1 0 1\n arc_no_convert\narc_output 1 any 0 1 1\n"
                 "arc_output 2 any 1 1 1\n arc_no_convert\n",
     "and arc_no_convert forbids a converter"},
    {"S0:L899 a raw type that is only carried",
     FORMATS IOS
     "format 7\n format_raw_data S2\n format_frame_length 4\n format_sampling_rate 16000\nnode any 0\n_end_\n"
     "arc_input 0 any 0 0 7\narc_output 1 any 0 1 0\n",
     "error: formats of the two ends differ: S16 to S2, and S2 is carried but not computed on\n"},
    {"S0:L1653 arrays describe themselves",
     FORMATS IOS "format 7\n format_raw_data DATA_ARRAY\n format_frame_length 32\nnode any 0\n_end_\n"
                 "arc_input 0 any 0 0 7\narc_output 1 any 0 1 0\n",
     "and self-describing arrays are not converted\n"},
    {"S0:L1012 units of different quantities",
     FORMATS IOS
     "format 7\n format_frame_length 32\n format_sampling_rate 16000\n format_sdomain V\n"
     "format 8\n format_frame_length 32\n format_sampling_rate 16000\n format_sdomain Pa\n"
     "node any 0\n_end_\nnode any 1\n_end_\narc_input 0 any 0 0 0\narc any 0 1 7 any 1 0 8\narc_output 1 any 1 1 0\n",
     "error: formats of the two ends differ: V to Pa, which are different quantities\n"},
    {"one port produces one format",
     FORMATS IOS "stream_io 2\n stream_io_hwid 6\n stream_io_format 1\nnode any 0\n_end_\narc_input 0 any 0 0 0\n"
                 "arc_output 1 any 0 1 0\narc_output 2 any 0 1 1\n",
     "error: arc 1 of any 0 produces format 0 already (S16 to FP32)\n32:14 note: first connected here"},
};

static void what_no_converter_can_do_is_an_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(refusals); i++) {
        rig_t r;
        if (rig_compile(&r, refusals[i].text) || strstr(rig_said(&r), refusals[i].said) == NULL) {
            fail_msg("%s:\n%s", refusals[i].why, rig_said(&r));
        }
        rig_free(&r);
    }
}

static void a_platform_without_converter_or_split_is_told_which(void **state)
{
    (void)state;
    static const rig_file_t poor[] = {
        {"top.txt", "1\n./\n0 map.txt\n4\n0 in0.txt 0 1 0\n0 in1.txt 1 1 0\n0 out0.txt 5 1 0\n0 out1.txt 6 1 0\n"
                    "2\n0 gain.txt\n0 any.txt\n"},
        {NULL, NULL},
    };
    rig_t r;
    rig_more = poor;
    assert_false(rig_compile(&r, FORMATS IOS "stream_io 2\n stream_io_hwid 6\nnode any 0\n_end_\nnode gain 0\n_end_\n"
                                             "arc_input 0 gain 0 0 0\narc gain 0 1 0 any 0 0 1\n"
                                             "arc_output 1 any 0 1 1\n arc_no_convert\narc_output 2 gain 0 1 0\n"));
    rig_more = NULL;
    assert_non_null(strstr(rig_said(&r), "this needs arm_stream_converter (S16 to FP32), and the platform has none"));
    rig_free(&r);
    rig_more = poor;
    assert_false(rig_compile(&r, FORMATS IOS "stream_io 2\n stream_io_hwid 6\nnode gain 0\n_end_\n"
                                             "arc_input 0 gain 0 0 0\narc_output 1 gain 0 1 0\n"
                                             "arc_output 2 gain 0 1 0\n"));
    rig_more = NULL;
    assert_non_null(strstr(rig_said(&r), "this needs arm_stream_split (one port feeds several arcs)"));
    rig_free(&r);
}

/* Ports in the text keep the manifest's numbers; slots in the image are dense. */
static void arcs_that_may_stay_away_leave_no_gap(void **state)
{
    (void)state;
    rig_t r;
    rig_must(&r, "mix of two",
             FORMATS IOS "stream_io 2\n stream_io_hwid 1\nnode mix 0\n_end_\n"
                         "arc_input 0 mix 0 0 0\narc_input 2 mix 0 1 0\narc_output 1 mix 0 4 0\n");
    const g_node_t *n = &r.m.nodes[0];
    assert_int_equal(n->rx, 2);
    assert_int_equal(n->tx, 1);
    assert_int_equal(r.m.arcs[2].from.port, 4);
    assert_int_equal(r.m.arcs[2].from.slot, 2);
    assert_int_equal(n->arcs[2], 2);
    rig_free(&r);
    assert_false(rig_compile(&r, FORMATS IOS "node mix 0\n_end_\narc_input 0 mix 0 1 0\narc_output 1 mix 0 4 0\n"));
    assert_non_null(strstr(rig_said(&r), "receive arc 0 of mix 0 is not connected"));
    rig_free(&r);
    assert_false(rig_compile(&r, FORMATS IOS "stream_io 2\n stream_io_hwid 1\nnode mix 0\n_end_\n"
                                             "arc_input 0 mix 0 0 0\narc_input 2 mix 0 2 0\narc_output 1 mix 0 4 0\n"));
    assert_non_null(strstr(rig_said(&r), "only the last arcs of a kind may stay away"));
    rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_differs_gets_a_converter_and_what_fans_out_a_split),
        cmocka_unit_test(a_port_feeds_any_number_through_a_tree_of_splits),
        cmocka_unit_test(attributes_stay_on_the_part_they_speak_of),
        cmocka_unit_test(inserted_nodes_run_behind_what_feeds_them),
        cmocka_unit_test(instances_of_the_text_keep_their_numbers),
        cmocka_unit_test(what_no_converter_can_do_is_an_error),
        cmocka_unit_test(a_platform_without_converter_or_split_is_told_which),
        cmocka_unit_test(arcs_that_may_stay_away_leave_no_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
