/* graph_sys_npu.c - system call npu. */
#include "engine/graph/graph_sys_priv.h"

uint32_t sys_npu(tw_graph_t *g, tw_script_ctx_t *s)
{
    (void)g, (void)s;
    return sys_status(TW_E_UNSUPPORTED);
}
