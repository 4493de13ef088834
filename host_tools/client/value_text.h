/* value_text.h - parameter values between text and wire bytes.
 *
 * Driven by the device's own description (ParamDesc): type, count, limits, unit. Knows no node type and
 * no connection.
 */
#pragma once
#include "protocol/rpc.h"

/** One element as a number; types that hold no number give 0. `p` holds the type's bytes. */
double tw_raw_read(uint32_t raw, const uint8_t *p);
/**
 * Write a number as one element, rounded to nearest.
 * @return false when it does not fit the type, or the type holds no number
 */
bool tw_raw_write(uint32_t raw, double v, uint8_t *p);
/** True when elements are whole numbers. */
bool tw_raw_whole(uint32_t raw);
/** Value of an element as a fraction of full scale (S16: v / 32768); floats as they are. */
double tw_raw_fraction(uint32_t raw, const uint8_t *p);

/**
 * Convert between unit texts by units.def; SI prefixes (n u m k M G) before a primary unit are understood.
 * @return false when they measure different things
 */
bool tw_unit_convert(double v, const char *from, const char *to, double *out);

/**
 * Read "1", "-6 dB", "1 kHz", "0x10", "on", "1,2,3" (as many as the parameter has elements).
 * @param out  room for `cap` bytes; *n = bytes written
 * @return false with the reason in `why`
 */
bool tw_value_parse(const tunewire_v1_ParamDesc *d, const char *text, uint8_t *out, uint32_t cap, uint32_t *n,
                    char *why, size_t why_n);
/** Write "1,2,3"; floats with as many digits as they need. Reads back to the same bytes. */
void tw_value_format(const tunewire_v1_ParamDesc *d, const uint8_t *value, uint32_t n, char *out, size_t cap);
/** Bytes of the whole parameter. */
uint32_t tw_value_bytes(const tunewire_v1_ParamDesc *d);
