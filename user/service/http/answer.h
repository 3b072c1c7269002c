/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a request is answered with: a status, a type, and a text that may not grow without end.
 */
#ifndef MEMTRACED_SERVICE_HTTP_ANSWER_H
#define MEMTRACED_SERVICE_HTTP_ANSWER_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define HTTP_TEXT "text/plain; charset=utf-8"
#define HTTP_HTML "text/html; charset=utf-8"

/* What a browser may do with an answer, and who may frame it. */
enum http_page {
	HTTP_PAGE_PLAIN,   /* it runs nothing */
	HTTP_PAGE_SCRIPTS, /* scripts of its own, within the page; our pages may frame it */
	HTTP_PAGE_HOST,	   /* these, which ask us for more and frame our pages */
	HTTP_PAGE_STORED,  /* as SCRIPTS, but as if it were another site's: it comes from a file */
};

struct http_answer {
	unsigned int status;
	const char *type; /* literal */
	struct strbuf body;
	/* In place of the body: what is in a file, which is closed with the answer. */
	bool is_file;
	int fd;
	uint64_t file_bytes;
	const char *location;  /* of a redirection; literal; NULL: none */
	const char *file_name; /* to save it under; literal; NULL: none */
	enum http_page page;
};

void http_answer_done(struct http_answer *answer);

/*
 * One line of text in place of whatever was there: an error for people, without a line's end. It is
 * escaped as a whole (base/escape.h).
 */
__attribute__((format(printf, 3, 4))) void http_answer_error(struct http_answer *answer,
							     unsigned int status, const char *fmt,
							     ...);

/*
 * A stream into the body, to be closed with fclose; writing more than `most` bytes fails, and so
 * does fclose then. NULL: no memory.
 */
struct answer_stream {
	struct strbuf *body;
	uint64_t most;
	bool too_large;
};
FILE *answer_stream_open(struct answer_stream *stream);

#endif
