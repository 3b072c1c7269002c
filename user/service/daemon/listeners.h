/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sockets that the service listens on, each with its server: those that systemd gave, and those
 * of the configuration, which come and go with it. On the thread of the loop.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_LISTENERS_H
#define MEMTRACED_SERVICE_DAEMON_LISTENERS_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "config/service_config.h"
#include "service/http/server.h"

struct listeners;

/* Of `server` the descriptor and the limits are set here; systemd's sockets are 3, 4, ... */
int listeners_new(const struct http_server_opts *server, int n_inherited,
		  struct listeners **ret_listeners);
/* Who waits for an answer is told that the service ends. NULL is legal. */
void listeners_free(struct listeners *listeners);
DEFINE_CLEANUP(struct listeners, listeners_free)

/*
 * Another configuration (configure.h): opens what is new in it. What stays is not opened again, and
 * keeps its limits. 0; or negative errno with one line in *error: -EADDRINUSE, another service has
 * the address.
 */
struct listeners_next;
int listeners_prepare(struct listeners *listeners, const struct service_config *config,
		      struct listeners_next **ret_next, struct strbuf *error);
/*
 * Takes `next` over; cannot fail. What is not in it accepts no more connections from the next round
 * on; those that it has are served until they end.
 */
void listeners_commit(struct listeners *listeners, struct listeners_next *next);
void listeners_next_free(struct listeners_next *next); /* NULL is legal */
DEFINE_CLEANUP(struct listeners_next, listeners_next_free)

/* To be called in each round of the loop, which may wait for the timeout (-1: any time). */
void listeners_run(struct listeners *listeners);
int listeners_timeout_ms(const struct listeners *listeners);

/* As http_server_close_user, of all. */
void listeners_close_user(struct listeners *listeners, uid_t uid);

/* Of all that there are and were. */
struct http_counts listeners_count(const struct listeners *listeners);

#endif
