/* Bytes as a life of any node type: formats, arcs, parameters, RESETs, RUNs, data, in memory exactly as large as the
 * type asks for.
 *
 *   0      catalogue entry
 *   1..    as tests/support/node_any.c draws them                                            */
#include "tests/support/node_any.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1) {
        any_source_t s = {.data = data + 1, .n = size - 1};
        (void)any_node(&s, data[0], 64);
    }
    return 0;
}
