/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/service_listen.h"

#include "config/units.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#define ADDRESS_LEN 64

static int parse_unix(const char *path, struct service_listen *listen, const char **ret_why)
{
	struct sockaddr_un *address = (struct sockaddr_un *)&listen->address;

	if (path[0] != '/') {
		*ret_why = "a Unix socket needs an absolute path";
		return -EINVAL;
	}
	if (strlen(path) >= sizeof(address->sun_path)) {
		*ret_why = "the path of a Unix socket has at most 107 bytes";
		return -EINVAL;
	}
	address->sun_family = AF_UNIX;
	strcpy(address->sun_path, path);
	listen->address_len = sizeof(*address);
	return 0;
}

/* `host` is without brackets. */
static int parse_host(const char *host, bool is_ipv6, uint16_t port, struct service_listen *listen)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&listen->address;
	struct sockaddr_in *in = (struct sockaddr_in *)&listen->address;

	if (is_ipv6) {
		if (inet_pton(AF_INET6, host, &in6->sin6_addr) != 1)
			return -EINVAL;
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		listen->address_len = sizeof(*in6);
		listen->is_loopback = IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
		return 0;
	}
	if (inet_pton(AF_INET, host, &in->sin_addr) != 1)
		return -EINVAL;
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	listen->address_len = sizeof(*in);
	listen->is_loopback = ntohl(in->sin_addr.s_addr) >> 24 == 127;
	return 0;
}

static int parse_tcp(const char *text, struct service_listen *listen, const char **ret_why)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	bool is_ipv6 = len > 2 && text[0] == '[' && text[len - 1] == ']';
	char host[ADDRESS_LEN];
	uint64_t port;

	*ret_why = "give 'unix PATH', 'ADDRESS:PORT' or '[ADDRESS]:PORT'; names are not looked up";
	if (len == 0 || len >= sizeof(host) ||
	    parse_digits(colon + 1, colon + strlen(colon), &port) < 0)
		return -EINVAL;
	if (port == 0 || port > UINT16_MAX) {
		*ret_why = "a port is 1 to 65535";
		return -EINVAL;
	}
	memcpy(host, text + is_ipv6, len - 2 * is_ipv6);
	host[len - 2 * is_ipv6] = '\0';
	return parse_host(host, is_ipv6, (uint16_t)port, listen);
}

int service_listen_parse(const char *text, struct service_listen *ret_listen, const char **ret_why)
{
	struct service_listen listen = {};
	const char *path = strncmp(text, "unix", 4) == 0 ? text + 4 : NULL;
	int r;

	if (path && (*path == ' ' || *path == '\t'))
		r = parse_unix(path + strspn(path, " \t"), &listen, ret_why);
	else
		r = parse_tcp(text, &listen, ret_why);
	if (r < 0)
		return r;
	listen.text = strdup(text);
	if (!listen.text)
		return -ENOMEM;
	*ret_listen = listen;
	return 0;
}
