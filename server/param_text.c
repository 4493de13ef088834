/* param_text.c - why a parameter value was refused, in words: "gain_db: 99 is outside -100..36 dB". */
#include "server/server_priv.h"

/* The table row of a parameter, and where its value starts in the bytes given. */
static const tw_param_desc_t *row_of(const tw_engine_node_t *node, uint32_t tag, uint32_t index, uint32_t *at)
{
    uint32_t n;
    const tw_param_desc_t *p = tw_node_params(node->desc, node->fmt, &n);
    *at = 0;
    for (uint32_t i = 0; p != NULL && i < n; i++) {
        if (p[i].index == index) {
            return &p[i];
        }
        if (tag == TW_TAG_ALL && (p[i].flags & TW_PARAM_NOT_IN_ALL) == 0) {
            *at += tw_raw_bits(p[i].raw) / 8 * p[i].count;
        }
    }
    return NULL;
}

static void say_range(tw_text_t *t, const tw_param_desc_t *p, const uint8_t *value, uint32_t bytes)
{
    const uint32_t each = tw_raw_bits(p->raw) / 8;
    for (uint32_t i = 0; i < p->count && each != 0 && (i + 1) * each <= bytes; i++) {
        const double v = tw_sample_value(p->raw, value + i * each);
        if (v >= p->min && v <= p->max) {
            continue;
        }
        if (p->count > 1) {
            tw_text_str(t, "[");
            tw_text_int(t, i);
            tw_text_str(t, "]");
        }
        tw_text_str(t, ": ");
        tw_text_num(t, v);
        tw_text_str(t, " is outside ");
        tw_text_num(t, p->min);
        tw_text_str(t, "..");
        tw_text_num(t, p->max);
        const char *unit = tw_unit_text(p->unit);
        if (p->unit != 0 && unit != NULL) {
            tw_text_str(t, " ");
            tw_text_str(t, unit);
        }
        return;
    }
}

static void say_size(tw_text_t *t, uint32_t want, uint32_t bytes)
{
    tw_text_str(t, " takes ");
    tw_text_int(t, want);
    tw_text_str(t, " bytes, not ");
    tw_text_int(t, bytes);
}

static void say_type(tw_text_t *t, uint32_t raw)
{
    const char *name = tw_raw_name(raw);
    tw_text_str(t, " is of type ");
    tw_text_str(t, name != NULL ? name : "?");
    tw_text_str(t, " (");
    tw_text_int(t, raw);
    tw_text_str(t, ")");
}

static void say_node(tw_server_t *s, tw_text_t *t, uint32_t node)
{
    tw_engine_info_t info;
    tw_engine_info(s->e, &info);
    tw_text_str(t, "node ");
    tw_text_int(t, node);
    tw_text_str(t, ": the graph has 0..");
    tw_text_int(t, (int64_t)info.nodes - 1);
}

static void say_index(tw_text_t *t, const tw_engine_node_t *node, uint32_t index)
{
    tw_text_str(t, node->name);
    tw_text_str(t, " has no parameter ");
    tw_text_int(t, index);
    tw_text_str(t, ", see Param.Describe");
}

void tw_param_text(tw_server_t *s, const tw_param_ref_t *q, const tw_fault_t *fault, char *buf, size_t cap)
{
    tw_text_t t;
    tw_text_init(&t, buf, cap);
    tw_engine_node_t node;
    if (tw_engine_node(s->e, q->node, &node) != TW_OK) {
        if (fault->err == TW_E_PARAM_NODE) {
            say_node(s, &t, q->node);
        }
        return;
    }
    const uint32_t index = q->index == TW_TAG_ALL ? fault->at : q->index;
    uint32_t at;
    const tw_param_desc_t *p = row_of(&node, q->index, index, &at);
    if (fault->err == TW_E_PARAM_INDEX || (p == NULL && q->index != TW_TAG_ALL)) {
        say_index(&t, &node, q->index);
        return;
    }
    const bool block = p == NULL || (fault->err == TW_E_PARAM_SIZE && q->index == TW_TAG_ALL);
    tw_text_str(&t, block ? "the whole block" : p->name);
    if (fault->err == TW_E_PARAM_RANGE && p != NULL && at <= q->bytes) {
        say_range(&t, p, q->value + at, q->bytes - at);
    } else if (fault->err == TW_E_PARAM_SIZE) {
        say_size(&t, tw_param_bytes(node.desc, node.fmt, q->index), q->bytes);
    } else if (fault->err == TW_E_PARAM_TYPE && p != NULL) {
        say_type(&t, p->raw);
    }
}

tw_err_t tw_values_together(tw_server_t *s, uint32_t *node, tunewire_v1_Status *st)
{
    tw_fault_t fault;
    tw_engine_node_t n;
    char buf[TW_LOG_TEXT];
    const tw_err_t err = tw_engine_check_group(s->e, node, &fault);
    if (err == TW_OK || tw_engine_node(s->e, *node, &n) != TW_OK) {
        return TW_OK;
    }
    tw_text_t t;
    tw_text_init(&t, buf, sizeof buf);
    tw_text_str(&t, n.name);
    tw_text_str(&t, ": parameter ");
    tw_text_int(&t, fault.at);
    tw_text_str(&t, ", together with its others");
    tw_rpc_status(st, err, fault.at, buf);
    return err;
}
