/* Parameter values at the edge: every refusal has its own code and place. */
#include "tests/unit/node_rig.h"
#include <math.h>

static const tw_param_desc_t rows[] = {
    {1, TW_RAW_U8, 1, 0, 0, 1, 2, 1, "u8", 0},
    {2, TW_RAW_S8, 1, 0, 0, -3, 3, 0, "s8", 0},
    {3, TW_RAW_FP32, 1, 0, TW_PARAM_READ_ONLY, -1, 1, 0, "meter", 0},
    {4, TW_RAW_S16, 2, 0, 0, -100, 200, 0, "s16", 0},
    {5, TW_RAW_U16, 1, 0, 0, 0, 0xFFFF, 0, "u16", 0},
    {6, TW_RAW_FP32, 1, 0, TW_PARAM_NOT_IN_ALL, -1, 1, 0, "extra", 0},
    {7, TW_RAW_FP32, 2, 0, 0, -1, 1, 0, "f32", 0},
    {8, TW_RAW_S32, 1, 0, 0, -2147483648.0, 2147483647.0, 0, "s32", 0},
    {9, TW_RAW_U32, 1, 0, 0, 0, 4294967295.0, 0, "u32", 0},
    {10, TW_RAW_Q15, 1, 0, 0, -32768, 32767, 0, "q15", 0},
};

static const tw_param_desc_t *params(const tw_format_t *fmt, uint32_t *n)
{
    (void)fmt;
    *n = TW_COUNT(rows);
    return rows;
}

static const tw_node_desc_t node = {.params = params};
static const tw_format_t fmt;

#define NAN_LE 0, 0, 0xC0, 0x7F
#define INF_LE 0, 0, 0x80, 0x7F
#define ONE_LE 0, 0, 0x80, 0x3F
#define HALF_LE 0, 0, 0, 0x3F
#define ALL_HEAD 1, 0xFD, 0x9C, 0xFF, 0xC8, 0, 0xFF, 0xFF /* indices 1, 2, 4 and 5 */

static const struct {
    const char *why;
    uint32_t index, type;
    uint8_t value[40];
    uint32_t bytes;
    tw_err_t err;
    uint32_t at;
} cases[] = {
    {"smallest", 1, 0, {1}, 1, TW_OK, 0},
    {"largest", 1, 0, {2}, 1, TW_OK, 0},
    {"below", 1, 0, {0}, 1, TW_E_PARAM_RANGE, 1},
    {"above", 1, 0, {3}, 1, TW_E_PARAM_RANGE, 1},
    {"signed byte", 2, 0, {0xFD}, 1, TW_OK, 0},
    {"signed byte below", 2, 0, {0xFC}, 1, TW_E_PARAM_RANGE, 2},
    {"type as in the table", 1, TW_RAW_U8, {1}, 1, TW_OK, 0},
    {"other type of the same size", 1, TW_RAW_S8, {1}, 1, TW_E_PARAM_TYPE, 1},
    {"Q15 for S16", 4, TW_RAW_Q15, {1, 0, 2, 0}, 4, TW_OK, 0},
    {"S16 for Q15", 10, TW_RAW_S16, {1, 0x80}, 2, TW_OK, 0},
    {"U16 for S16", 4, TW_RAW_U16, {1, 0, 2, 0}, 4, TW_E_PARAM_TYPE, 4},
    {"a type that does not exist", 4, 4000000000u, {1, 0, 2, 0}, 4, TW_E_PARAM_TYPE, 4},
    {"empty", 1, 0, {0}, 0, TW_E_PARAM_SIZE, 1},
    {"too long", 1, 0, {1, 1}, 2, TW_E_PARAM_SIZE, 1},
    {"one element of two", 4, 0, {1, 0}, 2, TW_E_PARAM_SIZE, 4},
    {"second element out of range", 4, 0, {0x9C, 0xFF, 0xC9, 0}, 4, TW_E_PARAM_RANGE, 4},
    {"first element out of range", 4, 0, {0x9B, 0xFF, 0, 0}, 4, TW_E_PARAM_RANGE, 4},
    {"s32 lowest", 8, 0, {0, 0, 0, 0x80}, 4, TW_OK, 0},
    {"u32 highest", 9, 0, {255, 255, 255, 255}, 4, TW_OK, 0},
    {"read-only", 3, 0, {ONE_LE}, 4, TW_E_PARAM_READ_ONLY, 3},
    {"unknown", 11, 0, {0}, 1, TW_E_PARAM_INDEX, 11},
    {"beyond all", 257, 0, {0}, 1, TW_E_PARAM_INDEX, 257},
    {"NaN", 6, 0, {NAN_LE}, 4, TW_E_PARAM_RANGE, 6},
    {"NaN as second element", 7, 0, {ONE_LE, NAN_LE}, 8, TW_E_PARAM_RANGE, 7},
    {"infinite", 6, 0, {INF_LE}, 4, TW_E_PARAM_RANGE, 6},
    {"one", 6, TW_RAW_FP32, {ONE_LE}, 4, TW_OK, 0},
    {"all", 256, 0, {ALL_HEAD, ONE_LE, HALF_LE, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 26, TW_OK, 0},
    {"all, ends after the first", 256, 0, {2}, 1, TW_OK, 0},
    {"all, ends after u16, skipping the read-only one", 256, 0, {ALL_HEAD}, 8, TW_OK, 0},
    {"all, empty", 256, 0, {0}, 0, TW_E_PARAM_SIZE, 1},
    {"all, ends inside the s16 pair", 256, 0, {ALL_HEAD}, 4, TW_E_PARAM_SIZE, 4},
    {"all, one byte too long", 256, 0, {ALL_HEAD, ONE_LE, HALF_LE}, 27, TW_E_PARAM_SIZE, 256},
    {"all, one bad value", 256, 0, {1, 4}, 2, TW_E_PARAM_RANGE, 2},
    {"all, NaN inside", 256, 0, {ALL_HEAD, ONE_LE, NAN_LE}, 16, TW_E_PARAM_RANGE, 7},
    {"all, typed by its only member", 256, TW_RAW_U8, {1}, 1, TW_OK, 0},
    {"all, one type for different members", 256, TW_RAW_U8, {1, 0}, 2, TW_E_PARAM_TYPE, 2},
};

static void each_value_is_taken_or_refused_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        tw_fault_t fault = {0};
        const tw_err_t err =
            tw_param_check(&node, &fmt, cases[i].index, cases[i].type, cases[i].value, cases[i].bytes, &fault);
        if (err != cases[i].err || fault.err != cases[i].err || fault.at != cases[i].at) {
            fail_msg("%s: %s at %u", cases[i].why, tw_err_name(err), fault.at);
        }
    }
}

static void sizes_follow_the_table(void **state)
{
    (void)state;
    assert_int_equal(tw_param_bytes(&node, &fmt, 1), 1);
    assert_int_equal(tw_param_bytes(&node, &fmt, 4), 4);
    assert_int_equal(tw_param_bytes(&node, &fmt, 3), 4); /* read-only has a size to read */
    assert_int_equal(tw_param_bytes(&node, &fmt, 256), 26);
    assert_int_equal(tw_param_bytes(&node, &fmt, 11), 0);
}

static void a_node_without_parameters_has_no_index(void **state)
{
    (void)state;
    const tw_node_desc_t bare = {0};
    tw_fault_t fault = {0};
    assert_int_equal(tw_param_check(&bare, &fmt, 1, 0, (const uint8_t *)"", 1, &fault), TW_E_PARAM_INDEX);
    assert_int_equal(tw_param_check(&bare, &fmt, 256, 0, (const uint8_t *)"", 1, &fault), TW_E_PARAM_INDEX);
    assert_int_equal(fault.at, 256);
    assert_int_equal(tw_param_bytes(&bare, &fmt, 256), 0);
}

static tw_err_t say_no(const tw_format_t *f, uint32_t tag, const uint8_t *value, uint32_t bytes, tw_fault_t *fault)
{
    (void)f, (void)value, (void)bytes;
    *fault = (tw_fault_t){.err = TW_E_PARAM_UNSTABLE, .at = tag};
    return TW_E_PARAM_UNSTABLE;
}

static void validate_has_the_last_word_but_sees_only_sound_values(void **state)
{
    (void)state;
    const tw_node_desc_t strict = {.params = params, .validate = say_no};
    tw_fault_t fault = {0};
    assert_int_equal(tw_param_check(&strict, &fmt, 1, 0, (const uint8_t *)"\1", 1, &fault), TW_E_PARAM_UNSTABLE);
    assert_int_equal(tw_param_check(&strict, &fmt, 1, 0, (const uint8_t *)"\3", 1, &fault), TW_E_PARAM_RANGE);
}

/* ---- the installed nodes ----------------------------------------------------- */

static void catalogue_follows_nodes_def(void **state)
{
    (void)state;
    static const char *const names[] = {
#define TW_NODE(id, name) "arm_stream_" #name,
#include "engine/node/nodes.def"
    };
    uint32_t n;
    const tw_node_desc_t *const *all = tw_node_catalogue(&n);
    assert_int_equal(n, TW_COUNT(names));
    for (uint32_t i = 0; i < n; i++) {
        assert_string_equal(all[i]->name, names[i]);
        assert_string_equal(all[i]->developer, "ARM");
        assert_non_null(all[i]->run);
        assert_true(all[i]->presets & 1); /* the default of a graph text */
        assert_true(all[i]->tx_min >= 1 && all[i]->n_mem >= 1 && all[i]->n_mem <= TW_MAX_NODE_MEM);
        assert_ptr_equal(tw_node_find(all[i]->hash), all[i]);
    }
    assert_null(tw_node_find(0));
}

static void hash_of_each_node_is_that_of_its_name(void **state)
{
    (void)state;
    uint32_t n;
    const tw_node_desc_t *const *all = tw_node_catalogue(&n);
    for (uint32_t i = 0; i < n; i++) {
        char full[64];
        snprintf(full, sizeof full, "%s/%s", all[i]->developer, all[i]->name);
        if (all[i]->hash != tw_fnv1a(full)) {
            fail_msg("%s: 0x%08X, FNV-1a 0x%08X", full, all[i]->hash, tw_fnv1a(full));
        }
    }
}

static bool name_ok(const char *s)
{
    return strlen(s) >= 1 && strlen(s) <= 31 && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(s);
}

static void every_parameter_row_is_consistent(void **state)
{
    (void)state;
    uint32_t n;
    const tw_node_desc_t *const *all = tw_node_catalogue(&n);
    const tw_raw_t raws[] = {TW_RAW_S16, TW_RAW_Q15, TW_RAW_FP32};
    for (uint32_t i = 0; i < n; i++) {
        for (size_t r = 0; r < TW_COUNT(raws) && all[i]->params != NULL; r++) {
            const tw_format_t f = rig_format(raws[r], 1, 0, 1);
            uint32_t count;
            const tw_param_desc_t *p = all[i]->params(&f, &count);
            assert_true(count >= 1 && count <= 64); /* TW_PARAM_ROWS_MAX */
            for (uint32_t k = 0; k < count; k++) {
                const bool once = tw_param_bytes(all[i], &f, p[k].index) == p[k].count * tw_raw_bits(p[k].raw) / 8;
                if (!once || !name_ok(p[k].name) || !(p[k].min <= p[k].dflt && p[k].dflt <= p[k].max) ||
                    tw_unit_text(p[k].unit) == NULL) {
                    fail_msg("%s.%s", all[i]->name, p[k].name);
                }
                assert_true(strstr(p[k].name, "_db") == NULL || strcmp(tw_unit_text(p[k].unit), "dB") == 0);
            }
        }
    }
}

/* What RESET with preset 0 leaves is what the table calls the default. */
static void defaults_are_what_a_fresh_node_reads(void **state)
{
    (void)state;
    const char *const names[] = {"amplifier", "filter", "detector", "router", "mixer", "rescaler", "probe"};
    const tw_raw_t raws[] = {TW_RAW_S16, TW_RAW_FP32};
    for (size_t i = 0; i < 2 * TW_COUNT(names); i++) {
        const tw_format_t f = rig_format(raws[i % 2], 1, 0, 1);
        rig_t g;
        rig_open(&g, names[i / 2], f, f, 0);
        uint32_t count;
        const tw_param_desc_t *p = g.d->params(&f, &count);
        for (uint32_t k = 0; k < count; k++) {
            uint8_t wire[32];
            const uint32_t bytes = rig_get(&g, p[k].index, wire, sizeof wire);
            assert_int_equal(bytes, tw_param_bytes(g.d, &f, p[k].index));
            if (p[k].count == 1 && p[k].raw != TW_RAW_FP32) {
                const int v = bytes == 1 ? wire[0] : bytes == 2 ? tw_get_le16(wire) : (int)tw_get_le32(wire);
                if (v != (int)p[k].dflt) {
                    fail_msg("%s.%s: %d", names[i / 2], p[k].name, v);
                }
            } else if (p[k].count == 1 && fabs(tw_get_f32(wire) - p[k].dflt) > 1e-4) {
                fail_msg("%s.%s: %g", names[i / 2], p[k].name, (double)tw_get_f32(wire));
            }
        }
        rig_close(&g);
    }
}

/* All settable parameters of all nodes: the ends of the range go in and come out again. */
static void what_is_set_is_read_back(void **state)
{
    (void)state;
    const char *const names[] = {"amplifier", "filter", "detector", "router", "mixer", "rescaler", "probe"};
    const tw_raw_t raws[] = {TW_RAW_S16, TW_RAW_FP32};
    for (size_t i = 0; i < 2 * TW_COUNT(names); i++) {
        const tw_format_t f = rig_format(raws[i % 2], 2, 0, 4);
        rig_t g;
        rig_open(&g, names[i / 2], f, f, 0);
        uint32_t count;
        const tw_param_desc_t *p = g.d->params(&f, &count);
        for (uint32_t k = 0; k < 2 * count; k++) {
            const tw_param_desc_t *row = &p[k / 2];
            if (row->flags & TW_PARAM_READ_ONLY || row->count > 1) {
                continue;
            }
            const double v = k % 2 ? row->max : row->min;
            uint8_t wire[4], back[4];
            tw_put_le32(wire, (uint32_t)(int32_t)v);
            if (row->raw == TW_RAW_FP32) {
                tw_put_f32(wire, (float)v);
            }
            const uint32_t bytes = tw_raw_bits(row->raw) / 8;
            assert_int_equal(rig_set(&g, row->index, wire, bytes), TW_OK);
            assert_int_equal(rig_get(&g, row->index, back, 4), bytes);
            if (memcmp(wire, back, bytes) != 0) {
                fail_msg("%s.%s", names[i / 2], row->name);
            }
        }
        rig_close(&g);
    }
}

/* A block that ends after any parameter sets what it holds and leaves the rest; the whole block comes
 * back as it was SET. */
static void a_short_block_leaves_the_rest_alone(void **state)
{
    (void)state;
    const char *const names[] = {"amplifier", "filter", "detector"};
    const tw_raw_t raws[] = {TW_RAW_S16, TW_RAW_FP32};
    for (size_t i = 0; i < 6; i++) {
        const tw_format_t f = rig_format(raws[i % 2], 1, 0, 4);
        rig_t g;
        rig_open(&g, names[i / 2], f, f, 0);
        uint32_t count;
        const tw_param_desc_t *p = g.d->params(&f, &count);
        uint8_t boot[64], other[64] = {0}, now[64];
        const uint32_t all = rig_get(&g, TW_TAG_ALL, boot, sizeof boot);
        for (uint32_t k = 0, at = 0; k < count && !(p[k].flags & (TW_PARAM_NOT_IN_ALL | TW_PARAM_READ_ONLY)); k++) {
            if (p[k].count == 1) { /* biquads: zeros will do */
                tw_put_le32(other + at, (uint32_t)p[k].max);
            }
            at += p[k].count * tw_raw_bits(p[k].raw) / 8;
            assert_int_equal(rig_set(&g, TW_TAG_ALL, boot, all), TW_OK);
            assert_int_equal(rig_set(&g, TW_TAG_ALL, other, at), TW_OK);
            assert_int_equal(rig_get(&g, TW_TAG_ALL, now, sizeof now), all);
            assert_memory_equal(now, other, at);
            assert_memory_equal(now + at, boot + at, all - at);
            memset(other + at, 0, sizeof other - at);
        }
        rig_close(&g);
    }
}

static void a_read_without_room_changes_nothing(void **state)
{
    (void)state;
    const tw_format_t f = rig_format(TW_RAW_S16, 1, 0, 1);
    rig_t g;
    rig_open(&g, "filter", f, f, 0);
    uint8_t room[64] = {0x77};
    tw_xdm_t data = {room, 9};
    assert_int_equal(rig_command(&g, TW_CMD_READ_PARAMETER, 3, &data), -TW_E_PARAM_SIZE);
    assert_int_equal(room[0], 0x77);
    data.bytes = sizeof room;
    assert_int_equal(rig_command(&g, TW_CMD_READ_PARAMETER, 99, &data), -TW_E_PARAM_INDEX);
    assert_int_equal(rig_get(&g, TW_TAG_ALL, room, sizeof room), 22);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_value_is_taken_or_refused_with_its_place),
        cmocka_unit_test(sizes_follow_the_table),
        cmocka_unit_test(a_node_without_parameters_has_no_index),
        cmocka_unit_test(validate_has_the_last_word_but_sees_only_sound_values),
        cmocka_unit_test(catalogue_follows_nodes_def),
        cmocka_unit_test(hash_of_each_node_is_that_of_its_name),
        cmocka_unit_test(every_parameter_row_is_consistent),
        cmocka_unit_test(defaults_are_what_a_fresh_node_reads),
        cmocka_unit_test(what_is_set_is_read_back),
        cmocka_unit_test(a_short_block_leaves_the_rest_alone),
        cmocka_unit_test(a_read_without_room_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
