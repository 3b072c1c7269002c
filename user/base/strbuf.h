/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing, always NUL-terminated byte string. An error sticks: later calls do nothing, and
 * strbuf_error() says which, so that writers check once at their end.
 */
#ifndef MEMTRACED_BASE_STRBUF_H
#define MEMTRACED_BASE_STRBUF_H

#include "base/cleanup.h"

#include <stdarg.h>
#include <stddef.h>

struct strbuf {
	char *data; /* NULL while empty and never written */
	size_t len;
	size_t cap;
	int error;
};

void strbuf_done(struct strbuf *sb);
#define _cleanup_strbuf_ _cleanup_(strbuf_done)

/* Empties the string, keeps the room, clears the error. */
void strbuf_reset(struct strbuf *sb);
void strbuf_add(struct strbuf *sb, const void *data, size_t len);
void strbuf_adds(struct strbuf *sb, const char *s);
void strbuf_addch(struct strbuf *sb, char c);
__attribute__((format(printf, 2, 3))) void strbuf_addf(struct strbuf *sb, const char *fmt, ...);
void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap);

/* All that can be read. 0; -EFBIG: there are more than `most` bytes; or other negative errno. */
int strbuf_read(struct strbuf *sb, int fd, size_t most);

/* 0; -ENOMEM; -EMSGSIZE: codec_write() was given more than its layout allows. */
int strbuf_error(const struct strbuf *sb);
/* An error of `from`, of which `to` is made, sticks to `to` as well. */
void strbuf_pass_error(struct strbuf *to, const struct strbuf *from);
/* The string, "" when nothing was written; valid until the next change. */
const char *strbuf_str(const struct strbuf *sb);

#endif
