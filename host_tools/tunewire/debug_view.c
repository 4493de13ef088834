/* debug_view.c - what the debugger shows: values by type, registers, frames, instructions beside their source lines. */
#include "engine/script/script.h"
#include "host_tools/tunewire/debug_priv.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- types and values ---------------------------------------------------------------- */

static const struct {
    const char *name;
    unsigned bytes;
} types[16] = {
#define TW_STYPE(code, NAME, text, size, data) [code] = {text, size},
#include "engine/script/script_types.def"
};

const char *debug_type_name(unsigned type)
{
    return type < TW_COUNT(types) && types[type].name ? types[type].name : "?";
}

unsigned debug_type_bytes(unsigned type)
{
    return type < TW_COUNT(types) ? types[type].bytes : 8;
}

int debug_type(const char *name)
{
    for (unsigned i = 0; i < TW_COUNT(types); i++) {
        if (types[i].name && strcmp(types[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static double half(uint64_t bits)
{
    const int e = (int)(bits >> 10 & 31), sign = (bits >> 15 & 1) ? -1 : 1;
    const double m = (double)(bits & 1023);
    if (e == 31) {
        return m != 0 ? (double)NAN : sign * (double)INFINITY;
    }
    return sign * (e == 0 ? ldexp(m, -24) : ldexp(m + 1024, e - 25));
}

static double real_of(unsigned type, uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float f;
    double v;
    memcpy(&f, &low, sizeof f);
    memcpy(&v, &bits, sizeof v);
    return type == TW_T_FP16 ? half(bits) : type == TW_T_FP32 ? (double)f : v;
}

static int64_t whole_of(unsigned type, uint64_t bits)
{
    const bool is_signed = type == TW_T_I8 || type == TW_T_I16 || type == TW_T_I32 || type == TW_T_I64;
    const unsigned left = 64 - 8 * debug_type_bytes(type);
    return is_signed ? (int64_t)(bits << left) >> left : (int64_t)bits;
}

void debug_format(unsigned type, uint64_t bits, char *out, size_t cap)
{
    if (type >= TW_T_FP16 && type <= TW_T_FP64) {
        (void)snprintf(out, cap, "%.*g", type == TW_T_FP64 ? 17 : 9, real_of(type, bits));
    } else if (type == TW_T_FP8A || type == TW_T_FP8B || type == TW_T_PTR) {
        (void)snprintf(out, cap, "0x%" PRIx64, bits);
    } else if (type == TW_T_CHAR && bits >= 32 && bits < 127) {
        (void)snprintf(out, cap, "%" PRIu64 " '%c'", bits, (int)bits);
    } else if (type == TW_T_U64) {
        (void)snprintf(out, cap, "%" PRIu64, bits);
    } else {
        (void)snprintf(out, cap, "%" PRId64, whole_of(type, bits));
    }
}

static bool parse_real(unsigned type, double v, uint64_t *bits)
{
    const float f = (float)v;
    uint32_t low;
    memcpy(&low, &f, sizeof low);
    memcpy(bits, &v, sizeof *bits);
    if (type == TW_T_FP32) {
        *bits = low;
    }
    return type != TW_T_FP16; /* set it as fp32 */
}

bool debug_parse(unsigned type, const char *text, uint64_t *bits)
{
    char *end;
    errno = 0;
    if (type >= TW_T_FP16 && type <= TW_T_FP64) {
        const double v = strtod(text, &end);
        return end != text && !*end && parse_real(type, v, bits);
    }
    const long long v = text[0] == '-' ? strtoll(text, &end, 0) : (long long)strtoull(text, &end, 0);
    const unsigned n = debug_type_bytes(type);
    *bits = (uint64_t)v & (n < 8 ? ((uint64_t)1 << 8 * n) - 1 : UINT64_MAX);
    return errno == 0 && end != text && !*end && (n == 8 || whole_of(type, *bits) == v);
}

/* ---- registers ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int what;
} named[] = {{"lc", TW_LOOK_LC}, {"s0", TW_LOOK_S0}, {"s1", TW_LOOK_S1},
             {"T", TW_LOOK_T},   {"t", TW_LOOK_T},   {"used", TW_LOOK_USED}};

int debug_register(const char *name)
{
    if (name[0] == 'r' && name[1] >= '0' && name[1] < '0' + TW_SCRIPT_REGS && !name[2]) {
        return name[1] - '0';
    }
    for (size_t i = 0; i < TW_COUNT(named); i++) {
        if (strcmp(named[i].name, name) == 0) {
            return named[i].what;
        }
    }
    return -1;
}

const char *debug_register_name(unsigned what, char out[8])
{
    (void)snprintf(out, 8, "r%u", what % 100);
    for (size_t i = 0; i < TW_COUNT(named); i++) {
        if (named[i].what == (int)what) {
            return named[i].name;
        }
    }
    return out;
}

bool debug_value(const tunewire_v1_DebugState *s, int what, unsigned *type, uint64_t *bits)
{
    if (what >= 0 && what < (int)s->r_count) {
        *type = s->r_types.bytes[what];
        *bits = s->r[what];
        return true;
    }
    if ((what == TW_LOOK_S0 || what == TW_LOOK_S1) && what - TW_LOOK_S0 < (int)s->top_count) {
        *type = s->top_types.bytes[what - TW_LOOK_S0];
        *bits = s->top[what - TW_LOOK_S0];
        return true;
    }
    *type = what == TW_LOOK_T ? TW_T_U8 : what == TW_LOOK_LC ? TW_T_U16 : TW_T_U32;
    *bits = what == TW_LOOK_T ? s->t : what == TW_LOOK_LC ? s->lc : s->used;
    return what == TW_LOOK_T || what == TW_LOOK_LC || what == TW_LOOK_USED;
}

void debug_print_registers(const debug_t *d)
{
    const tunewire_v1_DebugState *s = &d->s;
    FILE *out = d->cli->out;
    char text[40];
    for (pb_size_t i = 0; i < s->r_count; i++) {
        debug_format(s->r_types.bytes[i], s->r[i], text, sizeof text);
        (void)fprintf(out, "r%u  %-7s %s\n", (unsigned)i, debug_type_name(s->r_types.bytes[i]), text);
    }
    for (pb_size_t i = 0; i < s->p_count; i++) {
        static const char *const spaces[] = {"none", "memory", "constants", "parameters", "arc", "heap"};
        const tunewire_v1_DebugPointer *p = &s->p[i];
        if (p->space != 0) {
            (void)fprintf(out, "p%u  %s, %u bytes of %s, at element %u\n", (unsigned)i,
                          p->space < TW_COUNT(spaces) ? spaces[p->space] : "?", p->size, debug_type_name(p->type),
                          p->offset);
        }
    }
    for (pb_size_t i = 0; i < s->top_count; i++) {
        debug_format(s->top_types.bytes[i], s->top[i], text, sizeof text);
        (void)fprintf(out, "s%u  %-7s %s\n", (unsigned)i, debug_type_name(s->top_types.bytes[i]), text);
    }
    (void)fprintf(out, "T = %d  lc = %u  stack %u  used %u of %u%s\n", s->t, s->lc, s->sp, s->used, s->budget,
                  s->errors & 1   ? "  division by 0"
                  : s->errors & 2 ? "  conversion error"
                                  : "");
}

void debug_print_frames(const debug_t *d)
{
    for (pb_size_t i = 0; i < d->s.frames_count; i++) {
        const tunewire_v1_DebugFrame *f = &d->s.frames[i];
        (void)fprintf(d->cli->out, "#%u  script %u at %04x%s\n", (unsigned)i, f->script, f->pc,
                      i + 1u == d->s.frames_count ? ""
                      : f->callscript             ? ", called as a script by"
                                                  : ", called by");
    }
}

/* ---- breakpoints ------------------------------------------------------------------------------ */

static const char *const compares[] = {"", "==", "!=", "<", "<=", ">", ">="};

static void place_text(const tunewire_v1_DebugBreakpoint *b, char *out, size_t cap)
{
    char name[8];
    switch (b->kind) {
    case tunewire_v1_DebugBreakpoint_Kind_VALUE:
        (void)snprintf(out, cap, "watch %s of script %u", debug_register_name(b->what, name), b->script);
        break;
    case tunewire_v1_DebugBreakpoint_Kind_MEMORY:
        (void)snprintf(out, cap, "watch mem %u:%u of script %u", b->at, b->bytes, b->script);
        break;
    default:
        (void)snprintf(out, cap, "break %u:%04x", b->script, b->at);
        break;
    }
}

static void condition_text(const tunewire_v1_DebugBreakpoint *b, char *out, size_t cap)
{
    char name[8], value[40];
    out[0] = '\0';
    if (b->if_op != 0 && (unsigned)b->if_op < TW_COUNT(compares)) {
        debug_format(b->if_type, b->if_bits, value, sizeof value);
        (void)snprintf(out, cap, " if %s %s %s", debug_register_name(b->if_what, name), compares[b->if_op], value);
    }
}

void debug_print_break(const debug_t *d, const tunewire_v1_DebugBreakpoint *b)
{
    char place[64], when[80];
    place_text(b, place, sizeof place);
    condition_text(b, when, sizeof when);
    (void)fprintf(d->cli->out, "%u: %s%s%s%s", b->number, place, when, b->once ? ", once" : "", b->off ? ", off" : "");
    if (b->skip) {
        (void)fprintf(d->cli->out, ", first %u pass", b->skip);
    }
    (void)fprintf(d->cli->out, ", %u hits\n", b->hits);
}

json_t *debug_break_json(const tunewire_v1_DebugBreakpoint *b)
{
    char place[64], when[80];
    place_text(b, place, sizeof place);
    condition_text(b, when, sizeof when);
    return json_pack("{s:i, s:s, s:s, s:i, s:i, s:b, s:b, s:i, s:i}", "number", (int)b->number, "what", place, "if",
                     when[0] ? when + 4 : "", "script", (int)b->script, "at", (int)b->at, "once", b->once, "off",
                     b->off, "skip", (int)b->skip, "hits", (int)b->hits);
}

/* ---- the state as JSON --------------------------------------------------------------------------- */

static json_t *value_json(unsigned type, uint64_t bits)
{
    char text[40];
    debug_format(type, bits, text, sizeof text);
    json_t *v =
        type >= TW_T_FP16 && type <= TW_T_FP64 ? json_real(real_of(type, bits)) : json_integer(whole_of(type, bits));
    return json_pack("{s:s, s:o}", "type", debug_type_name(type), "value", v ? v : json_string(text));
}

static const char *state_name(uint32_t state)
{
    static const char *const names[] = {"detached", "free", "held", "going", "dead"};
    return state < TW_COUNT(names) ? names[state] : "?";
}

json_t *debug_json(const debug_t *d)
{
    const tunewire_v1_DebugState *s = &d->s;
    json_t *doc = json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:I}", "state", state_name(s->state), "why", s->text,
                            "number", (int)s->number, "stops", (int)s->stops, "missed", (int)s->missed, "passed",
                            (int)s->passed, "tick", (json_int_t)s->tick);
    if (s->frames_count == 0) {
        return doc;
    }
    json_t *regs = json_array(), *stack = json_array(), *frames = json_array();
    for (pb_size_t i = 0; i < s->r_count; i++) {
        (void)json_array_append_new(regs, value_json(s->r_types.bytes[i], s->r[i]));
    }
    for (pb_size_t i = 0; i < s->top_count; i++) {
        (void)json_array_append_new(stack, value_json(s->top_types.bytes[i], s->top[i]));
    }
    for (pb_size_t i = 0; i < s->frames_count; i++) {
        (void)json_array_append_new(
            frames, json_pack("{s:i, s:i}", "script", (int)s->frames[i].script, "pc", (int)s->frames[i].pc));
    }
    json_t *call = json_pack("{s:i, s:i, s:i, s:b, s:i, s:i, s:i, s:o, s:o, s:o}", "script", (int)s->frames[0].script,
                             "pc", (int)s->frames[0].pc, "entry", (int)s->script, "T", s->t, "lc", (int)s->lc, "used",
                             (int)s->used, "budget", (int)s->budget, "r", regs, "stack", stack, "frames", frames);
    (void)json_object_update(doc, call);
    json_decref(call);
    return doc;
}

/* ---- code and source -------------------------------------------------------------------------------- */

static uint32_t line_of(const debug_map_t *m, uint32_t pc)
{
    for (unsigned i = 0; i < m->n; i++) {
        if (m->rows[i].pc == pc) {
            return m->rows[i].line;
        }
    }
    return 0;
}

bool debug_line_pc(const debug_map_t *m, uint32_t line, uint32_t *pc)
{
    uint32_t best = UINT32_MAX;
    for (unsigned i = 0; i < m->n; i++) {
        if (m->rows[i].line >= line && m->rows[i].line < best) {
            best = m->rows[i].line;
            *pc = m->rows[i].pc;
        }
    }
    return best != UINT32_MAX;
}

/* Code without its literals cannot be told from them here: the words beyond the last instruction show as .h16. */
void debug_list(const debug_t *d, uint32_t at, unsigned before, unsigned after)
{
    uint32_t places[4096];
    unsigned n = 0, here = 0;
    char text[128];
    const uint32_t bytes = (uint32_t)d->code.n & ~1u;
    for (uint32_t i = 0; i < bytes && n < TW_COUNT(places);) {
        places[n] = i;
        here = i <= at ? n : here;
        n++;
        i += tw_max_u32(tw_script_disasm(d->code.data, bytes, i, text, sizeof text), 2);
    }
    for (unsigned i = here > before ? here - before : 0; i < n && i <= here + after; i++) {
        const uint32_t line = d->code_of == d->script ? line_of(&d->map, places[i]) : 0;
        (void)tw_script_disasm(d->code.data, bytes, places[i], text, sizeof text);
        (void)fprintf(d->cli->out, "%s %04x  %-28s", places[i] == at ? "=>" : "  ", places[i], text);
        if (line != 0) {
            (void)fprintf(d->cli->out, "; %u%s%s", line, line <= d->map.n_lines ? ": " : "",
                          line <= d->map.n_lines ? d->map.lines[line - 1] : "");
        }
        (void)fputc('\n', d->cli->out);
    }
}

void debug_print_stop(const debug_t *d)
{
    const tunewire_v1_DebugState *s = &d->s;
    FILE *out = d->cli->out;
    if (s->frames_count == 0) {
        (void)fprintf(out, s->why != 0 ? "nothing is held: %s\n" : "nothing is held\n", s->text);
        return;
    }
    (void)fprintf(out, "script %u at %04x: %s", s->frames[0].script, s->frames[0].pc, s->text);
    if (s->why == TW_STOP_FAULT) {
        (void)fprintf(out, " (%s)", tw_err_text((tw_err_t) - (int)s->number));
    } else if (s->why == TW_STOP_BREAK || s->why == TW_STOP_WATCH || s->why == TW_STOP_BRK) {
        (void)fprintf(out, " %u", s->number);
    }
    (void)fprintf(out, "%s\n", s->graph_held ? ", the graph is stopped" : "");
}

/* ---- line maps -------------------------------------------------------------------------------------------- */

void debug_free_map(debug_map_t *m)
{
    free(m->text);
    free(m->lines);
    free(m->rows);
    *m = (debug_map_t){0};
}

/* The source beside the map, when it is there. */
static void read_source(debug_map_t *m, const char *map_path)
{
    const char *slash = strrchr(map_path, '/');
    char path[4096];
    (void)snprintf(path, sizeof path, "%.*s%s", m->file[0] == '/' || !slash ? 0 : (int)(slash + 1 - map_path), map_path,
                   m->file);
    FILE *f = m->file[0] ? fopen(path, "rb") : NULL;
    if (!f) {
        return;
    }
    enum { MOST = 1 << 20 };
    m->text = calloc(1, MOST + 1);
    const size_t n = m->text ? fread(m->text, 1, MOST, f) : 0;
    (void)fclose(f);
    for (size_t i = 0; i < n; i++) {
        m->n_lines += m->text[i] == '\n';
    }
    m->n_lines++;
    m->lines = calloc(m->n_lines, sizeof *m->lines);
    char *at = m->text;
    for (unsigned i = 0; m->lines && i < m->n_lines; i++) {
        m->lines[i] = at;
        at += strcspn(at, "\n");
        *at = '\0';
        at += at < m->text + n;
    }
    m->n_lines = m->lines ? m->n_lines : 0;
}

bool debug_read_map(debug_t *d, const char *path)
{
    json_error_t why;
    json_t *doc = json_load_file(path, 0, &why), *row;
    const json_t *rows = json_is_array(doc) ? doc : json_object_get(doc, "map");
    rows = json_is_array(rows) ? rows : json_object_get(doc, "lines");
    size_t i;
    if (!json_is_array(rows)) {
        (void)cli_fail(d->cli, CLI_INPUT, path, "[{\"pc\":byte,\"line\":n}], or such a list as \"map\" beside \"file\"",
                       doc ? "not a line map" : "not readable as JSON");
        json_decref(doc);
        return false;
    }
    d->map.rows = calloc(json_array_size(rows) + 1, sizeof *d->map.rows);
    json_array_foreach(rows, i, row)
    {
        if (d->map.rows && json_is_integer(json_object_get(row, "pc")) &&
            json_is_integer(json_object_get(row, "line"))) {
            d->map.rows[d->map.n].pc = (uint32_t)json_integer_value(json_object_get(row, "pc"));
            d->map.rows[d->map.n++].line = (uint32_t)json_integer_value(json_object_get(row, "line"));
        }
    }
    const char *file = json_string_value(json_object_get(doc, "file"));
    (void)snprintf(d->map.file, sizeof d->map.file, "%s", file ? file : "");
    json_decref(doc);
    read_source(&d->map, path);
    return true;
}

/* ---- trace --------------------------------------------------------------------------------------------------- */

static const char *kind_name(uint32_t kind)
{
    static const char *const names[] = {"?", "fault", "event", "trace", "?", "?", "?", "callapp", "stop"};
    return kind == TW_TRACE_INSTRUCTION ? "run"
           : kind == TW_TRACE_CALL      ? "call"
           : kind < TW_COUNT(names)     ? names[kind]
                                        : "?";
}

bool debug_print_event(tw_cli_t *cli, const uint8_t *p, uint32_t n)
{
    tunewire_v1_Event m = tunewire_v1_Event_init_zero;
    if (tw_rpc_decode(p, n, tunewire_v1_Event_fields, &m) != TW_OK) {
        return true;
    }
    if (cli->json) {
        cli_json_line(cli,
                      json_pack("{s:I, s:I, s:I, s:s, s:i, s:i, s:I, s:i, s:i, s:s}", "seq", (json_int_t)m.seq, "t_us",
                                (json_int_t)m.t_us, "tick", (json_int_t)m.tick, "kind", kind_name(m.kind), "script",
                                m.script == TW_DEBUG_NOBODY ? -1 : (int)m.script, "where", (int)m.where, "value",
                                (json_int_t)m.value, "number", (int)m.number, "lost", (int)m.lost, "text", m.text));
        return true;
    }
    (void)fprintf(cli->out, "%8" PRIu64 " block %" PRIu64 " script %d %-7s ", m.seq, m.tick,
                  m.script == TW_DEBUG_NOBODY ? -1 : (int)m.script, kind_name(m.kind));
    if (m.kind == TW_TRACE_INSTRUCTION || m.kind == TW_TRACE_STOP || m.kind == TW_EV_SCRIPT_FAULT) {
        (void)fprintf(cli->out, "%04x  %s\n", m.where, m.text);
    } else if (m.kind == TW_TRACE_CALL) {
        (void)fprintf(cli->out, "r0 = %" PRId64 "\n", m.value);
    } else {
        (void)fprintf(cli->out, "%u  %" PRId64 "\n", m.where, m.value);
    }
    (void)fflush(cli->out);
    return ferror(cli->out) == 0;
}
