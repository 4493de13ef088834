/* sl_check_priv.h - the check: names to symbols and numbers, types, units, constants folded. */
#pragma once
#include "host_tools/scriptlang/sl_priv.h"

/* ---- sl_names.c: what a name means ------------------------------------------------------------ */
symbol_t *sl_lookup(compiler_t *c, const char *p, uint32_t n);
/** Declare; NULL (and an error) when the block has the name already. */
symbol_t *sl_declare(compiler_t *c, symbol_kind_t kind, const node_t *at);
/** Number of a node, an arc, a script by its name or number, or -1 after an error. */
int64_t sl_object(compiler_t *c, tw_sl_kind_t kind, const char *p, uint32_t n, pos_t pos);
/** "node.parameter" of the graph into n (N_PARAM). False after an error. */
bool sl_parameter(compiler_t *c, node_t *n);
/** "unknown <what> 'x', did you mean 'y'?" among symbols, functions and, for names with a point, parameters. */
void sl_unknown(compiler_t *c, const char *what, const char *p, uint32_t n, pos_t pos, bool functions);

/* ---- sl_units.c: quantities ---------------------------------------------------------------------- */
/** Two values meet as one quantity (sum, comparison, assignment): constants change to fit. False after an error. */
bool sl_meet(compiler_t *c, node_t *a, node_t *b, pos_t pos, const char *how);
/** Value of `e` for something in unit `to` of units.def (a parameter); e may become a product. */
bool sl_in_unit(compiler_t *c, node_t **e, uint32_t to, const char *what);
/** The other way: n, a parameter read in `unit`, in the unit that expressions have. */
bool sl_from_unit(compiler_t *c, node_t **n, uint32_t unit);

/* ---- sl_type.c: expressions ------------------------------------------------------------------------ */
/** Check *e and what is in it; *e may become another node. False after an error. */
bool sl_check_expression(compiler_t *c, node_t **e);
bool sl_is_number(const node_t *e);
/** An int is needed: an int, or a constant that is whole. */
bool sl_need_int(compiler_t *c, node_t *e, const char *what);
/** Value of a constant int in low..high. */
bool sl_need_constant(compiler_t *c, node_t **e, const char *what, double low, double high);
/** Convert an int where a float is needed; a float where an int is needed is an error naming `what`. */
bool sl_need_type(compiler_t *c, node_t **e, type_t type, const char *what);
node_t *sl_convert(compiler_t *c, node_t *e, type_t type);
/** N_TEXT or the name of an array as a buffer of a system call. */
bool sl_need_buffer(compiler_t *c, node_t *e, const char *what, bool text);

/* ---- sl_builtin.c: functions of the language ----------------------------------------------------------- */
/** True when the language has such a function; then *ok says whether the call is right, and *n is what it became. */
bool sl_builtin(compiler_t *c, node_t **n, bool *ok);
const char *sl_builtin_name(size_t i);

/** Type of a script value for a raw type of a parameter, or -1. */
int sl_stype_of_raw(uint32_t raw);
uint32_t sl_stype_bytes(unsigned stype);
