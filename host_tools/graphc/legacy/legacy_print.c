/* legacy_print.c - a decoded listing for people, every word in its order, and as JSON. */
#include "engine/base/bytes.h"
#include "host_tools/graphc/graphc_text.h"
#include "host_tools/graphc/legacy/legacy_decode.h"
#include <math.h>
#include <string.h>

/* Words [at, end) as they are, runs of one value in one line. */
static void say_raw(g_text_t *t, const tw_legacy_t *l, uint32_t at, uint32_t end)
{
    for (end = tw_min_u32(end, l->n); at < end;) {
        uint32_t run = 1;
        while (at + run < end && l->w[at + run] == l->w[at]) {
            run++;
        }
        g_say(t, run > 1 ? "  %03X  %08X  %u times\n" : "  %03X  %08X\n", at, l->w[at], run);
        at += run;
    }
}

static void say_header(g_text_t *t, const tw_legacy_t *l)
{
    g_say(t, "header\n  000  %08X  destination in RAM\n", tw_legacy_word(l, 0));
    g_say(t, "  001  %08X  %u words of scripts, %u IOs, %u formats\n", tw_legacy_word(l, 1), l->script_words, l->n_ios,
          l->n_formats);
    g_say(t, "  002  %08X  %u words of node list\n", tw_legacy_word(l, 2), l->list_words);
    g_say(t, "  003  %08X  %u arcs\n", tw_legacy_word(l, 3), tw_legacy_word(l, 3) & 0x7FFu);
    g_say(t, "  004  %08X  processors allowed, a bit each\n", tw_legacy_word(l, 4));
    g_say(t, "  005  %08X  memory use\n  006  %08X\n", tw_legacy_word(l, 5), tw_legacy_word(l, 6));
}

static void say_io(g_text_t *t, const tw_legacy_t *l, const tw_legacy_io_t *io)
{
    if (io->word >= l->n) {
        return;
    }
    if (!io->used) {
        g_say(t, "  %03X  %08X  IO %u: not used\n", io->word, tw_legacy_word(l, io->word), io->number);
    } else {
        g_say(t, "  %03X  %08X  IO %u: %s, ", io->word, tw_legacy_word(l, io->word), io->number, io->tx ? "tx" : "rx");
        g_say(t, io->arc == 0x7FF ? "no arc" : "arc %u", io->arc);
        g_say(t, ", %s buffer, %s, other bits %05X\n", io->copy ? "copied" : "set",
              io->servant ? "servant" : "commander", io->rest);
    }
    say_raw(t, l, io->word + 1, io->word + 2);
}

static void say_format(g_text_t *t, const tw_legacy_t *l, const tw_legacy_format_t *f, uint32_t i)
{
    const char *raw = tw_raw_name(f->raw);
    if (f->word + 2 < l->n) {
        g_say(t, "  %03X  %08X  format %u: raw %u (%s), frame of %u bytes\n", f->word, l->w[f->word], i, f->raw,
              raw != NULL ? raw : "no such type", f->frame_bytes);
        g_say(t, "  %03X  %08X  %u channel%s, %g Hz\n", f->word + 1, l->w[f->word + 1], f->channels,
              f->channels == 1 ? "" : "s", (double)f->rate_hz);
        g_say(t, "  %03X  %08X  domain word\n", f->word + 2, l->w[f->word + 2]);
    } else {
        say_raw(t, l, f->word, l->n);
    }
}

static void say_bytes(g_text_t *t, const tw_legacy_t *l, uint32_t at, uint32_t words, const char *gap)
{
    for (uint32_t i = 0; i < 4 * words && at + i / 4 < l->n; i++) {
        g_say(t, "%s%02X", i > 0 ? gap : "", l->w[at + i / 4] >> 8 * (i % 4) & 0xFFu);
    }
}

static void say_scripts(g_text_t *t, const tw_legacy_t *l)
{
    if (l->script_words == 0 || l->scripts_at >= l->n) {
        return;
    }
    const bool two = l->n_nodes > 0 && l->nodes[0].memory_words == 2; /* the build that has 16-bit codes */
    g_say(t, "scripts\n");
    if (!two) {
        g_say(t, "  %03X  %08X  number of scripts; indexes and 8-bit codes follow\n", l->scripts_at,
              l->w[l->scripts_at]);
    }
    for (uint32_t i = !two; i < l->script_words && l->scripts_at + i < l->n; i++) {
        g_say(t, "  %03X  %08X  bytes ", l->scripts_at + i, l->w[l->scripts_at + i]);
        say_bytes(t, l, l->scripts_at + i, 1, " ");
        g_say(t, "\n");
    }
}

static void say_node(g_text_t *t, const tw_legacy_t *l, const tw_legacy_node_t *n)
{
    g_say(t, "  %03X  %08X  node of index %u%s%s, other bits %05X\n", n->word, l->w[n->word], n->index,
          n->name[0] != 0 ? ", " : "", n->name, n->rest);
    for (uint32_t i = 0; i < n->n_arcs; i += 2) {
        const uint32_t at = n->word + 1 + i / 2;
        g_say(t, "  %03X  %08X ", at, l->w[at]);
        for (uint32_t k = i; k < n->n_arcs && k < i + 2; k++) {
            g_say(t, "%s arc %u %s, other bits %X", k > i ? ";" : "", n->arcs[k].arc, n->arcs[k].tx ? "tx" : "rx",
                  n->arcs[k].rest);
        }
        g_say(t, "\n");
    }
    for (uint32_t i = 0; i < n->n_memory; i++) {
        const uint32_t at = n->memory + i * n->memory_words;
        g_say(t, "  %03X  %08X  memory block %u of %u at word %X\n", at, l->w[at], i, n->n_memory,
              l->w[at] & (n->memory_words == 1 ? 0x7FFFFFFu : 0x1FFFFFFFu));
        say_raw(t, l, at + 1, at + n->memory_words);
    }
    g_say(t, "  %03X  %08X  parameters in %u words with this one, other bits %04X\n", n->params, l->w[n->params],
          n->n_params, l->w[n->params] >> 16);
    for (uint32_t i = 1; i < n->n_params; i++) {
        g_say(t, "  %03X  %08X  bytes ", n->params + i, l->w[n->params + i]);
        say_bytes(t, l, n->params + i, 1, " ");
        g_say(t, "\n");
    }
}

static void say_list(g_text_t *t, const tw_legacy_t *l)
{
    g_say(t, "nodes\n");
    for (uint32_t i = 0; i < l->n_nodes; i++) {
        say_node(t, l, &l->nodes[i]);
    }
    const uint32_t end = l->arcs_at - 1;
    if (l->nodes_end < end) {
        say_raw(t, l, l->nodes_end, end);
    }
    if (end < l->n) {
        g_say(t, "  %03X  %08X  end of nodes\n", end, l->w[end]);
    }
}

static void say_arcs(g_text_t *t, const tw_legacy_t *l)
{
    if (l->n_arcs > 0) {
        g_say(t, "arcs\n");
    }
    for (uint32_t i = 0; i < l->n_arcs; i++) {
        const tw_legacy_arc_t *a = &l->arcs[i];
        g_say(t, "  %03X  %08X  arc %u: base word %X, producer format %u\n", a->word, l->w[a->word], i, a->base,
              a->producer);
        g_say(t, "  %03X  %08X  %u bytes, consumer format %u\n", a->word + 1, l->w[a->word + 1], a->bytes, a->consumer);
        say_raw(t, l, a->word + 2, a->word + 4);
    }
}

static void say_full(g_text_t *t, const tw_legacy_t *l)
{
    say_header(t, l);
    g_say(t, l->n_ios > 0 ? "IOs\n" : "");
    for (uint32_t i = 0; i < l->n_ios; i++) {
        say_io(t, l, &l->ios[i]);
    }
    g_say(t, "formats\n");
    for (uint32_t i = 0; i < l->n_formats && l->formats[i].word < l->n; i++) {
        say_format(t, l, &l->formats[i], i);
    }
    say_scripts(t, l);
    say_list(t, l);
    say_arcs(t, l);
    const uint32_t rest = l->arcs_at + 4 * l->n_arcs;
    if (rest < l->n) {
        g_say(t, "not understood: memory the graph begins with\n");
        say_raw(t, l, rest, l->n);
    }
}

char *tw_legacy_text(const tw_legacy_t *l)
{
    static const char *const names[] = {"no known header", "4-word header", "7-word header"};
    g_text_t t = {0};
    g_say(&t, "%u words announced, %u there; %s\n", l->announced, l->n, names[l->layout]);
    if (l->layout == TW_LEGACY_FULL) {
        say_full(&t, l);
        return g_text_take(&t);
    }
    if (l->layout == TW_LEGACY_EARLY) {
        g_say(&t, "header, of which IOs (%u) and formats (%u) are understood\n", l->n_ios, l->n_formats);
        say_raw(&t, l, 0, l->ios_at);
        g_say(&t, "IOs, two words each\n");
        say_raw(&t, l, l->ios_at, l->formats_at);
        g_say(&t, "formats, three words each\n");
        say_raw(&t, l, l->formats_at, l->scripts_at);
    }
    g_say(&t, "not understood\n");
    say_raw(&t, l, l->scripts_at, l->n);
    return g_text_take(&t);
}

/* ---- JSON ------------------------------------------------------------------------------- */

static void json_words(g_text_t *t, const tw_legacy_t *l, uint32_t at, uint32_t end)
{
    end = tw_min_u32(end, l->n);
    for (uint32_t i = at; i < end; i++) {
        g_say(t, "%s%u", i > at ? "," : "", l->w[i]);
    }
}

static void json_raw(g_text_t *t, const tw_legacy_t *l, uint32_t at, uint32_t end, bool *first)
{
    if (at < tw_min_u32(end, l->n)) {
        g_say(t, "%s{\"word\":%u,\"values\":[", *first ? "" : ",", at);
        json_words(t, l, at, end);
        g_say(t, "]}");
        *first = false;
    }
}

static void json_node(g_text_t *t, const tw_legacy_t *l, const tw_legacy_node_t *n)
{
    g_say(t, "{\"word\":%u,\"index\":%u,\"name\":\"%s\",\"other_bits\":%u,\"arcs\":[", n->word, n->index, n->name,
          n->rest);
    for (uint32_t i = 0; i < n->n_arcs; i++) {
        g_say(t, "%s{\"arc\":%u,\"tx\":%s,\"other_bits\":%u}", i > 0 ? "," : "", n->arcs[i].arc,
              n->arcs[i].tx ? "true" : "false", n->arcs[i].rest);
    }
    g_say(t, "],\"memory\":{\"word\":%u,\"blocks\":%u,\"values\":[", n->memory, n->n_memory);
    json_words(t, l, n->memory, n->params);
    g_say(t, "]},\"parameters\":{\"word\":%u,\"values\":[", n->params);
    json_words(t, l, n->params, n->params + n->n_params);
    g_say(t, "],\"bytes\":\"");
    say_bytes(t, l, n->params + 1, n->n_params - 1, "");
    g_say(t, "\"}}");
}

static void json_tables(g_text_t *t, const tw_legacy_t *l)
{
    g_say(t, ",\"ios\":[");
    for (uint32_t i = 0; i < l->n_ios; i++) {
        const tw_legacy_io_t *io = &l->ios[i];
        g_say(t,
              "%s{\"word\":%u,\"used\":%s,\"arc\":%d,\"tx\":%s,\"copy\":%s,\"servant\":%s,\"other_bits\":%u,"
              "\"setting\":%u}",
              i > 0 ? "," : "", io->word, io->used ? "true" : "false", io->arc == 0x7FF ? -1 : (int)io->arc,
              io->tx ? "true" : "false", io->copy ? "true" : "false", io->servant ? "true" : "false", io->rest,
              io->setting);
    }
    g_say(t, "],\"formats\":[");
    for (uint32_t i = 0; i < l->n_formats; i++) {
        const tw_legacy_format_t *f = &l->formats[i];
        const char *raw = tw_raw_name(f->raw);
        g_say(t,
              "%s{\"word\":%u,\"raw\":%u,\"raw_name\":\"%s\",\"frame_bytes\":%u,\"channels\":%u,\"rate_hz\":%.9g,"
              "\"domain\":%u}",
              i > 0 ? "," : "", f->word, f->raw, raw != NULL ? raw : "", f->frame_bytes, f->channels,
              isfinite(f->rate_hz) ? (double)f->rate_hz : 0.0, f->specific);
    }
    g_say(t, "],\"scripts\":{\"word\":%u,\"values\":[", l->scripts_at);
    json_words(t, l, l->scripts_at, l->nodes_at);
    g_say(t, "]},\"nodes\":[");
    for (uint32_t i = 0; i < l->n_nodes; i++) {
        g_say(t, "%s", i > 0 ? "," : "");
        json_node(t, l, &l->nodes[i]);
    }
    g_say(t, "],\"arcs\":[");
    for (uint32_t i = 0; i < l->n_arcs; i++) {
        const tw_legacy_arc_t *a = &l->arcs[i];
        g_say(
            t,
            "%s{\"word\":%u,\"base\":%u,\"bytes\":%u,\"producer_format\":%u,\"consumer_format\":%u,\"state\":[%u,%u]}",
            i > 0 ? "," : "", a->word, a->base, a->bytes, a->producer, a->consumer, a->state[0], a->state[1]);
    }
    g_say(t, "]");
}

char *tw_legacy_json(const tw_legacy_t *l)
{
    static const char *const names[] = {"unknown", "early", "full"};
    g_text_t t = {0};
    const bool full = l->layout == TW_LEGACY_FULL;
    g_say(&t, "{\"layout\":\"%s\",\"announced\":%u,\"words\":%u", names[l->layout], l->announced, l->n);
    if (l->layout != TW_LEGACY_UNKNOWN) {
        g_say(&t, ",\"header\":{\"words\":[");
        json_words(&t, l, 0, l->ios_at);
        g_say(&t, "],\"ios\":%u,\"formats\":%u,\"script_words\":%u,\"list_words\":%u}", l->n_ios, l->n_formats,
              l->script_words, l->list_words);
    }
    if (full) {
        json_tables(&t, l);
    }
    bool first = true;
    g_say(&t, ",\"raw\":[");
    json_raw(&t, l, full ? l->nodes_end : l->ios_at, full ? l->arcs_at - 1 : l->n, &first);
    if (full) {
        json_raw(&t, l, l->arcs_at + 4 * l->n_arcs, l->n, &first);
    }
    g_say(&t, "]}");
    return g_text_take(&t);
}
