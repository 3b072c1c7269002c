/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages on a stream socket: a length, as many bytes, and descriptors with the first of them.
 * The socket is non-blocking on the side that gives deadlines, which does not trust the other.
 */
#ifndef MEMTRACED_SANDBOX_MESSAGE_H
#define MEMTRACED_SANDBOX_MESSAGE_H

#include "base/strbuf.h"

#include <stddef.h>
#include <stdint.h>

#define MESSAGE_MAX_FDS 4
#define MESSAGE_NEVER UINT64_MAX

/* What came beside a message; to be closed. */
struct message_fds {
	int fds[MESSAGE_MAX_FDS];
	size_t n;
};

void message_fds_close(struct message_fds *fds);

/* `deadline_ns` is CLOCK_MONOTONIC. 0, -ETIMEDOUT, or negative errno; -EPIPE: it is not read. */
int message_send(int fd, const struct strbuf *body, const int *fds, size_t n_fds,
		 uint64_t deadline_ns);

/*
 * Replaces what `body` holds; memory is taken as bytes come. `ret_fds` NULL: descriptors are
 * refused. 0, -ETIMEDOUT, -EPIPE at the end of the stream, -EMSGSIZE: longer than max_bytes, or
 * another negative errno. After an error the stream is of no use.
 */
int message_receive(int fd, size_t max_bytes, uint64_t deadline_ns, struct strbuf *body,
		    struct message_fds *ret_fds);

#endif
