/* Bytes as a graph image given to the decompiler: text or an error with a place, and bounded memory.
 *
 * Byte 0: bit 0 size and CRC-32Cs are repaired first, so that searching gets behind the checksums; bit 1 the scripts'
 * CRC-16s; bit 2 without places. The rest is the image. What decompiles is read by the compiler's own parser again:
 * the text may name a platform that is not here, so only a crash is wrong there. */
#include "engine/base/crc.h"
#include "engine/graph/twg1_read.h"
#include "host_tools/graphc/graphc_priv.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { IMAGE_MAX = 1 << 16 };

static void fix_scripts(uint8_t *img, uint32_t bytes)
{
    const uint32_t at = tw_img_section(img, TW_SEC_SCRIPTS).at, n = tw_img_counts(img).scripts;
    for (uint32_t i = 0; i < n && tw_inside(at + 16u * (uint64_t)i, 16, bytes); i++) {
        uint8_t *entry = img + at + 16 * i;
        const uint32_t code = tw_get_le32(entry), code_bytes = tw_get_le16(entry + 4), pool = tw_get_le16(entry + 6);
        const uint32_t all = pool != 0 ? tw_round_up(code_bytes, 4) + pool : code_bytes;
        if (tw_inside(code, all, bytes)) {
            tw_put_le16(entry + 12, tw_crc16(TW_CRC16_INIT, img + code, all));
        }
    }
}

/* A catalogue, if any, is this one: seeds with compact records outlive new node types. */
static void fix_catalogue(uint8_t *img)
{
    tw_node_order_t order;
    if (tw_get_le32(img + 4 * TW_W_CATALOGUE) != 0) {
        tw_node_order(&order);
        tw_put_le32(img + 4 * TW_W_CATALOGUE, order.id);
    }
}

static void repair(uint8_t *img, uint32_t bytes, uint8_t how)
{
    if (bytes < TW_IMG_HEADER_BYTES) {
        return;
    }
    if (how & 2) {
        fix_scripts(img, bytes);
    }
    if (how & 1) {
        fix_catalogue(img);
        tw_put_le32(img + 4 * TW_W_TOTAL, bytes);
        tw_put_le32(img + 4 * TW_W_PAYLOAD_CRC, tw_crc32c(0, img + TW_IMG_HEADER_BYTES, bytes - TW_IMG_HEADER_BYTES));
        tw_put_le32(img + 4 * TW_W_HEADER_CRC, 0);
        tw_put_le32(img + 4 * TW_W_HEADER_CRC, tw_crc32c(0, img, TW_IMG_HEADER_BYTES));
    }
}

static char *read_text(void *ctx, const char *path, size_t *n)
{
    (void)path;
    *n = strlen(ctx);
    char *copy = malloc(*n > 0 ? *n : 1);
    memcpy(copy, ctx, *n);
    return copy;
}

static void parse_again(char *text)
{
    static const tw_platform_t none;
    static tw_graphc_out_t out;
    const tw_text_source_t src = {text, read_text};
    memset(&out, 0, sizeof out);
    if (g_compile("g.txt", &(tw_graphc_opts_t){0}, &none, &src, &out)) {
        abort(); /* a platform without nodes has no graphs */
    }
    tw_graphc_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static tw_diags_t d;
    if (size < 1 || size > IMAGE_MAX) {
        return 0;
    }
    const uint32_t bytes = (uint32_t)size - 1;
    uint8_t *img = malloc(bytes != 0 ? bytes : 1); /* an exact copy: a read past the end is seen */
    char *text = NULL;
    memcpy(img, data + 1, bytes);
    repair(img, bytes, data[0]);
    d = (tw_diags_t){0};
    const bool ok = tw_decompile(img, bytes, NULL, data[0] & 4 ? TW_DECOMPILE_PLAIN : 0, &text, &d);
    if (ok != (text != NULL) || ok != (d.errors == 0)) {
        abort();
    }
    if (ok) {
        parse_again(text);
    }
    free(text);
    free(img);
    return 0;
}
