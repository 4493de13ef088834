/* manifest_procmap.c - processors and memory: the map of today and the first generation's platform manifest. */
#include "engine/base/bytes.h"
#include "engine/board/manifest_priv.h"

bool tw_text_need_line(tw_text_t *t, const char *what)
{
    if (!tw_text_line(t)) {
        tw_diag(t->diags, false, t->file, t->line, 0, "file ends, expected %s", what);
        return false;
    }
    return true;
}

unsigned tw_text_numbers(const tw_text_t *t)
{
    tw_text_t ahead = *t;
    tw_tok_t tok;
    double v;
    unsigned n = 0;
    ahead.canon = NULL;
    while (tw_text_tok(&ahead, &tok) && tw_tok_num(&tok, &v)) {
        n++;
    }
    return n;
}

bool tw_take_u32(tw_text_t *t, const char *what, uint32_t hi, uint32_t *v)
{
    int64_t got;
    if (!tw_take_int(t, what, 0, hi, &got)) {
        return false;
    }
    *v = (uint32_t)got;
    return true;
}

/* ---- banks, base addresses, processors --------------------------------------------- */

bool tw_platform_add_bank(tw_platform_t *p, tw_text_t *t, const tw_tok_t *at, const tw_bank_manifest_t *b)
{
    for (unsigned i = 0; i < p->n_banks; i++) {
        if (p->banks[i].vid == b->vid && t->print_only) {
            tw_text_warn(t, at, "VID %u is declared twice, which no graph can be compiled for", b->vid);
            return true;
        }
        if (p->banks[i].vid == b->vid) {
            tw_text_error(t, at, "VID %u is declared twice", b->vid);
            tw_diag_note(t->diags, t->file, p->banks[i].line, 0, "first declared here");
            return false;
        }
    }
    if (p->n_banks >= TW_COUNT(p->banks)) {
        tw_text_error(t, at, "more than %zu memory banks", TW_COUNT(p->banks));
        return false;
    }
    p->banks[p->n_banks] = *b;
    p->banks[p->n_banks++].line = t->line;
    return true;
}

bool tw_platform_add_processor(tw_platform_t *p, tw_text_t *t, const tw_tok_t *at, const tw_processor_manifest_t *x)
{
    if (x->id == 0 || x->id > 32) {
        tw_text_error(t, at, "processor ID is %u, allowed 1..32", x->id);
        return false;
    }
    for (unsigned i = 0; i < p->n_procs; i++) {
        if (p->procs[i].id == x->id && p->procs[i].arch == x->arch) {
            tw_text_error(t, at, "processor %u of architecture %u is declared twice", x->id, x->arch);
            return false;
        }
    }
    if (p->n_procs >= TW_COUNT(p->procs)) {
        tw_text_error(t, at, "more than %zu processors", TW_COUNT(p->procs));
        return false;
    }
    bool has_main = false;
    for (unsigned i = 0; i < p->n_procs; i++) {
        has_main |= p->procs[i].is_main;
    }
    p->procs[p->n_procs++] = *x;
    p->processors |= 1u << (x->id - 1);
    p->services = x->is_main && !has_main ? x->services : p->services;
    return true;
}

/* ID VID S W P H D bytes offset */
static bool read_bank(tw_platform_t *p, tw_text_t *t)
{
    uint8_t type;
    tw_bank_manifest_t b = {.swap = 255};
    tw_tok_t at;
    (void)tw_text_peek(t, &at);
    if (!tw_take_u8(t, "base offset ID", 0, 15, &b.id) || !tw_take_u8(t, "VID", 0, 254, &b.vid) ||
        !tw_take_u8(t, "speed S", 0, 3, &b.speed) || !tw_take_u8(t, "type W", 0, 2, &type) ||
        !tw_take_u8(t, "private P", 0, 1, &b.is_private) || !tw_take_u8(t, "DMA H", 0, 1, &b.dma) ||
        !tw_take_u8(t, "program D", 0, 2, &b.prog) || !tw_take_u32(t, "size", 0xFFFFFFFFu, &b.bytes) ||
        !tw_take_u32(t, "offset", 0xFFFFFFFFu, &b.offset)) {
        return false;
    }
    b.type = (uint8_t)(type == 2 ? 3 : type); /* text 2 retention, image 3 */
    return tw_platform_add_bank(p, t, &at, &b);
}

/* "ID h20000000": is the line one? */
static bool is_base(const tw_text_t *t)
{
    tw_text_t ahead = *t;
    tw_tok_t tok;
    uint64_t v;
    ahead.canon = NULL;
    return tw_text_tok(&ahead, &tok) && tw_tok_uint(&tok, &v) && tw_text_tok(&ahead, &tok) && tok.p[0] == 'h';
}

static bool read_base(tw_platform_t *p, tw_text_t *t)
{
    uint8_t id;
    uint64_t v;
    tw_tok_t tok;
    if (!tw_take_u8(t, "base offset ID", 0, 15, &id)) {
        return false;
    }
    (void)tw_text_tok(t, &tok);
    const tw_tok_t digits = {tok.p + 1, tok.n - 1, tok.col};
    if (!tw_tok_hex(&digits, &v) || v > 0xFFFFFFFFu) {
        tw_text_error(t, &tok, "expected an address as h20000000, found '%.*s'", (int)tok.n, tok.p);
        return false;
    }
    p->bases[id] = (uint32_t)v;
    p->has_base |= (uint16_t)(1u << id);
    return true;
}

/* ---- the map of today ----------------------------------------------------------------- */

/* procID isMain services [architecture] */
static bool read_processor(tw_platform_t *p, tw_text_t *t, uint32_t archs)
{
    tw_processor_manifest_t x = {.arch = 1};
    tw_tok_t at, tok;
    (void)tw_text_peek(t, &at);
    if (!tw_take_u8(t, "processor ID", 0, 255, &x.id) || !tw_take_u8(t, "main processor", 0, 1, &x.is_main) ||
        !tw_take_u32(t, "services", 0xFFFFFFFFu, &x.services)) {
        return false;
    }
    double v;
    if (tw_text_peek(t, &tok) && tw_tok_num(&tok, &v) &&
        !tw_take_u8(t, "architecture", 1, (uint8_t)tw_max_u32(archs, 1), &x.arch)) {
        return false;
    }
    return tw_platform_add_processor(p, t, &at, &x);
}

/* The line has as many words as a processor's, fewer than a bank's. */
static bool is_processor(const tw_text_t *t)
{
    tw_text_t row = *t;
    tw_tok_t tok;
    unsigned n = 0;
    row.canon = NULL;
    for (row.p = row.bol; tw_text_tok(&row, &tok);) {
        n++;
    }
    return n <= 4;
}

bool tw_procmap_parse(tw_platform_t *p, tw_text_t *t)
{
    uint32_t archs, procs, banks, bases = 0;
    tw_tok_t tok;
    double v;
    if (!tw_text_need_line(t, "number of architectures, processors and banks") ||
        !tw_take_u32(t, "number of architectures", 16, &archs) || !tw_take_u32(t, "number of processors", 32, &procs) ||
        !tw_take_u32(t, "number of banks", 16, &banks) ||
        (tw_text_peek(t, &tok) && tw_tok_num(&tok, &v) && !tw_take_u32(t, "number of base addresses", 16, &bases))) {
        return false;
    }
    const unsigned at = t->line;
    bool ok = true;
    for (uint32_t i = 0; i < banks; i++) {
        if (!tw_text_need_line(t, "a memory bank")) {
            return false;
        }
        if (!read_bank(p, t)) {
            if (is_processor(t)) {
                tw_diag_note(t->diags, t->file, at, 0, "%u banks are announced here, this is number %u", banks, i + 1);
            }
            ok = false;
        }
    }
    for (uint32_t i = 0; i < procs;) {
        if (!tw_text_need_line(t, "a processor")) {
            return false;
        }
        if (is_base(t)) {
            ok &= read_base(p, t);
            bases -= bases > 0;
            continue;
        }
        ok &= read_processor(p, t, archs);
        i++;
    }
    if (ok && bases > 0) {
        tw_diag(t->diags, true, t->file, 0, 0, "%u base addresses fewer than the first line says", bases);
    }
    return ok;
}

/* ---- the first generation's ----------------------------------------------------------- */

/* "proc main bases threads banks", or without threads "proc bases banks main" */
static bool read_head(tw_platform_t *p, tw_text_t *t, uint8_t arch, uint32_t *bases, uint32_t *banks)
{
    tw_processor_manifest_t x = {.arch = arch};
    uint32_t threads;
    tw_tok_t at;
    const bool four = tw_text_numbers(t) == 4;
    (void)tw_text_peek(t, &at);
    if (!tw_take_u8(t, "processor ID", 0, 255, &x.id) ||
        (!four && !tw_take_u8(t, "main processor", 0, 1, &x.is_main)) || !tw_take_u32(t, "base addresses", 16, bases) ||
        (!four && !tw_take_u32(t, "threads", 255, &threads)) || !tw_take_u32(t, "memory banks", 16, banks) ||
        (four && !tw_take_u8(t, "main processor", 0, 1, &x.is_main)) ||
        !tw_text_need_line(t, "services of the processor") || !tw_take_u32(t, "services", 0xFFFFFFFFu, &x.services)) {
        return false;
    }
    return tw_platform_add_processor(p, t, &at, &x);
}

/* Public manifests list fewer rows than they announce: rows are known by their shape. */
static bool read_rows(tw_platform_t *p, tw_text_t *t, uint32_t bases, uint32_t banks)
{
    uint32_t n_bases = 0, n_banks = 0;
    tw_text_t ahead = *t;
    for (ahead.canon = NULL; tw_text_line(&ahead) && (is_base(&ahead) || tw_text_numbers(&ahead) >= 9);) {
        (void)tw_text_line(t);
        const bool base = is_base(t);
        n_bases += base;
        n_banks += !base;
        if (!(base ? read_base(p, t) : read_bank(p, t))) {
            return false;
        }
    }
    if (n_bases != bases || n_banks != banks) {
        tw_diag(t->diags, true, t->file, t->line, 0, "%u base addresses and %u banks announced, %u and %u listed",
                bases, banks, n_bases, n_banks);
    }
    return true;
}

bool tw_platform_manifest_parse(tw_platform_t *p, tw_text_t *t)
{
    uint32_t archs, procs, bases, banks;
    if (!tw_text_need_line(t, "number of architectures and processors") ||
        !tw_take_u32(t, "number of architectures", 7, &archs) || !tw_take_u32(t, "number of processors", 32, &procs)) {
        return false;
    }
    for (uint32_t i = 0; i < procs; i++) {
        if (!tw_text_need_line(t, "a processor") || !read_head(p, t, 1, &bases, &banks) ||
            !read_rows(p, t, bases, banks)) {
            return false;
        }
    }
    return true;
}
