/* fake_device.h - a device in a thread: protocol/conn.h behind a loopback socket, with faults on demand.
 *
 * It answers enough of the protocol for the client and the command line: two nodes, two arcs, parameters
 * that keep what was set, blobs, one transaction, a log, subscriptions. It is no server: it checks little.
 */
#pragma once
#include "protocol/conn.h"
#include "protocol/rpc.h"
#include <pthread.h>

typedef enum fake_fault {
    FAKE_GOOD,
    FAKE_NO_HELLO,      /* accepts and says nothing */
    FAKE_GARBAGE,       /* answers hello with bytes that are no frame */
    FAKE_OLD_MAJOR,     /* hello of another major version */
    FAKE_WRONG_CRC,     /* replies with a damaged payload */
    FAKE_NO_ANSWER,     /* hello, then silence */
    FAKE_GOAWAY,        /* goaway instead of a reply */
    FAKE_HANG_UP,       /* closes instead of replying */
    FAKE_BAD_REPLY,     /* a good frame whose message does not decode */
    FAKE_REFUSE_SET,    /* every Param.Set is out of range */
    FAKE_CUT_UPLOAD,    /* closes once, in the middle of an upload */
    FAKE_FORGET_UPLOAD, /* closes once, and does not know the token afterwards */
    FAKE_REFUSE_UPLOAD, /* ends the upload stream with FIN and ERR in the middle, and grants nothing more */
    FAKE_LOSE_CHUNK,    /* leaves a hole in downloads */
    FAKE_RUDE_NAMES,    /* escape sequences and broken UTF-8 in names */
    FAKE_WRONG_PROOF,   /* authentication that proves nothing */
} fake_fault_t;

typedef struct fake_device {
    fake_fault_t fault;
    uint32_t max_frame, max_calls;
    const uint8_t *key; /* 32 bytes, or NULL */
    uint16_t port;      /* out */
    char uri[40];       /* out */
    /* what happened, valid after fake_stop() */
    uint32_t calls, connections, commits, rollbacks, aborts, unsubscribes, cancels, bad_macs, max_in_flight;
    uint32_t blob_bytes, blob_crc, resumed_at;
    /* inside */
    int listener;
    pthread_t thread;
    struct fake_state *state;
} fake_device_t;

void fake_start(fake_device_t *d);
/** Stop and collect the counters. */
void fake_stop(fake_device_t *d);
