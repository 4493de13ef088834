/* graph_sys_npu.c - system call npu: networks run for scripts, by the backends that node_infer.c uses.
 *
 * Nothing waits: submit copies the input and hands the run over, later calls look whether it is done. Runs have memory
 * of their own, taken when the graph is loaded because one of its scripts names the call; input, output and arena of a
 * run lie there side by side until its result was taken, it is cancelled, or another run of the slot begins.
 */
#include "engine/graph/graph_sys_priv.h"

enum { NPU_SUBMIT = 1, NPU_POLL = 2, NPU_RESULT = 3, NPU_CANCEL = 4 };
enum { ALIGN = 16, SLOTS = 256 };
enum { CALL_NPU = 0x030A, CALL_IF_NPU = 0x038A };

typedef struct npu_call {
    int64_t op;
    uint32_t slot;
    const uint8_t *in;
    uint32_t in_bytes, want; /* of the window; r2: 0 as many as the model takes */
} npu_call_t;

/* ---- at load ---------------------------------------------------------------------------- */

static bool names_npu(const tw_script_t *s)
{
    for (uint32_t at = 0; at + 2 <= s->code_bytes; at += 2) {
        const uint16_t word = tw_get_le16(s->code + at);
        if (word == CALL_NPU || word == CALL_IF_NPU) {
            return true; /* a literal of these bits costs memory, nothing else */
        }
    }
    return false;
}

bool npu_take(tw_graph_t *g, tw_arena_t *arena, uint64_t *missing)
{
    bool named = false;
    for (uint32_t i = 0; i < g->n_scripts; i++) {
        named = named || names_npu(&g->scripts[i].boot);
    }
    if (!named || g->env.infer == NULL) {
        return true;
    }
    g->npu.bytes = g->env.npu_bytes != 0 ? g->env.npu_bytes : TW_SCRIPT_NPU_BYTES;
    g->npu.mem = tw_arena_take(arena, g->npu.bytes, ALIGN);
    *missing += g->npu.mem == NULL ? g->npu.bytes : 0;
    return g->npu.mem != NULL;
}

/* ---- runs ---------------------------------------------------------------------------------- */

static tw_npu_run_t *run_of(tw_graph_t *g, uint32_t slot)
{
    for (uint32_t i = 0; i < TW_SCRIPT_NPU_RUNS; i++) {
        if (g->npu.runs[i].state != TW_NPU_IDLE && g->npu.runs[i].slot == slot) {
            return &g->npu.runs[i];
        }
    }
    return NULL;
}

static void drop(tw_graph_t *g, tw_npu_run_t *run)
{
    if (run->state == TW_NPU_RUNNING) {
        g->env.infer->cancel(g->env.infer->ctx, run->handle);
    }
    run->state = TW_NPU_IDLE;
}

void npu_reset(tw_graph_t *g)
{
    for (uint32_t i = 0; i < TW_SCRIPT_NPU_RUNS; i++) {
        drop(g, &g->npu.runs[i]);
    }
}

static void look(const tw_graph_t *g, tw_npu_run_t *run)
{
    if (run->state == TW_NPU_RUNNING) {
        const tw_infer_state_t s = g->env.infer->poll(g->env.infer->ctx, run->handle);
        run->state = s == TW_INFER_RUNNING ? TW_NPU_RUNNING : s == TW_INFER_DONE ? TW_NPU_DONE : TW_NPU_FAILED;
    }
}

/* The first gap of that size between the runs there are. */
static bool place(const tw_graph_t *g, uint64_t bytes, uint32_t *at)
{
    uint64_t begin = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < TW_SCRIPT_NPU_RUNS; i++) {
            const tw_npu_run_t *run = &g->npu.runs[i];
            const bool meets = begin < (uint64_t)run->at + run->bytes && run->at < begin + bytes;
            if (run->state != TW_NPU_IDLE && meets) {
                begin = (uint64_t)run->at + run->bytes;
                moved = true;
            }
        }
    }
    *at = (uint32_t)begin;
    return begin + bytes <= g->npu.bytes;
}

static uint64_t tensors(const tw_infer_tensor_t *t, uint32_t n, uint64_t *in_a_row)
{
    uint64_t bytes = 0;
    *in_a_row = 0;
    for (uint32_t i = 0; i < n; i++) {
        bytes += tw_round_up(t[i].bytes, ALIGN);
        *in_a_row += t[i].bytes;
    }
    return bytes;
}

/* Tensors lie aligned in the run's memory and without gaps in the script's. */
static void lay_out(const tw_infer_model_t *m, const npu_call_t *k, uint8_t *mem, tw_infer_job_t *job)
{
    const uint8_t *in = k->in;
    for (uint32_t i = 0; i < m->n_in; i++) {
        memcpy(mem, in, m->in[i].bytes);
        job->in[i] = mem;
        in += m->in[i].bytes;
        mem += tw_round_up(m->in[i].bytes, ALIGN);
    }
    for (uint32_t i = 0; i < m->n_out; i++) {
        job->out[i] = mem;
        mem += tw_round_up(m->out[i].bytes, ALIGN);
    }
    job->arena = mem;
    job->arena_bytes = m->arena_bytes;
}

/* ---- operations ------------------------------------------------------------------------------- */

static tw_npu_run_t *free_run(tw_graph_t *g)
{
    for (uint32_t i = 0; i < TW_SCRIPT_NPU_RUNS; i++) {
        if (g->npu.runs[i].state == TW_NPU_IDLE) {
            return &g->npu.runs[i];
        }
    }
    return NULL;
}

/* Room for a run: what an older one of the slot left behind is given up. */
static tw_err_t make_room(tw_graph_t *g, uint32_t slot, uint64_t bytes, tw_npu_run_t **run, uint32_t *at)
{
    tw_npu_run_t *old = run_of(g, slot);
    if (old != NULL) {
        look(g, old);
        if (old->state == TW_NPU_RUNNING) {
            return TW_E_BUSY;
        }
        old->state = TW_NPU_IDLE;
    }
    *run = free_run(g);
    if (*run == NULL) {
        return TW_E_BUSY;
    }
    return place(g, bytes, at) ? TW_OK : TW_E_NOMEM;
}

static tw_err_t submit(tw_graph_t *g, const npu_call_t *k)
{
    const tw_infer_t *infer = g->env.infer;
    tw_infer_model_t m = {0};
    uint64_t in_bytes = 0, out_bytes = 0;
    if (infer->describe(infer->ctx, k->slot, &m) != TW_OK || m.n_in > TW_INFER_TENSORS || m.n_out > TW_INFER_TENSORS) {
        return TW_E_NOT_FOUND;
    }
    const uint64_t bytes =
        tensors(m.in, m.n_in, &in_bytes) + tensors(m.out, m.n_out, &out_bytes) + tw_round_up(m.arena_bytes, ALIGN);
    if (k->in == NULL) {
        return TW_E_SCR_BAD_PTR;
    }
    if (k->in_bytes < in_bytes || (k->want != 0 && k->want != in_bytes)) {
        return TW_E_PARAM_SIZE;
    }
    tw_npu_run_t *run;
    uint32_t at;
    TW_TRY(make_room(g, k->slot, bytes, &run, &at));
    tw_infer_job_t job = {.slot = k->slot};
    lay_out(&m, k, g->npu.mem + at, &job);
    TW_TRY(infer->start(infer->ctx, &job, &run->handle));
    *run = (tw_npu_run_t){.handle = run->handle,
                          .slot = (uint8_t)k->slot,
                          .state = TW_NPU_RUNNING,
                          .at = at,
                          .bytes = (uint32_t)bytes,
                          .n_out = m.n_out};
    for (uint32_t i = 0; i < m.n_out; i++) {
        run->out[i] = job.out[i];
        run->out_bytes[i] = m.out[i].bytes;
    }
    return TW_OK;
}

/* All outputs in a row. A window that is too short leaves the result where it is. */
static tw_err_t take_result(tw_npu_run_t *run, tw_answer_t *a, uint32_t room)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < run->n_out; i++) {
        bytes += run->out_bytes[i];
    }
    if (a->data == NULL || bytes > room) {
        return a->data == NULL ? TW_E_SCR_BAD_PTR : TW_E_PARAM_SIZE;
    }
    for (uint32_t i = 0; i < run->n_out; i++) {
        memcpy(a->data + a->bytes, run->out[i], run->out_bytes[i]);
        a->bytes += run->out_bytes[i];
    }
    a->result = a->bytes;
    run->state = TW_NPU_IDLE;
    return TW_OK;
}

static tw_err_t result(tw_npu_run_t *run, tw_answer_t *a, uint32_t room)
{
    switch ((tw_npu_state_t)run->state) {
    case TW_NPU_RUNNING:
        return TW_E_BUSY;
    case TW_NPU_DONE:
        return take_result(run, a, room);
    case TW_NPU_FAILED:
        run->state = TW_NPU_IDLE;
        return TW_E_INTERNAL;
    case TW_NPU_IDLE:
        break;
    }
    return TW_E_STATE;
}

static tw_err_t ask_npu(tw_graph_t *g, tw_answer_t *a, void *ctx)
{
    const npu_call_t *k = ctx;
    const uint32_t room = a->bytes;
    a->bytes = 0;
    if (g->env.infer == NULL) {
        return TW_E_UNSUPPORTED;
    }
    if (k->op == NPU_SUBMIT) {
        const tw_err_t err = submit(g, k);
        a->result = err == TW_OK ? TW_NPU_RUNNING : TW_NPU_IDLE;
        return err;
    }
    tw_npu_run_t *run = run_of(g, k->slot);
    if (run == NULL) {
        return k->op == NPU_POLL ? TW_OK : k->op == NPU_RESULT ? TW_E_STATE : TW_E_NOT_FOUND;
    }
    look(g, run);
    if (k->op == NPU_POLL) {
        a->result = run->state;
        return TW_OK;
    }
    if (k->op == NPU_CANCEL) {
        drop(g, run);
        return TW_OK;
    }
    return result(run, a, room);
}

uint32_t sys_npu(tw_graph_t *g, tw_script_ctx_t *s)
{
    npu_call_t k = {.op = tw_script_reg_int(s, 0), .slot = sys_below(tw_script_reg_int(s, 1), SLOTS)};
    k.want = sys_below(tw_script_reg_int(s, 2), UINT32_MAX);
    if (k.op < NPU_SUBMIT || k.op > NPU_CANCEL) {
        return sys_status(TW_E_ARG);
    }
    if (k.slot == UINT32_MAX || k.want == UINT32_MAX) {
        return sys_status(k.slot == UINT32_MAX ? TW_E_NOT_FOUND : TW_E_PARAM_SIZE);
    }
    tw_answer_t a = {.from = TW_FROM_NPU};
    if (k.op == NPU_SUBMIT) {
        k.in = tw_script_window(s, 0, &k.in_bytes, false);
    } else if (k.op == NPU_RESULT) {
        a.data = tw_script_window(s, 1, &a.bytes, true);
    }
    const uint32_t status = sys_outside(g, &a, ask_npu, &k);
    if (status == 0) {
        tw_script_set_int(s, 1, TW_T_U32, a.result);
    }
    return status;
}
