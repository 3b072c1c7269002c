/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"
#include "config/units.h"
#include "service/sample_library.h"
#include "service/session/session_advice.h"
#include "service/session/session_state.h"
#include "service/session/tracing.h"
#include "target/loader_search.h"
#include "target/process.h"
#include "target/process_list.h"
#include "trace/live/lifecycle/live_existing.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static int start_command(struct session *s)
{
	const struct launch_opts opts = {
		.argv = s->options->command,
		.run_as = s->options->run_as,
		.env_set = (const char *const *)s->environment,
		.stdout_to_stderr = outputs_own_stdout(s->outputs),
		.inherited = s->inherited,
	};

	return launch_new(&opts, &s->launch);
}

int session_refuse_command(const struct session *s, int error)
{
	const char *name = s->options->command[0], *meant = options_near_subcommand(name);

	if (error == -ENOENT && meant)
		log_error("'%s': command not found; did you mean 'memtraced %s'?", name, meant);
	else if (error == -ENOENT)
		log_error("'%s': command not found", name);
	else if (error == -EACCES)
		log_error("'%s': not executable", name);
	else
		log_error("'%s': cannot be executed: %s", name, strerror(-error));
	return error == -ENOENT ? -ECHILD : -ENOEXEC;
}

int session_start_command(struct session *s)
{
	int r = sample_environment(s->options, &s->environment, &s->is_sampled, &s->books);

	if (r == 0)
		r = start_command(s);
	if (r == -ENOENT || r == -EACCES)
		return session_refuse_command(s, r);
	if (r == -ENODATA)
		log_error("--run-as: no such user: %s", s->options->run_as);
	else if (r)
		log_error("cannot start %s: %s", s->options->command[0], strerror(-r));
	return r;
}

/* A process that maps a file that is not known waits for us, once for each library. */
static int prepare_command(struct session *s)
{
	const char *const *words = (const char *const *)s->environment;
	int fd = program_file_open(s->options->command[0], launch_value(words, "PATH"));

	return fd < 0 ? 0 : live_read_ahead(s->live, fd, launch_value(words, "LD_LIBRARY_PATH"));
}

int session_trace_command(struct session *s)
{
	bool holds = tracing_holds(s->options);
	int r = live_add_child(s->live, launch_pid(s->launch));

	if (r == 0 && holds)
		r = hold_new(session_on_hold, s, &s->hold);
	if (r == 0 && holds && (s->leaks || session_reads_resident(s->options)))
		hold_watch_exits(s->hold, s->leaks ? HOLD_EXITS_ALL : HOLD_EXITS_SEIZED);
	if (r == 0 && holds && s->leaks)
		hold_tell_threads(s->hold);
	if (r == 0 && holds)
		r = hold_seize_child(s->hold, launch_pid(s->launch));
	if (r == 0 && holds)
		r = prepare_command(s);
	if (r == 0 && launch_pty(s->launch))
		r = terminal_relay_new(s->loop, s->launch, &s->relay);
	if (r == 0)
		r = launch_release(s->launch);
	if (r)
		log_error("cannot hold %s at its start: %s", s->options->command[0], strerror(-r));
	return r;
}

/* That its end is seen, for the leak check; else that is made when asked for, and at our end. */
static int watch_exit(struct session *s, pid_t pid)
{
	int r = 0;

	if (!s->hold) {
		r = hold_new(session_on_hold, s, &s->hold);
		if (r < 0)
			return r;
		hold_watch_exits(s->hold, HOLD_EXITS_ALL);
	}
	r = hold_seize_running(s->hold, pid);
	if (r == -EBUSY)
		log_warning("process %d is under a debugger, which alone can stop it: there is no "
			    "leak check of it",
			    (int)pid);
	else if (r < 0 && r != -ESRCH && r != -ENOMEM)
		log_warning("process %d: cannot wait for its end: %s; it is checked for leaks "
			    "only on request",
			    (int)pid, strerror(-r));
	return r == -ENOMEM ? r : 0;
}

static void log_existing(pid_t pid, const char *comm, const struct live_existing *existing)
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
		log_warning("process %d (%s): %s of its heap was not understood: live totals "
			    "may lack so much from before the attach",
			    (int)pid, comm, format_size((int64_t)existing->unread_bytes, unread));
	if (existing->uncertain)
		log_warning("process %d (%s): its heap was changing whenever it was stopped, or "
			    "was not understood, in %" PRIu64 " places: what is counted from "
			    "before the attach is not exact",
			    (int)pid, comm, existing->uncertain);
	if (existing->no_room)
		log_warning("process %d (%s): %" PRIu64 " blocks from before the attach left out: "
			    "no room; raise --max-blocks",
			    (int)pid, comm, existing->no_room);
}

/* What it holds already. Without that, what comes can be counted all the same. */
static void trace_existing(struct session *s, pid_t pid, const char *comm)
{
	struct live_existing existing;
	int r = live_add_existing(s->live, pid, s->options->existing_stop_ns, &existing);

	if (r == 0)
		log_existing(pid, comm, &existing);
	else
		log_warning("process %d (%s): its heap cannot be read, so that nothing from before "
			    "the attach is counted: %s",
			    (int)pid, comm,
			    r == -EBUSY ? "a debugger has it, and memtraced would have to stop it" :
					  strerror(-r));
}

/* 0, as it may load a library that has them. But who asked a service for samples has no others. */
static int log_no_samples(const struct session *s, const struct process_info *info)
{
	if (s->is_served)
		return -ENODATA;
	log_warning("no otel_memory probes in process %d (%s): nothing of it is counted unless it "
		    "loads a library that has them",
		    (int)info->pid, info->comm);
	return 0;
}

/* What is done beside the tracing of a process that runs already. */
static int begin_process(struct session *s, pid_t pid, const char *comm)
{
	if (s->options->existing_stop_ns)
		trace_existing(s, pid, comm);
	return s->leaks ? watch_exit(s, pid) : 0;
}

int session_trace_pid(struct session *s, pid_t pid)
{
	struct process_info info;
	int r = process_info_read(pid, &info);

	if (r == -ESRCH) {
		log_error("no such process: %d", (int)pid);
		return -ESRCH;
	}
	if (r == 0 && info.zombie) {
		log_error("process %d (%s) is a zombie: it has ended and holds no memory", (int)pid,
			  info.comm);
		return -ESRCH;
	}
	if (r) {
		log_error("process %d: %s", (int)pid,
			  r == -ETIMEDOUT ? "cannot be read in time, as its exec may wait for "
					    "a file server; try again later" :
					    strerror(-r));
		return r;
	}
	if (!info.kernel_thread && info.exe_error && tracing_needs_code(s->options)) {
		log_error("process %d (%s): its executable cannot be read: %s", (int)pid, info.comm,
			  strerror(-info.exe_error));
		return info.exe_error;
	}
	if (info.kernel_thread || (!info.is_64bit && !info.exe_error))
		return session_refuse_kind(&info);
	r = live_add_process(s->live, pid, true, session_add_record, s);
	if (r == -ENOENT && s->options->sample_bytes)
		r = log_no_samples(s, &info);
	else if (r == -ENOENT)
		session_log_no_allocator(s, &info);
	else if (r == -EREMOTEIO)
		log_error("process %d (%s): no allocator found in what could be read: its list of "
			  "files or one of the files was not read, as a helper process was killed, "
			  "took too long, or may not be started yet; try again",
			  (int)pid, info.comm);
	else if (r == -ENOTSUP)
		log_error("process %d (%s) runs on a translator of code, which probes would end "
			  "with SIGTRAP",
			  (int)pid, info.comm);
	else if (r == -EACCES)
		log_debug("process %d: the requesting user may not look at it", (int)pid);
	else if (r == -ESRCH)
		log_error("process %d ended before it could be traced", (int)pid);
	else if (r)
		log_error("cannot trace process %d: %s", (int)pid, strerror(-r));
	else if (info.tracer)
		log_warning("process %d is under a debugger (pid %d), which stays: memtraced does "
			    "not need to stop it",
			    (int)pid, (int)info.tracer);
	if (r == 0 && info.thread_ended && live_awaits_shared(s->live, pid))
		log_warning(
			"process %d (%s) is not counted while a program runs on a translator of "
			"code (valgrind, qemu): as its first thread has ended, it needs probes "
			"that all processes share, which would end such a program",
			(int)pid, info.comm);
	if (r == 0 && !s->is_served)
		session_log_programs(s, pid);
	return r == 0 ? begin_process(s, pid, info.comm) : r;
}

/* A process that cannot be traced is left out: the one that was named is traced all the same. */
static int trace_descendant(struct session *s, pid_t pid, size_t *n)
{
	struct process_info info;
	int r = process_info_read(pid, &info);

	if (r == 0 && (info.kernel_thread || info.zombie))
		return 0;
	if (r == 0)
		r = live_add_process(s->live, pid, false, session_add_record, s);
	if (r == -ENOMEM)
		return r;
	if (r == -ESRCH || r == -EACCES || r == -EEXIST)
		return 0;
	if (r == -ETIMEDOUT)
		return live_count_unread(s->live, pid);
	if (r && r != -ENOENT && r != -ENOTSUP) {
		log_warning("cannot trace process %d, a descendant of a traced one: %s", (int)pid,
			    strerror(-r));
		return 0;
	}
	(*n)++;
	return r == 0 ? begin_process(s, pid, info.comm) : 0;
}

int session_trace_descendants(struct session *s, pid_t pid)
{
	size_t n = 0, before;
	int r = 0;

	if (s->options->no_follow)
		return 0;
	/* Until nothing is new: no event tells of what is forked by one that does not count yet. */
	do {
		pid_vec pids = {};

		before = n;
		r = process_list_descendants(pid, getpid(), &pids);
		for (size_t i = 0; i < pids.len && r == 0; i++)
			if (!live_counts(s->live, pids.data[i]))
				r = trace_descendant(s, pids.data[i], &n);
		vec_done(&pids);
	} while (r == 0 && n > before);
	if (r)
		log_error("cannot find the children of process %d: %s", (int)pid, strerror(-r));
	else if (n && !s->is_served)
		log_info("process %d: also tracing its %zu running descendants", (int)pid, n);
	return r;
}
