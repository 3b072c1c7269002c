/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The token of [http] token_file, which stands for root, and the comparison of tokens.
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
 * Are they the same? The time that it takes depends on the length of what is given alone, not on
 * how much of it is right. `token` is not empty.
 */
bool token_matches(const char *token, const char *given);

#endif
