/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One session of growth depth on a thread of its own: what is asked of it, how large it has become,
 * and the kills that it has seen. On the thread of the loop.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_GROWTH_GROWTH_RUN_H
#define MEMTRACED_SERVICE_DAEMON_GROWTH_GROWTH_RUN_H

#include "base/cleanup.h"
#include "base/loop.h"
#include "base/vec.h"
#include "model/model.h"
#include "model/regions.h"
#include "service/daemon/reports/killed.h"
#include "service/session/session_runner.h"
#include "trace/record/record.h"

#include <stdatomic.h>

struct worker;

/* What formats show that hold the stacks of one job. */
enum growth_job { GROWTH_FAULTS, GROWTH_MAPPINGS };

/* What growth depth (host_growth.h) is made with. */
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

struct session;

struct growth_loss {
	char *cause; /* "ring-full" */
	uint64_t count;
};

struct growth_mapped {
	pid_t pid;
	struct region_totals totals;
};

/*
 * What growth depth's session keeps, as of one moment: taken on the session's thread, read on the
 * loop's. It shares nothing with the session.
 */
struct growth_snapshot {
	struct model_size size;
	uint64_t regions_left_out;
	/* At the session's latest cut: 0 and none before the first. */
	uint64_t events;
	VEC(struct growth_loss) losses;
	/* Of processes that run, ascending by pid. */
	VEC(struct growth_mapped) mapped;
};

/* 0 or -ENOMEM; for growth_snapshot_free(). */
int growth_snapshot_new(const struct session *session, struct growth_snapshot **ret_snapshot);

/* NULL: of this process no mapping is known. */
const struct region_totals *growth_snapshot_mapped(const struct growth_snapshot *snapshot,
						   pid_t pid);

struct growth_run;

struct growth_run_opts {
	const struct host_growth_opts *growth; /* borrowed until gone() */
	uint64_t period;
	bool has_mappings;
	_Atomic uint64_t *left_out; /* counts kills of which nothing was told; likewise */
	/* A snapshot was taken: growth_run_snapshot(). is_cut: after a cut. */
	void (*looked)(struct growth_run *run, bool is_cut, void *userdata);
	/* After growth_run_end(): its thread has ended. */
	void (*gone)(void *userdata);
	void *userdata;
};

/* Begins to trace. 0 or negative errno. */
int growth_run_new(const struct growth_run_opts *opts, struct growth_run **ret_run);
/* Tells of the kills that are known and ends it; it frees itself later. NULL is legal. */
void growth_run_end(struct growth_run *run);

/* False until tracing begins, or has failed to. */
bool growth_run_is_settled(const struct growth_run *run);
/* 0; or negative errno: it has failed, and is to be ended. */
int growth_run_error(const struct growth_run *run);
uint64_t growth_run_start_ns(const struct growth_run *run); /* CLOCK_MONOTONIC */
/* NULL before the first look. */
const struct growth_snapshot *growth_run_snapshot(const struct growth_run *run);

/* Takes a snapshot, after a cut if asked for, unless one is being taken. */
void growth_run_look(struct growth_run *run, bool is_cut);

/* A job for its session; see session_runner_post(). */
void growth_run_post(struct growth_run *run, struct session_job *job);
/* Takes over a snapshot that a job of it has taken; NULL is legal. */
void growth_run_publish(struct growth_run *run, struct growth_snapshot *snapshot);
/* Which job of a view is which (service/output/jobs.h: mappings come before events). */
size_t growth_run_job(const struct growth_run *run, enum growth_job job);
/* As it was made with. */
const struct growth_run_opts *growth_run_opts(const struct growth_run *run);
/* For report_opts of this session; lives as long as the session. */
const struct report_usage *growth_run_usage(const struct growth_run *run);

/* Tells of the kills that are due. */
void growth_run_report_kills(struct growth_run *run);
/* When the next one is; UINT64_MAX: none is waiting. */
uint64_t growth_run_next_kill_ns(const struct growth_run *run);
/* Kills that are being told of. */
size_t growth_run_telling(const struct growth_run *run);

#endif
