/* Assembler and disassembler: golden words, every word there is, and what a wrong line is told. */
#include "engine/base/bytes.h"
#include "engine/script/script.h"
#include "host_tools/scriptasm/scriptasm.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static tw_asm_out_t out;

static bool assemble(const char *text)
{
    return tw_asm(text, strlen(text), &out);
}

/* Disassemble all of it, one instruction a line. */
static void listing(const uint8_t *code, uint32_t bytes, char *text, size_t n)
{
    size_t used = 0;
    text[0] = 0;
    for (uint32_t at = 0; at < bytes;) {
        char line[80];
        at += tw_script_disasm(code, bytes, at, line, sizeof line);
        used += (size_t)snprintf(text + used, n - used, "%s\n", line);
        assert_true(used < n);
    }
}

static const struct {
    const char *why, *text;
    uint16_t words[12];
    unsigned n;
} golden[] = {
    {"first seed example", "movi int16 r0 1\nequ r1,r0\nccallsys 1\nret\n", {0x2002, 1, 0xE810, 0x0381, 0xC000}, 5},
    {"second seed example",
     "pshc int8 1\ngtr\ncjmp #1\npshc int16\ncals readparam\nlabl #1\nret",
     {0x2E00, 1, 0xECE0, 0x0081, 0x2E02, 0, 0x0320, 0x0501, 0xC000},
     9},
    {"copy of the older listing", "copy s0 r0\nret", {0x10E0, 0xC000}, 2},
    {"jump", "jmp #1\nlabl #1\nret", {0x0001, 0x0501, 0xC000}, 3},
    {"conditional call", "ccall #1\nret", {0x0281, 0xC000}, 2},
    {"application", "callapp 1\nret", {0x0401, 0xC000}, 2},
    {"script", "callscript 1\nret", {0x0441, 0xC000}, 2},
    {"loop", "banz #1\nret", {0x0601, 0xC000}, 2},
    {"nop", "nop\nret", {0xC500, 0xC000}, 2},
    {"add", "add r1 r0\nret", {0xD110, 0xC000}, 2},
    {"equ against a constant is eqk", "equ r0,#0\nret", {0x5000, 0xC000}, 2},
    {"addk", "addk r0 5\nret", {0x4005, 0xC000}, 2},
    {"cals is a name, not c + als", "cals readparam\nret", {0x0320, 0xC000}, 2},
    {"ccals is conditional", "ccals readparam\nret", {0x03A0, 0xC000}, 2},
    {"conv is a name, not c + onv", "conv r1 int8\nret", {0xC810, 0xC000}, 2},
    {"equ stays apart from conv", "equ r1 r0\nret", {0xE810, 0xC000}, 2},
    {"ccopy is its own instruction", "ccopy r1 r2\nret", {0xC712, 0xC000}, 2},
    {"ccall is conditional", "ccall #3\nret", {0x0283, 0xC000}, 2},
    {"operand-less comparisons",
     "gts\nequ\nlts\ngte\nlte\nneq\nret",
     {0xECE0, 0xE8E0, 0xEAE0, 0xEDE0, 0xEBE0, 0xE9E0, 0xC000},
     7},
    {"floats",
     "movi fp32 r1 1.5\nmovi fp16 r2 -2\nmovi fp64 r0 0x3FF0000000000000\nret",
     {0x210C, 0, 0x3FC0, 0x220B, 0xC000, 0x200D, 0, 0, 0, 0x3FF0, 0xC000},
     11},
    {"names take labels from 127 down", "again: addk r0 -1\njmp again\n", {0x057F, 0x40FF, 0x007F}, 3},
    {"a name avoids numbers in use", "labl #127\nx: jmp x\n", {0x057F, 0x057E, 0x007E}, 3},
    {"post-increment", "load r1 *p0+\nstore *p1 r2\nret", {0x1916, 0x1272, 0xC000}, 3},
    {"fields", "bfx r1 r2 4 8\nbfi r3 r4 0 64\nret", {0xA102, 0x0704, 0xA314, 0x3F00, 0xC000}, 5},
    {"upper case and commas", "MOVI int8, R0, -1 ; all ones\nRET", {0x2000, 0x00FF, 0xC000}, 3},
    {"raw words", "2 h16; 2002 0001\n1 h16; e810\n.h16 0381 C000\n", {0x2002, 1, 0xE810, 0x0381, 0xC000}, 5},
};

static void golden_text_assembles_to_golden_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(golden); i++) {
        if (!assemble(golden[i].text)) {
            fail_msg("%s: %u:%u %s", golden[i].why, out.diags[0].line, out.diags[0].col, out.diags[0].text);
        }
        if (out.code_bytes != 2 * golden[i].n) {
            fail_msg("%s: %u bytes", golden[i].why, out.code_bytes);
        }
        for (unsigned w = 0; w < golden[i].n; w++) {
            if (tw_get_le16(out.code + 2 * w) != golden[i].words[w]) {
                fail_msg("%s: word %u is %04X", golden[i].why, w, tw_get_le16(out.code + 2 * w));
            }
        }
    }
}

static void golden_words_read_as_the_seed_comments(void **state)
{
    (void)state;
    static const uint8_t code[] = {0x02, 0x20, 0x01, 0x00, 0x10, 0xE8, 0x81, 0x03, 0x00, 0xC0};
    char text[256];
    listing(code, sizeof code, text, sizeof text);
    assert_string_equal(text, "movi int16 r0 1\nequ r1 r0\nccallsys 1\nret\n");
}

static void a_second_assembly_of_a_listing_is_identical(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(golden); i++) {
        uint8_t code[64];
        char text[1024];
        assert_true(assemble(golden[i].text));
        const uint32_t bytes = out.code_bytes;
        memcpy(code, out.code, bytes);
        listing(code, bytes, text, sizeof text);
        assert_true(assemble(text));
        assert_int_equal(out.code_bytes, bytes);
        assert_memory_equal(out.code, code, bytes);
    }
}

/* Every first word, before literals that are legal for most and illegal for some. */
static void every_word_survives_disassembly_and_assembly(void **state)
{
    (void)state;
    static const uint16_t tails[][4] = {{0x0004, 0, 0, 0}, {0x00FF, 0x7FC0, 0x1234, 0xFFFF}, {0xC0C0, 1, 2, 3}};
    unsigned resolved = 0;
    for (uint32_t w = 0; w < 0x10000; w++) {
        const uint16_t *tail = tails[w % TW_COUNT(tails)];
        uint8_t code[10];
        char line[80];
        tw_put_le16(code, (uint16_t)w);
        for (unsigned k = 0; k < 4; k++) {
            tw_put_le16(code + 2 + 2 * k, tail[k]);
        }
        const uint32_t n = tw_script_disasm(code, sizeof code, 0, line, sizeof line);
        const bool ok = assemble(line);
        if (!ok || out.code_bytes < n || memcmp(out.code, code, n) != 0) {
            fail_msg("%04X prints as '%s' and does not come back", w, line);
        }
        resolved += line[0] != '.';
    }
    assert_true(resolved > 30000);
}

static void what_does_not_print_is_what_the_verifier_refuses(void **state)
{
    (void)state;
    for (uint32_t w = 0; w < 0x10000; w++) {
        uint8_t code[12] = {0};
        char line[80];
        tw_fault_t fault = {0};
        tw_put_le16(code, (uint16_t)w);
        tw_script_disasm(code, 10, 0, line, sizeof line);
        const tw_script_t s = {.code = code, .code_bytes = 10, .regs = 6, .ptrs = 6, .stack = 8};
        const tw_err_t err = tw_script_verify(&s, true, NULL, &fault);
        const bool unreadable = line[0] == '.';
        const bool illegal = err == TW_E_SCR_BAD_OP || err == TW_E_SCR_RESERVED;
        if (unreadable && (err == TW_OK || fault.at != 0)) {
            fail_msg("%04X does not print, yet the verifier says %s at %u", w, tw_err_name(err), fault.at);
        }
        if (!unreadable && illegal && fault.at == 0) {
            fail_msg("%04X prints as '%s', yet the verifier says %s", w, line, tw_err_name(err));
        }
        if ((w >> 12 == 0xB || w >= 0xF000) && err != TW_E_SCR_RESERVED) {
            fail_msg("%04X is reserved, yet the verifier says %s", w, tw_err_name(err));
        }
    }
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void random_words_survive_disassembly_and_assembly(void **state)
{
    (void)state;
    static char text[8192];
    uint32_t seed = 1;
    for (unsigned round = 0; round < 2000; round++) {
        uint8_t code[128];
        for (unsigned i = 0; i < sizeof code; i++) {
            code[i] = (uint8_t)next_random(&seed);
        }
        listing(code, sizeof code, text, sizeof text);
        /* a label twice is refused by the assembler as by the verifier */
        if (assemble(text)) {
            assert_true(out.code_bytes >= sizeof code);
            assert_memory_equal(out.code, code, sizeof code);
        } else {
            assert_non_null(strstr(out.diags[0].text, "defined twice"));
        }
    }
}

static void data_goes_to_the_pool_behind_the_code(void **state)
{
    (void)state;
    assert_true(assemble("2 h16; 2002 0001 ;\n1 f64; 3.14159265359 ;\n1 h16; e810 ;\n1 i8 ; 0 ; parameters\n"
                         "7 i8 ; 2 3 4 5 6 7 8 ;\n"));
    assert_int_equal(out.code_bytes, 8);
    assert_int_equal(tw_get_le16(out.code + 6), 0xC000);
    assert_int_equal(out.n_diags, 1);
    assert_true(out.diags[0].warning);
    assert_int_equal(out.pool_bytes, 8 + 8 + 2);
    assert_int_equal(out.pool[7], 0x40);
    assert_int_equal(out.pool[15], 8);
}

static void a_label_before_data_is_a_place_in_the_pool(void **state)
{
    (void)state;
    assert_true(assemble("psha table\ncopy p0 s0\nret\nfirst:\n1 u8; 9\ntable:\n2 i32; -1 0x10\n"));
    assert_int_equal(out.code_bytes, 6);
    assert_int_equal(tw_get_le16(out.code), 0x087F);
    /* pool at 8: u8, padding to 4, two words, then {126,u8,0}... in order of appearance, count 2 */
    assert_int_equal(out.pool_bytes, 4 + 8 + 8 + 2);
    assert_int_equal(out.pool[12], 126);
    assert_int_equal(out.pool[13], TW_T_U8);
    assert_int_equal(out.pool[16], 127);
    assert_int_equal(out.pool[17], TW_T_I32);
    assert_int_equal(tw_get_le16(out.pool + 18), 4);
    assert_int_equal(tw_get_le16(out.pool + 20), 2);
}

/* docs/SCRIPT_ISA.md "The literal pool" */
static void the_documented_pool_is_what_is_written(void **state)
{
    (void)state;
    static const uint8_t code[] = {0x7F, 0x08, 0x6E, 0x10, 0x00, 0xC0};
    static const uint8_t pool[] = {0x05, 0x00, 0xFF, 0xFF, 0x7F, 0x02, 0x00, 0x00, 0x01, 0x00};
    assert_true(assemble("psha table\ncopy p0 s0\nret\ntable: 2 i16; 5 -1\n"));
    assert_int_equal(out.code_bytes, sizeof code);
    assert_memory_equal(out.code, code, sizeof code);
    assert_int_equal(out.pool_bytes, sizeof pool);
    assert_memory_equal(out.pool, pool, sizeof pool);
}

static const struct {
    const char *text;
    unsigned line, col;
    const char *says;
} wrong[] = {
    {"ret\n  addd r0 r1\n", 2, 3, "did you mean 'add"},
    {"movi in16 r0 1\nret", 1, 6, "did you mean 'int16'"},
    {"cals readparm\nret", 1, 6, "did you mean 'readparam'"},
    {"add r0 r9\nret", 1, 8, "unknown register 'r9'"},
    {"add r0\nret", 1, 7, "expected a register"},
    {"add r0 r1 r2\nret", 1, 11, "nothing expected here"},
    {"addk r0 128\nret", 1, 9, "outside -128..127"},
    {"movi int8 r0 200\nret", 1, 14, "does not fit int8"},
    {"movi uint8 r0 -1\nret", 1, 15, "does not fit uint8"},
    {"jmp nowhere\nret", 1, 5, "'nowhere' is not defined"},
    {"labl #1\nlabl #1\nret", 2, 6, "defined twice"},
    {"jmp #128\nret", 1, 5, "labels are 0..127"},
    {"load r0 p0\nret", 1, 9, "expected *p0"},
    {"pbase r0 r1\nret", 1, 7, "expected a pointer"},
    {"bfx r0 r1 60 5\nret", 1, 14, "outside 1..4"},
    {"2 h16; 2002\nret", 1, 12, "hexadecimal words"},
    {"3 i8; 1 2\nret", 1, 10, "expected 3 values, found 2"},
    {"2 q7; 1 2\nret", 1, 3, "data type"},
    {"canadd r0 r1\nret", 1, 1, "unknown instruction"},
};

static void a_wrong_line_is_told_where_and_what(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(wrong); i++) {
        const bool ok = assemble(wrong[i].text);
        const tw_asm_diag_t *d = &out.diags[0];
        if (ok || d->line != wrong[i].line || d->col != wrong[i].col || strstr(d->text, wrong[i].says) == NULL) {
            fail_msg("%s: %s %u:%u %s", wrong[i].text, ok ? "accepted" : "refused", d->line, d->col, d->text);
        }
    }
}

static void control_characters_are_blanks(void **state)
{
    (void)state;
    static const char text[] = "\0\x01 addk\0r0\x7F"
                               "5\n\0\n\x02ret\0";
    assert_true(tw_asm(text, sizeof text, &out));
    assert_int_equal(out.n_diags, 0);
    assert_int_equal(out.code_bytes, 4);
    assert_int_equal(tw_get_le16(out.code), 0x4005);
}

static void a_missing_literal_is_zero_with_a_warning(void **state)
{
    (void)state;
    assert_true(assemble("pshc int16\nret"));
    assert_int_equal(out.n_diags, 1);
    assert_true(out.diags[0].warning);
    assert_int_equal(out.diags[0].line, 1);
}

static void more_errors_than_room_are_counted(void **state)
{
    (void)state;
    char text[400] = "";
    for (unsigned i = 0; i < 50; i++) {
        strcat(text, "bad\n");
    }
    assert_false(assemble(text));
    assert_int_equal(out.n_diags, TW_COUNT(out.diags));
    assert_int_equal(out.n_errors, 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_text_assembles_to_golden_words),
        cmocka_unit_test(golden_words_read_as_the_seed_comments),
        cmocka_unit_test(a_second_assembly_of_a_listing_is_identical),
        cmocka_unit_test(every_word_survives_disassembly_and_assembly),
        cmocka_unit_test(what_does_not_print_is_what_the_verifier_refuses),
        cmocka_unit_test(random_words_survive_disassembly_and_assembly),
        cmocka_unit_test(data_goes_to_the_pool_behind_the_code),
        cmocka_unit_test(a_label_before_data_is_a_place_in_the_pool),
        cmocka_unit_test(the_documented_pool_is_what_is_written),
        cmocka_unit_test(a_wrong_line_is_told_where_and_what),
        cmocka_unit_test(control_characters_are_blanks),
        cmocka_unit_test(a_missing_literal_is_zero_with_a_warning),
        cmocka_unit_test(more_errors_than_room_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
