/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Emit: a traced process is killed, with what the kernel knows of its memory and of its cgroup at
 * that moment. Files say the same, but a moment later memory is given back, the cgroup may be
 * gone, and of who ends v1 hierarchies say "/" (proc_cgroup_show in kernel/cgroup/cgroup.c).
 */
#ifndef MEMTRACED_DEATH_BPF_H
#define MEMTRACED_DEATH_BPF_H

#include "abi_death.h"
#include "process.bpf.h"
#include "rss.bpf.h"

#include <bpf/bpf_core_read.h>

static __always_inline void read_memory(struct abi_ev_death *ev, struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	ev->uid = BPF_CORE_READ(task, real_cred, uid.val);
	ev->euid = BPF_CORE_READ(task, real_cred, euid.val);
	ev->oom_score_adj = BPF_CORE_READ(task, signal, oom_score_adj);
	if (!mm)
		return;
	ev->known |= ABI_DEATH_MEMORY;
	ev->total_vm = BPF_CORE_READ(mm, total_vm);
	ev->page_table_bytes = BPF_CORE_READ(mm, pgtables_bytes.counter);
	ev->rss[0] = RSS_PAGES(mm, 0);
	ev->rss[1] = RSS_PAGES(mm, 1);
	ev->rss[2] = RSS_PAGES(mm, 2);
	ev->rss[3] = RSS_PAGES(mm, 3);
}

static __always_inline void read_counter(struct abi_page_counter *to, struct mem_cgroup *memcg)
{
	to->used = BPF_CORE_READ(memcg, memory.usage.counter);
	to->most = BPF_CORE_READ(memcg, memory.watermark);
	to->limit = BPF_CORE_READ(memcg, memory.max);
}

static __always_inline struct mem_cgroup *memcg_of(struct cgroup_subsys_state *css)
{
	return (void *)css - bpf_core_field_offset(struct mem_cgroup, css);
}

static __always_inline __u64 count_of(struct mem_cgroup *memcg, __u64 event)
{
	__u64 offset = bpf_core_field_offset(struct mem_cgroup, memory_events), value = 0;

	bpf_probe_read_kernel(&value, sizeof(value),
			      (void *)memcg + offset + event * sizeof(value));
	return value;
}

struct cgroup_name {
	char text[ABI_CGROUP_NAME];
};

/*
 * The name of a css's cgroup, and the css of the one above. The root of the hierarchy has level 0
 * and no name. Each level is a way of its own for the verifier, hence no part of a loop.
 */
VERIFIED_ONCE __u64 read_name(__u64 of, struct cgroup_name *name)
{
	struct cgroup_subsys_state *css = (void *)of;
	struct cgroup *cgroup = BPF_CORE_READ(css, cgroup);

	if (!name)
		return of;
	name->text[0] = '\0';
	if (!cgroup || BPF_CORE_READ(cgroup, level) <= 0)
		return of;
	bpf_probe_read_kernel_str(name->text, ABI_CGROUP_NAME, BPF_CORE_READ(cgroup, kn, name));
	/* The cgroup's own, not the controller's, which may have none in between. */
	return (__u64)BPF_CORE_READ(cgroup, self.parent);
}

static __always_inline void read_names(struct abi_ev_death *ev, struct cgroup_subsys_state *css)
{
	__u64 of = (__u64)css;
	int i;

	for (i = 0; i < ABI_CGROUP_LEVELS; i++)
		of = read_name(of, (struct cgroup_name *)ev->names[i]);
}

/* mm/memcontrol.c: so many pages are charged at a time, if there is room. */
#define MEMCG_CHARGE_BATCH 64

/* Is the css's cgroup at its limit? The counter is read in any case. */
VERIFIED_ONCE int read_if_full(__u64 css, struct abi_page_counter *counter)
{
	if (!counter)
		return 0;
	read_counter(counter, memcg_of((void *)css));
	return counter->used + MEMCG_CHARGE_BATCH >= counter->limit;
}

/* What OOM killers act for is read where it can be (bpf/death.bpf.c); this is what anybody sees. */
static __always_inline void read_full(struct abi_ev_death *ev, struct cgroup_subsys_state *css)
{
	int i;

	for (i = 0; i < ABI_CGROUP_LEVELS && css; i++) {
		if (read_if_full((__u64)css, &ev->full)) {
			ev->full_level = BPF_CORE_READ(css, cgroup, level);
			ev->known |= ABI_DEATH_FULL_CGROUP;
			return;
		}
		css = BPF_CORE_READ(css, parent);
	}
}

static __always_inline void read_cgroup(struct abi_ev_death *ev, struct task_struct *task)
{
	struct cgroup_subsys_state *css = NULL;
	struct mem_cgroup *memcg;
	__u64 at;

	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id) ||
	    !bpf_core_field_exists(struct mem_cgroup, memory))
		return;
	at = bpf_core_field_offset(struct css_set, subsys) +
	     bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id) * sizeof(css);
	bpf_probe_read_kernel(&css, sizeof(css), (void *)BPF_CORE_READ(task, cgroups) + at);
	if (!css)
		return;
	memcg = memcg_of(css);
	ev->known |= ABI_DEATH_CGROUP;
	ev->level = BPF_CORE_READ(css, cgroup, level);
	read_counter(&ev->cgroup, memcg);
	read_names(ev, css);
	read_full(ev, css);
	if (!bpf_core_field_exists(struct mem_cgroup, memory_events))
		return;
	ev->known |= ABI_DEATH_CGROUP_EVENTS;
	ev->limit_hits = count_of(memcg, bpf_core_enum_value(enum memcg_memory_event, MEMCG_MAX));
	ev->ooms = count_of(memcg, bpf_core_enum_value(enum memcg_memory_event, MEMCG_OOM));
	ev->oom_kills =
		count_of(memcg, bpf_core_enum_value(enum memcg_memory_event, MEMCG_OOM_KILL));
}

/* The task that runs has sent the signal. */
static __always_inline void read_sender(struct abi_ev_death *ev)
{
	ev->sender = current_tgid();
	ev->sender_uid = bpf_get_current_uid_gid();
	bpf_get_current_comm(ev->sender_comm, sizeof(ev->sender_comm));
}

/* Room in the ring, and what all of them say; NULL: there was none, which the caller counts. */
static __always_inline struct abi_ev_death *death_event(__u32 slot, __u32 pid, int signal, int code)
{
	struct abi_ev_death *ev = bpf_ringbuf_reserve(&ring, sizeof(*ev), 0);

	if (!ev)
		return NULL;
	__builtin_memset(ev, 0, offsetof(struct abi_ev_death, names));
	ev->head.type = ABI_EV_DEATH;
	ev->head.slot = slot;
	ev->head.time_ns = bpf_ktime_get_ns();
	ev->pid = pid;
	ev->signal = signal;
	ev->code = code;
	return ev;
}

/* The same, filled but for who did it; NULL: no process of ours, or lost (counted). */
static __always_inline struct abi_ev_death *death_begin(struct task_struct *task, int signal,
							int code)
{
	__u32 pid = BPF_CORE_READ(task, tgid), slot = slot_of_pid(pid);
	struct abi_proc *proc = slot == ABI_NO_SLOT ? NULL : proc_by_slot(slot);
	struct abi_ev_death *ev;

	/* A vfork child is not the process whose memory it has. */
	if (!proc || proc->state != ABI_PROC_ACTIVE || proc->pid != pid)
		return NULL;
	ev = death_event(slot, pid, signal, code);
	if (!ev) {
		proc_lost(proc, ABI_LOST_RING_FULL);
		return NULL;
	}
	read_memory(ev, task);
	read_cgroup(ev, task);
	return ev;
}

#endif
