/* cli_set.h - `set` in two halves: assignments (verb_set.c) and filter designs (set_filter.c). */
#pragma once
#include "host_tools/client/biquad_design.h"
#include "host_tools/tunewire/cli.h"

enum { SET_STAGES_MAX = 16 };

/** A cascade as asked for on the command line. */
typedef struct tw_cascade {
    tw_biquad_t stage[SET_STAGES_MAX];
    unsigned n;
} tw_cascade_t;

/** True when the options ask for a filter. */
bool cli_wants_filter(const tw_cli_t *cli);
/** Design what the options say, in their order, for streams of this rate. */
bool cli_design(tw_cli_t *cli, double rate_hz, tw_cascade_t *out);
/**
 * The block of index 256 of a filter node: parameters in table order, stages beyond the cascade let through.
 * @param error  out, largest change of the response by 16-bit coefficients (0 for floats)
 */
bool cli_filter_block(tw_cli_t *cli, const char *node, const tw_params_t *params, const tw_cascade_t *cascade,
                      tw_bytes_t *block, double *error);
int cli_set_filter(tw_cli_t *cli);
/** The block --at names, "+N" counted from the one the device is at; 0 without it. @return false after printing why */
bool cli_set_at(tw_cli_t *cli, uint64_t *tick);
