/* Good scripts are accepted and do what they say (tests/scripts); bad ones are refused with code and place.
 *
 * A file of tests/scripts holds programs, each from a line ";== name: what it does" to the next. Lines ";@ .." in it
 * say how it is tried, in order:
 *
 *   limits REGS PTRS STACK MEM     declared; the bytes of memory are what the last pointer shows
 *   budget N                       256 otherwise
 *   mem OFFSET TYPE VALUES         put into the memory; types as in data lines
 *   data TYPE VALUES               what readparam and readarc give
 *   answer CALL STATUS [R1]        from now on; the value as int64, for `level` as fp32
 *   call [T=0] [ARGUMENTS]         run
 *   want rN VALUE, T 0, errors 0, mem OFFSET TYPE VALUES, calls NAME:R0 .. (gpio:PIN=LEVEL), sent TYPE VALUES
 *                                  after the last run
 */
#include "engine/base/bytes.h"
#include "engine/script/script.h"
#include "host_tools/scriptasm/scriptasm.h"
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MEM = 64, PROGRAMS = 60 /* at least */ };

static const char folder[] = "tests/scripts";
static const char *const call_names[128] = {
#define TW_SYSCALL(k, NAME, name, pops, privileged, arguments) [k] = (name),
#include "engine/script/script_syscalls.def"
};

static tw_asm_out_t out;
static uint8_t image[sizeof out.code + sizeof out.pool + 4];
static uint8_t memory[MEM];
static tw_script_t script;
static tw_script_ctx_t ctx;
static tw_err_t ended;
static const char *name; /* of the program, for messages */

/* ---- the world: answers as told, and remembers what it was asked ---- */

static struct {
    struct {
        uint32_t status;
        bool gives_r1;
        double r1;
    } answers[128];
    uint8_t data[MEM], sent[MEM];
    uint32_t data_bytes, sent_bytes;
    char calls[512];
} world;

static void remember(uint32_t k, const tw_script_ctx_t *s)
{
    const size_t n = strlen(world.calls);
    const long long r0 = tw_script_reg_int(s, 0);
    char *const to = world.calls + n;
    const size_t room = sizeof world.calls - n;
    if (k == 14 && r0 == 1) {
        const long long pin = tw_script_reg_int(s, 1);
        snprintf(to, room, "%sgpio:%lld=%lld", n != 0 ? " " : "", pin, (long long)tw_script_reg_int(s, 2));
    } else {
        snprintf(to, room, "%s%s:%lld", n != 0 ? " " : "", call_names[k], r0);
    }
}

static void exchange(uint32_t k, tw_script_ctx_t *s)
{
    uint32_t room;
    uint8_t *const at = tw_script_window(s, 0, &room, k == 32 || k == 34);
    const uint32_t n = tw_min_u32(tw_min_u32(room, (uint32_t)tw_script_reg_int(s, 2)), MEM);
    if (at == NULL) {
        return;
    }
    if (k == 32 || k == 34) {
        memcpy(at, world.data, tw_min_u32(n, world.data_bytes));
    } else {
        memcpy(world.sent, at, n);
        world.sent_bytes = n;
    }
}

static uint32_t on_syscall(void *c, uint32_t k, tw_script_ctx_t *s)
{
    (void)c;
    int64_t popped;
    remember(k, s);
    if (k >= 32 && k <= 38) {
        assert_true(tw_script_pop_int(s, &popped));
    }
    if (world.answers[k].status == 0 && (k == 11 || (k >= 32 && k <= 35))) {
        exchange(k, s);
    }
    if (world.answers[k].gives_r1) {
        tw_script_set_real(s, 1, k == 15 ? TW_T_FP32 : TW_T_I64, world.answers[k].r1);
    }
    return world.answers[k].status;
}

static const tw_script_host_t host = {.syscall = on_syscall};

/* ---- words of a directive ---- */

static char *word(char **at)
{
    char *const w = strtok_r(*at == NULL ? NULL : *at, " \t\r\n", at);
    return w;
}

static double number(const char *w)
{
    char *end;
    const double v = w[0] == '0' && w[1] == 'x' ? (double)strtoull(w, &end, 16) : strtod(w, &end);
    if (*end != 0) {
        fail_msg("%s: '%s' is no number", name, w);
    }
    return v;
}

static const struct {
    const char *name;
    uint8_t bytes, kind; /* kind: i signed, u unsigned, f float */
} types[] = {{"i8", 1, 'i'},  {"u8", 1, 'u'},  {"c8", 1, 'u'},  {"i16", 2, 'i'}, {"u16", 2, 'u'},
             {"i32", 4, 'i'}, {"u32", 4, 'u'}, {"i64", 8, 'i'}, {"f32", 4, 'f'}, {"f64", 8, 'f'}};

static unsigned put_value(uint8_t *to, const char *type, double v)
{
    for (size_t i = 0; i < TW_COUNT(types); i++) {
        if (strcmp(types[i].name, type) == 0) {
            const float f = (float)v;
            const int64_t whole = types[i].kind == 'f' ? 0 : (int64_t)v;
            const void *const from = types[i].kind != 'f'  ? (const void *)&whole
                                     : types[i].bytes == 4 ? (const void *)&f
                                                           : &v;
            memcpy(to, from, types[i].bytes);
            return types[i].bytes;
        }
    }
    fail_msg("%s: no type '%s'", name, type);
    return 0;
}

/* The values of the line, as bytes. */
static uint32_t values(char **at, const char *type, uint8_t *to)
{
    uint32_t n = 0;
    for (char *w = word(at); w != NULL && n + 8 <= MEM + 8; w = word(at)) {
        uint8_t b[8];
        const unsigned size = put_value(b, type, number(w));
        assert_true(n + size <= MEM);
        memcpy(to + n, b, size);
        n += size;
    }
    return n;
}

/* ---- directives ---- */

static void set_limits(char **at)
{
    script.regs = (uint8_t)number(word(at));
    script.ptrs = (uint8_t)number(word(at));
    script.stack = (uint8_t)number(word(at));
    script.mem_bytes = (uint32_t)number(word(at));
    script.mem = script.mem_bytes != 0 ? memory : NULL;
}

static void set_answer(char **at)
{
    const char *const call = word(at);
    for (unsigned k = 0; k < 128; k++) {
        if (call_names[k] != NULL && strcmp(call_names[k], call) == 0) {
            world.answers[k].status = (uint32_t)number(word(at));
            const char *const r1 = word(at);
            world.answers[k].gives_r1 = r1 != NULL;
            world.answers[k].r1 = r1 != NULL ? number(r1) : 0;
            return;
        }
    }
    fail_msg("%s: no call '%s'", name, call);
}

static void run(char **at)
{
    int64_t args[TW_SCRIPT_REGS];
    unsigned n = 0;
    bool flag = false;
    for (char *w = word(at); w != NULL; w = word(at)) {
        if (strncmp(w, "T=", 2) == 0) {
            flag = w[2] == '1';
        } else {
            args[n++] = (int64_t)number(w);
        }
    }
    tw_fault_t f;
    if (tw_script_verify(&script, false, NULL, &f) != TW_OK) {
        fail_msg("%s: refused, %s at %u", name, tw_err_name(f.err), f.at);
    }
    world.calls[0] = 0;
    world.sent_bytes = 0;
    ended = tw_script_run(&script, &host, &ctx, args, n, flag, 0);
    if (ended != TW_OK) {
        fail_msg("%s: ended with %s at %u", name, tw_err_name(ended), ctx.pc);
    }
}

static void want_bytes(char **at, const uint8_t *have, uint32_t have_bytes)
{
    uint8_t want[MEM] = {0};
    const char *const type = word(at);
    const uint32_t n = values(at, type, want);
    for (uint32_t i = 0; i < n; i++) {
        if (n > have_bytes || have[i] != want[i]) {
            fail_msg("%s: byte %u of %u is %02x, not %02x", name, i, n, i < have_bytes ? have[i] : 0, want[i]);
        }
    }
}

static void want_calls(const char *rest)
{
    char have[sizeof world.calls];
    snprintf(have, sizeof have, "%s", world.calls);
    while (*rest == ' ') {
        rest++;
    }
    size_t n = strcspn(rest, "\r\n");
    if (strcspn(rest, ":\n") == n) { /* names alone */
        have[strcspn(have, ":")] = 0;
    }
    if (strncmp(have, rest, n) != 0 || have[n] != 0) {
        fail_msg("%s: calls '%s', not '%.*s'", name, have, (int)n, rest);
    }
}

static void want(char **at)
{
    const char *const what = word(at);
    if (strcmp(what, "calls") == 0) {
        want_calls(*at == NULL ? "" : *at);
        return;
    }
    if (strcmp(what, "mem") == 0) {
        const uint32_t offset = (uint32_t)number(word(at));
        want_bytes(at, memory + offset, MEM - offset);
        return;
    }
    if (strcmp(what, "sent") == 0) {
        want_bytes(at, world.sent, world.sent_bytes);
        return;
    }
    const double v = number(word(at));
    const double have = what[0] == 'r'   ? tw_script_reg_real(&ctx, (unsigned)(what[1] - '0'))
                        : what[0] == 'T' ? ctx.flag
                                         : ctx.errors;
    if (fabs(have - v) > 1e-6 * fabs(v)) {
        fail_msg("%s: %s is %.17g, not %.17g", name, what, have, v);
    }
}

static void directive(char *line)
{
    char *at = line;
    const char *const verb = word(&at);
    if (strcmp(verb, "limits") == 0) {
        set_limits(&at);
    } else if (strcmp(verb, "budget") == 0) {
        script.budget = (uint32_t)number(word(&at));
    } else if (strcmp(verb, "mem") == 0) {
        const uint32_t offset = (uint32_t)number(word(&at));
        uint8_t b[MEM];
        const uint32_t n = values(&at, word(&at), b);
        memcpy(memory + offset, b, tw_min_u32(n, MEM - offset));
    } else if (strcmp(verb, "data") == 0) {
        world.data_bytes = values(&at, word(&at), world.data);
    } else if (strcmp(verb, "answer") == 0) {
        set_answer(&at);
    } else if (strcmp(verb, "call") == 0) {
        run(&at);
    } else if (strcmp(verb, "want") == 0) {
        want(&at);
    } else {
        fail_msg("%s: no directive '%s'", name, verb);
    }
}

/* ---- programs ---- */

static void assemble(const char *text, size_t n)
{
    if (!tw_asm(text, n, &out)) {
        fail_msg("%s: line %u: %s", name, out.diags[0].line, out.diags[0].text);
    }
    memcpy(image, out.code, out.code_bytes);
    memcpy(image + tw_round_up(out.code_bytes, 4), out.pool, out.pool_bytes);
    memset(&world, 0, sizeof world);
    memset(memory, 0, sizeof memory);
    script = (tw_script_t){.code = image,
                           .code_bytes = out.code_bytes,
                           .pool_bytes = out.pool_bytes,
                           .regs = 6,
                           .ptrs = 6,
                           .stack = 8,
                           .mem = memory,
                           .mem_bytes = MEM};
}

/* Words survive the way through text. */
static void round_trip(void)
{
    static char text[16384];
    size_t used = 0;
    const uint32_t bytes = script.code_bytes;
    for (uint32_t at = 0; at < bytes;) {
        char line[80];
        at += tw_script_disasm(image, bytes, at, line, sizeof line);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", line);
    }
    assert_true(tw_asm(text, used, &out));
    if (out.code_bytes != bytes || memcmp(out.code, image, bytes) != 0) {
        fail_msg("%s: other words after a round trip", name);
    }
}

static void try_program(char *text)
{
    static char title[80];
    static char copy[8192];
    snprintf(title, sizeof title, "%.*s", (int)strcspn(text, ":"), text);
    name = title;
    assert_true(strlen(text) < sizeof copy);
    char *const body = strchr(text, '\n');
    assemble(body, strlen(body));
    if (out.n_diags != 0) {
        fail_msg("%s: line %u: %s", name, out.diags[0].line, out.diags[0].text);
    }
    round_trip();
    snprintf(copy, sizeof copy, "%s", body);
    for (char *line = strstr(copy, "\n;@"); line != NULL;) {
        char *const next = strstr(line + 1, "\n;@");
        line[3 + strcspn(line + 3, "\n")] = 0;
        directive(line + 3);
        line = next;
    }
    if (ctx.used == 0) {
        fail_msg("%s was never run", name);
    }
    ctx.used = 0;
}

static unsigned try_file(const char *path)
{
    static char text[65536];
    FILE *const f = fopen(path, "r");
    assert_non_null(f);
    const size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    assert_true(n < sizeof text - 1);
    text[n] = 0;
    unsigned programs = 0;
    for (char *at = strstr(text, "\n;== "); at != NULL; programs++) {
        char *const next = strstr(at + 1, "\n;== ");
        if (next != NULL) {
            *next = 0;
        }
        try_program(at + 5);
        at = next;
    }
    return programs;
}

static void good_scripts_are_accepted_and_do_what_they_say(void **state)
{
    (void)state;
    unsigned programs = 0;
    DIR *const dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        char path[300];
        if (strstr(e->d_name, ".tws") != NULL) {
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            programs += try_file(path);
        }
    }
    closedir(dir);
    assert_true(programs >= PROGRAMS);
}

/* ---- rules of the verifier that test_script_verify.c does not name ---- */

typedef struct limits {
    uint8_t regs, ptrs, stack, mem;
} limits_t;

static const struct {
    const char *why, *text;
    limits_t limits;
    tw_err_t err;
    uint32_t at;
} refused[] = {
    {"bit 7 of labl", ".h16 0580\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_OP, 0},
    {"bit 7 of banz", ".h16 0680\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_OP, 0},
    {"bit 7 of psha", ".h16 0880\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_OP, 0},
    {"bit 6 of retk", "nop\n.h16 0740", {2, 2, 4, 0}, TW_E_SCR_BAD_OP, 2},
    {"low nibble of retp", ".h16 C101\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_OP, 0},
    {"operand of dup", ".h16 C410\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_OP, 0},
    {"bits 7..4 of movi", ".h16 2010 0\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_OP, 0},
    {"sub-operation of a field", ".h16 A020 0\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_OP, 0},
    {"bits 7..6 of a field's place", ".h16 A001 0040\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_OP, 0},
    {"bits 15..14 of a field's place", ".h16 A001 4000\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_OP, 0},
    {"range from r5", "inr r0 r4\n.h16 EF05\nret", {6, 2, 4, 0}, TW_E_SCR_BAD_REG, 2},
    {"pointer operation on a register", ".h16 3000\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_OP, 0},
    {"last word of the prefix", ".h16 BFFF\nret", {2, 2, 4, 0}, TW_E_SCR_RESERVED, 0},
    {"second word of a field is missing", "nop\n.h16 A001", {2, 2, 4, 0}, TW_E_SCR_BOUNDS, 2},
    {"half a literal of 32 bits", "nop\n.h16 2004 0", {2, 2, 4, 0}, TW_E_SCR_BOUNDS, 2},
    {"into the second word of a field", "jmpr 1\nbfx r0 r0 0 1\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TARGET, 0},
    {"constants at a label of code", "labl #3\npsha #3\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TARGET, 2},
    {"call of constants", "call #1\nret\nlabl #1\n1 i8; 0", {2, 2, 4, 0}, TW_E_SCR_BAD_TARGET, 0},
    {"two routines share their end",
     "call #1\ncall #2\nret\nlabl #1\njmp #3\nlabl #2\nnop\nlabl #3\nret",
     {2, 2, 4, 0},
     TW_E_SCR_BAD_TARGET,
     12},
    {"main goes on into a routine", "call #1\nnop\nlabl #1\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TARGET, 2},
    {"the condition of the last jump", "labl #1\nnop\ncjmp #1", {2, 2, 4, 0}, TW_E_SCR_FALL_OFF, 4},
    {"a loop that ends", "labl #1\nbanz #1", {2, 2, 4, 0}, TW_E_SCR_FALL_OFF, 2},
    {"the last call returns", "call #1\njmp #2\nlabl #1\nret\nlabl #2\ncall #1", {2, 2, 4, 0}, TW_E_SCR_FALL_OFF, 10},
    {"a system call at the end", "callsys 8", {2, 2, 4, 0}, TW_E_SCR_FALL_OFF, 0},
    {"a break at the end", "brk 1", {2, 2, 4, 0}, TW_E_SCR_FALL_OFF, 0},
    {"a label alone", "labl #1", {2, 2, 4, 0}, TW_E_SCR_FALL_OFF, 0},
    {"added constant", "addk r2 1\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_REG, 0},
    {"compared with a constant", "nop\neqk r2 1\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_REG, 2},
    {"shifted", "shl r2 1\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_REG, 0},
    {"bit", "bit1 r5 1\nret", {5, 2, 4, 0}, TW_E_SCR_BAD_REG, 0},
    {"source of a field", "bfx r0 r2 0 1\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_REG, 0},
    {"target of a field", "bfi r2 r0 0 1\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_REG, 0},
    {"type of a register", "conv r2 int8\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_REG, 0},
    {"image of a register", "cast r2 int8\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_REG, 0},
    {"result", "retp r2", {2, 2, 4, 0}, TW_E_SCR_BAD_REG, 0},
    {"condition", "andt r2\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_REG, 0},
    {"loaded", "load r2 *p1\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_REG, 0},
    {"stored", "store *p1 r2\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_REG, 0},
    {"elements left", "plen p1 r2\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_REG, 0},
    {"offset", "padd p1 r2\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_REG, 0},
    {"no registers at all", "inc r0\nret", {0, 2, 4, 0}, TW_E_SCR_BAD_REG, 0},
    {"pointer loaded through", "load r0 *p2\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_REG, 0},
    {"pointer stored through", "store *p2 r0\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_REG, 0},
    {"pointer retyped", "ptype p2 int8\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_REG, 0},
    {"pointer copied to", "copy p2 p1\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_REG, 0},
    {"pointer copied from", "copy p1 p2\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_REG, 0},
    {"pointer exchanged", "swap p1 p2\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_REG, 0},
    {"pointer moved", "addm p2 r0\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_REG, 0},
    {"dup of nothing", "dup\nret", {2, 2, 4, 0}, TW_E_SCR_STACK, 0},
    {"dup beyond the declared", "psht\ndup\nret", {2, 2, 1, 0}, TW_E_SCR_STACK, 2},
    {"exchange of one entry", "psht\nswap s0 s0\nret", {2, 2, 4, 0}, TW_E_SCR_STACK, 2},
    {"operand behind two", "psht\npsht\nlerp s0 s0\nret", {2, 2, 4, 0}, TW_E_SCR_STACK, 4},
    {"result of nothing", "retp s0", {2, 2, 4, 0}, TW_E_SCR_STACK, 0},
    {"result without room", "call #1\ncopy r0 s0\nret\nlabl #1\nretp r0", {2, 2, 0, 0}, TW_E_SCR_STACK, 8},
    {"constants beyond the declared", "psht\npsha #1\nret\nlabl #1\n1 i8; 0", {2, 2, 1, 0}, TW_E_SCR_STACK, 2},
    {"literal beyond the declared", "pshc int8 1\nret", {2, 2, 0, 0}, TW_E_SCR_STACK, 0},
    {"loaded beyond the declared", "load s0 *p1\nret", {2, 2, 0, 16}, TW_E_SCR_STACK, 0},
    {"system call without its operand", "callsys readparam\nret", {2, 2, 4, 0}, TW_E_SCR_STACK, 0},
    {"a loop that pops", "psht\nlabl #1\ncopy r0 s0\nbanz #1\nret", {2, 2, 4, 0}, TW_E_SCR_STACK, 6},
    {"conditional call with a result", "ccall #1\nret\nlabl #1\nretp r0", {2, 2, 4, 0}, TW_E_SCR_STACK, 0},
    {"s1 of the caller", "psht\ncall #1\nret\nlabl #1\npsht\nadd r0 s1\nret", {2, 2, 4, 0}, TW_E_SCR_STACK, 10},
    {"a script called nine deep",
     "call #1\nret\nlabl #1\ncall #2\nret\nlabl #2\ncall #3\nret\nlabl #3\ncall #4\nret\nlabl #4\ncall #5\nret\nlabl "
     "#5\ncall #6\nret\nlabl #6\ncall #7\nret\nlabl #7\ncall #8\nret\nlabl #8\ncallscript 1\nret",
     {2, 2, 4, 0},
     TW_E_SCR_DEPTH,
     48},
    {"exchanged with one that is not set", "swap p0 p1\nload r0 *p1\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_PTR, 2},
    {"set in one routine of two",
     "ccall #1\nload r0 *p0\nret\nlabl #1\ncopy p0 p1\nret",
     {2, 2, 4, 16},
     TW_E_SCR_BAD_PTR,
     2},
    {"copied from one that is not set", "copy p1 p0\nload r0 *p1\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_PTR, 2},
    {"store to a copy of constants",
     "psha #1\ncopy p0 s0\ncopy p1 p0\nstore *p1 r0\nret\nlabl #1\n1 i8; 0",
     {2, 2, 4, 16},
     TW_E_SCR_BAD_PTR,
     6},
    {"store to constants after a loop",
     "labl #2\nstore *p1 r0\npsha #1\ncopy p1 s0\nbanz #2\nret\nlabl #1\n1 i8; 0",
     {2, 2, 4, 16},
     TW_E_SCR_BAD_PTR,
     2},
    {"a conditional script call", "copy p0 p1\nccallscript 3\nload r0 *p0\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_PTR, 4},
    {"a number in the place of a pointer: copied",
     "psha #1\npsht\ncopy s1 r0\nret\nlabl #1\n1 i8; 0",
     {2, 2, 4, 0},
     TW_E_SCR_BAD_TYPE,
     4},
    {"a number in the place of a pointer: a literal",
     "psha #1\npsht\nmovi int8 s1 5\nret\nlabl #1\n1 i8; 0",
     {2, 2, 4, 0},
     TW_E_SCR_BAD_TYPE,
     4},
    {"a number in the place of a pointer: computed",
     "psha #1\npsht\nneg s1 r0\nret\nlabl #1\n1 i8; 0",
     {2, 2, 4, 0},
     TW_E_SCR_BAD_TYPE,
     4},
    {"a pointer computed with", "psha #1\nadd r0 s0\nret\nlabl #1\n1 i8; 0", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 2},
    {"a pointer below, computed with",
     "psha #1\npsht\nadd r0 s1\nret\nlabl #1\n1 i8; 0",
     {2, 2, 4, 0},
     TW_E_SCR_BAD_TYPE,
     4},
    {"a pointer doubled", "psha #1\ndup\nret\nlabl #1\n1 i8; 0", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 2},
    {"a pointer exchanged with a number",
     "psha #1\nswap s0 r0\nret\nlabl #1\n1 i8; 0",
     {2, 2, 4, 0},
     TW_E_SCR_BAD_TYPE,
     2},
    {"a pointer as result", "psha #1\nretp s0\nlabl #1\n1 i8; 0", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 2},
    {"a pointer as node number", "psha #1\ncals readparam\nret\nlabl #1\n1 i8; 0", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 2},
    {"a pointer under a script call",
     "psha #1\ncallscript 1\nret\nlabl #1\n1 i8; 0",
     {2, 2, 4, 0},
     TW_E_SCR_BAD_TYPE,
     2},
    {"a pointer stored", "store *p1 p0\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_TYPE, 0},
    {"pointers compared", "equ p0 p1\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_TYPE, 0},
    {"a pointer into a value", "copy r0 p0\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_TYPE, 0},
    {"a value into a pointer", "copyt p0 r0\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_TYPE, 0},
    {"a pointer taken if T", "psha #1\nccopy p0 s0\nret\nlabl #1\n1 i8; 0", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 2},
    {"elements that are pointers", "ptype p1 ptr\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_TYPE, 0},
    {"fp8 compared", "cast r0 fp8a\neqk r0 1\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 2},
    {"fp8 shifted", "cast r0 fp8a\nshl r0 1\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 2},
    {"fp8 in a range", "cast r1 fp8a\ninr r2 r0\nret", {3, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 2},
    {"fp8 converted", "cast r0 fp8a\nconv r0 int8\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 2},
    {"fp8 cut out of", "cast r0 fp8b\nbfx r1 r0 0 1\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 2},
    {"fp8 as offset", "cast r0 fp8b\npadd p1 r0\nret", {2, 2, 4, 16}, TW_E_SCR_BAD_TYPE, 2},
    {"fp8 as condition", "cast r0 fp8b\nort r0\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 2},
    {"fp8 as result", "cast r0 fp8b\nretp r0", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 2},
    {"fp8 exchanged, then computed with", "cast r0 fp8b\nswap r0 r1\ninc r1\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 4},
    {"fp8 carried over by type", "cast r0 fp8b\ncopyt r1 r0\ninc r1\nret", {2, 2, 4, 0}, TW_E_SCR_BAD_TYPE, 4},
    {"fp8 from constants",
     "psha #1\ncopy p0 s0\nload r0 *p0\ninc r0\nret\nlabl #1\n1 f8a; 0x38",
     {2, 2, 4, 0},
     TW_E_SCR_BAD_TYPE,
     6},
    {"fp8 loaded in a loop",
     "labl #1\nadd r1 r0\nload r0 *p1\nptype p1 fp8a\nbanz #1\nret",
     {2, 2, 4, 16},
     TW_E_SCR_BAD_TYPE,
     2},
};

static void each_rule_names_its_code_and_its_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(refused); i++) {
        tw_fault_t f = {.at = 9999};
        name = refused[i].why;
        assemble(refused[i].text, strlen(refused[i].text));
        script.regs = refused[i].limits.regs;
        script.ptrs = refused[i].limits.ptrs;
        script.stack = refused[i].limits.stack;
        script.mem_bytes = refused[i].limits.mem;
        script.code_bytes -= out.n_diags != 0 ? 2 : 0; /* the ret that the assembler supplied, with a warning */
        const tw_err_t err = tw_script_verify(&script, false, NULL, &f);
        if (err != refused[i].err || f.at != refused[i].at || f.err != err) {
            fail_msg("%s: %s at %u, not %s at %u", name, tw_err_name(err), f.at, tw_err_name(refused[i].err),
                     refused[i].at);
        }
    }
}

static void every_system_call_that_is_not_listed_is_refused(void **state)
{
    (void)state;
    assemble("nop\ncallsys 0\nret", 17);
    for (unsigned k = 0; k < 256; k++) {
        tw_fault_t f = {0};
        image[2] = (uint8_t)k; /* from 128 on: if T */
        const unsigned call = k & 127;
        const bool pops = call >= 32 && call <= 38;
        const tw_err_t want_err = call_names[call] == NULL || call == 7 ? TW_E_SCR_PRIV : pops ? TW_E_SCR_STACK : TW_OK;
        if (tw_script_verify(&script, false, NULL, &f) != want_err || (want_err != TW_OK && f.at != 2)) {
            fail_msg("call %u: %s at %u", k, tw_err_name(f.err), f.at);
        }
    }
}

static void a_pool_that_is_not_sound_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint8_t bytes[16];
        uint8_t n;
        tw_err_t err;
    } pools[] = {
        {"two int16 at label 1", {1, 0, 2, 0, 1, 2, 0, 0, 1, 0}, 10, TW_OK},
        {"nothing but a directory of none", {0, 0}, 2, TW_OK},
        {"one byte", {0}, 1, TW_E_SCR_BOUNDS},
        {"directory longer than the pool", {1, 2, 0, 0, 2, 0}, 6, TW_E_SCR_BOUNDS},
        {"a count that overflows", {1, 2, 0, 0, 0xFF, 0xFF}, 6, TW_E_SCR_BOUNDS},
        {"label 128", {1, 0, 128, 0, 0, 0, 1, 0}, 8, TW_E_SCR_BOUNDS},
        {"no such type", {1, 0, 1, 16, 0, 0, 1, 0}, 8, TW_E_SCR_BOUNDS},
        {"data that are pointers", {1, 0, 1, 14, 0, 0, 1, 0}, 8, TW_E_SCR_BOUNDS},
        {"data behind the data", {1, 0, 1, 0, 3, 0, 1, 0}, 8, TW_E_SCR_BOUNDS},
    };
    for (size_t i = 0; i < TW_COUNT(pools); i++) {
        tw_fault_t f = {0};
        assemble("ret", 3);
        memcpy(image + 4, pools[i].bytes, pools[i].n);
        script.pool_bytes = pools[i].n;
        const tw_err_t err = tw_script_verify(&script, false, NULL, &f);
        if (err != pools[i].err) {
            fail_msg("%s: %s", pools[i].why, tw_err_name(err));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_scripts_are_accepted_and_do_what_they_say),
        cmocka_unit_test(each_rule_names_its_code_and_its_byte),
        cmocka_unit_test(every_system_call_that_is_not_listed_is_refused),
        cmocka_unit_test(a_pool_that_is_not_sound_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
