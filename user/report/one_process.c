/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/one_process.h"

/* What a child has from its parent at its fork it did not allocate. */
static bool allocated(const struct view_process *process)
{
	const struct model_process *image = process->image;

	return image->has_totals &&
	       (process->totals.allocs > 0 || (!image->inherits && process->totals.peak_bytes > 0));
}

static bool is_first_of_pid(const struct view *view, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (view_process(view, i)->image->pid == view_process(view, index)->image->pid &&
		    allocated(view_process(view, i)))
			return false;
	return true;
}

size_t one_process_from(const struct view *view, size_t index)
{
	for (; index < view_n_processes(view); index++)
		if (allocated(view_process(view, index)) && is_first_of_pid(view, index))
			break;
	return index;
}

size_t one_process_others(const struct view *view, const struct view_process *process)
{
	size_t n = 0;

	for (size_t i = 0; i < view_n_processes(view); i++) {
		const struct view_process *other = view_process(view, i);

		n += other != process && other->image->pid == process->image->pid &&
		     allocated(other);
	}
	return n;
}
