/* manifest_kind.h - what a text is: graph or manifest, of any generation, told by its first lines.
 *
 * It reads nothing in full and reports nothing: a text it takes for a manifest may still be a wrong one.
 */
#pragma once
#include <stddef.h>

typedef enum tw_manifest_kind {
#define TW_KIND(NAME, text) TW_KIND_##NAME,
#include "engine/board/manifest_kinds.def"
    TW_KIND_COUNT
} tw_manifest_kind_t;

tw_manifest_kind_t tw_manifest_detect(const char *text, size_t n);
/** As a message calls it ("node manifest"); never NULL. */
const char *tw_manifest_kind_text(tw_manifest_kind_t kind);
