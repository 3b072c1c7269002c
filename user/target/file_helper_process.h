/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes behind target/file_helper.h: one that forks the others, and those. For it alone,
 * but for what file_open.c has them open.
 */
#ifndef MEMTRACED_TARGET_FILE_HELPER_PROCESS_H
#define MEMTRACED_TARGET_FILE_HELPER_PROCESS_H

struct strbuf;

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
 * To the one that forks, a byte: answered by a number, the pid, and by its socket (none: it could
 * not be forked); or a byte and a pid, which is killed, and no answer.
 */
enum file_helper_order { FILE_HELPER_FORK, FILE_HELPER_KILL };

/*
 * To the others. READ: pid, name, most bytes; answers: bytes each of which says whether more come,
 * an error, then text. LINK: the same, of what a link leads to, in one answer. OPEN: what
 * file_helper_open_fn takes; an error, and a descriptor.
 */
enum file_helper_request { FILE_HELPER_READ, FILE_HELPER_LINK, FILE_HELPER_OPEN };

#define FILE_HELPER_NAME_MAX 64
/* Paths come from /proc/PID/maps. */
#define FILE_HELPER_REQUEST_MAX (1 << 16)
#define FILE_HELPER_CHUNK (64 << 10)

/* In the child, with its end of the socket. */
_Noreturn void file_helper_process(int fd, file_helper_open_fn open_fn);

#endif
