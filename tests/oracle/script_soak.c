/* script_soak.c - what the verifier accepts keeps its promises: RUNS accepted programs under a shadow of the machine.
 *
 *   script_soak RUNS [SEED]
 *
 * Programs come from script_gen.c: sound ones, changed ones, wild ones. Each accepted one is run under script_shadow.h.
 * The fast machine, where there is one, must come to the same end.
 * Memories stand between poisoned bytes (AddressSanitizer) that also hold a pattern, looked at after each run; code and
 * literals must stay as they are. Some programs are also disassembled and assembled again.
 */
#include "engine/script/script_debug.h"
#include "host_tools/scriptasm/scriptasm.h"
#include "tests/oracle/script_gen.h"
#include "tests/support/script_shadow.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#endif

enum { MARGIN = 64, PATTERN = 0xA7, ROUND_TRIPS = 64 /* one program in so many */ };

static struct {
    _Alignas(8) uint8_t before[MARGIN], bytes[GEN_MEM], after[MARGIN];
} memory[GEN_SCRIPTS];
static struct {
    _Alignas(8) uint8_t before[MARGIN], bytes[sizeof((gen_script_t *)0)->bytes], after[MARGIN];
} stored[GEN_SCRIPTS];

static gen_program_t program;
static tw_script_t scripts[GEN_SCRIPTS];
static uint16_t labels[GEN_SCRIPTS][TW_SCRIPT_LABELS];
static shadow_t shadow;
static uint64_t now_running; /* number of the program, for reports */
static uint64_t seed_before;
static struct {
    uint64_t accepted, refused, instructions, budgets, windows, absent, deep, trips, fast;
} count;

static void broken(const char *what)
{
    fprintf(stderr, "script_soak: %s\n program %llu, seed before it 0x%llx, instruction at %u, %u executed\n", what,
            (unsigned long long)now_running, (unsigned long long)seed_before, shadow.ctx.pc, shadow.ctx.used);
    for (unsigned i = 0; i < program.n_scripts; i++) {
        const gen_script_t *const s = &program.scripts[i];
        fprintf(stderr, " script %u: regs %u ptrs %u stack %u mem %u shared %u pool %u\n ", i, s->regs, s->ptrs,
                s->stack, s->mem_bytes, s->shared, s->pool_bytes);
        for (unsigned k = 0; k < s->code_bytes; k += 2) {
            fprintf(stderr, " %04x", tw_get_le16(s->bytes + k));
        }
        fprintf(stderr, "\n");
    }
    abort();
}

#define REQUIRE(cond, what) \
    do {                    \
        if (!(cond)) {      \
            broken(what);   \
        }                   \
    } while (0)

/* ---- the world ---- */

static uint32_t on_call(void *c, uint32_t k, tw_script_ctx_t *s)
{
    (void)c;
    int64_t v = 0;
    uint32_t n;
    if (k >= 32 && k <= 38) {
        REQUIRE(tw_script_pop_int(s, &v), "a system call without its operand");
    }
    uint8_t *const to = tw_script_window(s, 0, &n, true);
    if (to != NULL) {
        memset(to, (int)k, n); /* all of it: the sanitizer looks */
    }
    const uint8_t *const from = tw_script_window(s, 1, &n, false);
    for (uint32_t i = 0; from != NULL && i < n; i++) {
        v ^= from[i];
    }
    tw_script_set_int(s, 1, (tw_stype_t)(k % 9), v);
    return (uint32_t)v & 1;
}

static uint32_t on_app(void *c, uint32_t k, tw_script_ctx_t *s)
{
    return on_call(c, k & 31, s); /* no operand on the stack, whatever the number */
}

static const tw_script_t *on_script(void *c, uint32_t k)
{
    (void)c;
    return k > 0 && k < program.n_scripts ? &scripts[k] : NULL;
}

static tw_script_host_t host = {.syscall = on_call, .callapp = on_app, .script = on_script};

/* ---- one run ---- */

static void tally(tw_err_t err, unsigned w)
{
    count.instructions += shadow.ctx.used;
    count.budgets += err == TW_E_SCR_BUDGET;
    count.deep += err == TW_E_SCR_STACK;
    count.absent += err == TW_E_SCR_FAULT && w >> 8 == 4;
    count.windows += err == TW_E_SCR_FAULT && w >> 8 != 4;
}

#if defined(TW_SCRIPT_FAST) && TW_SCRIPT_FAST
static _Alignas(16) uint8_t rooms[GEN_SCRIPTS][131072];

/* What tw_script_fast_bytes() asks for, and not a byte more. */
static bool translate(unsigned i)
{
    const uint32_t n = tw_script_fast_bytes(&scripts[i]);
    REQUIRE(n <= sizeof rooms[i], "more memory than any script of this size should want");
    ASAN_UNPOISON_MEMORY_REGION(rooms[i], n);
    ASAN_POISON_MEMORY_REGION(rooms[i] + n, sizeof rooms[i] - n);
    scripts[i].fast = n != 0 ? tw_script_translate(&scripts[i], rooms[i], n) : NULL;
    return scripts[i].fast != NULL;
}

static bool same_values(const tw_script_ctx_t *a, const tw_script_ctx_t *b)
{
    tw_stype_t t[2] = {0};
    uint64_t v[2] = {0};
    for (unsigned i = 0; i < TW_SCRIPT_REGS; i++) {
        if (tw_script_look(a, i, &t[0], &v[0]) != tw_script_look(b, i, &t[1], &v[1]) || t[0] != t[1] || v[0] != v[1]) {
            return false;
        }
    }
    for (unsigned i = 0; tw_script_stack(a, i, &t[0], &v[0]); i++) {
        if (!tw_script_stack(b, i, &t[1], &v[1]) || t[0] != t[1] || v[0] != v[1]) {
            return false;
        }
    }
    return a->sp == b->sp && a->lc == b->lc && a->flag == b->flag && a->errors == b->errors;
}

/* The fast machine from the same start: the same end, and the same bytes in the memories. */
static void run_fast(tw_err_t must)
{
    static tw_script_ctx_t fast;
    static uint8_t after[GEN_SCRIPTS][GEN_MEM];
    bool all = true;
    for (unsigned i = 0; i < program.n_scripts; i++) {
        all = translate(i) && all;
        memcpy(after[i], memory[i].bytes, scripts[i].mem_bytes);
        memcpy(memory[i].bytes, program.scripts[i].mem, scripts[i].mem_bytes);
    }
    const tw_err_t err =
        tw_script_run(&scripts[0], &host, &fast, program.args, program.n_args, program.flag, program.budget);
    REQUIRE(err == must && fast.pc == shadow.ctx.pc && fast.used == shadow.ctx.used, "another end in the fast machine");
    REQUIRE(same_values(&shadow.ctx, &fast), "other values in the fast machine");
    for (unsigned i = 0; i < program.n_scripts; i++) {
        REQUIRE(memcmp(after[i], memory[i].bytes, scripts[i].mem_bytes) == 0, "other memory after the fast machine");
        scripts[i].fast = NULL;
    }
    count.fast += all;
}
#else
static void run_fast(tw_err_t must)
{
    (void)must;
}
#endif

static void run(void)
{
    shadow.scripts = scripts;
    shadow.n_scripts = program.n_scripts;
    shadow.host = &host;
    shadow.broken = broken;
    host.privileged = program.privileged;
    const tw_err_t err = shadow_run(&shadow, program.args, program.n_args, program.flag, program.budget);
    tally(err, shadow.word);
    run_fast(err);
}

/* ---- programs ---- */

static bool is_pattern(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] != PATTERN) {
            return false;
        }
    }
    return true;
}

/* Every byte that is not the script's is poisoned while it runs. */
static void place(unsigned i)
{
    const gen_script_t *const s = &program.scripts[i];
    const uint32_t n = tw_script_bytes(s->code_bytes, s->pool_bytes);
    ASAN_UNPOISON_MEMORY_REGION(&memory[i], sizeof memory[i]);
    ASAN_UNPOISON_MEMORY_REGION(&stored[i], sizeof stored[i]);
    memset(&memory[i], PATTERN, sizeof memory[i]);
    memcpy(memory[i].bytes, s->mem, s->mem_bytes);
    memcpy(stored[i].bytes, s->bytes, n);
    scripts[i] = gen_view(&program, i, memory[i].bytes);
    scripts[i].code = stored[i].bytes;
    ASAN_POISON_MEMORY_REGION(memory[i].before, MARGIN);
    ASAN_POISON_MEMORY_REGION(memory[i].bytes + s->mem_bytes, GEN_MEM - s->mem_bytes + MARGIN);
    ASAN_POISON_MEMORY_REGION(stored[i].bytes + n, sizeof stored[i].bytes - n + MARGIN);
}

static void look_after(unsigned i)
{
    const gen_script_t *const s = &program.scripts[i];
    ASAN_UNPOISON_MEMORY_REGION(&memory[i], sizeof memory[i]);
    REQUIRE(is_pattern(memory[i].before, MARGIN) &&
                is_pattern(memory[i].bytes + s->mem_bytes, GEN_MEM - s->mem_bytes) &&
                is_pattern(memory[i].after, MARGIN),
            "bytes beside the memory changed");
    REQUIRE(memcmp(stored[i].bytes, s->bytes, tw_script_bytes(s->code_bytes, s->pool_bytes)) == 0,
            "the script changed");
}

static void round_trip(void)
{
    static char text[65536];
    static tw_asm_out_t out;
    const tw_script_t *const s = &scripts[0];
    size_t used = 0;
    for (uint32_t at = 0; at < s->code_bytes;) {
        char line[80];
        at += tw_script_disasm(s->code, s->code_bytes, at, line, sizeof line);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", line);
    }
    REQUIRE(tw_asm(text, used, &out), "what the disassembler gives does not assemble");
    REQUIRE(out.code_bytes >= s->code_bytes && memcmp(out.code, s->code, s->code_bytes) == 0,
            "other words after a round trip");
    count.trips++;
}

static void make(uint64_t *seed)
{
    const uint64_t kind = gen_random(seed) % 100;
    if (kind < 30) {
        gen_wild(seed, &program);
        return;
    }
    gen_program(seed, 3 + (unsigned)(gen_random(seed) % 12), &program);
    if (kind < 75) {
        gen_mutate(seed, &program);
    }
}

static bool accepted(void)
{
    bool good = true;
    for (unsigned i = 0; i < program.n_scripts; i++) {
        tw_fault_t f = {0};
        place(i);
        const tw_err_t err = tw_script_verify(&scripts[i], program.privileged, NULL, &f);
        REQUIRE(err == TW_OK || (f.err == err && f.at <= scripts[i].code_bytes), "a refusal without its place");
        good = good && err == TW_OK;
    }
    for (unsigned i = 0; good && i < program.n_scripts; i++) {
        tw_script_index(&scripts[i], labels[i]);
        scripts[i].labels = labels[i];
    }
    return good;
}

static void report(time_t start)
{
    printf("%llu accepted programs, %llu refused, %llu instructions, %llu also by the fast machine, %llu round trips; "
           "ends: budget %llu, window %llu, "
           "absent script %llu, too deep %llu; %lld s\n",
           (unsigned long long)count.accepted, (unsigned long long)count.refused,
           (unsigned long long)count.instructions, (unsigned long long)count.fast, (unsigned long long)count.trips,
           (unsigned long long)count.budgets, (unsigned long long)count.windows, (unsigned long long)count.absent,
           (unsigned long long)count.deep, (long long)(time(NULL) - start));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const uint64_t runs = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;
    uint64_t seed = (argc > 2 ? strtoull(argv[2], NULL, 0) : 1) * 0x9E3779B97F4A7C15ull + 1;
    const time_t start = time(NULL);
    while (count.accepted < runs) {
        seed_before = seed;
        make(&seed);
        if (!accepted()) {
            count.refused++;
            continue;
        }
        now_running = count.accepted;
        run();
        for (unsigned i = 0; i < program.n_scripts; i++) {
            look_after(i);
        }
        if (count.accepted % ROUND_TRIPS == 0) {
            round_trip();
        }
        count.accepted++;
        if (count.accepted % 5000000 == 0 && count.accepted < runs) {
            report(start);
        }
    }
    report(start);
    return 0;
}
