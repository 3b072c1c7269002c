// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book_totals.h"

/* More is given back. */
#define MOST_CREDIT 65536
/* Of more threads, to take all credits back costs more than one word that all write. */
#define MOST_WITH_CREDIT 16

/* A miss weighs as much as so many allocations from credit; after so many of them there is none. */
#define MISS 4
#define MISSES 256
#define WITHOUT_CREDIT 4096

/* As proc_enter_cut() of bpf/process.bpf.h. */
BOOK_SELDOM void book_keep_cut(uint32_t cut)
{
	struct abi_book_header *h = book.header;
	uint32_t seen = __atomic_load_n(&h->cut_epoch_seen, __ATOMIC_RELAXED), epoch;
	int64_t peak;

	if (seen & ABI_CUT_BUSY || (int32_t)(cut - seen) <= 0)
		return;
	peak = __atomic_load_n(&h->peak_bytes, __ATOMIC_ACQUIRE);
	epoch = __atomic_load_n(&h->peak_epoch, __ATOMIC_ACQUIRE);
	if (!__atomic_compare_exchange_n(&h->cut_epoch_seen, &seen, cut | ABI_CUT_BUSY, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	h->cut_peak_bytes = peak;
	h->cut_peak_epoch = epoch;
	__atomic_store_n(&h->cut_epoch_seen, cut, __ATOMIC_RELEASE);
}

static void raise_peak(int64_t live)
{
	struct abi_book_header *h = book.header;
	__s64 peak = __atomic_load_n(&h->peak_bytes, __ATOMIC_RELAXED);

	while (live > peak)
		if (__atomic_compare_exchange_n(&h->peak_bytes, &peak, live, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			__atomic_fetch_add(&h->peak_epoch, 1, __ATOMIC_ACQ_REL);
			return;
		}
}

static int64_t take_credit(struct abi_book_thread *thread)
{
	if (!__atomic_load_n(&thread->credit, __ATOMIC_RELAXED))
		return 0;
	return __atomic_exchange_n(&thread->credit, 0, __ATOMIC_ACQ_REL);
}

static int64_t take_credits(void)
{
	uint32_t n = __atomic_load_n(&book.header->threads, __ATOMIC_ACQUIRE);
	int64_t sum = 0;

	for (uint32_t i = 1; i <= n; i++)
		sum += take_credit(&book.threads[i]);
	return sum;
}

/*
 * While a credit is taken back and not yet subtracted, the sum is too large: whoever sees one that
 * is above the peak, or takes one back, has the lock. Without it (counted) the peak may be too
 * high.
 */
static uint32_t lock;

void book_totals_begin(void)
{
	lock = 0;
}

static bool begin_taking(int64_t bytes)
{
	if (book_lock(&lock))
		return true;
	__atomic_fetch_add(&book.header->race_bytes, (uint64_t)(bytes < 0 ? -bytes : bytes),
			   __ATOMIC_RELAXED);
	return false;
}

/* The sum is above the peak, or was while others took credits back. */
static void settle_peak(void)
{
	struct abi_book_header *h = book.header;
	int64_t live = __atomic_sub_fetch(&h->live_bytes, take_credits(), __ATOMIC_ACQ_REL);

	raise_peak(live);
}

/* What a thread adds: see book_add_bytes(). */
struct change {
	int64_t bytes;
	uint32_t epoch;
};

/* The sum has it, and the peak may be raised by it afterwards. */
static void note_race(const struct change *change)
{
	int64_t bytes = change->bytes;

	if (BOOK_RARELY(book_peak_epoch() != change->epoch))
		__atomic_fetch_add(&book.header->race_bytes, (uint64_t)(bytes < 0 ? -bytes : bytes),
				   __ATOMIC_RELAXED);
}

/* Without enough credit, or with more than one thread keeps. */
static BOOK_SELDOM void add_to_all(struct abi_book_thread *thread, const struct change *change,
				   int64_t bytes)
{
	struct abi_book_header *h = book.header;
	bool locked = begin_taking(change->bytes);
	int64_t live;

	bytes -= take_credit(thread);
	live = __atomic_add_fetch(&h->live_bytes, bytes, __ATOMIC_ACQ_REL);
	note_race(change);
	if (live > __atomic_load_n(&h->peak_bytes, __ATOMIC_ACQUIRE))
		settle_peak();
	if (locked)
		book_unlock(&lock);
}

static void add_directly(const struct change *change)
{
	struct abi_book_header *h = book.header;
	int64_t live = __atomic_add_fetch(&h->live_bytes, change->bytes, __ATOMIC_ACQ_REL);
	bool locked;

	note_race(change);
	if (live <= __atomic_load_n(&h->peak_bytes, __ATOMIC_ACQUIRE))
		return;
	locked = begin_taking(change->bytes);
	settle_peak();
	if (locked)
		book_unlock(&lock);
}

static bool spend(struct abi_book_thread *thread, int64_t bytes)
{
	__s64 credit = __atomic_load_n(&thread->credit, __ATOMIC_RELAXED);

	while (credit >= bytes)
		if (__atomic_compare_exchange_n(&thread->credit, &credit, credit - bytes, true,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return true;
	return false;
}

/*
 * Where the peak leaves no room, threads take each other's credits back all the time: then the sum
 * itself is cheaper for a while.
 */
static bool is_in_vain(struct book_thread *thread)
{
	if (thread->without_credit) {
		thread->without_credit--;
		return true;
	}
	if (thread->credit_misses < MISSES)
		return false;
	thread->credit_misses = 0;
	thread->without_credit = WITHOUT_CREDIT;
	return true;
}

static void save(struct abi_book_thread *thread, const struct change *change)
{
	int64_t credit = __atomic_add_fetch(&thread->credit, -change->bytes, __ATOMIC_ACQ_REL);

	if (credit > MOST_CREDIT)
		add_to_all(thread, change, 0);
	else
		note_race(change);
}

static void add_by_credit(struct book_thread *thread, const struct change *change)
{
	if (change->bytes < 0) {
		save(thread->shared, change);
	} else if (spend(thread->shared, change->bytes)) {
		note_race(change);
		thread->credit_misses -= thread->credit_misses > 0;
	} else {
		add_to_all(thread->shared, change, change->bytes);
		thread->credit_misses += MISS;
	}
}

void book_add_shared(struct book_thread *thread, int64_t bytes, uint32_t epoch)
{
	const struct change change = { bytes, epoch };
	uint32_t n = __atomic_load_n(&book.header->threads, __ATOMIC_RELAXED);

	if (n > MOST_WITH_CREDIT || is_in_vain(thread))
		add_directly(&change);
	else
		add_by_credit(thread, &change);
}

int64_t book_live_bytes(void)
{
	int64_t sum = __atomic_load_n(&book.header->live_bytes, __ATOMIC_ACQUIRE);

	for (uint32_t i = 1; i <= book.header->threads; i++)
		sum -= __atomic_load_n(&book.threads[i].credit, __ATOMIC_ACQUIRE);
	return sum;
}
