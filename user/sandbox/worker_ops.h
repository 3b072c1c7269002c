/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a worker does for the daemon. It runs in the worker's process, which is confined, or, where
 * there is none, in the caller's.
 */
#ifndef MEMTRACED_SANDBOX_WORKER_OPS_H
#define MEMTRACED_SANDBOX_WORKER_OPS_H

#include "base/strbuf.h"

#include <stddef.h>

struct worker_ops {
	int (*new)(void **ret_state); /* 0 or negative errno */
	void (*free)(void *state);
	/*
	 * Answers a request; the descriptors are closed by the caller. 0 or negative errno, upon
	 * which a process ends.
	 */
	int (*serve)(void *state, const struct strbuf *request, const int *fds, size_t n_fds,
		     struct strbuf *answer);
	/*
	 * What main() calls the keeper's role by; NULL: a keeper that was killed stays away. The
	 * role serves the same operations.
	 */
	const char *role;
};

#endif
