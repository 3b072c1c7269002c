/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/trace/traces.h"

#include "base/clock.h"
#include "base/log.h"
#include "config/options.h"
#include "service/daemon/trace/trace_state.h"
#include "service/daemon/trace/traces_cost.h"
#include "service/daemon/trace/traces_slots.h"
#include "service/governor.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define MS_NS UINT64_C(1000000)
/* On one trace: each is answered by a view of its own. */
#define MOST_WAITS 256
/* Of one trace: each is a report. */
#define MOST_KILLS 64
/* Samples are few: an eighth of these is for 32 GiB of one in 512 KiB, half of it as they come. */
#define SAMPLED_BLOCKS "--max-blocks=524288"

int traces_new(const struct traces_opts *opts, struct traces **ret_traces)
{
	struct traces *traces = calloc(1, sizeof(*traces));

	if (!traces)
		return -ENOMEM;
	traces->opts = *opts;
	traces->config = opts->config;
	traces->budget.cpus = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	traces->budget.most = (double)opts->config->max_overhead / 10000;
	*ret_traces = traces;
	return 0;
}

void traces_set_cost(struct traces *traces, const struct probe_cost *cost)
{
	traces->call_ns = cost->call_ns;
	traces->sample_ns = governor_sample_ns(cost);
}

static void trace_free(struct trace *trace)
{
	if (!trace)
		return;
	while (trace->waits)
		traces_forget(trace->waits);
	loop_source_free(trace->source);
	session_free(trace->session);
	options_free(trace->options);
	vec_done(&trace->kills);
	free(trace->standing);
	free(trace);
}
DEFINE_CLEANUP(struct trace, trace_free)

void traces_free(struct traces *traces)
{
	if (!traces)
		return;
	vec_foreach(&traces->list, trace)
		trace_free(*trace);
	vec_done(&traces->list);
	budget_done(&traces->budget);
	free(traces);
}

static int on_session(int fd, uint32_t events, void *userdata)
{
	struct trace *trace = userdata;
	int r = session_step(trace->session, 0);

	(void)fd;
	(void)events;
	if (r == 0)
		return 0;
	loop_source_free(trace->source);
	trace->source = NULL;
	trace->error = r < 0 ? r : 0;
	return 0;
}

/* Noted, and told when the records at hand are all taken. */
static int on_record(const struct record *record, void *userdata)
{
	struct trace *trace = userdata;

	if (record->type != RECORD_PROCESS_END || trace->kind != TRACE_HEAP ||
	    !trace->is_kill(&record->process_end))
		return 0;
	if (trace->kills.len < MOST_KILLS && vec_push(&trace->kills, record->process_end.slot) == 0)
		return 0;
	++*trace->untold;
	return 0;
}

/* As somebody would give them on a command line. */
static int make_options(const struct traces *traces, const struct trace_ask *ask, bool standing,
			struct options **ret_options)
{
	_cleanup_strbuf_ struct strbuf error = {};
	char *words[8 + 2 * SERVICE_MAX_ALLOCATORS + 2 * SERVICE_MOST_TRACED] = { "memtraced",
										  "--quiet" };
	char *const *allocators = traces->config->allocators;
	const bool sampled = ask->depth == HEAP_SAMPLED;
	char pid[16], memory[48];
	int n = 2, r;

	for (; ask->kind == TRACE_HEAP && !sampled && allocators && *allocators; allocators++) {
		words[n++] = "--allocator";
		words[n++] = *allocators;
	}
	(void)snprintf(pid, sizeof(pid), "%d", (int)ask->pid); /* fits */
	(void)snprintf(memory, sizeof(memory), "--memory-limit=%" PRIu64,
		       traces->config->trace_memory); /* fits */
	if (ask->kind == TRACE_CPU)
		words[n++] = "--cpu";
	else if (traces->config->trace_memory)
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
	for (size_t i = 0; standing && traces->config->standing[i]; i++) {
		words[n++] = "--comm";
		words[n++] = traces->config->standing[i];
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

/* Without looking who may. `standing`: the names that the configuration has, or NULL. */
static int add_trace(struct traces *traces, const struct trace_ask *ask, const char *standing,
		     struct trace **ret_trace)
{
	_cleanup_(trace_free_p) struct trace *trace = calloc(1, sizeof(*trace));
	int r = 0;

	if (!trace)
		return -ENOMEM;
	trace->id = ++traces->last_id;
	trace->kind = ask->kind;
	trace->depth = ask->depth;
	trace->pid = ask->pid;
	trace->uid = ask->uid;
	trace->gid = ask->gid;
	trace->is_rules = ask->is_rules;
	trace->is_kill = traces->opts.is_kill;
	trace->untold = &traces->untold;
	if (standing && !(trace->standing = strdup(standing)))
		return -ENOMEM;
	r = ask->pid ? process_info_read(ask->pid, &trace->info) : 0;
	if (r == 0 && !standing && !traces_have_budget(traces, ask->kind, ask->uid, &trace->info)) {
		traces->refused_budget++;
		return -EDQUOT;
	}
	if (r == 0)
		r = make_options(traces, ask, trace->standing != NULL, &trace->options);
	if (r == 0 && ask->uid != 0)
		trace->options->access = (struct abi_access){ true, ask->uid, ask->gid };
	if (r == 0)
		r = session_new_served(trace->options, traces->opts.worker, on_record, trace,
				       &trace->session);
	if (r == 0 && ask->pid)
		r = check_same(trace);
	if (r == 0)
		r = loop_add_fd(traces->opts.loop, session_fd(trace->session), EPOLLIN, on_session,
				trace, &trace->source);
	if (r == 0)
		r = vec_push(&traces->list, trace);
	if (r < 0)
		return r;
	trace->start_ns = clock_monotonic_ns();
	budget_begin(&trace->use, trace->start_ns);
	*ret_trace = TAKE_PTR(trace);
	return 0;
}

static int begin(struct traces *traces, const struct trace_ask *ask, struct trace **ret_trace)
{
	int r = traces_take_slot(traces, ask);

	traces->refused += r == -EBUSY;
	if (r < 0)
		return r;
	r = add_trace(traces, ask, NULL, ret_trace);
	traces->begun += r == 0;
	return r;
}

static bool is_running(const struct trace *trace)
{
	return trace->source && !trace->is_over;
}

static bool stands_already(const struct traces *traces, const struct trace_ask *ask,
			   const char *patterns)
{
	vec_foreach(&traces->list, trace)
		if ((*trace)->standing && is_running(*trace) && (*trace)->depth == ask->depth &&
		    strcmp((*trace)->standing, patterns) == 0)
			return true;
	return false;
}

void traces_configure(struct traces *traces, const struct service_config *config)
{
	const struct trace_ask ask = { .kind = TRACE_HEAP, .depth = config->standing_depth };
	_cleanup_strbuf_ struct strbuf patterns = {};
	struct trace *trace;
	int r = 0;

	traces->config = config;
	traces->budget.most = (double)config->max_overhead / 10000;
	for (size_t i = 0; config->standing && config->standing[i]; i++)
		strbuf_addf(&patterns, "%s%s", i > 0 ? ", " : "", config->standing[i]);
	if (stands_already(traces, &ask, strbuf_str(&patterns)))
		return;
	/* What it names no more has its kills told, and ends in traces_run. */
	vec_foreach(&traces->list, it)
		(*it)->is_over |= (*it)->standing != NULL;
	if (config->standing)
		r = add_trace(traces, &ask, strbuf_str(&patterns), &trace);
	if (r < 0)
		log_error("[post_mortem] trace: %s are not traced: %s", strbuf_str(&patterns),
			  strerror(-r));
}

/* Each user's ends at another moment: when the process becomes one that he may not look at. */
static bool is_for(const struct trace *trace, const struct trace_ask *ask)
{
	return trace->uid == ask->uid && (ask->uid == 0 || trace->gid == ask->gid);
}

/* One that is over has its answers to give, but no new ones. */
static struct trace *find(const struct traces *traces, const struct trace_ask *ask)
{
	vec_foreach(&traces->list, trace)
		if ((*trace)->kind == ask->kind && (*trace)->depth == ask->depth &&
		    (*trace)->pid == ask->pid && (*trace)->source && !(*trace)->stopped &&
		    !(*trace)->standing && is_for(*trace, ask))
			return *trace;
	return NULL;
}

static int add_wait(struct trace *trace, const struct trace_ask *ask, uint64_t for_ns,
		    struct trace_wait **ret_wait)
{
	struct trace_wait *wait;

	if (trace->n_waits >= MOST_WAITS)
		return -EBUSY;
	wait = calloc(1, sizeof(*wait));
	if (!wait)
		return -ENOMEM;
	*wait = (struct trace_wait){
		.trace = trace,
		.next = trace->waits,
		.due_ns = clock_monotonic_ns() + for_ns,
		.allocated_first = ask->allocated_first,
		.fn = ask->fn,
		.userdata = ask->userdata,
	};
	trace->waits = wait;
	trace->n_waits++;
	*ret_wait = wait;
	return 0;
}

int traces_ask(struct traces *traces, const struct trace_ask *ask, struct trace_wait **ret_wait)
{
	struct trace *trace = find(traces, ask);
	uint64_t for_ns = ask->for_ns;
	int r;

	if (!trace) {
		r = begin(traces, ask, &trace);
		if (r < 0)
			return r;
		for_ns = for_ns ? for_ns : traces->config->seconds_ns;
	}
	/* Without memory a trace without waits is left, which traces_run ends. */
	return add_wait(trace, ask, for_ns, ret_wait);
}

void traces_forget(struct trace_wait *wait)
{
	struct trace_wait **at;

	if (!wait)
		return;
	for (at = &wait->trace->waits; *at != wait; at = &(*at)->next)
		;
	*at = wait->next;
	wait->trace->n_waits--;
	free(wait);
}

static bool is_due(const struct trace_wait *wait, uint64_t now_ns)
{
	return !wait->trace->source || wait->trace->stopped || wait->due_ns <= now_ns;
}

/* Does it go on? */
static bool is_wanted(const struct trace *trace)
{
	return trace->waits || (trace->standing && is_running(trace));
}

int traces_timeout_ms(const struct traces *traces)
{
	uint64_t now_ns = clock_monotonic_ns(), first_ns = UINT64_MAX;

	vec_foreach(&traces->list, trace) {
		if ((*trace)->kills.len > 0 || !is_wanted(*trace))
			return 0;
		if (trace_is_charged(*trace) && traces->next_look_ns < first_ns)
			first_ns = traces->next_look_ns;
		for (const struct trace_wait *wait = (*trace)->waits; wait; wait = wait->next) {
			if (is_due(wait, now_ns))
				return 0;
			if (wait->due_ns < first_ns)
				first_ns = wait->due_ns;
		}
	}
	if (first_ns == UINT64_MAX)
		return -1;
	first_ns = first_ns > now_ns ? (first_ns - now_ns) / MS_NS + 1 : 0;
	return first_ns < 1000000 ? (int)first_ns : 1000000;
}

static int give(const struct view *view, void *userdata)
{
	const struct trace_wait *wait = userdata;

	wait->fn(view, 0, wait->userdata);
	return 1;
}

/* --- answers --------------------------------------------------------------------------------- */

static void answer(struct traces *traces, struct trace *trace, struct trace_wait *wait)
{
	struct trace_wait copy = *wait;
	struct report_opts opts = { .width = 80, .allocated_first = wait->allocated_first };
	struct report_budget budget;
	int r = trace->error;

	trace_look_at_cost(traces, trace);
	if ((trace->kind == TRACE_HEAP && traces->call_ns > 0) || trace->pre_empted) {
		budget = trace_report_budget(traces, trace, wait);
		opts.budget = &budget;
		session_set_untraced(trace->session, budget.untraced_ns);
	}
	traces_forget(wait);
	if (r == 0)
		r = session_show(trace->session, &opts, give, &copy);
	/* give()'s 1: answered */
	if (r <= 0)
		copy.fn(NULL, r < 0 ? r : -EIO, copy.userdata);
}

struct telling {
	const struct traces_opts *opts;
	uid_t asked;
};

static int tell_kill(const struct view *view, void *userdata)
{
	const struct telling *telling = userdata;

	telling->opts->killed(view, telling->asked, telling->opts->userdata);
	return 1;
}

static void tell_kills(struct traces *traces, struct trace *trace)
{
	struct telling telling = { &traces->opts, trace->uid };

	/* More may come while one is told. */
	for (size_t i = 0; i < trace->kills.len; i++) {
		const struct report_opts opts = { .width = 80,
						  .one_image = true,
						  .image = trace->kills.data[i] };

		/* tell_kill()'s 1: it was */
		if (trace->error || session_show(trace->session, &opts, tell_kill, &telling) <= 0)
			traces->untold++;
	}
	trace->kills.len = 0;
}

/* The first that is due now, or NULL. An answer may take long, so that more are due after it. */
static struct trace_wait *next_due(const struct trace *trace)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (struct trace_wait *wait = trace->waits; wait; wait = wait->next)
		if (is_due(wait, now_ns))
			return wait;
	return NULL;
}

void traces_run(struct traces *traces)
{
	traces_look_at_costs(traces);
	for (size_t i = 0; i < traces->list.len;) {
		struct trace *trace = traces->list.data[i];
		struct trace_wait *wait;

		tell_kills(traces, trace);
		while ((wait = next_due(trace)))
			answer(traces, trace, wait);
		if (is_wanted(trace)) {
			i++;
			continue;
		}
		traces->opts.ends(trace->id, traces->opts.userdata);
		/* Without memory nothing is owed. */
		(void)budget_end(&traces->budget, &trace->use, trace->pid, trace->info.start_ticks,
				 trace->uid == 0, clock_monotonic_ns());
		trace_free(trace);
		traces->list.len--;
		memmove(&traces->list.data[i], &traces->list.data[i + 1],
			(traces->list.len - i) * sizeof(*traces->list.data));
	}
}

void traces_finish(struct traces *traces)
{
	vec_foreach(&traces->list, trace) {
		tell_kills(traces, *trace);
		while ((*trace)->waits)
			answer(traces, *trace, (*trace)->waits);
		traces->opts.ends((*trace)->id, traces->opts.userdata);
	}
}

int traces_show(struct traces *traces, uint64_t id, const struct report_opts *opts,
		int (*fn)(const struct view *view, void *userdata), void *userdata)
{
	vec_foreach(&traces->list, trace)
		if ((*trace)->id == id && (*trace)->error == 0)
			return session_show((*trace)->session, opts, fn, userdata);
	return -ENOENT;
}

bool traces_at(const struct traces *traces, size_t index, struct trace_info *ret_info)
{
	uint64_t now_ns = clock_monotonic_ns();
	const struct trace *trace;

	if (index >= traces->list.len)
		return false;
	trace = traces->list.data[index];
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

uint64_t traces_untold(const struct traces *traces)
{
	return traces->untold;
}

uint64_t traces_begun(const struct traces *traces)
{
	return traces->begun;
}

uint64_t traces_refused(const struct traces *traces)
{
	return traces->refused;
}

uint64_t traces_pre_empted(const struct traces *traces)
{
	return traces->pre_empted;
}
