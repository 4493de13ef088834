/* The scheduler against its plain reference: on random graphs the same nodes run as often, and the same bytes go out.
 *
 * Trees of nodes with one way in and up to four out, numbered in any order, with frames of any length, high QoS arcs,
 * overflow policies, node scripts and holes in the input.
 */
#include "tests/support/engine_rig.h"
#include "tests/support/plain_sched.h"
#include "tests/support/random_graph.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { GRAPHS = 400, BLOCKS = 60 };

static tw_ib_t ib;
static uint8_t img[65536];
static uint32_t seed;

static uint32_t below(uint32_t n)
{
    return rg_below(&seed, n);
}

/* ---- both schedulers -------------------------------------------------------------------------------- */

typedef struct side {
    rig_t rig;
    tw_graph_t g;
    uint8_t *memory;
} side_t;

static void load(side_t *s, uint32_t bytes)
{
    enum { ROOM = 1 << 18 };
    rig_board(&s->rig);
    s->rig.hole_from = below(BLOCKS);
    s->rig.hole_to = s->rig.hole_from + below(8);
    s->memory = aligned_alloc(64, ROOM);
    tw_arena_t arena = {.base = s->memory, .size = ROOM};
    const tw_graph_env_t env = {.port = &s->rig.port, .board = &s->rig.board};
    tw_fault_t fault = {0};
    tw_err_t err = tw_graph_check(img, bytes, &s->rig.board, &arena, &fault);
    err = err == TW_OK ? tw_graph_load(&s->g, img, &env, &arena, &fault) : err;
    if (err != TW_OK) {
        fail_msg("graph %u: %s, section %u, at %u", seed, tw_err_name(err), fault.section, fault.at);
    }
}

static void compare_block(uint32_t graph, uint32_t tick, const side_t *a, const side_t *b)
{
    for (uint32_t i = 0; i < a->g.n_nodes; i++) {
        const uint32_t x = tw_gauge_get(&a->g.hot[a->g.nodes[i].pos].runs);
        const uint32_t y = tw_gauge_get(&b->g.hot[b->g.nodes[i].pos].runs);
        if (x != y) {
            fail_msg("graph %u, block %u, node %u: %u runs, plainly %u", graph, tick, i, x, y);
        }
    }
    for (uint32_t i = 0; i < a->g.n_arcs; i++) {
        const tw_arc_t *x = &a->g.arcs[i], *y = &b->g.arcs[i];
        if (x->read != y->read || x->write != y->write || x->overflows != y->overflows ||
            x->underflows != y->underflows || x->max_fill != y->max_fill || x->realigns != y->realigns) {
            fail_msg("graph %u, block %u: arc %u differs", graph, tick, i);
        }
    }
    for (uint32_t i = 0; i < RIG_IOS; i++) {
        assert_int_equal(a->rig.out_bytes[i], b->rig.out_bytes[i]);
        assert_memory_equal(a->rig.out[i], b->rig.out[i], a->rig.out_bytes[i]);
    }
}

static uint32_t all_runs(const tw_graph_t *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        n += tw_gauge_get(&g->hot[i].runs);
    }
    return n;
}

/* One block however often the caller wants to be returned to. */
static void block_in_parts(tw_graph_t *g, uint32_t tick, tw_run_how_t how)
{
    tw_graph_begin(g, tick);
    uint32_t before = all_runs(g);
    while (tw_graph_run(g, how)) {
        const uint32_t now = all_runs(g);
        assert_true(how != TW_RUN_NODE || now <= before + 1);
        before = now;
    }
    assert_false(tw_graph_run(g, how));
}

static void the_same_nodes_run_and_the_same_bytes_go_out(void **state)
{
    (void)state;
    static const rg_kind_t any = {.nodes = 24, .sizes = RG_SIZES, .hqos = true, .scripts = true};
    static const tw_run_how_t how[3] = {TW_RUN_STARVED, TW_RUN_PARSE, TW_RUN_NODE};
    static side_t fast, slow;
    for (uint32_t graph = 0; graph < GRAPHS; graph++) {
        seed = graph;
        const uint32_t bytes = rg_make(&ib, img, sizeof img, &any, &seed), holes = seed;
        load(&fast, bytes);
        seed = holes;
        load(&slow, bytes);
        for (uint32_t t = 0; t < BLOCKS; t++) {
            block_in_parts(&fast.g, t, how[graph % 3]);
            plain_block(&slow.g, t);
            compare_block(graph, t, &fast, &slow);
        }
        free(fast.memory);
        free(slow.memory);
    }
}

/* ---- lines ------------------------------------------------------------------------------------------ */

/* One amplifier after the other, in the order of the schedule: frames pass between them without an index moved. Some
 * arcs hold two frames, some are longer than the frames before them, some share their buffer with the next. */
static uint32_t chain(uint32_t nodes)
{
    uint16_t arcs[16];
    tw_ib_init(&ib);
    const uint32_t f = tw_ib_format(&ib, TW_RAW_S16, 1, 16, 16000.0f);
    const uint32_t wide = tw_ib_format(&ib, TW_RAW_S16, 1, 32, 16000.0f);
    for (uint32_t i = 0; i <= nodes; i++) {
        const bool longer = i != nodes && below(12) == 0, two = longer || below(6) == 0;
        arcs[i] = (uint16_t)tw_ib_arc(&ib, i == 0 ? TW_IB_IO : i - 1, i != 0, i == nodes ? TW_IB_IO : i, 0, f,
                                      longer ? wide : f, two ? 64 : 32);
        tw_ib_arc_policy(&ib, arcs[i], below(2), below(8) == 0 ? 2 : 0);
    }
    tw_ib_io(&ib, 0, false, arcs[0], f);
    tw_ib_io(&ib, 4, true, arcs[nodes], f);
    for (uint32_t i = 0; i < nodes; i++) {
        tw_ib_node(&ib, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){arcs[i], arcs[i + 1]});
    }
    return tw_ib_finish(&ib, img, sizeof img);
}

/* Arc i + 1 in the buffer of arc i, where the node between may. */
static void share(uint32_t arc)
{
    const uint32_t at = tw_image_section(img, TW_SEC_ARCS) + 32 * arc;
    const bool same = memcmp(img + at, img + at + 32, 4) == 0 && memcmp(img + at + 8, img + at + 40, 4) == 0;
    if (same && tw_get_le32(img + at + 8) == 32 && tw_get_le32(img + at + 16) == 0 && tw_get_le32(img + at + 48) == 0) {
        tw_put_le32(img + at + 36, tw_get_le32(img + at + 4));
    }
}

static void a_line_leaves_everything_as_node_by_node(void **state)
{
    (void)state;
    static side_t fast, slow;
    uint32_t in_line = 0;
    for (uint32_t graph = 0; graph < GRAPHS; graph++) {
        seed = graph;
        const uint32_t nodes = 2 + below(13), bytes = chain(nodes);
        for (uint32_t i = 1; i + 2 <= nodes - 1 && graph % 2 != 0; i += 2 + below(3)) {
            share(i);
        }
        tw_image_fix(img, bytes);
        const uint32_t tapped = below(nodes + 1), holes = seed;
        load(&fast, bytes);
        seed = holes;
        load(&slow, bytes);
        for (uint32_t t = 0; t < BLOCKS; t++) {
            fast.g.arcs[tapped].taps = slow.g.arcs[tapped].taps = t / 8 % 4 == 1 ? &fast : NULL;
            tw_graph_block(&fast.g, t);
            plain_block(&slow.g, t);
            compare_block(graph, t, &fast, &slow);
        }
        for (uint32_t i = 0; i < nodes; i++) {
            in_line += fast.g.hot[i].line;
        }
        free(fast.memory);
        free(slow.memory);
    }
    assert_true(in_line > GRAPHS);
}

/* ---- classes and priorities ------------------------------------------------------------------------- */

/* Two chains that have nothing to do with one another: IO n -> amplifier n -> IO 4 + n, each frame two runs. */
static uint32_t two_chains(void)
{
    tw_ib_init(&ib);
    const uint32_t f = tw_ib_format(&ib, TW_RAW_S16, 1, 16, 16000.0f),
                   half = tw_ib_format(&ib, TW_RAW_S16, 1, 8, 16000.0f);
    for (uint32_t n = 0; n < 2; n++) {
        const uint16_t in = (uint16_t)tw_ib_arc(&ib, TW_IB_IO, 0, n, 0, f, half, 32);
        const uint16_t out = (uint16_t)tw_ib_arc(&ib, n, 1, TW_IB_IO, 0, half, half, 16);
        tw_ib_io(&ib, n, false, in, f);
        tw_ib_io(&ib, 4 + n, true, out, half);
        tw_ib_node(&ib, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){in, out});
    }
    return tw_ib_finish(&ib, img, sizeof img);
}

static void earlier_classes_and_priorities_run_first(void **state)
{
    (void)state;
    enum { ANY = 0, LOW_LATENCY = 1, MIDDLE = 2, BACKGROUND = 3 };
    static const struct {
        const char *why;
        uint32_t class[2], priority[2];
        const char *order; /* of runs in a block */
    } rows[] = {
        {"alike: by number, in passes", {ANY, ANY}, {0, 0}, "0101"},
        {"any is the middle", {ANY, MIDDLE}, {0, 0}, "0101"},
        {"low latency before the middle", {MIDDLE, LOW_LATENCY}, {15, 0}, "1100"},
        {"low latency before any", {ANY, LOW_LATENCY}, {0, 0}, "1100"},
        {"background last", {BACKGROUND, ANY}, {15, 0}, "1100"},
        {"priority in a class", {MIDDLE, MIDDLE}, {3, 4}, "1100"},
        {"in order already", {LOW_LATENCY, BACKGROUND}, {0, 0}, "0011"},
    };
    static side_t s;
    for (size_t r = 0; r < TW_COUNT(rows); r++) {
        const uint32_t bytes = two_chains();
        for (uint32_t n = 0; n < 2; n++) {
            const uint32_t at = tw_image_node(img, n);
            tw_image_poke(img, at, TW_N0_RTOS, rows[r].class[n]);
            tw_image_poke(img, at + 4, TW_N1_PRIORITY, rows[r].priority[n]);
        }
        tw_image_fix(img, bytes);
        load(&s, bytes);
        s.rig.hole_to = s.rig.hole_from;
        char order[16] = {0};
        uint32_t ran = 0, before[2] = {0};
        tw_graph_begin(&s.g, 0);
        for (bool more = true; more && ran + 1 < sizeof order;) {
            more = tw_graph_run(&s.g, TW_RUN_NODE);
            for (uint32_t n = 0; n < 2; n++) {
                const uint32_t now = tw_gauge_get(&s.g.hot[s.g.nodes[n].pos].runs);
                for (; before[n] < now; before[n]++) {
                    order[ran++] = (char)('0' + n);
                }
            }
        }
        if (strcmp(order, rows[r].order) != 0) {
            fail_msg("%s: %s, not %s", rows[r].why, order, rows[r].order);
        }
        free(s.memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(earlier_classes_and_priorities_run_first),
        cmocka_unit_test(a_line_leaves_everything_as_node_by_node),
        cmocka_unit_test(the_same_nodes_run_and_the_same_bytes_go_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
