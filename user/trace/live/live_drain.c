/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Draining: each event goes to the file that knows what it means. Cuts and samples drain before,
 * and after, as events come while maps are read.
 */
#include "trace/live/live_process.h"

#include <errno.h>
#include <stdlib.h>

/* What it fails with is kept in live->error. */
static void on_event(struct live *live, const void *data)
{
	const struct abi_event *head = data;
	int r = 0;

	switch (head->type) {
	case ABI_EV_STACK:
		r = live_on_stack(live, data);
		break;
	case ABI_EV_FORK:
	case ABI_EV_EXEC:
	case ABI_EV_EXIT:
	case ABI_EV_SEEN:
		r = live_on_process_event(live, data);
		break;
	case ABI_EV_CODE:
		r = live_on_region(live, data);
		r = r ? r : live_on_code(live, data);
		break;
	case ABI_EV_CODE_CHANGED:
		r = live_on_code_changed(live, data);
		break;
	case ABI_EV_CODE_GONE:
		r = live_on_code_gone(live, data);
		break;
	case ABI_EV_MMAP:
	case ABI_EV_MUNMAP:
	case ABI_EV_MREMAP:
	case ABI_EV_UNMAP_RESULT:
	case ABI_EV_BRK:
		r = live_on_region(live, data);
		break;
	case ABI_EV_STACK_COPY:
		r = live_on_stack_copy(live, data);
		break;
	case ABI_EV_FILE:
		r = live_on_file(live, data);
		break;
	case ABI_EV_CHECKPOINT:
		r = vec_push(&live->checkpoints, *(const struct abi_ev_checkpoint *)data);
		break;
	case ABI_EV_FAULT:
		r = live_on_fault(live, data);
		break;
	case ABI_EV_DEATH:
		r = live_on_death(live, data);
		break;
	case ABI_EV_OCCURRENCE:
		r = live_on_occurrence(live, data);
		break;
	case ABI_EV_FAULT_TICKS:
		r = live_look_at_cpus(live);
		break;
	}
	if (r && !live->error)
		live->error = r;
}

int live_on_ring(void *ctx, void *data, size_t size)
{
	struct live *live = ctx;

	/* The programs are ours: each type has one layout. */
	if (!live_buffer_add(live->buffer, data, size))
		on_event(live, data);
	return 0;
}

/* A process whose exit event was refused by a full ring must not be waited for. */
static int check_alive(struct live *live)
{
	vec_foreach(&live->processes, p) {
		struct live_process *process = *p;
		struct abi_ev_process ev = { .head = { .type = ABI_EV_EXIT } };
		int r;

		if (!process || process->ended ||
		    live->programs->procs[process->slot].state != ABI_PROC_ENDED)
			continue;
		ev.head.slot = process->slot;
		ev.head.time_ns = clock_monotonic_ns();
		ev.pid = process->pid;
		ev.exit_code = UINT32_MAX;
		r = live_on_process_event(live, &ev);
		if (r)
			return r;
	}
	return 0;
}

/* What came during a cut. */
static int after_cut(struct live *live)
{
	if (!live_buffer_waits(live))
		return 0;
	live->error = 0;
	live_buffer_drain(live, on_event);
	return live->error ? live->error : live_unwind_drained(live);
}

int live_drain(struct source *source, record_fn fn, void *userdata)
{
	struct live *live = (struct live *)source;
	uint64_t losses[ABI_LOSSES];
	int r = live_begin_emitting(live, fn, userdata);

	if (r)
		return r;
	live->error = 0;
	live_buffer_drain(live, on_event);
	r = ring_buffer__consume(live->ring);
	if (r < 0)
		return r;
	if (live->error)
		return live->error;
	r = programs_losses(live->programs, losses);
	if (r)
		return r;
	if (losses[ABI_LOST_RING_FULL]) {
		r = check_alive(live);
		if (r)
			return r;
	}
	r = live_retry_files(live);
	if (r == 0)
		r = live_settle_all_news(live);
	if (r == 0)
		r = live_release_all_stacks(live, false);
	if (r == 0)
		r = live_unwind_drained(live);
	if (r == 0)
		r = live_settle(live);
	if (r == 0)
		r = live_reuse(live);
	if (r == 0)
		live_close_files(live);
	return r ? r : after_cut(live);
}

int live_cut(struct source *source, record_fn fn, void *userdata)
{
	struct live *live = (struct live *)source;
	int r = source_drain(source, fn, userdata);

	if (r < 0)
		return r;
	r = live_judge_running(live);
	if (r == 0)
		r = live_take_cut(live, false);
	return r ? r : after_cut(live);
}

int live_sample(struct live *live, record_fn fn, void *userdata, uint64_t *ret_cpu_ns)
{
	int r = source_drain(&live->source, fn, userdata);

	/* between the beginning of a cut and its reading there is no other epoch */
	*ret_cpu_ns = 0;
	if (r == 0)
		r = live_end_hidden(live);
	if (r < 0 || live->opts.floor || live->cut_begun)
		return r < 0 ? r : 0;
	r = live_take_sample(live, ret_cpu_ns);
	return r ? r : after_cut(live);
}
