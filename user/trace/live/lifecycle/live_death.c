/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who kills a process. A kill by the OOM killer has two events: its SIGKILL, with what is known of
 * the process, and then that it was chosen, with the reason (__oom_kill_process in mm/oom_kill.c).
 * Where there is a signal of another's on its way, what was first is what ends the process.
 */
#include "bpf/abi_death.h"
#include "target/cgroup_memory.h"
#include "trace/live/lifecycle/live_lifecycle.h"
#include "trace/live/slots/live_slots.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define PATH_ROOM (ABI_CGROUP_LEVELS * ABI_CGROUP_NAME + sizeof("/..."))

struct live_death {
	struct abi_ev_death of; /* the first event */
	struct abi_ev_death oom;
	bool by_oom;
};

int live_on_death(struct live *live, const struct abi_ev_death *ev)
{
	struct live_process *process = live_process_at(live, event_slot(&ev->head));

	if (!process) {
		live_count_loss(live, NULL, LOSS_STATE);
		return 0;
	}
	/* A vfork child is not the process whose memory it has. */
	if (process->ended || (pid_t)ev->pid != process->pid)
		return 0;
	if (!process->death) {
		process->death = calloc(1, sizeof(*process->death));
		if (!process->death)
			return -ENOMEM;
		process->death->of = *ev;
	}
	/* Of who is being killed already it only takes note. */
	if (ev->known & ABI_DEATH_BY_OOM && process->death->of.known & ABI_DEATH_BY_KERNEL) {
		process->death->oom = *ev;
		process->death->by_oom = true;
	}
	return 0;
}

/* The choice is told right after the SIGKILL, if there was room for it. */
static int is_choice_seen(struct live *live, const struct live_death *death, bool *ret_seen)
{
	uint64_t refused;
	int r;

	*ret_seen = false;
	if (!death || death->of.signal != SIGKILL || live->programs->deaths_unseen)
		return 0;
	r = programs_refused(live->programs, &refused);
	*ret_seen = r == 0 && (death->of.known & ABI_DEATH_BY_PROCESS || !refused);
	return r;
}

/*
 * The cgroup's count is raised before the signal (__oom_kill_process), so that none is the proof of
 * none. A count proves nothing: it names no process, and others in there may not be traced.
 */
static bool has_oom_killed_nobody(const struct live_process *process)
{
	uint64_t kills;

	return cgroup_oom_kills_around(process->pid, &kills) == 0 && kills == 0;
}

int live_death_by_oom(struct live *live, const struct live_process *process,
		      struct record_process_end *end)
{
	const struct live_death *death = process->death;
	bool seen;
	int r;

	end->oom = death && death->by_oom;
	end->oom_unknown = !end->oom && end->how == RECORD_END_UNKNOWN;
	if (end->oom || end->how != RECORD_END_SIGNAL || end->value != SIGKILL)
		return 0;
	r = is_choice_seen(live, death, &seen);
	if (r == 0)
		end->oom_unknown = !seen && !has_oom_killed_nobody(process);
	return r;
}

/* The cgroup that is `level` levels below the root, of those that were sent; NULL: it was not. */
static const char *path_of(const struct abi_ev_death *ev, uint32_t level, char buf[PATH_ROOM])
{
	const bool cut = ev->level > ABI_CGROUP_LEVELS;
	const uint32_t top = cut ? ABI_CGROUP_LEVELS : ev->level;
	const uint32_t below = ev->level - level; /* levels that are not in the path */
	size_t len = 0;

	if (!(ev->known & ABI_DEATH_CGROUP) || level > ev->level || below >= ABI_CGROUP_LEVELS)
		return NULL;
	len += (size_t)snprintf(buf, PATH_ROOM, "%s", cut ? "/..." : level == 0 ? "/" : "");
	for (uint32_t i = top; i > below; i--)
		len += (size_t)snprintf(buf + len, PATH_ROOM - len, "/%.*s", ABI_CGROUP_NAME - 1,
					ev->names[i - 1]);
	return buf;
}

static struct record_memory_use use_of(const struct abi_page_counter *pages, uint64_t page_size)
{
	return (struct record_memory_use){
		.used = pages->used * page_size,
		.most = pages->most * page_size,
		/* PAGE_COUNTER_MAX, include/linux/page_counter.h */
		.limit = pages->limit >= INT64_MAX / page_size ? UINT64_MAX :
								 pages->limit * page_size,
	};
}

/* include/linux/oom.h */
static const char *constraint_of(const struct abi_ev_death *ev)
{
	static const char *const names[] = { "none", "cpuset", "memory-policy", "memcg" };

	if (ev->known & ABI_DEATH_OOM_CGROUP)
		return "memcg"; /* it is set a moment later */
	if (!(ev->known & ABI_DEATH_OOM_CONTROL) ||
	    ev->oom_constraint >= sizeof(names) / sizeof(names[0]))
		return NULL;
	return names[ev->oom_constraint];
}

static void add_oom(struct record_death *to, const struct live_death *death, uint64_t page_size,
		    char path[PATH_ROOM])
{
	const struct abi_ev_death *oom = &death->oom;

	to->oom = true;
	to->oom_constraint = constraint_of(oom);
	if (!(oom->known & ABI_DEATH_OOM_CGROUP))
		return;
	/* It is the victim's own, or one that this is in. */
	to->oom_cgroup = path_of(&death->of, oom->oom_level, path);
	to->oom_use = use_of(&oom->oom_limit, page_size);
}

static enum record_killer killer_of(const struct abi_ev_death *ev)
{
	return ev->known & ABI_DEATH_BY_PROCESS ? RECORD_KILLER_PROCESS :
	       ev->known & ABI_DEATH_BY_KERNEL	? RECORD_KILLER_KERNEL :
						  RECORD_KILLER_UNKNOWN;
}

int live_emit_death(struct live *live, const struct live_process *process, int signal)
{
	const struct live_death *death = process->death;
	const struct abi_ev_death *ev = death ? &death->of : NULL;
	const uint64_t page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	char path[PATH_ROOM], full_path[PATH_ROOM], oom_path[PATH_ROOM];
	struct record record = { .type = RECORD_DEATH };

	if (!ev || ev->signal != signal || process->placeholder)
		return 0;
	record.death = (struct record_death){
		.image = process->image,
		.signal = signal,
		.code = ev->code,
		.time_ns = ev->head.time_ns,
		.killer = killer_of(ev),
		.sender = ev->sender,
		.sender_uid = ev->sender_uid,
		.sender_comm = ev->known & ABI_DEATH_BY_PROCESS ? ev->sender_comm : NULL,
		.has_memory = ev->known & ABI_DEATH_MEMORY,
		.total_vm = ev->total_vm * page_size,
		.file = ev->rss[0] * page_size,
		.anon = ev->rss[1] * page_size,
		.swapped = ev->rss[2] * page_size,
		.shared = ev->rss[3] * page_size,
		.page_tables = ev->page_table_bytes,
		.oom_score_adj = ev->oom_score_adj,
		.uid = ev->uid,
		.euid = ev->euid,
		.cgroup = path_of(ev, ev->level, path),
		.use = use_of(&ev->cgroup, page_size),
		.full_cgroup = ev->known & ABI_DEATH_FULL_CGROUP ?
				       path_of(ev, ev->full_level, full_path) :
				       NULL,
		.full_use = use_of(&ev->full, page_size),
		.has_events = ev->known & ABI_DEATH_CGROUP_EVENTS,
		.limit_hits = ev->limit_hits,
		.ooms = ev->ooms,
		.oom_kills = ev->oom_kills,
	};
	if (death->by_oom)
		add_oom(&record.death, death, page_size, oom_path);
	return live_emit(live, &record);
}

void live_death_done(struct live_process *process)
{
	free(process->death);
}
