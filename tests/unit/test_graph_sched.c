/* The scheduler against its plain reference: on random graphs the same nodes run as often, and the same bytes go out.
 *
 * Trees of nodes with one way in and up to four out, numbered in any order, with frames of any length, high QoS arcs,
 * overflow policies, node scripts and holes in the input.
 */
#include "host_tools/scriptasm/scriptasm.h"
#include "tests/support/engine_rig.h"
#include "tests/support/plain_sched.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { GRAPHS = 400, BLOCKS = 60, NODES_MAX = 24, ENDS_MAX = 4, SIZES = 6 };

static tw_ib_t ib;
static uint8_t img[65536];
static uint32_t seed;

static uint32_t below(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)seed * n >> 32);
}

/* ---- random graphs -------------------------------------------------------------------------------- */

typedef struct grown {
    uint32_t n, ports[NODES_MAX];          /* ways out of each node */
    uint16_t arc[NODES_MAX][1 + ENDS_MAX]; /* receive, then transmit */
    uint32_t number[NODES_MAX];            /* index in the image */
    uint32_t samples[NODES_MAX];           /* of a frame, both sides */
    uint32_t format[SIZES];
} grown_t;

static void shuffle_numbers(grown_t *k)
{
    for (uint32_t i = 0; i < k->n; i++) {
        k->number[i] = i;
    }
    for (uint32_t i = k->n; i > 1; i--) {
        const uint32_t j = below(i), kept = k->number[i - 1];
        k->number[i - 1] = k->number[j];
        k->number[j] = kept;
    }
}

static uint16_t any_arc(const grown_t *k, uint32_t from, uint32_t port, uint32_t to, uint32_t out, uint32_t in)
{
    static const uint32_t samples[SIZES] = {16, 8, 4, 12, 20, 32};
    const uint32_t a =
        tw_ib_arc(&ib, from, port, to, 0, k->format[out], k->format[in], 2 * (samples[out] + samples[in] + below(20)));
    tw_ib_arc_policy(&ib, a, below(3), below(3));
    return (uint16_t)(a | (below(8) == 0 ? 1u << 13 : 0));
}

static const char *type_of(uint32_t ports)
{
    return ports > 1 ? "ARM/arm_stream_split" : below(2) != 0 ? "ARM/arm_stream_filter" : "ARM/arm_stream_amplifier";
}

/* Nodes 0..n-1; each hangs on an open end of one before it, what stays open goes to an IO. */
static void connect(grown_t *k)
{
    struct {
        uint32_t node, port;
    } open[NODES_MAX * ENDS_MAX] = {{0}};
    uint32_t n_open = 0;
    const uint16_t first = any_arc(k, TW_IB_IO, 0, k->number[0], 0, k->samples[0]);
    k->arc[0][0] = first;
    tw_ib_io(&ib, 0, false, first & 0xFFFu, k->format[0]);
    for (uint32_t i = 0; i < k->n; i++) {
        if (i > 0) {
            const uint32_t e = below(n_open), from = open[e].node, port = open[e].port;
            const uint16_t a = any_arc(k, k->number[from], port, k->number[i], k->samples[from], k->samples[i]);
            k->arc[from][port] = k->arc[i][0] = a;
            open[e] = open[--n_open];
        }
        const bool may_split = n_open + 1 + (k->n - i - 1 > 0) < ENDS_MAX;
        k->ports[i] = may_split && below(4) == 0 ? 2 : 1;
        for (uint32_t p = 1; p <= k->ports[i]; p++) {
            open[n_open].node = i;
            open[n_open++].port = p;
        }
    }
    for (uint32_t e = 0; e < n_open; e++) {
        const uint32_t from = open[e].node;
        const uint16_t a = any_arc(k, k->number[from], open[e].port, TW_IB_IO, k->samples[from], k->samples[from]);
        k->arc[from][open[e].port] = a & 0xFFFu;
        tw_ib_io(&ib, 4 + e, true, a & 0xFFFu, k->format[k->samples[from]]);
    }
}

static uint32_t add_script(const char *text)
{
    static tw_asm_out_t out;
    uint16_t words[64];
    if (!tw_asm(text, strlen(text), &out)) {
        fail_msg("%u: %s", out.diags[0].line, out.diags[0].text);
    }
    for (uint32_t i = 0; i < out.code_bytes / 2; i++) {
        words[i] = tw_get_le16(out.code + 2 * i);
    }
    return tw_ib_script(&ib, words, out.code_bytes / 2, 2, 1, 0);
}

static uint32_t make_image(void)
{
    static const uint32_t samples[SIZES] = {16, 8, 4, 12, 20, 32};
    grown_t k = {.n = 1 + below(NODES_MAX)};
    tw_ib_init(&ib);
    for (uint32_t i = 0; i < SIZES; i++) {
        k.format[i] = tw_ib_format(&ib, TW_RAW_S16, 1, samples[i], 16000.0f);
    }
    for (uint32_t i = 0; i < k.n; i++) {
        k.samples[i] = below(SIZES);
    }
    shuffle_numbers(&k);
    connect(&k);
    const bool scripts = below(4) == 0;
    const uint32_t skips = scripts ? add_script("eqk r0 9\nret\n") : 0;
    for (uint32_t number = 0; number < k.n; number++) {
        uint32_t i = 0;
        while (k.number[i] != number) {
            i++;
        }
        tw_ib_node(&ib, rig_type(type_of(k.ports[i])), 1, k.ports[i], k.arc[i]);
        if (scripts && below(8) == 0) {
            tw_ib_node_script(&ib, number, skips);
        }
    }
    return tw_ib_finish(&ib, img, sizeof img);
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
    static const tw_run_how_t how[3] = {TW_RUN_STARVED, TW_RUN_PARSE, TW_RUN_NODE};
    static side_t fast, slow;
    for (uint32_t graph = 0; graph < GRAPHS; graph++) {
        seed = graph;
        const uint32_t bytes = make_image(), holes = seed;
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
        cmocka_unit_test(the_same_nodes_run_and_the_same_bytes_go_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
