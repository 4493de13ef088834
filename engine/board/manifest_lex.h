/* manifest_lex.h - what graph texts and manifests have in common: lines, tokens, numbers, diagnostics.
 *
 * A text is a sequence of lines; a line is a sequence of words separated by
 * blanks and commas, `{` and `}` stand alone, `;` starts a comment. It knows no
 * tag. Tokens are slices of the text, so the text must outlive them. Host only.
 */
#pragma once
#include "engine/board/manifest.h"

/** Where texts come from: the file system, or memory in tests and fuzzers. */
typedef struct tw_text_source {
    void *ctx;
    /** @return malloc'ed bytes, *n of them, or NULL when there is no such text. */
    char *(*read)(void *ctx, const char *path, size_t *n);
} tw_text_source_t;
/** Files, at most TW_TEXT_MAX bytes each. */
extern const tw_text_source_t tw_text_files;
#define TW_TEXT_MAX (16u << 20)

/** In tw_text_t.map: that line is the same word for word, so columns are right too. */
#define TW_LINE_SAME 0x80000000u

/**
 * What to add to "cannot read 'path'": ", did you mean 'x'?" with the nearest name of its folder, ": there is no
 * such file", or nothing where that is not known. @return out
 */
const char *tw_text_near(const tw_text_source_t *src, const char *path, char *out, size_t size);

typedef struct tw_tok {
    const char *p;
    uint32_t n;
    unsigned col; /* 1-based */
} tw_tok_t;

/** A cursor over one text. */
typedef struct tw_text {
    const char *file;
    const char *bol, *p, *eol, *end; /* the line is [bol, eol), what is left of it [p, eol) */
    unsigned line;                   /* 1-based, 0 before the first */
    tw_diags_t *diags;
    bool fresh; /* no token of the line taken yet */
    /* A text made from another: [row - 1] is the line there, | TW_LINE_SAME. NULL: it is its own. */
    const uint32_t *map;
    unsigned row; /* as line, in this text */
    /* Every token taken goes here, after a blank or, the first of a line, a newline. NULL: nowhere. */
    void (*canon)(void *ctx, const char *p, size_t n);
    void *canon_ctx;
    bool print_only; /* nothing is made of the text: what no device can do is warned of */
} tw_text_t;

void tw_text_open(tw_text_t *t, const char *file, const char *text, size_t n, tw_diags_t *diags);
/** Go to the next line that has a token. @return false at the end */
bool tw_text_line(tw_text_t *t);
/** Take the next token of this line. @return false at its end, tok->col then says where that is */
bool tw_text_tok(tw_text_t *t, tw_tok_t *tok);
/** The same without taking it. */
bool tw_text_peek(const tw_text_t *t, tw_tok_t *tok);
/** Column of a token of this line, 0 without one, or where the line is not the user's. */
unsigned tw_text_col(const tw_text_t *t, const tw_tok_t *tok);
/** Forget the rest of the line. */
void tw_text_skip(tw_text_t *t);

bool tw_tok_is(const tw_tok_t *tok, const char *word);
/** Decimal or 0x; the whole token. */
bool tw_tok_int(const tw_tok_t *tok, int64_t *v);
/** The same without sign, up to 64 bits. */
bool tw_tok_uint(const tw_tok_t *tok, uint64_t *v);
/** Hexadecimal digits, 0x or not. */
bool tw_tok_hex(const tw_tok_t *tok, uint64_t *v);
/** Floating point, finite; a trailing f is accepted. */
bool tw_tok_num(const tw_tok_t *tok, double *v);
/** Copy into `size` bytes with a NUL. @return false when it was cut */
bool tw_tok_copy(const tw_tok_t *tok, char *to, size_t size);
/** True for "_end_", "_end", "end", "_end____". */
bool tw_tok_is_end(const tw_tok_t *tok);

/** Add a diagnostic; col 0 = whole line, line 0 = whole file. */
__attribute__((format(printf, 6, 7))) void tw_diag(tw_diags_t *d, bool warning, const char *file, unsigned line,
                                                   unsigned col, const char *fmt, ...);
/** More about the row just added: another place, or what would help. Dropped when that row was. */
__attribute__((format(printf, 5, 6))) void tw_diag_note(tw_diags_t *d, const char *file, unsigned line, unsigned col,
                                                        const char *fmt, ...);
/**
 * From here on `file` (this very pointer) is a text brought in at a place of `from`: "included here".
 * Its diagnostics tell so, and where `from` itself came in. Past 48 such texts it is left unsaid.
 */
__attribute__((format(printf, 6, 7))) void tw_diag_origin(tw_diags_t *d, const char *file, const char *from,
                                                          unsigned line, unsigned col, const char *fmt, ...);
/** The readers' names are about to go: forget what tw_diag_origin() compares with. Rows keep what they know. */
void tw_diag_origins_end(tw_diags_t *d);
/** "error", "warning" or "note". */
const char *tw_diag_kind(const tw_diag_t *row);
/** "file:line:col: error: text", as much of it as is known. */
void tw_diag_line(const tw_diag_t *row, char *out, size_t size);
/** "2 errors, 1 warning"; "no errors". */
void tw_diag_summary(const tw_diags_t *d, char *out, size_t size);
/** [bytes] of the word that begins at p, at least 1. */
uint32_t tw_word_length(const char *p, const char *end);
/** Error or warning at a token of the current line. */
__attribute__((format(printf, 3, 4))) void tw_text_error(tw_text_t *t, const tw_tok_t *tok, const char *fmt, ...);
__attribute__((format(printf, 3, 4))) void tw_text_warn(tw_text_t *t, const tw_tok_t *tok, const char *fmt, ...);

/**
 * Word of `words` (stride bytes apart, each a const char *) closest to the token in edits.
 * @return NULL when none is close enough to be meant
 */
const char *tw_nearest(const tw_tok_t *tok, const void *words, size_t count, size_t stride);

/** Names allowed in place of numbers: the code, or -1. */
typedef int (*tw_name_fn)(const char *name, size_t n);
/** The same among the names a function knows: raw types, units, domains. A token of one or two letters has none. */
const char *tw_nearest_name(const tw_tok_t *tok, tw_name_fn names);

/** Take an integer in lo..hi; `what` names it in the error. @return false after an error, *v unchanged */
bool tw_take_int(tw_text_t *t, const char *what, int64_t lo, int64_t hi, int64_t *v);
/** The same as one byte. */
bool tw_take_u8(tw_text_t *t, const char *what, uint8_t lo, uint8_t hi, uint8_t *v);
bool tw_take_num(tw_text_t *t, const char *what, double lo, double hi, double *v);
/** Take an option set "{idx v..}", "X" or "idx v..". */
bool tw_take_options(tw_text_t *t, const char *what, tw_name_fn names, double lo, double hi, tw_options_t *o);
/** Code of a processor architecture's name ("armv7e-m"), or -1. */
int tw_arch_find(const char *name, size_t n);
/** The same from numbers already taken: v[0] the index, then the list. `at` is where an error points. */
bool tw_set_options(tw_text_t *t, const tw_tok_t *at, const char *what, const double *v, unsigned n, tw_options_t *o);
/** The name meant instead of one that `names` does not know, or NULL; `text` may be used for it. */
const char *tw_near_code(const tw_tok_t *tok, tw_name_fn names, char *text, size_t size);
/** Take a number or a name. */
bool tw_take_code(tw_text_t *t, const char *what, tw_name_fn names, int64_t hi, int64_t *v);

/** One field of a record, filled from one integer, number or option set. */
typedef enum tw_field_kind {
    TW_FIELD_U8,
    TW_FIELD_U16,
    TW_FIELD_U32,
    TW_FIELD_I32,
    TW_FIELD_F32,
    TW_FIELD_F64
} tw_field_kind_t;
#define TW_FIELD_KIND(type, field)       \
    _Generic(((type *)0)->field, uint8_t \
             : TW_FIELD_U8, uint16_t     \
             : TW_FIELD_U16, uint32_t    \
             : TW_FIELD_U32, int32_t     \
             : TW_FIELD_I32, float       \
             : TW_FIELD_F32, double      \
             : TW_FIELD_F64)
/** Take one number into `at`. @return false after an error */
bool tw_take_field(tw_text_t *t, const char *what, tw_field_kind_t kind, double lo, double hi, void *at);

/** Path of `file` under folder `dir`, ".." and "." folded away. @return false when it does not fit */
bool tw_path_join(char *out, size_t size, const char *dir, const char *file);
/** Folder of a path, "." when it has none. */
void tw_path_dir(char *out, size_t size, const char *path);

/** Read one manifest. @return false after errors. Used by the platform reader and by tests. */
bool tw_io_manifest_parse(tw_io_manifest_t *m, tw_text_t *t);
/** True when the rows of a positional IO manifest, the next line being the first, begin with set 0 or copy 1. */
bool tw_io_begins_with_copy(const tw_text_t *t);
bool tw_node_manifest_parse(tw_node_manifest_t *m, tw_text_t *t);
bool tw_procmap_parse(tw_platform_t *p, tw_text_t *t);
/** tw_platform_read() from any source of texts. */
bool tw_platform_read_from(tw_platform_t *p, const char *path, const tw_text_source_t *src, tw_diags_t *d);
