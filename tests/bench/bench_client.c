/* bench_client.c ROUNDS - what a client's actions add to a block's time, alone and under load in turn.
 *
 * 22 nodes of 16 samples, a block each 100 us, the engine on a thread that any system call kills. Prints
 *   ratio low high value_us alone_us n  p50_alone p99_alone p50_with p99_with
 * ratio: p99.9 of blocks under load over p99.9 of blocks alone, median and quartiles of the rounds.
 */
#include "tests/support/quiet.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS_MAX = 101, FILTERS = 20, BLOCK_US = 100, ALONE_MS = 500, GROUPS = 500, PERMILLES = 3 };

/* The 50th, 99th and 99.9th percentile, each round. */
typedef struct side {
    double us[PERMILLES][ROUNDS_MAX];
} side_t;

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double at(double *v, unsigned n, unsigned i)
{
    qsort(v, n, sizeof *v, rising);
    return v[i];
}

static uint32_t note(side_t *s, unsigned round)
{
    static const uint64_t permille[PERMILLES] = {500, 990, 999};
    const uint32_t *t;
    const uint32_t n = quiet_times(&t);
    for (unsigned i = 0; i < PERMILLES; i++) {
        s->us[i][round] = n != 0 ? quiet_us(t[n * permille[i] / 1000]) : 0.0;
    }
    return n;
}

/* One processor for the engine's thread, another one for the client, where there are two. */
static int other_cpu(void)
{
    cpu_set_t all, mine;
    int found[2] = {-1, -1};
    CPU_ZERO(&all);
    (void)sched_getaffinity(0, sizeof all, &all);
    for (int i = CPU_SETSIZE - 1, n = 0; i >= 0 && n < 2; i--) {
        if (CPU_ISSET((unsigned)i, &all)) {
            found[n++] = i;
        }
    }
    CPU_ZERO(&mine);
    if (found[1] >= 0) {
        CPU_SET((unsigned)found[1], &mine);
        (void)sched_setaffinity(0, sizeof mine, &mine);
    }
    return found[1] >= 0 ? found[0] : -1;
}

int main(int argc, char **argv)
{
    static side_t alone, with;
    static double ratio[ROUNDS_MAX];
    const unsigned rounds = argc == 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    uint32_t blocks = 0;
    if (rounds < 5 || rounds > ROUNDS_MAX) {
        (void)fprintf(stderr, "usage: bench_client ROUNDS (5..%u)\n", (unsigned)ROUNDS_MAX);
        return 2;
    }
    quiet_open(FILTERS, BLOCK_US, other_cpu());
    quiet_load(GROUPS / 5); /* to warm up */
    for (unsigned i = 0; i < rounds; i++) {
        quiet_alone(ALONE_MS);
        (void)note(&alone, i);
        quiet_load(GROUPS);
        blocks += note(&with, i);
        ratio[i] = with.us[2][i] / alone.us[2][i];
    }
    if (!quiet_close()) {
        (void)fprintf(stderr, "the engine's thread asked the system for something\n");
        _exit(1);
    }
    const unsigned mid = rounds / 2;
    printf("%.4f %.4f %.4f %.3f %.3f %u %.3f %.3f %.3f %.3f\n", at(ratio, rounds, mid), at(ratio, rounds, rounds / 4),
           at(ratio, rounds, rounds - 1 - rounds / 4), at(with.us[2], rounds, mid), at(alone.us[2], rounds, mid),
           blocks, at(alone.us[0], rounds, mid), at(alone.us[1], rounds, mid), at(with.us[0], rounds, mid),
           at(with.us[1], rounds, mid));
    (void)fflush(stdout);
    _exit(0);
}
