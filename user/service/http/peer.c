/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/http/peer.h"

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "target/process_access.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

struct diag_request {
	struct nlmsghdr header;
	struct inet_diag_req_v2 diag;
};

/* IPv4 on an IPv6 socket is looked up as what it is. */
static void put_address(const struct sockaddr_storage *from, __be32 address[4], __be16 *port,
			uint8_t *family)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;
	const struct sockaddr_in *in = (const struct sockaddr_in *)from;

	if (from->ss_family == AF_INET) {
		*family = AF_INET;
		*port = in->sin_port;
		address[0] = in->sin_addr.s_addr;
		return;
	}
	*port = in6->sin6_port;
	*family = IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) ? AF_INET : AF_INET6;
	if (*family == AF_INET)
		memcpy(address, &in6->sin6_addr.s6_addr[12], 4);
	else
		memcpy(address, &in6->sin6_addr, 16);
}

static bool is_loopback(const struct inet_diag_sockid *id, uint8_t family)
{
	static const struct in6_addr loopback = IN6ADDR_LOOPBACK_INIT;

	if (family == AF_INET)
		return ntohl(id->idiag_src[0]) >> 24 == 127;
	return memcmp(id->idiag_src, &loopback, sizeof(loopback)) == 0;
}

/* The owner of the socket that the request names. 0 or negative errno. */
static int ask_kernel(const struct diag_request *request, uid_t *ret_uid)
{
	_cleanup_close_ int fd =
		socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
	union {
		struct nlmsghdr header;
		char bytes[4096];
	} answer;
	const struct inet_diag_msg *found = NLMSG_DATA(&answer.header);
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (send(fd, request, sizeof(*request), 0) < 0)
		return -errno;
	/* A request for one socket is answered within send. */
	n = recv(fd, &answer, sizeof(answer), 0);
	if (n < 0)
		return -errno;
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(*found)) ||
	    answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return -ENOENT;
	/* Without a socket of these two ends, a listening one would be found. */
	if (memcmp(&found->id.idiag_sport, &request->diag.id.idiag_sport, 2) != 0 ||
	    memcmp(&found->id.idiag_dport, &request->diag.id.idiag_dport, 2) != 0)
		return -ENOENT;
	*ret_uid = found->idiag_uid;
	return 0;
}

/* As /proc/net/tcp has them: addresses by words as they are in memory, ports as numbers. */
static void add_end(struct strbuf *out, const __be32 address[4], __be16 port, uint8_t family)
{
	for (int i = 0; i < (family == AF_INET ? 1 : 4); i++)
		strbuf_addf(out, "%08X", address[i]);
	strbuf_addf(out, ":%04X ", ntohs(port));
}

/* The same without the module tcp_diag, where none can be loaded: through all sockets (proc(5)). */
static int ask_proc(const struct inet_diag_sockid *id, uint8_t family, uid_t *ret_uid)
{
	_cleanup_fclose_ FILE *file =
		fopen(family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6", "re");
	_cleanup_strbuf_ struct strbuf ends = {};
	char line[512];

	add_end(&ends, id->idiag_src, id->idiag_sport, family);
	add_end(&ends, id->idiag_dst, id->idiag_dport, family);
	if (!file || strbuf_error(&ends))
		return -ENOENT;
	while (fgets(line, sizeof(line), file)) {
		const char *found = strstr(line, strbuf_str(&ends));

		/* state, queues, timer, retransmits, uid */
		if (found && sscanf(found + ends.len, "%*x %*x:%*x %*x:%*x %*x %u", ret_uid) == 1)
			return 0;
	}
	return -ENOENT;
}

/* `peer` is what the socket at the other end has as its own address. */
static int owner_of(const struct sockaddr_storage *own, const struct sockaddr_storage *peer,
		    uid_t *ret_uid)
{
	struct diag_request request = {
		.header = {
			.nlmsg_len = sizeof(request),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST,
		},
		.diag = {
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = ~0U,
			.id.idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE },
		},
	};
	struct inet_diag_sockid *id = &request.diag.id;
	uint8_t family;

	put_address(own, id->idiag_dst, &id->idiag_dport, &family);
	put_address(peer, id->idiag_src, &id->idiag_sport, &family);
	request.diag.sdiag_family = family;
	if (!is_loopback(id, family))
		return -EADDRNOTAVAIL;
	return ask_kernel(&request, ret_uid) == 0 ? 0 : ask_proc(id, family, ret_uid);
}

struct http_peer http_peer_of(int fd)
{
	struct sockaddr_storage own = {}, other = {};
	socklen_t own_len = sizeof(own), other_len = sizeof(other), len = sizeof(struct ucred);
	struct http_peer peer = { .gid = (gid_t)-1, .is_tcp = true };
	struct ucred cred;

	if (getsockname(fd, (struct sockaddr *)&own, &own_len))
		return peer;
	if (own.ss_family == AF_UNIX) {
		peer.is_tcp = false;
		peer.known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0;
		peer.uid = peer.known ? cred.uid : (uid_t)-1;
		peer.gid = peer.known ? cred.gid : (gid_t)-1;
		return peer;
	}
	peer.known = getpeername(fd, (struct sockaddr *)&other, &other_len) == 0 &&
		     owner_of(&own, &other, &peer.uid) == 0;
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
