/* The image, read again by a reader that shares no line with the compiler: bit numbers are written
 * out here as docs/GRAPH_IMAGE.md has them. */
#include "engine/base/crc.h"
#include "host_tools/graphc/graphc_priv.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define PLATFORM "examples/platform/top_manifest_computer.txt"

static const char rich[] =
    "graph_name rich\n"
    "graph_location 1\n"
    "debug_script_fields 5\n"
    "scheduler_return 2\n"
    "memory_mapping 1 100 4096 8192\n"
    "format 7\n format_raw_data FP32\n format_frame_length 384\n format_nbchan 2\n format_domain audio_in\n"
    " format_sdomain V\n format_sampling_rate 48000\n format_audio_mapping 3\n"
    "format 2\n format_frame_length 10\n format_time_stamp 3\n format_time_stamp_size 0\n format_interleaving 1\n"
    "stream_io 4\n stream_io_hwid 4\n stream_io_format 7\n"
    "stream_io 5\n stream_io_hwid 6\n stream_io_format 7\n"
    "stream_io 6\n stream_io_hwid 0\n stream_io_format 2\n stream_io_setting1 0x11 0x22 0x33\n"
    "stream_io 8\n stream_io_hwid 9\n stream_io_format 2\n"
    "script 0\n script_registers 3\n script_pointers 1\n script_stack 4\n script_mem_shared 1\n script_budget 300\n"
    " script_code\n 2 h16; 2002 0001\n 1 h16; C000\n 1 f64; 1.0\n 3 u8; 1 2 3\n _end_\n_end_\n"
    "node arm_stream_amplifier 3\n node_name out/gain\n node_script 0\n node_preset 1\n node_trace_id 8\n "
    "node_map_rtos 1\n"
    " node_map_verbose 2\n node_map_hwblock 0 100\n node_malloc_E 5\n node_parameters\n 1 u8; 2\n 1 u16; 0x805\n "
    "_end_\n_end_\n"
    "node arm_stream_filter 1\n node_map_hwblock 1 3\n node_parameters\n 3 u8; 0 2 0\n 10 f32; 1 0 0 0 0 1 0 0 0 0\n "
    "_end_\n_end_\n"
    "node arm_stream_split 0\n_end_\n"
    "node arm_stream_script 1\n script_code\n 1 h16; C000\n _end_\n_end_\n"
    "arc_section\n"
    "arc_output 5 arm_stream_amplifier 3 1 7 H\n arc_flow_error 2 1\n arc_flush 3\n"
    "arc_input 4 arm_stream_filter 1 0 7 0 7\n"
    "arc arm_stream_filter 1 1 7 arm_stream_amplifier 3 0 7\n arc_jitter_ctrl 1.26\n arc_delay 2\n arc_debug_cmd 10\n"
    " arc_debug_reg 3\n arc_debug_page 2\n arc_crumbs 1 2\n arc_script 0\n arc_flow_error 3 0\n"
    "arc_input 6 arm_stream_split 0 0 2\n arc_flow_error 1\n arc_map_hwblock 1\n"
    "arc_output 8 arm_stream_split 0 1 2\n";

static tw_graphc_out_t out;

static char *read_rich(void *ctx, const char *path, size_t *n)
{
    (void)ctx;
    (void)path;
    *n = sizeof rich - 1;
    char *copy = malloc(*n);
    memcpy(copy, rich, *n);
    return copy;
}

static uint32_t w(uint32_t at)
{
    assert_true(at + 4 <= out.bytes);
    return (uint32_t)out.image[at] | (uint32_t)out.image[at + 1] << 8 | (uint32_t)out.image[at + 2] << 16 |
           (uint32_t)out.image[at + 3] << 24;
}

static uint32_t field(uint32_t at, unsigned hi, unsigned lo)
{
    return (uint32_t)((uint64_t)w(at) >> lo & ((1ull << (hi - lo + 1)) - 1));
}

static uint32_t section(unsigned s)
{
    return w(64 + 8 * s);
}

static uint32_t section_bytes(unsigned s)
{
    return w(68 + 8 * s);
}

static double f32_at(uint32_t at)
{
    return (double)tw_get_f32(out.image + at);
}

/* Record of node i, by the table in front. */
static uint32_t node_at(uint32_t i)
{
    return w(section(3) + 4 * i);
}

static void the_header_counts_and_signs_what_follows(void **state)
{
    (void)state;
    assert_memory_equal(out.image, "TWG1", 4);
    assert_int_equal(w(4), 0x01000080);
    assert_int_equal(w(8), out.bytes);
    assert_int_equal(out.bytes % 16, 0);
    uint8_t head[128];
    memcpy(head, out.image, sizeof head);
    memset(head + 12, 0, 4);
    assert_int_equal(w(12), tw_crc32c(0, head, sizeof head));
    assert_int_equal(w(16), tw_crc32c(0, out.image + 128, out.bytes - 128));
    assert_int_equal(w(24), 42);
    assert_int_equal(w(28), 1 | 5 << 2 | 2 << 8 | 1 << 10);
    assert_int_equal(w(32), 1);
    assert_int_equal(w(36), 1 << 1 | 1 << 5); /* services: script, biquads */
    assert_int_not_equal(w(40), 0);
    assert_int_equal(w(44), 0);
    assert_int_equal(w(48), 4 << 16 | 6);                     /* nodes, arcs */
    assert_int_equal(w(52), 3u << 24 | 4 << 16 | 2 << 8 | 3); /* formats with the lock's, IOs, scripts, banks */
    assert_int_equal(w(56), (2 * 16 + 3 + 1) << 16);
    assert_int_equal(w(60), 20 + 16 * 4 + 16 * 6);
}

static void sections_are_aligned_and_apart(void **state)
{
    (void)state;
    uint32_t end = 128;
    for (unsigned s = 0; s < 8; s++) {
        assert_int_equal(section(s) % 16, 0);
        assert_true(section(s) >= end && section_bytes(s) > 0);
        end = section(s) + section_bytes(s);
    }
    assert_true(end <= out.bytes && out.bytes - end < 16);
}

static void formats_say_what_the_text_says(void **state)
{
    (void)state;
    const uint32_t f = section(1);
    assert_int_equal(w(f), 384);
    assert_int_equal(w(f + 4), 1 | 27 << 11 | 1 << 17 | 17 << 21); /* 2 channels, FP32, audio_in, V */
    assert_true(f32_at(f + 8) == 48000.0);
    assert_int_equal(w(f + 12), 3);
    assert_true(f32_at(f + 16) == 1.0 && f32_at(f + 20) == 0.0);
    assert_int_equal(w(f + 24), 0);
    assert_int_equal(w(f + 28), 48);
    assert_int_equal(w(f + 32), 10);
    assert_int_equal(w(f + 36), 1 << 5 | 3 << 7 | 17 << 11); /* deinterleaved, counter of 16 bits, S16 */
    assert_int_equal(w(f + 60), 4);                          /* (10 - 2) / 2 */
    assert_int_equal(w(f + 64), 8);                          /* the lock arc's format: 8 bytes U8 */
    assert_int_equal(w(f + 68), 12 << 11);
}

static void ios_say_what_text_and_manifest_say(void **state)
{
    (void)state;
    const uint32_t io = section(2);
    assert_int_equal(w(io), 4 | 1 << 20); /* hwid 4, rx, commander, buffer set at run time, processor 1 */
    assert_int_equal(w(io + 4), 1 | 0 << 16);
    assert_int_equal(w(io + 8), 1 + 2 * 2); /* channels {1 2}, then rates {8000 16000 48000 ..} */
    assert_int_equal(w(io + 12), 0);
    assert_int_equal(w(io + 28), 0);
    assert_int_equal(w(io + 64 + 8), 0x11); /* an IO without options: as the text says */
    assert_int_equal(w(io + 64 + 12), 0x22);
    assert_int_equal(w(io + 64 + 16), 0x33);
    assert_int_equal(w(io + 32), 6 | 1 << 16 | 1 << 17 | 1 << 18 | 1 << 20); /* tx, servant, copied */
    assert_int_equal(w(io + 36), 0 | 0 << 16);
    assert_int_equal(w(io + 64 + 4), 3 | 1 << 16);
    assert_int_equal(w(io + 96 + 4), 4 | 1 << 16);
}

/* Declared amplifier, filter, split, script; arc 2 is delayed, so the amplifier need not wait. */
static void nodes_are_in_schedule_order_with_their_words(void **state)
{
    (void)state;
    const uint32_t amp = node_at(0), fil = node_at(1), det = node_at(2), scr = node_at(3);
    assert_int_equal(amp, section(3) + 16);
    assert_int_equal(w(amp), 1 | 1 << 19 | 1 << 24 | 1 << 26 | 1 << 27 | 1 << 28 | 1u << 31);
    assert_int_equal(w(amp + 4), 1 | 1 << 4 | 1 << 8 | 1 << 12 | 1 << 19 | 4 << 25);
    assert_int_equal(w(amp + 8), 0x853E62C1u);                /* FNV-1a of "ARM/arm_stream_amplifier" */
    assert_int_equal(w(amp + 12), 0x0100 << 16 | 3 << 8 | 1); /* trace IO 8, the fourth; the first table of META */
    assert_int_equal(w(amp + 16), 2 | (0 | 1 << 12 | 1 << 13) << 16); /* arc 2 in; arc 0 out, high QoS */
    assert_int_equal(w(amp + 20), 1);                                 /* the part of bank 1 is bank 1 */
    assert_int_equal(w(amp + 24), 4096);
    assert_int_equal(w(amp + 28) % 8, 0);
    assert_int_equal(field(amp + 36, 8, 0), 2);
    assert_int_equal(field(amp + 36, 31, 9), 2);
    assert_int_equal(out.image[section(6) + w(amp + 32)] | out.image[section(6) + w(amp + 32) + 1] << 8, 0x805);

    assert_int_equal(field(fil + 4, 10, 8), 2);
    assert_int_equal(w(fil + 16), 1 | (2 | 1 << 12) << 16);
    assert_int_equal(w(fil + 20) & 0xFF, 0);
    assert_int_equal(w(fil + 32), 3 | 3 << 8 | 1 << 10); /* bank 3, critical, working */
    assert_int_equal(field(fil + 48, 8, 0), 256);
    assert_int_equal(field(fil + 48, 31, 9), 42);
    assert_int_equal(w(fil + 44) % 8, 0);
    const uint32_t params = section(6) + w(fil + 44);
    assert_int_equal(out.image[params], 2);
    assert_int_equal(out.image[params + 1], 0);
    assert_true(f32_at(params + 2) == 1.0);

    assert_int_equal(field(det + 4, 18, 12), 0);
    assert_int_equal(field(scr + 4, 18, 12), 2);          /* script 1, its own, plus 1 */
    assert_int_equal(field(scr + 4, 7, 0), 0 | 1 << 4);   /* one transmit arc */
    assert_int_equal(w(scr + 16), 5 | 1 << 12 | 1 << 15); /* the lock */
}

static void arcs_say_what_the_text_says(void **state)
{
    (void)state;
    const uint32_t a = section(4);
    assert_int_equal(w(a), 0 | 0 << 8 | 0 << 16 | 1 << 26 | 1 << 27 | 1 << 28);
    assert_int_equal(w(a + 8), 384);
    assert_int_equal(w(a + 12), 0u | 0xFFFu << 12 | 1u << 24);
    assert_int_equal(w(a + 16), 2 | 1 << 2);
    assert_int_equal(w(a + 28), 1);
    assert_int_equal(w(a + 32), 1 << 30); /* buffer set by the IO */
    assert_int_equal(w(a + 44), 0xFFFu | 1 << 12);
    assert_int_equal(w(a + 64), 1 << 29);
    assert_int_equal(w(a + 72), (484 + 2 * 384)); /* ceil(1.26 * 384) and two frames of delay */
    assert_int_equal(w(a + 76), 1u | 0u << 12 | 1u << 24 | 0u << 28);
    assert_int_equal(w(a + 80), 3 | 1 << 4 | 2 << 6 | 1 << 8 | 10 << 10 | 35 << 16 | 1 << 24);
    assert_int_equal(w(a + 84), 768);
    for (uint32_t i = 0; i < 768; i++) {
        assert_int_equal(out.image[section(6) + w(a + 88) + i], 0);
    }
    assert_int_equal(w(a + 96), 1 | 1 << 8 | 1 << 16);
    assert_int_equal(w(a + 112), 1 | 2 << 2); /* general: repeat, drop oldest */
    assert_int_equal(w(a + 160), 0 | 2 << 8 | 2 << 16);
    assert_int_equal(w(a + 168), 8);
    assert_int_equal(w(a + 172), 3u | 3u << 12); /* lock: both ends are the node */
}

static void scripts_carry_code_then_literals(void **state)
{
    (void)state;
    const uint32_t s = section(5), code = w(s);
    assert_int_equal(code, s + 32);
    assert_int_equal(w(s + 4), 6 | 21 << 16);
    assert_int_equal(w(s + 8), 3 | 1 << 4 | 4 << 8 | 1 << 16);
    assert_int_equal(field(s + 12, 15, 0), tw_crc16(TW_CRC16_INIT, out.image + code, 8 + 21));
    assert_int_equal(field(s + 12, 31, 16), 2); /* 300 instructions */
    static const uint8_t body[] = {
        0x02, 0x20, 0x01, 0x00, 0x00, 0xC0, 0, 0, 0,  0, 0, 0, 0, 0, 0xF0,
        0x3F, 1,    2,    3,    64,   13,   0, 0, 65, 1, 8, 0, 2, 0}; /* directory: f64 at 0, u8 at 8, 2 entries */
    assert_memory_equal(out.image + code, body, sizeof body);
    assert_int_equal(w(s + 16), code + 32);
    assert_int_equal(w(s + 20), 2);
    assert_int_equal(w(s + 24), 2 | 2 << 4 | 1 << 17);
    assert_int_equal(field(s + 28, 15, 0), tw_crc16(TW_CRC16_INIT, out.image + code + 32, 2));
}

static void symbols_name_everything_in_order(void **state)
{
    (void)state;
    static const struct {
        uint8_t kind;
        uint16_t index;
        const char *name;
    } want[] = {
        {1, 0, "out/gain"},
        {1, 1, "filter.1"},
        {1, 2, "split.0"},
        {1, 3, "script.1"},
        {2, 0, "out.io_platform_line_out_0"},
        {2, 1, "in.io_platform_audio_in_0"},
        {2, 2, "filter.1-out/gain"},
        {2, 3, "in.io_platform_data_in_0"},
        {2, 4, "out.io_platform_data_out_0"},
        {2, 5, "lock.script.1"},
        {3, 0, "io_platform_audio_in_0"},
        {3, 1, "io_platform_line_out_0"},
        {3, 2, "io_platform_data_in_0"},
        {3, 3, "io_platform_data_out_0"},
        {4, 0, "script.0"},
        {4, 1, "node.script.1"},
        {5, 0, "rich"},
    };
    uint32_t at = section(7);
    assert_memory_equal(out.image + at, "SYMB", 4);
    const uint32_t end = at + 8 + w(at + 4);
    at += 8;
    for (size_t i = 0; i < TW_COUNT(want); i++) {
        const uint8_t *e = out.image + at;
        assert_int_equal(e[0], want[i].kind);
        assert_int_equal(e[2] | e[3] << 8, want[i].index);
        assert_int_equal(e[1], strlen(want[i].name));
        assert_memory_equal(e + 4, want[i].name, e[1]);
        at += 4u + e[1];
    }
    assert_int_equal(at, end);
}

typedef struct span {
    uint32_t vid, at, end;
    bool working;
} span_t;

static void no_two_allocations_share_bytes_but_scratch(void **state)
{
    (void)state;
    span_t v[64];
    unsigned n = 0;
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t rec = node_at(i), arcs = field(rec + 4, 3, 0) + field(rec + 4, 7, 4);
        for (uint32_t k = 0; k < field(rec + 4, 10, 8); k++) {
            const uint32_t b = rec + 16 + 4 * ((arcs + 1) / 2) + 12 * k;
            v[n++] = (span_t){w(b) & 0xFF, w(b + 4), w(b + 4) + w(b + 8), field(b, 11, 10) == 1};
        }
    }
    for (uint32_t i = 0; i < 6; i++) {
        const uint32_t a = section(4) + 32 * i;
        v[n++] = (span_t){w(a) & 0xFF, w(a + 4), w(a + 4) + w(a + 8), false};
    }
    for (unsigned i = 0; i < n; i++) {
        bool in_bank = false;
        for (uint32_t b = section(0); b < section(0) + section_bytes(0); b += 16) {
            in_bank |=
                (w(b) & 0xFF) == v[i].vid && v[i].end <= w(b + 4) + w(b + 8) && (v[i].working || v[i].end <= w(b + 4));
        }
        assert_true(in_bank);
        for (unsigned k = 0; k < i; k++) {
            if (v[i].vid == v[k].vid && v[i].at < v[k].end && v[k].at < v[i].end && !(v[i].working && v[k].working)) {
                fail_msg("allocations %u and %u overlap", k, i);
            }
        }
    }
}

static int compile(void **state)
{
    (void)state;
    const tw_text_source_t src = {NULL, read_rich};
    static tw_platform_t platform;
    tw_diags_t d = {0};
    if (!tw_platform_read(&platform, PLATFORM, &d)) {
        tw_diags_print(&d, stderr, false);
        return -1;
    }
    const bool ok = g_compile("rich.txt", &(tw_graphc_opts_t){.sequence = 42}, &platform, &src, &out);
    for (unsigned i = 0; i < out.diags.n; i++) {
        print_error("%u:%u %s\n", out.diags.rows[i].line, out.diags.rows[i].col, out.diags.rows[i].text);
    }
    tw_platform_free(&platform);
    return ok ? 0 : -1;
}

static int release(void **state)
{
    (void)state;
    tw_graphc_free(&out);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_counts_and_signs_what_follows),
        cmocka_unit_test(sections_are_aligned_and_apart),
        cmocka_unit_test(formats_say_what_the_text_says),
        cmocka_unit_test(ios_say_what_text_and_manifest_say),
        cmocka_unit_test(nodes_are_in_schedule_order_with_their_words),
        cmocka_unit_test(arcs_say_what_the_text_says),
        cmocka_unit_test(scripts_carry_code_then_literals),
        cmocka_unit_test(symbols_name_everything_in_order),
        cmocka_unit_test(no_two_allocations_share_bytes_but_scratch),
    };
    return cmocka_run_group_tests(tests, compile, release);
}
