/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/code/live_code.h"

#include "base/page.h"
#include "memtraced.skel.h"
#include "target/proc_maps.h"
#include "target/process.h"
#include "trace/kernel/urgent.h"
#include "trace/live/code/unopened_files.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"

#include <errno.h>
#include <string.h>

#define MAX_RANGES 4096
/* A death may still be told of, with the names of functions, and a program begin again. */
#define UNUSED_NS 3000000000ULL
#define LOOK_EVERY_NS 1000000000ULL

/* A file that could not be opened without waiting: it is named, once. */
static int note_unopened(struct live *live, const struct proc_map *map, int error,
			 const struct unopened_file **ret_file)
{
	struct record record = { .type = RECORD_UNPROBED };
	bool is_new;
	int r = objects_add_unopened(live->objects, map, error, ret_file, &is_new);

	if (r || !is_new)
		return r;
	record.unprobed =
		(struct record_unprobed){ "all functions", (*ret_file)->path, (*ret_file)->why };
	return live_emit(live, &record);
}

/*
 * The object behind a mapping; new ones are described and told to the programs. NULL: it cannot be
 * opened, which is a loss; with *ret_unopened it is tried again. 0 or negative errno.
 */
static int find_object(struct live *live, const struct live_process *process,
		       const struct proc_map *map, struct object **ret_object,
		       const struct unopened_file **ret_unopened)
{
	bool is_new;
	int r = objects_get(live->objects, process->pid, map, ret_object, &is_new);

	*ret_unopened = NULL;
	if (r) {
		*ret_object = NULL;
		if (unopened_error(r))
			return note_unopened(live, map, r, ret_unopened);
		live_count_loss(live, NULL, LOSS_MAPPING);
		return r == -ENOMEM ? r : 0;
	}
	if (!is_new)
		return 0;
	r = object_describe(*ret_object, live->sink.fn, live->sink.userdata);
	return r ? r : objects_publish(live->objects, *ret_object);
}

int live_code_add(struct live *live, struct live_process *process, const struct proc_map *map,
		  const struct code_origin *origin, struct object **ret_object)
{
	const struct unopened_file *unopened = NULL;
	struct object *object = NULL;
	int r = map->ino ? find_object(live, process, map, &object, &unopened) : 0;

	*ret_object = NULL;
	if (r)
		return r;
	r = origin->late ? live_note_added(live, process, map, object, origin->time_ns) :
			   live_emit_mapping(live, process, map, object, origin->time_ns);
	if (r == 0)
		r = code_map_add(&process->code,
				 &(struct code_range){ .start = map->start,
						       .end = map->end,
						       .offset = map->offset,
						       .object = object,
						       .unopened = unopened,
						       .vdso = strcmp(map->path, "[vdso]") == 0 });
	if (r)
		return r;
	*ret_object = object;
	return live_unwind_map(live, process, map, object, origin->ev);
}

int live_read_maps(const struct live *live, const struct live_process *process,
		   struct proc_maps *ret_maps)
{
	_cleanup_(proc_maps_done) struct proc_maps maps = {};
	struct process_info info;
	int r = proc_maps_read(process->pid, &maps);

	if (r)
		return r;
	if (!live_may_show(live, process->pid, process->image))
		return -ESRCH;
	/* Its memory goes before it is a zombie: what was mapped until then is known. */
	if (maps.n_maps == 0)
		r = process_info_read(process->pid, &info);
	if (r || (maps.n_maps == 0 && !info.kernel_thread))
		return r ? r : -ESRCH;
	*ret_maps = maps;
	maps = (struct proc_maps){};
	return 0;
}

/*
 * The programs are told where the file's mappings begin, as they tell themselves of later ones: its
 * unmapping begins there. Without room, which is counted, its stacks may be taken for those of what
 * comes there.
 */
static void note_start(struct live *live, const struct live_process *process,
		       const struct proc_maps *maps, size_t i)
{
	const int fd = bpf_map__fd(live->programs->skel->maps.code_starts);
	const uint8_t mapped = ABI_CODE_START_MAPPED;
	uint64_t key;

	while (i > 0 && maps->maps[i - 1].end == maps->maps[i].start &&
	       proc_map_is_same_file(&maps->maps[i - 1], &maps->maps[i]))
		i--;
	key = ABI_BLOCK_KEY(process->slot.n, maps->maps[i].start);
	if (urgent_update(fd, &key, &mapped))
		live_count_loss(live, NULL, LOSS_CODE_START);
}

int live_add_maps(struct live *live, struct live_process *process, uint64_t time_ns,
		  bool *ret_missing)
{
	_cleanup_(proc_maps_done) struct proc_maps maps = {};
	const struct code_origin origin = { .time_ns = time_ns };
	struct object *object;
	int r;

	code_times_read(&process->code_times, clock_monotonic_ns());
	r = live_read_maps(live, process, &maps);
	if (r == -ENOMEM)
		return r;
	if (r) {
		live_count_loss(live, NULL, LOSS_MAPPING);
		/* It has ended: libraries are told of by their own events. */
		*ret_missing |= !process->exe_known;
	}
	objects_open_ahead(live->objects, process->pid, &maps);
	for (size_t i = 0; i < maps.n_maps; i++) {
		if (!maps.maps[i].exec)
			continue;
		if (maps.maps[i].ino)
			note_start(live, process, &maps, i);
		objects_ask_ahead(live->objects, process->pid, &maps, i);
		r = live_code_add(live, process, &maps.maps[i], &origin, &object);
		if (r)
			return r;
		*ret_missing |= maps.maps[i].ino && !object;
	}
	return 0;
}

int live_code_reopen(struct live *live, struct live_process *process, size_t i,
		     struct object **ret_object)
{
	const struct code_range *range = &process->code.ranges.data[i];
	const struct unopened_file *file = range->unopened;
	const struct proc_map map = { .start = range->start,
				      .end = range->end,
				      .offset = range->offset,
				      .ino = file->ino,
				      .dev_major = file->dev >> 20,
				      .dev_minor = file->dev & 0xfffff,
				      .exec = true,
				      .path = file->path };
	int r = find_object(live, process, &map, ret_object, &file);

	if (r || !*ret_object)
		return r;
	code_map_set_object(&process->code, i, *ret_object);
	r = live_emit_mapping(live, process, &map, *ret_object, clock_monotonic_ns());
	return r ? r : live_unwind_map(live, process, &map, *ret_object, NULL);
}

bool live_code_covers(const struct live_process *process, const struct proc_map *map)
{
	const struct code_range *range = code_map_find(&process->code, map->start);

	return range && range->end >= map->end;
}

bool live_code_is_full(const struct live_process *process)
{
	return process->code.ranges.len >= MAX_RANGES;
}

/* --- what goes ------------------------------------------------------------------------------- */

static int is_part(const struct code_range *range, void *userdata)
{
	const struct proc_map *map = userdata;

	return !range->object && range->start >= map->start && range->end <= map->end;
}

void live_code_absorb(struct live_process *process, const struct proc_map *map)
{
	/* It returns what is_part() does: no error. */
	(void)code_map_remove(&process->code, is_part, (void *)map);
}

struct removal {
	struct live *live;
	struct live_process *process;
	const struct proc_maps *maps; /* that are still there, */
	uint64_t start, end, time_ns; /* or what has gone */
};

static bool is_still_mapped(const struct code_range *range, const struct proc_maps *maps)
{
	const struct proc_map *map = proc_maps_find(maps, range->start);

	return map && map->exec && map->end >= range->end &&
	       map->offset + (range->start - map->start) == range->offset &&
	       map->ino == object_ino(range->object) &&
	       (map->dev_major << 20 | map->dev_minor) == object_dev(range->object);
}

static int drop_unless_mapped(const struct code_range *range, void *userdata)
{
	const struct removal *removal = userdata;
	int r;

	if (!range->object || is_still_mapped(range, removal->maps))
		return 0;
	r = live_note_removed(removal->live, removal->process, range);
	if (r == 0)
		r = live_unwind_unmap(removal->live, removal->process, range);
	return r ? r : 1;
}

/*
 * The programs have begun an epoch with each change, that stacks of before and after it do not hash
 * to the same. Where nothing of before has gone it is the one of before that goes on, so that a
 * run-time which makes code all the time has its stacks once; else a new one begins, for which no
 * rules of the old code are remembered. now: the epoch when the reading began.
 */
static void settle_epoch(struct live *live, struct live_process *process, uint32_t now,
			 bool any_gone)
{
	if (any_gone)
		process->code_epoch = shared_new_code_epoch(live->programs, process->slot);
	/* It stays where another change is told of meanwhile, which the next reading shows. */
	if (now != process->code_epoch)
		shared_replace_code_epoch(live->programs, process->slot, now, process->code_epoch);
}

int live_code_drop_gone(struct live *live, struct live_process *process,
			const struct proc_maps *maps, uint32_t epoch)
{
	struct removal removal = { .live = live, .process = process, .maps = maps };
	const size_t before = process->code.ranges.len;
	int r = code_map_remove(&process->code, drop_unless_mapped, &removal);
	const bool any_gone = process->code.ranges.len < before;

	if (r == 0 && any_gone)
		r = live_unwind_sync(live);
	settle_epoch(live, process, epoch, any_gone);
	return r;
}

static int drop_in_range(const struct code_range *range, void *userdata)
{
	const struct removal *removal = userdata;
	const struct record record = {
		.type = RECORD_UNMAPPING,
		.unmapping = { removal->process->image, range->start, range->end,
			       removal->time_ns },
	};
	int r;

	if (range->start < removal->start || range->end > removal->end)
		return 0;
	r = live_emit(removal->live, &record);
	return r ? r : 1;
}

int live_code_unmap(struct live *live, struct live_process *process, uint64_t start, uint64_t end,
		    uint64_t time_ns)
{
	struct removal removal = { live, process, NULL, start, end, time_ns };

	return code_map_remove(&process->code, drop_in_range, &removal);
}

/* --- without a reading ----------------------------------------------------------------------- */

int live_on_made_code(struct live *live, struct live_process *process, const struct abi_ev_map *ev)
{
	const struct proc_map map = {
		.start = ev->addr,
		.end = ev->addr + page_round_up(ev->len),
		.exec = true,
		.path = "",
	};
	const struct code_origin origin = { .time_ns = ev->head.time_ns };
	struct object *none;

	if (!live->opts.run.code || live_code_is_full(process) || live_code_covers(process, &map))
		return 0;
	live_code_absorb(process, &map);
	return live_code_add(live, process, &map, &origin, &none);
}

int live_code_fork(struct live *live, struct live_process *parent, struct live_process *child)
{
	int r = code_map_copy(&child->code, &parent->code);

	child->code_epoch = parent->code_epoch;
	return r ? r : live_unwind_child(live, parent, child);
}

/* --- files that nothing uses ------------------------------------------------------------------ */

static void on_closed(uint32_t dev, uint64_t ino, void *userdata)
{
	struct live *live = userdata;

	/* Without memory its symbols keep it open: no fault of the trace. */
	(void)vec_push(&live->closed.files, (struct live_file){ dev, ino });
}

/*
 * A session that goes on for good keeps no files open that no process maps any more: their file
 * system could not be unmounted. One that ends keeps them, as its report needs their symbols.
 */
void live_close_files(struct live *live)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!live->opts.forget_ended || now_ns < live->closed.next_ns)
		return;
	live->closed.next_ns = now_ns + LOOK_EVERY_NS;
	vec_foreach(&live->slots.all, p) {
		if (!*p || (*p)->ended)
			continue;
		vec_foreach(&(*p)->code.ranges, range)
			if (range->object)
				object_use(range->object);
	}
	objects_close_unused(live->objects, now_ns, UNUSED_NS, on_closed, live);
}

size_t live_closed_files(struct live *live, const struct live_file **ret_files)
{
	size_t n = live->closed.files.len;

	*ret_files = live->closed.files.data;
	live->closed.files.len = 0;
	return n;
}
