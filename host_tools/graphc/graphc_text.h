/* graphc_text.h - a text that grows as it is written: reports, pictures, JSON, other texts. Host only. */
#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** v is malloc'ed and ends in NUL; NULL before the first word. */
typedef struct g_text {
    char *v;
    size_t n, cap;
    size_t max;  /* [bytes] it may have, 0 any number */
    bool failed; /* memory was out or `max` reached: what is there is not whole, and stays as it is */
} g_text_t;

/** `n` bytes as they are. */
void g_text_add(g_text_t *t, const char *p, size_t n);
__attribute__((format(printf, 2, 3))) void g_say(g_text_t *t, const char *fmt, ...);
/** A JSON string with its quotes; what is no UTF-8 becomes '?'. */
void g_say_json(g_text_t *t, const char *s);
/** The text, to free(); NULL when memory was out. *t starts anew. */
char *g_text_take(g_text_t *t);
/** [bytes] of the UTF-8 sequence at p, 0 when it is none or stands for a control character. */
uint32_t g_utf8(const char *p, const char *end);
