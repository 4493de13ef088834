/* sink.c - streams the client opened: to whom their bytes go, and the credit that lets more come.
 *
 * Credit is granted for what a sink has taken in, in steps of half a window;
 * damage or a gap ends the stream with the offset expected.
 */
#include "server/server_priv.h"

enum { OFFSET = 8 };

static tw_sink_t *find(tw_peer_t *p, uint16_t stream)
{
    for (size_t i = 0; i < TW_COUNT(p->sinks); i++) {
        if (p->sinks[i].kind != TW_SINK_NONE && p->sinks[i].stream == stream) {
            return &p->sinks[i];
        }
    }
    return NULL;
}

tw_sink_t *tw_sink_open(tw_peer_t *p, uint16_t stream, tw_sink_kind_t kind, uint32_t ref)
{
    for (size_t i = 0; i < TW_COUNT(p->sinks); i++) {
        if (p->sinks[i].kind != TW_SINK_NONE) {
            continue;
        }
        const uint16_t id = tw_conn_open(&p->conn, stream, false);
        if (id == 0) {
            return NULL;
        }
        p->sinks[i] = (tw_sink_t){.kind = (uint8_t)kind, .stream = id, .ref = ref};
        return &p->sinks[i];
    }
    return NULL;
}

void tw_sink_close(tw_peer_t *p, uint16_t stream)
{
    tw_sink_t *sink = find(p, stream);
    if (sink != NULL) {
        sink->kind = TW_SINK_NONE;
        tw_conn_close(&p->conn, stream);
    }
}

static void grant(tw_peer_t *p, tw_sink_t *sink)
{
    if (sink->owed >= p->conn.window / 2 && tw_conn_grant(&p->conn, sink->stream, sink->owed)) {
        sink->owed = 0;
    }
}

void tw_sinks_grant(tw_peer_t *p)
{
    for (size_t i = 0; i < TW_COUNT(p->sinks); i++) {
        if (p->sinks[i].kind != TW_SINK_NONE) {
            grant(p, &p->sinks[i]);
        }
    }
}

/* The stream is over, for whatever reason: its owner must know. */
static void ended(tw_peer_t *p, tw_sink_t *sink, bool whole)
{
    const tw_sink_t was = *sink;
    tw_sink_close(p, was.stream);
    if (was.kind == TW_SINK_VALUE) {
        tw_value_end(p->s, was.ref, whole);
    } else if (was.kind == TW_SINK_BLOB) {
        tw_blob_detach(p->s, was.ref);
    }
}

static tw_err_t take(tw_peer_t *p, const tw_sink_t *sink, const tw_conn_event_t *ev, uint32_t *expected)
{
    if (ev->len < OFFSET || ev->cut) {
        return TW_E_MESSAGE;
    }
    const uint64_t offset = tw_get_le64(ev->data);
    const uint8_t *data = ev->data + OFFSET;
    const uint32_t n = ev->len - OFFSET;
    return sink->kind == TW_SINK_BLOB ? tw_blob_data(p->s, sink->ref, offset, data, n, expected)
                                      : tw_value_data(p->s, sink->ref, offset, data, n, expected);
}

void tw_sink_data(tw_peer_t *p, const tw_conn_event_t *ev)
{
    tw_sink_t *sink = find(p, ev->stream);
    if (sink == NULL) {
        return;
    }
    if (ev->err || (ev->fin && ev->len == 0)) {
        ended(p, sink, !ev->err);
        return;
    }
    uint32_t expected = 0;
    const tw_err_t err = take(p, sink, ev, &expected);
    if (err != TW_OK) {
        tw_count(p->s, TW_CNT_STREAM_GAPS);
        const uint16_t stream = sink->stream;
        ended(p, sink, false);
        tw_stream_end(p, stream, err, expected);
    } else if (ev->fin) {
        ended(p, sink, true);
    } else {
        sink->owed += ev->len;
        grant(p, sink);
    }
}

/* A piece was damaged on the way: what follows it cannot be consecutive. */
void tw_sink_damaged(tw_peer_t *p, uint16_t stream)
{
    tw_sink_t *sink = find(p, stream);
    if (sink == NULL) {
        return;
    }
    const uint32_t expected = sink->kind == TW_SINK_BLOB ? tw_blob_expected(p->s, sink->ref) : p->s->upload_used;
    tw_count(p->s, TW_CNT_STREAM_GAPS);
    ended(p, sink, false);
    tw_stream_end(p, stream, TW_E_STREAM_OFFSET, expected);
}
