/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTTP on one listening socket, by libmicrohttpd and without a thread of its own: all calls back
 * come from http_server_run, on the thread of the loop. Limits on time, size and count are kept
 * here; what is asked for is the owner's matter.
 */
#ifndef MEMTRACED_SERVICE_HTTP_SERVER_H
#define MEMTRACED_SERVICE_HTTP_SERVER_H

#include "base/cleanup.h"
#include "base/loop.h"
#include "service/http/answer.h"
#include "service/http/guard.h"

#include <stdint.h>

#define HTTP_BODY_MOST (64U << 10)

struct http_server;
struct http_request;

struct http_limits {
	uint64_t timeout_ns; /* to send a request, and, times six, to take its answer */
	/* Of all users and of each; root's count for neither, those without a token for half. */
	uint64_t connections, connections_of_user;
	/* In memory, of a user's answers that were not taken yet; a single one may be larger. */
	uint64_t answer_bytes;
};

struct login_users;

struct http_server_opts {
	struct loop *loop;
	int fd; /* listening; the server's from then on, also when that failed */
	struct http_limits limits;
	struct login_users *users; /* each of which has limits; NULL: each uid has. Borrowed */
	/*
	 * A whole request. Calls http_request_answer now or later; until then `gone` may come.
	 */
	void (*handle)(struct http_request *request, void *userdata);
	/* The client has gone, or the server ends: the request is not to be used any more. */
	void (*gone)(struct http_request *request, void *userdata);
	void *userdata;
};

/* 0 or negative errno. `opts` is copied. */
int http_server_new(const struct http_server_opts *opts, struct http_server **ret_server);
/* Closes all connections and the listening socket. NULL is legal. */
void http_server_free(struct http_server *server);
DEFINE_CLEANUP(struct http_server, http_server_free)

/* Closes the listening socket, and each connection after its answer. */
void http_server_close(struct http_server *server);
/* Has it no connections? */
bool http_server_is_idle(const struct http_server *server);

/* To be called in each round of the loop, which may wait for the timeout (-1: any time). */
void http_server_run(struct http_server *server);
int http_server_timeout_ms(const struct http_server *server);

/* What a request waits for may be known by a pointer; NULL at first. */
void http_request_set_userdata(struct http_request *request, void *userdata);
void *http_request_userdata(const struct http_request *request);

const char *http_request_method(const struct http_request *request);
/* As it was sent, with its escapes. */
const char *http_request_target(const struct http_request *request);
/* NULL: it is not there; the first of several. */
const char *http_request_header(const struct http_request *request, const char *name);
const struct strbuf *http_request_body(const struct http_request *request);
/* As the kernel says, also where a token says more. */
const struct http_peer *http_request_peer(const struct http_request *request);
/*
 * A token has told whose request it is: its connection counts for that user from now on. False:
 * that user has as many as may be.
 */
bool http_request_count_for(struct http_request *request, uid_t uid);

/* Takes the body, or the file, and leaves the answer without. Once a request. */
void http_request_answer(struct http_request *request, struct http_answer *answer);

/* Closes the connections over TCP that a token has shown to be of that user. */
void http_server_close_user(struct http_server *server, uid_t uid);

struct http_counts {
	uint64_t answers[6];	     /* by the hundreds of their status */
	uint64_t connections;	     /* that are open */
	uint64_t too_slow, too_many; /* connections that were closed for it */
};
void http_server_count(const struct http_server *server, struct http_counts *counts);

#endif
