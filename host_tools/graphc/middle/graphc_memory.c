/* graphc_memory.c - banks and parts of banks while they are filled. Knows no node and no arc. */
#include "host_tools/graphc/middle/graphc_memory.h"
#include <stdio.h>
#include <stdlib.h>

static uint64_t up(uint64_t v, uint32_t align)
{
    return (v + align - 1) & ~(uint64_t)(align - 1);
}

/* ---- opening ------------------------------------------------------------------------- */

static mem_region_t *add_region(mem_t *p, uint8_t vid, const mem_region_t *r)
{
    if (p->of_vid[vid] != 0 || p->n_regions >= 255) {
        return NULL;
    }
    p->regions[p->n_regions++] = *r;
    p->of_vid[vid] = (uint8_t)p->n_regions;
    return &p->regions[p->n_regions - 1];
}

static const g_map_t *map_of(const g_model_t *m, uint8_t vid)
{
    for (uint32_t i = 0; i < m->n_maps; i++) {
        if (m->maps[i].vid == vid) {
            return &m->maps[i];
        }
    }
    return NULL;
}

static void open_part(mem_t *p, const g_map_t *map)
{
    g_model_t *m = p->m;
    const uint8_t of = p->of_vid[map->orig];
    if (of == 0 || p->regions[of - 1].map != NULL) {
        g_error(m, &map->pos, "memory_mapping: the platform has no bank %u", map->orig);
        return;
    }
    const tw_bank_manifest_t *bank = p->regions[of - 1].bank;
    if (!tw_inside(map->start, map->bytes, bank->bytes)) {
        g_error(m, &map->pos, "memory_mapping: bytes %u..%llu are not inside bank %u of %u bytes", map->start,
                (unsigned long long)map->start + map->bytes, bank->vid, bank->bytes);
        return;
    }
    const mem_region_t r = {.map = map,
                            .bank = bank,
                            .base = up(map->start, 16),
                            .limit = (uint64_t)map->start + map->bytes,
                            .log2_align = 3};
    if (add_region(p, map->vid, &r) == NULL) {
        const g_map_t *first = map_of(m, map->vid);
        g_error(m, &map->pos, "memory_mapping: VID %u is in use", map->vid);
        if (first != map) {
            g_note(m, &first->pos, "by this part");
        } else {
            g_note(m, &(g_pos_t){m->platform->path, 0, 0}, "by a bank of the platform");
        }
    }
}

bool mem_open(mem_t *p)
{
    const tw_platform_t *x = p->m->platform;
    p->regions = calloc(x->n_banks + p->m->n_maps + 1u, sizeof *p->regions);
    if (p->regions == NULL) {
        return false;
    }
    for (unsigned i = 0; i < x->n_banks; i++) {
        const mem_region_t r = {.bank = &x->banks[i], .limit = x->banks[i].bytes, .log2_align = 3};
        (void)add_region(p, x->banks[i].vid, &r);
    }
    for (uint32_t i = 0; i < p->m->n_maps; i++) {
        open_part(p, &p->m->maps[i]);
    }
    return true;
}

void mem_free(mem_t *p)
{
    free(p->regions);
    free(p->spans);
}

mem_region_t *mem_region(mem_t *p, const g_pos_t *pos, uint8_t vid)
{
    const tw_platform_t *x = p->m->platform;
    if (p->of_vid[vid] != 0) {
        return &p->regions[p->of_vid[vid] - 1];
    }
    char list[100] = "";
    for (unsigned i = 0; i < x->n_banks; i++) {
        const size_t n = strlen(list);
        snprintf(list + n, sizeof list - n, "%s%u", i > 0 ? " " : "", x->banks[i].vid);
    }
    g_error(p->m, pos, "the platform has no bank %u", vid);
    g_note(p->m, &(g_pos_t){x->path, 0, 0}, "its banks are %s", list);
    return NULL;
}

/* ---- places given by the text ---------------------------------------------------------- */

static void raise_align(mem_region_t *r, uint32_t align)
{
    while (1u << r->log2_align < align) {
        r->log2_align++;
    }
}

bool mem_place(mem_t *p, const mem_span_t *span, uint32_t align)
{
    mem_region_t *r = mem_region(p, &span->pos, span->vid);
    if (r == NULL) {
        return false;
    }
    if (span->at % align != 0) {
        g_error(p->m, &span->pos, "%s: %llu is no multiple of %u, its alignment", span->what,
                (unsigned long long)span->at, align);
        return false;
    }
    const uint64_t start = r->map != NULL ? r->map->start : 0;
    if (span->at < start || span->end > r->limit) {
        g_error(p->m, &span->pos, "%s: bytes %llu..%llu are not inside bank %u, which has %llu..%llu", span->what,
                (unsigned long long)span->at, (unsigned long long)span->end, span->vid, (unsigned long long)start,
                (unsigned long long)r->limit);
        return false;
    }
    if (p->n_spans >= p->cap_spans && !g_grow(&p->spans, p->cap_spans, &p->cap_spans, sizeof *p->spans)) {
        g_error(p->m, &span->pos, "out of memory");
        return false;
    }
    mem_region_t *bank = &p->regions[p->of_vid[r->bank->vid] - 1];
    raise_align(bank, align);
    p->spans[p->n_spans] = *span;
    p->spans[p->n_spans++].vid = r->bank->vid;
    return true;
}

static int by_place(const void *a, const void *b)
{
    const mem_span_t *x = a, *y = b;
    if (x->vid != y->vid) {
        return x->vid < y->vid ? -1 : 1;
    }
    if (x->at != y->at) {
        return x->at < y->at ? -1 : 1;
    }
    return x->pos.line != y->pos.line ? (x->pos.line < y->pos.line ? -1 : 1) : 0;
}

/* Two may overlap when both are scratch of one thread. */
static bool may_share(const mem_span_t *a, const mem_span_t *b)
{
    return a->thread != MEM_ALONE && a->thread == b->thread;
}

static void check_overlap(mem_t *p)
{
    const mem_span_t *fixed = NULL, *working = NULL; /* those that reach furthest */
    for (uint32_t i = 0; i < p->n_spans; i++) {
        const mem_span_t *s = &p->spans[i];
        fixed = fixed != NULL && fixed->vid == s->vid ? fixed : NULL;
        working = working != NULL && working->vid == s->vid ? working : NULL;
        const mem_span_t *other = fixed != NULL && s->at < fixed->end                                 ? fixed
                                  : working != NULL && s->at < working->end && !may_share(s, working) ? working
                                                                                                      : NULL;
        if (other != NULL && s->end > s->at) {
            g_error(p->m, &s->pos, "%s overlaps %s: %llu..%llu and %llu..%llu of bank %u", s->what, other->what,
                    (unsigned long long)s->at, (unsigned long long)s->end, (unsigned long long)other->at,
                    (unsigned long long)other->end, s->vid);
            g_note(p->m, &other->pos, "placed here");
        }
        const mem_span_t **furthest = s->thread == MEM_ALONE ? &fixed : &working;
        *furthest = *furthest == NULL || s->end > (*furthest)->end ? s : *furthest;
    }
}

static void take_island(mem_region_t *r, const mem_span_t *s)
{
    if (s->at >= r->limit || s->end <= r->base) {
        return;
    }
    r->islands_top = s->end > r->islands_top ? s->end : r->islands_top;
    r->fixed_top = s->thread == MEM_ALONE && s->end > r->fixed_top ? s->end : r->fixed_top;
}

bool mem_settle(mem_t *p)
{
    const unsigned errors = p->m->diags->errors;
    if (p->n_spans > 0) {
        qsort(p->spans, p->n_spans, sizeof *p->spans, by_place);
    }
    check_overlap(p);
    for (uint32_t i = 0; i < p->n_regions; i++) {
        mem_region_t *r = &p->regions[i];
        for (uint32_t k = 0; k < p->n_spans; k++) {
            if (p->spans[k].vid != r->bank->vid) {
                continue;
            }
            r->island = r->island_end == 0 ? k : r->island;
            r->island_end = k + 1;
            take_island(r, &p->spans[k]);
        }
        r->spans = p->spans;
    }
    return p->m->diags->errors == errors;
}

/* ---- filling --------------------------------------------------------------------------------- */

/* Bases of scratch are aligned to what is strictest in the bank, 16 at least. */
static uint32_t step_of(const mem_region_t *r)
{
    return 1u << (r->log2_align > 4 ? r->log2_align : 4);
}

static uint64_t working_bytes(const mem_region_t *r)
{
    uint64_t sum = 0;
    for (uint32_t t = 0; t < MEM_THREADS; t++) {
        sum += up(r->thread[t], step_of(r));
    }
    return sum;
}

/* Where the region would end. */
static uint64_t end_with(const mem_region_t *r, uint64_t fixed, uint64_t working)
{
    const uint64_t top = r->base + fixed > r->islands_top ? r->base + fixed : r->islands_top;
    return working > 0 ? up(top, step_of(r)) + working : top;
}

static void watch(mem_region_t *r, const g_pos_t *pos)
{
    if (!r->overflows && end_with(r, r->fixed, working_bytes(r)) > r->limit) {
        r->overflows = true;
        r->overflow_pos = *pos;
    }
}

/* First place behind what is there, past the islands in the way. */
static uint64_t next_fixed(const mem_region_t *r, uint64_t bytes, uint32_t align, uint32_t *island)
{
    uint64_t at = up(r->base + r->fixed, align);
    *island = r->island;
    for (; *island < r->island_end && r->spans[*island].at < at + bytes; (*island)++) {
        const uint64_t end = r->spans[*island].end;
        at = end > at ? up(end, align) : at;
    }
    return at;
}

void mem_behind(mem_region_t *r)
{
    const uint64_t top = r->islands_top > r->base ? r->islands_top - r->base : 0;
    r->fixed = top > r->fixed ? top : r->fixed;
}

uint32_t mem_fixed(mem_region_t *r, const g_pos_t *pos, uint64_t bytes, uint32_t align)
{
    const uint64_t at = next_fixed(r, bytes, align, &r->island);
    r->fixed = at + bytes - r->base;
    raise_align(r, align);
    watch(r, pos);
    return (uint32_t)at;
}

uint32_t mem_working(mem_region_t *r, const g_pos_t *pos, uint32_t thread, uint64_t *used, uint64_t bytes,
                     uint32_t align)
{
    const uint64_t at = up(*used, align);
    *used = at + bytes;
    r->thread[thread] = *used > r->thread[thread] ? *used : r->thread[thread];
    raise_align(r, align);
    watch(r, pos);
    return (uint32_t)at;
}

uint32_t mem_fixed_both(mem_region_t *a, mem_region_t *b, const g_pos_t *pos, uint64_t bytes, uint32_t align)
{
    uint32_t island;
    for (;;) {
        const uint64_t at = next_fixed(a, bytes, align, &island);
        b->fixed = at > b->base + b->fixed ? at - b->base : b->fixed;
        const uint64_t other = next_fixed(b, bytes, align, &island);
        if (other == at) {
            break;
        }
        a->fixed = other - a->base;
    }
    (void)mem_fixed(b, pos, bytes, align);
    return mem_fixed(a, pos, bytes, align);
}

bool mem_fits_fixed(const mem_region_t *r, uint64_t bytes, uint32_t align)
{
    uint32_t island;
    const uint64_t at = next_fixed(r, bytes, align, &island);
    return end_with(r, at + bytes - r->base, working_bytes(r)) <= r->limit;
}

bool mem_fits_working(const mem_region_t *r, uint32_t thread, uint64_t used, uint64_t bytes, uint32_t align)
{
    const uint64_t need = up(used, align) + bytes, now = r->thread[thread];
    const uint64_t more = need > now ? up(need, step_of(r)) - up(now, step_of(r)) : 0;
    return end_with(r, r->fixed, working_bytes(r) + more) <= r->limit;
}

/* ---- closing ------------------------------------------------------------------------------------ */

/* Bases of each thread's scratch, behind everything else. */
static void close_region(mem_t *p, mem_region_t *r)
{
    const uint64_t working = working_bytes(r);
    uint64_t at = r->base + r->fixed > r->islands_top ? r->base + r->fixed : r->islands_top;
    for (uint32_t t = 0; t < MEM_THREADS && working > 0; t++) {
        at = r->thread[t] > 0 ? up(at, step_of(r)) : at;
        r->thread_base[t] = at;
        at += r->thread[t];
    }
    r->end = at;
    if (r->end > r->limit) {
        const g_pos_t *pos = r->overflows ? &r->overflow_pos : r->map != NULL ? &r->map->pos : NULL;
        const g_pos_t whole = {p->m->names[0], 0, 0};
        g_error(p->m, pos != NULL ? pos : &whole, "bank %u is full: %llu of %llu bytes",
                r->map != NULL ? r->map->vid : r->bank->vid, (unsigned long long)(r->end - r->base),
                (unsigned long long)(r->limit > r->base ? r->limit - r->base : 0));
    }
}

/* The one thread that has scratch here, MEM_ALONE when there are several. */
static uint32_t only_thread(const mem_region_t *r)
{
    uint32_t one = MEM_ALONE, n = 0;
    for (uint32_t t = 0; t < MEM_THREADS; t++) {
        n += r->thread[t] > 0;
        one = r->thread[t] > 0 ? t : one;
    }
    return n <= 1 ? one : MEM_ALONE;
}

/* Parts that share bytes of a bank hold scratch only, of nodes that never run at the same time. */
static void check_parts(mem_t *p, const mem_region_t *a, const mem_region_t *b)
{
    const bool holds = a->end > a->base && b->end > b->base;
    if (a->map == NULL || a->bank != b->bank || a->base >= b->limit || b->base >= a->limit || !holds) {
        return;
    }
    if (a->fixed > 0 || b->fixed > 0) {
        g_error(p->m, &b->map->pos, "parts %u and %u overlap, and not both hold working memory only", a->map->vid,
                b->map->vid);
    } else if (only_thread(a) == MEM_ALONE || only_thread(a) != only_thread(b)) {
        g_error(p->m, &b->map->pos, "parts %u and %u overlap, and hold working memory of nodes that may run at once",
                a->map->vid, b->map->vid);
    } else {
        return;
    }
    g_note(p->m, &a->map->pos, "the other part");
}

/* What a part holds lies inside its bank's static bytes. */
static void close_part(mem_t *p, mem_region_t *r)
{
    mem_region_t *bank = &p->regions[p->of_vid[r->map->orig] - 1];
    if (bank->fixed > r->map->start) {
        g_error(p->m, &r->map->pos, "bank %u itself needs %llu bytes, which reach into the part at %u", bank->bank->vid,
                (unsigned long long)bank->fixed, r->map->start);
    }
    close_region(p, r);
    for (const mem_region_t *o = p->regions; o < r; o++) {
        check_parts(p, o, r);
    }
}

static void join_part(mem_t *p, const mem_region_t *r)
{
    mem_region_t *bank = &p->regions[p->of_vid[r->map->orig] - 1];
    if (r->end > r->base) {
        bank->fixed = bank->fixed > r->end ? bank->fixed : r->end;
        bank->log2_align = r->log2_align > bank->log2_align ? r->log2_align : bank->log2_align;
    }
}

static const g_bank_plan_t *plan_of(const g_model_t *m, uint8_t vid)
{
    for (uint32_t i = 0; i < m->n_plans; i++) {
        if (m->plans[i].vid == vid) {
            return &m->plans[i];
        }
    }
    return NULL;
}

/* The text's own words for the bank, when they hold what is in it. */
static void follow_plan(mem_t *p, const mem_region_t *r, const g_bank_plan_t *plan, g_bank_t *b)
{
    const uint64_t sum = (uint64_t)plan->fixed + plan->working;
    if (sum < r->end) {
        g_error(p->m, &plan->pos, "memory_plan of bank %u has %llu bytes, %llu are needed", plan->vid,
                (unsigned long long)sum, (unsigned long long)r->end);
    } else if (sum > r->limit) {
        g_error(p->m, &plan->pos, "memory_plan of bank %u has %llu bytes, the bank %llu", plan->vid,
                (unsigned long long)sum, (unsigned long long)r->limit);
    }
    b->fixed = plan->fixed;
    b->working = plan->working;
}

static void keep_bank(mem_t *p, const mem_region_t *r)
{
    g_model_t *m = p->m;
    const g_bank_plan_t *plan = plan_of(m, r->bank->vid);
    if (r->map != NULL || (r->end == 0 && r->bank->vid != m->control.map_vid && r->bank->vid != 0 && plan == NULL)) {
        return;
    }
    const uint64_t fixed = r->fixed > r->fixed_top ? r->fixed : r->fixed_top;
    const uint64_t first = r->end > fixed ? up(fixed, 16) : fixed;
    g_bank_t *b = &m->banks[m->n_banks++];
    *b = (g_bank_t){.manifest = r->bank, .log2_align = r->log2_align, .fixed = (uint32_t)first};
    b->working = (uint32_t)(r->end > first ? r->end - first : 0);
    if (plan != NULL) {
        follow_plan(p, r, plan, b);
    }
}

/* Parts stand behind their banks, and are closed first. */
void mem_close(mem_t *p)
{
    for (uint32_t i = 0; i < p->n_regions; i++) {
        if (p->regions[i].map != NULL) {
            close_part(p, &p->regions[i]);
        }
    }
    for (uint32_t i = p->n_regions; i-- > 0;) {
        mem_region_t *r = &p->regions[i];
        if (r->map != NULL) {
            join_part(p, r);
        } else {
            close_region(p, r);
        }
    }
    for (uint32_t i = 0; i < p->n_regions; i++) {
        keep_bank(p, &p->regions[i]);
    }
    for (uint32_t i = 0; i < p->m->n_plans; i++) {
        const g_bank_plan_t *plan = &p->m->plans[i];
        const mem_region_t *r = mem_region(p, &plan->pos, plan->vid);
        if (r != NULL && r->map != NULL) {
            g_error(p->m, &plan->pos, "memory_plan speaks of banks, %u is a part of one", plan->vid);
        }
    }
}
