/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/strbuf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_CAP 64

void strbuf_done(struct strbuf *sb)
{
	free(sb->data);
	*sb = (struct strbuf){ 0 };
}

void strbuf_reset(struct strbuf *sb)
{
	sb->len = 0;
	sb->error = 0;
	if (sb->data)
		sb->data[0] = '\0';
}

/* Makes room for `extra` more bytes and the terminator. False: sb->error is set. */
static bool make_room(struct strbuf *sb, size_t extra)
{
	size_t want, cap;
	char *data;

	if (sb->error)
		return false;
	if (extra >= SIZE_MAX / 2 - sb->len) {
		sb->error = -ENOMEM;
		return false;
	}
	want = sb->len + extra + 1;
	if (want <= sb->cap)
		return true;
	cap = sb->cap ? sb->cap * 2 : FIRST_CAP;
	if (cap < want)
		cap = want;
	data = realloc(sb->data, cap);
	if (!data) {
		sb->error = -ENOMEM;
		return false;
	}
	sb->data = data;
	sb->cap = cap;
	return true;
}

void strbuf_add(struct strbuf *sb, const void *data, size_t len)
{
	if (len == 0 || !make_room(sb, len))
		return;
	memcpy(sb->data + sb->len, data, len);
	sb->len += len;
	sb->data[sb->len] = '\0';
}

void strbuf_adds(struct strbuf *sb, const char *s)
{
	strbuf_add(sb, s, strlen(s));
}

void strbuf_addch(struct strbuf *sb, char c)
{
	if (!make_room(sb, 1))
		return;
	sb->data[sb->len++] = c;
	sb->data[sb->len] = '\0';
}

void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap)
{
	va_list again;
	size_t room;
	int n;

	if (!make_room(sb, 0))
		return;
	room = sb->cap - sb->len;
	va_copy(again, ap);
	n = vsnprintf(sb->data + sb->len, room, fmt, ap);
	if (n >= 0 && (size_t)n >= room) {
		if (make_room(sb, (size_t)n))
			n = vsnprintf(sb->data + sb->len, (size_t)n + 1, fmt, again);
		else
			n = -1;
	}
	va_end(again);
	if (n < 0) {
		/* No memory, over INT_MAX bytes, a bad wide character: nothing is added. */
		sb->error = -ENOMEM;
		if (sb->data)
			sb->data[sb->len] = '\0';
		return;
	}
	sb->len += (size_t)n;
}

void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(sb, fmt, ap);
	va_end(ap);
}

int strbuf_read(struct strbuf *sb, int fd, size_t most)
{
	char chunk[8192];

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return strbuf_error(sb);
		strbuf_add(sb, chunk, (size_t)n);
		if (sb->len > most)
			return -EFBIG;
	}
}

int strbuf_error(const struct strbuf *sb)
{
	return sb->error;
}

void strbuf_pass_error(struct strbuf *to, const struct strbuf *from)
{
	if (from->error < 0)
		to->error = from->error;
}

const char *strbuf_str(const struct strbuf *sb)
{
	return sb->data ? sb->data : "";
}
