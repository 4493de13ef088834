/* node_graph_control.c - a node that steers the nodes behind it, and a small serial protocol.
 *
 * Steering. Without arcs of data (a lock alone) the node runs once a block and does what its parameters say, in the
 * use cases of `when` only:
 *
 *   index name       meaning
 *   1  action      0 none, 1 lock, 2 bypass the next nodes, 3 loop: run them again, 4 if: run them in these use
 *                  cases, in the others skip them
 *   2  nodes       how many next nodes the action is about
 *   3  otherwise   if: as many nodes behind those run in the other use cases
 *   4  times       loop: rounds at most, ended by one that moves nothing
 *   5  when        bit u: use case u
 *   6  use_case    0..31; SET makes it the graph's with the next RUN, READ tells the graph's as of the last
 *   16 frames      commands done, modulo 2^32
 *   17 bad_bytes   bytes that were no command
 *   18 refused     commands answered with an error
 *   19 active      1 the action holds now
 *
 * 6 and up are not in the index-256 block. What a range names beyond the list is refused by the RUN (PARAM_MATCH); a
 * change under way keeps to whole blocks. Preset 0 alone.
 *
 * Serial protocol. With a receive arc of bytes the node runs when some come, and takes commands (little endian):
 *
 *   A5 len body[len] crc16     len 1..MAX_BODY; CRC-16 of crc.h over len and body; body = opcode, payload
 *   the answer's body: opcode | 0x80, u16 status (0, or the number of a tw_err_t), payload
 *
 *   01 PING                                    -> the payload
 *   02 SET    {u16 node, tag, bytes, value}..  -> nothing; refused: u16 which one, u32 place. All or none
 *   03 GET    u16 node, tag                    -> the value
 *   04 CASE   [u8 use case]                    -> u8 the one in force
 *   05 RELOAD u8 kind                          -> nothing; tw_steer_t.reload
 *   06 STATUS                                  -> u32 frames, bad_bytes, refused, counting this one as done
 *
 * Nothing happens before the CRC holds. A byte that begins no command is counted and skipped, one at a time, so that
 * a damaged command costs no sound one behind it. Answers wait for room, and commands for the answers before them;
 * where the transmit arc is a lock there are none. docs/NODES.md has examples.
 */
#include "engine/base/crc.h"
#include "engine/node/node_priv.h"
#include <stddef.h>

enum { SYNC = 0xA5, MAX_BODY = 128, FRAME_MAX = MAX_BODY + 4, SETS = 16 };
enum { OP_PING = 1, OP_SET, OP_GET, OP_CASE, OP_RELOAD, OP_STATUS, ANSWER = 0x80 };
enum { ACT_NONE, ACT_LOCK, ACT_BYPASS, ACT_LOOP, ACT_IF };
enum { TAG_USE_CASE = 6 };

typedef struct values {
    uint32_t when, frames, bad_bytes, refused;
    uint8_t action, nodes, otherwise, times, use_case, active;
} values_t;

typedef struct control {
    uint32_t magic; /* the node's hash once RESET */
    const tw_services_t *svc;
    values_t v;
    int8_t change; /* use case to make the graph's, -1 none */
    bool serial;   /* has a receive arc */
    bool answers;  /* the transmit arc carries data */
    uint8_t n_in, n_out;
    uint8_t in[FRAME_MAX], out[FRAME_MAX];
} control_t;

/* ---- parameters -------------------------------------------------------------- */

#define METER (TW_PARAM_NOT_IN_ALL | TW_PARAM_READ_ONLY)
static const tw_param_desc_t rows[] = {
    {1, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, 0, ACT_NONE, ACT_IF, ACT_NONE, "action", 1},
    {2, TW_RAW_U8, 1, TW_NODE_UNIT_COUNT, 0, 0, 255, 0, "nodes", 1},
    {3, TW_RAW_U8, 1, TW_NODE_UNIT_COUNT, 0, 0, 255, 0, "otherwise", 1},
    {4, TW_RAW_U8, 1, TW_NODE_UNIT_COUNT, 0, 1, 64, 1, "times", 1},
    {5, TW_RAW_U32, 1, TW_NODE_UNIT_ANY, 0, 0, 4294967295.0, 4294967295.0, "when", 1},
    {TAG_USE_CASE, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, TW_PARAM_NOT_IN_ALL, 0, TW_USE_CASES - 1, 0, "use_case", 1},
    {16, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, METER, 0, 4294967295.0, 0, "frames", 1},
    {17, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, METER, 0, 4294967295.0, 0, "bad_bytes", 1},
    {18, TW_RAW_U32, 1, TW_NODE_UNIT_COUNT, METER, 0, 4294967295.0, 0, "refused", 1},
    {19, TW_RAW_U8, 1, TW_NODE_UNIT_ANY, METER, 0, 1, 0, "active", 1},
};
static const uint16_t at[] = {
    offsetof(values_t, action), offsetof(values_t, nodes),     offsetof(values_t, otherwise),
    offsetof(values_t, times),  offsetof(values_t, when),      offsetof(values_t, use_case),
    offsetof(values_t, frames), offsetof(values_t, bad_bytes), offsetof(values_t, refused),
    offsetof(values_t, active),
};
static const tw_param_store_t store = {rows, at, TW_COUNT(rows)};

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    (void)fmt;
    *n = store.n;
    return store.rows;
}

static void put(control_t *c, uint32_t tag, const tw_xdm_t *data)
{
    (void)tw_param_put(&store, &c->v, tag, data);
    if (tag == TAG_USE_CASE) {
        c->change = (int8_t)c->v.use_case;
    }
}

/* ---- steering ----------------------------------------------------------------- */

static tw_err_t steer(control_t *c)
{
    const tw_steer_t *k = c->svc->control;
    const values_t *v = &c->v;
    const bool active = v->action != ACT_NONE && (v->when >> v->use_case & 1u) != 0;
    tw_flow_t first = TW_FLOW_NONE, second = TW_FLOW_NONE;
    c->v.active = active;
    switch (v->action) {
    case ACT_LOCK:
        first = active ? TW_FLOW_LOCK : TW_FLOW_NONE;
        break;
    case ACT_BYPASS:
        first = active ? TW_FLOW_BYPASS : TW_FLOW_NONE;
        break;
    case ACT_IF:
        first = active ? TW_FLOW_NONE : TW_FLOW_SKIP;
        second = active ? TW_FLOW_SKIP : TW_FLOW_NONE;
        break;
    default:
        break;
    }
    TW_TRY(k->flow(c->svc->ctx, 0, first, 1, v->nodes));
    TW_TRY(k->flow(c->svc->ctx, 1, second, 1u + v->nodes, v->otherwise));
    return active && v->action == ACT_LOOP ? k->loop(c->svc->ctx, v->nodes, v->times) : TW_OK;
}

static tw_err_t take_use_case(control_t *c)
{
    if (c->svc == NULL || c->svc->control == NULL) {
        return c->v.action == ACT_NONE && c->change < 0 ? TW_OK : TW_E_UNSUPPORTED;
    }
    c->v.use_case = (uint8_t)c->svc->control->use_case(c->svc->ctx, c->change);
    c->change = -1;
    return steer(c);
}

/* ---- commands over the arc ------------------------------------------------------- */

/* An answer under way: payload behind opcode and status. */
typedef struct answer {
    uint8_t payload[MAX_BODY - 3];
    uint32_t n;
} answer_t;

static tw_err_t do_set(control_t *c, const uint8_t *p, uint32_t n, answer_t *a)
{
    tw_steer_set_t sets[SETS];
    uint32_t count = 0, offset = 0, bad = 0;
    tw_fault_t fault = {0};
    while (offset < n) {
        const uint32_t left = n - offset, bytes = left >= 6 ? tw_get_le16(p + offset + 4) : UINT32_MAX;
        if (left < 6 || bytes > left - 6 || count == SETS) {
            return TW_E_PARAM_SIZE;
        }
        sets[count++] = (tw_steer_set_t){tw_get_le16(p + offset), tw_get_le16(p + offset + 2), bytes, p + offset + 6};
        offset += 6 + bytes;
    }
    const tw_err_t err = c->svc->control->set(c->svc->ctx, sets, count, &bad, &fault);
    if (err != TW_OK) {
        tw_put_le16(a->payload, (uint16_t)bad);
        tw_put_le32(a->payload + 2, fault.at);
        a->n = 6;
    }
    return err;
}

static tw_err_t do_get(control_t *c, const uint8_t *p, uint32_t n, answer_t *a)
{
    uint32_t bytes = sizeof a->payload;
    TW_TRY(n == 4 ? TW_OK : TW_E_PARAM_SIZE);
    TW_TRY(c->svc->control->get(c->svc->ctx, tw_get_le16(p), tw_get_le16(p + 2), a->payload, &bytes));
    a->n = bytes;
    return TW_OK;
}

static tw_err_t do_case(control_t *c, const uint8_t *p, uint32_t n, answer_t *a)
{
    TW_TRY(n <= 1 ? TW_OK : TW_E_PARAM_SIZE);
    TW_TRY(n == 0 || p[0] < TW_USE_CASES ? TW_OK : TW_E_PARAM_RANGE);
    c->v.use_case = (uint8_t)c->svc->control->use_case(c->svc->ctx, n == 1 ? p[0] : -1);
    a->payload[0] = c->v.use_case;
    a->n = 1;
    return TW_OK;
}

static tw_err_t do_status(control_t *c, answer_t *a)
{
    tw_put_le32(a->payload, c->v.frames + 1);
    tw_put_le32(a->payload + 4, c->v.bad_bytes);
    tw_put_le32(a->payload + 8, c->v.refused);
    a->n = 12;
    return TW_OK;
}

static tw_err_t do_command(control_t *c, uint32_t op, const uint8_t *p, uint32_t n, answer_t *a)
{
    if (op == OP_PING) {
        a->n = tw_min_u32(n, sizeof a->payload);
        memcpy(a->payload, p, a->n);
        return n == a->n ? TW_OK : TW_E_PARAM_SIZE;
    }
    if (op == OP_STATUS) {
        return n == 0 ? do_status(c, a) : TW_E_PARAM_SIZE;
    }
    if (c->svc == NULL || c->svc->control == NULL) {
        return TW_E_UNSUPPORTED;
    }
    switch (op) {
    case OP_SET:
        return do_set(c, p, n, a);
    case OP_GET:
        return do_get(c, p, n, a);
    case OP_CASE:
        return do_case(c, p, n, a);
    case OP_RELOAD:
        TW_TRY(n == 1 ? TW_OK : TW_E_PARAM_SIZE);
        c->svc->control->reload(c->svc->ctx, p[0]);
        return TW_OK;
    default:
        return TW_E_UNSUPPORTED;
    }
}

static void answer(control_t *c, uint8_t op, tw_err_t err, const answer_t *a)
{
    uint8_t *o = c->out;
    o[0] = SYNC;
    o[1] = (uint8_t)(3 + a->n);
    o[2] = op | ANSWER;
    tw_put_le16(o + 3, (uint16_t) - (int32_t)err);
    memcpy(o + 5, a->payload, a->n);
    tw_put_le16(o + 5 + a->n, tw_crc16(TW_CRC16_INIT, o + 1, 4 + a->n));
    c->n_out = c->answers ? (uint8_t)(7 + a->n) : 0;
}

static void drop(control_t *c, uint32_t n)
{
    c->n_in = (uint8_t)(c->n_in - n);
    memmove(c->in, c->in + n, c->n_in);
}

/* Look at what has come. @return true: something was done or dropped, look again */
static bool advance(control_t *c)
{
    if (c->n_in == 0) {
        return false;
    }
    const bool length_known = c->n_in >= 2, begins = c->in[0] == SYNC;
    const uint32_t len = length_known ? c->in[1] : 1;
    if (begins && len >= 1 && len <= MAX_BODY) {
        if (!length_known || c->n_in < len + 4) {
            return false;
        }
        if (tw_crc16(TW_CRC16_INIT, c->in + 1, len + 1) == tw_get_le16(c->in + 2 + len)) {
            answer_t a = {.n = 0};
            const tw_err_t err = do_command(c, c->in[2], c->in + 3, len - 1, &a);
            c->v.frames++;
            c->v.refused += err != TW_OK;
            answer(c, c->in[2], err, &a);
            drop(c, len + 4);
            return true;
        }
    }
    c->v.bad_bytes++;
    drop(c, 1);
    return true;
}

static void send(control_t *c, tw_xdm_t *to, uint32_t *sent)
{
    const uint32_t n = tw_min_u32(c->n_out, to->bytes - *sent);
    if (n != 0) {
        memcpy((uint8_t *)to->ptr + *sent, c->out, n);
        *sent += n;
        c->n_out = (uint8_t)(c->n_out - n);
        memmove(c->out, c->out + n, c->n_out);
    }
}

static void serve(control_t *c, tw_xdm_t *from, tw_xdm_t *to)
{
    uint32_t sent = 0, used = 0;
    bool more = true;
    send(c, to, &sent);
    while (c->n_out == 0 && more) {
        more = advance(c);
        if (!more && used < from->bytes) {
            c->in[c->n_in++] = ((const uint8_t *)from->ptr)[used++];
            more = true;
        }
        send(c, to, &sent);
    }
    from->bytes = used;
    to->bytes = sent;
}

/* ---- commands -------------------------------------------------------------------- */

static tw_err_t run(control_t *c, tw_xdm_t *data)
{
    if (c->serial) {
        serve(c, &data[0], &data[1]);
    } else {
        data[0].bytes = 0;
    }
    return take_use_case(c);
}

static tw_err_t reset(control_t *c, const tw_node_reset_t *r, uint32_t cmd)
{
    TW_TRY(r->rx <= 1 && r->tx == 1 ? TW_OK : TW_E_IMG_NODE);
    TW_TRY(tw_bits(cmd, TW_CMD_PRESET) == 0 ? TW_OK : TW_E_PARAM_PRESET);
    for (uint32_t i = 0; i < (uint32_t)r->rx + r->tx; i++) {
        TW_TRY((r->lock >> i & 1u) != 0 || tw_raw_bits(r->fmt[i]->raw) == 8 ? TW_OK : TW_E_IMG_RAW);
    }
    TW_TRY(r->mem_bytes[0] >= sizeof *c ? TW_OK : TW_E_IMG_MEM);
    const bool warm = tw_bits(cmd, TW_CMD_WARM) && c->magic == tw_node_graph_control.hash;
    const values_t kept = warm ? c->v : (values_t){0};
    *c = (control_t){.magic = tw_node_graph_control.hash, .svc = r->svc, .change = -1};
    c->serial = r->rx == 1;
    c->answers = (r->lock >> r->rx & 1u) == 0;
    c->v = (values_t){
        .when = UINT32_MAX,
        .times = 1,
        .frames = kept.frames,
        .bad_bytes = kept.bad_bytes,
        .refused = kept.refused,
    };
    return TW_OK;
}

static uint32_t control(uint32_t cmd, void *inst, tw_xdm_t *data, uint32_t *state)
{
    control_t *c = inst;
    const uint32_t tag = tw_bits(cmd, TW_CMD_TAG);
    switch (tw_bits(cmd, TW_CMD_COMMAND)) {
    case TW_CMD_RESET:
        return tw_node_error(reset(c, data[0].ptr, cmd));
    case TW_CMD_SET_PARAMETER:
        put(c, tag, data);
        return 0;
    case TW_CMD_READ_PARAMETER:
        return tw_param_get(&store, &c->v, tag, data);
    case TW_CMD_RUN:
        *state = TW_NODE_DONE;
        return tw_node_error(run(c, data));
    case TW_CMD_STOP:
        return 0;
    default:
        return tw_node_error(TW_E_UNSUPPORTED);
    }
}

const tw_node_desc_t tw_node_graph_control = {
    .developer = "ARM",
    .name = "arm_stream_graph_control",
    .hash = 0x7CF1DBD4u,
    .version = 1u << 8,
    .rx_min = 0,
    .rx_max = 1,
    .tx_min = 1,
    .tx_max = 1,
    .raw_mask = TW_RAW_BIT(TW_RAW_U8) | TW_RAW_BIT(TW_RAW_S8) | TW_RAW_BIT(TW_RAW_CHAR) | TW_RAW_BIT(TW_RAW_STRING8) |
                TW_RAW_BIT(TW_RAW_HEXBINARY),
    .n_mem = 1,
    .mem = {{.a = sizeof(control_t), .align = 8}},
    .run = control,
    .params = params,
    .presets = 1,
};
