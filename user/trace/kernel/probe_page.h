/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A page of code of our own, in a file of its own (memfd), to try probes on: which instructions the
 * kernel emulates, and whether return probes survive a seccomp filter.
 */
#ifndef MEMTRACED_TRACE_KERNEL_PROBE_PAGE_H
#define MEMTRACED_TRACE_KERNEL_PROBE_PAGE_H

#include "base/cleanup.h"
#include "probe/insn_types.h"
#include "probe/plan.h"
#include "trace/bpf/bpf_link.h"

#include <stdbool.h>
#include <stddef.h>

struct probe_page;

/* Most instruction kinds that a page holds. */
#define PROBE_PAGE_KINDS 16

int probe_page_new(struct probe_page **ret_page);
void probe_page_free(struct probe_page *page); /* NULL is legal */
DEFINE_CLEANUP(struct probe_page, probe_page_free)

/* A path that opens the file, for attaching. */
const char *probe_page_path(const struct probe_page *page);

/* The sites to probe, one for each kind of instruction; their number. */
size_t probe_page_sites(const struct probe_page *page, struct uprobe_site sites[PROBE_PAGE_KINDS]);

/* The function that probe_page_filtered_child calls. */
struct uprobe_site probe_page_call_site(const struct probe_page *page);

/*
 * With an empty program on all sites: hits each and tells emulated from single-stepped ones by
 * their times. False when the times do not tell them apart (*ret_emulation is then unchanged).
 */
bool probe_page_measure(const struct probe_page *page, struct plan_emulation *ret_emulation,
			unsigned int *ret_emulated_ns, unsigned int *ret_stepped_ns);

/*
 * Forks a child that allows itself nothing but to exit (seccomp filter, killed otherwise) and calls
 * the call site. 0: it survived; > 0: the signal that killed it; negative errno.
 */
int probe_page_filtered_child(const struct probe_page *page);

/* --- kinds of instructions -------------------------------------------------------------------- */

/*
 * The kinds of instructions that a kernel may emulate under a uprobe, as tiny functions to try it
 * on: a table for each machine, of which this build has its own.
 */

struct probe_kind {
	const char *name;
	unsigned char code[16];
	unsigned char site; /* where in the code the instruction is */
	bool everywhere;    /* emulated by every kernel from 5.10 on */
	int member;	    /* offset in struct plan_emulation; -1: of the first one */
};

/* The first two: one that no kernel emulates, and one that each does. */
enum { PROBE_KIND_STEPPED, PROBE_KIND_EMULATED };

const struct probe_kind *probe_kinds(size_t *ret_n);

/* Whether a kernel emulates instructions of that kind, not the first. */
static inline bool *probe_kind_member(const struct probe_kind *kind,
				      struct plan_emulation *emulation)
{
	return (bool *)((char *)emulation + kind->member);
}

#endif
