/* golden.h - named hex rows, read from the document that specifies them, so that it cannot drift. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/**
 * Bytes of the row `name` in the fenced block ```<block> of a file: "name  hex hex ...".
 * @return how many; 0 when the file, block or row is missing (a message says which)
 */
size_t tw_golden(const char *path, const char *block, const char *name, uint8_t *out, size_t cap);
