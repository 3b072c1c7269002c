/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code of which /proc/PID/maps has told. When it came is only known by the changes that the ring
 * tells of, and those from before the reading may still be in it: until they are known, what was
 * found is not recorded. A stack in it waits, too, to be judged: if it is older than what can be
 * proven, it has no names there, and is counted as one that met code that was gone.
 */
#include "trace/live/code/live_code.h"
#include "trace/live/slots/live_slots.h"

#include <errno.h>
#include <string.h>

int live_emit_mapping(struct live *live, const struct live_process *process,
		      const struct proc_map *map, const struct object *object, uint64_t time_ns)
{
	char local[32] = "";
	struct record record = {
		.type = RECORD_MAPPING,
		.mapping = { .image = process->image,
			     .start = map->start,
			     .end = map->end,
			     .file_offset = map->offset,
			     .time_ns = time_ns,
			     .dev = (uint64_t)map->dev_major << 20 | map->dev_minor,
			     .ino = map->ino,
			     .path = *map->path ? map->path : "[anon]",
			     .local_path = object && object_fd(object) >= 0 ? local : NULL,
			     .executable = true },
	};

	if (object) {
		const struct object_facts *facts = object_facts(object);

		snprintf(local, sizeof(local), "/proc/self/fd/%d", object_fd(object));
		record.mapping.kind = facts->kind;
		memcpy(record.mapping.build_id, facts->build_id, facts->build_id_len);
		record.mapping.build_id_len = facts->build_id_len;
	}
	return live_emit(live, &record);
}

bool live_watches_code(const struct live *live)
{
	return live->opts.run.watch_code && live->programs->control->watch_code;
}

/* The first change of a process since they were recorded. */
static int note_unsettled(struct live *live, const struct live_process *process)
{
	return process->changes.added.len + process->changes.removed.len > 1 ?
		       0 :
		       vec_push(&live->unsettled, process->slot);
}

int live_note_added(struct live *live, struct live_process *process, const struct proc_map *map,
		    struct object *object, uint64_t since_ns)
{
	struct code_added added = { .map = *map, .object = object, .since_ns = since_ns };
	int r;

	added.path = strdup(map->path);
	if (!added.path)
		return -ENOMEM;
	added.map.path = added.path;
	r = vec_push(&process->changes.added, added);
	if (r) {
		free(added.path);
		return r;
	}
	return note_unsettled(live, process);
}

int live_note_removed(struct live *live, struct live_process *process,
		      const struct code_range *range)
{
	int r = vec_push(&process->changes.removed, *range);

	return r ? r : note_unsettled(live, process);
}

static bool is_added(const struct live_process *process, uint64_t addr)
{
	vec_foreach(&process->changes.added, added)
		if (addr >= added->map.start && addr < added->map.end)
			return true;
	return false;
}

/* A call that never returns may end its mapping: the address behind it is in none. */
static bool is_known(const struct live_process *process, uint64_t addr)
{
	return code_map_find(&process->code, addr) || code_map_find(&process->code, addr - 1);
}

int live_judge_stack(struct live *live, struct live_process *process, const struct abi_ev_stack *ev,
		     const uint64_t *frames, size_t n_frames, struct stack_facts *stack)
{
	bool doubted = false;

	/* What came after the reading is not shown by it. */
	if (!live_watches_code(live) || process->placeholder ||
	    ev->head.time_ns >= process->code_times.read_ns)
		return 0;
	for (size_t i = 0; i < n_frames; i++) {
		if (frames[i] < LIVE_MIN_ADDR || frames[i] >= ABI_ADDR_LIMIT)
			continue;
		if (!is_known(process, frames[i])) {
			stack_facts_set_gone(stack);
			return 0;
		}
		doubted |= is_added(process, frames[i]);
	}
	if (!doubted)
		return 0;
	return vec_push(&process->changes.doubted,
			(struct doubted_stack){ ev->hash, ev->head.time_ns });
}

static int record_removed(struct live *live, struct live_process *process)
{
	uint64_t time_ns = code_times_gone_ns(&process->code_times);

	vec_foreach(&process->changes.removed, range) {
		const struct record record = {
			.type = RECORD_UNMAPPING,
			.unmapping = { process->image, range->start, range->end, time_ns },
		};
		int r = live_emit(live, &record);

		if (r)
			return r;
	}
	return 0;
}

static void judge_doubted(struct live *live, const struct live_process *process, uint64_t came_ns)
{
	vec_foreach(&process->changes.doubted, doubted)
		if (doubted->time_ns < came_ns)
			stack_index_set_gone(live->stacks, doubted->id);
}

static void forget_changes(struct live_process *process)
{
	vec_foreach(&process->changes.added, added)
		free(added->path);
	process->changes.added.len = process->changes.removed.len = process->changes.doubted.len =
		0;
}

int live_record_changes(struct live *live, struct live_process *process, bool all_told)
{
	uint64_t latest_ns = 0;
	int r = record_removed(live, process);

	vec_foreach(&process->changes.added, added) {
		uint64_t came_ns =
			code_times_came_ns(&process->code_times, all_told, added->since_ns);

		if (r == 0)
			r = live_emit_mapping(live, process, &added->map, added->object, came_ns);
		if (came_ns > latest_ns)
			latest_ns = came_ns;
	}
	judge_doubted(live, process, latest_ns);
	forget_changes(process);
	return r;
}

int live_record_all_changes(struct live *live)
{
	int r = 0;

	vec_foreach(&live->unsettled, slot) {
		struct live_process *process = live_process_at(live, *slot);

		if (r == 0 && process)
			r = live_record_changes(live, process, true);
	}
	live->unsettled.len = 0;
	return r;
}

void live_changes_done(struct live_process *process)
{
	forget_changes(process);
	vec_done(&process->changes.added);
	vec_done(&process->changes.removed);
	vec_done(&process->changes.doubted);
}
