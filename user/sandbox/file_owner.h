/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who may have written a file, and which writing left it: two files of one owner can do each other
 * no harm that the owner could not do otherwise. For sandbox/worker.h, which reads files of one
 * owner in one process.
 */
#ifndef MEMTRACED_SANDBOX_FILE_OWNER_H
#define MEMTRACED_SANDBOX_FILE_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/*
 * The mount is that by which it was opened: a container has its own, also of a folder of the host
 * into which it writes as root. Before Linux 5.8 only the device tells them apart.
 */
struct file_owner {
	uint64_t mount, dev;
	uint32_t uid;
	uint32_t gid;	 /* if its group may write to it, too; else 0 */
	bool is_group;	 /* which it may */
	bool is_anybody; /* as may anybody */
};

/* Of an open file. 0 or negative errno. */
int file_owner_read(int fd, struct file_owner *ret_owner);

/* Of this program's own file: who wrote that is believed. 0 or negative errno. */
int file_owner_read_own(struct file_owner *ret_owner);

bool file_owner_equal(const struct file_owner *a, const struct file_owner *b);

/* What was found out about a file holds for this alone. */
struct file_version {
	dev_t dev;
	ino_t ino;
	struct timespec changed; /* the kernel's own time, which cannot be chosen */
};

/* Of an open file. 0 or negative errno. */
int file_version_read(int fd, struct file_version *ret_version);

bool file_version_equal(const struct file_version *a, const struct file_version *b);

#endif
