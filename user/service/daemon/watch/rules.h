/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules of the configuration at work: after each sweep of the watch they look at processes and
 * cgroups, and have a process traced where one's condition has held for its time. Of a cgroup that
 * is the process of it with most resident memory. On the thread of the loop.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_WATCH_RULES_H
#define MEMTRACED_SERVICE_DAEMON_WATCH_RULES_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "config/service_config.h"

struct rules;
struct service;

/* The service, which outlives them, has a watch and traces. 0 or -ENOMEM. */
int rules_new(struct service *service, struct rules **ret_rules);
void rules_free(struct rules *rules); /* NULL is legal */
DEFINE_CLEANUP(struct rules, rules_free)

/*
 * Those of another configuration (configure.h). Traces of rules that are gone go on; a rule of the
 * same name goes on counting, and if its condition is the same it remembers what it left alone. 0;
 * -EINVAL with "PATH:LINE: ..." in *error: a user or a format is not known; or -ENOMEM.
 */
struct rules_next;
int rules_prepare(struct rules *rules, const struct service_config *config,
		  struct rules_next **ret_next, struct strbuf *error);
/* Takes `next` over; cannot fail. */
void rules_commit(struct rules *rules, struct rules_next *next);
void rules_next_free(struct rules_next *next); /* NULL is legal */
DEFINE_CLEANUP(struct rules_next, rules_next_free)

/* A sweep is over. */
void rules_check(struct rules *rules);

struct rule_info {
	const char *name, *when;
	uint64_t fired, refused;
	size_t running;	  /* traces */
	size_t held;	  /* processes or cgroups of which the condition held at the last look */
	uint64_t held_ns; /* the longest of them, for so long; by then it may be traced already */
	pid_t last_pid;	  /* 0: never fired */
	const char *last_comm;
	uint64_t last_ago_ns;
};

/* The rule at `index`, in the order of the file; false: there are no more. */
bool rules_at(const struct rules *rules, size_t index, struct rule_info *ret_info);

#endif
