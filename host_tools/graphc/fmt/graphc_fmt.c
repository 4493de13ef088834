/* graphc_fmt.c - tunewire graph fmt: which reader checks a text, and its canonical print. */
#include "host_tools/graphc/fmt/graphc_fmt.h"
#include <stdlib.h>

/* A text while it is formatted. */
typedef struct job {
    const char *file;
    char *text; /* of our language; goes to the graph's reader, which translates for itself */
    size_t n;
    uint32_t *map;
    tw_manifest_kind_t kind;
    g_taken_t taken;
    g_model_t *model; /* of a graph: has the text that was read */
    tw_diags_t *d;
} job_t;

static char *read_job(void *ctx, const char *path, size_t *n)
{
    job_t *j = ctx;
    (void)path; /* no other text is asked for */
    char *text = j->text;
    *n = j->n;
    j->text = NULL;
    return text;
}

/* @return false after an error; the words are of the model's text */
static bool take_graph(job_t *j)
{
    const tw_text_source_t src = {j, read_job};
    j->model = calloc(1, sizeof *j->model);
    if (j->model == NULL) {
        tw_diag(j->d, false, j->file, 0, 0, "out of memory");
        return false;
    }
    j->model->diags = j->d;
    j->model->syntax_only = true;
    j->model->canon = g_taken_word;
    j->model->canon_ctx = &j->taken;
    return g_parse(j->model, j->file, &src);
}

static bool take_manifest(job_t *j)
{
    tw_text_t t;
    const bool top = j->kind == TW_KIND_TOP || j->kind == TW_KIND_TOP_PROCESSORS;
    void *into = calloc(1, j->kind == TW_KIND_NODE ? sizeof(tw_node_manifest_t)
                           : j->kind == TW_KIND_IO ? sizeof(tw_io_manifest_t)
                                                   : sizeof(tw_platform_t));
    if (into == NULL) {
        tw_diag(j->d, false, j->file, 0, 0, "out of memory");
        return false;
    }
    tw_text_open(&t, j->file, j->text, j->n, j->d);
    t.map = j->map;
    t.canon = g_taken_word;
    t.canon_ctx = &j->taken;
    const bool ok = top                       ? g_fmt_take_top(&t)
                    : j->kind == TW_KIND_NODE ? tw_node_manifest_parse(into, &t)
                    : j->kind == TW_KIND_IO   ? tw_io_manifest_parse(into, &t)
                                              : tw_procmap_parse(into, &t);
    free(into);
    return ok;
}

static bool take(job_t *j)
{
    j->kind = tw_manifest_detect(j->text, j->n);
    switch (j->kind) {
    case TW_KIND_UNKNOWN: /* the graph's reader says what is wrong */
    case TW_KIND_EMPTY:
    case TW_KIND_GRAPH:
        j->kind = TW_KIND_GRAPH;
        return take_graph(j);
    case TW_KIND_NODE:
    case TW_KIND_IO:
    case TW_KIND_PROCMAP:
    case TW_KIND_TOP:
    case TW_KIND_TOP_PROCESSORS:
        return take_manifest(j);
    case TW_KIND_LISTING:
        tw_diag(j->d, false, j->file, 0, 0, "a compiled listing, no text: use 'tunewire graph decode-legacy'");
        return false;
    case TW_KIND_NODE_POSITIONAL:
    case TW_KIND_IO_POSITIONAL:
    case TW_KIND_FILES:
    case TW_KIND_PLATFORM:
    case TW_KIND_DOCUMENT:
    case TW_KIND_COUNT:
        break;
    }
    tw_diag(j->d, false, j->file, 0, 0, "a %s", tw_manifest_kind_text(j->kind));
    return false;
}

/* A text is read as what it looks like, so its canonical form must look like the same. */
static bool stays_its_kind(const job_t *j, const g_text_t *b)
{
    const tw_manifest_kind_t kind = tw_manifest_detect(b->v, b->n);
    const bool graph = kind == TW_KIND_UNKNOWN || kind == TW_KIND_EMPTY || kind == TW_KIND_GRAPH;
    if (j->kind == (graph ? TW_KIND_GRAPH : kind)) {
        return true;
    }
    tw_diag(j->d, false, j->file, 0, 0, "read as a %s, but in canonical form it would be taken for a %s",
            tw_manifest_kind_text(j->kind), tw_manifest_kind_text(kind));
    return false;
}

static bool print(job_t *j, tw_graph_fmt_t *out)
{
    g_text_t b = {.max = G_FMT_MAX};
    const g_model_t *m = j->model;
    g_fmt_print(&b, j->kind, m != NULL ? m->texts[0] : j->text, m != NULL ? m->sizes[0] : j->n, &j->taken);
    g_text_add(&b, "", 0);
    const bool failed = b.failed || j->taken.failed;
    if (failed) {
        tw_diag(j->d, false, j->file, 0, 0, "out of memory, or a text of more than %u bytes", G_FMT_MAX);
    }
    if (failed || !stays_its_kind(j, &b)) {
        free(b.v);
        return false;
    }
    out->text = b.v;
    out->n = b.n;
    return true;
}

static void end_job(job_t *j)
{
    if (j->model != NULL) {
        g_model_free(j->model);
        free(j->model);
    }
    free(j->taken.words);
    free(j->text);
    free(j->map);
}

bool tw_graph_fmt(const char *file, const char *text, size_t n, tw_graph_fmt_t *out)
{
    *out = (tw_graph_fmt_t){0};
    job_t j = {.file = file, .n = n, .d = &out->diags, .text = n <= TW_TEXT_MAX ? malloc(n + 1) : NULL};
    if (j.text == NULL) {
        tw_diag(&out->diags, false, file, 0, 0, "out of memory, or a text of more than %u bytes", TW_TEXT_MAX);
        return false;
    }
    memcpy(j.text, text, n);
    const bool graph = tw_manifest_detect(text, n) <= TW_KIND_GRAPH;
    if (!graph) {
        (void)g_translate(file, &j.text, &j.n, &j.map, &out->diags);
    }
    const bool ok = take(&j) && out->diags.errors == 0 && print(&j, out);
    end_job(&j);
    return ok;
}

void tw_graph_fmt_free(tw_graph_fmt_t *out)
{
    free(out->text);
    *out = (tw_graph_fmt_t){0};
}
