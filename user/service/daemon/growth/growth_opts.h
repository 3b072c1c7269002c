/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What growth depth (host_growth.h) is made with, and its two jobs.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_GROWTH_GROWTH_OPTS_H
#define MEMTRACED_SERVICE_DAEMON_GROWTH_GROWTH_OPTS_H

#include "base/loop.h"
#include "service/daemon/reports/killed.h"
#include "trace/record/record.h"

struct worker;

/* What formats show that hold the stacks of one job. */
enum growth_job { GROWTH_FAULTS, GROWTH_MAPPINGS };

struct host_growth_opts {
	struct loop *loop;
	struct worker *worker; /* the session's */
	/* Session's thread: does this end need an explanation? Then `killed` has to give it. */
	bool (*is_kill)(const struct record_process_end *end);
	killed_fn killed;
	/* Is a trace about to tell of a kill? It knows more of a process, and goes first. */
	bool (*is_told_soon)(void *userdata);
	struct report_usage usage; /* who knows the timelines of processes; for reports of one */
	void *userdata;
};

#endif
