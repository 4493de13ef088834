/* node_script.c - a script as a node: every RUN is one call of it.
 *
 * What the script does reaches arcs and parameters by system calls; the node's one arc is a lock that
 * never carries data.
 */
#include "engine/node/kernels.h"
#include "engine/node/node_priv.h"

typedef struct script_node {
    const tw_services_t *svc;
    uint32_t script;
} script_node_t;

enum { PHASE_RESET = 0, PHASE_RUN = 1 };

static uint32_t reset(script_node_t *s, const tw_node_reset_t *r, uint32_t cmd)
{
    if (tw_bits(cmd, TW_CMD_PRESET) != 0) {
        return tw_node_error(TW_E_PARAM_PRESET);
    }
    if (r->mem_bytes[0] < sizeof *s) {
        return tw_node_error(TW_E_IMG_MEM);
    }
    if (r->svc == NULL || r->svc->run_script == NULL) {
        return tw_node_error(TW_E_IMG_SERVICE);
    }
    if (r->script < 0) {
        return tw_node_error(TW_E_IMG_SCRIPT);
    }
    *s = (script_node_t){r->svc, (uint32_t)r->script};
    return s->svc->run_script(s->svc->ctx, s->script, PHASE_RESET);
}

static uint32_t script(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    script_node_t *s = inst;
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return reset(s, data[0].ptr, cmd);
    case TW_CMD_RUN:
        *state = TW_NODE_DONE;
        data[0].bytes = 0;
        return s->svc->run_script(s->svc->ctx, s->script, PHASE_RUN);
    case TW_CMD_SET_PARAMETER:
    case TW_CMD_READ_PARAMETER:
        return tw_node_error(TW_E_PARAM_INDEX);
    case TW_CMD_STOP:
        return 0;
    default:
        return tw_node_error(TW_E_UNSUPPORTED);
    }
}

const tw_node_desc_t tw_node_script = {
    .developer = "ARM",
    .name = "arm_stream_script",
    .hash = 0x4AB81175u,
    .version = 1u << 8,
    .tx_min = 1,
    .tx_max = 1,
    .raw_mask = ((uint64_t)1 << TW_RAW_COUNT) - 1, /* the lock's format does not matter */
    .services = TW_SVC_SCRIPT,
    .n_mem = 1,
    .mem = {{.a = sizeof(script_node_t), .align = 8}},
    .run = script,
    .presets = 1,
};
