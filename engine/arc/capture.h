/* capture.h - a logic analyser on a stream: samples before and after a trigger, in memory given beforehand.
 *
 *             pre filled          trigger            post done
 *   FILLING -----------> WAITING ---------> POST ---------------> (segment full) --> FILLING, or DONE (single)
 *
 * Samples go round in a segment until the trigger fires; what was there before it stays in front, `post` points
 * follow, and the segment is handed to whoever reads. With every segment full nothing is stored: a trigger then is
 * counted as missed. Nothing here waits or allocates, and work is proportional to the bytes fed.
 *
 * The feeding side owns everything but `wanted` and the segments that are full; those are the reader's until it gives
 * them back. Knows no graph, no wire, no clock. A *sample* below is an instant: one value of every channel.
 */
#pragma once
#include "engine/base/err.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tw_capture_mode {
    TW_CAPTURE_SINGLE = 0, /* one capture, then done */
    TW_CAPTURE_REPEAT = 1, /* again after each */
    TW_CAPTURE_AUTO = 2,   /* as repeat, and without a trigger after `auto_after` samples all the same */
} tw_capture_mode_t;

typedef enum tw_capture_cause {
    TW_CAUSE_NOW = 0,    /* as soon as the part before the trigger is there */
    TW_CAUSE_LEVEL = 1,  /* a channel's value against `low`, `high` */
    TW_CAUSE_FLOW = 2,   /* the arc ran empty or full; takes what there is before it */
    TW_CAUSE_TICK = 3,   /* the first sample of a block; takes what there is before it */
    TW_CAUSE_SCRIPT = 4, /* a script of the graph said so after a block */
    TW_CAUSE_HOST = 5,   /* tw_capture_want(); any kind of trigger may be forced so */
    TW_CAUSE_AUTO = 6,   /* only as the cause of a capture */
} tw_capture_cause_t;

typedef enum tw_capture_edge {
    TW_EDGE_RISING = 0,  /* above low, having been at or below low - hysteresis */
    TW_EDGE_FALLING = 1, /* below low, having been at or above low + hysteresis */
    TW_EDGE_ENTER = 2,   /* inside [low, high], having been outside by more than the hysteresis */
    TW_EDGE_LEAVE = 3,   /* outside [low, high], having been inside by at least the hysteresis */
} tw_capture_edge_t;

typedef enum tw_capture_points {
    TW_POINTS_RAW = 0,    /* every `every`-th sample, as it is, channels interleaved */
    TW_POINTS_MINMAX = 1, /* smallest and largest of `every` samples, FP32 pairs, in the arc's unit */
    TW_POINTS_RMS = 2,    /* root mean square of `every` samples, FP32, in the arc's unit */
} tw_capture_points_t;

enum { TW_CAPTURE_FLOW_EMPTY = 1, TW_CAPTURE_FLOW_FULL = 2 };
enum { TW_CAPTURE_CHANNELS = 32, TW_CAPTURE_SEGMENTS = 4, TW_CAPTURE_EVERY_MAX = 65536 };

/** What is asked for. */
typedef struct tw_capture_cfg {
    /* the stream */
    uint8_t raw;        /* tw_raw_t, whole bytes */
    uint8_t channels;   /* 1..32 */
    bool blocks;        /* each frame holds channel after channel */
    uint32_t samples;   /* of a frame, per channel */
    float scale, shift; /* value in the unit = sample as -1..1 (unsigned 0..1) * scale + shift; scale 0 counts as 1 */
    /* the request */
    uint8_t mode, cause, edge, points;
    uint8_t channel;   /* that a level is looked for in */
    bool magnitude;    /* the level is of |value| */
    uint8_t flow_mask; /* TW_CAPTURE_FLOW_*; 0 = both */
    float low, high, hysteresis;
    uint32_t every;      /* samples a point; 0 counts as 1 */
    uint32_t pre, post;  /* points before the one that holds the trigger; from that one on, at least 1 */
    uint32_t hold_off;   /* samples after a trigger in which none counts */
    uint32_t auto_after; /* samples; mode AUTO */
    uint64_t tick;       /* cause TICK: the block whose first sample fires, or the first block after it */
} tw_capture_cfg_t;

/** A capture that is complete. Points lie in a ring: `first` is the oldest, after the last of the ring comes 0. */
typedef struct tw_capture_seg {
    uint8_t *mem;
    uint32_t first, points; /* oldest point in the ring; how many */
    uint32_t before;        /* of them in front of the trigger's point */
    uint32_t number;        /* of the capture, from 0 */
    uint32_t missed;        /* triggers so far that found no free segment */
    uint64_t sample;        /* of the trigger, counted from the first that was fed */
    uint64_t tick;          /* of the block that brought the trigger's sample */
    uint32_t offset;        /* of that sample in what the block brought */
    uint8_t cause;          /* tw_capture_cause_t */
    _Atomic uint32_t full;  /* 0: the feeding side's, 1: the reader's */
} tw_capture_seg_t;

typedef enum tw_capture_state {
    TW_CAPTURE_FILLING = 0,
    TW_CAPTURE_WAITING = 1,
    TW_CAPTURE_POST = 2,
    TW_CAPTURE_DONE = 3,
} tw_capture_state_t;

typedef struct tw_capture {
    tw_capture_cfg_t cfg;
    uint32_t size;        /* points a segment holds */
    uint32_t point_bytes; /* of a point, all channels */
    uint32_t sample_bytes;
    uint32_t n_segs, next, reading; /* segments; the one filled now or next; the one read next (reader's) */
    tw_capture_seg_t segs[TW_CAPTURE_SEGMENTS];
    tw_capture_seg_t *seg;                    /* being filled, NULL: none free */
    _Atomic uint32_t state, captures, missed; /* to look at from any thread */
    _Atomic uint32_t wanted;                  /* the host fires */
    uint32_t at, have, post_left;             /* next point; points in the ring; points still to come */
    uint32_t phase;                           /* samples in the point being made */
    uint32_t hold_left, waited;
    uint64_t sample;                   /* of the next one */
    uint64_t block_tick, block_sample; /* the block fed last, and its first sample */
    int pending;                       /* cause that fires at the next sample, -1 none */
    bool armed;                        /* the level was on the other side */
    float acc[TW_CAPTURE_CHANNELS], top[TW_CAPTURE_CHANNELS];
    double sum[TW_CAPTURE_CHANNELS];
} tw_capture_t;

/** Bytes one segment takes; 0 when the request would take more than 2 GiB. */
uint32_t tw_capture_need(const tw_capture_cfg_t *cfg);
/**
 * Get ready in `mem`, which stays in use: as many segments as fit, at most four (one for SINGLE).
 * @param short_by  out, NOMEM: [bytes] missing
 * @return TW_OK, ARG (a code that does not exist, no channel of that number), UNSUPPORTED (samples of this type, or no
 *         level of them), RANGE (every, low > high, a number that is none), NOMEM; nothing changed then
 */
tw_err_t tw_capture_init(tw_capture_t *c, const tw_capture_cfg_t *cfg, void *mem, uint32_t bytes, uint32_t *short_by);
/** Feeding side: `n` bytes were written to the arc in block `tick`; whole frames when channels lie in blocks. */
void tw_capture_feed(tw_capture_t *c, uint64_t tick, const uint8_t *data, uint32_t n);
/** Feeding side: the arc ran empty (TW_CAPTURE_FLOW_EMPTY) or full; the next sample fires if that is asked for. */
void tw_capture_flow(tw_capture_t *c, uint32_t kind);
/** Feeding side: a script said so; the next sample fires. */
void tw_capture_script(tw_capture_t *c);
/** Any thread: fire as soon as the part before the trigger is there. */
void tw_capture_want(tw_capture_t *c);
/** Reader: the oldest complete capture, or NULL. */
const tw_capture_seg_t *tw_capture_read(tw_capture_t *c);
/** Reader: done with it. */
void tw_capture_free(tw_capture_t *c);
/** Reader: points [at, at + n) of a capture into `out`, as far as it has them. @return bytes */
uint32_t tw_capture_copy(const tw_capture_t *c, const tw_capture_seg_t *s, uint32_t at, uint32_t n, uint8_t *out);
