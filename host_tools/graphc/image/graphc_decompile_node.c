/* graphc_decompile_node.c - nodes and arcs of an image as text. */
#include "host_tools/graphc/image/graphc_decompile_priv.h"
#include <math.h>
#include <stdio.h>

static const dec_type_t *type_of(const dec_t *x, uint32_t node)
{
    return &x->types[x->nodes[node].type];
}

static bool plain(const dec_t *x)
{
    return (x->flags & TW_DECOMPILE_PLAIN) != 0;
}

static void tag(dec_t *x, const char *name, uint32_t v)
{
    if (v != 0) {
        dec_put(x, "    %s %u\n", name, v);
    }
}

/* ---- boot parameters ------------------------------------------------------------------ */

static const char *data_type(uint32_t raw)
{
    switch (raw) {
    case TW_RAW_S8:
        return "s8";
    case TW_RAW_U8:
        return "u8";
    case TW_RAW_S16:
    case TW_RAW_Q15:
        return "s16";
    case TW_RAW_U16:
        return "u16";
    case TW_RAW_S32:
        return "s32";
    case TW_RAW_U32:
        return "u32";
    case TW_RAW_FP32:
        return "f32";
    default:
        return NULL;
    }
}

static void value(dec_t *x, uint32_t raw, const uint8_t *p)
{
    char text[32];
    switch (raw) {
    case TW_RAW_S8:
        dec_put(x, " %d", (int8_t)p[0]);
        break;
    case TW_RAW_U8:
        dec_put(x, " %u", p[0]);
        break;
    case TW_RAW_S16:
    case TW_RAW_Q15:
        dec_put(x, " %d", (int16_t)tw_get_le16(p));
        break;
    case TW_RAW_U16:
        dec_put(x, " %u", tw_get_le16(p));
        break;
    case TW_RAW_S32:
        dec_put(x, " %d", (int32_t)tw_get_le32(p));
        break;
    case TW_RAW_U32:
        dec_put(x, " %u", tw_get_le32(p));
        break;
    default:
        dec_f32(text, sizeof text, tw_get_f32(p));
        dec_put(x, " %s", text);
        break;
    }
}

/* Numbers that a data line can hold: no NaN, no infinity. */
static bool printable(const tw_param_desc_t *r, const uint8_t *p)
{
    for (uint32_t i = 0; r->raw == TW_RAW_FP32 && i < r->count; i++) {
        if ((tw_get_le32(p + 4 * i) >> 23 & 255u) == 255u) {
            return false;
        }
    }
    return data_type(r->raw) != NULL;
}

static void row(dec_t *x, const tw_param_desc_t *r, const uint8_t *p)
{
    const uint32_t bytes = tw_raw_bits(r->raw) / 8;
    for (uint32_t i = 0; i < r->count; i += 16) {
        const uint32_t n = tw_min_u32(r->count - i, 16);
        dec_put(x, "        %u %s;", n, data_type(r->raw));
        for (uint32_t k = 0; k < n; k++) {
            value(x, r->raw, p + bytes * (i + k));
        }
        dec_put(x, "    ; %s\n", r->name);
    }
}

/* Rows of the type's table as far as they go; @return bytes written as numbers */
static uint32_t rows(dec_t *x, const tw_param_desc_t *r, uint32_t n, uint32_t tag_no, const uint8_t *p, uint32_t bytes)
{
    uint32_t done = 0;
    for (uint32_t i = 0; i < n; i++) {
        const bool wanted = tag_no == TW_TAG_ALL ? (r[i].flags & TW_PARAM_NOT_IN_ALL) == 0 : r[i].index == tag_no;
        const uint32_t size = tw_raw_bits(r[i].raw) / 8 * r[i].count;
        if (!wanted) {
            continue;
        }
        if (size == 0 || size > bytes - done || !printable(&r[i], p + done)) {
            break;
        }
        row(x, &r[i], p + done);
        done += size;
    }
    return done;
}

static void params(dec_t *x, uint32_t node, const tw_img_node_parts_t *p)
{
    const uint32_t word = dec_word(x, p->params_at, 1), tag_no = tw_bits(word, TW_NP_TAG);
    const uint32_t bytes = tw_bits(word, TW_NP_BYTES);
    const uint8_t *v = x->img + tw_img_section(x->img, TW_SEC_PARAMS).at + dec_word(x, p->params_at, 0);
    const tw_node_desc_t *d = type_of(x, node)->desc;
    uint32_t n = 0, done = 0;
    dec_put(x, "    node_parameters\n        1 u8; %u    ; %s\n", tag_no == TW_TAG_ALL ? 0 : tag_no,
            tag_no == TW_TAG_ALL ? "all" : "TAG");
    if (tag_no == 0) {
        dec_lost(x, p->params_at, "parameter 0 alone");
    }
    if (d != NULL && d->params != NULL) {
        const tw_format_t f = dec_format(x, tw_img_arc_format(x->img, tw_img_ref(x->img, p, 0).arc, p->rx > 0));
        const tw_param_desc_t *table = d->params(&f, &n);
        done = rows(x, table, n, tag_no, v, bytes);
    }
    dec_bytes(x, "        ", v + done, bytes - done);
    dec_put(x, "    _end_\n");
}

/* ---- memory --------------------------------------------------------------------------- */

/* What a type that knows its formats only asks for beyond the formula. */
static uint32_t asked(const dec_t *x, const tw_node_desc_t *d, const tw_img_node_parts_t *p, uint32_t m)
{
    tw_format_t fmt[TW_MAX_NODE_ARCS];
    const tw_format_t *list[TW_MAX_NODE_ARCS];
    uint32_t extra[TW_MAX_NODE_MEM] = {0}, slot = 0;
    for (uint32_t i = 0; i < p->rx + p->tx && i < TW_MAX_NODE_ARCS; i++) {
        fmt[i] = dec_format(x, tw_img_arc_format(x->img, tw_img_ref(x->img, p, i).arc, i < p->rx));
        list[i] = &fmt[i];
    }
    const bool known = d != NULL && d->memreq != NULL && m < TW_MAX_NODE_MEM;
    return known && d->memreq(list, p->rx, p->tx, extra, &slot) == TW_OK ? extra[m] : 0;
}

/* What the manifest's formula gives for block m, or 0 without one: the node library alone asks for less than its
 * manifests, which have room for other builds, so what is above it is not node_malloc_E. */
static double formula(const dec_t *x, uint32_t node, const tw_img_node_parts_t *p, uint32_t m)
{
    const dec_type_t *t = type_of(x, node);
    if (t->manifest == NULL || m >= t->manifest->n_mem) {
        return 0;
    }
    const tw_node_mem_manifest_t *q = &t->manifest->mem[m];
    const double k[3] = {q->b, q->c, q->d};
    const uint8_t arc[3] = {q->b_arc, q->c_arc, q->d_arc};
    double a = q->a;
    for (unsigned i = 0; i < 3; i++) {
        const uint32_t slot = arc[i] < p->rx + p->tx ? arc[i] : 0;
        const tw_format_t f = dec_format(x, tw_img_arc_format(x->img, tw_img_ref(x->img, p, slot).arc, slot < p->rx));
        a += k[i] * (i == 0 ? f.channels : i == 1 ? (double)f.rate_hz : f.frame_bytes);
    }
    return ceil(a);
}

/* node_malloc_E, or what the type asks for: the larger of them is in the block. */
static void extra(dec_t *x, uint32_t node, const tw_img_node_parts_t *p, uint32_t m, uint32_t bytes)
{
    const dec_type_t *t = type_of(x, node);
    const double sum = formula(x, node, p, m);
    if (sum <= 0) {
        return;
    }
    /* rounding to the alignment makes a few bytes that nobody asked for */
    const uint32_t align = tw_max_u32(t->manifest->mem[m].align, 4);
    if (bytes >= sum + asked(x, t->desc, p, m) + align) {
        dec_put(x, "    node_malloc_E %.0f %u\n", bytes - sum, m);
    }
}

static void blocks(dec_t *x, uint32_t node, const tw_img_node_parts_t *p)
{
    for (uint32_t m = 0; m < p->blocks; m++) {
        const uint32_t at = p->blocks_at + 4u * TW_NODE_BLOCK_WORDS * m, w = dec_word(x, at, 0);
        const uint32_t bytes = dec_word(x, at, 2), vid = tw_bits(w, TW_NB_VID);
        const uint32_t swap = tw_bits(w, TW_NB_SWAP);
        if (swap != TW_NB_STAYS) {
            dec_put(x, "    %s %u %u", swap == TW_NB_IN_OUT ? "node_map_swap" : "node_map_copy", m, vid);
            if (tw_img_is_staged(w) && !plain(x)) {
                dec_put(x, " %u", dec_word(x, at, 1));
            }
            dec_put(x, "\n");
        }
        if (!plain(x)) {
            const uint32_t home = tw_img_is_staged(w) ? tw_img_home_at(x->img, p, m) : at + 4;
            dec_put(x, "    node_map_at %u %u %u %u\n", m, swap != TW_NB_STAYS ? tw_bits(w, TW_NB_HOME) : vid,
                    dec_word(x, home, 0), bytes);
            continue;
        }
        extra(x, node, p, m, bytes);
    }
}

/* ---- nodes ---------------------------------------------------------------------------- */

void dec_node(dec_t *x, uint32_t node)
{
    const uint32_t at = tw_img_node(x->img, node), n0 = dec_word(x, at, 0), n1 = dec_word(x, at, 1),
                   n3 = tw_img_node_n3(x->img, at);
    const tw_img_node_parts_t p = tw_img_node_parts(x->img, at);
    const dec_node_t *n = &x->nodes[node];
    const char *name = dec_symbol(x, TW_SYM_NODE, node);
    dec_put(x, "\nnode %s %u\n", type_of(x, node)->name, n->inst);
    if (name[0] != 0) {
        dec_put(x, "    node_name %s\n", name);
    }
    tag(x, "node_preset", tw_bits(n1, TW_N1_PRESET));
    tag(x, "node_map_proc", tw_bits(n0, TW_N0_PROC));
    tag(x, "node_map_arch", tw_bits(n0, TW_N0_ARCH));
    tag(x, "node_map_rtos", tw_bits(n0, TW_N0_RTOS));
    tag(x, "node_map_verbose", tw_bits(n0, TW_N0_VERBOSE));
    tag(x, "node_trace_id", tw_bits(n3, TW_N3_TRACE));
    if (tw_bits(n1, TW_N1_SCRIPT) != 0 && n->own_script == G_NONE) {
        dec_put(x, "    node_script %u\n", tw_bits(n1, TW_N1_SCRIPT) - 1);
    }
    blocks(x, node, &p);
    if (n->own_script != G_NONE) {
        dec_own_script(x, node, n->own_script);
    }
    if (p.params_at != 0) {
        params(x, node, &p);
    }
    dec_put(x, "_end_\n");
    if (tw_img_is_dynamic(x->img, at) != tw_img_is_compact(x->img, at)) {
        dec_lost(x, at + 4, "when node %u is asked for its memory", node);
    }
    if (tw_bits(n0, TW_N0_DEBUG) || tw_bits(n0, TW_N0_CLEAR) || tw_bits(n0, TW_N0_ISOLATE) ||
        tw_bits(n1, TW_N1_PRIORITY) || tw_bits(n1, TW_N1_RERUNS) != 4) {
        dec_lost(x, at, "debug, clear, isolate, reruns or priority of node %u", node);
    }
}

/* ---- arcs ----------------------------------------------------------------------------- */

/* The manifest's number of a port: receive and transmit ports may be mixed there, and the last of each kind may
 * have stayed unconnected. */
static uint32_t port_of(const dec_t *x, uint32_t node, uint32_t slot)
{
    const dec_type_t *t = type_of(x, node);
    const uint32_t rx = tw_img_node_parts(x->img, tw_img_node(x->img, node)).rx;
    const bool tx = slot >= rx;
    const tw_node_manifest_t *m = t->manifest;
    uint32_t left = tx ? slot - rx : slot;
    if (m == NULL) {
        return tx ? t->desc->rx_max + left : left;
    }
    for (uint32_t port = 0; port < (uint32_t)m->rx + m->tx && port < TW_COUNT(m->arcs); port++) {
        if ((m->arcs[port].tx != 0) == tx && left-- == 0) {
            return port;
        }
    }
    return slot;
}

static void end_of(dec_t *x, uint32_t node, uint32_t slot, uint32_t format)
{
    dec_put(x, " %s %u %u %u", type_of(x, node)->name, x->nodes[node].inst, port_of(x, node, slot), format);
}

enum { CONSTANT = 3 }; /* type of an arc */

static void arc_line(dec_t *x, const tw_img_ends_t *e, uint32_t a0)
{
    const uint32_t from = tw_bits(a0, TW_A0_PRODUCER_FORMAT), to = tw_bits(a0, TW_A0_CONSUMER_FORMAT);
    const char *kind = tw_bits(a0, TW_A0_TYPE) == CONSTANT ? "arc_constant"
                       : e->from == TW_IMG_IO              ? "arc_input %u"
                       : e->to == TW_IMG_IO                ? "arc_output %u"
                                                           : "arc";
    dec_put(x, kind, e->io);
    if (e->from != TW_IMG_IO) {
        end_of(x, e->from, e->from_port, from);
    }
    if (e->to != TW_IMG_IO) {
        end_of(x, e->to, e->to_port, to);
    }
    if (tw_bits(a0, TW_A0_RUNTIME_BASE)) {
        dec_put(x, " 0 %u", e->from == TW_IMG_IO ? from : to);
    }
    dec_put(x, tw_bits(a0, TW_A0_HQOS) ? " H\n" : "\n");
}

/* As the compiler would name it. */
static void default_name(const dec_t *x, const tw_img_ends_t *e, bool constant, char *to)
{
    char full[80];
    if (constant) {
        snprintf(full, sizeof full, "const.%s", dec_symbol(x, TW_SYM_NODE, e->to));
    } else if (tw_img_same_port(e)) {
        snprintf(full, sizeof full, "lock.%s", dec_symbol(x, TW_SYM_NODE, e->from));
    } else if (e->from == TW_IMG_IO || e->to == TW_IMG_IO) {
        snprintf(full, sizeof full, "%s.%s", e->from == TW_IMG_IO ? "in" : "out", dec_symbol(x, TW_SYM_IO, e->io));
    } else {
        snprintf(full, sizeof full, "%s-%s", dec_symbol(x, TW_SYM_NODE, e->from), dec_symbol(x, TW_SYM_NODE, e->to));
    }
    snprintf(to, TW_SYMBOL_MAX + 1, "%.*s", (int)TW_SYMBOL_MAX, full);
}

static void behaviour(dec_t *x, uint32_t at, uint32_t a0, uint32_t a4)
{
    const uint32_t reg = tw_bits(a4, TW_A4_DEBUG_REG);
    if (tw_bits(a4, TW_A4_UNDERFLOW) || tw_bits(a4, TW_A4_OVERFLOW)) {
        dec_put(x, "    arc_flow_error %u %u\n", tw_bits(a4, TW_A4_UNDERFLOW), tw_bits(a4, TW_A4_OVERFLOW));
    }
    if (tw_bits(a4, TW_A4_SCRIPT) != 0) {
        dec_put(x, "    arc_script %u\n", tw_bits(a4, TW_A4_SCRIPT) - 1);
    }
    if (tw_bits(a4, TW_A4_CRUMBS)) {
        dec_put(x, "    arc_crumbs %u %u\n", tw_bits(a4, TW_A4_CRUMB_IN), tw_bits(a4, TW_A4_CRUMB_OUT));
    }
    tag(x, "arc_debug_cmd", tw_bits(a4, TW_A4_DEBUG_CMD));
    tag(x, "arc_debug_page", reg / 16);
    tag(x, "arc_debug_reg", reg % 16);
    tag(x, "arc_flush", tw_bits(a0, TW_A0_FLUSH_DATA) | tw_bits(a0, TW_A0_FLUSH_DESC) << 1);
    if (tw_bits(a0, TW_A0_TYPE) != CONSTANT) {
        tag(x, "arc_ring", tw_bits(a0, TW_A0_TYPE));
    }
    if (tw_bits(a4, TW_A4_ALIGN)) {
        dec_lost(x, at, "alignment of an arc");
    }
}

static bool all_zero(const uint8_t *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (p[i] != 0) {
            return false;
        }
    }
    return true;
}

static void contents(dec_t *x, const uint8_t *held, uint32_t bytes)
{
    dec_put(x, "    arc_parameters\n");
    dec_bytes(x, "        ", held, bytes);
    dec_put(x, "    _end_\n");
}

static void buffer(dec_t *x, uint32_t arc, uint32_t at, uint32_t a0)
{
    const uint32_t fill = dec_word(x, at, 5), bytes = dec_word(x, at, 2);
    const tw_format_t from = dec_format(x, tw_bits(a0, TW_A0_PRODUCER_FORMAT)),
                      to = dec_format(x, tw_bits(a0, TW_A0_CONSUMER_FORMAT));
    const uint32_t frame = tw_max_u32(from.frame_bytes, to.frame_bytes);
    const uint8_t *held = x->img + tw_img_section(x->img, TW_SEC_PARAMS).at + dec_word(x, at, 6);
    if (tw_bits(a0, TW_A0_TYPE) == CONSTANT) {
        if (!plain(x)) {
            dec_put(x, "    arc_map_hwblock %u\n", tw_bits(a0, TW_A0_VID));
        }
        contents(x, held, fill);
        return;
    }
    tag(x, "arc_delay", fill / from.frame_bytes);
    if (fill % from.frame_bytes != 0) {
        dec_lost(x, at + 20, "what the buffer of arc %u holds at reset", arc);
    } else if (tw_bits(a0, TW_A0_PREFILL) && !all_zero(held, fill)) {
        contents(x, held, fill);
    }
    if (!plain(x)) {
        dec_put(x, "    arc_map_at %u %u %u\n", tw_bits(a0, TW_A0_VID), dec_word(x, at, 1), bytes);
    } else if (bytes - fill > tw_round_up(frame, 4)) {
        dec_put(x, "    arc_jitter_ctrl %.9g\n", (double)(bytes - fill) / frame);
    }
}

static void one_arc(dec_t *x, uint32_t arc, uint32_t pattern)
{
    const uint32_t at = tw_img_arc(x->img, arc), a0 = dec_word(x, at, 0);
    const tw_img_ends_t e = tw_img_ends(x->img, arc);
    const char *name = dec_symbol(x, TW_SYM_ARC, arc);
    char usual[TW_SYMBOL_MAX + 1];
    if (plain(x) && tw_img_same_port(&e)) {
        return; /* the compiler adds it again */
    }
    arc_line(x, &e, a0);
    default_name(x, &e, tw_bits(a0, TW_A0_TYPE) == CONSTANT, usual);
    if (name[0] != 0 && strcmp(name, usual) != 0) {
        dec_put(x, "    arc_name %s\n", name);
    }
    behaviour(x, at, a0, dec_word(x, at, 4));
    buffer(x, arc, at, a0);
    if (pattern != 0) {
        dec_put(x, "    mem_fill_pattern 0x%08X\n", pattern);
    }
}

/* Fills of INIT come in the order of the arcs they are for. */
void dec_arcs(dec_t *x)
{
    const tw_img_section_t ext = tw_img_section(x->img, TW_SEC_EXT);
    uint32_t next = ext.at, type = 0, at = 0, bytes = 0;
    while (type != TW_EXT_INIT && tw_img_next_ext(x->img, &next, ext.at + ext.bytes, &type, &at, &bytes)) {}
    const uint32_t end = type == TW_EXT_INIT ? at + bytes : 0;
    at = end != 0 ? at : 0;
    for (uint32_t i = 0; i < x->n.arcs && !x->failed; i++) {
        const uint32_t a = tw_img_arc(x->img, i);
        const bool mine = at < end && dec_word(x, at, 0) == tw_bits(dec_word(x, a, 0), TW_A0_VID) &&
                          dec_word(x, at, 1) == dec_word(x, a, 1) && dec_word(x, at, 2) == dec_word(x, a, 2);
        one_arc(x, i, mine ? dec_word(x, at, 3) : 0);
        at += mine ? 4u * TW_INIT_WORDS : 0;
    }
    if (at < end) {
        dec_lost(x, at, "a fill of other memory than an arc's buffer");
    }
}
