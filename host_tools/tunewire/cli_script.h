/* cli_script.h - scripts from files. */
#pragma once
#include "host_tools/tunewire/cli.h"

/**
 * Read a .bin, assemble anything else; diagnostics on stderr.
 * @param code        code, then the literal pool on a multiple of 4 when there is one; free(code->data)
 * @param code_bytes  of the code alone
 */
bool cli_read_script(tw_cli_t *cli, const char *path, tw_bytes_t *code, uint32_t *code_bytes);
/** First argument as a script number. */
bool cli_script_index(tw_cli_t *cli, uint32_t *index);
/** Write a .bin: with literals after a header that says where the code ends (docs/SCRIPT_ISA.md). */
bool cli_write_script(tw_cli_t *cli, const char *path, const tw_bytes_t *code, uint32_t code_bytes);
