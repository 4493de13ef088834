/* script.h - TWV-16 byte code: verify once, then run within a budget.
 *
 * A script reaches the world only through tw_script_host_t. It knows no graph
 * and no wire; it cannot loop for ever, leave its windows or allocate.
 * Instruction set: docs/SCRIPT_ISA.md.
 */
#pragma once
#include "engine/base/bytes.h"
#include "engine/base/config.h"

enum {
    TW_SCRIPT_REGS = 6,
    TW_SCRIPT_PTRS = 6,
    TW_SCRIPT_STACK_MAX = 64, /* 64-bit words */
    TW_SCRIPT_CALL_DEPTH = 8,
    TW_SCRIPT_LABELS = 128,
    TW_SCRIPT_NO_LABEL = 0xFFFF,
};

/** Types of registers (4 bits). */
typedef enum tw_stype {
    TW_T_I8,
    TW_T_U8,
    TW_T_I16,
    TW_T_U16,
    TW_T_I32,
    TW_T_U32,
    TW_T_TIME32,
    TW_T_I64,
    TW_T_U64,
    TW_T_FP8A,
    TW_T_FP8B,
    TW_T_FP16,
    TW_T_FP32,
    TW_T_FP64,
    TW_T_PTR,
    TW_T_CHAR
} tw_stype_t;

/** A script as stored: code and limits. Borrowed by every call below. */
typedef struct tw_script {
    const uint8_t *code;    /* little-endian halfwords */
    uint32_t code_bytes;    /* even */
    uint32_t pool_bytes;    /* literal pool, at code + round_up(code_bytes, 4) */
    uint8_t regs, ptrs;     /* declared, at most 6 each */
    uint8_t stack;          /* declared depth [64-bit words] */
    uint8_t shared;         /* memory is scratch, undefined at entry */
    uint8_t privileged;     /* the image asks for privileged system calls */
    uint32_t budget;        /* instructions a call; 0 = TW_SCRIPT_BUDGET */
    uint8_t *mem;           /* the script's memory, or NULL; at entry the last declared pointer shows it as int32 */
    uint32_t mem_bytes;     /* the verifier looks at this alone; without `mem` an access is a fault at run time */
    const uint16_t *labels; /* tw_script_index() of the code, or NULL: built at each call in the context */
    const void *fast;       /* tw_script_translate() of the code, or NULL: the compact machine alone runs it */
} tw_script_t;

typedef union tw_sval {
    int64_t i;
    uint64_t u;
    float s;  /* FP16 and FP32 values are held as float: the half of `i` that it leaves has no meaning */
    double f; /* FP64 */
} tw_sval_t;

/** Bytes of a script as it is stored: code, zeros to a multiple of 4 and literals where there are some. */
static inline uint32_t tw_script_bytes(uint32_t code_bytes, uint32_t pool_bytes)
{
    return pool_bytes != 0 ? tw_round_up(code_bytes, 4) + pool_bytes : code_bytes;
}

/** Fat pointer; space, base and size come only from the loader or a system call. */
typedef struct tw_sptr {
    uint8_t *base;
    uint32_t size;   /* [bytes] */
    uint32_t offset; /* [elements of `type`] */
    uint8_t space;   /* 0 none, 1 memory, 2 code constants (read-only), 3 parameters, 4 arc, 5 heap */
    uint8_t type;    /* tw_stype_t of an element */
} tw_sptr_t;

typedef struct tw_script_ctx tw_script_ctx_t;

/** The world of a script; every call returns 0 (then T = 1) or a status number (then T = 0). */
typedef struct tw_script_host {
    void *ctx;
    /** callsys k, 0..127: arguments and results in the context (tw_script_arg/..). */
    uint32_t (*syscall)(void *ctx, uint32_t k, tw_script_ctx_t *s);
    /** callapp k, 0..63. */
    uint32_t (*callapp)(void *ctx, uint32_t k, tw_script_ctx_t *s);
    /** callscript k: give script k, or NULL. Verified before; depth is counted by the VM. */
    const tw_script_t *(*script)(void *ctx, uint32_t k);
    /** brk k: tell a debugger; may be NULL. @return true: stop after it, tw_script_go() answers SCR_HELD. */
    bool (*brk)(void *ctx, uint32_t k, tw_script_ctx_t *s);
    bool privileged; /* `low` (7) allowed */
} tw_script_host_t;

/** Where a routine or another script goes back to. */
typedef struct tw_script_frame {
    const tw_script_t *script;
    const uint16_t *labels;
    uint32_t next; /* byte offset */
    uint16_t base;
    bool callscript;
} tw_script_frame_t;

/**
 * The whole state of the machine; the caller owns it, tw_script_begin() sets it up afresh each call. It holds
 * pointers to the scripts that run: while it is held between two tw_script_go() they must stay as they are.
 */
struct tw_script_ctx {
    /* what every instruction needs, first: short offsets make short code */
    uint8_t flag;   /* T */
    uint8_t errors; /* bit 0 division by zero, bit 1 conversion */
    uint8_t depth;  /* return addresses: frames in use */
    bool done, held;
    bool halt; /* done, held or failed: what the loop looks at */
    uint16_t sp, lc;
    uint16_t base; /* stack entries below belong to the callers */
    uint16_t s1;   /* place of code 15, fixed when the instruction starts */
    uint32_t used; /* instructions executed by this call */
    uint32_t pc;   /* byte offset of the instruction executed last (fault place); held: of the next one */
    uint32_t next; /* byte offset of the next instruction */
    uint32_t budget;
    tw_err_t err;
    const tw_script_t *script;
    const tw_script_host_t *host;
    const uint16_t *labels;
    tw_sptr_t p[TW_SCRIPT_PTRS];
    union { /* registers and stack, one after the other: the machine finds both by one index */
        struct {
            tw_sval_t r[TW_SCRIPT_REGS];
            tw_sval_t stack[TW_SCRIPT_STACK_MAX];
        };
        tw_sval_t v[TW_SCRIPT_REGS + TW_SCRIPT_STACK_MAX];
    };
    union { /* their types */
        struct {
            uint8_t rt[TW_SCRIPT_REGS];
            uint8_t stack_t[TW_SCRIPT_STACK_MAX];
        };
        uint8_t t[TW_SCRIPT_REGS + TW_SCRIPT_STACK_MAX];
    };
    tw_script_frame_t frames[TW_SCRIPT_CALL_DEPTH];
    uint16_t own_labels[TW_SCRIPT_LABELS]; /* of a script that brought none */
};

/**
 * Verify a script: every path (docs/SCRIPT_ISA.md "Verifier"). Device and host run the same code.
 * @param privileged  system call 7 acceptable
 * @param calls       out: bit k set when the script uses callscript k (for the cycle check)
 * @return TW_OK or an SCR_* error; fault->at = byte offset of the instruction, fault->section = the reason as
 *         tw_script_explain() knows it. Changes nothing. Takes about 4.3 KB of stack (TW_SCRIPT_JOINS and its like).
 */
tw_err_t tw_script_verify(const tw_script_t *s, bool privileged, uint64_t *calls, tw_fault_t *fault);

/**
 * What tw_script_verify() found, in words: "instruction 12 (byte 24) `load r0 *p2`: p2 is not set on every path ...".
 * A fault without a reason gives the text of its error. @return text, NUL-terminated, cut off at n
 */
const char *tw_script_explain(const uint8_t *code, uint32_t code_bytes, const tw_fault_t *fault, char *text, size_t n);

/** Byte offset of each label of verified code, TW_SCRIPT_NO_LABEL where there is none: makes calls start faster. */
void tw_script_index(const tw_script_t *s, uint16_t labels[TW_SCRIPT_LABELS]);

/** Bytes tw_script_translate() wants; 0: more jump targets or routines than it takes. Of verified code. */
uint32_t tw_script_fast_bytes(const tw_script_t *s);
/**
 * Translate verified code for the fast machine, which does in every respect what the compact one does (registers,
 * types, T, errors, memory, instructions counted, place of a fault). tw_script_go() without a limit uses it where
 * tw_script_t.fast names it; a limit, and everything rare, is for the compact machine. TW_SCRIPT_FAST 0: never.
 * @param mem  aligned as for a pointer; borrowed as long as the script has it, as are code and literals
 * @return for tw_script_t.fast; NULL: too little memory, or tw_script_fast_bytes() is 0. The script is as it was.
 */
const void *tw_script_translate(const tw_script_t *s, void *mem, uint32_t bytes);

/** What tw_script_verify() gives as `calls`, of code that passed it; also calls that no path reaches count. */
uint64_t tw_script_calls(const tw_script_t *s);

/**
 * Set up a call of a verified script; nothing runs yet. Parameters as of tw_script_run(), all borrowed until the end.
 */
void tw_script_begin(tw_script_ctx_t *c, const tw_script_t *s, const tw_script_host_t *host, const int64_t *args,
                     unsigned n_args, bool flag, uint32_t budget);

/**
 * Run on.
 * @param limit instructions to execute at most; 0 = to the end
 * @return TW_OK it ended; SCR_HELD limit reached or the host's brk() said so: c->pc is the next instruction, call
 *         again; SCR_BUDGET, SCR_FAULT, SCR_STACK: it ended there. An ended call stays so.
 */
tw_err_t tw_script_go(tw_script_ctx_t *c, uint32_t limit);

/**
 * Run a verified script: begin and go to the end.
 * @param args   first registers at entry (type i64), may be NULL; the rest is 0 (i32)
 * @param flag   T at entry
 * @param budget instructions allowed; 0 = the script's own
 * @return TW_OK, SCR_BUDGET, SCR_FAULT, SCR_STACK; c holds registers, T, pc and used in any case
 */
tw_err_t tw_script_run(const tw_script_t *s, const tw_script_host_t *host, tw_script_ctx_t *c, const int64_t *args,
                       unsigned n_args, bool flag, uint32_t budget);

/* for system calls */
int64_t tw_script_reg_int(const tw_script_ctx_t *c, unsigned reg);
void tw_script_set_int(tw_script_ctx_t *c, unsigned reg, tw_stype_t type, int64_t v);
/** The same as a real number, fp64. An integer beyond 2^53 is rounded. */
double tw_script_reg_real(const tw_script_ctx_t *c, unsigned reg);
void tw_script_set_real(tw_script_ctx_t *c, unsigned reg, tw_stype_t type, double v);
/** Memory image of the value, zero-extended. */
uint64_t tw_script_reg_bits(const tw_script_ctx_t *c, unsigned reg);
/** Pop an integer for an implicit s0 operand. @return false: stack empty. */
bool tw_script_pop_int(tw_script_ctx_t *c, int64_t *v);
/** Window of pointer `ptr` from its present element: NULL when unset or out of bounds. */
uint8_t *tw_script_window(const tw_script_ctx_t *c, unsigned ptr, uint32_t *bytes, bool for_write);

/**
 * Disassemble the instruction at `at` into text (NUL-terminated, truncated to n).
 * @return bytes of the instruction (2..10); words that do not resolve print as ".h16 xxxx".
 */
uint32_t tw_script_disasm(const uint8_t *code, uint32_t code_bytes, uint32_t at, char *text, size_t n);
