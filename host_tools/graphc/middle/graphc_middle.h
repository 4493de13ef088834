/* graphc_middle.h - what resolve, insert and plan have in common: ports, streams, new arcs. */
#pragma once
#include "engine/node/node.h"
#include "host_tools/graphc/graphc_priv.h"

/** Does the option set hold the value? */
bool g_offers(const tw_options_t *o, double v);
/** The set as a person reads it: "1 2 8", "any". */
void g_options_text(const tw_options_t *o, char *to, size_t size);
/** Formats of an IO against its manifest, and the settings words that follow; errors are added. */
void g_check_io(g_model_t *m, g_io_t *io);
/** Format of an end against what the port takes. @return false after an error */
bool g_check_port(g_model_t *m, const g_pos_t *pos, const tw_node_manifest_t *x, uint32_t port, uint32_t format);
/** Position of a port among the node's arcs: receive arcs first, each kind in port order. */
uint32_t g_slot_of(const tw_node_manifest_t *x, uint32_t port);
/** Port that has this position. */
uint32_t g_port_of(const tw_node_manifest_t *x, uint32_t slot);
/** Every end of every arc to its node's port. */
void g_connect(g_model_t *m);
/** After g_connect() without errors: what had to be connected and is not. */
void g_check_connected(g_model_t *m);
/** True where the compiler makes the one transmit arc a lock when the text connects none. */
bool g_has_lock(const g_node_t *n);

/**
 * Where two formats are different streams, so that a converter must stand between them.
 * @param why  "S16 to FP32, 16000 to 8000 Hz"
 * @return false when the consumer can take the producer's frames as they are, cut or joined
 */
bool g_differ(const g_format_t *a, const g_format_t *b, char *why, size_t size);
/** Samples, bytes and time stamp agree. @return false after an error */
bool g_check_format(g_model_t *m, g_format_t *f);

/** Index of a format like this one, entered if there is none; G_NONE after an error at `pos`. */
uint32_t g_format_like(g_model_t *m, const g_pos_t *pos, const g_format_t *f);

/** m->order and m->place. @return false after an error */
bool g_schedule(g_model_t *m);

/** Bytes by which the fill of an arc moves at least: what its ends' nodes move at once. */
uint32_t g_arc_step(const g_model_t *m, const g_arc_t *a);

/* graphc_share.c: nodes that work in place */
/** Arc whose buffer a transmit arc may share by the node's manifest, G_NONE none. */
/** Choose the nodes whose records are compact, when that is asked for; before memory is planned. */
void g_choose_compact(g_model_t *m);
uint32_t g_in_place(const g_model_t *m, const g_node_t *n, uint32_t slot);
/** Sizes are known: set shared of arcs that use the buffer of another. */
void g_share_arcs(g_model_t *m);

/* graphc_device.c: the device's node library */
tw_format_t g_device_format(const g_format_t *f);
/** The installed node type in this version, or NULL. */
const tw_node_desc_t *g_device_type(const g_node_t *n);
/**
 * Bytes each memory block needs beyond its formula for these formats together.
 * @return TW_OK, or what the device would refuse, with the arc's position in *slot
 */
tw_err_t g_device_memory(const g_model_t *m, const g_node_t *n, uint32_t extra[TW_MAX_NODE_MEM], uint32_t *slot);
/** The same refusal as an error at the arc. */
void g_verify_formats(g_model_t *m, const g_node_t *n);
/** One warning for each node type that is described but not installed. */
void g_verify_installed(g_model_t *m);
