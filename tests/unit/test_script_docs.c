/* docs/SCRIPT_ISA.md: every ```asm example gives the words its comments promise, verifies and runs. */
#include "engine/base/bytes.h"
#include "engine/script/script.h"
#include "host_tools/scriptasm/scriptasm.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static const char page[] = "docs/SCRIPT_ISA.md";

static uint32_t refuse(void *c, uint32_t k, tw_script_ctx_t *s)
{
    (void)c;
    (void)s;
    return k + 1;
}

/* The hexadecimal words of the comments, in order. */
static unsigned promised(const char *text, uint16_t *words, unsigned max)
{
    unsigned n = 0;
    for (const char *at = strchr(text, ';'); at != NULL; at = strchr(at, ';')) {
        char *stop;
        at++;
        for (unsigned long w = strtoul(at, &stop, 16); stop != at && n < max; w = strtoul(at, &stop, 16)) {
            words[n++] = (uint16_t)w;
            at = stop;
            if (*at == '\n') {
                break;
            }
        }
    }
    return n;
}

static void check_example(const char *text)
{
    static tw_asm_out_t out;
    static tw_script_ctx_t ctx;
    const tw_script_host_t host = {.syscall = refuse};
    uint8_t memory[32] = {1, 0, 0, 0, 2};
    uint16_t words[64];
    tw_fault_t f;
    const unsigned n = promised(text, words, 64);
    if (!tw_asm(text, strlen(text), &out) || out.n_diags != 0 || out.code_bytes != 2 * n) {
        fail_msg("%s\n%u words promised, %u given, %s", text, n, out.code_bytes / 2, out.diags[0].text);
    }
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(tw_get_le16(out.code + 2 * i), words[i]);
    }
    const tw_script_t s = {.code = out.code,
                           .code_bytes = out.code_bytes,
                           .regs = 6,
                           .ptrs = 6,
                           .stack = 4,
                           .mem = memory,
                           .mem_bytes = sizeof memory};
    if (tw_script_verify(&s, false, NULL, &f) != TW_OK) {
        fail_msg("%s\n%s at %u", text, tw_err_name(f.err), f.at);
    }
    assert_int_equal(tw_script_run(&s, &host, &ctx, NULL, 0, true, 0), TW_OK);
}

static void examples_assemble_to_the_words_beside_them(void **state)
{
    (void)state;
    static char text[131072];
    unsigned examples = 0;
    FILE *const f = fopen(page, "rb");
    if (f == NULL) {
        fail_msg("%s not found: run from the top of the tree", page);
    }
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    for (char *at = strstr(text, "```asm\n"); at != NULL; at = strstr(at, "```asm\n")) {
        char *const end = strstr(at + 7, "```");
        assert_non_null(end);
        *end = 0;
        check_example(at + 7);
        examples++;
        at = end + 1;
    }
    assert_true(examples >= 4);
}

/* ---- the example of each instruction ---- */

static const struct {
    const char *name, *text, *result;
} of_each[] = {
#define TW_SEXAMPLE(NAME, text, result) {#NAME, text, result},
#include "engine/script/script_examples.def"
};

static const struct {
    const char *name, *mnemonic;
} opcodes[] = {
#define TW_SOP(key, NAME, mnemonic, FORM, EFFECT, COST, meaning) {#NAME, mnemonic},
#include "engine/script/script_opcodes.def"
};

static uint32_t agree(void *c, uint32_t k, tw_script_ctx_t *s)
{
    (void)c;
    (void)k;
    (void)s;
    return 0;
}

static const tw_script_t *adds_five(void *c, uint32_t k)
{
    (void)c;
    static const uint8_t code[] = {0x05, 0x40, 0x00, 0xC0};
    static const tw_script_t s = {.code = code, .code_bytes = sizeof code, .regs = 1};
    return k == 1 ? &s : NULL;
}

static void run_example(const char *name, const char *statements, const char *result)
{
    static tw_asm_out_t out;
    static tw_script_ctx_t ctx;
    const tw_script_host_t host = {.syscall = agree, .callapp = agree, .script = adds_five};
    char text[256];
    uint8_t memory[32];
    uint8_t image[256] = {0};
    tw_fault_t f;
    for (unsigned i = 0; i < sizeof memory; i++) {
        memory[i] = (uint8_t)i;
    }
    snprintf(text, sizeof text, "%s", statements);
    for (char *at = strstr(text, " / "); at != NULL; at = strstr(at, " / ")) {
        at[1] = '\n';
    }
    if (!tw_asm(text, strlen(text), &out)) {
        fail_msg("%s: %s", name, out.diags[0].text);
    }
    memcpy(image, out.code, out.code_bytes);
    memcpy(image + tw_round_up(out.code_bytes, 4), out.pool, out.pool_bytes);
    const tw_script_t s = {.code = image,
                           .code_bytes = out.code_bytes,
                           .pool_bytes = out.pool_bytes,
                           .regs = 6,
                           .ptrs = 6,
                           .stack = 4,
                           .mem = memory,
                           .mem_bytes = sizeof memory};
    if (tw_script_verify(&s, false, NULL, &f) != TW_OK) {
        fail_msg("%s: %s", name, tw_script_explain(image, out.code_bytes, &f, text, sizeof text));
    }
    assert_int_equal(tw_script_run(&s, &host, &ctx, NULL, 0, true, 0), TW_OK);
    const long long want = strtoll(strchr(result, '=') + 1, NULL, 10);
    const long long got = result[0] == 'T' ? ctx.flag : (long long)tw_script_reg_int(&ctx, (unsigned)(result[1] - '0'));
    if (got != want) {
        fail_msg("%s: %s gives %lld, not %s", name, statements, got, result);
    }
}

static void each_instruction_has_an_example_that_gives_what_it_says(void **state)
{
    (void)state;
    assert_int_equal(TW_COUNT(of_each), TW_COUNT(opcodes));
    for (size_t i = 0; i < TW_COUNT(of_each); i++) {
        assert_string_equal(of_each[i].name, opcodes[i].name);
        assert_non_null(strstr(of_each[i].text, opcodes[i].mnemonic));
        run_example(of_each[i].name, of_each[i].text, of_each[i].result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_assemble_to_the_words_beside_them),
        cmocka_unit_test(each_instruction_has_an_example_that_gives_what_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
