/* port.h - what the freestanding code needs from the machine below it.
 *
 * The engine and the protocol know no clock, no lock and no console; a port
 * (server/main_linux.c, firmware/port_cortex_m.c, a test) supplies these.
 */
#pragma once
#include <stdint.h>

typedef struct tw_port {
    void *ctx;
    uint64_t (*now_us)(void *ctx); /* monotonic device time [us] */
    uint32_t (*cycles)(void *ctx); /* free-running cycle counter, may wrap; any unit */
    uint32_t cycles_per_us;        /* of that counter, >= 1 */
} tw_port_t;

/* A broken promise inside, never input: report and do not return. */
_Noreturn void tw_panic(const char *file, int line, const char *what);

#define TW_ASSERT(cond) ((cond) ? (void)0 : tw_panic(__FILE__, __LINE__, #cond))
