/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A change of configuration as a transaction: every step prepares what can fail, without touching
 * what runs; then either all steps are committed, which cannot fail, or all are discarded. The
 * steps are configure.c's. On the thread of the loop, which does not run meanwhile.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_RELOAD_H
#define MEMTRACED_SERVICE_DAEMON_RELOAD_H

#include "base/strbuf.h"
#include "config/service_config.h"

struct listeners_next;
struct push_next;
struct rules_next;
struct service;
struct traces_next;

/* What the steps have prepared; NULL: nothing. */
struct reload {
	const struct service_config *config;
	char *token;
	const char *made_directory; /* that was not there before */
	struct rules_next *rules;
	struct push_next *push;
	struct listeners_next *listeners;
	struct traces_next *traces;
};

struct reload_step {
	/* 0; or negative errno, mostly with one line in *error. NULL: nothing can fail. */
	int (*prepare)(struct service *service, struct reload *reload, struct strbuf *error);
	void (*commit)(struct service *service, struct reload *reload); /* NULL: nothing to do */
	void (*discard)(struct reload *reload); /* what it has prepared; NULL: nothing to do */
};

/*
 * Prepares in the order of the steps and commits in the same; what fails discards in the reverse
 * order, and nothing of the step that failed. 0 or that step's negative errno.
 */
int reload_run(const struct reload_step *steps, size_t n, struct service *service,
	       struct reload *reload, struct strbuf *error);

#endif
