/* main_port.h - Linux as a tw_port_t: CLOCK_MONOTONIC and the processor's cycle counter. */
#pragma once
#include "engine/base/port.h"

/** Fill a port; measures the cycle counter for a few milliseconds where its rate cannot be read. */
void port_open(tw_port_t *port);

/** Monotonic nanoseconds. */
int64_t port_now_ns(void);
