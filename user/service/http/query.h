/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The target of an HTTP request, "/debug/pprof/heap?pid=7&seconds=5", taken apart. What is not
 * exactly right is refused: no escape is passed over, no key is unknown. Pure.
 */
#ifndef MEMTRACED_SERVICE_HTTP_QUERY_H
#define MEMTRACED_SERVICE_HTTP_QUERY_H

#include "config/options.h"

#include <stdint.h>
#include <sys/types.h>

struct http_query {
	char *path;	  /* unescaped; of "/proc/7/debug/pprof/heap" what is behind the 7 */
	pid_t pid;	  /* 0: not given */
	uint64_t seconds; /* 0: not given */
	unsigned int debug;
	enum heap_depth depth; /* of a trace of the heap */
	char *format;	       /* of a report; NULL: not given */
	char *name;	       /* of a file that is there; NULL: not given */
};

/*
 * 0 with *ret_query, for http_query_done; -EINVAL: *ret_why says why, in words for the client;
 * or -ENOMEM.
 */
int http_query_parse(const char *target, struct http_query *ret_query, const char **ret_why);
void http_query_done(struct http_query *query);

#endif
