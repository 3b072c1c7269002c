/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration of the service's parts, at its start and at each reload: all of it or none.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_CONFIGURE_H
#define MEMTRACED_SERVICE_DAEMON_CONFIGURE_H

#include "base/strbuf.h"
#include "config/service_config.h"

struct service;

/*
 * Reads the file and has all parts of the service, which are there, go on by it. 0; or negative
 * errno with one line in *error: everything is as it was. -EINVAL: the configuration is wrong.
 */
int service_configure(struct service *service, struct strbuf *error);

/*
 * A change of configuration as a transaction: every step prepares what can fail, without touching
 * what runs; then either all steps are committed, which cannot fail, or all are discarded. On
 * the thread of the loop, which does not run meanwhile.
 */
struct listeners_next;
struct push_next;
struct rules_next;
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
