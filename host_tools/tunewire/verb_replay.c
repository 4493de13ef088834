/* verb_replay.c - tunewire replay: a recording played again offline, its outputs compared and kept. */
#include "engine/base/formats.h"
#include "host_tools/tunewire/cli_samples.h"
#include "host_tools/tunewire/replay_run.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

typedef struct out_file {
    tw_sample_file_t samples;
    FILE *f;
    bool wrote;
    uint32_t raw, channels, rate_hz; /* as of the last graph */
    char path[600];
} out_file_t;

typedef struct replay {
    tw_cli_t *cli;
    const char *folder; /* NULL: outputs are not kept */
    tw_replay_file_t file;
    out_file_t *outs; /* each IO row */
    bool failed;
} replay_t;

static const char *io_name(const replay_t *r, uint32_t io, char name[33])
{
    memcpy(name, tw_replay_io(&r->file, io) + 8, 32);
    name[32] = '\0';
    if (name[0] == '\0') {
        (void)snprintf(name, 33, "io_%u", io);
    }
    return name;
}

/* Names become file names: nothing but what stays in the folder. */
static void file_name(char *name)
{
    for (char *c = name; *c; c++) {
        const bool fine = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_';
        *c = fine ? *c : '_';
    }
}

static void on_format(void *ctx, uint32_t io, uint32_t raw, uint32_t channels, float rate_hz)
{
    const replay_t *r = ctx;
    r->outs[io].raw = raw;
    r->outs[io].channels = channels;
    r->outs[io].rate_hz = rate_hz > 0 && rate_hz < 1e9f ? (uint32_t)rate_hz : 0;
}

static bool open_out(replay_t *r, uint32_t io)
{
    out_file_t *o = &r->outs[io];
    char name[33];
    (void)io_name(r, io, name);
    file_name(name);
    const bool wav = cli_wav_holds(o->raw) && o->rate_hz != 0;
    (void)snprintf(o->path, sizeof o->path, "%s/%s.%s", r->folder, name, wav ? "wav" : "raw");
    o->f = fopen(o->path, "wb");
    if (o->f == NULL ||
        !cli_samples_start(&o->samples, o->f, wav ? SAMPLES_WAV : SAMPLES_RAW, o->raw, o->channels, o->rate_hz)) {
        (void)cli_fail(r->cli, CLI_INPUT, o->path, "check the folder and its rights", "cannot write (%s)",
                       strerror(errno));
        r->failed = true;
    }
    return !r->failed;
}

static bool on_output(void *ctx, uint32_t io, const void *data, uint32_t bytes)
{
    replay_t *r = ctx;
    if (r->outs[io].f == NULL && !open_out(r, io)) {
        return false;
    }
    if (!cli_samples_add(&r->outs[io].samples, data, bytes)) {
        (void)cli_fail(r->cli, CLI_INPUT, r->outs[io].path, "is there space?", "cannot write");
        r->failed = true;
    }
    return !r->failed;
}

static bool on_progress(void *ctx, uint64_t done, uint64_t all)
{
    const replay_t *r = ctx;
    if (!r->cli->json) {
        cli_progress(r->cli, done, all);
    }
    return !cli_stopped(r->cli);
}

/* What is still in a buffer may be what finds no space. */
static void close_outs(replay_t *r)
{
    for (uint32_t i = 0; r->outs != NULL && i < r->file.n_ios; i++) {
        out_file_t *o = &r->outs[i];
        if (o->f == NULL) {
            continue;
        }
        const bool ended = cli_samples_end(&o->samples);
        o->wrote = fclose(o->f) == 0 && ended;
        o->f = NULL;
        if (!o->wrote && !r->failed) {
            (void)cli_fail(r->cli, CLI_INPUT, o->path, "is there space?", "cannot write (%s)", strerror(errno));
            r->failed = true;
        }
    }
}

static const char *end_word(const tw_replay_result_t *x)
{
    return x->end == TW_REPLAY_TO_CUT          ? "cut"
           : x->end != TW_REPLAY_WHOLE         ? "failed"
           : x->recorded_end == TW_RECORD_FULL ? "ring full"
           : x->recorded_end == TW_RECORD_DISK ? "disk full"
                                               : "whole";
}

static json_t *difference(const replay_t *r, const tw_replay_result_t *x)
{
    char name[33];
    if (x->different == 0) {
        return json_null();
    }
    return json_pack("{s:s, s:I, s:I, s:i, s:i, s:i}", "io", io_name(r, x->diff_io, name), "tick",
                     (json_int_t)x->diff_tick, "frame", (json_int_t)x->diff_frame, "byte",
                     x->diff_byte != UINT32_MAX ? (int)x->diff_byte : -1, "want_crc", (int)x->want_crc, "got_crc",
                     (int)x->got_crc);
}

static int print_json(const replay_t *r, const tw_replay_result_t *x)
{
    return cli_json(r->cli,
                    json_pack("{s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "file", r->cli->args[0], "end",
                              end_word(x), "identical", x->different == 0, "first_tick", (json_int_t)x->first_tick,
                              "blocks", (json_int_t)x->blocks, "commands", (json_int_t)x->commands, "inputs",
                              (json_int_t)x->inputs, "outputs", (json_int_t)x->outputs, "different",
                              (json_int_t)x->different, "first_difference", difference(r, x)));
}

static int print_result(const replay_t *r, const tw_replay_result_t *x)
{
    FILE *out = r->cli->out;
    (void)fprintf(out, "%s: %llu blocks, %llu commands, %llu input and %llu output frames\n", r->cli->args[0],
                  (unsigned long long)x->blocks, (unsigned long long)x->commands, (unsigned long long)x->inputs,
                  (unsigned long long)x->outputs);
    for (uint32_t i = 0; i < r->file.n_ios; i++) {
        if (r->outs[i].wrote) {
            (void)fprintf(out, "wrote %s\n", r->outs[i].path);
        }
    }
    if (strcmp(end_word(x), "whole") != 0) {
        (void)fprintf(r->cli->err, "tunewire: %s: the recording is not complete (%s): replayed as far as it goes\n",
                      r->cli->args[0], end_word(x));
    }
    if (x->different == 0) {
        (void)fprintf(out, "outputs identical\n");
    }
    return CLI_OK;
}

static int tell_difference(const replay_t *r, const tw_replay_result_t *x)
{
    char name[33], byte[32] = "";
    if (x->diff_byte != UINT32_MAX) {
        (void)snprintf(byte, sizeof byte, ", byte %u", x->diff_byte);
    }
    return cli_fail(r->cli, CLI_DEVICE, r->cli->args[0], "was it recorded by this version on a sound machine?",
                    "%llu of %llu output frames differ, first %s frame %llu at tick %llu%s",
                    (unsigned long long)x->different, (unsigned long long)x->outputs, io_name(r, x->diff_io, name),
                    (unsigned long long)x->diff_frame, (unsigned long long)x->diff_tick, byte);
}

static int report(const replay_t *r, const tw_replay_result_t *x)
{
    const char *path = r->cli->args[0];
    if (r->failed) {
        return r->cli->exit;
    }
    if (x->end == TW_REPLAY_STOPPED) {
        return CLI_STOPPED;
    }
    if (x->end == TW_REPLAY_REFUSED) {
        return cli_fail(r->cli, CLI_INPUT, path,
                        x->where == 0 ? "tunewired --record FILE makes one"
                                      : "blocks before that place are good: a copy cut there replays",
                        "byte %llu: %s", (unsigned long long)x->where, x->text);
    }
    if (x->end == TW_REPLAY_DIVERGED) {
        return cli_fail(r->cli, CLI_DEVICE, path, "was it recorded by this version?",
                        "after %llu blocks, byte %llu: %s", (unsigned long long)x->blocks, (unsigned long long)x->where,
                        x->text);
    }
    if (cli_option(r->cli, "--verify") != NULL && strcmp(end_word(x), "whole") != 0) {
        return cli_fail(r->cli, CLI_INPUT, path, "without --verify it replays as far as it goes",
                        "the recording is not complete (%s) after %llu blocks", end_word(x),
                        (unsigned long long)x->blocks);
    }
    if (r->cli->json) {
        (void)print_json(r, x);
        return x->different != 0 ? CLI_DEVICE : CLI_OK;
    }
    const int code = print_result(r, x);
    return x->different != 0 ? tell_difference(r, x) : code;
}

int verb_replay(tw_cli_t *cli)
{
    tw_bytes_t bytes;
    tw_replay_result_t result;
    replay_t r = {.cli = cli, .folder = cli_option(cli, "--out")};
    if (!cli_read_file(cli, cli->args[0], &bytes)) {
        return cli->exit;
    }
    if (r.folder != NULL && mkdir(r.folder, 0777) != 0 && errno != EEXIST) {
        free(bytes.data);
        return cli_fail(cli, CLI_INPUT, r.folder, "check the path", "cannot make the folder (%s)", strerror(errno));
    }
    const bool is_one = tw_replay_open(&r.file, bytes.data, bytes.n);
    r.outs = calloc(r.file.n_ios + (size_t)1, sizeof *r.outs);
    const tw_replay_user_t user = {
        .ctx = &r, .format = on_format, .output = r.folder != NULL ? on_output : NULL, .progress = on_progress};
    tw_replay_play(bytes.data, bytes.n, is_one && r.outs != NULL ? &user : NULL, &result);
    on_progress(&r, bytes.n, bytes.n);
    close_outs(&r);
    const int code = report(&r, &result);
    free(r.outs);
    free(bytes.data);
    return code;
}
