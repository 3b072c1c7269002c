/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output files that are written whole or not at all: a temporary file in the target's own folder,
 * renamed over the path at commit, or before, where its owner finds that it is worth having. Opened
 * with the invoking user's identity (DESIGN.md section 2), never through a symbolic link in the
 * last component.
 */
#ifndef MEMTRACED_BASE_OUTFILE_H
#define MEMTRACED_BASE_OUTFILE_H

#include "base/cleanup.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct outfile;

/*
 * Begins a replacement of `path`. uid and gid: whose rights decide and who owns the file
 * ((uid_t)-1: the caller's own). The file's contents are unchanged until outfile_commit. A pipe or
 * character device is opened and written directly; /dev/stdout, /dev/stderr and /dev/fd/N stand for
 * the descriptor that memtraced was started with. 0 or negative errno: -EACCES (also for an old
 * file that this user may not write, and another user's pipe in a sticky folder), -ENOENT, -ELOOP
 * for a link, -EISDIR, -ENXIO for a socket or a pipe without a reader, -EOPNOTSUPP for a disk,
 * -EPERM for another's identity without root, ...
 */
int outfile_new(const char *path, uid_t uid, gid_t gid, struct outfile **ret_file);

/*
 * The stream to write to; belongs to the outfile. It has no descriptor of its own: fileno() fails.
 * SIGPIPE is the caller's to ignore.
 */
FILE *outfile_stream(struct outfile *file);

/* The stream takes so many bytes at most: more is a write that fails, -EFBIG. */
void outfile_limit(struct outfile *file, uint64_t bytes);

/*
 * Flushes, checks every write, renames. 0 or negative errno, that of the first write that failed
 * (-ENOSPC, -EPIPE, ...); on an error the old file is as it was. To be called once; the stream is
 * closed by it, the outfile is still to be freed.
 */
int outfile_commit(struct outfile *file);

/*
 * Hands on what the stream holds. 0, or the negative errno of the first write that failed, at
 * whatever time.
 */
int outfile_flush(struct outfile *file);

/* Why outfile_new() has failed, in words. */
const char *outfile_strerror(int r);

/* What a writer returned; where it is -EIO, as of a stream that did not take all, why. */
int outfile_error(struct outfile *file, int r);

/*
 * For a file that is worth having before it is complete: flushes, and gives it its name now, over
 * what had it. What is written later is added to it, and stays without a commit, too. Later calls
 * only flush. As outfile_commit otherwise.
 */
int outfile_publish(struct outfile *file);

/*
 * A pipe or terminal behind `fd`, opened once more so that writes do not wait: the flags belong to
 * an open file, which others share. It is the caller's; -1: it is neither, or cannot be opened.
 */
int outfile_open_again(int fd);

/* Without a commit before, removes the temporary file. NULL is legal. */
void outfile_free(struct outfile *file);
DEFINE_CLEANUP(struct outfile, outfile_free)

#endif
