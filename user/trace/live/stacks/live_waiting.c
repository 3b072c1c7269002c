/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code of which no event says what it is. Of libraries it is told that some came or went, by the
 * dynamic linker or by samples (bpf/code_watch.bpf.h). Of other code nothing is: a run-time writes
 * it into memory and makes that executable with mprotect, or maps it without a file. So a stack
 * with a frame in memory that is not known to be code has /proc/PID/maps read again, too. Walks
 * that go astray have such frames, and in numbers: a read is made only when the time since the last
 * was long in comparison with what that took, and stacks wait for it, until a cut at the latest.
 */
#include "trace/live/code/live_code.h"
#include "trace/live/probes/live_probes.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"
#include "trace/live/stacks/live_stacks.h"

#include <errno.h>
#include <string.h>

#define MAX_WAITING 256
/*
 * What reading may take of the time: half where a linker says so, a 5th where code appears, a 21st
 * where nothing does.
 */
#define LOADER_SHARE 1
#define FOUND_SHARE 4
#define NOT_FOUND_SHARE 20
#define MIN_PAUSE_NS 1000000

static bool is_unknown(const struct live_process *process, uint64_t addr)
{
	return addr >= LIVE_MIN_ADDR && addr < ABI_ADDR_LIMIT &&
	       !code_map_find(&process->code, addr);
}

static bool has_unknown_frame(const struct live_process *process, const struct abi_ev_stack *ev)
{
	for (uint32_t i = 0; i < ev->frames; i++) {
		/* what is at [sp] in a system call may be anything */
		if (i == 1 && ev->flags & ABI_STACK_SYSCALL)
			continue;
		if (is_unknown(process, ev->frame[i]))
			return true;
	}
	return false;
}

/*
 * What was read after it does not show more when it is read once more. After a change of which is
 * told, any of its frames may be in other code than what is known to be there.
 */
static bool needs_reading(const struct live *live, const struct live_process *process,
			  const struct abi_ev_stack *ev)
{
	if (!live_watches_code(live))
		return has_unknown_frame(process, ev);
	return ev->head.time_ns >= process->code_times.read_ns &&
	       (process->waiting.code_changed || has_unknown_frame(process, ev));
}

/*
 * Of files that the dynamic linker maps the ring tells, and when. A stack in a book is older than
 * its reading: what is where it was may have come since, of which the ring has not told yet.
 */
static bool is_told(const struct live_process *process, const struct proc_map *map)
{
	return process->book.book && map->ino;
}

/* in_time: none of it can have run. *ret_found: there is code that was not known. */
static int read_code(struct live *live, struct live_process *process, uint64_t time_ns,
		     bool in_time, bool *ret_found)
{
	_cleanup_(proc_maps_done) struct proc_maps maps = {};
	uint64_t now_ns = clock_monotonic_ns();
	uint32_t epoch = shared_code_epoch(live->programs, process->slot);
	bool late = false;
	int r = live_record_changes(live, process, true);

	*ret_found = false;
	r = r ? r : live_read_maps(live, process, &maps);
	/* Gone: what is not known by now stays so. */
	if (r)
		return r == -ENOMEM ? r : 0;
	code_times_read(&process->code_times, now_ns);
	if (live_watches_code(live))
		r = live_code_drop_gone(live, process, &maps, epoch);
	process->waiting.code_changed = false;
	if (r)
		return r;
	for (size_t i = 0; i < maps.n_maps && !live_code_is_full(process); i++) {
		const struct proc_map *map = &maps.maps[i];

		if (!map->exec || live_code_covers(process, map) || is_told(process, map))
			continue;
		*ret_found = true;
		if (!map->ino)
			live_code_absorb(process, map);
		r = live_add_code(live, process, map, time_ns, &late);
		if (r == -ESRCH)
			return 0;
		if (r)
			return r;
	}
	if (late && !in_time)
		live_count_loss(live, process, LOSS_ATTACHED_LATE);
	return 0;
}

/*
 * Has none of the code run that has come? Also if a sample has told of it, from inside of dlopen,
 * say: a command's thread waits at its linker's stop behind that until this is over.
 */
static bool is_in_time(const struct live *live, const struct abi_ev_code_changed *ev)
{
	return ev->held ||
	       (live->opts.held && live->opts.run.sampled && !live->links.unknown_loader);
}

/* Reads the code again, and lets the stacks go that wait for that. ev: what asks; NULL: stacks. */
static int read_and_release(struct live *live, struct live_process *process, uint64_t time_ns,
			    const struct abi_ev_code_changed *ev)
{
	uint64_t before = clock_monotonic_ns(), now;
	bool found = false;
	bool in_time = ev && is_in_time(live, ev);
	int r = process->ended ? 0 : read_code(live, process, time_ns, in_time, &found);
	uint64_t share = found ? FOUND_SHARE : NOT_FOUND_SHARE;

	if (ev && ev->by_loader)
		share = LOADER_SHARE;
	now = clock_monotonic_ns();
	process->waiting.read_code_after_ns = now + (now - before) * share + MIN_PAUSE_NS;
	for (size_t i = 0; i < process->waiting.stacks.len; i++) {
		if (r == 0)
			r = live_take_stack(live, process->waiting.stacks.data[i]);
		free(process->waiting.stacks.data[i]);
	}
	process->waiting.stacks.len = 0;
	return r;
}

static struct abi_ev_stack *copy_of(const struct abi_ev_stack *ev)
{
	/* Frames that it does not have are not in the ring either. */
	size_t size = offsetof(struct abi_ev_stack, frame) + ev->frames * sizeof(ev->frame[0]);
	struct abi_ev_stack *copy = malloc(size);

	if (copy)
		memcpy(copy, ev, size);
	return copy;
}

static int let_wait(struct live *live, struct live_process *process, const struct abi_ev_stack *ev)
{
	struct abi_ev_stack *copy;
	int r = 0;

	if (process->waiting.stacks.len == 0)
		r = vec_push(&live->waiting.slots, process->slot);
	copy = r == 0 ? copy_of(ev) : NULL;
	if (!copy)
		return -ENOMEM;
	r = vec_push(&process->waiting.stacks, copy);
	if (r)
		free(copy);
	return r;
}

/*
 * A clock's interrupt between making a process known to the programs and saying so: what it samples
 * there comes before the event that announces the process.
 */
static int let_wait_unannounced(struct live *live, const struct abi_ev_stack *ev)
{
	struct abi_ev_stack *copy = copy_of(ev);
	int r = copy ? vec_push(&live->waiting.unannounced, copy) : -ENOMEM;

	if (r)
		free(copy);
	return r;
}

/* A stack without a process after the next drain, too, is lost, and counted. */
static int release_unannounced(struct live *live, bool at_once)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < live->waiting.unannounced.len; i++) {
		struct abi_ev_stack *ev = live->waiting.unannounced.data[i];

		if (!at_once && i >= live->waiting.n_unannounced_before &&
		    !live_process_at(live, event_slot(&ev->head))) {
			live->waiting.unannounced.data[n++] = ev;
			continue;
		}
		if (r == 0)
			r = live_take_stack(live, ev);
		free(ev);
	}
	live->waiting.unannounced.len = live->waiting.n_unannounced_before = n;
	return r;
}

int live_on_stack(struct live *live, const struct abi_ev_stack *ev)
{
	struct live_process *process = live_process_at(live, event_slot(&ev->head));
	int r;

	if (!process && !(ev->flags & ABI_STACK_KERNEL) &&
	    live->waiting.unannounced.len < MAX_WAITING)
		return let_wait_unannounced(live, ev);
	if (!process || process->placeholder || !live->opts.run.code || process->ended ||
	    ev->flags & ABI_STACK_KERNEL || !needs_reading(live, process, ev))
		return live_take_stack(live, ev);
	if (clock_monotonic_ns() < process->waiting.read_code_after_ns) {
		if (process->waiting.stacks.len < MAX_WAITING)
			return let_wait(live, process, ev);
		if (!process->waiting.code_changed)
			return live_take_stack(live, ev);
	}
	/* The code was there when the first of them was taken. */
	r = read_and_release(live, process,
			     process->waiting.stacks.len ?
				     process->waiting.stacks.data[0]->head.time_ns :
				     ev->head.time_ns,
			     NULL);
	return r ? r : live_take_stack(live, ev);
}

int live_release_stacks(struct live *live, struct live_process *process)
{
	if (process->waiting.stacks.len == 0 && !process->waiting.code_changed)
		return 0;
	return read_and_release(live, process,
				process->waiting.stacks.len ?
					process->waiting.stacks.data[0]->head.time_ns :
					clock_monotonic_ns(),
				NULL);
}

/* What is mapped may be newer than what was read: it is read again when its time has come. */
static int code_may_differ(struct live *live, struct live_process *process)
{
	/* What waits already has it read then. */
	int r = process->waiting.stacks.len || process->waiting.code_changed ?
			0 :
			vec_push(&live->waiting.slots, process->slot);

	process->waiting.code_changed = true;
	return r;
}

int live_on_code_unwatched(struct live *live, struct live_process *process)
{
	code_times_changed(&process->code_times, process->code_times.read_ns);
	return code_may_differ(live, process);
}

int live_on_code_changed(struct live *live, const struct abi_ev_code_changed *ev)
{
	struct live_process *process = live_process_at(live, event_slot(&ev->head));

	if (!process || process->placeholder || !live->opts.run.code || process->ended)
		return 0;
	if (ev->pages != ev->before)
		code_times_changed(&process->code_times, ev->head.time_ns);
	/* What was read later has what it tells of. */
	if (ev->head.time_ns < process->code_times.read_ns)
		return 0;
	if (!ev->held && clock_monotonic_ns() < process->waiting.read_code_after_ns)
		return code_may_differ(live, process);
	process->waiting.code_changed = true;
	return read_and_release(live, process, ev->head.time_ns, ev);
}

int live_release_all_stacks(struct live *live, bool at_once)
{
	uint64_t now = live->waiting.slots.len ? clock_monotonic_ns() : 0;
	size_t n = 0;
	int r = release_unannounced(live, at_once);

	for (size_t i = 0; i < live->waiting.slots.len; i++) {
		slot_t slot = live->waiting.slots.data[i];
		struct live_process *process = live_process_at(live, slot);

		if (r || (process && !at_once && now < process->waiting.read_code_after_ns)) {
			live->waiting.slots.data[n++] = slot;
			continue;
		}
		r = process ? live_release_stacks(live, process) : 0;
	}
	live->waiting.slots.len = n;
	return r;
}

void live_waiting_done(struct live_process *process)
{
	vec_foreach(&process->waiting.stacks, stack)
		free(*stack);
	vec_done(&process->waiting.stacks);
}
