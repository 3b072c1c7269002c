/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the service listens: "unix PATH", "127.0.0.1:19090", "[::1]:19090". Names are not looked
 * up. Pure.
 */
#ifndef MEMTRACED_CONFIG_SERVICE_LISTEN_H
#define MEMTRACED_CONFIG_SERVICE_LISTEN_H

#include <stdbool.h>
#include <sys/socket.h>

struct service_listen {
	char *text;			 /* as in the file, for people */
	struct sockaddr_storage address; /* AF_UNIX, AF_INET or AF_INET6 */
	socklen_t address_len;
	bool is_loopback; /* of the two latter */
};

/* 0 with *ret_listen filled (its text is malloc'ed); -EINVAL: *ret_why says why; -ENOMEM. */
int service_listen_parse(const char *text, struct service_listen *ret_listen, const char **ret_why);

#endif
