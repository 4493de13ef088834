/* min_flips.c - the small profile against every image one bit away from a good one.
 *
 * Each bit of the image is turned over, both checksums are set right, and the image is loaded: refused with a code, or
 * run for a few blocks. Under the address sanitizer that shows whatever the verification misses. Prints how many were
 * refused; nothing refused, or nothing accepted, would be no test.
 */
#include "engine/base/crc.h"
#include "engine/graph/graph_compact.h"
#include "engine/node/kernels.h"
#include "firmware/min_device/min_device.h"
#include <stdio.h>
#include <stdlib.h>

enum { IMAGE_MAX = 4096, ARENA = 1 << 16, BLOCKS = 8 };

static uint32_t reads;
static uint16_t seen;

static uint32_t read_io(void *ctx, uint32_t hwid, uint64_t tick, void *dst, uint32_t bytes)
{
    (void)ctx, (void)hwid, (void)tick;
    memset(dst, (int)reads++, bytes);
    return bytes;
}

static uint32_t write_io(void *ctx, uint32_t hwid, uint64_t tick, const void *src, uint32_t bytes)
{
    (void)ctx, (void)hwid, (void)tick;
    seen = tw_crc16(seen, src, bytes); /* every byte is looked at */
    return bytes;
}

_Noreturn void tw_panic(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    abort();
}

static void fix(uint8_t *img, uint32_t bytes)
{
    tw_put_le32(img + 4 * TW_W_PAYLOAD_CRC, tw_crc32c(0, img + TW_IMG_HEADER_BYTES, bytes - TW_IMG_HEADER_BYTES));
    tw_put_le32(img + 4 * TW_W_HEADER_CRC, 0);
    tw_put_le32(img + 4 * TW_W_HEADER_CRC, tw_crc32c(0, img, TW_IMG_HEADER_BYTES));
}

/* @return 1 accepted, 0 refused */
static int one(const uint8_t *img, uint32_t bytes, const tw_board_t *board, uint8_t *memory)
{
    tw_compact_t c;
    tw_fault_t fault = {0};
    tw_arena_t arena = {.base = memory, .size = ARENA};
    if (tw_compact_load(&c, img, bytes, board, &tw_services_small, &arena, &fault) != TW_OK) {
        return fault.err == TW_OK || arena.used != 0 ? abort(), 0 : 0;
    }
    for (uint64_t tick = 0; tick < BLOCKS; tick++) {
        tw_compact_block(&c, tick);
    }
    tw_compact_stop(&c);
    return 1;
}

int main(void)
{
    static const tw_board_io_t ios[] = {{.hwid = 0}, {.hwid = 1, .direction = 1}};
    tw_board_t board = {.services = 32, .ios = ios, .n_ios = 2, .read = read_io, .write = write_io};
    _Alignas(16) static uint8_t img[IMAGE_MAX];
    unsigned accepted = 0, refused = 0;
    const uint32_t bytes = min_image_bytes;
    uint8_t *memory = aligned_alloc(64, ARENA);
    board.platform_id = tw_get_le32(min_image + 4 * TW_W_PLATFORM);
    for (uint32_t bit = 0; bytes <= sizeof img && bit < 8 * bytes; bit++) {
        memcpy(img, min_image, bytes);
        img[bit / 8] ^= (uint8_t)(1u << bit % 8);
        fix(img, bytes);
        *(one(img, bytes, &board, memory) ? &accepted : &refused) += 1;
    }
    /* without new checksums nothing gets through */
    for (uint32_t k = 0; bytes <= sizeof img && k < bytes; k++) {
        memcpy(img, min_image, bytes);
        img[k] ^= 0x10;
        accepted += one(img, bytes, &board, memory) ? 1000000u : 0u;
    }
    printf("flips accepted=%u refused=%u\n", accepted, refused);
    free(memory);
    return accepted != 0 && accepted < 1000000u && refused != 0 ? 0 : 1;
}
