/* crypto.h - what the server needs of cryptography, as a table of calls.
 *
 * Linux and firmware fill it from mbedTLS (crypto_mbedtls.c); the server itself
 * contains no cipher.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { TW_SHA256_BYTES = 32 };

typedef struct tw_sha256 {
    uint64_t opaque[16]; /* room for any implementation's context */
} tw_sha256_t;

typedef struct tw_crypto {
    void (*sha256_start)(tw_sha256_t *h);
    void (*sha256_add)(tw_sha256_t *h, const void *data, size_t n);
    void (*sha256_end)(tw_sha256_t *h, uint8_t out[TW_SHA256_BYTES]);
    /** HMAC-SHA256 over two pieces, either may be empty. */
    void (*hmac)(const uint8_t *key, size_t key_len, const void *a, size_t na, const void *b, size_t nb,
                 uint8_t out[TW_SHA256_BYTES]);
    /** Unpredictable bytes. @return 0, or -1 when the machine has none to give. */
    int (*random)(void *out, size_t n);
} tw_crypto_t;

/** Backed by mbedTLS and the kernel's random source. */
extern const tw_crypto_t tw_crypto_mbedtls;
