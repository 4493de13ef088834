#include "server/main_port.h"
#include <stddef.h>
#include <time.h>

int64_t port_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t now_us(void *ctx)
{
    (void)ctx;
    return (uint64_t)port_now_ns() / 1000u;
}

static uint32_t cycles(void *ctx)
{
    (void)ctx;
#if defined(__x86_64__) || defined(__i386__)
    return (uint32_t)__builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return (uint32_t)count;
#else
    return (uint32_t)port_now_ns();
#endif
}

/* A counter slower than 1 MHz would round to 0: nodes then look free rather than dividing by zero. */
static uint32_t measure_per_us(void)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    const int64_t from_ns = port_now_ns();
    const uint32_t from = cycles(NULL);
    nanosleep(&pause, NULL);
    const uint32_t n = cycles(NULL) - from;
    const int64_t us = (port_now_ns() - from_ns) / 1000;
    const int64_t per_us = us > 0 ? n / us : 1;
    return per_us > 0 ? (uint32_t)per_us : 1;
}

void port_open(tw_port_t *port)
{
    *port = (tw_port_t){.now_us = now_us, .cycles = cycles, .cycles_per_us = measure_per_us()};
}
