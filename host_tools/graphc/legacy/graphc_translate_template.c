/* graphc_translate_template.c - templates: texts that show every tag, with placeholders where values belong.
 *
 *   <node_name>, <instance_index>, <0..127>    a name or a number that could stand there
 *   ..                                         "and so on": a comment
 *   a second code of one script                the other way to write it: comments
 *   prose and C in an IO template              comments
 */
#include "host_tools/graphc/legacy/graphc_translate.h"
#include <stdio.h>

#define HEAD_MAX 512u /* [bytes] a template tells what it is */

bool g_is_template(const char *text, size_t n)
{
    static const char word[] = "TEMPLATE";
    for (size_t i = 0; i + sizeof word - 1 <= n && i < HEAD_MAX; i++) {
        if (memcmp(text + i, word, sizeof word - 1) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_placeholder(const tw_tok_t *tok)
{
    return tok->n > 2 && tok->p[0] == '<' && tok->p[tok->n - 1] == '>';
}

bool g_has_placeholder(const tw_text_t *line)
{
    tw_text_t t = *line;
    tw_tok_t tok;
    t.p = t.bol;
    for (bool first = true; tw_text_tok(&t, &tok); first = false) {
        if (is_placeholder(&tok) || (first && tw_tok_is(&tok, ".."))) {
            return true;
        }
    }
    return false;
}

/* ---- graphs ------------------------------------------------------------------------ */

typedef struct filler {
    g_trans_t *x;
    bool in_data;  /* of node_parameters */
    bool has_code; /* of the record being read */
} filler_t;

/* The first of a range, 0 for an instance or an index, else the word itself. */
static void value_of(const tw_tok_t *tok, char *to, size_t size)
{
    char word[64];
    const tw_tok_t inner = {tok->p + 1, tok->n - 2, 0};
    (void)tw_tok_copy(&inner, word, sizeof word);
    char *range = strstr(word, "..");
    if (range != NULL) {
        *range = 0;
    }
    const bool index = strstr(word, "index") != NULL || strstr(word, "instance") != NULL;
    (void)snprintf(to, size, "%s", index || word[0] == 0 ? "0" : word);
}

/* The line with a value for each placeholder. */
static void fill(filler_t *f)
{
    char line[1024], rest[512];
    size_t n = 0;
    tw_tok_t tok;
    while (tw_text_tok(&f->x->t, &tok)) {
        char word[64];
        if (is_placeholder(&tok)) {
            value_of(&tok, word, sizeof word);
            tw_text_warn(&f->x->t, &tok, "placeholder %.*s is taken as %s", (int)tok.n, tok.p, word);
        }
        const int len = is_placeholder(&tok)
                            ? snprintf(line + n, sizeof line - n, "%s%s", n > 0 ? " " : "", word)
                            : snprintf(line + n, sizeof line - n, "%s%.*s", n > 0 ? " " : "", (int)tok.n, tok.p);
        n += len > 0 ? (size_t)len : 0;
        if (n >= sizeof line) {
            tw_text_error(&f->x->t, NULL, "a line with placeholders has at most %zu characters", sizeof line - 1);
            return;
        }
    }
    g_put(f->x, "%s%s", line, g_rest(f->x, rest, sizeof rest));
}

/* Code in another way: the record has its code. */
static void other_code(filler_t *f, const tw_tok_t *tag)
{
    tw_tok_t tok;
    tw_text_warn(&f->x->t, tag, "the script has code already, this one is kept as comments");
    do {
        g_put_comment(f->x);
        (void)tw_text_peek(&f->x->t, &tok);
    } while (!tw_tok_is_end(&tok) && g_next_line(f->x));
}

static void graph_line(filler_t *f)
{
    tw_tok_t tag;
    const bool placeholder = g_has_placeholder(&f->x->t);
    tw_text_t line = f->x->t;
    (void)tw_text_tok(&line, &tag);
    const bool parameters = tw_tok_is(&tag, "parameters") || tw_tok_is(&tag, "node_parameters");
    const bool code = tw_tok_is(&tag, "script_code") || tw_tok_is(&tag, "script_assembler");
    tw_tok_t next;
    double v;
    if (tw_tok_is(&tag, "node") || tw_tok_is(&tag, "script")) {
        f->has_code = false;
    }
    if (f->in_data && parameters) {
        tw_text_warn(&f->x->t, &tag, "the block before is not closed: _end_ added");
        g_put(f->x, "_end_");
    }
    f->in_data = parameters || (f->in_data && !tw_tok_is_end(&tag));
    if (tw_tok_is(&tag, "..")) {
        g_put_comment(f->x);
    } else if (code && f->has_code) {
        other_code(f, &tag);
    } else if (tw_tok_is(&tag, "script") && tw_text_peek(&line, &next) && !tw_tok_num(&next, &v)) {
        tw_text_warn(&f->x->t, &next, "a script has a number: %.*s is taken as 0", (int)next.n, next.p);
        g_put(f->x, "script 0 ; %.*s", (int)(f->x->t.eol - next.p), next.p);
    } else if (placeholder) {
        fill(f);
    } else {
        g_put_line(f->x);
    }
    f->has_code |= code;
}

bool g_translate_template(g_trans_t *x)
{
    filler_t f = {.x = x};
    while (g_next_line(x)) {
        graph_line(&f);
    }
    return true;
}

/* ---- IO manifests -------------------------------------------------------------------- */

/* A tag whose value is told in words: several, and no number or braces among them. */
static bool is_prose(const tw_text_t *line)
{
    tw_text_t t = *line;
    tw_tok_t tok;
    unsigned words = 0;
    while (tw_text_tok(&t, &tok)) {
        words++;
        for (uint32_t i = 0; words > 1 && i < tok.n; i++) {
            if (tok.p[i] == '{' || (tok.p[i] >= '0' && tok.p[i] <= '9')) {
                return false;
            }
        }
    }
    return words > 2;
}

bool g_translate_io_template(g_trans_t *x)
{
    tw_tok_t tok;
    unsigned lines = 0;
    bool before = false; /* the line before was prose, and told */
    while (g_next_line(x)) {
        (void)tw_text_peek(&x->t, &tok);
        const bool tag = tok.n > 3 && memcmp(tok.p, "io_", 3) == 0 && !is_prose(&x->t);
        if (lines++ < 2 || tag) { /* name and domain first */
            g_put_line(x);
            before = false;
            continue;
        }
        if (!before) {
            tw_text_warn(&x->t, &tok, "no tag of an IO manifest: this line and those below it are kept as comments");
        }
        before = true;
        g_put_comment(x);
    }
    return true;
}
