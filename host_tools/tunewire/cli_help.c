/* cli_help.c - help and the reference of docs/CLI.md, both from the tables. */
#include "host_tools/tunewire/cli.h"

static bool hidden(const tw_verb_t *v)
{
    return v->summary[0] == '\0';
}

/* "  -t, --target URI   text" */
static void print_options(FILE *f, const char *verb)
{
    size_t n;
    const tw_option_t *o = cli_options(&n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(o[i].verb, verb) == 0) {
            char left[40], letter[5] = "";
            if (o[i].letter) {
                (void)snprintf(letter, sizeof letter, "-%c, ", o[i].letter);
            }
            (void)snprintf(left, sizeof left, "%s%s %s", letter, o[i].name, o[i].meta);
            (void)fprintf(f, "  %-22s %s\n", left, o[i].text);
        }
    }
}

static bool has_options(const char *verb)
{
    size_t n;
    const tw_option_t *o = cli_options(&n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(o[i].verb, verb) == 0) {
            return true;
        }
    }
    return false;
}

static void print_examples(FILE *f, const tw_verb_t *v, const char *indent)
{
    for (const char *at = v->examples; at && *at;) {
        const char *nl = strchr(at, '\n');
        (void)fprintf(f, "%stunewire %.*s\n", indent, nl ? (int)(nl - at) : (int)strlen(at), at);
        at = nl ? nl + 1 : NULL;
    }
}

static void print_verb(FILE *f, const tw_verb_t *v)
{
    (void)fprintf(f, "usage: tunewire [-t URI] [--json] %s%s%s%s\n\n%s\n", v->name, v->args[0] ? " " : "", v->args,
                  has_options(v->name) ? " [OPTION]..." : "", v->summary);
    if (has_options(v->name)) {
        (void)fprintf(f, "\noptions:\n");
        print_options(f, v->name);
    }
    (void)fprintf(f, "\nexamples:\n");
    print_examples(f, v, "  ");
}

static void print_all(FILE *f)
{
    size_t n;
    const tw_verb_t *v = cli_verbs(&n);
    (void)fprintf(f, "usage: tunewire [-t URI] [--json] [--key FILE] [--timeout MS] VERB [ARGUMENT]...\n\nverbs:\n");
    for (size_t i = 0; i < n; i++) {
        if (!hidden(&v[i])) {
            char left[48];
            (void)snprintf(left, sizeof left, "%s %s", v[i].name, v[i].args);
            (void)fprintf(f, "  %-27s %s\n", left, v[i].summary);
        }
    }
    (void)fprintf(f, "\noptions:\n");
    print_options(f, "");
    (void)fprintf(f, "\ntunewire help VERB explains one and gives examples.\n");
}

void cli_print_help(FILE *f, const tw_verb_t *verb)
{
    if (verb && !hidden(verb)) {
        print_verb(f, verb);
    } else {
        print_all(f);
    }
}

int verb_help(tw_cli_t *cli)
{
    int used = 0;
    const tw_verb_t *v = cli_find_verb(cli->args, cli->n_args, &used);
    if (cli->n_args > used) {
        return cli_fail(cli, CLI_USAGE, cli->args[used], "tunewire help lists the verbs", "unknown verb");
    }
    cli_print_help(cli->out, v);
    return CLI_OK;
}

/* The reference part of docs/CLI.md; a test holds the two together. */
int verb_docs(tw_cli_t *cli)
{
    size_t n, n_options;
    const tw_verb_t *v = cli_verbs(&n);
    const tw_option_t *o = cli_options(&n_options);
    for (size_t i = 0; i < n; i++) {
        if (hidden(&v[i])) {
            continue;
        }
        (void)fprintf(cli->out, "### tunewire %s%s%s\n\n%c%s.\n\n", v[i].name, v[i].args[0] ? " " : "", v[i].args,
                      v[i].summary[0] - ('a' <= v[i].summary[0] && v[i].summary[0] <= 'z' ? 32 : 0), v[i].summary + 1);
        for (size_t k = 0; k < n_options; k++) {
            if (strcmp(o[k].verb, v[i].name) == 0) {
                const char letter[] = {'-', o[k].letter, '`', ',', ' ', '`', '\0'};
                (void)fprintf(cli->out, "* `%s%s%s%s` %s\n", o[k].letter != 0 ? letter : "", o[k].name,
                              o[k].meta[0] ? " " : "", o[k].meta, o[k].text);
            }
        }
        (void)fprintf(cli->out, "%s```\n", has_options(v[i].name) ? "\n" : "");
        print_examples(cli->out, &v[i], "");
        (void)fprintf(cli->out, "```\n\n");
    }
    return CLI_OK;
}
