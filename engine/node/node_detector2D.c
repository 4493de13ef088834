/* node_detector2D.c - where does a picture change? A map of tiles, one value a tile and frame.
 *
 * Input: pictures of U8, S8, U16 or S16; of several channels the mean counts. First output: a picture of U8 or S8 with
 * one channel, a pixel a tile; its size says how many tiles there are. Second output, which may stay away: the input,
 * passed on. Every pixel is compared with the background, its own past; the mean difference of a tile is its level.
 *
 *   index name       meaning
 *   1  threshold  level that turns a tile active; 1 is black to white                              0.0001..1
 *   2  release    part of the threshold below which it turns off again                                0..1
 *   3  hold       frames a tile stays active after that                                               0..255
 *   4  slope      the background goes 2^-slope of the way to each frame; 0: it is the frame before    0..8
 *   5  output     0: 255 (S8: 127) where active, else 0; 1: the level, full scale at 1                0..1
 *   16 tiles      active in the last frame                                                        read only
 *   17 level      the highest of the last frame                                                   read only
 *   18 centre     of the active tiles, x then y, 0..1 from the top left corner; 0 when there are none  read only
 *
 * Presets: 0 and 1 frame to frame (threshold 0.05, hold 2), 2 slow changes against a background (slope 5, 0.03, hold
 * 8), 3 as 1 with levels. The first frame after a cold RESET is the background: nothing is active in it. A background
 * that learns (slope > 0) is backed up: after a loss of power the first frame is compared with it.
 */
#include "engine/node/image.h"
#include <stddef.h>

typedef struct values {
    float threshold, release;
    float level, centre[2];
    uint16_t tiles;
    uint8_t hold, slope, output;
} values_t;

typedef struct tile {
    uint8_t active; /* over the threshold, with hysteresis */
    uint8_t hold;   /* frames left */
} tile_t;

/* Backed up; any bytes may be found here. */
typedef struct past {
    uint32_t picture;  /* whose background it is, see mark(); else it is none yet */
    uint16_t pixels[]; /* 0..65535 */
} past_t;

typedef struct detector2d {
    uint32_t magic; /* the node's hash once RESET */
    tw_image_t in, map;
    values_t v;
    past_t *past;
    uint8_t tx;
    bool fresh; /* no frame since a cold RESET */
    tile_t tile[];
} detector2d_t;

/* ---- parameters ------------------------------------------------------------------------- */

#define METER (TW_PARAM_NOT_IN_ALL | TW_PARAM_READ_ONLY)
static const tw_param_desc_t rows[] = {
    {1, TW_RAW_FP32, 1, TW_NODE_UNIT_ANY, 0, 0.0001, 1, 0.05, "threshold", 0},
    {2, TW_RAW_FP32, 1, TW_NODE_UNIT_ANY, 0, 0, 1, 0.5, "release", 0},
    {3, TW_RAW_U8, 1, TW_NODE_UNIT_COUNT, 0, 0, 255, 2, "hold", 1},
    {4, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 8, 0, "slope", 1},
    {5, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 1, 0, "output", 1},
    {16, TW_RAW_U16, 1, TW_NODE_UNIT_COUNT, METER, 0, 65535, 0, "tiles", 1},
    {17, TW_RAW_FP32, 1, TW_NODE_UNIT_ANY, METER, 0, 1, 0, "level", 0},
    {18, TW_RAW_FP32, 2, TW_NODE_UNIT_ANY, METER, 0, 1, 0, "centre", 0},
};
static const uint16_t at[] = {
    offsetof(values_t, threshold), offsetof(values_t, release), offsetof(values_t, hold),  offsetof(values_t, slope),
    offsetof(values_t, output),    offsetof(values_t, tiles),   offsetof(values_t, level), offsetof(values_t, centre),
};
static const tw_param_store_t store = {rows, at, TW_COUNT(rows)};

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    (void)fmt;
    *n = store.n;
    return store.rows;
}

static const values_t presets[] = {
    {.threshold = 0.05f, .release = 0.5f, .hold = 2},
    {.threshold = 0.05f, .release = 0.5f, .hold = 2},
    {.threshold = 0.03f, .release = 0.5f, .hold = 8, .slope = 5},
    {.threshold = 0.05f, .release = 0.5f, .hold = 2, .output = 1},
};

/* ---- signal -------------------------------------------------------------------------------- */

/* Mean of a pixel's channels on one scale for all types: 0 darkest, 65535 brightest. */
static uint32_t brightness(const tw_image_t *m, const void *frame, uint32_t pixel)
{
    const uint32_t channels = m->shape.channels, apart = m->planes > 1 ? m->width * m->height : 1;
    const uint32_t first = pixel * m->step;
    int32_t sum = 0;
    for (uint32_t c = 0; c < channels; c++) {
        const uint32_t i = first + c * apart;
        switch (m->shape.raw) {
        case TW_RAW_U8:
            sum += ((const uint8_t *)frame)[i] * 257;
            break;
        case TW_RAW_S8:
            sum += (((const int8_t *)frame)[i] + 128) * 257;
            break;
        case TW_RAW_U16:
            sum += ((const uint16_t *)frame)[i];
            break;
        default:
            sum += ((const int16_t *)frame)[i] + 32768;
        }
    }
    return (uint32_t)sum / channels;
}

static uint32_t mark(const tw_image_t *m)
{
    const uint32_t kind = (uint32_t)m->shape.raw << 8 | m->shape.channels;
    return tw_node_detector2D.hash ^ (m->height << 16 | m->width) ^ kind * 0x9E3779B1u;
}

/* Sum of differences over one row of a tile; the background learns. */
static uint32_t row_difference(detector2d_t *d, const void *frame, uint32_t pixel, uint32_t n)
{
    uint16_t *background = d->past->pixels;
    uint32_t sum = 0;
    for (uint32_t i = pixel; i < pixel + n; i++) {
        const int32_t off = (int32_t)brightness(&d->in, frame, i) - background[i];
        sum += (uint32_t)(off < 0 ? -off : off);
        background[i] = (uint16_t)(background[i] + off / (1 << d->v.slope));
    }
    return sum;
}

/* Tile i of n over m pixels begins here. */
static uint32_t edge(uint32_t i, uint32_t n, uint32_t m)
{
    return i * m / n;
}

static float tile_level(detector2d_t *d, const void *frame, uint32_t tx, uint32_t ty)
{
    const uint32_t x0 = edge(tx, d->map.width, d->in.width), x1 = edge(tx + 1, d->map.width, d->in.width);
    const uint32_t y0 = edge(ty, d->map.height, d->in.height), y1 = edge(ty + 1, d->map.height, d->in.height);
    uint64_t sum = 0;
    for (uint32_t y = y0; y < y1; y++) {
        sum += row_difference(d, frame, y * d->in.width + x0, x1 - x0);
    }
    return (float)((double)sum / ((double)(x1 - x0) * (y1 - y0) * 65535.0));
}

/* @return active */
static bool judge(const values_t *v, tile_t *t, float level)
{
    const float limit = t->active != 0 ? v->threshold * v->release : v->threshold;
    t->active = level >= limit && level > 0;
    if (t->active != 0) {
        t->hold = v->hold;
        return true;
    }
    const bool held = t->hold > 0;
    t->hold = (uint8_t)(t->hold - held);
    return held;
}

static void put(const detector2d_t *d, void *out, uint32_t i, bool active, float level)
{
    const float full = d->map.shape.raw == TW_RAW_U8 ? 255.0f : 127.0f;
    const float v = d->v.output != 0 ? level * full : active ? full : 0.0f;
    tw_image_store(&d->map, out, i, 1, &v);
}

static void seed(detector2d_t *d, const void *frame)
{
    for (uint32_t i = 0; i < d->in.width * d->in.height; i++) {
        d->past->pixels[i] = (uint16_t)brightness(&d->in, frame, i);
    }
    d->past->picture = mark(&d->in);
}

static void one_frame(detector2d_t *d, const void *frame, void *out)
{
    uint32_t count = 0, i = 0;
    double x = 0, y = 0;
    if (d->past->picture != mark(&d->in) || (d->fresh && d->v.slope == 0)) {
        seed(d, frame);
    }
    d->fresh = false;
    d->v.level = 0;
    for (uint32_t ty = 0; ty < d->map.height; ty++) {
        for (uint32_t tx = 0; tx < d->map.width; tx++, i++) {
            const float level = tile_level(d, frame, tx, ty);
            const bool active = judge(&d->v, &d->tile[i], level);
            put(d, out, i, active, level);
            d->v.level = level > d->v.level ? level : d->v.level;
            count += active;
            x += active ? (double)tx + 0.5 : 0;
            y += active ? (double)ty + 0.5 : 0;
        }
    }
    d->v.tiles = (uint16_t)tw_min_u32(count, 65535);
    d->v.centre[0] = count != 0 ? (float)(x / count / d->map.width) : 0.0f;
    d->v.centre[1] = count != 0 ? (float)(y / count / d->map.height) : 0.0f;
}

static void run(detector2d_t *d, tw_xdm_t *data)
{
    const uint32_t in = tw_image_bytes(&d->in), map = tw_image_bytes(&d->map);
    uint32_t frames = tw_min_u32(data[0].bytes / in, data[1].bytes / map);
    frames = d->tx > 1 ? tw_min_u32(frames, data[2].bytes / in) : frames;
    for (uint32_t i = 0; i < frames; i++) {
        one_frame(d, (const uint8_t *)data[0].ptr + (size_t)i * in, (uint8_t *)data[1].ptr + (size_t)i * map);
    }
    data[0].bytes = frames * in;
    data[1].bytes = frames * map;
    if (d->tx > 1) {
        data[2].bytes = frames * in;
        memmove(data[2].ptr, data[0].ptr, frames * in);
    }
}

/* ---- commands --------------------------------------------------------------------------------- */

#define RAW_MAP (TW_RAW_BIT(TW_RAW_U8) | TW_RAW_BIT(TW_RAW_S8))
enum { TILES_MAX = 65535 };

static tw_err_t images(const tw_format_t *const *fmt, uint32_t tx, uint32_t *arc, tw_image_t *in, tw_image_t *map)
{
    *arc = 0;
    TW_TRY(tw_image_from(in, fmt[0], TW_RAW_MASK_IMAGE));
    *arc = 1;
    TW_TRY(tw_image_from(map, fmt[1], RAW_MAP));
    const bool tiles = map->shape.channels == 1 && map->width <= in->width && map->height <= in->height &&
                       map->width * map->height <= TILES_MAX;
    TW_TRY(tiles ? TW_OK : TW_E_IMG_FORMAT);
    if (tx > 1) {
        tw_image_t copy;
        *arc = 2;
        TW_TRY(tw_image_from(&copy, fmt[2], TW_RAW_MASK_IMAGE));
        const bool same = copy.width == in->width && copy.height == in->height &&
                          tw_shape_same(&copy.shape, &in->shape) && copy.shape.raw == in->shape.raw;
        TW_TRY(same ? TW_OK : TW_E_IMG_ARC_FORMAT);
    }
    return TW_OK;
}

static void bytes_of(const tw_image_t *in, const tw_image_t *map, uint32_t *tiles, uint32_t *background)
{
    *tiles = map->width * map->height * (uint32_t)sizeof(tile_t);
    *background = (uint32_t)sizeof(past_t) + in->width * in->height * (uint32_t)sizeof(uint16_t);
}

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    tw_image_t in;
    tw_image_t map;
    (void)rx;
    TW_TRY(images(fmt, tx, arc, &in, &map));
    bytes_of(&in, &map, &extra[0], &extra[1]);
    return TW_OK;
}

static bool same_picture(const tw_image_t *a, const tw_image_t *b)
{
    return a->width == b->width && a->height == b->height && a->shape.raw == b->shape.raw &&
           a->shape.channels == b->shape.channels;
}

static tw_err_t reset(detector2d_t *d, const tw_node_reset_t *r, uint32_t cmd)
{
    tw_image_t in;
    tw_image_t map;
    uint32_t arc, tiles, background;
    const uint32_t preset = tw_bits(cmd, TW_CMD_PRESET);
    TW_TRY(r->rx == 1 && r->tx >= 1 && r->tx <= 2 ? TW_OK : TW_E_IMG_NODE);
    TW_TRY(images(r->fmt, r->tx, &arc, &in, &map));
    TW_TRY(preset < TW_COUNT(presets) ? TW_OK : TW_E_PARAM_PRESET);
    bytes_of(&in, &map, &tiles, &background);
    const uint32_t own = (uint32_t)offsetof(detector2d_t, tile) + tiles;
    TW_TRY(r->mem_bytes[0] >= own && r->mem_bytes[1] >= background ? TW_OK : TW_E_IMG_MEM);

    const bool warm = tw_bits(cmd, TW_CMD_WARM) && d->magic == tw_node_detector2D.hash && same_picture(&d->in, &in) &&
                      same_picture(&d->map, &map);
    if (!warm) {
        memset(d, 0, own);
        d->fresh = true;
    }
    d->magic = tw_node_detector2D.hash;
    d->in = in;
    d->map = map;
    d->past = r->mem[1];
    d->tx = r->tx;
    d->v = presets[preset];
    return TW_OK;
}

static uint32_t detector2d(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    detector2d_t *d = inst;
    const uint32_t tag = tw_bits(cmd, TW_CMD_TAG);
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(d, data[0].ptr, cmd));
    case TW_CMD_SET_PARAMETER:
        tw_param_put(&store, &d->v, tag, data);
        return 0;
    case TW_CMD_READ_PARAMETER:
        return tw_param_get(&store, &d->v, tag, data);
    case TW_CMD_RUN:
        *state = TW_NODE_DONE;
        run(d, data);
        return 0;
    case TW_CMD_STOP:
        return 0;
    default:
        return tw_node_error(TW_E_UNSUPPORTED);
    }
}

const tw_node_desc_t tw_node_detector2D = {
    .developer = "ARM",
    .name = "arm_stream_detector2D",
    .hash = 0xC8D9760Eu,
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = 1,
    .tx_min = 1,
    .tx_max = 2,
    .raw_mask = TW_RAW_MASK_IMAGE,
    .n_mem = 2,
    .mem =
        {
            {.a = sizeof(detector2d_t), .align = 8},
            {.a = 0, .align = 8, .type = 3},
        },
    .run = detector2d,
    .memreq = memreq,
    .params = params,
    .presets = ((uint64_t)1 << TW_COUNT(presets)) - 1,
};
