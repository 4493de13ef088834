/* graph_sys_priv.h - the system calls of scripts, one function each; shared by graph_syscall.c and graph_sys_*.c.
 *
 * Every function looks at its arguments as if they came from outside: a verified script may hold any number. It
 * returns the status the script finds in r0, 0 or the positive number of a tw_err_t, and puts results in r1.
 */
#pragma once
#include "engine/graph/graph_priv.h"

static inline uint32_t sys_status(tw_err_t err)
{
    return (uint32_t) - (int32_t)err;
}

/** A register as an index, or UINT32_MAX when it is not below `n`. */
static inline uint32_t sys_below(int64_t v, uint32_t n)
{
    return v >= 0 && v < (int64_t)n ? (uint32_t)v : UINT32_MAX;
}

/** Bytes r2 of the window of pointer `ptr`; r2 = 0 means all of it. NULL: there is none, or it is shorter. */
uint8_t *sys_buffer(const tw_script_ctx_t *s, unsigned ptr, uint32_t *bytes, bool for_write);
/** An event for the host. @return UNSUPPORTED when nobody listens */
uint32_t sys_tell(tw_graph_t *g, const tw_graph_event_t *ev);

/* graph_sys_flow.c: what the scheduler does for scripts */
uint32_t sys_sched(tw_graph_t *g, tw_script_ctx_t *s);
uint32_t sys_usecase(tw_graph_t *g, tw_script_ctx_t *s);
uint32_t sys_idle(tw_graph_t *g, tw_script_ctx_t *s);
/* graph_timer.c */
uint32_t sys_timer(tw_graph_t *g, tw_script_ctx_t *s);
/* graph_sys_signal.c: numbers about signals */
uint32_t sys_compute(tw_graph_t *g, tw_script_ctx_t *s);
uint32_t sys_level(tw_graph_t *g, tw_script_ctx_t *s);
uint32_t sys_dbgreg(tw_graph_t *g, tw_script_ctx_t *s);
/* graph_sys_out.c: what is outside the graph */
uint32_t sys_app(tw_graph_t *g, tw_script_ctx_t *s);
uint32_t sys_callapp(tw_graph_t *g, uint32_t k, tw_script_ctx_t *s);
uint32_t sys_gpio(tw_graph_t *g, tw_script_ctx_t *s);
uint32_t sys_low(tw_graph_t *g, tw_script_ctx_t *s);
uint32_t sys_io(tw_graph_t *g, tw_script_ctx_t *s);
/** Reach outside: what the recording of another run says happened, or what `now` makes happen; either is noted. */
uint32_t sys_outside(tw_graph_t *g, tw_answer_t *a, tw_err_t (*now)(tw_graph_t *g, tw_answer_t *a, void *ctx),
                     void *ctx);
/* graph_sys_npu.c */
uint32_t sys_npu(tw_graph_t *g, tw_script_ctx_t *s);
