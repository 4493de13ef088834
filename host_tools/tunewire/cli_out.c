/* cli_out.c - what goes to stdout and stderr: errors, JSON, tables, a progress bar. */
#include "engine/base/formats.h"
#include "host_tools/tunewire/cli.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

enum { BAR = 30 };

static json_t *error_json(tw_cli_t *cli, int code, const char *text, const char *where, const char *hint,
                          const tw_client_error_t *e)
{
    json_t *o = json_pack("{s:i, s:s, s:s, s:s}", "exit", code, "text", text, "where", where, "hint", hint);
    if (o && e && e->kind == TW_CLIENT_DEVICE) {
        (void)json_object_set_new(o, "status", json_string(tw_status_name(e->status)));
        (void)json_object_set_new(o, "name", json_string(tw_err_name((tw_err_t) - (int)e->detail)));
        (void)json_object_set_new(o, "detail", json_integer(e->detail));
        (void)json_object_set_new(o, "at", json_integer(e->where));
    }
    o = cli_with_diags(cli, o);
    return json_pack("{s:o}", "error", o ? o : json_null());
}

static int report(tw_cli_t *cli, int code, const char *text, const char *where, const char *hint,
                  const tw_client_error_t *e)
{
    const char *red = cli->err_colour ? "\033[1;31m" : "", *plain = cli->err_colour ? "\033[0m" : "";
    (void)fprintf(cli->err, "%stunewire:%s %s: %s%s%s\n", red, plain, text, where, hint[0] ? ": " : "", hint);
    if (cli->json) {
        cli_json_line(cli, error_json(cli, code, text, where, hint, e));
    }
    cli->exit = code;
    return code;
}

int cli_fail(tw_cli_t *cli, int code, const char *where, const char *hint, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return report(cli, code, text, where, hint, NULL);
}

static int exit_of(const tw_client_error_t *e)
{
    switch (e->kind) {
    case TW_CLIENT_OK:
        return CLI_OK;
    case TW_CLIENT_USAGE:
        return CLI_USAGE;
    case TW_CLIENT_REFUSED:
        return CLI_CONNECT;
    case TW_CLIENT_STOPPED:
        return CLI_STOPPED;
    case TW_CLIENT_DEVICE:
    case TW_CLIENT_TIMEOUT:
    case TW_CLIENT_CLOSED:
    case TW_CLIENT_PROTOCOL:
    case TW_CLIENT_MEMORY:
        return CLI_DEVICE;
    }
    return CLI_DEVICE;
}

int cli_fail_client(tw_cli_t *cli, const char *where)
{
    const tw_client_error_t e = *tw_client_error(cli->c);
    char place[320];
    const char *at = where ? where : tw_client_peer(cli->c);
    if (e.kind == TW_CLIENT_STOPPED) {
        return cli->exit = CLI_STOPPED; /* whoever pressed Ctrl-C knows */
    }
    (void)snprintf(place, sizeof place, e.kind == TW_CLIENT_DEVICE && e.where ? "%s (at %u)" : "%s",
                   at[0] ? at : "target", e.where);
    return report(cli, exit_of(&e), e.text, place, e.hint, &e);
}

/* ---- JSON ----------------------------------------------------------------------- */

void cli_json_line(tw_cli_t *cli, json_t *doc)
{
    char *text = doc ? json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    (void)fprintf(cli->out, "%s\n", text ? text : "null");
    (void)fflush(cli->out);
    free(text);
    json_decref(doc);
}

int cli_json(tw_cli_t *cli, json_t *doc)
{
    cli_json_line(cli, doc);
    return CLI_OK;
}

static json_t *number_json(uint32_t raw, const uint8_t *p)
{
    const double v = tw_raw_read(raw, p);
    return tw_raw_whole(raw) ? json_integer((json_int_t)v) : isfinite(v) ? json_real(v) : json_null();
}

json_t *cli_value_json(const tunewire_v1_ParamDesc *d, const uint8_t *value, uint32_t n)
{
    const uint32_t size = tw_raw_bits(d->type) / 8;
    if (size == 0) {
        return json_null();
    }
    if (d->count <= 1) {
        return n >= size ? number_json(d->type, value) : json_null();
    }
    json_t *list = json_array();
    for (uint32_t i = 0; (i + 1) * size <= n; i++) {
        (void)json_array_append_new(list, number_json(d->type, value + i * size));
    }
    return list;
}

/* ---- terminal --------------------------------------------------------------------- */

const char *cli_sgr(const tw_cli_t *cli, const char *code)
{
    return cli->colour ? code : "";
}

void cli_progress(void *ctx, uint64_t done, uint64_t total)
{
    const tw_cli_t *cli = ctx;
    if (!cli->err_tty || cli->json || total < 256 * 1024) {
        return; /* over before anyone could read it */
    }
    const unsigned full = (unsigned)(done * BAR / total);
    (void)fprintf(cli->err, "\r[%.*s%*s] %3u%% %llu/%llu KiB%s", (int)full, "##############################",
                  (int)(BAR - full), "", (unsigned)(done * 100 / total), (unsigned long long)(done >> 10),
                  (unsigned long long)(total >> 10), done == total ? "\n" : "");
    (void)fflush(cli->err);
}

/* ---- tables ------------------------------------------------------------------------- */

void cli_cell(tw_table_t *t, const char *fmt, ...)
{
    char cell[400];
    va_list ap;
    va_start(ap, fmt);
    const int len = vsnprintf(cell, sizeof cell, fmt, ap);
    va_end(ap);
    const size_t n = len < 0 ? 0 : len < (int)sizeof cell ? (size_t)len : sizeof cell - 1;
    if (n + 1 > t->cap - t->used) {
        const size_t cap = t->cap * 2 + sizeof cell;
        char *more = realloc(t->cells, cap);
        if (!more) {
            return;
        }
        t->cells = more;
        t->cap = cap;
    }
    memcpy(t->cells + t->used, cell, n);
    t->cells[t->used + n] = '\0';
    t->used += n + 1;
    t->n++;
}

static void measure(const tw_table_t *t, int width[16])
{
    const char *at = t->cells;
    for (unsigned i = 0; i < t->n; i++, at += strlen(at) + 1) {
        const int n = (int)strlen(at);
        if (n > width[i % t->columns]) {
            width[i % t->columns] = n;
        }
    }
}

void cli_print_table(tw_cli_t *cli, tw_table_t *t)
{
    int width[16] = {0};
    measure(t, width);
    const char *at = t->cells;
    for (unsigned i = 0; i < t->n; i++, at += strlen(at) + 1) {
        const unsigned col = i % t->columns;
        const bool last = col + 1 == t->columns, right = t->right >> col & 1;
        if (i == 0) {
            (void)fputs(cli_sgr(cli, "\033[1m"), cli->out);
        }
        (void)fprintf(cli->out, "%*s", right ? width[col] : last ? 0 : -width[col], at);
        if (last && i < t->columns) {
            (void)fputs(cli_sgr(cli, "\033[0m"), cli->out);
        }
        (void)fputs(last ? "\n" : "  ", cli->out);
    }
    free(t->cells);
    *t = (tw_table_t){0};
}
