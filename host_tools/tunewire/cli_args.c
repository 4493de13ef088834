/* cli_args.c - the command line against verbs.def and options.def. */
#include "host_tools/tunewire/cli.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

static const tw_verb_t verbs[] = {
#define ONLINE true
#define OFFLINE false
#define TW_VERB(name, function, target, min, max, args, summary, examples) \
    {name, function, target, min, max, args, summary, examples},
#include "host_tools/tunewire/verbs.def"
};

static const tw_option_t options[] = {
#define TW_OPTION(verb, name, letter, values, meta, text) {verb, name, letter, values, meta, text},
#include "host_tools/tunewire/options.def"
};

const tw_verb_t *cli_verbs(size_t *n)
{
    *n = TW_COUNT(verbs);
    return verbs;
}

const tw_option_t *cli_options(size_t *n)
{
    *n = TW_COUNT(options);
    return options;
}

const tw_verb_t *cli_find_verb(const char *const *words, int n, int *used)
{
    char both[64] = "";
    *used = 0;
    if (n >= 2) {
        (void)snprintf(both, sizeof both, "%.30s %.30s", words[0], words[1]);
    }
    for (size_t i = 0; i < TW_COUNT(verbs); i++) {
        const bool two = n >= 2 && strcmp(verbs[i].name, both) == 0;
        if (two || (n >= 1 && strcmp(verbs[i].name, words[0]) == 0)) {
            *used = two ? 2 : 1;
            return &verbs[i];
        }
    }
    return NULL;
}

/* ---- options ------------------------------------------------------------------- */

static bool belongs(const tw_option_t *o, const tw_verb_t *verb)
{
    return o->verb[0] == '\0' || (verb && strcmp(o->verb, verb->name) == 0);
}

static const tw_option_t *find_option(const char *name, size_t n, const tw_verb_t *verb)
{
    for (size_t i = 0; i < TW_COUNT(options); i++) {
        const tw_option_t *o = &options[i];
        const bool is_long = strlen(o->name) == n && memcmp(o->name, name, n) == 0;
        const bool is_short = n == 2 && name[0] == '-' && o->letter && name[1] == o->letter;
        if ((is_long || is_short) && belongs(o, verb)) {
            return o;
        }
    }
    return NULL;
}

/* "-6" and "-.5" are numbers; "-" is a file. */
static bool looks_like_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0' && !isdigit((unsigned char)word[1]) && word[1] != '.';
}

static bool unknown_option(tw_cli_t *cli, const char *word)
{
    const char *names[TW_COUNT(options)];
    size_t n = 0;
    for (size_t i = 0; i < TW_COUNT(options); i++) {
        if (belongs(&options[i], cli->verb)) {
            names[n++] = options[i].name;
        }
    }
    const char *near = cli_nearest(word, names, n);
    char hint[120];
    (void)snprintf(hint, sizeof hint, near ? "did you mean %s?" : "tunewire help %s lists what there is",
                   near        ? near
                   : cli->verb ? cli->verb->name
                               : "");
    (void)cli_fail(cli, CLI_USAGE, word, hint, "unknown option");
    return false;
}

/* Take the option at argv[*at] with its values; *at moves behind them. */
static bool take_option(tw_cli_t *cli, int argc, char *const *argv, int *at)
{
    const char *word = argv[(*at)++];
    const char *equals = word[1] == '-' ? strchr(word, '=') : NULL;
    const tw_option_t *o = find_option(word, equals ? (size_t)(equals - word) : strlen(word), cli->verb);
    if (!o) {
        return unknown_option(cli, word);
    }
    if (cli->n_given == CLI_GIVEN_MAX) {
        (void)cli_fail(cli, CLI_USAGE, word, "give fewer", "too many options");
        return false;
    }
    tw_given_t *g = &cli->given[cli->n_given++];
    *g = (tw_given_t){.option = o, .value = {"", ""}};
    if (equals && o->values != 1) {
        (void)cli_fail(cli, CLI_USAGE, word, "leave '=' out", "%s takes %d values", o->name, o->values);
        return false;
    }
    if (equals) {
        g->value[0] = equals + 1;
        return true;
    }
    for (int i = 0; i < o->values; i++) {
        if (*at >= argc || (looks_like_option(argv[*at]) && strcmp(argv[*at], "--") != 0)) {
            (void)cli_fail(cli, CLI_USAGE, word, "write it behind the option", "%s is missing", o->meta);
            return false;
        }
        g->value[i] = argv[(*at)++];
    }
    return true;
}

/* "arc" alone: the words that may follow it, or none. */
static void list_family(const char *word, char *out, size_t cap)
{
    const size_t len = strlen(word);
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < TW_COUNT(verbs); i++) {
        if (strncmp(verbs[i].name, word, len) == 0 && verbs[i].name[len] == ' ' && used + 24 < cap) {
            used += (size_t)snprintf(out + used, cap - used, "%s%s", used ? ", " : "write one of ",
                                     verbs[i].name + len + 1);
        }
    }
}

static bool unknown_verb(tw_cli_t *cli, char *const *words, int n)
{
    const char *names[TW_COUNT(verbs)];
    char hint[120], both[64];
    list_family(words[0], hint, sizeof hint);
    const bool family = hint[0] != '\0';
    for (size_t i = 0; i < TW_COUNT(verbs); i++) {
        names[i] = verbs[i].name;
    }
    (void)snprintf(both, sizeof both, family && n > 1 ? "%.30s %.30s" : "%.30s", words[0], n > 1 ? words[1] : "");
    const char *near = cli_nearest(both, names, TW_COUNT(names) - 2); /* the last two are not for people */
    if (near && !(family && n < 2)) {
        (void)snprintf(hint, sizeof hint, "did you mean '%s'?", near);
    } else if (!family) {
        (void)snprintf(hint, sizeof hint, "tunewire --help lists the verbs");
    }
    (void)cli_fail(cli, CLI_USAGE, both, hint, family && n < 2 ? "a second word is missing" : "unknown verb");
    return false;
}

static bool take_verb(tw_cli_t *cli, int argc, char *const *argv, int *at)
{
    const int left = argc - *at;
    int used;
    cli->verb = left > 0 ? cli_find_verb((const char *const *)argv + *at, left, &used) : NULL;
    if (!cli->verb) {
        return left > 0 ? unknown_verb(cli, argv + *at, left) : true;
    }
    *at += used;
    return true;
}

/* What follows __complete is another command line, not options of this one. */
static bool raw_arguments(const tw_cli_t *cli)
{
    return cli->verb && cli->verb->run == verb_complete;
}

bool cli_parse(tw_cli_t *cli, int argc, char *const *argv)
{
    int at = 1;
    bool only_words = false;
    while (at < argc && looks_like_option(argv[at])) {
        if (!take_option(cli, argc, argv, &at)) {
            return false;
        }
    }
    if (!take_verb(cli, argc, argv, &at)) {
        return false;
    }
    while (at < argc) {
        if (!only_words && strcmp(argv[at], "--") == 0) {
            only_words = true;
            at++;
        } else if (!only_words && !raw_arguments(cli) && looks_like_option(argv[at])) {
            if (!take_option(cli, argc, argv, &at)) {
                return false;
            }
        } else if (cli->n_args == CLI_ARGS_MAX) {
            (void)cli_fail(cli, CLI_USAGE, argv[at], "give fewer", "too many words");
            return false;
        } else {
            cli->args[cli->n_args++] = argv[at++];
        }
    }
    return true;
}

const char *cli_option(const tw_cli_t *cli, const char *name)
{
    for (int i = cli->n_given; i-- > 0;) {
        if (strcmp(cli->given[i].option->name, name) == 0) {
            return cli->given[i].value[0];
        }
    }
    return NULL;
}

unsigned cli_option_each(const tw_cli_t *cli, const char *name, const char **values, unsigned most)
{
    unsigned n = 0;
    for (int i = 0; i < cli->n_given && n < most; i++) {
        if (strcmp(cli->given[i].option->name, name) == 0) {
            values[n++] = cli->given[i].value[0];
        }
    }
    return n;
}

/* ---- numbers --------------------------------------------------------------------- */

bool cli_number(tw_cli_t *cli, const char *text, const char *what, double min, double max, double *out)
{
    char *end;
    *out = strtod(text, &end);
    if (end == text || *end != '\0' || !(*out >= min && *out <= max)) {
        char hint[80];
        (void)snprintf(hint, sizeof hint, "give a number from %g to %g", min, max);
        (void)cli_fail(cli, CLI_USAGE, text, hint, "%s not usable", what);
        return false;
    }
    return true;
}

bool cli_option_number(tw_cli_t *cli, const char *name, double min, double max, double dflt, double *out)
{
    const char *text = cli_option(cli, name);
    *out = dflt;
    return !text || cli_number(cli, text, name, min, max, out);
}
