/* node_frames.h - whole frames in, whole frames out, for nodes whose two sides count differently.
 *
 * An arc may hold no more than one frame, so a node takes whole frames and gives whole frames: of one used in
 * part the place is remembered, one made in part waits in the node's memory. What a *unit* is, each node says:
 * an instant, a byte, a nibble. Private to engine/node.
 */
#pragma once
#include "engine/node/node_priv.h"
#include <string.h>

typedef struct tw_frames {
    uint8_t *stage;               /* the output frame being made, out_bytes long */
    uint32_t in_bytes, out_bytes; /* of a frame */
    uint32_t in_units, out_units; /* in a frame */
    uint32_t in_at, out_at;       /* units of the present frames used, made */
    /* what is left of this RUN */
    const uint8_t *in; /* the present input frame */
    uint8_t *out;
    uint32_t in_left, out_left; /* [bytes] */
} tw_frames_t;

/** RESET where the arcs go on: frames of the same kind that were begun go on too. */
static inline void tw_frames_go_on(tw_frames_t *now, const tw_frames_t *before, uint32_t cmd)
{
    if (tw_bits(cmd, TW_CMD_TAG) == TW_RESET_GOES_ON && now->in_bytes == before->in_bytes &&
        now->out_bytes == before->out_bytes) {
        now->in_at = before->in_at;
        now->out_at = before->out_at;
    }
}

static inline void tw_frames_open(tw_frames_t *f, const tw_xdm_t *in, const tw_xdm_t *out)
{
    f->in = in->ptr;
    f->in_left = in->bytes;
    f->out = out->ptr;
    f->out_left = out->bytes;
}

/** Units of the present input frame not yet used. */
static inline uint32_t tw_frames_readable(const tw_frames_t *f)
{
    return f->in_left >= f->in_bytes ? f->in_units - f->in_at : 0;
}

/** Units the present output frame still takes; a full one goes out first. None is begun without room for it: what it
 * says would be old when it goes out. */
static inline uint32_t tw_frames_writable(tw_frames_t *f)
{
    if (f->out_at == f->out_units && f->out_left >= f->out_bytes) {
        memcpy(f->out, f->stage, f->out_bytes);
        f->out += f->out_bytes;
        f->out_left -= f->out_bytes;
        f->out_at = 0;
    }
    return f->out_at != 0 || f->out_left >= f->out_bytes ? f->out_units - f->out_at : 0;
}

static inline void tw_frames_used(tw_frames_t *f, uint32_t units)
{
    f->in_at += units;
    if (f->in_at == f->in_units) {
        f->in += f->in_bytes;
        f->in_left -= f->in_bytes;
        f->in_at = 0;
    }
}

static inline void tw_frames_made(tw_frames_t *f, uint32_t units)
{
    f->out_at += units;
}

/** Tell the scheduler what was used and made. */
static inline void tw_frames_close(tw_frames_t *f, tw_xdm_t *in, tw_xdm_t *out)
{
    (void)tw_frames_writable(f);
    in->bytes -= f->in_left;
    out->bytes -= f->out_left;
}
