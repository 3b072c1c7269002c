/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the unwinder's tables as the events tell: what each process has mapped as code, and which
 * files' rows must be more exact than they are.
 */
#include "base/page.h"
#include "trace/live/code/live_code.h"
#include "trace/live/slots/live_slots.h"
#include "trace/unwind/unwind_spaces.h"
#include "trace/unwind/unwind_tables.h"

#include <string.h>

int live_unwind_new(struct live *live)
{
	return live->opts.run.unwind ?
		       unwind_tables_new(live->programs, live->opts.worker, &live->tables) :
		       0;
}

int live_unwind_process(struct live *live, struct live_process *process)
{
	if (!live->tables || process->space)
		return 0;
	return unwind_tables_space(live->tables, process->slot.n, &process->space);
}

int live_unwind_image(struct live *live, struct live_process *process, uint32_t noted)
{
	int r = noted ? live_unwind_process(live, process) : 0;

	if (r == 0 && process->space)
		unwind_space_begin(process->space, noted);
	return r;
}

int live_unwind_child(struct live *live, struct live_process *parent, struct live_process *child)
{
	if (!live->tables)
		return 0;
	if (!parent->space) /* the child of -c before its exec: it has run nothing of its own */
		return unwind_tables_space(live->tables, child->slot.n, &child->space);
	return unwind_space_fork(parent->space, child->slot.n, &child->space);
}

void live_unwind_end(struct live_process *process)
{
	unwind_space_free(process->space);
	process->space = NULL;
}

int live_unwind_map(struct live *live, struct live_process *process, const struct proc_map *map,
		    struct object *object, const struct abi_ev_map *ev)
{
	int r = 0;

	if (!process->space)
		return 0;
	if (strcmp(map->path, "[vdso]") == 0)
		return unwind_tables_map_vdso(live->tables, process->space, map->start, map->end);
	/* It may have been given up since it was last mapped. */
	if (object)
		r = objects_unwind(live->objects, object, false);
	if (r)
		return r;
	return unwind_tables_map(live->tables, process->space, map->start, map->end, map->offset,
				 object ? object_unwind(object) : 0, ev ? ev->noted : 0);
}

int live_unwind_unmap(struct live *live, struct live_process *process,
		      const struct code_range *range)
{
	if (!process->space)
		return 0;
	return unwind_tables_map(live->tables, process->space, range->start, range->end, 0, 0, 0);
}

int live_unwind_fully(struct live *live, const struct live_process *process, uint64_t addr)
{
	const struct code_range *range = code_map_find(&process->code, addr);

	return range && range->object ? objects_unwind(live->objects, range->object, true) : 0;
}

int live_on_code_gone(struct live *live, const struct abi_ev_map *ev)
{
	struct live_process *process = live_process_at(live, event_slot(&ev->head));

	if (!process) {
		live_count_loss(live, NULL, LOSS_STATE);
		return 0;
	}
	if (!process->space)
		return 0;
	return unwind_tables_map(live->tables, process->space, ev->addr,
				 ev->addr + page_round_up(ev->len), 0, 0, ev->noted);
}

int live_unwind_sync(struct live *live)
{
	return live->tables ? unwind_tables_sync(live->tables) : 0;
}

int live_unwind_drained(struct live *live)
{
	int r;

	if (!live->tables)
		return 0;
	r = objects_unwind_less(live->objects);
	if (r == 0)
		r = unwind_tables_sync(live->tables);
	if (r == 0)
		unwind_tables_drained(live->tables);
	return r;
}
