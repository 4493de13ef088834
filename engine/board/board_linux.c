#include "engine/board/board_linux.h"
#include "engine/base/config.h"
#include "engine/base/port.h"
#include "engine/board/board_linux_priv.h"
#include "engine/board/board_linux_samples.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SERVICE_US = 10000, IDLE_US = 100000, SYNC_MS = 250 };

static const backend_t backends[] = {
#define TW_BACKEND(name, rx, tx, text) {#name, rx, tx, &backend_##name},
#include "engine/board/board_linux_backends.def"
};

void board_log(const tw_board_linux_t *b, uint32_t level, const char *format, ...)
{
    if (b->cfg.log != NULL) {
        char text[TW_BOARD_WHY];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        b->cfg.log(b->cfg.log_ctx, level, text);
    }
}

/* ---- what the engine calls ------------------------------------------------- */

static io_t *find_io(const tw_board_linux_t *b, uint32_t hwid)
{
    for (uint32_t i = 0; i < b->n; i++) {
        if (b->table[i].hwid == hwid) {
            return &b->ios[i];
        }
    }
    return NULL;
}

static void adopt(void *ctx)
{
    tw_board_linux_t *b = ctx;
    b->adopts = true;
    for (uint32_t i = 0; i < b->n; i++) {
        b->ios[i].current = atomic_load_explicit(&b->ios[i].wanted, memory_order_acquire);
    }
}

/* The format of this frame. An engine that never calls adopt() gets the format accepted last: right but for
 * the moment between a graph's check and its first block. */
static bool format_of(io_t *io, uint32_t bytes, io_format_t *f)
{
    if (!io->board->adopts) {
        io->current = atomic_load_explicit(&io->wanted, memory_order_acquire);
    }
    *f = unpack_format(io->current);
    return bytes != 0 && f->frame_bytes == bytes;
}

static uint32_t board_read(void *ctx, uint32_t hwid, uint64_t tick, void *dst, uint32_t bytes)
{
    (void)tick; /* position advances by what is read, not by time: a stopped graph loses nothing */
    io_t *io = find_io(ctx, hwid);
    io_format_t f;
    if (io == NULL || io->backend->calls->read == NULL || !format_of(io, bytes, &f)) {
        return 0;
    }
    return io->backend->calls->read(io, &f, dst);
}

static uint32_t board_write(void *ctx, uint32_t hwid, uint64_t tick, const void *src, uint32_t bytes)
{
    io_t *io = find_io(ctx, hwid);
    io_format_t f;
    if (io == NULL || io->backend->calls->write == NULL || !format_of(io, bytes, &f)) {
        return 0;
    }
    return io->backend->calls->write(io, &f, tick, src);
}

/* Back-ends that look at samples need whole ones: a frame with a time stamp in it does not fit. */
static bool whole_samples(const io_format_t *f)
{
    const uint32_t bytes = tw_sample_bytes(f->raw);
    return bytes == 0 || f->frame_bytes % (f->channels * bytes) == 0;
}

/* Of a converter or a sensor, not of the format, which is checked by itself. */
static bool is_analog(const char *tag)
{
    static const char *const words[] = {"gain", "filter", "high_pass", "averaging", "sensitivity", "canceller"};
    bool found = false;
    for (size_t i = 0; i < TW_COUNT(words); i++) {
        found = found || strstr(tag, words[i]) != NULL;
    }
    return found;
}

/* Files and lines have no gains and no filters, so what the graph wants of them is checked and told. */
static tw_err_t take_settings(const tw_board_linux_t *b, const io_t *io, const uint32_t settings[3])
{
    const tw_io_manifest_t *m = &b->cfg.platform->ios[io - b->ios];
    uint8_t index[TW_COUNT(m->settings)] = {0};
    const tw_err_t err = tw_settings_unpack(m, settings, index);
    if (err == TW_E_UNSUPPORTED) {
        return TW_OK; /* more options than the words hold: the manifest's defaults */
    }
    if (err != TW_OK) {
        board_log(b, TW_BOARD_ERROR, "%s: settings %#x %#x %#x are none that its options make", io->as->name,
                  settings[0], settings[1], settings[2]);
        return err;
    }
    for (unsigned i = 0; i < m->n_settings; i++) {
        const tw_setting_t *s = &m->settings[i];
        if (s->o.n > 1 && index[i] != s->o.def && is_analog(s->tag)) {
            board_log(b, TW_BOARD_INFO, "%s: %s %g", io->as->name, s->tag, s->o.v[index[i]]);
        }
    }
    return TW_OK;
}

/* What is not of the converter is the format, which is the graph's. */
static bool same_format(const tw_io_manifest_t *m, const uint32_t a[3], const uint32_t b[3])
{
    uint8_t x[TW_COUNT(m->settings)] = {0}, y[TW_COUNT(m->settings)] = {0};
    if (tw_settings_unpack(m, a, x) != TW_OK || tw_settings_unpack(m, b, y) != TW_OK) {
        return memcmp(a, b, TW_SETTINGS_WORDS * sizeof *a) == 0;
    }
    for (unsigned i = 0; i < m->n_settings; i++) {
        if (x[i] != y[i] && !is_analog(m->settings[i].tag)) {
            return false;
        }
    }
    return true;
}

static tw_err_t board_settings(void *ctx, uint32_t hwid, const uint32_t now[3], const uint32_t settings[3])
{
    const tw_board_linux_t *b = ctx;
    const io_t *io = find_io(b, hwid);
    if (io == NULL) {
        return TW_E_NOT_FOUND;
    }
    const tw_io_manifest_t *m = &b->cfg.platform->ios[io - b->ios];
    uint8_t unused[TW_COUNT(m->settings)] = {0};
    const tw_err_t err = tw_settings_unpack(m, settings, unused);
    if (err != TW_OK && err != TW_E_UNSUPPORTED) { /* the latter: more options than the words hold */
        return err;
    }
    return same_format(m, now, settings) ? TW_OK : TW_E_UNSUPPORTED;
}

/* Looked at by board_settings(); there is nothing to turn, and here is no place to write about it. */
static bool board_io(void *ctx, uint32_t hwid, tw_io_command_t command, const void *data, uint32_t bytes)
{
    (void)ctx, (void)hwid, (void)data, (void)bytes;
    return command == TW_IO_SET;
}

static tw_err_t board_accept(void *ctx, uint32_t hwid, uint32_t raw, uint32_t channels, float rate_hz,
                             uint32_t frame_bytes, const uint32_t settings[3])
{
    const tw_board_linux_t *b = ctx;
    io_t *io = find_io(b, hwid);
    const io_format_t f = {.raw = raw, .channels = channels, .frame_bytes = frame_bytes};
    if (io == NULL) {
        board_log(b, TW_BOARD_ERROR, "the graph uses IO %u, this platform has none", hwid);
        return TW_E_NOT_FOUND;
    }
    if (raw >= TW_RAW_COUNT || channels < 1 || channels > 32 || frame_bytes == 0 || !whole_samples(&f)) {
        board_log(b, TW_BOARD_ERROR, "%s: %u bytes are no frames of %u channels of %s", io->as->name, frame_bytes,
                  channels, raw < TW_RAW_COUNT ? tw_raw_name(raw) : "?");
        return TW_E_UNSUPPORTED;
    }
    TW_TRY(take_settings(b, io, settings));
    if (io->backend->calls->accept != NULL) {
        TW_TRY(io->backend->calls->accept(io, &f, rate_hz));
    }
    atomic_store_explicit(&io->wanted, pack_format(&f), memory_order_release);
    return TW_OK;
}

/* ---- connecting IOs --------------------------------------------------------- */

static bool refuse(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool refuse(char *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, TW_BOARD_WHY, format, args);
    va_end(args);
    return false;
}

static const backend_t *find_backend(const char *name)
{
    for (size_t i = 0; i < TW_COUNT(backends); i++) {
        if (strcmp(backends[i].name, name) == 0) {
            return &backends[i];
        }
    }
    return NULL;
}

static bool is_tx(const io_t *io)
{
    return io->as->direction != 0;
}

/* An input's file lies beside the manifest that names it; a recording goes where the program was started,
 * for manifests may lie where nobody can write. */
static bool set_manifest_file(io_t *io, const char *manifest, const char *file, char *why)
{
    const char *slash = strrchr(manifest, '/');
    const int folder = file[0] == '/' || slash == NULL || is_tx(io) ? 0 : (int)(slash - manifest + 1);
    const int n = snprintf(io->file, sizeof io->file, "%.*s%s", folder, manifest, file);
    return (n >= 0 && (size_t)n < sizeof io->file) || refuse(why, "%s: io_file is too long", io->as->name);
}

static bool connect_from_manifest(io_t *io, const tw_io_manifest_t *m, char *why)
{
    const bool line = m->domain == 3 || m->domain == 4; /* gpio_in, gpio_out */
    const char *backend = tw_io_extra(m, "io_backend");
    const char *file = tw_io_extra(m, "io_file");
    const char *loop = tw_io_extra(m, "io_loop");
    io->backend = find_backend(backend != NULL ? backend : line ? "gpio" : "null");
    if (io->backend == NULL) {
        return refuse(why, "%s: %s: io_backend '%s' is unknown", m->file, io->as->name, backend);
    }
    io->loop = loop != NULL && strcmp(loop, "0") != 0;
    return file == NULL || set_manifest_file(io, m->file, file, why);
}

static bool same_name(const char *io, const char *asked, size_t n)
{
    static const char prefix[] = "io_platform_";
    const size_t skip = strncmp(io, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
    return (strlen(io) == n && memcmp(io, asked, n) == 0) ||
           (strlen(io + skip) == n && memcmp(io + skip, asked, n) == 0);
}

static bool override_io(io_t *io, const char *what, char *why)
{
    const backend_t *named = find_backend(what);
    if (named != NULL && strncmp(what, "wav_", 4) != 0) {
        io->backend = named;
        io->file[0] = '\0';
        return true;
    }
    if (strncmp(what, "loop:", 5) == 0 || strncmp(what, "once:", 5) == 0) {
        io->loop = what[0] == 'l';
        what += 5;
    }
    io->backend = find_backend(is_tx(io) ? "wav_out" : "wav_in");
    const int n = snprintf(io->file, sizeof io->file, "%s", what);
    return (n >= 0 && (size_t)n < sizeof io->file) || refuse(why, "%s: the file name is too long", io->as->name);
}

static bool apply_override(tw_board_linux_t *b, const char *text, char *why)
{
    const char *eq = strchr(text, '=');
    if (eq == NULL || eq == text || eq[1] == '\0') {
        return refuse(why, "'%s' is not NAME=FILE, NAME=ramp, NAME=null or NAME=gpio", text);
    }
    for (uint32_t i = 0; i < b->n; i++) {
        if (same_name(b->table[i].name, text, (size_t)(eq - text))) {
            return override_io(&b->ios[i], eq + 1, why);
        }
    }
    char known[300] = "";
    for (uint32_t i = 0, n = 0; i < b->n && n < sizeof known; i++) {
        n += (uint32_t)snprintf(known + n, sizeof known - n, " %s", b->table[i].name);
    }
    return refuse(why, "no IO named '%.*s'; there are:%s", (int)(eq - text), text, known);
}

static bool check_io(const tw_board_linux_t *b, const io_t *io, char *why)
{
    const bool fits = is_tx(io) ? io->backend->tx : io->backend->rx;
    const bool wav = strncmp(io->backend->name, "wav_", 4) == 0;
    if (!fits) {
        return refuse(why, "%s is an %s: %s cannot be connected to it", io->as->name, is_tx(io) ? "output" : "input",
                      io->backend->name);
    }
    if (wav && io->file[0] == '\0') {
        return refuse(why, "%s: %s needs a file: io_file in the manifest or --io %s=FILE", io->as->name,
                      io->backend->name, io->as->name);
    }
    for (const io_t *other = b->ios; wav && other < io; other++) {
        if (strcmp(other->file, io->file) == 0 && (is_tx(io) || is_tx(other))) {
            return refuse(why, "%s and %s would share %s", other->as->name, io->as->name, io->file);
        }
    }
    return true;
}

/* ---- life -------------------------------------------------------------------- */

static double default_of(const tw_options_t *o, double otherwise)
{
    return o->n > 0 && o->def < o->n && o->v[o->def] >= 1.0 ? o->v[o->def] : otherwise;
}

static bool describe_io(tw_board_linux_t *b, uint32_t i, char *why)
{
    const tw_io_manifest_t *m = &b->cfg.platform->ios[i];
    tw_board_io_t *as = &b->table[i];
    io_t *io = &b->ios[i];
    *as = (tw_board_io_t){.hwid = (uint16_t)m->hwid,
                          .direction = m->direction,
                          .domain = m->domain,
                          .servant = m->commander,
                          .clock_domain = m->clock_domain};
    if (strlen(m->name) >= sizeof as->name || m->hwid > UINT16_MAX) {
        return refuse(why, "%s: IO '%s' has a name longer than %zu characters or a number above 65535", m->file,
                      m->name, sizeof as->name - 1);
    }
    memcpy(as->name, m->name, strlen(m->name));
    io->board = b;
    io->as = as;
    io->planar = m->interleaving != 0;
    io->raw = m->raw;
    io->channels = (uint32_t)default_of(&m->channels, 1);
    io->rate_hz = (uint32_t)default_of(&m->rate_hz, 48000);
    return connect_from_manifest(io, m, why);
}

static void describe_banks(tw_board_linux_t *b)
{
    const tw_platform_t *p = b->cfg.platform;
    for (unsigned i = 0; i < p->n_banks; i++) {
        b->bank_bytes[p->banks[i].vid] = p->banks[i].bytes;
        b->bank_proc[p->banks[i].vid] = p->banks[i].is_private ? p->banks[i].proc : 0;
    }
    b->board.bank_proc = p->n_banks > 0 ? b->bank_proc : NULL;
    b->board.bank_bytes = p->n_banks > 0 ? b->bank_bytes : NULL;
    b->board.n_banks = p->n_banks > 0 ? (uint32_t)TW_COUNT(b->bank_bytes) : 0;
}

static bool connect_all(tw_board_linux_t *b, char *why)
{
    for (uint32_t i = 0; i < b->n; i++) {
        if (!describe_io(b, i, why)) {
            return false;
        }
    }
    for (unsigned i = 0; i < b->cfg.n_overrides; i++) {
        if (!apply_override(b, b->cfg.overrides[i], why)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < b->n; i++) {
        if (!check_io(b, &b->ios[i], why)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < b->n; i++) {
        const backend_calls_t *calls = b->ios[i].backend->calls;
        if (calls->open != NULL && !calls->open(&b->ios[i], why)) {
            return false;
        }
    }
    return true;
}

static tw_board_linux_t *make_board(const tw_board_linux_cfg_t *cfg)
{
    tw_board_linux_t *b = aligned_alloc(64, tw_round_up(sizeof *b, 64));
    if (b == NULL) {
        return NULL;
    }
    memset(b, 0, sizeof *b);
    b->cfg = *cfg;
    b->n = cfg->platform->n_ios;
    b->table = calloc(b->n + 1u, sizeof *b->table);
    b->ios = aligned_alloc(64, tw_round_up((uint32_t)((b->n + 1u) * sizeof *b->ios), 64));
    if (b->table == NULL || b->ios == NULL) {
        free(b->table);
        free(b->ios);
        free(b);
        return NULL;
    }
    memset(b->ios, 0, (b->n + 1u) * sizeof *b->ios);
    tw_ring_init(&b->gpio, b->gpio_memory, sizeof b->gpio_memory);
    b->board = (tw_board_t){.ctx = b,
                            .platform_id = cfg->platform->id,
                            .services = cfg->platform->services,
                            .processors = cfg->platform->processors | ((1u << cfg->threads % 32) - 1),
                            .ios = b->table,
                            .n_ios = b->n,
                            .read = board_read,
                            .write = board_write,
                            .accept = board_accept,
                            .settings = board_settings,
                            .io = board_io,
                            .adopt = adopt};
    describe_banks(b);
    return b;
}

tw_board_linux_t *tw_board_linux_open(const tw_board_linux_cfg_t *cfg, char why[TW_BOARD_WHY])
{
    if (cfg->platform->n_ios > TW_MAX_IOS) {
        refuse(why, "%s: %u IOs, at most %u are possible", cfg->platform->path, cfg->platform->n_ios, TW_MAX_IOS);
        return NULL;
    }
    tw_board_linux_t *b = make_board(cfg);
    if (b == NULL) {
        refuse(why, "not enough memory for %u IOs", cfg->platform->n_ios);
        return NULL;
    }
    if (!connect_all(b, why) || !board_state_open(b, why) || !board_gpio_open(b, why)) {
        tw_board_linux_close(b);
        return NULL;
    }
    return b;
}

const tw_board_t *tw_board_linux_board(const tw_board_linux_t *b)
{
    return &b->board;
}

/* ---- control thread ------------------------------------------------------------ */

static bool sync_due(tw_board_linux_t *b)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const uint64_t now_ms = (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
    const bool due = now_ms - b->synced_ms >= SYNC_MS;
    b->synced_ms = due ? now_ms : b->synced_ms;
    return due;
}

static bool log_lines(tw_board_linux_t *b)
{
    uint32_t n, told = 0;
    const gpio_change_t *change;
    while (told < 64 && (change = tw_ring_peek(&b->gpio, &n)) != NULL) {
        board_log(b, TW_BOARD_INFO, "gpio %s = %u at tick %llu", b->table[change->index].name, change->value,
                  (unsigned long long)change->tick);
        tw_ring_pop(&b->gpio);
        told++;
    }
    const uint32_t lost = atomic_load_explicit(&b->gpio_lost, memory_order_relaxed);
    if (lost != b->gpio_lost_told) {
        board_log(b, TW_BOARD_WARN, "gpio: %u changes not logged: too many at once", lost - b->gpio_lost_told);
        b->gpio_lost_told = lost;
    }
    return told > 0;
}

uint32_t tw_board_linux_service(tw_board_linux_t *b)
{
    const bool sync = sync_due(b);
    bool more = false, busy = log_lines(b);
    busy = board_gpio_service(b) || busy;
    board_state_service(b);
    for (uint32_t i = 0; i < b->n; i++) {
        io_t *io = &b->ios[i];
        if (io->backend->calls->service != NULL) {
            busy = busy || tw_ring_used(&io->ring) > 0;
            more = io->backend->calls->service(io, sync) || more;
        }
    }
    return more ? 0 : busy ? SERVICE_US : IDLE_US;
}

bool tw_board_linux_behind(tw_board_linux_t *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        tw_ring_t *r = &b->ios[i].ring;
        if (r->size != 0 && tw_ring_used(r) > r->size / 2) {
            return true;
        }
    }
    return tw_ring_used(&b->gpio) > b->gpio.size / 2;
}

bool tw_board_linux_set_line(tw_board_linux_t *b, uint32_t hwid, bool level)
{
    io_t *io = find_io(b, hwid);
    if (io == NULL || is_tx(io) || io->backend->calls != &backend_gpio) {
        return false;
    }
    atomic_store_explicit(&io->level, level, memory_order_relaxed);
    return true;
}

bool tw_board_linux_stats(const tw_board_linux_t *b, unsigned index, tw_board_linux_stats_t *out)
{
    if (index >= b->n) {
        return false;
    }
    const io_t *io = &b->ios[index];
    *out = (tw_board_linux_stats_t){.name = io->as->name,
                                    .backend = io->backend->name,
                                    .file = io->file,
                                    .frames = passed(io),
                                    .dropped = atomic_load_explicit(&io->dropped, memory_order_relaxed) + io->refused};
    return true;
}

void tw_board_linux_close(tw_board_linux_t *b)
{
    if (b == NULL) {
        return;
    }
    while (log_lines(b)) {}
    board_state_close(b);
    board_gpio_close(b);
    for (uint32_t i = 0; i < b->n; i++) {
        if (b->ios[i].backend != NULL && b->ios[i].backend->calls->close != NULL) {
            b->ios[i].backend->calls->close(&b->ios[i]);
        }
    }
    free(b->table);
    free(b->ios);
    free(b);
}
