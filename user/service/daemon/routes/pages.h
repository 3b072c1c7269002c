/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of what there is to ask for, as text and as a page for browsers, without scripts.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_ROUTES_PAGES_H
#define MEMTRACED_SERVICE_DAEMON_ROUTES_PAGES_H

#include "service/daemon/service_state.h"

#define PAGE_MOST_PROCESSES 500 /* that are listed */

/* The profiles, and the processes that may be looked at. As a route's function. */
int page_index(struct service_call *call, struct http_answer *answer);

/*
 * `why` no process was chosen (NULL: the profiles), and which there are (with such a name; NULL:
 * all). As a route's function.
 */
int page_candidates(struct service_call *call, const char *why, const char *pattern,
		    struct http_answer *answer);

#endif
