/* cli_script.c - scripts from files, for `script load`, `asm` and `disasm`. */
#include "engine/board/manifest_lex.h"
#include "engine/script/script.h"
#include "host_tools/scriptasm/scriptasm.h"
#include "host_tools/tunewire/cli_script.h"
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

/* @return false after telling of errors */
static bool tell(tw_cli_t *cli, const char *path, const tw_bytes_t *text, const tw_asm_out_t *a, bool ok)
{
    tw_bytes_t copy = *text;
    const tw_text_source_t src = {&copy, read_given};
    tw_diags_t *d = calloc(1, sizeof *d);
    if (!d) {
        (void)cli_fail(cli, CLI_INPUT, path, "", "out of memory");
        return false;
    }
    for (unsigned i = 0; i < a->n_diags && i < TW_COUNT(a->diags); i++) {
        tw_diag(d, a->diags[i].warning, path, a->diags[i].line, a->diags[i].col, "%s", a->diags[i].text);
    }
    d->errors = a->n_errors;
    if (ok) {
        cli_diags(cli, d, &src);
    } else {
        (void)cli_fail_diags(cli, path, d, &src);
    }
    free(d);
    return ok;
}

static bool assemble(tw_cli_t *cli, const char *path, const tw_bytes_t *text, tw_bytes_t *code, uint32_t *code_bytes)
{
    static const uint8_t zero[4];
    tw_asm_out_t *a = calloc(1, sizeof *a);
    if (!a) {
        (void)cli_fail(cli, CLI_INPUT, path, "", "out of memory");
        return false;
    }
    const bool assembled = tw_asm((const char *)text->data, text->n, a);
    bool ok = tell(cli, path, text, a, assembled);
    if (ok) {
        *code_bytes = a->code_bytes;
        ok = tw_bytes_add(code, a->code, a->code_bytes) &&
             (!a->pool_bytes ||
              (tw_bytes_add(code, zero, -a->code_bytes & 3u) && tw_bytes_add(code, a->pool, a->pool_bytes)));
    }
    free(a);
    return ok;
}

/* ---- .bin files ---- */

/* No script begins so: as a word it compares a pointer, which the verifier refuses. */
static const uint8_t magic[4] = {'T', 'W', 'S', '1'};
enum { HEADER = 8 }; /* magic, code bytes, literal bytes */

static bool take_header(tw_bytes_t *file, uint32_t *code_bytes)
{
    *code_bytes = (uint32_t)file->n;
    if (file->n < HEADER || memcmp(file->data, magic, sizeof magic) != 0) {
        return file->n != 0 && file->n % 2 == 0;
    }
    *code_bytes = tw_get_le16(file->data + 4);
    const uint32_t bytes = tw_script_bytes(*code_bytes, tw_get_le16(file->data + 6));
    if (bytes != file->n - HEADER) {
        return false;
    }
    file->n = bytes;
    memmove(file->data, file->data + HEADER, bytes);
    return true;
}

bool cli_write_script(tw_cli_t *cli, const char *path, const tw_bytes_t *code, uint32_t code_bytes)
{
    uint8_t head[HEADER];
    tw_bytes_t file = {0};
    memcpy(head, magic, sizeof magic);
    tw_put_le16(head + 4, (uint16_t)code_bytes);
    tw_put_le16(head + 6, (uint16_t)(code->n - tw_round_up(code_bytes, 4)));
    if (code->n == code_bytes) {
        return cli_write_file(cli, path, code->data, code->n);
    }
    const bool made = tw_bytes_add(&file, head, HEADER) && tw_bytes_add(&file, code->data, code->n);
    const bool ok = made && cli_write_file(cli, path, file.data, file.n);
    if (!made) {
        (void)cli_fail(cli, CLI_INPUT, path, "", "out of memory");
    }
    free(file.data);
    return ok;
}

bool cli_read_script(tw_cli_t *cli, const char *path, tw_bytes_t *code, uint32_t *code_bytes)
{
    tw_bytes_t file;
    *code = (tw_bytes_t){0};
    if (!cli_read_file(cli, path, &file)) {
        return false;
    }
    if (cli_has_suffix(path, ".bin")) {
        *code = file;
        if (!take_header(code, code_bytes)) {
            (void)cli_fail(cli, CLI_INPUT, path, "write one with tunewire script asm", "not a script binary");
            free(file.data);
            *code = (tw_bytes_t){0};
            return false;
        }
        return true;
    }
    const bool ok = assemble(cli, path, &file, code, code_bytes);
    free(file.data);
    if (!ok) {
        free(code->data);
        *code = (tw_bytes_t){0};
    }
    return ok;
}

bool cli_script_index(tw_cli_t *cli, uint32_t *index)
{
    double n;
    const bool ok = cli_number(cli, cli->args[0], "script number", 0, 255, &n);
    *index = ok ? (uint32_t)n : 0;
    return ok;
}
