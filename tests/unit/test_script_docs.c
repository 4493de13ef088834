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
    static char text[65536];
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(examples_assemble_to_the_words_beside_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
