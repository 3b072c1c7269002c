/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/syscalls.h"

#include "base/hashmap.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

struct process_syscalls {
	struct model_syscalls shown; /* its arrays are these: */
	VEC(struct record_syscall) calls;
	VEC(struct record_syscall_file) files;
	VEC(struct record_syscall_stack) stacks;
};

struct syscalls {
	struct strings *strings;
	VEC(struct process_syscalls *) list;
	struct hashmap *by_slot; /* of the list */
	struct hashmap *next;	 /* of the cut that is being read, by slot */
};

static uint64_t slot_hash(const void *item)
{
	return hash_u64(((const struct process_syscalls *)item)->shown.slot);
}

static bool slot_equal(const void *a, const void *b)
{
	return ((const struct process_syscalls *)a)->shown.slot ==
	       ((const struct process_syscalls *)b)->shown.slot;
}

static void process_done(struct process_syscalls *process)
{
	vec_foreach(&process->calls, call) {
		free((void *)call->buckets);
		free((void *)call->errnos);
	}
	vec_done(&process->calls);
	vec_done(&process->files);
	vec_done(&process->stacks);
}

static void process_free(void *item)
{
	process_done(item);
	free(item);
}

static const struct hashmap_ops list_ops = { slot_hash, slot_equal, process_free };

int syscalls_new(struct strings *strings, struct syscalls **ret_syscalls)
{
	_cleanup_(syscalls_free_p) struct syscalls *syscalls = calloc(1, sizeof(*syscalls));
	int r;

	if (!syscalls)
		return -ENOMEM;
	syscalls->strings = strings;
	r = hashmap_new(&list_ops, &syscalls->by_slot);
	if (r == 0)
		r = hashmap_new(&list_ops, &syscalls->next);
	if (r < 0)
		return r;
	*ret_syscalls = TAKE_PTR(syscalls);
	return 0;
}

void syscalls_free(struct syscalls *syscalls)
{
	if (!syscalls)
		return;
	hashmap_free(syscalls->by_slot);
	hashmap_free(syscalls->next);
	vec_done(&syscalls->list);
	free(syscalls);
}

int syscalls_cut_begin(struct syscalls *syscalls)
{
	struct hashmap *empty;
	int r = hashmap_new(&list_ops, &empty);

	if (r < 0)
		return r;
	hashmap_free(syscalls->next);
	syscalls->next = empty;
	return 0;
}

/* What the cut has of this process, made when it is new; NULL: no memory. */
static struct process_syscalls *next_of(struct syscalls *syscalls, uint32_t slot)
{
	const struct process_syscalls key = { .shown = { .slot = slot } };
	struct process_syscalls *process = hashmap_find(syscalls->next, &key);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->shown.slot = slot;
	if (hashmap_insert(syscalls->next, process)) {
		free(process);
		return NULL;
	}
	return process;
}

static void *copy_array(const void *from, size_t n, size_t size)
{
	void *to = calloc(n + 1, size);

	if (to && n > 0)
		memcpy(to, from, n * size);
	return to;
}

int syscalls_cut_call(struct syscalls *syscalls, const struct record_syscall *record)
{
	_cleanup_free_ struct record_bucket *buckets =
		copy_array(record->buckets, record->n_buckets, sizeof(*buckets));
	_cleanup_free_ struct record_errno *errnos =
		copy_array(record->errnos, record->n_errnos, sizeof(*errnos));
	struct process_syscalls *process = next_of(syscalls, record->slot);
	struct record_syscall call = *record;
	int r;

	if (!buckets || !errnos || !process)
		return -ENOMEM;
	r = strings_intern(syscalls->strings, record->name, &call.name);
	call.buckets = buckets;
	call.errnos = errnos;
	if (r == 0)
		r = vec_push(&process->calls, call);
	if (r < 0)
		return r;
	TAKE_PTR(buckets);
	TAKE_PTR(errnos);
	return 0;
}

int syscalls_cut_file(struct syscalls *syscalls, const struct record_syscall_file *record)
{
	struct process_syscalls *process = next_of(syscalls, record->slot);
	struct record_syscall_file file = *record;
	int r;

	if (!process)
		return -ENOMEM;
	r = strings_intern(syscalls->strings, record->path ? record->path : "?", &file.path);
	return r < 0 ? r : vec_push(&process->files, file);
}

int syscalls_cut_stack(struct syscalls *syscalls, const struct record_syscall_stack *record)
{
	struct process_syscalls *process = next_of(syscalls, record->slot);

	return process ? vec_push(&process->stacks, *record) : -ENOMEM;
}

/* The process's place in the list, made when it is new; NULL: no memory. */
static struct process_syscalls *listed(struct syscalls *syscalls, uint32_t slot)
{
	const struct process_syscalls key = { .shown = { .slot = slot } };
	struct process_syscalls *process = hashmap_find(syscalls->by_slot, &key);

	if (process)
		return process;
	if (vec_reserve(&syscalls->list, syscalls->list.len + 1))
		return NULL;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->shown.slot = slot;
	if (hashmap_insert(syscalls->by_slot, process)) {
		free(process);
		return NULL;
	}
	syscalls->list.data[syscalls->list.len++] = process;
	return process;
}

static void replace(struct process_syscalls *old, struct process_syscalls *process)
{
	struct process_syscalls before = *old;

	*old = *process;
	*process = before;
	old->shown.calls = old->calls.data;
	old->shown.n_calls = old->calls.len;
	old->shown.files = old->files.data;
	old->shown.n_files = old->files.len;
	old->shown.stacks = old->stacks.data;
	old->shown.n_stacks = old->stacks.len;
}

int syscalls_cut_end(struct syscalls *syscalls)
{
	struct process_syscalls *process;
	size_t pos = 0;

	while ((process = hashmap_next(syscalls->next, &pos))) {
		struct process_syscalls *old = listed(syscalls, process->shown.slot);

		if (!old)
			return -ENOMEM;
		replace(old, process);
	}
	return syscalls_cut_begin(syscalls); /* what was replaced goes */
}

size_t syscalls_count(const struct syscalls *syscalls)
{
	return syscalls->list.len;
}

const struct model_syscalls *syscalls_get(const struct syscalls *syscalls, size_t index)
{
	return &syscalls->list.data[index]->shown;
}
