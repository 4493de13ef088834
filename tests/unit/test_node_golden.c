/* Every row of nodes.def against its golden file; the format is described in make_golden.py there. */
#include "tests/unit/node_rig.h"
#include <math.h>

enum { LINE_MAX_BYTES = 64 * 1024, SAMPLES_MAX = 8192 };

typedef struct play {
    rig_t g;
    const char *node;
    char name[80];
    bool open;
    double within;
    char calls[200];
    uint8_t in[SAMPLES_MAX * 4];
    uint32_t in_bytes;
    uint8_t arc[TW_MAX_NODE_ARCS][SAMPLES_MAX * 4]; /* of a node with several receive arcs */
    uint32_t arc_bytes[TW_MAX_NODE_ARCS];
    unsigned runs, cases;
} play_t;

static uint32_t run_script(void *ctx, uint32_t script, uint32_t phase)
{
    play_t *p = ctx;
    const size_t at = strlen(p->calls);
    snprintf(p->calls + at, sizeof p->calls - at, " %u/%u", script, phase);
    return 0;
}

/* The network the golden files know: S8, 1/64 a step, zero point 3, what comes in goes out. */
static uint32_t net_models(void *ctx)
{
    (void)ctx;
    return 1;
}

static tw_err_t net_model(void *ctx, uint32_t slot, tw_infer_model_t *m)
{
    const tw_format_t *f = &((play_t *)ctx)->g.fmt[0];
    const tw_infer_tensor_t t = {f->samples * f->channels, TW_RAW_S8, 1.0f / 64, 3};
    *m = (tw_infer_model_t){.n_in = 1, .n_out = 1, .in = {t}, .out = {t}};
    return slot == 0 ? TW_OK : TW_E_PARAM_INDEX;
}

static tw_err_t net_start(void *ctx, const tw_infer_job_t *job, uint32_t *handle)
{
    const tw_format_t *f = &((play_t *)ctx)->g.fmt[0];
    memcpy(job->out[0], job->in[0], (size_t)f->samples * f->channels);
    *handle = 0;
    return TW_OK;
}

static tw_infer_state_t net_poll(void *ctx, uint32_t handle)
{
    (void)ctx, (void)handle;
    return TW_INFER_DONE;
}

static void net_cancel(void *ctx, uint32_t handle)
{
    (void)ctx, (void)handle;
}

static void fail_here(const play_t *p, const char *what)
{
    fail_msg("%s, case \"%s\": %s", p->node, p->name, what);
}

static tw_format_t read_format(char **at)
{
    char raw[16];
    unsigned ch, blocks, samples;
    int used = 0;
    assert_int_equal(sscanf(*at, " %15s %u %u %u%n", raw, &ch, &blocks, &samples, &used), 4);
    *at += used;
    const int code = tw_raw_find(raw, strlen(raw));
    assert_true(code > 0);
    return rig_format((tw_raw_t)code, ch, blocks, samples);
}

/* Words are most significant digit first, memory is the machine's own. @return bytes */
static uint32_t read_words(char *at, uint32_t size, uint8_t *out)
{
    uint32_t n = 0;
    for (char *word = strtok(at, " \n"); word != NULL; word = strtok(NULL, " \n")) {
        assert_true(n < SAMPLES_MAX && strlen(word) == 2 * size);
        const uint32_t v = (uint32_t)strtoul(word, NULL, 16);
        const uint16_t half = (uint16_t)v;
        memcpy(out + (size_t)n++ * size, size == 2 ? (const void *)&half : (const void *)&v, size);
    }
    return n * size;
}

static uint32_t read_bytes(const char *at, uint8_t *out)
{
    uint32_t n = 0;
    unsigned v;
    for (; sscanf(at, "%2x", &v) == 1; at += 2) {
        out[n++] = (uint8_t)v;
    }
    return n;
}

static uint32_t sample_bytes(const tw_format_t *f)
{
    return tw_raw_bits(f->raw) > 16 ? 4 : 2;
}

static double number(const tw_format_t *f, const uint8_t *at)
{
    float single;
    int32_t word;
    int16_t half;
    memcpy(&half, at, 2);
    memcpy(&single, at, sample_bytes(f) == 4 ? 4 : 0);
    memcpy(&word, at, sample_bytes(f) == 4 ? 4 : 0);
    return f->raw == TW_RAW_FP32 ? (double)single : sample_bytes(f) == 4 ? word : half;
}

static void compare(play_t *p, const uint8_t *want, const uint8_t *got, uint32_t bytes)
{
    const tw_format_t *f = &p->g.fmt[p->g.reset.rx];
    const uint32_t size = sample_bytes(f);
    for (uint32_t i = 0; i < bytes; i += size) {
        const double w = number(f, want + i), g = number(f, got + i);
        if (!(fabs(w - g) <= p->within)) {
            fail_msg("%s, case \"%s\", run %u, sample %u: %g, golden %g", p->node, p->name, p->runs, i / size, g, w);
        }
    }
}

static void on_out(play_t *p, char *rest)
{
    static uint8_t want[SAMPLES_MAX * 4], got[SAMPLES_MAX * 4];
    const uint32_t bytes = read_words(rest, sample_bytes(&p->g.fmt[1]), want);
    p->runs++;
    if (p->g.reset.rx == 0) { /* a lock arc carries nothing, whatever room it has */
        tw_xdm_t lock = {got, 8};
        assert_int_equal(rig_command(&p->g, TW_CMD_RUN, 0, &lock), 0);
        assert_int_equal(lock.bytes, bytes);
        return;
    }
    if (rig_run(&p->g, p->in, p->in_bytes, got, bytes) != 0) {
        fail_here(p, "RUN failed");
    }
    compare(p, want, got, bytes);
}

static void serve(play_t *p)
{
    static tw_infer_t net;
    net = (tw_infer_t){p, net_models, net_model, net_start, net_poll, net_cancel};
    p->g.svc.ctx = p;
    p->g.svc.run_script = run_script;
    p->g.svc.infer = &net;
}

static void on_reset(play_t *p, tw_format_t in, tw_format_t out)
{
    rig_prepare(&p->g, p->node, in, out);
    serve(p);
    p->open = true;
}

/* Each RUN gets exactly the bytes it is to give, on every output. */
static void on_bytes_out(play_t *p, const char *hex)
{
    static uint8_t want[SAMPLES_MAX * 4], got[TW_MAX_NODE_ARCS][SAMPLES_MAX * 4];
    const uint32_t bytes = read_bytes(hex, want);
    tw_xdm_t data[TW_MAX_NODE_ARCS] = {{p->in, p->in_bytes}};
    p->runs++;
    for (unsigned i = 0; i < p->g.reset.tx; i++) {
        data[1 + i] = (tw_xdm_t){got[i], bytes};
    }
    assert_int_equal(rig_command(&p->g, TW_CMD_RUN, 0, data), 0);
    if (data[0].bytes != p->in_bytes) {
        fail_here(p, "input left over");
    }
    for (unsigned i = 0; i < p->g.reset.tx; i++) {
        assert_int_equal(data[1 + i].bytes, bytes);
        for (uint32_t k = 0; k < bytes; k++) {
            if (got[i][k] != want[k]) {
                fail_msg("%s, case \"%s\", run %u, output %u, byte %u: %02x, golden %02x", p->node, p->name, p->runs, i,
                         k, got[i][k], want[k]);
            }
        }
    }
}

/* Another number of arcs: all receive arcs have the one format, all transmit arcs the other. */
static void on_arcs(play_t *p, const char *rest)
{
    unsigned rx, tx;
    const tw_format_t in = p->g.fmt[0], out = p->g.fmt[p->g.reset.rx];
    assert_int_equal(sscanf(rest, "%u %u", &rx, &tx), 2);
    assert_true(rx + tx <= TW_MAX_NODE_ARCS);
    rig_close(&p->g);
    rig_prepare_arcs(&p->g, p->node, in, out, (uint8_t)rx, (uint8_t)tx);
    serve(p);
}

/* Words of arc `rest[0]`: what a receive arc holds, or, after a RUN, what a transmit arc got. */
static void on_arc_words(play_t *p, char *rest, bool out)
{
    static uint8_t want[SAMPLES_MAX * 4];
    char *words = rest;
    const unsigned arc = (unsigned)strtoul(rest, &words, 10);
    assert_true(arc < p->g.reset.rx + (unsigned)p->g.reset.tx);
    const uint32_t bytes = read_words(words, sample_bytes(&p->g.fmt[arc]), out ? want : p->arc[arc]);
    if (out) {
        assert_int_equal(bytes, p->arc_bytes[arc]);
        compare(p, want, p->arc[arc], bytes);
    } else {
        p->arc_bytes[arc] = bytes;
    }
}

/* All receive arcs are used up, all transmit arcs filled. */
static void on_run(play_t *p, const char *rest)
{
    tw_xdm_t data[TW_MAX_NODE_ARCS];
    const uint32_t room = (uint32_t)atoi(rest), arcs = (uint32_t)p->g.reset.rx + p->g.reset.tx;
    for (uint32_t i = 0; i < arcs; i++) {
        p->arc_bytes[i] = i < p->g.reset.rx ? p->arc_bytes[i] : room;
        data[i] = (tw_xdm_t){p->arc[i], p->arc_bytes[i]};
    }
    p->runs++;
    assert_int_equal(rig_command(&p->g, TW_CMD_RUN, 0, data), 0);
    for (uint32_t i = 0; i < arcs; i++) {
        assert_int_equal(data[i].bytes, p->arc_bytes[i]);
    }
}

/* Rate, time stamp's kind and size, unit of both formats; memory is what these ask for. */
static void on_also(play_t *p, const char *rest)
{
    tw_format_t f[2] = {p->g.fmt[0], p->g.fmt[1]};
    for (unsigned i = 0; i < 2; i++) {
        unsigned ts, size, unit;
        int used = 0;
        assert_int_equal(sscanf(rest, " %f %u %u %u%n", &f[i].rate_hz, &ts, &size, &unit, &used), 4);
        rest += used;
        f[i].ts = (uint8_t)ts;
        f[i].ts_size = (uint8_t)size;
        f[i].unit = (uint8_t)unit;
        f[i].frame_bytes += ts == 0 ? 0 : size == 0 ? 2 : size == 1 ? 4 : 8;
    }
    rig_close(&p->g);
    on_reset(p, f[0], f[1]);
}

/* Both formats are pictures of these sizes; only the outputs that must be there. */
static void on_picture(play_t *p, const char *rest)
{
    tw_format_t f[2] = {p->g.fmt[0], p->g.fmt[1]};
    unsigned w[2], h[2];
    assert_int_equal(sscanf(rest, "%u %u %u %u", &w[0], &h[0], &w[1], &h[1]), 4);
    for (unsigned i = 0; i < 2; i++) {
        f[i] = rig_format((tw_raw_t)f[i].raw, f[i].channels, f[i].interleave, w[i] * h[i]);
        f[i].domain = 6;
        f[i].mapping = h[i] << 16 | w[i];
    }
    rig_close(&p->g);
    rig_prepare_n(&p->g, p->node, f[0], f[1], p->g.d->tx_min);
}

static void on_case(play_t *p, const char *rest)
{
    if (p->open) {
        rig_close(&p->g);
    }
    p->open = false;
    p->within = 0;
    p->calls[0] = 0;
    p->cases++;
    snprintf(p->name, sizeof p->name, "%.*s", (int)strcspn(rest, "\n"), rest);
}

static void on_line(play_t *p, char *line)
{
    char *rest = line + strcspn(line, " \n");
    const size_t n = (size_t)(rest - line);
    rest += *rest == ' ';
    uint8_t value[512], back[512];
    char *hex = rest + strcspn(rest, " \n");
    hex += *hex == ' ';
#define IS(word) (n == strlen(word) && memcmp(line, word, n) == 0)
    if (line[0] == '#' || line[0] == '\n') {
        return;
    } else if (IS("case")) {
        on_case(p, rest);
    } else if (IS("formats")) {
        const tw_format_t in = read_format(&rest);
        on_reset(p, in, read_format(&rest));
    } else if (IS("preset")) {
        assert_int_equal(rig_reset(&p->g, false, (uint32_t)atoi(rest)), 0);
    } else if (IS("script")) {
        on_reset(p, (tw_format_t){0}, (tw_format_t){0});
        p->g.reset.script = (int16_t)atoi(rest);
        p->g.reset.rx = 0;
        assert_int_equal(rig_reset(&p->g, false, 0), 0);
    } else if (IS("set")) {
        const uint32_t bytes = read_bytes(hex, value);
        if (rig_set(&p->g, (uint32_t)atoi(rest), value, bytes) != TW_OK) {
            fail_here(p, "SET refused");
        }
    } else if (IS("read")) {
        const uint32_t bytes = read_bytes(hex, value);
        assert_int_equal(rig_get(&p->g, (uint32_t)atoi(rest), back, sizeof back), bytes);
        assert_memory_equal(value, back, bytes);
    } else if (IS("within")) {
        p->within = atof(rest);
    } else if (IS("in")) {
        p->in_bytes = read_words(rest, sample_bytes(&p->g.fmt[0]), p->in);
    } else if (IS("out")) {
        on_out(p, rest);
    } else if (IS("arcs")) {
        on_arcs(p, rest);
    } else if (IS("arc-in") || IS("arc-out")) {
        on_arc_words(p, rest, IS("arc-out"));
    } else if (IS("run")) {
        on_run(p, rest);
    } else if (IS("also")) {
        on_also(p, rest);
    } else if (IS("picture")) {
        on_picture(p, rest);
    } else if (IS("bytes-in")) {
        p->in_bytes = read_bytes(rest, p->in);
    } else if (IS("bytes-out")) {
        on_bytes_out(p, rest);
    } else if (IS("calls")) {
        char want[200];
        snprintf(want, sizeof want, " %.*s", (int)strcspn(rest, "\n"), rest);
        assert_string_equal(p->calls, want);
    } else {
        fail_here(p, line);
    }
}

static void every_installed_node_answers_its_golden_file(void **state)
{
    (void)state;
    static const char *const nodes[] = {
#define TW_NODE(id, name) #name,
#include "engine/node/nodes.def"
    };
    static char line[LINE_MAX_BYTES];
    static play_t p;
    for (size_t i = 0; i < TW_COUNT(nodes); i++) {
        char path[80];
        snprintf(path, sizeof path, "tests/golden/nodes/%s.txt", nodes[i]);
        FILE *f = fopen(path, "r");
        if (f == NULL) {
            fail_msg("%s is missing (run from the repository root; new node types need one)", path);
        }
        p = (play_t){.node = nodes[i]};
        while (fgets(line, sizeof line, f) != NULL) {
            on_line(&p, line);
        }
        fclose(f);
        on_case(&p, "");
        assert_true(p.runs > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_installed_node_answers_its_golden_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
