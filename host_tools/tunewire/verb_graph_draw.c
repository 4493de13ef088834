/* verb_graph_draw.c - tunewire graph draw: a graph text or an image as a picture, drawn by Graphviz. */
#include "host_tools/graphc/graphc.h"
#include "host_tools/graphc/draw/graphc_draw.h"
#include "host_tools/tunewire/cli_pipe.h"
#include <stdlib.h>

static const char *const formats[] = {"svg", "png", "pdf", "dot"};

/* As asked for, else as the output's name says, else SVG; NULL after printing why. */
static const char *pick_format(tw_cli_t *cli, const char *to)
{
    const char *asked = cli_option(cli, "--dot") ? "dot" : cli_option(cli, "--format");
    for (size_t i = 0; i < TW_COUNT(formats); i++) {
        char suffix[8];
        (void)snprintf(suffix, sizeof suffix, ".%s", formats[i]);
        if (asked ? strcmp(asked, formats[i]) == 0 : to && cli_has_suffix(to, suffix)) {
            return formats[i];
        }
    }
    if (asked) {
        (void)cli_fail(cli, CLI_USAGE, asked, "give svg, png, pdf or dot", "format not known");
        return NULL;
    }
    return "svg";
}

static char *dot_of_image(tw_cli_t *cli, const char *path)
{
    tw_bytes_t file;
    tw_pic_t pic;
    if (!cli_read_file(cli, path, &file)) {
        return NULL;
    }
    char *dot = NULL;
    if (file.n > UINT32_MAX || !tw_pic_of_image(&pic, file.data, (uint32_t)file.n)) {
        (void)cli_fail(cli, CLI_INPUT, path, "compile its text again", "no graph image, or a damaged one");
    } else {
        dot = tw_pic_dot(&pic);
        tw_pic_close(&pic);
        if (!dot) {
            (void)cli_fail(cli, CLI_INPUT, path, "", "out of memory");
        }
    }
    free(file.data);
    return dot;
}

static char *dot_of_text(tw_cli_t *cli, const char *path)
{
    const char *dirs[32];
    const tw_graphc_opts_t opts = {.platform = cli_option(cli, "--platform"),
                                   .draw = true,
                                   .include_dirs = dirs,
                                   .n_include_dirs = cli_option_each(cli, "--include", dirs, TW_COUNT(dirs))};
    tw_graphc_out_t *out = calloc(1, sizeof *out);
    char *dot = NULL;
    if (!out) {
        (void)cli_fail(cli, CLI_INPUT, path, "", "out of memory");
        return NULL;
    }
    if (!tw_graphc(path, &opts, out)) {
        (void)cli_fail_diags(cli, path, &out->diags, NULL);
    } else {
        cli_diags(cli, &out->diags, NULL);
        dot = out->dot;
        out->dot = NULL;
        if (!dot) {
            (void)cli_fail(cli, CLI_INPUT, path, "", "out of memory");
        }
    }
    tw_graphc_free(out);
    free(out);
    return dot;
}

static bool render(tw_cli_t *cli, const char *format, const char *dot, tw_bytes_t *picture)
{
    char type[8];
    const char *const argv[] = {"dot", type, NULL};
    if (strcmp(format, "dot") == 0) {
        *picture = (tw_bytes_t){0};
        return tw_bytes_add(picture, dot, strlen(dot)) || cli_fail(cli, CLI_INPUT, "picture", "", "out of memory") == 0;
    }
    (void)snprintf(type, sizeof type, "-T%s", format);
    return cli_pipe(cli, argv, "graphviz", dot, strlen(dot), picture);
}

static int tell(tw_cli_t *cli, const char *to, const char *format, size_t bytes)
{
    if (cli->json && strcmp(to, "-") != 0) {
        json_t *doc = json_pack("{s:s, s:s, s:I}", "picture", to, "format", format, "bytes", (json_int_t)bytes);
        return cli_json(cli, cli_with_diags(cli, doc));
    }
    if (strcmp(to, "-") != 0) {
        (void)fprintf(cli->out, "%s: %zu bytes\n", to, bytes);
    }
    return CLI_OK;
}

int verb_graph_draw(tw_cli_t *cli)
{
    const char *path = cli->args[0], *given = cli_option(cli, "--output");
    const char *format = pick_format(cli, given);
    if (!format) {
        return cli->exit;
    }
    char *dot = cli_has_suffix(path, ".twg") ? dot_of_image(cli, path) : dot_of_text(cli, path);
    if (!dot) {
        return cli->exit;
    }
    char suffix[8], name[4096];
    tw_bytes_t picture;
    (void)snprintf(suffix, sizeof suffix, ".%s", format);
    cli_with_suffix(path, suffix, name, sizeof name);
    const char *to = given ? given : strcmp(format, "dot") == 0 ? "-" : name;
    int code;
    if (render(cli, format, dot, &picture)) {
        code = cli_write_file(cli, to, picture.data, picture.n) ? tell(cli, to, format, picture.n) : cli->exit;
        free(picture.data);
    } else {
        code = cli->exit;
    }
    free(dot);
    return code;
}
