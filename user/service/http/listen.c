/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/http/listen.h"

#include "service/http/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>

#define BACKLOG 128

/*
 * The process that holds the lock has the path. The lock's file stays: were it removed, another
 * could hold a lock on one of that name that is not found any more.
 */
static int lock_path(const char *path, int *ret_fd)
{
	_cleanup_strbuf_ struct strbuf name = {};
	_cleanup_close_ int fd = -1;

	strbuf_addf(&name, "%s.lock", path);
	if (strbuf_error(&name))
		return -ENOMEM;
	fd = open(strbuf_str(&name), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/*
 * Who was given a socket holds no lock, and one that systemd holds for a service to come has no
 * service: connect(2) is refused only where nothing listens. A queue that is full is one, too.
 */
static int check_unserved(const struct service_listen *listen)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&listen->address, listen->address_len) == 0)
		return -EADDRINUSE;
	return errno == ECONNREFUSED		      ? 0 :
	       errno == EAGAIN || errno == EPROTOTYPE ? -EADDRINUSE :
							-errno;
}

/* The socket of a service that has gone; nothing else is removed. */
static int remove_socket(const struct service_listen *listen, const char *path)
{
	struct stat st;
	int r;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	r = check_unserved(listen);
	if (r == 0 && unlink(path))
		r = -errno;
	return r;
}

/* The folder alone: who wants it elsewhere than below /run has that. */
static int make_folder(const char *path)
{
	_cleanup_free_ char *folder = strdup(path);
	char *slash = folder ? strrchr(folder, '/') : NULL;
	mode_t mask;
	int r;

	if (!folder)
		return -ENOMEM;
	if (!slash || slash == folder)
		return 0;
	*slash = '\0';
	/* Who may connect is said by the socket's own mode. */
	mask = umask(022);
	r = mkdir(folder, 0755) && errno != EEXIST ? -errno : 0;
	umask(mask);
	return r;
}

int listener_check_group(const struct service_config *config)
{
	return config->socket_group && !getgrnam(config->socket_group) ? -ENODATA : 0;
}

int listener_allow(const struct service_config *config, const char *path)
{
	const struct group *group = NULL;

	if (config->socket_group) {
		group = getgrnam(config->socket_group);
		if (!group)
			return -ENODATA;
	}
	if (chown(path, (uid_t)-1, group ? group->gr_gid : getegid()))
		return -errno;
	return chmod(path, (mode_t)config->socket_mode) ? -errno : 0;
}

static int open_unix(const struct service_config *config, const struct service_listen *listen,
		     int fd, struct listener *listener)
{
	const char *path = ((const struct sockaddr_un *)&listen->address)->sun_path;
	mode_t mask;
	int r = make_folder(path);

	if (r == 0)
		r = lock_path(path, &listener->lock_fd);
	if (r == 0)
		r = remove_socket(listen, path);
	if (r < 0)
		return r;
	http_refuse_descriptors(fd);
	/* No other user may connect before its mode is set. */
	mask = umask(0177);
	r = bind(fd, (const struct sockaddr *)&listen->address, listen->address_len) ? -errno : 0;
	umask(mask);
	if (r < 0)
		return r;
	listener->path = strdup(path);
	return listener->path ? listener_allow(config, path) : -ENOMEM;
}

static int open_tcp(const struct service_listen *listen, int fd)
{
	int one = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		return -errno;
	/* Else IPv4 would come as IPv6, and collide with an address of its own. */
	if (listen->address.ss_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)))
		return -errno;
	return bind(fd, (const struct sockaddr *)&listen->address, listen->address_len) ? -errno :
											  0;
}

int listener_open(const struct service_config *config, const struct service_listen *where,
		  struct listener *ret_listener)
{
	_cleanup_close_ int fd =
		socket(where->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct listener listener = { .fd = -1, .lock_fd = -1 };
	int r;

	if (fd < 0)
		return -errno;
	r = where->address.ss_family == AF_UNIX ? open_unix(config, where, fd, &listener) :
						  open_tcp(where, fd);
	if (r == 0 && listen(fd, BACKLOG))
		r = -errno;
	if (r < 0) {
		listener_done(&listener);
		return r;
	}
	listener.fd = TAKE_FD(fd);
	*ret_listener = listener;
	return 0;
}

static bool is_remote(const struct sockaddr_storage *address)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *in = (const struct sockaddr_in *)address;

	if (address->ss_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 24 != 127;
	return address->ss_family == AF_INET6 && !IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

int listener_check(const struct service_config *config, int fd)
{
	struct sockaddr_storage address = {};
	socklen_t len = sizeof(address), int_len = sizeof(int);
	int type, listens;

	if (getsockname(fd, (struct sockaddr *)&address, &len) ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &int_len) ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &int_len))
		return -errno;
	if (type != SOCK_STREAM || !listens ||
	    (address.ss_family != AF_UNIX && address.ss_family != AF_INET &&
	     address.ss_family != AF_INET6))
		return -EPROTOTYPE;
	http_refuse_descriptors(fd);
	return is_remote(&address) && !(config->remote && config->token_file) ? -EPERM : 0;
}

/* The kernel says how much of a Unix address is its path, and we take all of the room. */
bool listener_has_address(int fd, const struct service_listen *listen)
{
	struct sockaddr_storage address = {};
	socklen_t len = sizeof(address);

	return getsockname(fd, (struct sockaddr *)&address, &len) == 0 &&
	       memcmp(&address, &listen->address, sizeof(address)) == 0;
}

void listener_done(struct listener *listener)
{
	/* It serves nothing any more; the lock is given up after that. */
	if (listener->path)
		(void)unlink(listener->path);
	free(listener->path);
	if (listener->lock_fd >= 0)
		close(listener->lock_fd);
	*listener = (struct listener){ .fd = -1, .lock_fd = -1 };
}
