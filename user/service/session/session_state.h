/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of a session, for its own files: session.c sets it up and runs it, session_targets.c
 * begins to trace what was asked for, session_report.c reads, checks and reports, session_view.c
 * shows it on a terminal. All on the thread of the session.
 */
#ifndef MEMTRACED_SERVICE_SESSION_SESSION_STATE_H
#define MEMTRACED_SERVICE_SESSION_SESSION_STATE_H

#include "base/loop.h"
#include "config/options.h"
#include "model/model.h"
#include "service/leak/leak_check.h"
#include "service/output/outputs.h"
#include "service/sample_library.h"
#include "service/session/cost_meter.h"
#include "service/session/governor.h"
#include "service/session/live_view.h"
#include "service/session/sample_clock.h"
#include "service/session/terminal_relay.h"
#include "target/hold/hold.h"
#include "target/launch/launch.h"
#include "trace/live/live.h"

/* What counting all calls costs: session_meter.c. */
struct session_meter {
	bool used, warned;
	int stats_fd;		 /* the kernel counts meanwhile; -1: it does not */
	struct run_stats window; /* when it began to, */
	uint64_t window_calls;	 /* and the calls until then */
	uint64_t window_from_ns;
	uint64_t ticks;
	uint64_t most_ns; /* that session_metered_ns() has said */
	struct cost_meter meter;
};

struct session {
	const struct options *options;
	const struct launch_inherited *inherited;
	struct worker *worker; /* which parses what others wrote */
	struct loop *loop;
	struct features *features;
	struct model *model;
	struct outputs *outputs;
	struct stdout_queue *printed; /* NULL: a service's */
	struct live *live;
	struct hold *hold;
	struct launch *launch;
	struct terminal_relay *relay; /* NULL: the command has no terminal of its own */
	struct leak_check *leaks;
	struct leak_log *valgrind;
	/* of its tools that make a file; NULL: there is none */ /* NULL: not asked for */
	struct status_line *status;
	struct live_view *view;	    /* NULL: no full-screen view */
	uint64_t resident_after_ns; /* when it may look at that again */
	struct loop_source *grace;
	bool takes_samples;
	struct sample_clock samples;
	struct sample_clock checkpoints; /* of the recording, if there is one */
	struct governor governor;	 /* with --max-overhead */
	bool counts_faults; /* of the default limit: since it was reached for the first time */
	struct event_spec faults;
	struct session_meter meter; /* unless that was given */
	uint64_t most_cpu_ns;	    /* that the processes were seen to have used */
	uint64_t waited_ns;	    /* CPU time of children of ours that ended before */
	char **environment;	    /* what the command has beside ours; NULL: no command */
	bool is_sampled;	    /* it will show samples */
	struct kept_books books;    /* does it keep books of its calls? */
	int child_status;	    /* as wait(2)'s; -1: still running */
	int child_stop;		    /* the signal that has stopped it; 0: none, or it is handled */
	unsigned int stop_signals;
	record_fn listener; /* NULL: there is none */
	void *listener_data;
	bool is_served; /* signals and the terminal are its owner's */
	bool over;
};

/* A record_fn: to the model, then to the outputs. `userdata` is the session. */
int session_add_record(const struct record *record, void *userdata);

/*
 * Hands over what the ring has. stdout may have no reader any more, as of `memtraced ... | head`: a
 * command that was started runs to its end all the same, and its exit status is ours. 0 or negative
 * errno.
 */
int session_drain(struct session *s);

/*
 * Ends live_buffer_begin(). What came meanwhile is in memory, where it wakes nothing: it is taken
 * whatever r is. r, or in place of 0 and more a negative errno.
 */
int session_drain_buffered(struct session *s, int r);

/* Do its reports say what resident memory is made of? */
bool session_reads_resident(const struct options *options);
/* Reads that, if it is to be known, of all processes that run. 0 or negative errno. */
int session_read_resident(struct session *s);

/* A cut and all outputs of it, after a leak check if one was asked for. 0 or negative errno. */
int session_report(struct session *s, bool final);

/* The latest image of a process that runs; NULL: none is known. */
const struct model_process *session_find_running(const struct session *s, pid_t pid);

/* A cut for the recording, which can be read up to it from then on. 0 or negative errno. */
int session_checkpoint(struct session *s);

/*
 * --max-overhead: the depth to begin with, once the command waits to be traced;
 * session_check_cost is a timer's callback, SESSION_LOOK_NS apart; session_emit_cost says what the
 * run has cost so far, before a cut. 0 or negative errno.
 */
#define SESSION_LOOK_NS UINT64_C(10000000)
enum record_depth session_first_depth(struct session *s);
int session_begin_costs(struct session *s);
int session_check_cost(void *userdata);
int session_emit_cost(struct session *s);
/*
 * CPU time of the processes that run, and of what they have waited for, or, after them, of the
 * command: of that since session_cpu_begin() (session_cpu.c).
 */
void session_cpu_begin(struct session *s);
uint64_t session_used_cpu_ns(struct session *s);

/*
 * Unless --max-overhead was given: what it costs is measured from session_meter_begin() on;
 * session_meter_emit says it. 0 or negative errno.
 */
int session_meter_begin(struct session *s);
int session_meter_emit(struct session *s);
/* From now on calls are counted, or not: the depth was changed. */
void session_meter_set_depth(struct session *s, enum record_depth depth);
/* What calls have taken so far; 0: that is not known yet. */
uint64_t session_metered_ns(struct session *s);
void session_meter_end(struct session *s);

/* A hold_fn: a thread is held. What it was held for is in the ring. */
int session_on_hold(const struct hold_event *event, void *userdata);

/* As Valgrind's massif and dhat say that they begin and end. 0 or negative errno (logged). */
int session_valgrind_begin(struct session *s);
int session_valgrind_end(struct session *s);

/* Does a full-screen view take the terminal? */
bool session_wants_view(const struct session *s);
/* Begins it; where a terminal cannot show it, a table every two seconds. 0 or negative errno. */
int session_begin_view(struct session *s);
/* The terminal's size has changed: a loop_signal_fn. */
int session_on_resize(const siginfo_t *info, void *userdata);
/* Time for a report: a timer's callback. */
int session_on_interval(void *userdata);

/* Starts the command, which then waits. 0 or negative errno, as session_new (logged). */
int session_start_command(struct session *s);
/* Logs why it was not started or executed, an errno of launch.h; returns that of session_new. */
int session_refuse_command(const struct session *s, int error);
/* Traces it, and lets it go. 0 or negative errno (logged). */
int session_trace_command(struct session *s);
/* Traces a process that runs. 0 or negative errno (logged). */
int session_trace_pid(struct session *s, pid_t pid);
/* The same of those that descend from it and run, unless children are not followed. */
int session_trace_descendants(struct session *s, pid_t pid);

#endif
