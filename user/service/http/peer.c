/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/http/peer.h"

#include "target/process_access.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

struct http_peer http_peer_of(int fd)
{
	struct sockaddr_storage own = {};
	socklen_t own_len = sizeof(own), len = sizeof(struct ucred);
	struct http_peer peer = { .gid = (gid_t)-1, .is_tcp = true };
	struct ucred cred;

	if (getsockname(fd, (struct sockaddr *)&own, &own_len) || own.ss_family != AF_UNIX)
		return peer;
	peer.is_tcp = false;
	peer.known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0;
	peer.uid = peer.known ? cred.uid : (uid_t)-1;
	peer.gid = peer.known ? cred.gid : (gid_t)-1;
	return peer;
}

int http_peer_may_see(const struct http_peer *peer, pid_t pid, struct process_info *ret_info)
{
	struct process_info info;
	int r = process_info_read(pid, &info);

	if (r == 0 && !http_peer_is_root(peer))
		r = peer->known ? process_access_check(pid, peer->uid, peer->gid) : -EACCES;
	if (r == 0)
		*ret_info = info;
	return r;
}
