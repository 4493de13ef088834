/* cost_rows.h - what cost.py generates: one script for each instruction, type and pair of operands. */
#pragma once
#include <stdint.h>

typedef struct cost_row {
    const uint8_t *code;
    uint16_t code_bytes, pool_bytes;
    uint8_t setup; /* instructions before the one to measure */
} cost_row_t;

extern const cost_row_t cost_rows[];
extern const unsigned cost_rows_n;
