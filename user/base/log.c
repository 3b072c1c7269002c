/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"

#include "base/escape.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "memtraced: ";
static const char no_memory[] = "memtraced: out of memory for a message\n";

static _Atomic enum log_level max_level = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
	atomic_store(&max_level, level);
}

/* What was not read for so long is not waited for: a traced process may be held meanwhile. */
#define PATIENCE_MS 1000

/* Messages that found no room since the last one that did. */
static _Atomic unsigned int n_lost;

/* What can be written at once if there is room at all; a longer line may be mixed with others'. */
static size_t piece_max(void)
{
	struct stat st;

	return fstat(STDERR_FILENO, &st) == 0 && S_ISFIFO(st.st_mode) ? PIPE_BUF : SIZE_MAX;
}

static bool has_room(int timeout_ms)
{
	struct pollfd stderr_fd = { .fd = STDERR_FILENO, .events = POLLOUT };
	int n;

	do
		n = poll(&stderr_fd, 1, timeout_ms);
	while (n < 0 && errno == EINTR);
	return n != 0; /* with an error: the write has it too */
}

/*
 * One write, so that lines of the traced command on the same stderr do not get in between. False:
 * there was no room for all of it.
 */
static bool put_line(const char *line, size_t len)
{
	const size_t most = piece_max();

	while (len > 0) {
		ssize_t n;

		if (!has_room(atomic_load(&n_lost) ? 0 : PATIENCE_MS))
			return false;
		n = write(STDERR_FILENO, line, len < most ? len : most);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return true;
		line += n;
		len -= (size_t)n;
	}
	return true;
}

static void write_line(const char *line, size_t len)
{
	unsigned int lost = atomic_exchange(&n_lost, 0);
	char text[80];

	if (lost > 0 && has_room(0)) {
		(void)snprintf(text, sizeof(text), "%s%u messages were lost: they were not read\n",
			       prefix, lost);
		(void)put_line(text, strlen(text)); /* there is room for it */
		lost = 0;
	}
	if (lost > 0 || !put_line(line, len))
		atomic_fetch_add(&n_lost, lost + 1);
}

void log_message(enum log_level level, const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf text = { 0 }, line = { 0 };
	int saved_errno = errno;
	va_list ap;

	if (level > atomic_load(&max_level))
		return;
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	strbuf_adds(&line, prefix);
	escape_text(&line, strbuf_str(&text));
	strbuf_addch(&line, '\n');
	if (strbuf_error(&text) == 0 && strbuf_error(&line) == 0)
		write_line(line.data, line.len);
	else
		write_line(no_memory, strlen(no_memory));
	errno = saved_errno;
}
