/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as the command line names them. Whose stacks to collect: of -e, "getrandom" or
 * "sched:sched_switch"; of --cpu, --off-cpu and --page-faults. What --hist is to count:
 * "read:count,lin=0-4k/64,by=comm". Only the text is looked at; whether this kernel has the event
 * or the field is seen when it is attached. Pure functions.
 */
#ifndef MEMTRACED_CONFIG_EVENT_SPEC_H
#define MEMTRACED_CONFIG_EVENT_SPEC_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

/* perf's name of the clock that --cpu samples by. */
#define EVENT_CPU_CLOCK "cpu-clock"

/* What --off-cpu shows: waits, as long as they take. */
#define EVENT_OFF_CPU "off-cpu"

/* perf's name of the count that --page-faults samples by. */
#define EVENT_PAGE_FAULTS "page-faults"

enum event_kind {
	EVENT_TRACEPOINT,
	EVENT_SAMPLE,
	EVENT_WAIT,
	EVENT_FAULTS,
};

struct event_spec {
	char *text;	 /* as given: the report's "name" */
	char *category;	 /* "syscalls" */
	char *name;	 /* "sys_enter_getrandom" */
	bool is_syscall; /* was given without a category */
	enum event_kind kind;
	uint32_t hz;	 /* EVENT_SAMPLE: so often a second on each CPU */
	uint32_t period; /* EVENT_FAULTS: each so many-th on each CPU; 0: as many as fit */
};

/*
 * 0 with *ret_spec filled, to be released with event_spec_done; -EINVAL with one line in *error
 * that says what is wrong and what to give; or -ENOMEM.
 */
int event_spec_parse(const char *text, struct event_spec *ret_spec, struct strbuf *error);
/* What --cpu, --off-cpu and --page-faults ask for; as above, without a category. */
int event_spec_cpu(uint32_t hz, struct event_spec *ret_spec);
int event_spec_off_cpu(struct event_spec *ret_spec);
int event_spec_page_faults(uint32_t period, struct event_spec *ret_spec);
/* Are they one event, which is wanted once? */
bool event_spec_equal(const struct event_spec *a, const struct event_spec *b);
/* Are there stacks among its that begin where code was interrupted, not where it called? */
bool event_spec_interrupts(const struct event_spec *spec);
void event_spec_done(struct event_spec *spec);

enum hist_what {
	HIST_SYSCALL_RESULT,
	HIST_SYSCALL_ARG,
	HIST_SYSCALL_NS,
	HIST_FIELD, /* of a tracepoint */
	HIST_ALLOC, /* requested sizes of an allocator function */
};

enum hist_by { HIST_BY_NONE, HIST_BY_COMM, HIST_BY_PID };

/* The linear buckets of one histogram, those below and above not counted. */
#define HIST_MAX_LINEAR 1024

struct hist_spec {
	char *text; /* as given: the report's "spec" */
	enum hist_what what;
	char *name;	/* system call without sys_enter_, tracepoint or allocator function */
	char *category; /* HIST_FIELD; else NULL */
	char *field;	/* HIST_SYSCALL_ARG, HIST_FIELD; else NULL */
	bool linear;	/* [min, min + step) ... [max - step, max); else powers of two */
	int64_t min, max, step;
	enum hist_by by;
};

/*
 * 0 with *ret_spec filled, to be released with hist_spec_done; -EINVAL with one line in *error that
 * says what is wrong and what to give; or -ENOMEM. With `linear`, step divides max - min into at
 * most HIST_MAX_LINEAR buckets.
 */
int hist_spec_parse(const char *text, struct hist_spec *ret_spec, struct strbuf *error);
void hist_spec_done(struct hist_spec *spec);

/* Whether `name` is a function that hands out memory: no system call is called so. */
bool spec_is_allocator(const char *name);

#endif
