/* cli_scope.c - see cli_scope.h. A character is 2 x 4 dots. */
#include "host_tools/tunewire/cli_scope.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define HOLD_S 1.5
#define FALL_DB_PER_S 20.0
#define FLOOR_DB (-120.0f)
#define METER_DB 60.0f

float cli_dbfs(double fraction)
{
    return fraction > 1e-6 ? (float)(20 * log10(fraction)) : FLOOR_DB;
}

void cli_trace_mark(tw_trace_t *t)
{
    t->marked = true;
}

void cli_trace_add(tw_trace_t *t, float lo, float hi, double mean_square)
{
    if (t->marked) {
        t->marked = false;
        t->power = 0;
        t->peak = 0;
        t->n = 0;
    }
    t->lo[t->at] = lo;
    t->hi[t->at] = hi;
    t->at = (t->at + 1) % SCOPE_POINTS;
    t->n++;
    t->power += (mean_square - t->power) / t->n;
    t->peak = fmaxf(t->peak, fmaxf(fabsf(lo), fabsf(hi)));
}

float cli_trace_hold(tw_trace_t *t, double now_s)
{
    const float now = cli_dbfs((double)t->peak);
    const double age = now_s - t->held_s - HOLD_S;
    const float held = age > 0 ? t->held_db - (float)(age * FALL_DB_PER_S) : t->held_db;
    if (t->held_s <= 0 || now >= held) {
        t->held_db = now;
        t->held_s = now_s;
        return now;
    }
    return held;
}

static unsigned ring(unsigned i)
{
    return i % SCOPE_POINTS;
}

unsigned cli_trace_trigger(const tw_trace_t *t, unsigned points)
{
    const unsigned latest = ring(t->at + SCOPE_POINTS - points);
    const unsigned spare = SCOPE_POINTS - points;
    for (unsigned back = 0; back < spare; back++) {
        const unsigned i = ring(latest + SCOPE_POINTS - back);
        if (t->hi[ring(i + SCOPE_POINTS - 1)] < 0 && t->hi[i] >= 0) {
            return i;
        }
    }
    return latest;
}

/* Dots of one column: bit 0 the top one. The range [lo, hi] covers those it touches. */
static unsigned column_dots(float lo, float hi, float scale)
{
    const int height = 4 * SCOPE_ROWS;
    const float half = (float)height / 2, by = half / scale;
    int top = (int)floorf(half - hi * by), bottom = (int)floorf(half - lo * by);
    top = top < 0 ? 0 : top >= height ? height - 1 : top;
    bottom = bottom < 0 ? 0 : bottom >= height ? height - 1 : bottom;
    unsigned dots = 0;
    for (int i = top; i <= bottom; i++) {
        dots |= 1u << i;
    }
    return dots;
}

/* The upper and the lower half of a character are all that ASCII has. */
static char ascii_cell(unsigned dots)
{
    static const char cells[] = {' ', '\'', '.', ':'};
    return cells[((dots & 0x3) != 0) | ((dots & 0xC) != 0) << 1];
}

/* U+2800 + one bit a dot. */
static char *put_braille(char *out, unsigned left, unsigned right)
{
    static const uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    unsigned cell = 0;
    for (unsigned y = 0; y < 4; y++) {
        cell |= (left >> y & 1 ? bits[y][0] : 0u) | (right >> y & 1 ? bits[y][1] : 0u);
    }
    *out++ = (char)0xE2;
    *out++ = (char)(0xA0 | cell >> 6);
    *out++ = (char)(0x80 | (cell & 0x3F));
    return out;
}

void cli_trace_row(const tw_trace_t *t, unsigned first, unsigned columns, unsigned row, float scale, bool utf8,
                   char *out)
{
    for (unsigned c = 0; c < columns; c++) {
        unsigned dots[2];
        for (unsigned x = 0; x < 2; x++) {
            const unsigned i = ring(first + 2 * c + x);
            dots[x] = column_dots(t->lo[i], t->hi[i], scale) >> (4 * row) & 0xF;
        }
        if (utf8) {
            out = put_braille(out, dots[0], dots[1]);
        } else {
            *out++ = ascii_cell(dots[0] | dots[1]);
        }
    }
    *out = '\0';
}

static unsigned meter_at(float db, unsigned width)
{
    const float part = (db + METER_DB) / METER_DB;
    return part <= 0 ? 0 : part >= 1 ? width : (unsigned)(part * (float)width + 0.5f);
}

void cli_meter(float level_db, float held_db, unsigned width, char *out, size_t cap)
{
    const unsigned level = meter_at(level_db, width), held = meter_at(held_db, width);
    if (width + 3 > cap) {
        out[0] = '\0';
        return;
    }
    out[0] = '[';
    for (unsigned i = 0; i < width; i++) {
        out[1 + i] = i < level ? '#' : held > 0 && i == held - 1 ? '|' : ' ';
    }
    memcpy(out + 1 + width, "]", 2);
}
