/* sl_units.c - quantities: what may be added, compared and assigned, and what constants become on the way. */
#include "host_tools/scriptlang/sl_check_priv.h"
#include <math.h>

enum { UNIT_ANY = 0, UNIT_DB = 45, UNIT_COUNT = 48, UNIT_PER = 49, UNIT_PERCENT = 50 };

static void become(node_t *e, double value, int unit, type_t type)
{
    e->value = value;
    e->unit = (int16_t)unit;
    e->type = (uint8_t)type;
}

/* A constant where something in unit `to` is: a level in dBFS and per cent are two ways to write a number. */
static void adapt(node_t *e, int to)
{
    if (!sl_is_number(e) || e->unit == to) {
        return;
    }
    if (e->unit == UNIT_DBFS && to == UNIT_LEVEL) {
        become(e, pow(10, e->value / 20), UNIT_LEVEL, TYPE_FLOAT);
    } else if (e->unit == UNIT_PERCENT && (to == UNIT_LEVEL || to == UNIT_NONE)) {
        become(e, e->value / 100, to, TYPE_FLOAT);
    }
}

static bool in_db(int unit)
{
    return unit == UNIT_DB || unit == UNIT_DBFS;
}

static void refuse(compiler_t *c, const node_t *a, const node_t *b, pos_t pos, const char *how)
{
    const bool level = a->unit == UNIT_LEVEL || b->unit == UNIT_LEVEL;
    sl_error(c, pos, "%s: %s and %s are different things", how, sl_unit_name(a->unit), sl_unit_name(b->unit));
    if (level && (a->unit == UNIT_DB || b->unit == UNIT_DB)) {
        sl_note(c, pos, "a level is written in dBFS; dB is a gain");
    } else if (level && (in_db(a->unit) || in_db(b->unit))) {
        sl_note(c, pos, "undb() makes a linear level of it, db() the other way");
    }
}

bool sl_meet(compiler_t *c, node_t *a, node_t *b, pos_t pos, const char *how)
{
    adapt(a, b->unit);
    adapt(b, a->unit);
    if (a->unit == b->unit) {
        return true;
    }
    if (a->unit == UNIT_NONE || b->unit == UNIT_NONE) {
        a->unit = b->unit = a->unit == UNIT_NONE ? b->unit : a->unit;
        return true;
    }
    if (in_db(a->unit) && in_db(b->unit)) {
        return true;
    }
    refuse(c, a, b, pos, how);
    return false;
}

/* e * factor */
static bool scale(compiler_t *c, node_t **e, double factor, int unit)
{
    node_t *n = *e;
    if (sl_is_number(n)) {
        n->value *= factor;
        n->type = n->value == floor(n->value) && n->type == TYPE_INT ? TYPE_INT : TYPE_FLOAT;
        n->unit = (int16_t)unit;
        return true;
    }
    if (factor == 1) {
        n->unit = (int16_t)unit;
        return true;
    }
    node_t *by = sl_node(c, N_NUMBER, n->pos);
    node_t *product = sl_node(c, N_BINARY, n->pos);
    n = by != NULL && product != NULL ? sl_convert(c, n, TYPE_FLOAT) : NULL;
    if (n == NULL) {
        return false;
    }
    become(by, factor, UNIT_NONE, TYPE_FLOAT);
    by->depth = 1;
    product->op = OP_MUL;
    product->a = n;
    product->b = by;
    product->type = TYPE_FLOAT;
    product->unit = (int16_t)unit;
    *e = product;
    return sl_join(c, product);
}

bool sl_in_unit(compiler_t *c, node_t **e, uint32_t to, const char *what)
{
    node_t *n = *e;
    double one = 0, zero = 0;
    if (n->unit == UNIT_NONE) {
        return true;
    }
    const bool pure = to == UNIT_ANY || to == UNIT_COUNT || to == UNIT_PER;
    if (pure) {
        adapt(n, UNIT_NONE);
        if (n->unit == UNIT_NONE || n->unit == UNIT_LEVEL || n->unit == (int)to) {
            return true;
        }
        sl_error(c, n->pos, "%s has no unit, the value is in %s", what, sl_unit_name(n->unit));
        return false;
    }
    if (n->unit == UNIT_DBFS && to == UNIT_DB) {
        return true;
    }
    if (n->unit >= UNIT_LEVEL || tw_unit_convert_f64((uint32_t)n->unit, to, 1, &one) != TW_OK ||
        tw_unit_convert_f64((uint32_t)n->unit, to, 0, &zero) != TW_OK || zero != 0) {
        sl_error(c, n->pos, "%s is in %s, the value in %s", what, tw_unit_text(to), sl_unit_name(n->unit));
        return false;
    }
    return scale(c, e, one, (int)to);
}

bool sl_from_unit(compiler_t *c, node_t **n, uint32_t unit)
{
    double factor = 1;
    if (unit == UNIT_ANY || unit == UNIT_COUNT || unit == UNIT_PER) {
        return true;
    }
    const char *text = tw_unit_text(unit);
    const int ours = text != NULL ? sl_unit_find(text, (uint32_t)strlen(text), &factor) : UNIT_NONE;
    return ours == UNIT_NONE || scale(c, n, factor, ours);
}
