/* verb_graph_fmt.c - tunewire graph fmt: any graph text or manifest in canonical form. */
#include "host_tools/graphc/graphc.h"
#include "host_tools/tunewire/cli.h"
#include <stdlib.h>
#include <sys/stat.h>

enum { FMT_REFUSED = 1 }; /* wrong text, or with --check one that is not canonical */

static bool read_stdin(tw_cli_t *cli, tw_bytes_t *text)
{
    uint8_t buf[65536];
    size_t n;
    while ((n = fread(buf, 1, sizeof buf, stdin)) > 0) {
        if (!tw_bytes_add(text, buf, n)) {
            (void)cli_fail(cli, CLI_INPUT, "standard input", "", "out of memory");
            return false;
        }
    }
    return true;
}

static bool is_same(const tw_bytes_t *text, const tw_graph_fmt_t *out)
{
    return text->n == out->n && (out->n == 0 || memcmp(text->data, out->text, out->n) == 0);
}

/* The new file has the old one's rights. */
static bool rewrite(tw_cli_t *cli, const char *path, const tw_graph_fmt_t *out)
{
    struct stat st;
    const bool known = stat(path, &st) == 0;
    if (!cli_write_file(cli, path, out->text, out->n)) {
        return false;
    }
    if (known && chmod(path, st.st_mode & 07777) != 0) {
        (void)cli_fail(cli, CLI_INPUT, path, "set them by hand", "its rights are not as they were");
        return false;
    }
    return true;
}

/* What the options ask for. @return exit code */
static int deliver(tw_cli_t *cli, const char *path, const tw_bytes_t *text, const tw_graph_fmt_t *out)
{
    const bool same = is_same(text, out), in_place = cli_option(cli, "--write") && strcmp(path, "-") != 0;
    if (cli_option(cli, "--check")) {
        if (!same) {
            (void)fprintf(cli->out, "%s\n", path);
        }
        return same ? CLI_OK : FMT_REFUSED;
    }
    if (in_place) {
        return same || rewrite(cli, path, out) ? CLI_OK : cli->exit;
    }
    return cli_write_file(cli, "-", out->text, out->n) ? CLI_OK : cli->exit;
}

static int format_one(tw_cli_t *cli, const char *path)
{
    tw_bytes_t text = {0};
    const bool piped = strcmp(path, "-") == 0;
    if (!(piped ? read_stdin(cli, &text) : cli_read_file(cli, path, &text))) {
        return cli->exit;
    }
    tw_graph_fmt_t *out = calloc(1, sizeof *out);
    int code = FMT_REFUSED;
    if (out == NULL) {
        code = cli_fail(cli, CLI_INPUT, path, "", "out of memory");
    } else {
        const bool ok =
            tw_graph_fmt(piped ? "standard input" : path, text.data ? (const char *)text.data : "", text.n, out);
        cli_diags(cli, &out->diags, NULL);
        code = ok ? deliver(cli, path, &text, out) : FMT_REFUSED;
        tw_graph_fmt_free(out);
    }
    free(out);
    free(text.data);
    return code;
}

int verb_graph_fmt(tw_cli_t *cli)
{
    int worst = CLI_OK;
    for (int i = 0; i < cli->n_args; i++) {
        const int code = format_one(cli, cli->args[i]);
        worst = code > worst ? code : worst;
    }
    return worst;
}
