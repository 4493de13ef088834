/* cli_world.h - names, parameters and scripts of a graph, from an image or a device, for the script compiler. */
#pragma once
#include "host_tools/scriptlang/scriptlang.h"
#include "host_tools/tunewire/cli.h"

/** What an image declares for a script. */
typedef struct cli_script_limits {
    uint8_t regs, ptrs, stack;
    bool shared;
    uint32_t mem_bytes;
} cli_script_limits_t;

typedef struct cli_world {
    tw_sl_world_t world; /* ready for tw_script_compile(); borrows the rest */
    tw_cli_t *cli;       /* of a device: parameters are asked for when a script names their node */
    char **names[3];
    tw_sl_param_t **params;
    uint32_t *n_params;
    char **texts; /* names of parameters */
    uint32_t n_texts, cap_texts;
    cli_script_limits_t *limits; /* of world.n[TW_SL_SCRIPT] scripts; NULL: not known */
} cli_world_t;

/** From a verified or just compiled image. @return false after printing why */
bool cli_world_image(tw_cli_t *cli, const char *path, const tw_bytes_t *image, cli_world_t *w);
/** From the graph of the connected device. */
bool cli_world_device(tw_cli_t *cli, cli_world_t *w);
void cli_world_free(cli_world_t *w);
