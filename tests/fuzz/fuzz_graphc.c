/* The compiler against any text: no crash, no hang, bounded memory; and what it makes is well formed.
 *
 * Input: the graph, then after a line "%%NAME" the text of file NAME for includes. The platform is the
 * two manifests below, so the fuzzer spends its time in the graph language. */
#include "host_tools/graphc/graphc_diag.h"
#include "host_tools/graphc/draw/graphc_draw.h"
#include "host_tools/graphc/graphc_priv.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
    const char *path, *text;
} fixed[] = {
    {"p/top.txt", "1\n.\n0 map.txt\n2\n0 in.txt 0 1 0\n0 out.txt 9 1 0\n5\n0 gain.txt\n0 script.txt\n"
                  "0 converter.txt\n0 split.txt\n0 fast.txt\n"},
    {"p/map.txt", "1 2 5\n0 0 1 0 0 0 0 1000000 0\n0 1 1 0 0 1 0 4096 0\n0 2 3 1 1 0 0 512 0\n0 3 0 2 0 0 0 128 0\n"
                  "0 4 2 0 0 0 1 256 0\n1 1 255\n2 0 255\n"},
    {"p/in.txt", "in_0\ngeneral\nio_direction_rx0tx1 0\nio_buffer_allocation 2\nio_nb_channels {0 1 2}\n"
                 "io_analog_gain {2 0 12 24}\n"},
    {"p/out.txt", "out_0\ngeneral\nio_direction_rx0tx1 1\n"},
    {"p/gain.txt", "ARM\ngain\nnode_mem 0\nnode_mem_alloc 32\nnode_mem_frame_size 2 0\nnode_mem 1\nnode_mem_alloc 64\n"
                   "node_mem_retention 1\nnode_arc 0\nnode_arc_nb_channels 0\nnode_arc_raw_format 0\nnode_arc 1\n"
                   "node_arc_nb_channels 0\nnode_arc_raw_format 0\n"},
    {"p/fast.txt", "ARM\nfast\nnode_nb_arcs 3 2\nnode_min_arcs 1 1\nnode_mem 0\nnode_mem_alloc 40\nnode_mem_speed 2\n"
                   "node_mem 1\nnode_mem_alloc 100\nnode_mem_retention 1\nnode_mem_speed 2\nnode_mem_alignment 64\n"
                   "node_mem 2\nnode_mem_alloc 60\nnode_mem_retention 2\nnode_mem 3\nnode_mem_alloc 60\n"
                   "node_mem_dataOprog1 1\nnode_arc 3\nnode_arc_inPlaceProcessing 3 0\n"},
    {"p/converter.txt", "ARM\narm_stream_converter\nnode_mem 0\nnode_mem_alloc 256\nnode_arc 0\n"
                        "node_arc_nb_channels 0\nnode_arc_raw_format 0\nnode_arc 1\nnode_arc_nb_channels 0\n"
                        "node_arc_raw_format 0\n"},
    {"p/split.txt", "ARM\narm_stream_split\nnode_nb_arcs 1 3\nnode_min_arcs 1 1\nnode_mem 0\nnode_mem_alloc 32\n"
                    "node_arc 0\nnode_arc_nb_channels 0\nnode_arc_raw_format 0\nnode_arc 1\nnode_arc_nb_channels 0\n"
                    "node_arc_raw_format 0\nnode_arc 2\nnode_arc_nb_channels 0\nnode_arc_raw_format 0\nnode_arc 3\n"
                    "node_arc_nb_channels 0\nnode_arc_raw_format 0\n"},
    {"p/script.txt", "ARM\narm_stream_script\nnode_nb_arcs 0 1\nnode_mem 0\nnode_mem_alloc 16\n"},
};

typedef struct input {
    const char *p;
    size_t n;
} input_t;

static char *copy(const char *p, size_t bytes, size_t *n)
{
    char *text = malloc(bytes > 0 ? bytes : 1); /* exact, so that a read past the end is seen */
    if (text != NULL && bytes > 0) {
        memcpy(text, p, bytes);
    }
    *n = bytes;
    return text;
}

/* Text between the line "%%path" and the next such line; "g.txt" is what comes before the first. */
static char *read_input(void *ctx, const char *path, size_t *n)
{
    const input_t *in = ctx;
    const char *end = in->p + in->n, *at = in->p;
    const size_t len = strlen(path);
    bool found = strcmp(path, "g.txt") == 0;
    for (const char *p = at; p <= end;) {
        const char *nl = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        const char *eol = nl != NULL ? nl : end;
        if (eol - p >= 2 && p[0] == '%' && p[1] == '%') {
            if (found) {
                return copy(at, (size_t)(p - at), n);
            }
            found = (size_t)(eol - p) == len + 2 && memcmp(p + 2, path, len) == 0;
            at = nl != NULL ? eol + 1 : end;
        }
        p = eol + 1;
    }
    return found ? copy(at, (size_t)(end - at), n) : NULL;
}

static char *read_fixed(void *ctx, const char *path, size_t *n)
{
    (void)ctx;
    for (size_t i = 0; i < TW_COUNT(fixed); i++) {
        if (strcmp(fixed[i].path, path) == 0) {
            return copy(fixed[i].text, strlen(fixed[i].text), n);
        }
    }
    return NULL;
}

static void check_image(const tw_graphc_out_t *out)
{
    const bool whole = out->bytes >= TW_IMG_HEADER_BYTES && out->bytes % TW_IMG_ALIGN == 0 &&
                       tw_img_word(out->image, 0, TW_W_TOTAL) == out->bytes && out->report != NULL;
    for (uint32_t s = 0; whole && s < TW_SEC_COUNT; s++) {
        const uint32_t at = tw_img_word(out->image, 0, TW_W_DIRECTORY + 2 * s);
        if (!tw_inside(at, tw_img_word(out->image, 0, TW_W_DIRECTORY + 2 * s + 1), out->bytes)) {
            abort();
        }
    }
    if (!whole) {
        abort();
    }
}

/* What was found is told with the lines it was found in, and drawn when nothing was. */
static void tell(const tw_graphc_out_t *out, const tw_text_source_t *texts)
{
    static FILE *nowhere;
    nowhere = nowhere != NULL ? nowhere : fopen("/dev/null", "wb");
    if (nowhere != NULL) {
        tw_diags_print_from(&out->diags, texts, nowhere, true);
    }
    char *json = tw_diags_json(&out->diags, texts);
    if (json == NULL || (out->image != NULL && out->dot == NULL)) {
        abort();
    }
    free(json);
    tw_pic_t pic;
    if (out->image != NULL && !tw_pic_of_image(&pic, out->image, out->bytes)) {
        abort();
    }
    if (out->image != NULL) {
        free(tw_pic_dot(&pic));
        tw_pic_close(&pic);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static tw_platform_t platform;
    input_t in = {(const char *)data, size};
    const tw_text_source_t texts = {&in, read_input}, manifests = {NULL, read_fixed};
    tw_diags_t d = {0};
    if (size > 1u << 16) {
        return 0;
    }
    if (platform.n_nodes == 0 && !tw_platform_read_from(&platform, "p/top.txt", &manifests, &d)) {
        abort(); /* a platform that is wrong would make every run a success */
    }
    tw_graphc_out_t out = {0};
    if (g_compile("g.txt", &(tw_graphc_opts_t){.draw = true}, &platform, &texts, &out)) {
        check_image(&out);
    } else if (out.diags.errors == 0 || out.image != NULL) {
        abort();
    }
    tell(&out, &texts);
    tw_graphc_free(&out);
    return 0;
}
