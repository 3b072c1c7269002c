/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which uids are one person's: a login user and the subordinate ids that subuid(5) gives that user
 * for user namespaces. Limits of a user count all of them together. Names are looked up in
 * /etc/passwd alone, as any other service could keep its caller waiting; the range of a name that
 * is not there counts as a user of its own. Any thread.
 */
#ifndef MEMTRACED_TARGET_LOGIN_USERS_H
#define MEMTRACED_TARGET_LOGIN_USERS_H

#include "base/cleanup.h"

#include <sys/types.h>

#define LOGIN_USERS_SUBUID "/etc/subuid"
#define LOGIN_USERS_PASSWD "/etc/passwd"
/* Of the file: more are left out, with each uid a user of its own. */
#define LOGIN_USERS_MOST_RANGES 16384

struct login_users;

/* Paths are borrowed. Files that are not there have no ranges. 0 or -ENOMEM. */
int login_users_new(const char *subuid_path, const char *passwd_path,
		    struct login_users **ret_users);
void login_users_free(struct login_users *users); /* NULL is legal */
DEFINE_CLEANUP(struct login_users, login_users_free)

/*
 * The uid that stands for the person who has this one: the login user's, or, where that is not
 * known, the first of the range; else itself, as root's always is. Reads the files again when
 * /etc/subuid has changed; without memory what was known stays. NULL: each uid is a user.
 */
uid_t login_users_find(struct login_users *users, uid_t uid);

#endif
