/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a request ends, by its headers (RFC 9112, 6.3). A proxy that reads them in another way than
 * we do takes a part of one request's body for the next request ("request smuggling"): one that its
 * sender may not make. So a request is refused whose headers can be read in two ways, and what
 * follows a body on its connection is not read. The library is more lenient than that. Pure.
 */
#ifndef MEMTRACED_SERVICE_HTTP_FRAMING_H
#define MEMTRACED_SERVICE_HTTP_FRAMING_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed at first. */
struct http_framing {
	const char *why; /* literal: for which it is refused; NULL: nothing yet */
	bool has_body;
	unsigned int n_hosts, n_lengths, n_codings;
};

/* To be called with each header. */
void http_framing_add(struct http_framing *framing, const char *name, size_t name_len,
		      const char *value, size_t value_len);

#endif
