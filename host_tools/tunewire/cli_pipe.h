/* cli_pipe.h - another program as a filter: bytes in, bytes out. No shell is between. */
#pragma once
#include "host_tools/tunewire/cli.h"

/**
 * Run argv[0] as the PATH finds it, feed it `n` bytes and collect what it answers. Its stderr is ours.
 * Ctrl-C ends it too.
 * @param package Debian package that has it
 * @return false after printing why; free(out->data)
 */
bool cli_pipe(tw_cli_t *cli, const char *const *argv, const char *package, const void *in, size_t n, tw_bytes_t *out);
