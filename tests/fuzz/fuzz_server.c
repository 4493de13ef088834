/* Bytes as what a client does in an open session: the server must not crash, hang or grow, and the sound of
 * the graph must be that of an undisturbed run unless a valid call changed it.
 *
 * The input is a list of frames {type, flags, stream, length, payload}; checksums are set here, so the fuzzer
 * reaches the messages behind them. Type 0x10 and above are other events: time, a break, a new connection.
 * The client may view only (first byte even): then nothing it says may be heard in the output. */
#include "server/server.h"
#include "tests/support/engine_rig.h"
#include "tests/support/wire_client.h"
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(cond) ((cond) ? (void)0 : (fprintf(stderr, "fuzz_server: %s, line %d\n", #cond, __LINE__), abort()))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ACTIONS = 64, GUARD = 64 };

static rig_t rig;
static tw_server_t *server;
static uint32_t ticks;

static void turn(void *ctx)
{
    (void)ctx;
    ticks += tw_engine_tick(rig.engine);
    (void)tw_server_poll(server);
}

static uint32_t image(uint8_t *img, uint32_t cap)
{
    static tw_ib_t ib;
    rig_chain_open(&ib);
    tw_ib_symbol(&ib, TW_SYM_ARC, 1, "mid");
    tw_ib_script(&ib, (const uint16_t[]){0xC000}, 1, 2, 0, 4);
    return tw_ib_finish(&ib, img, cap);
}

static bool connect(wire_client_t *w, const tw_phy_user_t *user, const uint8_t *token)
{
    return wire_connect(w, user, turn, NULL) && wire_hello(w, 512, 2048, token);
}

static void say(wire_client_t *w, const uint8_t *head, const uint8_t *payload, uint32_t n)
{
    uint8_t f[TW_FRAME_HEADER + 512];
    memcpy(f + TW_FRAME_HEADER, payload, n);
    tw_frame_header(f, head[0], head[1] & TW_FF_ALL, head[2], f + TW_FRAME_HEADER, n);
    wire_bytes(w, f, TW_FRAME_HEADER + n);
}

static void act(wire_client_t *w, const tw_phy_user_t *user, const uint8_t *head, const uint8_t *payload, uint32_t n)
{
    uint8_t token[16];
    switch (head[0]) {
    case 0x10:
        rig.us += (uint64_t)head[1] * 20000;
        break;
    case 0x11:
        memcpy(token, w->hello.session.bytes, sizeof token);
        wire_break(w);
        (void)connect(w, user, (head[1] & 1) != 0 ? token : NULL);
        break;
    case 0x12:
        wire_bytes(w, payload, n);
        break;
    case 0x13:
        w->deaf = (head[1] & 1) != 0;
        break;
    default:
        say(w, head, payload, n);
        break;
    }
}

static tw_server_cfg_t config(uint8_t role)
{
    return (tw_server_cfg_t){
        .port = &rig.port,
        .engine = rig.engine,
        .crypto = NULL,
        .boot_id = 1,
        .max_frame = 512,
        .window = 2048,
        .max_calls = 8,
        .max_sessions = 2,
        .out_bytes = 2048,
        .msg_bytes = 1024,
        .blob_bytes = 8192,
        .probe_bytes = 1024,
        .max_subs = 3,
        .max_probes = 2,
        .capture_bytes = 1024,
        .txn_bytes = 1024,
        .resume_ms = 1000,
        .open_role = role,
    };
}

static void run(wire_client_t *w, const tw_phy_user_t *user, const uint8_t *data, size_t size)
{
    size_t at = 1;
    for (unsigned i = 0; i < ACTIONS && size - at >= 4; i++) {
        const uint8_t *head = data + at;
        const uint32_t n = tw_min_u32(head[3] * 2u, (uint32_t)(size - at - 4));
        act(w, user, head, head + 4, n);
        at += 4 + n;
        wire_pump(w);
    }
    wire_break(w);
    for (unsigned i = 0; i < 4 * ACTIONS && ticks < 2 * ACTIONS; i++) { /* the graph may have been stopped */
        turn(NULL);
    }
}

/* What the graph plays when nobody interferes. */
static void check_output(void)
{
    for (uint32_t i = 0; i < rig.out_bytes[4] / 2; i++) {
        REQUIRE(tw_get_le16(rig.out[4] + 2 * i) == (uint16_t)i);
    }
    REQUIRE(rig.out_bytes[4] >= 2 * ACTIONS * RIG_FRAME);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t img[16384];
    static wire_client_t w;
    if (size < 1) {
        return 0;
    }
    rig_open(&rig, 1 << 15, 1 << 15);
    const uint8_t role = data[0] % 2 == 0 ? TW_ROLE_VIEW : TW_ROLE_ADMIN;
    const tw_server_cfg_t cfg = config(role);
    const size_t need = tw_server_need(&cfg);
    uint8_t *mem = aligned_alloc(64, (need + GUARD + 63) & ~(size_t)63);
    memset(mem, 0xA5, need + GUARD);
    REQUIRE(tw_server_init(&server, &cfg, mem, need) == TW_OK);
    tw_fault_t fault;
    REQUIRE(tw_server_boot_graph(server, img, image(img, sizeof img), &fault) == TW_OK);
    ticks = 0;
    turn(NULL);
    const tw_phy_user_t user = tw_server_phy_user(server);
    if (connect(&w, &user, NULL)) {
        run(&w, &user, data, size);
    }
    if (role == TW_ROLE_VIEW) {
        check_output();
    }
    for (uint32_t i = 0; i < GUARD; i++) {
        REQUIRE(mem[need + i] == 0xA5);
    }
    free(mem);
    rig_close(&rig);
    return 0;
}
