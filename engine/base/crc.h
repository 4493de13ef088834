/* crc.h - the two checksums of Tunewire.
 *
 * CRC-16: poly 0x1021, init 0xFFFF, not reflected ("123456789" -> 0x29B1).
 * CRC-32C: Castagnoli, reflected, init and final xor 0xFFFFFFFF
 * ("123456789" -> 0xE3069283). Source: docs/WIRE_PROTOCOL.md "Frame".
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/** Start value of tw_crc16(). */
#define TW_CRC16_INIT 0xFFFFu
uint16_t tw_crc16(uint16_t crc, const void *data, size_t n);

/** Continue a CRC-32C: pass 0 first, then the last result (final xor is undone inside). */
uint32_t tw_crc32c(uint32_t crc, const void *data, size_t n);
/** The table version: the oracle the hardware versions are tested against. */
uint32_t tw_crc32c_table(uint32_t crc, const void *data, size_t n);

/** FNV-1a 32-bit over a string; binds nodes by "developer/name". */
uint32_t tw_fnv1a(const char *s);
