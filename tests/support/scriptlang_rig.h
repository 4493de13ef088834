/* scriptlang_rig.h - scripts in the readable language, compiled and run against a pretend graph.
 *
 * Nodes: "filter.0" (0), "amplifier.0" (1), "detector.0" (2); arcs: "mic" (0), "out" (1), "amp-out" (2).
 * What a script does is written as words: "trace 1 2 3; gpio 1=1; set 1.7=...".
 */
#pragma once
#include "engine/script/script.h"
#include "host_tools/scriptlang/scriptlang.h"

enum { SL_RIG_LOG = 4096, SL_RIG_MEM = 4096 };

typedef struct sl_rig {
    tw_sl_out_t out;
    tw_sl_opts_t opts;
    uint8_t whole[2 * TW_SL_CODE_MAX + 4];
    uint8_t mem[SL_RIG_MEM];
    tw_script_t script;
    tw_script_ctx_t ctx;
    /* the world */
    float level[8][3]; /* of arc: peak, rms, mean */
    uint32_t fill[8];
    uint8_t pins[32];
    double param[4][64];
    uint8_t npu_done, npu_result[2];
    uint64_t us, tick;
    uint32_t status; /* what calls answer */
    char log[SL_RIG_LOG];
} sl_rig_t;

/** World of the rig for the compiler. */
extern const tw_sl_world_t sl_rig_world;
/** Compile; memory zero. @return as tw_script_compile() */
bool sl_rig_compile(sl_rig_t *r, const char *text);
/** One call with r0 = phase; asserts that it ends and needs no more than was said. The log begins anew. */
void sl_rig_call(sl_rig_t *r, int64_t phase, bool flag);
/** All diagnostics, "line:col: text", a line each. */
const char *sl_rig_diags(const sl_rig_t *r);
