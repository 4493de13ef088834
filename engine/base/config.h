/* config.h - compile-time limits; a board overrides any of them with -D.
 *
 * Defaults are the embedded ones: what the host adds comes from the memory it
 * passes at init, not from other limits, so both run the same paths.
 */
#pragma once

/* base */
#ifndef TW_CRC_SMALL
#define TW_CRC_SMALL 0 /* 1: CRC-16 by a table of 32 bytes instead of 1024 */
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
#define TW_MAX_NODE_ARCS 16u
#endif
#define TW_MAX_NODE_MEM 6u
#ifndef TW_MAX_IOS
#define TW_MAX_IOS 32u
#endif
#ifndef TW_HOT_ALIGN
#define TW_HOT_ALIGN 64u /* of the records the scheduler reads: a cache line; 8 where there is no cache */
#endif
#ifndef TW_WIDE_IMAGES
#define TW_WIDE_IMAGES 1 /* 0: no image of more than 4095 nodes or 4096 arcs */
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
#ifndef TW_SCRIPT_LIVE_BYTES
#define TW_SCRIPT_LIVE_BYTES 512u /* RAM kept per script for live replacement; 0 = none */
#endif

/* signal processing */
#ifndef TW_CMSIS_DSP
#define TW_CMSIS_DSP 0 /* 1: CMSIS-DSP is linked and fills the tables where it can (make CMSIS_DSP_DIR=...) */
#endif
