/* graphc_report_json.c - what the compiler did, for tools. Complete, however long. Changes nothing. */
#include "host_tools/graphc/report/graphc_report.h"
#include <math.h>

static void key_str(g_text_t *t, const char *key, const char *s)
{
    g_say(t, "\"%s\":", key);
    g_say_json(t, s);
}

static void num(g_text_t *t, const char *key, double v)
{
    g_say(t, isfinite(v) ? "\"%s\":%.10g" : "\"%s\":null", key, v);
}

static const char *comma(uint32_t i)
{
    return i > 0 ? "," : "";
}

static void banks(g_text_t *t, const g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_banks; i++) {
        const g_bank_t *b = &m->banks[i];
        const g_use_t u = g_bank_use(m, i);
        g_say(t,
              "%s{\"vid\":%u,\"speed\":%u,\"static\":%u,\"working\":%u,\"bytes\":%u,\"blocks\":%llu,\"copies\":%llu,"
              "\"arcs\":%llu,\"saved\":%llu,\"io_buffers\":%llu,\"padding\":%llu,\"state\":%llu,\"used\":%llu,\"free\":"
              "%llu,",
              comma(i), b->manifest->vid, b->manifest->speed, b->fixed, b->working, b->manifest->bytes,
              (unsigned long long)u.blocks, (unsigned long long)u.copies, (unsigned long long)u.arcs,
              (unsigned long long)u.saved, (unsigned long long)u.ios, (unsigned long long)u.padding,
              (unsigned long long)u.state, (unsigned long long)u.used, (unsigned long long)u.free);
        num(t, "traffic_bytes_s", u.traffic);
        g_say(t, "}");
    }
}

static void spills(g_text_t *t, const g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_spills; i++) {
        const g_spill_t *s = &m->spills[i];
        g_say(t, "%s{", comma(i));
        key_str(t, "node", m->nodes[s->node].name);
        g_say(t, ",\"block\":%u,\"vid\":%u,", s->block, s->vid);
        key_str(t, "why", s->why);
        g_say(t, "}");
    }
}

static void formats(g_text_t *t, const g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_formats; i++) {
        const g_format_t *f = &m->formats[i];
        g_say(t, "%s{\"raw\":\"%s\",\"channels\":%u,\"interleaving\":%u,", comma(i), tw_raw_name(f->raw), f->channels,
              f->interleave);
        num(t, "rate_hz", f->rate);
        g_say(t, ",\"frame_bytes\":%u,\"samples\":%u,", f->frame_bytes, f->samples);
        key_str(t, "unit", tw_unit_text(f->unit));
        g_say(t, ",");
        key_str(t, "domain", tw_domain_text(f->domain));
        g_say(t, "}");
    }
}

static void options(g_text_t *t, const tw_io_manifest_t *x, const uint32_t *word)
{
    uint8_t index[TW_COUNT(x->settings)] = {0};
    const bool known = tw_settings_words(x) > 0 && tw_settings_unpack(x, word, index) == TW_OK;
    for (unsigned i = 0; known && i < x->n_settings; i++) {
        const tw_options_t *o = &x->settings[i].o;
        g_say(t, "%s{", comma(i));
        key_str(t, "tag", x->settings[i].tag);
        g_say(t, ",\"index\":%u,", index[i]);
        num(t, "value", o->n > 0 ? o->v[index[i]] : (double)NAN);
        g_say(t, "}");
    }
}

static void ios(g_text_t *t, const g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_ios; i++) {
        const g_io_t *io = &m->ios[i];
        g_say(t, "%s{", comma(i));
        key_str(t, "name", io->symbol);
        g_say(t,
              ",\"hwid\":%u,\"output\":%s,\"arc\":%u,\"format\":%u,\"settings\":[%u,%u,%u],\"vid\":%u,\"at\":%u,"
              "\"bytes\":%u,\"options\":[",
              io->hwid, io->manifest->direction ? "true" : "false", io->arc, io->format, io->setting[0], io->setting[1],
              io->setting[2], io->buffer_vid, io->buffer_at, io->buffer_bytes);
        options(t, io->manifest, io->setting);
        g_say(t, "]}");
    }
}

static void insertions(g_text_t *t, const g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_insertions; i++) {
        const g_insertion_t *x = &m->insertions[i];
        g_say(t, "%s{", comma(i));
        key_str(t, "node", m->nodes[x->node].name);
        g_say(t, ",");
        key_str(t, "arc", m->arcs[x->arc].name);
        g_say(t, ",\"line\":%u,", m->arcs[x->arc].pos.line);
        key_str(t, "why", x->why);
        g_say(t, "}");
    }
}

static void blocks(g_text_t *t, const g_node_t *n)
{
    for (unsigned k = 0; k < n->manifest->n_mem; k++) {
        const tw_node_mem_manifest_t *x = &n->manifest->mem[k];
        g_say(t, "%s{\"vid\":%u,\"at\":%u,\"bytes\":%u,\"type\":%u,\"speed\":%u,\"working\":%s", comma(k),
              n->block_vid[k], n->block_at[k], n->block_bytes[k], x->type, x->speed, x->type == 1 ? "true" : "false");
        if ((n->copied >> k & 1u) != 0) {
            g_say(t, ",\"%s\":%u", (n->swapped >> k & 1u) != 0 ? "swapped_from" : "copied_from", n->block_home[k]);
        }
        if ((n->staged >> k & 1u) != 0) {
            g_say(t, ",\"home_at\":%u", n->home_at[k]);
        }
        g_say(t, "}");
    }
}

/* In the order of the schedule. */
static void nodes(g_text_t *t, const g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const g_node_t *n = &m->nodes[m->order[i]];
        g_say(t, "%s{", comma(i));
        key_str(t, "name", n->name);
        g_say(t, ",");
        key_str(t, "type", n->manifest->name);
        g_say(t, ",\"processor\":%u,\"thread\":%u,\"inserted\":%s,", n->proc, n->rtos, n->inserted ? "true" : "false");
        key_str(t, "subgraph", n->scope < m->n_scopes ? m->scopes[n->scope].name : "");
        g_say(t, ",\"blocks\":[");
        blocks(t, n);
        g_say(t, "]}");
    }
}

static void arcs(g_text_t *t, const g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_arcs; i++) {
        const g_arc_t *a = &m->arcs[i];
        const uint32_t shares = a->from.node != G_IO ? g_in_place(m, &m->nodes[a->from.node], a->from.slot) : G_NONE;
        g_say(t, "%s{", comma(i));
        key_str(t, "name", a->name);
        g_say(t, ",");
        key_str(t, "from", g_arc_end_name(m, a, false));
        g_say(t, ",");
        key_str(t, "to", g_arc_end_name(m, a, true));
        g_say(t,
              ",\"vid\":%u,\"at\":%u,\"bytes\":%u,\"lock\":%s,\"producer_format\":%u,\"consumer_format\":%u,"
              "\"whole_frames_bytes\":%llu,\"delay_bytes\":%u,",
              a->bank, a->at, a->bytes, a->lock ? "true" : "false", a->from.format, a->to.format,
              (unsigned long long)g_arc_lcm(m, a), a->fill_bytes);
        if (a->shared != 0) {
            g_say(t, "\"in_place_of\":%u,", a->shared - 1);
        } else if (shares != G_NONE) {
            g_say(t, "\"could_share\":%u,", shares);
        }
        num(t, "rate_bytes_s", g_arc_rate(m, a));
        g_say(t, "}");
    }
}

static void scripts(g_text_t *t, const g_model_t *m)
{
    for (uint32_t i = 0; i < m->n_scripts; i++) {
        const g_script_t *s = &m->scripts[i];
        g_say(t, "%s{", comma(i));
        key_str(t, "name", s->symbol);
        g_say(t, ",\"code_bytes\":%u,\"literal_bytes\":%u,\"registers\":%u,\"pointers\":%u,\"stack\":%u,",
              s->code_bytes, s->literal_bytes, s->regs, s->ptrs, s->stack);
        g_say(t, "\"memory_bytes\":%u,\"shared\":%s}", 4 * g_heap_words(s), s->shared ? "true" : "false");
    }
}

static void subgraphs(g_text_t *t, const g_model_t *m)
{
    for (uint32_t i = 1; i < m->n_scopes; i++) {
        const g_scope_t *s = &m->scopes[i];
        g_say(t, "%s{", comma(i - 1));
        key_str(t, "name", s->name);
        g_say(t, ",");
        key_str(t, "file", s->file != NULL ? s->file : "");
        g_say(t, ",\"nodes\":%u}", g_scope_nodes(m, i));
    }
}

char *g_report_json(const g_model_t *m, uint32_t image_bytes)
{
    static const struct {
        const char *key;
        void (*rows)(g_text_t *t, const g_model_t *m);
    } lists[] = {{"banks", banks},     {"spills", spills},         {"ios", ios},
                 {"formats", formats}, {"nodes", nodes},           {"arcs", arcs},
                 {"scripts", scripts}, {"insertions", insertions}, {"subgraphs", subgraphs}};
    g_text_t t = {0};
    g_say(&t, "{");
    key_str(&t, "graph", m->control.name);
    g_say(&t, ",\"image_bytes\":%u,\"state_bytes\":%u,\"uid\":%u,\"platform\":%u", image_bytes, m->state_bytes, m->uid,
          m->platform->id);
    for (size_t i = 0; i < TW_COUNT(lists); i++) {
        g_say(&t, ",\"%s\":[", lists[i].key);
        lists[i].rows(&t, m);
        g_say(&t, "]");
    }
    g_say(&t, "}\n");
    return g_text_take(&t);
}
