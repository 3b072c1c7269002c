/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/books/live_books.h"

#include "base/clock.h"
#include "trace/books/book.h"
#include "trace/books/book_read.h"
#include "trace/live/probes/live_probes.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"

#include <errno.h>
#include <time.h>

/* For threads in the middle of a change, of all books together. */
#define AWAIT_NS (5 * MS_NS)
/* How often, and for how long at a time, a fork that is under way is waited for. */
#define AGREE_TRIES 20
#define LOOK_NS 50000
/* In place of a cut's epoch, which is even: as it is now. */
#define NOW 1U

/* --- a book ---------------------------------------------------------------------------------- */

static int describe_functions(struct live *live)
{
	int r = 0;

	if (live->books.first_fn)
		return 0;
	r = objects_number(live->objects, ABI_BOOK_FUNCTIONS, &live->books.first_fn);
	for (uint16_t i = 1; i < ABI_BOOK_FUNCTIONS && r == 0; i++) {
		const struct record record = {
			.type = RECORD_FUNCTION,
			.function = { .id = live->books.first_fn + i,
				      .name = book_function_name(i),
				      .object = live->opts.book_library,
				      .file_offset = live->library.probe.functions[i] },
		};

		r = live_emit(live, &record);
	}
	return r;
}

/* waits: for the answer, or held; else what it has done so far is lost. */
static int count_by_probes(struct live *live, struct live_process *process, bool waits)
{
	bool late = false;
	int r = process->links.book ? live_links_without_book(live, process, &late) : 0;

	if (late && r == 0 && !waits)
		live_count_loss(live, process, LOSS_ATTACHED_LATE);
	return r == -ESRCH ? 0 : r; /* ended: an event will tell */
}

/* now: what is in it. */
static int begin_book(struct live *live, struct live_process *process, struct book *book,
		      const struct book_totals *now)
{
	int r = describe_functions(live);

	process->book.book = book;
	book->copies = live->opts.run.room.copies;
	process->book.told_tick = live->programs->control->tick;
	process->book.first_era = shared_proc(live->programs, process->slot)->era - now->era;
	process->book.forks = process->book.told_ended = now->ended_forks;
	process->book.earlier = now->era - now->ended_forks;
	process->book.calls = now->calls;
	/* By a child in its memory, after its end. */
	process->book.outlived = process->settled;
	if (r == 0)
		r = live_links_by_book(live, process);
	if (r == -ESRCH)
		r = 0; /* it has ended: an event will tell */
	if (r == 0 && book_answer(book, ABI_BOOK_READ))
		live_count_loss(live, process, LOSS_BOOK);
	return r;
}

static struct book_request request_of(const struct live *live)
{
	return (struct book_request){
		.filter = live->opts.run.block_filter,
		.wants = (live->opts.run.heap_errors ? ABI_BOOK_ERRORS : 0) |
			 (live->opts.run.free_stacks ? ABI_BOOK_FREES : 0) |
			 (live->opts.run.lifetimes ? ABI_BOOK_CLOCK : 0),
	};
}

/* 0, -ESTALE: it is not kept any more; or another negative errno. */
static int tell_first(const struct live *live, struct book *book, struct book_totals *ret_now)
{
	const struct abi_control *control = live->programs->control;
	const struct book_request request = request_of(live);
	int r = book_begin(book, &request, control->cut_epoch,
			   live_clock_tick(live, control->tick));

	return r ? r : book_read_totals(book, NOW, ret_now);
}

/*
 * It may be closed where the process does not wait: what it has mapped is the same. -ESRCH: it has
 * ended, and what was opened may be another's that has its pid.
 */
static int open_told(const struct live *live, const struct live_process *process,
		     const struct abi_ev_book *ev, struct book **ret_book)
{
	_cleanup_(book_close_p) struct book *book = NULL;
	int r = ev->fd < 0 ? -EINVAL : book_open((pid_t)ev->pid, ev->fd, &book);

	if (r && r != -ENOMEM && ev->fd >= 0)
		r = book_open_mapped((pid_t)ev->pid, &book);
	if (r == 0 && !live_has_pid(live, (pid_t)ev->pid, process->image))
		r = -ESRCH;
	if (r == 0)
		*ret_book = TAKE_PTR(book);
	return r;
}

/* The programs have looked it up. */
static void answer_rule(struct live *live, struct live_process *process, uint64_t rule)
{
	if (process->book.book && book_tell_rule(process->book.book, rule))
		live_count_loss(live, process, LOSS_BOOK);
}

int live_on_book(struct live *live, const struct abi_ev_book *ev)
{
	struct live_process *process = live_process_at(live, event_slot(&ev->head));
	_cleanup_(book_close_p) struct book *book = NULL;
	struct book_totals now;
	int r;

	if (!process || (process->ended && !process->n_in_memory))
		return 0;
	if (ev->fd == ABI_BOOK_ASKS) {
		answer_rule(live, process, ev->rule);
		return 0;
	}
	/* It was found before the event came. */
	if (process->book.found)
		return 0;
	r = open_told(live, process, ev, &book);
	if (r == -ENOMEM)
		return r;
	if (r)
		return count_by_probes(live, process, ev->held);
	if (process->links.book == LINKS_BOOK_EXPECTED && live_links_own_names(process)) {
		bool late = false; /* it waits for the answer */

		r = live_links_without_book(live, process, &late);
		if (r)
			return r == -ESRCH ? 0 : r;
	}
	/* Probes count it, or another book of it is read. */
	if (process->book.book || process->placeholder ||
	    process->links.book != LINKS_BOOK_EXPECTED) {
		(void)book_answer(book, ABI_BOOK_UNREAD); /* else it keeps one in vain */
		return 0;
	}
	r = tell_first(live, book, &now);
	return r ? count_by_probes(live, process, false) :
		   begin_book(live, process, TAKE_PTR(book), &now);
}

/* A child may go on in its memory when it has ended. */
static bool is_kept(const struct live_process *process)
{
	return process && process->book.book && !process->settled &&
	       (!process->ended || process->n_in_memory);
}

/* --- forks ----------------------------------------------------------------------------------- */

static struct live_process *find_parent(const struct live *live, const struct live_process *process)
{
	uint32_t parent = shared_proc(live->programs, process->slot)->parent;

	return parent == ABI_NO_SLOT ? NULL : live_process_at(live, (slot_t){ parent });
}

struct live_process *live_book_ancestor(const struct live *live, const struct live_process *process)
{
	struct live_process *ancestor = find_parent(live, process);

	/* Each is an older process: the chain ends. */
	while (ancestor && !ancestor->book.book)
		ancestor = find_parent(live, ancestor);
	return ancestor;
}

void live_book_fork(struct live_process *parent, struct live_process *child)
{
	parent->book.forks++;
	child->book.parent_was_empty = !parent->book.book;
}

uint32_t live_book_era(const struct live_process *process)
{
	uint32_t era;

	return book_read_era(process->book.book, &era) ? process->book.era : era;
}

static void mark_ancestors(const struct live *live, const struct live_process *process,
			   bool *shared)
{
	const struct live_process *ancestor = process;

	while ((ancestor = live_book_ancestor(live, ancestor)))
		shared[ancestor->slot.n] = true;
}

/*
 * Of forks that another reader was told of: is a child or a child's child left that looks up blocks
 * in the book? It has it mapped. One that was not looked at yet may fork meanwhile, and end.
 */
static bool is_mapped_elsewhere(struct live *live, const struct live_process *process)
{
	uint64_t began_ns = clock_monotonic_ns();
	bool is;

	if (!clock_share_is_left(live->books.paid_ns, began_ns))
		return true; /* it keeps its memory so long */
	is = book_is_mapped_elsewhere(process->book.book, process->pid) ||
	     book_is_mapped_elsewhere(process->book.book, process->pid);
	live->books.paid_ns = clock_share_pay(live->books.paid_ns, began_ns, clock_monotonic_ns());
	return is;
}

static bool has_earlier(struct live *live, struct live_process *process)
{
	if (process->book.earlier && is_mapped_elsewhere(live, process))
		return true;
	process->book.forks += process->book.earlier;
	process->book.earlier = 0;
	return false;
}

/*
 * When no child is left whose values are not read, and it is certain that none is on its way: all
 * forks that the book knows have been told of.
 */
static void end_forks(struct live *live, struct live_process *process)
{
	uint32_t era = live_book_era(process);

	process->book.era = era;
	if (era == process->book.told_ended || era != process->book.forks + process->book.earlier ||
	    has_earlier(live, process))
		return;
	if (book_end_forks(process->book.book, era) == 0)
		process->book.told_ended = era;
}

void live_books_end_forks(struct live *live)
{
	_cleanup_free_ bool *shared = calloc(live->slots.all.len + 1, sizeof(*shared));

	if (!shared)
		return; /* the next time, then: it keeps its memory so long */
	vec_foreach(&live->slots.all, p)
		if (*p)
			mark_ancestors(live, *p, shared);
	vec_foreach(&live->slots.all, p)
		if (is_kept(*p) && !shared[(*p)->slot.n])
			end_forks(live, *p);
}

void live_book_done(struct live_process *process)
{
	/* It is kept on, as before; others notice that we are gone. */
	if (process->book.found && !process->ended)
		(void)book_leave(process->book.book); /* or it has ended */
	book_close(process->book.book);
	process->book.book = NULL;
}

uint64_t live_book_calls(const struct live *live)
{
	return live->books.calls;
}

/* --- moments --------------------------------------------------------------------------------- */

static int take_totals(struct live *live, struct live_process *process, uint32_t cut,
		       struct book_totals *ret_totals)
{
	struct shared_totals shared = {};
	int r = process->book.book ? book_read_totals(process->book.book, cut, ret_totals) : 0;

	if (r)
		return r;
	live->books.calls += (ret_totals->calls - process->book.calls) & (UINT32_MAX >> 1);
	process->book.calls = ret_totals->calls;
	if (process->book.book)
		shared = (struct shared_totals){
			.live_bytes = ret_totals->live_bytes,
			.peak_bytes = ret_totals->peak_bytes,
			.peak_epoch = ret_totals->peak_epoch,
			.race_bytes = ret_totals->race_bytes,
			.failed = ret_totals->failed + (process->ended ? ret_totals->failing : 0),
			.unknown_frees = ret_totals->unknown_frees,
		};
	shared_set_totals(live->programs, process->slot, live->programs->control->cut_epoch,
			  &shared);
	return 0;
}

/*
 * The parent of one that was forked while another reader read both, among those that are read: it
 * has that book mapped, which it says to be its parent's.
 */
static struct live_process *find_adopted_parent(const struct live *live,
						const struct live_process *process,
						const struct book_totals *now)
{
	vec_foreach(&live->slots.all, p) {
		struct live_process *parent = *p;

		if (is_kept(parent) && parent != process && parent->book.found &&
		    parent->book.book->inode == now->parent_file &&
		    now->parent_era <= live_book_era(parent) &&
		    book_is_mapped(parent->book.book, process->pid))
			return parent;
	}
	return NULL;
}

int live_book_adopt(struct live *live, struct live_process *process)
{
	struct live_process *parent = NULL;
	_cleanup_(book_close_p) struct book *book = NULL;
	struct book_totals now;
	int r;

	if (live->library.fd < 0 || process->placeholder || live_links_own_names(process) ||
	    live_links_own_allocator(process))
		return 0;
	r = book_open_mapped(process->pid, &book);
	if (r == 0 && !live_has_pid(live, process->pid, process->image))
		r = -ESRCH; /* it may be another's */
	if (r == 0)
		r = tell_first(live, book, &now);
	if (r == 0 && now.parent_era)
		parent = find_adopted_parent(live, process, &now);
	if (r == 0 && !live_has_pid(live, process->pid, process->image))
		r = -ESRCH;
	/* As book_try() says. */
	if (r || (now.parent_era && !parent))
		return r == -ENOMEM ? r : 0;
	process->book.found = true;
	/* note_inherited() does the rest. */
	if (parent)
		shared_set_parent(live->programs, process->slot, parent->slot);
	r = begin_book(live, process, TAKE_PTR(book), &now);
	if (r == 0)
		r = take_totals(live, process, NOW, &now);
	if (r == 0)
		live_forget_peak(live, process);
	/* From its first call on all is known. */
	if (r == 0)
		live_process_set_complete(process);
	if (r == 0 && process->book.earlier)
		end_forks(live, process);
	return r;
}

void live_books_tick(struct live *live)
{
	const struct abi_control *control = live->programs->control;

	vec_foreach(&live->slots.all, p) {
		struct live_process *process = *p;
		struct book_totals totals;

		if (!is_kept(process) || process->book.told_tick == control->tick)
			continue;
		/* What cannot be told or read now is counted at the cut. */
		(void)book_tell(process->book.book, control->cut_epoch,
				live_clock_tick(live, control->tick));
		(void)take_totals(live, process, NOW, &totals);
		process->book.told_tick = control->tick;
	}
}

void live_books_raise_epoch(struct live *live)
{
	const struct abi_control *control = live->programs->control;

	live_raise_epoch(live);
	vec_foreach(&live->slots.all, p)
		if (is_kept(*p) && book_tell((*p)->book.book, control->cut_epoch,
					     live_clock_tick(live, control->tick)))
			live_count_loss(live, *p, LOSS_BOOK);
}

bool live_books_await(struct live *live)
{
	bool all = live_await_programs(live);
	uint64_t deadline_ns = clock_monotonic_ns() + AWAIT_NS;

	vec_foreach(&live->slots.all, p)
		if (is_kept(*p) && book_await((*p)->book.book, deadline_ns))
			all = false;
	return all;
}

static void count_losses(struct live *live, struct live_process *process,
			 const struct book_totals *totals)
{
	for (size_t i = 0; i < ABI_BOOK_LOSSES; i++) {
		uint64_t told = process->book.told_lost[i];

		/* What gets less is not to be believed. */
		if (totals->lost[i] <= told)
			continue;
		live_count_losses(live, abi_book_loss_is_beside((int)i) ? NULL : process,
				  LOSS_BOOK_FIRST + i, totals->lost[i] - told);
		process->book.told_lost[i] = totals->lost[i];
	}
	process->book.further_errors = totals->further_errors;
	if (totals->passed_on && !totals->lost[ABI_BOOK_LOST_LIMIT] && !process->book.told_ceased &&
	    !process->ended)
		live_count_loss(live, process, LOSS_BOOK_CEASED);
	process->book.told_ceased = totals->passed_on;
}

void live_book_frees_lost(struct live *live, struct live_process *process, uint64_t n)
{
	if (n > process->book.told_frees_lost)
		live_count_losses(live, NULL, LOSS_BOOK_FIRST + ABI_BOOK_LOST_PAIRS,
				  n - process->book.told_frees_lost);
	process->book.told_frees_lost = n;
}

void live_book_count_left_out(struct live *live, struct live_process *process, uint64_t n)
{
	if (n > process->book.told_left_out)
		live_count_losses(live, process, LOSS_BOOK, n - process->book.told_left_out);
	if (n > process->book.told_left_out)
		process->book.told_left_out = n;
}

static bool is_replaced(const struct live *live, const struct live_process *process)
{
	vec_foreach(&live->slots.all, p)
		if (*p && (*p)->prev_image.n == process->image.n)
			return true;
	return false;
}

/*
 * Its book counts a fork before it is made, the programs when it is made: where both counts are the
 * same, so are all numbers so far. One that has failed, or that was made past the library, makes
 * them differ for good.
 */
static bool agree_on_fork(const struct live *live, struct live_process *parent, uint32_t era)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };

	for (unsigned int i = 0; i < AGREE_TRIES && parent->book.agreed < era; i++) {
		uint32_t counted = shared_proc(live->programs, parent->slot)->era;

		if (live_book_era(parent) + parent->book.first_era == counted)
			parent->book.agreed = counted;
		else if (!parent->ended)
			(void)nanosleep(&pause, NULL); /* a signal: it looks sooner */
		else
			break;
	}
	return parent->book.agreed >= era;
}

/* As its parent's book numbers it; false: that is not known. */
static bool find_parent_era(const struct live *live, struct live_process *parent,
			    const struct live_process *process, const struct book_totals *totals,
			    uint32_t *ret_era)
{
	uint32_t counted = shared_proc(live->programs, process->slot)->parent_era;

	*ret_era = 0;
	/* Of what it has made since nothing is the child's. */
	if (process->book.parent_was_empty)
		return true;
	if (!parent->book.book)
		return false;
	*ret_era = totals->parent_era;
	if (process->book.book)
		return totals->parent_era != 0;
	if (!agree_on_fork(live, parent, counted))
		return false;
	*ret_era = counted - parent->book.first_era;
	return true;
}

/*
 * The blocks that a forked child inherits are known by the era of its fork, as its book has it, and
 * else as the programs count forks, if its parent's book counts the same ones. It is of no interest
 * where an exec has followed.
 */
static void note_inherited(struct live *live, struct live_process *process,
			   const struct book_totals *totals)
{
	bool forked = shared_proc(live->programs, process->slot)->parent != ABI_NO_SLOT;
	struct live_process *parent = find_parent(live, process);
	uint32_t era;

	process->book.era = totals->era;
	if (!forked || process->book.told_inherited ||
	    (process->book.has_era && !process->book.book))
		return;
	if (parent && find_parent_era(live, parent, process, totals, &era)) {
		shared_set_parent_era(live->programs, process->slot, era);
		process->book.has_era = true;
		return;
	}
	process->book.told_inherited = true;
	shared_forget_parent(live->programs, process->slot);
	if (!process->ended || !is_replaced(live, process))
		live_count_loss(live, process, LOSS_BOOK_FIRST + ABI_BOOK_LOST_FORK);
}

static int add_calls(const struct book_site *site, void *userdata)
{
	const struct abi_site_counts *counts = &site->counts;
	uint64_t *calls = userdata;

	*calls += 2 * counts->allocs - (uint64_t)counts->live_blocks - counts->missed_frees;
	return 0;
}

/* Allocations, frees, and what came of neither. */
static int count_calls(const struct live_process *process, uint32_t cut, uint64_t *ret_calls)
{
	struct book_totals totals;
	uint64_t calls = 0;
	int r = book_read_sites(process->book.book, cut, add_calls, &calls);

	if (r == 0)
		r = book_read_totals(process->book.book, cut, &totals);
	if (r == 0)
		*ret_calls = calls + totals.failed + totals.unknown_frees;
	return r;
}

/* What it has counted by the cut that settles it is all that is reported. */
static void note_outlived(struct live *live, struct live_process *process, uint32_t cut)
{
	if (!process->ended || !process->n_in_memory || !process->book.book)
		return;
	if (count_calls(process, cut, &process->book.counted))
		live_count_loss(live, process, LOSS_BOOK);
	else
		process->book.outlived = true;
}

void live_book_count_outlived(struct live *live, struct live_process *process)
{
	uint64_t calls;

	if (!process->settled || !process->book.outlived)
		return;
	if (count_calls(process, NOW, &calls)) {
		live_count_loss(live, process, LOSS_BOOK);
	} else if (calls > process->book.counted) {
		live_count_losses(live, NULL, LOSS_SHARED_MEMORY,
				  book_lost(calls - process->book.counted));
		process->book.counted = calls;
	}
}

void live_books_take_totals(struct live *live, bool ended_only)
{
	const uint32_t cut = live->programs->control->cut_epoch;

	vec_foreach(&live->slots.all, p) {
		struct live_process *process = *p;
		struct book_totals totals = {};

		if (process)
			live_book_count_outlived(live, process);
		if (!process || process->settled || process->placeholder || !process->links.book ||
		    (ended_only && !process->ended))
			continue;
		if (take_totals(live, process, cut, &totals))
			live_count_loss(live, process, LOSS_BOOK);
		live_note_peak(live, process);
		count_losses(live, process, &totals);
		note_inherited(live, process, &totals);
		note_outlived(live, process, cut);
	}
}
