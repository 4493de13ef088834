/* The control node's serial protocol, against a graph that only takes notes. */
#include "tests/unit/node_rig.h"

enum { PARAM_FRAMES = 16, PARAM_BAD, PARAM_REFUSED, MAX_BODY = 128 };

static rig_t g;
static uint8_t sent[4096], got[4096];
static uint32_t n_sent, n_got;
static uint32_t sets, last_node, last_tag, last_bytes, reloaded, refuse_from;
static uint32_t use_case;

/* ---- a graph that takes notes ------------------------------------------------------ */

static tw_err_t note_flow(void *ctx, uint32_t slot, tw_flow_t op, uint32_t first, uint32_t count)
{
    (void)ctx, (void)slot, (void)op, (void)first, (void)count;
    return TW_OK;
}

static tw_err_t note_loop(void *ctx, uint32_t count, uint32_t times)
{
    (void)ctx, (void)count, (void)times;
    return TW_OK;
}

static uint32_t note_case(void *ctx, int32_t change)
{
    (void)ctx;
    use_case = change >= 0 ? (uint32_t)change : use_case;
    return use_case;
}

static tw_err_t note_set(void *ctx, const tw_steer_set_t *s, uint32_t n, uint32_t *bad, tw_fault_t *fault)
{
    (void)ctx;
    for (uint32_t i = 0; i < n; i++) {
        if (s[i].node >= refuse_from) {
            *bad = i;
            *fault = (tw_fault_t){.err = TW_E_PARAM_NODE, .at = s[i].node};
            return TW_E_PARAM_NODE;
        }
    }
    sets += n;
    last_node = s[n - 1].node, last_tag = s[n - 1].tag, last_bytes = s[n - 1].bytes;
    return TW_OK;
}

static tw_err_t note_get(void *ctx, uint32_t node, uint32_t tag, uint8_t *value, uint32_t *bytes)
{
    (void)ctx, (void)node;
    tw_put_le16(value, (uint16_t)tag);
    *bytes = 2;
    return TW_OK;
}

static void note_reload(void *ctx, uint32_t kind)
{
    (void)ctx;
    reloaded = kind + 1;
}

static const tw_steer_t notes = {note_flow, note_loop, note_case, note_set, note_get, note_reload};

static void open_control(void)
{
    const tw_format_t f = rig_format(TW_RAW_U8, 1, 0, 1);
    rig_prepare_arcs(&g, "graph_control", f, f, 1, 1);
    g.svc.control = &notes;
    assert_int_equal(rig_reset(&g, false, 0), 0);
    n_sent = n_got = sets = reloaded = use_case = 0;
    refuse_from = 10;
}

/* ---- the other end of the wire ------------------------------------------------------ */

static void send_frame(const uint8_t *body, uint32_t n)
{
    uint8_t *at = sent + n_sent;
    at[0] = 0xA5;
    at[1] = (uint8_t)n;
    memcpy(at + 2, body, n);
    tw_put_le16(at + 2 + n, tw_crc16(TW_CRC16_INIT, at + 1, n + 1));
    n_sent += n + 4;
}

#define SEND(...) send_frame((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* All that was sent, in pieces, with this room for answers in each RUN. */
static void deliver(uint32_t piece, uint32_t room)
{
    for (uint32_t at = 0, idle = 0; idle < 3;) {
        const uint32_t n = tw_min_u32(piece, n_sent - at);
        uint8_t *in = malloc(n + 1);
        memcpy(in, sent + at, n);
        tw_xdm_t data[2] = {{in, n}, {got + n_got, room}};
        assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
        assert_true(data[0].bytes <= n && data[1].bytes <= room);
        idle = data[0].bytes == 0 && data[1].bytes == 0 ? idle + 1 : 0;
        at += data[0].bytes;
        n_got += data[1].bytes;
        free(in);
    }
    n_sent = 0;
}

/* The next answer. @return its body, *n without opcode and status */
static const uint8_t *answer(uint32_t *at, uint32_t op, uint32_t status, uint32_t *n)
{
    const uint8_t *p = got + *at;
    assert_true(*at + 7 <= n_got && p[0] == 0xA5);
    *n = p[1] - 3u;
    assert_int_equal(tw_crc16(TW_CRC16_INIT, p + 1, p[1] + 1u), tw_get_le16(p + 2 + p[1]));
    assert_int_equal(p[2], op | 0x80);
    assert_int_equal(tw_get_le16(p + 3), status);
    *at += p[1] + 4u;
    return p + 5;
}

static uint32_t count(uint32_t index)
{
    uint8_t wire[4];
    rig_get(&g, index, wire, 4);
    return tw_get_le32(wire);
}

/* ---- claims --------------------------------------------------------------------------- */

static void a_ping_looks_as_documented(void **state)
{
    (void)state;
    static const uint8_t ping[] = {0xA5, 0x03, 0x01, 0x68, 0x69, 0x20, 0x57};
    static const uint8_t pong[] = {0xA5, 0x05, 0x81, 0x00, 0x00, 0x68, 0x69, 0x9C, 0xBA};
    open_control();
    SEND(1, 'h', 'i');
    assert_memory_equal(sent, ping, sizeof ping);
    deliver(100, 100);
    assert_int_equal(n_got, sizeof pong);
    assert_memory_equal(got, pong, sizeof pong);
    rig_close(&g);
}

static void every_command_answers_however_the_bytes_come(void **state)
{
    (void)state;
    for (uint32_t piece = 1; piece < 40; piece += 6) {
        for (uint32_t room = 1; room < 40; room += 9) {
            uint32_t at = 0, n;
            open_control();
            SEND(2, 3, 0, 7, 0, 1, 0, 0xFF, 4, 0, 0, 1, 2, 0, 5, 6);
            SEND(3, 3, 0, 0x34, 0x12);
            SEND(4, 9);
            SEND(4);
            SEND(5, 1);
            SEND(6);
            deliver(piece, room);
            answer(&at, 2, 0, &n);
            assert_true(n == 0 && sets == 2 && last_node == 4 && last_tag == 256 && last_bytes == 2);
            assert_int_equal(tw_get_le16(answer(&at, 3, 0, &n)), 0x1234);
            assert_true(answer(&at, 4, 0, &n)[0] == 9 && answer(&at, 4, 0, &n)[0] == 9 && use_case == 9);
            answer(&at, 5, 0, &n);
            assert_int_equal(reloaded, 2);
            const uint8_t *status = answer(&at, 6, 0, &n);
            assert_true(n == 12 && tw_get_le32(status) == 6 && tw_get_le32(status + 4) == 0);
            assert_int_equal(at, n_got);
            rig_close(&g);
        }
    }
}

static void refusals_have_their_code_and_place(void **state)
{
    (void)state;
    uint32_t at = 0, n;
    open_control();
    SEND(2, 3, 0, 7, 0, 1, 0, 0xFF, 11, 0, 7, 0, 1, 0, 0xFF); /* the second has no node */
    SEND(2, 3, 0, 7, 0, 2, 0, 0xFF);                          /* shorter than it says */
    SEND(2, 3, 0, 7);
    SEND(3, 3, 0, 0x34);
    SEND(4, 32);
    SEND(5);
    SEND(9, 1, 2);
    deliver(1000, 1000);
    const uint8_t *p = answer(&at, 2, -TW_E_PARAM_NODE, &n);
    assert_true(n == 6 && tw_get_le16(p) == 1 && tw_get_le32(p + 2) == 11 && sets == 0);
    answer(&at, 2, -TW_E_PARAM_SIZE, &n);
    answer(&at, 2, -TW_E_PARAM_SIZE, &n);
    answer(&at, 3, -TW_E_PARAM_SIZE, &n);
    answer(&at, 4, -TW_E_PARAM_RANGE, &n);
    answer(&at, 5, -TW_E_PARAM_SIZE, &n);
    answer(&at, 9, -TW_E_UNSUPPORTED, &n);
    assert_int_equal(count(PARAM_REFUSED), 7);
    assert_int_equal(count(PARAM_FRAMES), 7);
    assert_true(sets == 0 && use_case == 0 && reloaded == 0);
    rig_close(&g);
}

static void a_damaged_byte_costs_its_command_alone(void **state)
{
    (void)state;
    for (uint32_t at = 0; at < 8; at++) {
        for (uint32_t bit = 0; bit < 8; bit++) {
            open_control();
            SEND(4, 1);
            SEND(4, 2, 0xA5, 0x05); /* refused: one byte too many, and a sync inside */
            SEND(4, 3);
            sent[6 + at] ^= (uint8_t)(1u << bit); /* the second */
            SEND(4, 4);
            static const uint8_t silence[MAX_BODY + 8];
            memcpy(sent + n_sent, silence, sizeof silence); /* a length made longer waits for no more than this */
            n_sent += sizeof silence;
            deliver(7, 100);
            if (use_case != 4 || count(PARAM_FRAMES) != 3) {
                fail_msg("bit %u of byte %u: case %u, %u commands", bit, at, use_case, count(PARAM_FRAMES));
            }
            rig_close(&g);
        }
    }
}

static void noise_is_counted_and_does_nothing(void **state)
{
    (void)state;
    uint32_t seed = 77;
    open_control();
    for (uint32_t i = 0; i < 4000; i++) {
        sent[n_sent++] = rig_noise(&seed) % 3 == 0 ? 0xA5 : (uint8_t)rig_noise(&seed);
    }
    deliver(64, 64);
    const uint32_t bad = count(PARAM_BAD);
    assert_true(bad >= 4000 - MAX_BODY - 4 && bad <= 4000);
    assert_true(count(PARAM_FRAMES) == 0 && sets == 0 && reloaded == 0 && n_got == 0);
    memset(sent, 0, MAX_BODY + 4); /* what the last sync waited for */
    n_sent = MAX_BODY + 4;
    SEND(4, 5);
    deliver(64, 64);
    assert_int_equal(use_case, 5);
    rig_close(&g);
}

static void without_room_commands_wait_and_none_is_lost(void **state)
{
    (void)state;
    open_control();
    for (unsigned i = 0; i < 20; i++) {
        SEND(1, (uint8_t)i);
    }
    uint32_t used = 0;
    for (unsigned k = 0; k < 5; k++) {
        tw_xdm_t data[2] = {{sent + used, n_sent - used}, {got, 0}};
        assert_int_equal(rig_command(&g, TW_CMD_RUN, 0, data), 0);
        used += data[0].bytes;
    }
    assert_int_equal(count(PARAM_FRAMES), 1);
    memmove(sent, sent + used, n_sent - used);
    n_sent -= used;
    deliver(100, 3);
    uint32_t at = 0, n;
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(answer(&at, 1, 0, &n)[0], i);
    }
    rig_close(&g);
}

static void a_lock_for_answers_means_none(void **state)
{
    (void)state;
    const tw_format_t f = rig_format(TW_RAW_U8, 1, 0, 1);
    rig_prepare_arcs(&g, "graph_control", f, rig_format(TW_RAW_S16, 1, 0, 1), 1, 1);
    g.svc.control = &notes;
    assert_int_equal(rig_reset(&g, false, 0), -TW_E_IMG_RAW);
    g.reset.lock = 2;
    assert_int_equal(rig_reset(&g, false, 0), 0);
    n_sent = n_got = 0;
    SEND(4, 3);
    SEND(4, 6);
    deliver(100, 0);
    assert_int_equal(use_case, 6);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ping_looks_as_documented),
        cmocka_unit_test(every_command_answers_however_the_bytes_come),
        cmocka_unit_test(refusals_have_their_code_and_place),
        cmocka_unit_test(a_damaged_byte_costs_its_command_alone),
        cmocka_unit_test(noise_is_counted_and_does_nothing),
        cmocka_unit_test(without_room_commands_wait_and_none_is_lost),
        cmocka_unit_test(a_lock_for_answers_means_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
