#include "server/main_files.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { WHY = 320, KEY_FILE_MAX = 4096 };

static uint8_t *read_open(FILE *f, const char *path, size_t max, size_t *n, char why[WHY])
{
    struct stat st;
    if (fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode)) {
        snprintf(why, WHY, "%s: not a regular file", path);
        return NULL;
    }
    if ((uint64_t)st.st_size > max) {
        snprintf(why, WHY, "%s: %lld bytes, at most %zu are possible", path, (long long)st.st_size, max);
        return NULL;
    }
    *n = (size_t)st.st_size;
    uint8_t *bytes = aligned_alloc(64, (*n + 64) & ~(size_t)63);
    if (bytes == NULL || fread(bytes, 1, *n, f) != *n) {
        snprintf(why, WHY, "%s: %s", path, bytes == NULL ? "not enough memory" : "reading failed");
        free(bytes);
        return NULL;
    }
    return bytes;
}

uint8_t *file_read(const char *path, size_t max, size_t *n, char why[320])
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        snprintf(why, WHY, "%s: %s", path, strerror(errno));
        return NULL;
    }
    uint8_t *bytes = read_open(f, path, max, n, why);
    fclose(f);
    return bytes;
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *p = c != '\0' ? strchr(digits, tolower((unsigned char)c)) : NULL;
    return p != NULL ? (int)(p - digits) : -1;
}

static bool take_hex(key_text_t *key, const char *p, size_t n)
{
    if (n % 2 != 0 || n / 2 < 16 || n / 2 > sizeof key->bytes) {
        return false;
    }
    for (size_t i = 0; i < n / 2; i++) {
        const int hi = hex_digit(p[2 * i]), lo = hex_digit(p[2 * i + 1]);
        if (hi < 0 || lo < 0) {
            return false;
        }
        key->bytes[i] = (uint8_t)(hi << 4 | lo);
    }
    key->len = (uint32_t)(n / 2);
    return true;
}

static bool take_line(key_text_t *key, const char *p, size_t n)
{
    const char *colon = memchr(p, ':', n);
    const size_t id = colon != NULL ? (size_t)(colon - p) : 0;
    *key = (key_text_t){.id = "default"};
    if (colon == NULL) {
        return take_hex(key, p, n);
    }
    if (id == 0 || id >= sizeof key->id) {
        return false;
    }
    memset(key->id, 0, sizeof key->id);
    memcpy(key->id, p, id);
    return take_hex(key, colon + 1, n - id - 1);
}

bool key_parse(key_text_t *key, const char *text, size_t n, char why[320])
{
    const char *end = text + n;
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        const char *next = stop != NULL ? stop + 1 : end;
        stop = stop != NULL ? stop : end;
        while (text < stop && isspace((unsigned char)*text)) {
            text++;
        }
        while (stop > text && isspace((unsigned char)stop[-1])) {
            stop--;
        }
        if (text < stop && *text != '#') {
            snprintf(why, WHY, "expected one line [ID:]HEX, the id of at most 15 characters, 32 to 128 hex digits");
            return take_line(key, text, (size_t)(stop - text));
        }
        text = next;
    }
    snprintf(why, WHY, "no key in it: expected one line [ID:]HEX");
    return false;
}

bool key_read(key_text_t *key, const char *path, char why[320])
{
    size_t n;
    char reason[WHY];
    uint8_t *text = file_read(path, KEY_FILE_MAX, &n, why);
    const bool ok = text != NULL && key_parse(key, (const char *)text, n, reason);
    if (text != NULL && !ok) {
        snprintf(why, WHY, "%.150s: %.160s", path, reason);
    }
    if (text != NULL) {
        explicit_bzero(text, n);
    }
    free(text);
    return ok;
}
