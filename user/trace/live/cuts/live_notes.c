/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/cuts/live_notes.h"

#include "base/vec.h"
#include "memtraced.skel.h"
#include "trace/bpf/bpf_batch.h"
#include "trace/kernel/urgent.h"
#include "trace/live/books/live_books.h"
#include "trace/live/slots/live_slots.h"

#include <assert.h>
#include <string.h>

static_assert((int)ABI_INVALID_FREE == (int)RECORD_INVALID_FREE &&
		      (int)ABI_REALLOC_ZERO == (int)RECORD_REALLOC_ZERO,
	      "kinds are handed over as they are");

static_assert(ABI_LIFETIMES == RECORD_LIFETIMES && ABI_LIFETIME_SHIFT == RECORD_LIFETIME_SHIFT,
	      "lifetimes are handed over as they are");

/* --- wrong uses of the heap ------------------------------------------------------------------- */

static int collect_errors(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct abi_heap_error_key *key = keys;
	const struct abi_heap_error *value = values;
	struct live_errors *errors = userdata;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = vec_push(&errors->all, (struct live_error){ key[i], value[i] });
	return r;
}

static int errors_fd(const struct programs *programs)
{
	return bpf_map__fd(programs->skel->maps.heap_errors);
}

int live_errors_read(const struct programs *programs, struct live_errors *ret_errors)
{
	*ret_errors = (struct live_errors){ 0 };
	return bpf_batch_read(errors_fd(programs), sizeof(struct abi_heap_error_key),
			      sizeof(struct abi_heap_error), collect_errors, ret_errors);
}

static int collect_book_error(const struct live_book_error *error, void *userdata)
{
	struct live_errors *errors = userdata;

	return vec_push(&errors->all, (struct live_error){ error->key, error->value });
}

int live_errors_read_book(struct live *live, struct live_process *process,
			  struct live_errors *errors)
{
	return live_book_errors(live, process, collect_book_error, errors);
}

void live_errors_done(struct live_errors *errors)
{
	vec_done(&errors->all);
}

static int emit_error(struct live *live, const struct live_error *error)
{
	const struct abi_heap_error *v = &error->value;
	const struct record record = {
		.type = RECORD_HEAP_ERROR,
		.heap_error = { .image = { error->key.image },
				.kind = (enum record_heap_error_kind)error->key.kind,
				.fn = error->key.fn,
				.stack = error->key.stack,
				.count = v->count,
				.time_ns = v->time_ns,
				.addr = v->addr,
				.size = v->size,
				.block = v->block,
				.block_size = v->block ? ABI_BLOCK_SIZE(&v->about) : 0,
				.block_fn = v->block ? ABI_BLOCK_FN(&v->about) : 0,
				.block_stack = v->block ? v->about.stack : 0,
				.freed_fn = v->freed_fn,
				.freed_stack = v->freed_stack,
				.tid = v->tid },
	};

	return live_emit(live, &record);
}

int live_errors_emit(struct live *live, const struct live_process *process,
		     const struct live_errors *errors)
{
	int r = 0;

	vec_foreach(&errors->all, error)
		if (r == 0 && error->key.image == process->image.n && error->value.count)
			r = emit_error(live, error);
	return r;
}

uint64_t live_errors_further(const struct live *live, const struct live_process *process)
{
	const int fd = bpf_map__fd(live->programs->skel->maps.further_heap_errors);
	uint64_t n;

	return (urgent_lookup(fd, &process->slot, &n) ? 0 : n) + process->book.further_errors;
}

static bool is_gone(const struct live *live, const bool *gone, uint32_t image)
{
	for (size_t slot = 0; slot < live->slots.all.len; slot++)
		if (gone[slot] && live->slots.all.data[slot]->image.n == image)
			return true;
	return false;
}

int live_errors_purge(struct live *live, const bool *gone)
{
	const int fd = bpf_map__fd(live->programs->skel->maps.further_heap_errors);
	_cleanup_(live_errors_done) struct live_errors errors;
	const uint64_t none = 0;
	int r = live_errors_read(live->programs, &errors);

	for (size_t i = 0; i < errors.all.len && r == 0; i++)
		if (is_gone(live, gone, errors.all.data[i].key.image))
			bpf_batch_delete(errors_fd(live->programs),
					 sizeof(struct abi_heap_error_key), &errors.all.data[i].key,
					 sizeof(struct abi_heap_error_key));
	for (uint32_t slot = 0; slot < live->slots.all.len && r == 0; slot++)
		if (gone[slot])
			r = urgent_update(fd, &slot, &none);
	return r;
}

/* --- where blocks are freed ------------------------------------------------------------------- */

static int collect_frees(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct abi_free_key *key = keys;
	const struct abi_free_pair *value = values;
	struct live_frees *frees = userdata;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = vec_push(&frees->all, (struct live_free){ key[i], value[i] });
	return r;
}

static int frees_fd(const struct live *live)
{
	return bpf_map__fd(live->programs->skel->maps.free_pairs);
}

DEFINE_COMPARE(compare_images, struct live_free, key.image)

int live_frees_read(const struct live *live, struct live_frees *ret_frees)
{
	*ret_frees = (struct live_frees){ 0 };
	if (!live->opts.run.free_stacks)
		return 0;
	return bpf_batch_read(frees_fd(live), sizeof(struct abi_free_key),
			      sizeof(struct abi_free_pair), collect_frees, ret_frees);
}

void live_frees_sort(struct live_frees *frees)
{
	vec_sort(&frees->all, compare_images);
}

void live_frees_done(struct live_frees *frees)
{
	vec_done(&frees->all);
	interns_done(&frees->keys);
}

struct book_frees {
	struct live_frees *frees;
	size_t first;  /* of those of books */
	size_t room;   /* for so many */
	uint64_t lost; /* blocks of others */
};

static void add_pair(struct abi_free_pair *sum, const struct abi_free_pair *pair)
{
	sum->count += pair->count;
	sum->bytes += pair->bytes;
	sum->others += pair->others;
	sum->unknown += pair->unknown;
	sum->total_ns += pair->total_ns;
	for (size_t i = 0; i < ABI_LIFETIMES; i++)
		sum->lifetimes[i] += pair->lifetimes[i];
}

/* Each thread has counted for itself. */
static int collect_book_free(const struct live_book_free *pair, void *userdata)
{
	struct book_frees *book = userdata;
	struct live_frees *frees = book->frees;
	size_t index;
	int r;

	if (!interns_has(&frees->keys, &pair->key, sizeof(pair->key)) &&
	    interns_count(&frees->keys) >= book->room) {
		book->lost += pair->value.count;
		return 0;
	}
	r = interns_add(&frees->keys, &pair->key, sizeof(pair->key), &index);
	if (r == 1)
		return vec_push(&frees->all, (struct live_free){ pair->key, pair->value });
	if (r == 0)
		add_pair(&frees->all.data[book->first + index].value, &pair->value);
	return r;
}

int live_frees_read_book(struct live *live, struct live_process *process, struct live_frees *frees)
{
	struct book_frees book = { .frees = frees,
				   .first = frees->all.len - interns_count(&frees->keys),
				   .room = live->opts.run.room.pairs };
	int r = live_book_frees(live, process, collect_book_free, &book);

	if (r == 0)
		live_book_frees_lost(live, process, book.lost);
	return r;
}

static int emit_free(struct live *live, const struct live_free *pair)
{
	const struct abi_free_pair *v = &pair->value;
	struct record record = {
		.type = RECORD_FREE_PAIR,
		.free_pair = { .image = { pair->key.image },
			       .fn = pair->key.fn,
			       .stack = pair->key.stack,
			       .free_fn = pair->key.free_fn,
			       .free_stack = pair->key.free_stack,
			       .count = v->count,
			       .bytes = v->bytes,
			       .others = v->others,
			       .unknown = v->unknown,
			       .total_ns = v->total_ns },
	};

	memcpy(record.free_pair.lifetimes, v->lifetimes, sizeof(v->lifetimes));
	return live_emit(live, &record);
}

/* The first of that image or a later one. */
static size_t first_of(const struct live_frees *frees, uint32_t image)
{
	return partition_point(frees->all.len, i, frees->all.data[i].key.image < image);
}

int live_frees_emit(struct live *live, const struct live_process *process,
		    const struct live_frees *frees)
{
	int r = 0;

	for (size_t i = first_of(frees, process->image.n); r == 0 && i < frees->all.len; i++) {
		if (frees->all.data[i].key.image != process->image.n)
			break;
		if (frees->all.data[i].value.count > 0)
			r = emit_free(live, &frees->all.data[i]);
	}
	return r;
}

int live_frees_purge(struct live *live, const bool *gone)
{
	_cleanup_(live_frees_done) struct live_frees frees;
	int r = live_frees_read(live, &frees);

	live_frees_sort(&frees);
	for (size_t slot = 0; r == 0 && slot < live->slots.all.len; slot++) {
		if (!gone[slot])
			continue;
		for (size_t i = first_of(&frees, live->slots.all.data[slot]->image.n);
		     i < frees.all.len; i++) {
			const struct abi_free_key *key = &frees.all.data[i].key;

			if (key->image != live->slots.all.data[slot]->image.n)
				break;
			bpf_batch_delete(frees_fd(live), sizeof(*key), key, sizeof(*key));
		}
	}
	return r;
}
