/* node_mixer.c - up to 8 streams to one, a gain for every way through, approached without clicks.
 *
 * A path takes one channel of a receive arc to one channel of the output. Its gain is its own times the output's;
 * after a change the distance to it shrinks by 1 - 2^-slope an instant, as in the amplifier (node_amplifier.c gives
 * the times to 90 %), with one slope for growing and one for falling gains. A path that goes away falls to zero first,
 * one that comes starts there.
 *
 *   index name         meaning
 *   1     slope_up     0..15, of gains that grow in size
 *   2     slope_down   0..15, of gains that fall
 *   3     gain         of the output, FP_8m4e code (fixed.h) in 32 bits
 *   4, 6, .. 50  path_1..24       {receive arc, its channel, output channel}; a negative number: no path
 *   5, 7, .. 51  path_gain_1..24  [15:0] FP_8m4e code, [16] 1 = mute, which keeps the code
 *   60    inputs       while no path is given: this many of the arcs are mixed, 0 all of them. Channel c of an
 *                      arc goes to channel c of the output, an arc of one channel to all of them
 *   64    level_db     rms of what the last RUN put out [dB, 0 = rms of full scale 1.0; -200 silence]
 *   65    peak_db      largest sample of the last RUN
 *   66    clipped      samples beyond full scale since the cold RESET, modulo 2^32
 *
 * An index-256 block is a whole table: paths behind its end go. Arcs and channels that are not there are refused by
 * the first RUN after the SETs, which puts all of them back (PARAM_MATCH).
 * Presets: 0 and 1 everything at 0 dB, about 1000 instants; 2 the same at -96 dB, about 100 instants; p = 3..8 as 1
 * with `inputs` p, or
 * as many as there are.
 *
 * A high QoS input sets the frame: the scheduler runs the node when that one has data and fills up the others by
 * their arcs' policies. Without one all inputs are waited for.
 *
 * S16/Q15: the sum in single precision, path by path in their order, rounded to nearest, saturated. FP32: the same
 * sum, nothing saturated.
 */
#include "engine/base/fixed.h"
#include "engine/node/node_priv.h"
#include <stddef.h>

enum { INPUTS = 8, OUT = INPUTS, PATHS = 24, CHUNK = 64, FIRST_PATH = 3, GAIN_0DB = 0x0805, GAIN_96DB = 0x002F };
enum { MUTE_BIT = 1 << 16, SLOPE_1000 = 9, SLOPE_100 = 6, PRESET_OFF = 2, PRESET_INPUTS = 3, PRESETS = 9 };
#define ARRIVED 1e-7f /* a distance of -140 dB is not heard */

typedef struct path {
    int16_t from, from_ch, to_ch;
} path_t;

typedef struct values {
    uint8_t slope_up, slope_down, inputs;
    path_t path[PATHS];
    uint32_t gain, path_gain[PATHS];
    float level_db, peak_db;
    uint32_t clipped;
} values_t;

/* A way from channel to channel that is heard, or about to be. Sorted by output channel. */
typedef struct voice {
    uint8_t from, from_ch, to_ch;
    bool leaving; /* no path asks for it: it ends with its ramp */
    float target, distance;
} voice_t;

typedef struct mixer {
    uint32_t magic; /* the node's hash once RESET */
    uint8_t rx;
    bool changed, heard;
    tw_shape_t shape[INPUTS + 1]; /* receive arcs, the output behind the last of them */
    values_t v, good;
    float keep_up, keep_down;
    float power, peak; /* of the last RUN, full scale = 1 */
    uint32_t n_voices, room;
    voice_t voice[];
} mixer_t;

/* Every path anew while every old one leaves; without paths each input has a voice to each output channel. */
#define VOICES(channels) (2u * (PATHS + INPUTS * (uint32_t)(channels)))

/* ---- parameters -------------------------------------------------------------- */

#define LIST(X)                                                                                                   \
    X(1), X(2), X(3), X(4), X(5), X(6), X(7), X(8), X(9), X(10), X(11), X(12), X(13), X(14), X(15), X(16), X(17), \
        X(18), X(19), X(20), X(21), X(22), X(23), X(24)
#define PATH_ROWS(k)                                                                                              \
    {2 * (k) + 2, TW_RAW_S16, 3, TW_NODE_UNIT_ANY, TW_PARAM_SMOOTHED, -1, 31, -1, "path_" #k, 1},                 \
    {                                                                                                             \
        2 * (k) + 3, TW_RAW_U32, 1, TW_NODE_UNIT_ANY, TW_PARAM_SMOOTHED, 0, 0x10FFF, GAIN_0DB, "path_gain_" #k, 1 \
    }
#define PATH_AT(k) \
    offsetof(values_t, path) + sizeof(path_t) * ((k)-1), offsetof(values_t, path_gain) + sizeof(uint32_t) * ((k)-1)
#define METER (TW_PARAM_NOT_IN_ALL | TW_PARAM_READ_ONLY)
static const tw_param_desc_t rows[] = {
    {1, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 15, SLOPE_1000, "slope_up", 1},
    {2, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, 0, 15, SLOPE_1000, "slope_down", 1},
    {3, TW_RAW_U32, 1, TW_NODE_UNIT_ANY, TW_PARAM_SMOOTHED, 0, 0xFFF, GAIN_0DB, "gain", 1},
    LIST(PATH_ROWS),
    {60, TW_RAW_U8, 1, TW_NODE_UNIT_COUNT, TW_PARAM_NOT_IN_ALL | TW_PARAM_SMOOTHED, 0, INPUTS, 0, "inputs", 1},
    {64, TW_RAW_FP32, 1, TW_NODE_UNIT_DB, METER, -200, 1000, -200, "level_db", 0},
    {65, TW_RAW_FP32, 1, TW_NODE_UNIT_DB, METER, -200, 1000, -200, "peak_db", 0},
    {66, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, METER, 0, 4294967295.0, 0, "clipped", 1},
};
static const uint16_t at[] = {
    offsetof(values_t, slope_up), offsetof(values_t, slope_down),
    offsetof(values_t, gain),     LIST(PATH_AT),
    offsetof(values_t, inputs),   offsetof(values_t, level_db),
    offsetof(values_t, peak_db),  offsetof(values_t, clipped),
};
static const tw_param_store_t store = {rows, at, TW_COUNT(rows)};

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    (void)fmt;
    *n = store.n;
    return store.rows;
}

/* A path's gain word has a hole between code and mute bit that a range cannot say. */
static tw_err_t validate(const tw_format_t *fmt, uint32_t tag, const uint8_t *value, uint32_t bytes, tw_fault_t *fault)
{
    (void)fmt;
    for (uint32_t i = 0, offset = 0; i < store.n && offset < bytes; i++) {
        const tw_param_desc_t *p = &rows[i];
        if (tag == TW_TAG_ALL ? !tw_param_in_all(p) : p->index != tag) {
            continue;
        }
        const bool gain_word = p->index > FIRST_PATH && p->raw == TW_RAW_U32 && p->index < 60;
        if (gain_word && (tw_get_le32(value + offset) & 0xFFFFu) > 0xFFFu) {
            *fault = (tw_fault_t){.err = TW_E_PARAM_RANGE, .at = p->index};
            return TW_E_PARAM_RANGE;
        }
        offset += p->count * tw_raw_bits(p->raw) / 8;
    }
    return TW_OK;
}

static bool is_path(const path_t *p)
{
    return p->from >= 0 && p->from_ch >= 0 && p->to_ch >= 0;
}

static const tw_shape_t *out_shape(const mixer_t *m)
{
    return &m->shape[m->rx];
}

static bool fits(const mixer_t *m, const values_t *v)
{
    for (uint32_t i = 0; i < PATHS; i++) {
        const path_t *p = &v->path[i];
        if (is_path(p) &&
            (p->from >= m->rx || p->from_ch >= m->shape[p->from].channels || p->to_ch >= out_shape(m)->channels)) {
            return false;
        }
    }
    return v->inputs <= m->rx;
}

static void put(mixer_t *m, uint32_t tag, const tw_xdm_t *data)
{
    if (tag == TW_TAG_ALL) {
        const uint32_t given = tw_param_rows_given(&store, data->bytes);
        for (uint32_t k = 0; k < PATHS; k++) {
            if (FIRST_PATH + 2 * k >= given) {
                m->v.path[k] = (path_t){-1, -1, -1};
            }
            if (FIRST_PATH + 2 * k + 1 >= given) {
                m->v.path_gain[k] = GAIN_0DB;
            }
        }
    }
    m->changed |= tw_param_put(&store, &m->v, tag, data) != 0;
}

static uint32_t read(mixer_t *m, uint32_t tag, tw_xdm_t *data)
{
    m->v.level_db = tw_gain_to_db(tw_sqrtf(m->power));
    m->v.peak_db = tw_gain_to_db(m->peak);
    return tw_param_get(&store, &m->v, tag, data);
}

/* ---- voices ------------------------------------------------------------------- */

static voice_t *voice_of(mixer_t *m, uint32_t from, uint32_t from_ch, uint32_t to_ch)
{
    uint32_t i = 0;
    while (i < m->n_voices &&
           (m->voice[i].to_ch != to_ch || m->voice[i].from != from || m->voice[i].from_ch != from_ch)) {
        i++;
    }
    if (i < m->n_voices) {
        return &m->voice[i];
    }
    if (m->n_voices == m->room) {
        return NULL;
    }
    for (i = m->n_voices++; i > 0 && m->voice[i - 1].to_ch > to_ch; i--) {
        m->voice[i] = m->voice[i - 1];
    }
    m->voice[i] = (voice_t){(uint8_t)from, (uint8_t)from_ch, (uint8_t)to_ch, true, 0.0f, 0.0f};
    return &m->voice[i];
}

/* Two paths of one way add their gains. With `room` for all of them twice a voice is always there. */
static void ask(mixer_t *m, uint32_t from, uint32_t from_ch, uint32_t to_ch, float gain)
{
    voice_t *v = voice_of(m, from, from_ch, to_ch);
    if (v != NULL) {
        v->target += gain;
        v->leaving = false;
    }
}

static void ask_straight(mixer_t *m, float gain)
{
    const uint32_t inputs = m->good.inputs != 0 ? m->good.inputs : m->rx;
    for (uint32_t a = 0; a < inputs; a++) {
        const uint32_t channels = m->shape[a].channels;
        for (uint32_t c = 0; c < out_shape(m)->channels && (c < channels || channels == 1); c++) {
            ask(m, a, channels == 1 ? 0 : c, c, gain);
        }
    }
}

static bool ask_paths(mixer_t *m, float gain)
{
    bool any = false;
    for (uint32_t i = 0; i < PATHS; i++) {
        const path_t *p = &m->good.path[i];
        const uint32_t word = m->good.path_gain[i];
        if (is_path(p)) {
            any = true;
            ask(m, (uint32_t)p->from, (uint32_t)p->from_ch, (uint32_t)p->to_ch,
                word & MUTE_BIT ? 0.0f : gain * tw_fp8m4e_to_float((uint16_t)word));
        }
    }
    return any;
}

static void drop_silent(mixer_t *m)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->n_voices; i++) {
        if (!m->voice[i].leaving || m->voice[i].distance != 0.0f) {
            m->voice[kept++] = m->voice[i];
        }
    }
    m->n_voices = kept;
}

/* A change while old ways still leave finds room for all new ones: the oldest leavers go at once if it must be. */
static void make_room(mixer_t *m)
{
    drop_silent(m);
    while (m->n_voices > m->room / 2) {
        uint32_t i = 0;
        while (i < m->n_voices && !m->voice[i].leaving) {
            i++;
        }
        if (i == m->n_voices) {
            return;
        }
        m->n_voices--;
        memmove(&m->voice[i], &m->voice[i + 1], sizeof(voice_t) * (m->n_voices - i));
    }
}

/* What is heard now becomes the distance to what is wanted. */
static void aim(mixer_t *m)
{
    make_room(m);
    for (uint32_t i = 0; i < m->n_voices; i++) {
        voice_t *v = &m->voice[i];
        v->distance += v->target;
        v->target = 0.0f;
        v->leaving = true;
    }
    const float gain = tw_fp8m4e_to_float((uint16_t)m->good.gain);
    if (!ask_paths(m, gain)) {
        ask_straight(m, gain);
    }
    for (uint32_t i = 0; i < m->n_voices; i++) {
        voice_t *v = &m->voice[i];
        v->distance = m->heard ? v->distance - v->target : 0.0f;
    }
    m->keep_up = 1.0f - 1.0f / (float)(1u << m->good.slope_up);
    m->keep_down = 1.0f - 1.0f / (float)(1u << m->good.slope_down);
}

static uint32_t look_at_values(mixer_t *m)
{
    m->changed = false;
    if (!fits(m, &m->v)) {
        m->v = m->good;
        return tw_node_error(TW_E_PARAM_MATCH);
    }
    m->good = m->v;
    aim(m);
    return 0;
}

/* ---- signal ------------------------------------------------------------------- */

typedef struct meter {
    float power, peak;
    uint32_t clipped;
} meter_t;

static float magnitude(float v)
{
    return v < 0 ? -v : v;
}

/* acc += in * gain over n instants; the gain's ramp goes on. */
static void add_voice(const mixer_t *m, voice_t *v, const tw_xdm_t *data, uint32_t t, uint32_t n, float *acc)
{
    const tw_shape_t *s = &m->shape[v->from];
    const size_t where = tw_shape_at(s, t, v->from_ch), step = tw_shape_step(s);
    const int16_t *q = (const int16_t *)data[v->from].ptr + where;
    const float *f = (const float *)data[v->from].ptr + where;
    const bool single = s->raw == TW_RAW_FP32;
    if (v->distance == 0.0f) {
        for (uint32_t i = 0; i < n && v->target != 0.0f; i++) {
            acc[i] += (single ? f[i * step] : (float)q[i * step]) * v->target;
        }
        return;
    }
    const bool grows = magnitude(v->target) > magnitude(v->target + v->distance);
    const float keep = grows ? m->keep_up : m->keep_down;
    for (uint32_t i = 0; i < n; i++) {
        v->distance *= keep;
        acc[i] += (single ? f[i * step] : (float)q[i * step]) * (v->target + v->distance);
    }
    v->distance = magnitude(v->distance) < ARRIVED ? 0.0f : v->distance;
}

static void store_s16(const float *acc, int16_t *out, size_t step, uint32_t n, meter_t *meter)
{
    float power = 0;
    for (uint32_t i = 0; i < n; i++) {
        const float y = acc[i] > 1e6f ? 1e6f : acc[i] < -1e6f ? -1e6f : acc[i];
        const int32_t wide = (int32_t)(y + (y < 0 ? -0.5f : 0.5f)), q = tw_sat16(wide);
        out[i * step] = (int16_t)q;
        meter->clipped += q != wide;
        const float size = magnitude((float)q) * (1.0f / 32768.0f);
        meter->peak = size > meter->peak ? size : meter->peak;
        power += size * size;
    }
    meter->power += power; /* summed in chunks, as the amplifier does */
}

static void store_f32(const float *acc, float *out, size_t step, uint32_t n, meter_t *meter)
{
    float power = 0;
    for (uint32_t i = 0; i < n; i++) {
        out[i * step] = acc[i];
        const float size = magnitude(acc[i]);
        meter->clipped += size > 1.0f;
        meter->peak = size > meter->peak ? size : meter->peak;
        power += size * size;
    }
    meter->power += power;
}

/* All voices of one output channel; @return the first voice of the next one */
static uint32_t one_channel(mixer_t *m, const tw_xdm_t *data, uint32_t c, uint32_t first, uint32_t t, uint32_t n,
                            meter_t *meter)
{
    float acc[CHUNK];
    const tw_shape_t *s = out_shape(m);
    const size_t where = tw_shape_at(s, t, c), step = tw_shape_step(s);
    memset(acc, 0, sizeof acc);
    for (; first < m->n_voices && m->voice[first].to_ch == c; first++) {
        add_voice(m, &m->voice[first], data, t, n, acc);
    }
    if (s->raw == TW_RAW_FP32) {
        store_f32(acc, (float *)data[m->rx].ptr + where, step, n, meter);
    } else {
        store_s16(acc, (int16_t *)data[m->rx].ptr + where, step, n, meter);
    }
    return first;
}

static uint32_t run(mixer_t *m, tw_xdm_t *data)
{
    const uint32_t arcs = m->rx + 1u, n = tw_shape_all_instants(m->shape, data, arcs);
    const uint32_t result = m->changed ? look_at_values(m) : 0;
    meter_t meter = {0};
    for (uint32_t t = 0, len = 0; t < n; t += len) {
        len = tw_min_u32(tw_shape_all_run(m->shape, arcs, t, n), CHUNK);
        for (uint32_t c = 0, voice = 0; c < out_shape(m)->channels; c++) {
            voice = one_channel(m, data, c, voice, t, len, &meter);
        }
    }
    if (n > 0) {
        m->heard = true;
        m->power = meter.power / (float)(n * out_shape(m)->channels);
        m->peak = meter.peak;
        m->v.clipped += meter.clipped;
        m->good.clipped = m->v.clipped;
    }
    for (uint32_t i = 0; i < arcs; i++) {
        data[i].bytes = tw_shape_bytes(&m->shape[i], n);
    }
    return result;
}

/* ---- commands -------------------------------------------------------------------- */

static tw_err_t memreq(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc)
{
    tw_shape_t shape[TW_MAX_NODE_ARCS];
    TW_TRY(tw_shape_all(&tw_node_mixer, fmt, rx + tx, arc, shape));
    extra[0] = (VOICES(shape[rx].channels) - VOICES(0)) * (uint32_t)sizeof(voice_t);
    return TW_OK;
}

static void preset(uint32_t p, uint32_t rx, values_t *v)
{
    const uint32_t clipped = v->clipped;
    const bool off = p == PRESET_OFF;
    *v = (values_t){
        .slope_up = off ? SLOPE_100 : SLOPE_1000,
        .slope_down = off ? SLOPE_100 : SLOPE_1000,
        .gain = off ? GAIN_96DB : GAIN_0DB,
        .inputs = (uint8_t)(p >= PRESET_INPUTS ? tw_min_u32(p, rx) : 0),
        .clipped = clipped,
    };
    for (uint32_t i = 0; i < PATHS; i++) {
        v->path[i] = (path_t){-1, -1, -1};
        v->path_gain[i] = GAIN_0DB;
    }
}

static bool same_arcs(const mixer_t *m, const tw_node_reset_t *r, const tw_shape_t *shape)
{
    bool same = m->rx == r->rx;
    for (uint32_t i = 0; same && i <= r->rx; i++) {
        same = tw_shape_same(&m->shape[i], &shape[i]);
    }
    return same;
}

static tw_err_t reset(mixer_t *m, const tw_node_reset_t *r, uint32_t cmd)
{
    tw_shape_t shape[TW_MAX_NODE_ARCS];
    uint32_t arc = 0;
    const uint32_t p = tw_bits(cmd, TW_CMD_PRESET);
    TW_TRY(r->rx >= 1 && r->rx <= INPUTS && r->tx == 1 ? TW_OK : TW_E_IMG_NODE);
    TW_TRY(tw_shape_all(&tw_node_mixer, r->fmt, r->rx + 1u, &arc, shape));
    TW_TRY(p < PRESETS ? TW_OK : TW_E_PARAM_PRESET);
    const uint32_t room = VOICES(shape[r->rx].channels);
    TW_TRY(r->mem_bytes[0] >= sizeof *m + room * sizeof(voice_t) ? TW_OK : TW_E_IMG_MEM);

    const bool warm = tw_bits(cmd, TW_CMD_WARM) && m->magic == tw_node_mixer.hash && same_arcs(m, r, shape);
    if (!warm) {
        *m = (mixer_t){.magic = tw_node_mixer.hash, .rx = r->rx, .room = room};
    }
    memcpy(m->shape, shape, sizeof(tw_shape_t) * (r->rx + 1u));
    preset(p, r->rx, &m->v);
    m->good = m->v;
    m->changed = true;
    return TW_OK;
}

static uint32_t mixer(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    mixer_t *m = inst;
    const uint32_t tag = tw_bits(cmd, TW_CMD_TAG);
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(m, data[0].ptr, cmd));
    case TW_CMD_SET_PARAMETER:
        put(m, tag, data);
        return 0;
    case TW_CMD_READ_PARAMETER:
        return read(m, tag, data);
    case TW_CMD_RUN:
        *state = TW_NODE_DONE;
        return run(m, data);
    case TW_CMD_UPDATE_RELOCATABLE:
        return tw_node_moved(&tw_node_mixer, tag);
    case TW_CMD_STOP:
        return 0;
    default:
        return tw_node_error(TW_E_UNSUPPORTED);
    }
}

const tw_node_desc_t tw_node_mixer = {
    .developer = "ARM",
    .name = "arm_stream_mixer",
    .hash = 0xBA942E77u,
    .version = 1u << 8,
    .rx_min = 1,
    .rx_max = INPUTS,
    .tx_min = 1,
    .tx_max = 1,
    .raw_mask = TW_RAW_MASK_SIGNAL,
    .n_mem = 1,
    .mem = {{.a = sizeof(mixer_t) + VOICES(0) * sizeof(voice_t), .align = 8, .reloc = 1}},
    .run = mixer,
    .memreq = memreq,
    .params = params,
    .validate = validate,
    .presets = (1u << PRESETS) - 1,
};
