/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/kernel_limits.h"

#include "trace/kernel/features.h"

#include <stdio.h>

/* bpf_get_stack() at a system call's own tracepoint (seen in tests; nothing to probe it by). */
#define FRAMES_MAJOR 6
#define FRAMES_MINOR 12

static bool lacks(const struct features *features, enum feature id)
{
	return features && features->rows[id].probed && !features->rows[id].present;
}

static bool has_no_frames(const char *release)
{
	int major, minor;

	return sscanf(release, "%d.%d", &major, &minor) == 2 &&
	       (major < FRAMES_MAJOR || (major == FRAMES_MAJOR && minor < FRAMES_MINOR));
}

void kernel_limits(const struct kernel_found *found, struct strbuf *out)
{
	const struct features *features = found->features;
	/* The build for old kernels has neither. */
	const bool old = lacks(features, FEATURE_COOKIES) || lacks(features, FEATURE_ATOMICS);
	const struct {
		bool is_so;
		const char *words;
	} limits[] = {
		{ lacks(features, FEATURE_UPROBE_MULTI) && lacks(features, FEATURE_UPROBE_SESSION),
		  "probes are perf events" },
		{ old, "each has a program of its own; hash maps stand for atomic operations" },
		/* docs/guide/limits.md: what --unwind=fp is asked to do, too */
		{ old || found->unwind_refused,
		  "calls after a jump out of an allocator may be taken for its own" },
		{ lacks(features, FEATURE_URETPROBE_SECCOMP),
		  "return probes would kill programs with a seccomp filter" },
		{ found->unwind_refused,
		  "user stacks follow frame pointers, as the unwinder was refused" },
		{ found->kernel_frames && has_no_frames(found->release),
		  "no kernel frames of system calls" },
		{ found->syscalls_preempted,
		  "every system call of the machine passes our programs" },
		{ found->deaths_unseen,
		  "the sender of SIGKILL is not seen, the OOM killer included" },
	};
	const char *between = "";

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (!limits[i].is_so)
			continue;
		strbuf_addf(out, "%s%s", between, limits[i].words);
		between = "; ";
	}
}
