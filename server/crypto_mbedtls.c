/* crypto_mbedtls.c - the server's table of ciphers, from mbedTLS and the kernel's random source. */
#include "server/crypto.h"

#include <errno.h>
#include <mbedtls/sha256.h>
#include <mbedtls/version.h>
#include <sys/random.h>

#if MBEDTLS_VERSION_MAJOR < 3
#define mbedtls_sha256_starts mbedtls_sha256_starts_ret
#define mbedtls_sha256_update mbedtls_sha256_update_ret
#define mbedtls_sha256_finish mbedtls_sha256_finish_ret
#endif

_Static_assert(sizeof(mbedtls_sha256_context) <= sizeof(tw_sha256_t), "tw_sha256_t holds the context");

static mbedtls_sha256_context *context(tw_sha256_t *h)
{
    return (mbedtls_sha256_context *)(void *)h->opaque;
}

static void start(tw_sha256_t *h)
{
    mbedtls_sha256_init(context(h));
    (void)mbedtls_sha256_starts(context(h), 0);
}

static void add(tw_sha256_t *h, const void *data, size_t n)
{
    (void)mbedtls_sha256_update(context(h), data, n);
}

static void end(tw_sha256_t *h, uint8_t out[TW_SHA256_BYTES])
{
    (void)mbedtls_sha256_finish(context(h), out);
    mbedtls_sha256_free(context(h));
}

enum { BLOCK = 64 };

/* Written out, since mbedTLS's own HMAC context allocates. */
static void hmac(const uint8_t *key, size_t key_len, const void *a, size_t na, const void *b, size_t nb,
                 uint8_t out[TW_SHA256_BYTES])
{
    uint8_t k[BLOCK] = {0}, pad[BLOCK];
    tw_sha256_t h;
    if (key_len > BLOCK) {
        start(&h);
        add(&h, key, key_len);
        end(&h, k);
    } else {
        for (size_t i = 0; i < key_len; i++) {
            k[i] = key[i];
        }
    }
    for (size_t i = 0; i < BLOCK; i++) {
        pad[i] = (uint8_t)(k[i] ^ 0x36);
    }
    start(&h);
    add(&h, pad, sizeof pad);
    add(&h, a, na);
    add(&h, b, nb);
    end(&h, out);
    for (size_t i = 0; i < BLOCK; i++) {
        pad[i] = (uint8_t)(k[i] ^ 0x5C);
    }
    start(&h);
    add(&h, pad, sizeof pad);
    add(&h, out, TW_SHA256_BYTES);
    end(&h, out);
}

static int random_bytes(void *out, size_t n)
{
    uint8_t *p = out;
    while (n > 0) {
        const ssize_t got = getrandom(p, n, 0);
        if (got < 0 && errno != EINTR) {
            return -1;
        }
        if (got > 0) {
            p += got;
            n -= (size_t)got;
        }
    }
    return 0;
}

const tw_crypto_t tw_crypto_mbedtls = {
    .sha256_start = start,
    .sha256_add = add,
    .sha256_end = end,
    .hmac = hmac,
    .random = random_bytes,
};
