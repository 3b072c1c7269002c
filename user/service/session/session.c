/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/session/session.h"

#include "base/clock.h"
#include "base/log.h"
#include "config/words.h"
#include "model/series.h"
#include "report/view/symbols.h"
#include "sandbox/worker.h"
#include "service/leak/leak_log.h"
#include "service/output/stdout_queue.h"
#include "service/session/session_advice.h"
#include "service/session/session_state.h"
#include "service/session/tracing.h"
#include "target/file_helper.h"
#include "trace/live/cuts/live_usage.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>

static_assert(OPTIONS_MEMORY_LEAST == MAP_ROOM_LEAST, "options and programs agree");
static_assert(OPTIONS_MAX_STACK == ABI_MAX_FRAMES, "options and programs agree");
static_assert(LIVE_USAGE_PROCESSES == SERIES_PROCESSES, "a sampled process has a series");

/*
 * A recording has the whole state this often, and soon after the beginning; a byte written is taken
 * for so much CPU time, which keeps what comes of it to 20 KB/s (sample_clock_taken).
 */
#define CHECKPOINT_NS (5 * SECOND_NS)
#define FIRST_CHECKPOINT_NS SECOND_NS
#define BYTE_NS 1000
/* One part in so many of a CPU, where samples only read what the kernel knows of processes. */
#define USAGE_SHARE 1000
/* After SIGINT, which a terminal sends to the child as well, how long to wait for its end. */
#define INTERRUPT_GRACE_NS SECOND_NS
/* As main.c's for what could not be traced. */
#define EXIT_NOT_CHECKED 2

static int on_ring(int fd, uint32_t events, void *userdata)
{
	(void)fd;
	(void)events;
	return session_drain(userdata);
}

static int on_ring_look(void *userdata)
{
	struct session *s = userdata;
	int r = live_check_cpus(s->live);

	return r < 0 ? r : session_drain(s);
}

static int checkpoint(struct session *s, uint64_t now)
{
	uint64_t cpu, bytes = outputs_recorded(s->outputs);
	int r = outputs_tick(s->outputs, now);

	if (r < 0 || bytes == 0 || !sample_clock_is_due(&s->checkpoints, now))
		return r;
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	r = session_checkpoint(s);
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	bytes = outputs_recorded(s->outputs) - bytes;
	sample_clock_taken(&s->checkpoints, 0, cpu + bytes * BYTE_NS, clock_monotonic_ns());
	return r;
}

static int on_tick(void *userdata)
{
	struct session *s = userdata;
	uint64_t now = clock_monotonic_ns(), cpu;
	int r;

	live_tick(s->live);
	r = checkpoint(s, now);
	if (r < 0 || !s->takes_samples || !sample_clock_is_due(&s->samples, now))
		return r;
	r = live_sample(s->live, session_add_record, s, &cpu);
	sample_clock_taken(&s->samples, series_halvings(model_series(s->model)), cpu,
			   clock_monotonic_ns());
	return r;
}

static int on_time_over(void *userdata)
{
	((struct session *)userdata)->over = true;
	return 0;
}

static int on_status(void *userdata)
{
	struct session *s = userdata;

	status_line_show(s->status,
			 &(struct status){
				 .events = live_events(s->live) + live_book_calls(s->live),
				 .live_bytes = live_bytes(s->live),
				 .lost = live_lost(s->live),
				 .processes = live_running(s->live),
			 });
	return 0;
}

static int on_report_signal(const siginfo_t *info, void *userdata)
{
	(void)info;
	return session_report(userdata, false);
}

/*
 * SIGINT: the terminal has sent it to the child as well, which gets a moment to end by it. SIGTERM
 * is passed on to the child, whose end is then awaited. A second signal ends at once.
 */
static int on_stop_signal(const siginfo_t *info, void *userdata)
{
	struct session *s = userdata;

	if (s->relay && terminal_relay_pass_signal(s->relay, info))
		return 0;
	if (s->leaks)
		leak_check_stop(s->leaks);
	if (s->valgrind)
		leak_log_stop(s->valgrind);
	if (!s->launch || s->child_status >= 0 || s->stop_signals++ > 0) {
		s->over = true;
		return 0;
	}
	if (info->si_signo == SIGINT)
		return loop_add_timer(s->loop, INTERRUPT_GRACE_NS, on_time_over, s, &s->grace);
	(void)kill(launch_pid(s->launch), SIGTERM); /* it may have ended: then we end, too */
	return 0;
}

/* Of a child that nothing holds. */
static void wait_for_child(struct session *s)
{
	pid_t pid = launch_pid(s->launch);
	int status;

	while (waitpid(pid, &status, WNOHANG | WUNTRACED) == pid) {
		if (WIFSTOPPED(status)) {
			s->child_stop = WSTOPSIG(status);
			continue;
		}
		s->child_status = status;
		return;
	}
}

static int on_child_signal(const siginfo_t *info, void *userdata)
{
	struct session *s = userdata;
	int r = 0, sig;

	(void)info;
	if (s->hold)
		r = hold_dispatch(s->hold);
	else if (s->launch && s->child_status < 0)
		wait_for_child(s);
	sig = s->child_stop;
	s->child_stop = 0;
	if (sig && s->relay)
		terminal_relay_command_stopped(s->relay, sig);
	return r;
}

/* As of a report (report_cut). */
static int on_stdout_failed(int error, void *userdata)
{
	struct session *s = userdata;

	if (error != -EPIPE)
		log_error("cannot write to stdout: %s", strerror(-error));
	return error == -EPIPE && s->launch ? 0 : error;
}

static int add_sources(struct session *s)
{
	struct loop_source *source;
	/* Blocks have ages; a recording alone is not looked at so often. */
	uint64_t tick_ns = options_trace_memory(s->options) ? ABI_TICK_NS : ABI_RING_LOOK_NS;
	int r = loop_add_fd(s->loop, live_fd(s->live), EPOLLIN, on_ring, s, &source);

	s->takes_samples = options_trace_growth(s->options) && !s->options->no_samples;
	sample_clock_init(&s->samples, s->options->sample_interval_ns, clock_monotonic_ns());
	if (!options_trace_allocations(s->options))
		s->samples.cost_share = USAGE_SHARE;
	sample_clock_init(&s->checkpoints, CHECKPOINT_NS, clock_monotonic_ns());
	s->checkpoints.next_ns = clock_monotonic_ns() + FIRST_CHECKPOINT_NS;
	if (r == 0)
		r = loop_add_timer(s->loop, tick_ns, on_tick, s, &source);
	if (r == 0)
		r = loop_add_timer(s->loop, ABI_RING_LOOK_NS, on_ring_look, s, &source);
	if (r == 0 && s->options->max_overhead)
		r = loop_add_timer(s->loop, SESSION_LOOK_NS, session_check_cost, s, &source);
	if (r == 0 && s->status)
		r = loop_add_timer(s->loop, SECOND_NS, on_status, s, &source);
	return r;
}

/* Times that a user asks for begin when all targets are traced: attaching may take a second. */
static int add_asked_timers(struct session *s)
{
	struct loop_source *source;
	int r = 0;

	if (s->options->interval_ns)
		r = loop_add_timer(s->loop, s->options->interval_ns, session_on_interval, s,
				   &source);
	if (r == 0 && s->options->duration_ns)
		r = loop_add_timer(s->loop, s->options->duration_ns, on_time_over, s, &source);
	if (r < 0)
		log_error("cannot set up timers: %s", strerror(-r));
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
		r = loop_add_signal(s->loop, SIGWINCH, session_on_resize, s);
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
		r = s->leaks ? leak_check_begin(s->leaks, first) : session_valgrind_begin(s);
	if (r < 0)
		return r;
	if (s->launch)
		return session_trace_command(s);
	if (options_trace_widely(s->options)) {
		r = live_add_all(s->live, session_add_record, s);
		if (r) {
			log_error("cannot find the processes to trace: %s", strerror(-r));
			return r;
		}
		if (!s->is_served)
			log_info("tracing %zu running processes", live_running(s->live));
	}
	for (size_t i = 0; i < s->options->n_pids; i++) {
		r = session_trace_pid(s, s->options->pids[i]);
		if (r)
			return r;
	}
	for (size_t i = 0; i < s->options->n_pids; i++) {
		r = session_trace_descendants(s, s->options->pids[i]);
		if (r)
			return r;
	}
	return session_begin_view(s);
}

static int session_begin(struct session *s)
{
	int r = model_new(&s->model);

	if (r == 0)
		r = outputs_new(s->options, s->model, true, s->worker, &s->outputs);
	if (r == 0 && options_check_leaks(s->options))
		r = leak_check_new(s->options, s->model, outputs_symbols(s->outputs), s->worker,
				   session_add_record, s, &s->leaks);
	if (r)
		return r;
	outputs_show_leaks(s->outputs, s->leaks);
	model_keep_ended(s->model, options_keep_ended(s->options));
	if (s->options->forget_ended)
		model_forget_counts(s->model);
	model_limit_regions(s->model, s->options->most_regions);
	r = s->options->command ? session_start_command(s) : 0;
	if (r)
		return r;
	/* Later all of the host may be traced, and see it start; and it gets ready meanwhile. */
	(void)worker_start(s->worker);
	r = tracing_new(s->options, s->worker, session_first_depth(s), &s->books, &s->features,
			&s->live);
	if (r)
		return r;
	symbols_limit(outputs_symbols(s->outputs), live_place_bytes(s->live));
	live_leave_out(s->live, worker_keeper(s->worker), file_helper_pid());
	/* its numbers are those of allocations */
	r = status_line_new(s->options->quiet || !options_trace_allocations(s->options) ||
				    session_wants_view(s),
			    &s->status);
	if (r == 0)
		r = loop_new(&s->loop);
	if (r == 0 && !s->is_served)
		r = add_signals(s);
	if (r == 0 && !s->is_served)
		r = stdout_queue_new(s->loop, on_stdout_failed, s, &s->printed);
	if (r == 0)
		r = add_sources(s);
	if (r) {
		log_error("cannot set up tracing: %s", strerror(-r));
		return r;
	}
	outputs_queue_stdout(s->outputs, s->printed);
	r = begin_targets(s);
	if (r)
		return r;
	r = session_begin_costs(s);
	if (r < 0) {
		log_error("cannot set up timers: %s", strerror(-r));
		return r;
	}
	return add_asked_timers(s);
}

static int session_make(const struct options *options, struct worker *worker,
			struct session **ret_session)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s) {
		log_error("out of memory");
		return -ENOMEM;
	}
	s->options = options;
	s->worker = worker;
	s->child_status = -1;
	*ret_session = s;
	return 0;
}

static int session_start(struct session *s)
{
	if (geteuid() != 0) {
		log_error("tracing needs root: run it with sudo");
		return -EPERM;
	}
	return session_begin(s);
}

int session_new(const struct options *options, const struct launch_inherited *inherited,
		struct worker *worker, const struct probe_cost *cost, struct kept_books *books,
		struct session **ret_session)
{
	_cleanup_(session_free_p) struct session *s = NULL;
	int r = session_make(options, worker, &s);

	if (r < 0)
		return r;
	s->books = *books;
	*books = (struct kept_books){};
	s->inherited = inherited;
	if (options->max_overhead)
		governor_init(&s->governor, (double)options->max_overhead / 10000, cost,
			      clock_monotonic_ns());
	r = session_start(s);
	if (r == 0)
		*ret_session = TAKE_PTR(s);
	return r;
}

int session_new_served(const struct options *options, struct worker *worker, record_fn fn,
		       void *userdata, struct session **ret_session)
{
	_cleanup_(session_free_p) struct session *s = NULL;
	int r = session_make(options, worker, &s);

	if (r < 0)
		return r;
	s->is_served = true;
	s->listener = fn;
	s->listener_data = userdata;
	r = running_books(options, &s->books);
	if (r == 0)
		r = session_start(s);
	if (r == 0)
		*ret_session = TAKE_PTR(s);
	return r;
}

void session_free(struct session *session)
{
	if (!session)
		return;
	session_meter_end(session);
	terminal_relay_free(session->relay);
	live_view_free(session->view);
	status_line_free(session->status);
	hold_free(session->hold);
	launch_free(session->launch);
	words_free(session->environment);
	stdout_queue_free(session->printed);
	loop_free(session->loop);
	live_free(session->live);
	kept_books_done(&session->books);
	leak_check_free(session->leaks);
	leak_log_free(session->valgrind);
	outputs_free(session->outputs);
	model_free(session->model);
	event_spec_done(&session->faults); /* which live borrowed */
	features_free(session->features);
	free(session);
}

int session_fd(const struct session *session)
{
	return loop_fd(session->loop);
}

uint64_t session_calls(const struct session *session)
{
	return live_events(session->live);
}

int session_run_stats(const struct session *session, struct run_stats *ret_stats)
{
	return live_run_stats(session->live, ret_stats);
}

void session_end_probes(struct session *session)
{
	live_end_probes(session->live);
}

void session_set_untraced(struct session *session, uint64_t untraced_ns)
{
	live_set_untraced(session->live, untraced_ns);
}

/* The command's own exec may fail after all: the child has then said why. */
static int check_exec(struct session *s)
{
	int r = s->launch ? launch_exec_result(s->launch) : 0;

	return r == 0 || r == -EINPROGRESS ? 0 : session_refuse_command(s, r);
}

static bool has_ended(const struct session *s)
{
	if (s->launch && s->child_status < 0)
		return false;
	/* What traces widely goes on until it is stopped. */
	return !options_trace_widely(s->options) && live_running(s->live) == 0;
}

int session_step(struct session *session, int timeout_ms)
{
	int r;

	if (session->over)
		return 1;
	r = loop_run_once(session->loop, timeout_ms);
	/* A helper may have been started again. */
	live_leave_out(session->live, worker_keeper(session->worker), file_helper_pid());
	if (r == -EPIPE)
		return r;
	if (r < 0) {
		log_error("tracing: %s", strerror(-r));
		return r;
	}
	if (session->over)
		return 1;
	return has_ended(session) && (!session->relay || terminal_relay_drain(session->relay));
}

int session_finish(struct session *session)
{
	int r;

	terminal_relay_free(session->relay);
	session->relay = NULL;
	r = check_exec(session);
	if (r)
		return r;
	session_log_missing(session);
	r = session_report(session, true);
	if (r == 0)
		session_log_unseen(session);
	return r == 0 ? session_valgrind_end(session) : r;
}

static int command_status(const struct session *session)
{
	int status = session->child_status;

	if (!session->launch || status < 0)
		return 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* As under memcheck, too; where glibc aborts a program for its errors, that would let it go on. */
static bool died_of_fault(const struct session *session)
{
	int status = session->child_status, sig = WTERMSIG(status);

	return session->launch && status >= 0 && WIFSIGNALED(status) &&
	       (sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL);
}

int session_death_signal(const struct session *session)
{
	int status = session->child_status;

	return session->launch && status >= 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

int session_exit_status(const struct session *session)
{
	int of_errors = session->options->leak.error_exitcode, status;

	if (died_of_fault(session))
		return command_status(session);
	if (of_errors && session->leaks && leak_check_has_errors(session->leaks))
		return of_errors;
	status = command_status(session);
	/* Who asks for the status of errors may not take "not checked" for "no errors". */
	if (of_errors && session->leaks && status == 0 && leak_check_has_missed(session->leaks))
		return EXIT_NOT_CHECKED;
	return status;
}
