/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/traces.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "config/options.h"
#include "service/session.h"
#include "target/process.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>

#define MS_NS UINT64_C(1000000)
/* On one trace: each is answered by a view of its own. */
#define MOST_WAITS 256

struct trace_wait {
	struct trace *trace;
	struct trace_wait *next;
	uint64_t due_ns;
	bool allocated_first;
	trace_answer_fn fn;
	void *userdata;
};

struct trace {
	enum trace_kind kind;
	pid_t pid;
	uid_t uid;		  /* of who had it begin */
	struct process_info info; /* of the process that was asked for */
	struct options *options;
	struct session *session;
	struct loop_source *source; /* NULL: it is over */
	struct trace_wait *waits;
	size_t n_waits;
	uint64_t start_ns;
	int error; /* of the session */
};

struct traces {
	struct loop *loop;
	const struct service_config *config;
	struct worker *worker;
	VEC(struct trace *) list;
	uint64_t begun, refused;
};

int traces_new(struct loop *loop, const struct service_config *config, struct worker *worker,
	       struct traces **ret_traces)
{
	struct traces *traces = calloc(1, sizeof(*traces));

	if (!traces)
		return -ENOMEM;
	traces->loop = loop;
	traces->config = config;
	traces->worker = worker;
	*ret_traces = traces;
	return 0;
}

void traces_configure(struct traces *traces, const struct service_config *config)
{
	traces->config = config;
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

/* As somebody would give them on a command line. */
static int make_options(const struct traces *traces, const struct trace_ask *ask,
			struct options **ret_options)
{
	_cleanup_strbuf_ struct strbuf error = {};
	char *words[8 + 2 * SERVICE_MAX_ALLOCATORS] = { "memtraced", "--quiet" };
	char *const *allocators = traces->config->allocators;
	char pid[16], memory[48];
	int n = 2, r;

	for (; ask->kind == TRACE_HEAP && allocators && *allocators; allocators++) {
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
	if (ask->pid) {
		words[n++] = "--no-follow";
		words[n++] = "-p";
		words[n++] = pid;
	} else {
		words[n++] = "-a";
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

static bool has_his_share(const struct traces *traces, uid_t uid)
{
	uint64_t n = 0;

	vec_foreach(&traces->list, trace)
		n += (*trace)->uid == uid;
	return uid != 0 && n >= traces->config->max_traces_of_user;
}

static int begin(struct traces *traces, const struct trace_ask *ask, struct trace **ret_trace)
{
	_cleanup_(trace_free_p) struct trace *trace = NULL;
	int r;

	if (traces->list.len >= traces->config->max_traces || has_his_share(traces, ask->uid)) {
		traces->refused++;
		return -EBUSY;
	}
	trace = calloc(1, sizeof(*trace));
	if (!trace)
		return -ENOMEM;
	trace->kind = ask->kind;
	trace->pid = ask->pid;
	trace->uid = ask->uid;
	r = ask->pid ? process_info_read(ask->pid, &trace->info) : 0;
	if (r == 0)
		r = make_options(traces, ask, &trace->options);
	if (r == 0)
		r = session_new_served(trace->options, traces->worker, &trace->session);
	if (r == 0 && ask->pid)
		r = check_same(trace);
	if (r == 0)
		r = loop_add_fd(traces->loop, session_fd(trace->session), EPOLLIN, on_session,
				trace, &trace->source);
	if (r == 0)
		r = vec_push(&traces->list, trace);
	if (r < 0)
		return r;
	trace->start_ns = clock_monotonic_ns();
	traces->begun++;
	*ret_trace = TAKE_PTR(trace);
	return 0;
}

/* One that is over has its answers to give, but no new ones. */
static struct trace *find(const struct traces *traces, const struct trace_ask *ask)
{
	vec_foreach(&traces->list, trace)
		if ((*trace)->kind == ask->kind && (*trace)->pid == ask->pid && (*trace)->source)
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
	return !wait->trace->source || wait->due_ns <= now_ns;
}

int traces_timeout_ms(const struct traces *traces)
{
	uint64_t now_ns = clock_monotonic_ns(), first_ns = UINT64_MAX;

	vec_foreach(&traces->list, trace) {
		if (!(*trace)->waits)
			return 0;
		for (const struct trace_wait *wait = (*trace)->waits; wait; wait = wait->next) {
			if (is_due(wait, now_ns))
				return 0;
			if (wait->due_ns < first_ns)
				first_ns = wait->due_ns;
		}
	}
	if (first_ns == UINT64_MAX)
		return -1;
	first_ns = (first_ns - now_ns) / MS_NS + 1;
	return first_ns < 1000000 ? (int)first_ns : 1000000;
}

static int give(const struct view *view, void *userdata)
{
	const struct trace_wait *wait = userdata;

	wait->fn(view, 0, wait->userdata);
	return 1;
}

static void answer(struct trace *trace, struct trace_wait *wait)
{
	struct trace_wait copy = *wait;
	const struct report_opts opts = { .width = 80, .allocated_first = wait->allocated_first };
	int r = trace->error;

	traces_forget(wait);
	if (r == 0)
		r = session_show(trace->session, &opts, give, &copy);
	/* give()'s 1: answered */
	if (r <= 0)
		copy.fn(NULL, r < 0 ? r : -EIO, copy.userdata);
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
	for (size_t i = 0; i < traces->list.len;) {
		struct trace *trace = traces->list.data[i];
		struct trace_wait *wait;

		while ((wait = next_due(trace)))
			answer(trace, wait);
		if (trace->waits) {
			i++;
			continue;
		}
		trace_free(trace);
		traces->list.len--;
		memmove(&traces->list.data[i], &traces->list.data[i + 1],
			(traces->list.len - i) * sizeof(*traces->list.data));
	}
}

void traces_finish(struct traces *traces)
{
	vec_foreach(&traces->list, trace)
		while ((*trace)->waits)
			answer(*trace, (*trace)->waits);
}

bool traces_at(const struct traces *traces, size_t index, struct trace_info *ret_info)
{
	uint64_t now_ns = clock_monotonic_ns(), last_ns = now_ns;
	const struct trace *trace;

	if (index >= traces->list.len)
		return false;
	trace = traces->list.data[index];
	*ret_info = (struct trace_info){
		.kind = trace->kind,
		.pid = trace->pid,
		.comm = trace->info.comm,
		.age_ns = now_ns - trace->start_ns,
		.n_waits = trace->n_waits,
	};
	for (const struct trace_wait *wait = trace->waits; wait; wait = wait->next)
		last_ns = wait->due_ns > last_ns ? wait->due_ns : last_ns;
	ret_info->left_ns = last_ns - now_ns;
	return true;
}

uint64_t traces_begun(const struct traces *traces)
{
	return traces->begun;
}

uint64_t traces_refused(const struct traces *traces)
{
	return traces->refused;
}
