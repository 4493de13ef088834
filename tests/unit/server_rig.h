/* server_rig.h - a server with a real engine on the bench, clients in memory, time by hand. */
#pragma once
#include "server/server.h"
#include "tests/support/engine_rig.h"
#include "tests/support/wire_client.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define PB(type) tunewire_v1_##type##_fields

typedef struct bench {
    rig_t rig;
    tw_server_t *server;
    tw_server_cfg_t cfg;
    tw_phy_user_t user;
    void *mem;
    bool frozen; /* the engine does not tick */
    uint32_t ticks;
} bench_t;

static inline tw_server_cfg_t bench_cfg(void)
{
    return (tw_server_cfg_t){
        .name = "bench",
        .build = "test",
        .boot_id = 42,
        .max_frame = 1024,
        .window = 4096,
        .max_calls = 8,
        .max_sessions = 4,
        .out_bytes = 8192,
        .msg_bytes = 4096,
        .blob_bytes = 1 << 16,
        .probe_bytes = 4096,
        .max_subs = 4,
        .max_probes = 2,
        .trace_lines = 64,
        .capture_bytes = 4096,
        .txn_bytes = 1 << 16,
        .resume_ms = 1000,
        .open_role = TW_ROLE_ADMIN,
    };
}

static inline void bench_turn(void *ctx)
{
    bench_t *b = ctx;
    if (!b->frozen) {
        b->ticks += tw_engine_tick(b->rig.engine);
    }
    (void)tw_server_poll(b->server);
}

static inline void bench_open_cfg(bench_t *b, tw_server_cfg_t cfg)
{
    memset(b, 0, sizeof *b);
    rig_open(&b->rig, 1 << 16, 1 << 16);
    cfg.port = &b->rig.port;
    cfg.engine = b->rig.engine;
    b->cfg = cfg;
    const size_t need = (tw_server_need(&cfg) + 63) & ~(size_t)63;
    b->mem = aligned_alloc(64, need);
    memset(b->mem, 0xA5, need);
    assert_int_equal(tw_server_init(&b->server, &cfg, b->mem, need), TW_OK);
    b->user = tw_server_phy_user(b->server);
}

static inline void bench_open(bench_t *b)
{
    bench_open_cfg(b, bench_cfg());
}

static inline void bench_close(bench_t *b)
{
    free(b->mem);
    rig_close(&b->rig);
}

static inline void bench_later(bench_t *b, uint32_t ms)
{
    b->rig.us += (uint64_t)ms * 1000;
    bench_turn(b);
}

/** A connected client past hello. Heap: it is large. */
static inline wire_client_t *bench_client(bench_t *b)
{
    wire_client_t *w = malloc(sizeof *w);
    assert_true(wire_connect(w, &b->user, bench_turn, b));
    assert_true(wire_hello(w, 1024, 4096, NULL));
    return w;
}

static inline void bench_leave(wire_client_t *w)
{
    wire_break(w);
    free(w);
}

static inline int bench_load(wire_client_t *w, const uint8_t *img, uint32_t bytes, tunewire_v1_GraphInfo *info)
{
    tunewire_v1_GraphLoad q = tunewire_v1_GraphLoad_init_zero;
    q.blob = wire_blob(w, img, bytes);
    q.start = true;
    q.replace = true;
    assert_int_not_equal(q.blob, 0);
    return wire_call(w, TW_M_Graph_Load, PB(GraphLoad), &q, PB(GraphInfo), info);
}

static inline tw_ib_t *bench_ib(void)
{
    static tw_ib_t ib;
    return &ib;
}

/** filter -> amplifier with names, loaded and running. */
static inline uint32_t bench_image(uint8_t *img, uint32_t cap)
{
    tw_ib_t *ib = bench_ib();
    rig_chain_open(ib);
    tw_ib_symbol(ib, TW_SYM_NODE, 0, "eq");
    tw_ib_symbol(ib, TW_SYM_NODE, 1, "amp");
    tw_ib_symbol(ib, TW_SYM_ARC, 1, "mid");
    return tw_ib_finish(ib, img, cap);
}

static inline void bench_chain(wire_client_t *w)
{
    static uint8_t img[32768];
    tunewire_v1_GraphInfo info;
    assert_int_equal(bench_load(w, img, bench_image(img, sizeof img), &info), 0);
}

enum { AMP = 1, SLOPE = 1, GAIN = 2, GAIN_DB = 6, LEVEL_DB = 16 };

static inline tunewire_v1_ParamSet set_f32(uint32_t node, uint32_t index, float v)
{
    tunewire_v1_ParamSet q = tunewire_v1_ParamSet_init_zero;
    q.node = node;
    q.index = index;
    q.value.size = 4;
    tw_put_f32(q.value.bytes, v);
    return q;
}

static inline int param_set(wire_client_t *w, const tunewire_v1_ParamSet *q, tunewire_v1_ParamAck *ack)
{
    return wire_call(w, TW_M_Param_Set, PB(ParamSet), q, ack != NULL ? PB(ParamAck) : NULL, ack);
}

static inline float get_f32(wire_client_t *w, uint32_t node, uint32_t index)
{
    tunewire_v1_ParamGet q = tunewire_v1_ParamGet_init_zero;
    q.node = node;
    q.index = index;
    tunewire_v1_ParamValue v = tunewire_v1_ParamValue_init_zero;
    assert_int_equal(wire_call(w, TW_M_Param_Get, PB(ParamGet), &q, PB(ParamValue), &v), 0);
    assert_int_equal(v.value.size, 4);
    return tw_get_f32(v.value.bytes);
}

/** A counter of Session.Stats. */
static inline uint64_t bench_counter(wire_client_t *w, const char *name)
{
    const uint32_t id = wire_send(w, TW_M_Session_Stats, NULL, NULL);
    assert_int_equal(wire_wait(w, id), 0);
    const uint8_t *p = w->replies[id % 256].body, *end = p + w->replies[id % 256].len;
    while (p < end) {
        if (p[0] == (3 << 3 | 2)) {
            tunewire_v1_Counter m;
            assert_int_equal(tw_rpc_decode(p + 2, p[1], PB(Counter), &m), TW_OK);
            if (strcmp(m.name, name) == 0) {
                return m.value;
            }
            p += 2 + p[1];
        } else {
            for (p++; (*p & 0x80) != 0; p++) {}
            p++;
        }
    }
    fail_msg("no counter %s", name);
    return 0;
}
