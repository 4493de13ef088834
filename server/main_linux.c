/* main_linux.c - tunewired: board, engine, server and TCP put together on Linux.
 *
 *   main thread:    sockets, server (the engine's control side), files
 *   engine thread:  tw_engine_tick(), board reads and writes
 *
 * Everything is allocated before the first block; afterwards the engine thread makes
 * no system call but its sleep.
 */
#include "engine/base/version.h"
#include "engine/board/board_linux.h"
#include "engine/board/manifest_lex.h"
#include "engine/graph/twg1.h"
#include "phy/phy_tcp_posix.h"
#include "protocol/rpc.h"
#include "server/main_engine.h"
#include "server/main_files.h"
#include "server/main_log.h"
#include "server/main_options.h"
#include "server/main_port.h"
#include "server/main_record.h"
#include "server/server.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    KB = 1024,
    MB = 1024 * KB,
    GRAPH_BYTES = 32 * MB,
    MAX_LINKS = 64,
    MAX_WAIT_US = 100000, /* the longest nap between two looks at board and statistics */
    LATE_LOOK_MS = 1000,
    LATE_TELL_MS = 10000, /* a busy machine must not bury the log */
    NS_PER_MS = 1000000,
};

typedef struct daemon {
    options_t opt;
    tw_port_t port;
    tw_platform_t platform;
    tw_board_linux_t *board;
    tw_engine_t *engine;
    tw_server_t *server;
    tw_phy_t *phy;
    void *engine_memory, *server_memory;
    uint8_t *graph;
    key_text_t key;
    engine_thread_t thread;
    recording_t recording;
    bool printed; /* the line went to stderr in full: the server's copy is not for there */
    uint32_t late_told;
    int64_t late_since_ns, late_look_ns, late_tell_ns; /* counted from, to be looked at and told of again at */
} daemon_t;

/* What a signal handler may touch: handlers run on the main thread, the others block signals. */
static atomic_bool ending;
static tw_phy_t *wake_phy;

static void on_signal(int number)
{
    (void)number;
    atomic_store(&ending, true);
    if (wake_phy != NULL) {
        tw_phy_tcp_wake(wake_phy);
    }
}

static void catch_signals(void)
{
    /* Once only: a second SIGTERM ends a program that hangs in its clean stop. */
    struct sigaction end = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGINT, &end, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* ---- logs -------------------------------------------------------------------- */

static void on_server_log(void *ctx, uint32_t level, uint32_t src, const char *text)
{
    const daemon_t *d = ctx;
    (void)src;
    if (!d->printed) {
        log_line(level, text);
    }
}

/* Board lines may be longer than a log line of the protocol: stderr gets them whole. */
static void on_board_log(void *ctx, uint32_t level, const char *text)
{
    daemon_t *d = ctx;
    log_line(level, text);
    if (d->server != NULL) {
        d->printed = true;
        tw_server_log(d->server, level, TW_SRC_IO, text);
        d->printed = false;
    }
}

static void print_diagnostics(const tw_diags_t *diags)
{
    for (unsigned i = 0; i < diags->n; i++) {
        const tw_diag_t *row = &diags->rows[i];
        char line[600];
        tw_diag_line(row, line, sizeof line);
        log_line(row->note ? TW_LOG_INFO : row->warning ? TW_LOG_WARN : TW_LOG_ERROR, line);
    }
}

/* ---- parts, in the order they are needed ------------------------------------------ */

static bool open_key(daemon_t *d)
{
    char why[320];
    if (d->opt.key_file != NULL && !key_read(&d->key, d->opt.key_file, why)) {
        log_text(TW_LOG_ERROR, "key: %s", why);
        return false;
    }
    return true;
}

static bool open_platform(daemon_t *d)
{
    static tw_diags_t diags;
    const bool ok = tw_platform_read(&d->platform, d->opt.platform, &diags);
    print_diagnostics(&diags);
    if (!ok) {
        char summary[64];
        tw_diag_summary(&diags, summary, sizeof summary);
        log_text(TW_LOG_ERROR, "platform %s: %s, see above", d->opt.platform, summary);
    }
    return ok;
}

static bool open_board(daemon_t *d)
{
    char why[TW_BOARD_WHY];
    const tw_board_linux_cfg_t cfg = {.platform = &d->platform,
                                      .overrides = d->opt.ios,
                                      .n_overrides = d->opt.n_ios,
                                      .threads = d->opt.threads,
                                      .state = d->opt.state,
                                      .gpio_scripts = d->opt.gpio_scripts,
                                      .gpio_scripts_set = d->opt.gpio_scripts_set,
                                      .gpio_log = d->opt.gpio_log,
                                      .gpio_chip = d->opt.gpio_chip,
                                      .log = on_board_log,
                                      .log_ctx = d};
    d->board = tw_board_linux_open(&cfg, why);
    if (d->board == NULL) {
        log_line(TW_LOG_ERROR, why);
    }
    return d->board != NULL;
}

static void *take_memory(size_t bytes)
{
    return aligned_alloc(64, (bytes + 63) & ~(size_t)63);
}

static bool open_engine(daemon_t *d)
{
    const tw_engine_cfg_t cfg = {.port = &d->port,
                                 .board = tw_board_linux_board(d->board),
                                 .queue_bytes = 4 * MB,
                                 .timed_bytes = MB,
                                 .reply_bytes = MB,
                                 .graph_bytes = GRAPH_BYTES,
                                 .shadow_bytes = 4 * MB,
                                 .threads = d->opt.threads,
                                 .trace_bytes = MB,
                                 .wait = engine_wait,
                                 .wake = engine_wake,
                                 .wait_ctx = &d->thread};
    const size_t need = tw_engine_need(&cfg);
    engine_beds(&d->thread);
    d->engine_memory = take_memory(need);
    const tw_err_t err =
        d->engine_memory == NULL ? TW_E_NOMEM : tw_engine_init(&d->engine, &cfg, d->engine_memory, need);
    if (err != TW_OK) {
        log_text(TW_LOG_ERROR, "engine: %s (%zu MB wanted)", tw_err_text(err), need / MB);
    }
    return err == TW_OK;
}

static uint64_t make_boot_id(void)
{
    uint64_t id = 0;
    return tw_crypto_mbedtls.random(&id, sizeof id) == 0 && id != 0 ? id : (uint64_t)port_now_ns();
}

/* A script asked for another use case: its image, verified and primed beside the graph that runs, takes over. */
static tw_err_t on_use_case(void *ctx, uint32_t id)
{
    const daemon_t *d = ctx;
    char why[320];
    size_t n = 0;
    tw_fault_t fault = {0};
    const char *file = id < OPTIONS_USE_CASES ? d->opt.use_cases[id] : NULL;
    if (file == NULL) {
        return TW_OK;
    }
    uint8_t *image = file_read(file, GRAPH_BYTES, &n, why);
    if (image == NULL) {
        log_text(TW_LOG_ERROR, "use case %u: %s", id, why);
        return TW_E_NOT_FOUND;
    }
    const tw_err_t err = tw_server_boot_graph(d->server, image, (uint32_t)n, &fault);
    free(image);
    if (err != TW_OK && err != TW_E_BUSY) {
        log_text(TW_LOG_ERROR, "use case %u, %s refused: %s (at %u); the graph stays", id, file, tw_err_text(err),
                 fault.at);
    } else if (err == TW_OK) {
        log_text(TW_LOG_INFO, "use case %u: %s", id, file);
    }
    return err;
}

static bool open_server(daemon_t *d)
{
    const bool keyed = d->opt.key_file != NULL;
    const tw_server_cfg_t cfg = {
        .port = &d->port,
        .engine = d->engine,
        .crypto = &tw_crypto_mbedtls,
        .name = "tunewired",
        .build = TW_VERSION,
        .boot_id = make_boot_id(),
        .max_frame = 64 * KB,
        .window = MB,
        .max_calls = 64,
        .max_sessions = 16,
        .out_bytes = 512 * KB,
        .msg_bytes = 128 * KB,
        .blob_bytes = 16 * MB,
        .probe_bytes = 256 * KB,
        .max_subs = 64,
        .max_probes = 16,
        .capture_bytes = MB,
        .trace_lines = 4096,
        .txn_bytes = MB,
        .resume_ms = 30000,
        .key = keyed ? d->key.bytes : NULL,
        .key_len = d->key.len,
        .key_id = keyed ? d->key.id : NULL,
        .open_role = TW_ROLE_ADMIN, /* without a key only this machine can connect */
        .log = on_server_log,
        .log_ctx = d,
        .use_case = on_use_case,
        .use_case_ctx = d,
        .record = &d->recording.calls,
    };
    const size_t need = tw_server_need(&cfg);
    d->server_memory = take_memory(need);
    const tw_err_t err =
        d->server_memory == NULL ? TW_E_NOMEM : tw_server_init(&d->server, &cfg, d->server_memory, need);
    if (err != TW_OK) {
        log_text(TW_LOG_ERROR, "server: %s (%zu MB wanted)", tw_err_text(err), need / MB);
    }
    return err == TW_OK;
}

static const char *section_name(uint32_t section)
{
    static const char *const names[] = {"header", "banks",   "formats",    "IOs",       "nodes",
                                        "arcs",   "scripts", "parameters", "extensions"};
    return section < TW_COUNT(names) ? names[section] : "?";
}

static const char *graph_advice(const tw_fault_t *fault)
{
    if (fault->err == TW_E_IMG_MAGIC) {
        return "give an image: tunewire compile makes one of a graph's text";
    }
    if (fault->err == TW_E_IMG_SIZE || fault->err == TW_E_IMG_HEADER_CRC || fault->err == TW_E_IMG_PAYLOAD_CRC) {
        return "the file is not whole: compile it again";
    }
    if (fault->section == TW_SEC_IOS + 1) {
        return "connect that IO otherwise with --io, or compile the graph for this platform";
    }
    return "compile it for this platform";
}

static bool open_graph(daemon_t *d)
{
    char why[320];
    size_t n = 0;
    tw_fault_t fault = {0};
    if (d->opt.graph == NULL) {
        return true;
    }
    d->graph = file_read(d->opt.graph, GRAPH_BYTES, &n, why);
    if (d->graph == NULL) {
        log_text(TW_LOG_ERROR, "graph: %s", why);
        return false;
    }
    const tw_err_t err = tw_server_boot_graph(d->server, d->graph, (uint32_t)n, &fault);
    if (err != TW_OK) {
        fault.err = err;
        log_text(TW_LOG_ERROR, "graph %s refused: %s (%s, at %u): %s", d->opt.graph, tw_err_text(err),
                 section_name(fault.section), fault.at, graph_advice(&fault));
    }
    return err == TW_OK;
}

static bool open_recording(daemon_t *d)
{
    char why[160];
    record_open(&d->recording, d->engine, tw_board_linux_board(d->board), GRAPH_BYTES, d->opt.record_dir);
    const bool ok =
        d->opt.record == NULL || record_start(&d->recording, d->opt.record, d->opt.record_outputs, false, why);
    if (!ok) {
        log_text(TW_LOG_ERROR, "--record: %s", why);
    }
    return ok;
}

static bool open_phy(daemon_t *d)
{
    char why[160];
    const tw_phy_user_t user = tw_server_phy_user(d->server);
    const tw_phy_tcp_cfg_t cfg = {
        .host = d->opt.host, .port = d->opt.port, .allow_remote = d->opt.key_file != NULL, .max_links = MAX_LINKS};
    if (tw_phy_tcp_open(&d->phy, &cfg, &user, why) != TW_OK) {
        log_text(TW_LOG_ERROR, "--listen: %s", why);
        return false;
    }
    wake_phy = d->phy;
    return true;
}

static void on_blocks_done(void *ctx)
{
    const daemon_t *d = ctx;
    atomic_store(&ending, true);
    tw_phy_tcp_wake(d->phy);
}

static bool open_thread(daemon_t *d)
{
    d->thread.engine = d->engine;
    d->thread.board = d->board;
    d->thread.fast = d->opt.fast;
    d->thread.max_blocks = d->opt.blocks;
    d->thread.priority = d->opt.priority;
    d->thread.helpers = d->opt.threads > 1 ? d->opt.threads - 1 : 0;
    d->thread.done = on_blocks_done;
    d->thread.done_ctx = d;
    if (!engine_thread_start(&d->thread)) {
        log_line(TW_LOG_ERROR, "the system gives no thread for the engine");
        return false;
    }
    /* Without the right to it this fails, and only costs a page fault now and then. */
    (void)!mlockall(MCL_CURRENT | MCL_ONFAULT);
    return true;
}

/* ---- running ------------------------------------------------------------------------ */

/* Whoever reads the line finds the graph running, not on its way in. */
static void await_graph(const daemon_t *d)
{
    static const struct timespec moment = {.tv_nsec = 200000};
    while (!atomic_load(&ending) && tw_server_waiting(d->server)) {
        nanosleep(&moment, NULL);
        (void)tw_server_poll(d->server);
    }
}

static void announce(const daemon_t *d)
{
    const bool v6 = strchr(d->opt.host, ':') != NULL;
    printf("tunewired: listening on tcp://%s%s%s:%u\n", v6 ? "[" : "", d->opt.host, v6 ? "]" : "",
           tw_phy_tcp_port(d->phy));
    fflush(stdout);
}

static void tell_late(daemon_t *d, const tw_engine_info_t *info, int64_t now_ns)
{
    char text[160];
    const uint32_t late = info->late_blocks - d->late_told;
    snprintf(text, sizeof text, "%u block%s late in %.0f s, worst by %u us, load %.1f %%: machine busy? see --priority",
             late, late == 1 ? "" : "s", (double)(now_ns - d->late_since_ns) / 1e9,
             atomic_exchange(&d->thread.worst_late_us, 0), info->load_permille / 10.0);
    tw_server_log(d->server, TW_LOG_WARN, TW_SRC_GRAPH, text);
    d->late_told = info->late_blocks;
    d->late_since_ns = now_ns;
    d->late_tell_ns = now_ns + (int64_t)LATE_TELL_MS * NS_PER_MS;
}

static void report_late(daemon_t *d, int64_t now_ns)
{
    tw_engine_info_t info;
    if (now_ns < d->late_look_ns) {
        return;
    }
    d->late_look_ns = now_ns + (int64_t)LATE_LOOK_MS * NS_PER_MS;
    tw_engine_info(d->engine, &info);
    if (info.late_blocks != d->late_told && now_ns >= d->late_tell_ns) {
        tell_late(d, &info, now_ns);
    }
}

static uint32_t min3(uint32_t a, uint32_t b, uint32_t c)
{
    return tw_min_u32(a, tw_min_u32(b, c));
}

/* Housekeeping when it is due or somebody waits for the engine; otherwise a call costs its own work only. */
static int64_t keep_house(daemon_t *d, int64_t now_ns)
{
    const uint32_t board_us = tw_board_linux_service(d->board);
    const uint32_t server_us = tw_server_poll(d->server);
    report_late(d, now_ns);
    record_service(&d->recording);
    return now_ns + 1000 * (int64_t)min3(board_us, server_us, MAX_WAIT_US);
}

static bool serve(daemon_t *d)
{
    d->late_since_ns = port_now_ns();
    tw_phy_tcp_alarm(d->phy, 0);
    while (!atomic_load(&ending)) {
        if (tw_phy_tcp_alarmed(d->phy) || tw_server_waiting(d->server)) {
            tw_phy_tcp_alarm(d->phy, keep_house(d, port_now_ns()));
        }
        if (tw_phy_tcp_poll(d->phy, UINT32_MAX) != TW_OK) {
            log_line(TW_LOG_ERROR, "waiting for connections failed: stopping");
            return false;
        }
    }
    return true;
}

/* The engine's thread is gone: what it saved last is written out, then what there is now. */
static void save_state(daemon_t *d)
{
    if (d->opt.state != NULL) {
        (void)tw_board_linux_service(d->board);
        (void)tw_engine_save_state(d->engine);
    }
}

static void report_end(const daemon_t *d)
{
    tw_board_linux_stats_t io;
    tw_engine_info_t info;
    tw_engine_info(d->engine, &info);
    log_text(TW_LOG_INFO, "stopped after %llu blocks, %u late", (unsigned long long)atomic_load(&d->thread.blocks),
             info.late_blocks);
    for (unsigned i = 0; tw_board_linux_stats(d->board, i, &io); i++) {
        if (io.file[0] != '\0') {
            log_text(io.dropped != 0 ? TW_LOG_WARN : TW_LOG_INFO, "%s: %llu samples, %llu frames lost, %s", io.name,
                     (unsigned long long)io.frames, (unsigned long long)io.dropped, io.file);
        }
    }
}

static void close_all(daemon_t *d)
{
    wake_phy = NULL;
    tw_phy_tcp_close(d->phy);
    d->server = NULL; /* nobody reads its log any more */
    record_finish(&d->recording);
    tw_board_linux_close(d->board);
    tw_platform_free(&d->platform);
    free(d->graph);
    free(d->server_memory);
    free(d->engine_memory);
    explicit_bzero(&d->key, sizeof d->key);
}

/* Asked before any file is touched. */
static bool may_listen(const options_t *o)
{
    if (!tw_phy_tcp_is_address(o->host)) {
        log_text(TW_LOG_ERROR, "--listen: '%s' is no IPv4 or IPv6 address", o->host);
        return false;
    }
    if (o->key_file == NULL && !tw_phy_tcp_is_loopback(o->host)) {
        log_text(TW_LOG_ERROR,
                 "--listen %s: other machines could connect, and anyone there be admin: give --key FILE, "
                 "or listen on 127.0.0.1",
                 o->host);
        return false;
    }
    return true;
}

static bool open_parts(daemon_t *d)
{
    port_open(&d->port);
    return open_key(d) && open_platform(d) && open_board(d) && open_engine(d) && open_recording(d) && open_server(d) &&
           open_phy(d) && open_graph(d) && open_thread(d);
}

int main(int argc, char **argv)
{
    static daemon_t d;
    const int code = options_read(&d.opt, argc, argv);
    if (code >= 0) {
        return code;
    }
    log_open(d.opt.log_level);
    if (!may_listen(&d.opt)) {
        return 2;
    }
    catch_signals();
    bool ok = open_parts(&d);
    if (ok) {
        prctl(PR_SET_TIMERSLACK, 1000ul); /* [ns]; replies that wait for the engine are polled for */
        await_graph(&d);
        announce(&d);
        ok = serve(&d);
        engine_thread_stop(&d.thread);
        save_state(&d);
        record_finish(&d.recording);
        while (tw_board_linux_service(d.board) == 0) {}
        report_end(&d);
    }
    close_all(&d);
    return ok ? 0 : 1;
}
