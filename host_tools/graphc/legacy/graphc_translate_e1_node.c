/* graphc_translate_e1_node.c - nodes and scripts of positional texts.
 *
 * Byte codes of Dec 2023 are 8 bits wide and of another machine: they stay in the text as comments, and
 * the script only returns. */
#include "host_tools/graphc/legacy/graphc_translate_e1.h"
#include <stdio.h>

bool g_e1_is_script(const g_slice_t *name)
{
    const tw_tok_t tok = {name->p, name->n, 0};
    return tw_tok_is(&tok, "arm_script") || tw_tok_is(&tok, "arm_stream_script");
}

/* "N type": count and width in bits of a data line, type 0 when it is none. */
typedef struct data {
    double n;
    char type;
    unsigned bits;
} data_t;

static data_t data_of(const tw_text_t *line)
{
    tw_text_t t = *line;
    tw_tok_t tok;
    data_t d = {0};
    unsigned bits = 0;
    if (!tw_text_tok(&t, &tok) || !tw_tok_num(&tok, &d.n) || !tw_text_peek(&t, &tok) || tok.n < 2) {
        return d;
    }
    for (uint32_t i = 1; i < tok.n && tok.p[i] >= '0' && tok.p[i] <= '9' && bits < 100; i++) {
        bits = 10 * bits + (unsigned)(tok.p[i] - '0');
    }
    const bool known = memchr("iuhsf", tok.p[0], 5) != NULL && (bits == 8 || bits == 16 || bits == 32 || bits == 64);
    d.type = (char)(known ? tok.p[0] : 0);
    d.bits = bits;
    return d;
}

/* After "N type;" the line's values. */
static void skip_type(tw_text_t *t)
{
    tw_tok_t tok;
    (void)tw_text_tok(t, &tok);
    (void)tw_text_tok(t, &tok);
    while (t->p < t->eol && (*t->p == ' ' || *t->p == '\t' || *t->p == ';' || *t->p == ':')) {
        t->p++;
    }
}

/* ---- parameters -------------------------------------------------------------------------- */

/* The first line has the TAG, alone or after a preset; all parameters were 255. */
static void put_tag(g_e1_t *e, const data_t *d)
{
    double v[2] = {0};
    char rest[512];
    skip_type(&e->x->t);
    const unsigned n = g_e1_numbers(e, v, 1, d->n >= 2 ? 2 : 1, "the TAG of the parameters");
    const double tag = v[n > 1 ? 1 : 0];
    if (n > 0) {
        g_put(e->x, "1 u8; %.0f%s", tag == 255 ? 0 : tag, g_rest(e->x, rest, sizeof rest));
    }
}

static void parameters(g_e1_t *e, bool kept)
{
    tw_tok_t tok;
    bool first = true;
    if (kept) {
        g_put(e->x, "node_parameters");
    } else {
        tw_text_warn(&e->x->t, NULL, "parameters of a script have no counterpart, kept as comments");
    }
    while (g_e1_row(e, &tok)) {
        const data_t d = data_of(&e->x->t);
        if (!kept) {
            g_put(e->x, "; %.*s", (int)(e->x->t.eol - tok.p), tok.p);
        } else if (first && d.type != 0 && d.bits == 8 && d.n <= 2) {
            put_tag(e, &d);
        } else {
            g_put_line(e->x);
        }
        first = false;
    }
    if (kept) {
        g_put(e->x, "_end_");
    }
}

/* ---- scripts ------------------------------------------------------------------------------ */

static void script_row(g_e1_t *e, unsigned row)
{
    static const char *const tags[] = {"script_registers", "script_stack", "script_mem_shared"};
    double v[4];
    tw_tok_t tok;
    char rest[512];
    (void)tw_text_peek(&e->x->t, &tok);
    if (tw_tok_is(&tok, "S") || tw_tok_is(&tok, "X")) {
        (void)tw_text_tok(&e->x->t, &tok);
    }
    const unsigned n = g_e1_numbers(e, v, 2, 4, "a script: registers, stack, shared memory");
    (void)g_rest(e->x, rest, sizeof rest);
    if (row == 0 && v[0] > 6) {
        tw_text_warn(&e->x->t, NULL, "%g registers, this machine has 6", v[0]);
    }
    for (unsigned i = 0; row == 0 && i < n && i < TW_COUNT(tags); i++) {
        g_put(e->x, "%s %.0f%s", tags[i], i == 0 && v[i] > 6 ? 6 : v[i], i == 0 ? rest : "");
    }
}

/* Code up to its _end_. @return true when it was ours */
static bool script_code(g_e1_t *e, bool wide)
{
    tw_tok_t tok;
    g_put(e->x, "script_code");
    do {
        (void)tw_text_peek(&e->x->t, &tok);
        if (wide) {
            g_put_line(e->x);
        } else {
            g_put(e->x, "; %.*s", (int)(e->x->t.eol - tok.p), tok.p);
        }
    } while (g_e1_row(e, &tok));
    if (!wide) {
        g_put(e->x, "1 h16; C000 ; ret");
    }
    g_put(e->x, "_end_");
    return wide;
}

/* 16-bit words are of a machine like ours; a byte anywhere makes them the older one's. */
static bool is_wide(const g_e1_t *e)
{
    tw_text_t t = e->x->t;
    tw_tok_t tok;
    do {
        const data_t d = data_of(&t);
        if (!tw_text_peek(&t, &tok) || d.type == 0) {
            break;
        }
        if (d.bits == 8) {
            return false;
        }
    } while (tw_text_line(&t));
    return true;
}

static bool begins(const tw_tok_t *tok, const char *with)
{
    return tok->n >= strlen(with) && memcmp(tok->p, with, strlen(with)) == 0;
}

static void script(g_e1_t *e, double id, const char *rest)
{
    const unsigned line = e->x->t.line;
    tw_tok_t tok;
    bool has_code = false, is_open = true;
    g_put(e->x, "script %.0f%s", id, rest);
    if (id >= 0 && id < 8 * sizeof e->scripts) {
        e->scripts[(unsigned)id / 8] |= (uint8_t)(1u << ((unsigned)id % 8));
    }
    for (unsigned row = 0; is_open && g_e1_row(e, &tok); row++) {
        if (begins(&tok, "parameters")) {
            parameters(e, false);
            is_open = !e->again;
        } else if (data_of(&e->x->t).type == 0) {
            script_row(e, row);
        } else if (!has_code) {
            has_code = true;
            if (!script_code(e, is_wide(e))) {
                tw_diag(e->x->t.diags, true, e->x->t.file, line, 0,
                        "8-bit byte codes have no translation: script %.0f only returns, its codes are comments", id);
            }
            is_open = !e->again;
        } else {
            tw_text_error(&e->x->t, &tok, "data after the end of the script's code");
        }
    }
    if (!has_code) {
        g_put(e->x, "script_code");
        g_put(e->x, "1 h16; C000 ; ret");
        g_put(e->x, "_end_");
    }
    g_put(e->x, "_end_");
}

void g_e1_fill_scripts(g_e1_t *e)
{
    unsigned most = 8 * sizeof e->scripts;
    while (most > 0 && (e->scripts[(most - 1) / 8] >> ((most - 1) % 8) & 1) == 0) {
        most--;
    }
    for (unsigned i = 0; i < most; i++) {
        if ((e->scripts[i / 8] >> (i % 8) & 1) == 0) {
            g_put(e->x, "script %u ; not in the text, but numbers have no gaps", i);
            g_put(e->x, "script_code");
            g_put(e->x, "1 h16; C000 ; ret");
            g_put(e->x, "_end_");
            g_put(e->x, "_end_");
        }
    }
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static void put_positive(g_e1_t *e, const char *tag, double v)
{
    if (v > 0) {
        g_put(e->x, "%s %.0f", tag, v);
    }
}

/* preset, script, processor, architecture, thread, verbosity; without the thread when there are five. */
static void placement(g_e1_t *e)
{
    double v[6] = {0};
    char rest[512];
    tw_tok_t tok;
    (void)tw_text_peek(&e->x->t, &tok);
    const bool marked = tw_tok_is(&tok, "S") || tw_tok_is(&tok, "X");
    if (marked) {
        (void)tw_text_tok(&e->x->t, &tok);
    }
    const unsigned n = g_e1_numbers(e, v, 1, marked ? 1 : 6, "a node: preset, script, processor, architecture");
    if (n == 0) {
        return;
    }
    g_put(e->x, "node_preset %.0f%s", v[0], g_rest(e->x, rest, sizeof rest));
    put_positive(e, "node_script", v[1]);
    put_positive(e, "node_map_proc", v[2]);
    put_positive(e, "node_map_arch", v[3]);
    put_positive(e, "node_map_rtos", n == 6 ? v[4] : 0);
    put_positive(e, "node_map_verbose", n == 6 ? v[5] : v[4]);
}

static void vids(g_e1_t *e)
{
    double v[7];
    char rest[512];
    unsigned n = g_e1_numbers(e, v, 1, 7, "the VIDs of a node's memory");
    (void)g_rest(e->x, rest, sizeof rest);
    if (e->has_code_vid && n > 1 && v[--n] > 0) {
        tw_text_warn(&e->x->t, NULL, "the bank of a node's code has no counterpart, kept as a comment");
        g_put(e->x, "; code in VID %.0f", v[n]);
    }
    for (unsigned i = 0; i < n; i++) {
        if (v[i] > 0) {
            g_put(e->x, "node_map_hwblock %u %.0f%s", i, v[i], rest);
            rest[0] = 0;
        }
    }
    if (rest[0] != 0) {
        g_put(e->x, "%s", rest + 1);
    }
}

/* "node_data_mapping": an optional section inside a node. */
static void data_mapping(g_e1_t *e)
{
    tw_tok_t tok;
    tw_text_warn(&e->x->t, NULL, "node_data_mapping has no counterpart, kept as comments");
    do {
        (void)tw_text_peek(&e->x->t, &tok);
        g_put(e->x, "; %.*s", (int)(e->x->t.eol - tok.p), tok.p);
    } while (g_e1_row(e, &tok));
}

static void node_rows(g_e1_t *e)
{
    tw_tok_t tok;
    unsigned rows = 0;
    while (g_e1_row(e, &tok)) {
        double v;
        if (begins(&tok, "parameters")) {
            parameters(e, true);
        } else if (tw_tok_is(&tok, "node_data_mapping")) {
            data_mapping(e);
        } else if (tw_tok_num(&tok, &v) || tw_tok_is(&tok, "S") || tw_tok_is(&tok, "X")) {
            if (rows++ == 0) {
                placement(e);
            } else {
                vids(e);
            }
        } else {
            tw_text_error(&e->x->t, &tok, "expected rows of numbers, parameters or _end_, found '%.*s'", (int)tok.n,
                          tok.p);
        }
        if (e->again) {
            break;
        }
    }
}

void g_e1_node(g_e1_t *e)
{
    tw_tok_t tok;
    double v[3];
    char rest[512];
    if (!g_e1_row(e, &tok)) {
        tw_text_error(&e->x->t, NULL, "expected the name of a node");
        return;
    }
    (void)tw_text_tok(&e->x->t, &tok);
    const g_slice_t name = {tok.p, tok.n};
    const bool has_instance = g_numbers(e->x, v, 1) == 1;
    (void)g_rest(e->x, rest, sizeof rest);
    if (g_e1_is_script(&name)) {
        script(e, has_instance ? v[0] : 0, rest);
        return;
    }
    g_put(e->x, "node %.*s %.0f%s", (int)name.n, name.p, has_instance ? v[0] : 0, rest);
    node_rows(e);
    g_put(e->x, "_end_");
}
