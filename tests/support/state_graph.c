#include "tests/support/state_graph.h"
#include <stdlib.h>

enum { SLOPE = 4 };

static void add_detector(tw_ib_t *b, uint32_t i, uint32_t in, uint32_t map)
{
    static const uint8_t slope = SLOPE;
    const tw_node_desc_t *d = rig_type("ARM/arm_stream_detector2D");
    const uint32_t rx = tw_ib_arc(b, TW_IB_IO, 0, i, 0, in, in, 2 * STATE_PIXELS);
    const uint32_t tx = tw_ib_arc(b, i, 1, TW_IB_IO, 0, map, map, 8 * STATE_TILES);
    const uint16_t arcs[] = {(uint16_t)rx, (uint16_t)tx};
    const uint32_t node = tw_ib_node(b, d, 1, 1, arcs);
    tw_ib_node_block(b, node, 0, d->mem[0].a + 2 * STATE_TILES);
    tw_ib_node_block(b, node, 1, STATE_PAST);
    tw_ib_node_params(b, node, 4, &slope, 1);
    tw_ib_io(b, i, false, rx, in);
    tw_ib_io(b, 4 + i, true, tx, map);
}

uint32_t state_graph_image(tw_ib_t *b, uint32_t uid, unsigned detectors, uint8_t *out, uint32_t cap)
{
    return state_graph_swapped(b, uid, detectors, TW_NB_STAYS, out, cap);
}

uint32_t state_graph_swapped(tw_ib_t *b, uint32_t uid, unsigned detectors, uint32_t swap, uint8_t *out, uint32_t cap)
{
    tw_ib_init(b);
    b->swap = swap;
    b->platform = 77;
    b->uid = uid;
    const uint32_t in = tw_ib_format(b, TW_RAW_U8, 1, STATE_PIXELS, 64000);
    const uint32_t map = tw_ib_format(b, TW_RAW_U8, 1, STATE_TILES, 4000);
    tw_ib_picture(b, in, STATE_SIDE, STATE_SIDE);
    tw_ib_picture(b, map, 2, 2);
    for (uint32_t i = 0; i < detectors; i++) {
        add_detector(b, i, in, map);
    }
    return tw_ib_finish(b, out, cap);
}

tw_graph_t *state_graph_open(unsigned detectors)
{
    static tw_ib_t ib;
    static tw_graph_t g;
    static rig_t rig;
    static uint8_t img[16384];
    static uint64_t memory[4096];
    tw_arena_t arena = {.base = (uint8_t *)memory, .size = sizeof memory};
    tw_fault_t fault;
    const uint32_t bytes = state_graph_image(&ib, 1, detectors, img, sizeof img);
    rig_board(&rig);
    const tw_graph_env_t env = {.port = &rig.port, .board = &rig.board};
    const bool ok = bytes != 0 && tw_graph_check(img, bytes, &rig.board, &arena, &fault) == TW_OK &&
                    tw_graph_load(&g, img, &env, &arena, &fault) == TW_OK;
    if (!ok) {
        abort();
    }
    return &g;
}
