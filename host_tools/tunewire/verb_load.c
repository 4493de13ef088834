/* verb_load.c - tunewire load: an image, or a text compiled on the way, becomes the device's graph. */
#include "host_tools/tunewire/cli.h"
#include <stdlib.h>

/* File name without folder and suffix: what the device shows. */
static void graph_name(const char *path, char *out, size_t cap)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    (void)snprintf(out, cap, "%.*s", dot && dot > base ? (int)(dot - base) : (int)strlen(base), base);
}

static bool read_image(tw_cli_t *cli, const char *path, tw_bytes_t *image)
{
    if (cli_has_suffix(path, ".txt")) {
        return cli_compile(cli, path, image, NULL, NULL);
    }
    if (!cli_read_file(cli, path, image)) {
        return false;
    }
    if (image->n < 4 || memcmp(image->data, "TWG1", 4) != 0) {
        free(image->data);
        (void)cli_fail(cli, CLI_INPUT, path, "give a .twg image, or a .txt graph to compile", "not a graph image");
        return false;
    }
    return true;
}

/* --fade alone carries state: a fade between two copies of one filter, one of them cold, would be heard. */
static bool read_how(tw_cli_t *cli, tunewire_v1_GraphLoad *how)
{
    static const char *const names[] = {"none", "state", "params"};
    double fade;
    *how = (tunewire_v1_GraphLoad){.start = !cli_option(cli, "--no-start")};
    if (!cli_option_number(cli, "--fade", 0, 60000, 0, &fade) || !cli_confirm_ms(cli, &how->confirm_ms)) {
        return false;
    }
    how->fade_ms = (uint32_t)fade;
    const char *carry = cli_option(cli, "--carry");
    unsigned i = carry || !how->fade_ms ? 0 : tunewire_v1_GraphLoad_Carry_STATE;
    while (carry && i < TW_COUNT(names) && strcmp(names[i], carry) != 0) {
        i++;
    }
    if (i == TW_COUNT(names)) {
        (void)cli_fail(cli, CLI_USAGE, "--carry", "state, params or none", "'%s' is not known", carry);
        return false;
    }
    how->carry = (tunewire_v1_GraphLoad_Carry)i;
    return true;
}

int verb_load(tw_cli_t *cli)
{
    const char *path = cli->args[0];
    tw_bytes_t image;
    char name[33];
    tunewire_v1_GraphInfo g;
    tunewire_v1_GraphLoad how;
    if (!read_how(cli, &how) || !read_image(cli, path, &image)) {
        return cli->exit;
    }
    graph_name(path, name, sizeof name);
    int code = CLI_OK;
    if (!cli_connect(cli)) {
        code = cli->exit;
    } else if (!tw_client_load_graph(cli->c, name, image.data, image.n, &how, cli_progress, cli, &g)) {
        code = cli_fail_client(cli, path);
    }
    free(image.data);
    if (code == CLI_OK && how.confirm_ms && g.can_roll_back) {
        code = cli_wait_confirm(cli, path);
    }
    if (code != CLI_OK) {
        return code;
    }
    if (cli->json) {
        return cli_json(cli, cli_graph_json(&g));
    }
    (void)fprintf(cli->out, "%s: %zu bytes, %u nodes, %u arcs, %u scripts, %s, generation %u\n",
                  g.name[0] ? g.name : name, image.n, g.nodes, g.arcs, g.scripts, cli_state_name(g.state),
                  g.generation);
    return CLI_OK;
}
