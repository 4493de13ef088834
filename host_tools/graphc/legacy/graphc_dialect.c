/* graphc_dialect.c - the era of a graph text, from the words that only one era writes. */
#include "host_tools/graphc/legacy/graphc_translate.h"

typedef struct seen {
    bool e0, positional, later, placeholder;
} seen_t;

static bool is_number(const tw_tok_t *tok)
{
    double v;
    return tw_tok_num(tok, &v);
}

static void look_at_era(seen_t *s, tw_text_t t, const tw_tok_t *tag)
{
    static const char *const later[] = {"format_index",    "arc_nodes",       "stream_io_graph", "node_script_code",
                                        "script_register", "node_user_key",   "graph_locations", "graph_dialect",
                                        "graph_file_path", "node_malloc_add", "script_heap"};
    static const char *const positional[] = {"paths", "path", "graph_interface"};
    tw_tok_t first, second;
    const bool more = tw_text_tok(&t, &first);
    const bool two = more && tw_text_tok(&t, &second);
    s->later |= g_is_one_of(tag, later, TW_COUNT(later));
    s->positional |= (g_is_one_of(tag, positional, TW_COUNT(positional)) || tw_tok_is(tag, "arc")) && !more;
    if (two && (tw_tok_is(tag, "arc_input") || tw_tok_is(tag, "arc_output"))) {
        s->later |= is_number(&second);
    }
}

g_dialect_t g_dialect(const char *text, size_t n)
{
    tw_text_t t;
    tw_tok_t tag;
    seen_t s = {0};
    bool first = true;
    for (tw_text_open(&t, "", text, n, NULL); tw_text_line(&t); first = false) {
        (void)tw_text_tok(&t, &tag);
        s.e0 |= first && tw_tok_is(&tag, "h") && t.p < t.eol && *t.p == ',';
        s.placeholder |= g_has_placeholder(&t);
        look_at_era(&s, t, &tag);
    }
    return s.e0            ? G_DIALECT_E0
           : s.positional  ? G_DIALECT_E1
           : s.placeholder ? G_DIALECT_TEMPLATE
           : s.later       ? G_DIALECT_LATER
                           : G_DIALECT_OURS;
}
