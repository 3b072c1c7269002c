/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/http/answer.h"

#include "base/escape.h"

#include <errno.h>
#include <unistd.h>

void http_answer_done(struct http_answer *answer)
{
	strbuf_done(&answer->body);
	if (answer->is_file)
		close(answer->fd);
	answer->is_file = false;
}

void http_answer_error(struct http_answer *answer, unsigned int status, const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf text = {};
	va_list ap;

	http_answer_done(answer); /* it may have been large */
	answer->status = status;
	answer->type = HTTP_TEXT;
	answer->location = answer->file_name = NULL;
	answer->page = HTTP_PAGE_PLAIN;
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	escape_text(&answer->body, strbuf_str(&text));
	strbuf_addch(&answer->body, '\n');
	if (strbuf_error(&text))
		answer->body.error = strbuf_error(&text);
}

/* A cookie_write_function_t: 0 is an error there. */
static ssize_t append_to_body(void *cookie, const char *data, size_t len)
{
	struct answer_stream *stream = cookie;

	if (len > stream->most - stream->body->len) {
		stream->too_large = true;
		errno = EFBIG;
		return 0;
	}
	strbuf_add(stream->body, data, len);
	if (strbuf_error(stream->body)) {
		errno = ENOMEM;
		return 0;
	}
	return (ssize_t)len;
}

FILE *answer_stream_open(struct answer_stream *stream)
{
	const cookie_io_functions_t functions = { .write = append_to_body };

	return fopencookie(stream, "w", functions);
}
