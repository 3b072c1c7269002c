/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/live_process.h"

int live_emit(struct live *live, const struct record *record)
{
	return live->fn(record, live->userdata);
}

struct live_process *live_process_at(const struct live *live, uint32_t slot)
{
	return slot < live->processes.len ? live->processes.data[slot] : NULL;
}

void live_count_loss(struct live *live, struct live_process *process, enum user_loss cause)
{
	live->losses[cause - ABI_LOSSES]++;
	if (process)
		__atomic_fetch_add(&live->programs->procs[process->slot].lost, 1, __ATOMIC_RELAXED);
}

const struct code_range *live_code_at(const struct live_process *process, uint64_t addr)
{
	/* newest first: a later mapping replaces an earlier one */
	for (size_t i = process->code.len; i > 0; i--) {
		const struct code_range *range = &process->code.data[i - 1];

		if (addr >= range->start && addr < range->end)
			return range;
	}
	return NULL;
}

size_t live_running(const struct live *live)
{
	size_t n = 0;

	vec_foreach(&live->processes, p)
		n += *p && !(*p)->ended;
	return n;
}
