/* graphc_translate_later.c - texts after Oct 2024: other names, operands in another order, another script language.
 *
 *   format_index n                          format n
 *   arc_input io set [format] node ..       arc_input io node .. [set format]
 *   node_parameters TAG                     node_parameters, the TAG as its first data line; a label in scripts
 *   format_raw_data 3                       S16, under graph_dialect 2025
 *   node_script_code, script_code of statements, script_parameters, script_heap    comments
 *
 * A text already written our way comes out as it was. */
#include "host_tools/graphc/legacy/graphc_translate.h"
#include <stdio.h>

typedef struct later {
    g_trans_t *x;
    bool is_2025, again;
    bool in_script; /* a script, or a node that is one */
} later_t;

static bool is_name(const tw_tok_t *tok)
{
    double v;
    return !tw_tok_num(tok, &v);
}

/* A tag that means nothing here. */
static void drop(g_trans_t *x, const tw_tok_t *tag)
{
    tw_text_warn(&x->t, tag, "%.*s has no counterpart, kept as a comment", (int)tag->n, tag->p);
    g_put_comment(x);
}

static void rename_tag(g_trans_t *x, const char *tag)
{
    g_put(x, "%s %.*s", tag, (int)(x->t.eol - x->t.p), x->t.p);
}

/* Only codes that were renumbered without doubt; the reader refuses the others. */
static void raw_data(later_t *l)
{
    static const struct {
        uint8_t code, raw;
    } codes[] = {{1, TW_RAW_FP32}, {2, TW_RAW_FP64}, {3, TW_RAW_S16}, {4, TW_RAW_S32}, {12, TW_RAW_U8}};
    char rest[512];
    tw_tok_t tok;
    int64_t v;
    if (l->is_2025 && tw_text_tok(&l->x->t, &tok) && tw_tok_int(&tok, &v)) {
        for (size_t i = 0; i < TW_COUNT(codes); i++) {
            if (v == codes[i].code) {
                g_put(l->x, "format_raw_data %s%s", tw_raw_name(codes[i].raw), g_rest(l->x, rest, sizeof rest));
                return;
            }
        }
    }
    g_put_line(l->x);
}

/* io, set0copy1, format of the IO's side; then the node's end. */
static void io_arc(g_trans_t *x, const tw_tok_t *tag)
{
    double head[3], end[3];
    char rest[512], other[64] = "";
    tw_tok_t node, word;
    tw_text_t before = x->t;
    const unsigned n = g_numbers(x, head, 3);
    if (n < 2 || !tw_text_tok(&x->t, &node) || !is_name(&node) || g_numbers(x, end, 3) != 3) {
        x->t = before;
        g_put_line(x);
        return;
    }
    const double format = n == 3 ? head[2] : end[2];
    if (head[1] != 1 || format != end[2]) {
        (void)snprintf(other, sizeof other, " %.10g %.10g", head[1], format);
    }
    const bool quality = tw_text_peek(&x->t, &word) && tw_tok_is(&word, "H");
    if (quality) {
        (void)tw_text_tok(&x->t, &word);
    }
    g_put(x, "%.*s %.10g %.*s %.10g %.10g %.10g%s%s%s", (int)tag->n, tag->p, head[0], (int)node.n, node.p, end[0],
          end[1], end[2], other, quality ? " H" : "", g_rest(x, rest, sizeof rest));
}

/* A number where our label stands is the TAG of a node's parameters; those of a script have no TAG. */
static void parameters(later_t *l)
{
    g_trans_t *x = l->x;
    char rest[512];
    double tag;
    if (l->in_script || g_numbers(x, &tag, 1) == 0) {
        g_put_line(x);
        return;
    }
    g_put(x, "node_parameters%s", g_rest(x, rest, sizeof rest));
    g_put(x, "1 u8; %.10g", tag);
}

/* ---- scripts ----------------------------------------------------------------------- */

static bool next_is_data(const g_trans_t *x)
{
    tw_text_t t = x->t;
    tw_tok_t tok, type;
    int64_t v;
    return tw_text_line(&t) && tw_text_tok(&t, &tok) && tw_tok_int(&tok, &v) && tw_text_tok(&t, &type) &&
           is_name(&type) && type.n >= 2 && memchr("iuhsf", type.p[0], 5) != NULL;
}

/* Lines to the end of the block, or the tag that opens another one, as comments. */
static void comment_block(later_t *l)
{
    static const char *const tags[] = {
        "node",      "script",           "arc",         "arc_input",         "arc_output",
        "arc_nodes", "node_script_code", "script_code", "script_parameters", "script_heap",
        "format",    "format_index",     "stream_io",   "subgraph"};
    tw_tok_t tok;
    while (g_next_line(l->x)) {
        (void)tw_text_peek(&l->x->t, &tok);
        l->again = tw_tok_is_end(&tok) || g_is_one_of(&tok, tags, TW_COUNT(tags));
        if (l->again) {
            return;
        }
        g_put_comment(l->x);
    }
}

static void statements(later_t *l, const tw_tok_t *tag)
{
    tw_text_warn(&l->x->t, tag, "the script language of this text has no translation: the script only returns");
    g_put(l->x, "script_code");
    comment_block(l);
    g_put(l->x, "1 h16; C000 ; ret");
    g_put(l->x, "_end_");
}

static void script_data(later_t *l, const tw_tok_t *tag)
{
    drop(l->x, tag);
    comment_block(l);
}

static void registers(g_trans_t *x)
{
    double v;
    char rest[512];
    if (g_numbers(x, &v, 1) == 1 && v > 6) {
        tw_text_warn(&x->t, NULL, "%g registers, this machine has 6", v);
        v = 6;
    }
    g_put(x, "script_registers %.10g%s", v, g_rest(x, rest, sizeof rest));
}

/* "mem_fill_pattern bytes hWORD" fills all memory; ours has the word alone and speaks of an arc. */
static bool is_fill_of_memory(const tw_text_t *line, const tw_tok_t *tag)
{
    tw_text_t t = *line;
    tw_tok_t tok;
    return tw_tok_is(tag, "mem_fill_pattern") && tw_text_tok(&t, &tok) && tw_text_tok(&t, &tok);
}

/* ---- lines --------------------------------------------------------------------------- */

static void line(later_t *l)
{
    static const char *const dropped[] = {"node_user_key", "stream_io_cb_setting"};
    g_trans_t *x = l->x;
    tw_tok_t tag, next;
    double year;
    (void)tw_text_tok(&x->t, &tag);
    const bool alone = !tw_text_peek(&x->t, &next), numeric = !alone && !is_name(&next);
    if (tw_tok_is(&tag, "script") || tw_tok_is(&tag, "node")) {
        l->in_script = tw_tok_is(&tag, "script") || (!alone && tw_tok_is(&next, "arm_stream_script"));
    }
    if (tw_tok_is(&tag, "format_index")) {
        rename_tag(x, "format");
    } else if (tw_tok_is(&tag, "format_raw_data")) {
        raw_data(l);
    } else if (tw_tok_is(&tag, "arc_input") || tw_tok_is(&tag, "arc_output")) {
        io_arc(x, &tag);
    } else if (tw_tok_is(&tag, "node_parameters")) {
        parameters(l);
    } else if (tw_tok_is(&tag, "script_register")) {
        registers(x);
    } else if (g_is_one_of(&tag, dropped, TW_COUNT(dropped)) || is_fill_of_memory(&x->t, &tag)) {
        drop(x, &tag);
    } else if (tw_tok_is(&tag, "node_script_code") || (tw_tok_is(&tag, "script_code") && !next_is_data(x))) {
        statements(l, &tag);
    } else if ((tw_tok_is(&tag, "script_heap") && !numeric) || (tw_tok_is(&tag, "script_parameters") && numeric)) {
        script_data(l, &tag);
    } else {
        l->is_2025 |= tw_tok_is(&tag, "graph_dialect") && tw_tok_num(&next, &year) && year == 2025;
        g_put_line(x);
    }
}

bool g_translate_later(g_trans_t *x)
{
    later_t l = {.x = x};
    while (l.again || g_next_line(x)) {
        l.again = false;
        line(&l);
    }
    return true;
}
