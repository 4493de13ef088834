#include "tests/support/engine_rig.h"
#include "engine/base/crc.h"
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(cond) ((cond) ? (void)0 : (fprintf(stderr, "rig: %s, line %d\n", #cond, __LINE__), abort()))

static uint64_t now_us(void *ctx)
{
    rig_t *r = ctx;
    return r->us += 10;
}

static uint32_t cycles(void *ctx)
{
    rig_t *r = ctx;
    return r->cycles += r->cycles_step != 0 ? r->cycles_step : 7;
}

static uint32_t board_read(void *ctx, uint32_t hwid, uint64_t tick, void *dst, uint32_t bytes)
{
    rig_t *r = ctx;
    (void)tick;
    const uint32_t n = r->reads[hwid]++;
    if (n >= r->hole_from && n < r->hole_to) {
        return 0;
    }
    for (uint32_t i = 0; i + 2 <= bytes; i += 2) {
        tw_put_le16((uint8_t *)dst + i, r->next[hwid]++);
    }
    return bytes;
}

static uint32_t board_write(void *ctx, uint32_t hwid, uint64_t tick, const void *src, uint32_t bytes)
{
    rig_t *r = ctx;
    if (r->out_bytes[hwid] + bytes <= RIG_OUT_MAX) {
        memcpy(r->out[hwid] + r->out_bytes[hwid], src, bytes);
        r->out_bytes[hwid] += bytes;
    }
    r->write_tick[hwid] = tick;
    return bytes;
}

static tw_err_t board_accept(void *ctx, uint32_t hwid, uint32_t raw, uint32_t channels, float rate_hz,
                             uint32_t frame_bytes, const uint32_t settings[3])
{
    const rig_t *r = ctx;
    (void)hwid, (void)raw, (void)channels, (void)rate_hz, (void)frame_bytes, (void)settings;
    return r->refuse;
}

static tw_err_t board_settings(void *ctx, uint32_t hwid, const uint32_t now[3], const uint32_t settings[3])
{
    const rig_t *r = ctx;
    (void)hwid, (void)now, (void)settings;
    return r->refuse_settings;
}

static bool board_io(void *ctx, uint32_t hwid, tw_io_command_t command, const void *data, uint32_t bytes)
{
    rig_t *r = ctx;
    (void)bytes;
    if (command != TW_IO_SET || r->io_refuses) {
        return false;
    }
    memcpy(r->settings[hwid], ((const tw_io_set_t *)data)->settings, sizeof r->settings[hwid]);
    r->sets++;
    return true;
}

void rig_board(rig_t *r)
{
    memset(r, 0, sizeof *r);
    for (unsigned i = 0; i < RIG_IOS; i++) {
        r->ios[i] = (tw_board_io_t){.hwid = (uint16_t)i, .direction = i >= RIG_IOS / 2};
    }
    r->port = (tw_port_t){r, now_us, cycles, 100};
    r->board = (tw_board_t){.ctx = r,
                            .platform_id = 77,
                            .services = 0xFFFFFFFFu,
                            .ios = r->ios,
                            .n_ios = RIG_IOS,
                            .read = board_read,
                            .write = board_write,
                            .accept = board_accept,
                            .settings = board_settings,
                            .io = board_io};
}

void rig_open(rig_t *r, uint32_t queue, uint32_t reply)
{
    rig_open_with(r, queue, reply, NULL, NULL);
}

void rig_open_with(rig_t *r, uint32_t queue, uint32_t reply, const tw_board_gpio_t *gpio, const tw_apps_t *apps)
{
    rig_board(r);
    r->board.gpio = gpio;
    const tw_engine_cfg_t cfg = {.port = &r->port,
                                 .board = &r->board,
                                 .queue_bytes = queue,
                                 .timed_bytes = queue,
                                 .reply_bytes = reply,
                                 .graph_bytes = RIG_GRAPH_BYTES,
                                 .shadow_bytes = RIG_SHADOW_BYTES,
                                 .trace_bytes = RIG_TRACE_BYTES,
                                 .apps = apps};
    const size_t need = (tw_engine_need(&cfg) + 63) & ~(size_t)63;
    r->mem = aligned_alloc(64, need);
    REQUIRE(r->mem != NULL && tw_engine_init(&r->engine, &cfg, r->mem, need) == TW_OK);
}

void rig_close(rig_t *r)
{
    free(r->mem);
    r->mem = NULL;
}

void rig_load(rig_t *r, const uint8_t *img, uint32_t bytes)
{
    tw_fault_t fault;
    const tw_err_t err = tw_engine_prime(r->engine, img, bytes, false, &fault);
    if (err != TW_OK) {
        fprintf(stderr, "rig: %s in section %u at %u\n", tw_err_name(err), (unsigned)fault.section, (unsigned)fault.at);
        abort();
    }
    REQUIRE(tw_engine_put_swap(r->engine, 0, true) == TW_OK);
    (void)tw_engine_publish(r->engine);
}

bool rig_reply(rig_t *r, uint32_t token, tw_engine_reply_t *out, uint8_t *data, uint32_t cap)
{
    bool found = false;
    tw_engine_reply_t x;
    while (tw_engine_reply(r->engine, &x)) {
        if (x.kind == TW_REPLY_DONE && x.token == token) {
            *out = x;
            REQUIRE(x.bytes <= cap || data == NULL);
            if (data != NULL) {
                memcpy(data, x.data, x.bytes);
            }
            out->data = data;
            found = true;
        }
        tw_engine_reply_done(r->engine);
    }
    return found;
}

unsigned rig_events(rig_t *r, tw_event_t kind, tw_engine_reply_t *last)
{
    unsigned n = 0;
    tw_engine_reply_t x;
    while (tw_engine_reply(r->engine, &x)) {
        if (x.kind == TW_REPLY_EVENT && x.event == (uint16_t)kind) {
            n++;
            if (last != NULL) {
                *last = x;
            }
        }
        tw_engine_reply_done(r->engine);
    }
    return n;
}

const tw_node_desc_t *rig_type(const char *full_name)
{
    const tw_node_desc_t *d = tw_node_find(tw_fnv1a(full_name));
    REQUIRE(d != NULL);
    return d;
}

void rig_chain_open(tw_ib_t *b)
{
    tw_ib_init(b);
    const uint32_t f = tw_ib_format(b, TW_RAW_S16, 1, RIG_SAMPLES, 16000.0f);
    const uint16_t in = (uint16_t)tw_ib_arc(b, TW_IB_IO, 0, 0, 0, f, f, RIG_FRAME);
    const uint16_t mid = (uint16_t)tw_ib_arc(b, 0, 1, 1, 0, f, f, RIG_FRAME);
    const uint16_t out = (uint16_t)tw_ib_arc(b, 1, 1, TW_IB_IO, 0, f, f, RIG_FRAME);
    tw_ib_io(b, 0, false, in, f);
    tw_ib_io(b, 4, true, out, f);
    tw_ib_node(b, rig_type("ARM/arm_stream_filter"), 1, 1, (uint16_t[]){in, mid});
    tw_ib_node(b, rig_type("ARM/arm_stream_amplifier"), 1, 1, (uint16_t[]){mid, out});
}

uint32_t rig_chain(tw_ib_t *b, uint8_t *out, uint32_t cap)
{
    rig_chain_open(b);
    return tw_ib_finish(b, out, cap);
}
