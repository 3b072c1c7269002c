/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes behind target/file_helper.h: one that forks the others, and those. For it alone,
 * but for what file_open.c has them open.
 */
#ifndef MEMTRACED_TARGET_FILE_HELPER_PROCESS_H
#define MEMTRACED_TARGET_FILE_HELPER_PROCESS_H

#include "base/codec.h"

#include <sys/types.h>

/*
 * Opens what a request asks for: in the helper. fd: what came with it, -1: nothing. A descriptor or
 * negative errno.
 */
typedef int (*file_helper_open_fn)(const struct strbuf *request, int fd);

/* The first byte of a request: which of the two reads the rest. */
enum open_request { OPEN_REQUEST_MAP, OPEN_REQUEST_IN_ROOT };

/* The name of all, as ps(1) shows it; and the role of the one that forks (main.c). */
#define FILE_HELPER_COMM "memtraced-open"

/*
 * To the one that forks. FORK is answered by a pid and by its socket (0, and none: it could not be
 * forked); KILL by nothing.
 */
enum file_helper_what { FILE_HELPER_FORK, FILE_HELPER_KILL };

struct file_helper_order {
	uint8_t what; /* enum file_helper_what */
	pid_t pid;    /* which is killed; else 0 */
};

/*
 * To the others, the first byte of a request. Of READ and LINK struct file_helper_asked follows;
 * they are answered by struct file_helper_chunk and text, as often as more comes. Of OPEN_PROC the
 * same follows, of OPEN what file_helper_open_fn takes; both are answered by an error, and a
 * descriptor.
 */
enum file_helper_request {
	FILE_HELPER_READ,
	FILE_HELPER_LINK,
	FILE_HELPER_OPEN,
	FILE_HELPER_OPEN_PROC
};

struct file_helper_asked {
	pid_t pid;
	const char *name;
	uint64_t max_bytes;
	int flags; /* of OPEN_PROC */
};

struct file_helper_chunk {
	bool more;
	int error; /* positive */
};

extern const struct layout file_helper_order_layout, file_helper_asked_layout;
extern const struct layout file_helper_chunk_layout;

#define FILE_HELPER_NAME_MAX 64
/* Paths come from /proc/PID/maps. */
#define FILE_HELPER_REQUEST_MAX (1 << 16)
#define FILE_HELPER_CHUNK (64 << 10)

/* In the child, with its end of the socket. */
_Noreturn void file_helper_process(int fd, file_helper_open_fn open_fn);

#endif
