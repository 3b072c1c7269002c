/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/http/guard.h"

#include "service/http/headers.h"
#include "target/process_access.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
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

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

void http_refuse_descriptors(int fd)
{
	const int no = 0;

	(void)setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof(no)); /* as guard.h says */
}

#define NAME_LEN 256

static bool is_port(const char *text)
{
	size_t len = strspn(text, "0123456789");

	return len > 0 && len <= 5 && text[len] == '\0';
}

/* "[::1]:80" */
static bool is_ipv6_host(const char *host)
{
	const char *end = strchr(host, ']');
	char text[INET6_ADDRSTRLEN];
	struct in6_addr address;
	size_t len;

	if (host[0] != '[' || !end)
		return false;
	len = (size_t)(end - host - 1);
	if (len >= sizeof(text) || (end[1] && (end[1] != ':' || !is_port(end + 2))))
		return false;
	memcpy(text, host + 1, len);
	text[len] = '\0';
	return inet_pton(AF_INET6, text, &address) == 1;
}

static bool is_known_host(const char *host, char *const *hosts)
{
	size_t len = strcspn(host, ":");
	char name[NAME_LEN];
	struct in_addr address;

	if (is_ipv6_host(host))
		return true;
	if (len == 0 || len >= sizeof(name) || (host[len] && !is_port(host + len + 1)))
		return false;
	memcpy(name, host, len);
	name[len] = '\0';
	if (strcasecmp(name, "localhost") == 0 || inet_pton(AF_INET, name, &address) == 1)
		return true;
	for (size_t i = 0; hosts && hosts[i]; i++)
		if (strcasecmp(name, hosts[i]) == 0)
			return true;
	return false;
}

static bool is_own_origin(const char *origin, const char *host)
{
	static const char scheme[] = "http://";

	return host && strncmp(origin, scheme, strlen(scheme)) == 0 &&
	       strcasecmp(origin + strlen(scheme), host) == 0;
}

/* All browsers send this, and no page can change it but in a request that asks before (CORS). */
static bool is_browser(const char *user_agent)
{
	static const char start[] = "Mozilla/";

	return user_agent && strncmp(user_agent, start, strlen(start)) == 0;
}

const char *http_guard(const struct http_origin *origin, char *const *hosts)
{
	const char *site = origin->sec_fetch_site;

	if (origin->is_tcp && (!origin->host || !is_known_host(origin->host, hosts)))
		return "this host name is not ours: use localhost or an address, or add a line "
		       "'host = NAME' to [http] of the configuration";
	/* Fetch Metadata: "none" is an address that the user has typed. */
	if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
		return "a page of another site may not ask";
	if (!site && origin->is_tcp && is_browser(origin->user_agent) &&
	    http_credentials_are_basic(origin->authorization))
		return "the browser does not tell which page asks (Sec-Fetch-Site): use localhost "
		       "or an address of loopback, such as by ssh -L";
	if (origin->origin && !is_own_origin(origin->origin, origin->host))
		return "a page of another site may not ask";
	return NULL;
}
