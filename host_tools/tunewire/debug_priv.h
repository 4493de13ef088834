/* debug_priv.h - what the files of `script debug` and `script trace` share.
 *
 * verb_script_debug.c understands commands and asks the device, debug_view.c makes text and JSON of what it says,
 * debug_line.c reads lines.
 */
#pragma once
#include "engine/engine.h"
#include "host_tools/tunewire/cli.h"

enum { DEBUG_WORDS = 12, DEBUG_DISPLAYS = 16 };

/* Lines of a source text by byte of the code, from a *.map.json. */
typedef struct debug_map {
    char *text; /* of the source, NUL between lines */
    const char **lines;
    unsigned n_lines;
    struct {
        uint32_t pc, line;
    } * rows;
    unsigned n;
    char file[256];
} debug_map_t;

typedef struct debug {
    tw_cli_t *cli;
    uint32_t script; /* that was named */
    tunewire_v1_DebugState s;
    tw_bytes_t code; /* of `code_of`: what is shown */
    uint32_t code_of;
    debug_map_t map;
    char display[DEBUG_DISPLAYS][32];
    uint32_t wait_ms; /* patience of `continue` when nobody can interrupt; 0: until Ctrl-C */
    bool attached, tracing, hurried;
    tw_client_sink_t trace;
    char *last; /* command that an empty line repeats */
} debug_t;

/* ---- debug_view.c ---- */
const char *debug_type_name(unsigned type);
/** Type code of a name, or -1. */
int debug_type(const char *name);
unsigned debug_type_bytes(unsigned type);
void debug_format(unsigned type, uint64_t bits, char *out, size_t cap);
/** Text as a value of the type. @return false: not one */
bool debug_parse(unsigned type, const char *text, uint64_t *bits);
/** TW_LOOK_* of a name, or -1; its value in the state. */
int debug_register(const char *name);
bool debug_value(const tunewire_v1_DebugState *s, int what, unsigned *type, uint64_t *bits);
const char *debug_register_name(unsigned what, char out[8]);
json_t *debug_json(const debug_t *d);
void debug_print_registers(const debug_t *d);
void debug_print_frames(const debug_t *d);
void debug_print_break(const debug_t *d, const tunewire_v1_DebugBreakpoint *b);
json_t *debug_break_json(const tunewire_v1_DebugBreakpoint *b);
/** Instructions around byte `at` of the code in d->code, the one there marked. */
void debug_list(const debug_t *d, uint32_t at, unsigned before, unsigned after);
/** Where and why. */
void debug_print_stop(const debug_t *d);
bool debug_read_map(debug_t *d, const char *path);
void debug_free_map(debug_map_t *m);
/** First byte of code of a source line, or of the next line that has one. @return false: none */
bool debug_line_pc(const debug_map_t *m, uint32_t line, uint32_t *pc);
/** An event of the trace as a line, or as JSON. */
bool debug_print_event(tw_cli_t *cli, const uint8_t *p, uint32_t n);

/* ---- debug_line.c ---- */
typedef struct debug_lines debug_lines_t;
/** Lines of `in`, with editing when it is a terminal and a library for it is there; complete() gives the one command
 *  that begins so, or NULL. */
debug_lines_t *debug_lines_open(FILE *in, const char *prompt, bool terminal, const char *(*complete)(const char *));
/** Next line without its end, NULL at the end; idle() is called now and then while nothing comes, and says false to
 *  end. */
const char *debug_lines_next(debug_lines_t *l, bool (*idle)(void *ctx), void *ctx);
void debug_lines_close(debug_lines_t *l);
