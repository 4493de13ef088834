/* cli_lang.h - scripts in the readable language (.tws), for `script compile` and `script load`. */
#pragma once
#include "host_tools/tunewire/cli_world.h"

/** A compiled text. */
typedef struct cli_lang {
    tw_bytes_t text;
    tw_sl_out_t *out;
} cli_lang_t;

/**
 * Read and compile a file; diagnostics on stderr.
 * @param opts  what the script may use; its world may be NULL
 * @return false after printing why
 */
bool cli_lang_compile(tw_cli_t *cli, const char *path, const tw_sl_opts_t *opts, cli_lang_t *l);
void cli_lang_free(cli_lang_t *l);
/** Code, zeros to a multiple of 4 and literals as a device takes them; free(code->data). */
bool cli_lang_bytes(const cli_lang_t *l, tw_bytes_t *code);
/** Numbers of --registers, --pointers, --stack and --memory over what `opts` has. False after a usage error. */
bool cli_lang_limits(tw_cli_t *cli, tw_sl_opts_t *opts);
