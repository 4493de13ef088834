/* set_filter.c - tunewire set NODE --lowpass F: a filter designed, quantised and set whole. */
#include "engine/base/formats.h"
#include "host_tools/tunewire/cli_set.h"
#include <math.h>
#include <stdlib.h>

#define BUTTERWORTH_Q 0.70710678118654752
#define ERROR_WARN 0.02   /* about 0.2 dB at the top of the response */
#define ERROR_REFUSE 0.12 /* about 1 dB: not the filter asked for */
enum { NOT_IN_ALL = 4, COEFS = 5 };

static const struct {
    const char *option;
    tw_biquad_kind_t kind;
} designs[] = {
    {"--lowpass", TW_BQ_LOWPASS}, {"--highpass", TW_BQ_HIGHPASS}, {"--bandpass", TW_BQ_BANDPASS},
    {"--notch", TW_BQ_NOTCH},     {"--peak", TW_BQ_PEAK},         {"--bypass", TW_BQ_BYPASS},
};

static int design_of(const tw_given_t *g)
{
    for (size_t i = 0; i < TW_COUNT(designs); i++) {
        if (strcmp(g->option->name, designs[i].option) == 0) {
            return (int)i;
        }
    }
    return -1;
}

bool cli_wants_filter(const tw_cli_t *cli)
{
    for (int i = 0; i < cli->n_given; i++) {
        if (design_of(&cli->given[i]) >= 0) {
            return true;
        }
    }
    return false;
}

/* "1000", "1kHz", "-6 dB" */
static bool number_in(tw_cli_t *cli, const char *text, const char *unit, double *out)
{
    char *end;
    *out = strtod(text, &end);
    while (*end == ' ') {
        end++;
    }
    if (end == text || !isfinite(*out) || (*end && !tw_unit_convert(*out, end, unit, out))) {
        char hint[60];
        (void)snprintf(hint, sizeof hint, "give a number in %s", unit);
        (void)cli_fail(cli, CLI_USAGE, text, hint, "not a number");
        return false;
    }
    return true;
}

/* The --q given after this design and before the next one. */
static bool q_for(tw_cli_t *cli, int design, double *q)
{
    *q = BUTTERWORTH_Q;
    for (int i = design + 1; i < cli->n_given && design_of(&cli->given[i]) < 0; i++) {
        if (strcmp(cli->given[i].option->name, "--q") == 0) {
            return cli_number(cli, cli->given[i].value[0], "--q", 0.01, 1000, q);
        }
    }
    return true;
}

static bool design_one(tw_cli_t *cli, int i, tw_biquad_kind_t kind, double rate, tw_biquad_t *out)
{
    const tw_given_t *g = &cli->given[i];
    double f = 0, q = BUTTERWORTH_Q, gain = 0;
    if (kind != TW_BQ_BYPASS && (!number_in(cli, g->value[0], "Hz", &f) || !q_for(cli, i, &q))) {
        return false;
    }
    if (kind == TW_BQ_PEAK && !number_in(cli, g->value[1], "dB", &gain)) {
        return false;
    }
    if (!tw_biquad_design(kind, f, rate, q, gain, out)) {
        char hint[80];
        (void)snprintf(hint, sizeof hint, "choose a frequency between 0 and %g Hz, half the rate", rate / 2);
        (void)cli_fail(cli, CLI_USAGE, g->value[0], hint, "no such filter");
        return false;
    }
    return true;
}

bool cli_design(tw_cli_t *cli, double rate_hz, tw_cascade_t *out)
{
    *out = (tw_cascade_t){0};
    for (int i = 0; i < cli->n_given; i++) {
        const int d = design_of(&cli->given[i]);
        if (d < 0) {
            continue;
        }
        if (out->n == SET_STAGES_MAX) {
            (void)cli_fail(cli, CLI_USAGE, cli->given[i].option->name, "ask for fewer", "too many stages");
            return false;
        }
        if (!design_one(cli, i, designs[d].kind, rate_hz, &out->stage[out->n])) {
            return false;
        }
        out->n++;
    }
    return true;
}

/* ---- the block -------------------------------------------------------------------- */

typedef struct layout {
    const tunewire_v1_ParamDesc *stages, *shift, *first; /* first set of coefficients */
    unsigned most;                                       /* sets of coefficients there are */
} layout_t;

static bool is_coefs(const tunewire_v1_ParamDesc *p)
{
    return p->count == COEFS && (p->type == TW_RAW_S16 || p->type == TW_RAW_Q15 || p->type == TW_RAW_FP32);
}

/* What a filter looks like from outside; anything else in the block and we do not know it. */
static bool find_layout(const tw_params_t *params, layout_t *l)
{
    *l = (layout_t){0};
    for (uint32_t i = 0; i < params->n; i++) {
        const tunewire_v1_ParamDesc *p = &params->rows[i];
        if (p->flags & NOT_IN_ALL) {
            continue;
        }
        if (strcmp(p->name, "stages") == 0) {
            l->stages = p;
        } else if (strcmp(p->name, "post_shift") == 0) {
            l->shift = p;
        } else if (is_coefs(p)) {
            l->first = l->first ? l->first : p;
            l->most++;
        } else {
            return false;
        }
    }
    return l->stages && l->shift && l->first;
}

static bool add_stage(tw_bytes_t *block, const layout_t *l, const tw_biquad_t *s, const int16_t q15[COEFS])
{
    const double c[COEFS] = {s->b0, s->b1, s->b2, s->a1, s->a2};
    uint8_t bytes[COEFS * 4];
    const uint32_t size = tw_raw_bits(l->first->type) / 8;
    for (unsigned i = 0; i < COEFS; i++) {
        (void)tw_raw_write(l->first->type, size == 2 ? q15[i] : c[i], bytes + i * size);
    }
    return tw_bytes_add(block, bytes, COEFS * size);
}

/* 16 bits must still make the filter that was asked for, and a stable one. */
static bool quantise(tw_cli_t *cli, const char *node, const layout_t *l, const tw_cascade_t *c, int16_t (*q15)[COEFS],
                     int *shift, double *error)
{
    tw_biquad_t back[SET_STAGES_MAX];
    bool stable = true;
    if (!tw_biquad_quantise(c->stage, l->most, (int)l->shift->max, q15, shift)) {
        (void)cli_fail(cli, CLI_USAGE, node, "ask for less gain, or use a float stream",
                       "coefficients too large for 16 bits");
        return false;
    }
    for (unsigned i = 0; i < l->most; i++) {
        back[i] = tw_biquad_from_q15(q15[i], *shift);
        stable = stable && tw_biquad_radius(&back[i]) < 1;
    }
    *error = tw_biquad_distance(c->stage, back, l->most);
    if (!stable || *error > ERROR_REFUSE) {
        (void)cli_fail(cli, CLI_USAGE, node, "use a higher frequency or lower q, or a float stream",
                       "16-bit coefficients are too coarse for this filter");
        return false;
    }
    return true;
}

bool cli_filter_block(tw_cli_t *cli, const char *node, const tw_params_t *params, const tw_cascade_t *cascade,
                      tw_bytes_t *block, double *error)
{
    layout_t l;
    int16_t q15[SET_STAGES_MAX][COEFS] = {{0}};
    int shift = 0;
    *block = (tw_bytes_t){0};
    *error = 0;
    if (!find_layout(params, &l) || l.most > SET_STAGES_MAX) {
        (void)cli_fail(cli, CLI_USAGE, node, "name a filter node (tunewire nodes)", "not a filter");
        return false;
    }
    if (cascade->n > l.most || cascade->n > l.stages->max) {
        (void)cli_fail(cli, CLI_USAGE, node, "ask for fewer", "%u stages asked for, %u there", cascade->n, l.most);
        return false;
    }
    tw_cascade_t all = *cascade;
    for (unsigned i = all.n; i < l.most; i++) {
        all.stage[i] = (tw_biquad_t){.b0 = 1};
    }
    const bool narrow = l.first->type != TW_RAW_FP32;
    if (narrow && !quantise(cli, node, &l, &all, q15, &shift, error)) {
        return false;
    }
    bool ok = true;
    unsigned stage = 0;
    for (uint32_t i = 0; i < params->n && ok; i++) {
        const tunewire_v1_ParamDesc *p = &params->rows[i];
        const uint8_t one = p == l.stages ? (uint8_t)cascade->n : (uint8_t)shift;
        if (p == l.stages || p == l.shift) {
            ok = tw_bytes_add(block, &one, 1);
        } else if (!(p->flags & NOT_IN_ALL)) {
            ok = add_stage(block, &l, &all.stage[stage], q15[stage]);
            stage++;
        }
    }
    return ok;
}

/* ---- the verb ------------------------------------------------------------------------ */

/* Rate of the stream the node works on: its first receive arc, else its first transmit arc. */
static bool stream_rate(tw_cli_t *cli, const tunewire_v1_NodeInfo *node, double *rate)
{
    if (cli_option(cli, "--rate")) {
        return cli_option_number(cli, "--rate", 1e-3, 1e9, 0, rate);
    }
    if (!cli_arcs(cli)) {
        return false;
    }
    const uint32_t arc = node->in_arcs_count ? node->in_arcs[0] : node->out_arcs_count ? node->out_arcs[0] : UINT32_MAX;
    *rate = 0;
    for (uint32_t i = 0; i < cli->arcs.n; i++) {
        if (cli->arcs.rows[i].arc == arc) {
            *rate = (double)cli->arcs.rows[i].rate;
        }
    }
    if (!(*rate > 0)) {
        (void)cli_fail(cli, CLI_USAGE, node->name, "say it: --rate HZ", "the stream has no sampling rate");
        return false;
    }
    return true;
}

static int send_block(tw_cli_t *cli, const tunewire_v1_NodeInfo *node, const tw_bytes_t *block, double rate,
                      unsigned stages, double error)
{
    uint64_t at, tick;
    uint32_t confirm_ms;
    tunewire_v1_ParamAck ack;
    tunewire_v1_TxnRep txn;
    if (!cli_set_at(cli, &at) || !cli_confirm_ms(cli, &confirm_ms)) {
        return cli->exit;
    }
    const tw_set_op_t op = {node->node, TW_CLIENT_ALL, 0, (uint32_t)block->n, block->data};
    const bool many = at > 0 || confirm_ms > 0;
    const bool ok = many ? tw_client_set_many(cli->c, &op, 1, at, confirm_ms, &txn, NULL)
                         : tw_client_set(cli->c, 0, op.node, op.index, op.type, op.value, op.n, &ack);
    if (!ok) {
        return cli_fail_client(cli, node->name);
    }
    tick = many ? txn.applied_tick : ack.applied_tick;
    if (confirm_ms > 0 && cli_wait_confirm(cli, node->name) != CLI_OK) {
        return cli->exit;
    }
    if (cli->json) {
        return cli_json(cli, json_pack("{s:s, s:i, s:i, s:f, s:f, s:I}", "node", node->name, "stages", (int)stages,
                                       "post_shift", (int)(int8_t)block->data[1], "rate", rate, "error", error,
                                       "applied_tick", (json_int_t)tick));
    }
    (void)fprintf(cli->out, "%s: %u stage%s at %g Hz", node->name, stages, stages == 1 ? "" : "s", rate);
    if (error > 0) {
        (void)fprintf(cli->out, ", post_shift %d, response within %.2f dB", (int8_t)block->data[1],
                      20 * log10(1 + error));
    }
    (void)fprintf(cli->out, " (tick %llu)\n", (unsigned long long)tick);
    if (error > ERROR_WARN) {
        (void)fprintf(cli->err,
                      "tunewire: warning: 16-bit coefficients bend this response: %s: a float stream "
                      "would not\n",
                      node->name);
    }
    return CLI_OK;
}

int cli_set_filter(tw_cli_t *cli)
{
    double rate, error;
    tw_cascade_t cascade;
    tw_params_t params;
    tw_bytes_t block;
    if (cli->n_args != 1) {
        return cli_fail(cli, CLI_USAGE, cli->args[1], "usage: tunewire set NODE --lowpass F",
                        "a filter design takes one node");
    }
    const tunewire_v1_NodeInfo *node = cli_find_node(cli, cli->args[0]);
    if (!node || !stream_rate(cli, node, &rate) || !cli_design(cli, rate, &cascade)) {
        return cli->exit;
    }
    if (!tw_client_params(cli->c, node->node, &params)) {
        return cli_fail_client(cli, node->name);
    }
    const bool ok = cli_filter_block(cli, node->name, &params, &cascade, &block, &error);
    const int code = ok ? send_block(cli, node, &block, rate, cascade.n, error) : cli->exit;
    free(block.data);
    free(params.rows);
    return code;
}
