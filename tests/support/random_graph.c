#include "tests/support/random_graph.h"
#include "engine/base/crc.h"
#include "host_tools/scriptasm/scriptasm.h"
#include <stdlib.h>
#include <string.h>

enum { ENDS_MAX = 4 };

static const uint32_t samples[RG_SIZES] = {16, 8, 4, 12, 20, 32};

uint32_t rg_below(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)*seed * n >> 32);
}

typedef struct grown {
    tw_ib_t *ib;
    const rg_kind_t *kind;
    uint32_t *seed;
    uint32_t n, ports[RG_NODES_MAX];          /* ways out of each node */
    uint16_t arc[RG_NODES_MAX][1 + ENDS_MAX]; /* receive, then transmit */
    uint32_t number[RG_NODES_MAX];            /* index in the image */
    uint32_t samples[RG_NODES_MAX];           /* of a frame, both sides */
    uint32_t format[RG_SIZES];
} grown_t;

static void shuffle_numbers(grown_t *k)
{
    for (uint32_t i = 0; i < k->n; i++) {
        k->number[i] = i;
    }
    for (uint32_t i = k->n; i > 1; i--) {
        const uint32_t j = rg_below(k->seed, i), kept = k->number[i - 1];
        k->number[i - 1] = k->number[j];
        k->number[j] = kept;
    }
}

static uint16_t any_arc(const grown_t *k, uint32_t from, uint32_t port, uint32_t to, uint32_t out, uint32_t in)
{
    const uint32_t a = tw_ib_arc(k->ib, from, port, to, 0, k->format[out], k->format[in],
                                 2 * (samples[out] + samples[in] + rg_below(k->seed, 20)));
    tw_ib_arc_policy(k->ib, a, rg_below(k->seed, 3), rg_below(k->seed, 3));
    return (uint16_t)(a | (k->kind->hqos && rg_below(k->seed, 8) == 0 ? 1u << 13 : 0));
}

static const char *type_of(const grown_t *k, uint32_t ports)
{
    return ports > 1                   ? "ARM/arm_stream_split"
           : rg_below(k->seed, 2) != 0 ? "ARM/arm_stream_filter"
                                       : "ARM/arm_stream_amplifier";
}

/* Nodes 0..n-1; each hangs on an open end of one before it, what stays open goes to an IO. */
static void connect(grown_t *k)
{
    struct {
        uint32_t node, port;
    } open[RG_NODES_MAX * ENDS_MAX] = {{0}};
    uint32_t n_open = 0;
    const uint16_t first = any_arc(k, TW_IB_IO, 0, k->number[0], 0, k->samples[0]);
    k->arc[0][0] = first;
    tw_ib_io(k->ib, 0, false, first & 0xFFFu, k->format[0]);
    for (uint32_t i = 0; i < k->n; i++) {
        if (i > 0) {
            const uint32_t e = rg_below(k->seed, n_open), from = open[e].node, port = open[e].port;
            const uint16_t a = any_arc(k, k->number[from], port, k->number[i], k->samples[from], k->samples[i]);
            k->arc[from][port] = k->arc[i][0] = a;
            open[e] = open[--n_open];
        }
        const bool may_split = n_open + 1 + (k->n - i - 1 > 0) < ENDS_MAX;
        k->ports[i] = may_split && rg_below(k->seed, 4) == 0 ? 2 : 1;
        for (uint32_t p = 1; p <= k->ports[i]; p++) {
            open[n_open].node = i;
            open[n_open++].port = p;
        }
    }
    for (uint32_t e = 0; e < n_open; e++) {
        const uint32_t from = open[e].node;
        const uint16_t a = any_arc(k, k->number[from], open[e].port, TW_IB_IO, k->samples[from], k->samples[from]);
        k->arc[from][open[e].port] = a & 0xFFFu;
        tw_ib_io(k->ib, 4 + e, true, a & 0xFFFu, k->format[k->samples[from]]);
    }
}

static uint32_t add_script(tw_ib_t *ib, const char *text)
{
    static tw_asm_out_t out;
    uint16_t words[64];
    if (!tw_asm(text, strlen(text), &out)) {
        abort();
    }
    for (uint32_t i = 0; i < out.code_bytes / 2; i++) {
        words[i] = tw_get_le16(out.code + 2 * i);
    }
    return tw_ib_script(ib, words, out.code_bytes / 2, 2, 1, 0);
}

uint32_t rg_make(tw_ib_t *ib, uint8_t *img, uint32_t cap, const rg_kind_t *kind, uint32_t *seed)
{
    const uint32_t least = kind->least != 0 ? kind->least : 1;
    grown_t k = {.ib = ib, .kind = kind, .seed = seed, .n = least + rg_below(seed, kind->nodes - least + 1)};
    tw_ib_init(ib);
    ib->apart = kind->apart;
    ib->swap = kind->swap;
    for (uint32_t i = 0; i < RG_SIZES; i++) {
        k.format[i] = tw_ib_format(ib, TW_RAW_S16, 1, samples[i], 16000.0f);
    }
    for (uint32_t i = 0; i < k.n; i++) {
        k.samples[i] = rg_below(seed, kind->sizes);
    }
    shuffle_numbers(&k);
    connect(&k);
    const bool scripts = kind->scripts && rg_below(seed, 4) == 0;
    const uint32_t skips = scripts ? add_script(ib, "eqk r0 9\nret\n") : 0;
    for (uint32_t number = 0; number < k.n; number++) {
        uint32_t i = 0;
        while (k.number[i] != number) {
            i++;
        }
        tw_ib_node(ib, tw_node_find(tw_fnv1a(type_of(&k, k.ports[i]))), 1, k.ports[i], k.arc[i]);
        if (scripts && rg_below(seed, 8) == 0) {
            tw_ib_node_script(ib, number, skips);
        }
    }
    return tw_ib_finish(ib, img, cap);
}
