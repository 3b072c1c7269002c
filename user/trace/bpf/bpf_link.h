/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attaching: the link kinds that libbpf 1.1 lacks or does otherwise, as thin wrappers of bpf(2) and
 * perf_event_open(2). Every function returns a descriptor that detaches when it is closed, or
 * negative errno.
 */
#ifndef MEMTRACED_TRACE_BPF_BPF_LINK_H
#define MEMTRACED_TRACE_BPF_BPF_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Values of enum bpf_attach_type (include/uapi/linux/bpf.h) that libbpf 1.1 does not name. */
#define LINK_TYPE_UPROBE_MULTI 48   /* Linux 6.6 */
#define LINK_TYPE_UPROBE_SESSION 57 /* Linux 6.13 */

struct uprobe_site {
	uint64_t offset; /* of the instruction in the file */
	uint64_t cookie;
	/* File offset of a counter (16 bits) that is raised in each process; 0: none. */
	uint64_t semaphore_offset;
};

/*
 * Loads a program for uprobes that does nothing but return `value`: 1 tells a session to leave the
 * return alone. `type`: LINK_TYPE_*, 0 for perf events. A descriptor, or negative errno.
 */
int link_load_empty(int type, int value);

/*
 * One uprobe-multi link over all sites of a file. `type`: LINK_TYPE_*, as the program was loaded
 * with; `at_return`: return probes (LINK_TYPE_UPROBE_MULTI only); `pid`: only the process with this
 * thread group id, 0: all. The order of sites is the order of installing.
 */
int link_uprobe_multi(int prog_fd, int type, const char *path, const struct uprobe_site *sites,
		      size_t n_sites, bool at_return, pid_t pid);

/* One perf-event uprobe; with a cookie other than 0 only from Linux 5.15. pid 0: all processes. */
int link_perf_uprobe(int prog_fd, const char *path, const struct uprobe_site *site, bool at_return,
		     pid_t pid);

/* At the entry of a function of the kernel's; -ENOENT: it has none of that name. */
int link_kprobe(int prog_fd, const char *function);

/* A program on the tracepoint with this id (tracefs .../id); a cookie as of link_perf_uprobe(). */
int link_tracepoint(int prog_fd, uint32_t id, uint64_t cookie);

/* Samples of what this CPU runs, so often a second by its clock; none of the idle task. */
int link_cpu_clock(int prog_fd, int cpu, uint32_t hz);
/*
 * One in `period` of the page faults of what this CPU runs. *ret_perf_fd is perf's own descriptor,
 * for link_set_period; closing it detaches nothing.
 */
int link_page_faults(int prog_fd, int cpu, uint32_t period, int *ret_perf_fd);
/* Another period of an event that runs: its next one comes at once. 0 or negative errno. */
int link_set_period(int perf_fd, uint64_t period);

/* A raw tracepoint by name. */
int link_raw_tracepoint(int prog_fd, const char *name);

#endif
