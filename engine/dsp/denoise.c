/* denoise.c - between speexdsp and our memory: its allocator (shim/os_support_custom.h), and its Fourier transforms,
 * which are the ones of fft.c, so that a device has one implementation. */
#include "engine/dsp/denoise.h"
#include "engine/base/port.h"
#include "engine/dsp/fft.h"
#include <speex/speex_preprocess.h>
#include <stddef.h>
#include <string.h>

/* Its constructor names no context, so the block it builds in is found here. On a machine with threads each has its
 * own; a bare one resets nodes on one thread of control. */
#if defined(__linux__)
#define PER_THREAD _Thread_local
#else
#define PER_THREAD
#endif

typedef struct block {
    uint8_t *at;
    uint32_t left;
} block_t;

static PER_THREAD block_t block;

#define ROUND(bytes) (((bytes) + TW_DENOISE_ALIGN - 1u) & ~(uint32_t)(TW_DENOISE_ALIGN - 1))

void *tw_denoise_take(int bytes);
void *spx_fft_init(int size);
void spx_fft_destroy(void *plan);
void spx_fft(void *plan, float *in, float *out);
void spx_ifft(void *plan, float *in, float *out);

/* The sum of tw_denoise_bytes() leaves nothing to chance: running out here is a mistake of ours. */
void *tw_denoise_take(int bytes)
{
    const uint32_t need = ROUND((uint32_t)bytes);
    TW_ASSERT(bytes >= 0 && need <= block.left);
    void *at = block.at;
    block.at += need;
    block.left -= need;
    memset(at, 0, need);
    return at;
}

/* ---- its transforms: forward scaled by 1/n; bins as r0 r1 i1 r2 i2 .. r(n/2) ----- */

typedef struct transform {
    void *forward, *back;
    float *bins; /* n + 2 */
    uint32_t n;
} transform_t;

void *spx_fft_init(int size)
{
    const uint32_t n = (uint32_t)size, bytes = tw_rfft_bytes(n);
    transform_t *t = tw_denoise_take(sizeof *t);
    *t = (transform_t){
        .forward = tw_denoise_take((int)bytes),
        .back = tw_denoise_take((int)bytes),
        .bins = tw_denoise_take((int)((n + 2) * sizeof(float))),
        .n = n,
    };
    TW_ASSERT(tw_rfft_plan(t->forward, bytes, n, false) && tw_rfft_plan(t->back, bytes, n, true));
    return t;
}

void spx_fft_destroy(void *plan)
{
    (void)plan;
}

void spx_fft(void *plan, float *in, float *out)
{
    transform_t *t = plan;
    const float scale = 1.0f / (float)t->n;
    tw_rfft(t->forward, in, t->bins);
    out[0] = t->bins[0] * scale;
    for (uint32_t i = 1; i < t->n; i++) {
        out[i] = t->bins[i + 1] * scale;
    }
}

void spx_ifft(void *plan, float *in, float *out)
{
    transform_t *t = plan;
    t->bins[0] = in[0];
    t->bins[1] = 0;
    memcpy(t->bins + 2, in + 1, (t->n - 1) * sizeof(float));
    t->bins[t->n + 1] = 0;
    tw_rfft_back(t->back, t->bins, out);
}

/* Only with an echo canceller, which no state of ours has. */
void speex_echo_get_residual(void *echo, float *residual, int n);
void speex_echo_get_residual(void *echo, float *residual, int n)
{
    (void)echo, (void)residual, (void)n;
    TW_ASSERT(false);
}

/* ---- states ------------------------------------------------------------------------ */

/* What its constructor takes, array by array; the structures are opaque, so they get generous room. */
enum { BANDS = 24, STRUCTURES = 512 + 128 + 64, ARRAYS = 40 };

uint32_t tw_denoise_bytes(uint32_t frame, uint32_t rate_hz)
{
    if (frame < TW_DENOISE_FRAME_MIN || frame > TW_DENOISE_FRAME_MAX || rate_hz < 4000 || rate_hz > 96000) {
        return 0;
    }
    const uint32_t transform = tw_rfft_bytes(2 * frame);
    if (transform == 0) {
        return 0;
    }
    const uint32_t words = 3 * 2 * frame           /* frame, window, spectrum */
                           + 12 * (frame + BANDS)  /* spectra and gains, with their bands */
                           + 4 * frame + 2 * frame /* minima and flags; overlap in and out */
                           + frame                 /* weights of loudness */
                           + 4 * frame + BANDS     /* the bank of filters */
                           + 2 * frame + 2;        /* bins */
    return STRUCTURES + ARRAYS * TW_DENOISE_ALIGN + 4 * words + 2 * transform;
}

void *tw_denoise_make(void *mem, uint32_t bytes, uint32_t frame, uint32_t rate_hz)
{
    const uint32_t need = tw_denoise_bytes(frame, rate_hz);
    if (need == 0 || bytes < need) {
        return NULL;
    }
    block = (block_t){mem, bytes};
    void *state = speex_preprocess_state_init((int)frame, (int)rate_hz);
    block = (block_t){0};
    return state;
}

static void put(void *state, int request, int32_t value)
{
    (void)speex_preprocess_ctl(state, request, &value);
}

void tw_denoise_setup(void *state, const tw_denoise_set_t *set)
{
    put(state, SPEEX_PREPROCESS_SET_DENOISE, set->suppress_db != 0);
    put(state, SPEEX_PREPROCESS_SET_NOISE_SUPPRESS, set->suppress_db);
    put(state, SPEEX_PREPROCESS_SET_VAD, 1);
    put(state, SPEEX_PREPROCESS_SET_PROB_START, set->start_percent);
    put(state, SPEEX_PREPROCESS_SET_PROB_CONTINUE, set->keep_percent);
    put(state, SPEEX_PREPROCESS_SET_AGC, set->gain_on);
    put(state, SPEEX_PREPROCESS_SET_AGC_TARGET, set->gain_level);
    put(state, SPEEX_PREPROCESS_SET_AGC_MAX_GAIN, set->gain_max_db);
}

bool tw_denoise_run(void *state, int16_t *frame)
{
    return speex_preprocess_run(state, frame) != 0;
}

void tw_denoise_read(void *state, int32_t *percent, int32_t *gain_db)
{
    (void)speex_preprocess_ctl(state, SPEEX_PREPROCESS_GET_PROB, percent);
    (void)speex_preprocess_ctl(state, SPEEX_PREPROCESS_GET_AGC_GAIN, gain_db);
}
