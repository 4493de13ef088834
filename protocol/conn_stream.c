/* conn_stream.c - the streams of a connection: ids, credit left, nothing of their content. */
#include "engine/base/port.h"
#include "protocol/conn_priv.h"

tw_conn_stream_t *tw_conn_find(tw_conn_t *c, uint16_t id)
{
    for (size_t i = 0; id != 0 && i < TW_CONN_STREAMS; i++) {
        if (c->streams[i].id == id) {
            return &c->streams[i];
        }
    }
    return NULL;
}

static tw_conn_stream_t *free_slot(tw_conn_t *c)
{
    for (size_t i = 0; i < TW_CONN_STREAMS; i++) {
        if (c->streams[i].id == 0) {
            return &c->streams[i];
        }
    }
    return NULL;
}

/* With a free slot there is a free id within TW_CONN_STREAMS steps. */
static uint16_t next_id(tw_conn_t *c)
{
    uint16_t id;
    do {
        id = c->next_stream;
        c->next_stream = (uint16_t)(id + 2);
    } while (id == 0 || tw_conn_find(c, id) != NULL);
    return id;
}

uint16_t tw_conn_open(tw_conn_t *c, uint16_t id, bool sending)
{
    tw_conn_stream_t *s = free_slot(c);
    if (s == NULL || tw_conn_find(c, id) != NULL) {
        return 0;
    }
    const bool odd = (id & 1) != 0;
    if (id != 0 && odd == c->client) {
        return 0;
    }
    const uint16_t named = id != 0 ? id : next_id(c);
    *s = (tw_conn_stream_t){.id = named, .sending = sending, .credit = c->window};
    return named;
}

void tw_conn_close(tw_conn_t *c, uint16_t id)
{
    tw_conn_stream_t *s = tw_conn_find(c, id);
    if (s == NULL) {
        return;
    }
    s->id = 0;
    if (c->msg_open && c->msg_type == TW_FT_DATA && c->msg_stream == id) {
        c->msg_open = false; /* the rest of it is dropped as data of an unknown stream */
    }
}

uint32_t tw_conn_credit(const tw_conn_t *c, uint16_t id)
{
    for (size_t i = 0; id != 0 && i < TW_CONN_STREAMS; i++) {
        if (c->streams[i].id == id) {
            return c->streams[i].sending ? c->streams[i].credit : 0;
        }
    }
    return 0;
}

void tw_conn_spend(tw_conn_t *c, uint16_t id, uint32_t bytes)
{
    tw_conn_stream_t *s = tw_conn_find(c, id);
    if (s != NULL && s->sending) {
        TW_ASSERT(bytes <= s->credit);
        s->credit -= bytes;
    }
}

bool tw_conn_grant(tw_conn_t *c, uint16_t id, uint32_t bytes)
{
    tw_conn_stream_t *s = tw_conn_find(c, id);
    if (s == NULL || s->sending) {
        return true; /* the stream is over: nobody needs the credit */
    }
    const uint32_t more = tw_min_u32(bytes, TW_CONN_CREDIT_MAX - s->credit);
    uint8_t payload[4];
    tw_put_le32(payload, more);
    if (more != 0 && !tw_conn_send(c, TW_FT_CREDIT, id, 0, payload, sizeof payload)) {
        return false;
    }
    s->credit += more;
    return true;
}
