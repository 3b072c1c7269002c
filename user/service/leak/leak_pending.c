/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/leak/leak_pending.h"

void leak_pending_done(leak_pending_list *list)
{
	vec_foreach(list, pending)
		leak_scan_free(pending->scan);
	vec_done(list);
}

size_t leak_pending_blocks(const leak_pending_list *list)
{
	size_t blocks = 0;

	vec_foreach(list, pending)
		blocks += pending->scan->n_blocks;
	return blocks;
}

bool leak_pending_is_of_exec(const struct leak_pending *pending)
{
	return pending->occasion == LEAK_AT_EXEC;
}

bool leak_pending_exec_came(const leak_pending_list *list, size_t index, const struct model *model)
{
	const image_t id = list->data[index].scan->seen.image;
	const struct model_process *image = model_find_process(model, id);

	for (size_t i = index + 1; i < list->len; i++)
		if (image_is(list->data[i].scan->seen.image, id))
			return false;
	return image && image->ended && image->how == RECORD_END_EXEC;
}

void leak_pending_drop_exec(leak_pending_list *list, image_t image)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->len; i++) {
		const struct leak_pending *pending = &list->data[i];

		if (leak_pending_is_of_exec(pending) && image_is(pending->scan->seen.image, image))
			leak_scan_free(pending->scan);
		else
			list->data[kept++] = *pending;
	}
	list->len = kept;
}

void leak_pending_set_totals(leak_pending_list *list, const struct model *model)
{
	vec_foreach(list, pending) {
		const struct model_process *image =
			model_find_process(model, pending->scan->seen.image);

		if (pending->has_totals || pending->occasion == LEAK_AT_EXIT ||
		    leak_pending_is_of_exec(pending) || !image || !image->has_totals)
			continue;
		pending->totals = image->totals;
		pending->totals.comm = NULL; /* the model's */
		pending->has_totals = true;
	}
}
