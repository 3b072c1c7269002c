/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of what there is to ask for, as text and as a page for browsers, without scripts.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_ROUTES_PAGES_H
#define MEMTRACED_SERVICE_DAEMON_ROUTES_PAGES_H

#include "service/daemon/service_state.h"

/* The profiles, and the processes that may be looked at. 0 or negative errno. */
int page_index(const struct service_call *call, struct http_answer *answer);

/* `why` no process was chosen, and which there are (with such a name; NULL: all). */
int page_candidates(const struct service_call *call, const char *why, const char *pattern,
		    struct http_answer *answer);

#endif
