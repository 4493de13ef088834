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

int verb_load(tw_cli_t *cli)
{
    const char *path = cli->args[0];
    tw_bytes_t image;
    char name[33];
    tunewire_v1_GraphInfo g;
    if (!read_image(cli, path, &image)) {
        return cli->exit;
    }
    graph_name(path, name, sizeof name);
    const bool start = !cli_option(cli, "--no-start");
    int code = CLI_OK;
    if (!cli_connect(cli)) {
        code = cli->exit;
    } else if (!tw_client_load_graph(cli->c, name, image.data, image.n, start, cli_progress, cli, &g)) {
        code = cli_fail_client(cli, path);
    }
    free(image.data);
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
