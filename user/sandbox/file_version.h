/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which file it is, and as which writing left it: what was found out about a file holds for this
 * alone. For sandbox/worker.h.
 */
#ifndef MEMTRACED_SANDBOX_FILE_VERSION_H
#define MEMTRACED_SANDBOX_FILE_VERSION_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

struct file_version {
	dev_t dev;
	ino_t ino;
	struct timespec changed; /* the kernel's own time, which cannot be chosen */
};

/* Of an open file. 0 or negative errno. */
int file_version_read(int fd, struct file_version *ret_version);

bool file_version_equal(const struct file_version *a, const struct file_version *b);

#endif
