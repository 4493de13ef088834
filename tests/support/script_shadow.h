/* script_shadow.h - runs a verified script instruction by instruction and foresees what each may do.
 *
 * The promises of docs/SCRIPT_ISA.md "Verifier", from the words and the visible state alone: before each instruction
 * the shadow says whether it faults and how; after it, that stack and budget were kept. What differs goes to `broken`.
 *   - it begins an instruction of the script that runs, within the budget
 *   - loads and stores go through a pointer that is set, not to constants, within the memory or the pool of that script
 *   - the only faults are an element outside its window, a script that is not there, a chain of calls too deep
 *   - the stack stays between the caller's entries and the declared depth
 *   - scratch memory is not read before something was stored
 *   - what computes finds numbers, neither fp8 nor pointers; what takes a pointer off the stack finds one
 */
#pragma once
#include "engine/script/script.h"

enum { SHADOW_SCRIPTS = 3, SHADOW_HALFWORDS = 5120 };

typedef struct shadow {
    const tw_script_t *scripts; /* all that can run; the first is run */
    unsigned n_scripts;
    const tw_script_host_t *host;
    void (*broken)(const char *what); /* does not return */
    tw_script_ctx_t ctx;
    uint32_t budget;
    unsigned word;                            /* of the last instruction */
    unsigned floor[TW_SCRIPT_CALL_DEPTH + 1]; /* stack entries below the script, for each return address */
    bool written[TW_SCRIPT_CALL_DEPTH + 1];   /* scratch memory, by the script of that depth */
    uint32_t starts[SHADOW_SCRIPTS][SHADOW_HALFWORDS / 32]; /* bit = halfword that begins an instruction */
} shadow_t;

/** Run scripts[0] to its end. @return as tw_script_run(), and always what was foreseen. */
tw_err_t shadow_run(shadow_t *s, const int64_t *args, unsigned n_args, bool flag, uint32_t budget);
