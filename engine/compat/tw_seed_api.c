/* tw_seed_api.c - the seeds' entry points. Decides nothing: each command is one call of the graph core. */
#include "engine/compat/tw_seed_api.h"

/* Acknowledgements name an IO and no instance. */
static arm_stream_instance_t *loaded;

static void forget(const arm_stream_instance_t *x)
{
    for (arm_stream_instance_t **p = &loaded; *p != NULL; p = &(*p)->next) {
        if (*p == x) {
            *p = x->next;
            return;
        }
    }
}

static tw_err_t load(arm_stream_instance_t *x)
{
    tw_arena_t arena = {x->memory, x->memory_bytes, 0};
    TW_TRY(tw_graph_check(x->graph, x->graph_bytes, x->env->board, &arena, &x->fault));
    TW_TRY(tw_graph_load(&x->g, x->graph, x->env, &arena, &x->fault));
    if (x->env->board->adopt != NULL) {
        x->env->board->adopt(x->env->board->ctx);
    }
    x->tick = 0;
    x->loaded = true;
    x->next = loaded;
    loaded = x;
    return TW_OK;
}

static tw_err_t reset(arm_stream_instance_t *x, bool warm)
{
    x->goes_on = false;
    if (!x->loaded) {
        return load(x);
    }
    tw_graph_reset(&x->g, warm);
    return TW_OK;
}

static tw_err_t stop(arm_stream_instance_t *x)
{
    forget(x);
    tw_graph_stop(&x->g);
    x->loaded = false;
    return TW_OK;
}

static tw_err_t set_parameter(arm_stream_instance_t *x, uint32_t tag, const uint8_t *data, uint32_t size)
{
    const uint32_t node = tw_get_le32(data), bytes = size - 4;
    if (node >= x->g.n_nodes) {
        return TW_E_PARAM_NODE;
    }
    const tw_graph_node_t *n = &x->g.nodes[node];
    TW_TRY(tw_param_check(n->desc, n->fmt, tag, 0, data + 4, bytes, &x->fault));
    return tw_graph_set_param(&x->g, node, tag, data + 4, bytes);
}

static tw_err_t read_parameter(arm_stream_instance_t *x, uint32_t tag, uint8_t *data, uint32_t size)
{
    const uint32_t node = tw_get_le32(data);
    if (node >= x->g.n_nodes) {
        return TW_E_PARAM_NODE;
    }
    x->bytes = size - 4;
    return tw_graph_get_param(&x->g, node, tag, data + 4, &x->bytes);
}

static tw_err_t run(arm_stream_instance_t *x, uint32_t how)
{
    if (how > TW_RUN_STARVED) {
        return TW_E_ARG;
    }
    if (!x->goes_on) {
        tw_graph_begin(&x->g, x->tick++);
    }
    x->goes_on = tw_graph_run(&x->g, (tw_run_how_t)how);
    return TW_OK;
}

static tw_err_t fifo_status(const arm_stream_instance_t *x, uint8_t *data, uint32_t size)
{
    if (size < 8 * x->g.n_ios) {
        return TW_E_ARG;
    }
    for (uint32_t i = 0; i < x->g.n_ios; i++) {
        tw_put_le32(data + 8 * i, tw_arc_fill(x->g.ios[i].arc));
        tw_put_le32(data + 8 * i + 4, tw_arc_free(x->g.ios[i].arc));
    }
    return TW_OK;
}

/* A load that is taken back tells exactly; one that fails, by how much at least it is short. */
static tw_err_t memreq(arm_stream_instance_t *x, uint8_t *data)
{
    tw_arena_t arena = {x->memory, x->memory_bytes, 0};
    TW_TRY(tw_graph_check(x->graph, x->graph_bytes, x->env->board, &arena, &x->fault));
    const tw_err_t err = tw_graph_load(&x->g, x->graph, x->env, &arena, &x->fault);
    tw_put_le32(data, err == TW_OK ? (uint32_t)arena.used : x->memory_bytes + x->fault.at);
    if (err == TW_OK) {
        tw_graph_stop(&x->g);
    }
    return err;
}

static tw_err_t obey(arm_stream_instance_t *x, uint32_t command, uint8_t *data, uint32_t size)
{
    const uint32_t verb = tw_bits(command, TW_CMD_COMMAND), tag = tw_bits(command, TW_CMD_TAG);
    if (verb == STREAM_RESET) {
        return reset(x, tw_bits(command, TW_CMD_WARM) != 0);
    }
    if (verb == STREAM_MEMREQ) {
        return data == NULL || size < 4 ? TW_E_ARG : x->loaded ? TW_E_STATE : memreq(x, data);
    }
    if (!x->loaded) {
        return TW_E_STATE;
    }
    switch (verb) {
    case STREAM_SET_PARAMETER:
        return data == NULL || size < 4 ? TW_E_ARG : set_parameter(x, tag, data, size);
    case STREAM_READ_PARAMETER:
        return data == NULL || size < 4 ? TW_E_ARG : read_parameter(x, tag, data, size);
    case STREAM_RUN:
        return run(x, data != NULL && size != 0 ? data[0] : 0);
    case STREAM_STOP:
        return stop(x);
    case STREAM_FIFO_STATUS:
        return data == NULL ? TW_E_ARG : fifo_status(x, data, size);
    default:
        return TW_E_ARG;
    }
}

void arm_graph_interpreter(uint32_t command, arm_stream_instance_t *instance, uint8_t *data, uint32_t size)
{
    instance->fault = (tw_fault_t){0};
    instance->bytes = 0;
    instance->err = obey(instance, command, data, size);
}

void arm_graph_interpreter_io_ack(uint8_t fw_io_idx, uint8_t *data, uint32_t size)
{
    arm_stream_io(fw_io_idx, data, size);
}

void arm_stream(uint32_t command, PTR_INT ptr1, PTR_INT ptr2, PTR_INT ptr3)
{
    arm_graph_interpreter(command, (arm_stream_instance_t *)ptr1, (uint8_t *)ptr2, (uint32_t)ptr3);
}

void arm_stream_io(uint32_t fw_io_idx, void *data, uint32_t length)
{
    for (arm_stream_instance_t *x = loaded; x != NULL; x = x->next) {
        for (uint32_t i = 0; i < x->g.n_ios; i++) {
            if (x->g.ios[i].hwid == fw_io_idx) {
                (void)tw_graph_io_ack(&x->g, i, data, length);
                return;
            }
        }
    }
}
