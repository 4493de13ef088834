#include "tests/support/script_rig.h"
#include "host_tools/scriptasm/scriptasm.h"
#include <stdio.h>
#include <stdlib.h>

static void on_event(void *ctx, const tw_graph_event_t *ev)
{
    script_rig_t *r = ctx;
    if (r->n_events < SCRIPT_RIG_EVENTS) {
        script_rig_event_t *e = &r->events[r->n_events++];
        e->ev = *ev;
        if (ev->bytes != 0) {
            memcpy(e->data, ev->data, tw_min_u32(ev->bytes, sizeof e->data));
        }
        e->ev.data = e->data;
    }
}

static void on_answer(void *ctx, const tw_answer_t *a)
{
    script_rig_t *r = ctx;
    if (r->n_answers < SCRIPT_RIG_EVENTS) {
        r->answers[r->n_answers++] = *a;
    }
}

static uint32_t gpio_levels(void *ctx)
{
    return ((script_rig_t *)ctx)->levels;
}

static uint32_t gpio_outputs(void *ctx)
{
    return ((script_rig_t *)ctx)->outputs;
}

static tw_err_t gpio_write(void *ctx, uint32_t mask, uint32_t levels, bool by_script)
{
    script_rig_t *r = ctx;
    if (r->gpio_fails != TW_OK || !by_script) {
        return r->gpio_fails != TW_OK ? r->gpio_fails : TW_E_INTERNAL;
    }
    r->levels = (r->levels & ~mask) | (levels & mask);
    r->outputs |= mask;
    return TW_OK;
}

void script_rig_open(script_rig_t *r)
{
    const tw_infer_t *infer = r->infer;
    memset(r, 0, sizeof *r);
    r->infer = infer;
    rig_board(&r->rig);
    r->gpio = (tw_board_gpio_t){.ctx = r,
                                .pins = 0x000000FFu,
                                .scripts = 0x0000000Fu,
                                .hosts = 0x000000FFu,
                                .levels = gpio_levels,
                                .outputs = gpio_outputs,
                                .write = gpio_write};
    r->rig.board.gpio = &r->gpio;
    tw_ib_t *b = &r->ib;
    tw_ib_init(b);
    const uint32_t f = tw_ib_format(b, TW_RAW_S16, 1, RIG_SAMPLES, 16000.0f);
    const uint32_t u8 = tw_ib_format(b, TW_RAW_U8, 1, 8, 0);
    const uint16_t lock = (uint16_t)tw_ib_arc(b, 0, 0, 0, 0, u8, u8, 8);
    const uint16_t in = (uint16_t)tw_ib_arc(b, TW_IB_IO, 0, 1, 0, f, f, 2 * RIG_FRAME);
    const uint16_t mid = (uint16_t)tw_ib_arc(b, 1, 1, 2, 0, f, f, 2 * RIG_FRAME);
    const uint16_t out = (uint16_t)tw_ib_arc(b, 2, 1, TW_IB_IO, 0, f, f, 2 * RIG_FRAME);
    tw_ib_io(b, 0, false, in, f);
    tw_ib_io(b, 4, true, out, f);
    tw_ib_node(b, rig_type("ARM/arm_stream_script"), 0, 1, (uint16_t[]){(uint16_t)(lock | 1u << 15 | 1u << 12)});
    tw_ib_node(b, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){in, mid});
    tw_ib_node(b, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){mid, out});
}

uint32_t script_rig_add(script_rig_t *r, const char *text)
{
    static tw_asm_out_t out;
    static uint16_t words[1024];
    if (!tw_asm(text, strlen(text), &out) || out.pool_bytes != 0) {
        fprintf(stderr, "%s\nline %u: %s\n", text, out.diags[0].line, out.diags[0].text);
        abort();
    }
    for (uint32_t i = 0; i < out.code_bytes / 2; i++) {
        words[i] = tw_get_le16(out.code + 2 * i);
    }
    const uint32_t script = tw_ib_script(&r->ib, words, out.code_bytes / 2, 6, 6, 8);
    tw_ib_script_memory(&r->ib, script, false);
    tw_ib_script_units(&r->ib, script, SCRIPT_RIG_MEMORY / 64);
    return script;
}

tw_err_t script_rig_load(script_rig_t *r, tw_fault_t *fault)
{
    tw_ib_node_script(&r->ib, 0, r->own);
    const uint32_t n = tw_ib_finish(&r->ib, r->img, sizeof r->img);
    r->arena = (tw_arena_t){r->memory, sizeof r->memory, 0};
    const tw_graph_env_t env = {.port = &r->rig.port,
                                .board = &r->rig.board,
                                .host = {.ctx = r, .event = on_event, .answer = on_answer},
                                .infer = r->infer,
                                .apps = &r->apps};
    TW_TRY(tw_graph_check(r->img, n, &r->rig.board, &r->arena, fault));
    return tw_graph_load(&r->graph, r->img, &env, &r->arena, fault);
}

void script_rig_start(script_rig_t *r, const char *const *texts)
{
    tw_fault_t fault = {0};
    script_rig_open(r);
    for (; *texts != NULL; texts++) {
        (void)script_rig_add(r, *texts);
    }
    if (script_rig_load(r, &fault) != TW_OK) {
        fprintf(stderr, "%s in section %u at %u\n", tw_err_name(fault.err), (unsigned)fault.section,
                (unsigned)fault.at);
        abort();
    }
}

void script_rig_blocks(script_rig_t *r, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        tw_graph_block(&r->graph, r->tick++);
    }
}

const tw_script_ctx_t *script_rig_run(script_rig_t *r, uint32_t script, const int64_t *args, unsigned n)
{
    const tw_script_ctx_t *c = NULL;
    return tw_graph_run_script(&r->graph, script, args, n, true, 0, &c) == TW_OK ? c : NULL;
}

uint8_t *script_rig_memory(script_rig_t *r, uint32_t script)
{
    return r->graph.scripts[script].code.mem;
}

uint32_t script_rig_count(const script_rig_t *r, uint16_t kind, const script_rig_event_t **last)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_events; i++) {
        if (r->events[i].ev.kind == kind) {
            n++;
            if (last != NULL) {
                *last = &r->events[i];
            }
        }
    }
    return n;
}
