/* Random programs: what passes the verifier fails by nothing but budget or window; other bytes only fail. */
#include "tests/unit/machine_rig.h"

/* ---- random programs ---- */

static uint16_t random_operands(uint64_t *seed)
{
    static const uint8_t codes[] = {0, 1, 2, 3, 0, 1, 2, 3, 12, 13, 14, 15};
    return (uint16_t)(codes[next_random(seed) % TW_COUNT(codes)] << 4 | codes[next_random(seed) % TW_COUNT(codes)]);
}

static uint16_t random_word(uint64_t *seed)
{
    static const uint16_t stack[] = {0xC200, 0xC400, 0x10E0, 0x100E, 0xD1FE, 0x2E00, 0x106E, 0x0801, 0x0320};
    static const uint16_t control[] = {0x0001, 0x0081, 0x0002, 0x0082, 0x0602, 0x0203, 0x0283, 0x0181,
                                       0x0309, 0x0489, 0xC000, 0xC110, 0x0441, 0xCF00, 0x073F, 0xC300};
    static const uint16_t memory[] = {0x1107, 0x1907, 0x1270, 0x1A71, 0x1067, 0x1117, 0x1171, 0x11E7, 0x127E, 0xC667,
                                      0xC767, 0x3271, 0x3270, 0x3279, 0xE571, 0x1106, 0x1260, 0xC909, 0x1410};
    const uint64_t r = next_random(seed);
    switch (r % 10) {
    case 0:
        return stack[(r >> 8) % TW_COUNT(stack)];
    case 2:
        return control[(r >> 8) % TW_COUNT(control)];
    case 1:
        return memory[(r >> 8) % TW_COUNT(memory)];
    case 3:
        return (uint16_t)(0x1000 | ((r >> 8) % 2) << 10 | random_operands(seed));
    case 4:
        return (uint16_t)(0x3000 | ((r >> 8) % 6) << 8 | 0x60 | (r >> 16 & 0x13));
    case 5:
        return (uint16_t)(0x4000 + ((r >> 8) % 6) * 0x1000 + ((r >> 16) % 4) * 0x100 + (r >> 32 & 255));
    default:
        return (uint16_t)(0xC600 + ((r >> 8) % 0x2A) * 0x100 + random_operands(seed));
    }
}

/* Words, three labels somewhere, a ret; two constants with label 1 in the pool's place of label 4. */
static void random_program(image_t *im, uint64_t *seed)
{
    static const uint8_t pool[] = {1, 2, 3, 4, 5, 6, 7, 8, 1, TW_T_I16, 0, 0, 1, 0};
    const unsigned n = 2 + (unsigned)(next_random(seed) % 20);
    uint8_t *p = im->bytes;
    const bool with_pool = next_random(seed) % 2 != 0;
    unsigned label = with_pool ? 2 : 1;
    for (unsigned i = 0; i < n; i++, p += 2) {
        if (label < 4 && next_random(seed) % 6 == 0) {
            tw_put_le16(p, (uint16_t)(0x0500 | label++));
            continue;
        }
        const uint16_t w = random_word(seed);
        tw_put_le16(p, w);
        if (w == 0x2E00) {
            p += 2;
            tw_put_le16(p, (uint16_t)(next_random(seed) & 255));
        }
    }
    for (; label < 4; label++, p += 2) {
        tw_put_le16(p, (uint16_t)(0x0500 | label));
    }
    tw_put_le16(p, 0xC000);
    const uint32_t bytes = (uint32_t)(p + 2 - im->bytes);
    memcpy(im->bytes + tw_round_up(bytes, 4), pool, sizeof pool);
    im->s = (tw_script_t){.code = im->bytes,
                          .code_bytes = bytes,
                          .pool_bytes = with_pool ? sizeof pool : 0,
                          .regs = 4,
                          .ptrs = 2,
                          .stack = 6};
}

/* A verified script may step out of a window that it has, and its callee may be absent; nothing else goes wrong. */
static bool excused(const image_t *im, tw_err_t err)
{
    const uint16_t w = tw_get_le16(im->bytes + ctx.pc);
    const unsigned high = w >> 8;
    const bool store = high == 0x12 || high == 0x1A;
    if (err != TW_E_SCR_FAULT) {
        return err == TW_OK || err == TW_E_SCR_BUDGET;
    }
    if (!store && high != 0x11 && high != 0x19) {
        return (w & 0xFF40) == 0x0440;
    }
    const tw_sptr_t *const p = &ctx.p[(store ? w >> 4 & 15 : w & 15) - 6];
    return p->space != 0 && !(store && p->space == 2);
}

/* Run an accepted program. One that calls another script may miss a window there as well. */
static tw_err_t run_accepted(const image_t *im, unsigned i, bool calls, int64_t r0)
{
    const int64_t args[2] = {r0, i % 7};
    const uint32_t budget = 100 + i % 300;
    const tw_err_t err = tw_script_run(&im->s, &host, &ctx, args, 2, i & 2, budget);
    const bool fine = calls ? err != TW_E_SCR_STACK : excused(im, err) && ctx.sp <= im->s.stack;
    if (!fine || ctx.used > budget || ctx.sp > 2 * im->s.stack) {
        fail_msg("program %u: %s at %u, %u used, depth %u", i, tw_err_name(err), ctx.pc, ctx.used, ctx.sp);
    }
    return err;
}

static void accepted_programs_never_fail_but_by_budget_or_window(void **state)
{
    (void)state;
    static image_t im;
    static image_t callee;
    static uint8_t callee_memory[24];
    uint64_t seed = 0x9E3779B97F4A7C15u;
    unsigned accepted = 0;
    unsigned completed = 0;
    for (unsigned i = 0; i < 1000000; i++) {
        tw_fault_t f;
        uint64_t calls = 0;
        random_program(&im, &seed);
        im.s.mem = malloc(24); /* exactly, so that the sanitizer sees one byte too far */
        im.s.mem_bytes = 24;
        memset(im.s.mem, 0, 24);
        im.s.shared = i & 1;
        if (tw_script_verify(&im.s, false, &calls, &f) == TW_OK) {
            accepted++;
            completed += run_accepted(&im, i, calls != 0, (int64_t)next_random(&seed)) == TW_OK;
            if (calls == 0) {
                callee = im;
                callee.s.code = callee.bytes;
                callee.s.mem = callee_memory;
                world.script = &callee.s;
            }
        }
        free(im.s.mem);
    }
    print_message("%u accepted, %u ran to their end\n", accepted, completed);
    assert_true(accepted > 10000);
    assert_true(completed > 5000);
}

/* The same call in portions, with a memory of its own. @return how it ended */
static tw_err_t run_in_portions(const image_t *im, tw_script_ctx_t *c, uint8_t mem[24], uint32_t portion)
{
    tw_script_t s = im->s;
    tw_err_t err = TW_E_SCR_HELD;
    s.mem = mem;
    tw_script_begin(c, &s, &host, NULL, 0, true, 300);
    while (err == TW_E_SCR_HELD) {
        const uint32_t before = c->used;
        err = tw_script_go(c, portion);
        assert_true(portion == 0 || c->used <= before + portion);
    }
    assert_int_equal(tw_script_go(c, 0), err); /* what ended stays ended */
    return err;
}

static void a_call_in_portions_ends_as_one_without(void **state)
{
    (void)state;
    static image_t im;
    static tw_script_ctx_t parts;
    uint64_t seed = 77;
    memset(&world, 0, sizeof world);
    for (unsigned i = 0; i < 100000; i++) {
        uint8_t mem[2][24] = {{0}};
        tw_fault_t f;
        random_program(&im, &seed);
        im.s.mem_bytes = 24;
        if (tw_script_verify(&im.s, false, NULL, &f) != TW_OK) {
            continue;
        }
        const tw_err_t err = run_in_portions(&im, &ctx, mem[0], 0);
        assert_int_equal(run_in_portions(&im, &parts, mem[1], 1 + i % 3), err);
        assert_int_equal(parts.used, ctx.used);
        assert_int_equal(parts.sp, ctx.sp);
        assert_int_equal(parts.flag, ctx.flag);
        assert_memory_equal(parts.r, ctx.r, sizeof ctx.r);
        assert_memory_equal(parts.rt, ctx.rt, sizeof ctx.rt);
        assert_memory_equal(parts.stack, ctx.stack, ctx.sp * sizeof ctx.stack[0]);
        assert_memory_equal(mem[0], mem[1], sizeof mem[0]);
    }
}

static void brk_holds_when_the_debugger_says_so(void **state)
{
    (void)state;
    static image_t im;
    build(&im, "movi int32 r1 1\nbrk 3\ninc r1\nret\n");
    must_verify(&im.s);
    memset(&world, 0, sizeof world);
    world.hold = true;
    tw_script_begin(&ctx, &im.s, &host, NULL, 0, true, 0);
    assert_int_equal(tw_script_go(&ctx, 0), TW_E_SCR_HELD);
    assert_int_equal(world.breaks, 3);
    assert_int_equal(ctx.pc, 8); /* the inc */
    assert_int_equal(tw_script_reg_int(&ctx, 1), 1);
    assert_int_equal(tw_script_go(&ctx, 0), TW_OK);
    assert_int_equal(tw_script_reg_int(&ctx, 1), 2);
}

static void even_unverified_bytes_only_fail(void **state)
{
    (void)state;
    uint64_t seed = 12345;
    for (unsigned i = 0; i < 20000; i++) {
        const uint32_t bytes = 2 + 2 * (uint32_t)(next_random(&seed) % 40);
        uint8_t *const code = malloc(bytes);
        uint8_t mem[8] = {0};
        for (unsigned k = 0; k < bytes; k++) {
            code[k] = (uint8_t)next_random(&seed);
        }
        const tw_script_t s = {
            .code = code, .code_bytes = bytes, .regs = 6, .ptrs = 6, .stack = 64, .mem = mem, .mem_bytes = sizeof mem};
        const tw_err_t err = tw_script_run(&s, &host, &ctx, NULL, 0, true, 500);
        assert_true(err == TW_OK || err == TW_E_SCR_BUDGET || err == TW_E_SCR_FAULT || err == TW_E_SCR_STACK);
        assert_true(ctx.used <= 500 && ctx.sp <= TW_SCRIPT_STACK_MAX);
        free(code);
    }
}

static int no_script(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(accepted_programs_never_fail_but_by_budget_or_window, no_script),
        cmocka_unit_test_setup(a_call_in_portions_ends_as_one_without, no_script),
        cmocka_unit_test_setup(brk_holds_when_the_debugger_says_so, no_script),
        cmocka_unit_test_setup(even_unverified_bytes_only_fail, no_script),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
