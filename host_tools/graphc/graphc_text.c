/* graphc_text.c - a text that grows as it is written. */
#include "host_tools/graphc/graphc_text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For so many bytes and the NUL behind them. */
static bool make_room(g_text_t *t, size_t more)
{
    t->failed |= t->max > 0 && (more > t->max || t->n + more > t->max);
    if (t->failed) {
        return false;
    }
    size_t cap = t->cap > 0 ? t->cap : 1024;
    while (cap - t->n <= more) {
        cap *= 2;
    }
    char *v = cap == t->cap ? t->v : realloc(t->v, cap);
    t->failed |= v == NULL;
    t->v = v != NULL ? v : t->v;
    t->cap = v != NULL ? cap : t->cap;
    return v != NULL;
}

void g_text_add(g_text_t *t, const char *p, size_t n)
{
    if (make_room(t, n)) {
        if (n > 0) {
            memcpy(t->v + t->n, p, n);
        }
        t->n += n;
        t->v[t->n] = '\0';
    }
}

void g_say(g_text_t *t, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    const int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n >= 0 && make_room(t, (size_t)n)) {
        (void)vsnprintf(t->v + t->n, t->cap - t->n, fmt, again);
        t->n += (size_t)n;
    }
    va_end(again);
}

uint32_t g_utf8(const char *p, const char *end)
{
    const unsigned char *u = (const unsigned char *)p;
    const size_t left = (size_t)(end - p);
    if (left == 0 || u[0] < ' ' || u[0] == 0x7F) {
        return 0;
    }
    const uint32_t n = u[0] < 0x80 ? 1 : u[0] < 0xC2 ? 0 : u[0] < 0xE0 ? 2 : u[0] < 0xF0 ? 3 : u[0] < 0xF5 ? 4 : 0;
    for (uint32_t i = 1; i < n; i++) {
        if (i >= left || (u[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    const bool control = n == 2 && u[0] == 0xC2 && u[1] < 0xA0;
    const bool overlong = (n == 3 && u[0] == 0xE0 && u[1] < 0xA0) || (n == 4 && u[0] == 0xF0 && u[1] < 0x90);
    const bool beyond = (n == 3 && u[0] == 0xED && u[1] > 0x9F) || (n == 4 && u[0] == 0xF4 && u[1] > 0x8F);
    return control || overlong || beyond ? 0 : n;
}

void g_say_json(g_text_t *t, const char *s)
{
    const char *end = s + strlen(s);
    g_say(t, "\"");
    while (s < end) {
        const uint32_t n = g_utf8(s, end);
        if (n == 1 && (*s == '"' || *s == '\\')) {
            g_say(t, "\\%c", *s);
        } else if (n == 0 && (*s == '\n' || *s == '\t')) {
            g_say(t, *s == '\n' ? "\\n" : "\\t");
        } else {
            g_say(t, "%.*s", n > 0 ? (int)n : 1, n > 0 ? s : "?");
        }
        s += n > 0 ? n : 1;
    }
    g_say(t, "\"");
}

char *g_text_take(g_text_t *t)
{
    char *v = t->v;
    if (t->failed) {
        free(v);
        v = NULL;
    }
    *t = (g_text_t){0};
    return v;
}
