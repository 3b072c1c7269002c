/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/http/peer.h"

#include "base/cleanup.h"
#include "target/proc_file.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define STATUS_MAX (64U << 10)

struct http_peer http_peer_of(int fd)
{
	struct sockaddr_storage own = {};
	socklen_t own_len = sizeof(own), len = sizeof(struct ucred);
	struct http_peer peer = { .is_tcp = true };
	struct ucred cred;

	if (getsockname(fd, (struct sockaddr *)&own, &own_len) || own.ss_family != AF_UNIX)
		return peer;
	peer.is_tcp = false;
	peer.known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0;
	peer.uid = peer.known ? cred.uid : (uid_t)-1;
	return peer;
}

/* All four of /proc/PID/status: real, effective, saved, of file systems. */
static bool has_only_uid(const char *status, uid_t uid)
{
	const char *line = strstr(status, "\nUid:");
	unsigned long ids[4];

	if (!line ||
	    sscanf(line, "\nUid: %lu %lu %lu %lu", &ids[0], &ids[1], &ids[2], &ids[3]) != 4)
		return false;
	return ids[0] == uid && ids[1] == uid && ids[2] == uid && ids[3] == uid;
}

/* What of a process that is not dumpable others may not read is root's: proc(5). */
static bool is_dumpable(pid_t pid, uid_t uid)
{
	struct stat st;
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid); /* fits */
	return stat(path, &st) == 0 && st.st_uid == uid;
}

int http_peer_may_see(const struct http_peer *peer, pid_t pid, struct process_info *ret_info)
{
	_cleanup_strbuf_ struct strbuf status = {};
	struct process_info info;
	int r = process_info_read(pid, &info);

	if (r < 0)
		return r;
	if (!http_peer_is_root(peer)) {
		if (!peer->known || info.uid != peer->uid)
			return -EACCES;
		r = proc_file_read(pid, "status", STATUS_MAX, &status);
		if (r < 0)
			return r;
		if (!has_only_uid(strbuf_str(&status), peer->uid) || !is_dumpable(pid, peer->uid))
			return -EACCES;
	}
	*ret_info = info;
	return 0;
}

bool http_peer_may_still_see(const struct http_peer *peer, const struct process_info *then)
{
	struct process_info now;

	/* A zombie has no owner any more; its number may be another's by now. */
	if (process_info_read(then->pid, &now) < 0 || now.zombie ||
	    now.start_ticks != then->start_ticks)
		return true;
	return http_peer_may_see(peer, then->pid, &now) == 0;
}
