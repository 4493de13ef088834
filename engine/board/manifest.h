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
    unsigned len;       /* [bytes] of what is meant; 0: the word that stands there */
    bool warning;
    bool note;      /* belongs to the row before it */
    uint8_t origin; /* 1 + row of origins: how that text came to be read; 0: it was asked for */
    char text[240];
} tw_diag_t;

/** A text that another one brought in. */
typedef struct tw_diag_origin {
    const void *key; /* its name as the reader holds it: compared, never followed */
    char file[256];  /* where it was brought in */
    unsigned line, col;
    uint8_t origin; /* of that place, as in tw_diag_t */
    char text[80];  /* "included here" */
} tw_diag_origin_t;

/** Where diagnostics go; several may come from one run. */
typedef struct tw_diags {
    tw_diag_t rows[64];
    unsigned n, errors, warnings; /* n <= 64 kept, errors before warnings; the other two count all */
    bool strict;                  /* set by the caller: tags of IO manifests that have no row are errors */
    tw_diag_origin_t origins[48];
    unsigned n_origins;
} tw_diags_t;

#define TW_OPTIONS_MAX 64u
/** Option set "{idx v..}": values expanded, `def` = default entry (0-based), any = 1 when idx was 0. */
typedef struct tw_options {
    uint8_t n, def, any;
    double v[TW_OPTIONS_MAX];
} tw_options_t;

/** An option set a setting of the IO is chosen from. */
typedef struct tw_setting {
    const char *tag; /* of manifest_tags.def */
    uint8_t unit;    /* of the values, 0 none */
    uint8_t bits;    /* width in the settings word; 0: as many values as there are options */
    tw_options_t o;
} tw_setting_t;

typedef struct tw_io_manifest {
    char name[64];
    uint32_t hwid;
    uint8_t domain, direction, commander, proc_mask, clock_domain;
    float buffer_allocation;
    uint8_t raw, interleaving; /* raw: the default of raw_options */
    tw_options_t channels, frame_length, frame_duration_ms, rate_hz;
    tw_options_t raw_options, period_s, period_day, ts_format, ts_length;
    uint8_t unit;
    uint8_t units[4], n_units; /* of a sensor with several: accelerometer, gyroscope, magnetometer, heat */
    uint8_t power_mode;        /* at boot: 0 off, 1 run, 2 run with gated bias, 3 sleep */
    uint8_t position_unit;
    bool has_position, has_rescale;
    float position[3], euler_deg[3]; /* against the platform's reference */
    float accuracy;                  /* of the rate [%] */
    double analog_scale;             /* of a full-scale sample, in `unit`; 0 not said */
    double rescale, rescale_offset;  /* analog = rescale * (sample / full scale - offset) */
    uint32_t channel_mapping;        /* bits of tw_channel_names, 0 not said */
    uint8_t motion_format;           /* 1..7, 0 not said */
    /* every option set, in the text's order: what the settings words are made of */
    tw_setting_t settings[48];
    unsigned n_settings;
    /* tags this reader does not interpret, in order: visible over the wire and to back-ends */
    struct {
        char key[40];
        char value[160];
    } extra[48];
    unsigned n_extra;
    unsigned row_line; /* of the row that names it in the top manifest */
    char file[256];
} tw_io_manifest_t;

typedef struct tw_bank_manifest {
    uint8_t vid, id, speed, type, is_private, dma, prog;
    uint8_t proc; /* of a private bank: processor ID, 0 not said */
    uint8_t swap; /* VID it may be swapped to, 255 none */
    uint32_t bytes, offset;
    unsigned line; /* of its declaration */
} tw_bank_manifest_t;

typedef struct tw_processor_manifest {
    uint8_t id, arch, is_main; /* id from 1; arch from 1 */
    uint32_t services;
} tw_processor_manifest_t;

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
    uint8_t on_proc, on_arch; /* said by the top manifest: where it is installed, 0 everywhere */
    uint16_t type_id;         /* its number there, 0 none */
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
    tw_processor_manifest_t procs[32];
    unsigned n_procs;
    uint32_t bases[16];       /* physical address of each bank ID, for listings */
    uint16_t has_base;        /* bit per ID */
    uint8_t io_of_domain[32]; /* first generation: IO that serves a domain asked for, 0 none */
    uint32_t id;              /* CRC-32C of the canonical digital + IO manifest text */
} tw_platform_t;

/**
 * Read a top manifest and all it names.
 * @return true when there were no errors; false leaves *p empty. Diagnostics in *d either way.
 */
bool tw_platform_read(tw_platform_t *p, const char *path, tw_diags_t *d);
void tw_platform_free(tw_platform_t *p);

#define TW_SETTINGS_WORDS 3u
/**
 * Settings words of an IO: which option of each set is meant. Mixed radix, first set least significant, radix the
 * number of options (2^bits where the manifest says so); a set that does not fit a word's 32 bits begins the next.
 *
 * @param index  entry of each of io->settings, from 0; NULL: the defaults
 * @return TW_OK, TW_E_RANGE an index is beyond its options, TW_E_UNSUPPORTED the sets need more than 3 words
 */
tw_err_t tw_settings_pack(const tw_io_manifest_t *io, const uint8_t *index, uint32_t word[TW_SETTINGS_WORDS]);
/** The reverse. @return TW_E_RANGE when a word is none that pack makes; index[] is then undefined */
tw_err_t tw_settings_unpack(const tw_io_manifest_t *io, const uint32_t word[TW_SETTINGS_WORDS], uint8_t *index);
/** Words the sets fill, 0 when nothing can be chosen; more than TW_SETTINGS_WORDS: too many. */
unsigned tw_settings_words(const tw_io_manifest_t *io);
/** Index into io->settings of a tag ("io_analog_gain", "io_motion_averaging acc"), -1 when it has none. */
int tw_setting_find(const tw_io_manifest_t *io, const char *tag, size_t n);
/** Entry of a value in a set, -1 when it is not offered. */
int tw_option_find(const tw_options_t *o, double v);

/** Value of an uninterpreted IO tag ("io_backend"), or NULL. */
const char *tw_io_extra(const tw_io_manifest_t *io, const char *key);
