/* verb_script_debug.c - tunewire script debug: a debugger of one graph's scripts, in the terminal or by a file.
 *
 * Commands are those people know from gdb; each is one row of a table. With --json every command answers one line.
 * Nothing here waits inside the device: `continue` asks again and again, so that Ctrl-C can hold the script.
 */
#include "host_tools/tunewire/cli_script.h"
#include "host_tools/tunewire/debug_priv.h"
#include <ctype.h>
#include <inttypes.h>
#include <pb_decode.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { WAIT_MS = 200, LEASE_MS = 30000, BATCH_WAIT_MS = 10000, SHOWN_BEFORE = 4, SHOWN_AFTER = 5, PEEK_MAX = 512 };

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
    (void)sig;
    interrupted = 1;
}

/* ---- words of a command ----------------------------------------------------------------- */

typedef struct words {
    char text[1024];
    char *w[DEBUG_WORDS];
    unsigned n;
} words_t;

static void split(words_t *w, const char *line)
{
    (void)snprintf(w->text, sizeof w->text, "%s", line);
    w->n = 0;
    for (char *at = strtok(w->text, " \t"); at && w->n < DEBUG_WORDS; at = strtok(NULL, " \t")) {
        w->w[w->n++] = at;
    }
}

static bool wrong(debug_t *d, const char *what, const char *hint)
{
    (void)cli_fail(d->cli, CLI_USAGE, what, hint, "not understood");
    return false;
}

static bool number(debug_t *d, const char *text, uint32_t *out)
{
    char *end;
    const unsigned long long v = strtoull(text, &end, 0);
    *out = (uint32_t)v;
    return (isdigit((unsigned char)text[0]) && !*end && v <= UINT32_MAX) ||
           wrong(d, text, "a number such as 12 or 0x0c");
}

/* ---- talking to the device ---------------------------------------------------------------- */

static bool ask(debug_t *d, uint32_t method, const void *request, void *response)
{
    const tw_client_call_t call = {.method = method, .request = request, .response = response};
    return tw_client_call(d->cli->c, &call) || (cli_fail_client(d->cli, "script debug"), false);
}

static bool ask_state(debug_t *d, uint32_t wait_ms)
{
    const tunewire_v1_DebugRef q = {.wait_ms = wait_ms};
    d->s = (tunewire_v1_DebugState)tunewire_v1_DebugState_init_zero;
    return ask(d, TW_M_Script_State, &q, &d->s);
}

/* Code of the script, once; it may have been replaced since. */
static bool fetch_code(debug_t *d, uint32_t script)
{
    tunewire_v1_DebugData part;
    d->code.n = 0;
    d->code_of = script;
    do {
        const tunewire_v1_DebugPeek q = {
            .space = tunewire_v1_DebugPeek_Space_CODE, .index = script, .at = (uint32_t)d->code.n, .bytes = PEEK_MAX};
        part = (tunewire_v1_DebugData)tunewire_v1_DebugData_init_zero;
        if (!ask(d, TW_M_Script_Peek, &q, &part) || !tw_bytes_add(&d->code, part.data.bytes, part.data.size)) {
            return false;
        }
    } while (part.data.size == PEEK_MAX);
    return true;
}

static bool held(const debug_t *d)
{
    return d->s.frames_count != 0;
}

static bool needs_call(debug_t *d)
{
    if (!held(d)) {
        (void)cli_fail(d->cli, CLI_DEVICE, "script debug", "set a breakpoint and continue, or hold it",
                       "no script is held");
    }
    return held(d);
}

/* ---- showing -------------------------------------------------------------------------------- */

static bool print_one(debug_t *d, const char *name)
{
    char text[40];
    unsigned type;
    uint64_t bits;
    if (!debug_value(&d->s, debug_register(name), &type, &bits)) {
        return wrong(d, name, "r0..r5, s0, s1, T, lc, used; p0..p5 with x");
    }
    debug_format(type, bits, text, sizeof text);
    (void)fprintf(d->cli->out, "%s = %s %s\n", name, debug_type_name(type), text);
    return true;
}

static bool show_stop(debug_t *d)
{
    if (d->cli->json) {
        return true;
    }
    debug_print_stop(d);
    if (held(d) && fetch_code(d, d->s.frames[0].script)) {
        debug_list(d, d->s.frames[0].pc, 2, 2);
        for (unsigned i = 0; i < DEBUG_DISPLAYS; i++) {
            if (d->display[i][0]) {
                (void)print_one(d, d->display[i]);
            }
        }
    }
    return true;
}

/* ---- going on ---------------------------------------------------------------------------------- */

static bool stopped(const debug_t *d, bool end_counts)
{
    return d->s.state == TW_DEBUG_HELD || d->s.state == TW_DEBUG_DEAD || (end_counts && d->s.state == TW_DEBUG_FREE);
}

/* The first Ctrl-C holds the script, the second gives up. */
static bool wait_for_stop(debug_t *d, bool end_counts)
{
    uint32_t waited = 0;
    bool asked = false;
    while (!stopped(d, end_counts)) {
        if (interrupted && asked) {
            interrupted = 0;
            return show_stop(d);
        }
        if (interrupted) {
            const tunewire_v1_DebugGo q = {.op = tunewire_v1_DebugGo_Op_HOLD, .script = d->script};
            interrupted = 0;
            asked = true;
            if (!ask(d, TW_M_Script_Go, &q, &d->s)) {
                return false;
            }
            continue;
        }
        if (d->wait_ms != 0 && waited >= d->wait_ms) {
            (void)cli_fail(d->cli, CLI_DEVICE, "script debug", "--wait says how long", "no script was held in %u ms",
                           d->wait_ms);
            return false;
        }
        if (!ask_state(d, WAIT_MS)) {
            return false;
        }
        waited += WAIT_MS;
    }
    return show_stop(d);
}

static bool go(debug_t *d, tunewire_v1_DebugGo *q)
{
    q->stops = d->s.stops; /* a script that was held while a command was typed is shown, not gone on with */
    q->wait_ms = WAIT_MS;
    d->s = (tunewire_v1_DebugState)tunewire_v1_DebugState_init_zero;
    const bool to_stop = q->op == tunewire_v1_DebugGo_Op_CONTINUE || q->op == tunewire_v1_DebugGo_Op_HOLD;
    return ask(d, TW_M_Script_Go, q, &d->s) &&
           (q->op == tunewire_v1_DebugGo_Op_DROP ? show_stop(d) : wait_for_stop(d, !to_stop));
}

static bool do_continue(debug_t *d, const words_t *w)
{
    (void)w;
    return go(d, &(tunewire_v1_DebugGo){.op = tunewire_v1_DebugGo_Op_CONTINUE});
}

static bool do_step(debug_t *d, const words_t *w)
{
    tunewire_v1_DebugGo q = {.op = tunewire_v1_DebugGo_Op_STEP};
    return (w->n < 2 || number(d, w->w[1], &q.count)) && go(d, &q);
}

static bool do_next(debug_t *d, const words_t *w)
{
    (void)w;
    return go(d, &(tunewire_v1_DebugGo){.op = tunewire_v1_DebugGo_Op_NEXT});
}

static bool do_finish(debug_t *d, const words_t *w)
{
    (void)w;
    return go(d, &(tunewire_v1_DebugGo){.op = tunewire_v1_DebugGo_Op_FINISH});
}

static bool do_hold(debug_t *d, const words_t *w)
{
    tunewire_v1_DebugGo q = {.op = tunewire_v1_DebugGo_Op_HOLD, .script = d->script};
    return (w->n < 2 || number(d, w->w[1], &q.script)) && go(d, &q);
}

static bool do_drop(debug_t *d, const words_t *w)
{
    (void)w;
    return go(d, &(tunewire_v1_DebugGo){.op = tunewire_v1_DebugGo_Op_DROP});
}

/* ---- breakpoints ------------------------------------------------------------------------------------ */

/* "PC", "SCRIPT:PC", "line:N". */
static bool place(debug_t *d, const char *text, uint32_t *script, uint32_t *pc)
{
    const char *colon = strchr(text, ':');
    char first[32];
    *script = held(d) ? d->s.frames[0].script : d->script;
    if (!colon) {
        return number(d, text, pc);
    }
    (void)snprintf(first, sizeof first, "%.*s", (int)(colon - text), text);
    if (strcmp(first, "line") == 0) {
        uint32_t line;
        *script = d->script;
        return number(d, colon + 1, &line) &&
               (debug_line_pc(&d->map, line, pc) || wrong(d, text, "no code from that line on, or no --map"));
    }
    return number(d, first, script) && number(d, colon + 1, pc);
}

/* "if REG OP VALUE" and "skip N" at the end of a command. */
static bool condition(debug_t *d, const words_t *w, unsigned at, tunewire_v1_DebugBreakpoint *b)
{
    static const char *const ops[] = {"==", "!=", "<", "<=", ">", ">="};
    while (at < w->n) {
        if (strcmp(w->w[at], "skip") == 0 && at + 1 < w->n) {
            if (!number(d, w->w[at + 1], &b->skip)) {
                return false;
            }
            at += 2;
            continue;
        }
        const int what = at + 3 < w->n && strcmp(w->w[at], "if") == 0 ? debug_register(w->w[at + 1]) : -1;
        if (what < 0) {
            return wrong(d, w->w[at], "if REGISTER ==|!=|<|<=|>|>= VALUE, skip N");
        }
        for (unsigned i = 0; i < TW_COUNT(ops); i++) {
            b->if_op = strcmp(ops[i], w->w[at + 2]) == 0 ? (tunewire_v1_DebugBreakpoint_Op)(i + 1) : b->if_op;
        }
        const bool real = strpbrk(w->w[at + 3], ".") != NULL;
        b->if_what = (uint32_t)what;
        b->if_type = real ? TW_T_FP64 : TW_T_I64;
        if (b->if_op == 0 || !debug_parse(b->if_type, w->w[at + 3], &b->if_bits)) {
            return wrong(d, w->w[at + 2], "if REGISTER ==|!=|<|<=|>|>= VALUE");
        }
        at += 4;
    }
    return true;
}

static bool each_break(pb_istream_t *in, const pb_field_t *field, void **arg)
{
    (void)field;
    struct {
        debug_t *d;
        json_t *list;
    } *to = *arg;
    tunewire_v1_DebugBreakpoint b;
    if (!pb_decode(in, tunewire_v1_DebugBreakpoint_fields, &b)) {
        return false;
    }
    if (to->list) {
        (void)json_array_append_new(to->list, debug_break_json(&b));
    } else {
        debug_print_break(to->d, &b);
    }
    return true;
}

static bool breaks(debug_t *d, const tunewire_v1_DebugBreak *q)
{
    struct {
        debug_t *d;
        json_t *list;
    } to = {d, d->cli->json ? json_array() : NULL};
    tunewire_v1_DebugBreakList list = {.breakpoints = {.funcs.decode = each_break, .arg = &to}};
    const bool ok = ask(d, TW_M_Script_Break, q, &list);
    if (to.list && ok && q->op != tunewire_v1_DebugBreak_Op_CLEAR) {
        cli_json_line(d->cli, json_pack("{s:o}", "breakpoints", to.list));
        d->hurried = true;
    } else {
        json_decref(to.list);
    }
    return ok;
}

static bool set_break(debug_t *d, const words_t *w, bool once)
{
    tunewire_v1_DebugBreak q = {.op = tunewire_v1_DebugBreak_Op_SET, .has_breakpoint = true};
    q.breakpoint.kind = tunewire_v1_DebugBreakpoint_Kind_PC;
    q.breakpoint.once = once;
    q.breakpoint.script = held(d) ? d->s.frames[0].script : d->script;
    q.breakpoint.at = held(d) ? d->s.frames[0].pc : 0;
    const bool placed = w->n > 1 && strcmp(w->w[1], "if") != 0;
    return (!placed || place(d, w->w[1], &q.breakpoint.script, &q.breakpoint.at)) &&
           condition(d, w, placed ? 2 : 1, &q.breakpoint) && breaks(d, &q);
}

static bool do_break(debug_t *d, const words_t *w)
{
    return set_break(d, w, false);
}

static bool do_tbreak(debug_t *d, const words_t *w)
{
    return set_break(d, w, true);
}

/* "watch r1 ...", "watch mem OFFSET[:BYTES] ..." */
static bool do_watch(debug_t *d, const words_t *w)
{
    tunewire_v1_DebugBreak q = {.op = tunewire_v1_DebugBreak_Op_SET, .has_breakpoint = true};
    tunewire_v1_DebugBreakpoint *b = &q.breakpoint;
    b->script = held(d) ? d->s.frames[0].script : d->script;
    if (w->n >= 3 && strcmp(w->w[1], "mem") == 0) {
        char *colon = strchr(w->w[2], ':');
        b->kind = tunewire_v1_DebugBreakpoint_Kind_MEMORY;
        b->bytes = 4;
        if (colon) {
            *colon = '\0';
        }
        return number(d, w->w[2], &b->at) && (!colon || number(d, colon + 1, &b->bytes)) && condition(d, w, 3, b) &&
               breaks(d, &q);
    }
    const int what = w->n >= 2 ? debug_register(w->w[1]) : -1;
    if (what < 0) {
        return wrong(d, "watch", "watch r0..r5|s0|s1|T|lc, or watch mem OFFSET[:BYTES]");
    }
    b->kind = tunewire_v1_DebugBreakpoint_Kind_VALUE;
    b->what = (uint32_t)what;
    return condition(d, w, 2, b) && breaks(d, &q);
}

static bool do_delete(debug_t *d, const words_t *w)
{
    tunewire_v1_DebugBreak q = {.op = tunewire_v1_DebugBreak_Op_CLEAR, .has_breakpoint = true};
    return (w->n < 2 || number(d, w->w[1], &q.breakpoint.number)) && breaks(d, &q);
}

static bool do_until(debug_t *d, const words_t *w)
{
    tunewire_v1_DebugGo q = {.op = tunewire_v1_DebugGo_Op_UNTIL};
    if (w->n < 2) {
        return wrong(d, "until", "until [SCRIPT:]PC or line:N");
    }
    return place(d, w->w[1], &q.script, &q.pc) && go(d, &q);
}

/* ---- looking ------------------------------------------------------------------------------------------- */

static bool do_registers(debug_t *d, const words_t *w)
{
    (void)w;
    if (!ask_state(d, 0) || !needs_call(d)) {
        return false;
    }
    if (!d->cli->json) {
        debug_print_registers(d);
    }
    return true;
}

static bool do_frames(debug_t *d, const words_t *w)
{
    (void)w;
    if (!ask_state(d, 0) || !needs_call(d)) {
        return false;
    }
    if (!d->cli->json) {
        debug_print_frames(d);
    }
    return true;
}

static bool do_info(debug_t *d, const words_t *w)
{
    const char c = w->n > 1 ? w->w[1][0] : ' ';
    if (c == 'b' || c == 'w') {
        return breaks(d, &(tunewire_v1_DebugBreak){.op = tunewire_v1_DebugBreak_Op_LIST});
    }
    if (c == 'r' || c == 'p') {
        return do_registers(d, w);
    }
    if (c == 'f' || c == 's') {
        return do_frames(d, w);
    }
    return ask_state(d, 0) && show_stop(d);
}

static bool do_print(debug_t *d, const words_t *w)
{
    if (!ask_state(d, 0) || !needs_call(d)) {
        return false;
    }
    for (unsigned i = 1; i < w->n && !d->cli->json; i++) {
        if (!print_one(d, w->w[i])) {
            return false;
        }
    }
    return w->n > 1 || do_registers(d, w);
}

static bool do_list(debug_t *d, const words_t *w)
{
    uint32_t script = held(d) ? d->s.frames[0].script : d->script, pc = held(d) ? d->s.frames[0].pc : 0;
    if ((w->n > 1 && !place(d, w->w[1], &script, &pc)) || !fetch_code(d, script)) {
        return false;
    }
    if (!d->cli->json) {
        debug_list(d, pc, SHOWN_BEFORE, SHOWN_AFTER);
        return true;
    }
    json_t *list = json_array();
    char text[128];
    for (uint32_t i = 0; i + 2 <= d->code.n;) {
        const uint32_t n = tw_script_disasm(d->code.data, (uint32_t)d->code.n & ~1u, i, text, sizeof text);
        (void)json_array_append_new(list, json_pack("{s:i, s:s}", "at", (int)i, "text", text));
        i += tw_max_u32(n, 2);
    }
    cli_json_line(d->cli, json_pack("{s:i, s:o}", "script", (int)script, "code", list));
    d->hurried = true;
    return true;
}

/* "mem", "code", "stack", "p0".. as a space; the type its elements have. */
static bool space_of(debug_t *d, const char *name, tunewire_v1_DebugPeek *q, unsigned *type)
{
    q->index = held(d) ? d->s.frames[0].script : d->script;
    *type = TW_T_I32;
    if (strcmp(name, "mem") == 0) {
        q->space = tunewire_v1_DebugPeek_Space_MEMORY;
    } else if (strcmp(name, "code") == 0) {
        q->space = tunewire_v1_DebugPeek_Space_CODE;
        *type = TW_T_U16;
    } else if (name[0] == 'p' && name[1] >= '0' && name[1] < '0' + TW_SCRIPT_PTRS && !name[2]) {
        q->space = tunewire_v1_DebugPeek_Space_POINTER;
        q->index = (uint32_t)(name[1] - '0');
        if (q->index < d->s.p_count) {
            *type = d->s.p[q->index].type;
        }
    } else {
        return wrong(d, name, "mem, code, or p0..p5");
    }
    return true;
}

/* Types and numbers behind a space: in any order, the first number is the place, the second how many. */
static bool span(debug_t *d, const words_t *w, unsigned at, unsigned *type, uint32_t numbers[2])
{
    unsigned n = 0;
    for (; at < w->n; at++) {
        const int t = debug_type(w->w[at]);
        if (t >= 0) {
            *type = (unsigned)t;
        } else if (n == 2 || !number(d, w->w[at], &numbers[n++])) {
            return n != 2 ? false : wrong(d, w->w[at], "a type, a byte offset, how many");
        }
    }
    return true;
}

static void print_elements(debug_t *d, unsigned type, uint32_t at, const uint8_t *p, uint32_t n)
{
    const unsigned size = debug_type_bytes(type), row = size >= 8 ? 2 : 16 / size;
    char text[40];
    for (uint32_t i = 0; (i + 1) * size <= n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, p + (size_t)i * size, size);
        debug_format(type, bits, text, sizeof text);
        if (i % row == 0) {
            (void)fprintf(d->cli->out, "%s%04x: ", i ? "\n" : "", at + i * size);
        }
        (void)fprintf(d->cli->out, " %s", text);
    }
    (void)fputc('\n', d->cli->out);
}

static void print_bytes_json(debug_t *d, unsigned type, uint32_t at, const uint8_t *p, uint32_t n)
{
    const unsigned size = debug_type_bytes(type);
    char text[40];
    json_t *list = json_array();
    for (uint32_t i = 0; (i + 1) * size <= n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, p + (size_t)i * size, size);
        debug_format(type, bits, text, sizeof text);
        (void)json_array_append_new(list, json_string(text));
    }
    cli_json_line(d->cli, json_pack("{s:s, s:i, s:o}", "type", debug_type_name(type), "at", (int)at, "values", list));
    d->hurried = true;
}

/* "x SPACE [TYPE] [BYTE [COUNT]]" */
static bool do_examine(debug_t *d, const words_t *w)
{
    tunewire_v1_DebugPeek q = tunewire_v1_DebugPeek_init_zero;
    tunewire_v1_DebugData data = tunewire_v1_DebugData_init_zero;
    unsigned type;
    uint32_t numbers[2] = {0, 16};
    if (w->n < 2) {
        return wrong(d, "x", "x mem|code|p0..p5 [TYPE] [BYTE [COUNT]]");
    }
    if (!ask_state(d, 0) || !space_of(d, w->w[1], &q, &type) || !span(d, w, 2, &type, numbers)) {
        return false;
    }
    q.at = numbers[0];
    q.bytes = tw_min_u32(tw_min_u32(numbers[1], PEEK_MAX) * debug_type_bytes(type), PEEK_MAX);
    if (!ask(d, TW_M_Script_Peek, &q, &data)) {
        return false;
    }
    if (d->cli->json) {
        print_bytes_json(d, type, q.at, data.data.bytes, data.data.size);
    } else {
        print_elements(d, type, q.at, data.data.bytes, data.data.size);
    }
    return true;
}

/* "set REG [TYPE] VALUE", "set SPACE BYTE [TYPE] VALUE" */
static bool do_set(debug_t *d, const words_t *w)
{
    tunewire_v1_DebugPoke q = tunewire_v1_DebugPoke_init_zero;
    unsigned type = TW_T_I32;
    uint64_t bits;
    if (w->n < 3) {
        return wrong(d, "set", "set r0..r5|s0|s1|T|lc [TYPE] VALUE, set mem|p0..p5 BYTE [TYPE] VALUE");
    }
    const int what = debug_register(w->w[1]);
    if (!ask_state(d, 0)) {
        return false;
    }
    if (what >= 0) {
        (void)debug_value(&d->s, what, &type, &bits);
        q.index = (uint32_t)what;
    } else {
        tunewire_v1_DebugPeek peek = tunewire_v1_DebugPeek_init_zero;
        if (!space_of(d, w->w[1], &peek, &type) || !number(d, w->w[2], &q.at)) {
            return false;
        }
        q.space = peek.space;
        q.index = peek.index;
    }
    const int named = debug_type(w->w[w->n - 2]);
    type = named >= 0 ? (unsigned)named : type;
    if (!debug_parse(type, w->w[w->n - 1], &q.bits)) {
        return wrong(d, w->w[w->n - 1], debug_type_name(type));
    }
    q.type = type;
    q.data.size = (pb_size_t)debug_type_bytes(type);
    memcpy(q.data.bytes, &q.bits, sizeof q.bits);
    d->s = (tunewire_v1_DebugState)tunewire_v1_DebugState_init_zero;
    return ask(d, TW_M_Script_Poke, &q, &d->s);
}

static bool do_display(debug_t *d, const words_t *w)
{
    for (unsigned i = 0; i < DEBUG_DISPLAYS && w->n > 1; i++) {
        if (!d->display[i][0]) {
            if (debug_register(w->w[1]) < 0) {
                return wrong(d, w->w[1], "r0..r5, s0, s1, T, lc, used");
            }
            (void)snprintf(d->display[i], sizeof d->display[i], "%s", w->w[1]);
            return true;
        }
    }
    return w->n > 1 ? wrong(d, "display", "16 at most: undisplay") : true;
}

static bool do_undisplay(debug_t *d, const words_t *w)
{
    for (unsigned i = 0; i < DEBUG_DISPLAYS; i++) {
        if (w->n < 2 || strcmp(d->display[i], w->w[1]) == 0) {
            d->display[i][0] = '\0';
        }
    }
    return true;
}

/* ---- trace ------------------------------------------------------------------------------------------------- */

static bool on_event(void *ctx, const uint8_t *p, uint32_t n)
{
    return debug_print_event(((debug_t *)ctx)->cli, p, n);
}

static bool do_trace(debug_t *d, const words_t *w)
{
    const bool on = w->n < 2 || strcmp(w->w[1], "off") != 0;
    if (d->tracing) {
        tw_client_drop(d->cli->c, &d->trace);
    }
    d->tracing = on;
    if (!on) {
        return true;
    }
    const tunewire_v1_ScriptTrace q = {.index = d->script, .kinds = UINT32_MAX};
    d->trace = (tw_client_sink_t){.data = on_event, .ctx = d};
    d->tracing =
        tw_client_call(d->cli->c, &(tw_client_call_t){.method = TW_M_Script_Trace, .request = &q, .sink = &d->trace});
    return d->tracing || (cli_fail_client(d->cli, "trace"), false);
}

/* ---- the table ------------------------------------------------------------------------------------------------ */

static bool do_help(debug_t *d, const words_t *w);

static const struct {
    const char *name, *shorter;
    bool (*run)(debug_t *d, const words_t *w);
    bool repeats; /* an empty line does it again */
    const char *args, *text;
} commands[] = {
    {"break", "b", do_break, false, "[[SCRIPT:]PC|line:N] [if REG OP VALUE] [skip N]", "hold before an instruction"},
    {"tbreak", "tb", do_tbreak, false, "the same", "hold there once"},
    {"watch", "w", do_watch, false, "REG|mem BYTE[:SIZE] [if ...] [skip N]", "hold when a value changed"},
    {"delete", "d", do_delete, false, "[N]", "forget a breakpoint, or all"},
    {"info", "i", do_info, false, "[break|registers|frames]", "what there is, where it is held"},
    {"continue", "c", do_continue, true, "", "go on until a script is held; Ctrl-C holds it"},
    {"step", "s", do_step, true, "[N]", "one instruction, or N"},
    {"next", "n", do_next, true, "", "one instruction, calls at once"},
    {"finish", "f", do_finish, true, "", "to the end of the routine"},
    {"until", "u", do_until, false, "[SCRIPT:]PC|line:N", "to an address"},
    {"hold", "h", do_hold, false, "[SCRIPT]", "hold what goes on, or the script's next call"},
    {"drop", "", do_drop, false, "", "forget the held call; the next one starts anew"},
    {"print", "p", do_print, false, "[REG...]", "registers with their types"},
    {"registers", "r", do_registers, false, "", "all of them, pointers, the stack's top"},
    {"frames", "bt", do_frames, false, "", "who called whom"},
    {"x", "", do_examine, true, "mem|code|p0..p5 [TYPE] [BYTE [COUNT]]", "memory, through a pointer's bounds"},
    {"set", "", do_set, false, "REG [TYPE] VALUE|mem BYTE [TYPE] VALUE", "change what the held script sees"},
    {"list", "l", do_list, false, "[PC|line:N]", "instructions, with --map beside their source"},
    {"display", "", do_display, false, "REG", "show it at every stop"},
    {"undisplay", "", do_undisplay, false, "[REG]", "no more"},
    {"trace", "t", do_trace, false, "[on|off]", "what the script does, as it comes"},
    {"help", "?", do_help, false, "", "this list"},
};

static bool do_help(debug_t *d, const words_t *w)
{
    (void)w;
    for (size_t i = 0; i < TW_COUNT(commands) && !d->cli->json; i++) {
        (void)fprintf(d->cli->out, "  %-10s %-3s %-48s %s\n", commands[i].name, commands[i].shorter, commands[i].args,
                      commands[i].text);
    }
    if (!d->cli->json) {
        (void)fprintf(d->cli->out, "  %-10s %-3s %-48s %s\n", "quit", "q", "[drop]",
                      "leave; a held call goes on, or is dropped");
    }
    return true;
}

/* By name, its short form, or a beginning only one has. */
static int find_command(const char *word)
{
    int found = -1;
    for (size_t i = 0; i < TW_COUNT(commands); i++) {
        if (strcmp(commands[i].name, word) == 0 || strcmp(commands[i].shorter, word) == 0) {
            return (int)i;
        }
        if (strncmp(commands[i].name, word, strlen(word)) == 0) {
            found = found == -1 ? (int)i : -2;
        }
    }
    return found;
}

static const char *complete(const char *begin)
{
    const int i = find_command(begin);
    return i >= 0 && strncmp(commands[i].name, begin, strlen(begin)) == 0 ? commands[i].name : NULL;
}

typedef enum outcome { GO_ON, FAILED, QUIT, QUIT_DROP } outcome_t;

static outcome_t run_command(debug_t *d, const char *line)
{
    words_t w;
    split(&w, line);
    if (w.n == 0 || w.w[0][0] == '#') {
        return GO_ON;
    }
    if (strcmp(w.w[0], "q") == 0 || strcmp(w.w[0], "quit") == 0) {
        return w.n > 1 && strcmp(w.w[1], "drop") == 0 ? QUIT_DROP : QUIT;
    }
    const int i = find_command(w.w[0]);
    if (i < 0) {
        (void)wrong(d, w.w[0], i == -2 ? "more than one command begins so" : "help lists the commands");
        return FAILED;
    }
    d->hurried = false;
    const bool ok = commands[i].run(d, &w);
    if (ok && d->cli->json && !d->hurried) {
        cli_json_line(d->cli, debug_json(d));
    }
    (void)fflush(d->cli->out);
    free(d->last);
    d->last = commands[i].repeats ? strdup(line) : NULL;
    return ok ? GO_ON : FAILED;
}

/* ---- the session ------------------------------------------------------------------------------------------------- */

/* The lease is renewed and the trace printed while nobody types. */
static bool idle(void *ctx)
{
    debug_t *d = ctx;
    if (cli_stopped(d->cli)) {
        return false;
    }
    if (interrupted) {
        interrupted = 0;
        (void)fputs("\n(quit leaves)\n", d->cli->out);
    }
    return ask_state(d, 0) && tw_client_pump(d->cli->c, 1);
}

/* Files end at the first command that fails; people get another try. */
static outcome_t run_lines(debug_t *d, FILE *in, bool terminal)
{
    outcome_t out = GO_ON;
    debug_lines_t *lines = debug_lines_open(in, "(script) ", terminal, complete);
    const char *line;
    while (lines && (out == GO_ON || (terminal && out == FAILED)) &&
           (line = debug_lines_next(lines, idle, d)) != NULL) {
        const char *again = terminal && !line[strspn(line, " \t")] && d->last ? d->last : line;
        char copy[1024];
        (void)snprintf(copy, sizeof copy, "%s", again);
        out = run_command(d, copy);
        if (!tw_client_alive(d->cli->c)) {
            break;
        }
    }
    debug_lines_close(lines);
    return out;
}

static bool attach(debug_t *d)
{
    const tunewire_v1_DebugAttach q = {
        .stop_graph = cli_option(d->cli, "--stop-graph") != NULL, .faults = true, .lease_ms = LEASE_MS};
    tw_scripts_t list;
    if (!tw_client_scripts(d->cli->c, &list)) {
        (void)cli_fail_client(d->cli, "scripts");
        return false;
    }
    bool known = false;
    for (uint32_t i = 0; i < list.n; i++) {
        known = known || list.rows[i].index == d->script;
    }
    free(list.rows);
    if (!known) {
        (void)cli_fail(d->cli, CLI_USAGE, d->cli->args[0], "tunewire script list shows them", "no such script");
        return false;
    }
    d->attached = ask(d, TW_M_Script_Attach, &q, &d->s);
    return d->attached;
}

static bool run_session(debug_t *d)
{
    const char *path = cli_option(d->cli, "--commands");
    const bool typed = path == NULL || strcmp(path, "-") == 0;
    FILE *in = typed ? stdin : fopen(path, "r");
    if (!in) {
        (void)cli_fail(d->cli, CLI_INPUT, path, "one command a line", "not readable");
        return false;
    }
    const bool terminal = typed && isatty(STDIN_FILENO) == 1 && d->cli->out_tty;
    d->wait_ms = d->wait_ms == 0 && !terminal ? BATCH_WAIT_MS : d->wait_ms;
    const outcome_t out = run_lines(d, in, terminal);
    if (!typed) {
        (void)fclose(in);
    }
    const tunewire_v1_DebugDetach q = {.drop = out == QUIT_DROP};
    if (d->tracing) {
        tw_client_drop(d->cli->c, &d->trace);
    }
    if (tw_client_alive(d->cli->c)) {
        tw_client_tidy(d->cli->c, TW_M_Script_Detach, &q, NULL);
    }
    return out != FAILED || terminal;
}

int verb_script_debug(tw_cli_t *cli)
{
    debug_t d = {.cli = cli};
    double wait;
    const char *map = cli_option(cli, "--map");
    if (!cli_script_index(cli, &d.script) || !cli_option_number(cli, "--wait", 1, 1e9, 0, &wait) ||
        (map && !debug_read_map(&d, map))) {
        return cli->exit;
    }
    d.wait_ms = (uint32_t)wait;
    struct sigaction act = {.sa_handler = on_interrupt}, old;
    interrupted = 0;
    (void)sigaction(SIGINT, &act, &old);
    const bool ok = attach(&d) && run_session(&d);
    (void)sigaction(SIGINT, &old, NULL);
    debug_free_map(&d.map);
    free(d.code.data);
    free(d.last);
    return ok ? CLI_OK : cli->exit;
}
