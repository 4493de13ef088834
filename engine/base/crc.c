#include "engine/base/crc.h"
#include "engine/base/bytes.h"
#include "engine/base/config.h"

#if TW_CRC_SMALL
/* 16 entries instead of 256: 32 bytes of flash, two loads a byte. */
static const uint16_t crc16_nibble[16] = {
    0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50A5, 0x60C6, 0x70E7,
    0x8108, 0x9129, 0xA14A, 0xB16B, 0xC18C, 0xD1AD, 0xE1CE, 0xF1EF,
};

static inline uint16_t crc16_byte(uint16_t crc, uint8_t b)
{
    crc = (uint16_t)((crc << 4) ^ crc16_nibble[(crc >> 12) ^ (b >> 4)]);
    return (uint16_t)((crc << 4) ^ crc16_nibble[(crc >> 12) ^ (b & 15)]);
}
#else
static const uint16_t crc16_table[256] = {
    0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50A5, 0x60C6, 0x70E7, 0x8108, 0x9129, 0xA14A, 0xB16B, 0xC18C, 0xD1AD,
    0xE1CE, 0xF1EF, 0x1231, 0x0210, 0x3273, 0x2252, 0x52B5, 0x4294, 0x72F7, 0x62D6, 0x9339, 0x8318, 0xB37B, 0xA35A,
    0xD3BD, 0xC39C, 0xF3FF, 0xE3DE, 0x2462, 0x3443, 0x0420, 0x1401, 0x64E6, 0x74C7, 0x44A4, 0x5485, 0xA56A, 0xB54B,
    0x8528, 0x9509, 0xE5EE, 0xF5CF, 0xC5AC, 0xD58D, 0x3653, 0x2672, 0x1611, 0x0630, 0x76D7, 0x66F6, 0x5695, 0x46B4,
    0xB75B, 0xA77A, 0x9719, 0x8738, 0xF7DF, 0xE7FE, 0xD79D, 0xC7BC, 0x48C4, 0x58E5, 0x6886, 0x78A7, 0x0840, 0x1861,
    0x2802, 0x3823, 0xC9CC, 0xD9ED, 0xE98E, 0xF9AF, 0x8948, 0x9969, 0xA90A, 0xB92B, 0x5AF5, 0x4AD4, 0x7AB7, 0x6A96,
    0x1A71, 0x0A50, 0x3A33, 0x2A12, 0xDBFD, 0xCBDC, 0xFBBF, 0xEB9E, 0x9B79, 0x8B58, 0xBB3B, 0xAB1A, 0x6CA6, 0x7C87,
    0x4CE4, 0x5CC5, 0x2C22, 0x3C03, 0x0C60, 0x1C41, 0xEDAE, 0xFD8F, 0xCDEC, 0xDDCD, 0xAD2A, 0xBD0B, 0x8D68, 0x9D49,
    0x7E97, 0x6EB6, 0x5ED5, 0x4EF4, 0x3E13, 0x2E32, 0x1E51, 0x0E70, 0xFF9F, 0xEFBE, 0xDFDD, 0xCFFC, 0xBF1B, 0xAF3A,
    0x9F59, 0x8F78, 0x9188, 0x81A9, 0xB1CA, 0xA1EB, 0xD10C, 0xC12D, 0xF14E, 0xE16F, 0x1080, 0x00A1, 0x30C2, 0x20E3,
    0x5004, 0x4025, 0x7046, 0x6067, 0x83B9, 0x9398, 0xA3FB, 0xB3DA, 0xC33D, 0xD31C, 0xE37F, 0xF35E, 0x02B1, 0x1290,
    0x22F3, 0x32D2, 0x4235, 0x5214, 0x6277, 0x7256, 0xB5EA, 0xA5CB, 0x95A8, 0x8589, 0xF56E, 0xE54F, 0xD52C, 0xC50D,
    0x34E2, 0x24C3, 0x14A0, 0x0481, 0x7466, 0x6447, 0x5424, 0x4405, 0xA7DB, 0xB7FA, 0x8799, 0x97B8, 0xE75F, 0xF77E,
    0xC71D, 0xD73C, 0x26D3, 0x36F2, 0x0691, 0x16B0, 0x6657, 0x7676, 0x4615, 0x5634, 0xD94C, 0xC96D, 0xF90E, 0xE92F,
    0x99C8, 0x89E9, 0xB98A, 0xA9AB, 0x5844, 0x4865, 0x7806, 0x6827, 0x18C0, 0x08E1, 0x3882, 0x28A3, 0xCB7D, 0xDB5C,
    0xEB3F, 0xFB1E, 0x8BF9, 0x9BD8, 0xABBB, 0xBB9A, 0x4A75, 0x5A54, 0x6A37, 0x7A16, 0x0AF1, 0x1AD0, 0x2AB3, 0x3A92,
    0xFD2E, 0xED0F, 0xDD6C, 0xCD4D, 0xBDAA, 0xAD8B, 0x9DE8, 0x8DC9, 0x7C26, 0x6C07, 0x5C64, 0x4C45, 0x3CA2, 0x2C83,
    0x1CE0, 0x0CC1, 0xEF1F, 0xFF3E, 0xCF5D, 0xDF7C, 0xAF9B, 0xBFBA, 0x8FD9, 0x9FF8, 0x6E17, 0x7E36, 0x4E55, 0x5E74,
    0x2E93, 0x3EB2, 0x0ED1, 0x1EF0,
};

static inline uint16_t crc16_byte(uint16_t crc, uint8_t b)
{
    return (uint16_t)((crc << 8) ^ crc16_table[(crc >> 8) ^ b]);
}
#endif

static const uint32_t crc32c_nibble[16] = {
    0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3, 0x61C69362, 0x7198540D,
    0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9, 0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75,
};

uint16_t tw_crc16(uint16_t crc, const void *data, size_t n)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < n; i++) {
        crc = crc16_byte(crc, p[i]);
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
typedef long long two_t __attribute__((vector_size(16)));

/* The CRC of n bytes of zeros behind `crc`: one carry-less product with x^(8n - 33), reduced by the CRC
 * instruction itself. */
__attribute__((target("sse4.2,pclmul"))) static inline uint64_t behind_zeros(uint64_t crc, uint32_t factor)
{
    const two_t product = __builtin_ia32_pclmulqdq128((two_t){(long long)crc, 0}, (two_t){factor, 0}, 0);
    return __builtin_ia32_crc32di(0, (uint64_t)product[0]);
}

/* The instruction takes one word a cycle but answers after three: three stretches run side by side. */
enum { STRETCH = 256 };
#define SHIFT_1 0xB9E02B86u /* x^(8 * STRETCH - 33) */
#define SHIFT_2 0xDD7E3B0Cu /* x^(16 * STRETCH - 33) */

__attribute__((target("sse4.2,pclmul"))) static uint32_t crc32c_sse42(uint32_t crc, const uint8_t *p, size_t n)
{
    uint64_t a = (uint32_t)~crc;
    for (; n >= (size_t)3 * STRETCH; n -= (size_t)3 * STRETCH, p += (size_t)3 * STRETCH) {
        uint64_t b = 0, c = 0;
        for (unsigned i = 0; i < STRETCH; i += 8) {
            a = __builtin_ia32_crc32di(a, tw_get_le64(p + i));
            b = __builtin_ia32_crc32di(b, tw_get_le64(p + STRETCH + i));
            c = __builtin_ia32_crc32di(c, tw_get_le64(p + 2 * STRETCH + i));
        }
        a = behind_zeros(a, SHIFT_2) ^ behind_zeros(b, SHIFT_1) ^ c;
    }
    for (; n >= 8; n -= 8, p += 8) {
        a = __builtin_ia32_crc32di(a, tw_get_le64(p));
    }
    uint32_t r = (uint32_t)a;
    for (; n > 0; n--, p++) {
        r = __builtin_ia32_crc32qi(r, *p);
    }
    return ~r;
}

uint32_t tw_crc32c(uint32_t crc, const void *data, size_t n)
{
    const bool fast = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
    return fast ? crc32c_sse42(crc, data, n) : tw_crc32c_table(crc, data, n);
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
