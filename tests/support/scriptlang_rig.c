/* scriptlang_rig.c - see scriptlang_rig.h. */
#include "tests/support/scriptlang_rig.h"
#include "engine/base/formats.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { DB = 45, HZ = 9, MS = 68, SECOND = 4, PERCENT = 50, ANY = 0 };

static const tw_sl_param_t filter_params[] = {
    {"stages", 1, TW_RAW_U8, 48, 1, false, 1, 2},
    {"corner", 2, TW_RAW_FP32, HZ, 1, false, 20, 20000},
    {"biquad0", 3, TW_RAW_S16, ANY, 5, false, -32768, 32767},
};
static const tw_sl_param_t amplifier_params[] = {
    {"gain_db", 1, TW_RAW_FP32, DB, 1, false, -100, 20}, {"mute", 2, TW_RAW_U8, ANY, 1, false, 0, 1},
    {"ramp", 3, TW_RAW_FP32, SECOND, 1, false, 0, 10},   {"mix", 4, TW_RAW_FP32, PERCENT, 1, false, 0, 100},
    {"hold", 5, TW_RAW_U16, MS, 1, false, 0, 5000},      {"big", 6, TW_RAW_FP64, ANY, 1, false, -1e9, 1e9},
};
static const tw_sl_param_t detector_params[] = {
    {"threshold", 8, TW_RAW_U8, DB, 1, false, 1, 60},
    {"active", 19, TW_RAW_U8, ANY, 1, true, 0, 1},
    {"floor_db", 16, TW_RAW_FP32, DB, 1, true, -200, 1000},
};

static const char *name_of(void *ctx, tw_sl_kind_t kind, uint32_t i)
{
    static const char *const names[3][3] = {
        {"filter.0", "amplifier.0", "detector.0"}, {"mic", "out", "amp-out"}, {"main", "second", NULL}};
    (void)ctx;
    return names[kind][i];
}

static const tw_sl_param_t *params_of(void *ctx, uint32_t i, uint32_t *n)
{
    (void)ctx;
    switch (i) {
    case 0:
        *n = TW_COUNT(filter_params);
        return filter_params;
    case 1:
        *n = TW_COUNT(amplifier_params);
        return amplifier_params;
    default:
        *n = TW_COUNT(detector_params);
        return detector_params;
    }
}

const tw_sl_world_t sl_rig_world = {.n = {3, 3, 3}, .name = name_of, .params = params_of};

/* ---- the world ------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void note(sl_rig_t *r, const char *fmt, ...)
{
    const size_t n = strlen(r->log);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(r->log + n, sizeof r->log - n, fmt, args);
    va_end(args);
}

static double number_in(const tw_script_ctx_t *c, unsigned reg)
{
    return tw_script_reg_real(c, reg);
}

static void give_float(tw_script_ctx_t *c, double v)
{
    tw_script_set_real(c, 1, TW_T_FP32, v);
}

static const tw_sl_param_t *find_param(const sl_rig_t *r, uint32_t node, uint32_t tag)
{
    uint32_t n = 0;
    const tw_sl_world_t *w = r->opts.world;
    const tw_sl_param_t *p = w->params(w->ctx, node, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (p[i].tag == tag) {
            return &p[i];
        }
    }
    return NULL;
}

static double decode(uint32_t raw, const uint8_t *p)
{
    double d;
    uint64_t bits;
    switch (raw) {
    case TW_RAW_U8:
        return p[0];
    case TW_RAW_S16:
        return (int16_t)tw_get_le16(p);
    case TW_RAW_U16:
        return tw_get_le16(p);
    case TW_RAW_FP64:
        bits = tw_get_le64(p);
        memcpy(&d, &bits, sizeof d);
        return d;
    default:
        return (double)tw_get_f32(p);
    }
}

static uint32_t set_param(sl_rig_t *r, tw_script_ctx_t *c, uint32_t node)
{
    const tw_sl_param_t *p = find_param(r, node, (uint32_t)tw_script_reg_int(c, 0));
    uint32_t room;
    const uint8_t *w = tw_script_window(c, 0, &room, false);
    const uint32_t bytes = (uint32_t)tw_script_reg_int(c, 2);
    assert_non_null(p);
    assert_non_null(w);
    const uint32_t size = tw_raw_bits(p->raw) / 8;
    assert_int_equal(bytes, size * p->count);
    assert_true(room >= bytes);
    note(r, "set %u.%s", node, p->name);
    for (uint32_t i = 0; i < p->count; i++) {
        note(r, "%s%g", i == 0 ? "=" : ",", decode(p->raw, w + i * size));
    }
    note(r, "; ");
    r->param[node][p->tag] = decode(p->raw, w);
    return 0;
}

static uint32_t read_param(sl_rig_t *r, tw_script_ctx_t *c, uint32_t node)
{
    const tw_sl_param_t *p = find_param(r, node, (uint32_t)tw_script_reg_int(c, 0));
    uint32_t room;
    uint8_t *w = tw_script_window(c, 0, &room, true);
    assert_non_null(p);
    assert_non_null(w);
    const float f = (float)r->param[node][p->tag];
    if (p->raw == TW_RAW_FP32) {
        memcpy(w, &f, 4);
    } else if (p->raw == TW_RAW_FP64) {
        memcpy(w, &r->param[node][p->tag], 8);
    } else {
        w[0] = (uint8_t)r->param[node][p->tag];
        if (p->raw == TW_RAW_U16) {
            tw_put_le16(w, (uint16_t)r->param[node][p->tag]);
        }
    }
    return 0;
}

static uint32_t gpio(sl_rig_t *r, tw_script_ctx_t *c)
{
    const uint32_t pin = (uint32_t)tw_script_reg_int(c, 1) & 31;
    if (tw_script_reg_int(c, 0) == 0) {
        tw_script_set_int(c, 1, TW_T_U32, r->pins[pin]);
        return 0;
    }
    r->pins[pin] = (uint8_t)(tw_script_reg_int(c, 2) != 0);
    note(r, "gpio %u=%u; ", pin, r->pins[pin]);
    return 0;
}

static double element(const uint8_t *w, unsigned type, uint32_t i)
{
    switch (type) {
    case TW_T_FP32:
        return (double)tw_get_f32(w + 4 * i);
    case TW_T_I16:
        return (int16_t)tw_get_le16(w + 2 * i);
    default:
        return (int32_t)tw_get_le32(w + 4 * i);
    }
}

static uint32_t compute(tw_script_ctx_t *c)
{
    uint32_t n;
    double sum = 0;
    const uint8_t *w = tw_script_window(c, 0, &n, false), *v = tw_script_window(c, 1, &n, false);
    switch (tw_script_reg_int(c, 0)) {
    case 6: /* sum */
        for (uint32_t i = 0; i < (uint32_t)tw_script_reg_int(c, 2); i++) {
            sum += element(w, c->p[0].type, i);
        }
        tw_script_set_int(c, 1, TW_T_I64, (int64_t)sum);
        return 0;
    case 9: /* dot */
        for (uint32_t i = 0; i < (uint32_t)tw_script_reg_int(c, 2); i++) {
            sum += element(w, c->p[0].type, i) * element(v, c->p[1].type, i);
        }
        give_float(c, sum);
        return 0;
    case 34:
        give_float(c, 20 * log10(fabs(number_in(c, 1))));
        return 0;
    case 35:
        give_float(c, pow(10, number_in(c, 1) / 20));
        return 0;
    default:
        return 1;
    }
}

static uint32_t on_popped(sl_rig_t *r, uint32_t k, tw_script_ctx_t *c)
{
    int64_t id = 0;
    uint32_t n;
    assert_true(tw_script_pop_int(c, &id));
    switch (k) {
    case 32:
        return r->status != 0 ? r->status : read_param(r, c, (uint32_t)id);
    case 33:
        return set_param(r, c, (uint32_t)id);
    case 34: { /* a ramp of 16-bit numbers */
        uint8_t *w = tw_script_window(c, 0, &n, true);
        const uint32_t bytes = (uint32_t)tw_script_reg_int(c, 2);
        for (uint32_t i = 0; i < bytes / 2; i++) {
            tw_put_le16(w + 2 * i, (uint16_t)(i + 1));
        }
        note(r, "read %d %u; ", (int)id, bytes);
        tw_script_set_int(c, 1, TW_T_U32, bytes);
        return 0;
    }
    case 35:
        note(r, "write %d %d; ", (int)id, (int)tw_script_reg_int(c, 2));
        return 0;
    case 36:
        tw_script_set_int(c, 1, TW_T_U32, r->fill[id]);
        return 0;
    default:
        note(r, "call %u %d; ", k, (int)id);
        return 0;
    }
}

static uint32_t on_event(sl_rig_t *r, tw_script_ctx_t *c)
{
    uint32_t room = 0;
    const uint32_t bytes = (uint32_t)tw_script_reg_int(c, 2);
    const uint8_t *w = tw_script_window(c, 0, &room, false);
    note(r, "event %d %d", (int)tw_script_reg_int(c, 0), (int)tw_script_reg_int(c, 1));
    if (bytes > 0) {
        assert_true(room >= bytes);
        note(r, " \"%.*s\"", (int)bytes, (const char *)w);
    }
    note(r, "; ");
    return 0;
}

static uint32_t npu(sl_rig_t *r, tw_script_ctx_t *c)
{
    const int64_t op = tw_script_reg_int(c, 0);
    uint32_t room = 0;
    const uint8_t *in = tw_script_window(c, 0, &room, false);
    if (op == 1) {
        note(r, "submit %d", (int)tw_script_reg_int(c, 1));
        for (uint32_t i = 0; i < (uint32_t)tw_script_reg_int(c, 2); i++) {
            note(r, " %d", (int8_t)in[i]);
        }
        note(r, "; ");
        return 0;
    }
    if (op == 2) {
        tw_script_set_int(c, 1, TW_T_U32, r->npu_done);
        return 0;
    }
    uint8_t *out = tw_script_window(c, 1, &room, true);
    assert_int_equal(room, sizeof r->npu_result); /* no more than the array */
    if (!r->npu_done) {
        return 6;
    }
    memcpy(out, r->npu_result, sizeof r->npu_result);
    tw_script_set_int(c, 1, TW_T_U32, sizeof r->npu_result);
    note(r, "result; ");
    return 0;
}

static uint32_t on_syscall(void *ctx, uint32_t k, tw_script_ctx_t *c)
{
    sl_rig_t *r = ctx;
    const int64_t a = tw_script_reg_int(c, 0), b = tw_script_reg_int(c, 1), d = tw_script_reg_int(c, 2);
    if (k >= 32 && k <= 38) {
        return on_popped(r, k, c);
    }
    switch (k) {
    case 5:
        note(r, "%lld %g %g; ", (long long)a, number_in(c, 1), number_in(c, 2));
        return 0;
    case 6:
        return compute(c);
    case 9:
        tw_script_set_int(c, 1, TW_T_U64, (int64_t)(a == 1 ? r->tick : r->us));
        return 0;
    case 10:
        return npu(r, c);
    case 11:
        return on_event(r, c);
    case 14:
        return gpio(r, c);
    case 15:
        give_float(c, (double)r->level[b][a]);
        return 0;
    default:
        note(r, "call %u %lld %lld %lld; ", k, (long long)a, (long long)b, (long long)d);
        return 0;
    }
}

static uint32_t on_app(void *ctx, uint32_t k, tw_script_ctx_t *c)
{
    note(ctx, "app %u %lld; ", k, (long long)tw_script_reg_int(c, 0));
    return 0;
}

static const uint8_t ret_code[] = {0x00, 0xC0};
static const tw_script_t other = {.code = ret_code, .code_bytes = 2};

static const tw_script_t *on_script(void *ctx, uint32_t k)
{
    note(ctx, "run %u; ", k);
    return &other;
}

/* ---- compile and run --------------------------------------------------------------------------------- */

bool sl_rig_compile(sl_rig_t *r, const char *text)
{
    const bool ok = tw_script_compile(text, strlen(text), &r->opts, &r->out);
    const tw_sl_out_t *o = &r->out;
    memset(r->mem, 0, sizeof r->mem);
    memset(r->whole, 0, sizeof r->whole);
    memcpy(r->whole, o->code, o->code_bytes);
    memcpy(r->whole + tw_round_up(o->code_bytes, 4), o->pool, o->pool_bytes);
    r->script = (tw_script_t){.code = r->whole,
                              .code_bytes = o->code_bytes,
                              .pool_bytes = o->pool_bytes,
                              .regs = o->regs,
                              .ptrs = o->ptrs,
                              .stack = o->stack,
                              .mem = o->mem_bytes != 0 ? r->mem : NULL,
                              .mem_bytes = o->mem_bytes};
    return ok;
}

void sl_rig_call(sl_rig_t *r, int64_t phase, bool flag)
{
    const tw_script_host_t host = {.ctx = r, .syscall = on_syscall, .callapp = on_app, .script = on_script};
    uint64_t calls;
    tw_fault_t fault;
    r->log[0] = 0;
    tw_err_t err = tw_script_verify(&r->script, false, &calls, &fault);
    if (err != TW_OK) {
        fail_msg("%s at byte %u", tw_err_text(err), fault.at);
    }
    err = tw_script_run(&r->script, &host, &r->ctx, &phase, 1, flag, 20000);
    if (err != TW_OK) {
        fail_msg("%s at byte %u", tw_err_text(err), r->ctx.pc);
    }
    if (r->out.bounded && r->ctx.used > r->out.cost) {
        fail_msg("%u instructions, the compiler said %u", r->ctx.used, r->out.cost);
    }
}

const char *sl_rig_diags(const sl_rig_t *r)
{
    static char text[TW_SL_DIAGS_MAX * 240];
    text[0] = 0;
    for (unsigned i = 0; i < r->out.n_diags; i++) {
        const tw_sl_diag_t *d = &r->out.diags[i];
        const size_t n = strlen(text);
        (void)snprintf(text + n, sizeof text - n, "%u:%u: %s%s\n", d->line, d->col,
                       d->grade == TW_SL_NOTE ? "note: " : "", d->text);
    }
    return text;
}
