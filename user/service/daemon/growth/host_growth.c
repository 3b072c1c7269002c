/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/growth/host_growth.h"

#include "base/clock.h"
#include "base/log.h"
#include "service/daemon/growth/growth_run.h"
#include "service/session/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* How often it is looked whether there is too much; what that is, some 20 MB of each. */
#define LOOK_NS (60 * SECOND_NS)
#define MOST_OBJECTS 4096
#define MOST_MAPPINGS 262144
#define MOST_REGIONS 524288
/* Stacks of who has ended are kept with it: those that max_stacks is not about. */
#define STACKS_OF_ENDED 4
/* So many times as much is not waited for a look with. */
#define FAR_TOO_MUCH 4
#define GLANCE_NS SECOND_NS
/* After a fault, twice as long each time. */
#define FIRST_RETRY_NS (60 * SECOND_NS)
#define MOST_RETRY_NS (3600 * SECOND_NS)
/* Waiting in rounds of the loop: for its beginning, for reports of kills, for its thread. */
#define SETTLE_NS (10 * SECOND_NS)
#define ROUND_MS 50

struct host_growth {
	struct host_growth_opts opts;
	bool is_started, is_wanted, has_mappings;
	uint64_t period, most_stacks;
	struct growth_run *run;	 /* NULL: it does not run */
	struct growth_run *next; /* begins by another configuration, in place of `run` */
	size_t n_ending;	 /* runs whose threads are not done yet */
	uint64_t next_look_ns, next_glance_ns;
	uint64_t retry_ns, next_retry_ns; /* the latter UINT64_MAX: never */
	uint64_t begun, renewed, failed;
	_Atomic uint64_t left_out;
};

int host_growth_new(const struct host_growth_opts *opts, struct host_growth **ret_growth)
{
	struct host_growth *growth = calloc(1, sizeof(*growth));

	if (!growth)
		return -ENOMEM;
	growth->opts = *opts;
	growth->next_retry_ns = UINT64_MAX;
	growth->retry_ns = FIRST_RETRY_NS;
	*ret_growth = growth;
	return 0;
}

/* --- its session ----------------------------------------------------------------------------- */

static void end_run(struct host_growth *growth, struct growth_run **run)
{
	if (!*run)
		return;
	growth_run_end(*run);
	*run = NULL;
	growth->n_ending++;
}

static void end_growth(struct host_growth *growth)
{
	end_run(growth, &growth->run);
	end_run(growth, &growth->next);
}

static void on_gone(void *userdata)
{
	struct host_growth *growth = userdata;

	growth->n_ending--;
}

static bool is_ending(const struct host_growth *growth)
{
	return growth->n_ending > 0;
}

static bool is_unsettled(const struct host_growth *growth)
{
	return growth->next || (growth->run && !growth_run_is_settled(growth->run));
}

static bool is_telling(const struct host_growth *growth)
{
	return growth->run && (growth_run_telling(growth->run) > 0 ||
			       growth_run_next_kill_ns(growth->run) != UINT64_MAX);
}

static void look_at_next(struct host_growth *growth);

static void wait_for(struct host_growth *growth, bool (*is_left)(const struct host_growth *growth))
{
	uint64_t end_ns = clock_monotonic_ns() + SETTLE_NS;

	while (is_left(growth) && clock_monotonic_ns() < end_ns &&
	       loop_run_once(growth->opts.loop, ROUND_MS) == 0) {
		look_at_next(growth);
		if (growth->run)
			growth_run_report_kills(growth->run);
	}
}

void host_growth_free(struct host_growth *growth)
{
	if (!growth)
		return;
	end_growth(growth);
	wait_for(growth, is_ending);
	/* One whose session hangs in the kernel may still use it; the process ends anyway. */
	if (!is_ending(growth))
		free(growth);
}

bool host_growth_is_settled(const struct host_growth *growth)
{
	return !is_unsettled(growth);
}

void host_growth_settle(struct host_growth *growth)
{
	wait_for(growth, is_unsettled);
}

void host_growth_finish(struct host_growth *growth)
{
	wait_for(growth, is_telling);
}

/* `error`: for which it does not run now. What the kernel lacks it will lack later, too. */
static void fail_growth(struct host_growth *growth, int error)
{
	bool for_good = error == -EINVAL || error == -EOPNOTSUPP || error == -EPERM;

	end_growth(growth);
	growth->failed++;
	growth->next_retry_ns = for_good ? UINT64_MAX : clock_monotonic_ns() + growth->retry_ns;
	growth->retry_ns =
		growth->retry_ns * 2 < MOST_RETRY_NS ? growth->retry_ns * 2 : MOST_RETRY_NS;
	log_warning("[growth]: page faults of the host are not sampled: %s%s", strerror(-error),
		    for_good ? "; [growth] enabled = no turns them off" : "; it is tried again");
}

static void on_look(struct growth_run *run, bool is_cut, void *userdata);

static int begin_run(struct host_growth *growth, struct growth_run **ret_run)
{
	const struct growth_run_opts opts = {
		.growth = &growth->opts,
		.period = growth->period,
		.has_mappings = growth->has_mappings,
		.left_out = &growth->left_out,
		.looked = on_look,
		.gone = on_gone,
		.userdata = growth,
	};

	return growth_run_new(&opts, ret_run);
}

static void note_begun(struct host_growth *growth)
{
	growth->begun++;
	growth->next_retry_ns = UINT64_MAX;
	growth->next_glance_ns = 0;
	growth->next_look_ns = clock_monotonic_ns() + LOOK_NS;
}

static void begin_growth(struct host_growth *growth)
{
	int r = begin_run(growth, &growth->run);

	if (r < 0)
		fail_growth(growth, r);
	else
		note_begun(growth);
}

/* What cannot begin by the new configuration leaves what samples by the old one. */
static void continue_with_old(struct host_growth *growth, int error)
{
	end_run(growth, &growth->next);
	growth->failed++;
	log_error("[growth]: cannot sample page faults as configured: %s; sampling goes on as "
		  "before; reload again to retry",
		  strerror(-error));
}

static void begin_next(struct host_growth *growth)
{
	int r;

	end_run(growth, &growth->next);
	r = begin_run(growth, &growth->next);
	if (r < 0)
		continue_with_old(growth, r);
}

static void look_at_next(struct host_growth *growth)
{
	if (!growth->next || !growth_run_is_settled(growth->next))
		return;
	if (growth_run_error(growth->next)) {
		continue_with_old(growth, growth_run_error(growth->next));
		return;
	}
	end_run(growth, &growth->run);
	growth->run = TAKE_PTR(growth->next);
	note_begun(growth);
}

static bool runs_as(const struct growth_run *run, const struct service_config *config)
{
	return growth_run_opts(run)->period == config->growth_period &&
	       growth_run_opts(run)->has_mappings == config->growth_mappings;
}

void host_growth_configure(struct host_growth *growth, const struct service_config *config)
{
	const struct growth_run *newest = growth->next ? growth->next : growth->run;

	growth->most_stacks = config->growth_stacks;
	growth->is_wanted = config->grows;
	growth->period = config->growth_period;
	growth->has_mappings = config->growth_mappings;
	if (growth->is_wanted && newest && runs_as(newest, config))
		return;
	growth->next_retry_ns = UINT64_MAX;
	growth->retry_ns = FIRST_RETRY_NS;
	if (!growth->is_wanted)
		end_growth(growth);
	else if (growth->run && growth_run_is_settled(growth->run) &&
		 !growth_run_error(growth->run))
		begin_next(growth);
	else if (growth->is_started) {
		end_growth(growth);
		begin_growth(growth);
	}
}

void host_growth_start(struct host_growth *growth)
{
	growth->is_started = true;
	if (growth->is_wanted && !growth->run)
		begin_growth(growth);
}

/* --- the round ------------------------------------------------------------------------------- */

/* `times`: as much as it may be. */
static bool is_too_much(const struct host_growth *growth, const struct model_size *size,
			size_t times)
{
	size_t stacks = times * growth->most_stacks;
	bool is = size->counts + size->region_sites >= stacks ||
		  size->stacks >= STACKS_OF_ENDED * stacks ||
		  size->objects >= times * MOST_OBJECTS ||
		  size->mappings >= times * MOST_MAPPINGS || size->regions >= times * MOST_REGIONS;

	if (is)
		log_debug("[growth]: %zu stacks, %zu sites of %zu regions, %zu stacks with those "
			  "of processes that have ended, %zu files, %zu mappings: begun anew",
			  size->counts, size->region_sites, size->regions, size->stacks,
			  size->objects, size->mappings);
	return is;
}

/* But for what has ended a session only grows: when it is too much, it is let go as a whole. */
static void renew(struct host_growth *growth, uint64_t due_ns)
{
	end_growth(growth);
	growth->renewed++;
	if (clock_monotonic_ns() >= due_ns) {
		begin_growth(growth);
		return;
	}
	growth->next_retry_ns = due_ns;
	log_warning("[growth]: event burst; sampling suspended for less than a minute");
}

/*
 * After a look it may not be too much; in between not far too much: a process that fills it long
 * before a look would do so again, so nothing is sampled until that is due.
 */
static void on_look(struct growth_run *run, bool is_cut, void *userdata)
{
	const struct growth_snapshot *snapshot = growth_run_snapshot(run);
	struct host_growth *growth = userdata;

	if (is_cut)
		growth->retry_ns = FIRST_RETRY_NS;
	if (is_cut && is_too_much(growth, &snapshot->size, 1))
		renew(growth, 0);
	else if (is_too_much(growth, &snapshot->size, FAR_TOO_MUCH))
		renew(growth, growth_run_start_ns(run) + LOOK_NS);
}

void host_growth_run(struct host_growth *growth)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!growth->run && now_ns >= growth->next_retry_ns)
		begin_growth(growth);
	if (!growth->run)
		return;
	look_at_next(growth);
	if (growth_run_error(growth->run)) {
		fail_growth(growth, growth_run_error(growth->run));
		return;
	}
	growth_run_report_kills(growth->run);
	if (now_ns >= growth->next_look_ns) {
		growth->next_look_ns = now_ns + LOOK_NS;
		growth_run_look(growth->run, true);
	} else if (now_ns >= growth->next_glance_ns) {
		growth->next_glance_ns = now_ns + GLANCE_NS;
		growth_run_look(growth->run, false);
	}
}

int host_growth_timeout_ms(const struct host_growth *growth)
{
	uint64_t now_ns = clock_monotonic_ns(), first_ns = growth->next_retry_ns;

	if (growth->run && growth_run_error(growth->run))
		return 0;
	if (growth->run) {
		uint64_t kill_ns = growth_run_next_kill_ns(growth->run);

		first_ns = growth->next_glance_ns < growth->next_look_ns ? growth->next_glance_ns :
									   growth->next_look_ns;
		first_ns = kill_ns < first_ns ? kill_ns : first_ns;
	}
	return clock_until_ms(first_ns, now_ns);
}

/* --- what it shows --------------------------------------------------------------------------- */

struct growth_wait {
	struct session_job job;
	struct growth_ask ask;
	struct report_opts opts;
	struct growth_run *run;
	struct growth_snapshot *snapshot; /* as of what was shown; NULL: not taken */
	bool is_shown, is_forgotten;
};

/* Session's thread, as run_show(). */
static int show_growth(const struct view *view, void *userdata)
{
	struct growth_wait *wait = userdata;
	int r = wait->ask.show(view, wait->ask.userdata);

	wait->is_shown = r == 0;
	return r;
}

/*
 * What the process was before it executed its program may have been another user's, and is not
 * shown. If the user may see the process now, which is still of the image that was shown, all of
 * that could be seen.
 */
static int check_may_see(const struct session *session, const struct growth_wait *wait)
{
	int r = wait->ask.may_see ? wait->ask.may_see(wait->ask.userdata) : 0;

	if (r < 0 || !wait->ask.may_see)
		return r;
	return session_is_current(session, wait->ask.pid, wait->opts.image) ? 0 : -EACCES;
}

static int run_show(struct session *session, struct session_job *job)
{
	struct growth_wait *wait = (struct growth_wait *)job;
	pid_t pid = wait->ask.pid;
	int r = pid ? session_find_image(session, pid, &wait->opts.image) : 0, refused = 0;

	if (r == 0)
		r = session_show(session, &wait->opts, show_growth, wait);
	if (r >= 0)
		refused = check_may_see(session, wait);
	if (refused < 0)
		return refused;
	/* So that figures that are asked for next agree; without memory the next look takes one. */
	if (r >= 0)
		(void)growth_snapshot_new(session, &wait->snapshot);
	return wait->is_shown ? 0 : r < 0 ? r : -EIO;
}

static void on_shown(struct session_job *job, int result)
{
	struct growth_wait *wait = (struct growth_wait *)job;

	growth_run_publish(wait->run, wait->snapshot);
	/* It did not begin. */
	if (result == -ECANCELED)
		result = -ENODEV;
	if (!wait->is_forgotten)
		wait->ask.done(result, wait->ask.userdata);
	wait->ask.free(wait->ask.userdata);
	free(wait);
}

int host_growth_ask(struct host_growth *growth, const struct growth_ask *ask,
		    struct growth_wait **ret_wait)
{
	struct growth_wait *wait;

	if (!growth->run || growth_run_error(growth->run))
		return -ENODEV;
	if (ask->job == GROWTH_MAPPINGS && !growth_run_opts(growth->run)->has_mappings)
		return -ENOENT;
	wait = calloc(1, sizeof(*wait));
	if (!wait)
		return -ENOMEM;
	wait->job = (struct session_job){ .run = run_show, .done = on_shown };
	wait->ask = *ask;
	wait->opts = (struct report_opts){ .width = 80,
					   .one_image = ask->pid != 0,
					   .alone = ask->may_see != NULL,
					   .held_now = true,
					   .job = growth_run_job(growth->run, ask->job),
					   .only_job = true };
	/* Of all of them it would take long, and most who ask look at stacks alone. */
	if (ask->pid)
		wait->opts.usage = growth_run_usage(growth->run);
	wait->run = growth->run;
	growth_run_post(growth->run, &wait->job);
	*ret_wait = wait;
	return 0;
}

void host_growth_forget(struct growth_wait *wait)
{
	if (wait)
		wait->is_forgotten = true;
}

bool host_growth_mapped(const struct host_growth *growth, pid_t pid,
			struct region_totals *ret_totals)
{
	const struct growth_snapshot *snapshot =
		growth->run ? growth_run_snapshot(growth->run) : NULL;
	const struct region_totals *found = snapshot ? growth_snapshot_mapped(snapshot, pid) : NULL;

	if (found)
		*ret_totals = *found;
	return found;
}

struct host_growth_info host_growth_info(const struct host_growth *growth)
{
	struct host_growth_info info = {
		.is_wanted = growth->is_wanted,
		.is_running = growth->run && growth_run_is_settled(growth->run) &&
			      !growth_run_error(growth->run),
		.has_mappings = growth->run ? growth_run_opts(growth->run)->has_mappings :
					      growth->has_mappings,
		.period = growth->run ? growth_run_opts(growth->run)->period : growth->period,
		.begun = growth->begun,
		.renewed = growth->renewed,
		.failed = growth->failed,
		.left_out = growth->left_out,
	};

	if (growth->run) {
		info.age_ns = clock_monotonic_ns() - growth_run_start_ns(growth->run);
		info.snapshot = growth_run_snapshot(growth->run);
	}
	return info;
}
