/* The reports: sums that agree with the model, tables of any length, JSON that is JSON whatever names hold. */
#include "host_tools/graphc/report/graphc_report.h"
#include "tests/unit/graphc_rig.h"
#include <jansson.h>

#define FORMATS                                                                               \
    "format 0\n format_frame_length 32\n format_sampling_rate 16000\n"                        \
    "format 1\n format_raw_data FP32\n format_frame_length 96\n format_sampling_rate 16000\n" \
    "format 2\n format_frame_length 48\n format_sampling_rate 16000\n format_nbchan 1\n"
#define IOS "stream_io 0\n stream_io_hwid 0\nstream_io 1\n stream_io_hwid 5\n"
#define SMALL                                                                        \
    FORMATS IOS "node gain 0\n_end_\nnode gain32 0\n_end_\narc_input 0 gain 0 0 0\n" \
                "arc gain 0 1 0 gain32 0 0 1\n arc_delay 1\narc_output 1 gain32 0 1 1\n arc_jitter_ctrl 2\n"

static json_t *json_of(const char *why, const rig_t *r)
{
    json_error_t e;
    char *text = g_report_json(&r->m, 1234);
    assert_non_null(text);
    json_t *doc = json_loads(text, 0, &e);
    if (doc == NULL) {
        fail_msg("%s: %s at %d: %.80s", why, e.text, e.position, text + (e.position > 40 ? e.position - 40 : 0));
    }
    free(text);
    return doc;
}

static json_int_t at(const json_t *o, const char *key)
{
    if (json_object_get(o, key) == NULL) {
        fail_msg("no '%s'", key);
    }
    return json_integer_value(json_object_get(o, key));
}

static void the_json_report_is_the_model(void **state)
{
    (void)state;
    rig_t r;
    rig_must(&r, "small", SMALL);
    json_t *doc = json_of("small", &r), *row;
    size_t i;
    assert_int_equal(at(doc, "image_bytes"), 1234);
    assert_int_equal(json_array_size(json_object_get(doc, "nodes")), r.m.n_nodes);
    assert_int_equal(json_array_size(json_object_get(doc, "arcs")), r.m.n_arcs);
    assert_int_equal(json_array_size(json_object_get(doc, "insertions")), 2);
    json_array_foreach(json_object_get(doc, "banks"), i, row)
    {
        assert_int_equal(at(row, "used") + at(row, "free"), at(row, "bytes"));
        assert_int_equal(at(row, "used"), at(row, "static") + at(row, "working") + at(row, "state"));
        assert_int_equal(at(row, "static"), at(row, "blocks") + at(row, "copies") + at(row, "arcs") +
                                                at(row, "io_buffers") + at(row, "padding"));
    }
    const json_t *made = json_array_get(json_object_get(doc, "insertions"), 0);
    assert_string_equal(json_string_value(json_object_get(made, "why")), "S16 to FP32");
    json_array_foreach(json_object_get(doc, "arcs"), i, row)
    {
        assert_int_equal(at(row, "bytes"), r.m.arcs[i].bytes);
        assert_int_equal(at(row, "at"), r.m.arcs[i].at);
    }
    json_decref(doc);
    rig_free(&r);
}

static void traffic_is_bytes_a_second_in_and_out(void **state)
{
    (void)state;
    rig_t r;
    rig_must(&r, "rate", FORMATS IOS "node gain 0\n_end_\narc_input 0 gain 0 0 0\narc_output 1 gain 0 1 0\n");
    assert_true(g_arc_rate(&r.m, &r.m.arcs[0]) == 32000.0); /* 16000 samples of 2 bytes */
    assert_true(g_bank_use(&r.m, 0).traffic == 2 * 2 * 32000.0);
    rig_free(&r);
    rig_must(&r, "no rate",
             "format 0\n format_frame_length 32\n" IOS
             "node gain 0\n_end_\narc_input 0 gain 0 0 0\narc_output 1 gain 0 1 0\n");
    assert_true(g_arc_rate(&r.m, &r.m.arcs[0]) == 0.0);
    rig_free(&r);
}

static const struct {
    const char *why, *text, *says;
} sayings[] = {
    {"insertions with their reasons", SMALL,
     "converter.0                      converter.0-gain32.0               21  S16 to FP32"},
    {"and the reason", SMALL, "S16 to FP32\n"},
    {"delay", SMALL, "bytes of delay"},
    {"frames that do not fit one another: advice",
     FORMATS IOS "node gain 0\n_end_\narc_input 0 gain 0 0 2\narc_output 1 gain 0 1 0\n",
     "96 bytes would hold whole frames of 32 and 48"},
    {"free bytes of a bank", SMALL, "memory [bytes]"},
};

static void the_text_report_says_what_was_decided(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(sayings); i++) {
        rig_t r;
        rig_must(&r, sayings[i].why, sayings[i].text);
        char *text = g_report(&r.m, 1234);
        if (strstr(text, sayings[i].says) == NULL) {
            fail_msg("%s:\n%s", sayings[i].why, text);
        }
        free(text);
        rig_free(&r);
    }
}

static void spills_say_where_and_why(void **state)
{
    (void)state;
    static const rig_file_t fast[] = {
        {"gain.txt",
         "rig\ngain\nnode_mem 0\nnode_mem_alloc 3000\nnode_mem_speed 2\n" RIG_ARC(0, 0, "S16") RIG_ARC(1, 1, "S16")},
        {NULL, NULL}};
    rig_t r;
    rig_more = fast;
    rig_must(&r, "spill",
             FORMATS IOS "node gain 0\n_end_\nnode gain 1\n_end_\narc_input 0 gain 0 0 0\n"
                         "arc gain 0 1 0 gain 1 0 0\narc_output 1 gain 1 1 0\n");
    rig_more = NULL;
    char *text = g_report(&r.m, 1);
    assert_non_null(strstr(text, "block 0 of gain.0: the platform has no critical memory for it"));
    json_t *doc = json_of("spill", &r);
    assert_int_equal(json_array_size(json_object_get(doc, "spills")), 2);
    assert_int_equal(at(json_array_get(json_object_get(doc, "spills"), 0), "vid"), 1);
    assert_int_equal(at(json_array_get(json_object_get(doc, "spills"), 1), "vid"), 0);
    json_decref(doc);
    free(text);
    rig_free(&r);
}

static void buffers_that_could_be_shared_are_named(void **state)
{
    (void)state;
    static const rig_file_t same[] = {{"gain.txt", "rig\ngain\nnode_mem 0\nnode_mem_alloc 64\n" RIG_ARC(0, 0, "S16")
                                                       RIG_ARC(1, 1, "S16") "node_arc_inPlaceProcessing 1 0\n"},
                                      {NULL, NULL}};
    rig_t r;
    rig_more = same;
    rig_must(&r, "S0:L546", FORMATS IOS "node gain 0\n_end_\narc_input 0 gain 0 0 0\narc_output 1 gain 0 1 0\n");
    rig_more = NULL;
    char *text = g_report(&r.m, 1);
    assert_non_null(strstr(text, "could share the buffer of arc 0"));
    free(text);
    rig_free(&r);
}

/* What a file or type may be called is nobody's choice here. */
static void names_of_any_bytes_leave_valid_json(void **state)
{
    (void)state;
    static const char *const names[] = {"a\"b",
                                        "a\\b",
                                        "a\tb",
                                        "caf\xc3\xa9",
                                        "\xff\xfe",
                                        "\xc3",
                                        "a\x01"
                                        "b"};
    for (size_t i = 0; i < TW_COUNT(names); i++) {
        rig_t r;
        rig_must(&r, names[i], SMALL);
        tw_node_manifest_t *x = &r.platform.nodes[0];
        snprintf(x->name, sizeof x->name, "%s", names[i]);
        snprintf(r.m.insertions[0].why, sizeof r.m.insertions[0].why, "%s", names[i]);
        snprintf(r.m.control.name, sizeof r.m.control.name, "%s", names[i]);
        json_decref(json_of(names[i], &r));
        rig_free(&r);
    }
}

static char *long_graph(unsigned n)
{
    char *text = malloc(512 + (size_t)n * 80), *p = text;
    p += sprintf(p, FORMATS IOS);
    for (unsigned i = 0; i < n; i++) {
        p += sprintf(p, "node gain %u\n_end_\n", i);
    }
    p += sprintf(p, "arc_input 0 gain 0 0 0\n");
    for (unsigned i = 1; i < n; i++) {
        p += sprintf(p, "arc gain %u 1 0 gain %u 0 0\n", i - 1, i);
    }
    sprintf(p, "arc_output 1 gain %u 1 0\n", n - 1);
    return text;
}

static unsigned lines(const char *text)
{
    unsigned n = 0;
    for (; *text != 0; text++) {
        n += *text == '\n';
    }
    return n;
}

static void long_lists_are_folded_in_text_and_whole_in_json(void **state)
{
    (void)state;
    static const struct {
        unsigned nodes;
        bool folded;
    } sizes[] = {{5, false}, {199, false}, {201, true}, {10000, true}};
    for (size_t i = 0; i < TW_COUNT(sizes); i++) {
        rig_t r;
        char *source = long_graph(sizes[i].nodes);
        rig_must(&r, "long", source);
        char *text = g_report(&r.m, 1);
        json_t *doc = json_of("long", &r);
        assert_int_equal(json_array_size(json_object_get(doc, "nodes")), sizes[i].nodes);
        assert_int_equal(strstr(text, "more nodes: --json lists all") != NULL, sizes[i].folded);
        assert_true(lines(text) < 700);
        for (const char *p = text, *q; (q = strchr(p, '\n')) != NULL; p = q + 1) {
            if (q - p > 200) {
                fail_msg("a line of %d: %.*s", (int)(q - p), (int)(q - p), p);
            }
        }
        json_decref(doc);
        free(text);
        free(source);
        rig_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_json_report_is_the_model),
        cmocka_unit_test(traffic_is_bytes_a_second_in_and_out),
        cmocka_unit_test(the_text_report_says_what_was_decided),
        cmocka_unit_test(spills_say_where_and_why),
        cmocka_unit_test(buffers_that_could_be_shared_are_named),
        cmocka_unit_test(names_of_any_bytes_leave_valid_json),
        cmocka_unit_test(long_lists_are_folded_in_text_and_whole_in_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
