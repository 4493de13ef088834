#include "engine/node/image.h"

enum { DOMAIN_2D_IN = 6, DOMAIN_2D_OUT = 7 };

tw_err_t tw_image_from(tw_image_t *m, const tw_format_t *fmt, uint64_t raw_mask)
{
    tw_shape_t s;
    TW_TRY(tw_shape_from(&s, fmt, raw_mask));
    const uint32_t width = fmt->mapping & 0xFFFF, height = fmt->mapping >> 16;
    const bool picture = fmt->domain == DOMAIN_2D_IN || fmt->domain == DOMAIN_2D_OUT;
    if (!picture || width == 0 || height == 0 || width > TW_IMAGE_SIDE_MAX || height > TW_IMAGE_SIDE_MAX ||
        width * height != fmt->samples) {
        return TW_E_IMG_FORMAT;
    }
    *m = (tw_image_t){
        .shape = s,
        .width = width,
        .height = height,
        .planes = s.blocks ? s.channels : 1,
        .step = s.blocks ? 1 : s.channels,
    };
    return TW_OK;
}

uint32_t tw_image_bytes(const tw_image_t *m)
{
    return m->width * m->height * m->shape.channels * m->shape.size;
}

/* One loop a type, so that each becomes vector code. */
#define LOAD(type)                                \
    do {                                          \
        const type *x = (const type *)frame + at; \
        for (uint32_t i = 0; i < n; i++) {        \
            to[i] = (float)x[i];                  \
        }                                         \
    } while (0)

void tw_image_load(const tw_image_t *m, const void *frame, uint32_t at, uint32_t n, float *to)
{
    switch (m->shape.raw) {
    case TW_RAW_U8:
        LOAD(uint8_t);
        break;
    case TW_RAW_S8:
        LOAD(int8_t);
        break;
    case TW_RAW_U16:
        LOAD(uint16_t);
        break;
    default:
        LOAD(int16_t);
    }
}

#define STORE(type, low, high)                                                       \
    do {                                                                             \
        type *x = (type *)frame + at;                                                \
        for (uint32_t i = 0; i < n; i++) {                                           \
            float v = from[i] < (low) ? (low) : from[i] > (high) ? (high) : from[i]; \
            v = v == v ? v : 0.0f;                                                   \
            x[i] = (type)(int32_t)(v + (v < 0 ? -0.5f : 0.5f));                      \
        }                                                                            \
    } while (0)

void tw_image_store(const tw_image_t *m, void *frame, uint32_t at, uint32_t n, const float *from)
{
    switch (m->shape.raw) {
    case TW_RAW_U8:
        STORE(uint8_t, 0.0f, 255.0f);
        break;
    case TW_RAW_S8:
        STORE(int8_t, -128.0f, 127.0f);
        break;
    case TW_RAW_U16:
        STORE(uint16_t, 0.0f, 65535.0f);
        break;
    default:
        STORE(int16_t, -32768.0f, 32767.0f);
    }
}

float tw_image_sample(const tw_image_t *m, const void *frame, uint32_t at)
{
    float v;
    tw_image_load(m, frame, at, 1, &v);
    return v;
}
