/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The token of [http] token_file, by which somebody without root's rights may see all.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_ROUTES_TOKEN_H
#define MEMTRACED_SERVICE_DAEMON_ROUTES_TOKEN_H

#include "base/strbuf.h"

#include <stdbool.h>

/*
 * The first line of the file; malloc'ed in *ret_token. 0, or negative errno with *error set: it
 * must be a file that only its owner may read, and the token 16 to 256 printable characters.
 */
int token_read(const char *path, char **ret_token, struct strbuf *error);

/*
 * Is it what an Authorization header (NULL: there is none) has? Takes a time that does not tell how
 * much of it was right.
 */
bool token_matches(const char *token, const char *authorization);

#endif
