/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/cuts/live_errors.h"

#include "memtraced.skel.h"
#include "trace/bpf/bpf_batch.h"
#include "trace/kernel/urgent.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <errno.h>

static_assert((int)ABI_INVALID_FREE == (int)RECORD_INVALID_FREE &&
		      (int)ABI_REALLOC_ZERO == (int)RECORD_REALLOC_ZERO,
	      "kinds are handed over as they are");

static int collect(const void *keys, const void *values, size_t n, void *userdata)
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
			      sizeof(struct abi_heap_error), collect, ret_errors);
}

void live_errors_done(struct live_errors *errors)
{
	vec_done(&errors->all);
}

static int emit(struct live *live, const struct live_error *error)
{
	const struct abi_heap_error *v = &error->value;
	const struct record record = {
		.type = RECORD_HEAP_ERROR,
		.heap_error = { .slot = error->key.image,
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
				.freed_stack = v->freed_stack },
	};

	return live_emit(live, &record);
}

int live_errors_emit(struct live *live, const struct live_process *process,
		     const struct live_errors *errors)
{
	int r = 0;

	vec_foreach(&errors->all, error)
		if (r == 0 && error->key.image == process->image && error->value.count)
			r = emit(live, error);
	return r;
}

uint64_t live_errors_further(const struct live *live, const struct live_process *process)
{
	const int fd = bpf_map__fd(live->programs->skel->maps.further_heap_errors);
	uint64_t n;

	return urgent_lookup(fd, &process->slot, &n) ? 0 : n;
}

static bool is_gone(const struct live *live, const bool *gone, uint32_t image)
{
	for (size_t slot = 0; slot < live->slots.all.len; slot++)
		if (gone[slot] && live->slots.all.data[slot]->image == image)
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
