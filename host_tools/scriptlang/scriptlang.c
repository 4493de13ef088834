/* scriptlang.c - the compiler as its users call it: the passes in order. */
#include "host_tools/scriptlang/sl_priv.h"

static bool readable(compiler_t *c, const char *text, size_t n)
{
    if (n > TW_SL_TEXT_MAX) {
        sl_error(c, (pos_t){0, 0}, "the text has more than %d bytes", TW_SL_TEXT_MAX);
        return false;
    }
    if (n > 0 && memchr(text, '\0', n) != NULL) {
        sl_error(c, (pos_t){0, 0}, "this is no text");
        return false;
    }
    return true;
}

bool tw_script_compile(const char *text, size_t n, const tw_sl_opts_t *opts, tw_sl_out_t *out)
{
    static const tw_sl_opts_t none;
    compiler_t c = {.opts = opts != NULL ? opts : &none,
                    .out = out,
                    .text = text,
                    .at = text,
                    .end = text + n,
                    .line_start = text,
                    .line = 1};
    memset(out, 0, sizeof *out);
    if (readable(&c, text, n)) {
        sl_parse(&c);
    }
    if (out->n_errors == 0) {
        sl_check(&c);
    }
    if (out->n_errors == 0) {
        sl_generate(&c);
    }
    sl_arena_free(&c.arena);
    if (out->n_errors != 0) {
        out->code_bytes = out->pool_bytes = out->n_lines = 0;
    }
    return out->n_errors == 0;
}
