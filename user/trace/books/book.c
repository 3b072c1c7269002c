/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/books/book.h"

#include "base/clock.h"
#include "base/vec.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How often threads in the middle of a change are looked at. */
#define LOOK_NS 50000
/* A thread that saves the peak goes on when its CPU does. */
#define SAVED_TRIES 1000
#define THREADS_AT_ONCE 64U

/* The word of the header that the process may wait for. */
static int put_and_wake(const struct book *book, size_t at, uint32_t word)
{
	int r = book_put(book, at, &word, sizeof(word));

	if (r)
		return r;
	if (syscall(SYS_futex, (char *)book->header + at, FUTEX_WAKE, INT_MAX, NULL, NULL, 0) < 0)
		return -errno;
	return 0;
}

int book_answer(const struct book *book, enum abi_book_answer answer)
{
	uint32_t reader = (uint32_t)getpid();
	int r = book_put(book, offsetof(struct abi_book_header, reader), &reader, sizeof(reader));

	return r ? r : put_and_wake(book, offsetof(struct abi_book_header, answer), answer);
}

int book_tell_rule(const struct book *book, uint64_t rule)
{
	int r = book_put(book, offsetof(struct abi_book_header, rule), &rule, sizeof(rule));

	return r ? r : put_and_wake(book, offsetof(struct abi_book_header, has_rule), 1);
}

static int put_wants(const struct book *book, uint32_t wants)
{
	return book_put(book, offsetof(struct abi_book_header, wants), &wants, sizeof(wants));
}

static int set_request(const struct book *book, const struct book_request *request)
{
	bool all = abi_block_filter_is_open(&request->filter);
	int r = book_put(book, offsetof(struct abi_book_header, filter), &request->filter,
			 sizeof(request->filter));

	return r ? r : put_wants(book, request->wants | (all ? 0 : ABI_BOOK_SIZES));
}

int book_leave(const struct book *book)
{
	int r = put_wants(book, 0);

	return r ? r : book_answer(book, ABI_BOOK_UNANSWERED);
}

DEFINE_COMPARE(compare_starts, struct book_gone, start)

/* Ranges may overlap, of which the latest counts: each begins and ends where one of them does. */
static void set_gone(struct book *book, const struct abi_book_gone *gone, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		book->gone[book->n_gone++].start = gone[i].start;
		book->gone[book->n_gone++].start = gone[i].end;
	}
	qsort(book->gone, book->n_gone, sizeof(book->gone[0]), compare_starts);
	for (size_t i = 0; i < n; i++) {
		size_t at = partition_point(book->n_gone, k, book->gone[k].start < gone[i].start);

		for (; at < book->n_gone && book->gone[at].start < gone[i].end; at++)
			if (book->gone[at].time_ns < gone[i].time_ns)
				book->gone[at].time_ns = gone[i].time_ns;
	}
}

static int read_gone(struct book *book, uint32_t n)
{
	_cleanup_free_ struct abi_book_gone *gone = NULL;
	int r;

	if (n > ABI_BOOK_GONE)
		n = ABI_BOOK_GONE;
	if (n == 0 || book->gone)
		return 0;
	gone = calloc(n, sizeof(*gone));
	book->gone = calloc(2 * (size_t)n, sizeof(*book->gone));
	if (!gone || !book->gone)
		return -ENOMEM;
	r = book_get(book, ABI_BOOK_AT_GONE, gone, n * sizeof(*gone));
	if (r == 0)
		set_gone(book, gone, n);
	return r;
}

int book_begin(struct book *book, const struct book_request *request, uint32_t cut_epoch,
	       uint64_t tick)
{
	struct abi_book_header header;
	int r = book_get_header(book, &header);

	if (r)
		return r;
	if (header.passed_on)
		return -ESTALE;
	/* Of a new book, it is as it is told. */
	if (header.cut_epoch || header.tick)
		book->first_epoch = (header.cut_epoch & ~ABI_CUT_BUSY) + ABI_CUT_STEP - cut_epoch;
	r = read_gone(book, header.gone);
	if (r == 0)
		r = set_request(book, request);
	return r ? r : book_tell(book, cut_epoch, tick);
}

int book_try(pid_t pid)
{
	_cleanup_(book_close_p) struct book *book = NULL;
	struct abi_book_header header;
	int r = book_open_mapped(pid, &book);

	if (r == 0)
		r = book_get_header(book, &header);
	if (r)
		return r;
	if (header.wants & ABI_BOOK_SIZES)
		return -ENODATA;
	return header.passed_on ? -ESTALE : header.parent_era ? -EXDEV : 0;
}

int book_tell(const struct book *book, uint32_t cut_epoch, uint64_t tick)
{
	const struct {
		uint32_t cut_epoch, tick;
	} words = { book->first_epoch + cut_epoch,
		    (uint32_t)((tick * ABI_TICK_NS + (uint64_t)book->clock_ns + ABI_TICK_NS - 1) /
			       ABI_TICK_NS) };

	/* As one word of 64 bits: what is copied byte by byte may be seen half. */
	static_assert(offsetof(struct abi_book_header, cut_epoch) % 8 == 0 &&
			      offsetof(struct abi_book_header, tick) ==
				      offsetof(struct abi_book_header, cut_epoch) + 4,
		      "one aligned word");
	return book_put(book, offsetof(struct abi_book_header, cut_epoch), &words, sizeof(words));
}

/* A thread in the middle of a change. */
struct thread_at {
	uint32_t number, at;
};
typedef VEC(struct thread_at) thread_list;

static uint64_t thread_place(uint32_t number)
{
	return ABI_BOOK_AT_THREADS + (uint64_t)number * sizeof(struct abi_book_thread);
}

typedef int (*thread_fn)(uint32_t number, const struct abi_book_thread *thread, void *userdata);

static int each_thread(const struct book *book, const struct abi_book_header *header, thread_fn fn,
		       void *userdata)
{
	uint32_t last = book_at_most(header->threads, ABI_BOOK_THREADS - 1);
	struct abi_book_thread threads[THREADS_AT_ONCE];
	int r = 0;

	for (uint32_t first = 1; first <= last && r == 0; first += THREADS_AT_ONCE) {
		uint32_t count = book_at_most(last - first + 1, THREADS_AT_ONCE);

		r = book_get(book, thread_place(first), threads, count * sizeof(threads[0]));
		for (uint32_t i = 0; i < count && r == 0; i++)
			r = fn(first + i, &threads[i], userdata);
	}
	return r;
}

static int note_busy(uint32_t number, const struct abi_book_thread *thread, void *userdata)
{
	thread_list *busy = userdata;

	return thread->at & 1 ? vec_push(busy, (struct thread_at){ number, thread->at }) : 0;
}

/* Those that have gone on leave the list. */
static int drop_moved(const struct book *book, thread_list *busy)
{
	size_t kept = 0;

	for (size_t i = 0; i < busy->len; i++) {
		struct abi_book_thread thread;
		int r = book_get(book, thread_place(busy->data[i].number), &thread, sizeof(thread));

		if (r)
			return r;
		if (thread.at == busy->data[i].at)
			busy->data[kept++] = busy->data[i];
	}
	busy->len = kept;
	return 0;
}

int book_await(const struct book *book, uint64_t deadline_ns)
{
	const struct timespec look = { .tv_nsec = LOOK_NS };
	struct abi_book_header header;
	thread_list busy = {};
	int r = book_get_header(book, &header);

	if (r == 0)
		r = each_thread(book, &header, note_busy, &busy);
	while (r == 0 && busy.len) {
		r = drop_moved(book, &busy);
		if (r || !busy.len)
			break;
		if (clock_monotonic_ns() >= deadline_ns)
			r = -ETIME;
		else
			(void)nanosleep(&look, NULL); /* a signal: it looks sooner */
	}
	vec_done(&busy);
	return r;
}

static void set_totals(const struct abi_book_header *header, struct book_totals *ret)
{
	*ret = (struct book_totals){ .live_bytes = book_clamp(header->live_bytes),
				     .era = header->era,
				     .ended_forks = header->ended_forks,
				     .parent_era = header->parent_era,
				     .parent_file = header->parent_file,
				     .peak_bytes = book_clamp(header->peak_bytes),
				     .peak_epoch = header->peak_epoch,
				     .race_bytes = header->race_bytes,
				     .failed = header->failed,
				     .further_errors = header->further_errors,
				     .unknown_frees = header->unknown_frees,
				     .passed_on = header->passed_on,
				     .stays = header->stays };
	for (size_t i = 0; i < ABI_BOOK_LOSSES; i++)
		ret->lost[i] = book_lost(header->lost[i]);
}

/*
 * The order of shared_peak_at_cut(): what nobody has saved after the peak was read, nobody had
 * raised by then; what was saved before a reading is whole in it.
 */
static int read_header_totals(const struct book *book, uint32_t cut_epoch,
			      struct abi_book_header *header, struct book_totals *ret_totals)
{
	struct abi_book_header later;
	int r = 0;

	for (unsigned int i = 0; r == 0; i++) {
		r = book_get_header(book, &later);
		if (r)
			return r;
		if (header->cut_epoch_seen == cut_epoch) {
			set_totals(&later, ret_totals);
			ret_totals->peak_bytes = book_clamp(later.cut_peak_bytes);
			ret_totals->peak_epoch = later.cut_peak_epoch;
			return 0;
		}
		if ((later.cut_epoch_seen & ~ABI_CUT_BUSY) != cut_epoch || i == SAVED_TRIES) {
			set_totals(header, ret_totals);
			return 0;
		}
		sched_yield();
		*header = later;
	}
	return r;
}

/* Of threads: what they have freed, and the total still has; what may have failed; all calls. */
struct thread_sums {
	uint64_t credit, failing;
	uint32_t calls;
};

static int add_thread(uint32_t number, const struct abi_book_thread *thread, void *userdata)
{
	struct thread_sums *sums = userdata;

	(void)number;
	sums->credit += (uint64_t)thread->credit;
	sums->failing += thread->failing;
	sums->calls += thread->at / 2;
	return 0;
}

int book_read_totals(const struct book *book, uint32_t cut_epoch, struct book_totals *ret_totals)
{
	struct abi_book_header header;
	struct thread_sums sums = { 0 };
	int r = book_get_header(book, &header);

	if (r == 0)
		r = each_thread(book, &header, add_thread, &sums);
	if (r == 0)
		r = read_header_totals(book, book->first_epoch + cut_epoch, &header, ret_totals);
	if (r)
		return r;
	ret_totals->live_bytes -= book_clamp((int64_t)sums.credit);
	ret_totals->failing = sums.failing;
	ret_totals->calls = sums.calls;
	return 0;
}

int book_read_era(const struct book *book, uint32_t *ret_era)
{
	return book_get(book, offsetof(struct abi_book_header, era), ret_era, sizeof(*ret_era));
}

int book_end_forks(const struct book *book, uint32_t n)
{
	return book_put(book, offsetof(struct abi_book_header, ended_forks), &n, sizeof(n));
}
