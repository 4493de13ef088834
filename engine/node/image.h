/* image.h - frames that are pictures: their size, and rows of them as numbers.
 *
 * A format is a picture's when its domain is 2d_in or 2d_out, and width times height (its mapping word) are the samples
 * of a frame: a frame with a border around the picture is none. One channel is grey, three are RGB; interleaved, or
 * plane after plane. Nothing here knows what a node computes.
 */
#pragma once
#include "engine/node/node_priv.h"

enum { TW_IMAGE_SIDE_MAX = 4096 };

typedef struct tw_image {
    tw_shape_t shape;
    uint32_t width, height;
    uint32_t planes; /* pictures of one channel, one after the other; 1 where channels are interleaved */
    uint32_t step;   /* samples from a pixel to the next */
} tw_image_t;

#define TW_RAW_MASK_IMAGE \
    (TW_RAW_BIT(TW_RAW_U8) | TW_RAW_BIT(TW_RAW_S8) | TW_RAW_BIT(TW_RAW_U16) | TW_RAW_BIT(TW_RAW_S16))

/** @return TW_OK, IMG_RAW, IMG_FORMAT (not a picture, or larger than TW_IMAGE_SIDE_MAX either way) */
tw_err_t tw_image_from(tw_image_t *m, const tw_format_t *fmt, uint64_t raw_mask);
/** Bytes of a picture. */
uint32_t tw_image_bytes(const tw_image_t *m);
/** `n` samples from sample `at` of the frame on as numbers, as they are: 0..255, -128..127, ... */
void tw_image_load(const tw_image_t *m, const void *frame, uint32_t at, uint32_t n, float *to);
/** Back, to the nearest (halves away from 0), saturated. */
void tw_image_store(const tw_image_t *m, void *frame, uint32_t at, uint32_t n, const float *from);
/** One sample. */
float tw_image_sample(const tw_image_t *m, const void *frame, uint32_t at);
