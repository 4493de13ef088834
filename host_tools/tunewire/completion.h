/* completion.h - the scripts of host_tools/completion, embedded at build time. */
#pragma once
#include <stdint.h>

extern const uint8_t tw_completion_bash[];
extern const uint32_t tw_completion_bash_bytes;
extern const uint8_t tw_completion_zsh[];
extern const uint32_t tw_completion_zsh_bytes;
