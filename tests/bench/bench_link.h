/* bench_link.h - what the figures share: sockets, raw peers in child processes, a bare Tunewire connection.
 *
 * The connection does what every client must (frames, CRCs, decoding replies) and
 * nothing else, so a figure is the server's and the protocol's, not a client library's.
 */
#pragma once
#include "protocol/rpc.h"
#include <sys/types.h>

enum { FRAME_MAX = 65536, DEPTH = 64, SLICE_US = 40000, PAIRS_MAX = 64 };

double now_s(void);
_Noreturn void die(const char *what);
void send_all(int fd, const void *data, size_t n);
void recv_all(int fd, void *data, size_t n);
int dial(const char *host, int port);

/** A process that answers `rep` bytes for every `req` bytes; `req` 0: sends blocks of `rep` bytes without end. */
int raw_peer(size_t req, size_t rep, pid_t *child);

typedef struct tw {
    int fd;
    tw_deframer_t in;
    uint8_t frame[FRAME_MAX], rx[1 << 18];
    size_t at, have;
    uint32_t call_id;
    uint32_t max_frame, window;
} tw_t;

/** Connect and say hello. */
void tw_open(tw_t *t, const char *host, int port);
/** Next frame; its payload is valid until the next call. */
tw_frame_t next_frame(tw_t *t);
/** Header before a payload that lies at p + TW_FRAME_HEADER. @return length of both */
uint32_t frame_at(uint8_t *p, uint8_t type, uint16_t stream, uint8_t flags, uint32_t len);
/** Stop the run unless `f` is a reply of success; *bytes: its length with header. */
void check_reply(const tw_frame_t *f, uint32_t *bytes);
/** One call; credit frames that pass are added to *credit. @return stream the reply opened, else 0 */
uint16_t call(tw_t *t, uint32_t method, const pb_msgdesc_t *fields, const void *msg, uint16_t stream,
              const pb_msgdesc_t *rep_fields, void *rep, uint32_t *credit);

/** Subscribe to 8 arcs; afterwards slices of delivered bytes a second, and of a raw stream of the same blocks. */
void arcs_start(tw_t *t);
double arcs_slice(tw_t *t);
size_t arcs_block_bytes(void);
/** Part of the arcs' frames that was delivered; the rest was reported as dropped. */
double arcs_kept(void);
double arcs_raw_slice(int fd);
