/* quiet.h - an engine on a thread that may ask the system for nothing, beside a client that does all it can.
 *
 * The thread runs under a filter that kills it at its first system call, and notes how long each block took. Whoever
 * opens one ends with _exit: a thread that may not even exit in the library's way cannot be joined.
 */
#pragma once
#include "tests/support/engine_rig.h"

enum { QUIET_TIMES = 1 << 20, QUIET_NO_SECCOMP = 77, QUIET_PROBES = 64 };

/** The engine's thread: set before its filter, for hooks that look whether they are called from there. */
extern _Thread_local volatile bool quiet_thread; /* the compiler thinks that malloc() does not look */

/**
 * Filter -> amplifier, a script, and `more` filters behind them; then the thread.
 * @param block_us  a block begins each so often, whatever its graph says; 0: one after the other
 * @param cpu       the thread's, -1 any
 */
void quiet_open(unsigned more, uint32_t block_us, int cpu);
/** Leave it alone for so long, or let the client work: a thousand groups a second, a hundred swaps, 64 probes on
 *  and off. Block times from here on are those. */
void quiet_alone(unsigned ms);
void quiet_load(unsigned groups);
/** End the thread. @return false: it did not come to its end, it has asked for something */
bool quiet_close(void);

/** Block times since the last quiet_alone() or quiet_load(), rising. @return their number */
uint32_t quiet_times(const uint32_t **ticks);
double quiet_us(uint32_t ticks);

/** A thread that breaks the rule. @return it came to its end in spite of that */
bool quiet_break_the_rule(void);
