#include "phy/phy_tcp_posix.h"
#include "engine/base/port.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    READ_BYTES = 65536, /* one recv; less than asked for means the socket is empty: no second one */
    READ_BUDGET = 4,    /* recvs before other connections get their turn */
    EVENTS = 64,
    ACCEPT_PAUSE_MS = 100, /* out of descriptors: peers wait in the kernel's queue meanwhile */
    DEFAULT_LINKS = 64,
    DEFAULT_LINGER_MS = 2000,
};

/*        accept, opened            owner closing, all sent           end of peer, time up
 *  FREE ----------------> OPEN ---------------------------> LINGER ----------------------> FREE
 *   ^                       | peer gone, error
 *   +-----------------------+
 *
 * LINGER: the owner is told and gone; our side is shut, what the peer still sends is thrown
 * away. Closing at once instead would reset the connection while bytes are unread and destroy
 * the last words on their way to the peer.
 */
typedef enum link_state { FREE = 0, OPEN, LINGER } link_state_t;

struct tw_phy_link {
    link_state_t state;
    int fd;
    uint32_t events;      /* what epoll watches for */
    void *conn;           /* the owner's */
    uint64_t deadline_ms; /* LINGER, or OPEN and closing with a full socket; 0 = none */
};

struct tw_phy {
    tw_phy_user_t user;
    int epoll, listener, wake, timer;
    int64_t alarm_ns; /* when the timer is set to go off; 0 = not set */
    bool alarmed;
    uint16_t port;
    uint32_t linger_ms, send_bytes;
    uint64_t accept_again_ms; /* 0 = accepting */
    tw_phy_link_t *links;
    uint32_t max_links;
    uint32_t top;   /* links at and above are FREE */
    uint32_t timed; /* links with a deadline: the clock is read only then */
    tw_phy_tcp_stats_t stats;
    uint8_t in[READ_BYTES];
};

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

/* ---- addresses ------------------------------------------------------------- */

typedef union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} address_t;

static bool parse_address(address_t *a, socklen_t *len, const char *host, uint16_t port)
{
    *a = (address_t){0};
    const char *literal = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    if (inet_pton(AF_INET, literal, &a->v4.sin_addr) == 1) {
        a->v4.sin_family = AF_INET;
        a->v4.sin_port = htons(port);
        *len = sizeof a->v4;
        return true;
    }
    if (inet_pton(AF_INET6, literal, &a->v6.sin6_addr) == 1) {
        a->v6.sin6_family = AF_INET6;
        a->v6.sin6_port = htons(port);
        *len = sizeof a->v6;
        return true;
    }
    return false;
}

static bool address_is_loopback(const address_t *a)
{
    if (a->any.sa_family == AF_INET) {
        return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
    }
    const struct in6_addr *v6 = &a->v6.sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

bool tw_phy_tcp_is_address(const char *host)
{
    address_t a;
    socklen_t len;
    return parse_address(&a, &len, host, 0);
}

bool tw_phy_tcp_is_loopback(const char *host)
{
    address_t a;
    socklen_t len;
    return parse_address(&a, &len, host, 0) && address_is_loopback(&a);
}

static void print_address(char out[64], const address_t *a)
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (a->any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &a->v6.sin6_addr, host, sizeof host);
        snprintf(out, 64, "[%s]:%u", host, ntohs(a->v6.sin6_port));
    } else {
        inet_ntop(AF_INET, &a->v4.sin_addr, host, sizeof host);
        snprintf(out, 64, "%s:%u", host, ntohs(a->v4.sin_port));
    }
}

/* ---- one connection -------------------------------------------------------- */

static void watch(tw_phy_t *phy, tw_phy_link_t *link, uint32_t events)
{
    if (link->events != events) {
        struct epoll_event e = {.events = events, .data.ptr = link};
        /* Cannot fail for a descriptor that is registered; memory is not needed to modify one. */
        TW_ASSERT(epoll_ctl(phy->epoll, EPOLL_CTL_MOD, link->fd, &e) == 0);
        link->events = events;
    }
}

static void set_deadline(tw_phy_t *phy, tw_phy_link_t *link, uint64_t at_ms)
{
    phy->timed += (uint32_t)(at_ms != 0) - (uint32_t)(link->deadline_ms != 0);
    link->deadline_ms = at_ms;
}

static void release(tw_phy_t *phy, tw_phy_link_t *link)
{
    set_deadline(phy, link, 0);
    close(link->fd); /* leaves the epoll set by itself: the descriptor is never duplicated */
    *link = (tw_phy_link_t){.state = FREE, .fd = -1};
    while (phy->top > 0 && phy->links[phy->top - 1].state == FREE) {
        phy->top--;
    }
}

static void tell_closed(tw_phy_t *phy, tw_phy_link_t *link, tw_err_t why)
{
    void *conn = link->conn;
    link->conn = NULL;
    phy->stats.open--;
    phy->user.closed(phy->user.ctx, conn, why);
}

static void drop(tw_phy_t *phy, tw_phy_link_t *link, tw_err_t why)
{
    if (link->state == OPEN) {
        tell_closed(phy, link, why);
    }
    release(phy, link);
}

static void begin_linger(tw_phy_t *phy, tw_phy_link_t *link)
{
    tell_closed(phy, link, TW_OK);
    if (shutdown(link->fd, SHUT_WR) != 0) {
        release(phy, link);
        return;
    }
    link->state = LINGER;
    watch(phy, link, EPOLLIN);
    set_deadline(phy, link, now_ms() + phy->linger_ms);
}

/* One send in the usual case; a second only when the owner's buffer wraps. False when nothing more goes out now. */
static bool send_some(tw_phy_t *phy, tw_phy_link_t *link, tw_err_t *err)
{
    size_t n = 0;
    const uint8_t *bytes = phy->user.pending(phy->user.ctx, link->conn, &n);
    if (n == 0) {
        return false;
    }
    const ssize_t sent = send(link->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
        const bool full = errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ENOMEM;
        *err = full ? TW_E_BUSY : errno == EINTR ? TW_OK : TW_E_IO;
        return errno == EINTR;
    }
    phy->stats.bytes_out += (uint64_t)sent;
    phy->user.drained(phy->user.ctx, link->conn, (size_t)sent);
    return true;
}

/* Send all that is pending; wait for room only when the socket is full. False: the link is gone. */
static bool flush(tw_phy_t *phy, tw_phy_link_t *link)
{
    tw_err_t err = TW_OK;
    while (send_some(phy, link, &err)) {}
    if (err == TW_E_IO) {
        drop(phy, link, TW_E_CLOSED);
        return false;
    }
    const bool closing = phy->user.closing(phy->user.ctx, link->conn);
    if (closing && err == TW_OK) {
        begin_linger(phy, link);
        return false;
    }
    if (closing && link->deadline_ms == 0) {
        set_deadline(phy, link, now_ms() + phy->linger_ms);
    }
    const bool reads = !closing && phy->user.ready(phy->user.ctx, link->conn);
    watch(phy, link, (reads ? EPOLLIN : 0u) | (err == TW_E_BUSY ? EPOLLOUT : 0u));
    return true;
}

/* The peer has ended its side, or vanished. What it asked for before may still reach it. */
static void peer_ended(tw_phy_t *phy, tw_phy_link_t *link, tw_err_t why)
{
    tw_err_t err = TW_OK;
    while (why == TW_OK && send_some(phy, link, &err)) {}
    drop(phy, link, TW_E_CLOSED);
}

static void receive(tw_phy_t *phy, tw_phy_link_t *link)
{
    for (unsigned i = 0; i < READ_BUDGET && phy->user.ready(phy->user.ctx, link->conn); i++) {
        const ssize_t n = recv(link->fd, phy->in, sizeof phy->in, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
            break;
        }
        if (n <= 0) {
            peer_ended(phy, link, n == 0 ? TW_OK : TW_E_IO);
            return;
        }
        phy->stats.bytes_in += (uint64_t)n;
        phy->user.received(phy->user.ctx, link->conn, phy->in, (size_t)n);
        if ((size_t)n < sizeof phy->in) {
            break;
        }
    }
    flush(phy, link);
}

static void discard(tw_phy_t *phy, tw_phy_link_t *link)
{
    const ssize_t n = recv(link->fd, phy->in, sizeof phy->in, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
        release(phy, link);
    }
}

static void serve(tw_phy_t *phy, tw_phy_link_t *link, uint32_t events)
{
    switch (link->state) {
    case FREE:
        break;
    case OPEN:
        if ((events & EPOLLIN) != 0) {
            receive(phy, link);
        } else if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
            drop(phy, link, TW_E_CLOSED);
        } else {
            flush(phy, link);
        }
        break;
    case LINGER:
        discard(phy, link);
        break;
    }
}

/* ---- accepting ------------------------------------------------------------- */

static tw_phy_link_t *free_link(tw_phy_t *phy)
{
    for (uint32_t i = 0; i < phy->max_links; i++) {
        if (phy->links[i].state == FREE) {
            phy->top = i >= phy->top ? i + 1 : phy->top;
            return &phy->links[i];
        }
    }
    return NULL;
}

static void set_options(const tw_phy_t *phy, int fd)
{
    const int on = 1, idle_s = 30, every_s = 10, probes = 3;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    /* A host that lost power says nothing: without probes its session would stay for ever. */
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    if (phy->send_bytes != 0) {
        const int bytes = (int)phy->send_bytes;
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    }
}

/* True when the connection has an owner. The descriptor is closed otherwise. */
static bool adopt(tw_phy_t *phy, int fd, const address_t *from)
{
    tw_phy_link_t *link = free_link(phy);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = link};
    if (link == NULL || epoll_ctl(phy->epoll, EPOLL_CTL_ADD, fd, &e) != 0) {
        close(fd);
        return false;
    }
    char peer[64];
    print_address(peer, from);
    set_options(phy, fd);
    *link = (tw_phy_link_t){.state = OPEN, .fd = fd, .events = EPOLLIN};
    link->conn = phy->user.opened(phy->user.ctx, link, peer);
    if (link->conn == NULL) {
        release(phy, link);
        return false;
    }
    phy->stats.open++;
    return true;
}

static void listen_for(tw_phy_t *phy, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = &phy->listener};
    TW_ASSERT(epoll_ctl(phy->epoll, EPOLL_CTL_MOD, phy->listener, &e) == 0);
    phy->accept_again_ms = events != 0 ? 0 : now_ms() + ACCEPT_PAUSE_MS;
}

/* One newcomer a round: whoever connects and leaves at once gives its place back before the next is let in,
 * so a flood of such peers does not fill the table in front of a good one. */
static void accept_one(tw_phy_t *phy)
{
    address_t from = {0};
    socklen_t len = sizeof from;
    const int fd = accept4(phy->listener, &from.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        if (adopt(phy, fd, &from)) {
            phy->stats.accepted++;
        } else {
            phy->stats.refused++;
        }
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        /* The peer stays in the kernel's queue, so epoll would report it for ever. */
        phy->stats.accept_errors++;
        listen_for(phy, 0);
    } /* anything else is the fate of one peer: the next may be fine */
}

/* ---- polling --------------------------------------------------------------- */

static void flush_all(tw_phy_t *phy)
{
    for (uint32_t i = 0; i < phy->top; i++) {
        if (phy->links[i].state == OPEN) {
            flush(phy, &phy->links[i]);
        }
    }
}

static void expire(tw_phy_t *phy, uint64_t now)
{
    for (uint32_t i = 0; phy->timed > 0 && i < phy->top; i++) {
        tw_phy_link_t *link = &phy->links[i];
        if (link->deadline_ms != 0 && now >= link->deadline_ms) {
            drop(phy, link, TW_E_TIMEOUT);
        }
    }
    if (phy->accept_again_ms != 0 && now >= phy->accept_again_ms) {
        listen_for(phy, EPOLLIN);
    }
}

/* Own deadlines are coarse (patience with dying connections), so they only cap the wait. */
static uint32_t cap_wait(const tw_phy_t *phy, uint32_t timeout_us)
{
    const uint32_t own_us = phy->timed > 0 || phy->accept_again_ms != 0 ? 50000u : UINT32_MAX;
    return timeout_us < own_us ? timeout_us : own_us;
}

/* epoll_pwait2 where the kernel has it (5.11); else poll() on the epoll descriptor keeps the microseconds. */
static int wait_events(int epoll, struct epoll_event *events, uint32_t timeout_us)
{
    static bool no_pwait2;
    if (timeout_us == 0 || timeout_us == UINT32_MAX) {
        return epoll_wait(epoll, events, EVENTS, timeout_us == 0 ? 0 : -1);
    }
    const struct timespec t = {.tv_sec = timeout_us / 1000000u, .tv_nsec = (long)(timeout_us % 1000000u) * 1000};
    if (!no_pwait2) {
        const int n = epoll_pwait2(epoll, events, EVENTS, &t, NULL);
        if (n >= 0 || (errno != ENOSYS && errno != EPERM)) {
            return n;
        }
        no_pwait2 = true;
    }
    struct pollfd p = {.fd = epoll, .events = POLLIN};
    const int n = ppoll(&p, 1, &t, NULL);
    return n <= 0 ? n : epoll_wait(epoll, events, EVENTS, 0);
}

tw_err_t tw_phy_tcp_poll(tw_phy_t *phy, uint32_t timeout_us)
{
    flush_all(phy);
    struct epoll_event events[EVENTS];
    const int n = wait_events(phy->epoll, events, cap_wait(phy, timeout_us));
    if (n < 0 && errno != EINTR) {
        return TW_E_IO;
    }
    bool newcomers = false;
    for (int i = 0; i < n; i++) {
        if (events[i].data.ptr == &phy->wake) {
            uint64_t count;
            (void)!read(phy->wake, &count, sizeof count);
        } else if (events[i].data.ptr == &phy->timer) {
            uint64_t count;
            (void)!read(phy->timer, &count, sizeof count);
            phy->alarm_ns = 0;
            phy->alarmed = true;
        } else if (events[i].data.ptr == &phy->listener) {
            newcomers = true;
        } else {
            serve(phy, events[i].data.ptr, events[i].events);
        }
    }
    if (newcomers) { /* after those who left: their places are free now */
        accept_one(phy);
    }
    if (phy->timed > 0 || phy->accept_again_ms != 0) {
        expire(phy, now_ms());
    }
    return TW_OK;
}

void tw_phy_tcp_alarm(tw_phy_t *phy, int64_t at_ns)
{
    if (phy->alarm_ns != 0 && phy->alarm_ns <= at_ns) {
        return; /* goes off early enough; being early only costs the caller a look */
    }
    const int64_t at = at_ns > 0 ? at_ns : 1;
    const struct itimerspec t = {.it_value = {.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000}};
    TW_ASSERT(timerfd_settime(phy->timer, TFD_TIMER_ABSTIME, &t, NULL) == 0);
    phy->alarm_ns = at;
}

bool tw_phy_tcp_alarmed(tw_phy_t *phy)
{
    const bool alarmed = phy->alarmed;
    phy->alarmed = false;
    return alarmed;
}

void tw_phy_tcp_wake(tw_phy_t *phy)
{
    const uint64_t one = 1;
    const int kept = errno; /* a signal handler must leave it as it was */
    (void)!write(phy->wake, &one, sizeof one);
    errno = kept;
}

/* ---- life ------------------------------------------------------------------ */

static tw_err_t fail(char *why, tw_err_t err, const char *text, const char *where)
{
    if (why != NULL) {
        snprintf(why, 160, text, where);
    }
    return err;
}

static tw_err_t listen_on(tw_phy_t *phy, const address_t *a, socklen_t len, const char *where, char *why)
{
    const int on = 1;
    phy->listener = socket(a->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (phy->listener < 0) {
        return fail(why, TW_E_IO,
                    errno == EAFNOSUPPORT ? "%s: this machine has no such network"
                                          : "%s: no socket: out of descriptors or memory",
                    where);
    }
    setsockopt(phy->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); /* restart without waiting */
    if (a->any.sa_family == AF_INET6) {
        setsockopt(phy->listener, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
    if (bind(phy->listener, &a->any, len) != 0 || listen(phy->listener, 128) != 0) {
        switch (errno) {
        case EADDRINUSE:
            return fail(why, TW_E_BUSY, "%s is in use by another program: stop that or choose another port", where);
        case EACCES:
            return fail(why, TW_E_DENIED, "%s: not allowed for this user: choose a port above 1023", where);
        case EADDRNOTAVAIL:
            return fail(why, TW_E_ARG, "%s is not an address of this machine", where);
        default:
            return fail(why, TW_E_IO, "%s: cannot listen there", where);
        }
    }
    address_t real = {0};
    socklen_t real_len = sizeof real;
    getsockname(phy->listener, &real.any, &real_len);
    phy->port = ntohs(real.any.sa_family == AF_INET6 ? real.v6.sin6_port : real.v4.sin_port);
    return TW_OK;
}

static tw_err_t register_own(tw_phy_t *phy, char *why)
{
    phy->epoll = epoll_create1(EPOLL_CLOEXEC);
    phy->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    phy->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct epoll_event timer = {.events = EPOLLIN, .data.ptr = &phy->timer};
    struct epoll_event wake = {.events = EPOLLIN, .data.ptr = &phy->wake};
    struct epoll_event listener = {.events = EPOLLIN, .data.ptr = &phy->listener};
    if (phy->epoll < 0 || phy->wake < 0 || phy->timer < 0 ||
        epoll_ctl(phy->epoll, EPOLL_CTL_ADD, phy->timer, &timer) != 0 ||
        epoll_ctl(phy->epoll, EPOLL_CTL_ADD, phy->wake, &wake) != 0 ||
        epoll_ctl(phy->epoll, EPOLL_CTL_ADD, phy->listener, &listener) != 0) {
        return fail(why, TW_E_IO, "%s: out of descriptors or memory", "epoll");
    }
    return TW_OK;
}

static tw_phy_t *make_phy(const tw_phy_tcp_cfg_t *cfg, const tw_phy_user_t *user)
{
    tw_phy_t *phy = calloc(1, sizeof *phy);
    const uint32_t max_links = cfg->max_links != 0 ? cfg->max_links : DEFAULT_LINKS;
    tw_phy_link_t *links = calloc(max_links, sizeof *links);
    if (phy == NULL || links == NULL) {
        free(phy);
        free(links);
        return NULL;
    }
    phy->user = *user;
    phy->epoll = phy->listener = phy->wake = phy->timer = -1;
    phy->linger_ms = cfg->linger_ms != 0 ? cfg->linger_ms : DEFAULT_LINGER_MS;
    phy->send_bytes = cfg->send_bytes;
    phy->links = links;
    phy->max_links = max_links;
    return phy;
}

tw_err_t tw_phy_tcp_open(tw_phy_t **out, const tw_phy_tcp_cfg_t *cfg, const tw_phy_user_t *user, char why[160])
{
    *out = NULL;
    address_t a;
    socklen_t len;
    if (!parse_address(&a, &len, cfg->host, cfg->port)) {
        return fail(why, TW_E_ARG, "'%s' is no IPv4 or IPv6 address", cfg->host);
    }
    if (!cfg->allow_remote && !address_is_loopback(&a)) {
        return fail(why, TW_E_DENIED, "%s can be reached from other machines", cfg->host);
    }
    tw_phy_t *phy = make_phy(cfg, user);
    if (phy == NULL) {
        return fail(why, TW_E_NOMEM, "%s: not enough memory", cfg->host);
    }
    char where[64];
    print_address(where, &a);
    tw_err_t err = listen_on(phy, &a, len, where, why);
    if (err == TW_OK) {
        err = register_own(phy, why);
    }
    if (err != TW_OK) {
        tw_phy_tcp_close(phy);
        return err;
    }
    *out = phy;
    return TW_OK;
}

uint16_t tw_phy_tcp_port(const tw_phy_t *phy)
{
    return phy->port;
}

void tw_phy_tcp_stats(const tw_phy_t *phy, tw_phy_tcp_stats_t *out)
{
    *out = phy->stats;
}

static void close_fd(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

void tw_phy_tcp_close(tw_phy_t *phy)
{
    if (phy == NULL) {
        return;
    }
    for (uint32_t i = 0; i < phy->max_links; i++) {
        if (phy->links[i].state != FREE) {
            drop(phy, &phy->links[i], TW_E_CLOSED);
        }
    }
    close_fd(phy->listener);
    close_fd(phy->wake);
    close_fd(phy->timer);
    close_fd(phy->epoll);
    free(phy->links);
    free(phy);
}
