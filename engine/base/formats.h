/* formats.h - raw types, units and domains as C: enums, widths, names.
 *
 * Expanded from raw_types.def, units.def, domains.def and channels.def. Knows nothing of
 * arcs or images.
 */
#pragma once
#include "engine/base/err.h"
#include <stdbool.h>

typedef enum tw_raw {
#define TW_RAW(code, NAME, bits, computable) TW_RAW_##NAME = (code),
#include "engine/base/raw_types.def"
    TW_RAW_COUNT
} tw_raw_t;

#define TW_UNIT_COUNT 107
#define TW_DOMAIN_COUNT 16

/** Bits of one sample, 0 for DATA_ARRAY and for codes above 51. */
unsigned tw_raw_bits(uint32_t raw);
/** Name as in the seeds ("S16"), or NULL. */
const char *tw_raw_name(uint32_t raw);
/** True when nodes may compute on the type. */
bool tw_raw_computable(uint32_t raw);
/** Code of a name ("S16", "STREAM_S16", "i16"), or -1. */
int tw_raw_find(const char *name, size_t n);

/** Text of a unit ("dB"), or NULL. */
const char *tw_unit_text(uint32_t unit);
/** Code of a unit text, or -1. */
int tw_unit_find(const char *text, size_t n);
/** The same, or the seeds' word for it: "VRMS", "meter", "STREAM_SUBT_ANA_METER". Never where a text may have
 * an SI prefix: "MV" is the millivolt here. */
int tw_unit_find_name(const char *text, size_t n);

/** The seeds' word for a unit ("VRMS"), or NULL. */
const char *tw_unit_name(uint32_t unit);

/** Text of a domain ("audio_in"), or NULL. */
const char *tw_domain_text(uint32_t domain);
/** Code of a domain text or of another generation's name for it, or -1. */
int tw_domain_find(const char *text, size_t n);

#define TW_CHANNEL_COUNT 18
#define TW_CHANNEL_BITS 24 /* width of the field: 18 places have names */
/** Short text of a loudspeaker place ("FL"), or NULL. */
const char *tw_channel_text(uint32_t bit);
/** Its bit, or -1. */
int tw_channel_find(const char *text, size_t n);

/** What a motion sensor's sample holds, 1..7: "aXg0m0" is the accelerometer alone; or NULL. */
const char *tw_motion_text(uint32_t code);
/** Code of such a text, or -1. */
int tw_motion_find(const char *text, size_t n);

/** Samples of this type can be measured one by one: probes and reduced subscriptions. */
bool tw_raw_sampled(uint32_t raw);
