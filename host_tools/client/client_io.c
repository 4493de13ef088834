/* client_io.c - the socket: connect, hello, and one loop that moves bytes both ways. */
#include "host_tools/client/client_priv.h"
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { DEFAULT_TIMEOUT_MS = 5000, MAJOR = 1, MINOR = 0 };
#define HINT_DAEMON "is tunewired running there, and is the target right (-t URI)?"

int64_t client_now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool stopped(const tw_client_t *c)
{
    return c->stop && *c->stop;
}

void client_lost(tw_client_t *c)
{
    if (c->fd >= 0) {
        (void)close(c->fd);
        c->fd = -1;
    }
    const tw_client_error_t why = c->err;
    for (size_t i = 0; i < CLIENT_CALLS; i++) {
        call_t *k = &c->calls[i];
        if (k->fast) {
            *k = (call_t){0};
            c->fast_failed = true;
        } else if (k->id && !k->done) {
            k->done = true;
            k->err = why;
        }
    }
    for (size_t i = 0; i < TW_COUNT(c->sinks); i++) {
        if (c->sinks[i]) {
            client_end_sink(c, c->sinks[i], &why);
        }
    }
    c->in_flight = c->fast_in_flight = 0;
}

static pump_t lost(tw_client_t *c, tw_client_kind_t kind, const char *hint, const char *what)
{
    (void)client_fail(c, kind, hint, "%s", what);
    client_lost(c);
    return PUMP_LOST;
}

static pump_t on_goaway(tw_client_t *c, const tw_conn_event_t *ev)
{
    tunewire_v1_Status s = tunewire_v1_Status_init_zero;
    if (tw_rpc_decode(ev->data, ev->len, tunewire_v1_Status_fields, &s) != TW_OK) {
        return lost(c, TW_CLIENT_CLOSED, "connect again", "the device ended the connection");
    }
    client_status_error(&c->err, &s);
    c->err.kind = c->hello_done ? TW_CLIENT_CLOSED : TW_CLIENT_REFUSED;
    client_lost(c);
    return PUMP_LOST;
}

static pump_t on_hello(tw_client_t *c, const tw_conn_event_t *ev)
{
    tunewire_v1_HelloRep rep = tunewire_v1_HelloRep_init_zero;
    if (tw_rpc_decode(ev->data, ev->len, tunewire_v1_HelloRep_fields, &rep) != TW_OK) {
        return lost(c, TW_CLIENT_PROTOCOL, HINT_DAEMON, "the hello of the device does not decode");
    }
    if (rep.major != MAJOR) {
        return lost(c, TW_CLIENT_REFUSED, tw_client_hint(TW_ST_VERSION, (uint32_t)-TW_E_VERSION),
                    "the device speaks another major version");
    }
    client_clean(tunewire_v1_HelloRep_fields, &rep);
    c->hello = rep;
    c->max_calls = tw_max_u32(1, tw_min_u32(rep.max_calls ? rep.max_calls : 1, CLIENT_CALLS));
    tw_conn_agree(&c->conn, rep.max_frame, rep.window);
    c->hello_done = true;
    return PUMP_OK;
}

static pump_t on_event(tw_client_t *c, const tw_conn_event_t *ev)
{
    switch (ev->kind) {
    case TW_CE_HELLO:
        return on_hello(c, ev);
    case TW_CE_REPLY:
        client_on_reply(c, ev->data, ev->len);
        return PUMP_OK;
    case TW_CE_DATA:
        client_on_data(c, ev);
        return PUMP_OK;
    case TW_CE_BAD_CRC:
        if (ev->type == TW_FT_REPLY) {
            client_on_damaged_reply(c);
        }
        return PUMP_OK;
    case TW_CE_GOAWAY:
        return on_goaway(c, ev);
    case TW_CE_FATAL:
        (void)client_flush(c);
        return lost(c, TW_CLIENT_PROTOCOL, HINT_DAEMON, tw_err_text(c->conn.fatal));
    case TW_CE_NONE:
    case TW_CE_CALL: /* a device calls nobody; ignored like any unknown thing */
    case TW_CE_CREDIT:
    case TW_CE_CANCEL:
        return PUMP_OK;
    }
    return PUMP_OK;
}

static pump_t feed(tw_client_t *c, const uint8_t *p, size_t n)
{
    tw_conn_event_t ev;
    do {
        size_t used = 0;
        tw_conn_feed(&c->conn, p, n, &used, &ev);
        p += used;
        n -= used;
        if (on_event(c, &ev) == PUMP_LOST) {
            return PUMP_LOST;
        }
    } while (n || ev.kind != TW_CE_NONE);
    return PUMP_OK;
}

bool client_flush(tw_client_t *c)
{
    while (c->fd >= 0 && tw_out_pending(&c->conn.out)) {
        const tw_out_t *o = &c->conn.out;
        const ssize_t sent = send(c->fd, o->buf + o->at, tw_out_pending(o), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        tw_out_drained(&c->conn.out, (uint32_t)sent);
    }
    return c->fd >= 0;
}

/* A device may say why before it hangs up: read what is there even when sending failed. */
static pump_t receive(tw_client_t *c)
{
    uint8_t buf[65536];
    const ssize_t n = recv(c->fd, buf, sizeof buf, MSG_DONTWAIT);
    if (n > 0) {
        return feed(c, buf, (size_t)n);
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return PUMP_OK;
    }
    return lost(c, c->hello_done ? TW_CLIENT_CLOSED : TW_CLIENT_REFUSED, c->hello_done ? "connect again" : HINT_DAEMON,
                "the device closed the connection");
}

pump_t client_pump(tw_client_t *c, int64_t until_ms)
{
    if (c->fd < 0) {
        (void)client_fail(c, TW_CLIENT_CLOSED, "connect again", "not connected");
        return PUMP_LOST;
    }
    if (stopped(c)) {
        (void)client_fail(c, TW_CLIENT_STOPPED, "", "stopped");
        return PUMP_LOST;
    }
    const bool sent = client_flush(c);
    const int64_t left = until_ms - client_now_ms();
    struct pollfd fd = {.fd = c->fd, .events = POLLIN};
    if (tw_out_pending(&c->conn.out) && sent) {
        fd.events |= POLLOUT;
    }
    const int got = poll(&fd, 1, left < 0 ? 0 : left > 60000 ? 60000 : (int)left);
    if (got < 0 && errno != EINTR) {
        return lost(c, TW_CLIENT_CLOSED, "connect again", strerror(errno));
    }
    if (stopped(c)) {
        (void)client_fail(c, TW_CLIENT_STOPPED, "", "stopped");
        return PUMP_LOST;
    }
    if (got <= 0) {
        return client_now_ms() >= until_ms ? PUMP_TIMEOUT : PUMP_OK;
    }
    return fd.revents & ~POLLOUT ? receive(c) : PUMP_OK;
}

bool tw_client_pump(tw_client_t *c, uint32_t ms)
{
    const int64_t until = client_now_ms() + ms;
    for (;;) {
        const pump_t r = client_pump(c, until);
        if (r != PUMP_OK || client_now_ms() >= until) {
            return r != PUMP_LOST;
        }
    }
}

/* ---- connecting ---------------------------------------------------------------- */

/* connect() with a deadline; the socket stays blocking, sends and receives ask for no waiting. */
static bool connect_by(int fd, const struct addrinfo *a, int64_t until)
{
    const int flags = fcntl(fd, F_GETFL);
    (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    if (connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
        if (errno != EINPROGRESS) {
            return false;
        }
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        const int64_t left = until - client_now_ms();
        const int got = poll(&p, 1, left > 0 ? (int)left : 0);
        int err = got == 0 ? ETIMEDOUT : errno;
        socklen_t len = sizeof err;
        if (got > 0) {
            (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
        }
        if (got <= 0 || err) {
            errno = err;
            return false;
        }
    }
    (void)fcntl(fd, F_SETFL, flags);
    return true;
}

static bool dial(tw_client_t *c, int64_t until)
{
    char port[8];
    (void)snprintf(port, sizeof port, "%u", c->uri.port);
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    /* "localhost" is this machine by definition (RFC 6761), also where no file or server says so. */
    const char *host = strcmp(c->uri.host, "localhost") == 0 ? "127.0.0.1" : c->uri.host;
    const int bad = getaddrinfo(host, port, &hints, &list);
    if (bad) {
        return client_fail(c, TW_CLIENT_REFUSED, "check the host's name (-t URI)", "%s", gai_strerror(bad));
    }
    int why = ECONNREFUSED;
    for (const struct addrinfo *a = list; a && c->fd < 0; a = a->ai_next) {
        const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect_by(fd, a, until)) {
            c->fd = fd;
        } else {
            why = errno;
            if (fd >= 0) {
                (void)close(fd);
            }
        }
    }
    freeaddrinfo(list);
    if (c->fd < 0) {
        return client_fail(c, TW_CLIENT_REFUSED, HINT_DAEMON, "%s", strerror(why));
    }
    const int one = 1;
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return true;
}

static bool say_hello(tw_client_t *c, int64_t until)
{
    const tunewire_v1_HelloRep old = c->hello;
    tunewire_v1_HelloReq req = {.major = MAJOR,
                                .minor = MINOR,
                                .max_frame = CLIENT_MAX_FRAME,
                                .window = CLIENT_WINDOW,
                                .max_calls = CLIENT_CALLS};
    (void)snprintf(req.client, sizeof req.client, "%s", c->name);
    req.resume_token.size = old.session.size;
    memcpy(req.resume_token.bytes, old.session.bytes, old.session.size);
    uint8_t buf[TW_MAX_FRAME_FLOOR - TW_FRAME_HEADER];
    tw_err_t err = TW_OK;
    const uint32_t n = tw_rpc_encode(buf, sizeof buf, tunewire_v1_HelloReq_fields, &req, &err);
    if (err != TW_OK || !tw_conn_send(&c->conn, TW_FT_HELLO, 0, TW_FF_FIN, buf, n)) {
        return client_fail(c, TW_CLIENT_MEMORY, "", "hello does not fit");
    }
    while (!c->hello_done) {
        const pump_t r = client_pump(c, until);
        if (r == PUMP_LOST) {
            return false;
        }
        if (r == PUMP_TIMEOUT) {
            (void)lost(c, TW_CLIENT_REFUSED, HINT_DAEMON, "connected, but no hello came");
            return false;
        }
    }
    return true;
}

static bool start(tw_client_t *c)
{
    const int64_t until = client_now_ms() + c->timeout_ms;
    tw_conn_init(&c->conn, true, c->in, CLIENT_MAX_FRAME, c->out, CLIENT_OUT, c->msg, CLIENT_MSG);
    c->conn.max_frame = CLIENT_MAX_FRAME;
    c->conn.window = CLIENT_WINDOW;
    c->hello_done = c->keyed = c->fast_failed = false;
    c->role = TW_ROLE_ADMIN; /* without a key the device decides by itself; it will say */
    c->max_calls = 1;
    if (!dial(c, until) || !say_hello(c, until)) {
        return false;
    }
    if (c->key.len) {
        if (!client_authenticate(c)) {
            client_lost(c); /* nothing is said to a device that could not be proved, not even goodbye */
            return false;
        }
        return true;
    }
    if (c->hello.auth_required) {
        (void)lost(c, TW_CLIENT_REFUSED, tw_client_hint(TW_ST_UNAUTHENTICATED, (uint32_t)-TW_E_AUTH),
                   "the device wants a key");
        return false;
    }
    return true;
}

static bool configure(tw_client_t *c, const tw_client_cfg_t *cfg)
{
    const char *uri = cfg->uri ? cfg->uri : getenv(TW_CLIENT_URI_ENV);
    char why[200];
    c->timeout_ms = cfg->timeout_ms ? cfg->timeout_ms : DEFAULT_TIMEOUT_MS;
    c->stop = cfg->stop;
    (void)snprintf(c->name, sizeof c->name, "%s", cfg->name ? cfg->name : "tunewire");
    if (cfg->key) {
        c->key = *cfg->key;
    }
    if (!tw_uri_parse(uri && *uri ? uri : TW_CLIENT_DEFAULT_URI, &c->uri, why, sizeof why)) {
        return client_fail(c, TW_CLIENT_USAGE, "write tcp://HOST:PORT", "%s", why);
    }
    (void)snprintf(c->peer, sizeof c->peer, strchr(c->uri.host, ':') ? "[%s]:%u" : "%s:%u", c->uri.host, c->uri.port);
    c->in = malloc(CLIENT_MAX_FRAME);
    c->out = malloc(CLIENT_OUT);
    c->msg = malloc(CLIENT_MSG);
    return c->in && c->out && c->msg ? true : client_fail(c, TW_CLIENT_MEMORY, "", "out of memory");
}

tw_client_t *tw_client_open(const tw_client_cfg_t *cfg, bool *ok)
{
    tw_client_t *c = calloc(1, sizeof *c);
    *ok = false;
    if (c) {
        c->fd = -1;
        *ok = configure(c, cfg) && start(c);
    }
    return c;
}

bool tw_client_reconnect(tw_client_t *c)
{
    if (!c->in || !c->out || !c->msg) {
        return false; /* never configured; the error says why */
    }
    (void)client_fail(c, TW_CLIENT_CLOSED, "", "connecting again");
    client_lost(c);
    return start(c);
}

void tw_client_close(tw_client_t *c)
{
    if (!c) {
        return;
    }
    if (c->fd >= 0 && c->hello_done && c->conn.state == TW_CONN_OPEN) {
        c->stop = NULL; /* a goodbye is said even after Ctrl-C, but not waited for */
        if (tw_client_begin(c, &(tw_client_call_t){.method = TW_M_Session_Bye, .deadline_ms = 100})) {
            (void)client_flush(c);
        }
    }
    if (c->fd >= 0) {
        (void)close(c->fd);
    }
    free(c->in);
    free(c->out);
    free(c->msg);
    free(c);
}

bool tw_client_alive(const tw_client_t *c)
{
    return c->fd >= 0 && c->hello_done && c->conn.state == TW_CONN_OPEN;
}

const tunewire_v1_HelloRep *tw_client_hello(const tw_client_t *c)
{
    return &c->hello;
}

uint32_t tw_client_role(const tw_client_t *c)
{
    return c->role;
}

const char *tw_client_peer(const tw_client_t *c)
{
    return c->peer;
}
