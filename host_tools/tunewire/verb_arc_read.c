/* verb_arc_read.c - tunewire arc read: the newest bytes of an arc, once. */
#include "engine/base/formats.h"
#include "host_tools/tunewire/cli_samples.h"
#include <errno.h>
#include <stdlib.h>

static bool write_samples(tw_cli_t *cli, const tunewire_v1_ArcInfo *arc, const tw_bytes_t *b, const char *path)
{
    tw_sample_file_t s;
    const bool to_file = path && strcmp(path, "-") != 0;
    const tw_sample_file_kind_t kind = to_file ? cli_samples_kind(path) : SAMPLES_CSV;
    FILE *f = to_file ? fopen(path, "wb") : cli->out;
    if (!f) {
        (void)cli_fail(cli, CLI_INPUT, path, "check the folder and its rights", "cannot write (%s)", strerror(errno));
        return false;
    }
    bool ok = cli_samples_start(&s, f, kind, arc->raw, arc->channels, (uint32_t)arc->rate);
    if (!ok) {
        (void)cli_fail(cli, CLI_INPUT, arc->name, "write a .raw file (-o FILE.raw)", "%s cannot be written so",
                       tw_raw_name(arc->raw) ? tw_raw_name(arc->raw) : "this type");
    } else if (!(ok = cli_samples_add(&s, b->data, b->n) && cli_samples_end(&s))) {
        (void)cli_fail(cli, CLI_INPUT, to_file ? path : "standard output", "is there space?", "cannot write");
    }
    if (to_file) {
        (void)fclose(f);
    }
    return ok;
}

int verb_arc_read(tw_cli_t *cli)
{
    tw_bytes_t b;
    const char *path = cli_option(cli, "--output");
    const tunewire_v1_ArcInfo *arc = cli_find_arc(cli, cli->args[0]);
    if (!arc) {
        return cli->exit;
    }
    const tunewire_v1_ArcRead req = {.arc = arc->arc};
    if (!tw_client_download(cli->c, TW_M_Arc_Read, &req, &b)) {
        return cli_fail_client(cli, arc->name);
    }
    int code = CLI_OK;
    if (!cli->json || path) {
        code = write_samples(cli, arc, &b, path) ? CLI_OK : cli->exit;
    }
    if (code == CLI_OK && cli->json) {
        const uint32_t size = tw_raw_bits(arc->raw) / 8;
        const tunewire_v1_ParamDesc d = {.type = arc->raw, .count = size ? 1 + (uint32_t)b.n / size : 2};
        json_t *samples = path ? json_null() : cli_value_json(&d, b.data, (uint32_t)b.n);
        code = cli_json(cli, json_pack("{s:s, s:i, s:I, s:o}", "arc", arc->name, "channels", (int)arc->channels,
                                       "bytes", (json_int_t)b.n, "samples", samples));
    } else if (code == CLI_OK && path && strcmp(path, "-") != 0) {
        (void)fprintf(cli->out, "%s: %zu bytes of %s\n", path, b.n, arc->name);
    }
    free(b.data);
    return code;
}
