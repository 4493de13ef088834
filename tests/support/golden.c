#include "tests/support/golden.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t hex_bytes(const char *s, uint8_t *out, size_t cap)
{
    size_t n = 0;
    while (isxdigit((unsigned char)s[0]) && isxdigit((unsigned char)s[1]) && n < cap) {
        const char two[3] = {s[0], s[1], 0};
        out[n++] = (uint8_t)strtoul(two, NULL, 16);
        s += 2 + strspn(s + 2, " \t");
    }
    return n;
}

size_t tw_golden(const char *path, const char *block, const char *name, uint8_t *out, size_t cap)
{
    char line[8192];
    const size_t name_len = strlen(name);
    size_t n = 0;
    bool inside = false;
    FILE *f = fopen(path, "r");
    while (f != NULL && n == 0 && fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\r\n")] = 0;
        if (strncmp(line, "```", 3) == 0) {
            inside = strcmp(line + 3, block) == 0;
        } else if (inside && strncmp(line, name, name_len) == 0 && line[name_len] == ' ') {
            n = hex_bytes(line + name_len + strspn(line + name_len, " "), out, cap);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    if (n == 0) {
        fprintf(stderr, "%s: no row \"%s\" in block \"%s\" (run from the repository root)\n", path, name, block);
    }
    return n;
}

bool tw_golden_name(const char *path, const char *block, unsigned i, char *out, size_t cap)
{
    char line[8192];
    bool inside = false, found = false;
    FILE *f = fopen(path, "r");
    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\r\n")] = 0;
        if (strncmp(line, "```", 3) == 0) {
            inside = strcmp(line + 3, block) == 0;
        } else if (inside && line[0] != 0 && i-- == 0) {
            line[strcspn(line, " ")] = 0;
            found = snprintf(out, cap, "%s", line) < (int)cap;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return found;
}
