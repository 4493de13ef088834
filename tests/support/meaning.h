/* meaning.h - what a graph text or manifest means, in words: two texts that mean the same say the same. */
#pragma once
#include "engine/board/manifest_kind.h"
#include "host_tools/graphc/graphc_priv.h"
#include "host_tools/graphc/graphc_text.h"

/** Appends the meaning; false when its reader refuses the text. Files it names are not read. */
bool meaning_of(g_text_t *to, const char *text, size_t n);
