/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The live source: BPF programs on running processes. Follows their life cycle, maps and new code,
 * attaches probes where allocators appear, and reads consistent cuts. One thread.
 */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_H
#define MEMTRACED_TRACE_LIVE_LIVE_H

#include "base/cleanup.h"
#include "config/event_spec.h"
#include "target/exec_skip.h"
#include "trace/bpf/programs.h"
#include "trace/jobs/event_job.h"
#include "trace/jobs/job.h"
#include "trace/kernel/features.h"
#include "trace/live/slots/slot.h"
#include "trace/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct allocator_spec;
struct live;
struct worker;

struct live_opts {
	struct run_opts run;
	int cgroup_fd;	       /* ABI_SCOPE_CGROUP: its folder, borrowed for live_new */
	struct worker *worker; /* borrowed: it reads targets' files (symbol/symbol_server.h) */
	/*
	 * Asks the worker ahead for what the reader of a file's RECORD_MAPPING will ask
	 * about the file (worker_ask_ahead); NULL: nothing.
	 */
	void (*ask_ahead)(struct worker *worker, int fd);
	/* Borrowed; NULL: no uprobes are wanted. */
	const struct features *features;
	const struct allocator_spec *allocators; /* named by the user; borrowed for good */
	size_t n_allocators;
	struct exec_skip exec_skip; /* with what it starts, not traced; borrowed for good */
	bool held;		    /* targets are held at births, execs and marks (target/hold) */
	/* What record_run says of it. */
	uint64_t growth_span_ns;
	/* As in the symbol table; NULL-terminated, NULL: none; borrowed for good. */
	char *const *checkpoint_names;
	uint64_t pss_every_ns; /* trace/live/cuts/live_usage.h */
	/*
	 * Our library, which processes that have it loaded count by: their calls are not probed.
	 * The run's processes are started by it, and held. Borrowed for good; NULL: none do.
	 */
	const char *book_library;
	const char *why_no_books; /* though that was asked for; borrowed for good, or NULL */
	bool unwind_refused;	  /* run.unwind is false, since the kernel refuses such programs */
	uint64_t most_stacks; /* of `mappings`, of a process; then its regions have none; 0: all */
	bool forget_ended;    /* of jobs: counts of who has ended are deleted when they were read */
	const char *tool;     /* "memtraced X.Y.Z" */
	enum record_depth depth; /* with `both`: at first */
};

/*
 * Loads the programs and attaches what follows processes. 0 or negative errno; with `unwind`, here
 * and where jobs are added, also what a verifier answers that cannot follow the walk.
 */
int live_new(const struct live_opts *opts, struct live **ret_live);
/* Detaches and unloads. NULL is legal. */
void live_free(struct live *live);
DEFINE_CLEANUP(struct live, live_free)

/*
 * With `forget_ended`, which goes on for good: files that no process has mapped for some seconds
 * are closed, so that their file system can be unmounted. To be called after live_maintain(): how
 * many, valid until the next.
 */
struct live_file {
	uint64_t dev, ino; /* as of RECORD_MAPPING */
};
size_t live_closed_files(struct live *live, const struct live_file **ret_files);

/* The source interface; belongs to the live object (its free is live_free). */
struct source *live_source(struct live *live);

/*
 * Jobs, before any process is added. Specs are borrowed for good. 0 or negative errno; -EINVAL: the
 * kernel has no such thing, and *error says in one line what comes near.
 */
int live_add_hist(struct live *live, const struct hist_spec *spec, struct strbuf *error);
int live_add_event(struct live *live, const struct event_spec *spec, bool kernel_stacks, bool each,
		   struct strbuf *error);
int live_add_syscalls(struct live *live, bool stacks, struct strbuf *error);
/* Adds an event, without the kernel's stacks, while processes are traced: it counts from now on. */
int live_begin_event(struct live *live, const struct event_spec *spec, record_fn fn, void *userdata,
		     struct strbuf *error);

/*
 * Begins with a running process: its objects are probed, then it counts. Records go to fn. root: it
 * was named or started. 0 or negative errno: -ESRCH, -EPERM, -EEXIST (it counts already),
 * -ENOENT (nothing with an allocator is mapped, if allocations are traced), -EREMOTEIO (nothing of
 * which that is known, and a file could not be read), -ENOTSUP (it runs on a translator of code).
 */
int live_add_process(struct live *live, pid_t pid, bool root, record_fn fn, void *userdata);

/*
 * Is this process, or with 0 any, not counted, as its first thread has ended and a translator of
 * code runs?
 */
bool live_awaits_shared(const struct live *live, pid_t pid);

/*
 * A process that could not be read: if it was to be traced, it is said and counted, each once. 0 or
 * -ENOMEM.
 */
int live_count_unread(struct live *live, pid_t pid);

/* Registers a child that has not yet executed its command: what its exec makes is a root. */
int live_add_child(struct live *live, pid_t pid);
/*
 * Before the first instruction of what it executes: what is loaded and attached beside the start is
 * there. 0 or negative errno.
 */
int live_await_probes(struct live *live);

/*
 * Of the file that it is going to execute, before it does: that and its libraries are read ahead.
 * `library_path`: LD_LIBRARY_PATH as it will have it, or NULL. fd: taken. 0 or negative errno.
 */
int live_read_ahead(struct live *live, int fd, const char *library_path);

/*
 * Begins with all that run now and meet the rule, unless jobs alone are to count: they find them by
 * themselves. 0 or negative errno.
 */
int live_add_all(struct live *live, record_fn fn, void *userdata);

/* Readable when there is something to drain. */
int live_fd(const struct live *live);

/*
 * Between rounds, that is after a drain and not from inside of a record function: hands over the
 * last values of processes that have ended, gives back what they held, tries files again that could
 * not be opened, and hands over what came meanwhile. Nothing that was asked about a process before
 * may be used after it, but pids and numbers of images. 0 or negative errno.
 */
int live_maintain(struct live *live, record_fn fn, void *userdata);

/*
 * Hands over stacks of books that are new, by which live_blocks() names what it finds. After a
 * drain. 0 or negative errno.
 */
int live_emit_book_stacks(struct live *live, record_fn fn, void *userdata);

/* To be called some times a second, for LOSS_CPU_AWAY's cause. 0 or negative errno. */
int live_check_cpus(struct live *live);

/*
 * Between these two the ring is emptied into memory by a thread, for what the caller does that
 * takes long; the next drain hands it over. No drain and no cut in between.
 */
void live_buffer_begin(struct live *live);
void live_buffer_end(struct live *live);

/*
 * The next cut is of this moment, whenever it is read: for processes that are stopped only now.
 */
void live_begin_cut(struct live *live);

/*
 * Processes that work for this one and are not traced, nor are their children: those that fork what
 * parses files and what opens them; 0: none.
 */
void live_leave_out(struct live *live, pid_t keeper, pid_t opener);

/* To be called every ABI_TICK_NS or so: the clock of ages. */
void live_tick(struct live *live);

/*
 * Hands over what processes and their largest sites hold now (RECORD_SAMPLE ... END), after a
 * drain. Cheaper than a cut: blocks are not looked at. Where allocations are not counted, what the
 * kernel says of up to LIVE_USAGE_PROCESSES of the processes alone. *ret_cpu_ns: what it took, but
 * for the drain and for proportional shares, which have a limit of their own. 0 or negative errno.
 */
int live_sample(struct live *live, record_fn fn, void *userdata, uint64_t *ret_cpu_ns);

/*
 * From now on blocks are young (record_site). True to programs that are just running: they may
 * still give a block the time before.
 */
void live_mark(struct live *live);

/* Was this thread stopped by the programs, until a drain has seen its new code? Forgets it. */
bool live_take_mark(struct live *live, pid_t tid);

/*
 * Was this thread stopped before a function? Forgets it; *ret_name: which one that was named, NULL:
 * it is about to execute a program.
 */
bool live_take_checkpoint(struct live *live, pid_t tid, const char **ret_name);
/* Which of checkpoint_names were in no file that was mapped, the next from *index on; or NULL. */
const char *live_missing_checkpoint(const struct live *live, size_t *index);

/*
 * Has the image with this number in records this pid, now, or a process in its memory? Then all
 * that was read by the pid until now is of that process. To be asked after each such reading.
 */
bool live_has_pid(const struct live *live, pid_t pid, image_t image);
/* The same, and the image has not ended. */
bool live_is_current(const struct live *live, pid_t pid, image_t image);
/*
 * 0; -ESRCH: live_has_pid() says no; -EACCES: a user who asks (run.access) may not look at it; or
 * as process_access_check().
 */
int live_check_show(const struct live *live, pid_t pid, image_t image);
bool live_may_show(const struct live *live, pid_t pid, image_t image);

/* Do the programs count for this process? Not when it is a child that is not followed. */
bool live_counts(const struct live *live, pid_t pid);

/*
 * What this kernel lacks for this run (trace/kernel/kernel_limits.h), as `out` holds it then; with
 * what it lacks for probes, or without.
 */
const char *live_kernel_lacks(const struct live *live, bool for_probes, struct strbuf *out);

/* How many are traced now. */
size_t live_running(const struct live *live);

/* For a status line, without a cut: probe events so far, live heap bytes of running processes, lost
 * events. */
uint64_t live_events(const struct live *live);
/* The same of processes that count themselves (books/live_books.h), as of the last tick. */
uint64_t live_book_calls(const struct live *live);
int64_t live_bytes(const struct live *live);
uint64_t live_lost(const struct live *live);
/* Bytes that there is room for, of what reports know of addresses in stacks. */
uint64_t live_place_bytes(const struct live *live);

/* No more allocations are seen from about now on: what probes may cost is used up. */
void live_end_probes(struct live *live);
/* For how long that was so, of the time it was asked for: a loss of later cuts; 0: none. */
void live_set_untraced(struct live *live, uint64_t untraced_ns);

/*
 * With run.both: from now on allocations are looked at so. What runs ends as an image and goes on
 * as another one, which knows nothing of earlier blocks; the records of all that go to fn. Of the
 * same depth images go on: of samples that come another part is kept.
 */
int live_set_depth(struct live *live, const struct record_depth_change *change, record_fn fn,
		   void *userdata);
/* What the probes' programs took so far, while run_stats_open counts. 0 or negative errno. */
struct run_stats;
int live_run_stats(const struct live *live, struct run_stats *ret_stats);
enum record_depth live_depth(const struct live *live);
/* Can any of what is mapped show samples? */
bool live_has_samples(const struct live *live);
/* Thread groups that run and count; for one after the other from *index on; 0: no more. */
pid_t live_next_pid(const struct live *live, size_t *index);
/* Calls that samples have stood for so far. */
uint64_t live_sampled_calls(const struct live *live);

/* Has any process met the rule so far? */
bool live_any_traced(const struct live *live);

/* Have probes of an allocator been placed anywhere? */
bool live_has_allocator(const struct live *live);
/* The same of the files that a process has mapped; of a slot of live_slot_of(). */
bool live_slot_has_allocator(const struct live *live, slot_t slot);

/*
 * Which functions of opts.allocators are in no file that was mapped, a line each, with what comes
 * near; nothing when all were found. Looks through the files again. 0 or -ENOMEM.
 */
int live_missing_allocators(const struct live *live, struct strbuf *ret_text);

#endif
