/* cli_info.c - a graph's state in JSON and in words. */
#include "host_tools/tunewire/cli.h"

const char *cli_state_name(uint32_t state)
{
    static const char *const names[] = {"empty", "stopped", "running"};
    return state < TW_COUNT(names) ? names[state] : "?";
}

json_t *cli_graph_json(const tunewire_v1_GraphInfo *g)
{
    json_t *o = json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:I, s:I, s:f, s:I, s:i}", "name", g->name, "state",
                          cli_state_name(g->state), "generation", (int)g->generation, "nodes", (int)g->nodes, "arcs",
                          (int)g->arcs, "scripts", (int)g->scripts, "crc", (json_int_t)g->crc, "tick",
                          (json_int_t)g->ticks, "load", g->load_permille / 1000.0, "block_ns", (json_int_t)g->block_ns,
                          "late_blocks", (int)g->late_blocks);
    if (o && g->can_roll_back) {
        (void)json_object_set_new(o, "can_roll_back", json_true());
    }
    if (o && g->confirm_ms) {
        (void)json_object_set_new(o, "confirm_ms", json_integer(g->confirm_ms));
    }
    if (o && g->reverts) {
        (void)json_object_set_new(o, "reverts",
                                  json_pack("{s:i, s:I, s:s}", "count", (int)g->reverts, "tick",
                                            (json_int_t)g->revert_tick, "why", g->revert_text));
    }
    if (o && g->has_last_error && g->last_error.code != tunewire_v1_Code_OK) {
        (void)json_object_set_new(o, "last_error", json_string(g->last_error.text));
    }
    return o;
}
