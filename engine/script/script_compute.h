/* script_compute.h - the functions of the system call `compute`: windows of script memory and numbers in registers.
 *
 * Which there are, what they take and give: script_compute.def. Mathematics comes in through a table, so that this
 * knows no platform; sums and elements are computed here, the same bits on every machine.
 */
#pragma once
#include "engine/script/script.h"

enum {
    TW_COMPUTE_WINDOW = 4096,  /* elements of a window */
    TW_COMPUTE_BUDGET = 16384, /* elements in all calls of one run of a script; `sort` counts each log2 n times */
};

typedef enum tw_compute {
#define TW_COMPUTE(id, NAME, name, FORM, meaning) TW_COMPUTE_##NAME = (id),
#include "engine/script/script_compute.def"
} tw_compute_t;

typedef struct tw_script_math {
    double (*sqrt)(double x);
    double (*log)(double x);
    double (*exp)(double x);
    double (*sin)(double x);
    double (*cos)(double x);
    double (*atan2)(double y, double x);
    double (*pow)(double x, double y);
    uint32_t (*rand)(uint32_t *state);
} tw_script_math_t;

/** What a graph keeps for its scripts. */
typedef struct tw_script_compute {
    tw_script_math_t math; /* of the platform: no entry is NULL */
    uint32_t random;       /* state of `rand`, not 0 */
    uint32_t left;         /* elements this run of a script may still touch: TW_COMPUTE_BUDGET at its start */
} tw_script_compute_t;

/**
 * Function r0 with the arguments in r1, r2, p0, p1; the result is in r1.
 * @return TW_OK; ARG no such function, or a bad step of fir; SCR_BAD_PTR no window, or shorter than r2; SCR_BAD_TYPE
 *         elements are no numbers; RANGE more than TW_COMPUTE_WINDOW; SCR_BUDGET more than this run may touch.
 *         Nothing has changed then
 */
tw_err_t tw_script_compute(tw_script_compute_t *k, tw_script_ctx_t *c);
/** Name and form of a function, NULL: no such one. For texts. */
const char *tw_script_compute_name(uint32_t id, const char **form);
