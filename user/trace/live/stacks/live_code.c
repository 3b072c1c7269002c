/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code of which no event says what it is. Of libraries it is told that some came or went, by the
 * dynamic linker or by samples (bpf/code_watch.bpf.h). Of other code nothing is: a run-time writes
 * it into memory and makes that executable with mprotect, or maps it without a file. So a stack
 * with a frame in memory that is not known to be code has /proc/PID/maps read again, too. Walks
 * that go astray have such frames, and in numbers: a read is made only when the time since the last
 * was long in comparison with what that took, and stacks wait for it, until a cut at the latest.
 */
#include "base/page.h"
#include "trace/live/live_process.h"
#include "trace/unwind/unwind_tables.h"

#include <errno.h>
#include <string.h>

#define MAX_WAITING 256
/*
 * What reading may take of the time: half where a linker says so, a 5th where code appears, a 21st
 * where nothing does.
 */
#define LOADER_SHARE 1
#define NEWS_SHARE 4
#define NO_NEWS_SHARE 20
#define MIN_PAUSE_NS 1000000
/* A list of code that is longer makes each look-up slow. */
#define MAX_RANGES 4096

static bool is_unknown(const struct live_process *process, uint64_t addr)
{
	return addr >= LIVE_MIN_ADDR && addr < ABI_ADDR_LIMIT && !live_code_at(process, addr);
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
	       (process->code_changed || has_unknown_frame(process, ev));
}

static bool is_covered(const struct live_process *process, const struct proc_map *map)
{
	const struct code_range *range = live_code_at(process, map->start);

	return range && range->end >= map->end;
}

/* Memory without a file that grew: the parts that were known are in it. */
static void drop_parts(struct live_process *process, const struct proc_map *map)
{
	size_t n = 0;

	for (size_t i = 0; i < process->code.len; i++) {
		const struct code_range *range = &process->code.data[i];

		if (range->object || range->start < map->start || range->end > map->end)
			process->code.data[n++] = *range;
	}
	process->code.len = n;
}

static bool is_still_mapped(const struct code_range *range, const struct proc_maps *maps)
{
	const struct proc_map *map = proc_maps_find(maps, range->start);

	return map && map->exec && map->end >= range->end &&
	       map->offset + (range->start - map->start) == range->offset &&
	       map->ino == object_ino(range->object) &&
	       (map->dev_major << 20 | map->dev_minor) == object_dev(range->object);
}

static int drop_range(struct live *live, struct live_process *process,
		      const struct code_range *range)
{
	int r = live_add_gone(live, process, range);

	if (r || !process->space)
		return r;
	return unwind_tables_map(live->tables, process->space, range->start, range->end, 0, 0, 0);
}

/*
 * The programs have begun an epoch with each change, that stacks of before and after it do not hash
 * to the same. Where nothing of before has gone it is the one of before that goes on, so that a
 * run-time which makes code all the time has its stacks once; else a new one begins, for which no
 * rules of the old code are remembered. now: the epoch when the reading began.
 */
static void settle_epoch(struct live *live, struct live_process *process, uint32_t now,
			 bool any_gone)
{
	struct abi_proc *proc = &live->programs->procs[process->slot];

	if (any_gone)
		process->code_epoch = ABI_WATCHED_EPOCH(
			__atomic_add_fetch(&proc->code_epochs, 1, __ATOMIC_RELAXED));
	/* It stays where another change is told of meanwhile, which the next reading shows. */
	if (now != process->code_epoch)
		(void)__atomic_compare_exchange_n(&proc->code_epoch, &now, process->code_epoch,
						  false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/*
 * Files that are not mapped any more leave the list and the unwinder's tables; then the epoch.
 */
static int drop_gone(struct live *live, struct live_process *process, const struct proc_maps *maps,
		     uint32_t epoch)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < process->code.len; i++) {
		const struct code_range range = process->code.data[i];

		if (r || !range.object || is_still_mapped(&range, maps))
			process->code.data[n++] = range;
		else
			r = drop_range(live, process, &range);
	}
	if (r == 0 && n < process->code.len)
		r = live_unwind_sync(live);
	settle_epoch(live, process, epoch, n < process->code.len);
	process->code.len = n;
	return r;
}

/* in_time: none of it can have run. *ret_news: there is code that was not known. */
static int read_code(struct live *live, struct live_process *process, uint64_t time_ns,
		     bool in_time, bool *ret_news)
{
	_cleanup_(proc_maps_done) struct proc_maps maps = {};
	uint64_t now_ns = clock_monotonic_ns();
	uint32_t epoch =
		__atomic_load_n(&live->programs->procs[process->slot].code_epoch, __ATOMIC_RELAXED);
	bool late = false;
	int r = live_settle_news(live, process, true);

	*ret_news = false;
	r = r ? r : live_read_maps(live, process, &maps);
	/* Gone: what is not known by now stays so. */
	if (r)
		return r == -ENOMEM ? r : 0;
	code_times_read(&process->code_times, now_ns);
	if (live_watches_code(live))
		r = drop_gone(live, process, &maps, epoch);
	process->code_changed = false;
	if (r)
		return r;
	for (size_t i = 0; i < maps.n_maps && process->code.len < MAX_RANGES; i++) {
		const struct proc_map *map = &maps.maps[i];

		if (!map->exec || is_covered(process, map))
			continue;
		*ret_news = true;
		if (!map->ino)
			drop_parts(process, map);
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
	return ev->held || (live->opts.held && live->opts.sampled && !live->unknown_loader);
}

/* Reads the code again, and lets the stacks go that wait for that. ev: what asks; NULL: stacks. */
static int read_and_release(struct live *live, struct live_process *process, uint64_t time_ns,
			    const struct abi_ev_code_changed *ev)
{
	uint64_t before = clock_monotonic_ns(), now;
	bool news = false;
	bool in_time = ev && is_in_time(live, ev);
	int r = process->ended ? 0 : read_code(live, process, time_ns, in_time, &news);
	uint64_t share = news ? NEWS_SHARE : NO_NEWS_SHARE;

	if (ev && ev->by_loader)
		share = LOADER_SHARE;
	now = clock_monotonic_ns();
	process->read_code_after_ns = now + (now - before) * share + MIN_PAUSE_NS;
	for (size_t i = 0; i < process->waiting.len; i++) {
		if (r == 0)
			r = live_take_stack(live, process->waiting.data[i]);
		free(process->waiting.data[i]);
	}
	process->waiting.len = 0;
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

	if (process->waiting.len == 0)
		r = vec_push(&live->waiting, process->slot);
	copy = r == 0 ? copy_of(ev) : NULL;
	if (!copy)
		return -ENOMEM;
	r = vec_push(&process->waiting, copy);
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
	int r = copy ? vec_push(&live->unannounced, copy) : -ENOMEM;

	if (r)
		free(copy);
	return r;
}

/* What is nobody's after the next drain, either, is lost, and counted. */
static int release_unannounced(struct live *live, bool at_once)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < live->unannounced.len; i++) {
		struct abi_ev_stack *ev = live->unannounced.data[i];

		if (!at_once && i >= live->n_unannounced_before &&
		    !live_process_at(live, ev->head.slot)) {
			live->unannounced.data[n++] = ev;
			continue;
		}
		if (r == 0)
			r = live_take_stack(live, ev);
		free(ev);
	}
	live->unannounced.len = live->n_unannounced_before = n;
	return r;
}

int live_on_stack(struct live *live, const struct abi_ev_stack *ev)
{
	struct live_process *process = live_process_at(live, ev->head.slot);
	int r;

	if (!process && !(ev->flags & ABI_STACK_KERNEL) && live->unannounced.len < MAX_WAITING)
		return let_wait_unannounced(live, ev);
	if (!process || process->placeholder || !live->opts.code || process->ended ||
	    ev->flags & ABI_STACK_KERNEL || !needs_reading(live, process, ev))
		return live_take_stack(live, ev);
	if (clock_monotonic_ns() < process->read_code_after_ns) {
		if (process->waiting.len < MAX_WAITING)
			return let_wait(live, process, ev);
		if (!process->code_changed)
			return live_take_stack(live, ev);
	}
	/* The code was there when the first of them was taken. */
	r = read_and_release(live, process,
			     process->waiting.len ? process->waiting.data[0]->head.time_ns :
						    ev->head.time_ns,
			     NULL);
	return r ? r : live_take_stack(live, ev);
}

int live_release_stacks(struct live *live, struct live_process *process)
{
	if (process->waiting.len == 0 && !process->code_changed)
		return 0;
	return read_and_release(live, process,
				process->waiting.len ? process->waiting.data[0]->head.time_ns :
						       clock_monotonic_ns(),
				NULL);
}

int live_code_may_differ(struct live *live, struct live_process *process)
{
	/* Who waits already has it read when its time comes. */
	int r = process->waiting.len || process->code_changed ?
			0 :
			vec_push(&live->waiting, process->slot);

	process->code_changed = true;
	return r;
}

int live_on_code_changed(struct live *live, const struct abi_ev_code_changed *ev)
{
	struct live_process *process = live_process_at(live, ev->head.slot);
	int r = ev->held ? vec_push(&live->marks, (pid_t)ev->tid) : 0;

	if (r || !process || process->placeholder || !live->opts.code || process->ended)
		return r;
	if (ev->pages != ev->before)
		code_times_changed(&process->code_times, ev->head.time_ns);
	/* What was read later has what it tells of. */
	if (ev->head.time_ns < process->code_times.read_ns)
		return 0;
	if (!ev->held && clock_monotonic_ns() < process->read_code_after_ns)
		return live_code_may_differ(live, process);
	process->code_changed = true;
	return read_and_release(live, process, ev->head.time_ns, ev);
}

int live_release_all_stacks(struct live *live, bool at_once)
{
	uint64_t now = live->waiting.len ? clock_monotonic_ns() : 0;
	size_t n = 0;
	int r = release_unannounced(live, at_once);

	for (size_t i = 0; i < live->waiting.len; i++) {
		uint32_t slot = live->waiting.data[i];
		struct live_process *process = live_process_at(live, slot);

		if (r || (process && !at_once && now < process->read_code_after_ns)) {
			live->waiting.data[n++] = slot;
			continue;
		}
		r = process ? live_release_stacks(live, process) : 0;
	}
	live->waiting.len = n;
	return r;
}

int live_on_made_code(struct live *live, struct live_process *process, const struct abi_ev_map *ev)
{
	const struct proc_map map = {
		.start = ev->addr,
		.end = ev->addr + page_round_up(ev->len),
		.exec = true,
		.path = "",
	};
	bool late;

	if (!live->opts.code || process->code.len >= MAX_RANGES || is_covered(process, &map))
		return 0;
	drop_parts(process, &map);
	return live_add_code(live, process, &map, ev->head.time_ns, &late);
}
