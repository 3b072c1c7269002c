/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that is new: it is mapped (trace/live/code/), then probed where an allocator is in it, by a
 * link of the process's own or by one that all share.
 */
#include "base/page.h"
#include "target/proc_maps.h"
#include "trace/live/code/live_code.h"
#include "trace/live/code/unopened_files.h"
#include "trace/live/probes/live_probes.h"
#include "trace/live/slots/live_slots.h"

#include <errno.h>

int live_add_code(struct live *live, struct live_process *process, const struct proc_map *map,
		  uint64_t time_ns, bool *ret_late)
{
	const struct code_origin origin = { .time_ns = time_ns,
					    .late = live_watches_code(live) && map->ino };
	struct object *object;
	int r = live_code_add(live, process, map, &origin, &object);

	if (r || !object)
		return r;
	r = live_links_new_code(live, process, object, ret_late);
	if (r)
		return r;
	return live_attach(live, object, live_owner(live, process), process->pid, ret_late);
}

/* Its file could not be opened when it was mapped. */
static int retry_range(struct live *live, struct live_process *process, size_t i)
{
	struct object *object;
	bool late = false;
	int r = live_code_reopen(live, process, i, &object);

	if (r == 0 && object)
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
	vec_foreach(&live->slots.all, at) {
		struct live_process *process = *at;

		if (!process || process->ended)
			continue;
		for (size_t i = 0; r == 0 && i < process->code.ranges.len; i++) {
			const struct unopened_file *file = process->code.ranges.data[i].unopened;

			if (file && unopened_file_is_due(file, now_ns))
				r = retry_range(live, process, i);
		}
	}
	objects_retried(live->objects, now_ns);
	return r ? r : live_unwind_sync(live);
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
	int r = process->code.ranges.len < MOST_BY_LIST ?
			-EAGAIN :
			proc_map_read_path(process->pid, map, &found->text);

	if (r == 0 && live_may_show(live, process->pid, process->image))
		return 0;
	return r == -ENOMEM ? r : find_in_list(live, process, found, map);
}

int live_on_code(struct live *live, const struct abi_ev_map *ev)
{
	struct live_process *process = live_process_at(live, event_slot(&ev->head));
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
	const struct code_origin origin = { .ev = ev, .time_ns = ev->head.time_ns };
	struct object *object = NULL;
	bool late = false;
	int r;

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
	r = live_code_add(live, process, &map, &origin, &object);
	if (r == 0)
		r = live_links_new_code(live, process, object, &late);
	if (r == 0 && object)
		r = live_attach(live, object, live_owner(live, process), process->pid, &late);
	if (r == -ESRCH)
		return 0; /* ended before its new code could run */
	if (late && !ev->held)
		live_count_loss(live, process, LOSS_ATTACHED_LATE);
	return r;
}
