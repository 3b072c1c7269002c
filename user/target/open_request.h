/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What file_helper_open() is asked for, by proc_map_open() and root_open().
 */
#ifndef MEMTRACED_TARGET_OPEN_REQUEST_H
#define MEMTRACED_TARGET_OPEN_REQUEST_H

struct strbuf;

/*
 * Opens what a request asks for: in the helper. fd: what came with it, -1: nothing. A descriptor or
 * negative errno.
 */
typedef int (*file_helper_open_fn)(const struct strbuf *request, int fd);

/* The first byte of a request: which of the two reads the rest. */
enum open_request { OPEN_REQUEST_MAP, OPEN_REQUEST_IN_ROOT };

#endif
