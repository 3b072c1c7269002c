/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows processes: birth, exec, death, new code; decides by which links each is counted.
 *
 * A process has links of its own, filtered to it, while there are few processes: others that use
 * the same library then pay nothing. From OWN_LINK_FORKS followed forks on, one shared link per
 * file serves all that come after: closing a link takes 40 ms (Linux 6.18), so links per child
 * could not keep up with a build.
 */
#include "bpf/abi.h"
#include "memtraced.skel.h"
#include "target/proc_maps.h"
#include "target/process.h"
#include "trace/live/live_process.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#define OWN_LINK_FORKS 8

/* Perf events are one link a site: shared from the first fork on. */
static size_t own_link_forks(const struct live *live)
{
	return live->programs->entry_type ? OWN_LINK_FORKS : 0;
}

int live_process_new(struct live *live, uint32_t slot, pid_t pid, struct live_process **ret)
{
	struct live_process *process;

	while (live->processes.len <= slot) {
		int r = vec_push(&live->processes, NULL);

		if (r)
			return r;
	}
	process = calloc(1, sizeof(*process));
	if (!process)
		return -ENOMEM;
	process->slot = slot;
	process->pid = pid;
	process->parent_slot = ABI_NO_SLOT;
	process->prev_slot = RECORD_NO_SLOT;
	live->processes.data[slot] = process;
	*ret = process;
	return 0;
}

void live_process_free(struct live_process *process)
{
	if (!process)
		return;
	vec_done(&process->code);
	vec_done(&process->pending);
	vec_foreach(&process->waiting, stack)
		free(*stack);
	vec_done(&process->waiting);
	free(process);
}

static struct abi_proc *abi_of(const struct live *live, const struct live_process *process)
{
	return &live->programs->procs[process->slot];
}

/* The owner that this process's links carry: its own number, or 0 once links are shared. */
static uint32_t owner_for(const struct live *live, const struct live_process *process)
{
	return live->programs->control->shared ? 0 : process->slot + 1;
}

int live_activate(struct live *live, struct live_process *process, uint32_t owner)
{
	struct abi_proc *proc = abi_of(live, process);
	uint32_t pending = ABI_PROC_PENDING;

	__atomic_store_n(&proc->owner, owner, __ATOMIC_RELEASE);
	/* It may have ended meanwhile: that stays. */
	(void)__atomic_compare_exchange_n(&proc->state, &pending, ABI_PROC_ACTIVE, false,
					  __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	return 0;
}

/* Makes sure that an allocator's links for this owner are in; *ret_late when they were not yet. */
static int attach(struct live *live, struct object *object, uint32_t owner, pid_t pid,
		  bool *ret_late)
{
	size_t unprobed = object_unprobed(object);
	int r;

	if (!object_has_allocator(object) || object_attached(object, owner))
		return 0;
	*ret_late = true;
	r = objects_attach(live->objects, object, owner, owner ? pid : 0);
	if (r)
		return r;
	if (object_unprobed(object) > unprobed) {
		r = object_describe(object, live->fn, live->userdata);
		if (r)
			return r;
	}
	return owner ? 0 : objects_publish(live->objects, object);
}

static int go_shared(struct live *live)
{
	bool late;

	for (size_t i = 0; i < objects_count(live->objects); i++) {
		int r = attach(live, objects_at(live->objects, i), 0, 0, &late);

		if (r)
			return r;
	}
	__atomic_store_n(&live->programs->control->shared, 1, __ATOMIC_RELEASE);
	return 0;
}

static int emit_mapping(struct live *live, const struct live_process *process,
			const struct proc_map *map, const struct object *object, uint64_t time_ns)
{
	char local[32] = "";
	struct record record = {
		.type = RECORD_MAPPING,
		.mapping = { .slot = process->slot,
			     .start = map->start,
			     .end = map->end,
			     .file_offset = map->offset,
			     .time_ns = time_ns,
			     .dev = (uint64_t)map->dev_major << 20 | map->dev_minor,
			     .ino = map->ino,
			     .path = *map->path ? map->path : "[anon]",
			     .local_path = object ? local : NULL,
			     .executable = true },
	};

	if (object) {
		snprintf(local, sizeof(local), "/proc/self/fd/%d", object_fd(object));
		record.mapping.build_id_len = object_build_id(object, record.mapping.build_id);
	}
	return live_emit(live, &record);
}

/*
 * One executable mapping of a process: recorded, and put into the unwinder's tables. ev: the event
 * that told of it, NULL: none. *ret_object: NULL if it is not of a file that can be read.
 */
static int add_code(struct live *live, struct live_process *process, const struct proc_map *map,
		    const struct abi_ev_map *ev, uint64_t time_ns, struct object **ret_object)
{
	struct object *object = NULL;
	bool is_new = false;
	int r = 0;

	if (map->ino) {
		r = objects_get(live->objects, process->pid, map, &object, &is_new);
		if (r == -ENOMEM)
			return r;
		if (r)
			live_count_loss(live, NULL, LOSS_MAPPING);
	}
	if (is_new) {
		r = object_describe(object, live->fn, live->userdata);
		if (r == 0)
			r = objects_publish(live->objects, object);
		if (r)
			return r;
	}
	r = emit_mapping(live, process, map, object, time_ns);
	if (r)
		return r;
	r = vec_push(&process->code,
		     (struct code_range){ .start = map->start,
					  .end = map->end,
					  .offset = map->offset,
					  .object = object,
					  .vdso = strcmp(map->path, "[vdso]") == 0 });
	if (r)
		return r;
	*ret_object = object;
	return live_unwind_map(live, process, map, object, ev);
}

/* What a process has mapped now; recorded and in the tables, not probed yet. */
static int add_maps(struct live *live, struct live_process *process, uint64_t time_ns)
{
	_cleanup_(proc_maps_done) struct proc_maps maps = {};
	struct object *object;
	int r = proc_maps_read(process->pid, &maps);

	if (r == -ENOMEM)
		return r;
	if (r)
		live_count_loss(live, NULL, LOSS_MAPPING);
	for (size_t i = 0; i < maps.n_maps; i++) {
		if (!maps.maps[i].exec)
			continue;
		r = add_code(live, process, &maps.maps[i], NULL, time_ns, &object);
		if (r)
			return r;
	}
	return 0;
}

/* Probes what is mapped. */
static int attach_all(struct live *live, struct live_process *process, bool *ret_late)
{
	vec_foreach(&process->code, range) {
		int r = range->object ? attach(live, range->object, owner_for(live, process),
					       process->pid, ret_late) :
					0;

		if (r)
			return r;
	}
	return 0;
}

int live_add_code(struct live *live, struct live_process *process, const struct proc_map *map,
		  uint64_t time_ns, bool *ret_late)
{
	struct object *object = NULL;
	int r = add_code(live, process, map, NULL, time_ns, &object);

	if (r || !object)
		return r;
	return attach(live, object, owner_for(live, process), process->pid, ret_late);
}

int live_map_process(struct live *live, struct live_process *process, uint64_t time_ns,
		     bool in_time)
{
	bool pending = abi_of(live, process)->state == ABI_PROC_PENDING, late = false;
	_cleanup_free_ char *exe = NULL;
	struct process_info info = {};
	struct record record = { .type = RECORD_PROCESS };
	int r;

	(void)process_exe(process->pid, &exe);	      /* gone: unknown */
	(void)process_info_read(process->pid, &info); /* gone: unknown */
	if (*info.comm)
		memcpy(process->comm, info.comm, sizeof(process->comm));
	record.process = (struct record_process){
		.slot = process->slot,
		.pid = process->pid,
		.ppid = info.ppid,
		.parent_slot = RECORD_NO_SLOT,
		.prev_slot = process->prev_slot,
		.root = process->root,
		.time_ns = time_ns,
		.comm = process->comm,
		.exe = exe,
	};
	r = live_emit(live, &record);
	if (r)
		return r;
	/* The idle tasks have no entry in /proc. */
	if (live->opts.code && process->pid) {
		r = live_unwind_process(live, process);
		if (r == 0)
			r = add_maps(live, process, time_ns);
		if (r == 0)
			r = live_unwind_sync(live);
		if (r == 0)
			r = attach_all(live, process, &late);
		if (r)
			return r;
	}
	if (!in_time && late)
		live_count_loss(live, process, LOSS_ATTACHED_LATE);
	return pending ? live_activate(live, process, owner_for(live, process)) : 0;
}

/* --- events ---------------------------------------------------------------------------------- */

static int emit_end(struct live *live, struct live_process *process, enum record_end how, int value,
		    uint64_t time_ns)
{
	struct record record = {
		.type = RECORD_PROCESS_END,
		.process_end = { .slot = process->slot,
				 .how = how,
				 .value = value,
				 .oom = process->oom,
				 .time_ns = time_ns },
	};
	int r;

	r = live_release_stacks(live, process);
	if (r)
		return r;
	process->ended = true;
	live_unwind_end(process);
	process->end_tick = (time_ns - live->start_ns) / ABI_TICK_NS;
	if (process->placeholder) {
		process->settled = true;
		return 0;
	}
	return live_emit(live, &record);
}

/*
 * A forked child: it has its parent's mappings and blocks. Its events count from its first
 * instruction when its links are in before it runs, that is when it is held or links are shared.
 */
static int on_child(struct live *live, const struct abi_ev_process *ev, struct live_process *parent)
{
	bool pending = live->programs->procs[ev->head.slot].state == ABI_PROC_PENDING;
	bool late = false, any = false;
	struct live_process *child;
	int r = live_process_new(live, ev->head.slot, ev->pid, &child);
	struct record record = {
		.type = RECORD_PROCESS,
		.process = { .slot = ev->head.slot,
			     .pid = ev->pid,
			     .ppid = parent->pid,
			     .parent_slot = parent->slot,
			     .prev_slot = RECORD_NO_SLOT,
			     .inherits = true,
			     .time_ns = ev->head.time_ns,
			     .comm = ev->comm },
	};

	if (r)
		return r;
	child->parent_slot = parent->slot;
	child->placeholder = parent->placeholder;
	memcpy(child->comm, ev->comm, sizeof(child->comm));
	vec_foreach(&parent->code, range) {
		r = vec_push(&child->code, *range);
		if (r)
			return r;
	}
	r = live_unwind_child(live, parent, child);
	if (r == 0)
		r = live_emit(live, &record);
	if (r || !pending)
		return r;
	if (!live->programs->control->shared && ++live->own_forks > own_link_forks(live))
		r = go_shared(live);
	vec_foreach(&child->code, range) {
		if (r || !range->object)
			continue;
		any |= object_has_allocator(range->object);
		r = attach(live, range->object, owner_for(live, child), child->pid, &late);
		if (r == -ESRCH) { /* ended already: nothing to attach to */
			r = 0;
			break;
		}
	}
	if (r)
		return r;
	if (any && !live->opts.held)
		live_count_loss(live, child, LOSS_ATTACHED_LATE);
	return live_activate(live, child, owner_for(live, child));
}

static int on_forked(struct live *live, const struct abi_ev_process *ev)
{
	struct live_process *parent = live_process_at(live, ev->old_slot);
	int r;

	if (!parent) {
		live_count_loss(live, NULL, LOSS_STATE);
		return 0;
	}
	if (!(ev->flags & ABI_PROCESS_SHARES_MM))
		return on_child(live, ev, parent);
	/*
	 * A child in its parent's address space. Filtered links know thread groups, not address
	 * spaces, and do not see it: where it waits for us, shared links take over; else what it
	 * does before its exec or end is lost.
	 */
	if (parent->placeholder)
		return 0;
	if (!live->opts.held) {
		if (abi_of(live, parent)->owner)
			live_count_loss(live, parent, LOSS_SHARED_MEMORY);
		return 0;
	}
	r = live->programs->control->shared ? 0 : go_shared(live);
	if (r)
		return r;
	return live_activate(live, parent, 0);
}

static int on_execed(struct live *live, const struct abi_ev_process *ev)
{
	struct live_process *old = live_process_at(live, ev->old_slot), *process;
	bool replaced = !(ev->flags & ABI_PROCESS_SHARES_MM);
	int r = live_process_new(live, ev->head.slot, ev->pid, &process);

	if (r)
		return r;
	memcpy(process->comm, ev->comm, sizeof(process->comm));
	if (old && replaced) {
		process->root = old->root;
		process->prev_slot = old->placeholder ? RECORD_NO_SLOT : old->slot;
		r = emit_end(live, old, RECORD_END_EXEC, 0, ev->head.time_ns);
		if (r)
			return r;
	}
	return live_map_process(live, process, ev->head.time_ns, live->opts.held);
}

static int on_exited(struct live *live, const struct abi_ev_process *ev)
{
	struct live_process *process = live_process_at(live, ev->head.slot);
	int status = ev->exit_code;

	if (ev->flags & ABI_PROCESS_SHARES_MM)
		return 0;
	if (!process) {
		live_count_loss(live, NULL, LOSS_STATE);
		return 0;
	}
	if (process->ended)
		return 0;
	memcpy(process->comm, ev->comm, sizeof(process->comm));
	if (ev->exit_code == UINT32_MAX)
		return emit_end(live, process, RECORD_END_UNKNOWN, 0, ev->head.time_ns);
	if (WIFSIGNALED(status))
		return emit_end(live, process, RECORD_END_SIGNAL, WTERMSIG(status),
				ev->head.time_ns);
	return emit_end(live, process, RECORD_END_EXIT, WEXITSTATUS(status), ev->head.time_ns);
}

/* A process of the host or cgroup did something for the first time. */
static int on_seen(struct live *live, const struct abi_ev_process *ev)
{
	struct live_process *process;
	int r = live_process_new(live, ev->head.slot, ev->pid, &process);

	if (r)
		return r;
	memcpy(process->comm, ev->comm, sizeof(process->comm));
	return live_map_process(live, process, ev->head.time_ns, true);
}

int live_on_process_event(struct live *live, const struct abi_ev_process *ev)
{
	struct live_process *process;

	switch (ev->head.type) {
	case ABI_EV_FORK:
		return on_forked(live, ev);
	case ABI_EV_EXEC:
		return on_execed(live, ev);
	case ABI_EV_EXIT:
		return on_exited(live, ev);
	case ABI_EV_SEEN:
		return on_seen(live, ev);
	case ABI_EV_OOM:
		process = live_process_at(live, ev->head.slot);
		if (process)
			process->oom = true;
		return 0;
	}
	return -EBADMSG;
}

/* The mapping as /proc shows it, for the path of a file that is not known yet. */
static int find_map(pid_t pid, const struct abi_ev_map *ev, struct proc_maps *maps,
		    struct proc_map *ret)
{
	const struct proc_map *found;
	int r = proc_maps_read(pid, maps);

	if (r)
		return r;
	found = proc_maps_find(maps, ev->addr);
	if (!found || found->ino != ev->ino)
		return -ENOENT;
	*ret = *found;
	return 0;
}

int live_on_code(struct live *live, const struct abi_ev_map *ev)
{
	struct live_process *process = live_process_at(live, ev->head.slot);
	struct object *known = objects_find(live->objects, ev->dev, ev->ino);
	_cleanup_(proc_maps_done) struct proc_maps maps = {};
	struct object *object = NULL;
	struct proc_map map = {};
	bool late = false;
	int r;

	if (ev->held) {
		r = vec_push(&live->marks, (pid_t)ev->tid);
		if (r)
			return r;
	}
	if (!process) {
		live_count_loss(live, NULL, LOSS_STATE);
		return 0;
	}
	if (!known) {
		r = find_map(process->pid, ev, &maps, &map);
		if (r == -ENOMEM)
			return r;
		if (r) {
			live_count_loss(live, NULL, LOSS_MAPPING);
			return 0;
		}
	} else {
		map.path = object_path(known);
	}
	map.dev_major = ev->dev >> 20;
	map.dev_minor = ev->dev & 0xfffff;
	map.ino = ev->ino;
	map.start = ev->addr;
	map.end = ev->addr + (ev->len + 4095) / 4096 * 4096;
	map.offset = ev->offset;
	map.exec = true;
	r = add_code(live, process, &map, ev, ev->head.time_ns, &object);
	if (r == 0 && object)
		r = attach(live, object, owner_for(live, process), process->pid, &late);
	if (r == -ESRCH)
		return 0; /* ended before its new code could run */
	if (late && !ev->held)
		live_count_loss(live, process, LOSS_ATTACHED_LATE);
	return r;
}
