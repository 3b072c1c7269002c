/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growth depth, which stands: page faults of all of the host, one in so many with its stack, and
 * what is mapped, if that is wanted; no probes. A session of its own, of which what has ended is
 * forgotten, and which is begun anew when it has become too large for all that. On the thread of
 * the loop; who was killed is told of by host_growth_run alone.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_GROWTH_HOST_GROWTH_H
#define MEMTRACED_SERVICE_DAEMON_GROWTH_HOST_GROWTH_H

#include "base/cleanup.h"
#include "base/loop.h"
#include "config/service_config.h"
#include "report/view/view.h"

struct host_growth;
struct worker;

/* An end that needs an explanation, of a view that has this process alone. */
typedef void (*host_growth_killed_fn)(const struct view *view, void *userdata);

struct host_growth_opts {
	struct loop *loop;
	struct worker *worker; /* the session's */
	bool (*is_kill)(const struct record_process_end *end);
	host_growth_killed_fn killed;
	struct report_usage usage; /* who knows the timelines of processes; for reports of one */
	void *userdata;
};

/* The options are borrowed. Nothing is sampled before host_growth_configure. 0 or -ENOMEM. */
int host_growth_new(const struct host_growth_opts *opts, struct host_growth **ret_growth);
/* NULL is legal. */
void host_growth_free(struct host_growth *growth);
DEFINE_CLEANUP(struct host_growth, host_growth_free)

/*
 * Begins, ends, or begins anew with another period. What cannot be is logged; a fault that may pass
 * is tried again after a while.
 */
void host_growth_configure(struct host_growth *growth, const struct service_config *config);

/* To be called in each round of the loop, which may wait for the timeout (-1: any time). */
void host_growth_run(struct host_growth *growth);
int host_growth_timeout_ms(const struct host_growth *growth);

/* Tells of those that were killed and not told of yet. */
void host_growth_finish(struct host_growth *growth);

/* What formats show that hold the stacks of one job. */
enum growth_job { GROWTH_FAULTS, GROWTH_MAPPINGS };

/*
 * A cut of the process (0: of all) to fn, which gives what is returned. Unless ret_image is NULL,
 * of the process's newest image alone, which is filled in. -ENODEV: nothing is sampled; -ENOENT:
 * mappings are not wanted; -ESRCH: nothing is known of that process; or other negative errno.
 */
int host_growth_show(struct host_growth *growth, enum growth_job job, pid_t pid,
		     uint32_t *ret_image, int (*fn)(const struct view *view, void *userdata),
		     void *userdata);

/* Is it still that image which runs with this pid? */
bool host_growth_is_current(const struct host_growth *growth, pid_t pid, uint32_t image);

/* What the process that runs with this pid has mapped; false: of it no mapping is known. */
struct region_totals;
bool host_growth_mapped(const struct host_growth *growth, pid_t pid,
			struct region_totals *ret_totals);

struct host_growth_info {
	bool is_wanted, is_running, has_mappings;
	uint64_t period;
	uint64_t age_ns;   /* since when it has sampled */
	uint64_t begun;	   /* times, by which a session is told from the one before */
	uint64_t renewed;  /* times that it was begun anew since it was too large */
	uint64_t failed;   /* times that it ended or could not begin */
	uint64_t left_out; /* kills of which nobody was told */
	uint64_t regions_left_out;
	struct model_size size;
	const struct record_coverage *coverage; /* at the latest cut; NULL: there is none */
};

struct host_growth_info host_growth_info(const struct host_growth *growth);

#endif
