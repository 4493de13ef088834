/* bench_compile PLATFORM SMALL LARGE FACTOR PAIRS: how the compiler's time grows with the graph.
 *
 * A pair is one compile of LARGE and FACTOR compiles of SMALL, which has a FACTOR-th of its nodes; every other
 * pair the other way round, after one to warm up. The clock is the processor's: the compiler waits for nothing,
 * and what else runs on the machine is not its time. Prints median and quartiles of the seconds for LARGE, then
 * of its time per node over that of SMALL.
 */
#include "host_tools/graphc/graphc.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PAIRS_MAX 99

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double compile_s(const char *platform, const char *text, unsigned times)
{
    const tw_graphc_opts_t opts = {.platform = platform};
    const double start = now_s();
    for (unsigned i = 0; i < times; i++) {
        tw_graphc_out_t out;
        if (!tw_graphc(text, &opts, &out)) {
            tw_diags_print(&out.diags, stderr, false);
            exit(1);
        }
        tw_graphc_free(&out);
    }
    return now_s() - start;
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_quartiles(double *v, unsigned n)
{
    qsort(v, n, sizeof *v, rising);
    printf("%.6f %.6f %.6f ", v[n / 2], v[n / 4], v[n - 1 - n / 4]);
}

int main(int argc, char **argv)
{
    static double large_s[PAIRS_MAX], ratio[PAIRS_MAX];
    const unsigned factor = argc == 6 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
    const unsigned pairs = argc == 6 ? (unsigned)strtoul(argv[5], NULL, 10) : 0;
    if (factor == 0 || pairs == 0 || pairs > PAIRS_MAX) {
        fprintf(stderr, "usage: bench_compile PLATFORM SMALL LARGE FACTOR PAIRS (at most %u)\n", PAIRS_MAX);
        return 2;
    }
    (void)compile_s(argv[1], argv[3], 1);
    for (unsigned i = 0; i < pairs; i++) {
        double small = i % 2 != 0 ? compile_s(argv[1], argv[2], factor) : 0;
        large_s[i] = compile_s(argv[1], argv[3], 1);
        small = i % 2 != 0 ? small : compile_s(argv[1], argv[2], factor);
        ratio[i] = large_s[i] / small;
    }
    print_quartiles(large_s, pairs);
    print_quartiles(ratio, pairs);
    printf("%u\n", pairs);
    return 0;
}
