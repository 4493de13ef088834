/* debug_line.c - lines from a terminal or a file. While nobody types, the caller is asked now and then. */
#include "host_tools/tunewire/debug_priv.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef TW_LIBEDIT
#include <histedit.h>
#endif

enum { LINE_MAX_BYTES = 1024, IDLE_MS = 500 };

struct debug_lines {
    FILE *in;
    const char *prompt;
    bool terminal, end;
    const char *(*complete)(const char *begin);
    char buf[LINE_MAX_BYTES], line[LINE_MAX_BYTES];
    size_t have;
    bool (*idle)(void *ctx);
    void *ctx;
#ifdef TW_LIBEDIT
    EditLine *edit;
    History *history;
#endif
};

/* @return false: the end, or the caller has enough */
static bool wait_readable(debug_lines_t *l)
{
    struct pollfd p = {.fd = fileno(l->in), .events = POLLIN};
    for (;;) {
        const int n = poll(&p, 1, IDLE_MS);
        if (n > 0) {
            return true;
        }
        if (n < 0 && errno != EINTR) {
            return false;
        }
        if (!l->idle(l->ctx)) {
            return false;
        }
    }
}

#ifdef TW_LIBEDIT
static char *prompt_of(EditLine *e)
{
    debug_lines_t *l = NULL;
    (void)el_get(e, EL_CLIENTDATA, &l);
    return (char *)(uintptr_t)l->prompt;
}

static int get_char(EditLine *e, wchar_t *out)
{
    debug_lines_t *l = NULL;
    unsigned char c;
    (void)el_get(e, EL_CLIENTDATA, &l);
    if (!wait_readable(l)) {
        return 0;
    }
    const ssize_t n = read(fileno(l->in), &c, 1);
    *out = c;
    return n == 1 ? 1 : 0;
}

/* Tab: what is missing of the command's name. */
static unsigned char complete(EditLine *e, int key)
{
    debug_lines_t *l = NULL;
    (void)key;
    (void)el_get(e, EL_CLIENTDATA, &l);
    const LineInfo *at = el_line(e);
    char word[32];
    const size_t n = (size_t)(at->cursor - at->buffer);
    const char *name = NULL;
    if (n == 0 || n >= sizeof word || memchr(at->buffer, ' ', n)) {
        return CC_ERROR;
    }
    (void)snprintf(word, sizeof word, "%.*s", (int)n, at->buffer);
    name = l->complete ? l->complete(word) : NULL;
    return name && el_insertstr(e, name + n) == 0 && el_insertstr(e, " ") == 0 ? CC_REFRESH : CC_ERROR;
}

static void edit_open(debug_lines_t *l)
{
    HistEvent ev;
    l->history = history_init();
    l->edit = el_init("tunewire", l->in, stdout, stderr);
    if (l->edit == NULL || l->history == NULL) {
        return;
    }
    (void)history(l->history, &ev, H_SETSIZE, 200);
    (void)el_set(l->edit, EL_CLIENTDATA, l);
    (void)el_set(l->edit, EL_PROMPT, prompt_of);
    (void)el_set(l->edit, EL_EDITOR, "emacs");
    (void)el_set(l->edit, EL_HIST, history, l->history);
    (void)el_set(l->edit, EL_GETCFN, get_char);
    (void)el_set(l->edit, EL_ADDFN, "tw-complete", "Complete a command", complete);
    (void)el_set(l->edit, EL_BIND, "^I", "tw-complete", NULL);
}

static const char *edit_next(debug_lines_t *l)
{
    int n = 0;
    HistEvent ev;
    const char *s = el_gets(l->edit, &n);
    if (s == NULL || n <= 0) {
        return NULL;
    }
    (void)snprintf(l->line, sizeof l->line, "%.*s", (int)strcspn(s, "\r\n"), s);
    if (l->line[0]) {
        (void)history(l->history, &ev, H_ENTER, l->line);
    }
    return l->line;
}
#endif

debug_lines_t *debug_lines_open(FILE *in, const char *prompt, bool terminal, const char *(*complete_fn)(const char *))
{
    debug_lines_t *l = calloc(1, sizeof *l);
    if (l) {
        l->in = in;
        l->prompt = prompt;
        l->terminal = terminal;
        l->complete = complete_fn;
#ifdef TW_LIBEDIT
        if (terminal) {
            edit_open(l);
        }
#endif
    }
    return l;
}

/* Bytes up to the end of a line, as they come: stdio would keep back what poll() is asked about. */
static const char *plain_next(debug_lines_t *l)
{
    for (;;) {
        char *end = memchr(l->buf, '\n', l->have);
        if (end == NULL && l->have == sizeof l->buf - 1) {
            end = l->buf + l->have;
        }
        if (end == NULL && l->end && l->have) {
            end = l->buf + l->have;
        }
        if (end) {
            const size_t n = (size_t)(end - l->buf);
            (void)snprintf(l->line, sizeof l->line, "%.*s", (int)n, l->buf);
            l->line[strcspn(l->line, "\r")] = '\0';
            const size_t used = n < l->have ? n + 1 : n;
            memmove(l->buf, l->buf + used, l->have - used);
            l->have -= used;
            return l->line;
        }
        if (l->end || !wait_readable(l)) {
            return NULL;
        }
        const ssize_t n = read(fileno(l->in), l->buf + l->have, sizeof l->buf - 1 - l->have);
        l->end = n <= 0;
        l->have += n > 0 ? (size_t)n : 0;
    }
}

const char *debug_lines_next(debug_lines_t *l, bool (*idle)(void *ctx), void *ctx)
{
    l->idle = idle;
    l->ctx = ctx;
#ifdef TW_LIBEDIT
    if (l->edit) {
        return edit_next(l);
    }
#endif
    if (l->terminal) {
        (void)fputs(l->prompt, stdout);
        (void)fflush(stdout);
    }
    return plain_next(l);
}

void debug_lines_close(debug_lines_t *l)
{
#ifdef TW_LIBEDIT
    if (l && l->edit) {
        el_end(l->edit);
    }
    if (l && l->history) {
        history_end(l->history);
    }
#endif
    free(l);
}
