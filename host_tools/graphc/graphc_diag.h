/* graphc_diag.h - diagnostics as people and editors read them. Host only.
 *
 *   mix.txt:4:20: error: unknown raw type 'S61', did you mean 'S16'?
 *       4 |   format_raw_data  S61
 *         |                    ^~~
 *   mix.txt:2:1: note: of this format
 *
 * The underline covers the whole word. Long lines are cut around it, tabs are spread, and what a terminal
 * would obey instead of show becomes '?'. A text is read once, however much is said about it; when it
 * cannot be read again, the place alone is printed.
 */
#pragma once
#include "engine/board/manifest_lex.h"

/** The files of the disk, but nothing that a second look would empty or wait for (pipes, devices). */
extern const tw_text_source_t tw_diag_files;

/** Print all of *d, and how many more there were. Colours only when asked for. */
void tw_diags_print_from(const tw_diags_t *d, const tw_text_source_t *src, void *file /* FILE* */, bool colour);

/**
 * A JSON array of {file, line, col, end_col, severity, text, notes}; notes are
 * {file, line, col, end_col, text}. line and col are 1-based, 0 = unknown; end_col is just past the word.
 * @return malloc'ed text, NULL when memory is out
 */
char *tw_diags_json(const tw_diags_t *d, const tw_text_source_t *src);
