/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listening sockets: those of the configuration, or those that systemd has opened for us.
 */
#ifndef MEMTRACED_SERVICE_HTTP_LISTEN_H
#define MEMTRACED_SERVICE_HTTP_LISTEN_H

#include "config/service_config.h"

struct listener {
	int fd;
	int lock_fd; /* of a Unix socket: held while it is ours; -1: none */
	char *path;  /* of a Unix socket: to be removed; NULL: none of ours */
};

/*
 * Opens one of the configuration's. A socket that a service left behind is replaced, one that is
 * served is not: -EADDRINUSE. 0 or negative errno.
 */
int listener_open(const struct service_config *config, const struct service_listen *listen,
		  struct listener *ret_listener);

/* Is there the group that Unix sockets shall have? 0 or -ENODATA. */
int listener_check_group(const struct service_config *config);
/* Gives a Unix socket the configuration's mode and group. 0, -ENODATA or other negative errno. */
int listener_allow(const struct service_config *config, const char *path);

/*
 * Is `fd` a listening stream socket that the configuration would allow? 0; -EPROTOTYPE; or -EPERM:
 * it can be reached from other hosts, which the configuration does not say is meant. Descriptors
 * are not passed over it from then on.
 */
int listener_check(const struct service_config *config, int fd);

/* Is it bound to that address? */
bool listener_has_address(int fd, const struct service_listen *listen);

/* The socket itself is left alone: it is the server's. */
void listener_done(struct listener *listener);

#endif
