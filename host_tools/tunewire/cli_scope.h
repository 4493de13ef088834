/* cli_scope.h - a waveform and its level, drawn with characters.
 *
 * Points (smallest and largest value of a short time) go in, lines of text come out. Knows no arc, no
 * terminal and no clock: time comes with the points.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCOPE_COLUMNS_MAX = 200, SCOPE_ROWS = 4, SCOPE_POINTS = 2 * SCOPE_COLUMNS_MAX };

/** One channel. */
typedef struct tw_trace {
    float lo[SCOPE_POINTS], hi[SCOPE_POINTS]; /* ring of the newest points; full scale is 1 */
    unsigned at, n;
    double power;  /* mean square of recent points */
    float peak;    /* of recent points */
    float held_db; /* peak hold */
    double held_s; /* when it was reached */
    bool marked;   /* the next point starts a new picture */
} tw_trace_t;

/** dB of a fraction of full scale; -120 at the bottom. */
float cli_dbfs(double fraction);
/** A point: the range of values in it, and the mean square. */
void cli_trace_add(tw_trace_t *t, float lo, float hi, double mean_square);
/** Start a new picture: level and peak are of the points that come now; until one does, of those before. */
void cli_trace_mark(tw_trace_t *t);
/** Peak hold at time `now_s`: kept for 1.5 s, then falling 20 dB a second. */
float cli_trace_hold(tw_trace_t *t, double now_s);
/** First point to draw so that a rising zero crossing stands at the left; for single samples. */
unsigned cli_trace_trigger(const tw_trace_t *t, unsigned points);
/**
 * Row `row` of SCOPE_ROWS, `columns` characters of two points each, scaled so that `scale` fills it.
 * @param utf8  braille, four dots high; else one of " .':" where the terminal knows nothing but ASCII
 * @param out   room for 3 * columns + 1 bytes
 */
void cli_trace_row(const tw_trace_t *t, unsigned first, unsigned columns, unsigned row, float scale, bool utf8,
                   char *out);
/** "[#####-----|  ]": a bar from -60 to 0 dBFS with the held peak; `width` characters inside. */
void cli_meter(float level_db, float held_db, unsigned width, char *out, size_t cap);
