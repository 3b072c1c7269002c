/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows processes: birth, exec and death. */
#include "bpf/abi.h"
#include "memtraced.skel.h"
#include "target/file_helper.h"
#include "target/preload.h"
#include "target/process.h"
#include "trace/kernel/urgent.h"
#include "trace/live/books/live_books.h"
#include "trace/live/code/live_code.h"
#include "trace/live/lifecycle/live_lifecycle.h"
#include "trace/live/probes/live_probes.h"
#include "trace/live/regions/live_regions.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"
#include "trace/live/stacks/live_stacks.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

/* Has no link counted for the image so far? */
static bool waits_for_links(const struct live *live, const struct abi_proc *proc)
{
	/* The program that began it may have read that links are shared before they were not. */
	return proc->state == ABI_PROC_PENDING ||
	       (proc->state == ABI_PROC_ACTIVE && !proc->owner && !live->programs->control->shared);
}

static const struct abi_proc *abi_of(const struct live *live, const struct live_process *process)
{
	return shared_proc(live->programs, process->slot);
}

/* Reads its code and probes it. *ret_late: as of live_attach_all(). */
static int map_code(struct live *live, struct live_process *process, uint64_t time_ns, bool in_time,
		    bool *ret_late)
{
	int r = live_unwind_process(live, process);

	if (r == 0)
		r = live_add_maps(live, process, time_ns, ret_late);
	if (r == 0)
		r = live_unwind_sync(live);
	if (r == 0)
		live_links_expect_book(live, process);
	if (r == 0 && process->older_blocks)
		r = live_book_adopt(live, process);
	if (r == 0)
		r = live_note_translator(live, process);
	if (r == 0)
		r = live_watch_loader(live, process);
	if (r == 0)
		r = live_attach_all(live, process, ret_late);
	if (r == -ESRCH && !in_time) /* ended already: nothing to attach to */
		r = 0;
	/* Nothing told of what came between the reading and the probe of its linker. */
	if (r == 0 && live->opts.run.watch_code && process->links.own && !live->opts.held)
		r = live_on_code_unwatched(live, process);
	return r;
}

int live_map_process(struct live *live, struct live_process *process, uint64_t time_ns,
		     bool in_time)
{
	bool pending = waits_for_links(live, abi_of(live, process)), late = false;
	_cleanup_free_ char *exe = NULL, *command = NULL;
	struct process_info info = {};
	struct record record = { .type = RECORD_PROCESS };
	int r;

	(void)process_exe(process->pid, &exe); /* gone: unknown */
	(void)process_command(process->pid, &command);
	(void)process_info_read(process->pid, &info); /* gone: unknown */
	/* Or another's. */
	if (!live_may_show(live, process->pid, process->image)) {
		free(exe);
		free(command);
		exe = command = NULL;
		info = (struct process_info){};
	}
	if (*info.comm)
		live_process_set_comm(process, info.comm);
	record.process = (struct record_process){
		.image = process->image,
		.pid = process->pid,
		.ppid = info.ppid,
		.parent_image = RECORD_NO_IMAGE,
		.prev_image = process->prev_image,
		.root = process->root,
		.time_ns = time_ns,
		.comm = process->comm,
		.exe = exe,
		.depth = process->depth,
		.command = command,
	};
	live->any_traced = true;
	process->mapped_ns = time_ns;
	r = live_emit(live, &record);
	if (r)
		return r;
	/* The idle tasks have no entry in /proc. */
	if (live->opts.run.code && process->pid)
		r = map_code(live, process, time_ns, in_time, &late);
	if (r)
		return r;
	if (!in_time && late && live->opts.features)
		live_count_loss(live, process, LOSS_ATTACHED_LATE);
	if (pending)
		shared_activate(live->programs, process->slot, live_owner(live, process));
	return 0;
}

/* --- events ---------------------------------------------------------------------------------- */

static int rename_image(struct live *live, struct live_process *process, const char *comm)
{
	const struct record record = {
		.type = RECORD_NAME,
		.name = { .image = process->image, .comm = process->comm },
	};

	if (process->placeholder || strncmp(process->comm, comm, sizeof(process->comm)) == 0)
		return 0;
	live_process_set_comm(process, comm);
	return live_emit(live, &record);
}

int live_read_running(struct live *live)
{
	uint64_t peak;
	int r = 0;

	vec_foreach(&live->slots.all, p) {
		struct live_process *process = *p;
		char comm[sizeof(process->comm)];

		/* The idle tasks have no entry in /proc. */
		if (r || !process || process->ended || process->placeholder || !process->pid ||
		    process_comm(process->pid, comm) < 0)
			continue;
		if (process_peak_rss(process->pid, &peak) < 0)
			peak = 0;
		if (!live_may_show(live, process->pid, process->image))
			continue;
		live_rss_peak_note(&process->rss_peak, peak);
		r = rename_image(live, process, comm);
	}
	return r;
}

int live_end_image(struct live *live, struct live_process *process, enum record_end how, int value,
		   uint64_t time_ns)
{
	struct record record = {
		.type = RECORD_PROCESS_END,
		.process_end = { .image = process->image,
				 .how = how,
				 .value = value,
				 .time_ns = time_ns },
	};
	int r;

	r = live_death_by_oom(live, process, &record.process_end);
	if (r == 0)
		r = live_release_stacks(live, process);
	if (r == 0)
		r = live_record_changes(live, process, true);
	if (r == 0)
		r = live_judge_allocator(live, process);
	if (r == 0 && how == RECORD_END_SIGNAL)
		r = live_emit_death(live, process, value);
	if (r)
		return r;
	live_process_end(process, time_ns);
	live_unwind_end(process);
	return process->placeholder ? 0 : live_emit(live, &record);
}

/*
 * A forked child: it has its parent's mappings and blocks. Its events count from its first
 * instruction when its links are in before it runs, that is when it is held or links are shared.
 */
static int on_child(struct live *live, const struct abi_ev_process *ev, struct live_process *parent)
{
	bool pending = waits_for_links(live, shared_proc(live->programs, event_slot(&ev->head)));
	bool uncounted = ev->head.time_ns < live->links.shared_ns;
	bool late = false, any = false;
	struct live_process *child;
	const struct image_origin origin = { .placeholder = parent->placeholder,
					     .older_blocks = parent->older_blocks,
					     .unwanted = parent->unwanted,
					     .forked_ns = ev->head.time_ns,
					     .comm = ev->comm };
	int r = live_process_new(live, event_slot(&ev->head), ev->pid, &origin, &child);
	struct record record = {
		.type = RECORD_PROCESS,
		.process = { .image = { shared_proc(live->programs, event_slot(&ev->head))->image },
			     .pid = ev->pid,
			     .ppid = parent->pid,
			     .parent_image = parent->image,
			     .prev_image = RECORD_NO_IMAGE,
			     .inherits = true,
			     .time_ns = ev->head.time_ns,
			     .comm = ev->comm,
			     .depth = live->depth },
	};

	if (r)
		return r;
	live_rss_peak_begin(&child->rss_peak, 0);
	live_existing_fork(parent, child);
	live_links_fork(parent, child);
	live_book_fork(parent, child);
	if (child->unwanted)
		return 0;
	r = live_code_fork(live, parent, child);
	if (r == 0)
		r = live_regions_fork(parent, child);
	if (r == 0)
		r = live_emit(live, &record);
	if (r || !(pending || uncounted))
		return r;
	r = child->links.book ? 0 : live_share_for_child(live);
	vec_foreach(&child->code.ranges, range) {
		if (r || !range->object)
			continue;
		any |= object_has_allocator(range->object);
		if (!pending) /* ended, or another image by now: what it did so far was not seen */
			continue;
		r = live_attach(live, range->object, live_owner(live, child), child->pid, &late);
		if (r == -ESRCH) { /* ended already: nothing to attach to */
			r = 0;
			break;
		}
	}
	if (r)
		return r;
	if (child->links.translator && live->opts.run.allocations)
		live_count_loss(live, child, LOSS_NO_ALLOCATOR);
	else if (any && !live->opts.held && !child->links.book)
		live_count_loss(live, child, LOSS_ATTACHED_LATE);
	if (pending)
		shared_activate(live->programs, child->slot, live_owner(live, child));
	return 0;
}

static int on_forked(struct live *live, const struct abi_ev_process *ev)
{
	struct live_process *parent = live_process_at(live, (slot_t){ ev->old_slot });
	int r;

	if (!parent) {
		live_count_loss(live, NULL, LOSS_STATE);
		return 0;
	}
	if (!(ev->flags & ABI_PROCESS_SHARES_MM))
		return on_child(live, ev, parent);
	parent->n_in_memory++;
	/*
	 * A child in its parent's address space. Filtered links know thread groups, not address
	 * spaces, and do not see it: shared links take over. Where it does not wait for them, or
	 * there are none, what it does before its exec or end is lost.
	 */
	if (parent->placeholder)
		return 0;
	/* The book is in the memory that they share. */
	if (parent->links.book)
		return 0;
	if (!abi_of(live, parent)->owner && ev->head.time_ns >= parent->links.shared_ns)
		return 0;
	if (live->opts.held || live_shares_for_children(live)) {
		r = live->programs->control->shared ? 0 : live_go_shared(live);
		if (r)
			return r;
	}
	if (!live->opts.held || !live->programs->control->shared)
		live_count_loss(live, parent, LOSS_SHARED_MEMORY);
	if (!live->programs->control->shared || !abi_of(live, parent)->owner)
		return 0;
	live_leave_own(live, parent);
	return 0;
}

/* A child that ran in the process's memory has ended, or executes a program. */
static void leave_memory(struct live *live, struct live_process *process)
{
	if (!process || !process->n_in_memory)
		return;
	process->n_in_memory--;
	live_book_count_outlived(live, process);
}

/*
 * A process that we were told of. Links filtered to one that has ended meanwhile are refused, which
 * is no fault; its end is told next.
 */
static int map_newcomer(struct live *live, struct live_process *process, uint64_t time_ns,
			bool in_time)
{
	int r = live_map_process(live, process, time_ns, in_time);

	if (r != -ESRCH)
		return r;
	if (!in_time)
		live_count_loss(live, process, LOSS_ATTACHED_LATE);
	return 0;
}

/*
 * A change of depth has overwritten in the map of pids what an exec had put there, with `stale`,
 * which is over. The programs find the new image again.
 */
static void restore_pid(struct live *live, const struct live_process *process,
			const struct live_process *stale)
{
	const int fd = bpf_map__fd(live->programs->skel->maps.pids);
	uint32_t key = (uint32_t)process->pid, slot;

	if (urgent_lookup(fd, &key, &slot) || slot != stale->slot.n)
		return;
	(void)bpf_map_update_elem(fd, &key, &process->slot, BPF_EXIST); /* or it has just ended */
	live_count_loss(live, process, LOSS_ATTACHED_LATE);
}

/* The first program is the command. */
static bool is_skipped(const struct live *live, pid_t pid, const struct live_process *replaced)
{
	bool is_command = replaced && replaced->placeholder && !replaced->unwanted;
	const struct exec_skip skip = live->opts.exec_skip;

	if (is_command || !exec_skip_matches(&skip, pid))
		return false;
	if (live->opts.book_library)
		(void)preload_withdraw(pid, live->opts.book_library); /* or it has ended */
	return true;
}

static int on_execed(struct live *live, const struct abi_ev_process *ev)
{
	struct live_process *told = live_process_at(live, (slot_t){ ev->old_slot });
	struct live_process *old = live_process_latest(live, told), *process;
	struct image_origin origin = { .execed_ns = ev->head.time_ns,
				       .alone = ev->flags & ABI_PROCESS_ALONE,
				       .unwanted = ev->flags & ABI_PROCESS_UNWANTED,
				       .comm = ev->comm };
	bool replaced = old && !(ev->flags & ABI_PROCESS_SHARES_MM), skipped;
	int r;

	file_helper_exec_is_over(ev->pid);
	if (ev->flags & ABI_PROCESS_SHARES_MM)
		leave_memory(live, told);
	if (replaced)
		live_rss_peak_end(&old->rss_peak, ev);
	r = replaced && !old->ended ?
		    live_end_image(live, old, RECORD_END_EXEC, 0, ev->head.time_ns) :
		    0;
	if (r ||
	    ev->head.slot == ABI_NO_SLOT) /* the new image is not counted, nor what it starts */
		return r;
	skipped = is_skipped(live, ev->pid, replaced ? old : NULL);
	origin.unwanted |= skipped;
	origin.exe_known =
		ev->flags & ABI_PROCESS_KNOWN_FILE &&
		shared_proc(live->programs, event_slot(&ev->head))->state != ABI_PROC_PENDING;
	if (replaced) {
		origin.root = old->root;
		origin.replaced = old->placeholder ? NULL : old;
	}
	r = live_process_new(live, event_slot(&ev->head), ev->pid, &origin, &process);
	if (r)
		return r;
	if (old != told)
		restore_pid(live, process, old);
	if (skipped)
		return live_end_unseen(live, process, 0);
	live_rss_peak_begin(&process->rss_peak, ev->peak_pages);
	if (process->unwanted)
		return 0;
	r = live_unwind_image(live, process, ev->flags >> ABI_PROCESS_NOTED_SHIFT);
	if (r)
		return r;
	return map_newcomer(live, process, ev->head.time_ns, live->opts.held);
}

static int on_exited(struct live *live, const struct abi_ev_process *ev)
{
	struct live_process *process = live_process_at(live, event_slot(&ev->head));
	int status = ev->exit_code, r;

	if (ev->flags & ABI_PROCESS_SHARES_MM) {
		leave_memory(live, process);
		return 0;
	}
	process = live_process_latest(live, process);
	if (!process) {
		live_count_loss(live, NULL, LOSS_STATE);
		return 0;
	}
	if (process->ended)
		return 0;
	live_rss_peak_end(&process->rss_peak, ev);
	r = rename_image(live, process, ev->comm);
	if (r)
		return r;
	if (ev->flags & ABI_PROCESS_HIDDEN)
		return live_end_image(live, process, RECORD_END_HIDDEN, 0, ev->head.time_ns);
	if (ev->exit_code == UINT32_MAX)
		return live_end_image(live, process, RECORD_END_UNKNOWN, 0, ev->head.time_ns);
	if (WIFSIGNALED(status))
		return live_end_image(live, process, RECORD_END_SIGNAL, WTERMSIG(status),
				      ev->head.time_ns);
	return live_end_image(live, process, RECORD_END_EXIT, WEXITSTATUS(status),
			      ev->head.time_ns);
}

/* A process of the host or cgroup, which has run before, did something for the first time. */
static int on_seen(struct live *live, const struct abi_ev_process *ev)
{
	const struct image_origin origin = { .older_blocks = true, .comm = ev->comm };
	struct live_process *process;
	int r = live_process_new(live, event_slot(&ev->head), ev->pid, &origin, &process);

	if (r)
		return r;
	return map_newcomer(live, process, ev->head.time_ns, true);
}

/* Probes by perf events are taken out at the next hit, others are not put into new code. */
static int on_first_ended(struct live *live, const struct abi_ev_process *ev)
{
	struct live_process *process = live_process_at(live, event_slot(&ev->head));

	return process ? live_share_without_first(live, process) : 0;
}

int live_on_process_event(struct live *live, const struct abi_ev_process *ev)
{
	switch (ev->head.type) {
	case ABI_EV_FORK:
		return on_forked(live, ev);
	case ABI_EV_EXEC:
		return on_execed(live, ev);
	case ABI_EV_EXIT:
		return on_exited(live, ev);
	case ABI_EV_SEEN:
		return on_seen(live, ev);
	case ABI_EV_FIRST_ENDED:
		return on_first_ended(live, ev);
	}
	return -EBADMSG;
}

/* The event that did not come, as of now; how the image ended, and under which name, is unknown. */
static int end_untold(struct live *live, const struct live_process *process, uint32_t flags)
{
	struct abi_ev_process ev = { .head = { .type = ABI_EV_EXIT,
					       .slot = process->slot.n,
					       .time_ns = clock_monotonic_ns() },
				     .pid = process->pid,
				     .flags = flags,
				     .exit_code = UINT32_MAX };

	memcpy(ev.comm, process->comm, sizeof(ev.comm));
	return live_on_process_event(live, &ev);
}

int live_end_unseen(struct live *live, struct live_process *process, uint32_t flags)
{
	const int fd = bpf_map__fd(live->programs->skel->maps.pids);
	uint32_t key = process->pid, slot;

	if (urgent_lookup(fd, &key, &slot) || slot != process->slot.n || urgent_delete(fd, &key))
		return 0; /* the programs have seen its end */
	shared_end(live->programs, process->slot);
	return end_untold(live, process, flags);
}

/* What the refused event would have told of a process that no other event has told of. */
static int emit_pending(struct live *live, slot_t slot)
{
	const struct abi_proc *proc = shared_proc(live->programs, slot);
	const struct live_process *parent = live_process_at(live, (slot_t){ proc->parent });
	struct abi_ev_process ev = { .head = { .slot = slot.n, .time_ns = clock_monotonic_ns() },
				     .pid = proc->pid,
				     .old_slot = proc->parent };

	if (parent && !parent->ended) {
		ev.head.type = ABI_EV_FORK;
		memcpy(ev.comm, parent->comm, sizeof(ev.comm));
		return live_on_process_event(live, &ev);
	}
	if (proc->state == ABI_PROC_UNWANTED)
		return 0;
	ev.head.type = ABI_EV_SEEN;
	/* What has the pid may be another process by now: the name is then unknown. */
	if (process_comm((pid_t)proc->pid, ev.comm) == 0 &&
	    !live_has_pid(live, (pid_t)proc->pid, (image_t){ proc->image }))
		memset(ev.comm, 0, sizeof(ev.comm));
	return live_on_process_event(live, &ev);
}

/*
 * Their slots would be taken for good. An event that is on its way is in the ring by the next
 * drain: an image that is unknown then, too, was not told of.
 */
static int emit_all_pending(struct live *live)
{
	struct live_untold before = live->untold;
	uint32_t n = __atomic_load_n(live->programs->next_slot, __ATOMIC_RELAXED);
	slot_t slot;
	int r = 0;

	live->untold = (struct live_untold){ .n_refused = before.n_refused };
	for (slot.n = 0; r == 0 && slot.n < n && slot.n < live->programs->max_procs; slot.n++) {
		const struct abi_proc *proc = shared_proc(live->programs, slot);
		const image_t image = { proc->image };
		bool was_unknown = false;

		if (proc->state == ABI_PROC_FREE || image.n == ABI_NO_SLOT ||
		    live_process_at(live, slot))
			continue;
		vec_foreach(&before.images, other)
			was_unknown |= other->n == image.n;
		r = was_unknown ? emit_pending(live, slot) : vec_push(&live->untold.images, image);
	}
	vec_done(&before.images);
	return r;
}

int live_end_refused(struct live *live, uint64_t n_refused)
{
	int r = 0;

	/* A slot is set before its event is refused: without another refusal none has come. */
	if (live->untold.n_refused != n_refused || live->untold.images.len)
		r = emit_all_pending(live);
	live->untold.n_refused = n_refused;
	vec_foreach(&live->slots.all, p) {
		const struct live_process *process = *p;

		if (r == 0 && process && !process->ended &&
		    shared_proc(live->programs, process->slot)->state == ABI_PROC_ENDED)
			r = end_untold(live, process, 0);
	}
	return r;
}

int live_end_hidden(struct live *live)
{
	int r = 0;

	if (!live->opts.run.access.limited)
		return 0;
	vec_foreach(&live->slots.all, p) {
		struct live_process *process = *p;

		if (r == 0 && process && !process->ended && !process->placeholder &&
		    !live_may_show(live, process->pid, process->image))
			r = live_end_unseen(live, process, ABI_PROCESS_HIDDEN);
	}
	return r;
}
