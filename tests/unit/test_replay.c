/* Replay: outputs of a tuned, scripted, swapped run again bit by bit; a file cut or damaged at any byte. */
#include "host_tools/tunewire/replay_run.h"
#include "host_tools/scriptasm/scriptasm.h"
#include "engine/base/crc.h"
#include "tests/support/record_file.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { GAIN_DB = 6, RING = 1 << 18 };
static tw_ib_t ib;
static uint8_t img[32768];
static rig_t rig;
static record_file_t file;

/* addk r0 5; ret */
static const uint16_t add5[] = {0x4005, 0xC000};

static void ticks(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        (void)tw_engine_tick(rig.engine);
        tw_engine_reply_t x;
        while (tw_engine_reply(rig.engine, &x)) {
            tw_engine_reply_done(rig.engine);
        }
        record_file_drain(&file);
    }
}

static void gain(float db)
{
    uint8_t v[4];
    tw_put_f32(v, db);
    assert_int_equal(tw_engine_put_param(rig.engine, 0, 1, GAIN_DB, v, sizeof v), TW_OK);
    (void)tw_engine_publish(rig.engine);
}

static void load_scripted(void)
{
    rig_chain_open(&ib);
    tw_ib_script(&ib, add5, 2, 2, 1, 1);
    rig_load(&rig, img, tw_ib_finish(&ib, img, sizeof img));
}

/* Everything a host does, and the outputs of all of it in rig.out. */
static void tour(uint32_t ring, uint32_t chunk, bool outputs)
{
    static const int64_t args[1] = {7};
    static const uint8_t frame[RIG_FRAME] = {9, 1, 8, 2};
    rig_open(&rig, 1 << 14, 1 << 14);
    record_file_open(&file, &rig, ring, chunk, outputs);
    ticks(3);
    load_scripted();
    ticks(4);
    gain(-6);
    ticks(5);
    rig.hole_from = rig.reads[0] + 2;
    rig.hole_to = rig.hole_from + 2;
    ticks(5);
    assert_int_equal(tw_engine_put_preset(rig.engine, 0, 0, 0), TW_OK);
    assert_int_equal(tw_engine_put_io(rig.engine, 0, 1, (const uint32_t[]){1, 2, 3}), TW_OK);
    assert_int_equal(tw_engine_put_run(rig.engine, 1, 0, args, 1, 0), TW_OK);
    assert_int_equal(tw_engine_put_script(rig.engine, 0, 0, (const uint8_t *)add5, 4, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(2);
    assert_int_equal(tw_engine_put_control(rig.engine, 0, TW_CTL_STOP, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(3);
    gain(3);
    assert_int_equal(tw_engine_put_arc_write(rig.engine, 2, 1, frame, sizeof frame, true), TW_OK);
    assert_int_equal(tw_engine_put_control(rig.engine, 0, TW_CTL_STEP, 4), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(6);
    load_scripted();
    ticks(3);
    assert_int_equal(tw_engine_put_control(rig.engine, 0, TW_CTL_RESET, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(3);
    assert_int_equal(tw_engine_put_unload(rig.engine, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(2);
    rig_load(&rig, img, rig_chain(&ib, img, sizeof img));
    gain(-1);
    ticks(4);
}

typedef struct heard {
    uint8_t out[RIG_OUT_MAX];
    uint32_t n, formats;
} heard_t;

static bool hear(void *ctx, uint32_t io, const void *data, uint32_t bytes)
{
    heard_t *h = ctx;
    assert_int_equal(io, 4);
    memcpy(h->out + h->n, data, bytes);
    h->n += bytes;
    return true;
}

static void see_format(void *ctx, uint32_t io, uint32_t raw, uint32_t channels, float rate_hz)
{
    heard_t *h = ctx;
    h->formats += (io == 0 || io == 4) && raw == TW_RAW_S16 && channels == 1 && rate_hz > 15999.0f;
}

static void a_replay_gives_the_outputs_bit_by_bit(void **state)
{
    (void)state;
    for (unsigned outputs = 0; outputs < 2; outputs++) {
        static heard_t h;
        memset(&h, 0, sizeof h);
        const tw_replay_user_t user = {.ctx = &h, .output = hear, .format = see_format};
        tw_replay_result_t res;
        tour(RING, 4096, outputs != 0);
        record_file_end(&file, TW_RECORD_STOPPED);
        tw_replay_play(file.bytes, file.n, &user, &res);
        assert_string_equal(res.text, "");
        assert_int_equal(res.end, TW_REPLAY_WHOLE);
        assert_int_equal(res.recorded_end, TW_RECORD_STOPPED);
        assert_int_equal(res.different, 0);
        assert_int_equal(h.n, rig.out_bytes[4]);
        assert_memory_equal(h.out, rig.out[4], h.n);
        assert_int_equal(res.blocks, 30);
        assert_int_equal(res.commands, 15);
        assert_true(h.formats >= 6);
        record_file_free(&file);
        rig_close(&rig);
    }
}

/* ---- what scripts hear from outside ------------------------------------------------------ */

/* Before node 1, in r0 1: pin 2 mutes the amplifier, the application counts, and its 9th answer stops the graph. By a
 * timer, r0 3: the script is told the time. */
static const char *const listener =
    "eqk r0 1\ncjmp #1\neqk r0 3\ncjmp #2\nmovi int32 r5 1\neqk r5 1\nret\n"
    "labl #1\nmovi int32 r0 0\nmovi int32 r1 2\ncals gpio\nstore *p0 r1\n"
    "movi int32 r0 3\nmovi int32 r2 1\npshc int16 1\ncals setparam\n"
    "movi int32 r2 0\nmovi int32 r0 100\ncallapp 9\n"
    "movi int32 r0 4\neqk r1 9\nccallsys 0\n"
    "movi int32 r0 1\nmovi int32 r1 1\nmovi int32 r2 0\ncals timer\nmovi int32 r5 1\neqk r5 1\nret\n"
    "labl #2\nmovi int32 r0 0\ncals time\nmovi int32 r0 1\ncals event\nret\n";

static uint32_t pins, answers;

static uint32_t pin_levels(void *ctx)
{
    (void)ctx;
    return pins;
}

static tw_err_t count_up(void *ctx, tw_app_call_t *call)
{
    (void)ctx;
    call->result = ++answers;
    return answers % 4 == 0 ? TW_E_BUSY : TW_OK;
}

static void add_listener(void)
{
    static tw_asm_out_t out;
    uint16_t words[128];
    if (!tw_asm(listener, strlen(listener), &out)) {
        fail_msg("%u: %s", out.diags[0].line, out.diags[0].text);
    }
    for (uint32_t i = 0; i < out.code_bytes / 2; i++) {
        words[i] = tw_get_le16(out.code + 2 * i);
    }
    (void)tw_ib_script(&ib, words, out.code_bytes / 2, 6, 1, 4);
    tw_ib_script_memory(&ib, 0, false);
    tw_ib_node_script(&ib, 1, 0);
}

static void pins_and_answers_of_the_application_replay(void **state)
{
    (void)state;
    static heard_t h;
    static const tw_board_gpio_t gpio = {.pins = 0xFF, .levels = pin_levels};
    static const tw_apps_t apps = {.fn = {[9] = count_up}};
    const tw_replay_user_t user = {.ctx = &h, .output = hear, .format = see_format};
    tw_replay_result_t res;
    memset(&h, 0, sizeof h);
    pins = answers = 0;
    rig_open_with(&rig, 1 << 14, 1 << 14, &gpio, &apps);
    record_file_open(&file, &rig, RING, 4096, true);
    rig_chain_open(&ib);
    add_listener();
    rig_load(&rig, img, tw_ib_finish(&ib, img, sizeof img));
    for (unsigned i = 0; i < 20; i++) {
        pins = i % 6 < 3 ? 4 : 3;
        rig.us += 700;
        ticks(1);
        if (i == 14) { /* the script stopped it */
            tw_engine_info_t info;
            tw_engine_info(rig.engine, &info);
            assert_int_equal(info.state, TW_GRAPH_STOPPED);
            assert_int_equal(answers, 9);
            assert_int_equal(tw_engine_put_control(rig.engine, 0, TW_CTL_START, 0), TW_OK);
            (void)tw_engine_publish(rig.engine);
        }
    }
    assert_true(answers > 9);
    record_file_end(&file, TW_RECORD_STOPPED);
    tw_replay_play(file.bytes, file.n, &user, &res);
    assert_string_equal(res.text, "");
    assert_int_equal(res.end, TW_REPLAY_WHOLE);
    assert_int_equal(res.different, 0);
    assert_int_equal(h.n, rig.out_bytes[4]);
    assert_memory_equal(h.out, rig.out[4], h.n);
    unsigned silent = 0;
    for (uint32_t i = 0; i < h.n; i += RIG_FRAME) {
        silent += tw_get_le16(h.out + i + RIG_FRAME - 2) == 0;
    }
    assert_true(silent > 0 && silent < h.n / RIG_FRAME);
    record_file_free(&file);
    rig_close(&rig);
}

static void swap_to(bool confirm)
{
    tw_fault_t fault;
    rig_chain_open(&ib);
    tw_ib_script(&ib, add5, 2, 2, 1, 1);
    assert_int_equal(tw_engine_prime(rig.engine, img, tw_ib_finish(&ib, img, sizeof img), false, &fault), TW_OK);
    const tw_swap_t how = {.start = true, .confirm = confirm, .carry = TW_CARRY_PARAMS, .fade_us = 5000};
    assert_int_equal(tw_engine_put_swap_to(rig.engine, 0, &how, &fault), TW_OK);
    (void)tw_engine_publish(rig.engine);
}

/* Fades, going back, changes that were confirmed, put back, or taken back by the engine because blocks took too long.
 */
static void fades_and_changes_taken_back_replay_too(void **state)
{
    (void)state;
    static heard_t h;
    uint8_t value[4];
    memset(&h, 0, sizeof h);
    const tw_replay_user_t user = {.ctx = &h, .output = hear};
    tw_replay_result_t res;
    rig_open(&rig, 1 << 14, 1 << 14);
    record_file_open(&file, &rig, RING, 4096, false);
    load_scripted();
    ticks(4);
    gain(-6);
    ticks(8);
    swap_to(false);
    ticks(9);
    gain(2);
    ticks(4);
    assert_int_equal(tw_engine_put_rollback(rig.engine, 0, 3000), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(7);
    for (uint32_t id = 1; id <= 2; id++) {
        assert_int_equal(tw_engine_put_arm(rig.engine, id), TW_OK);
        tw_put_f32(value, -12.0f - (float)id);
        assert_int_equal(tw_engine_put_param(rig.engine, 0, 1, GAIN_DB, value, sizeof value), TW_OK);
        assert_int_equal(tw_engine_put_armed(rig.engine), TW_OK);
        (void)tw_engine_publish(rig.engine);
        ticks(3);
        assert_int_equal(id == 1 ? tw_engine_put_revert(rig.engine, 0, id) : tw_engine_put_confirm(rig.engine, 0, id),
                         TW_OK);
        (void)tw_engine_publish(rig.engine);
        ticks(3);
    }
    swap_to(true);
    ticks(3);
    rig.cycles_step = 1 << 20; /* now every block is one that takes too long */
    tw_engine_guard_t guard;
    for (unsigned i = 0; i < 40; i++) {
        ticks(1);
    }
    tw_engine_guard(rig.engine, &guard);
    assert_int_equal(guard.reverts, 1);
    record_file_end(&file, TW_RECORD_STOPPED);
    tw_replay_play(file.bytes, file.n, &user, &res);
    assert_string_equal(res.text, "");
    assert_int_equal(res.end, TW_REPLAY_WHOLE);
    assert_int_equal(res.different, 0);
    assert_int_equal(h.n, rig.out_bytes[4]);
    assert_memory_equal(h.out, rig.out[4], h.n);
    record_file_free(&file);
    rig_close(&rig);
}

static void a_recording_begins_with_a_graph_primed_after_it(void **state)
{
    (void)state;
    tw_replay_result_t res;
    rig_open(&rig, 1 << 14, 1 << 14);
    rig_load(&rig, img, rig_chain(&ib, img, sizeof img));
    for (unsigned i = 0; i < 5; i++) {
        assert_true(tw_engine_tick(rig.engine));
    }
    record_file_open(&file, &rig, RING, 4096, false);
    ticks(5);
    assert_int_equal(file.recorder.state, TW_RECORDER_WAITING);
    gain(-3);
    load_scripted();
    ticks(5);
    assert_int_equal(tw_engine_record(rig.engine, NULL), TW_E_BUSY);
    atomic_store(&file.recorder.stop, 1);
    ticks(2);
    assert_int_equal(file.recorder.state, TW_RECORDER_ENDED);
    assert_int_equal(tw_engine_record(rig.engine, NULL), TW_OK);
    record_file_end(&file, TW_RECORD_STOPPED);
    tw_replay_play(file.bytes, file.n, NULL, &res);
    assert_string_equal(res.text, "");
    assert_int_equal(res.end, TW_REPLAY_WHOLE);
    assert_int_equal(res.first_tick, 10);
    assert_int_equal(res.blocks, 5);
    assert_int_equal(res.different, 0);
    record_file_free(&file);
    rig_close(&rig);
}

static void a_recording_takes_nothing_over_from_a_graph_it_does_not_know(void **state)
{
    (void)state;
    tw_replay_result_t res;
    rig_open(&rig, 1 << 14, 1 << 14);
    load_scripted();
    ticks(5);
    record_file_open(&file, &rig, RING, 4096, false);
    swap_to(false); /* it fades, and carries parameters */
    ticks(12);
    assert_int_equal(file.recorder.state, TW_RECORDER_WAITING);
    load_scripted();
    ticks(5);
    assert_int_equal(file.recorder.state, TW_RECORDER_ON);
    assert_int_equal(tw_engine_put_keep(rig.engine, 0), TW_OK); /* what it gives up the replay never had */
    (void)tw_engine_publish(rig.engine);
    ticks(1);
    swap_to(false); /* this one it knows */
    ticks(12);
    assert_int_equal(tw_engine_put_rollback(rig.engine, 0, 0), TW_OK);
    (void)tw_engine_publish(rig.engine);
    ticks(3);
    atomic_store(&file.recorder.stop, 1);
    ticks(1);
    record_file_end(&file, TW_RECORD_STOPPED);
    tw_replay_play(file.bytes, file.n, NULL, &res);
    assert_string_equal(res.text, "");
    assert_int_equal(res.end, TW_REPLAY_WHOLE);
    assert_int_equal(res.blocks, 21);
    assert_int_equal(res.different, 0);
    record_file_free(&file);
    rig_close(&rig);
}

static void a_recording_ends_before_a_graph_it_does_not_know_comes_back(void **state)
{
    (void)state;
    for (unsigned by_itself = 0; by_itself < 2; by_itself++) {
        tw_replay_result_t res;
        tw_fault_t fault;
        const tw_swap_t how = {.start = true, .confirm = by_itself != 0};
        rig_open(&rig, 1 << 14, 1 << 14);
        load_scripted();
        ticks(5);
        record_file_open(&file, &rig, RING, 4096, false);
        assert_int_equal(tw_engine_prime(rig.engine, img, rig_chain(&ib, img, sizeof img), false, &fault), TW_OK);
        assert_int_equal(tw_engine_put_swap_to(rig.engine, 0, &how, &fault), TW_OK);
        (void)tw_engine_publish(rig.engine);
        ticks(4);
        assert_int_equal(file.recorder.state, TW_RECORDER_ON);
        if (by_itself) {
            rig.cycles_step = 1 << 20;
        } else {
            assert_int_equal(tw_engine_put_rollback(rig.engine, 0, 2000), TW_OK);
            (void)tw_engine_publish(rig.engine);
        }
        ticks(20);
        assert_int_equal(file.recorder.state, TW_RECORDER_ENDED);
        record_file_end(&file, TW_RECORD_STOPPED);
        tw_replay_play(file.bytes, file.n, NULL, &res);
        assert_true(res.end == TW_REPLAY_WHOLE || (by_itself && res.end == TW_REPLAY_TO_CUT));
        assert_true(res.blocks >= 4 && res.blocks < 20);
        assert_int_equal(res.different, 0);
        record_file_free(&file);
        rig_close(&rig);
    }
}

static void a_full_ring_ends_the_recording_and_not_the_graph(void **state)
{
    (void)state;
    tw_replay_result_t res;
    rig_open(&rig, 1 << 14, 1 << 14);
    record_file_open(&file, &rig, 4096, 4096, false);
    rig_load(&rig, img, rig_chain(&ib, img, sizeof img));
    for (unsigned i = 0; i < 200; i++) {
        assert_true(tw_engine_tick(rig.engine));
    }
    assert_int_equal(file.recorder.state, TW_RECORDER_FULL);
    assert_int_equal(rig.out_bytes[4], 200 * RIG_FRAME);
    record_file_end(&file, TW_RECORD_FULL);
    tw_replay_play(file.bytes, file.n, NULL, &res);
    assert_int_equal(res.different, 0);
    assert_true(res.blocks > 5 && res.blocks < 200);
    /* the ring may have become full inside a block, which is not replayed then */
    assert_true(res.end == TW_REPLAY_WHOLE || res.end == TW_REPLAY_TO_CUT);
    record_file_free(&file);
    rig_close(&rig);
}

static void a_file_cut_at_any_byte_replays_up_to_the_cut(void **state)
{
    (void)state;
    tw_replay_result_t res;
    tour(RING, 400, false);
    record_file_end(&file, TW_RECORD_STOPPED);
    uint64_t last = 0;
    /* every byte around chunk edges is hit, since chunks are not a multiple of the step */
    for (uint32_t n = 0; n < file.n; n += n < 500 ? 1 : 13) {
        uint8_t *copy = malloc(n != 0 ? n : 1);
        memcpy(copy, file.bytes, n);
        tw_replay_play(copy, n, NULL, &res);
        free(copy);
        assert_true(res.end == TW_REPLAY_TO_CUT || (res.end == TW_REPLAY_REFUSED && n < 400));
        assert_int_equal(res.different, 0);
        assert_true(res.blocks >= last);
        last = res.blocks;
    }
    assert_true(last > 25);
    record_file_free(&file);
    rig_close(&rig);
}

static void a_damaged_byte_is_refused_with_its_place(void **state)
{
    (void)state;
    tw_replay_result_t res;
    tour(RING, 2000, false);
    record_file_end(&file, TW_RECORD_STOPPED);
    for (uint32_t at = 0; at < file.n; at += at < 500 ? 3 : 97) {
        file.bytes[at] ^= 0x10;
        tw_replay_play(file.bytes, file.n, NULL, &res);
        assert_true(res.end == TW_REPLAY_REFUSED || res.end == TW_REPLAY_TO_CUT); /* a length may point past the end */
        assert_true(res.text[0] != '\0' && res.where <= at + TW_RECORD_CHUNK_MAX);
        assert_int_equal(res.different, 0);
        file.bytes[at] ^= 0x10;
    }
    record_file_free(&file);
    rig_close(&rig);
}

/* Offset of the first record of a kind from the n-th on. */
static uint8_t *find(uint16_t kind, unsigned n)
{
    tw_replay_file_t f;
    assert_true(tw_replay_open(&f, file.bytes, file.n));
    tw_replay_cursor_t c = tw_replay_begin(&f);
    tw_replay_record_t rec;
    while (tw_replay_next(&f, &c, &rec) == TW_REPLAY_RECORD) {
        if (rec.kind == kind && n-- == 0) {
            return file.bytes + rec.at + TW_RECORD_HEAD;
        }
    }
    fail();
    return NULL;
}

static void the_first_difference_is_named_by_tick_frame_and_byte(void **state)
{
    (void)state;
    tw_replay_result_t res;
    tour(RING, 4096, true);
    record_file_end(&file, TW_RECORD_STOPPED);
    uint8_t *p = find(TW_REC_OUTPUT, 9);
    p[16 + 5] ^= 1;
    tw_put_le32(p + 12, tw_crc32c(0, p + 16, RIG_FRAME));
    record_file_repair(file.bytes, file.n);
    tw_replay_play(file.bytes, file.n, NULL, &res);
    assert_int_equal(res.end, TW_REPLAY_WHOLE);
    assert_int_equal(res.different, 1);
    assert_int_equal(res.diff_io, 4);
    assert_int_equal(res.diff_frame, 9);
    assert_int_equal(res.diff_byte, 5);
    assert_int_equal(res.diff_tick, 9);
    record_file_free(&file);
    rig_close(&rig);
}

static void commands_no_device_would_have_taken_are_refused(void **state)
{
    (void)state;
    tw_replay_result_t res;
    static const struct {
        uint16_t kind;
        uint32_t at, value;
    } rows[] = {
        {TW_REC_PARAM, 8, 99}, {TW_REC_PARAM, 12, 200}, {TW_REC_PRESET, 12, 63},     {TW_REC_CONTROL, 8, 9},
        {TW_REC_RUN, 8, 5},    {TW_REC_SCRIPT, 12, 9},  {TW_REC_SWAP, 8, 77},        {TW_REC_ARC_WRITE, 8, 50},
        {TW_REC_BLOCK, 0, 1},  {TW_REC_INPUT, 0, 3},    {TW_REC_OUTPUT, 4, 1 << 20}, {TW_REC_IMAGE, 8, 5},
    };
    for (unsigned i = 0; i < TW_COUNT(rows); i++) {
        tour(RING, 4096, false);
        record_file_end(&file, TW_RECORD_STOPPED);
        tw_put_le32(find(rows[i].kind, rows[i].kind == TW_REC_BLOCK ? 2 : 0) + rows[i].at, rows[i].value);
        record_file_repair(file.bytes, file.n);
        tw_replay_play(file.bytes, file.n, NULL, &res);
        assert_true(res.end == TW_REPLAY_REFUSED || res.end == TW_REPLAY_DIVERGED);
        assert_true(res.text[0] != '\0');
        record_file_free(&file);
        rig_close(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replay_gives_the_outputs_bit_by_bit),
        cmocka_unit_test(pins_and_answers_of_the_application_replay),
        cmocka_unit_test(fades_and_changes_taken_back_replay_too),
        cmocka_unit_test(a_recording_begins_with_a_graph_primed_after_it),
        cmocka_unit_test(a_recording_takes_nothing_over_from_a_graph_it_does_not_know),
        cmocka_unit_test(a_recording_ends_before_a_graph_it_does_not_know_comes_back),
        cmocka_unit_test(a_full_ring_ends_the_recording_and_not_the_graph),
        cmocka_unit_test(a_file_cut_at_any_byte_replays_up_to_the_cut),
        cmocka_unit_test(a_damaged_byte_is_refused_with_its_place),
        cmocka_unit_test(the_first_difference_is_named_by_tick_frame_and_byte),
        cmocka_unit_test(commands_no_device_would_have_taken_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
