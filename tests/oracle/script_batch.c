/* script_batch.c - random or given TWV-16 programs through verifier and machines; tests/oracle/script_diff.py compares.
 *
 *   script_batch SEED COUNT MUTATED    COUNT accepted programs, MUTATED percent of them with changed words; for each
 * the program and the result are written to stdout script_batch -                     programs from stdin; for each the
 * result
 *
 * A record is its length (u32) and its bytes, little-endian:
 *   program   n_scripts u8, T u8, privileged u8, n_args u8, budget u32, args 3 x i64; then for each script:
 *             code u16, pool u16 [bytes], regs, ptrs, stack, shared, mem, 0, 0, 0 u8, memory, code and pool as stored
 *   result    error of the verifier i32, its place u32; when 0: error of the run i32, pc u32, used u32, T u8, errors
 * u8, lc u16, entries of the stack u16; r0..r5 and the stack: type u8, image u64; p0..p5: space
 * u8, type u8, size u32, offset u32, base u32 (from the memory or the pool); the memories COUNT mode ends with a record
 * of the number of refused programs (u32).
 */
#include "engine/script/script_debug.h"
#include "tests/oracle/script_gen.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD = 8192 };

static uint8_t memory[GEN_SCRIPTS][GEN_MEM];
static uint16_t labels[GEN_SCRIPTS][TW_SCRIPT_LABELS]; /* without them a callscript is charged for finding them */
static tw_script_t scripts[GEN_SCRIPTS];
static unsigned n_scripts;
static uint32_t breaks;
static uint32_t translated; /* scripts that the fast machine ran */
static tw_script_ctx_t ctx;

/* ---- bytes ---- */

static uint8_t record[RECORD];
static uint32_t filled;

static void put(const void *data, size_t n)
{
    if (filled + n <= sizeof record) {
        memcpy(record + filled, data, n);
        filled += (uint32_t)n;
    }
}

static void put8(unsigned v)
{
    const uint8_t b = (uint8_t)v;
    put(&b, 1);
}

static void put16(unsigned v)
{
    uint8_t b[2];
    tw_put_le16(b, (uint16_t)v);
    put(b, 2);
}

static void put32(uint32_t v)
{
    uint8_t b[4];
    tw_put_le32(b, v);
    put(b, 4);
}

static void put64(uint64_t v)
{
    uint8_t b[8];
    tw_put_le64(b, v);
    put(b, 8);
}

static void flush(void)
{
    uint8_t n[4];
    tw_put_le32(n, filled);
    if (fwrite(n, 1, 4, stdout) != 4 || fwrite(record, 1, filled, stdout) != filled) {
        exit(1);
    }
    filled = 0;
}

/* ---- the world: answers made of what it is asked; twv16.py has the same ---- */

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0xFF51AFD7ED558CCDull;
    return h ^ h >> 32;
}

static uint32_t on_call(void *c, uint32_t k, tw_script_ctx_t *s)
{
    (void)c;
    int64_t popped = 0;
    uint32_t n = 0;
    if (k >= 32 && k <= 38) {
        (void)tw_script_pop_int(s, &popped);
    }
    uint64_t h = mix(mix(k + 1, breaks), (uint64_t)popped);
    for (unsigned i = 0; i < 3; i++) {
        h = mix(h, (uint64_t)tw_script_reg_int(s, i));
    }
    const uint8_t *const from = tw_script_window(s, 1, &n, false);
    h = from != NULL && n != 0 ? mix(h, from[0] + 256 * (uint64_t)n) : h;
    uint8_t *const to = tw_script_window(s, 0, &n, true);
    if (to != NULL && n != 0) {
        to[0] = (uint8_t)(h >> 50);
    }
    if ((h & 1) != 0) {
        tw_script_set_int(s, 1, (tw_stype_t)((h >> 8) % 9), (int64_t)(h >> 40 & 127));
    }
    return (h & 6) == 0 ? (uint32_t)(h >> 20 & 15) : 0;
}

static uint32_t on_app(void *c, uint32_t k, tw_script_ctx_t *s)
{
    return on_call(c, 128 + k, s);
}

static const tw_script_t *on_script(void *c, uint32_t k)
{
    (void)c;
    return k > 0 && k < n_scripts ? &scripts[k] : NULL;
}

static bool on_brk(void *c, uint32_t k, tw_script_ctx_t *s)
{
    (void)c;
    (void)s;
    breaks += k;
    return false;
}

static tw_script_host_t host = {.syscall = on_call, .callapp = on_app, .script = on_script, .brk = on_brk};

/* ---- results ---- */

static void put_value(tw_stype_t t, uint64_t image)
{
    put8(t);
    put64(t == TW_T_PTR ? 0 : image);
}

static void put_pointer(const tw_sptr_t *p)
{
    uint32_t base = 0;
    for (unsigned i = 0; i < n_scripts; i++) {
        const uint8_t *const of = p->space == 1 ? memory[i] : scripts[i].code + tw_round_up(scripts[i].code_bytes, 4);
        if (p->space != 0 && p->base >= of && p->base <= of + (p->space == 1 ? GEN_MEM - 1 : GEN_POOL)) {
            base = (uint32_t)(p->base - of);
        }
    }
    put8(p->space);
    put8(p->type);
    put32(p->size);
    put32(p->offset);
    put32(base);
}

static void put_state(tw_err_t err)
{
    put32((uint32_t)err);
    put32(ctx.pc);
    put32(ctx.used);
    put8(ctx.flag);
    put8(ctx.errors);
    put16(ctx.lc);
    put16(ctx.sp);
    tw_stype_t t;
    uint64_t image;
    for (unsigned i = 0; i < TW_SCRIPT_REGS && tw_script_look(&ctx, TW_LOOK_R0 + i, &t, &image) == TW_OK; i++) {
        put_value(t, image);
    }
    for (unsigned i = 0; tw_script_stack(&ctx, i, &t, &image); i++) {
        put_value(t, image);
    }
    for (unsigned i = 0; i < TW_SCRIPT_PTRS; i++) {
        put_pointer(&ctx.p[i]);
    }
    for (unsigned i = 0; i < n_scripts; i++) {
        put(memory[i], scripts[i].mem_bytes);
    }
}

/* ---- one program ---- */

static tw_err_t verify(const gen_program_t *p, tw_fault_t *f)
{
    n_scripts = p->n_scripts;
    for (unsigned i = 0; i < n_scripts; i++) {
        scripts[i] = gen_view(p, i, memory[i]);
    }
    for (unsigned i = 0; i < n_scripts; i++) {
        TW_TRY(tw_script_verify(&scripts[i], p->privileged, NULL, f));
        tw_script_index(&scripts[i], labels[i]);
        scripts[i].labels = labels[i];
    }
    return TW_OK;
}

static void start(const gen_program_t *p)
{
    breaks = 0;
    host.privileged = p->privileged;
    memset(&ctx, 0xA5, sizeof ctx);
    for (unsigned i = 0; i < n_scripts; i++) {
        memcpy(memory[i], p->scripts[i].mem, GEN_MEM);
    }
    tw_script_begin(&ctx, &scripts[0], &host, p->args, p->n_args, p->flag, p->budget);
}

/* A second way of running: what differs is kept behind the first state, so that the comparison fails. */
static void keep_if_different(uint32_t from, uint32_t to)
{
    if (filled - to == to - from && memcmp(record + from, record + to, to - from) == 0) {
        filled = to;
    }
}

static void translate(void)
{
#if defined(TW_SCRIPT_FAST) && TW_SCRIPT_FAST
    static _Alignas(16) uint8_t room[GEN_SCRIPTS][131072];
    for (unsigned i = 0; i < n_scripts; i++) {
        scripts[i].fast = tw_script_translate(&scripts[i], room[i], sizeof room[i]);
        translated += scripts[i].fast != NULL;
    }
#endif
}

static void forget(void)
{
#if defined(TW_SCRIPT_FAST) && TW_SCRIPT_FAST
    for (unsigned i = 0; i < n_scripts; i++) {
        scripts[i].fast = NULL;
    }
#endif
}

/* At once, in portions of `part` instructions, and by the fast machine where there is one. */
static void run(const gen_program_t *p, uint32_t part)
{
    const uint32_t from = filled;
    start(p);
    put_state(tw_script_go(&ctx, 0));
    const uint32_t to = filled;
    start(p);
    tw_err_t err = TW_E_SCR_HELD;
    while (err == TW_E_SCR_HELD) {
        err = tw_script_go(&ctx, part);
    }
    put_state(err);
    keep_if_different(from, to);
    translate();
    start(p);
    put_state(tw_script_go(&ctx, 0));
    keep_if_different(from, to);
    forget();
}

static void put_program(const gen_program_t *p)
{
    put8(p->n_scripts);
    put8(p->flag);
    put8(p->privileged);
    put8(p->n_args);
    put32(p->budget);
    for (unsigned i = 0; i < GEN_ARGS; i++) {
        put64((uint64_t)p->args[i]);
    }
    for (unsigned i = 0; i < p->n_scripts; i++) {
        const gen_script_t *const s = &p->scripts[i];
        put16(s->code_bytes);
        put16(s->pool_bytes);
        put8(s->regs);
        put8(s->ptrs);
        put8(s->stack);
        put8(s->shared);
        put32(s->mem_bytes);
        put(s->mem, s->mem_bytes);
        put(s->bytes, tw_script_bytes(s->code_bytes, s->pool_bytes));
    }
}

static int generate(uint64_t seed, uint32_t count, unsigned mutated)
{
    static gen_program_t p;
    uint32_t refused = 0;
    tw_fault_t f;
    seed = seed * 0x9E3779B97F4A7C15ull + 1;
    for (uint32_t n = 0; n < count;) {
        gen_program(&seed, 22, &p);
        if (gen_random(&seed) % 100 < mutated) {
            gen_mutate(&seed, &p);
        }
        if (verify(&p, &f) != TW_OK) {
            refused++;
            continue;
        }
        put_program(&p);
        flush();
        put32(0);
        put32(0);
        run(&p, 1 + n % 9);
        flush();
        n++;
    }
    put32(refused);
    put32(translated);
    flush();
    return 0;
}

/* ---- programs from outside ---- */

static const uint8_t *take(const uint8_t **at, const uint8_t *end, size_t n)
{
    const uint8_t *const from = *at;
    if (n > (size_t)(end - from)) {
        return NULL;
    }
    *at += n;
    return from;
}

static bool get_script(const uint8_t **at, const uint8_t *end, gen_script_t *s)
{
    const uint8_t *const head = take(at, end, 12);
    if (head == NULL) {
        return false;
    }
    memset(s, 0, sizeof *s);
    s->code_bytes = tw_get_le16(head);
    s->pool_bytes = tw_get_le16(head + 2);
    s->regs = head[4];
    s->ptrs = head[5];
    s->stack = head[6];
    s->shared = head[7];
    s->mem_bytes = head[8];
    const uint32_t n = tw_script_bytes(s->code_bytes, s->pool_bytes);
    const uint8_t *const mem = take(at, end, s->mem_bytes);
    const uint8_t *const bytes = take(at, end, n);
    if (bytes == NULL || mem == NULL || s->mem_bytes > GEN_MEM || n > sizeof s->bytes) {
        return false;
    }
    memcpy(s->mem, mem, s->mem_bytes);
    memcpy(s->bytes, bytes, n);
    return true;
}

static bool get_program(const uint8_t *at, const uint8_t *end, gen_program_t *p)
{
    const uint8_t *const head = take(&at, end, 8 + 8 * GEN_ARGS);
    if (head == NULL || head[0] == 0 || head[0] > GEN_SCRIPTS || head[3] > GEN_ARGS) {
        return false;
    }
    p->n_scripts = head[0];
    p->flag = head[1] != 0;
    p->privileged = head[2] != 0;
    p->n_args = head[3];
    p->budget = tw_get_le32(head + 4);
    for (unsigned i = 0; i < GEN_ARGS; i++) {
        p->args[i] = (int64_t)tw_get_le64(head + 8 + 8 * i);
    }
    bool good = true;
    for (unsigned i = 0; good && i < p->n_scripts; i++) {
        good = get_script(&at, end, &p->scripts[i]);
    }
    return good;
}

static int answer(void)
{
    static uint8_t in[RECORD];
    static gen_program_t p;
    uint8_t head[4];
    while (fread(head, 1, 4, stdin) == 4) {
        const uint32_t n = tw_get_le32(head);
        if (n > sizeof in || fread(in, 1, n, stdin) != n || !get_program(in, in + n, &p)) {
            fprintf(stderr, "script_batch: no program\n");
            return 1;
        }
        tw_fault_t f = {0};
        const tw_err_t err = verify(&p, &f);
        put32((uint32_t)err);
        put32(f.at);
        if (err == TW_OK) {
            run(&p, 3);
        }
        flush();
        fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "-") == 0) {
        return answer();
    }
    if (argc != 4) {
        fprintf(stderr, "script_batch - | SEED COUNT MUTATED\n");
        return 2;
    }
    return generate(strtoull(argv[1], NULL, 0), (uint32_t)strtoul(argv[2], NULL, 0),
                    (unsigned)strtoul(argv[3], NULL, 0));
}
