/* script_twin.h - the compact and the fast script machine side by side: tests and fuzzers compare all they leave. */
#pragma once
#include "engine/script/script.h"

/** What differs between two contexts: a name, or NULL. Values count by their bits in their type. */
const char *script_twin_differs(const tw_script_ctx_t *a, const tw_script_ctx_t *b);

/** A script and its translation; in memory of its own, until the next 16 are made. */
typedef struct script_twin {
    tw_script_t plain, fast;
} script_twin_t;

/** @return what is wrong with the translation, or NULL */
const char *script_twin_make(const tw_script_t *s, script_twin_t *twin);

/** The second of the two runs is under way: a host that gives other scripts then gives translated ones. */
extern bool script_twin_second;

/** One call on the compact machine, in c[0], and of the translation, in c[1]; the script's memory is set to `memory`
 *  before each, and first() brings back what else the host keeps. @return what differs, or NULL */
const char *script_twin_run(const script_twin_t *twin, const tw_script_host_t *host, tw_script_ctx_t c[2],
                            const int64_t *args, unsigned n_args, bool flag, uint32_t budget, const uint8_t *memory,
                            void (*first)(void));
