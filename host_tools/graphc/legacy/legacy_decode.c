/* legacy_decode.c - from the text of a listing to its words, and from words to what they are known to mean. */
#include "host_tools/graphc/legacy/legacy_decode.h"
#include "engine/base/bytes.h"
#include "engine/board/manifest_lex.h"
#include <stdlib.h>
#include <string.h>

enum { END_OF_NODES = 0x3FF, BLOCKS_MAX = 6 };

/* A word and where it stands. */
typedef struct place {
    unsigned line;
    const char *comment, *eol;
} place_t;

typedef struct reader {
    tw_legacy_t *l;
    tw_diags_t *d;
    const char *file;
    place_t *places;
    uint32_t cap;
    unsigned line;
} reader_t;

/* ---- words of the text ---------------------------------------------------------- */

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Both arrays grow together, and each is kept when the other cannot. */
static bool more_room(reader_t *r)
{
    const uint32_t cap = r->cap > 0 ? 2 * r->cap : 256;
    uint32_t *w = realloc(r->l->w, cap * sizeof *w);
    if (w == NULL) {
        return false;
    }
    r->l->w = w;
    place_t *p = realloc(r->places, cap * sizeof *p);
    if (p == NULL) {
        return false;
    }
    r->places = p;
    r->cap = cap;
    return true;
}

static bool add_word(reader_t *r, uint32_t value, const char *comment, const char *eol)
{
    tw_legacy_t *l = r->l;
    if (l->n == r->cap && !more_room(r)) {
        tw_diag(r->d, false, r->file, r->line, 0, "out of memory");
        return false;
    }
    if (l->n > TW_LEGACY_WORDS_MAX) {
        tw_diag(r->d, false, r->file, r->line, 0, "more than %u words", TW_LEGACY_WORDS_MAX);
        return false;
    }
    r->places[l->n] = (place_t){r->line, comment, eol};
    l->w[l->n++] = value;
    return true;
}

/* Scans drop a digit of the all-ones word, and no other word has seven digits that are all F. */
static bool take_digits(reader_t *r, const char *p, uint32_t n, unsigned col, const char *comment, const char *eol)
{
    uint64_t v = 0;
    for (uint32_t i = 0; i < n && i < 16; i++) {
        v = v << 4 | (unsigned)digit(p[i]);
    }
    if (n == 7 && v == 0xFFFFFFF) {
        tw_diag(r->d, true, r->file, r->line, col, "seven digits, taken for FFFFFFFF");
        v = 0xFFFFFFFF;
    } else if (n != 8) {
        tw_diag(r->d, false, r->file, r->line, col, "a word has 8 hexadecimal digits, this one %u", n);
        return false;
    }
    return add_word(r, (uint32_t)v, comment, eol);
}

/* "0x", or with the multiplication sign that scans make of it. */
static uint32_t prefix(const char *p, const char *end)
{
    if (end - p >= 3 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
        return 2;
    }
    return end - p >= 4 && memcmp(p, "0\xC3\x97", 3) == 0 ? 3 : 0;
}

static bool read_line(reader_t *r, const char *bol, const char *eol)
{
    const char *comment = eol;
    for (const char *p = bol; p + 1 < eol; p++) {
        if (p[0] == '/' && p[1] == '/') {
            comment = p;
            break;
        }
    }
    for (const char *p = bol; p < comment;) {
        const uint32_t skip = prefix(p, comment);
        const bool begins = skip > 0 && (p == bol || digit(p[-1]) < 0) && digit(p[skip]) >= 0;
        if (!begins) {
            p++;
            continue;
        }
        const char *digits = p + skip, *q = digits;
        while (q < comment && digit(*q) >= 0) {
            q++;
        }
        if (!take_digits(r, digits, (uint32_t)(q - digits), (unsigned)(p - bol) + 1, comment, eol)) {
            return false;
        }
        p = q;
    }
    return true;
}

static bool read_words(reader_t *r, const char *text, size_t n)
{
    const char *p = text, *end = text + n;
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p)), *eol = nl != NULL ? nl : end;
        r->line++;
        if (!read_line(r, p, eol)) {
            return false;
        }
        p = nl != NULL ? nl + 1 : end;
    }
    if (r->l->n < 2) {
        tw_diag(r->d, false, r->file, 0, 0, "no listing: expected words such as 0x0000001A, the first their number");
        return false;
    }
    r->l->announced = r->l->w[0];
    r->l->n--;
    memmove(r->l->w, r->l->w + 1, r->l->n * sizeof *r->l->w);
    memmove(r->places, r->places + 1, r->l->n * sizeof *r->places);
    return true;
}

/* ---- layout ------------------------------------------------------------------------ */

static void set_layout(tw_legacy_t *l, tw_legacy_layout_t layout, uint32_t header)
{
    l->layout = layout;
    l->n_formats = tw_legacy_word(l, 1) & 31u;
    l->n_ios = tw_legacy_word(l, 1) >> 5 & 127u;
    l->ios_at = header;
    l->formats_at = header + 2 * l->n_ios;
    l->scripts_at = l->formats_at + 3 * l->n_formats;
    if (layout == TW_LEGACY_FULL) {
        l->script_words = tw_legacy_word(l, 1) >> 12;
        l->list_words = tw_legacy_word(l, 2);
        l->n_arcs = tw_legacy_word(l, 3) & 0x7FFu;
        l->nodes_at = l->scripts_at + l->script_words;
        l->arcs_at = l->nodes_at + l->list_words;
        l->rest_at = l->arcs_at + 4 * l->n_arcs;
    }
}

static bool formats_look_right(const tw_legacy_t *l)
{
    for (uint32_t i = 0; i < l->n_formats; i++) {
        if (l->formats_at + 3 * i < l->n && l->w[l->formats_at + 3 * i] >> 25 >= TW_RAW_COUNT) {
            return false;
        }
    }
    return l->formats_at < l->n && l->n_formats > 0;
}

/* IOs that are used and IOs that are not both begin with many ones, and the node list with an end in its place. */
static bool is_full(const tw_legacy_t *l)
{
    for (uint32_t i = 0; i < l->n_ios; i++) {
        if (l->ios_at + 2 * i < l->n && l->w[l->ios_at + 2 * i] >> 24 < 0xFE) {
            return false;
        }
    }
    const bool sane = l->list_words > 0 && l->list_words <= TW_LEGACY_WORDS_MAX && l->rest_at <= l->announced;
    return sane && formats_look_right(l) && (l->arcs_at > l->n || l->w[l->arcs_at - 1] == END_OF_NODES);
}

/* An unused IO is two words of ones: of an odd run the scan lost one. */
static bool mend_ios(reader_t *r)
{
    tw_legacy_t *l = r->l;
    const uint32_t ios = tw_legacy_word(l, 1) >> 5 & 127u;
    for (uint32_t i = 0, at = 7; i < ios && at < l->n; i++, at += 2) {
        const bool odd =
            l->w[at] == 0xFFFFFFFFu && at + 1 < l->n && l->w[at + 1] >> 16 == 0xFFFF && l->w[at + 1] != 0xFFFFFFFFu;
        if (!odd) {
            continue;
        }
        tw_diag(r->d, true, r->file, r->places[at].line, 0,
                "one word of an unused IO is missing behind this, taken for FFFFFFFF");
        const place_t here = r->places[at];
        if (!add_word(r, 0, here.comment, here.eol)) {
            return false;
        }
        memmove(l->w + at + 1, l->w + at, (l->n - at - 1) * sizeof *l->w);
        memmove(r->places + at + 1, r->places + at, (l->n - at - 1) * sizeof *r->places);
    }
    return true;
}

static bool find_layout(reader_t *r)
{
    tw_legacy_t *l = r->l;
    if (l->n < l->announced && !mend_ios(r)) {
        return false;
    }
    set_layout(l, TW_LEGACY_FULL, 7);
    if (!is_full(l)) {
        l->script_words = l->list_words = l->n_arcs = l->nodes_at = l->arcs_at = l->rest_at = 0;
        set_layout(l, TW_LEGACY_EARLY, 4);
        if (!formats_look_right(l) || l->scripts_at > l->n) {
            l->layout = TW_LEGACY_UNKNOWN;
            l->n_ios = l->n_formats = l->ios_at = l->formats_at = l->scripts_at = 0;
            tw_diag(r->d, true, r->file, 0, 0, "no header that is known: the words stay as they are");
        }
    }
    if (l->n != l->announced) {
        tw_diag(r->d, true, r->file, 0, 0, "the listing announces %u words, %u are there", l->announced, l->n);
    }
    return true;
}

/* ---- what the words mean ---------------------------------------------------------------- */

static void take_ios(tw_legacy_t *l)
{
    for (uint32_t i = 0; i < l->n_ios; i++) {
        const uint32_t at = l->ios_at + 2 * i, w = tw_legacy_word(l, at);
        l->ios[i] = (tw_legacy_io_t){.word = at, .number = i, .arc = 0x7FF, .setting = tw_legacy_word(l, at + 1)};
        l->ios[i].used = w != 0xFFFFFFFFu && at < l->n;
        if (l->ios[i].used) {
            l->ios[i].arc = w & 0x7FFu;
            l->ios[i].tx = (w >> 11 & 1u) != 0;
            l->ios[i].servant = (w >> 12 & 1u) != 0;
            l->ios[i].copy = (w >> 13 & 1u) != 0;
            l->ios[i].rest = w >> 14;
        }
    }
}

static void take_formats(tw_legacy_t *l)
{
    for (uint32_t i = 0; i < l->n_formats; i++) {
        const uint32_t at = l->formats_at + 3 * i;
        const uint32_t rate = tw_legacy_word(l, at + 1) & ~31u;
        l->formats[i] = (tw_legacy_format_t){.word = at,
                                             .raw = tw_legacy_word(l, at) >> 25,
                                             .frame_bytes = tw_legacy_word(l, at) & 0x1FFFFFFu,
                                             .channels = (tw_legacy_word(l, at + 1) & 31u) + 1,
                                             .specific = tw_legacy_word(l, at + 2)};
        memcpy(&l->formats[i].rate_hz, &rate, sizeof rate);
    }
}

static void take_name(tw_legacy_node_t *n, const place_t *p)
{
    static const char mark[] = "arm_stream_";
    const size_t len = sizeof mark - 1;
    for (const char *q = p->comment; q + len <= p->eol; q++) {
        if (memcmp(q, mark, len) == 0) {
            const tw_tok_t tok = {.p = q, .n = tw_word_length(q, p->eol)};
            (void)tw_tok_copy(&tok, n->name, sizeof n->name);
            for (char *c = n->name; *c != 0; c++) {
                *c = *c >= ' ' && *c <= '~' && *c != '"' && *c != '\\' ? *c : '?';
            }
            return;
        }
    }
}

/* One node at `at`, its blocks `words` long. @return the word behind it, 0 when it is not one */
static uint32_t take_node(const reader_t *r, uint32_t at, uint32_t words, tw_legacy_node_t *n)
{
    const tw_legacy_t *l = r->l;
    const uint32_t end = tw_min_u32(l->n, l->arcs_at - 1);
    *n = (tw_legacy_node_t){.word = at, .index = tw_legacy_word(l, at) & 0x3FFu, .rest = tw_legacy_word(l, at) >> 12};
    n->n_arcs = tw_legacy_word(l, at) >> 10 & 3u;
    n->memory = at + 1 + (n->n_arcs + 1) / 2;
    if (n->memory >= end) {
        return 0;
    }
    for (uint32_t i = 0; i < n->n_arcs; i++) {
        const uint32_t half = tw_legacy_word(l, at + 1 + i / 2) >> 16 * (i % 2) & 0xFFFFu;
        n->arcs[i].arc = half & 0x7FFu;
        n->arcs[i].tx = (half >> 11 & 1u) != 0;
        n->arcs[i].rest = half >> 12;
    }
    n->memory_words = words;
    n->n_memory = tw_legacy_word(l, n->memory) >> (words == 1 ? 27 : 29) & 7u;
    n->params = n->memory + words * n->n_memory;
    if (n->n_memory < 1 || n->n_memory > BLOCKS_MAX || n->params >= end) {
        return 0;
    }
    n->n_params = tw_legacy_word(l, n->params) & 0xFFFFu;
    take_name(n, &r->places[at]);
    return n->n_params < 1 || n->n_params > end - n->params ? 0 : n->params + n->n_params;
}

/* As many nodes as hold together with blocks of `words`. @return the first word that does not */
static uint32_t take_nodes(const reader_t *r, uint32_t words)
{
    tw_legacy_t *l = r->l;
    const uint32_t end = tw_min_u32(l->n, l->arcs_at - 1);
    uint32_t at = l->nodes_at;
    l->n_nodes = 0;
    while (at < end) {
        const uint32_t next = take_node(r, at, words, &l->nodes[l->n_nodes]);
        if (next == 0) {
            break;
        }
        l->n_nodes++;
        at = next;
    }
    return at;
}

static bool take_list(reader_t *r)
{
    tw_legacy_t *l = r->l;
    const uint32_t end = tw_min_u32(l->n, l->arcs_at - 1);
    const uint32_t room = end > l->nodes_at ? end - l->nodes_at : 0; /* a node is 4 words at least */
    l->nodes = calloc(room / 3 + 1, sizeof *l->nodes);
    if (l->nodes == NULL) {
        tw_diag(r->d, false, r->file, 0, 0, "out of memory");
        return false;
    }
    const uint32_t one = take_nodes(r, 1);
    if (one < end) {
        const uint32_t two = take_nodes(r, 2);
        if (two < one) {
            (void)take_nodes(r, 1);
        }
        l->nodes_end = two < one ? one : two;
    } else {
        l->nodes_end = one;
    }
    if (l->nodes_end < end) {
        tw_diag(r->d, true, r->file, r->places[l->nodes_end].line, 0,
                "word %03X is not understood as a node: it and the rest of the list stay as they are", l->nodes_end);
    }
    return true;
}

static bool take_arcs(reader_t *r)
{
    tw_legacy_t *l = r->l;
    const uint32_t there = l->arcs_at < l->n ? tw_min_u32(l->n_arcs, (l->n - l->arcs_at) / 4) : 0;
    l->arcs = calloc(there + 1, sizeof *l->arcs);
    if (l->arcs == NULL) {
        tw_diag(r->d, false, r->file, 0, 0, "out of memory");
        return false;
    }
    for (uint32_t i = 0; i < there; i++) {
        const uint32_t at = l->arcs_at + 4 * i;
        l->arcs[i] = (tw_legacy_arc_t){.word = at,
                                       .base = l->w[at] & 0x7FFFFFFu,
                                       .producer = l->w[at] >> 27,
                                       .bytes = l->w[at + 1] & 0x7FFFFFFu,
                                       .consumer = l->w[at + 1] >> 27,
                                       .state = {l->w[at + 2], l->w[at + 3]}};
    }
    l->n_arcs = there;
    return true;
}

bool tw_legacy_decode(tw_legacy_t *l, const char *file, const char *text, size_t n, tw_diags_t *d)
{
    *l = (tw_legacy_t){0};
    reader_t r = {.l = l, .d = d, .file = file};
    bool ok = read_words(&r, text, n) && find_layout(&r);
    if (ok && l->layout == TW_LEGACY_FULL) {
        take_ios(l);
        take_formats(l);
        ok = take_list(&r) && take_arcs(&r);
    }
    free(r.places);
    if (!ok) {
        tw_legacy_free(l);
    }
    return ok;
}

void tw_legacy_free(tw_legacy_t *l)
{
    free(l->w);
    free(l->nodes);
    free(l->arcs);
    *l = (tw_legacy_t){0};
}
