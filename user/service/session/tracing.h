/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the options to a live source: which kernel features are needed, the attach path, the jobs.
 * Says on the log what cannot be done.
 */
#ifndef MEMTRACED_SERVICE_SESSION_TRACING_H
#define MEMTRACED_SERVICE_SESSION_TRACING_H

#include "config/options.h"
#include "service/sample_library.h"
#include "trace/live/live.h"

#include <stdbool.h>

/* Are probes in the targets' allocators wanted? */
bool tracing_needs_probes(const struct options *options);

/* Is what processes map looked at, for stacks or probes? */
bool tracing_needs_code(const struct options *options);

/* Must processes be held while what they map is recorded or probed? Else nothing stops them. */
bool tracing_holds(const struct options *options);

/*
 * Probes the features that are needed (*ret_features, NULL when none is), loads, and adds the jobs.
 * The worker is borrowed, and serves file_server's requests. depth: the first of --max-overhead;
 * books: borrowed for good.
 * Features must outlive the source. 0; -EINVAL: usage; or another negative errno. All were logged.
 */
int tracing_new(const struct options *options, struct worker *worker, enum record_depth depth,
		const struct kept_books *books, struct features **ret_features,
		struct live **ret_live);

#endif
