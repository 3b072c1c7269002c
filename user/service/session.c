/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/session.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/loop.h"
#include "config/units.h"
#include "model/model.h"
#include "model/series.h"
#include "service/leak_check.h"
#include "service/live_view.h"
#include "service/outputs.h"
#include "service/resident.h"
#include "service/sample_clock.h"
#include "service/status_line.h"
#include "service/tracing.h"
#include "target/hold.h"
#include "target/process.h"
#include "trace/live/live.h"
#include "trace/live/live_existing.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>

static_assert(OPTIONS_MEMORY_LEAST == MAP_ROOM_LEAST, "options and programs agree");
static_assert(OPTIONS_MAX_STACK == ABI_MAX_FRAMES, "options and programs agree");

#define SECOND_NS 1000000000ULL
/* After SIGINT, which a terminal sends to the child as well, how long to wait for its end. */
#define INTERRUPT_GRACE_NS SECOND_NS
#define LIVE_VIEW_NS (2 * SECOND_NS)

struct session {
	const struct options *options;
	const struct launch_inherited *inherited;
	struct loop *loop;
	struct features *features;
	struct model *model;
	struct outputs *outputs;
	struct live *live;
	struct hold *hold;
	struct launch *launch;
	struct leak_check *leaks; /* NULL: not asked for */
	struct status_line *status;
	struct live_view *view; /* NULL: no full-screen view */
	struct loop_source *grace;
	struct sample_clock samples;
	int child_status; /* as wait(2)'s; -1: still running */
	unsigned int stop_signals;
	bool over;
};

static int take_record(const struct record *record, void *userdata)
{
	struct session *s = userdata;
	int r = model_apply(record, s->model);

	return r ? r : outputs_take(s->outputs, record);
}

/*
 * Nobody may read stdout any more, as of `memtraced ... | head`. A command that was started runs to
 * its end all the same, and its exit status is ours.
 */
static int drain(struct session *s)
{
	int r = source_drain(live_source(s->live), take_record, s);

	if (r < 0)
		return r;
	r = outputs_flush(s->outputs);
	return r == -EPIPE && s->launch ? 0 : r;
}

/* What is in memory of the processes that run, of which the blocks are known. */
static int read_resident(struct session *s)
{
	const struct options *o = s->options;
	bool all_counted = o->min_size == 0 && o->max_size == UINT64_MAX && o->n_allocators == 0;

	if (o->no_rss || o->floor || !options_trace_allocations(o))
		return 0;
	return resident_read(s->live, s->model, all_counted, take_record, s);
}

static int report_cut(struct session *s, bool final)
{
	int r = source_cut(live_source(s->live), take_record, s);

	if (r < 0) {
		log_error("reading the maps: %s", strerror(-r));
		return r;
	}
	status_line_clear(s->status);
	if (s->leaks)
		leak_check_cut_taken(s->leaks);
	if (final) {
		live_view_free(s->view);
		s->view = NULL;
	}
	/* After the final one nothing is drained any more. */
	if (!final)
		live_buffer_begin(s->live);
	r = read_resident(s);
	if (r == 0 && s->leaks)
		r = leak_check_report(s->leaks, final);
	if (r == 0)
		r = outputs_write(s->outputs, final);
	live_buffer_end(s->live);
	if (r == 0 && !final)
		r = drain(s);
	return r == -EPIPE && s->launch && (!final || s->child_status >= 0) ? 0 : r;
}

static int drain_all(void *userdata)
{
	return drain(userdata);
}

/* All that is traced and runs is stopped for a moment, of which the next cut is. */
static int check_running(struct session *s, enum leak_occasion occasion)
{
	_cleanup_free_ pid_t *pids = NULL;
	size_t n;
	int r = live_pids(s->live, &pids, &n);

	if (r < 0 || n == 0)
		return r;
	return leak_check_run(s->leaks, s->live, s->hold, pids, n, occasion, drain_all, s);
}

static int report(struct session *s, bool final)
{
	int r = s->leaks ? check_running(s, final ? LEAK_AT_END : LEAK_ASKED) : 0;

	return r < 0 ? r : report_cut(s, final);
}

/* --- what the loop calls --------------------------------------------------------------------- */

static int on_ring(int fd, uint32_t events, void *userdata)
{
	(void)fd;
	(void)events;
	return drain(userdata);
}

static int on_tick(void *userdata)
{
	struct session *s = userdata;
	uint64_t now = clock_monotonic_ns(), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int r;

	live_tick(s->live);
	if (!options_trace_allocations(s->options) || !sample_clock_is_due(&s->samples, now))
		return 0;
	r = live_sample(s->live, take_record, s);
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	sample_clock_taken(&s->samples, series_halvings(model_series(s->model)), cpu,
			   clock_monotonic_ns());
	return r;
}

static int on_interval(void *userdata)
{
	return report(userdata, false);
}

static int on_duration(void *userdata)
{
	session_stop(userdata);
	return 0;
}

/* --- the full-screen view -------------------------------------------------------------------- */

static int refresh_view(uint64_t mark_ns, live_view_show_fn fn, void *fn_userdata, void *userdata)
{
	struct session *s = userdata;
	int r = source_cut(live_source(s->live), take_record, s);

	if (r < 0)
		return r;
	live_buffer_begin(s->live);
	r = outputs_show(s->outputs, mark_ns, fn, fn_userdata);
	live_buffer_end(s->live);
	return r ? r : drain(s);
}

static void mark_view(void *userdata)
{
	struct session *s = userdata;

	live_mark(s->live);
}

static void stop_from_view(void *userdata)
{
	session_stop(userdata);
}

static bool wants_view(const struct session *s)
{
	const struct options *o = s->options;

	return outputs_live_view(s->outputs) && !o->no_tui && !o->command && !o->interval_ns &&
	       !o->floor && !options_check_leaks(o) && options_trace_allocations(o) &&
	       isatty(STDIN_FILENO);
}

/* Where a terminal cannot show it, a table every two seconds does. */
static int begin_view(struct session *s)
{
	const struct live_view_opts opts = { .loop = s->loop,
					     .outputs = s->outputs,
					     .refresh = refresh_view,
					     .mark = mark_view,
					     .stop = stop_from_view,
					     .userdata = s };
	struct loop_source *source;
	int r = -ENODEV;

	if (wants_view(s))
		r = live_view_new(&opts, &s->view);
	if (r != -ENODEV)
		return r;
	if (s->options->interval_ns || s->options->command || !outputs_live_view(s->outputs))
		return 0;
	return loop_add_timer(s->loop, LIVE_VIEW_NS, on_interval, s, &source);
}

static int on_resize(const siginfo_t *info, void *userdata)
{
	struct session *s = userdata;

	(void)info;
	return live_view_resize(s->view);
}

static int on_status(void *userdata)
{
	struct session *s = userdata;

	status_line_show(s->status, &(struct status){
					    .events = live_events(s->live),
					    .live_bytes = live_bytes(s->live),
					    .lost = live_lost(s->live),
					    .processes = live_running(s->live),
				    });
	return 0;
}

static int on_report_signal(const siginfo_t *info, void *userdata)
{
	(void)info;
	return report(userdata, false);
}

static int on_grace_over(void *userdata)
{
	session_stop(userdata);
	return 0;
}

/*
 * SIGINT: the terminal has sent it to the child as well, which gets a moment to end by it. SIGTERM
 * is passed on to the child, whose end is then awaited. A second signal ends at once.
 */
static int on_stop_signal(const siginfo_t *info, void *userdata)
{
	struct session *s = userdata;

	if (!s->launch || s->child_status >= 0 || s->stop_signals++ > 0) {
		session_stop(s);
		return 0;
	}
	if (info->si_signo == SIGINT)
		return loop_add_timer(s->loop, INTERRUPT_GRACE_NS, on_grace_over, s, &s->grace);
	(void)kill(launch_pid(s->launch), SIGTERM); /* it may have ended: then we end, too */
	return 0;
}

static int on_child_signal(const siginfo_t *info, void *userdata)
{
	struct session *s = userdata;
	int status;

	(void)info;
	if (s->hold)
		return hold_dispatch(s->hold);
	/* A child that nothing holds is waited for here. */
	if (s->launch && s->child_status < 0 &&
	    waitpid(launch_pid(s->launch), &status, WNOHANG) == launch_pid(s->launch))
		s->child_status = status;
	return 0;
}

/* Of a process that is about to end, whose exit handlers have run. */
static int check_exiting(struct session *s, pid_t pid)
{
	if (!s->leaks)
		return 0;
	return leak_check_run(s->leaks, s->live, s->hold, &pid, 1, LEAK_AT_EXIT, drain_all, s);
}

/* Before a function: what is counted there is of the cut that is taken while it waits. */
static int check_at(struct session *s, pid_t pid, const char *function)
{
	enum leak_occasion occasion = function ? LEAK_AT_FUNCTION : LEAK_AT_EXEC;
	int r = leak_check_run(s->leaks, s->live, s->hold, &pid, 1, occasion, drain_all, s);

	if (r < 0 || occasion == LEAK_AT_EXEC)
		return r;
	r = source_cut(live_source(s->live), take_record, s);
	if (r == 0)
		leak_check_cut_taken(s->leaks);
	return r;
}

/* A thread was stopped by a signal that may be the programs' mark. */
static int on_mark(struct session *s, const struct hold_event *event)
{
	const char *function;
	int r;

	if (s->leaks && live_take_checkpoint(s->live, event->tid, &function)) {
		r = check_at(s, event->pid, function);
		return r < 0 ? r : 1;
	}
	return live_take_mark(s->live, event->tid);
}

/* A thread is held: what it was held for is in the ring. */
static int on_hold(const struct hold_event *event, void *userdata)
{
	struct session *s = userdata;
	int r = drain(s);

	if (r)
		return r;
	if (event->type == HOLD_MARK)
		return on_mark(s, event);
	if (event->type == HOLD_EXITING)
		return check_exiting(s, event->pid);
	if (s->launch && event->pid == launch_pid(s->launch)) {
		if (event->type == HOLD_EXITED)
			s->child_status = event->status;
		return 0;
	}
	/* Not followed: held only while it uses the memory of a process that is. */
	return event->type != HOLD_EXITED && !live_counts(s->live, event->pid);
}

/* --- setting up ------------------------------------------------------------------------------ */

static int start_command(struct session *s)
{
	const struct launch_opts opts = {
		.argv = s->options->command,
		.run_as = s->options->run_as,
		.env_set = (const char *const *)s->options->env_set,
		.stdout_to_stderr = outputs_own_stdout(s->outputs),
		.inherited = s->inherited,
	};
	int r = launch_new(&opts, &s->launch);

	if (r == -ENOENT)
		log_error("command not found: %s", s->options->command[0]);
	else if (r == -EACCES)
		log_error("not executable: %s", s->options->command[0]);
	else if (r == -ENODATA)
		log_error("--run-as: no such user: %s", s->options->run_as);
	else if (r)
		log_error("cannot start %s: %s", s->options->command[0], strerror(-r));
	return r;
}

static int trace_command(struct session *s)
{
	bool holds = tracing_holds(s->options);
	int r = live_add_child(s->live, launch_pid(s->launch));

	if (r == 0 && holds)
		r = hold_new(on_hold, s, &s->hold);
	if (r == 0 && holds && s->leaks)
		hold_watch_exits(s->hold);
	if (r == 0 && holds)
		r = hold_seize_child(s->hold, launch_pid(s->launch));
	if (r == 0)
		r = launch_release(s->launch);
	if (r)
		log_error("holding %s at its start: %s", s->options->command[0], strerror(-r));
	return r;
}

/* That its end is seen, for the leak check; else that is made when asked for, and at our end. */
static int watch_exit(struct session *s, pid_t pid)
{
	int r = 0;

	if (!s->hold) {
		r = hold_new(on_hold, s, &s->hold);
		if (r < 0)
			return r;
		hold_watch_exits(s->hold);
	}
	r = hold_seize_running(s->hold, pid);
	if (r == -EBUSY)
		log_warning("process %d is under a debugger, which alone can stop it: there is no "
			    "leak check of it",
			    (int)pid);
	else if (r < 0 && r != -ESRCH && r != -ENOMEM)
		log_warning("process %d: its end cannot be waited for: %s; its leaks are looked "
			    "for when that is asked for",
			    (int)pid, strerror(-r));
	return r == -ENOMEM ? r : 0;
}

static void say_existing(pid_t pid, const char *comm, const struct live_existing *existing)
{
	char bytes[FORMAT_UNIT_LEN], unread[FORMAT_UNIT_LEN], stop[FORMAT_UNIT_LEN];

	format_duration(existing->stop_ns, stop);
	log_info("process %d (%s): %" PRIu64 " blocks of %s from before, read in %s (stop %" PRIu64
		 ")",
		 (int)pid, comm, existing->blocks, format_size((int64_t)existing->bytes, bytes),
		 stop, existing->stops);
	if (!existing->arenas)
		log_warning("process %d (%s): no heap of glibc's malloc found: nothing from before "
			    "the attach is counted",
			    (int)pid, comm);
	if (existing->unread_bytes)
		log_warning("process %d (%s): %s of its heap could not be made out: live totals "
			    "may lack so much from before the attach",
			    (int)pid, comm, format_size((int64_t)existing->unread_bytes, unread));
	if (existing->uncertain)
		log_warning("process %d (%s): its heap was changing whenever it was stopped, or "
			    "was not understood, in %" PRIu64 " places: what is counted from "
			    "before the attach is not exact",
			    (int)pid, comm, existing->uncertain);
	if (existing->no_room)
		log_warning("process %d (%s): %" PRIu64 " blocks from before the attach found no "
			    "room: --max-blocks makes more",
			    (int)pid, comm, existing->no_room);
}

/* What it holds already. Without that, what comes can be counted all the same. */
static void trace_existing(struct session *s, pid_t pid, const char *comm)
{
	struct live_existing existing;
	int r = live_add_existing(s->live, pid, s->options->existing_stop_ns, &existing);

	if (r == 0)
		say_existing(pid, comm, &existing);
	else
		log_warning("process %d (%s): its heap cannot be read, so that nothing from before "
			    "the attach is counted: %s",
			    (int)pid, comm,
			    r == -EBUSY ? "a debugger has it, and memtraced would have to stop it" :
					  strerror(-r));
}

static int trace_pid(struct session *s, pid_t pid)
{
	struct process_info info;
	int r = process_info_read(pid, &info);

	if (r == -ESRCH || (r == 0 && info.zombie)) {
		log_error("no such process: %d", (int)pid);
		return -ESRCH;
	}
	if (r) {
		log_error("process %d: %s", (int)pid, strerror(-r));
		return r;
	}
	if (!info.kernel_thread && info.exe_error && tracing_needs_code(s->options)) {
		log_error("process %d (%s): its executable cannot be read: %s", (int)pid, info.comm,
			  strerror(-info.exe_error));
		return info.exe_error;
	}
	if (info.kernel_thread || (!info.is_64bit && !info.exe_error)) {
		log_error("process %d (%s) is %s: only 64-bit programs can be traced", (int)pid,
			  info.comm, info.kernel_thread ? "a kernel thread" : "a 32-bit program");
		return -EOPNOTSUPP;
	}
	r = live_add_process(s->live, pid, take_record, s);
	if (r == -ENOENT)
		log_error(
			"process %d (%s): no allocator found: none of its files has symbols named "
			"malloc, calloc, realloc, free or operator new (a static binary without "
			"symbols has none; --allocator takes names and addresses)",
			(int)pid, info.comm);
	else if (r == -ESRCH)
		log_error("process %d ended before it could be traced", (int)pid);
	else if (r)
		log_error("cannot trace process %d: %s", (int)pid, strerror(-r));
	else if (info.tracer)
		log_warning("process %d is under a debugger (pid %d), which stays: memtraced does "
			    "not need to stop it",
			    (int)pid, (int)info.tracer);
	if (r == 0 && s->options->existing_stop_ns)
		trace_existing(s, pid, info.comm);
	return r == 0 && s->leaks ? watch_exit(s, pid) : r;
}

static int add_sources(struct session *s)
{
	struct loop_source *source;
	uint64_t interval = s->options->interval_ns;
	int r = loop_add_fd(s->loop, live_fd(s->live), EPOLLIN, on_ring, s, &source);

	sample_clock_init(&s->samples, s->options->sample_interval_ns, clock_monotonic_ns());
	if (r == 0)
		r = loop_add_timer(s->loop, ABI_TICK_NS, on_tick, s, &source);
	if (r == 0 && interval)
		r = loop_add_timer(s->loop, interval, on_interval, s, &source);
	if (r == 0 && s->options->duration_ns)
		r = loop_add_timer(s->loop, s->options->duration_ns, on_duration, s, &source);
	if (r == 0 && s->status)
		r = loop_add_timer(s->loop, SECOND_NS, on_status, s, &source);
	return r;
}

/* A blocked signal reaches the loop although it is ignored, as nohup(1) has it. */
static bool under_nohup(const struct session *s)
{
	return s->inherited && sigismember(&s->inherited->ignored, SIGHUP) == 1;
}

static int add_signals(struct session *s)
{
	int r = loop_add_signal(s->loop, SIGINT, on_stop_signal, s);

	if (r == 0)
		r = loop_add_signal(s->loop, SIGTERM, on_stop_signal, s);
	if (r == 0 && !under_nohup(s))
		r = loop_add_signal(s->loop, SIGHUP, on_stop_signal, s);
	if (r == 0)
		r = loop_add_signal(s->loop, SIGUSR1, on_report_signal, s);
	if (r == 0)
		r = loop_add_signal(s->loop, SIGWINCH, on_resize, s);
	if (r == 0)
		r = loop_add_signal(s->loop, SIGCHLD, on_child_signal, s);
	return r;
}

static int begin_targets(struct session *s)
{
	pid_t first = s->launch		 ? launch_pid(s->launch) :
		      s->options->n_pids ? s->options->pids[0] :
					   0;
	int r = outputs_begin(s->outputs, first);

	if (r)
		return r;
	if (s->launch)
		return trace_command(s);
	if (options_trace_widely(s->options)) {
		r = live_add_all(s->live, take_record, s);
		if (r)
			log_error("finding the processes to trace: %s", strerror(-r));
		else
			log_info("%zu processes are traced that run already",
				 live_running(s->live));
		return r;
	}
	for (size_t i = 0; i < s->options->n_pids; i++) {
		r = trace_pid(s, s->options->pids[i]);

		if (r)
			return r;
	}
	return begin_view(s);
}

static int session_begin(struct session *s)
{
	int r = model_new(&s->model);

	if (r == 0)
		r = outputs_new(s->options, s->model, true, &s->outputs);
	if (r == 0 && options_check_leaks(s->options))
		r = leak_check_new(s->options, s->model, outputs_symbols(s->outputs), &s->leaks);
	if (r)
		return r;
	outputs_show_leaks(s->outputs, s->leaks);
	model_keep_ended(s->model, options_keep_ended(s->options));
	r = s->options->command ? start_command(s) : 0;
	if (r)
		return r;
	r = tracing_new(s->options, &s->features, &s->live);
	if (r)
		return r;
	/* its numbers are those of allocations */
	r = status_line_new(s->options->quiet || !options_trace_allocations(s->options) ||
				    wants_view(s),
			    &s->status);
	if (r == 0)
		r = loop_new(&s->loop);
	if (r == 0)
		r = add_signals(s);
	if (r == 0)
		r = add_sources(s);
	if (r) {
		log_error("setting up: %s", strerror(-r));
		return r;
	}
	return begin_targets(s);
}

int session_new(const struct options *options, const struct launch_inherited *inherited,
		struct session **ret_session)
{
	_cleanup_(session_free_p) struct session *s = calloc(1, sizeof(*s));
	int r;

	if (!s) {
		log_error("out of memory");
		return -ENOMEM;
	}
	s->options = options;
	s->inherited = inherited;
	s->child_status = -1;
	if (geteuid() != 0) {
		log_error("tracing needs root: run it with sudo");
		return -EPERM;
	}
	r = session_begin(s);
	if (r)
		return r;
	*ret_session = TAKE_PTR(s);
	return 0;
}

void session_free(struct session *session)
{
	if (!session)
		return;
	live_view_free(session->view);
	status_line_free(session->status);
	hold_free(session->hold);
	launch_free(session->launch);
	loop_free(session->loop);
	live_free(session->live);
	leak_check_free(session->leaks);
	outputs_free(session->outputs);
	model_free(session->model);
	features_free(session->features);
	free(session);
}

/* --- running --------------------------------------------------------------------------------- */

void session_stop(struct session *session)
{
	session->over = true;
}

/* Under -c the command's own exec may fail after all: the child has then said why. */
static bool exec_failed(struct session *s)
{
	int r = s->launch ? launch_exec_result(s->launch) : 0;

	if (r == 0 || r == -EINPROGRESS)
		return false;
	log_error("cannot execute %s: %s", s->options->command[0], strerror(-r));
	return true;
}

int session_step(struct session *session, int timeout_ms)
{
	int r;

	if (session->over)
		return 1;
	r = loop_run_once(session->loop, timeout_ms);
	if (r == -EPIPE)
		return r;
	if (r < 0) {
		log_error("tracing: %s", strerror(-r));
		return r;
	}
	if (session->launch && session->child_status < 0)
		return session->over;
	if (tracing_is_endless(session->options))
		return session->over;
	return session->over || live_running(session->live) == 0;
}

/* What was looked for and not found, and how it can be named. */
static void say_missing_allocators(const struct session *s)
{
	const char *opaque = live_opaque_executable(s->live), *name;
	_cleanup_strbuf_ struct strbuf missing = {};
	const char *line, *end;

	if (!tracing_needs_probes(s->options))
		return;
	for (size_t i = 0; (name = live_missing_checkpoint(s->live, &i));)
		log_warning("--leak-check-at %s: nothing that was mapped has a function of that "
			    "name in its symbol table",
			    name);
	if (live_missing_allocators(s->live, &missing) == 0)
		for (line = strbuf_str(&missing); (end = strchr(line, '\n')); line = end + 1)
			log_warning("%.*s", (int)(end - line), line);
	if (live_has_allocator(s->live))
		return;
	log_warning("no allocator found in anything that %s mapped: no malloc, calloc, "
		    "realloc, free or operator new among the symbols of its files",
		    s->options->command ? s->options->command[0] : "the targets");
	if (!opaque)
		return;
	name = strrchr(opaque, '/') ? strrchr(opaque, '/') + 1 : opaque;
	log_warning("%s is linked statically and has no symbols: where its allocator is, "
		    "--allocator 'object=%s;malloc=0xADDRESS;free=0xADDRESS' says",
		    opaque, name);
}

int session_finish(struct session *session)
{
	if (exec_failed(session))
		return -ENOEXEC;
	say_missing_allocators(session);
	return report(session, true);
}

int session_exit_status(const struct session *session)
{
	int status = session->child_status, of_errors = session->options->leak.error_exitcode;

	if (of_errors && session->leaks && leak_check_has_errors(session->leaks))
		return of_errors;
	if (!session->launch || status < 0)
		return 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
