/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the unwinder's tables as the events tell: what each process has mapped as code, and which
 * files' rows must be more exact than they are.
 */
#include "base/page.h"
#include "trace/live/live_process.h"
#include "trace/unwind/unwind_spaces.h"
#include "trace/unwind/unwind_tables.h"

#include <errno.h>
#include <string.h>

static const char *const cut_names[STACK_CUTS] = {
	[ABI_CUT_LIMIT] = "limit",
	[ABI_CUT_NO_MAPPING] = "no-mapping",
	[ABI_CUT_NO_CFI] = "no-cfi",
	[ABI_CUT_UNSUPPORTED] = "unsupported",
	[ABI_CUT_UNREADABLE] = "unreadable",
	[ABI_CUT_NOT_RISING] = "not-rising",
	[ABI_CUT_PRUNED] = "pruned",
	[STACK_CUT_FRAME_POINTERS] = "frame-pointers",
	[STACK_CUT_LOST] = "lost",
	[STACK_CUT_GONE] = "gone",
	[STACK_CUT_GENERATED] = "generated-code",
};

const char *live_cut_name(size_t cut)
{
	return cut_names[cut];
}

void live_count_stack(const struct live *live, uint64_t id, uint64_t events,
		      struct cut_coverage *coverage)
{
	const struct live_stack key = { .id = id }, *stack = hashmap_find(live->stacks, &key);

	if (id == RECORD_STACK_NO_CODE) {
		coverage->stacks_complete += events;
	} else if (!stack) {
		coverage->cuts[live->opts.max_stack ? STACK_CUT_LOST : ABI_CUT_LIMIT] += events;
	} else if (stack->cut) {
		coverage->cuts[stack->cut] += events;
	} else {
		coverage->stacks_complete += events;
		coverage->stacks_guided += stack->frame_pointers ? events : 0;
	}
}

int live_unwind_new(struct live *live)
{
	return live->opts.unwind ?
		       unwind_tables_new(live->programs, live->opts.worker, &live->tables) :
		       0;
}

int live_unwind_process(struct live *live, struct live_process *process)
{
	if (!live->tables || process->space)
		return 0;
	return unwind_tables_space(live->tables, process->slot, &process->space);
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
		return unwind_tables_space(live->tables, child->slot, &child->space);
	return unwind_space_fork(parent->space, child->slot, &child->space);
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

int live_unwind_fully(struct live *live, const struct live_process *process, uint64_t addr)
{
	/* newest first, as in live_regions.c */
	for (size_t i = process->code.len; i > 0; i--) {
		const struct code_range *range = &process->code.data[i - 1];

		if (addr >= range->start && addr < range->end)
			return range->object ? objects_unwind(live->objects, range->object, true) :
					       0;
	}
	return 0;
}

int live_on_code_gone(struct live *live, const struct abi_ev_map *ev)
{
	struct live_process *process = live_process_at(live, ev->head.slot);

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
