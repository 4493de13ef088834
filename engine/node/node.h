/* node.h - what a node is to the scheduler, and how to write one.
 *
 * A node type is one row of nodes.def, one manifest text and one
 * node_<x>.c with one function: every command arrives there. A node sees its
 * own memory, the data of its arcs and a table of services; it knows no graph,
 * no clock, no wire, and allocates nothing.
 */
#pragma once
#include "engine/base/bytes.h"
#include "engine/base/config.h"
#include "engine/base/formats.h"

/* ---- commands (graph interpreter text "Node design"; graph commands 1..10) -- */
typedef enum tw_cmd {
    TW_CMD_RESET = 1,          /* data[0].ptr = tw_node_reset_t; [8] warm, [14:9] preset */
    TW_CMD_SET_PARAMETER = 2,  /* data[0] = new value, already validated; [23:15] tag */
    TW_CMD_READ_PARAMETER = 3, /* data[0] = room; on return bytes = value's size */
    TW_CMD_RUN = 4,            /* data[i]: arc i, receive arcs first */
    TW_CMD_STOP = 5,
    TW_CMD_UPDATE_RELOCATABLE = 9,
    TW_CMD_MEMREQ = 10, /* inst NULL; data: tw_node_memreq_t. UNSUPPORTED: what the descriptor says is asked for */
} tw_cmd_t;

/* A cold RESET clears memory and takes the preset's values; a SET before the first RUN is heard from the
 * first sample on, without ramps. A warm RESET also takes the preset's values, but keeps what the signal
 * left behind (filter states, noise floors, a running ramp) when block 0 still holds it for the same
 * format; otherwise it is a cold one. A warm RESET may find its lasting blocks copied from another instance: it
 * sets every pointer it keeps anew. */

/* The command word: [7:0] command, [8] warm, [14:9] preset, [23:15] tag, [31:24] trace id. */
#define TW_CMD_COMMAND 7, 0
#define TW_CMD_WARM 8, 8
#define TW_CMD_PRESET 14, 9
#define TW_CMD_TAG 23, 15
#define TW_CMD_TRACE 31, 24
#define TW_TAG_ALL 256u
/** Tag of a warm RESET in place of a node that ran: its memory was copied, and what its arcs hold, too. A frame that
 * was begun goes on; other RESETs forget it, for they empty the arcs. */
#define TW_RESET_GOES_ON 1u

/** Data of one arc, or of one parameter. */
typedef struct tw_xdm {
    void *ptr;      /* aligned to 4 */
    uint32_t bytes; /* RUN, receive arc: in available, out consumed;
                       RUN, transmit arc: in free, out produced */
} tw_xdm_t;

/** A stream format, decoded from the image's FORMAT record. */
typedef struct tw_format {
    uint32_t frame_bytes; /* whole multichannel frame */
    uint32_t samples;     /* per frame and channel */
    float rate_hz;        /* 0 asynchronous */
    uint8_t raw;          /* tw_raw_t */
    uint8_t channels;     /* 1..32 */
    uint8_t interleave;   /* 0 interleaved, 1 blocks of one channel each */
    uint8_t domain, unit, ts, ts_size;
#if !TW_SMALL
    float full_scale, offset;
    uint32_t mapping;
#endif
} tw_format_t;

struct tw_services;
/** What RESET hands over; valid only during the call, except `svc`, `mem`, `fmt`. */
typedef struct tw_node_reset {
    const struct tw_services *svc;
    void *mem[TW_MAX_NODE_MEM]; /* blocks as granted, [0] = instance */
    uint32_t mem_bytes[TW_MAX_NODE_MEM];
    const tw_format_t *fmt[TW_MAX_NODE_ARCS]; /* receive arcs (consumer format), then transmit
                                                 arcs (producer format) */
    uint8_t rx, tx;
    int16_t script; /* id of the node's script, -1 none */
    uint16_t hqos;  /* bit i: fmt[i]'s arc is one of high quality of service */
    uint16_t lock;  /* bit i: its arc is a lock and carries nothing */
} tw_node_reset_t;

/** state values a RUN may leave */
enum { TW_NODE_DONE = 0, TW_NODE_RERUN = 1 };

/**
 * The one entry of a node type.
 * @param cmd    command word
 * @param inst   memory block 0
 * @param data   see tw_cmd_t
 * @param state  out, RUN only: TW_NODE_DONE or TW_NODE_RERUN
 * @return 0, or the positive number of a tw_err_t. SET_PARAMETER and RESET may not fail for
 *         values tw_node_desc_t.validate has accepted.
 */
typedef uint32_t (*tw_node_fn)(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state);

/* ---- parameters ---------------------------------------------------------- */
enum {
    TW_PARAM_READ_ONLY = 1,
    TW_PARAM_SMOOTHED = 2,   /* audible; the node ramps */
    TW_PARAM_NOT_IN_ALL = 4, /* not part of the index-256 block */
};

/** Ranges. Without FP32 streams every parameter is an integer, and an integer is compared in a tenth of the code. */
#if TW_NODE_FP32
typedef double tw_param_number_t, tw_param_limit_t;
#else
typedef int32_t tw_param_number_t;
typedef int16_t tw_param_limit_t;
#endif

#if TW_NODE_TEXTS
typedef uint16_t tw_param_count_t;
#else
typedef uint8_t tw_param_count_t;
#endif

/** One parameter, as the host sees it. Values travel little endian, `count` elements packed. */
typedef struct tw_param_desc {
    uint8_t index;          /* 0..255; index 256 on the wire = all without TW_PARAM_NOT_IN_ALL, in table
                               order, each packed without padding */
    uint8_t raw;            /* tw_raw_t of one element */
    tw_param_count_t count; /* elements */
#if TW_NODE_TEXTS
    uint8_t unit; /* units.def */
#endif
    uint8_t flags;
    tw_param_limit_t min, max; /* of each element, inclusive */
#if TW_NODE_TEXTS
    double dflt;
    const char *name; /* [a-z0-9_], at most 31 */
    double step;      /* from one value to the next, 0 continuous */
#endif
} tw_param_desc_t;

/** A row of a parameter table in the order of its fields, and what a descriptor begins with; the profile leaves out
 * what it has no use for. */
#if TW_NODE_TEXTS
#define TW_PARAM(index, raw, count, unit, flags, min, max, dflt, name, step) \
    {                                                                        \
        index, raw, count, unit, flags, min, max, dflt, name, step           \
    }
#define TW_NODE_ID(developer_, name_, hash_) .developer = developer_, .name = name_, .hash = hash_
#else
#define TW_PARAM(index, raw, count, unit, flags, min, max, dflt, name, step) \
    {                                                                        \
        index, raw, count, flags, min, max                                   \
    }
#define TW_NODE_ID(developer_, name_, hash_) .hash = hash_
#endif

/** bytes = a + b*channels(arc) + c*rate_hz(arc) + d*frame_bytes(arc) + E of the graph. */
typedef struct tw_mem_req {
    uint32_t a;
#if TW_NODE_FP32
    float b, c, d;
    uint8_t b_arc, c_arc, d_arc;
#else
    uint32_t b;
    uint8_t b_arc;
#endif
    uint8_t align; /* [bytes], power of two */
    uint8_t type;  /* 0 static, 1 working, 3 backed up: zeros after a cold start, else what the node left there, over
                      a loss of power too. The node never clears it, and looks before it uses what it finds: it may
                      come from outside */
    uint8_t speed;
} tw_mem_req_t;

#if TW_COMPACT_RECORDS
/** A request of STREAM_MEMREQ (S1:L124,640). */
typedef struct tw_mem_ask {
    uint32_t bytes; /* 0 ends the list */
    uint32_t align; /* power of two */
} tw_mem_ask_t;
/** What a node whose memory is granted at load gets and gives: formats in, requests out, block 0 first. The list comes
 *  filled with what the descriptor's formulas give. */
typedef struct tw_node_memreq {
    const tw_format_t *fmt[TW_MAX_NODE_ARCS]; /* receive arcs, then transmit arcs */
    uint8_t rx, tx;
    tw_mem_ask_t ask[TW_MAX_NODE_MEM + 1];
} tw_node_memreq_t;
#endif

/** Everything the loader, the tools and the wire know about a node type. */
typedef struct tw_node_desc {
#if TW_NODE_TEXTS
    const char *developer, *name;
#endif
    uint32_t hash;    /* FNV-1a-32 of "developer/name" */
    uint16_t version; /* major << 8 | minor */
    uint8_t rx_min, rx_max, tx_min, tx_max;
    uint64_t raw_mask; /* bit per tw_raw_t a stream arc may carry */
    uint32_t services; /* services needed */
    uint8_t n_mem;
    tw_mem_req_t mem[TW_MAX_NODE_MEM];
    tw_node_fn run;
    /**
     * Parameter table for streams of this format (an S16 filter has other types than an FP32
     * one). @return table, or NULL when there are none; *n its length.
     */
    const tw_param_desc_t *(*params)(const tw_format_t *fmt, uint32_t *n);
    /**
     * Second look after type, size and range held for each element: relations between elements
     * (stable poles). May be NULL. @param tag 0..255 or 256. @return TW_OK or the refusal,
     * with fault->at = the parameter index to look at. Changes nothing.
     *
     * It sees this value alone. Where several parameters must agree (the filter's post_shift and its
     * coefficients), validate refuses what no partner could save; the rest is decided by the first RUN
     * after the SETs, on all values together: it takes them all, or puts all of them back and returns
     * the error, having processed its data with the old ones.
     */
    tw_err_t (*validate)(const tw_format_t *fmt, uint32_t tag, const uint8_t *value, uint32_t bytes, tw_fault_t *fault);
    /**
     * What only the formats together can say, and a formula of each cannot (a resampler's filter, frames put
     * together anew); NULL when there is nothing. The loader and the compiler ask it, so that a refusal is known
     * before the graph is loaded.
     * @param fmt    receive arcs, then transmit arcs, as RESET will hand them over
     * @param extra  out, zeros before: [bytes] each memory block needs beyond its formula
     * @param arc    out: the arc to look at when refused
     * @return TW_OK, or what RESET would refuse: IMG_RAW, IMG_FORMAT, IMG_ARC_FORMAT
     */
    tw_err_t (*memreq)(const tw_format_t *const *fmt, uint32_t rx, uint32_t tx, uint32_t *extra, uint32_t *arc);
    uint64_t presets; /* bit p: preset p exists */
    /** True for a type that makes up for missing input itself: beside its high QoS arcs it gets what there is, perhaps
     *  nothing, and the scheduler conceals nothing. */
    bool conceals;
    /** 1: with one arc in and one out, of equal frames, both may be one buffer: RUN gets one pointer twice and takes
     *  as many bytes as it gives, each sample read before its place is written. */
    uint8_t in_place;
} tw_node_desc_t;

/** The installed node types, in nodes.def order (index = catalogue entry). */
const tw_node_desc_t *const *tw_node_catalogue(uint32_t *n);
#if TW_NODE_TEXTS
/** The catalogue in the order of its names, which images with compact records number types in. */
enum { TW_NODE_TYPES_MAX = 96 };
typedef struct tw_node_order {
    uint32_t id; /* CRC-32C of a line "developer/name/major" and a line feed for each type, in order */
    uint32_t n;
    uint8_t row[TW_NODE_TYPES_MAX]; /* of tw_node_catalogue() */
} tw_node_order_t;
void tw_node_order(tw_node_order_t *order);
/** Entry of an order, or NULL. */
const tw_node_desc_t *tw_node_entry(const tw_node_order_t *order, uint32_t entry);
#endif
/** Node type by hash, or NULL. */
const tw_node_desc_t *tw_node_find(uint32_t hash);

/**
 * Check one value against the node type's table: index, type, size, range of each element, then
 * `validate`. `type` 0 = not given; S16 and Q15 are one type here. A value for index 256 may end early
 * at the end of any parameter: the following ones keep what they have (of a type whose parameters are a list, the
 * block is the whole list, and its head says so).
 * @return TW_OK or PARAM_INDEX, PARAM_TYPE, PARAM_SIZE, PARAM_RANGE (NaN included),
 *         PARAM_READ_ONLY, PARAM_UNSTABLE; fault->at = parameter index. Changes nothing.
 */
tw_err_t tw_param_check(const tw_node_desc_t *d, const tw_format_t *fmt, uint32_t index, uint32_t type,
                        const uint8_t *value, uint32_t bytes, tw_fault_t *fault);
/** Bytes of parameter `index` (256 = all), or 0 when there is none. */
uint32_t tw_param_bytes(const tw_node_desc_t *d, const tw_format_t *fmt, uint32_t index);

/* ---- flow control: what a node may ask of the scheduler of its graph -------------------------------------
 * Of graph_control.c, for node_graph_control.c. "Next nodes" stand behind the calling node in the graph's list: `first`
 * 1 is the one right behind it. Engine thread, inside the RUN of the calling node. */
typedef enum tw_flow {
    TW_FLOW_NONE = 0,
    TW_FLOW_LOCK = 1,   /* they follow one another on the processor that runs the calling node, nothing else between */
    TW_FLOW_BYPASS = 2, /* they are not called: what comes in at one arc goes out at the other, when both have one
                           format; a node of other arcs rests as with SKIP */
    TW_FLOW_SKIP = 3,   /* they do not run: their input waits, and its arcs' policies act */
} tw_flow_t;

/** One parameter to be SET, index 256 for all. */
typedef struct tw_steer_set {
    uint32_t node, tag, bytes;
    const uint8_t *value;
} tw_steer_set_t;

enum { TW_USE_CASES = 32 };
typedef struct tw_steer {
    /**
     * Put `count` next nodes under `op` until the calling node says otherwise for this `slot` (0 or 1) or the graph is
     * RESET. Several callers on one node: it is skipped when one of them says so, else bypassed when one says so.
     * @return TW_OK; PARAM_MATCH: not that many nodes; BUSY: more than TW_MAX_FLOWS at once; nothing changed then
     */
    tw_err_t (*flow)(void *ctx, uint32_t slot, tw_flow_t op, uint32_t first, uint32_t count);
    /**
     * Run the next nodes now, in order, each that is ready; again and again until nothing moves, `times` at most.
     * They still have their turn in this block.
     * @return TW_OK, PARAM_MATCH; BUSY: inside such a loop
     */
    tw_err_t (*loop)(void *ctx, uint32_t count, uint32_t times);
    /** Use case of the graph, 0 after a cold RESET; `change` >= 0 makes it that one. @return the one in force */
    uint32_t (*use_case)(void *ctx, int32_t change);
    /** All of them or none. @return TW_OK or the first refusal; *bad = which, fault->at as of tw_param_check() */
    tw_err_t (*set)(void *ctx, const tw_steer_set_t *sets, uint32_t n, uint32_t *bad, tw_fault_t *fault);
    /** @param bytes  in: room, out: the value's. @return TW_OK, PARAM_NODE, PARAM_INDEX, PARAM_SIZE */
    tw_err_t (*get)(void *ctx, uint32_t node, uint32_t tag, uint8_t *value, uint32_t *bytes);
    /** Behind this block: 0 a warm RESET of the graph, 1 a cold one; 2..255 told to the application as an event. */
    void (*reload)(void *ctx, uint32_t kind);
} tw_steer_t;

/* ---- networks: what a platform's inference backends offer to node_infer.c ----------------------------------- */
enum { TW_INFER_TENSORS = 4 };
typedef struct tw_infer_tensor {
    uint32_t bytes;
    uint8_t raw; /* S8, U8, S16 or FP32 */
    float scale; /* real = scale * (q - zero); 0: numbers are real as they are */
    int32_t zero;
} tw_infer_tensor_t;
typedef struct tw_infer_model {
    uint8_t n_in, n_out; /* at most TW_INFER_TENSORS each */
    tw_infer_tensor_t in[TW_INFER_TENSORS], out[TW_INFER_TENSORS];
    uint32_t arena_bytes; /* work memory a run needs */
} tw_infer_model_t;
typedef enum tw_infer_state { TW_INFER_RUNNING, TW_INFER_DONE, TW_INFER_FAILED } tw_infer_state_t;

/** One run: tensors and arena stay where they are, and untouched by the node, until it is done, failed or cancelled. */
typedef struct tw_infer_job {
    uint32_t slot;
    uint32_t backend; /* 0 the fastest there is, 1 a processor, 2 an accelerator */
    const void *in[TW_INFER_TENSORS];
    void *out[TW_INFER_TENSORS];
    void *arena; /* aligned to 16 */
    uint32_t arena_bytes;
} tw_infer_job_t;

/** Engine thread; nothing here blocks. */
typedef struct tw_infer {
    void *ctx;
    uint32_t (*n_models)(void *ctx);
    /** @return TW_OK, or NOT_FOUND-like: any error, the slot holds no model */
    tw_err_t (*describe)(void *ctx, uint32_t slot, tw_infer_model_t *m);
    /** @return TW_OK and *handle; BUSY: try again later; else it cannot be run */
    tw_err_t (*start)(void *ctx, const tw_infer_job_t *job, uint32_t *handle);
    tw_infer_state_t (*poll)(void *ctx, uint32_t handle);
    /** On return the backend touches nothing of the job any more. */
    void (*cancel)(void *ctx, uint32_t handle);
} tw_infer_t;

/* ---- services offered to nodes (platform table) -------------------------- */
typedef struct tw_services {
    void *ctx;
    uint32_t mask; /* bit-field of service groups present */
    /** Direct form 1 cascades, in place allowed. state: 4 values a stage and channel. See kernels.h. */
    void (*biquad_q15)(const int16_t *coef5, unsigned stages, int post_shift, int16_t *state, const int16_t *in,
                       int16_t *out, uint32_t n);
    void (*biquad_f32)(const float *coef5, unsigned stages, float *state, const float *in, float *out, uint32_t n);
    /** Run script node `script` with phase 1 (RUN) or 0 (RESET); script nodes only. */
    uint32_t (*run_script)(void *ctx, uint32_t script, uint32_t phase);
    const struct tw_library *lib; /* math, transforms, conversion, audio: services.h */
    /** As biquad_f32 for `channels` interleaved ones, n samples each; channel c has its state at state + c * apart. */
    void (*biquad_f32_channels)(const float *coef5, unsigned stages, float *state, uint32_t apart, const float *in,
                                float *out, uint32_t n, uint32_t channels);
    const struct tw_port *port; /* whose clock lib's time functions read; NULL none */
    const tw_steer_t *control;  /* of the graph, with `ctx`; NULL none */
    const tw_infer_t *infer;    /* networks of the platform, NULL none */
    const uint64_t *tick;       /* number of the block, NULL none */
} tw_services_t;
