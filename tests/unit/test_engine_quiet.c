/* The engine thread asks the system for nothing: it runs where every call kills it, and allocates no memory.
 *
 * That it names no function of either is what tools/check_free.py shows from the libraries' symbols. Whoever does all a
 * client can, a thousand times a second, on 64 arcs at once: the figures printed are of the blocks meanwhile, and of
 * blocks left alone (make bench ONLY=client_action compares them).
 */
#include "tests/support/quiet.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { GROUPS = 1000, DEADLINE_S = 60 };

/* The linker sends every allocation of the program here (-Wl,--wrap). */
static atomic_uint allocations;
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t each);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t each);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);

static void count(void)
{
    atomic_fetch_add_explicit(&allocations, quiet_thread, memory_order_relaxed);
}

void *__wrap_malloc(size_t n)
{
    count();
    return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t each)
{
    count();
    return __real_calloc(n, each);
}

void *__wrap_realloc(void *p, size_t n)
{
    count();
    return __real_realloc(p, n);
}

void __wrap_free(void *p)
{
    count();
    __real_free(p);
}

static int in_child(void (*body)(void))
{
    const pid_t child = fork();
    if (child == 0) {
        (void)alarm(DEADLINE_S);
        body();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == QUIET_NO_SECCOMP) {
        print_message("skipped: this kernel has no seccomp\n");
        skip();
    }
    return status;
}

static void print_times(const char *name)
{
    const uint32_t *t;
    const uint32_t n = quiet_times(&t);
    if (n != 0) {
        (void)fprintf(stderr, "block %s: n=%u p50=%.2f p99=%.2f p99.9=%.2f max=%.2f us\n", name, n, quiet_us(t[n / 2]),
                      quiet_us(t[(uint64_t)n * 99 / 100]), quiet_us(t[(uint64_t)n * 999 / 1000]), quiet_us(t[n - 1]));
    }
}

static void thousand_groups_a_second(void)
{
    quiet_open(0, 0, -1);
    quiet_alone(200);
    print_times("alone");
    quiet_load(GROUPS);
    print_times("with 1000 groups/s, 100 swaps, 64 probes");
    if (!quiet_close() || atomic_load(&allocations) != 0) {
        _exit(1);
    }
}

static void one_call_too_many(void)
{
    if (quiet_break_the_rule()) {
        _exit(1);
    }
}

static void a_thread_that_asks_is_seen(void **state)
{
    (void)state;
    assert_int_equal(in_child(one_call_too_many), 0);
}

static void memory_taken_on_the_thread_is_counted(void **state)
{
    (void)state;
    void *volatile p;
    free(p = malloc(1));
    assert_int_equal(atomic_load(&allocations), 0);
    quiet_thread = true;
    p = malloc(1);
    p = realloc(p, 2);
    free(p);
    free(p = calloc(1, 1));
    quiet_thread = false;
    assert_int_equal(atomic_exchange(&allocations, 0), 5);
}

static void a_block_asks_the_system_for_nothing(void **state)
{
    (void)state;
    assert_int_equal(in_child(thousand_groups_a_second), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_asks_is_seen),
        cmocka_unit_test(memory_taken_on_the_thread_is_counted),
        cmocka_unit_test(a_block_asks_the_system_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
