/* cli_diags.c - what compilers and assemblers say about a text: on stderr for people, in the document with --json. */
#include "host_tools/graphc/graphc_diag.h"
#include "host_tools/tunewire/cli.h"
#include <stdlib.h>

static void keep_json(tw_cli_t *cli, const tw_diags_t *d, const tw_text_source_t *src)
{
    char *text = d->n > 0 && cli->json ? tw_diags_json(d, src) : NULL;
    if (text != NULL) {
        json_decref(cli->diagnostics);
        cli->diagnostics = json_loads(text, 0, NULL);
    }
    free(text);
}

void cli_diags(tw_cli_t *cli, const tw_diags_t *d, const tw_text_source_t *src)
{
    const tw_text_source_t *from = src != NULL ? src : &tw_diag_files;
    keep_json(cli, d, from);
    tw_diags_print_from(d, from, cli->err, cli->err_colour);
    if (d->errors == 0 && d->warnings > 0) {
        (void)fprintf(cli->err, "%u warning%s\n", d->warnings, d->warnings == 1 ? "" : "s");
    }
}

int cli_fail_diags(tw_cli_t *cli, const char *path, const tw_diags_t *d, const tw_text_source_t *src)
{
    char summary[64];
    cli_diags(cli, d, src);
    tw_diag_summary(d, summary, sizeof summary);
    return cli_fail(cli, CLI_INPUT, path, "correct what is listed above", "%s", summary);
}

json_t *cli_with_diags(tw_cli_t *cli, json_t *doc)
{
    if (cli->diagnostics != NULL && doc != NULL) {
        (void)json_object_set_new(doc, "diagnostics", cli->diagnostics);
        cli->diagnostics = NULL;
    }
    return doc;
}
