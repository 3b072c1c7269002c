/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What --hist is to count: "read:count,lin=0-4k/64,by=comm". Only the text is looked at; whether
 * this kernel has the system call or the field is seen when it is attached. Pure functions.
 */
#ifndef MEMTRACED_CONFIG_HIST_SPEC_H
#define MEMTRACED_CONFIG_HIST_SPEC_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

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

#endif
