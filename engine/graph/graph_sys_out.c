/* graph_sys_out.c - system calls that leave the graph: application, pins, the board, IOs.
 *
 * What comes back from there is told to the host (`answer`), so that a recording has it, and a replay hands it back
 * (`recall`) instead of asking. While a graph is being loaded nothing is reached: it is not the one that runs.
 */
#include "engine/graph/graph_sys_priv.h"

enum { EVENT_BYTES_MAX = 128 };
enum { GPIO_READ = 0, GPIO_WRITE = 1, GPIO_PORT = 2, PINS = 32 };
enum { IO_SET = 1, IO_START = 2, IO_STOP = 3, IO_WORDS = 3 };

uint32_t sys_outside(tw_graph_t *g, tw_answer_t *a, tw_err_t (*now)(tw_graph_t *g, tw_answer_t *a, void *ctx),
                     void *ctx)
{
    const tw_graph_host_t *h = &g->env.host;
    if (g->loading) {
        return sys_status(TW_E_STATE);
    }
    if (h->recall == NULL || !h->recall(h->ctx, a)) {
        a->status = sys_status(now(g, a, ctx));
    }
    if (h->answer != NULL) {
        h->answer(h->ctx, a);
    }
    return a->status;
}

/* ---- the application ------------------------------------------------------------------ */

static tw_app_fn function_of(const tw_apps_t *apps, uint32_t code)
{
    const tw_app_fn fn = apps != NULL && code < TW_APP_CODES ? apps->fn[code] : NULL;
    return fn != NULL || apps == NULL ? fn : apps->any;
}

/* Without a callback for the code it is an event for the host. */
static tw_err_t ask_app(tw_graph_t *g, tw_answer_t *a, void *ctx)
{
    tw_app_call_t *call = ctx;
    const tw_app_fn fn = function_of(g->env.apps, call->code);
    if (fn != NULL) {
        const tw_err_t err = fn(g->env.apps->ctx, call);
        a->result = call->result;
        a->bytes = call->out != NULL ? call->bytes : 0;
        return err;
    }
    const tw_graph_event_t ev = {.kind = TW_GEV_APP,
                                 .at = call->code,
                                 .value = call->value,
                                 .data = call->data,
                                 .bytes = tw_min_u32(call->bytes, EVENT_BYTES_MAX)};
    a->bytes = 0;
    return (tw_err_t)(-(int32_t)sys_tell(g, &ev));
}

static uint32_t app(tw_graph_t *g, uint32_t code, int64_t value, tw_script_ctx_t *s)
{
    tw_app_call_t call = {.code = code, .value = value};
    if (tw_script_reg_int(s, 2) != 0) {
        call.data = sys_buffer(s, 0, &call.bytes, false);
        if (call.data == NULL) {
            return sys_status(TW_E_SCR_BAD_PTR);
        }
        call.out = sys_buffer(s, 0, &call.bytes, true);
    }
    tw_answer_t a = {.from = TW_FROM_APP, .data = call.out, .bytes = call.out != NULL ? call.bytes : 0};
    const uint32_t status = sys_outside(g, &a, ask_app, &call);
    tw_script_set_int(s, 1, TW_T_I64, a.result);
    return status;
}

uint32_t sys_callapp(tw_graph_t *g, uint32_t k, tw_script_ctx_t *s)
{
    return app(g, k, tw_script_reg_int(s, 0), s);
}

uint32_t sys_app(tw_graph_t *g, tw_script_ctx_t *s)
{
    const uint32_t code = sys_below(tw_script_reg_int(s, 0), UINT32_MAX);
    return code == UINT32_MAX ? sys_status(TW_E_RANGE) : app(g, code, tw_script_reg_int(s, 1), s);
}

/* ---- pins ---------------------------------------------------------------------------------- */

typedef struct pin_call {
    int64_t op, pin, value;
} pin_call_t;

static tw_err_t ask_gpio(tw_graph_t *g, tw_answer_t *a, void *ctx)
{
    const pin_call_t *p = ctx;
    const tw_board_gpio_t *k = g->env.board->gpio;
    if (k == NULL) {
        return TW_E_UNSUPPORTED;
    }
    if (p->op == GPIO_PORT) {
        a->result = k->levels(k->ctx) & k->pins;
        return TW_OK;
    }
    if (p->pin < 0 || p->pin >= PINS || (k->pins >> p->pin & 1u) == 0) {
        return TW_E_RANGE;
    }
    const uint32_t pin = 1u << p->pin;
    if (p->op == GPIO_READ) {
        a->result = (k->levels(k->ctx) & pin) != 0;
        return TW_OK;
    }
    return (k->scripts & pin) == 0 ? TW_E_DENIED : k->write(k->ctx, pin, p->value != 0 ? pin : 0, true);
}

uint32_t sys_gpio(tw_graph_t *g, tw_script_ctx_t *s)
{
    pin_call_t p = {tw_script_reg_int(s, 0), tw_script_reg_int(s, 1), tw_script_reg_int(s, 2)};
    if (p.op < GPIO_READ || p.op > GPIO_PORT) {
        return sys_status(TW_E_ARG);
    }
    tw_answer_t a = {.from = TW_FROM_GPIO};
    const uint32_t status = sys_outside(g, &a, ask_gpio, &p);
    if (status == 0 && p.op != GPIO_WRITE) {
        tw_script_set_int(s, 1, TW_T_U32, a.result);
    }
    return status;
}

/* ---- what the board does for privileged scripts ----------------------------------------------- */

typedef struct low_call {
    uint32_t op;
    uint64_t address;
    int64_t value;
} low_call_t;

static tw_err_t ask_low(tw_graph_t *g, tw_answer_t *a, void *ctx)
{
    const low_call_t *k = ctx;
    const tw_board_t *b = g->env.board;
    a->result = k->value;
    return b->low != NULL ? b->low(b->ctx, k->op, k->address, &a->result) : TW_E_SCR_PRIV;
}

uint32_t sys_low(tw_graph_t *g, tw_script_ctx_t *s)
{
    low_call_t k = {0, (uint64_t)tw_script_reg_int(s, 1), tw_script_reg_int(s, 2)};
    k.op = sys_below(tw_script_reg_int(s, 0), UINT32_MAX);
    if (k.op == UINT32_MAX) {
        return sys_status(TW_E_RANGE);
    }
    tw_answer_t a = {.from = TW_FROM_LOW};
    const uint32_t status = sys_outside(g, &a, ask_low, &k);
    if (status == 0) {
        tw_script_set_int(s, 1, TW_T_I64, a.result);
    }
    return status;
}

/* ---- IOs -------------------------------------------------------------------------------------------- */

static tw_err_t ask_settings(const tw_graph_t *g, tw_graph_io_t *io, const tw_script_ctx_t *s)
{
    const tw_board_t *b = g->env.board;
    uint32_t bytes = 0, now[IO_WORDS], next[IO_WORDS];
    const uint8_t *p = tw_script_window(s, 0, &bytes, false);
    if (p == NULL || bytes < sizeof next) {
        return TW_E_SCR_BAD_PTR;
    }
    for (unsigned i = 0; i < IO_WORDS; i++) {
        now[i] = tw_gauge_get(&io->settings[i]);
        next[i] = tw_get_le32(p + 4 * i);
    }
    TW_TRY(b->io == NULL ? TW_E_UNSUPPORTED : TW_OK);
    TW_TRY(b->settings != NULL ? b->settings(b->ctx, io->hwid, now, next) : TW_OK);
    memcpy(io->asked, next, sizeof next);
    io->ask |= TW_IO_ASK_SET;
    return TW_OK;
}

/* Behind the block: a driver is told between two, and frames of this one are on their way. */
uint32_t sys_io(tw_graph_t *g, tw_script_ctx_t *s)
{
    const uint32_t io = sys_below(tw_script_reg_int(s, 1), g->n_ios);
    const int64_t op = tw_script_reg_int(s, 0);
    if (op < IO_SET || op > IO_STOP) {
        return sys_status(TW_E_ARG);
    }
    if (io == UINT32_MAX || g->loading) {
        return sys_status(g->loading ? TW_E_STATE : TW_E_NOT_FOUND);
    }
    tw_graph_io_t *k = &g->ios[io];
    const tw_err_t err = op == IO_SET ? ask_settings(g, k, s) : TW_OK;
    if (op != IO_SET) {
        k->ask &= (uint8_t) ~(TW_IO_ASK_START | TW_IO_ASK_STOP);
        k->ask |= op == IO_START ? TW_IO_ASK_START : TW_IO_ASK_STOP;
    }
    g->asks.ios = g->asks.ios || err == TW_OK;
    return sys_status(err);
}

/* A driver that refuses after all is an event; the old settings stay. */
static void take_ask(tw_graph_t *g, uint32_t i)
{
    tw_graph_io_t *io = &g->ios[i];
    const tw_err_t err = (io->ask & TW_IO_ASK_SET) != 0 ? tw_graph_set_io(g, i, io->asked) : TW_OK;
    if (err != TW_OK) {
        flow_event(g, TW_GEV_IO, io->hwid, 0, err);
    }
    if ((io->ask & TW_IO_ASK_STOP) != 0 && !io->halted) {
        io->halted = true;
        driver_halt(g, io);
    }
    io->halted = io->halted && (io->ask & TW_IO_ASK_START) == 0;
    io->ask = 0;
}

void io_take_asks(tw_graph_t *g)
{
    for (uint32_t i = 0; i < g->n_ios; i++) {
        if (g->ios[i].ask != 0) {
            take_ask(g, i);
        }
    }
}
