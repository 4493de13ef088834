/* phy_tcp_posix.h - many TCP connections on one thread: epoll, non-blocking.
 *
 * Knows sockets and bytes, no frame and no server. A request and its reply cost
 * one epoll_wait, one recv and one send: everything a peer sent is handed over
 * first, then what the owner wants to say goes out at once.
 */
#pragma once
#include "phy/phy.h"

typedef struct tw_phy_tcp_cfg {
    const char *host;    /* IPv4 or IPv6 literal, or "localhost" */
    uint16_t port;       /* 0: the system chooses, see tw_phy_tcp_port() */
    bool allow_remote;   /* false: anything but a loopback address is refused */
    uint32_t max_links;  /* connections at a time, 0 = 64; one more is closed at once */
    uint32_t linger_ms;  /* patience with a peer that should take the last bytes, 0 = 2000 */
    uint32_t send_bytes; /* kernel's send buffer of a connection, 0 = the kernel's choice */
} tw_phy_tcp_cfg_t;

typedef struct tw_phy_tcp_stats {
    uint32_t accepted, refused, accept_errors; /* errors: out of descriptors or memory; tried again later */
    uint32_t open;                             /* connections the owner holds now */
    uint64_t bytes_in, bytes_out;
} tw_phy_tcp_stats_t;

/**
 * Listen. `user` is copied; its ctx must outlive the phy.
 *
 * @param why  out: one sentence for a person when it fails; may be NULL
 * @return TW_OK
 *         TW_E_ARG     host is no address
 *         TW_E_DENIED  not a loopback address and allow_remote is false
 *         TW_E_BUSY    address in use
 *         TW_E_IO, TW_E_NOMEM
 */
tw_err_t tw_phy_tcp_open(tw_phy_t **out, const tw_phy_tcp_cfg_t *cfg, const tw_phy_user_t *user, char why[160]);

/** True for IPv4 and IPv6 literals and "localhost". */
bool tw_phy_tcp_is_address(const char *host);
/** True for addresses only this machine can reach; false also for what is no address. */
bool tw_phy_tcp_is_loopback(const char *host);

/** The port really listened on. */
uint16_t tw_phy_tcp_port(const tw_phy_t *phy);

/**
 * Send what owners want sent, wait, serve what came. Call again and again from one thread.
 * @param timeout_us  longest wait; UINT32_MAX = until something comes
 * @return TW_OK, also after a signal or tw_phy_tcp_wake(); TW_E_IO when epoll itself fails
 */
tw_err_t tw_phy_tcp_poll(tw_phy_t *phy, uint32_t timeout_us);

/**
 * Have a poll return at `at_ns` (CLOCK_MONOTONIC) or earlier, and tw_phy_tcp_alarmed() say so. An alarm
 * already set for an earlier time stays. A timeout costs a timer for every wait; an alarm costs one when it
 * goes off, which is why the owner of a busy phy uses this and waits without timeout.
 */
void tw_phy_tcp_alarm(tw_phy_t *phy, int64_t at_ns);
/** True once after the alarm went off. */
bool tw_phy_tcp_alarmed(tw_phy_t *phy);

/** Make a poll in progress, or the next one, return. From any thread or signal handler. */
void tw_phy_tcp_wake(tw_phy_t *phy);

void tw_phy_tcp_stats(const tw_phy_t *phy, tw_phy_tcp_stats_t *out);

/** Close every connection (owners hear `closed`) and the listener. NULL is allowed. */
void tw_phy_tcp_close(tw_phy_t *phy);
