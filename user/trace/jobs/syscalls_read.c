/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/jobs/syscalls_read.h"

#include "base/hashmap.h"
#include "base/vec.h"
#include "trace/bpf/bpf_batch.h"
#include "trace/kernel/syscall_table.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

struct call_row {
	uint32_t slot;
	int32_t number;
	struct abi_syscall sum;
	uint64_t n_errors;
	VEC(struct record_errno) errors;
};

struct file_row {
	uint32_t slot;
	const char *path;
	struct abi_io sum;
};

struct stack_row {
	uint32_t slot;
	int32_t number;
	uint64_t stack;
	struct abi_syscall_stack sum;
};

/* A reading of the maps. */
struct reading {
	const struct file_names *names;
	struct hashmap calls, files, stacks;
};

static void call_free(void *item)
{
	struct call_row *row = item;

	vec_done(&row->errors);
	free(row);
}

DEFINE_HASHMAP_OPS(call_ops, struct call_row, call_free, slot, number);

/* Files of one path are one: many can share it, such as those of anon_inodefs. */
static uint64_t file_hash(const void *item)
{
	const struct file_row *row = item;

	return hash_bytes(row->path, strlen(row->path), row->slot);
}

static bool file_equal(const void *item_a, const void *item_b)
{
	const struct file_row *a = item_a, *b = item_b;

	return a->slot == b->slot && strcmp(a->path, b->path) == 0;
}

static const struct hashmap_ops file_ops = { file_hash, file_equal, free };

DEFINE_HASHMAP_OPS(stack_ops, struct stack_row, free, stack, slot, number);

/* --- reading --------------------------------------------------------------------------------- */

static int on_calls(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct abi_syscall_key *key = keys;
	const struct abi_syscall *value = values;
	struct reading *r = userdata;

	for (size_t i = 0; i < n; i++) {
		const struct call_row want = { .slot = key[i].slot, .number = key[i].number };
		struct call_row *row;

		row = hashmap_intern(&r->calls, &want, sizeof(want), NULL);
		if (!row)
			return -ENOMEM;
		row->sum.untimed += value[i].untimed;
		row->sum.restarted += value[i].restarted;
		row->sum.total_ns += value[i].total_ns;
		row->sum.bytes += value[i].bytes;
		if (row->sum.max_ns < value[i].max_ns)
			row->sum.max_ns = value[i].max_ns;
		for (size_t b = 0; b < ABI_LATENCY_BUCKETS; b++)
			row->sum.buckets[b] += value[i].buckets[b];
	}
	return 0;
}

static int add_errors(struct call_row *row, uint32_t number, uint64_t count)
{
	row->n_errors += count;
	vec_foreach(&row->errors, error) {
		if (error->number != number)
			continue;
		error->count += count;
		return 0;
	}
	return vec_push(&row->errors, (struct record_errno){ number, count });
}

static int on_errors(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct abi_syscall_error_key *key = keys;
	const uint64_t *count = values;
	struct reading *r = userdata;

	for (size_t i = 0; i < n; i++) {
		const struct call_row want = { .slot = key[i].slot, .number = key[i].number };
		struct call_row *row;

		row = hashmap_intern(&r->calls, &want, sizeof(want), NULL);
		if (!row || add_errors(row, key[i].error, count[i]))
			return -ENOMEM;
	}
	return 0;
}

static int on_files(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct abi_io_key *key = keys;
	const struct abi_io *value = values;
	struct reading *r = userdata;

	for (size_t i = 0; i < n; i++) {
		const char *path = file_names_find(r->names, &key[i].id);
		const struct file_row want = { .slot = key[i].slot, .path = path ? path : "?" };
		struct file_row *row;

		row = hashmap_intern(&r->files, &want, sizeof(want), NULL);
		if (!row)
			return -ENOMEM;
		row->sum.opens += value[i].opens;
		row->sum.reads += value[i].reads;
		row->sum.writes += value[i].writes;
		row->sum.others += value[i].others;
		row->sum.bytes_read += value[i].bytes_read;
		row->sum.bytes_written += value[i].bytes_written;
		row->sum.total_ns += value[i].total_ns;
	}
	return 0;
}

static int on_stacks(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct abi_syscall_stack_key *key = keys;
	const struct abi_syscall_stack *value = values;
	struct reading *r = userdata;

	for (size_t i = 0; i < n; i++) {
		const struct stack_row want = {
			.slot = key[i].slot,
			.number = key[i].number,
			.stack = key[i].stack,
		};
		struct stack_row *row;

		row = hashmap_intern(&r->stacks, &want, sizeof(want), NULL);
		if (!row)
			return -ENOMEM;
		row->sum.calls += value[i].calls;
		row->sum.total_ns += value[i].total_ns;
	}
	return 0;
}

static int read_maps(const struct syscall_maps *maps, struct reading *reading)
{
	/* Errors before calls: of calls that go on meanwhile there are never more errors. */
	int r = bpf_batch_read(maps->errors_fd, sizeof(struct abi_syscall_error_key),
			       sizeof(uint64_t), on_errors, reading);

	if (r == 0)
		r = bpf_batch_read(maps->calls_fd, sizeof(struct abi_syscall_key),
				   sizeof(struct abi_syscall), on_calls, reading);
	if (r == 0)
		r = bpf_batch_read(maps->files_fd, sizeof(struct abi_io_key), sizeof(struct abi_io),
				   on_files, reading);
	if (r == 0 && maps->stacks_fd >= 0)
		r = bpf_batch_read(maps->stacks_fd, sizeof(struct abi_syscall_stack_key),
				   sizeof(struct abi_syscall_stack), on_stacks, reading);
	return r;
}

/* --- records --------------------------------------------------------------------------------- */

/* Lower end of a bucket, in ns: the layout is described in bpf/abi_syscalls.h. */
static int64_t bucket_low(size_t bucket)
{
	size_t power, part;

	if (bucket == 0)
		return 0;
	power = ABI_LATENCY_LOWEST + (bucket - 1) / 8;
	part = (bucket - 1) % 8;
	return (int64_t)(8 + part) << (power - 3);
}

static size_t list_buckets(const struct abi_syscall *sum,
			   struct record_bucket buckets[ABI_LATENCY_BUCKETS], uint64_t *ret_timed)
{
	size_t n = 0;

	*ret_timed = 0;
	for (size_t i = 0; i < ABI_LATENCY_BUCKETS; i++) {
		if (!sum->buckets[i])
			continue;
		*ret_timed += sum->buckets[i];
		buckets[n++] = (struct record_bucket){
			.lo = bucket_low(i),
			.hi = i + 1 < ABI_LATENCY_BUCKETS ? bucket_low(i + 1) : INT64_MAX,
			.count = sum->buckets[i],
		};
	}
	return n;
}

DEFINE_COMPARE(compare_errors, struct record_errno, number)

static int emit_call(const struct call_row *row, record_fn fn, void *userdata)
{
	struct record_bucket buckets[ABI_LATENCY_BUCKETS];
	uint64_t timed;
	size_t n = list_buckets(&row->sum, buckets, &timed);
	const struct record record = {
		.type = RECORD_SYSCALL,
		.syscall = { .image = { row->slot },
			     .number = row->number,
			     .name = syscall_table_name(row->number),
			     .calls = timed + row->sum.untimed,
			     .errors = row->n_errors,
			     .restarted = row->sum.restarted,
			     .total_ns = row->sum.total_ns,
			     .max_ns = row->sum.max_ns,
			     .bytes = row->sum.bytes,
			     .n_buckets = n,
			     .buckets = buckets,
			     .n_errnos = row->errors.len,
			     .errnos = row->errors.data },
	};

	vec_sort(&row->errors, compare_errors);
	return fn(&record, userdata);
}

static int emit_file(const struct file_row *row, record_fn fn, void *userdata)
{
	const struct record record = {
		.type = RECORD_SYSCALL_FILE,
		.syscall_file = { .image = { row->slot },
				  .path = row->path,
				  .opens = row->sum.opens,
				  .reads = row->sum.reads,
				  .writes = row->sum.writes,
				  .bytes_read = row->sum.bytes_read,
				  .bytes_written = row->sum.bytes_written,
				  .total_ns = row->sum.total_ns,
				  .others = row->sum.others },
	};

	return fn(&record, userdata);
}

static int emit_stack(const struct stack_row *row, record_fn fn, void *userdata)
{
	const struct record record = {
		.type = RECORD_SYSCALL_STACK,
		.syscall_stack = { .image = { row->slot },
				   .number = row->number,
				   .stack = row->stack,
				   .calls = row->sum.calls,
				   .total_ns = row->sum.total_ns },
	};

	return fn(&record, userdata);
}

static int emit_rows(const struct reading *reading, record_fn fn, void *userdata)
{
	const void *row;
	size_t pos = 0;
	int r = 0;

	while (r == 0 && (row = hashmap_next(&reading->calls, &pos)))
		r = emit_call(row, fn, userdata);
	for (pos = 0; r == 0 && (row = hashmap_next(&reading->files, &pos));)
		r = emit_file(row, fn, userdata);
	for (pos = 0; r == 0 && (row = hashmap_next(&reading->stacks, &pos));)
		r = emit_stack(row, fn, userdata);
	return r;
}

int syscalls_read(const struct syscall_maps *maps, const struct file_names *names, record_fn fn,
		  void *userdata)
{
	struct reading reading = {
		.names = names,
		.calls.ops = &call_ops,
		.files.ops = &file_ops,
		.stacks.ops = &stack_ops,
	};
	int r = read_maps(maps, &reading);

	if (r == 0)
		r = emit_rows(&reading, fn, userdata);
	hashmap_done(&reading.calls);
	hashmap_done(&reading.files);
	hashmap_done(&reading.stacks);
	return r;
}

/* --- purging --------------------------------------------------------------------------------- */

struct purge {
	const bool *slots;
	size_t n_slots;
	size_t slot_at; /* where the slot is in a key */
};

static bool is_purged(const void *key, const void *userdata)
{
	const struct purge *purge = userdata;
	uint32_t slot;

	memcpy(&slot, (const unsigned char *)key + purge->slot_at, sizeof(slot));
	return slot < purge->n_slots && purge->slots[slot];
}

int syscalls_purge(const struct syscall_maps *maps, const bool *slots, size_t n_slots)
{
	const struct {
		int fd;
		size_t key_size, value_size, slot_at;
	} all[] = {
		{ maps->calls_fd, sizeof(struct abi_syscall_key), sizeof(struct abi_syscall),
		  offsetof(struct abi_syscall_key, slot) },
		{ maps->errors_fd, sizeof(struct abi_syscall_error_key), sizeof(uint64_t),
		  offsetof(struct abi_syscall_error_key, slot) },
		{ maps->files_fd, sizeof(struct abi_io_key), sizeof(struct abi_io),
		  offsetof(struct abi_io_key, slot) },
		{ maps->stacks_fd, sizeof(struct abi_syscall_stack_key),
		  sizeof(struct abi_syscall_stack), offsetof(struct abi_syscall_stack_key, slot) },
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && r == 0; i++) {
		const struct purge purge = { slots, n_slots, all[i].slot_at };

		if (all[i].fd >= 0)
			r = bpf_batch_purge(all[i].fd, all[i].key_size, all[i].value_size,
					    is_purged, &purge, NULL, NULL);
	}
	return r;
}
