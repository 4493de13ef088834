/* Bytes as a probe request and a stream: the request is decoded as the wire decodes it and turned into a capture on an
 * arc of a random format; then writes of random sizes, triggers from outside and a reader that takes its time. What is
 * handed out must be the stream's own samples: each one carries its number.
 *
 * Layout: 8 bytes of format and lengths, the request's length, the request (protobuf), then one byte an action. */
#include "engine/arc/capture.h"
#include "engine/base/bytes.h"
#include "engine/base/formats.h"
#include "protocol/rpc.h"
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(cond) ((cond) ? (void)0 : (fprintf(stderr, "fuzz_probe: %s, line %d\n", #cond, __LINE__), abort()))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 9, MEM = 1 << 14, ACTIONS = 256, WRITE_MAX = 4096 };

static tw_capture_t cap;
static uint8_t out[MEM];
static uint32_t next_sample; /* number of the next sample that is written */

static tw_capture_cfg_t request(const uint8_t *d, const tunewire_v1_ProbeReq *q)
{
    return (tw_capture_cfg_t){
        .raw = d[0] % 56,
        .channels = (uint8_t)(d[1] % 34),
        .blocks = d[2] & 1,
        .samples = d[3],
        .scale = (float)(int8_t)d[4],
        .shift = (float)(int8_t)d[5],
        .mode = (uint8_t)q->mode,
        .cause = (uint8_t)q->trigger,
        .edge = (uint8_t)q->edge,
        .points = (uint8_t)q->points,
        .channel = (uint8_t)q->channel,
        .magnitude = q->magnitude,
        .flow_mask = (uint8_t)q->flow,
        .low = q->low,
        .high = q->high,
        .hysteresis = q->hysteresis,
        .every = q->every,
        .pre = q->pre,
        .post = q->post,
        .hold_off = q->hold_off,
        .auto_after = q->auto_after,
        .tick = q->tick,
    };
}

/* Samples tell their number in the first channel where they are wide enough. */
static void feed(const tw_capture_cfg_t *cfg, uint64_t tick, uint32_t n)
{
    static uint8_t buf[WRITE_MAX];
    const uint32_t size = tw_raw_bits(cfg->raw) / 8, instant = size * cfg->channels;
    const uint32_t frame = cfg->blocks ? cfg->samples : 1;
    n -= n % frame;
    while (n != 0 && n * instant > sizeof buf) {
        n -= frame;
    }
    memset(buf, 0, sizeof buf);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t at = cfg->blocks ? i / frame * frame * instant + i % frame * size : i * instant;
        if (size >= 4) {
            tw_put_le32(buf + at, next_sample + i);
        }
    }
    next_sample += n;
    uint8_t *exact = malloc(n * instant + 1); /* a read past the end is seen */
    memcpy(exact, buf, n * instant);
    tw_capture_feed(&cap, tick, exact, n * instant);
    free(exact);
}

static void read_one(const tw_capture_cfg_t *cfg, uint32_t *number)
{
    const tw_capture_seg_t *s = tw_capture_read(&cap);
    if (s == NULL) {
        return;
    }
    const uint32_t every = cap.cfg.every;
    REQUIRE(s->number == (*number)++ && s->points == s->before + (cfg->post != 0 ? cfg->post : 1));
    REQUIRE(s->before <= cfg->pre && s->sample < next_sample);
    REQUIRE(tw_capture_copy(&cap, s, 0, UINT32_MAX, out) == s->points * cap.point_bytes);
    for (uint32_t k = 0; cfg->points == TW_POINTS_RAW && cap.sample_bytes >= 4 && k < s->points; k++) {
        const uint64_t want = (s->sample / every - s->before + k) * every;
        REQUIRE(tw_get_le32(out + (size_t)k * cap.point_bytes) == (uint32_t)want);
    }
    tw_capture_free(&cap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tunewire_v1_ProbeReq q;
    if (size < HEAD || size < HEAD + (size_t)data[8] ||
        tw_rpc_decode(data + HEAD, data[8], tunewire_v1_ProbeReq_fields, &q) != TW_OK) {
        return 0;
    }
    const tw_capture_cfg_t cfg = request(data, &q);
    const uint32_t bytes = (uint32_t)tw_get_le16(data + 6) % (MEM + 1);
    uint32_t short_by = 0, number = 0;
    uint8_t *exact = malloc(bytes + 1);
    const tw_err_t err = tw_capture_init(&cap, &cfg, exact, bytes, &short_by);
    REQUIRE((err == TW_E_NOMEM) == (short_by != 0) || err == TW_E_NOMEM);
    next_sample = 0;
    const uint8_t *action = data + HEAD + data[8], *end = data + size;
    for (uint32_t i = 0; err == TW_OK && action < end && i < ACTIONS; action++, i++) {
        switch (*action >> 6) {
        case 0:
        case 1:
            feed(&cfg, i / 2, *action & 0x7Fu);
            break;
        case 2:
            read_one(&cfg, &number);
            break;
        default:
            if ((*action & 3) == 0) {
                tw_capture_want(&cap);
            } else if ((*action & 3) == 1) {
                tw_capture_script(&cap);
            } else {
                tw_capture_flow(&cap, *action & 3);
            }
            break;
        }
    }
    free(exact);
    return 0;
}
