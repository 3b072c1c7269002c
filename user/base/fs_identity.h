/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Another user's rights on files, taken on by one thread for a few system calls: file system uid
 * and gid, and supplementary groups. Used where root touches paths that the invoking user named.
 * The other threads of the process keep their rights throughout.
 */
#ifndef MEMTRACED_BASE_FS_IDENTITY_H
#define MEMTRACED_BASE_FS_IDENTITY_H

#include "base/cleanup.h"

#include <sys/types.h>

struct fs_identity;

/*
 * Looks up the groups of `uid` (a uid without passwd entry has only `gid`). (uid_t)-1, or the
 * caller's own effective uid: entering changes nothing. 0 or negative errno; -EPERM: another uid
 * than the caller's needs root; -EINVAL: a uid without a gid.
 */
int fs_identity_new(uid_t uid, gid_t gid, struct fs_identity **ret_identity);
void fs_identity_free(struct fs_identity *identity); /* NULL is legal; not while entered */
DEFINE_CLEANUP(struct fs_identity, fs_identity_free)

/*
 * Takes the identity on for the calling thread until fs_identity_leave in the same thread; not
 * nested. 0, or negative errno with the thread as it was.
 */
int fs_identity_enter(struct fs_identity *identity);

/*
 * Takes the former identity back. 0 or negative errno; after an error the thread has fewer
 * supplementary groups than it had, never more.
 */
int fs_identity_leave(struct fs_identity *identity);

#endif
