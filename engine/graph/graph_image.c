/* graph_image.c - the parts of a TWG1 image, for checker and loader alike. No state. */
#include "engine/graph/graph_priv.h"

img_node_parts_t img_node_parts(const uint8_t *img, uint32_t record)
{
    const uint32_t n0 = tw_img_word(img, record, 0), n1 = tw_img_word(img, record, 1);
    img_node_parts_t p = {
        .rx = tw_bits(n1, TW_N1_RX),
        .tx = tw_bits(n1, TW_N1_TX),
        .blocks = tw_bits(n1, TW_N1_BLOCKS),
        .arcs_at = record + 16,
    };
    p.blocks_at = p.arcs_at + 4u * ((p.rx + p.tx + 1u) / 2u);
    p.end = p.blocks_at + 4u * TW_NODE_BLOCK_WORDS * p.blocks;
    if (tw_bits(n0, TW_N0_PARAMS)) {
        p.params_at = p.end;
        p.end += 8;
    }
    return p;
}

uint32_t img_node_arc(const uint8_t *img, const img_node_parts_t *p, uint32_t i)
{
    return tw_get_le16(img + p->arcs_at + 2u * i);
}

int img_bank(const uint8_t *img, uint32_t vid)
{
    const uint32_t n = img_counts(img).banks;
    for (uint32_t i = 0; i < n; i++) {
        if (tw_bits(tw_img_word(img, img_record(img, TW_SEC_BANKS, i, TW_BANK_WORDS), 0), TW_B0_VID) == vid) {
            return (int)i;
        }
    }
    return -1;
}

void img_format(const uint8_t *img, uint32_t index, tw_format_t *out)
{
    const uint32_t at = img_record(img, TW_SEC_FORMATS, index, TW_FORMAT_WORDS);
    const uint32_t f1 = tw_img_word(img, at, 1);
    *out = (tw_format_t){
        .frame_bytes = tw_img_word(img, at, 0),
        .samples = tw_img_word(img, at, 7),
        .rate_hz = tw_get_f32(img + at + 8),
        .raw = (uint8_t)tw_bits(f1, TW_F1_RAW),
        .channels = (uint8_t)(tw_bits(f1, TW_F1_CHANNELS) + 1),
        .interleave = (uint8_t)tw_bits(f1, TW_F1_INTERLEAVE),
        .domain = (uint8_t)tw_bits(f1, TW_F1_DOMAIN),
        .unit = (uint8_t)tw_bits(f1, TW_F1_UNIT),
        .ts = (uint8_t)tw_bits(f1, TW_F1_TS),
        .ts_size = (uint8_t)tw_bits(f1, TW_F1_TS_SIZE),
        .full_scale = tw_get_f32(img + at + 16),
        .offset = tw_get_f32(img + at + 20),
        .mapping = tw_img_word(img, at, 3),
    };
}

void img_script(const uint8_t *img, uint32_t index, tw_script_t *out)
{
    const uint32_t at = img_record(img, TW_SEC_SCRIPTS, index, TW_SCRIPT_WORDS);
    const uint32_t s1 = tw_img_word(img, at, 1), s2 = tw_img_word(img, at, 2);
    const bool memory = tw_bits(s2, TW_S2_SHARED) || tw_bits(s2, TW_S2_PRIVATE);
    *out = (tw_script_t){
        .code = img + tw_img_word(img, at, 0),
        .code_bytes = tw_bits(s1, TW_S1_CODE),
        .pool_bytes = tw_bits(s1, TW_S1_LITERALS),
        .regs = (uint8_t)tw_bits(s2, TW_S2_REGS),
        .ptrs = (uint8_t)tw_bits(s2, TW_S2_PTRS),
        .stack = (uint8_t)tw_bits(s2, TW_S2_STACK),
        .shared = (uint8_t)tw_bits(s2, TW_S2_SHARED),
        .mem_bytes = memory ? TW_SCRIPT_MEM_UNIT * (tw_bits(s2, TW_S2_MEM) + 1u) : 0,
        .budget = 256u * tw_bits(tw_img_word(img, at, 3), TW_S3_BUDGET),
    };
}

double img_mem_need(const tw_node_desc_t *d, uint32_t m, const tw_format_t *const *fmt, uint32_t n_fmt)
{
    const tw_mem_req_t *q = &d->mem[m];
    double bytes = q->a;
    if (q->b_arc < n_fmt) {
        bytes += (double)q->b * fmt[q->b_arc]->channels;
    }
    if (q->c_arc < n_fmt) {
        bytes += (double)q->c * (double)fmt[q->c_arc]->rate_hz;
    }
    if (q->d_arc < n_fmt) {
        bytes += (double)q->d * fmt[q->d_arc]->frame_bytes;
    }
    return bytes;
}

uint32_t img_ref_format(const uint8_t *img, uint32_t ref, bool tx)
{
    const uint32_t arc = tw_bits(ref, TW_NA_ARC);
    const uint32_t a0 = tw_img_word(img, img_record(img, TW_SEC_ARCS, arc, TW_ARC_WORDS), 0);
    return tx ? tw_bits(a0, TW_A0_PRODUCER_FORMAT) : tw_bits(a0, TW_A0_CONSUMER_FORMAT);
}

/* The next TLV of the extension chain at *at, which moves on; false at the end. Bounds verified. */
static bool next_ext(const uint8_t *img, uint32_t *at, uint32_t end, uint32_t *type, uint32_t *payload, uint32_t *n)
{
    if (*at + 8 > end || tw_img_word(img, *at, 0) == 0) {
        return false;
    }
    *type = tw_img_word(img, *at, 0);
    *n = tw_bits(tw_img_word(img, *at, 1), TW_EXT_BYTES);
    *payload = *at + 8;
    *at = *payload + tw_round_up(*n, 4);
    return true;
}

const char *tw_graph_symbol(const uint8_t *img, uint32_t kind, uint32_t index, uint32_t *n)
{
    const img_section_t ext = img_section(img, TW_SEC_EXT);
    uint32_t at = ext.at, type, payload, bytes;
    while (next_ext(img, &at, ext.at + ext.bytes, &type, &payload, &bytes)) {
        for (uint32_t k = 0; type == TW_EXT_SYMB && k < bytes;) {
            const uint8_t *entry = img + payload + k;
            if (entry[0] == kind && tw_get_le16(entry + 2) == index) {
                *n = entry[1];
                return (const char *)entry + 4;
            }
            k += 4u + entry[1];
        }
    }
    return NULL;
}
