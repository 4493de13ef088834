/* The fast script machine against the compact one: registers, types, T, errors, memory, instructions counted and the
 * place of every fault, at every budget. */
#include "engine/base/bytes.h"
#include "engine/script/script_fast_priv.h"
#include "host_tools/scriptasm/scriptasm.h"
#include "tests/support/script_twin.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MEM = 64 };

static tw_asm_out_t out;
static tw_script_ctx_t ctx[2];
static uint8_t script_mem[MEM], callee_mem[24];
static uint8_t memory[MEM];

/* ---- a world that answers the same to both ---- */

static unsigned asked;
static script_twin_t other;
static bool other_there, rude;

static void first(void)
{
    asked = 0;
    memset(callee_mem, 0, sizeof callee_mem);
}

static uint32_t on_call(void *c, uint32_t k, tw_script_ctx_t *s)
{
    (void)c;
    int64_t v = 0;
    asked++;
    if (k >= 32 && k <= 38) {
        (void)tw_script_pop_int(s, &v);
    }
    tw_script_set_int(s, 1, (tw_stype_t)((k + asked) % 9), v + asked);
    if (rude && asked % 2 != 0) { /* what no host of ours does */
        tw_script_set_int(s, 2, TW_T_FP64, asked);
        s->p[1].type = TW_T_U8;
        s->p[0] = (tw_sptr_t){.type = TW_T_I16};
    }
    return asked % 3 == 0;
}

static const tw_script_t *on_script(void *c, uint32_t k)
{
    (void)c;
    return !other_there || k > 3 ? NULL : script_twin_second && k != 1 ? &other.fast : &other.plain;
}

static const tw_script_host_t host = {.syscall = on_call, .callapp = on_call, .script = on_script};

/* ---- helpers ---- */

typedef struct image {
    uint8_t bytes[2048];
    tw_script_t s;
} image_t;

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void fill_memory(uint64_t *seed)
{
    for (unsigned i = 0; i < MEM; i++) {
        memory[i] = (uint8_t)next_random(seed);
    }
}

static void build(image_t *im, const char *text)
{
    if (!tw_asm(text, strlen(text), &out)) {
        fail_msg("%s: %u:%u %s", text, out.diags[0].line, out.diags[0].col, out.diags[0].text);
    }
    memcpy(im->bytes, out.code, out.code_bytes);
    memcpy(im->bytes + tw_round_up(out.code_bytes, 4), out.pool, out.pool_bytes);
    im->s = (tw_script_t){.code = im->bytes,
                          .code_bytes = out.code_bytes,
                          .pool_bytes = out.pool_bytes,
                          .regs = 6,
                          .ptrs = 6,
                          .stack = 16,
                          .mem = script_mem,
                          .mem_bytes = MEM};
}

static void print_code(const tw_script_t *s)
{
    for (uint32_t at = 0; at < s->code_bytes;) {
        char line[80];
        const uint32_t pc = at;
        at += tw_script_disasm(s->code, s->code_bytes, at, line, sizeof line);
        fprintf(stderr, "%4u  %s\n", pc, line);
    }
}

static bool met[TW_U_COUNT];

/* Operations of a translation, marked in `met`. @return how many look at types or hand over */
static unsigned count_slow(const tw_fast_t *f)
{
    const size_t n = (size_t)((const tw_uop_t *)(const void *)f->info - f->uops);
    unsigned slow = 0;
    for (size_t i = 0; i < n; i++) {
        const unsigned op = f->uops[i].op;
        met[op] = true;
        slow += op == TW_U_EXIT || (op >= TW_U_ANY_BINARY && op <= TW_U_ANY_CAST);
    }
    return slow;
}

static void must_agree(const tw_script_t *s, const int64_t *args, unsigned n_args, bool flag, uint32_t most)
{
    script_twin_t twin;
    const char *what = script_twin_make(s, &twin);
    uint32_t n = most;
    if (what == NULL) {
        (void)count_slow(twin.fast.fast);
    }
    for (uint32_t budget = most; what == NULL && budget != 0; budget--) {
        what = script_twin_run(&twin, &host, ctx, args, n_args, flag, budget, memory, first);
        n = budget;
        budget = tw_min_u32(budget, ctx[0].used); /* beyond its end nothing changes */
    }
    if (what != NULL) {
        print_code(s);
        fail_msg("%s differs at a budget of %u: pc %u and %u, %s and %s, used %u and %u", what, n, ctx[0].pc, ctx[1].pc,
                 tw_err_name(ctx[0].err), tw_err_name(ctx[1].err), ctx[0].used, ctx[1].used);
    }
}

/* ---- programs that look like programs ---- */

typedef struct writer {
    image_t *im;
    uint32_t at;
    uint64_t *seed;
    unsigned label, routines;
    unsigned uniform; /* type of all literals, 16: any */
    bool callee;
} writer_t;

static unsigned pick(writer_t *w, unsigned n)
{
    return (unsigned)(next_random(w->seed) >> 20) % n;
}

static void put(writer_t *w, unsigned word)
{
    tw_put_le16(w->im->bytes + w->at, (uint16_t)word);
    w->at += 2;
}

static const uint8_t types[] = {TW_T_I32, TW_T_I32, TW_T_I32, TW_T_FP32, TW_T_FP32, TW_T_I16,  TW_T_U16,  TW_T_U8,
                                TW_T_I8,  TW_T_U32, TW_T_I64, TW_T_U64,  TW_T_FP64, TW_T_FP16, TW_T_CHAR, TW_T_TIME32};

static void put_literal(writer_t *w, unsigned to)
{
    static const uint64_t edges[] = {0, 1, 2, 3, 5, 16, 127, 128, 255, 32767, 65535, 0x7FFFFFFF, 0x80000000};
    const unsigned t = w->uniform < 16 ? w->uniform : types[pick(w, TW_COUNT(types))];
    uint64_t v = pick(w, 3) == 0 ? next_random(w->seed) : edges[pick(w, TW_COUNT(edges))];
    v = pick(w, 3) == 0 ? 0 - v : v;
    if (t == TW_T_FP32 && pick(w, 8) != 0) {
        const float f = (float)(int32_t)pick(w, 2000) / 16.0f - 50.0f;
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        v = bits;
    }
    const unsigned bytes = tw_stype_bytes(t);
    put(w, 0x2000 | to << 8 | t);
    for (unsigned i = 0; i < bytes; i += 2) {
        put(w, (unsigned)(v >> (8 * i)) & (bytes == 1 ? 0xFF : 0xFFFF));
    }
}

/* A value operand: mostly a register. */
static unsigned operand(writer_t *w)
{
    static const uint8_t rare[] = {12, 13, 15, 14};
    return pick(w, 12) != 0 ? pick(w, 6) : rare[pick(w, 4)];
}

static unsigned pointer(writer_t *w)
{
    return 6 + pick(w, 2);
}

static const uint8_t xy_ops[] = {0xD1, 0xD2, 0xD3, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8, 0xD9, 0xDA,
                                 0xDB, 0xDC, 0xDE, 0xDF, 0xE0, 0xE3, 0xE4, 0xCA, 0xCB, 0xCC,
                                 0xCD, 0xCE, 0xC6, 0xC7, 0xD1, 0xD1, 0xD2, 0xD4, 0xDB, 0xDA};

static void put_test(writer_t *w)
{
    static const uint8_t tests[] = {0xE8, 0xE9, 0xEA, 0xEB, 0xEC, 0xED, 0xEE, 0xEF, 0xD0, 0xDD};
    const unsigned op = tests[pick(w, TW_COUNT(tests))];
    switch (pick(w, 4)) {
    case 0:
        put(w, (5 + pick(w, 3)) << 12 | pick(w, 6) << 8 | pick(w, 256));
        break;
    case 1:
        put(w, 0x9080 | pick(w, 6) << 8 | pick(w, 2) << 6 | pick(w, 40));
        break;
    case 2:
        put_literal(w, TW_RC_S0);
        put(w, op << 8 | (op == 0xD0 || op == 0xDD ? 0xE0
                          : op == 0xEF             ? 0xE1
                          : pick(w, 2)             ? pick(w, 6) << 4 | 14
                                                   : 0xE0 | pick(w, 6)));
        break;
    default:
        put(w, op << 8 | (op == 0xD0 || op == 0xDD ? pick(w, 6) << 4 : pick(w, 6) << 4 | pick(w, 5)));
    }
}

static void put_memory(writer_t *w)
{
    static const uint8_t elements[] = {2, 2, 4, 4, 12, 12, 1, 3, 7, 13, 11, 0, 5};
    switch (pick(w, 8)) {
    case 0:
    case 1:
        put(w, (pick(w, 2) ? 0x1900 : 0x1100) | pick(w, 6) << 4 | pointer(w));
        break;
    case 2:
    case 3:
        put(w, (pick(w, 2) ? 0x1A70 : 0x1270) | operand(w));
        break;
    case 4:
        put(w, 0x3200 | pointer(w) << 4 | elements[pick(w, TW_COUNT(elements))]);
        break;
    case 5:
        put(w, 0x3000 | pick(w, 6) << 8 | (pointer(w)) << 4 | operand(w));
        break;
    case 6:
        put_literal(w, TW_RC_S0);
        put(w, (pick(w, 2) ? 0xE57E : 0xE66E) + 0 * w->at);
        break;
    default:
        if (w->im->s.pool_bytes != 0) {
            put(w, 0x0801);
            put(w, 0x106E);
        } else {
            put(w, 0x3070 | 13);
        }
    }
}

/* Two operations of which the second takes what the first gives, as in kernels. */
static void put_chain(writer_t *w)
{
    static const uint8_t ops[] = {0xD1, 0xD2, 0xD4, 0xDE, 0xDF, 0xDB, 0xDA, 0xD9};
    const unsigned x = pick(w, 6);
    const unsigned y = pick(w, 6);
    for (unsigned i = 0; i < 2; i++) {
        const bool last = i == 1;
        switch (pick(w, 8)) {
        case 0:
            put(w, 0x8080 | x << 8 | pick(w, 20)); /* asr */
            break;
        case 1:
            put(w, 0x8040 | x << 8 | pick(w, 20)); /* shr */
            break;
        case 2:
            put(w, last ? 0x1A70 | x : 0x1907 | x << 4);
            break;
        case 3:
            put(w, 0x3070 | y);
            put(w, 0x1107 | x << 4);
            break;
        case 4:
            put_literal(w, TW_RC_S0);
            put(w, ops[pick(w, 8)] << 8 | x << 4 | 14);
            break;
        case 5:
            put(w, 0x4000 | x << 8 | pick(w, 256));
            break;
        default:
            put(w, ops[pick(w, 8)] << 8 | (last && pick(w, 2) ? y << 4 | x : x << 4 | y));
        }
    }
}

static void put_one(writer_t *w)
{
    if (w->uniform < 16 && pick(w, 3) != 0) {
        put_chain(w);
        return;
    }
    switch (pick(w, 16)) {
    case 0:
        put_literal(w, pick(w, 6));
        break;
    case 1: /* a constant and what takes it */
    case 2:
        put_literal(w, TW_RC_S0);
        put(w, xy_ops[pick(w, 17)] << 8 | pick(w, 6) << 4 | 14);
        break;
    case 3:
        put(w, 0x1400 | operand(w) << 4 | pick(w, 6));
        break;
    case 4:
        put(w, 0x1000 | operand(w) << 4 | pick(w, 6));
        break;
    case 5:
        put(w, (0x4 + 0 * w->at) << 12 | pick(w, 6) << 8 | pick(w, 256));
        break;
    case 6:
        put(w, 0x8000 | (pick(w, 2) << 12) | pick(w, 6) << 8 | pick(w, 128) | (pick(w, 2) << 7 & 0x80));
        break;
    case 7:
        put(w, 0xA000 | pick(w, 6) << 8 | pick(w, 2) << 4 | pick(w, 6));
        put(w, pick(w, 16) | pick(w, 17) << 8);
        break;
    case 8:
        put(w, (pick(w, 2) ? 0xC800 : 0xC900) | pick(w, 6) << 4 | types[pick(w, TW_COUNT(types))]);
        break;
    case 9:
        put_test(w);
        break;
    case 10:
    case 11:
        put_memory(w);
        break;
    case 12: /* three operands, one of them pushed */
        put_literal(w, TW_RC_S0);
        put(w, (0xE5 + pick(w, 3)) << 8 | pick(w, 6) << 4 | pick(w, 6));
        break;
    case 13:
        switch (pick(w, 8)) {
        case 0:
            put(w, 0xCF00);
            break;
        case 1:
            put(w, 0xC200);
            put(w, 0xD00E | pick(w, 6) << 4 | 0x100 * (1 + pick(w, 2)));
            break;
        case 2:
            put(w, pick(w, 2) ? 0xE100 | pick(w, 6) << 4 : 0xE200 | pick(w, 6) << 4);
            break;
        case 3:
            put(w, 0x0300 | (pick(w, 3) == 0 ? 0x80 : 0) | 9);
            break;
        case 4:
            put(w, 0xC500);
            break;
        case 5: /* pushed, worked on there, taken back */
            put(w, 0x14E0 | pick(w, 6));
            put(w, 0x14E0 | pick(w, 6));
            put(w, xy_ops[pick(w, TW_COUNT(xy_ops) - 8)] << 8 | (pick(w, 2) ? 0xEE : pick(w, 2) ? 0xFE : 0xEF));
            put(w, 0x100E | pick(w, 6) << 4 | pick(w, 2) << 10);
            break;
        case 6:
            if (w->callee) {
                put(w, 0x0440 | pick(w, 3) | (pick(w, 2) ? 0x80 : 0));
            }
            break;
        default:
            if (w->routines != 0) {
                put(w, 0x0200 | (100 + pick(w, w->routines)) | (pick(w, 3) == 0 ? 0x80 : 0));
            }
        }
        break;
    default:
        put(w, xy_ops[pick(w, TW_COUNT(xy_ops))] << 8 | operand(w) << 4 | operand(w));
    }
}

static void put_some(writer_t *w, unsigned depth);

static void put_loop(writer_t *w, unsigned depth)
{
    const unsigned label = w->label++;
    put(w, 0x2E03);
    put(w, 1 + pick(w, 5));
    put(w, pick(w, 2) ? 0x10CE : 0x14CE);
    put(w, 0x0500 | label);
    put_some(w, depth + 1);
    put(w, 0x0600 | label);
}

static void put_if(writer_t *w, unsigned depth)
{
    const unsigned label = w->label++;
    put_test(w);
    put(w, 0x0080 | label);
    put_some(w, depth + 1);
    put(w, 0x0500 | label);
}

static void put_some(writer_t *w, unsigned depth)
{
    for (unsigned n = 1 + pick(w, 7); n != 0; n--) {
        const unsigned what = pick(w, 10);
        if (what == 0 && depth < 3 && w->label < 90) {
            put_loop(w, depth);
        } else if (what < 3 && depth < 4 && w->label < 90) {
            put_if(w, depth);
        } else {
            put_one(w);
        }
    }
}

static void random_program(image_t *im, uint64_t *seed, bool callee)
{
    static const uint8_t pool[] = {1, 2, 3, 4, 5, 6, 7, 8, 1, TW_T_I16, 0, 0, 1, 0};
    writer_t w = {.im = im, .seed = seed, .label = 2, .callee = callee};
    im->s = (tw_script_t){.code = im->bytes, .regs = 6, .ptrs = 2, .stack = 8, .mem = script_mem, .mem_bytes = MEM};
    im->s.pool_bytes = pick(&w, 2) != 0 ? sizeof pool : 0;
    im->s.shared = 0;
    w.routines = pick(&w, 3);
    w.uniform = 16;
    if (pick(&w, 2) != 0) {
        static const uint8_t common[] = {TW_T_I32,  TW_T_I32,  TW_T_U32,  TW_T_U32,
                                         TW_T_FP32, TW_T_FP32, TW_T_FP64, TW_T_I16};
        static const uint8_t elements[] = {TW_T_I16, TW_T_I16, TW_T_U8, TW_T_I8, TW_T_I64};
        w.uniform = common[pick(&w, TW_COUNT(common))];
        put(&w, 0x3270 | (pick(&w, 2) ? w.uniform : elements[pick(&w, TW_COUNT(elements))]));
    }
    for (unsigned r = 0; r < 6 && pick(&w, 4) != 0; r++) {
        put_literal(&w, r);
    }
    put_some(&w, 0);
    put(&w, 0xC000);
    for (unsigned k = w.routines; k != 0; k--) {
        w.routines = k - 1; /* a routine calls only those behind it */
        put(&w, 0x0500 | (99 + k));
        put_some(&w, 2);
        put(&w, pick(&w, 2) ? 0xC000 : 0x0700 | pick(&w, 64));
    }
    im->s.code_bytes = w.at;
    memcpy(im->bytes + tw_round_up(w.at, 4), pool, sizeof pool);
}

static unsigned run_programs(unsigned n, uint64_t seed)
{
    static image_t im, callee;
    unsigned accepted = 0;
    for (unsigned i = 0; i < n; i++) {
        tw_fault_t f;
        const int64_t args[6] = {(int64_t)next_random(&seed), i % 7, -1, 1000, 3, INT32_MIN};
        random_program(&im, &seed, i % 4 == 0);
        if (tw_script_verify(&im.s, false, NULL, &f) != TW_OK) {
            continue;
        }
        accepted++;
        fill_memory(&seed);
        must_agree(&im.s, args, i % 8 == 7 ? 6 : i % 3, i & 1, i % 16 == 0 ? 200 : 60 + i % 200);
        if (i % 4 != 0) {
            callee = im;
            callee.s.code = callee.bytes;
            callee.s.mem = callee_mem;
            callee.s.mem_bytes = sizeof callee_mem;
            other_there = script_twin_make(&callee.s, &other) == NULL;
        }
    }
    return accepted;
}

static void random_programs_end_alike_at_every_budget(void **state)
{
    (void)state;
    rude = false;
    const char *const wanted = getenv("TW_FAST_PROGRAMS");
    const unsigned n = wanted != NULL ? (unsigned)strtoul(wanted, NULL, 10) : 40000;
    const unsigned accepted = run_programs(n, 0x9E3779B97F4A7C15u);
    print_message("%u of %u programs accepted\n", accepted, n);
    assert_true(accepted > n / 4);
}

static void a_host_that_changes_anything_changes_nothing(void **state)
{
    (void)state;
    rude = true;
    assert_true(run_programs(3000, 4711) > 700);
    rude = false;
}

static const char *const texts[] = {
    "conv r0 int32\ncopy lc r0\nmovi int32 r0 0\nmovi int32 r1 0\nl: load r1 *p5+\nadd r0 r1\nbanz l\nret",
    "movi int16 r1 7\nptype p5 int16\nl: load r1 *p5+\nload r2 *p5\nmul r2 r1\nadd r0 r2\nstore *p5 r0\njmp l",
    "pshc int16 9\ncall #1\nadd r0 s0\nadd r0 s0\nret\nlabl #1\npshc int32 4\nmul r0 s0\nretp r0",
    "movi int32 r0 1\ncall #1\npshc int8 3\ncall #1\nret\nlabl #1\npshc int16 5\nadd s0 r0\ncopyt r0 s0\nret",
    "psha t\ncopy p0 s0\nload r0 *p0+\nload r1 *p0+\nplen p0 r2\nload r3 *p0+\nret\nt: 2 i16; 5 -1",
    "movi fp32 r0 1.5\nmovi fp32 r1 2\nlerp_: pshc fp32 0.25\nlerp r0 r1\ngts r0 r1\ncjmp lerp_\nret",
    "movi int32 r0 7\nmovi int32 r1 5\nmovi uint16 r2 1\ncopyt r2 lc\ncopy p0 p5\npshc int32 10\nnop\naddm r0 r1\n"
    "pshc int32 10\nnop\nsubm r0 r1\nadd r0 r2\nret",
    "ptype p5 int16\nmovi int16 r1 0\nmovi int32 r0 0\nmovi int32 r2 3\nl: load r1 *p5+\nadd r0 r1\nload r1 *p5+\n"
    "sub r0 r1\nload r1 *p5\ncopy r0 r1\npshc int32 3\nmul r0 s0\nload r1 *p5\ncopy r0 r1\nmul r0 r2\njmp l",
    "l: call #1\njmp l\nlabl #1\ncall #2\nret\nlabl #2\ncall #3\nret\nlabl #3\nret",
    "copy lc zero\npshc fp16 0xFBFF\ncopyt lc s0\nret", /* a constant beyond the counter, behind one that was none */
};

static void a_program_ends_alike_at_every_budget(void **state)
{
    (void)state;
    static image_t im;
    uint64_t seed = 5;
    rude = false;
    for (size_t i = 0; i < TW_COUNT(texts); i++) {
        tw_fault_t f;
        const int64_t args[2] = {8, 2};
        build(&im, texts[i]);
        if (tw_script_verify(&im.s, false, NULL, &f) != TW_OK) {
            fail_msg("%s: refused, %s at %u", texts[i], tw_err_name(f.err), f.at);
        }
        fill_memory(&seed);
        must_agree(&im.s, args, 2, true, 300);
        must_agree(&im.s, NULL, 0, false, 300);
    }
}

static void where_types_are_known_nothing_looks_at_them(void **state)
{
    (void)state;
    static image_t im;
    script_twin_t twin;
    build(&im, "pshc uint16 8\ncopy lc s0\nmovi fp32 r0 0\nmovi fp32 r1 0\nptype p5 fp32\nl: load r1 *p5+\n"
               "pshc fp32 0.5\nmul r1 s0\nadd r0 r1\nltk r0 9\ncjmp m\nmovi fp32 r0 0\nm: banz l\nret");
    assert_null(script_twin_make(&im.s, &twin));
    assert_int_equal(count_slow(twin.fast.fast), 0);
}

static void every_operation_was_met(void **state)
{
    (void)state;
    static const char *const names[] = {
#define TW_UOP(NAME) #NAME,
#include "engine/script/script_fast_uops.def"
    };
    unsigned missing = 0;
    for (unsigned i = 0; i < TW_U_COUNT; i++) {
        if (!met[i]) {
            print_message("never met: %s\n", names[i]);
            missing++;
        }
    }
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_ends_alike_at_every_budget),
        cmocka_unit_test(random_programs_end_alike_at_every_budget),
        cmocka_unit_test(where_types_are_known_nothing_looks_at_them),
        cmocka_unit_test(a_host_that_changes_anything_changes_nothing),
        cmocka_unit_test(every_operation_was_met),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
