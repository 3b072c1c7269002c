/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who makes a request: which user is at the other end of the connection, and whether it is a
 * program or one of our own pages, and not a page of another site in somebody's browser.
 */
#ifndef MEMTRACED_SERVICE_HTTP_GUARD_H
#define MEMTRACED_SERVICE_HTTP_GUARD_H

#include "target/process.h"

#include <stdbool.h>
#include <sys/types.h>

struct http_origin {
	/* headers; NULL: not there */
	const char *host, *origin, *sec_fetch_site, *user_agent, *authorization;
	bool is_tcp; /* browsers reach no Unix sockets: there any Host will do */
};

/*
 * Pure. NULL, or why not, for the client. Host must be localhost, an address, or one of `hosts`
 * (NULL-terminated; NULL: none): any other name may be one that its owner now has point to us.
 * Browsers send Basic credentials with the requests of any page; to plain HTTP that is neither on
 * localhost nor on loopback they send no Sec-Fetch-Site, and are refused with such credentials.
 */
const char *http_guard(const struct http_origin *origin, char *const *hosts);

/* Who is at the other end of a connection. */
struct http_peer {
	bool known; /* false: over TCP no user is known until a token tells */
	uid_t uid;
	gid_t gid; /* over TCP that of who had the token made */
	bool is_tcp;
};

/*
 * By SO_PEERCRED on a Unix socket. Over TCP the kernel proves nothing: its tables give uid 0 to a
 * socket that its owner has closed. Never fails: then no user is known.
 */
struct http_peer http_peer_of(int fd);

/*
 * No descriptors are passed over this Unix socket, nor over those that it accepts from now on: we
 * would close them, which waits where a user wants it to (SO_LINGER, a mount of the user's). Linux
 * 6.16; before that, and over TCP, it does nothing.
 */
void http_refuse_descriptors(int fd);

/* May this user see everything? */
static inline bool http_peer_is_root(const struct http_peer *peer)
{
	return peer->known && peer->uid == 0;
}

/*
 * 0, *ret_info filled; or as process_access_check() (target/process_access.h). It says nothing
 * of later: a trace for a user has the programs ask again at each event (bpf/access.bpf.h).
 */
int http_peer_may_see(const struct http_peer *peer, pid_t pid, struct process_info *ret_info);

#endif
