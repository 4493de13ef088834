/* script_gen.c - random TWV-16 programs: items of code with the depth of the stack and the pointers in mind. */
#include "tests/oracle/script_gen.h"
#include <string.h>

enum { R_LC = 12, R_ZERO = 13, R_S0 = 14, R_S1 = 15, NEST = 3, LADDER = 6 };

typedef struct gen {
    uint64_t *seed;
    gen_script_t *s;
    unsigned n;          /* halfwords written */
    unsigned room;       /* halfwords left for items; ends of blocks have some in reserve */
    unsigned depth;      /* of the stack */
    unsigned floor;      /* entries below belong to an outer block */
    unsigned set, write; /* pointers set, and such that may be stored through */
    unsigned label;      /* next free one */
    unsigned nest;       /* blocks around */
    unsigned loops;
    unsigned self;    /* number of the script */
    unsigned scripts; /* it may call self+1..scripts-1 */
    unsigned routine; /* label of the next routine, 0 = none left */
    unsigned routines;
    unsigned here; /* routine being written */
    unsigned pool_labels;
    bool in_routine;
} gen_t;

uint64_t gen_random(uint64_t *seed)
{
    uint64_t x = *seed;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *seed = x;
    return x * 0x2545F4914F6CDD1Dull;
}

static unsigned below(gen_t *g, unsigned n)
{
    return (unsigned)((gen_random(g->seed) >> 32) * n >> 32);
}

static bool chance(gen_t *g, unsigned percent)
{
    return below(g, 100) < percent;
}

static void word(gen_t *g, unsigned w)
{
    if (g->n < GEN_CODE / 2) {
        g->s->bytes[2 * g->n] = (uint8_t)w;
        g->s->bytes[2 * g->n + 1] = (uint8_t)(w >> 8);
        g->n++;
    }
    g->room -= g->room > 0;
}

/* ---- values ---- */

static const uint8_t sizes[16] = {1, 1, 2, 2, 4, 4, 4, 8, 8, 1, 1, 2, 4, 8, 8, 1};

static uint64_t whole_bits(gen_t *g)
{
    static const uint64_t corners[] = {0,          1,
                                       2,          3,
                                       7,          127,
                                       128,        255,
                                       256,        1000,
                                       0x7FFF,     0x8000,
                                       0xFFFF,     0x10000,
                                       0x7FFFFFFF, 1u << 31,
                                       UINT32_MAX, (uint64_t)1 << 53,
                                       INT64_MAX,  (uint64_t)1 << 63};
    const unsigned kind = below(g, 8);
    if (kind < 2) {
        return below(g, 17);
    }
    if (kind < 5) {
        const uint64_t v = corners[below(g, TW_COUNT(corners))];
        return chance(g, 40) ? (uint64_t)0 - v : v;
    }
    const uint64_t v = gen_random(g->seed);
    return kind == 5 ? v >> below(g, 64) : kind == 6 ? (uint64_t)1 << (v & 63) : v;
}

static uint64_t fp64_bits(gen_t *g)
{
    static const double corners[] = {0.0,     1.0,    -1.0,         0.5,          1.5,     2.5,          127.5,
                                     128.0,   255.9,  32767.5,      65504.0,      65520.0, 2147483648.0, 4294967296.0,
                                     9.3e18,  1.9e19, 2147483647.5, 2147483648.5, 1e-8,    6e-8,         1e-45,
                                     1.5e-45, 3.5e38, 1e300,        5e-324,       0.1};
    uint64_t b;
    switch (below(g, 6)) {
    case 0: { /* inf, nan */
        b = (uint64_t)0x7FF << 52 | (chance(g, 50) ? (uint64_t)1 << 51 : 0);
        break;
    }
    case 1: { /* small numbers */
        const double v = (double)below(g, 2000) / 16.0 - 40.0;
        memcpy(&b, &v, 8);
        break;
    }
    case 2:
        b = gen_random(g->seed);
        break;
    case 3: /* exponents a single or a half can hold */
        b = gen_random(g->seed) >> 12 | (uint64_t)(1023 - 40 + below(g, 80)) << 52;
        break;
    default:
        memcpy(&b, &corners[below(g, TW_COUNT(corners))], 8);
    }
    return chance(g, 30) ? b ^ (uint64_t)1 << 63 : b;
}

static uint64_t fp32_bits(gen_t *g)
{
    const uint64_t d = fp64_bits(g);
    double v;
    memcpy(&v, &d, 8);
    const float f = v > 3.5e38 || v < -3.5e38 ? 3.4e38f : (float)v;
    uint32_t b;
    memcpy(&b, &f, 4);
    return chance(g, 25) ? (uint32_t)gen_random(g->seed) : b;
}

static uint64_t fp16_bits(gen_t *g)
{
    static const uint16_t corners[] = {0x0000, 0x8000, 0x0001, 0x03FF, 0x0400, 0x3C00, 0xBC00, 0x3800, 0x7BFF,
                                       0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x4000, 0x4900, 0x5800, 0x3555};
    return chance(g, 50) ? corners[below(g, TW_COUNT(corners))] : gen_random(g->seed) & 0xFFFF;
}

static uint64_t literal_bits(gen_t *g, unsigned t)
{
    switch (t) {
    case TW_T_FP16:
        return fp16_bits(g);
    case TW_T_FP32:
        return fp32_bits(g);
    case TW_T_FP64:
        return fp64_bits(g);
    default:
        return whole_bits(g);
    }
}

/* Any type that can be computed with; floats and the narrow ones often enough. */
static unsigned number_type(gen_t *g)
{
    static const uint8_t kinds[] = {0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 11, 12, 12, 13, 15};
    return kinds[below(g, sizeof kinds)];
}

/* ---- operands: the stack is counted as they are chosen ---- */

static unsigned reg(gen_t *g)
{
    return g->s->regs != 0 ? below(g, g->s->regs) : R_ZERO;
}

static unsigned own(const gen_t *g)
{
    return g->depth - g->floor;
}

/* s1 stays readable while `begin` entries of the block were there at the start and at most one is popped since. */
static unsigned source(gen_t *g, unsigned begin)
{
    const unsigned k = below(g, 20);
    if (k < 5 && own(g) > 0) {
        g->depth--;
        return R_S0;
    }
    if (k < 7 && begin >= 2) {
        return R_S1;
    }
    return k == 7 ? R_LC : k == 8 ? R_ZERO : reg(g);
}

static unsigned target(gen_t *g, unsigned begin)
{
    const unsigned k = below(g, 20);
    if (k < 5 && g->depth < g->s->stack) {
        g->depth++;
        return R_S0;
    }
    if (k < 7 && begin >= 2 && begin - own(g) < 2) {
        return R_S1;
    }
    return k == 7 ? R_LC : k == 8 ? R_ZERO : reg(g);
}

static void literal(gen_t *g, unsigned r, unsigned t)
{
    const uint64_t b = literal_bits(g, t);
    word(g, 0x2000 | r << 8 | t);
    word(g, (unsigned)(sizes[t] == 1 ? b & 0xFF : b & 0xFFFF));
    for (unsigned i = 2; i < sizes[t]; i += 2) {
        word(g, (unsigned)(b >> 8 * i & 0xFFFF));
    }
}

static void push(gen_t *g)
{
    if (g->depth >= g->s->stack) {
        return;
    }
    g->depth++;
    switch (below(g, 6)) {
    case 0:
        word(g, 0xC200);
        break;
    case 1:
        word(g, 0x10E0 | reg(g));
        break;
    case 2:
        if (own(g) > 1) {
            word(g, 0xC400);
            break;
        }
        literal(g, R_S0, number_type(g));
        break;
    case 3:
        word(g, 0x14E0 | reg(g));
        break;
    default:
        literal(g, R_S0, number_type(g));
    }
}

static void pop(gen_t *g)
{
    g->depth--;
    word(g, (chance(g, 50) ? 0x1000 : 0x1400) | (chance(g, 20) ? R_ZERO : reg(g)) << 4 | R_S0);
}

static void level(gen_t *g, unsigned depth)
{
    while (g->depth > depth) {
        pop(g);
    }
    while (g->depth < depth) {
        g->depth++;
        literal(g, R_S0, number_type(g));
    }
}

/* ---- instructions ---- */

static void binary(gen_t *g)
{
    static const uint8_t ops[] = {0xD1, 0xD2, 0xD3, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8, 0xD9, 0xDA,
                                  0xDB, 0xDC, 0xDE, 0xDF, 0xE0, 0xE3, 0xE4, 0xE5, 0xE6, 0xE7};
    const unsigned op = ops[below(g, sizeof ops)];
    const unsigned begin = own(g);
    const bool blend = op >= 0xE5;
    if (blend && own(g) < 1) {
        push(g);
        return;
    }
    const unsigned reserve = blend ? 1 : 0; /* the implicit operand */
    g->floor += reserve;
    const unsigned x = source(g, begin);
    const unsigned y = source(g, begin);
    g->floor -= reserve;
    g->depth -= reserve;
    g->depth += x == R_S0;
    word(g, op << 8 | x << 4 | y);
}

static void unary(gen_t *g)
{
    static const uint8_t ops[] = {0xCA, 0xCB, 0xCC, 0xCD, 0xCE};
    const unsigned begin = own(g);
    const unsigned y = source(g, begin);
    const unsigned x = target(g, begin);
    word(g, (unsigned)ops[below(g, sizeof ops)] << 8 | x << 4 | y);
}

static void test(gen_t *g)
{
    const unsigned begin = own(g);
    const unsigned x = source(g, begin);
    const unsigned kind = below(g, 16);
    if (kind < 9) {
        word(g, (0xE8 + below(g, 7)) << 8 | x << 4 | source(g, begin));
    } else if (kind < 12) {
        word(g, (0x5 + below(g, 3)) << 12 | x << 8 | (chance(g, 50) ? below(g, 256) : below(g, 4)));
    } else if (kind < 13 && g->s->regs >= 2) {
        word(g, 0xEF00 | x << 4 | below(g, g->s->regs - 1u));
    } else if (kind < 14) {
        word(g, (chance(g, 50) ? 0xD000 : 0xDD00) | x << 4);
    } else {
        word(g, 0x9080 | x << 8 | below(g, 128));
    }
}

static void edit(gen_t *g)
{
    const unsigned begin = own(g);
    const unsigned before = g->depth;
    const unsigned x = source(g, begin);
    g->depth = before;
    switch (below(g, 8)) {
    case 0:
        word(g, 0x4000 | x << 8 | below(g, 256));
        break;
    case 1:
        word(g, (chance(g, 50) ? 0xE100 : 0xE200) | x << 4);
        break;
    case 2:
    case 3:
        word(g, 0x8000 | x << 8 | below(g, 256));
        break;
    case 4:
        word(g, 0x9000 | x << 8 | below(g, 128));
        break;
    case 5:
    case 6:
        word(g, 0xC800 | x << 4 | number_type(g));
        break;
    default:
        word(g, 0xC900 | x << 4 | number_type(g));
    }
}

static void field(gen_t *g)
{
    const unsigned begin = own(g);
    const bool insert = chance(g, 50);
    unsigned x = 0;
    if (insert) {
        x = source(g, begin);
    }
    const unsigned d = source(g, begin);
    if (!insert) {
        x = target(g, begin);
    }
    g->depth += insert && x == R_S0;
    const unsigned lsb = below(g, 64);
    const unsigned len = chance(g, 30) ? 64 - lsb : 1 + below(g, 64 - lsb);
    word(g, 0xA000 | x << 8 | (insert ? 0x10 : 0) | d);
    word(g, (len - 1) << 8 | lsb);
}

static void move(gen_t *g)
{
    const unsigned begin = own(g);
    const unsigned kind = below(g, 8);
    if (kind < 5) {
        const unsigned y = source(g, begin);
        const unsigned x = target(g, begin);
        word(g, (kind < 3 ? 0x1000 : 0x1400) | x << 4 | y);
        return;
    }
    if (kind < 6) {
        word(g, 0xC700 | reg(g) << 4 | (chance(g, 20) ? R_LC : reg(g)));
        return;
    }
    const unsigned x = source(g, begin);
    const unsigned y = source(g, begin);
    g->depth += (x == R_S0) + (y == R_S0);
    word(g, 0xC600 | x << 4 | y);
}

/* fp8 travels and is turned back at once, so that nothing computes with it. */
static void travel(gen_t *g)
{
    if (g->s->regs < 2) {
        return;
    }
    const unsigned t = TW_T_FP8A + below(g, 2);
    const unsigned a = reg(g);
    const unsigned b = reg(g);
    if (chance(g, 50)) {
        word(g, 0xC900 | a << 4 | t);
    } else {
        literal(g, a, t);
    }
    word(g, (chance(g, 50) ? 0x1400 : 0xC600) | b << 4 | a);
    if (g->write != 0 && chance(g, 50)) {
        const unsigned p = 6 + (unsigned)__builtin_ctz(g->write);
        word(g, 0x3200 | p << 4 | t);
        word(g, 0x1200 | p << 4 | b);
        word(g, 0x1100 | a << 4 | p);
        word(g, 0x3200 | p << 4 | number_type(g));
    }
    word(g, 0xC900 | a << 4 | number_type(g));
    word(g, 0xC900 | b << 4 | number_type(g));
}

/* ---- pointers ---- */

static unsigned pointer_of(gen_t *g, unsigned mask)
{
    unsigned p = below(g, 6);
    while ((mask >> p & 1) == 0) {
        p = (p + 1) % 6;
    }
    return p;
}

/* Away from the script's own memory: that pointer is what routines rely on. */
static void constants(gen_t *g)
{
    const unsigned spare = g->s->ptrs - (g->s->mem_bytes != 0);
    if (g->pool_labels == 0 || spare == 0 || g->s->ptrs == 0 || g->depth >= g->s->stack) {
        return;
    }
    const unsigned p = below(g, spare);
    if (g->loops != 0 && (g->write >> p & 1) != 0) {
        return;
    }
    word(g, 0x0800 | (120 + below(g, g->pool_labels)));
    word(g, (chance(g, 50) ? 0x1000 : 0x1400) | (6 + p) << 4 | R_S0);
    g->set |= 1u << p;
    g->write &= ~(1u << p);
}

static void step(gen_t *g, unsigned p)
{
    if (chance(g, 65)) { /* a number that is likely to stay within */
        const unsigned r = reg(g);
        if (r != R_ZERO) {
            word(g, 0x2000 | r << 8 | below(g, 9));
            const unsigned t = tw_get_le16(g->s->bytes + 2 * (g->n - 1)) & 15;
            const unsigned v = below(g, 12);
            word(g, v);
            for (unsigned i = 2; i < sizes[t]; i += 2) {
                word(g, 0);
            }
        }
        static const uint8_t ops[] = {0x30, 0x33, 0x34, 0x34, 0x31, 0xE5, 0xE6};
        const unsigned op = ops[below(g, chance(g, 80) ? 4 : sizeof ops)];
        word(g, op << 8 | (6 + p) << 4 | r);
        return;
    }
    static const uint8_t ops[] = {0x30, 0x33, 0x34, 0xE5, 0xE6, 0x34, 0x34, 0x31};
    word(g, (unsigned)ops[below(g, sizeof ops)] << 8 | (6 + p) << 4 | source(g, own(g)));
}

static void pointer(gen_t *g)
{
    const unsigned kind = below(g, 16);
    if (g->set == 0 || kind < 2) {
        constants(g);
        return;
    }
    const unsigned p = pointer_of(g, g->set);
    const unsigned post = chance(g, 40) ? 0x0800 : 0;
    const unsigned begin = own(g);
    if (kind < 6) {
        word(g, (0x1100 + post) | target(g, begin) << 4 | (6 + p));
    } else if (kind < 10 && g->write != 0) {
        word(g, (0x1200 + post) | (6 + pointer_of(g, g->write)) << 4 | source(g, begin));
    } else if (kind < 12) {
        step(g, p);
    } else if (kind < 13) {
        word(g, 0x3200 | (6 + p) << 4 | number_type(g));
    } else if (kind < 14) {
        word(g, 0x3500 | (6 + p) << 4 | target(g, begin));
    } else if (g->s->mem_bytes != 0) { /* back to the base */
        word(g, 0x3000 | (5 + g->s->ptrs) << 4 | R_ZERO);
    }
}

/* ---- blocks ---- */

static void items(gen_t *g, unsigned n);

static void branch(gen_t *g)
{
    if (g->room < 24) {
        return;
    }
    const unsigned depth = g->depth;
    const unsigned floor = g->floor;
    const unsigned set = g->set;
    const unsigned write = g->write;
    const unsigned skip = g->label++;
    word(g, 0x0080 | skip);
    g->floor = depth > 1 && chance(g, 50) ? depth - 1 : depth;
    if (g->floor < floor) {
        g->floor = floor;
    }
    g->nest++;
    items(g, 1 + below(g, 4));
    level(g, depth);
    if (chance(g, 40)) {
        const unsigned end = g->label++;
        const unsigned after = g->set;
        const unsigned after_write = g->write;
        word(g, end);
        word(g, 0x0500 | skip);
        g->set = set;
        g->write = write;
        items(g, 1 + below(g, 3));
        level(g, depth);
        word(g, 0x0500 | end);
        g->set &= after;
        g->write &= after_write;
    } else {
        word(g, 0x0500 | skip);
        g->set &= set;
        g->write &= write;
    }
    g->nest--;
    g->floor = floor;
}

static void loop(gen_t *g)
{
    if (g->room < 24) {
        return;
    }
    const unsigned depth = g->depth;
    const unsigned floor = g->floor;
    const unsigned again = g->label++;
    const bool counted = chance(g, 80);
    word(g, 0x2C03);
    word(g, 1 + below(g, 5));
    word(g, 0x0500 | again);
    g->floor = depth;
    g->nest++;
    g->loops++;
    items(g, 1 + below(g, 4));
    level(g, depth);
    if (counted) {
        word(g, 0x0600 | again);
    } else {
        test(g);
        level(g, depth);
        word(g, 0x0080 | again);
    }
    g->loops--;
    g->nest--;
    g->floor = floor;
}

static void over(gen_t *g)
{
    const unsigned at = g->n;
    const unsigned depth = g->depth;
    const unsigned floor = g->floor;
    const unsigned set = g->set;
    const unsigned write = g->write;
    word(g, 0x0180);
    g->floor = depth;
    items(g, 1);
    level(g, depth);
    g->floor = floor;
    g->set &= set;
    g->write &= write;
    if (g->n - at - 1 < 64) {
        g->s->bytes[2 * at] = (uint8_t)(0x80 | (g->n - at - 1));
    }
}

static void host_call(gen_t *g)
{
    static const uint8_t plain[] = {0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 39};
    const unsigned kind = below(g, 10);
    if (kind < 4) {
        word(g, 0x0300 | (chance(g, 30) ? 0x80 : 0) | plain[below(g, sizeof plain)]);
    } else if (kind < 7 && own(g) > 0) {
        g->depth--;
        word(g, 0x0320 + below(g, 7));
    } else if (kind < 9) {
        word(g, 0x0400 | (chance(g, 30) ? 0x80 : 0) | below(g, 64));
    } else {
        word(g, 0x0F00 | below(g, 256));
    }
}

static void call(gen_t *g)
{
    if (g->in_routine) { /* the next one: chains of calls may get too deep for a script that calls scripts */
        if (g->here + 1 < g->routines && g->here != 0 && g->depth < g->s->stack) {
            word(g, 0x0200 | (21 + g->here));
        }
        return;
    }
    if (g->routines < 3 && !g->in_routine && g->depth + 4 <= g->s->stack) {
        word(g, 0x0200 | (20 + g->routines));
        g->depth += g->routines == 1; /* the second gives a result */
        if (g->depth > g->s->stack) {
            g->depth = g->s->stack;
        }
        g->routines++;
    } else if (g->routines > 0 && !g->in_routine && g->depth + 4 <= g->s->stack) {
        word(g, 0x0200 | (chance(g, 30) ? 0x80 : 0) | 20);
    }
}

static unsigned a_script(gen_t *g)
{
    const unsigned there = g->scripts - g->self - 1;
    return there == 0 || chance(g, 5) ? 40 + below(g, 24) : g->self + 1 + below(g, there);
}

/* Afterwards only the script's memory is there again. */
static void other_script(gen_t *g)
{
    if (g->loops != 0 || g->nest != 0 || g->in_routine || (g->self + 1 == g->scripts && chance(g, 90))) {
        return;
    }
    word(g, 0x0440 | (chance(g, 30) ? 0x80 : 0) | a_script(g));
    g->set = g->write = g->s->mem_bytes != 0 && g->s->ptrs != 0 ? 1u << (g->s->ptrs - 1) : 0;
}

static void rare(gen_t *g)
{
    switch (below(g, 6)) {
    case 0:
        word(g, 0xCF00);
        break;
    case 1:
        word(g, 0xC500);
        break;
    case 2:
        if (g->nest == 0 && !g->in_routine) {
            word(g, 0xC300);
            g->depth = 0;
        }
        break;
    case 3:
        other_script(g);
        break;
    case 4:
        if (g->set != 0 && g->s->ptrs > 1) { /* pointers travel */
            const unsigned from = pointer_of(g, g->set);
            const unsigned to = below(g, g->s->ptrs - 1u);
            if (g->loops == 0 || (g->write >> from & 1) >= (g->write >> to & 1)) {
                word(g, (chance(g, 50) ? 0x1000 : 0x1400) | (6 + to) << 4 | (6 + from));
                g->set |= 1u << to;
                g->write = (g->write & ~(1u << to)) | (g->write >> from & 1) << to;
            }
        }
        break;
    default:
        travel(g);
    }
}

static void item(gen_t *g)
{
    const unsigned k = below(g, 100);
    if (k < 14) {
        literal(g, chance(g, 3) ? R_LC : reg(g), number_type(g));
    } else if (k < 22) {
        push(g);
    } else if (k < 40) {
        binary(g);
    } else if (k < 46) {
        unary(g);
    } else if (k < 53) {
        test(g);
    } else if (k < 62) {
        edit(g);
    } else if (k < 66) {
        field(g);
    } else if (k < 72) {
        move(g);
    } else if (k < 85) {
        pointer(g);
    } else if (k < 88) {
        host_call(g);
    } else if (k < 90) {
        call(g);
    } else if (k < 93) {
        rare(g);
    } else if (g->nest < NEST) {
        if (k < 96) {
            branch(g);
        } else if (k < 98) {
            loop(g);
        } else {
            over(g);
        }
    }
}

static void items(gen_t *g, unsigned n)
{
    for (unsigned i = 0; i < n && g->room > 16; i++) {
        item(g);
    }
}

static void ending(gen_t *g)
{
    const unsigned k = below(g, 10);
    if (k < 7) {
        word(g, 0xC000);
    } else if (k < 9) {
        word(g, 0x0700 | below(g, 64));
    } else {
        word(g, 0xC100 | reg(g) << 4);
    }
}

static void routines(gen_t *g)
{
    g->in_routine = true;
    for (unsigned i = 0; i < g->routines; i++) {
        g->depth = g->floor = 0;
        g->here = i;
        g->nest = 1;
        g->set = g->write = g->s->mem_bytes != 0 && g->s->ptrs != 0 ? 1u << (g->s->ptrs - 1) : 0;
        g->room = 24;
        const uint8_t stack = g->s->stack;
        g->s->stack = 3;
        word(g, 0x0500 | (20 + i));
        items(g, 1 + below(g, 5));
        g->s->stack = stack;
        word(g, i == 1 ? 0xC100 | reg(g) << 4 : chance(g, 70) ? 0xC000 : 0x0700 | below(g, 64));
    }
}

/* Calls in calls as deep as they may be, and a script at the end: then the return stack may not suffice. */
static void ladder(gen_t *g)
{
    for (unsigned i = 0; i < LADDER; i++) {
        word(g, 0x0500 | (60 + i));
        word(g, i + 1 < LADDER ? 0x0200 | (61 + i) : 0x0440 | a_script(g));
        word(g, 0xC000);
    }
}

static void pool(gen_t *g)
{
    static const uint8_t kinds[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 15, 2, 12};
    uint8_t *const at = g->s->bytes + tw_round_up(2 * g->n, 4);
    unsigned n = 0;
    uint8_t dir[4][4];
    for (unsigned i = 0; i < g->pool_labels; i++) {
        const unsigned t = kinds[below(g, sizeof kinds)];
        n = tw_round_up(n, sizes[t]);
        dir[i][0] = (uint8_t)(120 + i);
        dir[i][1] = (uint8_t)t;
        tw_put_le16(dir[i] + 2, (uint16_t)n);
        for (unsigned k = 1 + below(g, 4); k > 0; k--, n += sizes[t]) {
            tw_put_le64(at + n, literal_bits(g, t));
        }
    }
    if (g->pool_labels == 0) {
        g->s->pool_bytes = 0;
        return;
    }
    n = tw_round_up(n, 2);
    for (unsigned i = 0; i < g->pool_labels; i++, n += 4) {
        memcpy(at + n, dir[i], 4);
    }
    tw_put_le16(at + n, (uint16_t)g->pool_labels);
    g->s->pool_bytes = (uint16_t)(n + 2);
}

static void script(uint64_t *seed, gen_script_t *s, unsigned self, unsigned scripts, unsigned size)
{
    gen_t g = {.seed = seed, .s = s, .label = 70, .self = self, .scripts = scripts, .room = 160};
    memset(s, 0, sizeof *s);
    s->regs = (uint8_t)(chance(&g, 70) ? 6 : below(&g, 7));
    s->ptrs = (uint8_t)(chance(&g, 60) ? 6 : below(&g, 7));
    s->stack = (uint8_t)(chance(&g, 70) ? 8 : chance(&g, 90) ? below(&g, 12) : TW_SCRIPT_STACK_MAX - below(&g, 20));
    s->mem_bytes = (uint8_t)(chance(&g, 75) ? 16 + 4 * below(&g, 13) : chance(&g, 50) ? below(&g, 20) : 0);
    for (unsigned i = 0; i < GEN_MEM; i += 8) {
        tw_put_le64(s->mem + i, chance(&g, 50) ? whole_bits(&g) : fp64_bits(&g));
    }
    g.set = g.write = s->mem_bytes != 0 && s->ptrs != 0 ? 1u << (s->ptrs - 1) : 0;
    if (g.set != 0 && chance(&g, 10)) { /* scratch: written before anything is read */
        s->shared = 1;
        word(&g, 0x1200 | (5u + s->ptrs) << 4 | reg(&g));
    }
    g.pool_labels = chance(&g, 60) ? 1 + below(&g, 3) : 0;
    items(&g, size / 2 + below(&g, size));
    const bool deep = scripts > 1 && chance(&g, 20);
    if (deep) {
        word(&g, 0x0200 | 60);
    }
    ending(&g);
    routines(&g);
    if (deep) {
        ladder(&g);
    }
    s->code_bytes = (uint16_t)(2 * g.n);
    pool(&g);
}

void gen_program(uint64_t *seed, unsigned size, gen_program_t *p)
{
    gen_t g = {.seed = seed};
    p->n_scripts = chance(&g, 85) ? 1 : 2 + below(&g, GEN_SCRIPTS - 1);
    for (unsigned i = 0; i < p->n_scripts; i++) {
        script(seed, &p->scripts[i], i, p->n_scripts, i == 0 ? size : 6);
    }
    p->budget = chance(&g, 90) ? 256 : 1 + below(&g, 60);
    p->flag = chance(&g, 50);
    p->privileged = chance(&g, 5);
    p->n_args = below(&g, GEN_ARGS + 1);
    for (unsigned i = 0; i < GEN_ARGS; i++) {
        p->args[i] = (int64_t)whole_bits(&g);
    }
}

/* Any word there is, its operands among the first few or anything. */
static void wild_word(gen_t *g)
{
    static const uint8_t high[] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x0F, 0x10, 0x11, 0x12,
                                   0x14, 0x19, 0x1A, 0x10, 0x11, 0x12, 0x14, 0x19, 0x1A, 0x30, 0x31, 0x32, 0x33,
                                   0x34, 0x35, 0xE5, 0xE6, 0xC6, 0xC7, 0x08, 0x10, 0x14, 0xC6, 0xC7, 0x08};
    static const uint8_t codes[] = {0, 1, 2, 6, 7, 8, 11, 11, 12, 13, 14, 14, 14, 14, 15, 15};
    const unsigned k = below(g, 16);
    const unsigned x = codes[below(g, sizeof codes)];
    const unsigned y = codes[below(g, sizeof codes)];
    if (k < 8) {
        const unsigned h = high[below(g, sizeof high)];
        word(g, h << 8 | (h < 8 ? (chance(g, 50) ? 0x80 : 0) | below(g, 4) : h == 8 ? 120 + below(g, 2) : x << 4 | y));
    } else if (k < 13) {
        word(g, (0xC0 + below(g, 0x30)) << 8 | x << 4 | y);
    } else if (k < 15) {
        literal(g, x, below(g, 16));
    } else {
        word(g, (2 + below(g, 9)) << 12 | x << 8 | below(g, 256));
    }
}

/* A pointer waits on the stack while something happens around it. */
static void around_pointer(gen_t *g)
{
    const unsigned y = below(g, 4);
    word(g, 0x0800 | (120 + below(g, 2)));
    for (unsigned n = below(g, 3); n > 0; n--) {
        wild_word(g);
    }
    if (chance(g, 60)) {
        static const uint8_t ops[] = {0x10, 0x14, 0xCA, 0xC6, 0xC7, 0xC8, 0xC9, 0xD1, 0xD2, 0xE7, 0x35, 0x11};
        word(g, 0xC200);
        word(g, (unsigned)ops[below(g, sizeof ops)] << 8 | (chance(g, 70) ? R_S1 : R_S0) << 4 | (y == 3 ? R_S0 : y));
        word(g, 0x10D0 | R_S0);
    }
    word(g, (chance(g, 50) ? 0x1060 : 0x1460) | R_S0);
    word(g, 0x1106 | below(g, 3) << 4);
}

void gen_wild(uint64_t *seed, gen_program_t *p)
{
    gen_t g = {.seed = seed, .s = &p->scripts[0], .room = 160};
    gen_script_t *const s = g.s;
    memset(s, 0, sizeof *s);
    *p = (gen_program_t){.n_scripts = 1, .budget = 64, .flag = chance(&g, 50)};
    s->regs = 3;
    s->ptrs = 6;
    s->stack = (uint8_t)(1 + below(&g, 4));
    s->mem_bytes = (uint8_t)(chance(&g, 80) ? 16 : 0);
    s->shared = chance(&g, 20);
    for (unsigned n = 1 + below(&g, 9); n > 0; n--) {
        if (chance(&g, 8)) {
            word(&g, 0x0500 | below(&g, 4));
        }
        if (chance(&g, 5)) {
            around_pointer(&g);
        }
        wild_word(&g);
    }
    word(&g, 0xC000);
    s->code_bytes = (uint16_t)(2 * g.n);
    g.pool_labels = 2;
    pool(&g);
}

void gen_mutate(uint64_t *seed, gen_program_t *p)
{
    gen_t g = {.seed = seed};
    gen_script_t *const s = &p->scripts[0];
    for (unsigned n = 1 + below(&g, 3); n > 0; n--) {
        uint8_t *const at = s->bytes + 2 * below(&g, s->code_bytes / 2u);
        switch (below(&g, 5)) {
        case 0:
            tw_put_le16(at, (uint16_t)gen_random(seed));
            break;
        case 1:
            at[0] = (uint8_t)gen_random(seed);
            break;
        case 2:
            at[below(&g, 2)] ^= (uint8_t)(1u << below(&g, 8));
            break;
        case 3:
            at[0] = (uint8_t)((at[0] & 0x0F) | below(&g, 16) << 4);
            break;
        default:
            memcpy(at, s->bytes + 2 * below(&g, s->code_bytes / 2u), 2);
        }
    }
}

tw_script_t gen_view(const gen_program_t *p, unsigned i, uint8_t *mem)
{
    const gen_script_t *const s = &p->scripts[i];
    return (tw_script_t){.code = s->bytes,
                         .code_bytes = s->code_bytes,
                         .pool_bytes = s->pool_bytes,
                         .regs = s->regs,
                         .ptrs = s->ptrs,
                         .stack = s->stack,
                         .shared = s->shared,
                         .mem = s->mem_bytes != 0 ? mem : NULL,
                         .mem_bytes = s->mem_bytes};
}
