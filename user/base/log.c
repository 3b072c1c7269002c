/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"

#include "base/escape.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static const char prefix[] = "memtraced: ";
static const char no_memory[] = "memtraced: out of memory for a message\n";

static _Atomic enum log_level max_level = LOG_INFO;

void log_set_level(enum log_level level)
{
	atomic_store(&max_level, level);
}

/* One write, so that lines of the traced command on the same stderr do not get in between. */
static void put_line(const char *line, size_t len)
{
	while (len > 0) {
		ssize_t n = write(STDERR_FILENO, line, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		line += n;
		len -= (size_t)n;
	}
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
		put_line(line.data, line.len);
	else
		put_line(no_memory, strlen(no_memory));
	errno = saved_errno;
}
