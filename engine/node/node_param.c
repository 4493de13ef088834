/* node_param.c - parameter values against their table: checked at the edge, stored inside.
 *
 * Values travel little endian and packed; a node keeps them in a struct of its own.
 */
#include "engine/node/node_priv.h"

static uint32_t element_bytes(const tw_param_desc_t *p)
{
    return tw_raw_bits(p->raw) / 8;
}

static uint32_t row_bytes(const tw_param_desc_t *p)
{
    return element_bytes(p) * p->count;
}

static const tw_param_desc_t *table_of(const tw_node_desc_t *d, const tw_format_t *fmt, uint32_t *n)
{
    const tw_param_desc_t *rows = NULL;
    *n = 0;
    if (d->params != NULL) {
        rows = d->params(fmt, n);
    }
    return rows;
}

uint32_t tw_param_row(const tw_param_desc_t *rows, uint32_t n, uint32_t index)
{
    uint32_t i = 0;
    while (i < n && rows[i].index != index) {
        i++;
    }
    return i;
}

uint32_t tw_param_bytes(const tw_node_desc_t *d, const tw_format_t *fmt, uint32_t index)
{
    uint32_t n;
    const tw_param_desc_t *rows = table_of(d, fmt, &n);
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (index == TW_TAG_ALL ? tw_param_in_all(&rows[i]) : rows[i].index == index) {
            bytes += row_bytes(&rows[i]);
        }
    }
    return bytes;
}

static tw_param_number_t element(const tw_param_desc_t *p, const uint8_t *at)
{
    switch (p->raw) {
    case TW_RAW_S8:
        return (int8_t)at[0];
    case TW_RAW_U8:
        return at[0];
    case TW_RAW_S16:
    case TW_RAW_Q15:
        return (int16_t)tw_get_le16(at);
    case TW_RAW_U16:
        return tw_get_le16(at);
#if TW_NODE_FP32
    case TW_RAW_S32:
        return (int32_t)tw_get_le32(at);
    case TW_RAW_U32:
        return tw_get_le32(at);
    case TW_RAW_FP32:
        return (double)tw_get_f32(at);
#endif
    default: /* a table with another type is a mistake of ours */
        TW_ASSERT(false);
    }
}

static bool in_range(const tw_param_desc_t *p, const uint8_t *value)
{
    for (uint32_t i = 0; i < p->count; i++) {
        const tw_param_number_t v = element(p, value + i * element_bytes(p));
        if (!(v >= p->min && v <= p->max)) { /* also refuses NaN */
            return false;
        }
    }
    return true;
}

static bool type_fits(const tw_param_desc_t *p, uint32_t type)
{
    const bool both16 = (type == TW_RAW_S16 || type == TW_RAW_Q15) && (p->raw == TW_RAW_S16 || p->raw == TW_RAW_Q15);
    return type == 0 || type == p->raw || both16;
}

static tw_err_t refuse(tw_fault_t *fault, tw_err_t err, uint32_t at)
{
    *fault = (tw_fault_t){.err = err, .at = at};
    return err;
}

/* The block of index 256: may stop after any parameter, never inside one, never before the first. */
static tw_err_t check_all(const tw_param_desc_t *rows, uint32_t n, uint32_t type, const uint8_t *value, uint32_t bytes,
                          tw_fault_t *fault)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < n && (at < bytes || at == 0); i++) {
        if (!tw_param_in_all(&rows[i])) {
            continue;
        }
        if (!type_fits(&rows[i], type)) {
            return refuse(fault, TW_E_PARAM_TYPE, rows[i].index);
        }
        if (row_bytes(&rows[i]) > bytes - at) {
            return refuse(fault, TW_E_PARAM_SIZE, rows[i].index);
        }
        if (!in_range(&rows[i], value + at)) {
            return refuse(fault, TW_E_PARAM_RANGE, rows[i].index);
        }
        at += row_bytes(&rows[i]);
    }
    if (at == 0) {
        return refuse(fault, TW_E_PARAM_INDEX, TW_TAG_ALL);
    }
    return at == bytes ? TW_OK : refuse(fault, TW_E_PARAM_SIZE, TW_TAG_ALL);
}

static tw_err_t check_one(const tw_param_desc_t *p, uint32_t type, const uint8_t *value, uint32_t bytes,
                          tw_fault_t *fault)
{
    if (p->flags & TW_PARAM_READ_ONLY) {
        return refuse(fault, TW_E_PARAM_READ_ONLY, p->index);
    }
    if (!type_fits(p, type)) {
        return refuse(fault, TW_E_PARAM_TYPE, p->index);
    }
    if (bytes != row_bytes(p)) {
        return refuse(fault, TW_E_PARAM_SIZE, p->index);
    }
    return in_range(p, value) ? TW_OK : refuse(fault, TW_E_PARAM_RANGE, p->index);
}

tw_err_t tw_param_check(const tw_node_desc_t *d, const tw_format_t *fmt, uint32_t index, uint32_t type,
                        const uint8_t *value, uint32_t bytes, tw_fault_t *fault)
{
    uint32_t n;
    const tw_param_desc_t *rows = table_of(d, fmt, &n);
    if (index == TW_TAG_ALL) {
        TW_TRY(check_all(rows, n, type, value, bytes, fault));
    } else {
        const uint32_t row = tw_param_row(rows, n, index);
        if (row == n) {
            return refuse(fault, TW_E_PARAM_INDEX, index);
        }
        TW_TRY(check_one(&rows[row], type, value, bytes, fault));
    }
    return d->validate == NULL ? TW_OK : d->validate(fmt, index, value, bytes, fault);
}

/* ---- inside a node ---------------------------------------------------------- */

/* Both directions in one place: to_wire copies value -> bytes, otherwise bytes -> value. */
static void move_row(const tw_param_desc_t *p, uint8_t *value, uint8_t *wire, bool to_wire)
{
    const uint32_t size = element_bytes(p);
    const uint16_t one = 1;
    const bool little_endian = *(const uint8_t *)&one == 1;
    for (uint32_t i = 0; i < p->count * size; i++) {
        const uint32_t in_element = i % size;
        const uint32_t k = little_endian ? i : i - in_element + (size - 1 - in_element);
        if (to_wire) {
            wire[i] = value[k];
        } else {
            value[k] = wire[i];
        }
    }
}

uint32_t tw_param_put(const tw_param_store_t *s, void *values, uint32_t tag, const tw_xdm_t *data)
{
    uint8_t *wire = data->ptr;
    uint32_t at = 0;
    uint32_t given = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const tw_param_desc_t *p = &s->rows[i];
        if ((tag == TW_TAG_ALL ? tw_param_in_all(p) : p->index == tag) && row_bytes(p) <= data->bytes - at) {
            move_row(p, (uint8_t *)values + s->at[i], wire + at, false);
            at += row_bytes(p);
            given |= 1u << tw_min_u32(i, 31);
        }
    }
    return given;
}

uint32_t tw_param_rows_given(const tw_param_store_t *s, uint32_t bytes)
{
    uint32_t i = 0;
    for (uint32_t at = 0; i < s->n && at < bytes; i++) {
        at += tw_param_in_all(&s->rows[i]) ? row_bytes(&s->rows[i]) : 0;
    }
    return i;
}

static uint32_t store_bytes(const tw_param_store_t *s, uint32_t tag)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const tw_param_desc_t *p = &s->rows[i];
        bytes += (tag == TW_TAG_ALL ? tw_param_in_all(p) : p->index == tag) ? row_bytes(p) : 0;
    }
    return bytes;
}

uint32_t tw_param_get(const tw_param_store_t *s, const void *values, uint32_t tag, tw_xdm_t *data)
{
    const uint32_t bytes = store_bytes(s, tag);
    if (bytes == 0) {
        return tw_node_error(TW_E_PARAM_INDEX);
    }
    if (bytes > data->bytes) {
        return tw_node_error(TW_E_PARAM_SIZE);
    }
    uint8_t *wire = data->ptr;
    for (uint32_t i = 0; i < s->n; i++) {
        const tw_param_desc_t *p = &s->rows[i];
        if (tag == TW_TAG_ALL ? tw_param_in_all(p) : p->index == tag) {
            move_row(p, (uint8_t *)(uintptr_t)values + s->at[i], wire, true);
            wire += row_bytes(p);
        }
    }
    data->bytes = bytes;
    return 0;
}
