#include "server/main_log.h"
#include "engine/base/bytes.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static uint32_t shown = 3;
static bool colours;

static const struct {
    const char *word, *colour;
} levels[] = {
    {"error: ", "\033[1;31m"}, /* also what is below 1: nothing may vanish for a wrong number */
    {"error: ", "\033[1;31m"}, {"warning: ", "\033[33m"}, {"", ""}, {"debug: ", "\033[2m"},
};

void log_open(uint32_t level)
{
    shown = level;
    const char *no_colour = getenv("NO_COLOR");
    colours = isatty(STDERR_FILENO) == 1 && (no_colour == NULL || no_colour[0] == '\0');
}

void log_line(uint32_t level, const char *text)
{
    if (level > shown) {
        return;
    }
    const uint32_t row = tw_min_u32(level, TW_COUNT(levels) - 1);
    const bool paint = colours && levels[row].colour[0] != '\0';
    fprintf(stderr, "tunewired: %s%s%s%s\n", paint ? levels[row].colour : "", levels[row].word, paint ? "\033[0m" : "",
            text);
}

void log_text(uint32_t level, const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    log_line(level, text);
}
