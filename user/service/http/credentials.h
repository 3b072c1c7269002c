/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an Authorization header carries: a token, as Bearer has it (RFC 6750), or as the password of
 * Basic (RFC 7617), which browsers and URLs can send. Pure.
 */
#ifndef MEMTRACED_SERVICE_HTTP_CREDENTIALS_H
#define MEMTRACED_SERVICE_HTTP_CREDENTIALS_H

#include <stdbool.h>

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
