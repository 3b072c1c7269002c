/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What bpf/death.bpf.c and trace/live/lifecycle/live_death.c share, besides bpf/abi.h: who or what
 * kills a process, and what the kernel has in its books of its memory at that moment. In pages.
 */
#ifndef MEMTRACED_BPF_ABI_DEATH_H
#define MEMTRACED_BPF_ABI_DEATH_H

#include "abi_event.h"

/* Deeper cgroups are named from here up; longer names are cut (a container's has 85 letters). */
#define ABI_CGROUP_LEVELS 16
#define ABI_CGROUP_NAME 128

/* What struct page_counter has. */
struct abi_page_counter {
	__u64 used, most, limit;
};

struct abi_ev_death {
	struct abi_event head;
	__u32 pid;
	__s32 signal, code; /* siginfo's */
	__u32 known;	    /* ABI_DEATH_* */
	__u32 sender;	    /* thread group of who sent it */
	__u32 sender_uid;
	char sender_comm[16];
	__u64 total_vm;
	__u64 rss[4]; /* files, anonymous, swapped, shared: include/linux/mm_types_task.h */
	__u64 page_table_bytes;
	__s32 oom_score_adj;
	__u32 uid, euid;
	__u32 oom_constraint; /* enum oom_constraint */
	struct abi_page_counter oom_limit;
	struct abi_page_counter cgroup;
	struct abi_page_counter
		full; /* the innermost of it and those around it that is at its limit */
	__u64 limit_hits, ooms, oom_kills; /* events of its cgroup */
	__u32 oom_level; /* of the cgroup whose limit it is, counted from the root, 0 */
	__u32 full_level;
	__u32 level; /* of its own */
	__u32 pad;
	char names[ABI_CGROUP_LEVELS][ABI_CGROUP_NAME]; /* innermost first */
};
#define ABI_DEATH_BY_OOM 1     /* the OOM killer has chosen it */
#define ABI_DEATH_BY_KERNEL 2  /* the kernel has sent the signal by itself */
#define ABI_DEATH_BY_PROCESS 4 /* a process has, possibly this one */
#define ABI_DEATH_MEMORY 8     /* total_vm and what follows it */
#define ABI_DEATH_CGROUP 16    /* the memory controller's */
#define ABI_DEATH_CGROUP_EVENTS 32
#define ABI_DEATH_OOM_CONTROL 64 /* oom_constraint */
#define ABI_DEATH_FULL_CGROUP 256
#define ABI_DEATH_OOM_CGROUP 128 /* oom_limit, oom_level */

#ifndef __bpf__
static_assert(offsetof(struct abi_ev_death, total_vm) == 56, "abi_ev_death");
static_assert(offsetof(struct abi_ev_death, names) == 232, "abi_ev_death");
#endif

#endif
