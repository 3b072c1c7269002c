/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages for people, on stderr, one line each, prefixed "memtraced: ". Each is escaped as a whole
 * (base/escape.h): it may quote names that others chose. Only main.c and service/ log above debug
 * level; library code returns negative errno and may leave debug messages.
 * A message is lost when stderr has no room for a second, and the next one that finds room says how
 * many were. Level and that count are the mutable globals of the program beside the signal flag.
 */
#ifndef MEMTRACED_BASE_LOG_H
#define MEMTRACED_BASE_LOG_H

/* LOG_WARNING and its like are macros of syslog.h, with other values. */
enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Messages above this level are dropped; the default is LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);

__attribute__((format(printf, 2, 3))) void log_message(enum log_level level, const char *fmt, ...);

#define log_error(...) log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_message(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_message(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
