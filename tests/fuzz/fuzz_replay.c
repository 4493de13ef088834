/* Bytes as a recording: parsed and, as far as it is one, played. Byte 0, bit 0: checksums of header and chunks are
 * repaired first, so that searching gets behind them; bit 1: those of the graph images' words too. The rest is the
 * file. It may be refused or played; never crash or hang, and never differ from itself when played again. */
#include "engine/graph/twg1.h"
#include "host_tools/tunewire/replay_run.h"
#include "tests/support/record_file.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILE_MAX = 1 << 16 };

static bool few_blocks(void *ctx, uint64_t done, uint64_t all)
{
    unsigned *left = ctx;
    (void)done, (void)all;
    return (*left)-- != 0;
}

/* An image in one piece has its checksums made right. */
static void repair_images(uint8_t *bytes, uint32_t n)
{
    tw_replay_file_t f;
    tw_replay_record_t rec;
    if (!tw_replay_open(&f, bytes, n)) {
        return;
    }
    tw_replay_cursor_t c = tw_replay_begin(&f);
    while (tw_replay_next(&f, &c, &rec) == TW_REPLAY_RECORD) {
        if (rec.kind == TW_REC_IMAGE && rec.n >= 12 + TW_IMG_HEADER_BYTES) {
            uint8_t *img = bytes + (rec.p - bytes) + 12;
            tw_put_le32(img + 4 * TW_W_TOTAL, rec.n - 12);
            tw_image_fix(img, rec.n - 12);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > FILE_MAX) {
        return 0;
    }
    const uint32_t n = (uint32_t)size - 1;
    uint8_t *bytes = malloc(n != 0 ? n : 1);
    memcpy(bytes, data + 1, n);
    if (data[0] & 1) {
        record_file_repair(bytes, n);
    }
    if (data[0] & 2) {
        repair_images(bytes, n);
        record_file_repair(bytes, n);
    }
    tw_replay_result_t a, b;
    unsigned left = 4;
    const tw_replay_user_t user = {.ctx = &left, .progress = few_blocks};
    /* a graph memory of gigabytes only costs time here */
    if (n > TW_RECORD_HEADER && tw_get_le32(bytes + TW_RH_GRAPH_BYTES) <= 1 << 18) {
        tw_replay_play(bytes, n, &user, &a);
        left = 4;
        tw_replay_play(bytes, n, &user, &b);
        if (a.end != b.end || a.blocks != b.blocks || a.different != b.different || a.where != b.where) {
            abort();
        }
    }
    free(bytes);
    return 0;
}
