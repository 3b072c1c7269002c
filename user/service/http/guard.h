/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is a request one of a program or of our own pages, and not made by a page of another site in
 * somebody's browser? Pure.
 */
#ifndef MEMTRACED_SERVICE_HTTP_GUARD_H
#define MEMTRACED_SERVICE_HTTP_GUARD_H

#include <stdbool.h>

struct http_origin {
	/* headers; NULL: not there */
	const char *host, *origin, *sec_fetch_site, *user_agent, *authorization;
	bool is_tcp; /* browsers reach no Unix sockets: there any Host will do */
};

/*
 * NULL, or why not, for whoever asked. Host must be localhost, an address, or one of `hosts`
 * (NULL-terminated; NULL: none): any other name may be one that its owner now has point to us.
 * Browsers send Basic credentials with the requests of any page; to plain HTTP that is neither on
 * localhost nor on loopback they send no Sec-Fetch-Site, and are refused with such credentials.
 */
const char *http_guard(const struct http_origin *origin, char *const *hosts);

#endif
