/* bench_script PAIRS: ten small scripts on our fast machine against the same in Lua 5.4, in one process.
 *
 * Each side is called as a host calls it: ours assembled, verified and translated before, then tw_script_run() with two
 * arguments and the result out of r0; Lua's function taken from the registry, its tables and two numbers pushed, called
 * by lua_pcall(), the result popped. A pair is CALLS calls of one and then CALLS of the other, every other pair the
 * other way round; the results of each call are compared, and so are all samples written. The compact machine runs
 * beside for information. Prints for each kernel: name, median and quartiles of Lua's time over ours, ns a call of
 * ours, of Lua and of the compact machine; then the same of the geometric means, over all kernels, of each pair.
 */
#include "engine/script/script.h"
#include "host_tools/scriptasm/scriptasm.h"
#include "tests/bench/lua_kernels.h"
#include <lauxlib.h>
#include <lualib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS = 2000, PAIRS_MAX = 99, KERNELS = TW_COUNT(kernels), OUT_AT = SAMPLES };

typedef struct side {
    tw_script_t script, compact;
    uint8_t mem[4 * 2 * SAMPLES];
    uint64_t fast[4096];
    uint8_t code[4096];
    int function, in, out; /* Lua's references */
} side_t;

static side_t sides[KERNELS];
static tw_script_ctx_t *ctx; /* from the heap, as in the engine: its place is no constant */
static lua_State *lua;
static const tw_script_host_t host;
static double ours[CALLS], theirs[CALLS];

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void stop(const char *kernel, const char *what)
{
    fprintf(stderr, "%s: %s\n", kernel, what);
    exit(1);
}

/* ---- samples ---- */

static double sample(const kernel_t *k, unsigned i)
{
    static uint32_t seed = 1;
    seed = seed * 1664525u + 1013904223u;
    const uint32_t r = seed >> 8 ^ seed << 24;
    if (k->element == 'f') {
        return ((double)(r % 256) - 128.0) * k->at_most / 128.0; /* few bits: sums of products stay exact */
    }
    (void)i;
    return k->at_most % 2 != 0 ? (double)(r % (k->at_most + 1ull))
                               : (double)r * 2.0 * k->at_most / 4294967296.0 - k->at_most;
}

static void put_sample(uint8_t *mem, const kernel_t *k, unsigned i, double v)
{
    switch (k->element) {
    case 'b':
        mem[i] = (uint8_t)v;
        break;
    case 'h':
        tw_put_le16(mem + 2 * i, (uint16_t)(int32_t)v);
        break;
    case 'f':
        tw_put_f32(mem + 4 * i, (float)v);
        break;
    default:
        tw_put_le32(mem + 4 * i, (uint32_t)(int64_t)v);
    }
}

/* ---- both sides, prepared ---- */

/* The script, and for crc32 its table as data behind it. */
static const char *text_of(const kernel_t *k)
{
    static char text[8192];
    size_t n = (size_t)snprintf(text, sizeof text, "%s", k->twv);
    if (strstr(k->twv, "psha table") == NULL) {
        return text;
    }
    n += (size_t)snprintf(text + n, sizeof text - n, "table: 256 u32;");
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (unsigned b = 0; b < 8; b++) {
            c = (c & 1) != 0 ? c >> 1 ^ 0xEDB88320u : c >> 1;
        }
        n += (size_t)snprintf(text + n, sizeof text - n, " 0x%08X", c);
    }
    return text;
}

static void prepare_script(const kernel_t *k, side_t *s)
{
    static tw_asm_out_t out;
    tw_fault_t fault;
    const char *const text = text_of(k);
    if (!tw_asm(text, strlen(text), &out)) {
        stop(k->name, out.diags[0].text);
    }
    memcpy(s->code, out.code, out.code_bytes);
    memcpy(s->code + tw_round_up(out.code_bytes, 4), out.pool, out.pool_bytes);
    s->script = (tw_script_t){.code = s->code,
                              .code_bytes = out.code_bytes,
                              .pool_bytes = out.pool_bytes,
                              .regs = TW_SCRIPT_REGS,
                              .ptrs = (uint8_t)k->ptrs,
                              .stack = 4,
                              .mem = s->mem,
                              .mem_bytes = sizeof s->mem,
                              .budget = TW_SCRIPT_BUDGET_MAX};
    if (tw_script_verify(&s->script, false, NULL, &fault) != TW_OK) {
        stop(k->name, tw_err_name(fault.err));
    }
    static uint16_t labels[KERNELS][TW_SCRIPT_LABELS];
    tw_script_index(&s->script, labels[k - kernels]);
    s->script.labels = labels[k - kernels];
    s->compact = s->script;
    s->script.fast = tw_script_translate(&s->script, s->fast, sizeof s->fast);
    if (s->script.fast == NULL) {
        stop(k->name, "not translated");
    }
}

static void prepare_lua(const kernel_t *k, side_t *s)
{
    if (luaL_loadstring(lua, k->lua) != LUA_OK || lua_pcall(lua, 0, 1, 0) != LUA_OK) {
        stop(k->name, lua_tostring(lua, -1));
    }
    s->function = luaL_ref(lua, LUA_REGISTRYINDEX);
    lua_createtable(lua, SAMPLES + 2, 0);
    s->in = luaL_ref(lua, LUA_REGISTRYINDEX);
    lua_createtable(lua, SAMPLES + 2, 0);
    for (unsigned i = 1; i <= SAMPLES + 2; i++) {
        lua_pushinteger(lua, 0);
        lua_rawseti(lua, -2, i);
    }
    s->out = luaL_ref(lua, LUA_REGISTRYINDEX);
}

static void fill(const kernel_t *k, side_t *s)
{
    lua_rawgeti(lua, LUA_REGISTRYINDEX, s->in);
    for (unsigned i = 0; i < SAMPLES + 2; i++) {
        const double v = i < SAMPLES ? sample(k, i) : 0;
        put_sample(s->mem, k, i, v);
        if (k->element == 'f') {
            lua_pushnumber(lua, v);
        } else {
            lua_pushinteger(lua, (lua_Integer)v);
        }
        lua_rawseti(lua, -2, i + 1);
    }
    lua_pop(lua, 1);
}

/* ---- calls ---- */

static double call_script(const tw_script_t *s, int64_t n, int64_t k)
{
    const int64_t args[2] = {n, k};
    if (tw_script_run(s, &host, ctx, args, 2, true, 0) != TW_OK) {
        stop("script", tw_err_name(ctx->err));
    }
    return ctx->rt[0] == TW_T_FP32 ? (double)ctx->r[0].s : (double)tw_script_reg_int(ctx, 0);
}

static double call_lua(const side_t *s, lua_Integer n, lua_Integer k)
{
    lua_rawgeti(lua, LUA_REGISTRYINDEX, s->function);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, s->in);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, s->out);
    lua_pushinteger(lua, n);
    lua_pushinteger(lua, k);
    if (lua_pcall(lua, 4, 1, 0) != LUA_OK) {
        stop("lua", lua_tostring(lua, -1));
    }
    const double r = lua_tonumber(lua, -1);
    lua_pop(lua, 1);
    return r;
}

static double time_script(const tw_script_t *s, double *results)
{
    const double start = now_ns();
    for (int i = 0; i < CALLS; i++) {
        results[i] = call_script(s, SAMPLES, i % 100);
    }
    return (now_ns() - start) / CALLS;
}

static double time_lua(const side_t *s, double *results)
{
    const double start = now_ns();
    for (int i = 0; i < CALLS; i++) {
        results[i] = call_lua(s, SAMPLES, i % 100);
    }
    return (now_ns() - start) / CALLS;
}

static void compare(const kernel_t *k)
{
    for (unsigned i = 0; i < CALLS; i++) {
        if (!(fabs(ours[i] - theirs[i]) <= k->tolerance * fabs(theirs[i]))) {
            fprintf(stderr, "%s: call %u gives %.9g here and %.9g in Lua\n", k->name, i, ours[i], theirs[i]);
            exit(1);
        }
    }
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, unsigned n)
{
    qsort(v, n, sizeof *v, rising);
    return v[n / 2];
}

static void print_quartiles(const char *name, double *v, unsigned n)
{
    const double middle = median(v, n);
    printf("%s %.4f %.4f %.4f", name, middle, v[n / 4], v[n - 1 - n / 4]);
}

/* One pair; @return Lua's time over ours */
static double pair(const kernel_t *k, side_t *s, bool lua_first, double ns[3])
{
    if (lua_first) {
        ns[1] = time_lua(s, theirs);
    }
    ns[0] = time_script(&s->script, ours);
    if (!lua_first) {
        ns[1] = time_lua(s, theirs);
    }
    compare(k);
    ns[2] = time_script(&s->compact, ours);
    compare(k);
    return ns[1] / ns[0];
}

int main(int argc, char **argv)
{
    static double ratio[KERNELS][PAIRS_MAX], ns[KERNELS][3][PAIRS_MAX], mean[PAIRS_MAX], mean_ns[3];
    const unsigned pairs = argc == 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    if (pairs == 0 || pairs > PAIRS_MAX) {
        fprintf(stderr, "usage: bench_script PAIRS (at most %u)\n", PAIRS_MAX);
        return 2;
    }
    ctx = malloc(sizeof *ctx);
    lua = luaL_newstate();
    luaL_openlibs(lua);
    for (unsigned i = 0; i < KERNELS; i++) {
        prepare_script(&kernels[i], &sides[i]);
        prepare_lua(&kernels[i], &sides[i]);
        fill(&kernels[i], &sides[i]);
    }
    for (unsigned p = 0; p < pairs + 1; p++) { /* the first one warms up */
        double product = 1;
        const unsigned at = p == 0 ? 0 : p - 1;
        for (unsigned i = 0; i < KERNELS; i++) {
            double t[3];
            product *= ratio[i][at] = pair(&kernels[i], &sides[i], p % 2 != 0, t);
            for (unsigned m = 0; m < 3; m++) {
                ns[i][m][at] = t[m];
            }
        }
        mean[at] = pow(product, 1.0 / KERNELS);
    }
    for (unsigned i = 0; i < KERNELS; i++) {
        print_quartiles(kernels[i].name, ratio[i], pairs);
        for (unsigned m = 0; m < 3; m++) {
            const double middle = median(ns[i][m], pairs);
            mean_ns[m] += log(middle) / KERNELS;
            printf(" %.1f", middle);
        }
        printf("\n");
    }
    print_quartiles("geometric_mean", mean, pairs);
    printf(" %.1f %.1f %.1f\n", exp(mean_ns[0]), exp(mean_ns[1]), exp(mean_ns[2]));
    lua_close(lua);
    free(ctx);
    return 0;
}
