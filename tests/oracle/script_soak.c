/* script_soak.c - what the verifier accepts keeps its promises: RUNS accepted programs under a shadow of the machine.
 *
 *   script_soak RUNS [SEED]
 *
 * Programs come from script_gen.c: sound ones, changed ones, wild ones. Each accepted one is run instruction by
 * instruction. Before each, the shadow says from the documented rules alone what it may do and whether it faults:
 *   - it begins an instruction of the script that runs, within the budget
 *   - loads and stores go through a pointer that is set, not to constants, within the memory or the pool of that
 * script; the only faults are an element outside the window, a script that is not there, a chain of calls too deep
 *   - the stack stays between the caller's entries and the declared depth
 *   - what computes finds numbers, neither fp8 nor pointers
 * Memories stand between poisoned bytes (AddressSanitizer) that also hold a pattern, looked at after each run; code and
 * literals must stay as they are. Some programs are also disassembled and assembled again.
 */
#include "host_tools/scriptasm/scriptasm.h"
#include "tests/oracle/script_gen.h"
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
static uint32_t starts[GEN_SCRIPTS][GEN_CODE / 64]; /* bit = halfword that begins an instruction */
static tw_script_ctx_t ctx;
static uint64_t now_running; /* number of the program, for reports */
static uint64_t seed_before;
static struct {
    uint64_t accepted, refused, instructions, budgets, windows, absent, deep, trips;
} count;

static void broken(const char *what)
{
    fprintf(stderr, "script_soak: %s\n program %llu, seed before it 0x%llx, instruction at %u, %u executed\n", what,
            (unsigned long long)now_running, (unsigned long long)seed_before, ctx.pc, ctx.used);
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

/* ---- the shadow ---- */

static struct {
    unsigned floor[TW_SCRIPT_CALL_DEPTH + 1]; /* stack entries below the script, for each return address */
} shadow;

static unsigned number(const tw_script_t *s)
{
    for (unsigned i = 0; i < program.n_scripts; i++) {
        if (s == &scripts[i]) {
            return i;
        }
    }
    broken("a script that is none");
    return 0;
}

static unsigned bytes_of(unsigned t)
{
    static const uint8_t bytes[16] = {1, 1, 2, 2, 4, 4, 4, 8, 8, 1, 1, 2, 4, 8, 8, 1};
    return bytes[t & 15];
}

/* @return false: the element lies outside, the instruction must fault. */
static bool window(unsigned code, bool for_write)
{
    const tw_sptr_t *const p = &ctx.p[code - 6];
    const unsigned i = number(ctx.script);
    const tw_script_t *const s = &scripts[i];
    REQUIRE(p->space == 1 || p->space == 2, "an element of a pointer that is not set");
    REQUIRE(p->base != NULL, "a pointer without memory");
    REQUIRE(!(for_write && p->space == 2), "a store to constants");
    const uint8_t *const low = p->space == 1 ? s->mem : s->code + tw_round_up(s->code_bytes, 4);
    const uint32_t size = p->space == 1 ? s->mem_bytes : s->pool_bytes;
    REQUIRE(p->base >= low && p->base + p->size <= low + size, "a window that is not the script's");
    return ((uint64_t)p->offset + 1) * bytes_of(p->type) <= p->size;
}

static void must_be_number(unsigned code, unsigned s0)
{
    unsigned t = TW_T_I32;
    if (code < TW_SCRIPT_REGS) {
        t = ctx.rt[code];
    } else if (code >= 14) {
        const unsigned down = code == 14 ? s0 + 1 : 2;
        REQUIRE(ctx.sp >= down + ctx.base, "an operand of the stack that is not there");
        t = ctx.stack_t[ctx.sp - down];
    }
    REQUIRE(t != TW_T_FP8A && t != TW_T_FP8B && t != TW_T_PTR, "computing with fp8 or a pointer");
}

/* Operands of what computes; s0 counts the pops of the instruction so far. */
static void check_numbers(unsigned w)
{
    const unsigned x = w >> 4 & 15;
    const unsigned y = w & 15;
    const unsigned op = w >> 8;
    const unsigned class = w >> 12;
    if ((class >= 4 && class <= 9) || (op >= 0x30 && op <= 0x34 && op != 0x32)) {
        must_be_number(class == 3 ? y : op & 15, 0);
    } else if (class == 10) {
        const bool insert = (w & 0x10) != 0;
        if (insert) {
            must_be_number(op & 15, 0);
        }
        must_be_number(y, insert && (op & 15) == 14);
    } else if (op >= 0xCA && op <= 0xCE) {
        must_be_number(y, 0);
    } else if (op == 0xC8 || op == 0xD0 || op == 0xDD || op == 0xE1 || op == 0xE2) {
        must_be_number(x, 0);
    } else if ((op >= 0xD1 && op <= 0xEE) && (x < 6 || x >= 12)) {
        must_be_number(x, 0);
        must_be_number(y, x == 14);
        if (op >= 0xE5 && op <= 0xE7) {
            must_be_number(14, (x == 14) + (y == 14));
        }
    } else if (op == 0xEF) {
        must_be_number(x, 0);
        must_be_number(y, 0);
        must_be_number(y + 1, 0);
    }
}

/* What the next instruction must answer: TW_OK or the fault. */
static tw_err_t expected(void)
{
    const unsigned i = number(ctx.script);
    const uint32_t at = ctx.next;
    REQUIRE((at & 1) == 0 && at + 2 <= ctx.script->code_bytes, "a place outside the code");
    REQUIRE((starts[i][at / 64] >> (at / 2 % 32) & 1) != 0, "a place inside an instruction");
    if (ctx.used == program.budget) {
        return TW_E_SCR_BUDGET;
    }
    const unsigned w = tw_get_le16(ctx.script->code + at);
    const bool skipped = (w & 0x80) != 0 && !ctx.flag;
    check_numbers(w);
    switch (w >> 8) {
    case 0x11:
    case 0x19:
        return window(w & 15, false) ? TW_OK : TW_E_SCR_FAULT;
    case 0x12:
    case 0x1A:
        return window(w >> 4 & 15, true) ? TW_OK : TW_E_SCR_FAULT;
    case 0x02:
        return !skipped && ctx.depth == TW_SCRIPT_CALL_DEPTH ? TW_E_SCR_STACK : TW_OK;
    case 0x04: {
        if ((w & 0x40) == 0 || skipped) {
            return TW_OK;
        }
        const tw_script_t *const s = on_script(NULL, w & 63);
        if (s == NULL) {
            return TW_E_SCR_FAULT;
        }
        return ctx.depth == TW_SCRIPT_CALL_DEPTH || ctx.sp + s->stack > TW_SCRIPT_STACK_MAX ? TW_E_SCR_STACK : TW_OK;
    }
    default:
        return TW_OK;
    }
}

static void check_stack(unsigned depth)
{
    REQUIRE(ctx.depth <= TW_SCRIPT_CALL_DEPTH, "more return addresses than there is room for");
    if (ctx.depth > depth) {
        shadow.floor[ctx.depth] = ctx.frames[depth].callscript ? ctx.sp : shadow.floor[depth];
    }
    const unsigned floor = shadow.floor[ctx.depth];
    REQUIRE(ctx.base >= floor && ctx.sp >= ctx.base, "the stack below what belongs to the routine");
    REQUIRE(ctx.sp - floor <= ctx.script->stack || ctx.done, "the stack above the declared depth");
}

static void tally(tw_err_t err, unsigned w)
{
    count.instructions += ctx.used;
    count.budgets += err == TW_E_SCR_BUDGET;
    count.deep += err == TW_E_SCR_STACK;
    count.absent += err == TW_E_SCR_FAULT && w >> 8 == 4;
    count.windows += err == TW_E_SCR_FAULT && w >> 8 != 4;
}

static void run(void)
{
    tw_err_t err = TW_E_SCR_HELD;
    unsigned w = 0;
    host.privileged = program.privileged;
    memset(&ctx, PATTERN, sizeof ctx);
    tw_script_begin(&ctx, &scripts[0], &host, program.args, program.n_args, program.flag, program.budget);
    shadow.floor[0] = 0;
    while (err == TW_E_SCR_HELD) {
        const tw_err_t must = expected();
        const unsigned depth = ctx.depth;
        w = tw_get_le16(ctx.script->code + ctx.next);
        err = tw_script_go(&ctx, 1);
        REQUIRE(must == TW_OK ? err == TW_OK || err == TW_E_SCR_HELD : err == must, tw_err_name(err));
        REQUIRE(ctx.used <= program.budget, "more instructions than the budget has");
        if (must == TW_OK) {
            check_stack(depth);
        }
    }
    tally(err, w);
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

static void find_starts(unsigned i)
{
    const tw_script_t *const s = &scripts[i];
    memset(starts[i], 0, sizeof starts[i]);
    for (uint32_t at = 0; at < s->code_bytes / 2;) {
        const unsigned w = tw_get_le16(s->code + 2 * at);
        starts[i][at / 32] |= 1u << at % 32;
        at += w >> 12 == 2 ? 1 + (bytes_of(w) < 4 ? 1 : bytes_of(w) / 2) : w >> 12 == 10 ? 2 : 1;
    }
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
    gen_program(seed, 4 + (unsigned)(gen_random(seed) % 20), &program);
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
        find_starts(i);
    }
    return good;
}

static void report(time_t start)
{
    printf("%llu accepted programs, %llu refused, %llu instructions, %llu round trips; ends: budget %llu, window %llu, "
           "absent script %llu, too deep %llu; %lld s\n",
           (unsigned long long)count.accepted, (unsigned long long)count.refused,
           (unsigned long long)count.instructions, (unsigned long long)count.trips, (unsigned long long)count.budgets,
           (unsigned long long)count.windows, (unsigned long long)count.absent, (unsigned long long)count.deep,
           (long long)(time(NULL) - start));
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
