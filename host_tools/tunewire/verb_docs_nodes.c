/* verb_docs_nodes.c - tunewire __params: parameters of all node types as rows for docs/NODES.md
 * (tools/gen_docs_nodes.py). */
#include "engine/engine.h"
#include "host_tools/tunewire/cli.h"

static void say_value(FILE *out, double v)
{
    (void)fprintf(out, v <= -1 || v >= 1 ? "%.10g" : "%.6g", v);
}

static void say_row(FILE *out, const char *type, const tw_param_desc_t *p)
{
    const char *unit = p->unit != 0 ? tw_unit_text(p->unit) : NULL;
    const bool counts = unit == NULL || strcmp(unit, "count") == 0;
    (void)fprintf(out, "%s|%u|%s|%s", type, (unsigned)p->index, p->name, tw_raw_name((tw_raw_t)p->raw));
    if (p->count > 1) {
        (void)fprintf(out, " x %u", (unsigned)p->count);
    }
    if (!counts) {
        (void)fprintf(out, " [%s]", unit);
    }
    (void)fprintf(out, "|");
    if ((p->flags & TW_PARAM_READ_ONLY) != 0) {
        (void)fprintf(out, "read only|\n");
        return;
    }
    say_value(out, p->min);
    (void)fprintf(out, "..");
    say_value(out, p->max);
    (void)fprintf(out, "|");
    say_value(out, p->dflt);
    (void)fprintf(out, "\n");
}

/* The first format a type takes: what its table depends on is the raw type, and nothing the documents tell. */
static tw_format_t some_format(const tw_node_desc_t *d)
{
    static const uint8_t raws[] = {TW_RAW_FP32, TW_RAW_S16, TW_RAW_U8};
    tw_format_t f = {.channels = 1, .samples = 64, .rate_hz = 16000};
    for (size_t i = 0; i < TW_COUNT(raws); i++) {
        f.raw = raws[i];
        if (d->raw_mask == 0 || (d->raw_mask >> f.raw & 1u) != 0) {
            break;
        }
    }
    f.frame_bytes = f.samples * tw_raw_bits(f.raw) / 8;
    return f;
}

int verb_docs_params(tw_cli_t *cli)
{
    uint32_t n, count;
    const tw_node_desc_t *const *all = tw_node_catalogue(&n);
    for (uint32_t i = 0; i < n; i++) {
        const tw_format_t f = some_format(all[i]);
        const tw_param_desc_t *rows = all[i]->params != NULL ? all[i]->params(&f, &count) : NULL;
        for (uint32_t k = 0; rows != NULL && k < count; k++) {
            say_row(cli->out, all[i]->name, &rows[k]);
        }
    }
    return CLI_OK;
}
