/* verb_complete.c - tunewire __complete LINE: what may stand at the end of LINE, one word a line.
 *
 * The shells' scripts call it. Names come from the device the line itself points to; when it does not
 * answer at once there are simply none. Never says anything else.
 */
#include "host_tools/tunewire/cli.h"
#include <stdlib.h>

enum { WORDS_MAX = 128, PATIENCE_MS = 500 };

typedef struct line {
    char *text;
    const char *words[WORDS_MAX]; /* before the one being written, program name left out */
    int n;
    const char *now; /* the one being written, "" when a blank ends the line */
    const tw_verb_t *verb;
    int at;            /* arguments of the verb before `now` */
    const char *first; /* first argument */
    const char *target;
} line_t;

static void offer(tw_cli_t *cli, const line_t *l, const char *word)
{
    if (strncmp(word, l->now, strlen(l->now)) == 0) {
        (void)fprintf(cli->out, "%s\n", word);
    }
}

static void split(line_t *l, const char *text)
{
    char *save = NULL;
    const size_t n = strlen(text);
    l->text = strdup(text);
    l->now = "";
    for (char *w = l->text ? strtok_r(l->text, " \t", &save) : NULL; w && l->n < WORDS_MAX;
         w = strtok_r(NULL, " \t", &save)) {
        l->words[l->n++] = w;
    }
    if (l->n && n && text[n - 1] != ' ' && text[n - 1] != '\t') {
        l->now = l->words[--l->n];
    }
    if (l->n) { /* the program's own name */
        l->n--;
        memmove(l->words, l->words + 1, (size_t)l->n * sizeof l->words[0]);
    }
}

static const tw_option_t *option_of(const char *word, const tw_verb_t *verb)
{
    size_t n;
    const tw_option_t *o = cli_options(&n);
    for (size_t i = 0; i < n; i++) {
        const bool letter = o[i].letter && word[1] == o[i].letter && !word[2];
        const bool named = letter || strcmp(o[i].name, word) == 0;
        if (named && (!o[i].verb[0] || (verb && strcmp(o[i].verb, verb->name) == 0))) {
            return &o[i];
        }
    }
    return NULL;
}

/* Verb, its arguments so far and the target. @return the option whose value is being written, or NULL */
static const tw_option_t *understand(line_t *l)
{
    for (int i = 0; i < l->n; i++) {
        const char *w = l->words[i];
        const tw_option_t *o = w[0] == '-' ? option_of(w, l->verb) : NULL;
        int used;
        if (o) {
            if (i + o->values >= l->n && o->values) {
                return o;
            }
            l->target = strcmp(o->name, "--target") == 0 ? l->words[i + 1] : l->target;
            i += o->values;
        } else if (!l->verb) {
            l->verb = cli_find_verb(l->words + i, l->n - i, &used);
            if (!l->verb) {
                l->first = w;
                l->at = 1;
                return NULL;
            }
            i += used - 1;
        } else {
            l->first = l->at++ ? l->first : w;
        }
    }
    return NULL;
}

/* ---- what the tables know ---------------------------------------------------------- */

static void offer_verbs(tw_cli_t *cli, const line_t *l)
{
    size_t n;
    const tw_verb_t *v = cli_verbs(&n);
    const char *last = "";
    for (size_t i = 0; i < n; i++) {
        const char *blank = strchr(v[i].name, ' ');
        char word[32];
        if (!v[i].summary[0]) {
            continue;
        }
        if (l->at == 0) {
            (void)snprintf(word, sizeof word, "%.*s", blank ? (int)(blank - v[i].name) : (int)strlen(v[i].name),
                           v[i].name);
            if (!blank || strncmp(last, v[i].name, (size_t)(blank - v[i].name)) != 0) {
                offer(cli, l, word);
            }
        } else if (blank && strncmp(v[i].name, l->first, (size_t)(blank - v[i].name)) == 0 &&
                   l->first[blank - v[i].name] == '\0') {
            offer(cli, l, blank + 1);
        }
        last = v[i].name;
    }
}

static void offer_options(tw_cli_t *cli, const line_t *l)
{
    size_t n;
    const tw_option_t *o = cli_options(&n);
    for (size_t i = 0; i < n; i++) {
        if (!o[i].verb[0] || (l->verb && strcmp(o[i].verb, l->verb->name) == 0)) {
            offer(cli, l, o[i].name);
        }
    }
}

static void offer_choices(tw_cli_t *cli, const line_t *l, const char *choices)
{
    char text[80], *save = NULL;
    (void)snprintf(text, sizeof text, "%s", choices);
    for (const char *w = strtok_r(text, "|", &save); w; w = strtok_r(NULL, "|", &save)) {
        offer(cli, l, w);
    }
}

static void offer_values(tw_cli_t *cli, const line_t *l, const tw_option_t *o)
{
    if (strcmp(o->name, "--mode") == 0 && strcmp(l->verb->name, "probe") == 0) {
        offer_choices(cli, l, "single|repeat|auto");
    } else if (strcmp(o->name, "--points") == 0) {
        offer_choices(cli, l, "raw|minmax|rms");
    } else if (strcmp(o->name, "--trigger") == 0) {
        offer_choices(cli, l, "now|level>|level<|enter:|leave:|flow|empty|full|tick:|script:");
    } else if (strcmp(o->name, "--mode") == 0) {
        offer_choices(cli, l, "raw|minmax|rms");
    } else if (strcmp(o->name, "--level") == 0) {
        offer_choices(cli, l, "error|warn|info|debug");
    }
}

/* ---- what the device knows ------------------------------------------------------------ */

static bool connect_quietly(tw_cli_t *cli, const line_t *l)
{
    bool ok = false;
    if (!cli->c) {
        const tw_client_cfg_t cfg = {.uri = l->target, .timeout_ms = PATIENCE_MS, .stop = cli->stop};
        cli->c = tw_client_open(&cfg, &ok);
    }
    return ok;
}

static void offer_nodes(tw_cli_t *cli, const line_t *l)
{
    if (connect_quietly(cli, l)) {
        cli->have_nodes = tw_client_nodes(cli->c, &cli->nodes);
    }
    for (uint32_t i = 0; i < cli->nodes.n; i++) {
        offer(cli, l, cli->nodes.rows[i].name);
    }
}

static void offer_arcs(tw_cli_t *cli, const line_t *l)
{
    if (connect_quietly(cli, l)) {
        cli->have_arcs = tw_client_arcs(cli->c, &cli->arcs);
    }
    for (uint32_t i = 0; i < cli->arcs.n; i++) {
        offer(cli, l, cli->arcs.rows[i].name);
    }
}

static void offer_ios(tw_cli_t *cli, const line_t *l)
{
    tw_ios_t ios = {0};
    if (connect_quietly(cli, l)) {
        (void)tw_client_ios(cli->c, &ios);
    }
    for (uint32_t i = 0; i < ios.n; i++) {
        offer(cli, l, cli_io_name(&ios.rows[i]));
    }
    free(ios.rows);
}

static void offer_scripts(tw_cli_t *cli, const line_t *l)
{
    tw_scripts_t s = {0};
    char number[12];
    if (connect_quietly(cli, l)) {
        (void)tw_client_scripts(cli->c, &s);
    }
    for (uint32_t i = 0; i < s.n; i++) {
        (void)snprintf(number, sizeof number, "%u", s.rows[i].index);
        offer(cli, l, number);
    }
    free(s.rows);
}

static void offer_params_of(tw_cli_t *cli, const line_t *l, const tunewire_v1_NodeInfo *node, const char *end)
{
    tw_params_t p;
    if (!tw_client_params(cli->c, node->node, &p)) {
        return;
    }
    for (uint32_t i = 0; i < p.n; i++) {
        char word[100];
        (void)snprintf(word, sizeof word, "%s.%s%s", node->name, p.rows[i].name, end);
        offer(cli, l, word);
    }
    free(p.rows);
}

/* Nodes first; parameters once the dot after a node's name is there. */
static void offer_params(tw_cli_t *cli, const line_t *l, const char *end)
{
    if (!connect_quietly(cli, l) || !tw_client_nodes(cli->c, &cli->nodes)) {
        return;
    }
    for (uint32_t i = 0; i < cli->nodes.n; i++) {
        const tunewire_v1_NodeInfo *node = &cli->nodes.rows[i];
        const size_t n = strlen(node->name);
        char word[64];
        if (strncmp(l->now, node->name, n) == 0 && l->now[n] == '.') {
            offer_params_of(cli, l, node, end);
        } else {
            (void)snprintf(word, sizeof word, "%s.", node->name);
            offer(cli, l, word);
        }
    }
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void offer_arguments(tw_cli_t *cli, const line_t *l)
{
    const char *args = l->verb->args;
    const bool more = strstr(args, "...") != NULL;
    if (l->at > 0 && !more) {
        return;
    }
    if (starts(args, "NODE.PARAM=")) {
        offer_params(cli, l, "=");
    } else if (starts(args, "NODE[.PARAM]")) {
        offer_params(cli, l, "");
    } else if (starts(args, "NODE") || starts(args, "[NODE]")) {
        offer_nodes(cli, l);
    } else if (starts(args, "[IO ")) {
        offer_ios(cli, l);
    } else if (starts(args, "ARC")) {
        offer_arcs(cli, l);
    } else if (starts(l->verb->name, "script") && (starts(args, "N") || starts(args, "[N]"))) {
        offer_scripts(cli, l);
    } else if (starts(args, "[VERB]")) {
        offer_verbs(cli, l);
    } else if (strchr(args, '|')) {
        offer_choices(cli, l, args);
    }
}

int verb_complete(tw_cli_t *cli)
{
    line_t l = {.now = "", .first = ""};
    cli->json = false;
    split(&l, cli->n_args ? cli->args[0] : "");
    const tw_option_t *value_of = understand(&l);
    if (value_of) {
        offer_values(cli, &l, value_of);
    } else if (l.now[0] == '-') {
        offer_options(cli, &l);
    } else if (!l.verb) {
        offer_verbs(cli, &l);
    } else {
        offer_arguments(cli, &l);
    }
    free(l.text);
    return CLI_OK;
}
