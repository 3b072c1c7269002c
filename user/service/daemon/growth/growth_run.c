/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/growth/growth_run.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "config/options.h"
#include "report/report_opts.h"
#include "service/session/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void growth_snapshot_free(struct growth_snapshot *snapshot)
{
	if (!snapshot)
		return;
	vec_foreach(&snapshot->losses, loss)
		free(loss->cause);
	vec_done(&snapshot->losses);
	vec_done(&snapshot->mapped);
	free(snapshot);
}
DEFINE_CLEANUP(struct growth_snapshot, growth_snapshot_free)

static int copy_coverage(const struct record_coverage *coverage, struct growth_snapshot *snapshot)
{
	int r = 0;

	if (!coverage)
		return 0;
	snapshot->events = coverage->events;
	for (size_t i = 0; r == 0 && i < coverage->n_losses; i++) {
		struct growth_loss loss = { .cause = strdup(coverage->losses[i].cause),
					    .count = coverage->losses[i].count };

		r = loss.cause ? vec_push(&snapshot->losses, loss) : -ENOMEM;
		if (r < 0)
			free(loss.cause);
	}
	return r;
}

static int add_mapped(pid_t pid, const struct region_totals *totals, void *userdata)
{
	struct growth_snapshot *snapshot = userdata;

	return vec_push(&snapshot->mapped, (struct growth_mapped){ pid, *totals });
}

DEFINE_COMPARE(by_pid, struct growth_mapped, pid)

int growth_snapshot_new(const struct session *session, struct growth_snapshot **ret_snapshot)
{
	_cleanup_(growth_snapshot_free_p) struct growth_snapshot *snapshot =
		calloc(1, sizeof(*snapshot));
	int r = snapshot ? copy_coverage(session_coverage(session), snapshot) : -ENOMEM;

	if (r == 0)
		r = session_each_mapped(session, add_mapped, snapshot);
	if (r < 0)
		return r;
	vec_sort(&snapshot->mapped, by_pid);
	snapshot->size = session_size(session);
	snapshot->regions_left_out = session_regions_left_out(session);
	*ret_snapshot = TAKE_PTR(snapshot);
	return 0;
}

const struct region_totals *growth_snapshot_mapped(const struct growth_snapshot *snapshot,
						   pid_t pid)
{
	const struct growth_mapped key = { .pid = pid };
	const struct growth_mapped *found =
		snapshot->mapped.len ? bsearch(&key, snapshot->mapped.data, snapshot->mapped.len,
					       sizeof(*snapshot->mapped.data), by_pid) :
				       NULL;

	return found ? &found->totals : NULL;
}

/* Of processes that have ended, with their stacks. */
#define KEEP_ENDED 1000
/* Of one process, so that none takes all the room, nor time: one in the middle moves 256 KB. */
#define MOST_REGIONS_OF_PROCESS 16384
#define MOST_STACKS_OF_PROCESS 4096
/* Each is a report. */
#define MOST_KILLS 64
/* A trace of the process, which knows more, tells of it first. */
#define TELL_AFTER_NS (300 * MS_NS)
/* One that has not told yet is waited for again, so often. */
#define TELL_AGAIN_NS (100 * MS_NS)
#define TELL_TRIES 100

struct kill {
	image_t image;
	unsigned int tries;
	uint64_t due_ns;
};

struct look_job {
	struct session_job job;
	struct growth_run *run;
	bool is_posted, is_cut;
	struct growth_snapshot *snapshot; /* NULL: not taken */
};

struct growth_run {
	struct growth_run_opts opts;
	struct report_usage usage; /* opts.growth->usage, asked on the owner's thread */
	struct session_runner *runner;
	bool has_begun;
	int error;
	uint64_t start_ns;
	struct look_job look;
	struct growth_snapshot *snapshot;
	VEC(struct kill) kills;
	size_t n_telling;
	bool is_ending;
};

/* --- kills ----------------------------------------------------------------------------------- */

static void leave_out(struct growth_run *run, uint64_t n)
{
	*run->opts.left_out += n;
}

static void on_told(int result, void *userdata)
{
	struct growth_run *run = userdata;

	run->n_telling--;
	if (result <= 0)
		leave_out(run, 1);
}

static void report_killed(struct growth_run *run, image_t image)
{
	const struct killed killed = {
		.runner = run->runner,
		.opts = { .width = 80,
			  .one_image = true,
			  .usage = &run->usage,
			  .image = image,
			  .job = growth_run_job(run, GROWTH_FAULTS) },
		.told = on_told,
		.userdata = run,
	};
	const struct host_growth_opts *growth = run->opts.growth;
	struct session_job *job = run->error ? NULL : growth->killed(&killed, growth->userdata);

	if (!job) {
		leave_out(run, 1);
		return;
	}
	run->n_telling++;
	session_runner_post(run->runner, job);
}

/* Is a trace of some process about to tell? It may be of this one. */
static bool has_to_wait(const struct growth_run *run, struct kill *kill)
{
	if (kill->tries++ >= TELL_TRIES ||
	    !run->opts.growth->is_told_soon(run->opts.growth->userdata))
		return false;
	kill->due_ns = clock_monotonic_ns() + TELL_AGAIN_NS;
	return true;
}

void growth_run_report_kills(struct growth_run *run)
{
	uint64_t now_ns = clock_monotonic_ns();
	size_t kept = 0;

	for (size_t i = 0; i < run->kills.len; i++) {
		struct kill kill = run->kills.data[i];

		if (!run->is_ending && (kill.due_ns > now_ns || has_to_wait(run, &kill)))
			run->kills.data[kept++] = kill;
		else
			report_killed(run, kill.image);
	}
	run->kills.len = kept;
}

uint64_t growth_run_next_kill_ns(const struct growth_run *run)
{
	uint64_t first_ns = UINT64_MAX;

	vec_foreach(&run->kills, kill)
		first_ns = kill->due_ns < first_ns ? kill->due_ns : first_ns;
	return first_ns;
}

size_t growth_run_telling(const struct growth_run *run)
{
	return run->n_telling;
}

/* The end of a process, on its way from the session's thread to the owner. */
struct kill_note {
	struct session_job job;
	struct growth_run *run;
	image_t image;
};

static void on_kill(struct session_job *job, int result)
{
	_cleanup_free_ struct kill_note *note = (struct kill_note *)job;
	struct growth_run *run = note->run;
	const struct kill kill = { .image = note->image,
				   .due_ns = clock_monotonic_ns() + TELL_AFTER_NS };

	(void)result;
	if (run->is_ending || run->kills.len >= MOST_KILLS || vec_push(&run->kills, kill) < 0)
		leave_out(run, 1);
}

/* Session's thread. */
static void on_record(struct session_runner *runner, const struct record *record, void *userdata)
{
	struct growth_run *run = userdata;
	struct kill_note *note;

	if (record->type != RECORD_PROCESS_END || !run->opts.growth->is_kill(&record->process_end))
		return;
	note = calloc(1, sizeof(*note));
	if (!note) {
		leave_out(run, 1);
		return;
	}
	note->job.done = on_kill;
	note->run = run;
	note->image = record->process_end.image;
	session_runner_note(runner, &note->job);
}

/* --- timelines, which the owner's thread knows ----------------------------------------------- */

struct usage_question {
	const struct report_usage *usage;
	const struct model_process *image;
	struct view_point **ret_points;
	size_t *ret_n;
	int r;
};

static void answer_usage(void *arg)
{
	struct usage_question *question = arg;

	question->r = question->usage->points(question->image, question->usage->userdata,
					      question->ret_points, question->ret_n);
}

/* Session's thread, as report_usage.points. */
static int ask_usage(const struct model_process *image, void *userdata,
		     struct view_point **ret_points, size_t *ret_n)
{
	const struct growth_run *run = userdata;
	struct usage_question question = {
		.usage = &run->opts.growth->usage,
		.image = image,
		.ret_points = ret_points,
		.ret_n = ret_n,
	};

	session_runner_call(run->runner, answer_usage, &question);
	return question.r;
}

/* --- looks ----------------------------------------------------------------------------------- */

/* Session's thread. */
static int run_look(struct session *session, struct session_job *job)
{
	struct look_job *look = (struct look_job *)job;
	/* What has ended is forgotten by a cut. */
	int r = look->is_cut ? session_cut(session) : 0;

	return r < 0 ? r : growth_snapshot_new(session, &look->snapshot);
}

void growth_run_publish(struct growth_run *run, struct growth_snapshot *snapshot)
{
	if (!snapshot)
		return;
	growth_snapshot_free(run->snapshot);
	run->snapshot = snapshot;
}

static void on_looked(struct session_job *job, int result)
{
	struct look_job *look = (struct look_job *)job;
	struct growth_run *run = look->run;
	struct growth_snapshot *snapshot = TAKE_PTR(look->snapshot);

	look->is_posted = false;
	if (run->is_ending || result < 0) {
		growth_snapshot_free(snapshot);
		/* A look without memory is left out; a cut that fails is the session's fault. */
		if (result < 0 && result != -ECANCELED && look->is_cut)
			run->error = result;
		return;
	}
	growth_run_publish(run, snapshot);
	run->opts.looked(run, look->is_cut, run->opts.userdata);
}

void growth_run_look(struct growth_run *run, bool is_cut)
{
	if (run->look.is_posted)
		return;
	run->look = (struct look_job){
		.job = { .run = run_look, .done = on_looked },
		.run = run,
		.is_posted = true,
		.is_cut = is_cut,
	};
	session_runner_post(run->runner, &run->look.job);
}

const struct growth_snapshot *growth_run_snapshot(const struct growth_run *run)
{
	return run->snapshot;
}

/* --- its life -------------------------------------------------------------------------------- */

/* As they would be given on a command line. */
static int make_options(const struct growth_run *run, struct options **ret_options)
{
	_cleanup_strbuf_ struct strbuf error = {};
	struct options *options;
	char faults[40];
	char *words[] = { "memtraced", "--quiet", "-a", faults, "--mappings" };
	size_t n = sizeof(words) / sizeof(words[0]) - !run->opts.has_mappings;
	int r;

	(void)snprintf(faults, sizeof(faults), "--page-faults=%" PRIu64,
		       run->opts.period); /* fits */
	r = options_parse((int)n, words, &options, &error);
	if (r == -EINVAL)
		log_error("[growth]: %s", strbuf_str(&error));
	if (r < 0)
		return r;
	options->keep_ended = KEEP_ENDED;
	options->forget_ended = true;
	options->most_regions = MOST_REGIONS_OF_PROCESS;
	options->most_stacks = MOST_STACKS_OF_PROCESS;
	/* A slot is for a process that is sampled, not for its children. */
	options->no_follow = true;
	/* The watch looks at all processes anyway. */
	options->no_samples = true;
	*ret_options = options;
	return 0;
}

static void on_begun(int error, void *userdata)
{
	struct growth_run *run = userdata;

	run->has_begun = error == 0;
	run->error = error;
	run->start_ns = clock_monotonic_ns();
}

static void on_over(int error, void *userdata)
{
	struct growth_run *run = userdata;

	/* Tracing of a host has no end but a fault. */
	run->error = error ? error : -EIO;
}

static void run_free(struct growth_run *run)
{
	growth_snapshot_free(run->snapshot);
	vec_done(&run->kills);
	free(run);
}

static void on_gone(void *userdata)
{
	struct growth_run *run = userdata;
	void (*gone)(void *userdata) = run->opts.gone;
	void *of = run->opts.userdata;

	run_free(run);
	gone(of);
}

int growth_run_new(const struct growth_run_opts *opts, struct growth_run **ret_run)
{
	struct growth_run *run = calloc(1, sizeof(*run));
	struct session_runner_opts runner = {
		.loop = opts->growth->loop,
		.worker = opts->growth->worker,
		.on_record = on_record,
		.begun = on_begun,
		.over = on_over,
		.gone = on_gone,
		.userdata = run,
	};
	int r;

	if (!run)
		return -ENOMEM;
	run->opts = *opts;
	run->usage = (struct report_usage){ ask_usage, run };
	run->start_ns = clock_monotonic_ns();
	r = make_options(run, &runner.options);
	if (r == 0)
		r = session_runner_new(&runner, &run->runner);
	if (r < 0) {
		options_free(runner.options);
		run_free(run);
		return r;
	}
	*ret_run = run;
	return 0;
}

void growth_run_end(struct growth_run *run)
{
	if (!run)
		return;
	run->is_ending = true;
	growth_run_report_kills(run);
	session_runner_end(run->runner);
}

bool growth_run_is_settled(const struct growth_run *run)
{
	return run->has_begun || run->error;
}

int growth_run_error(const struct growth_run *run)
{
	return run->error;
}

uint64_t growth_run_start_ns(const struct growth_run *run)
{
	return run->start_ns;
}

void growth_run_post(struct growth_run *run, struct session_job *job)
{
	session_runner_post(run->runner, job);
}

size_t growth_run_job(const struct growth_run *run, enum growth_job job)
{
	return run->opts.has_mappings && job == GROWTH_FAULTS;
}

const struct growth_run_opts *growth_run_opts(const struct growth_run *run)
{
	return &run->opts;
}

const struct report_usage *growth_run_usage(const struct growth_run *run)
{
	return &run->usage;
}
