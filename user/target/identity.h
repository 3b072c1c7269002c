/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * On whose behalf memtraced works: the user that called sudo, or the one of --run-as, with what the
 * user database knows about him, and the environment that a program of his gets.
 */
#ifndef MEMTRACED_TARGET_IDENTITY_H
#define MEMTRACED_TARGET_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct identity {
	bool change; /* false: the caller's own identity is kept, nothing below is set */
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* all supplementary ones, gid among them */
	size_t n_groups;
	char *name, *home, *shell; /* NULL when the user database has no entry */
};

/* The user on whose behalf memtraced runs: SUDO_UID/SUDO_GID when root, else the real ids. */
void invoking_user(uid_t *ret_uid, gid_t *ret_gid);

/* A user's name, or else a uid, whether anybody has it or not. 0 or errors as below. */
int identity_uid(const char *user, uid_t *ret_uid);

/*
 * `run_as`: user name or uid, NULL: the invoking user. 0; -ENODATA: no such user; -EPERM: another
 * user than the caller, who is not root; -ENOMEM or what reading the user database gave.
 */
int identity_resolve(const char *run_as, struct identity *ret_identity);
void identity_done(struct identity *identity);

/*
 * A copy of `base` ("N=V" strings, NULL-terminated) with the identity's HOME, USER, LOGNAME and
 * SHELL, then with `set` (may be NULL). For words_free. 0, -ENOMEM, or -EINVAL when a string
 * of `set` is no assignment.
 */
int identity_environment(const struct identity *identity, char *const *base, const char *const *set,
			 char ***ret_environment);

#endif
