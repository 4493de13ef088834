/* Graph, Param, Script, Arc.Read: what each method does, and how it says no. */
#include "engine/base/crc.h"
#include "host_tools/scriptasm/scriptasm.h"
#include "tests/unit/server_rig.h"

static bench_t b;
static wire_client_t *w;
static uint8_t img[32768];
static uint32_t img_bytes;

static uint32_t assemble(const char *text, uint8_t *code, uint32_t cap)
{
    static tw_asm_out_t out;
    assert_true(tw_asm(text, strlen(text), &out) && out.code_bytes <= cap);
    memcpy(code, out.code, out.code_bytes);
    return out.code_bytes;
}

/* filter -> amplifier, and a script that counts its first argument down. */
static uint32_t scripted_image(void)
{
    uint8_t code[64];
    uint16_t words[32];
    const uint32_t n = assemble("addk r0 -1\nret", code, sizeof code);
    for (uint32_t i = 0; i < n / 2; i++) {
        words[i] = tw_get_le16(code + 2 * i);
    }
    tw_ib_t *ib = bench_ib();
    rig_chain_open(ib);
    tw_ib_symbol(ib, TW_SYM_NODE, 0, "eq");
    tw_ib_symbol(ib, TW_SYM_NODE, 1, "amp");
    tw_ib_symbol(ib, TW_SYM_ARC, 1, "mid");
    tw_ib_script(ib, words, n / 2, 2, 1, 4);
    tw_ib_symbol(ib, TW_SYM_SCRIPT, 0, "count");
    tw_ib_symbol(ib, TW_SYM_GRAPH, 0, "chain");
    return tw_ib_finish(ib, img, sizeof img);
}

static int open_bench(void **state)
{
    (void)state;
    bench_open(&b);
    w = bench_client(&b);
    img_bytes = scripted_image();
    tunewire_v1_GraphInfo info;
    assert_int_equal(bench_load(w, img, img_bytes, &info), 0);
    return 0;
}

static int close_bench(void **state)
{
    (void)state;
    bench_leave(w);
    bench_close(&b);
    return 0;
}

/* Item number n of the list in the last reply (field 1). */
static bool item(unsigned n, const pb_msgdesc_t *fields, void *m, uint32_t *total)
{
    const unsigned i = (w->next_id - 1) % 256;
    const uint8_t *p = w->replies[i].body, *end = p + w->replies[i].len;
    bool found = false;
    *total = 0;
    while (p < end) {
        const uint8_t tag = *p++;
        uint32_t v = 0;
        for (unsigned shift = 0;; shift += 7) {
            v |= (uint32_t)(*p & 0x7F) << shift;
            if ((*p++ & 0x80) == 0) {
                break;
            }
        }
        if (tag == (1 << 3 | 2)) {
            if (n-- == 0) {
                assert_int_equal(tw_rpc_decode(p, v, fields, m), TW_OK);
                found = true;
            }
            p += v;
        } else {
            *total = v;
        }
    }
    return found;
}

/* ---- graph ------------------------------------------------------------------------ */

static void a_loaded_graph_says_what_it_is(void **state)
{
    (void)state;
    tunewire_v1_GraphInfo g;
    const tunewire_v1_GraphRef q = {.graph = 1};
    assert_int_equal(wire_call(w, TW_M_Graph_Info, PB(GraphRef), &q, PB(GraphInfo), &g), 0);
    assert_string_equal(g.name, "chain");
    assert_int_equal(g.generation, 1);
    assert_int_equal(g.state, TW_GRAPH_RUNNING);
    assert_int_equal(g.nodes, 2);
    assert_int_equal(g.arcs, 3);
    assert_int_equal(g.scripts, 1);
    assert_int_equal(g.block_ns, 1000000);
    assert_false(g.has_last_error);
    uint32_t total;
    assert_int_equal(wire_call(w, TW_M_Graph_List, NULL, NULL, NULL, NULL), 0);
    assert_true(item(0, PB(GraphInfo), &g, &total));
    assert_string_equal(g.name, "chain");
    const tunewire_v1_GraphRef other = {.graph = 2};
    assert_int_equal(wire_call(w, TW_M_Graph_Info, PB(GraphRef), &other, NULL, NULL), tunewire_v1_Code_NOT_FOUND);
}

static void nodes_and_arcs_are_listed_with_their_ends(void **state)
{
    (void)state;
    tunewire_v1_NodeInfo n;
    tunewire_v1_ArcInfo a;
    uint32_t total;
    tunewire_v1_GraphRef q = {.graph = 0};
    assert_int_equal(wire_call(w, TW_M_Graph_Nodes, PB(GraphRef), &q, NULL, NULL), 0);
    assert_true(item(1, PB(NodeInfo), &n, &total));
    assert_int_equal(total, 2);
    assert_string_equal(n.name, "amp");
    assert_int_equal(n.in_arcs[0], 1);
    assert_int_equal(n.out_arcs[0], 2);
    assert_true(n.params >= 5);
    assert_int_equal(wire_call(w, TW_M_Graph_Arcs, PB(GraphRef), &q, NULL, NULL), 0);
    assert_true(item(1, PB(ArcInfo), &a, &total));
    assert_int_equal(total, 3);
    assert_string_equal(a.name, "mid");
    assert_int_equal(a.from_node, 0);
    assert_int_equal(a.to_node, 1);
    assert_int_equal(a.frame_bytes, RIG_FRAME);
    q.first = 2;
    assert_int_equal(wire_call(w, TW_M_Graph_Arcs, PB(GraphRef), &q, NULL, NULL), 0);
    assert_true(item(0, PB(ArcInfo), &a, &total));
    assert_int_equal(a.arc, 2);
    assert_false(item(1, PB(ArcInfo), &a, &total));
    q.first = 99;
    assert_int_equal(wire_call(w, TW_M_Graph_Arcs, PB(GraphRef), &q, NULL, NULL), 0);
    assert_false(item(0, PB(ArcInfo), &a, &total));
    assert_int_equal(total, 3);
}

/* Frames of 256 bytes hold a few nodes only: pages must join without hole or overlap. */
static void a_long_list_is_read_page_by_page(void **state)
{
    (void)state;
    wire_client_t *main_client = w;
    w = malloc(sizeof *w);
    assert_true(wire_connect(w, &b.user, bench_turn, &b));
    assert_true(wire_hello(w, 256, 4096, NULL));
    uint32_t seen = 0, pages = 0;
    for (uint32_t total = 1; seen < total; pages++) {
        const tunewire_v1_NodeRef q = {.node = AMP, .first = seen};
        assert_int_equal(wire_call(w, TW_M_Param_Describe, PB(NodeRef), &q, NULL, NULL), 0);
        tunewire_v1_ParamDesc d;
        unsigned n = 0;
        while (item(n, PB(ParamDesc), &d, &total)) {
            n++;
        }
        assert_true(n > 0);
        seen += n;
        assert_true(seen <= total);
    }
    assert_true(seen >= 10 && pages > 1);
    bench_leave(w);
    w = main_client;
}

static void a_manifest_is_a_text_with_every_parameter(void **state)
{
    (void)state;
    const tunewire_v1_NodeRef q = {.node = AMP};
    assert_int_equal(wire_call(w, TW_M_Graph_Manifest, PB(NodeRef), &q, NULL, NULL), 0);
    wire_stream_t *s = wire_stream(w, wire_last_stream(w));
    wire_pump_n(w, 5);
    assert_true(s->fin && !s->err && !s->gap);
    s->data[s->bytes] = 0;
    assert_non_null(strstr((char *)s->data, "node ARM/arm_stream_amplifier\n"));
    assert_non_null(
        strstr((char *)s->data, "param 6 gain_db FP32 1 min -100 max 36 default 0 unit dB smoothed not_in_all\n"));
}

static void control_stops_steps_and_starts(void **state)
{
    (void)state;
    tunewire_v1_GraphInfo g;
    tunewire_v1_GraphCtl q = {.op = tunewire_v1_GraphCtl_Op_STOP};
    assert_int_equal(wire_call(w, TW_M_Graph_Control, PB(GraphCtl), &q, PB(GraphInfo), &g), 0);
    assert_int_equal(g.state, TW_GRAPH_STOPPED);
    const uint32_t ticks = b.ticks;
    wire_pump_n(w, 5);
    assert_int_equal(b.ticks, ticks);
    q = (tunewire_v1_GraphCtl){.op = tunewire_v1_GraphCtl_Op_STEP, .steps = 3};
    assert_int_equal(wire_call(w, TW_M_Graph_Control, PB(GraphCtl), &q, PB(GraphInfo), &g), 0);
    wire_pump_n(w, 10);
    assert_int_equal(b.ticks, ticks + 3);
    q = (tunewire_v1_GraphCtl){.op = tunewire_v1_GraphCtl_Op_START};
    assert_int_equal(wire_call(w, TW_M_Graph_Control, PB(GraphCtl), &q, PB(GraphInfo), &g), 0);
    assert_int_equal(g.state, TW_GRAPH_RUNNING);
    q.op = (tunewire_v1_GraphCtl_Op)9;
    assert_int_equal(wire_call(w, TW_M_Graph_Control, PB(GraphCtl), &q, NULL, NULL), tunewire_v1_Code_INVALID_ARGUMENT);
}

static void loads_are_refused_with_their_reason(void **state)
{
    (void)state;
    const uint32_t good = wire_blob(w, img, img_bytes);
    static uint8_t bad[32768];
    memcpy(bad, img, img_bytes);
    bad[200] ^= 1;
    const uint32_t corrupt = wire_blob(w, bad, img_bytes), noise = wire_blob(w, (const uint8_t *)"noise", 5);
    const struct {
        const char *why;
        tunewire_v1_GraphLoad q;
        int code;
        tw_err_t detail;
        const char *text;
    } rows[] = {
        {"a graph is there", {.blob = good}, 6, TW_E_EXISTS, "set replace"},
        {"another generation",
         {.blob = good, .replace = true, .expect_generation = 7},
         10,
         TW_E_GENERATION,
         "Graph.Info"},
        {"from flash", {.flash_slot = 3, .replace = true}, 12, TW_E_UNSUPPORTED, "blob"},
        {"no such blob", {.blob = 99, .replace = true}, 5, TW_E_BLOB_NONE, "open"},
        {"a damaged image", {.blob = corrupt, .replace = true}, 18, TW_E_IMG_PAYLOAD_CRC, "in header at"},
        {"no image at all", {.blob = noise, .replace = true}, 3, TW_OK, "in header"},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        const int code = wire_call(w, TW_M_Graph_Load, PB(GraphLoad), &rows[i].q, NULL, NULL);
        const tunewire_v1_Status *st = wire_status(w);
        const bool right = code == rows[i].code && strstr(st->text, rows[i].text) != NULL &&
                           (rows[i].detail == TW_OK || (int)st->detail == -(int)rows[i].detail);
        if (!right) {
            fail_msg("%s: code %d detail %u '%s'", rows[i].why, code, st->detail, st->text);
        }
    }
    tunewire_v1_GraphInfo g;
    const tunewire_v1_GraphRef q = {.graph = 1};
    assert_int_equal(wire_call(w, TW_M_Graph_Info, PB(GraphRef), &q, PB(GraphInfo), &g), 0);
    assert_int_equal(g.generation, 1);
    /* the blob of a refused load is still there and loads when the reason is gone; then it is consumed */
    const tunewire_v1_GraphLoad ok = {.blob = good, .replace = true, .expect_generation = 1, .start = true};
    assert_int_equal(wire_call(w, TW_M_Graph_Load, PB(GraphLoad), &ok, PB(GraphInfo), &g), 0);
    assert_int_equal(g.generation, 2);
    const tunewire_v1_GraphLoad again = {.blob = good, .replace = true};
    assert_int_equal(wire_call(w, TW_M_Graph_Load, PB(GraphLoad), &again, NULL, NULL), tunewire_v1_Code_NOT_FOUND);
}

static void a_second_load_while_one_is_on_its_way_is_busy(void **state)
{
    (void)state;
    const tunewire_v1_GraphLoad first = {.blob = wire_blob(w, img, img_bytes), .replace = true};
    const tunewire_v1_GraphLoad second = {.blob = wire_blob(w, img, img_bytes), .replace = true};
    b.frozen = true;
    const uint32_t a = wire_send(w, TW_M_Graph_Load, PB(GraphLoad), &first);
    assert_int_equal(wire_call(w, TW_M_Graph_Load, PB(GraphLoad), &second, NULL, NULL), tunewire_v1_Code_BUSY);
    b.frozen = false;
    assert_int_equal(wire_wait(w, a), 0);
    assert_int_equal(wire_call(w, TW_M_Graph_Load, PB(GraphLoad), &second, NULL, NULL), 0);
}

static void an_unloaded_graph_is_gone(void **state)
{
    (void)state;
    const tunewire_v1_GraphRef q = {.graph = 1};
    assert_int_equal(wire_call(w, TW_M_Graph_Unload, PB(GraphRef), &q, NULL, NULL), 0);
    assert_int_equal(wire_call(w, TW_M_Graph_Unload, PB(GraphRef), &q, NULL, NULL),
                     tunewire_v1_Code_FAILED_PRECONDITION);
    tunewire_v1_GraphInfo g;
    uint32_t total;
    assert_int_equal(wire_call(w, TW_M_Graph_List, NULL, NULL, NULL, NULL), 0);
    assert_false(item(0, PB(GraphInfo), &g, &total));
    const tunewire_v1_ParamSet set = set_f32(AMP, GAIN_DB, 0);
    assert_int_equal(param_set(w, &set, NULL), tunewire_v1_Code_FAILED_PRECONDITION);
}

static void the_device_boots_with_its_own_graph(void **state)
{
    (void)state;
    bench_t own;
    bench_open(&own);
    tw_fault_t fault;
    assert_int_equal(tw_server_boot_graph(own.server, img, img_bytes, &fault), TW_OK);
    assert_int_equal(tw_server_boot_graph(own.server, img, img_bytes, &fault), TW_E_BUSY);
    bench_turn(&own);
    bench_turn(&own);
    assert_true(own.ticks > 0);
    wire_client_t *c = bench_client(&own);
    assert_true(get_f32(c, AMP, GAIN_DB) == 0.0f);
    img[130] ^= 1;
    assert_int_equal(tw_server_boot_graph(own.server, img, img_bytes, &fault), TW_E_IMG_PAYLOAD_CRC);
    bench_leave(c);
    bench_close(&own);
}

/* ---- parameters --------------------------------------------------------------------- */

static void refused_values_say_what_is_allowed(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint32_t node, index, type;
        uint8_t value[8];
        uint16_t n;
        int code;
        tw_err_t detail;
        uint32_t where;
        const char *text;
    } rows[] = {
        {"99 dB",
         AMP,
         GAIN_DB,
         0,
         {0, 0, 0xC6, 0x42},
         4,
         11,
         TW_E_PARAM_RANGE,
         6,
         "gain_db: 99 is outside -100..36 dB"},
        {"not a number", AMP, GAIN_DB, 0, {0, 0, 0xC0, 0x7F}, 4, 11, TW_E_PARAM_RANGE, 6, "gain_db: NaN is outside"},
        {"slope 16", AMP, SLOPE, 0, {16}, 1, 11, TW_E_PARAM_RANGE, 1, "slope: 16 is outside 0..15"},
        {"three bytes", AMP, GAIN_DB, 0, {0}, 3, 3, TW_E_PARAM_SIZE, 6, "gain_db takes 4 bytes, not 3"},
        {"another type", AMP, GAIN_DB, TW_RAW_S16, {0}, 4, 3, TW_E_PARAM_TYPE, 6, "gain_db is of type FP32 (27)"},
        {"a meter", AMP, LEVEL_DB, 0, {0}, 4, 7, TW_E_PARAM_READ_ONLY, 16, "level_db"},
        {"no such parameter", AMP, 99, 0, {0}, 4, 5, TW_E_PARAM_INDEX, 99, "amp has no parameter 99"},
        {"no such node", 7, 1, 0, {0}, 4, 5, TW_E_PARAM_NODE, 7, "node 7: the graph has 0..1"},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        tunewire_v1_ParamSet q = {.node = rows[i].node, .index = rows[i].index, .type = rows[i].type};
        q.value.size = rows[i].n;
        memcpy(q.value.bytes, rows[i].value, sizeof rows[i].value);
        const int code = param_set(w, &q, NULL);
        const tunewire_v1_Status *st = wire_status(w);
        if (code != rows[i].code || (int)st->detail != -(int)rows[i].detail || st->where != rows[i].where ||
            strstr(st->text, rows[i].text) == NULL) {
            fail_msg("%s: code %d detail %u where %u '%s'", rows[i].why, code, st->detail, st->where, st->text);
        }
    }
    assert_true(get_f32(w, AMP, GAIN_DB) == 0.0f);
}

static void versions_let_two_tools_work_on_one_node(void **state)
{
    (void)state;
    tunewire_v1_ParamAck ack;
    tunewire_v1_ParamSet q = set_f32(AMP, GAIN_DB, -1);
    assert_int_equal(param_set(w, &q, &ack), 0);
    q.expect_version = ack.version;
    assert_int_equal(param_set(w, &q, &ack), 0);
    assert_int_equal(param_set(w, &q, NULL), tunewire_v1_Code_ABORTED);
    assert_int_equal(wire_status(w)->where, ack.version);
}

static void a_readback_is_what_the_node_made_of_the_value(void **state)
{
    (void)state;
    tunewire_v1_ParamAck ack;
    tunewire_v1_ParamSet q = set_f32(AMP, GAIN_DB, -12);
    q.readback = true;
    assert_int_equal(param_set(w, &q, &ack), 0);
    assert_int_equal(ack.readback.size, 4);
    assert_true(tw_get_f32(ack.readback.bytes) == -12.0f);
    assert_int_equal(ack.version, 2);
    assert_true(ack.applied_tick > 0);
}

static void the_applied_tick_is_the_block_that_ran_with_it(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        tunewire_v1_ParamAck ack;
        const tunewire_v1_ParamSet q = set_f32(AMP, GAIN_DB, -(float)i);
        const uint32_t id = wire_send(w, TW_M_Param_Set, PB(ParamSet), &q);
        b.frozen = true;
        assert_int_equal(wire_wait(w, id), 0);
        assert_int_equal(tw_rpc_decode(w->replies[id % 256].body, w->replies[id % 256].len, PB(ParamAck), &ack), TW_OK);
        tw_engine_info_t info;
        tw_engine_info(b.rig.engine, &info);
        assert_int_equal(ack.applied_tick, info.tick);
        b.frozen = false;
        wire_pump(w);
    }
}

static void a_value_is_read_in_slices(void **state)
{
    (void)state;
    tunewire_v1_ParamGet q = {.node = AMP, .index = TW_TAG_ALL};
    tunewire_v1_ParamValue all, part;
    assert_int_equal(wire_call(w, TW_M_Param_Get, PB(ParamGet), &q, PB(ParamValue), &all), 0);
    assert_int_equal(all.total, all.value.size);
    assert_int_equal(all.crc, tw_crc32c(0, all.value.bytes, all.value.size));
    q.offset = 2;
    q.limit = 3;
    assert_int_equal(wire_call(w, TW_M_Param_Get, PB(ParamGet), &q, PB(ParamValue), &part), 0);
    assert_int_equal(part.value.size, 3);
    assert_int_equal(part.total, all.total);
    assert_memory_equal(part.value.bytes, all.value.bytes + 2, 3);
    q.offset = all.total;
    assert_int_equal(wire_call(w, TW_M_Param_Get, PB(ParamGet), &q, NULL, NULL), tunewire_v1_Code_OUT_OF_RANGE);
    q = (tunewire_v1_ParamGet){.node = AMP, .index = 77};
    assert_int_equal(wire_call(w, TW_M_Param_Get, PB(ParamGet), &q, NULL, NULL), tunewire_v1_Code_NOT_FOUND);
    /* the block as it was read can be set */
    tunewire_v1_ParamSet set = {.node = AMP, .index = TW_TAG_ALL};
    set.value.size = all.value.size;
    memcpy(set.value.bytes, all.value.bytes, all.value.size);
    assert_int_equal(param_set(w, &set, NULL), 0);
    all.value.bytes[0] = 99; /* slope, the first of the block */
    set.value.bytes[0] = 99;
    assert_int_equal(param_set(w, &set, NULL), tunewire_v1_Code_OUT_OF_RANGE);
    assert_non_null(strstr(wire_status(w)->text, "slope: 99 is outside 0..15"));
}

static void presets_are_checked_and_applied(void **state)
{
    (void)state;
    tunewire_v1_ParamAck ack;
    tunewire_v1_ParamSet set = set_f32(AMP, GAIN_DB, -20);
    assert_int_equal(param_set(w, &set, &ack), 0);
    tunewire_v1_PresetReq q = {.node = AMP, .preset = 0};
    assert_int_equal(wire_call(w, TW_M_Param_Preset, PB(PresetReq), &q, PB(ParamAck), &ack), 0);
    assert_true(get_f32(w, AMP, GAIN_DB) == 0.0f);
    q.preset = 63;
    assert_int_equal(wire_call(w, TW_M_Param_Preset, PB(PresetReq), &q, NULL, NULL), tunewire_v1_Code_NOT_FOUND);
}

static void a_value_may_come_by_stream(void **state)
{
    (void)state;
    uint8_t v[4];
    tw_put_f32(v, -9.0f);
    const uint16_t stream = wire_open_stream(w, 0);
    assert_int_equal(stream & 1, 1);
    const tunewire_v1_ParamSet q = {.node = AMP, .index = GAIN_DB, .stream = stream};
    const uint32_t id = wire_send(w, TW_M_Param_Set, PB(ParamSet), &q);
    wire_pump(w);
    assert_null(wire_reply(w, id));
    assert_true(wire_data(w, stream, 0, v, 2, 0));
    assert_true(wire_data(w, stream, 2, v + 2, 2, TW_FF_FIN));
    assert_int_equal(wire_wait(w, id), 0);
    assert_true(get_f32(w, AMP, GAIN_DB) == -9.0f);
}

static void nobody_holds_the_place_of_a_value_for_ever(void **state)
{
    (void)state;
    wire_client_t *other = bench_client(&b);
    tunewire_v1_ParamSet q = {.node = AMP, .index = GAIN_DB, .stream = wire_open_stream(w, 0)};
    w->deadline_ms = UINT32_MAX;
    const uint32_t id = wire_send(w, TW_M_Param_Set, PB(ParamSet), &q); /* and its value never comes */
    wire_pump_n(w, 2);
    w->deadline_ms = 0;
    q.stream = wire_open_stream(other, 0);
    assert_int_equal(param_set(other, &q, NULL), tunewire_v1_Code_BUSY);
    bench_later(&b, 10100);
    assert_int_equal(wire_wait(w, id), tunewire_v1_Code_DEADLINE_EXCEEDED);
    const uint32_t again = wire_send(other, TW_M_Param_Set, PB(ParamSet), &q);
    uint8_t value[4];
    tw_put_f32(value, -5);
    wire_pump_n(other, 2);
    assert_true(wire_data(other, (uint16_t)q.stream, 0, value, sizeof value, TW_FF_FIN));
    assert_int_equal(wire_wait(other, again), 0);
    assert_true(get_f32(w, AMP, GAIN_DB) == -5.0f);
    bench_leave(other);
}

static void a_broken_value_stream_changes_nothing(void **state)
{
    (void)state;
    uint8_t v[4];
    tw_put_f32(v, -9.0f);
    static const struct {
        const char *why;
        uint64_t second;
        uint8_t flags;
        int code;
    } rows[] = {
        {"a gap", 3, TW_FF_FIN, 15},
        {"an overlap", 1, TW_FF_FIN, 15},
        {"the client gives up", 2, TW_FF_FIN | TW_FF_ERR, 15},
        {"one byte too many", 2, 0, 3},
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        const uint16_t stream = wire_open_stream(w, 0);
        const tunewire_v1_ParamSet q = {.node = AMP, .index = GAIN_DB, .stream = stream};
        const uint32_t id = wire_send(w, TW_M_Param_Set, PB(ParamSet), &q);
        assert_true(wire_data(w, stream, 0, v, 2, 0));
        assert_true(wire_data(w, stream, rows[i].second, v + 2, 2, rows[i].flags));
        if (rows[i].flags == 0) {
            assert_true(wire_data(w, stream, 4, v, 1, TW_FF_FIN));
        }
        const int code = wire_wait(w, id);
        if (code != rows[i].code) {
            fail_msg("%s: %d", rows[i].why, code);
        }
    }
    assert_true(get_f32(w, AMP, GAIN_DB) == 0.0f);
}

/* ---- scripts --------------------------------------------------------------------------- */

static int64_t run_script(int64_t arg, tunewire_v1_ScriptResult *r)
{
    tunewire_v1_ScriptRun q = tunewire_v1_ScriptRun_init_zero;
    q.args_count = 1;
    q.args[0] = arg;
    assert_int_equal(wire_call(w, TW_M_Script_Run, PB(ScriptRun), &q, PB(ScriptResult), r), 0);
    return r->regs[0];
}

static void scripts_run_are_replaced_stopped_and_listed(void **state)
{
    (void)state;
    tunewire_v1_ScriptResult r;
    assert_int_equal(run_script(41, &r), 40);
    assert_int_equal(r.regs_count, 7);
    assert_int_equal(r.used, 2);
    assert_false(r.has_status);

    tunewire_v1_ScriptLoad q = tunewire_v1_ScriptLoad_init_zero;
    q.code.size = (pb_size_t)assemble("addk r0 1\naddk r0 1\nret", q.code.bytes, sizeof q.code.bytes);
    q.crc = tw_crc32c(0, q.code.bytes, q.code.size);
    tunewire_v1_ScriptInfo info;
    assert_int_equal(wire_call(w, TW_M_Script_Load, PB(ScriptLoad), &q, PB(ScriptInfo), &info), 0);
    assert_int_equal(info.crc, q.crc);
    assert_int_equal(info.size, q.code.size);
    assert_int_equal(run_script(40, &r), 42);

    const tunewire_v1_ScriptRef ref = {.index = 0};
    assert_int_equal(wire_call(w, TW_M_Script_Stop, PB(ScriptRef), &ref, NULL, NULL), 0);
    uint32_t total;
    assert_int_equal(wire_call(w, TW_M_Script_List, NULL, NULL, NULL, NULL), 0);
    assert_true(item(0, PB(ScriptInfo), &info, &total));
    assert_string_equal(info.name, "count");
    assert_int_equal(info.state, 1);
}

static void bad_scripts_are_refused_with_their_place(void **state)
{
    (void)state;
    tunewire_v1_ScriptLoad q = tunewire_v1_ScriptLoad_init_zero;
    q.code.size = (pb_size_t)assemble("addk r0 1\nmovi int8 r5 1\nret", q.code.bytes, sizeof q.code.bytes);
    assert_int_equal(wire_call(w, TW_M_Script_Load, PB(ScriptLoad), &q, NULL, NULL), tunewire_v1_Code_INVALID_ARGUMENT);
    assert_int_equal(wire_status(w)->detail, -TW_E_SCR_BAD_REG);
    assert_int_equal(wire_status(w)->where, 2);
    q.crc = 1;
    assert_int_equal(wire_call(w, TW_M_Script_Load, PB(ScriptLoad), &q, NULL, NULL), tunewire_v1_Code_CHECKSUM);
    q = (tunewire_v1_ScriptLoad){.index = 5};
    assert_int_equal(wire_call(w, TW_M_Script_Load, PB(ScriptLoad), &q, NULL, NULL), tunewire_v1_Code_NOT_FOUND);
    q = (tunewire_v1_ScriptLoad){.persist = true};
    assert_int_equal(wire_call(w, TW_M_Script_Load, PB(ScriptLoad), &q, NULL, NULL), tunewire_v1_Code_UNIMPLEMENTED);
    q = (tunewire_v1_ScriptLoad){.blob = 77};
    assert_int_equal(wire_call(w, TW_M_Script_Load, PB(ScriptLoad), &q, NULL, NULL), tunewire_v1_Code_NOT_FOUND);
    tunewire_v1_ScriptResult r;
    assert_int_equal(run_script(7, &r), 6);
    const tunewire_v1_ScriptRun many = {.args_count = 7};
    assert_int_equal(wire_call(w, TW_M_Script_Run, PB(ScriptRun), &many, NULL, NULL), tunewire_v1_Code_OUT_OF_RANGE);
}

static void a_script_may_come_as_a_blob(void **state)
{
    (void)state;
    uint8_t code[64];
    const uint32_t n = assemble("addk r0 9\nret", code, sizeof code);
    const tunewire_v1_ScriptLoad q = {.blob = wire_blob(w, code, n)};
    assert_int_equal(wire_call(w, TW_M_Script_Load, PB(ScriptLoad), &q, NULL, NULL), 0);
    tunewire_v1_ScriptResult r;
    assert_int_equal(run_script(1, &r), 10);
    const tunewire_v1_BlobRef ref = {.blob = q.blob}; /* consumed */
    assert_int_equal(wire_call(w, TW_M_Blob_Stat, PB(BlobRef), &ref, NULL, NULL), tunewire_v1_Code_NOT_FOUND);
}

static void a_script_may_come_with_literals(void **state)
{
    (void)state;
    /* psha #7; copy p0 s0; load r0 *p0; ret; pool: int32 0x12345678 at label 7 */
    static const uint8_t code[] = {0x07, 0x08, 0x6E, 0x10, 0x06, 0x11, 0x00, 0xC0, 0x78,
                                   0x56, 0x34, 0x12, 0x07, 0x04, 0x00, 0x00, 0x01, 0x00};
    static const uint32_t wrong[] = {7, sizeof code - 1, sizeof code + 1, UINT32_MAX};
    tunewire_v1_ScriptLoad q = {.code_bytes = 8, .code.size = sizeof code};
    memcpy(q.code.bytes, code, sizeof code);
    q.crc = tw_crc32c(0, code, sizeof code);
    tunewire_v1_ScriptInfo info;
    tunewire_v1_ScriptResult r;
    assert_int_equal(wire_call(w, TW_M_Script_Load, PB(ScriptLoad), &q, PB(ScriptInfo), &info), 0);
    assert_int_equal(info.size, sizeof code);
    assert_int_equal(info.crc, q.crc);
    assert_int_equal(run_script(0, &r), 0x12345678);
    for (size_t i = 0; i < TW_COUNT(wrong); i++) {
        q.code_bytes = wrong[i];
        assert_int_equal(wire_call(w, TW_M_Script_Load, PB(ScriptLoad), &q, NULL, NULL),
                         tunewire_v1_Code_INVALID_ARGUMENT);
        assert_int_equal(wire_status(w)->detail, -TW_E_SCR_BOUNDS);
    }
    tunewire_v1_TxnRep rep;
    const tunewire_v1_TxnBegin begin = tunewire_v1_TxnBegin_init_zero;
    q.code_bytes = 8;
    q.code.bytes[8] = 0x79;
    q.crc = 0;
    assert_int_equal(wire_call(w, TW_M_Txn_Begin, PB(TxnBegin), &begin, PB(TxnRep), &rep), 0);
    w->txn = rep.txn;
    assert_int_equal(wire_call(w, TW_M_Script_Load, PB(ScriptLoad), &q, PB(ScriptInfo), &info), 0);
    w->txn = 0;
    const tunewire_v1_TxnRef ref = {.txn = rep.txn};
    assert_int_equal(wire_call(w, TW_M_Txn_Commit, PB(TxnRef), &ref, PB(TxnRep), &rep), 0);
    assert_int_equal(run_script(0, &r), 0x12345679);
}

static void a_script_that_loops_reports_its_budget(void **state)
{
    (void)state;
    tunewire_v1_ScriptLoad q = tunewire_v1_ScriptLoad_init_zero;
    q.code.size = (pb_size_t)assemble("again: addk r0 1\njmp again\n", q.code.bytes, sizeof q.code.bytes);
    assert_int_equal(wire_call(w, TW_M_Script_Load, PB(ScriptLoad), &q, NULL, NULL), 0);
    tunewire_v1_ScriptResult r;
    (void)run_script(0, &r);
    assert_true(r.has_status);
    assert_int_equal(r.status.detail, -TW_E_SCR_BUDGET);
    assert_int_equal(wire_call(w, TW_M_Log_Read, NULL, NULL, NULL, NULL), 0);
    wire_stream_t *s = wire_stream(w, wire_last_stream(w));
    wire_pump_n(w, 3);
    assert_true(s->fin);
    s->data[s->bytes] = 0;
    bool found = false;
    for (uint32_t i = 0; i + 16 < s->bytes; i++) {
        found = found || memcmp(s->data + i, "script 0 (count)", 16) == 0;
    }
    assert_true(found);
}

/* ---- arcs ---------------------------------------------------------------------------- */

static void an_arc_is_read_without_disturbing_it(void **state)
{
    (void)state;
    tunewire_v1_ArcRead q = {.arc = 1, .limit = RIG_FRAME};
    assert_int_equal(wire_call(w, TW_M_Arc_Read, PB(ArcRead), &q, NULL, NULL), 0);
    const wire_stream_t *s = wire_stream(w, wire_last_stream(w));
    wire_pump_n(w, 2);
    assert_true(s->fin && !s->err && !s->gap);
    assert_int_equal(s->bytes, RIG_FRAME);
    for (uint32_t i = 1; i < RIG_SAMPLES; i++) { /* the ramp of the test board */
        assert_int_equal((uint16_t)(tw_get_le16(s->data + 2 * i) - tw_get_le16(s->data)), i);
    }
    q.limit = RIG_FRAME - 1;
    assert_int_equal(wire_call(w, TW_M_Arc_Read, PB(ArcRead), &q, NULL, NULL), tunewire_v1_Code_OUT_OF_RANGE);
    q = (tunewire_v1_ArcRead){.arc = 9};
    assert_int_equal(wire_call(w, TW_M_Arc_Read, PB(ArcRead), &q, NULL, NULL), tunewire_v1_Code_NOT_FOUND);
    q = (tunewire_v1_ArcRead){.arc = 1, .consume = true};
    assert_int_equal(wire_call(w, TW_M_Arc_Read, PB(ArcRead), &q, NULL, NULL), tunewire_v1_Code_UNIMPLEMENTED);
    tunewire_v1_ArcState st;
    const tunewire_v1_ArcRef ref = {.arc = 1};
    assert_int_equal(wire_call(w, TW_M_Arc_State, PB(ArcRef), &ref, PB(ArcState), &st), 0);
    assert_int_equal(st.raw, TW_RAW_S16);
    assert_int_equal(st.size, RIG_FRAME);
    assert_true(st.rate == 16000.0f);
    assert_false(st.has_io);
    const tunewire_v1_ArcRef in = {.arc = 0};
    assert_int_equal(wire_call(w, TW_M_Arc_State, PB(ArcRef), &in, PB(ArcState), &st), 0);
    assert_true(st.has_io && st.io.hwid == 0 && st.io.frames > 0);
}

static int arc_write(uint32_t arc, uint32_t bytes, bool partial, tunewire_v1_ArcAck *ack)
{
    tunewire_v1_ArcWrite q = {.arc = arc, .partial = partial, .data = {.size = (pb_size_t)bytes}};
    for (uint32_t i = 0; i < bytes; i++) {
        q.data.bytes[i] = (uint8_t)(0x5A + i);
    }
    return wire_call(w, TW_M_Arc_Write, PB(ArcWrite), &q, ack != NULL ? PB(ArcAck) : NULL, ack);
}

static void frames_are_put_into_an_arc_at_a_boundary(void **state)
{
    (void)state;
    tunewire_v1_ArcAck ack;
    const tunewire_v1_GraphCtl stop = {.op = tunewire_v1_GraphCtl_Op_STOP};
    assert_int_equal(wire_call(w, TW_M_Graph_Control, PB(GraphCtl), &stop, NULL, NULL), 0);
    tw_engine_info_t info;
    tw_engine_info(b.rig.engine, &info);
    assert_int_equal(arc_write(1, RIG_FRAME, false, &ack), 0);
    assert_int_equal(ack.accepted, RIG_FRAME);
    assert_int_equal(ack.free, 0);
    assert_int_equal(ack.applied_tick, info.tick);
    const uint32_t out = b.rig.out_bytes[4];
    tunewire_v1_ArcState st;
    const tunewire_v1_ArcRef ref = {.arc = 1};
    assert_int_equal(wire_call(w, TW_M_Arc_State, PB(ArcRef), &ref, PB(ArcState), &st), 0);
    assert_int_equal(st.write - st.read, RIG_FRAME);
    assert_int_equal(arc_write(1, RIG_FRAME, false, NULL), tunewire_v1_Code_BUSY); /* full: nothing was written */
    assert_int_equal(wire_status(w)->where, 0);
    assert_int_equal(arc_write(1, RIG_FRAME, true, &ack), 0);
    assert_int_equal(ack.accepted, 0);
    assert_int_equal(st.overflow, 0);

    const tunewire_v1_GraphCtl step = {.op = tunewire_v1_GraphCtl_Op_STEP, .steps = 1};
    assert_int_equal(wire_call(w, TW_M_Graph_Control, PB(GraphCtl), &step, NULL, NULL), 0);
    wire_pump_n(w, 3);
    assert_true(b.rig.out_bytes[4] >= out + RIG_FRAME);
    uint8_t want[RIG_FRAME];
    for (uint32_t i = 0; i < RIG_FRAME; i++) {
        want[i] = (uint8_t)(0x5A + i);
    }
    assert_memory_equal(b.rig.out[4] + out, want, RIG_FRAME); /* unity gain behind the arc */

    assert_int_equal(arc_write(1, RIG_FRAME - 1, true, NULL), tunewire_v1_Code_OUT_OF_RANGE);
    assert_int_equal(wire_status(w)->where, RIG_FRAME);
    assert_int_equal(arc_write(1, 0, true, NULL), tunewire_v1_Code_OUT_OF_RANGE);
    assert_int_equal(arc_write(1, 2 * RIG_FRAME, false, NULL), tunewire_v1_Code_OUT_OF_RANGE);
    assert_int_equal(arc_write(9, RIG_FRAME, true, NULL), tunewire_v1_Code_NOT_FOUND);
    const tunewire_v1_ArcWrite by_stream = {.arc = 1, .stream = 1};
    assert_int_equal(wire_call(w, TW_M_Arc_Write, PB(ArcWrite), &by_stream, NULL, NULL),
                     tunewire_v1_Code_UNIMPLEMENTED);
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_bench, close_bench)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_loaded_graph_says_what_it_is),
        T(nodes_and_arcs_are_listed_with_their_ends),
        T(a_long_list_is_read_page_by_page),
        T(a_manifest_is_a_text_with_every_parameter),
        T(control_stops_steps_and_starts),
        T(loads_are_refused_with_their_reason),
        T(a_second_load_while_one_is_on_its_way_is_busy),
        T(an_unloaded_graph_is_gone),
        T(the_device_boots_with_its_own_graph),
        T(refused_values_say_what_is_allowed),
        T(versions_let_two_tools_work_on_one_node),
        T(a_readback_is_what_the_node_made_of_the_value),
        T(the_applied_tick_is_the_block_that_ran_with_it),
        T(a_value_is_read_in_slices),
        T(presets_are_checked_and_applied),
        T(a_value_may_come_by_stream),
        T(nobody_holds_the_place_of_a_value_for_ever),
        T(a_broken_value_stream_changes_nothing),
        T(scripts_run_are_replaced_stopped_and_listed),
        T(bad_scripts_are_refused_with_their_place),
        T(a_script_may_come_as_a_blob),
        T(a_script_may_come_with_literals),
        T(a_script_that_loops_reports_its_budget),
        T(an_arc_is_read_without_disturbing_it),
        T(frames_are_put_into_an_arc_at_a_boundary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
