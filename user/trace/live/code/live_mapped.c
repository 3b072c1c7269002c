/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What processes map as code: recorded, put into the unwinder's tables, and probed where an
 * allocator is in it, by a link of the process's own or by one that all share.
 */
#include "base/page.h"
#include "target/proc_maps.h"
#include "target/process.h"
#include "trace/live/code/unopened_files.h"
#include "trace/live/live_process.h"

#include <errno.h>
#include <string.h>

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
	r = object_describe(*ret_object, live->fn, live->userdata);
	return r ? r : objects_publish(live->objects, *ret_object);
}

/*
 * One executable mapping of a process: recorded, and put into the unwinder's tables. ev: the event
 * that told of it, NULL: none. late: from when on it holds is not known yet. *ret_object: NULL if
 * it is not of a file that can be read.
 */
static int add_code(struct live *live, struct live_process *process, const struct proc_map *map,
		    const struct abi_ev_map *ev, uint64_t time_ns, bool late,
		    struct object **ret_object)
{
	const struct unopened_file *unopened = NULL;
	struct object *object = NULL;
	int r = map->ino ? find_object(live, process, map, &object, &unopened) : 0;

	*ret_object = NULL;
	if (r)
		return r;
	r = late ? live_add_news(live, process, map, object, time_ns) :
		   live_emit_mapping(live, process, map, object, time_ns);
	if (r)
		return r;
	r = vec_push(&process->code,
		     (struct code_range){ .start = map->start,
					  .end = map->end,
					  .offset = map->offset,
					  .object = object,
					  .unopened = unopened,
					  .vdso = strcmp(map->path, "[vdso]") == 0 });
	if (r)
		return r;
	*ret_object = object;
	return live_unwind_map(live, process, map, object, ev);
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

int live_add_maps(struct live *live, struct live_process *process, uint64_t time_ns,
		  bool *ret_missing)
{
	_cleanup_(proc_maps_done) struct proc_maps maps = {};
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
		objects_ask_ahead(live->objects, process->pid, &maps, i);
		r = add_code(live, process, &maps.maps[i], NULL, time_ns, false, &object);
		if (r)
			return r;
		*ret_missing |= maps.maps[i].ino && !object;
	}
	return 0;
}

int live_add_code(struct live *live, struct live_process *process, const struct proc_map *map,
		  uint64_t time_ns, bool *ret_late)
{
	struct object *object = NULL;
	bool late = live_watches_code(live) && map->ino;
	int r = add_code(live, process, map, NULL, time_ns, late, &object);

	if (r || !object)
		return r;
	return live_attach(live, object, live_owner(live, process), process->pid, ret_late);
}

/* Its file could not be opened when it was mapped. */
static int retry_range(struct live *live, struct live_process *process, size_t i)
{
	struct code_range *range = &process->code.data[i];
	const struct unopened_file *file = range->unopened;
	const struct proc_map map = { .start = range->start,
				      .end = range->end,
				      .offset = range->offset,
				      .ino = file->ino,
				      .dev_major = file->dev >> 20,
				      .dev_minor = file->dev & 0xfffff,
				      .exec = true,
				      .path = file->path };
	struct object *object;
	bool late = false;
	int r = find_object(live, process, &map, &object, &file);

	if (r || !object)
		return r;
	range->object = object;
	range->unopened = NULL;
	r = live_emit_mapping(live, process, &map, object, clock_monotonic_ns());
	if (r == 0)
		r = live_unwind_map(live, process, &map, object, NULL);
	if (r == 0)
		r = live_attach(live, object, live_owner(live, process), process->pid, &late);
	if (late && r == 0)
		live_count_loss(live, process, LOSS_ATTACHED_LATE);
	return r == -ESRCH ? 0 : r;
}

int live_retry_files(struct live *live)
{
	uint64_t now_ns = clock_monotonic_ns();
	int r = 0;

	if (!objects_retry_is_due(live->objects, now_ns))
		return 0;
	vec_foreach(&live->processes, at) {
		struct live_process *process = *at;

		if (!process || process->ended)
			continue;
		for (size_t i = 0; r == 0 && i < process->code.len; i++) {
			const struct unopened_file *file = process->code.data[i].unopened;

			if (file && unopened_file_is_due(file, now_ns))
				r = retry_range(live, process, i);
		}
	}
	objects_retried(live->objects, now_ns);
	return r;
}

/*
 * The list of mappings is read for the first ones of a process alone, which are opened ahead by it:
 * it is as long as what the process has loaded so far.
 */
#define MOST_BY_LIST 64

/* What is found in the list of mappings, which must live as long as the path. */
struct found_path {
	struct proc_maps maps;
	struct strbuf text;
};

static void found_path_done(struct found_path *found)
{
	proc_maps_done(&found->maps);
	strbuf_done(&found->text);
}

static int find_in_list(struct live *live, const struct live_process *process,
			struct found_path *found, struct proc_map *map)
{
	const struct proc_map *listed;
	int r = live_read_maps(live, process, &found->maps);

	if (r)
		return r;
	objects_open_ahead(live->objects, process->pid, &found->maps);
	listed = proc_maps_find(&found->maps, map->start);
	if (!listed || listed->ino != map->ino)
		return -ENOENT;
	map->path = listed->path;
	map->deleted = listed->deleted;
	return 0;
}

/* The path of a file that is not known yet. 0 or negative errno. */
static int find_path(struct live *live, const struct live_process *process,
		     struct found_path *found, struct proc_map *map)
{
	int r = process->code.len < MOST_BY_LIST ?
			-EAGAIN :
			proc_map_read_path(process->pid, map, &found->text);

	if (r == 0 && live_may_show(live, process->pid, process->image))
		return 0;
	return r == -ENOMEM ? r : find_in_list(live, process, found, map);
}

int live_on_code(struct live *live, const struct abi_ev_map *ev)
{
	struct live_process *process = live_process_at(live, ev->head.slot);
	struct object *known = objects_find(live->objects, ev->dev, ev->ino);
	struct proc_map map = {
		.dev_major = ev->dev >> 20,
		.dev_minor = ev->dev & 0xfffff,
		.ino = ev->ino,
		.start = ev->addr,
		.end = ev->addr + page_round_up(ev->len),
		.offset = ev->offset,
		.exec = true,
	};
	_cleanup_(found_path_done) struct found_path found = {};
	struct object *object = NULL;
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
	if (!known || object_fd(known) < 0) {
		r = find_path(live, process, &found, &map);
		if (r == -ENOMEM)
			return r;
		if (r) {
			live_count_loss(live, NULL, LOSS_MAPPING);
			/* One that is held and gone has run none of it. */
			if (!ev->held && live->opts.features)
				live_count_loss(live, process, LOSS_ATTACHED_LATE);
			return 0;
		}
	} else {
		map.path = object_path(known);
	}
	r = add_code(live, process, &map, ev, ev->head.time_ns, false, &object);
	if (r == 0 && object)
		r = live_attach(live, object, live_owner(live, process), process->pid, &late);
	if (r == -ESRCH)
		return 0; /* ended before its new code could run */
	if (late && !ev->held)
		live_count_loss(live, process, LOSS_ATTACHED_LATE);
	return r;
}
