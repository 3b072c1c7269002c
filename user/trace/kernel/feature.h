/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The features of kernels that something else can stand for, by name. MEMTRACED_WITHOUT=NAME,... in
 * the environment has them treated as absent on a kernel that has them, so that what stands for
 * them can be tested anywhere: code that looks for a feature asks feature_left_out() first.
 */
#ifndef MEMTRACED_TRACE_KERNEL_FEATURE_H
#define MEMTRACED_TRACE_KERNEL_FEATURE_H

#include "base/strbuf.h"

#include <stdbool.h>

/* Each with its name, and what it is good for in a few words; in the order of --features. */
#define FEATURE_ROWS(ROW)                                                                          \
	ROW(FEATURE_BTF, "btf", "types of the running kernel, for CO-RE")                          \
	ROW(FEATURE_TRACEFS, "tracefs", "tracepoints of system calls")                             \
	ROW(FEATURE_PERF_UPROBE, "perf-uprobe", "uprobes by perf events")                          \
	/* Else each probe has a program of its own. */                                            \
	ROW(FEATURE_COOKIES, "cookies", "one program serves all probes")                           \
	/* Else hash maps are used instead. */                                                     \
	ROW(FEATURE_ATOMICS, "atomics", "atomic operations that give a value")                     \
	ROW(FEATURE_UPROBE_MULTI, "uprobe-multi", "one link for all sites of a file")              \
	ROW(FEATURE_UPROBE_SESSION, "uprobe-session", "entry and return by one program")           \
	/* bpf_preempt_disable() */                                                                \
	ROW(FEATURE_HOLD_CPU, "hold-cpu", "walks of stacks cannot be preempted")                   \
	ROW(FEATURE_URETPROBE_SECCOMP, "uretprobe-seccomp",                                        \
	    "return probes are safe under seccomp filters")                                        \
	/* trace/kernel/preemption.h; else perf's tracepoints are used. */                         \
	ROW(FEATURE_WHOLE_TRACEPOINTS, "whole-tracepoints",                                        \
	    "programs at tracepoints are not preempted")                                           \
	/* The walk by call frame information is let in. */                                        \
	ROW(FEATURE_UNWIND_CFI, "unwind-cfi", "stacks are whole without frame pointers")           \
	/* bpf_find_vma() */                                                                       \
	ROW(FEATURE_FIND_VMA, "find-vma", "-p has whole stacks from an exec on")                   \
	ROW(FEATURE_SAMPLING, "sampling", "--cpu, --off-cpu and --page-faults")                    \
	/* trace/bpf/grace.h */                                                                    \
	ROW(FEATURE_GRACE_PERIOD, "grace-period", "reports of what runs are of one moment")        \
	ROW(FEATURE_DEATHS, "deaths", "the sender of SIGKILL, and what the OOM killer ends")       \
	/* A probe of out_of_memory(). */                                                          \
	ROW(FEATURE_OOM_LIMIT, "oom-limit", "for which cgroup's limit the OOM killer acts")

#define FEATURE_ID(id, name, what) id,
enum feature { FEATURE_ROWS(FEATURE_ID) FEATURES };

const char *feature_name(enum feature id);
const char *feature_what(enum feature id);

bool feature_left_out(enum feature id);
/* Whether MEMTRACED_WITHOUT is set at all. */
bool feature_any_left_out(void);

/* -EINVAL when MEMTRACED_WITHOUT names what is no feature, and adds that to `out`; else 0. */
int feature_check_left_out(struct strbuf *out);

#endif
