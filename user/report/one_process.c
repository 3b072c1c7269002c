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

const char *one_process_command(const struct view *view, const struct view_process *process)
{
	const char *command = model_command(view_model(view), process->image->id);

	return command && *command   ? command :
	       *process->image->comm ? process->image->comm :
				       "unknown";
}

uint64_t one_process_end_ns(const struct view *view, const struct view_process *process)
{
	const struct record_run *run = model_run(view_model(view));
	const struct model_process *image = process->image;
	uint64_t now_ns = view_now_ns(view);

	if (image->ended && image->end_ns < now_ns)
		now_ns = image->end_ns;
	return run && now_ns > run->start_ns ? now_ns - run->start_ns : 0;
}

uint64_t one_process_own_ns(const struct view *view, const struct view_process *process,
			    uint64_t time_ns)
{
	const struct record_run *run = model_run(view_model(view));
	uint64_t start_ns = process->image->start_ns;
	uint64_t before_ns = run && start_ns > run->start_ns ? start_ns - run->start_ns : 0;

	return time_ns > before_ns ? time_ns - before_ns : 0;
}

uint64_t one_process_own_ms(const struct view *view, const struct view_process *process,
			    uint64_t time_ns)
{
	return one_process_own_ns(view, process, time_ns) / 1000000;
}
