/* graphc_decompile_script.c - scripts of an image as text: code words with what they mean, and literals. */
#include "engine/script/script.h"
#include "host_tools/graphc/image/graphc_decompile_priv.h"
#include <stdio.h>
#include <stdlib.h>

#define FIRST_LABEL 64u /* of literal lines, as graphc_script.c counts them */

typedef struct pool {
    const uint8_t *p;
    uint32_t bytes, n; /* of the values in front of the directory; entries */
} pool_t;

static const struct {
    uint8_t type, bytes;
    const char *name;
} literal_types[] = {{0, 1, "s8"},  {1, 1, "u8"},  {4, 4, "s32"},  {5, 4, "u32"},
                     {7, 8, "s64"}, {8, 8, "u64"}, {12, 4, "f32"}, {13, 8, "f64"}};

static uint32_t type_index(const uint8_t *entry)
{
    uint32_t i = 0;
    while (i < TW_COUNT(literal_types) && literal_types[i].type != entry[1]) {
        i++;
    }
    return i;
}

static const uint8_t *entry_of(const pool_t *q, uint32_t i)
{
    return q->p + q->bytes + 4 * i;
}

static uint32_t end_of(const pool_t *q, uint32_t i)
{
    return i + 1 < q->n ? tw_get_le16(entry_of(q, i + 1) + 2) : q->bytes;
}

static bool finite_value(const uint8_t *p, uint32_t type)
{
    return literal_types[type].type < 12 ||
           (literal_types[type].bytes == 4 ? (tw_get_le32(p) >> 23 & 255u) != 255u
                                           : (tw_get_le32(p + 4) >> 20 & 2047u) != 2047u);
}

/* Would a literal line leave this entry and these bytes? */
static bool line_says(const pool_t *q, uint32_t i)
{
    const uint8_t *e = entry_of(q, i);
    const uint32_t t = type_index(e), at = tw_get_le16(e + 2), end = end_of(q, i);
    if (t == TW_COUNT(literal_types) || e[0] != FIRST_LABEL + i || end > q->bytes || at >= end) {
        return false;
    }
    const uint32_t size = literal_types[t].bytes, count = (end - at) / size;
    if (at % size != 0 || count == 0) {
        return false;
    }
    for (uint32_t k = 0; k < count; k++) {
        if (!finite_value(q->p + at + k * size, t)) {
            return false;
        }
    }
    for (uint32_t k = at + count * size; k < end; k++) {
        if (q->p[k] != 0) {
            return false;
        }
    }
    const uint32_t next = i + 1 < q->n ? type_index(entry_of(q, i + 1)) : t;
    const uint32_t align = i + 1 < q->n && next < TW_COUNT(literal_types) ? literal_types[next].bytes : 1;
    return tw_round_up(at + count * size, align) == end;
}

/* Values, then the directory, then the number of its entries. */
static bool read_pool(pool_t *q, const uint8_t *p, uint32_t bytes)
{
    const uint32_t n = bytes >= 2 ? tw_get_le16(p + bytes - 2) : 0;
    if (n == 0 || n > 64 || 4 * n + 2 > bytes) {
        return false;
    }
    *q = (pool_t){p, bytes - 4 * n - 2, n};
    if (tw_get_le16(entry_of(q, 0) + 2) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!line_says(q, i)) {
            return false;
        }
    }
    return true;
}

static void literal(dec_t *x, const uint8_t *p, uint32_t type)
{
    char text[40];
    double d;
    const uint64_t v = literal_types[type].bytes == 8 ? tw_get_le64(p) : 0;
    switch (literal_types[type].type) {
    case 0:
        dec_put(x, " %d", (int8_t)p[0]);
        break;
    case 1:
        dec_put(x, " %u", p[0]);
        break;
    case 4:
        dec_put(x, " %d", (int32_t)tw_get_le32(p));
        break;
    case 5:
        dec_put(x, " %u", tw_get_le32(p));
        break;
    case 7:
        dec_put(x, " %lld", (long long)v);
        break;
    case 8:
        dec_put(x, " %llu", (unsigned long long)v);
        break;
    case 12:
        dec_f32(text, sizeof text, tw_get_f32(p));
        dec_put(x, " %s", text);
        break;
    default:
        memcpy(&d, &v, sizeof d);
        snprintf(text, sizeof text, "%.17g", d);
        dec_put(x, " %s", d == 0 && v != 0 ? "-0.0" : text);
        break;
    }
}

static void literals(dec_t *x, const pool_t *q)
{
    for (uint32_t i = 0; i < q->n; i++) {
        const uint8_t *e = entry_of(q, i);
        const uint32_t t = type_index(e), at = tw_get_le16(e + 2), count = (end_of(q, i) - at) / literal_types[t].bytes;
        dec_put(x, "        %u %s;", count, literal_types[t].name);
        for (uint32_t k = 0; k < count; k++) {
            literal(x, q->p + at + k * literal_types[t].bytes, t);
        }
        dec_put(x, "    ; #%u\n", e[0]);
    }
}

/* One instruction a line. */
static void code_lines(dec_t *x, const uint8_t *code, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes && !x->failed;) {
        char text[96];
        uint32_t n = tw_script_disasm(code, bytes, at, text, sizeof text);
        n = tw_min_u32(n >= 2 ? n & ~1u : 2, bytes - at);
        dec_put(x, "        %u h16;", n / 2);
        for (uint32_t k = 0; k < n; k += 2) {
            dec_put(x, " %04X", tw_get_le16(code + at + k));
        }
        dec_put(x, "    ; %s\n", text);
        at += n;
    }
}

static void tag(dec_t *x, const char *name, uint32_t v, uint32_t dflt)
{
    if (v != dflt) {
        dec_put(x, "    %s %u\n", name, v);
    }
}

/* The name when it is not the one that the compiler would choose. */
static void name_line(dec_t *x, uint32_t script, const char *of, const char *whose)
{
    const char *name = dec_symbol(x, TW_SYM_SCRIPT, script);
    char full[64], usual[TW_SYMBOL_MAX + 1];
    snprintf(full, sizeof full, "%s.%s", of, whose);
    snprintf(usual, sizeof usual, "%.*s", (int)TW_SYMBOL_MAX, full);
    if (name[0] != 0 && strcmp(name, usual) != 0) {
        dec_put(x, "    script_name %s\n", name);
    }
}

static void body(dec_t *x, uint32_t script)
{
    const uint32_t at = tw_img_record(x->img, TW_SEC_SCRIPTS, script, TW_SCRIPT_WORDS), s1 = dec_word(x, at, 1),
                   s2 = dec_word(x, at, 2), s3 = dec_word(x, at, 3);
    const uint8_t *code = x->img + dec_word(x, at, 0);
    const uint32_t bytes = tw_bits(s1, TW_S1_CODE), pool_bytes = tw_bits(s1, TW_S1_LITERALS);
    const uint8_t *p = code + tw_round_up(bytes, 4);
    pool_t pool = {0};
    tag(x, "script_registers", tw_bits(s2, TW_S2_REGS), 2);
    tag(x, "script_pointers", tw_bits(s2, TW_S2_PTRS), 2);
    tag(x, "script_stack", tw_bits(s2, TW_S2_STACK), 0);
    tag(x, "script_mem_shared", tw_bits(s2, TW_S2_SHARED), 0);
    tag(x, "script_privileged", tw_bits(s2, TW_S2_PRIVILEGED), 0);
    tag(x, "script_mem_map", tw_bits(s2, TW_S2_VID), 0);
    tag(x, "script_heap", 16 * (tw_bits(s2, TW_S2_MEM) + 1), 16);
    tag(x, "script_budget", tw_min_u32(256 * tw_bits(s3, TW_S3_BUDGET), 65535), 0);
    if (tw_bits(s2, TW_S2_SHARED) == tw_bits(s2, TW_S2_PRIVATE)) {
        dec_lost(x, at + 8, "script %u without memory, or with both kinds", script);
    }
    const bool lines = pool_bytes == 0 || read_pool(&pool, p, pool_bytes);
    if (!lines) {
        dec_put(x, "    script_pool\n");
        dec_bytes(x, "        ", p, pool_bytes);
        dec_put(x, "    _end_\n");
    }
    dec_put(x, "    script_code\n");
    code_lines(x, code, bytes);
    if (lines) {
        literals(x, &pool);
    }
    dec_put(x, "    _end_\n");
}

void dec_own_script(dec_t *x, uint32_t node, uint32_t script)
{
    name_line(x, script, "node", dec_symbol(x, TW_SYM_NODE, node));
    body(x, script);
}

static void shared_script(dec_t *x, uint32_t script)
{
    char number[12];
    snprintf(number, sizeof number, "%u", script);
    dec_put(x, "\nscript %u\n", script);
    name_line(x, script, "script", number);
    body(x, script);
    dec_put(x, "_end_\n");
}

void dec_scripts(dec_t *x)
{
    bool own[256] = {false};
    for (uint32_t i = 0; i < x->n.nodes; i++) {
        if (x->nodes[i].own_script != G_NONE) {
            own[x->nodes[i].own_script] = true;
        }
    }
    for (uint32_t i = 0; i < x->n.scripts && !x->failed; i++) {
        if (!own[i]) {
            shared_script(x, i);
        }
    }
}
