/* graphc_decompile.c - an image back to graph text: the order of things, control, formats and IOs.
 *
 * The text compiles to the same image, byte for byte, on the platform the image was made for. What a plan would
 * choose is therefore said (node_map_at, arc_map_at, stream_io_map_at, memory_plan), what is a default is not.
 * An image is verified before it is read, so nothing here checks bounds.
 */
#include "host_tools/graphc/image/graphc_decompile_priv.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT_MAX (256u << 20)
enum { ROOM = 256 };

/* ---- text ------------------------------------------------------------------------- */

static bool room(dec_t *x, size_t more)
{
    if (x->failed || x->text_n + more < x->text_cap) {
        return !x->failed;
    }
    size_t cap = x->text_cap < 4096 ? 4096 : x->text_cap * 2;
    while (cap <= x->text_n + more) {
        cap *= 2;
    }
    char *now = x->text_n + more <= x->text_max ? realloc(x->text, cap) : NULL;
    if (now == NULL) {
        x->failed = true;
        return false;
    }
    x->text = now;
    x->text_cap = cap;
    return true;
}

void dec_put(dec_t *x, const char *fmt, ...)
{
    va_list ap;
    if (!room(x, ROOM)) {
        return;
    }
    va_start(ap, fmt);
    const int n = vsnprintf(x->text + x->text_n, x->text_cap - x->text_n, fmt, ap);
    va_end(ap);
    /* what the callers write at once always fits: names have 31 characters, types 63, numbers 20 */
    x->failed |= n < 0 || n >= ROOM;
    x->text_n += x->failed ? 0 : (size_t)n;
}

void dec_lost(dec_t *x, uint32_t at, const char *fmt, ...)
{
    char text[160];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (x->d != NULL) {
        tw_diag(x->d, true, x->file, 0, 0, "byte %#x: %s: the text does not say it", at, text);
    }
}

void dec_f32(char *to, size_t size, float v)
{
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(to, size, "%.*g", digits, (double)v);
        if (strtof(to, NULL) == v) {
            break;
        }
    }
    if (v == 0 && signbit(v)) {
        snprintf(to, size, "-0.0");
    } else if (fabsf(v) < 1e9f && v == truncf(v)) {
        snprintf(to, size, "%.0f", (double)v); /* 48000, not 4.8e+04 */
    }
}

void dec_bytes(dec_t *x, const char *indent, const uint8_t *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += 16) {
        const uint32_t row = tw_min_u32(n - i, 16);
        dec_put(x, "%s%u h8;", indent, row);
        for (uint32_t k = 0; k < row; k++) {
            dec_put(x, " %02X", p[i + k]);
        }
        dec_put(x, "\n");
    }
}

tw_format_t dec_format(const dec_t *x, uint32_t index)
{
    const uint32_t at = tw_img_record(x->img, TW_SEC_FORMATS, index, TW_FORMAT_WORDS), f1 = dec_word(x, at, 1);
    return (tw_format_t){
        .frame_bytes = dec_word(x, at, 0),
        .samples = dec_word(x, at, 7),
        .rate_hz = tw_get_f32(x->img + at + 8),
        .raw = (uint8_t)tw_bits(f1, TW_F1_RAW),
        .channels = (uint8_t)(tw_bits(f1, TW_F1_CHANNELS) + 1),
        .interleave = (uint8_t)tw_bits(f1, TW_F1_INTERLEAVE),
        .domain = (uint8_t)tw_bits(f1, TW_F1_DOMAIN),
        .unit = (uint8_t)tw_bits(f1, TW_F1_UNIT),
        .ts = (uint8_t)tw_bits(f1, TW_F1_TS),
        .ts_size = (uint8_t)tw_bits(f1, TW_F1_TS_SIZE),
        .mapping = dec_word(x, at, 3),
    };
}

/* ---- names ------------------------------------------------------------------------- */

static bool read_names(dec_t *x)
{
    const tw_img_section_t ext = tw_img_section(x->img, TW_SEC_EXT);
    const uint32_t counts[] = {0, x->n.nodes, x->n.arcs, x->n.ios, x->n.scripts, 1};
    uint32_t at = ext.at, type, payload, bytes, all = 0;
    for (uint32_t kind = 0; kind < TW_COUNT(counts); kind++) {
        x->names_of[kind] = all;
        all += counts[kind];
    }
    x->names = calloc(all, sizeof *x->names);
    if (x->names == NULL) {
        return false;
    }
    while (tw_img_next_ext(x->img, &at, ext.at + ext.bytes, &type, &payload, &bytes)) {
        for (uint32_t k = 0; type == TW_EXT_SYMB && k < bytes;) {
            const uint8_t *entry = x->img + payload + k;
            memcpy(x->names[x->names_of[entry[0]] + tw_get_le16(entry + 2)], entry + 4, entry[1]);
            k += 4u + entry[1];
        }
    }
    return true;
}

const char *dec_symbol(const dec_t *x, uint32_t kind, uint32_t index)
{
    return x->names[x->names_of[kind] + index];
}

/* ---- node types --------------------------------------------------------------------- */

/* The platform's types first: its manifests number the ports. */
static bool list_types(dec_t *x)
{
    const tw_platform_t *p = x->platform;
    uint32_t n;
    const tw_node_desc_t *const *library = tw_node_catalogue(&n);
    const uint32_t of_platform = p != NULL ? p->n_nodes : 0;
    x->types = calloc(of_platform + n, sizeof *x->types);
    if (x->types == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < of_platform; i++) {
        const tw_node_manifest_t *m = &p->nodes[i];
        const uint32_t hash = g_node_hash(m);
        x->types[x->n_types++] = (dec_type_t){hash, m->name, m, tw_node_find(hash), 0};
    }
    for (uint32_t i = 0; i < n; i++) {
        x->types[x->n_types++] = (dec_type_t){library[i]->hash, library[i]->name, NULL, library[i], 0};
    }
    return true;
}

static bool is_script_node(const dec_type_t *t)
{
    return strcmp(t->name, "arm_stream_script") == 0;
}

/* A compact record names its type by an entry of the catalogue it was compiled for. @return 0 when it is not ours */
static uint32_t hash_of(const dec_t *x, uint32_t record)
{
    if (!tw_img_is_compact(x->img, record)) {
        return dec_word(x, record, 2);
    }
    const bool ours = x->order.id == dec_word(x, 0, TW_W_CATALOGUE);
    const tw_node_desc_t *d = ours ? tw_node_entry(&x->order, tw_bits(dec_word(x, record, 0), TW_N0_ENTRY)) : NULL;
    return d != NULL ? d->hash : 0;
}

static bool name_nodes(dec_t *x)
{
    if (dec_word(x, 0, TW_W_CATALOGUE) != 0) {
        tw_node_order(&x->order);
    }
    x->nodes = calloc(x->n.nodes + 1u, sizeof *x->nodes);
    for (uint32_t i = 0; x->nodes != NULL && i < x->n.nodes; i++) {
        const uint32_t at = tw_img_node(x->img, i), hash = hash_of(x, at);
        uint32_t t = 0;
        while (t < x->n_types && x->types[t].hash != hash) {
            t++;
        }
        if (t == x->n_types && tw_img_is_compact(x->img, at)) {
            tw_diag(x->d, false, x->file, 0, 0,
                    "byte %#x: node %u %s is entry %u of catalogue %08x; this program's is %08x", at, i,
                    dec_symbol(x, TW_SYM_NODE, i), tw_bits(dec_word(x, at, 0), TW_N0_ENTRY),
                    dec_word(x, 0, TW_W_CATALOGUE), x->order.id);
            return false;
        }
        if (t == x->n_types) {
            tw_diag(x->d, false, x->file, 0, 0,
                    "byte %#x: node %u %s is of a type that neither the platform nor this program has (hash %08x); "
                    "read it with the platform it was made for",
                    at + 8, i, dec_symbol(x, TW_SYM_NODE, i), hash);
            return false;
        }
        const uint32_t script = tw_bits(dec_word(x, at, 1), TW_N1_SCRIPT);
        const bool own = script != 0 && is_script_node(&x->types[t]);
        x->nodes[i] = (dec_node_t){t, x->types[t].used++, own ? script - 1 : G_NONE};
    }
    return x->nodes != NULL;
}

/* ---- sections ----------------------------------------------------------------------- */

static void bank_lines(dec_t *x)
{
    for (uint32_t i = 0; i < x->n.banks; i++) {
        const uint32_t at = tw_img_record(x->img, TW_SEC_BANKS, i, TW_BANK_WORDS);
        if (dec_word(x, at, 3) != dec_word(x, tw_img_record(x->img, TW_SEC_BANKS, 0, TW_BANK_WORDS), 3)) {
            dec_lost(x, at + 12, "banks filled with different patterns");
        }
        if ((x->flags & TW_DECOMPILE_PLAIN) == 0) {
            dec_put(x, "memory_plan %u %u %u\n", tw_bits(dec_word(x, at, 0), TW_B0_VID), dec_word(x, at, 1),
                    dec_word(x, at, 2));
        }
    }
    const uint32_t fill = x->n.banks > 0 ? dec_word(x, tw_img_section(x->img, TW_SEC_BANKS).at, 3) : 0;
    if (fill != 0) {
        dec_put(x, "memory_fill 0x%08X\n", fill);
    }
}

static void control(dec_t *x)
{
    const uint32_t w7 = dec_word(x, 0, TW_W_CONTROL),
                   subgraphs = tw_bits(dec_word(x, 0, TW_W_COUNTS3), TW_W14_SUBGRAPHS);
    const uint32_t sequence = dec_word(x, 0, TW_W_SEQUENCE);
    const char *name = dec_symbol(x, TW_SYM_GRAPH, 0);
    if (name[0] != 0) {
        dec_put(x, "graph_name %s\n", name);
    }
    if (sequence != 0 && (x->flags & TW_DECOMPILE_IDENTITY) == 0) {
        dec_put(x, "graph_sequence %u\n", sequence);
    }
    if (subgraphs != 0) {
        dec_put(x, "graph_subgraphs %u\n", subgraphs);
    }
    if (tw_bits(w7, TW_W7_LOCATION) != 0) {
        dec_put(x, "graph_location %u\n", tw_bits(w7, TW_W7_LOCATION));
    }
    if (tw_bits(w7, TW_W7_DEBUG_SCRIPT) != 0) {
        dec_put(x, "debug_script_fields %u\n", tw_bits(w7, TW_W7_DEBUG_SCRIPT));
    }
    if (tw_bits(w7, TW_W7_RETURN) != 3) {
        dec_put(x, "scheduler_return %u\n", tw_bits(w7, TW_W7_RETURN));
    }
    if (dec_word(x, 0, TW_W_PROCESSORS) != 1) {
        dec_put(x, "allowed_processors %u\n", dec_word(x, 0, TW_W_PROCESSORS));
    }
    if (tw_bits(w7, TW_W7_SIGNED) || tw_bits(w7, TW_W7_MP) || tw_bits(w7, TW_W7_SCHEDULE)) {
        dec_lost(x, 4 * TW_W_CONTROL, "a signature, multi-processor arcs or a static schedule");
    }
    if (dec_word(x, 0, TW_W_CATALOGUE) != 0 && (x->flags & TW_DECOMPILE_IDENTITY) == 0) {
        dec_put(x, "; records are compact: compile with --compact\n");
    }
    bank_lines(x);
}

static void put_number(dec_t *x, const char *tag, uint32_t v, uint32_t dflt)
{
    if (v != dflt) {
        dec_put(x, "    %s %u\n", tag, v);
    }
}

/* By name where the name reads back as the code. */
static void put_code(dec_t *x, const char *tag, uint32_t v, const char *name, int (*find)(const char *, size_t))
{
    if (name != NULL && find(name, strlen(name)) == (int)v) {
        dec_put(x, "    %s %s\n", tag, name);
    } else {
        dec_put(x, "    %s %u\n", tag, v);
    }
}

static void mapping(dec_t *x, const tw_format_t *f)
{
    if (f->domain == 6 || f->domain == 7) {
        put_number(x, "format_2d_height", f->mapping >> 16, 0);
        put_number(x, "format_2d_width", f->mapping & 0xFFFFu, 0);
    } else {
        put_number(x, f->domain == 5 && f->mapping < 16 ? "format_motion_mapping" : "format_audio_mapping", f->mapping,
                   0);
    }
}

static void one_format(dec_t *x, uint32_t i)
{
    const uint32_t at = tw_img_record(x->img, TW_SEC_FORMATS, i, TW_FORMAT_WORDS);
    const tw_format_t f = dec_format(x, i);
    char rate[32];
    dec_put(x, "\nformat %u\n", i);
    put_code(x, "format_raw_data", f.raw, tw_raw_name(f.raw), tw_raw_find);
    dec_put(x, "    format_frame_length %u\n", f.frame_bytes);
    put_number(x, "format_nbchan", f.channels, 1);
    put_number(x, "format_interleaving", f.interleave, 0);
    put_number(x, "format_time_stamp", f.ts, 0);
    put_number(x, "format_time_stamp_size", f.ts_size, 0);
    if (f.unit != 0) {
        put_code(x, "format_sdomain", f.unit, tw_unit_text(f.unit), tw_unit_find);
    }
    if (f.domain != 0) {
        put_code(x, "format_domain", f.domain, tw_domain_text(f.domain), tw_domain_find);
    }
    if (f.rate_hz != 0) {
        dec_f32(rate, sizeof rate, f.rate_hz);
        dec_put(x, "    format_sampling_rate %s\n", rate);
    }
    mapping(x, &f);
    put_number(x, "format_2d_border", dec_word(x, at, 6), 0);
    if (tw_get_f32(x->img + at + 16) != 1.0f || tw_get_f32(x->img + at + 20) != 0.0f) {
        dec_lost(x, at + 16, "full scale or offset of format %u", i);
    }
}

/* Zeros are a choice where the IO has options: without them the format would choose. */
static bool has_options(const dec_t *x, uint32_t hwid)
{
    const tw_platform_t *p = x->platform;
    for (unsigned i = 0; p != NULL && i < p->n_ios; i++) {
        if (p->ios[i].hwid == hwid) {
            return tw_settings_words(&p->ios[i]) > 0;
        }
    }
    return p == NULL;
}

static void io_settings(dec_t *x, uint32_t at)
{
    const uint32_t word[3] = {dec_word(x, at, 2), dec_word(x, at, 3), dec_word(x, at, 4)};
    if (word[1] != 0 || word[2] != 0) {
        dec_put(x, "    stream_io_setting1 0x%X 0x%X 0x%X\n", word[0], word[1], word[2]);
    } else if (word[0] != 0 || has_options(x, tw_bits(dec_word(x, at, 0), TW_I0_HWID))) {
        dec_put(x, "    stream_io_setting1 0x%X\n", word[0]);
    }
}

static void one_io(dec_t *x, uint32_t i)
{
    const uint32_t at = tw_img_record(x->img, TW_SEC_IOS, i, TW_IO_WORDS);
    const char *name = dec_symbol(x, TW_SYM_IO, i);
    dec_put(x, "\nstream_io %u\n", i);
    if (name[0] != 0) {
        dec_put(x, "    stream_io_name %s\n", name);
    }
    dec_put(x, "    stream_io_hwid %u\n", tw_bits(dec_word(x, at, 0), TW_I0_HWID));
    put_number(x, "stream_io_format", tw_bits(dec_word(x, at, 1), TW_I1_FORMAT), 0);
    io_settings(x, at);
    /* a place that the text gave stays in the image, also without a buffer */
    const bool placed = dec_word(x, at, 5) != 0 || dec_word(x, at, 6) != 0 || dec_word(x, at, 7) != 0;
    if (placed && (x->flags & TW_DECOMPILE_PLAIN) == 0) {
        dec_put(x, "    stream_io_map_at %u %u\n", dec_word(x, at, 5) & 255u, dec_word(x, at, 6));
    }
}

static void everything(dec_t *x)
{
    control(x);
    for (uint32_t i = 0; i < x->n.formats; i++) {
        one_format(x, i);
    }
    for (uint32_t i = 0; i < x->n.ios; i++) {
        one_io(x, i);
    }
    dec_scripts(x);
    for (uint32_t i = 0; i < x->n.nodes && !x->failed; i++) {
        dec_node(x, i);
    }
    dec_put(x, "\narc_section\n");
    dec_arcs(x);
}

/* ---- entries ------------------------------------------------------------------------ */

static bool verify(const dec_t *x)
{
    tw_arena_t scratch = {.size = 5 * (size_t)x->bytes + 4096};
    tw_fault_t fault = {0};
    scratch.base = malloc(scratch.size);
    if (scratch.base == NULL) {
        tw_diag(x->d, false, x->file, 0, 0, "out of memory");
        return false;
    }
    const tw_err_t err = tw_graph_check_structure(x->img, x->bytes, &scratch, &fault);
    free(scratch.base);
    if (err != TW_OK) {
        static const char *const names[] = {"header", "BANKS",   "FORMATS", "IOS", "NODES",
                                            "ARCS",   "SCRIPTS", "PARAMS",  "EXT"};
        tw_diag(x->d, false, x->file, 0, 0, "byte %#x (%s): %s", fault.at,
                fault.section < TW_COUNT(names) ? names[fault.section] : "?", tw_err_text(err));
    }
    return err == TW_OK;
}

static bool run(dec_t *x)
{
    x->n = tw_img_counts(x->img);
    /* no record needs more text than this a byte; records that lie on one another would */
    const size_t likely = 64 * (size_t)x->bytes + 65536;
    x->text_max = likely < TEXT_MAX ? likely : TEXT_MAX;
    const unsigned errors = x->d->errors;
    if (read_names(x) && list_types(x) && name_nodes(x)) {
        everything(x);
        if (x->failed) {
            tw_diag(x->d, false, x->file, 0, 0, "the text would have more than %zu bytes, or memory is out",
                    x->text_max);
        }
    } else if (x->d->errors == errors) {
        x->failed = true;
        tw_diag(x->d, false, x->file, 0, 0, "out of memory");
    }
    free(x->names);
    free(x->types);
    free(x->nodes);
    return x->d->errors == errors;
}

bool g_decompile_made(const uint8_t *img, uint32_t n, const tw_platform_t *p, unsigned flags, char **text,
                      size_t *bytes, tw_diags_t *d)
{
    dec_t x = {.img = img, .bytes = n, .flags = flags, .file = "image", .d = d, .platform = p};
    if (!run(&x)) {
        free(x.text);
        return false;
    }
    *text = x.text;
    *bytes = x.text_n;
    return true;
}

/* In columns, as `tunewire graph fmt` has it; a text too large for that stays as it is. */
static void lay_out(char **text, size_t bytes)
{
    tw_graph_fmt_t *fmt = calloc(1, sizeof *fmt);
    if (fmt != NULL && tw_graph_fmt("image", *text, bytes, fmt)) {
        free(*text);
        *text = fmt->text;
        fmt->text = NULL;
    }
    if (fmt != NULL) {
        tw_graph_fmt_free(fmt);
    }
    free(fmt);
}

bool tw_decompile(const uint8_t *img, uint32_t n, const tw_platform_t *p, unsigned flags, char **text, tw_diags_t *d)
{
    const dec_t x = {.img = img, .bytes = n, .file = "image", .d = d};
    size_t bytes;
    *text = NULL;
    if (!verify(&x) || !g_decompile_made(img, n, p, flags, text, &bytes, d)) {
        return false;
    }
    if ((flags & TW_DECOMPILE_IDENTITY) == 0) {
        lay_out(text, bytes);
    }
    return true;
}
