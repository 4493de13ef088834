/* main_log.h - the daemon's lines on stderr, in colour on a terminal only. Any thread. */
#pragma once
#include <stdint.h>

/** Lines above `level` (TW_LOG_*) are not printed. */
void log_open(uint32_t level);
void log_line(uint32_t level, const char *text);
void log_text(uint32_t level, const char *format, ...) __attribute__((format(printf, 2, 3)));
