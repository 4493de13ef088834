/* engine_state.c - memory that outlives a loss of power is handed to the board now and then. Engine side.
 *
 * Every TW_STATE_PERIOD_S of block time, and when the graph stops or goes. The board takes a copy and returns; one
 * that has no room yet is asked again before the next block.
 */
#include "engine/engine_priv.h"
#include "engine/graph/graph_state.h"

bool state_take(tw_engine_t *e, slot_t *s, tw_arena_t *arena, tw_fault_t *fault)
{
    s->state_bytes = e->cfg.board->store != NULL ? tw_graph_state_bytes(&s->graph) : 0;
    s->state = s->state_bytes != 0 ? tw_arena_take(arena, s->state_bytes, 8) : NULL;
    s->state_blocks = 0;
    s->state_due = false;
    const bool taken = s->state_bytes == 0 || s->state != NULL;
    if (!taken) {
        *fault = (tw_fault_t){.err = TW_E_NOMEM, .at = s->state_bytes};
    }
    return taken;
}

static slot_t *current(tw_engine_t *e)
{
    return e->e.slot != NO_SLOT && e->slots[e->e.slot].state != NULL ? &e->slots[e->e.slot] : NULL;
}

bool tw_engine_save_state(tw_engine_t *e)
{
    slot_t *s = current(e);
    if (s == NULL) {
        return false;
    }
    const tw_board_t *b = e->cfg.board;
    tw_graph_state_save(&s->graph, ++e->e.states, s->state);
    s->state_due = !b->store(b->ctx, s->state, s->state_bytes);
    s->state_blocks = s->state_due ? s->state_blocks : 0;
    return !s->state_due;
}

void state_due(tw_engine_t *e)
{
    slot_t *s = current(e);
    if (s != NULL) {
        s->state_due = true;
    }
}

void state_look(tw_engine_t *e, bool ran)
{
    slot_t *s = current(e);
    if (s == NULL) {
        return;
    }
    s->state_blocks += ran;
    if (s->state_due || s->state_blocks * s->graph.period_s >= TW_STATE_PERIOD_S) {
        (void)tw_engine_save_state(e);
    }
}
