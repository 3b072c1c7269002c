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

enum feature {
	FEATURE_BTF,	     /* /sys/kernel/btf/vmlinux, for CO-RE */
	FEATURE_TRACEFS,     /* tracepoint ids */
	FEATURE_PERF_UPROBE, /* perf-event uprobes */
	FEATURE_COOKIES,     /* probes have them: else each has a program of its own */
	FEATURE_ATOMICS,     /* that give a value: else hash maps are used instead */
	FEATURE_UPROBE_MULTI,
	FEATURE_UPROBE_SESSION,
	FEATURE_HOLD_CPU,	   /* bpf_preempt_disable() */
	FEATURE_URETPROBE_SECCOMP, /* return probes do not kill targets with a seccomp filter */
	FEATURE_WHOLE_TRACEPOINTS, /* trace/kernel/preemption.h: else perf's are used */
	FEATURE_UNWIND_CFI,	   /* the walk by call frame information is let in */
	FEATURE_FIND_VMA,	   /* bpf_find_vma() */
	FEATURE_SAMPLING,	   /* --cpu, --off-cpu */
	FEATURE_GRACE_PERIOD,	   /* trace/bpf/grace.h */
	FEATURE_DEATHS,		   /* signal_generate and mark_victim */
	FEATURE_OOM_LIMIT,	   /* a probe of out_of_memory() */
	FEATURES
};

const char *feature_name(enum feature id);
/* What it is good for, in a few words. */
const char *feature_what(enum feature id);

bool feature_left_out(enum feature id);
/* Whether MEMTRACED_WITHOUT is set at all. */
bool feature_any_left_out(void);

/* -EINVAL when MEMTRACED_WITHOUT names what is no feature, and adds that to `out`; else 0. */
int feature_check_left_out(struct strbuf *out);

#endif
