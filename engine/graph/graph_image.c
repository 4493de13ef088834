/* graph_image.c - the parts of a TWG1 image, for checker and loader alike. No state. */
#define TW_IMG_HOME
#include "engine/graph/graph_priv.h"

int img_bank(const uint8_t *img, uint32_t vid)
{
    const uint32_t n = tw_bits(tw_img_word(img, 0, TW_W_COUNTS2), TW_W13_BANKS);
    for (uint32_t i = 0; i < n; i++) {
        if (tw_bits(tw_img_word(img, tw_img_record(img, TW_SEC_BANKS, i, TW_BANK_WORDS), 0), TW_B0_VID) == vid) {
            return (int)i;
        }
    }
    return -1;
}

static float rate_of(uint32_t word)
{
    float rate;
    memcpy(&rate, &word, sizeof rate);
    return rate;
}

static bool same_buffer(const uint8_t *img, uint32_t a, uint32_t b)
{
    const uint32_t x = tw_img_arc(img, a), y = tw_img_arc(img, b);
    return tw_bits(tw_img_word(img, x, 0), TW_A0_VID) == tw_bits(tw_img_word(img, y, 0), TW_A0_VID) &&
           tw_img_word(img, x, 1) == tw_img_word(img, y, 1) && tw_img_word(img, x, 2) == tw_img_word(img, y, 2) &&
           tw_img_word(img, x, 2) != 0;
}

/* The arc on the other side of `node` in the same buffer, or `arc`. Nothing of the arcs was checked yet. */
static uint32_t across(const uint8_t *img, uint32_t arc, uint32_t node, bool tx)
{
    const tw_img_counts_t n = tw_img_counts(img);
    if (node >= n.nodes) {
        return arc;
    }
    const tw_img_node_parts_t p = tw_img_node_parts(img, tw_img_node(img, node));
    for (uint32_t i = tx ? p.rx : 0; i < (tx ? p.rx + p.tx : p.rx); i++) {
        const uint32_t other = tw_img_ref(img, &p, i).arc;
        if (other < n.arcs && other != arc && same_buffer(img, arc, other)) {
            const tw_img_ends_t e = tw_img_ends(img, other);
            return (tx ? e.from : e.to) == node ? other : arc;
        }
    }
    return arc;
}

static uint32_t neighbour(const uint8_t *img, uint32_t arc)
{
    const tw_img_ends_t e = tw_img_ends(img, arc);
    const uint32_t before = across(img, arc, e.from, false);
    return before != arc ? before : across(img, arc, e.to, true);
}

uint32_t img_shares(const uint8_t *img, uint32_t arc)
{
    const uint32_t other = neighbour(img, arc);
    return other != arc && neighbour(img, other) == arc ? other : arc;
}

void img_format(const uint8_t *img, uint32_t index, tw_format_t *out)
{
    const uint32_t at = tw_img_record(img, TW_SEC_FORMATS, index, TW_FORMAT_WORDS);
    const uint32_t f1 = tw_img_word(img, at, 1);
    *out = (tw_format_t)
    {
        .frame_bytes = tw_img_word(img, at, 0), .samples = tw_img_word(img, at, 7),
        .rate_hz = rate_of(tw_img_word(img, at, 2)), .raw = (uint8_t)tw_bits(f1, TW_F1_RAW),
        .channels = (uint8_t)(tw_bits(f1, TW_F1_CHANNELS) + 1), .interleave = (uint8_t)tw_bits(f1, TW_F1_INTERLEAVE),
        .domain = (uint8_t)tw_bits(f1, TW_F1_DOMAIN), .unit = (uint8_t)tw_bits(f1, TW_F1_UNIT),
        .ts = (uint8_t)tw_bits(f1, TW_F1_TS), .ts_size = (uint8_t)tw_bits(f1, TW_F1_TS_SIZE),
#if !TW_SMALL
        .full_scale = tw_get_f32(img + at + 16), .offset = tw_get_f32(img + at + 20),
        .mapping = tw_img_word(img, at, 3),
#endif
    };
}

void img_script(const uint8_t *img, uint32_t index, tw_script_t *out)
{
    const uint32_t at = tw_img_record(img, TW_SEC_SCRIPTS, index, TW_SCRIPT_WORDS);
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
        .privileged = (uint8_t)tw_bits(s2, TW_S2_PRIVILEGED),
        .mem_bytes = memory ? TW_SCRIPT_MEM_UNIT * (tw_bits(s2, TW_S2_MEM) + 1u) : 0,
        .budget = 256u * tw_bits(tw_img_word(img, at, 3), TW_S3_BUDGET),
    };
}

uint64_t img_mem_need(const tw_node_desc_t *d, uint32_t m, const tw_format_t *const *fmt, uint32_t n_fmt)
{
    const tw_mem_req_t *q = &d->mem[m];
#if TW_NODE_FP32
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
    const uint64_t whole = bytes < 1e18 ? (uint64_t)bytes : UINT64_MAX / 2;
    return whole + ((double)whole < bytes ? 1u : 0u);
#else
    return q->a + (q->b_arc < n_fmt ? q->b * fmt[q->b_arc]->channels : 0u);
#endif
}

uint32_t img_ref_format(const uint8_t *img, const tw_img_node_parts_t *p, uint32_t i)
{
    return tw_img_arc_format(img, tw_img_ref(img, p, i).arc, i < p->rx);
}

uint32_t img_thread(const uint8_t *img, uint32_t record)
{
    const uint32_t n0 = tw_img_word(img, record, 0), allowed = TW_SMALL ? 1u : tw_img_word(img, 0, TW_W_PROCESSORS);
    const uint32_t proc = tw_bits(n0, TW_N0_PROC);
    return proc == 0 && (allowed & (allowed - 1)) != 0 ? TW_THREADS + record : proc << 2 | tw_bits(n0, TW_N0_RTOS);
}

#if TW_COMPACT_RECORDS
const tw_node_desc_t *img_type(const uint8_t *img, const tw_node_order_t *order, uint32_t record)
{
    if (!tw_img_is_compact(img, record)) {
        return tw_node_find(tw_img_word(img, record, 2));
    }
    const bool ours = order->n != 0 && order->id == tw_img_word(img, 0, TW_W_CATALOGUE);
    return ours ? tw_node_entry(order, tw_bits(tw_img_word(img, record, 0), TW_N0_ENTRY)) : NULL;
}
#endif

bool img_rated(const tw_format_t *f)
{
    return f->samples != 0 && f->rate_hz > 0.0f;
}

/* samples * mantissa of the rate, an odd number and its power of two. */
typedef struct product {
    uint64_t odd;
    int exponent;
} product_t;

static product_t times(uint32_t samples, float rate)
{
    uint32_t bits;
    memcpy(&bits, &rate, sizeof bits);
    /* rates are positive and normal: the checker saw to it */
    product_t p = {(uint64_t)samples * ((bits & 0x7FFFFFu) | 0x800000u), (int)(bits >> 23)};
    for (; (p.odd & 1u) == 0; p.odd >>= 1) {
        p.exponent++;
    }
    return p;
}

/* `p` with as much of `shift` as fits in front; the rest is taken from the other one, which is so much smaller. */
static void align(uint64_t *p, uint64_t *other, int shift)
{
    for (; shift > 0 && *p < (uint64_t)1 << 61; shift--) {
        *p <<= 1;
    }
    if (shift > 0) {
        *other = shift < 64 ? *other >> shift : 0;
    }
}

void img_periods(const tw_format_t *a, const tw_format_t *b, uint64_t *pa, uint64_t *pb)
{
    /* frame a / frame b = (samples a * rate b) / (samples b * rate a) */
    const product_t x = times(a->samples, b->rate_hz), y = times(b->samples, a->rate_hz);
    *pa = x.odd;
    *pb = y.odd;
    align(pa, pb, x.exponent - y.exponent);
    align(pb, pa, y.exponent - x.exponent);
}

uint32_t img_reruns(const uint8_t *img, uint32_t record)
{
    const uint32_t n = tw_bits(tw_img_word(img, record, 1), TW_N1_RERUNS);
    return n != 0 && n < TW_MAX_RERUNS ? n : TW_MAX_RERUNS;
}

void img_fill(uint8_t *to, uint32_t bytes, uint32_t word)
{
    uint8_t pattern[4];
    tw_put_le32(pattern, word);
    for (uint32_t i = 0; i < bytes; i++) {
        to[i] = pattern[i & 3u];
    }
}

uint32_t img_ext(const uint8_t *img, uint32_t type, uint32_t *bytes)
{
    const tw_img_section_t ext = tw_img_section(img, TW_SEC_EXT);
    uint32_t at = ext.at, found, payload;
    while (tw_img_next_ext(img, &at, ext.at + ext.bytes, &found, &payload, bytes)) {
        if (found == type) {
            return payload;
        }
    }
    *bytes = 0;
    return 0;
}

/* Entries rise by kind and index, so a look ends at the first one beyond. */
const char *tw_graph_symbol(const uint8_t *img, uint32_t kind, uint32_t index, uint32_t *n)
{
    uint32_t bytes;
    const uint32_t payload = img_ext(img, TW_EXT_SYMB, &bytes);
    for (uint32_t k = 0; k < bytes;) {
        const uint8_t *entry = img + payload + k;
        const uint32_t at = tw_get_le16(entry + 2);
        if (entry[0] > kind || (entry[0] == kind && at >= index)) {
            *n = entry[1];
            return entry[0] == kind && at == index ? (const char *)entry + 4 : NULL;
        }
        k += 4u + entry[1];
    }
    return NULL;
}
