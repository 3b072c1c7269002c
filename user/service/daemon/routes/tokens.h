/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tokens by which users are known over TCP: root's, of [http] token_file, and those that users
 * have made. Tokens are compared in constant time.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_ROUTES_TOKENS_H
#define MEMTRACED_SERVICE_DAEMON_ROUTES_TOKENS_H

#include "base/cleanup.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/*
 * Tokens that the service hands out over its Unix socket, by which a user is recognised over TCP.
 * They are random, live in memory alone and end with the service; routes/ is their only caller.
 */

#define USER_TOKEN_LEN (48 + 1) /* 192 bits as hexadecimal digits, and the NUL */
#define USER_TOKENS_MOST 256
#define USER_TOKENS_OF_ONE 8

struct user_tokens;

/* `users`, each of which has limits, is borrowed; NULL: of each uid. 0 or -ENOMEM. */
struct login_users;
int user_tokens_new(struct login_users *users, struct user_tokens **ret_tokens);
void user_tokens_free(struct user_tokens *tokens); /* NULL is legal */
DEFINE_CLEANUP(struct user_tokens, user_tokens_free)

/*
 * A new token of that user with that group, valid until `end_ns`, which is of the clock of
 * `now_ns`. A user who has USER_TOKENS_OF_ONE loses the one that would end first. 0; -EBUSY: all
 * users together have as many as may be, of which some are left for root; or what getrandom(2)
 * gave.
 */
int user_tokens_add(struct user_tokens *tokens, uid_t uid, gid_t gid, uint64_t now_ns,
		    uint64_t end_ns, char ret_token[USER_TOKEN_LEN]);

/* Whose token it is. The time that it takes does not depend on how much of it is right. */
bool user_tokens_find(const struct user_tokens *tokens, const char *token, uint64_t now_ns,
		      uid_t *ret_uid, gid_t *ret_gid);

/* Removes all tokens of that user; how many had not ended. */
size_t user_tokens_remove(struct user_tokens *tokens, uid_t uid, uint64_t now_ns);

#endif
