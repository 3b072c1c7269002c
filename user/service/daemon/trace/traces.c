/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/trace/traces.h"

#include "base/clock.h"
#include "base/log.h"
#include "config/options.h"
#include "service/daemon/trace/trace_slots.h"
#include "service/daemon/trace/trace_state.h"
#include "service/daemon/trace/trace_waits.h"
#include "service/daemon/trace/traces_cost.h"
#include "service/session/governor.h"
#include "service/session/session.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* Of one trace: each is a report. */
#define MOST_KILLS 64
/* Threads that still let their sessions go: detaching takes 40 ms a link. */
#define MOST_ENDING 16
/* At the service's end, for reports, and again for threads. */
#define FINISH_NS (10 * SECOND_NS)
#define FINISH_ROUND_MS 50
/* Samples are few: an eighth of these is for 32 GiB of one in 512 KiB, half of it as they come. */
#define SAMPLED_BLOCKS "--max-blocks=524288"

int traces_new(const struct traces_opts *opts, struct traces **ret_traces)
{
	struct traces *traces = calloc(1, sizeof(*traces));

	if (!traces)
		return -ENOMEM;
	traces->opts = *opts;
	traces->budget.cpus = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	*ret_traces = traces;
	return 0;
}

bool trace_is_standing(const struct trace *trace)
{
	return trace->standing && !trace->has_ended && !trace->is_over;
}

void traces_end_standing(struct traces *traces, const struct trace *but)
{
	vec_foreach(&traces->list, trace)
		(*trace)->is_over |= (*trace)->standing != NULL && *trace != but;
}

void traces_set_cost(struct traces *traces, const struct probe_cost *cost)
{
	traces->call_ns = cost->call_ns;
	traces->sample_ns = governor_sample_ns(cost);
}

void trace_free(struct trace *trace)
{
	if (!trace)
		return;
	options_free(trace->options);
	free(trace->standing);
	free(trace);
}

/* --- ends of processes ----------------------------------------------------------------------- */

/* The end of a process, on its way from the session's thread to the owner. */
struct kill_note {
	struct session_job job;
	struct trace *trace;
	image_t image;
};

static void on_told(int result, void *userdata)
{
	struct trace *trace = userdata;

	trace->n_kills--;
	if (result <= 0)
		trace->traces->unreported++;
}

static void on_kill(struct session_job *job, int result)
{
	_cleanup_free_ struct kill_note *note = (struct kill_note *)job;
	struct trace *trace = note->trace;
	struct traces *traces = trace->traces;
	const struct killed killed = {
		.runner = trace->runner,
		.opts = { .width = 80, .one_image = true, .image = note->image },
		.asked = trace->uid,
		.told = on_told,
		.userdata = trace,
	};
	struct session_job *told = NULL;

	(void)result;
	if (!trace->is_ending && trace->n_kills < MOST_KILLS)
		told = traces->opts.killed(&killed, traces->opts.userdata);
	if (!told) {
		traces->unreported++;
		return;
	}
	trace->n_kills++;
	session_runner_post(trace->runner, told);
}

/* Session's thread. */
static void on_record(struct session_runner *runner, const struct record *record, void *userdata)
{
	struct trace *trace = userdata;
	struct kill_note *note;

	if (record->type != RECORD_PROCESS_END || trace->kind != TRACE_HEAP ||
	    !trace->traces->opts.is_kill(&record->process_end))
		return;
	note = calloc(1, sizeof(*note));
	if (!note) {
		trace->traces->unreported++;
		return;
	}
	note->job.done = on_kill;
	note->trace = trace;
	note->image = record->process_end.image;
	session_runner_note(runner, &note->job);
}

/* --- the beginning --------------------------------------------------------------------------- */

/* As somebody would give them on a command line. */
static int make_options(const struct service_config *config, const struct trace_ask *ask,
			bool standing, struct options **ret_options)
{
	_cleanup_strbuf_ struct strbuf error = {};
	char *words[8 + 2 * SERVICE_MAX_ALLOCATORS + 2 * SERVICE_MAX_WRAPPERS +
		    2 * SERVICE_MOST_TRACED] = { "memtraced", "--quiet" };
	char *const *allocators = config->allocators, *const *wrappers = config->wrappers;
	const bool sampled = ask->depth == HEAP_SAMPLED;
	char pid[16], memory[48];
	int n = 2, r;

	for (; ask->kind == TRACE_HEAP && !sampled && allocators && *allocators; allocators++) {
		words[n++] = "--allocator";
		words[n++] = *allocators;
	}
	for (; wrappers && *wrappers; wrappers++) {
		words[n++] = "--wrapper";
		words[n++] = *wrappers;
	}
	(void)snprintf(pid, sizeof(pid), "%d", (int)ask->pid); /* fits */
	(void)snprintf(memory, sizeof(memory), "--memory-limit=%" PRIu64,
		       config->trace_memory); /* fits */
	if (ask->kind == TRACE_CPU)
		words[n++] = "--cpu";
	else if (config->trace_memory)
		words[n++] = memory;
	else if (sampled && ask->pid)
		words[n++] = SAMPLED_BLOCKS;
	if (sampled)
		words[n++] = "--sample";
	if (ask->pid) {
		words[n++] = "--no-follow";
		words[n++] = "-p";
		words[n++] = pid;
	} else {
		words[n++] = "-a";
	}
	for (size_t i = 0; standing && config->standing[i]; i++) {
		words[n++] = "--comm";
		words[n++] = config->standing[i];
	}
	r = options_parse(n, words, ret_options, &error);
	if (r == -EINVAL)
		log_error("a trace: %s", strbuf_str(&error));
	return r;
}

/* A pid may have come again while the programs were loaded. */
static int check_same(const struct trace *trace)
{
	struct process_info now;
	int r = process_info_read(trace->pid, &now);

	/* It was there: a short life has its profile, too. */
	if (r == -ESRCH)
		return 0;
	return r == 0 && now.start_ticks != trace->info.start_ticks ? -ESRCH : r;
}

static void on_begun(int error, void *userdata)
{
	struct trace *trace = userdata;
	struct traces *traces = trace->traces;
	uint64_t now_ns = clock_monotonic_ns();

	if (error == 0 && trace->pid)
		error = check_same(trace);
	if (error == 0) {
		trace->has_begun = true;
		trace->start_ns = now_ns;
		budget_begin(&trace->use, now_ns);
		traces->begun += !trace->standing;
		if (trace->standing && !trace->is_over)
			traces_end_standing(traces, trace);
		trace_waits_begin(trace, now_ns);
		return;
	}
	trace->has_ended = true;
	trace->error = error;
	if (trace->standing)
		log_error("[post_mortem] trace: %s: cannot trace: %s; what was traced before goes "
			  "on; reload again to retry",
			  trace->standing, strerror(-error));
	while (trace->waits)
		trace_wait_finish(trace->waits, TRACE_NOT_BEGUN, error);
}

static void on_over(int error, void *userdata)
{
	struct trace *trace = userdata;

	trace->has_ended = true;
	trace->error = error;
}

static void on_gone(void *userdata)
{
	struct trace *trace = userdata;

	trace->traces->n_ending--;
	trace_free(trace);
}

int trace_start(struct trace *trace)
{
	const struct traces *traces = trace->traces;
	struct session_runner_opts opts = {
		.loop = traces->opts.loop,
		.options = trace->options,
		.worker = traces->opts.worker,
		.on_record = on_record,
		.begun = on_begun,
		.over = on_over,
		.gone = on_gone,
		.userdata = trace,
	};
	int r = session_runner_new(&opts, &trace->runner);

	if (r == 0)
		trace->options = NULL; /* the runner's */
	return r;
}

int trace_new(struct traces *traces, const struct service_config *config,
	      const struct trace_ask *ask, const char *standing, struct trace **ret_trace)
{
	_cleanup_(trace_free_p) struct trace *trace = calloc(1, sizeof(*trace));
	int r = vec_reserve(&traces->list, traces->list.len + 1);

	if (!trace || r < 0)
		return -ENOMEM;
	trace->traces = traces;
	trace->id = ++traces->last_id;
	trace->kind = ask->kind;
	trace->depth = ask->depth;
	trace->pid = ask->pid;
	trace->uid = ask->uid;
	trace->gid = ask->gid;
	trace->is_rules = ask->is_rules;
	trace->asked_ns = clock_monotonic_ns();
	if (standing && !(trace->standing = strdup(standing)))
		return -ENOMEM;
	r = ask->pid ? process_info_read(ask->pid, &trace->info) : 0;
	if (r == 0 && !standing && !traces_have_budget(traces, ask->kind, ask->uid, &trace->info)) {
		traces->refused_budget++;
		return -EDQUOT;
	}
	if (r == 0)
		r = make_options(config, ask, trace->standing != NULL, &trace->options);
	if (r == 0 && ask->uid != 0)
		trace->options->access = (struct abi_access){ true, ask->uid, ask->gid };
	if (r == 0)
		*ret_trace = TAKE_PTR(trace);
	return r;
}

static int begin_trace(struct traces *traces, const struct trace_ask *ask, struct trace **ret_trace)
{
	_cleanup_(trace_free_p) struct trace *trace = NULL;
	/* Users' threads that hang keep no slot from root. */
	size_t most_ending = ask->uid == 0 ? 2 * MOST_ENDING : MOST_ENDING;
	int r = traces->n_ending < most_ending ? traces_take_slot(traces, ask) : -EBUSY;

	traces->refused += r == -EBUSY;
	if (r < 0)
		return r;
	r = trace_new(traces, traces->config, ask, NULL, &trace);
	if (r == 0)
		r = trace_start(trace);
	if (r < 0)
		return r;
	(void)vec_push(&traces->list, trace); /* there is room */
	*ret_trace = TAKE_PTR(trace);
	return 0;
}

/* Each user's ends at another moment: when the process becomes one that he may not look at. */
static bool is_for(const struct trace *trace, const struct trace_ask *ask)
{
	return trace->uid == ask->uid && (ask->uid == 0 || trace->gid == ask->gid);
}

/* One that is over has its answers to give, but no new ones. */
static struct trace *find_trace(const struct traces *traces, const struct trace_ask *ask)
{
	vec_foreach(&traces->list, trace)
		if ((*trace)->kind == ask->kind && (*trace)->depth == ask->depth &&
		    (*trace)->pid == ask->pid && !(*trace)->has_ended && !(*trace)->stopped &&
		    !(*trace)->standing && is_for(*trace, ask))
			return *trace;
	return NULL;
}

void traces_forget(struct trace_wait *wait)
{
	if (wait)
		trace_wait_forget(wait);
}

int traces_ask(struct traces *traces, const struct trace_ask *ask, struct trace_wait **ret_wait)
{
	struct trace *trace = find_trace(traces, ask);
	uint64_t for_ns = ask->for_ns;
	int r = trace ? 0 : begin_trace(traces, ask, &trace);

	if (r < 0)
		return r;
	if (!trace->has_begun && for_ns == 0)
		for_ns = traces->config->seconds_ns;
	/* Without memory a trace without waits is left, which traces_run ends. */
	return trace_wait_add(trace, ask, for_ns, ret_wait);
}

/* Is there anything that it is needed for? */
static bool is_wanted(const struct trace *trace)
{
	return trace->waits || trace->n_kills > 0 || trace_is_standing(trace);
}

int traces_timeout_ms(const struct traces *traces)
{
	uint64_t now_ns = clock_monotonic_ns(), first_ns = UINT64_MAX, due_ns;

	vec_foreach(&traces->list, trace) {
		if (!is_wanted(*trace))
			return 0;
		if (trace_is_charged(*trace) && traces->next_look_ns < first_ns)
			first_ns = traces->next_look_ns;
		due_ns = trace_waits_due_ns(*trace);
		if (due_ns < first_ns)
			first_ns = due_ns;
	}
	return clock_until_ms(first_ns, now_ns);
}

/* Its thread ends it. */
static void end_thread(struct traces *traces, struct trace *trace)
{
	if (!trace->runner) {
		trace_free(trace); /* it was not started */
		return;
	}
	traces->n_ending++;
	trace->is_ending = true;
	session_runner_end(trace->runner);
}

static void end_trace(struct traces *traces, struct trace *trace)
{
	traces->opts.ends(trace->id, traces->opts.userdata);
	/* Without memory nothing is owed. */
	(void)budget_end(&traces->budget, &trace->use, trace->pid, trace->info.start_ticks,
			 trace->uid == 0, clock_monotonic_ns());
	end_thread(traces, trace);
}

void traces_run(struct traces *traces)
{
	traces_check_costs(traces);
	for (size_t i = 0; i < traces->list.len;) {
		struct trace *trace = traces->list.data[i];

		trace_waits_answer(trace);
		if (is_wanted(trace)) {
			i++;
			continue;
		}
		end_trace(traces, trace);
		traces->list.len--;
		memmove(&traces->list.data[i], &traces->list.data[i + 1],
			(traces->list.len - i) * sizeof(*traces->list.data));
	}
}

static bool has_waits(const struct traces *traces)
{
	vec_foreach(&traces->list, trace)
		if ((*trace)->waits || (*trace)->n_kills > 0)
			return true;
	return false;
}

/* Rounds of the loop while there is something to wait for, up to a time. */
static void wait_for(struct traces *traces, bool (*is_left)(const struct traces *traces),
		     uint64_t for_ns)
{
	uint64_t end_ns = clock_monotonic_ns() + for_ns;

	while (is_left(traces) && clock_monotonic_ns() < end_ns &&
	       loop_run_once(traces->opts.loop, FINISH_ROUND_MS) == 0)
		traces_run(traces);
}

static bool is_beginning(const struct traces *traces)
{
	vec_foreach(&traces->list, trace)
		if ((*trace)->standing && !(*trace)->has_begun && !(*trace)->has_ended)
			return true;
	return false;
}

bool traces_are_settled(const struct traces *traces)
{
	return !is_beginning(traces);
}

void traces_settle(struct traces *traces)
{
	wait_for(traces, is_beginning, FINISH_NS);
}

void traces_finish(struct traces *traces)
{
	traces->is_finishing = true;
	traces_run(traces);
	wait_for(traces, has_waits, FINISH_NS);
	if (has_waits(traces))
		log_warning("traces: not all reports were written before the end");
	vec_foreach(&traces->list, trace)
		traces->opts.ends((*trace)->id, traces->opts.userdata);
}

int traces_post(struct traces *traces, uint64_t id, struct session_job *job)
{
	vec_foreach(&traces->list, trace)
		if ((*trace)->id == id && (*trace)->has_begun && (*trace)->error == 0) {
			session_runner_post((*trace)->runner, job);
			return 0;
		}
	return -ENOENT;
}

static bool has_threads(const struct traces *traces)
{
	return traces->n_ending > 0;
}

void traces_free(struct traces *traces)
{
	if (!traces)
		return;
	vec_foreach(&traces->list, trace)
		end_thread(traces, *trace);
	traces->list.len = 0;
	wait_for(traces, has_threads, FINISH_NS);
	/* One whose session hangs in the kernel may still use it; the process ends anyway. */
	if (has_threads(traces))
		return;
	vec_done(&traces->list);
	budget_done(&traces->budget);
	service_config_unref(traces->config);
	free(traces);
}

bool traces_at(const struct traces *traces, size_t index, struct trace_info *ret_info)
{
	uint64_t now_ns = clock_monotonic_ns();
	const struct trace *trace = NULL;

	vec_foreach(&traces->list, it)
		if ((*it)->has_begun && index-- == 0) {
			trace = *it;
			break;
		}
	if (!trace)
		return false;
	*ret_info = (struct trace_info){
		.id = trace->id,
		.kind = trace->kind,
		.depth = trace->depth,
		.pid = trace->pid,
		.start_ticks = trace->info.start_ticks,
		.comm = trace->standing ? trace->standing : trace->info.comm,
		.is_standing = trace->standing != NULL,
		.age_ns = now_ns - trace->start_ns,
		.left_ns = trace_last_due_ns(trace, now_ns) - now_ns,
		.n_waits = trace->n_waits,
		.is_stopped = trace->stopped,
		.used = budget_used(&trace->use),
		.predicted = trace->use.predicted,
	};
	return true;
}

bool traces_are_telling(const struct traces *traces)
{
	vec_foreach(&traces->list, trace)
		if ((*trace)->n_kills > 0)
			return true;
	return false;
}

struct traces_counts traces_count(const struct traces *traces)
{
	return (struct traces_counts){ traces->begun, traces->refused, traces->pre_empted,
				       traces->unreported };
}
