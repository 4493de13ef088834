/* sl_priv.h - the passes of the script language and what they hand on.
 *
 *   text --lex, parse--> tree --check--> typed tree, constants folded --generate--> instructions --emit--> words
 *
 * Every node and symbol lives in one arena that dies with the compilation. Depth of the tree is bounded when it is
 * built (DEPTH_MAX), so passes may recur over it. A pass stops the next one when it found errors.
 */
#pragma once
#include "engine/base/bytes.h"
#include "engine/base/formats.h"
#include "engine/base/units.h"
#include "engine/script/script.h"
#include "host_tools/scriptlang/scriptlang.h"

enum { DEPTH_MAX = 100, NAME_CHARS = 63, SYMBOLS_MAX = 1000, ARGS_MAX = 4 };

/* ---- sl_lex.c ------------------------------------------------------------------------------- */
typedef enum tok_kind {
    TK_END,     /* of the text */
    TK_NEWLINE, /* of a line */
    TK_SEMI,
    TK_NAME,   /* letters, digits, _ and dots */
    TK_NUMBER, /* value, unit, whole */
    TK_STRING,
    TK_OP,
} tok_kind_t;

typedef struct pos {
    unsigned line, col;
} pos_t;

typedef struct token {
    tok_kind_t kind;
    const char *p;
    uint32_t n; /* of a string: without the quotes */
    pos_t pos;
    double value;
    bool whole; /* written without point or exponent, and still a whole number in its unit */
    int unit;   /* UNIT_NONE, a code of units.def, or one of unit_own */
} token_t;

/* Units of our own beside units.def: what a level is, on two scales. */
enum unit_own { UNIT_NONE = -1, UNIT_LEVEL = 200 /* linear, full scale = 1 */, UNIT_DBFS = 201 };

typedef struct arena {
    struct arena_block *first;
    size_t used;
} arena_t;

typedef struct compiler compiler_t;

/** Zeroed memory until arena_free(); NULL (and an error) when there is no more. */
void *sl_take(compiler_t *c, size_t bytes);
void sl_arena_free(arena_t *a);

__attribute__((format(printf, 3, 4))) void sl_error(compiler_t *c, pos_t pos, const char *fmt, ...);
__attribute__((format(printf, 3, 4))) void sl_warn(compiler_t *c, pos_t pos, const char *fmt, ...);
/** More about the error just added. */
__attribute__((format(printf, 3, 4))) void sl_note(compiler_t *c, pos_t pos, const char *fmt, ...);

/** Take the next token into c->tok. */
void sl_next(compiler_t *c);
/** c->tok is the first token of a name of an arc or node that may hold '-' and '/': take the whole of it. */
void sl_widen_name(compiler_t *c);
bool sl_is(const token_t *t, const char *text);
/** Unit by its spelling behind a number, or UNIT_NONE; *scale to the unit returned. */
int sl_unit_find(const char *p, uint32_t n, double *scale);
const char *sl_unit_name(int unit);

/* ---- the tree --------------------------------------------------------------------------------- */
typedef enum type { TYPE_NONE, TYPE_INT, TYPE_FLOAT } type_t;

typedef enum op {
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_MOD,
    OP_AND,
    OP_OR,
    OP_XOR,
    OP_SHL,
    OP_SHR,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_BOTH,   /* and */
    OP_EITHER, /* or */
    OP_NEG,
    OP_INV, /* ~ */
    OP_NOT, /* not */
    OP_ABS, /* from here on: of functions */
    OP_SQRT,
    OP_MIN,
    OP_MAX,
    OP_TO_INT,
    OP_TO_FLOAT,
    OP_ROUND,
    OP_LERP, /* a, b, third */
} op_t;

typedef enum node_kind {
    /* expressions */
    N_NUMBER,
    N_NAME,   /* before the check: text */
    N_SYMBOL, /* a scalar */
    N_INDEX,  /* sym[a] */
    N_PARAM,  /* before the check: text; then tag, index */
    N_UNARY,
    N_BINARY,
    N_LERP,
    N_CALL, /* of a function, or before the check of anything: text, list */
    N_SYS,  /* system call: k, a..d */
    N_TEXT, /* a string */
    N_ARC,  /* arc name or number, before the check */
    N_NODE, /* node name, before the check */
    N_LIST, /* [a, b, ...]: list */
    /* statements */
    N_BLOCK, /* list */
    N_VAR,
    N_LET,
    N_CONST,
    N_TABLE,
    N_ASSIGN, /* a = b; op or -1 */
    N_EVAL,   /* a for its effect */
    N_TOGGLE, /* gpio a */
    N_IF,     /* a, b, c */
    N_WHILE,  /* a, b */
    N_FOR,    /* sym, a..b step value, c body */
    N_REPEAT, /* a, b */
    N_BREAK,
    N_CONTINUE,
    N_RETURN, /* a or nothing */
    N_SKIP,
    N_SECTION, /* value = phase, b */
    N_EVERY,   /* a = period, b */
    N_FUNC,    /* sym, b */
    N_MACHINE, /* list of N_STATE */
    N_STATE,   /* text, a = enter block, b */
    N_GOTO,    /* text, then value */
    N_RUN,     /* script number a */
    N_APP,     /* application callback: number a, value b */
} node_kind_t;

struct symbol;

typedef struct node {
    struct node *next; /* in a list */
    struct node *a, *b, *c, *d;
    struct node *list;
    struct symbol *sym;
    const char *text;
    uint32_t n;
    pos_t pos;
    double value;
    int16_t unit;
    uint8_t kind, op, type, depth;
    uint8_t k; /* N_SYS: number of the call */
    uint8_t p0, p1;
    uint16_t tag, index;        /* N_PARAM; N_SYS: index = arc or node popped, tag = 1: one is */
    const tw_sl_param_t *param; /* N_PARAM */
    struct symbol *buffer, *buffer2;
    uint16_t local; /* N_FOR: first hidden local; N_MACHINE, N_EVERY: memory word */
    bool flag;      /* statement-specific: N_ASSIGN declared nothing; N_STATE has enter */
} node_t;

typedef enum symbol_kind { SYM_VAR, SYM_LET, SYM_CONST, SYM_TABLE, SYM_FUNC } symbol_kind_t;

typedef struct symbol {
    struct symbol *outer; /* declared before, innermost first */
    const char *name;
    uint32_t n;
    pos_t pos;
    uint8_t kind, type;
    int16_t unit;
    bool fixed;      /* not to be assigned */
    bool array;      /* SYM_VAR with a length, SYM_TABLE */
    uint8_t element; /* tw_stype_t of an array's elements */
    uint32_t length; /* elements, 1 for scalars */
    uint32_t at;     /* SYM_VAR: byte in memory; SYM_LET: local number; SYM_TABLE: pool label */
    double value;    /* SYM_CONST; initial value of a scalar SYM_VAR */
    bool ranged;     /* low..high hold: a loop variable */
    double low, high;
    node_t *values; /* initial values of an array */
    /* functions */
    node_t *body, *params;   /* list of N_LET */
    struct symbol *function; /* SYM_LET: the one it is in, NULL a section */
    uint16_t locals;         /* most at one time */
    uint16_t base;           /* first local */
    uint8_t level;           /* routines below it, itself included */
    uint8_t stack;           /* entries it pushes at most */
    uint16_t label;
    uint32_t cost;
    bool bounded, used, made, loops; /* loops: it uses the loop counter */
    uint64_t calls;                  /* bit per function it calls, by number */
    uint32_t number;
} symbol_t;

enum { FUNCTIONS_MAX = 31 };

struct compiler {
    const tw_sl_opts_t *opts;
    tw_sl_out_t *out;
    arena_t arena;
    const char *text, *at, *end, *line_start;
    unsigned line;
    unsigned depth; /* of statements inside one another */
    token_t tok;
    bool failed; /* out of memory, or too much of something: stop */
    node_t *program;
    /* check */
    symbol_t *scope;
    unsigned n_symbols;
    symbol_t *functions[FUNCTIONS_MAX];
    unsigned n_functions;
    symbol_t *function; /* being checked, NULL a section */
    uint16_t locals;    /* live in the routine */
    uint16_t main_locals;
    unsigned loops; /* open in the routine */
    node_t *machine;
    bool in_section;
    bool sections;      /* there are some: reset matters */
    uint32_t var_bytes; /* memory given so far */
    bool has_vars;      /* memory keeps values: it has a mark */
    uint32_t mark_crc;
};

/* ---- passes ------------------------------------------------------------------------------------- */
/** Text to c->program. */
void sl_parse(compiler_t *c);
/** An expression with the token at hand; NULL after an error. */
node_t *sl_expression(compiler_t *c);
void sl_check(compiler_t *c);
void sl_generate(compiler_t *c);

node_t *sl_node(compiler_t *c, node_kind_t kind, pos_t pos);
/** Set the depth of a node from its parts; false (and an error) when the tree is too deep. */
bool sl_join(compiler_t *c, node_t *n);
/** Consume an operator or word. */
bool sl_accept(compiler_t *c, const char *text);
bool sl_expect(compiler_t *c, const char *text, const char *why);
/** "expected X, found Y". */
void sl_expected(compiler_t *c, const char *what);
/** Words that mean something to the language and cannot be names. */
bool sl_reserved(const char *p, uint32_t n);
