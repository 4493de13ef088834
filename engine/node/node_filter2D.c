/* node_filter2D.c - pictures: a kernel of 3 x 3 or 5 x 5, quarter turns, another size. In this order.
 *
 *   picture --> kernel --> mode --> + offset --> turned clockwise --> brought to the size of the output's format
 *
 * U8, S8, U16 or S16, the same on both sides; one channel or several, each by itself, interleaved or in planes. Sizes
 * are the formats'; where the output's is not that of the turned input, the picture is rescaled.
 *
 *   index name      meaning
 *   1  side     of the kernel; 1: one factor for every pixel                                          1, 3, 5
 *   2  kernel   the first side^2 count, row by row, as they lie over the picture (not turned over)    -1000..1000
 *   3  offset   added after the mode [steps of the raw type]                                          -65535..65535
 *   4  mode     0 the sum itself, 1 its size, 2 its size plus that of the transposed kernel's sum     0..2
 *   5  border   what lies beyond an edge: 0 the edge pixel, 1 zero, 2 the picture mirrored at its     0..2
 *               edge pixel, which is not repeated
 *   6  turn     quarter turns clockwise                                                               0..3
 *   7  scaling  0 nearest pixel, 1 bilinear                                                           0..1
 *
 * Presets: 0 and 1 copy, 2 box 3 x 3, 3 Gauss 5 x 5, 4 sharpen, 5 Sobel (mode 2), 6 Laplace (mode 1), 7 8 9 turned by 1
 * 2 3 quarters, 10 bilinear. Sums are single precision: with whole coefficients they are exact as long as they stay
 * below 2^24. Results go to the nearest value, halves away from zero, and saturate. Pixels stand for squares: centre to
 * centre, so enlarging by whole numbers repeats pixels evenly. A SET is seen from the next frame on, as a whole.
 */
#include "engine/node/image.h"
#include <stddef.h>

enum { SIDE_MAX = 5, TAPS_MAX = SIDE_MAX * SIDE_MAX, RADIUS_MAX = SIDE_MAX / 2 };
enum { MODE_SUM = 0, MODE_SIZE = 1, MODE_GRADIENT = 2 };
enum { BORDER_EDGE = 0, BORDER_ZERO = 1, BORDER_MIRROR = 2 };

typedef struct values {
    float kernel[TAPS_MAX];
    float offset;
    uint8_t side, mode, border, turn, scaling;
} values_t;

typedef struct filter2d {
    uint32_t magic; /* the node's hash once RESET */
    tw_image_t in, out;
    values_t v;
    float *lines; /* SIDE_MAX rows of the input, each with RADIUS_MAX pixels beyond both edges: row r in r % SIDE_MAX */
    float *sums;  /* an output row, twice: the second for the transposed kernel */
    uint8_t *picture; /* what the kernel made, when it is turned or scaled after that */
} filter2d_t;

/* ---- parameters ------------------------------------------------------------------------ */

static const tw_param_desc_t rows[] = {
    {1, TW_RAW_U8, 1, TW_NODE_UNIT_COUNT, 0, 1, SIDE_MAX, 1, "side", 1},
    {2, TW_RAW_FP32, TAPS_MAX, TW_NODE_UNIT_ANY, 0, -1000, 1000, 1, "kernel", 0},
    {3, TW_RAW_FP32, 1, TW_NODE_UNIT_ANY, 0, -65535, 65535, 0, "offset", 0},
    {4, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 2, 0, "mode", 1},
    {5, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 2, 0, "border", 1},
    {6, TW_RAW_U8, 1, TW_NODE_UNIT_COUNT, 0, 0, 3, 0, "turn", 1},
    {7, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 1, 0, "scaling", 1},
};
static const uint16_t at[] = {
    offsetof(values_t, side),   offsetof(values_t, kernel), offsetof(values_t, offset),  offsetof(values_t, mode),
    offsetof(values_t, border), offsetof(values_t, turn),   offsetof(values_t, scaling),
};
static const tw_param_store_t store = {rows, at, TW_COUNT(rows)};

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    (void)fmt;
    *n = store.n;
    return store.rows;
}

/* A kernel has a middle: its side, first of the block or alone, is odd. */
static tw_err_t validate(const tw_format_t *fmt, uint32_t tag, const uint8_t *value, uint32_t bytes, tw_fault_t *fault)
{
    (void)fmt, (void)bytes;
    if ((tag == 1 || tag == TW_TAG_ALL) && value[0] % 2 == 0) {
        *fault = (tw_fault_t){.err = TW_E_PARAM_RANGE, .at = 1};
        return TW_E_PARAM_RANGE;
    }
    return TW_OK;
}

/* Coefficients over a divisor, then what else differs from a copy. */
static const struct {
    int8_t kernel[TAPS_MAX];
    uint8_t divisor, side, mode, turn, scaling;
} presets[] = {
    {{1}, 1, 1, 0, 0, 0},
    {{1}, 1, 1, 0, 0, 0},
    {{1, 1, 1, 1, 1, 1, 1, 1, 1}, 9, 3, 0, 0, 0},
    {{0}, 0, 5, 0, 0, 0}, /* the product of {1, 4, 6, 4, 1} / 16 with itself: its middle is 36 */
    {{0, -1, 0, -1, 5, -1, 0, -1, 0}, 1, 3, 0, 0, 0},
    {{-1, 0, 1, -2, 0, 2, -1, 0, 1}, 1, 3, MODE_GRADIENT, 0, 0},
    {{0, 1, 0, 1, -4, 1, 0, 1, 0}, 1, 3, MODE_SIZE, 0, 0},
    {{1}, 1, 1, 0, 1, 0},
    {{1}, 1, 1, 0, 2, 0},
    {{1}, 1, 1, 0, 3, 0},
    {{1}, 1, 1, 0, 0, 1},
};

static void set_preset(values_t *v, uint32_t preset)
{
    static const float gauss[SIDE_MAX] = {1 / 16.0f, 4 / 16.0f, 6 / 16.0f, 4 / 16.0f, 1 / 16.0f};
    *v = (values_t){
        .side = presets[preset].side,
        .mode = presets[preset].mode,
        .turn = presets[preset].turn,
        .scaling = presets[preset].scaling,
    };
    for (uint32_t i = 0; i < TAPS_MAX; i++) {
        const uint32_t divisor = presets[preset].divisor;
        v->kernel[i] = divisor != 0 ? (float)presets[preset].kernel[i] / (float)divisor
                                    : gauss[i / SIDE_MAX] * gauss[i % SIDE_MAX];
    }
}

/* ---- the kernel --------------------------------------------------------------------------- */

/* Where row or column i of n really is; -1 nowhere (zero). i is at most RADIUS_MAX beyond an edge. */
static int32_t inside(int32_t i, uint32_t n, uint32_t border)
{
    const int32_t last = (int32_t)n - 1;
    if (i >= 0 && i <= last) {
        return i;
    }
    if (border == BORDER_ZERO) {
        return -1;
    }
    const int32_t mirrored = i < 0 ? -i : 2 * last - i;
    const int32_t edge = i < 0 ? 0 : last;
    return border == BORDER_MIRROR && mirrored >= 0 && mirrored <= last ? mirrored : edge;
}

static uint32_t line_samples(const tw_image_t *m)
{
    return (m->width + 2 * RADIUS_MAX) * m->step;
}

/* Row `row` of a plane into its line, with what lies beyond its ends. */
static void load_line(filter2d_t *f, const void *frame, uint32_t plane, uint32_t row)
{
    const tw_image_t *m = &f->in;
    float *line = f->lines + row % SIDE_MAX * line_samples(m), *first = line + RADIUS_MAX * m->step;
    const uint32_t n = m->width * m->step;
    tw_image_load(m, frame, (plane * m->height + row) * n, n, first);
    for (uint32_t k = 1; k <= RADIUS_MAX; k++) {
        const int32_t left = inside(-(int32_t)k, m->width, f->v.border);
        const int32_t right = inside((int32_t)(m->width - 1 + k), m->width, f->v.border);
        float *before = first - k * m->step, *behind = first + n + (k - 1) * m->step;
        for (uint32_t c = 0; c < m->step; c++) {
            before[c] = left < 0 ? 0.0f : first[(uint32_t)left * m->step + c];
            behind[c] = right < 0 ? 0.0f : first[(uint32_t)right * m->step + c];
        }
    }
}

/* sums[i] += k line[i], the inner loop of it all */
static void add_scaled(float *restrict sums, const float *restrict line, float k, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        sums[i] += k * line[i];
    }
}

/* One output row of the kernel, or of the kernel transposed. */
static void sum_row(const filter2d_t *f, uint32_t row, bool transposed, float *sums)
{
    const tw_image_t *m = &f->in;
    const uint32_t n = m->width * m->step, side = f->v.side, radius = side / 2;
    memset(sums, 0, n * sizeof *sums);
    for (uint32_t y = 0; y < side; y++) {
        const int32_t from = inside((int32_t)(row + y) - (int32_t)radius, m->height, f->v.border);
        const float *line = f->lines + (uint32_t)(from < 0 ? 0 : from) % SIDE_MAX * line_samples(m);
        for (uint32_t x = 0; x < side && from >= 0; x++) {
            const float k = f->v.kernel[transposed ? x * side + y : y * side + x];
            if (k < 0 || k > 0) {
                add_scaled(sums, line + (RADIUS_MAX - radius + x) * m->step, k, n);
            }
        }
    }
}

static float size_of(float v)
{
    return v < 0 ? -v : v;
}

static void finish_row(filter2d_t *f, uint32_t row)
{
    const uint32_t n = f->in.width * f->in.step;
    float *sums = f->sums, *other = f->sums + n;
    if (f->v.mode == MODE_GRADIENT) {
        sum_row(f, row, true, other);
    }
    for (uint32_t i = 0; i < n && f->v.mode != MODE_SUM; i++) {
        sums[i] = size_of(sums[i]) + (f->v.mode == MODE_GRADIENT ? size_of(other[i]) : 0.0f);
    }
    for (uint32_t i = 0; i < n; i++) {
        sums[i] += f->v.offset;
    }
}

/* Rows are loaded ahead of the one that is written, so `to` may be `from`. */
static void convolve(filter2d_t *f, const void *from, void *to)
{
    const tw_image_t *m = &f->in;
    const uint32_t radius = f->v.side / 2u, n = m->width * m->step;
    for (uint32_t plane = 0; plane < m->planes; plane++) {
        uint32_t loaded = 0;
        for (uint32_t row = 0; row < m->height; row++) {
            for (; loaded < m->height && loaded <= row + radius; loaded++) {
                load_line(f, from, plane, loaded);
            }
            sum_row(f, row, false, f->sums);
            finish_row(f, row);
            tw_image_store(m, to, (plane * m->height + row) * n, n, f->sums);
        }
    }
}

/* ---- turning and scaling ---------------------------------------------------------------------- */

/* Pixel (x, y) of the turned picture, as a pixel of the picture. */
static uint32_t turned(const filter2d_t *f, uint32_t x, uint32_t y)
{
    const uint32_t w = f->in.width, h = f->in.height;
    switch (f->v.turn) {
    case 1:
        return (h - 1 - x) * w + y;
    case 2:
        return (h - 1 - y) * w + (w - 1 - x);
    case 3:
        return x * w + (w - 1 - y);
    default:
        return y * w + x;
    }
}

/* The centre of output pixel i of n, in pixels of the m there were, in 1/65536; not before the first centre. */
static uint32_t centre(uint32_t i, uint32_t n, uint32_t m)
{
    const uint64_t c = ((uint64_t)(2 * i + 1) * m << 15) / n;
    return c > 32768 ? (uint32_t)(c - 32768) : 0;
}

static float pixel(const filter2d_t *f, const void *frame, uint32_t plane, uint32_t c, uint32_t x, uint32_t y)
{
    const uint32_t at_pixel = plane * f->in.width * f->in.height + turned(f, x, y);
    return tw_image_sample(&f->in, frame, at_pixel * f->in.step + c);
}

static float bilinear(const filter2d_t *f, const void *frame, uint32_t plane, uint32_t c, uint32_t x, uint32_t y)
{
    const uint32_t w = f->v.turn % 2 != 0 ? f->in.height : f->in.width;
    const uint32_t h = f->v.turn % 2 != 0 ? f->in.width : f->in.height;
    const uint32_t cx = centre(x, f->out.width, w), cy = centre(y, f->out.height, h);
    const uint32_t x0 = cx >> 16, y0 = cy >> 16, x1 = tw_min_u32(x0 + 1, w - 1), y1 = tw_min_u32(y0 + 1, h - 1);
    const float fx = (float)(cx & 0xFFFF) / 65536.0f, fy = (float)(cy & 0xFFFF) / 65536.0f;
    const float a = pixel(f, frame, plane, c, x0, y0), b = pixel(f, frame, plane, c, x1, y0);
    const float d = pixel(f, frame, plane, c, x0, y1), e = pixel(f, frame, plane, c, x1, y1);
    const float top = a + (b - a) * fx, bottom = d + (e - d) * fx;
    return top + (bottom - top) * fy;
}

static float nearest(const filter2d_t *f, const void *frame, uint32_t plane, uint32_t c, uint32_t x, uint32_t y)
{
    const uint32_t w = f->v.turn % 2 != 0 ? f->in.height : f->in.width;
    const uint32_t h = f->v.turn % 2 != 0 ? f->in.width : f->in.height;
    return pixel(f, frame, plane, c, (2 * x + 1) * w / (2 * f->out.width), (2 * y + 1) * h / (2 * f->out.height));
}

static void resize(const filter2d_t *f, const void *from, void *to)
{
    for (uint32_t plane = 0, i = 0; plane < f->out.planes; plane++) {
        for (uint32_t y = 0; y < f->out.height; y++) {
            for (uint32_t x = 0; x < f->out.width; x++) {
                for (uint32_t c = 0; c < f->out.step; c++, i++) {
                    const float v =
                        f->v.scaling != 0 ? bilinear(f, from, plane, c, x, y) : nearest(f, from, plane, c, x, y);
                    tw_image_store(&f->out, to, i, 1, &v);
                }
            }
        }
    }
}

/* ---- frames ---------------------------------------------------------------------------------- */

static bool plain(const values_t *v)
{
    return v->side == 1 && v->mode == MODE_SUM && v->kernel[0] >= 1.0f && v->kernel[0] <= 1.0f && v->offset >= 0.0f &&
           v->offset <= 0.0f;
}

static void one_frame(filter2d_t *f, const void *in, void *out)
{
    const bool same_place = f->v.turn == 0 && f->in.width == f->out.width && f->in.height == f->out.height;
    const bool straight = plain(&f->v);
    if (same_place && straight) {
        memmove(out, in, tw_image_bytes(&f->in));
    } else if (same_place) {
        convolve(f, in, out);
    } else if (straight) {
        resize(f, in, out);
    } else {
        convolve(f, in, f->picture);
        resize(f, f->picture, out);
    }
}

static void run(filter2d_t *f, tw_xdm_t *data)
{
    const uint32_t in = tw_image_bytes(&f->in), out = tw_image_bytes(&f->out);
    const uint32_t frames = tw_min_u32(data[0].bytes / in, data[1].bytes / out);
    for (uint32_t i = 0; i < frames; i++) {
        one_frame(f, (const uint8_t *)data[0].ptr + (size_t)i * in, (uint8_t *)data[1].ptr + (size_t)i * out);
    }
    data[0].bytes = frames * in;
    data[1].bytes = frames * out;
}

/* ---- commands ----------------------------------------------------------------------------------- */

static tw_err_t images(const tw_format_t *const *fmt, uint32_t *arc, tw_image_t *in, tw_image_t *out)
{
    *arc = 0;
    TW_TRY(tw_image_from(in, fmt[0], TW_RAW_MASK_IMAGE));
    *arc = 1;
    TW_TRY(tw_image_from(out, fmt[1], TW_RAW_MASK_IMAGE));
    const bool same = in->shape.raw == out->shape.raw && in->shape.channels == out->shape.channels &&
                      in->shape.blocks == out->shape.blocks;
    return same ? TW_OK : TW_E_IMG_ARC_FORMAT;
}

/* Of block 1: lines, sums, then a picture. */
static uint32_t work_bytes(const tw_image_t *in)
{
    const uint32_t floats = SIDE_MAX * line_samples(in) + 2 * in->width * in->step;
    return 4 * floats + ((tw_image_bytes(in) + 7u) & ~7u);
}

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    tw_image_t in;
    tw_image_t out;
    (void)rx, (void)tx;
    TW_TRY(images(fmt, arc, &in, &out));
    extra[1] = work_bytes(&in);
    return TW_OK;
}

static tw_err_t reset(filter2d_t *f, const tw_node_reset_t *r, uint32_t cmd)
{
    tw_image_t in;
    tw_image_t out;
    uint32_t arc;
    const uint32_t preset = tw_bits(cmd, TW_CMD_PRESET);
    TW_TRY(r->rx == 1 && r->tx == 1 ? TW_OK : TW_E_IMG_NODE);
    TW_TRY(images(r->fmt, &arc, &in, &out));
    TW_TRY(preset < TW_COUNT(presets) ? TW_OK : TW_E_PARAM_PRESET);
    TW_TRY(r->mem_bytes[0] >= sizeof *f && r->mem_bytes[1] >= work_bytes(&in) ? TW_OK : TW_E_IMG_MEM);
    f->magic = tw_node_filter2D.hash;
    f->in = in;
    f->out = out;
    f->lines = r->mem[1];
    f->sums = f->lines + SIDE_MAX * line_samples(&in);
    f->picture = (uint8_t *)(f->sums + 2 * in.width * in.step);
    set_preset(&f->v, preset);
    return TW_OK;
}

static uint32_t filter2d(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    filter2d_t *f = inst;
    const uint32_t tag = tw_bits(cmd, TW_CMD_TAG);
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(f, data[0].ptr, cmd));
    case TW_CMD_SET_PARAMETER:
        tw_param_put(&store, &f->v, tag, data);
        return 0;
    case TW_CMD_READ_PARAMETER:
        return tw_param_get(&store, &f->v, tag, data);
    case TW_CMD_RUN:
        *state = TW_NODE_DONE;
        run(f, data);
        return 0;
    case TW_CMD_STOP:
        return 0;
    default:
        return tw_node_error(TW_E_UNSUPPORTED);
    }
}

const tw_node_desc_t tw_node_filter2D = {
    .developer = "ARM",
    .name = "arm_stream_filter2D",
    .hash = 0xF83E38C6u,
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = 1,
    .tx_min = 1,
    .tx_max = 1,
    .raw_mask = TW_RAW_MASK_IMAGE,
    .n_mem = 2,
    .mem =
        {
            {.a = sizeof(filter2d_t), .align = 8},
            {.a = 0, .align = 8, .type = 1},
        },
    .run = filter2d,
    .memreq = memreq,
    .params = params,
    .validate = validate,
    .presets = ((uint64_t)1 << TW_COUNT(presets)) - 1,
};
