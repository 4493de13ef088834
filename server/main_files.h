/* main_files.h - files the daemon reads at start: an image whole, a key. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Read a file into memory aligned to 64; at most `max` bytes. @return NULL: `why` names the file and the reason */
uint8_t *file_read(const char *path, size_t max, size_t *n, char why[320]);

typedef struct key {
    char id[16];
    uint8_t bytes[64];
    uint32_t len;
} key_text_t;

/**
 * Read a key file: the first line that is neither empty nor starts with '#' is ID:HEX, or HEX with
 * id "default"; 16 to 64 bytes of key.
 */
bool key_read(key_text_t *key, const char *path, char why[320]);
/** As key_read() of a text. */
bool key_parse(key_text_t *key, const char *text, size_t n, char why[320]);
