/* golden.h - named hex rows, read from the document that specifies them, so that it cannot drift. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Bytes of the row `name` in the fenced block ```<block> of a file: "name  hex hex ...".
 * @return how many; 0 when the file, block or row is missing (a message says which)
 */
size_t tw_golden(const char *path, const char *block, const char *name, uint8_t *out, size_t cap);
/** Name of the i-th row of the block. @return false: there are no more */
bool tw_golden_name(const char *path, const char *block, unsigned i, char *out, size_t cap);
