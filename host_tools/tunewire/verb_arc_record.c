/* verb_arc_record.c - tunewire arc record: every sample of an arc into a file, for a while. */
#include "engine/base/formats.h"
#include "host_tools/tunewire/cli_samples.h"
#include <errno.h>

typedef struct record {
    tw_cli_t *cli;
    tw_sample_file_t file;
    uint64_t want; /* bytes, UINT64_MAX: until stopped */
    uint32_t dropped;
    bool failed;
} record_t;

static bool take_block(void *ctx, const tw_block_t *b)
{
    record_t *r = ctx;
    const uint64_t left = r->want - r->file.bytes;
    r->dropped = b->dropped;
    if (!cli_samples_add(&r->file, b->data, b->n < left ? b->n : (size_t)left)) {
        r->failed = true;
    }
    return !r->failed && r->file.bytes < r->want;
}

static bool ready(tw_cli_t *cli, const tunewire_v1_ArcInfo *arc, const char *path)
{
    if (cli_samples_kind(path) == SAMPLES_WAV && !cli_wav_holds(arc->raw)) {
        const char *raw = tw_raw_name(arc->raw);
        (void)cli_fail(cli, CLI_USAGE, path, "record to a .raw file", "WAV cannot hold %s", raw ? raw : "this type");
        return false;
    }
    if (!(arc->rate > 0) && cli_option(cli, "--seconds")) {
        (void)cli_fail(cli, CLI_USAGE, arc->name, "leave --seconds out and press Ctrl-C",
                       "the stream has no sampling rate");
        return false;
    }
    return true;
}

static int run(tw_cli_t *cli, record_t *r, const tunewire_v1_ArcInfo *arc)
{
    tw_watch_t w = {.block = take_block, .ctx = r};
    /* One point a sample comes interleaved whatever the arc's own order is. */
    const tunewire_v1_SubReq req = {
        .arc = arc->arc, .decimate = 1, .mode = tunewire_v1_SubReq_Mode_LAST, .drop = tunewire_v1_SubReq_Drop_NEWEST};
    if (!tw_client_watch(cli->c, &req, &w)) {
        return cli_fail_client(cli, arc->name);
    }
    bool alive = true;
    while (!w.sink.ended && (alive = tw_client_pump(cli->c, 200))) {
        if (cli->err_tty && !cli->json) {
            (void)fprintf(cli->err, "\r%s: %llu KiB", arc->name, (unsigned long long)(r->file.bytes >> 10));
        }
    }
    if (cli->err_tty && !cli->json) {
        (void)fprintf(cli->err, "\r\033[K");
    }
    const bool complete = r->file.bytes >= r->want || cli_stopped(cli);
    const int code = complete || r->failed ? CLI_OK : cli_fail_client(cli, arc->name);
    tw_client_unwatch(cli->c, &w);
    return code;
}

static int print_result(tw_cli_t *cli, const record_t *r, const tunewire_v1_ArcInfo *arc, const char *path)
{
    const uint32_t frame = tw_max_u32(tw_raw_bits(arc->raw) / 8 * arc->channels, 1);
    const double seconds = arc->rate > 0 ? (double)(r->file.bytes / frame) / (double)arc->rate : 0;
    if (cli->json) {
        return cli_json(cli, json_pack("{s:s, s:s, s:I, s:f, s:i}", "file", path, "arc", arc->name, "bytes",
                                       (json_int_t)r->file.bytes, "seconds", seconds, "dropped", (int)r->dropped));
    }
    (void)fprintf(cli->out, "%s: %.3f s of %s, %u frames dropped\n", path, seconds, arc->name, r->dropped);
    return CLI_OK;
}

int verb_arc_record(tw_cli_t *cli)
{
    double seconds;
    const char *path = cli->args[1];
    const tunewire_v1_ArcInfo *arc = cli_find_arc(cli, cli->args[0]);
    if (!arc || !ready(cli, arc, path) || !cli_option_number(cli, "--seconds", 0.001, 1e6, 0, &seconds)) {
        return cli->exit;
    }
    FILE *f = fopen(path, "wb");
    if (!f) {
        return cli_fail(cli, CLI_INPUT, path, "check the folder and its rights", "cannot write (%s)", strerror(errno));
    }
    record_t r = {.cli = cli, .want = UINT64_MAX};
    r.failed = !cli_samples_start(&r.file, f, cli_samples_kind(path), arc->raw, arc->channels, (uint32_t)arc->rate);
    if (seconds > 0) {
        r.want = (uint64_t)(seconds * (double)arc->rate + 0.5) * (tw_raw_bits(arc->raw) / 8) * arc->channels;
    }
    int code = r.failed ? CLI_OK : run(cli, &r, arc);
    r.failed = !cli_samples_end(&r.file) || r.failed; /* what came before a failure can be heard */
    r.failed = fclose(f) != 0 || r.failed;
    if (r.failed && code == CLI_OK) {
        code = cli_fail(cli, CLI_INPUT, path, "is there space?", "cannot write");
    }
    return code == CLI_OK ? print_result(cli, &r, arc, path) : code;
}
