/* Listings of older graphs from anyone: decoded and printed, whatever the bytes. */
#include "host_tools/graphc/graphc_diag.h"
#include "host_tools/graphc/legacy/legacy_decode.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static tw_legacy_t l;
    static tw_diags_t d;
    d = (tw_diags_t){0};
    if (tw_legacy_decode(&l, "f", (const char *)data, size, &d)) {
        char *text = tw_legacy_text(&l), *json = tw_legacy_json(&l);
        if (text == NULL || json == NULL) {
            abort();
        }
        free(text);
        free(json);
        tw_legacy_free(&l);
    } else if (d.errors == 0) {
        abort();
    }
    return 0;
}
