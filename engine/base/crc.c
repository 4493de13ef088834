#include "engine/base/crc.h"
#include "engine/base/bytes.h"

/* 16 entries instead of 256: 64 + 32 bytes of flash, and still one load a nibble. */
static const uint16_t crc16_nibble[16] = {
    0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50A5, 0x60C6, 0x70E7,
    0x8108, 0x9129, 0xA14A, 0xB16B, 0xC18C, 0xD1AD, 0xE1CE, 0xF1EF,
};

static const uint32_t crc32c_nibble[16] = {
    0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3, 0x61C69362, 0x7198540D,
    0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9, 0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75,
};

uint16_t tw_crc16(uint16_t crc, const void *data, size_t n)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < n; i++) {
        crc = (uint16_t)((crc << 4) ^ crc16_nibble[(crc >> 12) ^ (p[i] >> 4)]);
        crc = (uint16_t)((crc << 4) ^ crc16_nibble[(crc >> 12) ^ (p[i] & 15)]);
    }
    return crc;
}

uint32_t tw_crc32c_table(uint32_t crc, const void *data, size_t n)
{
    const uint8_t *p = data;
    crc = ~crc;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        crc = (crc >> 4) ^ crc32c_nibble[crc & 15];
        crc = (crc >> 4) ^ crc32c_nibble[crc & 15];
    }
    return ~crc;
}

#if defined __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const uint8_t *p, size_t n)
{
    uint64_t c = (uint32_t)~crc;
    for (; n >= 8; n -= 8, p += 8) {
        c = __builtin_ia32_crc32di(c, tw_get_le64(p));
    }
    uint32_t r = (uint32_t)c;
    for (; n > 0; n--, p++) {
        r = __builtin_ia32_crc32qi(r, *p);
    }
    return ~r;
}

uint32_t tw_crc32c(uint32_t crc, const void *data, size_t n)
{
    return __builtin_cpu_supports("sse4.2") ? crc32c_sse42(crc, data, n) : tw_crc32c_table(crc, data, n);
}
#elif defined __ARM_FEATURE_CRC32
#include <arm_acle.h>
uint32_t tw_crc32c(uint32_t crc, const void *data, size_t n)
{
    const uint8_t *p = data;
    crc = ~crc;
    for (; n >= 4; n -= 4, p += 4) {
        crc = __crc32cw(crc, tw_get_le32(p));
    }
    for (; n > 0; n--, p++) {
        crc = __crc32cb(crc, *p);
    }
    return ~crc;
}
#else
uint32_t tw_crc32c(uint32_t crc, const void *data, size_t n)
{
    return tw_crc32c_table(crc, data, n);
}
#endif

uint32_t tw_fnv1a(const char *s)
{
    uint32_t h = 0x811C9DC5u;
    for (; *s; s++) {
        h = (h ^ (uint8_t)*s) * 0x01000193u;
    }
    return h;
}
