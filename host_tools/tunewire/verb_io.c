/* verb_io.c - tunewire io: what enters and leaves the graph, and the settings of its drivers.
 *
 * A device knows settings as three words; the platform's manifests on this side say which option they mean.
 */
#include "engine/board/manifest.h"
#include "host_tools/tunewire/cli.h"
#include <stdlib.h>

typedef struct named {
    const tunewire_v1_IoInfo *io;
    const tw_io_manifest_t *m; /* NULL: words */
    uint8_t index[48];
} named_t;

const char *cli_io_name(const tunewire_v1_IoInfo *io)
{
    static const char prefix[] = "io_platform_";
    return strncmp(io->name, prefix, sizeof prefix - 1) == 0 ? io->name + sizeof prefix - 1 : io->name;
}

static const tunewire_v1_IoInfo *find(tw_cli_t *cli, const tw_ios_t *ios, const char *text)
{
    char *end;
    const unsigned long hwid = strtoul(text, &end, 10);
    for (uint32_t i = 0; i < ios->n; i++) {
        const tunewire_v1_IoInfo *io = &ios->rows[i];
        if (strcmp(cli_io_name(io), text) == 0 || strcmp(io->name, text) == 0 ||
            (end != text && *end == '\0' && io->state.hwid == hwid)) {
            return io;
        }
    }
    (void)cli_fail(cli, CLI_USAGE, text, "tunewire io lists what there is", "no such IO in the graph");
    return NULL;
}

/* The manifest's names for the words, when there is one and they are words it makes. */
static named_t name(const tunewire_v1_IoInfo *io, const tw_platform_t *platform)
{
    named_t n = {.io = io};
    for (unsigned i = 0; platform && i < platform->n_ios; i++) {
        const tw_io_manifest_t *m = &platform->ios[i];
        if (m->hwid == io->state.hwid && tw_settings_unpack(m, io->settings, n.index) == TW_OK) {
            n.m = m;
        }
    }
    return n;
}

/* ---- changing ------------------------------------------------------------------------ */

static bool change_word(tw_cli_t *cli, const char *text, const char *value, uint32_t words[TW_SETTINGS_WORDS])
{
    char *end;
    const unsigned long long v = strtoull(value, &end, 0);
    const bool word = strncmp(text, "word", 4) == 0 && text[4] >= '0' && text[4] <= '2' && text[5] == '=';
    if (!word || end == value || *end != '\0' || v > UINT32_MAX) {
        (void)cli_fail(cli, CLI_USAGE, text, "say word0=N to word2=N, or give --platform for names", "no such setting");
        return false;
    }
    words[text[4] - '0'] = (uint32_t)v;
    return true;
}

static bool change_option(tw_cli_t *cli, named_t *n, const char *text, const char *value)
{
    char *end, hint[200] = "there are:";
    const double v = strtod(value, &end);
    const int i = tw_setting_find(n->m, text, (size_t)(value - 1 - text));
    const int at = i >= 0 && end != value && *end == '\0' ? tw_option_find(&n->m->settings[i].o, v) : -1;
    if (at >= 0) {
        n->index[i] = (uint8_t)at;
        return true;
    }
    const unsigned most = i >= 0 ? n->m->settings[i].o.n : n->m->n_settings;
    for (unsigned k = 0; k < most; k++) {
        const size_t used = strlen(hint);
        if (i >= 0) {
            (void)snprintf(hint + used, sizeof hint - used, " %g", n->m->settings[i].o.v[k]);
        } else {
            (void)snprintf(hint + used, sizeof hint - used, " %s", n->m->settings[k].tag);
        }
    }
    (void)cli_fail(cli, CLI_USAGE, text, hint, i >= 0 ? "not one of its options" : "no such setting");
    return false;
}

static bool change(tw_cli_t *cli, named_t *n, uint32_t words[TW_SETTINGS_WORDS])
{
    memcpy(words, n->io->settings, sizeof n->io->settings);
    for (int i = 1; i < cli->n_args; i++) {
        const char *text = cli->args[i], *eq = strchr(text, '=');
        if (!eq) {
            (void)cli_fail(cli, CLI_USAGE, text, "say SETTING=VALUE", "no value");
            return false;
        }
        if (!(n->m ? change_option(cli, n, text, eq + 1) : change_word(cli, text, eq + 1, words))) {
            return false;
        }
    }
    return !n->m || tw_settings_pack(n->m, n->index, words) == TW_OK;
}

static int set(tw_cli_t *cli, named_t *n)
{
    tunewire_v1_IoSet req = {.io = n->io->io, .settings_count = TW_SETTINGS_WORDS};
    tunewire_v1_IoAck ack = {0};
    if (!change(cli, n, req.settings)) {
        return cli->exit;
    }
    if (!tw_client_call(cli->c, &(tw_client_call_t){.method = TW_M_Graph_SetIo, .request = &req, .response = &ack})) {
        return cli_fail_client(cli, n->io->name);
    }
    if (cli->json) {
        return cli_json(cli, json_pack("{s:s, s:[I,I,I], s:I}", "io", n->io->name, "settings",
                                       (json_int_t)req.settings[0], (json_int_t)req.settings[1],
                                       (json_int_t)req.settings[2], "applied_tick", (json_int_t)ack.applied_tick));
    }
    (void)fprintf(cli->out, "%s: set (tick %llu)\n", cli_io_name(n->io), (unsigned long long)ack.applied_tick);
    return CLI_OK;
}

/* ---- listing ------------------------------------------------------------------------- */

static json_t *io_json(const named_t *n)
{
    const tunewire_v1_IoInfo *io = n->io;
    json_t *o =
        json_pack("{s:I, s:I, s:s, s:b, s:I, s:[I,I,I], s:I, s:I, s:I, s:I, s:I, s:I}", "io", (json_int_t)io->io,
                  "hwid", (json_int_t)io->state.hwid, "name", io->name, "tx", (int)io->tx, "arc", (json_int_t)io->arc,
                  "words", (json_int_t)io->settings[0], (json_int_t)io->settings[1], (json_int_t)io->settings[2],
                  "frames", (json_int_t)io->state.frames, "acks", (json_int_t)io->state.acks, "holes",
                  (json_int_t)io->state.holes, "lost", (json_int_t)io->state.lost, "stray", (json_int_t)io->state.stray,
                  "starts_refused", (json_int_t)io->state.starts_refused);
    json_t *settings = json_object();
    for (unsigned i = 0; n->m && i < n->m->n_settings; i++) {
        const tw_setting_t *s = &n->m->settings[i];
        (void)json_object_set_new(settings, s->tag, json_real(s->o.n ? s->o.v[n->index[i]] : 0));
    }
    (void)json_object_set_new(o, "settings", settings);
    return o;
}

static void io_cells(tw_table_t *t, const named_t *n)
{
    const tunewire_v1_IoInfo *io = n->io;
    char text[400] = "";
    for (unsigned i = 0; n->m && i < n->m->n_settings; i++) {
        const tw_setting_t *s = &n->m->settings[i];
        const size_t used = strlen(text);
        if (s->o.n > 1) {
            (void)snprintf(text + used, sizeof text - used, "%s%s=%g", used ? " " : "", s->tag, s->o.v[n->index[i]]);
        }
    }
    if (!n->m) {
        (void)snprintf(text, sizeof text, "%#x %#x %#x", io->settings[0], io->settings[1], io->settings[2]);
    }
    cli_cell(t, "%u", io->state.hwid);
    cli_cell(t, "%s", cli_io_name(io));
    cli_cell(t, "%s", io->tx ? "out" : "in");
    cli_cell(t, "%u", io->arc);
    cli_cell(t, "%u", io->state.frames);
    cli_cell(t, "%u", io->state.holes);
    cli_cell(t, "%u", io->state.lost + io->state.stray);
    cli_cell(t, "%s", text[0] ? text : "-");
}

static int list(tw_cli_t *cli, const tw_ios_t *ios, const tunewire_v1_IoInfo *only, const tw_platform_t *platform)
{
    static const char *const heads[] = {"HWID", "NAME", "WAY", "ARC", "FRAMES", "HOLES", "LOST", "SETTINGS"};
    tw_table_t t = {.columns = TW_COUNT(heads), .right = 1 << 0 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6};
    json_t *rows = json_array();
    for (size_t i = 0; i < TW_COUNT(heads) && !cli->json; i++) {
        cli_cell(&t, "%s", heads[i]);
    }
    for (uint32_t i = 0; i < ios->n; i++) {
        const named_t n = name(&ios->rows[i], platform);
        if (only && only != &ios->rows[i]) {
            continue;
        }
        if (cli->json) {
            (void)json_array_append_new(rows, io_json(&n));
        } else {
            io_cells(&t, &n);
        }
    }
    if (cli->json) {
        return cli_json(cli, json_pack("{s:o}", "ios", rows));
    }
    json_decref(rows);
    cli_print_table(cli, &t);
    return CLI_OK;
}

static int with_platform(tw_cli_t *cli, const tw_ios_t *ios, const tw_platform_t *platform)
{
    const tunewire_v1_IoInfo *only = cli->n_args ? find(cli, ios, cli->args[0]) : NULL;
    if (cli->n_args && !only) {
        return cli->exit;
    }
    if (cli->n_args > 1) {
        named_t n = name(only, platform);
        return set(cli, &n);
    }
    return list(cli, ios, only, platform);
}

int verb_io(tw_cli_t *cli)
{
    const char *top = cli_option(cli, "--platform");
    tw_ios_t ios;
    if (!tw_client_ios(cli->c, &ios)) {
        return cli_fail_client(cli, "io");
    }
    tw_platform_t *platform = top ? calloc(1, sizeof *platform) : NULL;
    tw_diags_t *d = calloc(1, sizeof *d);
    int code = CLI_INPUT;
    if (!d || (top && !platform)) {
        code = cli_fail(cli, CLI_INPUT, "io", "", "out of memory");
    } else if (top && !tw_platform_read(platform, top, d)) {
        code = cli_fail_diags(cli, top, d, NULL);
    } else {
        code = with_platform(cli, &ios, platform);
        if (top) {
            tw_platform_free(platform);
        }
    }
    free(d);
    free(platform);
    free(ios.rows);
    return code;
}
