/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this kernel offers, found out by doing it (a load alone proves nothing: Linux 5.10 and 6.1
 * load programs whose links they refuse): one table with a reason for each row that is absent.
 */
#ifndef MEMTRACED_TRACE_KERNEL_FEATURES_H
#define MEMTRACED_TRACE_KERNEL_FEATURES_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "probe/plan.h"
#include "trace/kernel/feature.h"

#include <stdbool.h>

struct feature_row {
	bool probed;
	bool present;
	bool unsure;	  /* absent for want of memory, rights and the like, which may pass */
	char reason[112]; /* when absent */
};

struct features {
	struct feature_row rows[FEATURES];
	struct plan_emulation emulation; /* measured */
	bool emulation_measured;	 /* false: the set that every kernel since 5.10 emulates */
	unsigned int emulated_ns, stepped_ns; /* of one hit, medians of this start */
	/* Links to the page that was measured on, kept to the end: trace/bpf/link_home.h. */
	int link_home;
	int link_fds[4];
	size_t n_links;
};

/*
 * Probes everything (`all`) or what is needed to choose an attach path: best first, the rest only
 * when that is absent, and nothing of it twice in one boot (boot_facts.h). 0 or negative errno
 * (-ENOMEM; -EPERM: not root).
 */
int features_new(bool all, struct features **ret_features);
/*
 * FEATURE_UNWIND_CFI and FEATURE_WHOLE_TRACEPOINTS, by loading all programs: a run does that anyway
 * and sees for itself.
 */
void features_try_programs(struct features *features);
void features_free(struct features *features); /* NULL is legal */
DEFINE_CLEANUP(struct features, features_free)

/* The text of --features. */
void features_print(const struct features *features, struct strbuf *out);

#endif
