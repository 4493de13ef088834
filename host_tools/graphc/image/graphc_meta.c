/* graphc_meta.c - what a person needs to know of the parameters of a graph's nodes, for EXT META.
 *
 * A type's parameters depend on the format of its stream (an S16 filter has others than an FP32 one), so there is
 * a table per type and variant in use. Types that the node library of this program has not get none.
 */
#include "host_tools/graphc/middle/graphc_middle.h"
#include "host_tools/graphc/image/graphc_out.h"

#define BITS(value, ...) tw_put_bits((value), TW_LO_(__VA_ARGS__))
#define TABLES_MAX 255u /* what TW_N3_META holds */

typedef struct table {
    uint32_t hash, n;
    const tw_param_desc_t *rows;
} table_t;

/* Rows of the node's type for its own format; the table of the type when the versions allow it. */
static bool table_of(const g_model_t *m, const g_node_t *n, table_t *t)
{
    const tw_node_desc_t *d = tw_node_find(g_node_hash(n->manifest));
    if (d == NULL || d->params == NULL || d->version >> 8 != n->manifest->version >> 8 || n->arcs[0] == G_NONE) {
        return false;
    }
    const g_arc_t *a = &m->arcs[n->arcs[0]];
    const tw_format_t f = g_device_format(&m->formats[n->rx != 0 ? a->to.format : a->from.format]);
    *t = (table_t){.hash = d->hash};
    t->rows = d->params(&f, &t->n);
    return t->rows != NULL && t->n > 0;
}

static void put_f64(g_out_t *o, double v)
{
    uint8_t b[8];
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    tw_put_le64(b, bits);
    g_out_put(o, b, sizeof b);
}

static void put_row(g_out_t *o, const tw_param_desc_t *p)
{
    const uint32_t name = (uint32_t)strlen(p->name);
    g_out_word(o, BITS((uint32_t)p->index, TW_M0_INDEX) | BITS((uint32_t)p->raw, TW_M0_RAW) |
                      BITS((uint32_t)p->unit, TW_M0_UNIT) | BITS((uint32_t)p->flags, TW_M0_FLAGS));
    g_out_word(o, BITS((uint32_t)p->count, TW_M1_COUNT) | BITS(name, TW_M1_NAME));
    put_f64(o, p->min);
    put_f64(o, p->max);
    put_f64(o, p->dflt);
    put_f64(o, p->step);
    g_out_put(o, p->name, name);
    g_out_pad(o, 4);
}

static void put_table(g_out_t *o, const table_t *t)
{
    const uint32_t at = o->n;
    g_out_word(o, t->hash);
    g_out_word(o, 0);
    for (uint32_t i = 0; i < t->n; i++) {
        put_row(o, &t->rows[i]);
    }
    g_out_poke(o, at + 4, BITS(t->n, TW_MT_ROWS) | BITS((o->n - at) / 4, TW_MT_WORDS));
}

/* Number of the table from 1, entered when it is new; 0 when there is no number left. */
static uint32_t enter(table_t *tables, uint32_t *count, const table_t *t)
{
    uint32_t i = 0;
    while (i < *count && (tables[i].hash != t->hash || tables[i].rows != t->rows)) {
        i++;
    }
    if (i == TABLES_MAX) {
        return 0;
    }
    tables[i] = *t;
    *count = i == *count ? i + 1 : *count;
    return i + 1;
}

void g_out_meta(g_out_t *o, g_model_t *m)
{
    table_t tables[TABLES_MAX], t;
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        g_node_t *n = &m->nodes[m->order[i]];
        n->meta = (uint8_t)(!n->compact && table_of(m, n, &t) ? enter(tables, &count, &t) : 0);
    }
    if (count == 0) {
        return;
    }
    const uint32_t at = o->n;
    g_out_word(o, TW_EXT_META);
    g_out_word(o, 0);
    g_out_word(o, BITS(count, TW_MT_TABLES));
    for (uint32_t i = 0; i < count; i++) {
        put_table(o, &tables[i]);
    }
    g_out_poke(o, at + 4, BITS(o->n - at - 8, TW_EXT_BYTES));
}
