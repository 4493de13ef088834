/* test_scriptlang_examples.c - the scripts of examples/scripts, compiled with the names of their graph and run. */
#include "host_tools/tunewire/cli_lang.h"
#include "tests/support/scriptlang_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static sl_rig_t rig;
static cli_world_t world;
static uint32_t mic, sensor, between; /* arcs */

static uint32_t number(tw_sl_kind_t kind, const char *name)
{
    for (uint32_t i = 0; i < world.world.n[kind]; i++) {
        const char *x = world.world.name(world.world.ctx, kind, i);
        if (x != NULL && strcmp(x, name) == 0) {
            return i;
        }
    }
    fail_msg("no %s", name);
    return 0;
}

static int open_graph(void **state)
{
    tw_cli_t cli = {.out = stdout, .err = stderr};
    tw_bytes_t image;
    (void)state;
    assert_true(cli_compile(&cli, "examples/voice_gate_f32.txt", &image, NULL, NULL));
    assert_true(cli_world_image(&cli, "voice_gate_f32", &image, &world));
    free(image.data);
    mic = number(TW_SL_ARC, "in.io_platform_audio_in_0");
    sensor = number(TW_SL_ARC, "in.io_platform_analog_sensor_0");
    between = number(TW_SL_ARC, "filter.0-amplifier.0");
    return 0;
}

static int close_graph(void **state)
{
    (void)state;
    cli_world_free(&world);
    return 0;
}

static void start(const char *name)
{
    static char text[TW_SL_TEXT_MAX];
    char path[128];
    (void)snprintf(path, sizeof path, "examples/scripts/%s.tws", name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    (void)fclose(f);
    assert_int_equal(text[0], '#'); /* it says what it is */
    memset(&rig, 0, sizeof rig);
    rig.opts.world = &world.world;
    rig.opts.code_bytes = TW_SCRIPT_LIVE_BYTES;
    if (!sl_rig_compile(&rig, text)) {
        fail_msg("%s: %s", path, sl_rig_diags(&rig));
    }
    assert_true(rig.out.bounded);
    sl_rig_call(&rig, 0, true);
}

/* Calls of a phase until one says something, at most n. @return how many */
static unsigned calls_until_said(int phase, unsigned n)
{
    unsigned k = 0;
    do {
        sl_rig_call(&rig, phase, true);
        k++;
    } while (rig.log[0] == 0 && k < n);
    return k;
}

static void level_gate_lights_a_lamp(void **state)
{
    (void)state;
    start("level_gate");
    assert_string_equal(rig.log, "gpio 1=0; ");
    rig.level[mic][0] = 0.11F;
    sl_rig_call(&rig, 1, true);
    assert_string_equal(rig.log, "gpio 1=1; ");
    rig.level[mic][0] = 0.09F;
    sl_rig_call(&rig, 1, true);
    assert_string_equal(rig.log, "gpio 1=0; ");
}

static void ducking_goes_down_fast_and_up_slowly(void **state)
{
    (void)state;
    start("ducking");
    rig.level[sensor][1] = 0.1F;
    for (unsigned i = 0; i < 30; i++) {
        sl_rig_call(&rig, 1, true);
    }
    assert_string_equal(rig.log, "set 1.gain_db=-12; ");
    rig.level[sensor][1] = 0.001F;
    sl_rig_call(&rig, 1, true);
    assert_string_equal(rig.log, "set 1.gain_db=-11.95; ");
    for (unsigned i = 0; i < 300; i++) {
        sl_rig_call(&rig, 1, true);
    }
    assert_string_equal(rig.log, "set 1.gain_db=0; ");
    assert_true(rig.ctx.flag);
}

static void debounce_ignores_short_pulses(void **state)
{
    (void)state;
    start("debounce");
    rig.pins[4] = 1;
    assert_int_equal(calls_until_said(1, 15), 15);
    rig.pins[4] = 0;
    assert_int_equal(calls_until_said(1, 3), 3);
    rig.pins[4] = 1;
    assert_int_equal(calls_until_said(1, 50), 20);
    assert_string_equal(rig.log, "event 1 1 \"button\"; ");
    assert_int_equal(calls_until_said(1, 50), 50);
    rig.pins[4] = 0;
    assert_int_equal(calls_until_said(1, 50), 20);
    assert_string_equal(rig.log, "event 1 0 \"button\"; ");
}

static void blink_asks_for_its_timer_again(void **state)
{
    (void)state;
    start("blink");
    assert_string_equal(rig.log, "gpio 2=0; call 13 1 500 0; ");
    sl_rig_call(&rig, 3, true);
    assert_string_equal(rig.log, "gpio 2=1; call 13 1 500 0; ");
    sl_rig_call(&rig, 3, true);
    assert_string_equal(rig.log, "gpio 2=0; call 13 1 500 0; ");
    sl_rig_call(&rig, 1, true);
    assert_string_equal(rig.log, "");
}

static void agc_approaches_its_target_and_leaves_silence_alone(void **state)
{
    (void)state;
    start("agc");
    sl_rig_call(&rig, 1, true);
    assert_string_equal(rig.log, "");
    rig.level[between][1] = 0.0316228F; /* -30 dBFS: 12 dB are missing */
    sl_rig_call(&rig, 1, true);
    assert_string_equal(rig.log, "set 1.gain_db=0.12; ");
    for (unsigned i = 0; i < 2000; i++) {
        sl_rig_call(&rig, 1, true);
    }
    assert_float_equal(rig.param[1][6], 12, 0.01);
    rig.level[between][1] = 1;
    for (unsigned i = 0; i < 2000; i++) {
        sl_rig_call(&rig, 1, true);
    }
    assert_float_equal(rig.param[1][6], -18, 0.01);
}

static void band_switch_follows_the_noise(void **state)
{
    (void)state;
    start("band_switch");
    rig.param[2][16] = -60;
    sl_rig_call(&rig, 1, true);
    assert_string_equal(rig.log, "set 0.biquad0=0.203072,0.406143,0.203072,0.374696,-0.186983; event 10 0 \"wide\"; ");
    rig.param[2][16] = -30;
    sl_rig_call(&rig, 1, true);
    sl_rig_call(&rig, 1, true);
    assert_string_equal(rig.log, "set 0.biquad0=0.009364,0.018727,0.009364,1.71514,-0.752595; event 10 1 \"narrow\"; ");
    rig.param[2][16] = -60;
    assert_int_equal(calls_until_said(1, 200), 101);
    assert_non_null(strstr(rig.log, "wide"));
}

static void silence_is_told_once(void **state)
{
    (void)state;
    start("silence");
    rig.level[mic][0] = 0.5F;
    rig.us = 10000000;
    sl_rig_call(&rig, 1, true);
    rig.level[mic][0] = 0.0001F;
    for (unsigned i = 0; i < 200; i++, rig.us += 10000) {
        sl_rig_call(&rig, 1, true);
        assert_string_equal(rig.log, "");
    }
    rig.us += 10000;
    sl_rig_call(&rig, 1, true);
    assert_string_equal(rig.log, "event 2 1 \"silence\"; ");
    sl_rig_call(&rig, 1, true);
    assert_string_equal(rig.log, "");
    rig.level[mic][0] = 0.5F;
    sl_rig_call(&rig, 1, true);
    assert_string_equal(rig.log, "event 2 0 \"sound\"; ");
}

static void clips_are_reported_once_a_second(void **state)
{
    (void)state;
    start("clip_counter");
    rig.level[between][0] = 1;
    for (unsigned i = 0; i < 5; i++) {
        sl_rig_call(&rig, 1, true);
    }
    rig.level[between][0] = 0;
    rig.us = 1000000;
    sl_rig_call(&rig, 1, true);
    assert_string_equal(rig.log, "3 5 5; ");
    rig.us = 2000000;
    sl_rig_call(&rig, 1, true);
    assert_string_equal(rig.log, "");
}

static void crossfade_switches_in_silence(void **state)
{
    (void)state;
    start("crossfade");
    rig.pins[5] = 1;
    unsigned calls = 0;
    for (sl_rig_call(&rig, 1, true); strstr(rig.log, "call 12") == NULL && calls < 200; calls++) {
        sl_rig_call(&rig, 1, true);
    }
    assert_int_equal(calls, 50);
    assert_int_equal(strncmp(rig.log, "set 1.gain_db=-60; call 12 1 ", 29), 0);
    for (unsigned i = 0; i < 60; i++) {
        sl_rig_call(&rig, 1, true);
        if (i == 49) {
            assert_string_equal(rig.log, "set 1.gain_db=0; ");
        }
    }
    assert_string_equal(rig.log, "");
}

static void watchdog_resets_a_node_that_is_stuck(void **state)
{
    (void)state;
    start("watchdog");
    for (unsigned i = 0; i < 100; i++) {
        rig.fill[between] = 192 + 4 * (i & 1);
        sl_rig_call(&rig, 1, true);
        assert_string_equal(rig.log, "");
    }
    assert_int_equal(calls_until_said(1, 100), 50);
    assert_string_equal(rig.log, "event 99 50 \"stuck\"; call 38 1; ");
}

static void keyword_runs_the_network_once_a_word(void **state)
{
    (void)state;
    start("keyword");
    rig.level[mic][0] = 0.1F;
    rig.level[mic][1] = 0.01F;
    assert_int_equal(calls_until_said(1, 30), 17);
    assert_string_equal(rig.log, "submit 0 -40 -40 -40 -40 -40 -40 -40 -40 -40 -40 -40 -40 -40 -40 -40 -40; ");
    assert_int_equal(calls_until_said(1, 5), 5); /* it runs */
    rig.npu_result[0] = 10;
    rig.npu_result[1] = 90;
    rig.npu_done = 1;
    sl_rig_call(&rig, 1, true);
    assert_string_equal(rig.log, "result; event 20 90 \"keyword\"; ");
    assert_int_equal(calls_until_said(1, 30), 30);
    rig.level[mic][0] = 0.001F;
    sl_rig_call(&rig, 1, true);
    rig.level[mic][0] = 0.1F;
    assert_int_equal(calls_until_said(1, 30), 17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(level_gate_lights_a_lamp),
        cmocka_unit_test(ducking_goes_down_fast_and_up_slowly),
        cmocka_unit_test(debounce_ignores_short_pulses),
        cmocka_unit_test(blink_asks_for_its_timer_again),
        cmocka_unit_test(agc_approaches_its_target_and_leaves_silence_alone),
        cmocka_unit_test(band_switch_follows_the_noise),
        cmocka_unit_test(silence_is_told_once),
        cmocka_unit_test(clips_are_reported_once_a_second),
        cmocka_unit_test(crossfade_switches_in_silence),
        cmocka_unit_test(watchdog_resets_a_node_that_is_stuck),
        cmocka_unit_test(keyword_runs_the_network_once_a_word),
    };
    return cmocka_run_group_tests(tests, open_graph, close_graph);
}
