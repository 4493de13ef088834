/* cli_trigger.h - a probe's request from the words of the command line. */
#pragma once
#include "host_tools/tunewire/cli.h"

/** Trigger as in "level>-20dB", "level<0.1", "enter:0.1..0.2", "leave:-0.5..0.5", "flow", "empty", "full", "tick:100",
 *  "script:0", "now". @return false: `why` says what is wrong */
bool cli_trigger_parse(const char *text, double full_scale, tunewire_v1_ProbeReq *q, char why[120]);
/** Samples of "10ms", "0.5s", "20us" or "480" (samples). @return false: not one, or the stream has no rate */
bool cli_samples_of(const char *text, double rate_hz, uint32_t *out);
/** All options of `tunewire probe`. @return false after printing why */
bool cli_probe_request(tw_cli_t *cli, const tunewire_v1_ArcInfo *arc, tunewire_v1_ProbeReq *q);
