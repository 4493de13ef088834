/* phy.h - a physical transport: bytes in, bytes out, connect and disconnect.
 *
 * A phy moves bytes between a peer and one tw_phy_link_t per connection; it
 * knows no frame, no message, no server. The owner gives it callbacks at init
 * and drains what it wants sent through `want`. One thread owns a phy and all
 * its links. Adding a transport: one row in phys.def, one phy_<x>.c
 * (docs/PORTING.md).
 */
#pragma once
#include "engine/base/err.h"
#include <stdbool.h>

typedef struct tw_phy tw_phy_t;
typedef struct tw_phy_link tw_phy_link_t; /* one connection, owned by the phy */

/** What the owner of a phy wants to hear. */
typedef struct tw_phy_user {
    void *ctx;
    /** A peer connected. @return the owner's handle of the connection, NULL to refuse it. */
    void *(*opened)(void *ctx, tw_phy_link_t *link, const char *peer);
    /** Bytes came; consume all. */
    void (*received)(void *ctx, void *conn, const uint8_t *bytes, size_t n);
    /** Bytes waiting to be sent: set *n, return where they are. 0 when none. */
    const uint8_t *(*pending)(void *ctx, void *conn, size_t *n);
    /** The transport took n of them. */
    void (*drained)(void *ctx, void *conn, size_t n);
    /** May more bytes be received now? false = back-pressure: the phy stops reading. */
    bool (*ready)(void *ctx, void *conn);
    /** The owner is through with this connection: close after the pending bytes went out. */
    bool (*closing)(void *ctx, void *conn);
    /** The connection is gone; `link` must not be used any more. */
    void (*closed)(void *ctx, void *conn, tw_err_t why);
} tw_phy_user_t;
