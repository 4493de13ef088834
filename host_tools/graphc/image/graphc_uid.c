/* graphc_uid.c - a graph's identity: SHA-256 of its canonical text, which is what the decompiler prints before it
 * is laid out in columns.
 *
 * So blanks, comments, order of declarations and dialect do not matter, and a text and its image decompiled have
 * one identity. The build sequence is not part of it.
 */
#include "engine/base/crc.h"
#include "host_tools/graphc/graphc_priv.h"
#include <mbedtls/md.h>
#include <stdlib.h>

bool g_identify(g_model_t *m, uint8_t *img, uint32_t bytes)
{
    char *text;
    size_t n;
    uint8_t digest[32];
    tw_diags_t *lost = calloc(1, sizeof *lost); /* what no text can say is not this text's fault */
    bool ok = lost != NULL && g_decompile_made(img, bytes, m->platform, TW_DECOMPILE_IDENTITY, &text, &n, lost);
    if (ok) {
        ok = mbedtls_md(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), (const unsigned char *)text, n, digest) == 0;
        free(text);
    }
    free(lost);
    if (!ok) {
        tw_diag(m->diags, false, m->names[0], 0, 0, "no identity: memory is out, or SHA-256 is not available");
        return false;
    }
    m->uid = tw_get_le32(digest);
    tw_put_le32(img + 4 * TW_W_UID, m->uid);
    tw_put_le32(img + 4 * TW_W_HEADER_CRC, 0);
    tw_put_le32(img + 4 * TW_W_HEADER_CRC, tw_crc32c(0, img, TW_IMG_HEADER_BYTES));
    return true;
}
