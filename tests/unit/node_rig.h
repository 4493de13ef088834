/* node_rig.h - one node on the bench: memory exactly as its formulas ask, so that the address sanitizer
 * sees every byte too far, and the commands an engine would give. */
#pragma once
#include "engine/base/crc.h"
#include "engine/node/kernels.h"
#include "engine/node/node.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct rig {
    const tw_node_desc_t *d;
    tw_format_t fmt[TW_MAX_NODE_ARCS];
    tw_services_t svc;
    tw_node_reset_t reset;
} rig_t;

static inline tw_format_t rig_format(tw_raw_t raw, unsigned channels, unsigned interleave, uint32_t samples)
{
    return (tw_format_t){
        .frame_bytes = (samples * channels * tw_raw_bits(raw) + 7) / 8,
        .samples = samples,
        .rate_hz = 16000,
        .raw = (uint8_t)raw,
        .channels = (uint8_t)channels,
        .interleave = (uint8_t)interleave,
    };
}

static inline uint32_t rig_command(rig_t *g, uint32_t cmd, uint32_t tag, tw_xdm_t *data)
{
    uint32_t state = 0;
    return g->d->run(cmd | tag << 15, g->reset.mem[0], data, &state);
}

static inline uint32_t rig_reset(rig_t *g, bool warm, uint32_t preset)
{
    for (unsigned i = 0; i < g->d->n_mem && !warm; i++) {
        if (g->d->mem[i].type == 3) { /* what is backed up is cleared by the engine */
            memset(g->reset.mem[i], 0, g->reset.mem_bytes[i]);
        }
    }
    tw_xdm_t data = {.ptr = &g->reset, .bytes = sizeof g->reset};
    return rig_command(g, TW_CMD_RESET | (uint32_t)warm << 8 | preset << 9, 0, &data);
}

static inline const tw_node_desc_t *rig_type(const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "ARM/arm_stream_%s", name);
    const tw_node_desc_t *d = tw_node_find(tw_fnv1a(full));
    assert_non_null(d);
    return d;
}

/* Everything but the RESET. Memory is dirty, as it may be on a device. All receive arcs have one format, all transmit
 * arcs one. */
static inline void rig_prepare_arcs(rig_t *g, const char *name, tw_format_t in, tw_format_t out, uint8_t rx, uint8_t tx)
{
    *g = (rig_t){.d = rig_type(name), .fmt = {in}};
    tw_services_default(&g->svc);
    g->reset = (tw_node_reset_t){.svc = &g->svc, .rx = rx, .tx = tx, .script = -1};
    for (unsigned i = 0; i < TW_MAX_NODE_ARCS; i++) {
        g->fmt[i] = i < rx || rx == 0 ? in : out;
        g->reset.fmt[i] = &g->fmt[i];
    }
    uint32_t extra[TW_MAX_NODE_MEM] = {0}, arc = 0;
    if (g->d->memreq != NULL) { /* what it refuses, RESET refuses too: the test decides */
        (void)g->d->memreq(g->reset.fmt, g->reset.rx, g->reset.tx, extra, &arc);
    }
    for (unsigned i = 0; i < g->d->n_mem; i++) {
        const tw_mem_req_t *m = &g->d->mem[i];
        assert_true(m->c == 0 && m->d == 0);
        g->reset.mem_bytes[i] = m->a + (uint32_t)(m->b * (float)g->fmt[m->b_arc].channels) + extra[i];
        g->reset.mem[i] = malloc(g->reset.mem_bytes[i]);
        memset(g->reset.mem[i], 0xA5, g->reset.mem_bytes[i]);
    }
}

/** One receive arc where the type has any. */
static inline void rig_prepare_n(rig_t *g, const char *name, tw_format_t in, tw_format_t out, uint8_t tx)
{
    rig_prepare_arcs(g, name, in, out, rig_type(name)->rx_max != 0, tx);
}

/** As many transmit arcs as a type for one receive arc may have: all of a split's, one of a router's. */
static inline void rig_prepare(rig_t *g, const char *name, tw_format_t in, tw_format_t out)
{
    const tw_node_desc_t *d = rig_type(name);
    rig_prepare_n(g, name, in, out, d->rx_max > 1 ? 1 : d->tx_max);
}

static inline void rig_open(rig_t *g, const char *name, tw_format_t in, tw_format_t out, uint32_t preset)
{
    rig_prepare(g, name, in, out);
    assert_int_equal(rig_reset(g, false, preset), 0);
}

static inline void rig_close(rig_t *g)
{
    for (unsigned i = 0; i < g->d->n_mem; i++) {
        free(g->reset.mem[i]);
    }
}

/** A SET as the wire brings it: checked, then given to the node. @return the check's answer */
static inline tw_err_t rig_set(rig_t *g, uint32_t index, const void *value, uint32_t bytes)
{
    tw_fault_t fault = {0};
    const tw_err_t err = tw_param_check(g->d, &g->fmt[0], index, 0, value, bytes, &fault);
    if (err == TW_OK) {
        uint8_t copy[2048];
        memcpy(copy, value, bytes);
        tw_xdm_t data = {copy, bytes};
        assert_int_equal(rig_command(g, TW_CMD_SET_PARAMETER, index, &data), 0);
    }
    return err;
}

static inline tw_err_t rig_set_u8(rig_t *g, uint32_t index, uint8_t v)
{
    return rig_set(g, index, &v, 1);
}

static inline tw_err_t rig_set_u16(rig_t *g, uint32_t index, uint16_t v)
{
    return rig_set(g, index, (uint8_t[]){(uint8_t)v, (uint8_t)(v >> 8)}, 2);
}

static inline tw_err_t rig_set_f32(rig_t *g, uint32_t index, float v)
{
    uint8_t wire[4];
    tw_put_f32(wire, v);
    return rig_set(g, index, wire, 4);
}

/** @return bytes read */
static inline uint32_t rig_get(rig_t *g, uint32_t index, void *value, uint32_t room)
{
    tw_xdm_t data = {value, room};
    assert_int_equal(rig_command(g, TW_CMD_READ_PARAMETER, index, &data), 0);
    return data.bytes;
}

static inline float rig_get_f32(rig_t *g, uint32_t index)
{
    uint8_t wire[4];
    assert_int_equal(rig_get(g, index, wire, 4), 4);
    return tw_get_f32(wire);
}

/** RUN; all of both sides must be used. @return the node's error number */
static inline uint32_t rig_run(rig_t *g, const void *in, uint32_t in_bytes, void *out, uint32_t out_bytes)
{
    tw_xdm_t data[2] = {{(void *)(uintptr_t)in, in_bytes}, {out, out_bytes}};
    const uint32_t err = rig_command(g, TW_CMD_RUN, 0, data);
    assert_int_equal(data[0].bytes, in_bytes);
    assert_int_equal(data[1].bytes, out_bytes);
    return err;
}

/* xorshift: tests need noise, not randomness */
static inline uint32_t rig_noise(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}
