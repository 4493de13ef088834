#include "phy/phy_loopback.h"
#include "engine/base/bytes.h"

void tw_loopback_init(tw_loopback_t *lb, const tw_phy_user_t *user, void *buffer, uint32_t bytes)
{
    *lb = (tw_loopback_t){.user = *user, .to_far = buffer, .size = bytes};
}

tw_err_t tw_loopback_connect(tw_loopback_t *lb, const char *peer)
{
    if (lb->conn != NULL) {
        return TW_E_STATE;
    }
    lb->used = 0;
    lb->conn = lb->user.opened(lb->user.ctx, (tw_phy_link_t *)lb, peer);
    return lb->conn != NULL ? TW_OK : TW_E_CLOSED;
}

static void disconnect(tw_loopback_t *lb, tw_err_t why)
{
    void *conn = lb->conn;
    lb->conn = NULL;
    lb->user.closed(lb->user.ctx, conn, why);
}

uint32_t tw_loopback_send(tw_loopback_t *lb, const void *bytes, uint32_t n)
{
    if (n == 0 || lb->conn == NULL || !lb->user.ready(lb->user.ctx, lb->conn)) {
        return 0;
    }
    lb->user.received(lb->user.ctx, lb->conn, bytes, n);
    tw_loopback_poll(lb);
    return n;
}

bool tw_loopback_poll(tw_loopback_t *lb)
{
    size_t n = 0;
    while (lb->conn != NULL && lb->used < lb->size) {
        const uint8_t *bytes = lb->user.pending(lb->user.ctx, lb->conn, &n);
        if (n == 0) {
            break;
        }
        const uint32_t room = lb->size - lb->used;
        const uint32_t take = n < room ? (uint32_t)n : room;
        memcpy(lb->to_far + lb->used, bytes, take);
        lb->used += take;
        lb->user.drained(lb->user.ctx, lb->conn, take);
    }
    if (lb->conn != NULL && lb->user.closing(lb->user.ctx, lb->conn)) {
        (void)lb->user.pending(lb->user.ctx, lb->conn, &n);
        if (n == 0) {
            disconnect(lb, TW_OK);
        }
    }
    return lb->conn != NULL;
}

uint32_t tw_loopback_receive(tw_loopback_t *lb, void *bytes, uint32_t cap)
{
    tw_loopback_poll(lb);
    const uint32_t n = tw_min_u32(cap, lb->used);
    memcpy(bytes, lb->to_far, n);
    memmove(lb->to_far, lb->to_far + n, lb->used - n);
    lb->used -= n;
    return n;
}

void tw_loopback_hangup(tw_loopback_t *lb)
{
    if (lb->conn != NULL) {
        disconnect(lb, TW_E_CLOSED);
    }
    lb->used = 0;
}
