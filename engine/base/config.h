/* config.h - compile-time limits; a board overrides any of them with -D.
 *
 * Defaults are the embedded ones: what the host adds comes from the memory it
 * passes at init, not from other limits, so both run the same paths.
 */
#pragma once

/* ---- the small profile ------------------------------------------------------
 * -DTW_SMALL=1 is for devices with a kilobyte of RAM that run one graph from flash by engine/graph/graph_compact.h: no
 * wire, no scripts. It sets the switches below, each of which can be chosen alone. What is left out is refused by the
 * loader, with the code of the thing that is missing. Verified is everything else, by the same sources: the one
 * exception are symbols and parameter metadata, which are skipped unread as any extension nobody here uses.
 *
 * Node types: -D'TW_NODES=TW_NODE_ROW(filter) TW_NODE_ROW(detector)' links these rows of nodes.def alone. */
#ifndef TW_SMALL
#define TW_SMALL 0
#endif
#ifndef TW_SCRIPTS
#define TW_SCRIPTS (!TW_SMALL) /* 0: images with scripts are refused (IMG_SCRIPT) */
#endif
#ifndef TW_SCRIPT_DEBUG
#define TW_SCRIPT_DEBUG TW_SCRIPTS /* 0: no debugger of scripts, no trace of their instructions */
#endif
#ifndef TW_EXTENSIONS
#define TW_EXTENSIONS (!TW_SMALL) /* 0: symbols and metadata are skipped unread, memory fills refused (IMG_INIT) */
#endif
#ifndef TW_ALIGNED_IMAGES
#define TW_ALIGNED_IMAGES \
    TW_SMALL /* 1: image words are loaded as words: little-endian, fields from the lowest bit on */
#endif
#ifndef TW_NODE_FP32
#define TW_NODE_FP32 (!TW_SMALL) /* 0: nodes take 16-bit streams alone, others are refused (IMG_RAW) */
#endif
#ifndef TW_MAX_CHANNELS
#define TW_MAX_CHANNELS (TW_SMALL ? 1u : 32u) /* of a stream that nodes compute on; more are refused (IMG_FORMAT) */
#endif
#ifndef TW_NODE_TEXTS
#define TW_NODE_TEXTS (!TW_SMALL) /* 0: descriptors without names, defaults and steps: nobody asks for them */
#endif
#ifndef TW_NODE_READ
#define TW_NODE_READ (!TW_SMALL) /* 0: READ_PARAMETER answers UNSUPPORTED */
#endif
#ifndef TW_FILTER_DELAY
#define TW_FILTER_DELAY (TW_SMALL ? 0 : 32) /* longest delay of the filter node [samples]; RAM of each channel */
#endif

/* base */
#ifndef TW_CRC_SMALL
#define TW_CRC_SMALL TW_SMALL /* 1: CRC-16 by a table of 32 bytes instead of 1024 */
#endif

/* protocol/server */
#ifndef TW_MAX_FRAME
#define TW_MAX_FRAME 1024u /* header + payload [bytes], negotiated down to 256 */
#endif
#define TW_MAX_FRAME_FLOOR 256u /* valid before Hello */
#ifndef TW_MAX_CALLS
#define TW_MAX_CALLS 64u /* outstanding calls of a session */
#endif
#ifndef TW_MAX_SESSIONS
#define TW_MAX_SESSIONS 16u
#endif
#ifndef TW_MAX_SUBS
#define TW_MAX_SUBS 64u /* arc subscriptions, all sessions */
#endif
#ifndef TW_MAX_PROBES
#define TW_MAX_PROBES 16u /* armed at a time, all sessions */
#endif
#ifndef TW_MAX_BLOBS
#define TW_MAX_BLOBS 8u
#endif
#define TW_INLINE_VALUE_MAX 512u /* ParamSet.value and friends [bytes] */

/* engine */
#ifndef TW_MAX_SHADOWS
#define TW_MAX_SHADOWS 4u /* doubles of nodes at a time */
#endif
#ifndef TW_MAX_NODE_ARCS
#define TW_MAX_NODE_ARCS (TW_SMALL ? 4u : 16u)
#endif
#ifndef TW_MAX_NODE_MEM
#define TW_MAX_NODE_MEM (TW_SMALL ? 2u : 6u)
#endif
#ifndef TW_MAX_IOS
#define TW_MAX_IOS 32u
#endif
#ifndef TW_STATE_MAX
#define TW_STATE_MAX 65536u /* memory of a graph that is backed up [bytes] */
#endif
#ifndef TW_MULTIPROCESSOR
#define TW_MULTIPROCESSOR (!TW_SMALL) /* 0: one instance runs a graph: arcs are smaller, IMG_MP */
#endif
#ifndef TW_MAX_INSTANCES
#define TW_MAX_INSTANCES 8u /* that share a graph */
#endif
#ifndef TW_HOT_ALIGN
#define TW_HOT_ALIGN 64u /* of the records the scheduler reads: a cache line; 8 where there is no cache */
#endif
#ifndef TW_COMPACT_RECORDS
#define TW_COMPACT_RECORDS (!TW_SMALL) /* 0: compact node records and memory asked at load are refused (IMG_NODE) */
#endif
#ifndef TW_WIDE_IMAGES
#define TW_WIDE_IMAGES (!TW_SMALL) /* 0: no image of more than 4095 nodes or 4096 arcs */
#endif
#ifndef TW_MAX_RERUNS
#define TW_MAX_RERUNS 4u
#endif
#ifndef TW_SCRIPT_BUDGET
#define TW_SCRIPT_BUDGET 256u /* instructions a call unless the image asks for more */
#endif
#ifndef TW_SCRIPT_BUDGET_MAX
#define TW_SCRIPT_BUDGET_MAX 65536u /* what an image or a caller may ask for */
#endif
#ifndef TW_SCRIPT_WIDE
#define TW_SCRIPT_WIDE 1 /* 0: no int64, uint64 and fp64; scripts with them are refused, arguments arrive as int32 */
#endif
#ifndef TW_SCRIPT_FLOAT
#define TW_SCRIPT_FLOAT 1 /* 0: no fp16, fp32 and fp64; scripts with them are refused */
#endif
#ifndef TW_SCRIPT_SHORT
#define TW_SCRIPT_SHORT (!TW_SMALL) /* 0: no short way for what scripts do most; less code, several times slower */
#endif
#ifndef TW_SCRIPT_LIVE_BYTES
#define TW_SCRIPT_LIVE_BYTES 512u /* RAM kept per script for live replacement; 0 = none */
#endif
#ifndef TW_SCRIPT_FAST
#define TW_SCRIPT_FAST (!TW_SMALL && TW_SCRIPT_WIDE) /* 0: the compact machine alone, no RAM for operations */
#endif
#ifndef TW_SCRIPT_FAST_LIVE
#define TW_SCRIPT_FAST_LIVE (16u * TW_SCRIPT_LIVE_BYTES) /* RAM kept per script for operations of a replacement */
#endif
#ifndef TW_SCRIPT_TIMERS
#define TW_SCRIPT_TIMERS 8u /* of the scripts of a graph, one each at most */
#endif
#ifndef TW_SCRIPT_NPU_RUNS
#define TW_SCRIPT_NPU_RUNS 4u /* networks that the scripts of a graph run at a time */
#endif
#ifndef TW_SCRIPT_NPU_BYTES
#define TW_SCRIPT_NPU_BYTES 4096u /* for their tensors and arenas, unless the engine's configuration says otherwise */
#endif

/* signal processing */
#ifndef TW_CMSIS_DSP
#define TW_CMSIS_DSP 0 /* 1: CMSIS-DSP is linked and fills the tables where it can (make CMSIS_DSP_DIR=...) */
#endif
