#include "engine/node/services.h"
#include "engine/base/crc.h"
#include "engine/base/port.h"
#include "engine/dsp/backend_cmsis.h"
#include "engine/dsp/dsp_math.h"
#include "engine/node/convert.h"

static uint64_t now_us(const tw_services_t *svc)
{
    return svc->port != NULL ? svc->port->now_us(svc->port->ctx) : 0;
}

static uint32_t cycles(const tw_services_t *svc)
{
    return svc->port != NULL ? svc->port->cycles(svc->port->ctx) : 0;
}

/* Everything; `transform` is whose real transforms they are. */
#define LIBRARY(transform)                                                                                          \
    {                                                                                                               \
        .now_us = now_us, .cycles = cycles, .load = tw_convert_load, .store = tw_convert_store,                     \
        .convert = tw_convert_move, .rand = tw_rand, .sort_f32 = tw_sort_f32, .crc32c = tw_crc32c, .sqrt = tw_sqrt, \
        .log = tw_log, .exp = tw_exp, .pow = tw_pow, .sin = tw_sin, .cos = tw_cos, .atan2 = tw_atan2,               \
        .rfft_bytes = transform##rfft_bytes, .rfft_plan = transform##rfft_plan, .rfft = transform##rfft,            \
        .rfft_back = transform##rfft_back, .cfft_bytes = tw_cfft_bytes, .cfft_plan = tw_cfft_plan, .cfft = tw_cfft, \
        .window = tw_window, .goertzel_start = tw_goertzel_start, .goertzel_add = tw_goertzel_add,                  \
        .goertzel_power = tw_goertzel_power, .denoise_bytes = tw_denoise_bytes, .denoise_make = tw_denoise_make,    \
        .denoise_setup = tw_denoise_setup, .denoise_run = tw_denoise_run, .denoise_read = tw_denoise_read,          \
    }

const tw_library_t tw_library_portable = LIBRARY(tw_);
#if TW_CMSIS_DSP
static const tw_library_t library_cmsis = LIBRARY(tw_cmsis_);
#endif

const tw_library_t *tw_library(void)
{
#if TW_CMSIS_DSP
    return &library_cmsis;
#else
    return &tw_library_portable;
#endif
}

uint64_t tw_library_functions(const tw_library_t *lib)
{
    uint64_t bits = 0;
#define TW_SERVICE(id, group, name, version, text) bits |= (uint64_t)(lib->name != NULL) << (id);
#include "engine/node/services.def"
    return bits;
}

uint32_t tw_library_groups(const tw_library_t *lib)
{
    uint32_t groups = 0;
#define TW_SERVICE(id, group, name, version, text) groups |= (uint32_t)(lib->name != NULL) << (group);
#include "engine/node/services.def"
    return groups;
}

const char *tw_service_name(uint32_t id, uint32_t *version)
{
    switch (id) {
#define TW_SERVICE(id, group, name, ver, text) \
    case id:                                   \
        *version = ver;                        \
        return #name;
#include "engine/node/services.def"
    default:
        return NULL;
    }
}
