/* services.h - the functions a platform offers to nodes beyond the kernels in tw_services_t.
 *
 * The seeds' groups (graph interpreter text, "Services": math, DSP, conversion, standard library, time, audio) as one
 * table of functions that any number of graphs share: it can lie in flash. A port with faster ones copies
 * tw_library_portable, changes entries and hands its table to graphs; entries it cannot offer are NULL, and RESET of
 * a node that needs one answers IMG_SERVICE. services.def gives each a number, a group and a version.
 *
 * Plans and states live in memory of the node that asked for them, sized by the _bytes functions; nothing allocates.
 */
#pragma once
#include "engine/dsp/denoise.h"
#include "engine/dsp/fft.h"
#include "engine/node/node.h"
#include <stddef.h>

/* Service groups of tw_services_t.mask. */
#define TW_SVC_TIME (1u << 0)
#define TW_SVC_SCRIPT (1u << 1)
#define TW_SVC_CONVERSION (1u << 2)
#define TW_SVC_STDLIB (1u << 3)
#define TW_SVC_MATH (1u << 4)
#define TW_SVC_DSP (1u << 5)
#define TW_SVC_AUDIO (1u << 7)

typedef struct tw_library {
    /* time: what the port of this graph says, 0 without one */
    uint64_t (*now_us)(const tw_services_t *svc);
    uint32_t (*cycles)(const tw_services_t *svc);
    /* conversion: see convert.h */
    void (*load)(uint32_t raw, const uint8_t *data, size_t at, size_t step, uint32_t n, double *to);
    void (*store)(uint32_t raw, uint8_t *data, size_t at, size_t step, uint32_t n, const double *from);
    void (*convert)(uint32_t from, const uint8_t *src, size_t src_step, uint32_t to, uint8_t *dst, size_t dst_step,
                    uint32_t n);
    /* standard library */
    uint32_t (*rand)(uint32_t *state);
    void (*sort_f32)(float *v, uint32_t n);
    uint32_t (*crc32c)(uint32_t crc, const void *data, size_t n); /* crc: 0, or of what came before */
    /* math: see dsp_math.h */
    double (*sqrt)(double x);
    double (*log)(double x);
    double (*exp)(double x);
    double (*pow)(double x, double y);
    double (*sin)(double x);
    double (*cos)(double x);
    double (*atan2)(double y, double x);
    /* DSP: see fft.h; those of one transform belong together */
    uint32_t (*rfft_bytes)(uint32_t n);
    bool (*rfft_plan)(void *plan, uint32_t bytes, uint32_t n, bool back);
    void (*rfft)(void *plan, const float *samples, float *bins);
    void (*rfft_back)(void *plan, const float *bins, float *samples);
    uint32_t (*cfft_bytes)(uint32_t n);
    bool (*cfft_plan)(void *plan, uint32_t bytes, uint32_t n, bool back);
    void (*cfft)(void *plan, const float *from, float *to);
    float (*window)(uint32_t kind, float *w, uint32_t n);
    void (*goertzel_start)(tw_goertzel_t *g, double turns);
    void (*goertzel_add)(tw_goertzel_t *g, const float *x, uint32_t n);
    double (*goertzel_power)(tw_goertzel_t *g);
    /* audio: see denoise.h */
    uint32_t (*denoise_bytes)(uint32_t frame, uint32_t rate_hz);
    void *(*denoise_make)(void *mem, uint32_t bytes, uint32_t frame, uint32_t rate_hz);
    void (*denoise_setup)(void *state, const tw_denoise_set_t *set);
    bool (*denoise_run)(void *state, int16_t *frame);
    void (*denoise_read)(void *state, int32_t *percent, int32_t *gain_db);
} tw_library_t;

/** Everything, in portable C. */
extern const tw_library_t tw_library_portable;

/**
 * The table of this build: what tw_services_default() hands out, and what sizes memory before a graph exists
 * (tw_node_desc_t.memreq). The optional backend replaces it as a whole.
 */
const tw_library_t *tw_library(void);

/** Bit i: the function with id i of services.def is there. */
uint64_t tw_library_functions(const tw_library_t *lib);
/** Groups of which a function is there, as tw_services_t.mask has them. */
uint32_t tw_library_groups(const tw_library_t *lib);
/** Name and version of the function with this id. @return NULL: no such function */
const char *tw_service_name(uint32_t id, uint32_t *version);
