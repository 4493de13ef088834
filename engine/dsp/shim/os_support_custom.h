/* os_support_custom.h - what speexdsp calls its operating system: memory of the node, and no console. Its name and the
 * macros are speexdsp's hook (OS_SUPPORT_CUSTOM). */
#pragma once
#include "engine/base/port.h"

#define RELEASE /* no printing of vectors */
#define DISABLE_WARNINGS
#define DISABLE_NOTIFICATIONS
#define OVERRIDE_SPEEX_ALLOC
#define OVERRIDE_SPEEX_ALLOC_SCRATCH
#define OVERRIDE_SPEEX_REALLOC
#define OVERRIDE_SPEEX_FREE
#define OVERRIDE_SPEEX_FREE_SCRATCH
#define OVERRIDE_SPEEX_FATAL
#define OVERRIDE_SPEEX_WARNING
#define OVERRIDE_SPEEX_WARNING_INT
#define OVERRIDE_SPEEX_NOTIFY
#define OVERRIDE_SPEEX_PUTC

/** Cleared memory from the block of the state being built (denoise.c). */
void *tw_denoise_take(int bytes);

#define speex_alloc(bytes) tw_denoise_take((int)(bytes))
#define speex_alloc_scratch(bytes) tw_denoise_take((int)(bytes))
#define speex_free(at) ((void)(at))
#define speex_free_scratch(at) ((void)(at))
#define speex_warning(text) ((void)0)
#define speex_warning_int(text, value) ((void)0)
#define speex_notify(text) ((void)0)
#define _speex_fatal(text, file, line) tw_panic(file, line, text)
