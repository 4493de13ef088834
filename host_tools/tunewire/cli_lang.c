/* cli_lang.c - see cli_lang.h. */
#include "host_tools/tunewire/cli_lang.h"
#include "engine/board/manifest_lex.h"
#include <stdlib.h>

static char *read_given(void *ctx, const char *path, size_t *n)
{
    const tw_bytes_t *text = ctx;
    (void)path; /* there is one text */
    char *copy = malloc(text->n + 1);
    if (copy) {
        memcpy(copy, text->n ? (const char *)text->data : "", text->n);
        *n = text->n;
    }
    return copy;
}

static void collect(const tw_sl_out_t *out, const char *path, tw_diags_t *d)
{
    for (unsigned i = 0; i < out->n_diags; i++) {
        const tw_sl_diag_t *row = &out->diags[i];
        if (row->grade == TW_SL_NOTE) {
            tw_diag_note(d, path, row->line, row->col, "%s", row->text);
        } else {
            tw_diag(d, row->grade == TW_SL_WARNING, path, row->line, row->col, "%s", row->text);
        }
    }
    d->errors = out->n_errors;
}

static bool tell(tw_cli_t *cli, const char *path, cli_lang_t *l, bool ok)
{
    const tw_text_source_t src = {&l->text, read_given};
    tw_diags_t *d = calloc(1, sizeof *d);
    if (!d) {
        (void)cli_fail(cli, CLI_INPUT, path, "", "out of memory");
        return false;
    }
    collect(l->out, path, d);
    if (ok) {
        cli_diags(cli, d, &src);
    } else {
        (void)cli_fail_diags(cli, path, d, &src);
    }
    free(d);
    return ok;
}

bool cli_lang_compile(tw_cli_t *cli, const char *path, const tw_sl_opts_t *opts, cli_lang_t *l)
{
    *l = (cli_lang_t){0};
    if (!cli_read_file(cli, path, &l->text)) {
        return false;
    }
    l->out = malloc(sizeof *l->out);
    if (!l->out) {
        (void)cli_fail(cli, CLI_INPUT, path, "", "out of memory");
    }
    const bool ok =
        l->out &&
        tell(cli, path, l, tw_script_compile(l->text.n ? (const char *)l->text.data : "", l->text.n, opts, l->out));
    if (!ok) {
        cli_lang_free(l);
    }
    return ok;
}

void cli_lang_free(cli_lang_t *l)
{
    free(l->text.data);
    free(l->out);
    *l = (cli_lang_t){0};
}

bool cli_lang_bytes(const cli_lang_t *l, tw_bytes_t *code)
{
    static const uint8_t zero[4];
    const tw_sl_out_t *o = l->out;
    *code = (tw_bytes_t){0};
    return tw_bytes_add(code, o->code, o->code_bytes) &&
           (o->pool_bytes == 0 ||
            (tw_bytes_add(code, zero, -o->code_bytes & 3u) && tw_bytes_add(code, o->pool, o->pool_bytes)));
}

bool cli_lang_limits(tw_cli_t *cli, tw_sl_opts_t *opts)
{
    double regs, ptrs, stack, memory;
    if (!cli_option_number(cli, "--registers", 3, 6, opts->regs, &regs) ||
        !cli_option_number(cli, "--pointers", 2, 6, opts->ptrs, &ptrs) ||
        !cli_option_number(cli, "--stack", 0, 64, opts->stack, &stack) ||
        !cli_option_number(cli, "--memory", 4, 4096, opts->mem_bytes, &memory)) {
        return false;
    }
    opts->regs = (uint8_t)regs;
    opts->ptrs = (uint8_t)ptrs;
    opts->stack = (uint8_t)stack;
    opts->mem_bytes = (uint32_t)memory;
    return true;
}
