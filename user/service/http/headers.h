/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of a request's headers decides: where it ends, and with which token it comes. Pure. */
#ifndef MEMTRACED_SERVICE_HTTP_HEADERS_H
#define MEMTRACED_SERVICE_HTTP_HEADERS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Where a request ends, by its headers (RFC 9112, 6.3). A proxy that reads them in another way than
 * we do takes a part of one request's body for the next request ("request smuggling"): one that its
 * sender may not make. So a request is refused whose headers can be read in two ways, and what
 * follows a body on its connection is not read. The library is more lenient than that. Zeroed at
 * first.
 */
struct http_framing {
	const char *why; /* literal: for which it is refused; NULL: nothing yet */
	bool has_body;
	unsigned int n_hosts, n_lengths, n_codings;
};

/* To be called with each header. */
void http_framing_add(struct http_framing *framing, const char *name, size_t name_len,
		      const char *value, size_t value_len);

/*
 * What an Authorization header carries: a token, as Bearer has it (RFC 6750), or as the password of
 * Basic (RFC 7617), which browsers and URLs can send.
 */

#define HTTP_TOKEN_MOST 256

/* The value of WWW-Authenticate. Browsers know no Bearer: it is accepted without being offered. */
#define HTTP_CHALLENGE "Basic realm=\"memtraced\", charset=\"UTF-8\""

/*
 * The token of that header (NULL: there is none), NUL-terminated. False: it has another scheme, is
 * malformed, or its token is empty or longer than HTTP_TOKEN_MOST. The user's name is ignored.
 */
bool http_credentials_token(const char *authorization, char ret_token[HTTP_TOKEN_MOST + 1]);

/* Basic credentials are sent by browsers without being asked, also for pages of other sites. */
bool http_credentials_are_basic(const char *authorization);

#endif
