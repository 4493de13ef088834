/* units.h - what a unit is in another: exact rationals and doubles. Expanded from units.def.
 *
 * Only units of one quantity convert: those with the same primary unit. It knows no prefix and no text.
 */
#pragma once
#include "engine/base/formats.h"

typedef enum tw_unit_kind {
    TW_UNIT_EXACT,  /* the factor is the definition */
    TW_UNIT_LOG,    /* a logarithm: scale and offset hold for the level, not for what it is a level of */
    TW_UNIT_APPROX, /* the factor holds for one case: a sine */
} tw_unit_kind_t;

/** value * num / den + offset, in unit `primary`. */
typedef struct tw_unit_scale {
    uint8_t primary, kind; /* kind: tw_unit_kind_t */
    int8_t offset;
    uint32_t num, den;
} tw_unit_scale_t;

/** Row of a unit, or NULL. */
const tw_unit_scale_t *tw_unit_scale(uint32_t unit);

/** A rational number; den > 0. Results are in lowest terms. */
typedef struct tw_ratio {
    int64_t num, den;
} tw_ratio_t;

/**
 * A value of unit `from` in unit `to`. The same unit always converts, "any" to nothing else.
 *
 * @return TW_OK, TW_E_ARG no such unit or v.den <= 0, TW_E_UNSUPPORTED different quantities,
 *         TW_E_RANGE the result needs more than 64 bits; *out unchanged unless TW_OK
 */
tw_err_t tw_unit_convert_exact(uint32_t from, uint32_t to, tw_ratio_t v, tw_ratio_t *out);
/** The same for a double, to its rounding. */
tw_err_t tw_unit_convert_f64(uint32_t from, uint32_t to, double v, double *out);
/** The worse kind of the two units: is such a conversion exact? TW_UNIT_EXACT for the same unit. */
tw_unit_kind_t tw_unit_convert_kind(uint32_t from, uint32_t to);
