/* verb_set.c - tunewire set: assignments, all of them or none. */
#include "host_tools/tunewire/cli_set.h"
#include <ctype.h>
#include <stdlib.h>

enum { VALUE_MAX = 4096 };

/* One "NODE.PARAM=VALUE", understood. */
typedef struct assign {
    char name[80], text[VALUE_MAX];
    const tunewire_v1_NodeInfo *node;
    tunewire_v1_ParamDesc desc;
    uint8_t value[VALUE_MAX];
    uint32_t n;
} assign_t;

/* Parameter tables by node, fetched once. */
typedef struct tables {
    uint32_t node[64];
    tw_params_t params[64];
    unsigned n;
} tables_t;

static const tw_params_t *params_of(tw_cli_t *cli, tables_t *t, const tunewire_v1_NodeInfo *node)
{
    for (unsigned i = 0; i < t->n; i++) {
        if (t->node[i] == node->node) {
            return &t->params[i];
        }
    }
    if (t->n == TW_COUNT(t->params)) {
        (void)cli_fail(cli, CLI_USAGE, node->name, "set fewer nodes at once", "too many nodes");
        return NULL;
    }
    if (!tw_client_params(cli->c, node->node, &t->params[t->n])) {
        (void)cli_fail_client(cli, node->name);
        return NULL;
    }
    t->node[t->n] = node->node;
    return &t->params[t->n++];
}

/* "hex:0102.." */
static bool read_hex(const char *text, assign_t *a)
{
    const char *p = text + 4;
    unsigned byte;
    a->n = 0;
    if (strncmp(text, "hex:", 4) != 0 || strlen(p) % 2 || strlen(p) / 2 > sizeof a->value) {
        return false;
    }
    for (; *p; p += 2) {
        if (!isxdigit((unsigned char)p[0]) || !isxdigit((unsigned char)p[1]) || sscanf(p, "%2x", &byte) != 1) {
            return false;
        }
        a->value[a->n++] = (uint8_t)byte;
    }
    return a->n > 0;
}

static bool read_value(tw_cli_t *cli, assign_t *a)
{
    char why[160], hint[100];
    if (a->desc.index == TW_CLIENT_ALL) {
        return read_hex(a->text, a)
                   ? true
                   : (cli_fail(cli, CLI_USAGE, a->name, "write hex:0102..., as get prints it", "the block takes bytes"),
                      false);
    }
    if (tw_value_parse(&a->desc, a->text, a->value, sizeof a->value, &a->n, why, sizeof why)) {
        return true;
    }
    (void)snprintf(hint, sizeof hint, "tunewire params %s shows what it takes", a->node->name);
    (void)cli_fail(cli, CLI_USAGE, a->name, hint, "%s", why);
    return false;
}

static bool understand(tw_cli_t *cli, tables_t *t, const char *name, const char *text, assign_t *a)
{
    const char *param;
    a->node = cli_split_name(cli, name, &param);
    if (!a->node) {
        return false;
    }
    if (!param) {
        (void)cli_fail(cli, CLI_USAGE, name, "write NODE.PARAM=VALUE", "which parameter is missing");
        return false;
    }
    const tw_params_t *p = params_of(cli, t, a->node);
    const bool all = strcmp(param, "all") == 0;
    const tunewire_v1_ParamDesc *d = !p || all ? NULL : cli_find_param(cli, a->node, p, param);
    if (!p || (!all && !d)) {
        return false;
    }
    a->desc = (tunewire_v1_ParamDesc){.index = TW_CLIENT_ALL, .name = "all"};
    if (d) {
        a->desc = *d;
    }
    (void)snprintf(a->name, sizeof a->name, "%s.%s", a->node->name, a->desc.name);
    (void)snprintf(a->text, sizeof a->text, "%s", text);
    return read_value(cli, a);
}

/* "NODE PARAM VALUE..." as one assignment. */
static bool three_words(tw_cli_t *cli, tables_t *t, assign_t *a)
{
    char name[160], text[VALUE_MAX];
    size_t used = 0;
    (void)snprintf(name, sizeof name, "%.75s.%.75s", cli->args[0], cli->args[1]);
    text[0] = '\0';
    for (int i = 2; i < cli->n_args && used < sizeof text; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 2 ? " " : "", cli->args[i]);
    }
    return understand(cli, t, name, text, a);
}

static bool one_word(tw_cli_t *cli, tables_t *t, const char *word, assign_t *a)
{
    const char *equals = strchr(word, '=');
    char name[160];
    if (!equals) {
        (void)cli_fail(cli, CLI_USAGE, word, "write NODE.PARAM=VALUE, or NODE PARAM VALUE", "no value");
        return false;
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)(equals - word), word);
    return understand(cli, t, name, equals + 1, a);
}

static bool read_all(tw_cli_t *cli, assign_t *a, unsigned *n)
{
    tables_t *t = calloc(1, sizeof *t);
    bool ok = t != NULL;
    *n = 0;
    if (ok && cli->n_args >= 3 && !strchr(cli->args[0], '=')) {
        ok = three_words(cli, t, &a[(*n)++]);
    } else {
        for (int i = 0; i < cli->n_args && ok; i++) {
            ok = one_word(cli, t, cli->args[i], &a[(*n)++]);
        }
    }
    for (unsigned i = 0; t && i < t->n; i++) {
        free(t->params[i].rows);
    }
    free(t);
    return ok;
}

static int print_result(tw_cli_t *cli, const assign_t *a, unsigned n, uint64_t tick)
{
    json_t *list = cli->json ? json_array() : NULL;
    for (unsigned i = 0; i < n; i++) {
        if (list) {
            (void)json_array_append_new(list,
                                        json_pack("{s:s, s:s, s:o}", "node", a[i].node->name, "param", a[i].desc.name,
                                                  "value", cli_value_json(&a[i].desc, a[i].value, a[i].n)));
            continue;
        }
        char text[VALUE_MAX];
        tw_value_format(&a[i].desc, a[i].value, a[i].n, text, sizeof text);
        (void)fprintf(cli->out, "%s = %s (tick %llu)\n", a[i].name, text[0] ? text : a[i].text,
                      (unsigned long long)tick);
    }
    return list ? cli_json(cli, json_pack("{s:I, s:o}", "applied_tick", (json_int_t)tick, "set", list)) : CLI_OK;
}

static int send_all(tw_cli_t *cli, const assign_t *a, unsigned n, uint64_t at, uint32_t confirm_ms)
{
    tw_set_op_t *ops = calloc(n, sizeof *ops);
    tunewire_v1_TxnRep txn;
    uint32_t failed = n;
    if (!ops) {
        return cli_fail(cli, CLI_DEVICE, "set", "", "out of memory");
    }
    for (unsigned i = 0; i < n; i++) {
        ops[i] = (tw_set_op_t){a[i].node->node, a[i].desc.index, a[i].desc.type, a[i].n, a[i].value};
    }
    const bool ok = tw_client_set_many(cli->c, ops, n, at, confirm_ms, &txn, &failed);
    free(ops);
    if (!ok) {
        const tw_client_error_t *e = tw_client_error(cli->c);
        const bool refused = e->kind == TW_CLIENT_DEVICE && e->status != TW_ST_DEADLINE_EXCEEDED;
        return cli_fail_client(cli, failed < n ? a[failed].name : refused ? "nothing was set" : "--at");
    }
    if (confirm_ms > 0 && cli_wait_confirm(cli, a[0].name) != CLI_OK) {
        return cli->exit;
    }
    return print_result(cli, a, n, txn.applied_tick);
}

static int send_one(tw_cli_t *cli, const assign_t *a)
{
    tunewire_v1_ParamAck ack;
    if (!tw_client_set(cli->c, 0, a->node->node, a->desc.index, a->desc.type, a->value, a->n, &ack)) {
        return cli_fail_client(cli, a->name);
    }
    return print_result(cli, a, 1, ack.applied_tick);
}

bool cli_set_at(tw_cli_t *cli, uint64_t *tick)
{
    double n;
    tunewire_v1_GraphInfo g = {.ticks = 0};
    const char *text = cli_option(cli, "--at");
    const bool from_now = text && text[0] == '+';
    if (!cli_option_number(cli, "--at", 1, 9e15, 0, &n)) {
        return false;
    }
    if (from_now && !tw_client_graph_info(cli->c, &g)) {
        (void)cli_fail_client(cli, NULL);
        return false;
    }
    *tick = (uint64_t)n + g.ticks;
    return true;
}

int verb_set(tw_cli_t *cli)
{
    uint64_t at;
    uint32_t confirm_ms;
    unsigned n;
    if (cli_wants_filter(cli)) {
        return cli_set_filter(cli);
    }
    if (!cli_set_at(cli, &at) || !cli_confirm_ms(cli, &confirm_ms)) {
        return cli->exit;
    }
    assign_t *a = calloc((size_t)cli->n_args, sizeof *a);
    if (!a) {
        return cli_fail(cli, CLI_DEVICE, "set", "", "out of memory");
    }
    int code;
    if (!read_all(cli, a, &n)) {
        code = cli->exit;
    } else {
        code = n == 1 && at == 0 && confirm_ms == 0 ? send_one(cli, a) : send_all(cli, a, n, at, confirm_ms);
    }
    free(a);
    return code;
}
