/* err.h - error codes, where they happened, and how they are passed up.
 *
 * tw_err_t is 0 or negative; -err is the ABI number of errors.def. Input from
 * outside produces an tw_err_t; a broken promise inside ends in TW_ASSERT.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef enum tw_err {
    TW_OK = 0,
#define TW_ERR(code, NAME, STATUS, text) TW_E_##NAME = -(code),
#include "engine/base/errors.def"
} tw_err_t;

typedef enum tw_status {
#define TW_STATUS(code, NAME) TW_ST_##NAME = (code),
#include "engine/base/status.def"
} tw_status_t;

/* A refusal with its place. `at` is a byte offset, node, arc, parameter index or
 * script address, as the error's family says; `section` narrows it (0 = none). */
typedef struct tw_fault {
    tw_err_t err;
    uint32_t section;
    uint32_t at;
} tw_fault_t;

/** Text of an error, never NULL; an unknown number gives "unknown error". */
const char *tw_err_text(tw_err_t err);
/** Name of an error as in errors.def ("PARAM_RANGE"), never NULL. */
const char *tw_err_name(tw_err_t err);
/** Wire status of an error (TW_ST_OK for TW_OK, TW_ST_UNKNOWN for unknown). */
tw_status_t tw_err_status(tw_err_t err);
/** Name of a wire status ("NOT_FOUND"); "?" when unknown. */
const char *tw_status_name(uint32_t status);

/* Return on error: the only macro with control flow. */
#define TW_TRY(expr)                        \
    do {                                    \
        const tw_err_t tw_try_err = (expr); \
        if (tw_try_err != TW_OK) {          \
            return tw_try_err;              \
        }                                   \
    } while (0)

/* A function whose frame shall not lie under what its caller calls next: on a small device that is most of the stack.
 */
#define TW_OWN_FRAME __attribute__((noinline))

#define TW_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Before a function in which a fuzzer has nothing to find and would spend its time watching every comparison. */
#ifdef __clang__
#define TW_UNTRACED __attribute__((noinline, no_sanitize("coverage")))
#else
#define TW_UNTRACED
#endif
