/* manifest.h - platform, IO and node manifests: text files to tables. Host only.
 *
 * The compiler and the Linux server read the same files through this reader, so
 * both derive the same platform id. Tags and defaults: docs/GRAPH_LANGUAGE.md.
 */
#pragma once
#include "engine/base/formats.h"

typedef struct tw_diag {
    char file[256];
    unsigned line, col; /* 1-based, 0 = whole file */
    bool warning;
    bool note; /* belongs to the row before it */
    char text[240];
} tw_diag_t;

/** Where diagnostics go; several may come from one run. */
typedef struct tw_diags {
    tw_diag_t rows[64];
    unsigned n, errors; /* n <= 64 kept; errors counts all */
} tw_diags_t;

#define TW_OPTIONS_MAX 64u
/** Option set "{idx v..}": values expanded, `def` = default entry (0-based), any = 1 when idx was 0. */
typedef struct tw_options {
    uint8_t n, def, any;
    double v[TW_OPTIONS_MAX];
} tw_options_t;

typedef struct tw_io_manifest {
    char name[64];
    uint32_t hwid;
    uint8_t domain, direction, commander, proc_mask, clock_domain;
    float buffer_allocation;
    uint8_t raw, interleaving;
    tw_options_t channels, frame_length, frame_duration_ms, rate_hz;
    uint8_t unit;
    /* tags this reader does not interpret, in order: visible over the wire and to back-ends */
    struct {
        char key[40];
        char value[160];
    } extra[24];
    unsigned n_extra;
    char file[256];
} tw_io_manifest_t;

typedef struct tw_bank_manifest {
    uint8_t vid, id, speed, type, is_private, dma, prog;
    uint32_t bytes, offset;
} tw_bank_manifest_t;

/** bytes = A + B channels + C rate + D frame bytes + E node_malloc_E, rounded up to `align` */
typedef struct tw_node_mem_manifest {
    double a, b, c, d, e; /* e is 1 unless the manifest scales node_malloc_E */
    uint8_t b_arc, c_arc, d_arc;
    uint8_t align, type, speed, reloc, prog; /* align [bytes]; type 0 static 1 working 2 pseudo 3 backup */
} tw_node_mem_manifest_t;

typedef struct tw_node_arc_manifest {
    uint8_t set, tx, interleaving, time_stamp;
    uint8_t in_place; /* of a transmit arc: 1 + the receive arc whose buffer it may share; 0 none */
    float accuracy;   /* of the rate [%] */
    tw_options_t channels, raw, rate_hz, frame_length;
    tw_options_t frame_duration_ms, period_s, period_day; /* other ways to say length and rate */
} tw_node_arc_manifest_t;

typedef struct tw_node_manifest {
    char developer[32], name[64];
    char short_name[5];     /* for traces */
    uint8_t rx, tx;         /* node_nb_arcs */
    uint8_t rx_min, tx_min; /* arcs that must be connected; the last of each kind may stay away */
    uint8_t arc_parameters; /* further receive arcs that carry huge parameters */
    uint8_t same_rate, steady, push_format, arch, use_key, use_dtcm, fpu;
    uint8_t unit;             /* it computes in, 0 any */
    uint8_t presets;          /* it has, at most 64 */
    uint8_t reset_after_load; /* 1: a RESET must follow new parameters */
    uint8_t position_independent;
    uint16_t version;        /* major << 8 | minor; text "101" = 1.01 */
    uint16_t stream_version; /* of the scheduler it was made for, the same way; major 0: not said */
    uint32_t developer_id;   /* 21 bits, 0 none */
    uint32_t preset_bytes;
    uint32_t services;
    tw_node_mem_manifest_t mem[6];
    unsigned n_mem;
    tw_node_arc_manifest_t arcs[16];
    char file[256];
} tw_node_manifest_t;

typedef struct tw_platform {
    char path[256]; /* of the top manifest */
    tw_io_manifest_t *ios;
    unsigned n_ios;
    tw_bank_manifest_t banks[16];
    unsigned n_banks;
    tw_node_manifest_t *nodes;
    unsigned n_nodes;
    uint32_t processors; /* bit (procID - 1) */
    uint32_t services;   /* of the main processor */
    uint32_t id;         /* CRC-32C of the canonical digital + IO manifest text */
} tw_platform_t;

/**
 * Read a top manifest and all it names.
 * @return true when there were no errors; false leaves *p empty. Diagnostics in *d either way.
 */
bool tw_platform_read(tw_platform_t *p, const char *path, tw_diags_t *d);
void tw_platform_free(tw_platform_t *p);
/** Value of an uninterpreted IO tag ("io_backend"), or NULL. */
const char *tw_io_extra(const tw_io_manifest_t *io, const char *key);
