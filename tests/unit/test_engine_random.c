/* Any commands in any order, over several graphs: the engine keeps its word. Seeds name runs for ever. */
#include "tests/support/engine_rig.h"
#include "tests/support/random_graph.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { IMAGES = 6, TOKENS = 1 << 14, PROBES = 6, RUNS = 60, STEPS = 700 };
enum { UNUSED, IN_GROUP, ON_ITS_WAY, TIMED, ANSWERED };

static tw_ib_t ib;
static rig_t rig;
static uint8_t img[IMAGES][32768];
static uint32_t img_bytes[IMAGES];
static uint32_t seed;

/* What has to be true, kept beside the engine. */
static struct {
    uint8_t token[TOKENS];
    uint32_t next, timed, generation, reverts;
    uint32_t current, kept; /* uid of the graphs; 0 none */
    uint32_t primed, swapped, back;
    bool group_moves, armed_swap, group_armed, confirm;
    struct {
        tw_probe_t *probe;
        uint8_t *mem;
        uint32_t generation, leaving; /* token of its put_unprobe */
    } probes[PROBES];
} m;

static uint32_t dice(uint32_t n)
{
    return rg_below(&seed, n);
}

static uint32_t token(void)
{
    assert_in_range(m.next, 1, TOKENS - 1);
    return m.next;
}

/* A put that succeeded used the token. */
static bool used(tw_err_t err)
{
    if (err == TW_OK) {
        m.token[m.next++] = IN_GROUP;
    }
    return err == TW_OK;
}

static void move_tokens(uint8_t from, uint8_t to)
{
    for (uint32_t i = 1; i < m.next; i++) {
        m.token[i] = m.token[i] == from ? to : m.token[i];
    }
}

static void make_images(void)
{
    static const uint16_t add5[] = {0x4005, 0xC000};
    for (uint32_t i = 0; i < IMAGES; i++) {
        const rg_kind_t kind = {.nodes = 8, .sizes = i < 3 ? 1 : RG_SIZES, .hqos = true, .scripts = true, .least = 1};
        if (i == 0) {
            rig_chain_open(&ib);
            tw_ib_script(&ib, add5, 2, 2, 1, 1);
            ib.uid = 1;
            img_bytes[i] = tw_ib_finish(&ib, img[i], sizeof img[i]);
            continue;
        }
        (void)rg_make(&ib, img[i], sizeof img[i], &kind, &seed);
        ib.uid = i + 1;
        img_bytes[i] = tw_ib_finish(&ib, img[i], sizeof img[i]);
    }
}

/* ---- what comes back ------------------------------------------------------------------- */

static void free_probe(uint32_t i)
{
    free(m.probes[i].mem);
    free(m.probes[i].probe);
    m.probes[i].probe = NULL;
}

static void answered(const tw_engine_reply_t *x)
{
    assert_in_range(x->token, 1, m.next - 1);
    if (m.token[x->token] != ON_ITS_WAY && m.token[x->token] != TIMED) {
        fail_msg("token %u answered in state %u", (unsigned)x->token, m.token[x->token]);
    }
    m.token[x->token] = ANSWERED;
    for (uint32_t i = 0; i < PROBES; i++) {
        if (m.probes[i].probe != NULL && m.probes[i].leaving == x->token) {
            free_probe(i);
        }
    }
}

static void drain(void)
{
    tw_engine_reply_t x;
    while (tw_engine_reply(rig.engine, &x)) {
        if (x.kind == TW_REPLY_DONE) {
            answered(&x);
        }
        tw_engine_reply_done(rig.engine);
    }
}

static void exchange(void)
{
    const uint32_t was = m.current;
    m.current = m.kept;
    m.kept = was;
}

static bool open_group(void)
{
    return m.group_moves || m.group_armed || memchr(m.token, IN_GROUP, m.next) != NULL;
}

static void look(void)
{
    tw_engine_guard_t g;
    tw_engine_info_t info;
    tw_engine_guard(rig.engine, &g);
    if (g.reverts != m.reverts && m.armed_swap) {
        exchange();
    }
    m.armed_swap = m.armed_swap && g.reverts == m.reverts;
    m.reverts = g.reverts;
    tw_engine_info(rig.engine, &info);
    assert_true(info.generation >= m.generation);
    m.generation = info.generation;
    assert_int_equal(info.state == TW_GRAPH_EMPTY, m.current == 0);
    if (m.current != 0 && !open_group()) { /* what the engine did by itself is not seen before the group ends */
        assert_int_equal(info.uid, m.current);
    }
    assert_int_equal(g.kept, m.kept != 0);
}

static void ticks(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        (void)tw_engine_tick(rig.engine);
    }
    memset(rig.out_bytes, 0, sizeof rig.out_bytes);
    drain();
    look();
}

/* ---- the group ------------------------------------------------------------------------- */

static void publish(void)
{
    (void)tw_engine_publish(rig.engine);
    move_tokens(IN_GROUP, ON_ITS_WAY);
    m.group_moves = m.group_armed = false;
    ticks(1 + dice(3));
}

static void drop(void)
{
    tw_engine_drop(rig.engine);
    move_tokens(IN_GROUP, ANSWERED);
    m.group_moves = m.group_armed = false;
}

/* A move goes alone, as the server puts it. */
static void end_group(void)
{
    dice(8) == 0 ? drop() : publish();
}

/* ---- commands ---------------------------------------------------------------------------- */

static void set_param(void)
{
    uint8_t v[64];
    tw_fault_t fault;
    const uint32_t node = dice(9), index = dice(3) == 0 ? TW_TAG_ALL : dice(8), bytes = dice(2) ? 4 : dice(64);
    static const float gains[] = {0, -6, 6, -100, 1e-3f};
    for (uint32_t i = 0; i < sizeof v; i++) {
        v[i] = (uint8_t)dice(256);
    }
    if (dice(2) == 0) {
        tw_put_f32(v, gains[dice(TW_COUNT(gains))]);
    }
    const uint32_t n = dice(3) == 0 ? 1 : bytes;
    if (tw_engine_check_param(rig.engine, node, index, 0, v, n, &fault) == TW_OK) {
        (void)used(tw_engine_put_param(rig.engine, token(), node, index, v, n));
    }
}

static void preset(void)
{
    (void)used(tw_engine_put_preset(rig.engine, token(), dice(9), dice(3)));
}

static void read_back(void)
{
    (void)used(tw_engine_put_read(rig.engine, token(), dice(9), dice(4) == 0 ? TW_TAG_ALL : dice(8)));
}

static void control(void)
{
    (void)used(tw_engine_put_control(rig.engine, token(), (tw_control_t)dice(5), dice(4)));
}

static void script(void)
{
    static const uint8_t loop_code[] = {0x01, 0x05, 0x01, 0x00}, add_code[] = {0x05, 0x40, 0x00, 0xC0};
    const uint8_t *code = dice(2) ? loop_code : add_code;
    tw_fault_t fault;
    if (tw_engine_check_script(rig.engine, dice(2), code, 4, 0, &fault) == TW_OK) {
        (void)used(tw_engine_put_script(rig.engine, token(), 0, code, 4, 0));
    }
}

static void run_script(void)
{
    const int64_t args[2] = {7, 8};
    (void)used(tw_engine_put_run(rig.engine, token(), dice(2), args, dice(3), dice(2) ? 0 : dice(100)));
}

static void script_off(void)
{
    (void)used(tw_engine_put_script_off(rig.engine, token(), dice(2), dice(2) == 0));
}

static void arc_read(void)
{
    (void)used(tw_engine_put_arc_read(rig.engine, token(), dice(10), dice(200)));
}

static void arc_write(void)
{
    static const uint8_t data[128];
    (void)used(tw_engine_put_arc_write(rig.engine, token(), dice(10), data, 8 * dice(17), dice(2) == 0));
}

static void probe(void)
{
    const uint32_t i = dice(PROBES);
    if (m.probes[i].probe != NULL) {
        if (m.probes[i].leaving == 0) {
            const uint32_t t = token();
            m.probes[i].leaving = used(tw_engine_put_unprobe(rig.engine, t, m.probes[i].probe)) ? t : 0;
            publish();
        }
        return;
    }
    m.probes[i].probe = calloc(1, sizeof(tw_probe_t) + sizeof(tw_capture_t));
    m.probes[i].mem = malloc(2048);
    m.probes[i].leaving = 0;
    tw_probe_t *p = m.probes[i].probe;
    p->arc = dice(10);
    if (dice(2) == 0) {
        tw_ring_init(&p->ring, m.probes[i].mem, 2048);
    } else {
        uint32_t missing;
        const tw_capture_cfg_t cfg = {.raw = TW_RAW_S16,
                                      .channels = 1,
                                      .samples = 4,
                                      .mode = TW_CAPTURE_REPEAT,
                                      .cause = dice(2) ? TW_CAUSE_SCRIPT : TW_CAUSE_NOW,
                                      .pre = 8,
                                      .post = 8};
        p->capture = (tw_capture_t *)(void *)(p + 1);
        assert_int_equal(tw_capture_init(p->capture, &cfg, m.probes[i].mem, 2048, &missing), TW_OK);
    }
    if (!used(tw_engine_put_probe(rig.engine, token(), p))) {
        free_probe(i);
        return;
    }
    publish();
}

static void shadow(void)
{
    uint32_t number, bytes;
    uint8_t v[4];
    tw_fault_t fault;
    tw_put_f32(v, -6);
    switch (dice(4)) {
    case 0:
        (void)used(tw_engine_put_shadow(rig.engine, token(), dice(9), dice(3), &number, &bytes));
        publish();
        break;
    case 1:
        if (tw_engine_check_param(rig.engine, 1, 6, 0, v, 4, &fault) == TW_OK) {
            (void)used(tw_engine_put_shadow_param(rig.engine, token(), dice(9), 6, v, 4));
        }
        break;
    case 2:
        (void)used(tw_engine_put_shadow_read(rig.engine, token(), dice(9), dice(2) == 0));
        break;
    default:
        (void)used(tw_engine_put_shadow_drop(rig.engine, token(), dice(9)));
    }
}

static void arm(void)
{
    if (!open_group() && tw_engine_put_arm(rig.engine, 1 + dice(2)) == TW_OK) {
        m.group_armed = true;
        for (uint32_t i = dice(6); i > 0; i--) {
            dice(4) == 0 ? preset() : dice(4) == 0 ? script() : set_param();
        }
        if (tw_engine_put_armed(rig.engine) != TW_OK) {
            drop();
        }
    }
}

static void confirm(void)
{
    const uint32_t id = 1 + dice(2);
    (void)used(dice(2) ? tw_engine_put_confirm(rig.engine, token(), id)
                       : tw_engine_put_revert(rig.engine, token(), id));
}

static void at_a_tick(void)
{
    tw_engine_info_t info;
    tw_engine_info(rig.engine, &info);
    if (!open_group() || m.timed != 0 || m.group_moves) {
        return;
    }
    const uint32_t t = token();
    const bool waits = memchr(m.token, TIMED, m.next) != NULL;
    if (tw_engine_publish_at(rig.engine, info.tick + dice(12), t) == TW_OK) {
        assert_false(waits);
        move_tokens(IN_GROUP, TIMED);
        m.token[m.next++] = TIMED;
        m.timed = t;
        m.group_armed = false;
    } else {
        drop();
    }
}

static void withdraw(void)
{
    if (m.timed != 0 && tw_engine_withdraw(rig.engine, m.timed)) {
        move_tokens(TIMED, ANSWERED);
    }
    m.timed = 0;
}

static void tick_some(void)
{
    rig.cycles_step = dice(12) == 0 ? 500000 : 0;
    ticks(1 + dice(10));
    rig.cycles_step = 0;
}

/* ---- moves ------------------------------------------------------------------------------------ */

static void settle(void)
{
    if (open_group()) {
        end_group();
    }
    ticks(1);
}

static void load(void)
{
    static uint8_t spoilt[32768];
    tw_fault_t fault;
    const uint32_t i = dice(IMAGES);
    settle();
    memcpy(spoilt, img[i], img_bytes[i]);
    if (dice(4) == 0) {
        spoilt[128 + dice(img_bytes[i] - 128)] ^= (uint8_t)(1u << dice(8));
        tw_image_fix(spoilt, img_bytes[i]);
    }
    const tw_err_t err = tw_engine_prime(rig.engine, spoilt, img_bytes[i], false, &fault);
    if (err == TW_E_BUSY || err == TW_E_UNCONFIRMED) {
        return;
    }
    m.kept = err == TW_OK ? 0 : m.kept;
    look();
    if (err != TW_OK) {
        return;
    }
    if (dice(6) == 0) {
        tw_engine_unprime(rig.engine);
        look();
        return;
    }
    const tw_swap_t how = {.start = dice(4) != 0,
                           .confirm = dice(3) == 0,
                           .carry = (tw_carry_t)dice(3),
                           .fade_us = dice(2) ? 0 : 1000 * dice(12)};
    if (!used(tw_engine_put_swap_to(rig.engine, token(), &how, &fault))) {
        tw_engine_unprime(rig.engine);
        look();
        return;
    }
    m.group_moves = true;
    for (uint32_t k = dice(4); k > 0; k--) {
        dice(2) ? set_param() : dice(2) ? arc_read() : control();
    }
    const tw_err_t again = tw_engine_put_rollback(rig.engine, token(), 0);
    assert_true(again == TW_E_BUSY); /* what the group leaves behind is not known yet */
    if (dice(8) == 0) {
        drop();
        tw_engine_unprime(rig.engine);
        look();
        return;
    }
    m.kept = m.current;
    m.current = i + 1;
    m.armed_swap = how.confirm && m.kept != 0;
    publish();
}

static void back(void)
{
    settle();
    const tw_err_t err = tw_engine_put_rollback(rig.engine, token(), dice(2) ? 0 : 1000 * dice(12));
    assert_int_equal(err == TW_OK, m.kept != 0);
    if (used(err)) {
        m.armed_swap = false;
        exchange();
        publish();
    }
}

static void keep(void)
{
    settle();
    const tw_err_t err = tw_engine_put_keep(rig.engine, token());
    assert_int_equal(err == TW_OK, m.kept != 0);
    if (used(err)) {
        m.kept = 0;
        m.armed_swap = false;
        publish();
    }
}

static void unload(void)
{
    settle();
    if (dice(3) == 0 && m.current != 0 && used(tw_engine_put_unload(rig.engine, token()))) {
        m.current = m.kept = 0;
        m.armed_swap = false;
        publish();
    }
}

static void any_command(void)
{
    static void (*const all[])(void) = {set_param,  set_param, preset,    read_back, control,   script,    run_script,
                                        script_off, arc_read,  arc_write, probe,     shadow,    shadow,    arm,
                                        confirm,    at_a_tick, withdraw,  tick_some, tick_some, tick_some, load,
                                        load,       back,      keep,      unload};
    all[dice(TW_COUNT(all))]();
    if (open_group() && dice(3) != 0) {
        end_group();
    }
    if (memchr(m.token, TIMED, m.next) == NULL) {
        m.timed = 0;
    }
}

static void all_is_answered_in_the_end(void)
{
    settle();
    withdraw();
    assert_true(used(tw_engine_put_unload(rig.engine, token())));
    m.current = m.kept = 0;
    m.armed_swap = false;
    publish();
    ticks(20);
    for (uint32_t i = 1; i < m.next; i++) {
        if (m.token[i] != ANSWERED) {
            fail_msg("token %u was never answered", (unsigned)i);
        }
    }
    for (uint32_t i = 0; i < PROBES; i++) {
        if (m.probes[i].probe != NULL) {
            free_probe(i);
        }
    }
    assert_int_equal(tw_engine_shadow_room(rig.engine), RIG_SHADOW_BYTES);
}

static void whatever_is_asked_in_whatever_order_the_engine_keeps_its_word(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < RUNS; k++) {
        seed = 77 + k;
        memset(&m, 0, sizeof m);
        m.next = 1;
        make_images();
        rig_open(&rig, k % 3 == 0 ? 1024 : 1 << 14, k % 3 == 0 ? 4096 : 1 << 16);
        rig.hole_from = 50;
        rig.hole_to = 60;
        for (uint32_t i = 0; i < STEPS; i++) {
            any_command();
        }
        all_is_answered_in_the_end();
        rig_close(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_asked_in_whatever_order_the_engine_keeps_its_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
