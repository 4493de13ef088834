/* engine_rig.h - an engine on a pretend board, for tests: IOs are arrays, time is a counter.
 *
 * hwid 0..3 receive, 4..7 transmit. Each receive IO plays a ramp of 16-bit samples that goes on over
 * blocks; each transmit IO keeps what it got.
 */
#pragma once
#include "engine/engine.h"
#include "tests/support/image_builder.h"

enum {
    RIG_IOS = 8,
    RIG_OUT_MAX = 1 << 16,
    RIG_GRAPH_BYTES = 1 << 17,
    RIG_SHADOW_BYTES = 8192,
    RIG_TRACE_BYTES = 1 << 14
};

typedef struct rig {
    tw_engine_t *engine;
    void *mem;
    tw_port_t port;
    tw_board_t board;
    tw_board_io_t ios[RIG_IOS];
    uint64_t us;
    uint32_t cycles, cycles_step; /* of the counter, and by how much it goes on each time; 0: 7 */
    uint32_t hole_from, hole_to;  /* reads [from, to) of each IO return nothing */
    uint32_t reads[RIG_IOS];
    uint16_t next[RIG_IOS]; /* next sample of the ramp */
    uint8_t out[RIG_IOS][RIG_OUT_MAX];
    uint32_t out_bytes[RIG_IOS];
    uint64_t write_tick[RIG_IOS]; /* of the last write */
    tw_err_t refuse;              /* what accept() answers */
    tw_err_t refuse_settings;     /* what settings() answers */
    bool io_refuses;              /* a driver refuses what settings() took */
    uint32_t settings[RIG_IOS][3], sets;
} rig_t;

/** A board alone, as the loader needs it. */
void rig_board(rig_t *r);
/** Engine with rings of these sizes. */
void rig_open(rig_t *r, uint32_t queue, uint32_t reply);
/** The same, on a board with pins and with an application; either may be NULL. */
void rig_open_with(rig_t *r, uint32_t queue, uint32_t reply, const tw_board_gpio_t *gpio, const tw_apps_t *apps);
void rig_close(rig_t *r);
/** Prime, swap in, start; asserts success. */
void rig_load(rig_t *r, const uint8_t *img, uint32_t bytes);
/** Drain replies; @return true and the reply when one with this token was there. Data is copied. */
bool rig_reply(rig_t *r, uint32_t token, tw_engine_reply_t *out, uint8_t *data, uint32_t cap);
/** Count events of a kind, draining. */
unsigned rig_events(rig_t *r, tw_event_t kind, tw_engine_reply_t *last);

/* Images. Streams are 16 kHz mono S16, 16 samples (1 ms) a frame unless said otherwise. */
enum { RIG_FRAME = 32, RIG_SAMPLES = 16 };
/** IO 0 -> filter -> amplifier -> IO 4. */
uint32_t rig_chain(tw_ib_t *b, uint8_t *out, uint32_t cap);
/** The same, not finished: nodes 0 filter, 1 amplifier; arcs 0, 1, 2; format 0. */
void rig_chain_open(tw_ib_t *b);
const tw_node_desc_t *rig_type(const char *full_name);
