/* The TCP transport over real loopback sockets, against an owner that echoes; and the in-process transport. */
#include "engine/base/bytes.h"
#include "phy/phy_loopback.h"
#include "phy/phy_tcp_posix.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { OWNED = 256, ECHO_BYTES = 32768 };

/* An owner with one bounded buffer a connection: what does not fit is not asked for. */
typedef struct echo {
    bool used, closing;
    uint8_t buf[ECHO_BYTES + 65536];
    size_t n, at;
    uint64_t received;
    tw_err_t why;
    char peer[64];
} echo_t;

static struct {
    echo_t *conns;
    unsigned opened, closed, sends;
    bool refuse, bye_after_reply, deaf;
} owner;

static void *echo_opened(void *ctx, tw_phy_link_t *link, const char *peer)
{
    assert_ptr_equal(ctx, &owner);
    assert_non_null(link);
    for (unsigned i = 0; i < OWNED && !owner.refuse; i++) {
        echo_t *e = &owner.conns[i];
        if (!e->used) {
            e->used = true;
            e->closing = false;
            e->n = e->at = 0;
            e->received = 0;
            snprintf(e->peer, sizeof e->peer, "%s", peer);
            owner.opened++;
            return e;
        }
    }
    return NULL;
}

static void echo_received(void *ctx, void *conn, const uint8_t *bytes, size_t n)
{
    (void)ctx;
    echo_t *e = conn;
    memmove(e->buf, e->buf + e->at, e->n);
    e->at = 0;
    assert_true(e->n + n <= sizeof e->buf);
    memcpy(e->buf + e->n, bytes, n);
    e->n += n;
    e->received += n;
    e->closing = e->closing || owner.bye_after_reply;
}

static const uint8_t *echo_pending(void *ctx, void *conn, size_t *n)
{
    (void)ctx;
    const echo_t *e = conn;
    *n = e->n;
    return e->buf + e->at;
}

static void echo_drained(void *ctx, void *conn, size_t n)
{
    (void)ctx;
    echo_t *e = conn;
    assert_true(n <= e->n);
    owner.sends++;
    e->at += n;
    e->n -= n;
}

static bool echo_ready(void *ctx, void *conn)
{
    (void)ctx;
    const echo_t *e = conn;
    return !owner.deaf && e->n < ECHO_BYTES;
}

static bool echo_closing(void *ctx, void *conn)
{
    (void)ctx;
    return ((const echo_t *)conn)->closing;
}

static void echo_closed(void *ctx, void *conn, tw_err_t why)
{
    (void)ctx;
    echo_t *e = conn;
    assert_true(e->used);
    e->used = false;
    e->why = why;
    owner.closed++;
}

static tw_phy_user_t echo_user(void)
{
    return (tw_phy_user_t){.ctx = &owner,
                           .opened = echo_opened,
                           .received = echo_received,
                           .pending = echo_pending,
                           .drained = echo_drained,
                           .ready = echo_ready,
                           .closing = echo_closing,
                           .closed = echo_closed};
}

static tw_phy_t *start(tw_phy_tcp_cfg_t cfg)
{
    const tw_phy_user_t user = echo_user();
    tw_phy_t *phy = NULL;
    char why[160] = "";
    cfg.host = cfg.host != NULL ? cfg.host : "127.0.0.1";
    if (tw_phy_tcp_open(&phy, &cfg, &user, why) != TW_OK) {
        fail_msg("%s", why);
    }
    return phy;
}

static int dial(const tw_phy_t *phy)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(tw_phy_tcp_port(phy)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

static void turn(tw_phy_t *phy, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        assert_int_equal(tw_phy_tcp_poll(phy, 1000), TW_OK);
    }
}

/* Read until `n` bytes came, turning the phy meanwhile. @return bytes got, less after ten seconds or at the end. */
static size_t gather(tw_phy_t *phy, int fd, uint8_t *out, size_t n)
{
    size_t got = 0;
    for (unsigned i = 0; got < n && i < 10000; i++) {
        turn(phy, 1);
        const ssize_t r = recv(fd, out + got, n - got, 0);
        if (r == 0 || (r < 0 && errno != EAGAIN)) {
            break;
        }
        got += r > 0 ? (size_t)r : 0;
    }
    return got;
}

static void until(tw_phy_t *phy, const unsigned *counter, unsigned value)
{
    for (unsigned i = 0; *counter != value && i < 5000; i++) {
        turn(phy, 1);
    }
    assert_int_equal(*counter, value);
}

static int reset_owner(void **state)
{
    (void)state;
    free(owner.conns);
    memset(&owner, 0, sizeof owner);
    owner.conns = calloc(OWNED, sizeof *owner.conns);
    return owner.conns == NULL;
}

static int free_owner(void **state)
{
    (void)state;
    free(owner.conns);
    owner.conns = NULL;
    return 0;
}

static void what_is_sent_comes_back_in_one_send(void **state)
{
    (void)state;
    tw_phy_t *phy = start((tw_phy_tcp_cfg_t){0});
    const int fd = dial(phy);
    until(phy, &owner.opened, 1);
    assert_memory_equal(owner.conns[0].peer, "127.0.0.1:", 10);
    uint8_t back[8];
    assert_int_equal(send(fd, "request", 7, 0), 7);
    assert_int_equal(gather(phy, fd, back, 7), 7);
    assert_memory_equal(back, "request", 7);
    assert_int_equal(owner.sends, 1);
    close(fd);
    until(phy, &owner.closed, 1);
    assert_int_equal(owner.conns[0].why, TW_E_CLOSED);
    tw_phy_tcp_close(phy);
}

static void two_hundred_connections_are_served_at_once(void **state)
{
    (void)state;
    enum { N = 200 };
    tw_phy_t *phy = start((tw_phy_tcp_cfg_t){.max_links = OWNED});
    int fds[N];
    for (unsigned i = 0; i < N; i++) {
        fds[i] = dial(phy);
        turn(phy, 1);
    }
    until(phy, &owner.opened, N);
    for (uint32_t i = 0; i < N; i++) {
        uint8_t b[4];
        tw_put_le32(b, i * 77777u);
        assert_int_equal(send(fds[i], b, 4, 0), 4);
    }
    for (uint32_t i = 0; i < N; i++) {
        uint8_t b[4];
        assert_int_equal(gather(phy, fds[i], b, 4), 4);
        assert_int_equal(tw_get_le32(b), i * 77777u);
        close(fds[i]);
    }
    until(phy, &owner.closed, N);
    tw_phy_tcp_stats_t s;
    tw_phy_tcp_stats(phy, &s);
    assert_int_equal(s.open, 0);
    assert_int_equal(s.bytes_out, 4 * N);
    tw_phy_tcp_close(phy);
}

static void one_connection_too_many_is_closed_and_the_next_after_a_leave_is_not(void **state)
{
    (void)state;
    tw_phy_t *phy = start((tw_phy_tcp_cfg_t){.max_links = 2});
    const int a = dial(phy), b = dial(phy), c = dial(phy);
    uint8_t byte;
    assert_int_equal(gather(phy, c, &byte, 1), 0);
    close(a);
    until(phy, &owner.closed, 1);
    const int d = dial(phy);
    until(phy, &owner.opened, 3);
    owner.refuse = true;
    close(b);
    until(phy, &owner.closed, 2);
    const int e = dial(phy);
    assert_int_equal(gather(phy, e, &byte, 1), 0);
    tw_phy_tcp_stats_t s;
    tw_phy_tcp_stats(phy, &s);
    assert_int_equal(s.refused, 2);
    assert_int_equal(s.open, 1);
    close(c), close(d), close(e);
    tw_phy_tcp_close(phy);
    assert_int_equal(owner.closed, 3);
}

/* The peer sends megabytes and reads nothing: memory here stays bounded, and nothing is lost once it reads. */
static void a_peer_that_does_not_read_holds_up_only_itself(void **state)
{
    (void)state;
    enum { TOTAL = 16 << 20 };
    tw_phy_t *phy = start((tw_phy_tcp_cfg_t){.send_bytes = 16384});
    const int slow = dial(phy), quick = dial(phy);
    until(phy, &owner.opened, 2);
    uint8_t *out = malloc(TOTAL), *back = malloc(TOTAL);
    for (uint32_t i = 0; i < TOTAL; i++) {
        out[i] = (uint8_t)(i * 2654435761u >> 24);
    }
    size_t sent = 0;
    for (unsigned idle = 0; idle < 50 && sent < TOTAL; idle++) {
        const ssize_t n = send(slow, out + sent, TOTAL - sent, MSG_DONTWAIT);
        sent += n > 0 ? (size_t)n : 0;
        idle = n > 0 ? 0 : idle;
        turn(phy, 1);
    }
    assert_true(sent < TOTAL); /* back-pressure reached the sender */
    uint8_t b = 0;
    assert_int_equal(send(quick, "x", 1, 0), 1);
    assert_int_equal(gather(phy, quick, &b, 1), 1);
    size_t got = 0;
    for (unsigned i = 0; got < TOTAL && i < 100000; i++) {
        const ssize_t n = sent < TOTAL ? send(slow, out + sent, TOTAL - sent, MSG_DONTWAIT) : 0;
        sent += n > 0 ? (size_t)n : 0;
        assert_int_equal(tw_phy_tcp_poll(phy, 100), TW_OK);
        const ssize_t r = recv(slow, back + got, TOTAL - got, 0);
        got += r > 0 ? (size_t)r : 0;
    }
    assert_int_equal(got, TOTAL);
    assert_memory_equal(out, back, TOTAL);
    free(out);
    free(back);
    close(slow), close(quick);
    tw_phy_tcp_close(phy);
}

static void an_owner_that_is_not_ready_is_not_read_to_and_later_gets_all(void **state)
{
    (void)state;
    tw_phy_t *phy = start((tw_phy_tcp_cfg_t){0});
    const int fd = dial(phy);
    until(phy, &owner.opened, 1);
    owner.deaf = true;
    assert_int_equal(send(fd, "patience", 8, 0), 8);
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    turn(phy, 20);
    clock_gettime(CLOCK_MONOTONIC, &b);
    assert_int_equal(owner.conns[0].received, 0);
    const double waited_ms = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) * 1e-6;
    assert_true(waited_ms > 15.0); /* unread bytes must not turn the wait into a busy loop */
    owner.deaf = false;
    uint8_t back[8];
    assert_int_equal(gather(phy, fd, back, 8), 8);
    assert_memory_equal(back, "patience", 8);
    close(fd);
    tw_phy_tcp_close(phy);
}

static void a_peer_may_vanish_at_any_point(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        bool reset, served, deaf, sends;
    } cases[] = {
        {"orderly end, nothing sent", false, false, false, false},
        {"reset, nothing sent", true, false, false, false},
        {"reset after a request", true, false, false, true},
        {"end with replies unread", false, true, false, true},
        {"reset with replies unread", true, true, false, true},
        {"reset while the owner is not ready", true, true, true, true},
    };
    for (unsigned i = 0; i < TW_COUNT(cases); i++) {
        reset_owner(NULL);
        owner.deaf = cases[i].deaf;
        tw_phy_t *phy = start((tw_phy_tcp_cfg_t){0});
        const int fd = dial(phy);
        until(phy, &owner.opened, 1);
        const uint8_t bulk[20000] = {0};
        if (cases[i].sends) {
            assert_int_equal(send(fd, bulk, sizeof bulk, 0), sizeof bulk);
        }
        turn(phy, cases[i].served ? 5 : 0);
        const struct linger now = {.l_onoff = cases[i].reset, .l_linger = 0};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        close(fd);
        for (unsigned k = 0; owner.closed != 1 && k < 2000; k++) {
            turn(phy, 1);
        }
        if (owner.closed != 1) {
            fail_msg("%s: the owner was not told", cases[i].why);
        }
        owner.deaf = false;
        const int again = dial(phy);
        uint8_t b;
        assert_int_equal(send(again, "y", 1, 0), 1);
        if (gather(phy, again, &b, 1) != 1) {
            fail_msg("%s: the next connection is not served", cases[i].why);
        }
        close(again);
        tw_phy_tcp_close(phy);
    }
}

static void last_words_arrive_before_the_close(void **state)
{
    (void)state;
    tw_phy_t *phy = start((tw_phy_tcp_cfg_t){.linger_ms = 100});
    const int fd = dial(phy);
    until(phy, &owner.opened, 1);
    owner.bye_after_reply = true;
    uint8_t back[16];
    assert_int_equal(send(fd, "goodbye", 7, 0), 7);
    turn(phy, 3);
    /* Bytes the owner will never read: an immediate close would turn them into a reset. */
    assert_int_equal(send(fd, "too late", 8, MSG_NOSIGNAL), 8);
    turn(phy, 3);
    assert_int_equal(gather(phy, fd, back, sizeof back), 7);
    assert_memory_equal(back, "goodbye", 7);
    assert_int_equal(owner.closed, 1);
    assert_int_equal(owner.conns[0].why, TW_OK);
    close(fd);
    tw_phy_tcp_close(phy);
}

static void a_peer_that_never_takes_the_last_words_is_given_up(void **state)
{
    (void)state;
    tw_phy_t *phy = start((tw_phy_tcp_cfg_t){.send_bytes = 4096, .linger_ms = 60});
    const int fd = dial(phy);
    until(phy, &owner.opened, 1);
    const uint8_t bulk[8192] = {1};
    /* fill both kernels' buffers, so that the owner keeps bytes it cannot send */
    for (unsigned i = 0; i < 20000 && owner.conns[0].n < ECHO_BYTES; i++) {
        (void)!send(fd, bulk, sizeof bulk, MSG_DONTWAIT);
        turn(phy, 1);
    }
    assert_true(owner.conns[0].n > 0);
    owner.conns[0].closing = true;
    until(phy, &owner.closed, 1);
    assert_int_equal(owner.conns[0].why, TW_E_TIMEOUT);
    close(fd);
    tw_phy_tcp_close(phy);
}

static void no_descriptors_left_means_later_not_never(void **state)
{
    (void)state;
    tw_phy_t *phy = start((tw_phy_tcp_cfg_t){0});
    const int waiting = dial(phy);
    struct rlimit old, low;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    low.rlim_cur = (rlim_t)waiting + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    turn(phy, 20);
    tw_phy_tcp_stats_t s;
    tw_phy_tcp_stats(phy, &s);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_in_range(s.accept_errors, 1, 3); /* tried again at leisure, not in a busy loop */
    assert_int_equal(owner.opened, 0);
    until(phy, &owner.opened, 1);
    close(waiting);
    tw_phy_tcp_close(phy);
}

static void addresses_are_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        bool allow_remote;
        tw_err_t err;
        const char *text;
    } cases[] = {
        {"0.0.0.0", false, TW_E_DENIED, "other machines"},
        {"192.168.1.4", false, TW_E_DENIED, "other machines"},
        {"::", false, TW_E_DENIED, "other machines"},
        {"::ffff:10.0.0.1", false, TW_E_DENIED, "other machines"},
        {"example", false, TW_E_ARG, "no IPv4 or IPv6 address"},
        {"", true, TW_E_ARG, "no IPv4 or IPv6 address"},
        {"127.1", true, TW_E_ARG, "no IPv4 or IPv6 address"},
        {"203.0.113.7", true, TW_E_ARG, "not an address of this machine"},
    };
    const tw_phy_user_t user = echo_user();
    for (unsigned i = 0; i < TW_COUNT(cases); i++) {
        tw_phy_t *phy = NULL;
        char why[160] = "";
        const tw_phy_tcp_cfg_t cfg = {.host = cases[i].host, .allow_remote = cases[i].allow_remote};
        const tw_err_t err = tw_phy_tcp_open(&phy, &cfg, &user, why);
        if (err != cases[i].err || phy != NULL || strstr(why, cases[i].text) == NULL) {
            fail_msg("'%s': %s, \"%s\"", cases[i].host, tw_err_name(err), why);
        }
    }
    assert_true(tw_phy_tcp_is_loopback("127.8.9.10") && tw_phy_tcp_is_loopback("::1"));
    assert_false(tw_phy_tcp_is_loopback("128.0.0.1") || tw_phy_tcp_is_loopback("nonsense"));
}

static void a_port_in_use_is_named(void **state)
{
    (void)state;
    tw_phy_t *phy = start((tw_phy_tcp_cfg_t){0}), *second = NULL;
    const tw_phy_user_t user = echo_user();
    char why[160] = "", port[8];
    const tw_phy_tcp_cfg_t cfg = {.host = "127.0.0.1", .port = tw_phy_tcp_port(phy)};
    assert_int_equal(tw_phy_tcp_open(&second, &cfg, &user, why), TW_E_BUSY);
    snprintf(port, sizeof port, ":%u", cfg.port);
    assert_non_null(strstr(why, port));
    tw_phy_tcp_close(phy);
    assert_int_equal(tw_phy_tcp_open(&second, &cfg, &user, why), TW_OK); /* free again at once */
    tw_phy_tcp_close(second);
}

static void a_wake_ends_one_wait(void **state)
{
    (void)state;
    tw_phy_t *phy = start((tw_phy_tcp_cfg_t){0});
    tw_phy_tcp_wake(phy);
    assert_int_equal(tw_phy_tcp_poll(phy, UINT32_MAX), TW_OK);
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    assert_int_equal(tw_phy_tcp_poll(phy, 20000), TW_OK);
    clock_gettime(CLOCK_MONOTONIC, &b);
    assert_true((b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000 >= 19000);
    tw_phy_tcp_close(phy);
}

static void a_loopback_carries_bytes_and_back_pressure(void **state)
{
    (void)state;
    uint8_t pipe[4], back[16];
    tw_loopback_t lb;
    const tw_phy_user_t user = echo_user();
    tw_loopback_init(&lb, &user, pipe, sizeof pipe);
    assert_int_equal(tw_loopback_send(&lb, "x", 1), 0);
    assert_int_equal(tw_loopback_connect(&lb, "test"), TW_OK);
    assert_int_equal(tw_loopback_connect(&lb, "test"), TW_E_STATE);
    assert_int_equal(tw_loopback_send(&lb, "abcdefgh", 8), 8);
    assert_int_equal(owner.conns[0].n, 4); /* four went into the pipe, four wait */
    assert_int_equal(tw_loopback_receive(&lb, back, 3), 3);
    assert_int_equal(tw_loopback_receive(&lb, back + 3, 13), 4);
    assert_int_equal(tw_loopback_receive(&lb, back + 7, 9), 1);
    assert_memory_equal(back, "abcdefgh", 8);
    owner.deaf = true;
    assert_int_equal(tw_loopback_send(&lb, "x", 1), 0);
    owner.deaf = false;
    owner.conns[0].closing = true;
    assert_false(tw_loopback_poll(&lb));
    assert_int_equal(owner.closed, 1);
    assert_int_equal(owner.conns[0].why, TW_OK);
    assert_int_equal(tw_loopback_connect(&lb, "test"), TW_OK);
    tw_loopback_hangup(&lb);
    assert_int_equal(owner.conns[0].why, TW_E_CLOSED);
    owner.refuse = true;
    assert_int_equal(tw_loopback_connect(&lb, "test"), TW_E_CLOSED);
}

int main(void)
{
    signal(SIGPIPE, SIG_DFL); /* a vanished peer must not need the program to ignore it */
#define CLAIM(f) cmocka_unit_test_setup_teardown(f, reset_owner, free_owner)
    const struct CMUnitTest tests[] = {
        CLAIM(what_is_sent_comes_back_in_one_send),
        CLAIM(two_hundred_connections_are_served_at_once),
        CLAIM(one_connection_too_many_is_closed_and_the_next_after_a_leave_is_not),
        CLAIM(a_peer_that_does_not_read_holds_up_only_itself),
        CLAIM(an_owner_that_is_not_ready_is_not_read_to_and_later_gets_all),
        CLAIM(a_peer_may_vanish_at_any_point),
        CLAIM(last_words_arrive_before_the_close),
        CLAIM(a_peer_that_never_takes_the_last_words_is_given_up),
        CLAIM(no_descriptors_left_means_later_not_never),
        CLAIM(addresses_are_refused_with_the_reason),
        CLAIM(a_port_in_use_is_named),
        CLAIM(a_wake_ends_one_wait),
        CLAIM(a_loopback_carries_bytes_and_back_pressure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
