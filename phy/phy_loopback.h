/* phy_loopback.h - a transport inside one process: one connection, two byte pipes.
 *
 * For tests and for tools that run a server in their own process. Nothing here
 * allocates or blocks; the far end is played by calls instead of a socket. One
 * thread uses both ends.
 */
#pragma once
#include "phy/phy.h"

typedef struct tw_loopback {
    tw_phy_user_t user;
    void *conn;          /* NULL: not connected */
    uint8_t *to_far;     /* what the owner sent and the far end has not taken */
    uint32_t size, used; /* [bytes] */
} tw_loopback_t;

/** `buffer` holds what the far end has not taken yet; a full one holds the owner up, as a socket would. */
void tw_loopback_init(tw_loopback_t *lb, const tw_phy_user_t *user, void *buffer, uint32_t bytes);

/** @return TW_OK; TW_E_STATE when connected already; TW_E_CLOSED when the owner refused */
tw_err_t tw_loopback_connect(tw_loopback_t *lb, const char *peer);

/** Far end to owner. @return bytes taken: 0 while the owner is not ready or nobody is connected. */
uint32_t tw_loopback_send(tw_loopback_t *lb, const void *bytes, uint32_t n);

/** Owner to far end. @return bytes given, 0 when there are none. */
uint32_t tw_loopback_receive(tw_loopback_t *lb, void *bytes, uint32_t cap);

/** Move what the owner wants sent; also closes when the owner is through. @return true while connected. */
bool tw_loopback_poll(tw_loopback_t *lb);

/** The far end goes; what it has not taken is lost. */
void tw_loopback_hangup(tw_loopback_t *lb);
