/* Memory and schedule: what goes into which bank, what shares bytes, and what the device says to it. */
#include "engine/graph/graph.h"
#include "tests/unit/graphc_rig.h"

#define FORMATS "format 0\n format_frame_length 32\n format_sampling_rate 16000\n"
#define IOS "stream_io 0\n stream_io_hwid 0\nstream_io 1\n stream_io_hwid 5\n"
/* One node of type "probe", whose manifest a case gives. */
#define PROBE FORMATS IOS "node probe 0\n%s_end_\narc_input 0 probe 0 0 0\narc_output 1 probe 0 1 0\n"

static const char top[] = "1\n./\n0 map.txt\n6\n0 in0.txt 0 1 0\n0 in1.txt 1 1 0\n0 in2.txt 2 1 0\n0 out0.txt 5 1 0\n"
                          "0 out1.txt 6 1 0\n0 out2.txt 7 1 0\n7\n0 gain.txt\n0 gain32.txt\n0 mix.txt\n0 any.txt\n"
                          "0 converter.txt\n0 split.txt\n0 probe.txt\n";

static bool compile_probe(rig_t *r, const char *mem, const char *tags, const char *map)
{
    static char manifest[1024], text[2048];
    static rig_file_t files[4];
    snprintf(manifest, sizeof manifest, "rig\nprobe\nnode_nb_arcs 1 1\n%s%s", mem,
             RIG_ARC(0, 0, "0") RIG_ARC(1, 1, "0"));
    snprintf(text, sizeof text, PROBE, tags);
    files[0] = (rig_file_t){"top.txt", top};
    files[1] = (rig_file_t){"probe.txt", manifest};
    files[2] = (rig_file_t){map != NULL ? "map.txt" : NULL, map};
    files[3] = (rig_file_t){NULL, NULL};
    rig_more = files;
    const bool ok = rig_compile(r, text);
    rig_more = NULL;
    return ok;
}

#define MEM(bytes) "node_mem 0\nnode_mem_alloc " #bytes "\n"
#define NO_FAST "1 1 2\n0 0 1 0 0 1 0 1048576 0\n0 7 3 0 0 0 0 4096 0\n1 1 255\n"
#define NO_KEPT "1 1 1\n0 0 1 0 0 1 0 1048576 0\n1 1 255\n"

/* Banks of the rig: 0 normal; 1 fast; 3 fast working; 5 critical private working; 10 kept; 20 flash; 8 program. */
static const struct {
    const char *why, *mem, *tags, *map;
    int vid;
    const char *spill;
} banks[] = {
    {"S0:L324 nothing asked: VID 0", MEM(64), "", NULL, 0, NULL},
    {"S0:L511 speed 0 of the text asks for nothing", MEM(64) "node_mem_speed 0\n", "", NULL, 0, NULL},
    {"S0:L511 speed 1 of the text is fast, 2 in the image", MEM(64) "node_mem_speed 1\n", "", NULL, 1, NULL},
    {"S0:L511 fast scratch likes the bank made for it", MEM(64) "node_mem_speed 1\nnode_mem_retention 1\n", "", NULL, 3,
     NULL},
    {"S0:L511 speed 2 of the text is critical, 3 in the image: DTCM of the one processor",
     MEM(64) "node_mem_speed 2\nnode_mem_retention 1\n", "", NULL, 5, NULL},
    {"a static block leaves the working bank alone and spills to fast", MEM(64) "node_mem_speed 2\n", "", NULL, 1,
     "the platform has no critical memory for it"},
    {"full: the next slower bank", MEM(2000) "node_mem_speed 2\nnode_mem_retention 1\n", "", NULL, 3,
     "no room in critical memory"},
    {"full twice", MEM(4000) "node_mem_speed 2\nnode_mem_retention 1\n", "", NULL, 1, "no room in critical memory"},
    {"full everywhere: the default", MEM(5000) "node_mem_speed 2\nnode_mem_retention 1\n", "", NULL, 0,
     "no room in critical memory"},
    {"no fast memory: critical is better than normal", MEM(64) "node_mem_speed 1\n", "", NO_FAST, 7, NULL},
    {"S0:L510 retention 2 of the text is kept, 3 in the image", MEM(64) "node_mem_retention 2\n", "", NULL, 10, NULL},
    {"kept, and no bank is", MEM(64) "node_mem_retention 2\n", "", NO_KEPT, 0, "no bank is kept over a restart"},
    {"S0:L513 program memory", MEM(64) "node_mem_dataOprog1 1\n", "", NULL, 8, NULL},
    {"program memory, none", MEM(64) "node_mem_dataOprog1 1\n", "", NO_KEPT, 0,
     "the platform has no program memory for it"},
    {"S0:L323 the text's word goes before the manifest's", MEM(64) "node_mem_speed 2\n", "node_map_hwblock 0 1\n", NULL,
     1, NULL},
    {"also for bank 0", MEM(64) "node_mem_speed 2\n", "node_map_hwblock 0 0\n", NULL, 0, NULL},
    {"P = 1 needs a processor: several may run the graph, the node is bound",
     MEM(64) "node_mem_speed 2\nnode_mem_retention 1\n", "node_map_proc 1\n", NULL, 5, NULL},
};

static void blocks_go_where_their_manifest_asks(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(banks); i++) {
        rig_t r;
        if (!compile_probe(&r, banks[i].mem, banks[i].tags, banks[i].map)) {
            fail_msg("%s: %s", banks[i].why, rig_said(&r));
        }
        const char *spill = r.m.n_spills > 0 ? r.m.spills[0].why : NULL;
        const bool same =
            spill == NULL ? banks[i].spill == NULL : banks[i].spill != NULL && strcmp(spill, banks[i].spill) == 0;
        if (r.m.nodes[0].block_vid[0] != banks[i].vid || !same) {
            fail_msg("%s: bank %u, %s", banks[i].why, r.m.nodes[0].block_vid[0], spill != NULL ? spill : "no spill");
        }
        rig_free(&r);
    }
}

#define PAIR                                                                                                         \
    FORMATS IOS                                                                                                      \
        "node gain32 0\n%s_end_\nnode gain32 1\n%s_end_\nformat 1\n format_raw_data FP32\n format_frame_length 64\n" \
        " format_sampling_rate 16000\narc_input 0 gain32 0 0 1\narc gain32 0 1 1 gain32 1 0 1\n%s"                   \
        "arc_output 1 gain32 1 1 1\n"

static bool compile_pair(rig_t *r, const char *head, const char *a, const char *b, const char *arc)
{
    char text[2048];
    const int n = snprintf(text, sizeof text, "%s", head);
    snprintf(text + n, sizeof text - (size_t)n, PAIR, a, b, arc);
    return rig_compile(r, text);
}

static const struct {
    const char *why, *head, *a, *b;
    bool overlaid;
} overlays[] = {
    {"S0:L510 scratch of one thread is laid over", "", "", "", true},
    {"the same thread, said", "", "node_map_rtos 2\n", "node_map_rtos 2\n", true},
    {"two threads may interrupt one another", "", "node_map_rtos 1\n", "node_map_rtos 2\n", false},
    {"two processors, one each", "allowed_processors 3\n", "node_map_proc 1\n", "node_map_proc 2\n", false},
    {"two processors, any", "allowed_processors 3\n", "", "", false},
    {"two processors, both on one", "allowed_processors 3\n", "node_map_proc 2\n", "node_map_proc 2\n", true},
};

static void scratch_is_shared_by_nodes_that_never_run_at_once(void **state)
{
    (void)state;
    static const rig_file_t dual[] = {{"map.txt", "1 2 1\n0 0 1 0 0 1 0 1048576 0\n1 1 255\n2 0 255\n"}, {NULL, NULL}};
    for (size_t i = 0; i < TW_COUNT(overlays); i++) {
        rig_t r;
        rig_more = dual;
        const bool ok = compile_pair(&r, overlays[i].head, overlays[i].a, overlays[i].b, "");
        rig_more = NULL;
        if (!ok) {
            fail_msg("%s: %s", overlays[i].why, rig_said(&r));
        }
        const bool same = r.m.nodes[0].block_at[1] == r.m.nodes[1].block_at[1];
        if (same != overlays[i].overlaid) {
            fail_msg("%s: %u and %u", overlays[i].why, r.m.nodes[0].block_at[1], r.m.nodes[1].block_at[1]);
        }
        rig_free(&r);
    }
}

static void S1_L960_pseudo_working_is_not_overlaid(void **state)
{
    (void)state;
    static const rig_file_t pseudo[] = {
        {"gain32.txt", "rig\ngain32\nnode_nb_arcs 1 1\nnode_mem 0\nnode_mem_alloc 64\nnode_mem 1\nnode_mem_alloc 256\n"
                       "node_mem_retention 3\n" RIG_ARC(0, 0, "FP32") RIG_ARC(1, 1, "FP32")},
        {NULL, NULL}};
    rig_t r;
    rig_more = pseudo;
    assert_true(compile_pair(&r, "", "", "", ""));
    rig_more = NULL;
    assert_int_equal(r.m.nodes[0].manifest->mem[1].type, 2);
    assert_int_not_equal(r.m.nodes[0].block_at[1], r.m.nodes[1].block_at[1]);
    rig_free(&r);
}

/* ---- places of the text ---------------------------------------------------------------------- */

static const struct {
    const char *why, *a, *b, *arc, *said; /* said NULL: compiles */
} places[] = {
    {"two blocks side by side", "node_map_at 0 0 512\n", "node_map_at 0 0 576\n", "", NULL},
    {"a place nothing else may use", "node_map_at 0 0 0\n", "", "", NULL},
    {"an arc", "", "", " arc_map_at 1 128\n", NULL},
    {"scratch of one thread on itself", "node_map_at 1 0 4096\n", "node_map_at 1 0 4096\n", "", NULL},
    {"overlap", "node_map_at 0 0 512\n", "node_map_at 0 0 560\n", "",
     "error: block 0 of gain32.1 overlaps block 0 of gain32.0: 560..624 and 512..576 of bank 0\n8:6 note: placed here"},
    {"scratch on static", "node_map_at 0 0 512\n", "node_map_at 1 0 512\n", "", "overlaps"},
    {"scratch of two threads", "node_map_at 1 0 4096\nnode_map_rtos 1\n", "node_map_at 1 0 4096\nnode_map_rtos 2\n", "",
     "overlaps block 1 of gain32.0"},
    {"beyond the bank", "node_map_at 0 1 4064\n", "", "",
     "error: block 0 of gain32.0: bytes 4064..4128 are not inside bank 1, which has 0..4096"},
    {"not aligned", "node_map_at 0 0 514\n", "", "",
     "error: block 0 of gain32.0: 514 is no multiple of 4, its alignment"},
    {"no such bank", "node_map_at 0 77 0\n", "", "",
     "error: the platform has no bank 77\n0:0 note: its banks are 0 1 3 5 10 20 8"},
    {"arc on a block", "node_map_at 0 0 512\n", "", " arc_map_at 0 544\n", "overlaps block 0 of gain32.0"},
};

static void places_of_the_text_are_kept_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(places); i++) {
        rig_t r;
        const bool ok = compile_pair(&r, "", places[i].a, places[i].b, places[i].arc);
        if (ok != (places[i].said == NULL) || (!ok && strstr(rig_said(&r), places[i].said) == NULL)) {
            fail_msg("%s: %s", places[i].why, rig_said(&r));
        }
        rig_free(&r);
    }
    rig_t r;
    assert_true(compile_pair(&r, "memory_plan 0 2048 4096\n", "node_map_at 0 0 512\n", "", " arc_map_at 1 128\n"));
    assert_int_equal(r.m.nodes[0].block_at[0], 512);
    assert_int_equal(r.m.arcs[1].at, 128);
    assert_int_equal(r.m.arcs[1].bank, 1);
    assert_int_equal(r.m.banks[0].fixed, 2048);
    assert_int_equal(r.m.banks[0].working, 4096);
    rig_free(&r);
    assert_false(compile_pair(&r, "memory_plan 0 64 0\n", "", "", ""));
    assert_non_null(strstr(rig_said(&r), "1:1 error: memory_plan of bank 0 has 64 bytes"));
    rig_free(&r);
    assert_false(compile_pair(&r, "memory_plan 0 70000000 0\n", "", "", ""));
    assert_non_null(strstr(rig_said(&r), "the bank 67108864"));
    rig_free(&r);
}

/* ---- arcs -------------------------------------------------------------------------------------- */

static const struct {
    const char *why, *tags;
    uint32_t bytes, fill;
} sizes[] = {
    {"S0:L460 no jitter: one frame, the larger", "", 64, 0},
    {"S0:L460 a factor, rounded up to 4", " arc_jitter_ctrl 1.01\n", 68, 0},
    {"S0:L460 never less than a frame", " arc_jitter_ctrl 0.5\n", 64, 0},
    {"a delay's frames come on top", " arc_delay 2\n", 192, 128},
    {"both", " arc_delay 1\n arc_jitter_ctrl 2\n", 192, 64},
    {"S0:L457 flushed buffers end on a line of the cache", " arc_jitter_ctrl 1.01\n arc_flush 1\n", 96, 0},
};

static void buffers_have_the_size_the_text_asks_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(sizes); i++) {
        rig_t r;
        if (!compile_pair(&r, "", "", "", sizes[i].tags)) {
            fail_msg("%s: %s", sizes[i].why, rig_said(&r));
        }
        const g_arc_t *a = &r.m.arcs[1];
        if (a->bytes != sizes[i].bytes || a->fill_bytes != sizes[i].fill) {
            fail_msg("%s: %u bytes, %u of fill", sizes[i].why, a->bytes, a->fill_bytes);
        }
        assert_true(a->flush == 0 || a->at % 32 == 0);
        rig_free(&r);
    }
}

static void S0_L456_frames_that_do_not_divide_one_another_never_block(void **state)
{
    (void)state;
    static const struct {
        uint32_t from, to, bytes;
        const char *jitter;
    } cases[] = {
        {48, 32, 64, ""},
        {32, 48, 64, ""},
        {96, 80, 160, ""},
        {96, 32, 96, ""},
        {32, 96, 96, ""},
        {62, 64, 124, ""},
        {48, 32, 72, " arc_jitter_ctrl 1.5\n"},
        {48, 32, 64, " arc_jitter_ctrl 1.2\n"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "format 0\n format_frame_length %u\n format_sampling_rate 16000\nformat 1\n format_frame_length %u\n"
                 " format_sampling_rate 16000\nstream_io 0\n stream_io_hwid 0\nstream_io 1\n stream_io_hwid 5\n"
                 " stream_io_format 1\nnode gain 0\n_end_\nnode gain 1\n_end_\narc_input 0 gain 0 0 0\n"
                 "arc gain 0 1 0 gain 1 0 1\n%sarc_output 1 gain 1 1 1\n",
                 cases[i].from, cases[i].to, cases[i].jitter);
        rig_t r;
        rig_must(&r, "two frame lengths", text);
        const uint32_t bytes = r.m.arcs[1].bytes;
        if (bytes != cases[i].bytes) {
            fail_msg("%u to %u bytes: a buffer of %u", cases[i].from, cases[i].to, bytes);
        }
        uint32_t fill = 0, produced = 0; /* moved whenever there is room, whenever there is a frame */
        for (unsigned turn = 0; turn < 1000; turn++) {
            if (bytes - fill >= cases[i].from) {
                fill += cases[i].from;
                produced++;
            }
            fill -= fill / cases[i].to * cases[i].to;
        }
        assert_true(produced == 1000);
        rig_free(&r);
    }
}

static void S0_L450_loops_need_a_delay(void **state)
{
    (void)state;
    static const char loop[] = FORMATS IOS "node mix 0\n_end_\nnode gain 0\n_end_\narc_input 0 mix 0 0 0\n"
                                           "arc mix 0 4 0 gain 0 0 0\narc gain 0 1 0 mix 0 1 0\n%s"
                                           "arc_output 1 gain 0 1 0\n";
    char text[1024];
    rig_t r;
    snprintf(text, sizeof text, loop, "");
    assert_false(rig_compile(&r, text));
    assert_non_null(strstr(rig_said(&r), "is in a loop: one of its arcs needs arc_delay"));
    assert_non_null(strstr(rig_said(&r), "note: mix.0 waits for split.0 here"));
    rig_free(&r);
    snprintf(text, sizeof text, loop, " arc_delay 1\n");
    rig_must(&r, "a delayed loop", text);
    rig_free(&r);
}

static void S0_L450_a_delay_is_whole_frames_of_the_consumer(void **state)
{
    (void)state;
    rig_t r;
    const char *text =
        FORMATS IOS "format 2\n format_frame_length 48\n format_sampling_rate 16000\nnode gain 0\n_end_\n"
                    "node gain 1\n_end_\narc_input 0 gain 0 0 0\narc gain 0 1 0 gain 1 0 2\n arc_delay 1\n"
                    "arc_output 1 gain 1 1 0\n";
    assert_false(rig_compile(&r, text));
    assert_non_null(strstr(rig_said(&r), "arc_delay 1: 32 bytes are no whole number of the consumer's frames of 48"));
    rig_free(&r);
}

static void S0_L223_the_graphs_bank_has_arcs_and_state(void **state)
{
    (void)state;
    rig_t r;
    assert_true(compile_pair(&r, "graph_map_hwblock 1\n", "", "", ""));
    for (uint32_t i = 0; i < r.m.n_arcs; i++) {
        assert_int_equal(r.m.arcs[i].bank, 1);
    }
    assert_int_equal(r.m.nodes[0].block_vid[0], 0);
    rig_free(&r);
}

static void S0_L325_copies_are_of_constants_and_in_both_banks(void **state)
{
    (void)state;
    rig_t r;
    assert_true(
        compile_probe(&r, MEM(64) "node_mem_dataOprog1 1\n", "node_map_hwblock 0 0\nnode_map_copy 0 8\n", NULL));
    assert_int_equal(r.m.nodes[0].block_vid[0], 8);
    assert_int_equal(r.m.nodes[0].block_home[0], 0);
    rig_free(&r);
    assert_false(compile_probe(&r, MEM(64), "node_map_copy 0 1\n", NULL));
    assert_non_null(strstr(rig_said(&r), "node_map_copy: probe.0 writes its block 0, and a copy would be lost"));
    rig_free(&r);
}

/* Each has its home, and both run in one place. */
static void S0_L326_swapped_blocks_of_a_thread_share_the_fast_place(void **state)
{
    (void)state;
    static const struct {
        const char *why, *head, *a, *b;
        bool share;
    } rows[] = {
        {"one thread", "", "node_map_swap 0 3\n", "node_map_swap 0 3\n", true},
        {"two threads", "", "node_map_swap 0 3\nnode_map_rtos 1\n", "node_map_swap 0 3\nnode_map_rtos 2\n", false},
        {"the place is the text's", "", "node_map_swap 0 3 512\n", "node_map_swap 0 3 512\n", true},
        {"other places of the text", "", "node_map_swap 0 3 512\n", "node_map_swap 0 3 1024\n", false},
        {"of many processors one", "allowed_processors 3\n", "node_map_swap 0 3\nnode_map_proc 2\n",
         "node_map_swap 0 3\nnode_map_proc 2\n", true},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        rig_t r;
        if (!compile_pair(&r, rows[i].head, rows[i].a, rows[i].b, "")) {
            fail_msg("%s: %s", rows[i].why, rig_said(&r));
        }
        const g_node_t *a = &r.m.nodes[0], *b = &r.m.nodes[1];
        assert_int_equal(a->block_vid[0], 3);
        assert_int_equal(a->block_home[0], 0);
        assert_int_not_equal(a->home_at[0], b->home_at[0]);
        if ((a->block_at[0] == b->block_at[0]) != rows[i].share) {
            fail_msg("%s: %u and %u", rows[i].why, a->block_at[0], b->block_at[0]);
        }
        rig_free(&r);
    }
}

static void S0_L326_what_cannot_be_swapped_is_refused_with_its_reason(void **state)
{
    (void)state;
    static const struct {
        const char *mem, *tags, *said;
    } rows[] = {
        {MEM(64) "node_mem_retention 1\n", "node_map_swap 0 1\n", "node_map_swap: block 0 of probe.0 is scratch"},
        {MEM(64), "node_map_swap 0 0\n", "node_map_swap: block 0 of probe.0 is in bank 0 already"},
        {MEM(64), "node_map_swap 0 99\n", "the platform has no bank 99"},
        {MEM(64), "node_map_swap 0 1 3\n", "copy of block 0 of probe.0: 3 is no multiple of 4, its alignment"},
        {MEM(64), "node_map_swap 0 1 1000000\n", "are not inside bank 1"},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        rig_t r;
        assert_false(compile_probe(&r, rows[i].mem, rows[i].tags, NULL));
        if (strstr(rig_said(&r), rows[i].said) == NULL) {
            fail_msg("%s: %s", rows[i].said, rig_said(&r));
        }
        rig_free(&r);
    }
    rig_t r;
    assert_false(compile_pair(&r, "allowed_processors 3\n", "node_map_swap 0 3\n", "", ""));
    assert_non_null(strstr(rig_said(&r), "several processors may run gain32.0: bind it with node_map_proc"));
    rig_free(&r);
}

static void what_is_kept_over_a_restart_may_be_swapped_from_there(void **state)
{
    (void)state;
    rig_t r;
    assert_true(compile_probe(&r, MEM(64) "node_mem_retention 2\n", "node_map_swap 0 1\n", NULL));
    assert_int_equal(r.m.nodes[0].block_home[0], 10);
    assert_int_equal(r.m.nodes[0].block_vid[0], 1);
    rig_free(&r);
}

static void a_full_bank_is_said_once_with_all_it_would_need(void **state)
{
    (void)state;
    char *text = malloc(1 << 16), *p = text;
    p += sprintf(p, FORMATS IOS);
    for (int i = 0; i < 200; i++) {
        p += sprintf(p, "node gain %d\n node_map_hwblock 0 1\n_end_\n", i);
    }
    p += sprintf(p, "arc_input 0 gain 0 0 0\n");
    for (int i = 1; i < 200; i++) {
        p += sprintf(p, "arc gain %d 1 0 gain %d 0 0\n", i - 1, i);
    }
    sprintf(p, "arc_output 1 gain 199 1 0\n");
    rig_t r;
    assert_false(rig_compile(&r, text));
    assert_int_equal(r.diags.errors, 1);
    assert_non_null(strstr(rig_said(&r), "bank 1 is full: 12800 of 4096 bytes"));
    rig_free(&r);
    free(text);
}

/* ---- any graph -------------------------------------------------------------------------------------- */

static uint32_t seed;
static uint32_t any_below(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

/* Nodes of random types and places in a random order; arcs go forward, so there is no loop. */
static char *random_graph(void)
{
    const uint32_t n = 1 + any_below(40);
    char *text = malloc(1 << 16), *p = text;
    p += sprintf(p, "allowed_processors %u\n", any_below(2) ? 1 : 3);
    p += sprintf(p, FORMATS "format 1\n format_raw_data FP32\n format_frame_length 128\n format_sampling_rate 16000\n"
                            "format 2\n format_frame_length 60\n format_sampling_rate 16000\n" IOS);
    for (uint32_t i = 0; i < n; i++) {
        p += sprintf(p, "node mix %u\n", i);
        if (any_below(3) == 0) {
            p += sprintf(p, " node_map_rtos %u\n", any_below(4));
        }
        if (any_below(3) == 0) {
            p += sprintf(p, " node_map_hwblock 1 %u\n", any_below(2) ? 1 : 3);
        }
        if (any_below(8) == 0) {
            p += sprintf(p, " node_map_at 0 0 %u\n", 16384 + 512 * i);
        }
        p += sprintf(p, "_end_\n");
    }
    p += sprintf(p, "arc_input 0 mix 0 0 0\n");
    for (uint32_t i = 1; i < n; i++) {
        const uint32_t in = 1 + any_below(4);
        for (uint32_t k = 0; k < in; k++) { /* the first from the one before, so that every output is used */
            p += sprintf(p, "arc mix %u 4 0 mix %u %u %u\n", k == 0 ? i - 1 : any_below(i), i, k, any_below(2) ? 0 : 2);
            if (any_below(4) == 0) {
                p += sprintf(p, " arc_jitter_ctrl 1.%u\n", any_below(100));
            }
            if (any_below(6) == 0) {
                p += sprintf(p, " arc_map_hwblock %u\n", any_below(2));
            }
        }
    }
    sprintf(p, "arc_output 1 mix %u 4 0\n", n - 1);
    return text;
}

typedef struct live {
    uint32_t vid, at, end, thread; /* thread ~0: not scratch */
} live_t;

static int by_place(const void *a, const void *b)
{
    const live_t *x = a, *y = b;
    return x->vid != y->vid ? (x->vid < y->vid ? -1 : 1) : x->at < y->at ? -1 : x->at > y->at;
}

static uint32_t collect(const g_model_t *m, live_t *v)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const g_node_t *x = &m->nodes[i];
        for (unsigned k = 0; k < x->manifest->n_mem; k++) {
            const bool shared = x->manifest->mem[k].type == 1 && (x->proc != 0 || m->control.processors == 1);
            assert_int_equal(x->block_at[k] % x->manifest->mem[k].align, 0);
            v[n++] = (live_t){x->block_vid[k], x->block_at[k], x->block_at[k] + x->block_bytes[k],
                              shared ? x->proc * 4u + x->rtos : ~0u};
        }
    }
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        assert_int_equal(m->arcs[i].at % 8, 0);
        v[n++] = (live_t){m->arcs[i].bank, m->arcs[i].at, m->arcs[i].at + m->arcs[i].bytes, ~0u};
    }
    return n;
}

/* A mixer with memory of every kind. */
static const rig_file_t memory[] = {
    {"mix.txt",
     "rig\nmix\nnode_nb_arcs 4 1\nnode_min_arcs 1 1\nnode_mem 0\nnode_mem_alloc 36\nnode_mem_frame_size 1 3\n"
     "node_mem 1\nnode_mem_alloc 100\nnode_mem_retention 1\nnode_mem_speed 1\nnode_mem_alignment 32\n"
     "node_mem 2\nnode_mem_alloc 52\nnode_mem_retention 1\nnode_mem_speed 2\n" RIG_ARC(0, 0, "S16") RIG_ARC(1, 0, "S16")
         RIG_ARC(2, 0, "S16") RIG_ARC(3, 0, "S16") RIG_ARC(4, 1, "S16")},
    {NULL, NULL}};

/* Every pair: slow and sure, nothing of the planner's own sweep. */
static void no_two_live_blocks_share_a_byte(void **state)
{
    (void)state;
    static live_t v[4096];
    for (seed = 1; seed < 400;) {
        const uint32_t start = seed;
        rig_t r;
        char *text = random_graph();
        rig_more = memory;
        const bool ok = rig_compile(&r, text);
        rig_more = NULL;
        if (!ok) {
            fail_msg("seed %u: %s\n%s", start, rig_said(&r), text);
        }
        const uint32_t n = collect(&r.m, v);
        qsort(v, n, sizeof *v, by_place);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t limit = 0;
            for (uint32_t b = 0; b < r.m.n_banks; b++) {
                limit = r.m.banks[b].manifest->vid == v[i].vid ? (uint64_t)r.m.banks[b].fixed + r.m.banks[b].working
                                                               : limit;
            }
            assert_true(v[i].end <= limit);
            for (uint32_t k = i + 1; k < n && v[k].vid == v[i].vid && v[k].at < v[i].end; k++) {
                if (v[k].thread == ~0u || v[k].thread != v[i].thread) {
                    fail_msg("seed %u: bank %u, %u..%u and %u..%u", start, v[i].vid, v[i].at, v[i].end, v[k].at,
                             v[k].end);
                }
            }
        }
        for (uint32_t i = 0; i < r.m.n_arcs; i++) {
            const g_arc_t *a = &r.m.arcs[i];
            assert_true(a->from.node == G_IO || a->to.node == G_IO || r.m.place[a->from.node] < r.m.place[a->to.node]);
        }
        rig_free(&r);
        free(text);
        seed = start + 1;
    }
}

static void an_order_that_is_right_is_kept(void **state)
{
    (void)state;
    rig_more = memory;
    for (uint32_t start = 1; start < 60; start++) {
        seed = start;
        rig_t r;
        char *text = random_graph();
        rig_must(&r, "order", text);
        uint32_t last = 0;
        for (uint32_t i = 0; i < r.m.n_nodes; i++) {
            if (!r.m.nodes[r.m.order[i]].inserted) {
                assert_true(r.m.order[i] >= last);
                last = r.m.order[i];
            }
        }
        rig_free(&r);
        free(text);
    }
    rig_more = NULL;
}

/* A chain of the device's own node types in random formats, with side outputs: converters and splits all over. */
static char *device_graph(void)
{
    static const char *const formats =
        "format 0\n format_frame_length 64\n format_nbchan 2\n format_sampling_rate 48000\n"
        "format 1\n format_frame_length 96\n format_nbchan 2\n format_sampling_rate 48000\n"
        "format 2\n format_raw_data FP32\n format_frame_length 64\n format_sampling_rate 16000\n"
        "format 3\n format_raw_data FP32\n format_frame_length 128\n format_nbchan 2\n format_sampling_rate 48000\n"
        "format 4\n format_frame_length 64\n format_sampling_rate 16000\n format_sdomain mV\n"
        "format 5\n format_raw_data FP32\n format_frame_length 64\n format_sampling_rate 16000\n format_sdomain V\n";
    const uint32_t n = 1 + any_below(60);
    char *text = malloc(1 << 16), *t = text;
    t +=
        sprintf(t, "%sstream_io 0\n stream_io_hwid 4\nstream_io 1\n stream_io_hwid 6\nstream_io 2\n stream_io_hwid 9\n",
                formats);
    uint32_t type[64], out[64];
    for (uint32_t i = 0; i < n; i++) {
        type[i] = any_below(2);
        out[i] = any_below(6);
        t += sprintf(t, "node arm_stream_%s %u\n node_map_rtos %u\n_end_\n", type[i] ? "filter" : "amplifier", i,
                     any_below(3));
    }
    static const char *const names[] = {"amplifier", "filter"};
    t += sprintf(t, "arc_input 0 arm_stream_%s 0 0 %u\n", names[type[0]], out[0]);
    for (uint32_t i = 1; i < n; i++) {
        t += sprintf(t, "arc arm_stream_%s %u 1 %u arm_stream_%s %u 0 %u\n", names[type[i - 1]], i - 1, out[i - 1],
                     names[type[i]], i, out[i]);
        t += any_below(6) == 0 ? sprintf(t, " arc_map_hwblock 1\n") : 0;
        t += any_below(6) == 0 && out[i] == out[i - 1] ? sprintf(t, " arc_delay %u\n", any_below(3)) : 0;
    }
    const uint32_t tap = any_below(n);
    t += sprintf(t, "arc_output 2 arm_stream_%s %u 1 %u\n", names[type[tap]], tap, out[tap]);
    sprintf(t, "arc_output 1 arm_stream_%s %u 1 %u\n", names[type[n - 1]], n - 1, out[n - 1]);
    return text;
}

typedef struct device {
    tw_platform_t p;
    tw_board_io_t ios[64];
    uint32_t bank_bytes[256];
    tw_board_t board;
} device_t;

static void open_device(device_t *d)
{
    tw_diags_t diags = {0};
    *d = (device_t){0};
    assert_true(tw_platform_read(&d->p, "examples/platform/top_manifest_computer.txt", &diags));
    for (unsigned i = 0; i < d->p.n_ios; i++) {
        d->ios[i] = (tw_board_io_t){.hwid = (uint16_t)d->p.ios[i].hwid, .direction = d->p.ios[i].direction};
    }
    for (unsigned i = 0; i < d->p.n_banks; i++) {
        d->bank_bytes[d->p.banks[i].vid] = d->p.banks[i].bytes;
    }
    d->board = (tw_board_t){.platform_id = d->p.id,
                            .services = d->p.services,
                            .ios = d->ios,
                            .n_ios = d->p.n_ios,
                            .bank_bytes = d->bank_bytes,
                            .n_banks = 256};
}

static void compile_for(device_t *d, const char *why, const char *text, bool compact, tw_graphc_out_t *out)
{
    const rig_file_t files[] = {{"g.txt", text}, {NULL, NULL}};
    *out = (tw_graphc_out_t){0};
    rig_more = files;
    const bool ok = g_compile("g.txt", &(tw_graphc_opts_t){.compact = compact}, &d->p, &rig_source, out);
    rig_more = NULL;
    if (!ok) {
        fail_msg("%s: line %u: %s\n%s", why, out->diags.rows[0].line, out->diags.rows[0].text, text);
    }
}

/* Whatever is compiled loads, and its decompiled text is the same image: no insertion is made twice. */
static void the_device_loads_what_the_compiler_plans(void **state)
{
    (void)state;
    static device_t d;
    static uint64_t scratch[1 << 16];
    open_device(&d);
    unsigned shorter = 0;
    for (uint32_t start = 2; start < 160; start++) {
        const bool compact = start % 2 != 0;
        char why[32], *text = (seed = start / 2, device_graph()), *back = NULL;
        tw_graphc_out_t out, again;
        snprintf(why, sizeof why, "seed %u%s", start / 2, compact ? ", compact" : "");
        compile_for(&d, why, text, compact, &out);
        shorter += tw_get_le32(out.image + 4 * TW_W_CATALOGUE) != 0;
        tw_arena_t arena = {(uint8_t *)scratch, sizeof scratch, 0};
        tw_fault_t fault = {0};
        const tw_err_t err = tw_graph_check(out.image, out.bytes, &d.board, &arena, &fault);
        if (err != TW_OK) {
            fail_msg("%s: %s, section %u at %u\n%s", why, tw_err_name(err), fault.section, fault.at, text);
        }
        static tw_diags_t diags;
        diags = (tw_diags_t){0};
        assert_true(tw_decompile(out.image, out.bytes, &d.p, 0, &back, &diags));
        compile_for(&d, why, back, compact, &again);
        if (again.bytes != out.bytes || memcmp(again.image, out.image, out.bytes) != 0) {
            fail_msg("%s: decompiled, it is another image\n%s", why, back);
        }
        tw_graphc_free(&out);
        tw_graphc_free(&again);
        free(text);
        free(back);
    }
    assert_in_range(shorter, 1, 79);
    tw_platform_free(&d.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_go_where_their_manifest_asks),
        cmocka_unit_test(scratch_is_shared_by_nodes_that_never_run_at_once),
        cmocka_unit_test(S1_L960_pseudo_working_is_not_overlaid),
        cmocka_unit_test(places_of_the_text_are_kept_or_refused),
        cmocka_unit_test(buffers_have_the_size_the_text_asks_for),
        cmocka_unit_test(S0_L456_frames_that_do_not_divide_one_another_never_block),
        cmocka_unit_test(S0_L450_loops_need_a_delay),
        cmocka_unit_test(S0_L450_a_delay_is_whole_frames_of_the_consumer),
        cmocka_unit_test(S0_L223_the_graphs_bank_has_arcs_and_state),
        cmocka_unit_test(S0_L325_copies_are_of_constants_and_in_both_banks),
        cmocka_unit_test(S0_L326_swapped_blocks_of_a_thread_share_the_fast_place),
        cmocka_unit_test(S0_L326_what_cannot_be_swapped_is_refused_with_its_reason),
        cmocka_unit_test(what_is_kept_over_a_restart_may_be_swapped_from_there),
        cmocka_unit_test(a_full_bank_is_said_once_with_all_it_would_need),
        cmocka_unit_test(no_two_live_blocks_share_a_byte),
        cmocka_unit_test(an_order_that_is_right_is_kept),
        cmocka_unit_test(the_device_loads_what_the_compiler_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
