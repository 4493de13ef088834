/* cli.h - what the verbs of `tunewire` share: the command line, the device, what is printed.
 *
 * A verb is one function in verb_<name>.c and one row in verbs.def. It prints results on stdout (one JSON
 * document with --json) and reasons on stderr, and returns an exit code. Nothing here knows a socket or a
 * frame; that is host_tools/client.
 */
#pragma once
#include "host_tools/client/client.h"
#include "host_tools/client/value_text.h"
#include <jansson.h>
#include <stdio.h>

/* Exit codes; documented in docs/CLI.md. */
enum {
    CLI_OK = 0,
    CLI_DEVICE = 1, /* the device, or the way to it, failed after connecting */
    CLI_USAGE = 2,
    CLI_CONNECT = 3,
    CLI_INPUT = 4, /* a file given cannot be read, compiled or written */
    CLI_STOPPED = 130,
};

typedef struct tw_cli tw_cli_t;

typedef struct tw_verb {
    const char *name;
    int (*run)(tw_cli_t *cli);
    bool online;
    int min, max;
    const char *args, *summary, *examples;
} tw_verb_t;

typedef struct tw_option {
    const char *verb, *name;
    char letter;
    int values;
    const char *meta, *text;
} tw_option_t;

/* An option as given, in order. */
typedef struct tw_given {
    const tw_option_t *option;
    const char *value[2];
} tw_given_t;

enum { CLI_GIVEN_MAX = 64, CLI_ARGS_MAX = 512 };

struct tw_cli {
    FILE *out, *err;
    bool json, colour, err_colour, err_tty, out_tty;
    const volatile sig_atomic_t *stop;
    const tw_verb_t *verb;
    const char *args[CLI_ARGS_MAX];
    int n_args;
    tw_given_t given[CLI_GIVEN_MAX];
    int n_given;
    int exit;            /* of the last cli_fail() */
    json_t *diagnostics; /* with --json: what cli_diags() printed, for the document to come; or NULL */

    tw_client_t *c;
    bool have_nodes, have_arcs;
    tw_nodes_t nodes;
    tw_arcs_t arcs;
};

#define TW_VERB(name, function, target, min, max, args, summary, examples) int function(tw_cli_t *cli);
#include "host_tools/tunewire/verbs.def"

/* ---- cli_main.c ------------------------------------------------------------------ */
/** The whole program but its signal handler. @return exit code */
int tw_cli_main(int argc, char *const *argv, FILE *out, FILE *err, const volatile sig_atomic_t *stop);
/** Connect as the options say. @return false after printing why; cli->exit is set */
bool cli_connect(tw_cli_t *cli);
bool cli_stopped(const tw_cli_t *cli);

/* ---- cli_args.c ------------------------------------------------------------------- */
const tw_verb_t *cli_verbs(size_t *n);
const tw_option_t *cli_options(size_t *n);
/** Verb by one or two words; *used = how many. NULL when there is none. */
const tw_verb_t *cli_find_verb(const char *const *words, int n, int *used);
/** @return false after printing why (usage) */
bool cli_parse(tw_cli_t *cli, int argc, char *const *argv);
/** First value of an option as given last, "" when it takes none, NULL when it was not given. */
const char *cli_option(const tw_cli_t *cli, const char *name);
/** Values of an option that may be given more than once, in order. @return their number, at most `most` */
unsigned cli_option_each(const tw_cli_t *cli, const char *name, const char **values, unsigned most);
/** A number from text, whole or not, in [min, max]; else a usage error naming `what`. */
bool cli_number(tw_cli_t *cli, const char *text, const char *what, double min, double max, double *out);
/** As cli_number() of an option; `dflt` when not given. */
bool cli_option_number(tw_cli_t *cli, const char *name, double min, double max, double dflt, double *out);

/* ---- cli_help.c --------------------------------------------------------------------- */
void cli_print_help(FILE *f, const tw_verb_t *verb /* NULL: all */);

/* ---- cli_out.c ------------------------------------------------------------------------ */
/** --confirm TIME ("10s", "500ms", "2m"; a plain number is seconds) [ms], 0 without it. @return false after printing
 * why */
bool cli_confirm_ms(tw_cli_t *cli, uint32_t *ms);
/** Stay connected until what `where` changed is confirmed. @return CLI_OK, or why it went back (cli->exit) */
int cli_wait_confirm(tw_cli_t *cli, const char *where);

/** "tunewire: what: where: what to do" on stderr, an error object on stdout with --json. @return code */
int cli_fail(tw_cli_t *cli, int code, const char *where, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/** The client's last error; `where` = what we were about, NULL: the device. */
int cli_fail_client(tw_cli_t *cli, const char *where);
/** Print a JSON document and release it. @return CLI_OK */
int cli_json(tw_cli_t *cli, json_t *doc);
/** One JSON line, flushed, and release it. */
void cli_json_line(tw_cli_t *cli, json_t *doc);
/** JSON number or array of a parameter's value. */
json_t *cli_value_json(const tunewire_v1_ParamDesc *d, const uint8_t *value, uint32_t n);
/** SGR sequence when stdout is a terminal, else "". */
const char *cli_sgr(const tw_cli_t *cli, const char *code);
/** A progress bar on stderr when that is a terminal; a tw_progress_fn with ctx = cli. */
void cli_progress(void *ctx, uint64_t done, uint64_t total);

/* Columns as wide as their widest cell. */
typedef struct tw_table {
    char *cells; /* NUL-separated */
    size_t used, cap;
    unsigned columns, n; /* n cells; the first row is the heading */
    uint32_t right;      /* bit per column: numbers, aligned right */
} tw_table_t;
void cli_cell(tw_table_t *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Print and free. */
void cli_print_table(tw_cli_t *cli, tw_table_t *t);

/* ---- cli_names.c -------------------------------------------------------------------------- */
/** Lists, read once. @return false after printing why */
bool cli_nodes(tw_cli_t *cli);
bool cli_arcs(tw_cli_t *cli);
/** By name or index; usage error with the nearest name otherwise. */
const tunewire_v1_NodeInfo *cli_find_node(tw_cli_t *cli, const char *name);
const tunewire_v1_ArcInfo *cli_find_arc(tw_cli_t *cli, const char *name);
/** By name or index among `p`. */
const tunewire_v1_ParamDesc *cli_find_param(tw_cli_t *cli, const tunewire_v1_NodeInfo *node, const tw_params_t *p,
                                            const char *name);
/** "NODE.PARAM" or "NODE": node names may hold dots. *param = NULL when there is none. */
const tunewire_v1_NodeInfo *cli_split_name(tw_cli_t *cli, const char *text, const char **param);
/** The name nearest to `text`, or NULL when none is near. */
const char *cli_nearest(const char *text, const char *const *names, size_t n);

/** verb_io.c: the name people type, without the prefix all have. */
const char *cli_io_name(const tunewire_v1_IoInfo *io);

/* ---- cli_file.c ------------------------------------------------------------------------------ */
/** Whole file. @return false after printing why (CLI_INPUT) */
bool cli_read_file(tw_cli_t *cli, const char *path, tw_bytes_t *out);
/** Write a whole file or leave the old one as it was. */
bool cli_write_file(tw_cli_t *cli, const char *path, const void *data, size_t n);
bool cli_has_suffix(const char *path, const char *suffix);
/** `path` with its suffix replaced; "-" stays. */
void cli_with_suffix(const char *path, const char *suffix, char *out, size_t cap);

/* ---- cli_diags.c ---------------------------------------------------------------------------------- */
struct tw_diags;
struct tw_text_source;
/** Diagnostics on stderr; a count at the end when there are warnings only. `src` NULL: the texts' own files. */
void cli_diags(tw_cli_t *cli, const struct tw_diags *d, const struct tw_text_source *src);
/** The same for a text that was refused: CLI_INPUT, with their number. @return CLI_INPUT */
int cli_fail_diags(tw_cli_t *cli, const char *path, const struct tw_diags *d, const struct tw_text_source *src);
/** `doc` with "diagnostics", when there are any to tell. */
json_t *cli_with_diags(tw_cli_t *cli, json_t *doc);

/* ---- cli_compile.c ------------------------------------------------------------------------------ */
/** Compile a graph text, diagnostics on stderr. @return false after printing why; free(image->data) */
bool cli_compile(tw_cli_t *cli, const char *path, tw_bytes_t *image, char **report, char **report_json);

/* ---- cli_info.c: JSON of things several verbs print */
json_t *cli_graph_json(const tunewire_v1_GraphInfo *g);
const char *cli_state_name(uint32_t state);
