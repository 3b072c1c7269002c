/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Serves target/open_request.h in a process of target/file_helper.h.
 */
#ifndef MEMTRACED_TARGET_OPEN_SERVER_H
#define MEMTRACED_TARGET_OPEN_SERVER_H

struct strbuf;

/* As file_helper_open_fn. */
int open_serve(const struct strbuf *request, int fd);

#endif
