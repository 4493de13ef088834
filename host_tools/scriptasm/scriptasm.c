/* scriptasm.c - TWV-16 assembler: statements to words, data lines to the literal pool.
 *
 * Two passes over the same text: the first learns the labels and the length of the code,
 * the second knows where the pool lies and speaks. Does not verify what it assembles.
 */
#include "host_tools/scriptasm/scriptasm.h"
#include "host_tools/scriptasm/asm_names_priv.h"
#include "engine/base/bytes.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_CHARS = 32, LABELS = 128, PENDING_MAX = 16, S0 = 14, P0 = 6, LC = 12 };

typedef struct token {
    char text[NAME_MAX_CHARS + 1]; /* lower case */
    unsigned col;
    bool any; /* false: the line is over */
} token_t;

typedef struct assembler {
    tw_asm_out_t *out;
    const char *line, *end, *at; /* the line and the place in it */
    unsigned line_no;
    bool speaks;                            /* second pass */
    uint32_t pool_start;                    /* byte offset of the pool from the script's start */
    char names[LABELS][NAME_MAX_CHARS + 1]; /* symbolic labels by number */
    bool taken[LABELS];                     /* numbers in use */
    bool defined[LABELS];                   /* in the present pass */
    bool known[LABELS];                     /* defined somewhere: valid in the second pass */
    uint8_t pending[PENDING_MAX];           /* labels waiting to see whether code or data follows */
    unsigned n_pending;
    uint8_t dir[LABELS][4]; /* {label, type, offset} of the pool */
    unsigned n_dir;
} assembler_t;

/* ---- diagnostics ---- */

static void __attribute__((format(printf, 4, 5))) say(assembler_t *a, bool warning, unsigned col, const char *fmt, ...)
{
    tw_asm_out_t *const out = a->out;
    if (!a->speaks) {
        return;
    }
    out->n_errors += !warning;
    if (out->n_diags < TW_COUNT(out->diags)) {
        tw_asm_diag_t *const d = &out->diags[out->n_diags++];
        va_list args;
        *d = (tw_asm_diag_t){.line = a->line_no, .col = col, .warning = warning};
        va_start(args, fmt);
        vsnprintf(d->text, sizeof d->text, fmt, args);
        va_end(args);
    }
}

#define ERROR(a, col, ...) say(a, false, col, __VA_ARGS__)
#define WARN(a, col, ...) say(a, true, col, __VA_ARGS__)

static void unknown(assembler_t *a, const token_t *t, const char *what, asm_names_t set)
{
    const char *const near = asm_nearest(set, t->text);
    if (near != NULL) {
        ERROR(a, t->col, "unknown %s '%s', did you mean '%s'?", what, t->text, near);
    } else {
        ERROR(a, t->col, "unknown %s '%s'", what, t->text);
    }
}

/* ---- tokens ---- */

/* Any control character separates, as in graph texts: a word is never empty and holds no NUL. */
static bool is_blank(char c)
{
    return (unsigned char)c <= ' ' || c == ',' || c == 0x7F;
}

static token_t next_token(assembler_t *a)
{
    token_t t = {.any = false};
    size_t n = 0;
    while (a->at < a->end && is_blank(*a->at)) {
        a->at++;
    }
    t.col = (unsigned)(a->at - a->line) + 1;
    if (a->at >= a->end || *a->at == ';') {
        return t;
    }
    for (t.any = true; a->at < a->end && !is_blank(*a->at) && *a->at != ';'; a->at++) {
        if (n < NAME_MAX_CHARS) {
            t.text[n++] = (char)tolower((unsigned char)*a->at);
        }
    }
    return t;
}

static token_t peek_token(assembler_t *a)
{
    const char *const at = a->at;
    const token_t t = next_token(a);
    a->at = at;
    return t;
}

typedef struct number {
    uint64_t bits; /* two's complement */
    bool negative, hex;
} number_t;

static bool parse_number(const char *text, number_t *n)
{
    const char *s = text + (text[0] == '#');
    char *stop;
    *n = (number_t){.negative = s[0] == '-'};
    s += n->negative;
    if (!isdigit((unsigned char)s[0])) {
        return false;
    }
    n->hex = s[0] == '0' && s[1] == 'x';
    errno = 0;
    n->bits = strtoull(s, &stop, n->hex ? 16 : 10);
    if (errno != 0 || *stop != 0 || (n->hex && s[2] == 0) || (n->negative && n->bits > (uint64_t)1 << 63)) {
        return false;
    }
    n->bits = n->negative ? 0 - n->bits : n->bits;
    return true;
}

/* The next operand as a number within [low, high]; 0 after an error. */
static int64_t expect_number(assembler_t *a, int64_t low, int64_t high)
{
    const token_t t = next_token(a);
    number_t n;
    if (!t.any || !parse_number(t.text, &n)) {
        ERROR(a, t.col, "expected a number %" PRId64 "..%" PRId64, low, high);
        return 0;
    }
    const int64_t v = (int64_t)n.bits;
    if ((!n.negative && v < 0) || v < low || v > high) {
        ERROR(a, t.col, "%s is outside %" PRId64 "..%" PRId64, t.text, low, high);
        return 0;
    }
    return v;
}

static unsigned register_of(assembler_t *a, const token_t *t, bool pointer)
{
    const int code = t->any ? asm_find_register(t->text) : -1;
    if (!t->any) {
        ERROR(a, t->col, pointer ? "expected a pointer p0..p5" : "expected a register r0..r5, lc, zero, s0, s1");
        return 0;
    }
    if (code < 0) {
        unknown(a, t, "register", NAMES_REGISTERS);
        return 0;
    }
    if (pointer && (code < P0 || code >= LC)) {
        ERROR(a, t->col, "expected a pointer p0..p5, not '%s'", t->text);
        return P0;
    }
    return (unsigned)code;
}

static unsigned expect_register(assembler_t *a, bool pointer)
{
    const token_t t = next_token(a);
    return register_of(a, &t, pointer);
}

static const asm_type_t *expect_type(assembler_t *a)
{
    const token_t t = next_token(a);
    const asm_type_t *const type = t.any ? asm_find_type(t.text, false) : NULL;
    if (!t.any) {
        ERROR(a, t.col, "expected a type such as int16");
    } else if (type == NULL) {
        unknown(a, &t, "type", NAMES_TYPES);
    }
    return type != NULL ? type : asm_find_type("int32", false);
}

/* *p0 or *p0+ */
static unsigned expect_indirect(assembler_t *a, bool *moves_on)
{
    token_t t = next_token(a);
    const size_t n = strlen(t.text);
    if (!t.any || t.text[0] != '*') {
        ERROR(a, t.col, "expected *p0..*p5, or with + behind");
        return P0;
    }
    *moves_on = t.text[n - 1] == '+';
    t.text[n - *moves_on] = 0;
    memmove(t.text, t.text + 1, n);
    t.col++;
    return register_of(a, &t, true);
}

/* ---- labels ---- */

static int label_of_name(assembler_t *a, const char *name)
{
    for (int i = LABELS - 1; i >= 0; i--) {
        if (strcmp(a->names[i], name) == 0) {
            return i;
        }
    }
    for (int i = LABELS - 1; i >= 0; i--) {
        if (!a->taken[i]) {
            a->taken[i] = true;
            strcpy(a->names[i], name);
            return i;
        }
    }
    return -1;
}

static unsigned expect_label(assembler_t *a)
{
    const token_t t = next_token(a);
    const char *const name = t.text + (t.text[0] == '#');
    number_t n;
    if (t.any && parse_number(t.text, &n)) {
        if (n.bits >= LABELS) {
            ERROR(a, t.col, "labels are 0..127");
        }
        return (unsigned)(n.bits & 127);
    }
    if (!t.any || *name == 0) {
        ERROR(a, t.col, "expected a label: #0..#127 or a name");
        return 0;
    }
    const int k = label_of_name(a, name);
    if (k < 0) {
        ERROR(a, t.col, "more than 128 labels");
        return 0;
    }
    if (a->speaks && !a->known[k]) {
        ERROR(a, t.col, "label '%s' is not defined", name);
    }
    return (unsigned)k;
}

/* ---- output ---- */

static void emit(assembler_t *a, uint32_t word)
{
    tw_asm_out_t *const out = a->out;
    if (out->code_bytes + 2 > sizeof out->code) {
        ERROR(a, 1, "script longer than %zu bytes", sizeof out->code);
        return;
    }
    tw_put_le16(out->code + out->code_bytes, (uint16_t)word);
    out->code_bytes += 2;
}

static void flush_labels(assembler_t *a)
{
    for (unsigned i = 0; i < a->n_pending; i++) {
        emit(a, 0x0500u | a->pending[i]);
    }
    a->n_pending = 0;
}

static void define_label(assembler_t *a, unsigned k, unsigned col)
{
    if (a->defined[k]) {
        ERROR(a, col, "label #%u %s defined twice", k, a->names[k]);
        return;
    }
    a->defined[k] = true;
    if (a->n_pending == PENDING_MAX) {
        flush_labels(a);
    }
    a->pending[a->n_pending++] = (uint8_t)k;
}

static void pool_byte(assembler_t *a, uint8_t b)
{
    tw_asm_out_t *const out = a->out;
    if (out->pool_bytes >= sizeof out->pool - 4 * LABELS - 3) { /* the directory must fit behind */
        ERROR(a, 1, "too many constants");
        return;
    }
    out->pool[out->pool_bytes++] = b;
}

/* nop halfwords, as between instructions. */
static void pool_align(assembler_t *a, unsigned to)
{
    while ((a->pool_start + a->out->pool_bytes) % to != 0) {
        pool_byte(a, (a->out->pool_bytes & 1) != 0 ? 0xC5 : 0x00);
    }
}

static void pool_labels(assembler_t *a, const asm_type_t *type)
{
    for (unsigned i = 0; i < a->n_pending; i++) {
        uint8_t *const e = a->dir[a->n_dir++];
        e[0] = a->pending[i];
        e[1] = type->code;
        tw_put_le16(e + 2, (uint16_t)a->out->pool_bytes);
    }
    a->n_pending = 0;
}

static void pool_directory(assembler_t *a)
{
    tw_asm_out_t *const out = a->out;
    if (out->pool_bytes == 0) {
        return;
    }
    memcpy(out->pool + out->pool_bytes, a->dir, 4 * a->n_dir);
    out->pool_bytes += 4 * a->n_dir;
    tw_put_le16(out->pool + out->pool_bytes, (uint16_t)a->n_dir);
    out->pool_bytes += 2;
}

/* ---- literals ---- */

static uint16_t half_of(double d)
{
    const uint16_t sign = signbit(d) ? 0x8000 : 0;
    const double m = fabs(d);
    int e;
    if (isnan(d)) {
        return 0x7E00;
    }
    if (m >= 65520.0) {
        return (uint16_t)(sign | 0x7C00);
    }
    if (m < 0x1p-14) {
        return (uint16_t)(sign | (uint16_t)nearbyint(ldexp(m, 24)));
    }
    frexp(m, &e);
    return (uint16_t)(sign | (((unsigned)(e + 13) << 10) + (unsigned)nearbyint(ldexp(m, 11 - e))));
}

static bool float_bits(const char *text, unsigned code, uint64_t *bits)
{
    char *stop;
    const double d = strtod(text, &stop);
    if (stop == text || *stop != 0) {
        return false;
    }
    if (code == 13) {
        memcpy(bits, &d, sizeof d);
    } else if (code == 12) {
        const float f = (float)d;
        uint32_t u;
        memcpy(&u, &f, sizeof u);
        *bits = u;
    } else {
        *bits = half_of(d);
    }
    return true;
}

static bool fits(const number_t *n, unsigned code, unsigned bits)
{
    const bool is_signed = code == 0 || code == 2 || code == 4 || code == 7;
    const uint64_t top = bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
    if (n->negative) {
        return is_signed && 0 - n->bits <= (top >> 1) + 1;
    }
    return n->bits <= (is_signed && !n->hex ? top >> 1 : top); /* hexadecimal is the bit pattern */
}

/* A literal of the type; a hexadecimal one is its bits whatever the type. */
static uint64_t literal(assembler_t *a, const token_t *t, const asm_type_t *type)
{
    const char *const text = t->text + (t->text[0] == '#');
    const bool is_float = type->code >= 11 && type->code <= 13;
    uint64_t bits = 0;
    number_t n;
    const bool number = parse_number(text, &n);
    if (is_float && !(number && n.hex)) {
        if (!float_bits(text, type->code, &bits)) {
            ERROR(a, t->col, "'%s' is not a number", t->text);
        }
        return bits;
    }
    if (!number) {
        ERROR(a, t->col, "'%s' is not an integer", t->text);
    } else if (!fits(&n, type->code, 8u * type->bytes)) {
        ERROR(a, t->col, "%s does not fit %s", t->text, type->name);
    }
    return n.bits;
}

static void emit_literal(assembler_t *a, const asm_type_t *type)
{
    const token_t t = next_token(a);
    uint64_t bits = 0;
    if (t.any) {
        bits = literal(a, &t, type);
    } else {
        WARN(a, t.col, "literal missing, 0 assembled");
    }
    if (type->bytes == 1) {
        bits &= 255;
    }
    for (unsigned i = 0; i < (type->bytes + 1u) / 2; i++) {
        emit(a, (uint32_t)(bits >> (16 * i)) & 0xFFFF);
    }
}

/* ---- statements ---- */

static void emit_movi(assembler_t *a, bool push)
{
    const asm_type_t *const type = expect_type(a);
    const unsigned r = push ? (unsigned)S0 : expect_register(a, false);
    emit(a, 0x2000u | r << 8 | type->code);
    emit_literal(a, type);
}

/* Comparisons default to s0 and r0; against a number they become eqk, gtk, ltk. */
static void emit_xy(assembler_t *a, const asm_op_t *op)
{
    const bool compares = op->key >= OP_EQU && op->key <= OP_GTE;
    if (compares && !peek_token(a).any) {
        emit(a, (uint32_t)op->key << 8 | 0xE0);
        return;
    }
    const unsigned x = expect_register(a, false);
    const token_t y = peek_token(a);
    number_t n;
    if (y.any && parse_number(y.text, &n) && (op->key == OP_EQU || op->key == OP_GTS || op->key == OP_LTS)) {
        const unsigned key = op->key == OP_EQU ? OP_EQK : op->key == OP_GTS ? OP_GTK : OP_LTK;
        emit(a, key << 8 | x << 8 | ((uint32_t)expect_number(a, -128, 127) & 255));
        return;
    }
    emit(a, (uint32_t)op->key << 8 | x << 4 | expect_register(a, false));
}

static void emit_load_store(assembler_t *a, const asm_op_t *op)
{
    bool moves_on = false;
    unsigned x;
    unsigned y;
    if (op->form == F_LOAD) {
        x = expect_register(a, false);
        y = expect_indirect(a, &moves_on);
    } else {
        x = expect_indirect(a, &moves_on);
        y = expect_register(a, false);
    }
    emit(a, ((uint32_t)op->key | (moves_on ? 8u : 0u)) << 8 | x << 4 | y);
}

static void emit_field(assembler_t *a, const asm_op_t *op)
{
    const unsigned r = expect_register(a, false);
    const unsigned d = expect_register(a, false);
    const unsigned lsb = (unsigned)expect_number(a, 0, 63);
    const unsigned len = (unsigned)expect_number(a, 1, 64 - (int)lsb);
    emit(a, 0xA000u | r << 8 | (op->key & 15u) << 4 | d);
    emit(a, lsb | ((len - 1) & 63) << 8);
}

static unsigned expect_syscall(assembler_t *a)
{
    const token_t t = peek_token(a);
    const int k = t.any ? asm_find_syscall(t.text) : -1;
    number_t n;
    if (k < 0 && t.any && !parse_number(t.text, &n)) {
        next_token(a);
        unknown(a, &t, "system call", NAMES_SYSCALLS);
        return 0;
    }
    if (k < 0) {
        return (unsigned)expect_number(a, 0, 127);
    }
    next_token(a);
    return (unsigned)k;
}

static void emit_op(assembler_t *a, const asm_op_t *op)
{
    const uint32_t base = (uint32_t)op->key << 8;
    const uint32_t c = op->conditional ? 0x80 : 0;
    unsigned x;
    switch (op->form) {
    case F_CLABEL:
        emit(a, base | c | expect_label(a));
        break;
    case F_CREL:
        emit(a, base | c | ((uint32_t)expect_number(a, -64, 63) & 127));
        break;
    case F_CSYS:
        emit(a, base | c | expect_syscall(a));
        break;
    case F_CAPP:
        emit(a, 0x0400u | c | (uint32_t)expect_number(a, 0, 63));
        break;
    case F_CSCR:
        emit(a, 0x0440u | c | (uint32_t)expect_number(a, 0, 63));
        break;
    case F_LABEL:
        emit(a, base | expect_label(a));
        break;
    case F_MASK:
        emit(a, base | (uint32_t)expect_number(a, 0, 63));
        break;
    case F_K8:
        emit(a, base | (uint32_t)expect_number(a, 0, 255));
        break;
    case F_XY:
    case F_RANGE:
        emit_xy(a, op);
        break;
    case F_LOAD:
    case F_LOADI:
    case F_STORE:
    case F_STOREI:
        emit_load_store(a, op);
        break;
    case F_LIT:
        emit_movi(a, strcmp(op->name, "pshc") == 0);
        break;
    case F_PR:
    case F_RP:
        x = expect_register(a, true);
        emit(a, base | x << 4 | expect_register(a, false));
        break;
    case F_PT:
    case F_XT:
        x = expect_register(a, op->form == F_PT);
        emit(a, base | x << 4 | expect_type(a)->code);
        break;
    case F_RS8:
        x = expect_register(a, false);
        emit(a, base | x << 8 | ((uint32_t)expect_number(a, -128, 127) & 255));
        break;
    case F_RN6:
        x = expect_register(a, false);
        emit(a, (op->key & 0xF0u) << 8 | x << 8 | (op->key & 3u) << 6 | (uint32_t)expect_number(a, 0, 63));
        break;
    case F_FIELD:
        emit_field(a, op);
        break;
    case F_NONE:
        emit(a, base);
        break;
    case F_X:
        emit(a, base | expect_register(a, false) << 4);
        break;
    }
}

static void hex_words(assembler_t *a, uint64_t count)
{
    flush_labels(a);
    for (uint64_t i = 0; i < count; i++) {
        const token_t t = next_token(a);
        char *stop;
        const unsigned long v = strtoul(t.text, &stop, 16);
        if (!t.any || stop == t.text || *stop != 0 || v > 0xFFFF || t.text[0] == '-') {
            ERROR(a, t.col, "expected %" PRIu64 " hexadecimal words, word %" PRIu64 " is missing or wrong", count,
                  i + 1);
            return;
        }
        emit(a, (uint32_t)v);
    }
}

static void data_values(assembler_t *a, uint64_t count, const asm_type_t *type)
{
    pool_align(a, type->bytes);
    pool_labels(a, type);
    for (uint64_t i = 0; i < count; i++) {
        const token_t t = next_token(a);
        if (!t.any) {
            ERROR(a, t.col, "expected %" PRIu64 " values, found %" PRIu64, count, i);
            return;
        }
        const uint64_t bits = literal(a, &t, type);
        for (unsigned b = 0; b < type->bytes; b++) {
            pool_byte(a, (uint8_t)(bits >> (8 * b)));
        }
    }
}

/* "2 h16; 2002 0001" or "1 f64; 3.14": count, type, an optional semicolon, values. */
static void data_line(assembler_t *a, const token_t *first)
{
    number_t n;
    const token_t name = next_token(a);
    const asm_type_t *const type = asm_find_type(name.text, true);
    const bool words = strcmp(name.text, "h16") == 0;
    if (!parse_number(first->text, &n) || n.negative || n.bits == 0 || n.bits > 65535) {
        ERROR(a, first->col, "expected an instruction, or a count and a type such as '2 h16;'");
        return;
    }
    if (!words && (type == NULL || type->code == 14)) {
        ERROR(a, name.col, "expected h16 or a data type such as i8, u16, f32 after the count");
        return;
    }
    while (a->at < a->end && is_blank(*a->at)) {
        a->at++;
    }
    a->at += a->at < a->end && *a->at == ';';
    if (words) {
        hex_words(a, n.bits);
    } else {
        data_values(a, n.bits, type);
    }
}

static void label_name(assembler_t *a, token_t *t)
{
    t->text[strlen(t->text) - 1] = 0;
    const int k = label_of_name(a, t->text);
    if (t->text[0] == 0 || isdigit((unsigned char)t->text[0]) || k < 0) {
        ERROR(a, t->col, k < 0 ? "more than 128 labels" : "a label name starts with a letter");
        return;
    }
    define_label(a, (unsigned)k, t->col);
}

static uint64_t rest_of_line(assembler_t *a)
{
    const char *const at = a->at;
    uint64_t n = 0;
    while (next_token(a).any) {
        n++;
    }
    a->at = at;
    return n;
}

static void statement(assembler_t *a)
{
    token_t t = next_token(a);
    asm_op_t op;
    if (t.any && t.text[strlen(t.text) - 1] == ':') {
        label_name(a, &t);
        t = next_token(a);
    }
    if (!t.any) {
        return;
    }
    if (strcmp(t.text, ".h16") == 0) {
        hex_words(a, rest_of_line(a));
    } else if (isdigit((unsigned char)t.text[0]) || t.text[0] == '-') {
        data_line(a, &t);
    } else if (!asm_find_op(t.text, &op)) {
        unknown(a, &t, "instruction", NAMES_OPS);
        return;
    } else if (op.key == OP_LABL) {
        const unsigned col = peek_token(a).col;
        define_label(a, expect_label(a), col);
    } else {
        flush_labels(a);
        emit_op(a, &op);
    }
    const token_t extra = next_token(a);
    if (extra.any) {
        ERROR(a, extra.col, "nothing expected here, found '%s'", extra.text);
    }
}

/* ---- passes ---- */

static unsigned halfwords_at(const uint8_t *code)
{
    const uint16_t w = tw_get_le16(code);
    if (w >> 12 == 2) {
        static const uint8_t bytes[16] = {
#define TW_STYPE(code, NAME, name, bytes, data) [code] = (bytes),
#include "engine/script/script_types.def"
        };
        return 1 + (bytes[w & 15] + 1u) / 2;
    }
    return w >> 12 == 0xA ? 2 : 1;
}

bool tw_asm_ends(const uint8_t *code, uint32_t code_bytes)
{
    uint16_t last = 0xC500;
    for (uint32_t at = 0; at + 2 <= code_bytes; at += 2 * halfwords_at(code + at)) {
        last = tw_get_le16(code + at);
    }
    const unsigned high = last >> 8;
    return high == OP_RET || high == OP_RETP || high == OP_RETK ||
           ((high == OP_JMP || high == OP_JMPR) && (last & 0x80) == 0);
}

static void each_line(assembler_t *a, const char *text, size_t n, void (*fn)(assembler_t *))
{
    const char *const end = text + n;
    a->line_no = 0;
    for (const char *at = text; at < end; at = a->end + 1) {
        const char *const newline = memchr(at, '\n', (size_t)(end - at));
        a->line = a->at = at;
        a->end = newline != NULL ? newline : end;
        a->line_no++;
        fn(a);
    }
}

/* Numbers that the text uses itself are not given to names. */
static void reserve_numbers(assembler_t *a)
{
    for (token_t t = next_token(a); t.any; t = next_token(a)) {
        number_t n;
        if (t.text[0] == '#' && parse_number(t.text, &n) && n.bits < LABELS) {
            a->taken[n.bits] = true;
        }
    }
}

static void pass(assembler_t *a, const char *text, size_t n)
{
    a->out->code_bytes = a->out->pool_bytes = 0;
    a->n_pending = a->n_dir = 0;
    memset(a->defined, 0, sizeof a->defined);
    each_line(a, text, n, statement);
    flush_labels(a);
    if (!tw_asm_ends(a->out->code, a->out->code_bytes)) {
        WARN(a, 1, "no return at the end, ret appended");
        emit(a, 0xC000);
    }
    a->pool_start = tw_round_up(a->out->code_bytes, 4);
    memcpy(a->known, a->defined, sizeof a->known);
    pool_directory(a);
}

bool tw_asm(const char *text, size_t n, tw_asm_out_t *out)
{
    assembler_t a = {.out = out};
    out->n_diags = out->n_errors = 0;
    each_line(&a, text, n, reserve_numbers);
    pass(&a, text, n);
    a.speaks = true;
    pass(&a, text, n);
    return out->n_errors == 0;
}
