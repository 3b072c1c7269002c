/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTTP requests that send something, by libcurl on the loop: nothing waits, and what a server
 * answers is bounded. Redirections are not followed. All calls back come from http_poster_run.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_PUSH_HTTP_POSTER_H
#define MEMTRACED_SERVICE_DAEMON_PUSH_HTTP_POSTER_H

#include "base/cleanup.h"
#include "base/loop.h"
#include "base/strbuf.h"

#include <stddef.h>
#include <stdint.h>

struct http_poster;
struct http_transfer;

/* The loop must outlive it. 0; -ENOPKG: there is no libcurl; -ENOMEM. */
int http_poster_new(struct loop *loop, struct http_poster **ret_poster);
/* After all transfers. NULL is legal. */
void http_poster_free(struct http_poster *poster);
DEFINE_CLEANUP(struct http_poster, http_poster_free)

/* To be called in each round of the loop, which may wait for the timeout (-1: any time). */
void http_poster_run(struct http_poster *poster);
int http_poster_timeout_ms(const struct http_poster *poster);

struct http_outcome {
	long status;		     /* 0: there was no whole answer, for `error` */
	const char *error;	     /* one line */
	uint64_t retry_after_ns;     /* 0: it says nothing of that */
	const struct strbuf *answer; /* its beginning */
};

struct http_post {
	const char *url;
	const char *const *headers; /* "Name: value"; ends with NULL; copied */
	const char *user, *token;   /* user NULL: the token is a bearer's; token NULL: none */
	const char *ca_file;	    /* NULL: the system's */
	const void *body;	    /* borrowed until the end */
	size_t len;
	uint64_t timeout_ns; /* for all of it */
	/* The transfer is gone when it returns. */
	void (*done)(const struct http_outcome *outcome, void *userdata);
	void *userdata;
};

/* 0 or -ENOMEM. */
int http_poster_begin(struct http_poster *poster, const struct http_post *post,
		      struct http_transfer **ret_transfer);
/* `done` is not called. NULL is legal. */
void http_transfer_cancel(struct http_transfer *transfer);

#endif
