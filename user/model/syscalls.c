/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/syscalls.h"

#include <errno.h>

/* A process image, also when the cut that is being read is the first that it is in. */
struct process_syscalls {
	struct model_syscalls shown;
	struct model_syscalls next; /* of the cut that is being read */
	bool in_cut, is_listed;
};

static void calls_done(struct model_syscalls *process)
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
	struct process_syscalls *process = item;

	calls_done(&process->shown);
	calls_done(&process->next);
	free(process);
}

DEFINE_HASHMAP_OPS(process_ops, struct process_syscalls, process_free, shown.image.n);

void syscalls_init(struct syscalls *ret_syscalls, struct strings *strings)
{
	*ret_syscalls = (struct syscalls){ .strings = strings, .by_image.ops = &process_ops };
}

void syscalls_done(struct syscalls *syscalls)
{
	hashmap_done(&syscalls->by_image);
	vec_done(&syscalls->in_cut);
	vec_done(&syscalls->list);
}

void syscalls_cut_begin(struct syscalls *syscalls)
{
	vec_foreach(&syscalls->in_cut, it) {
		calls_done(&(*it)->next);
		(*it)->in_cut = false;
	}
	syscalls->in_cut.len = 0;
}

/* The process in the cut, made when it is new; NULL: no memory. */
static struct process_syscalls *join_cut(struct syscalls *syscalls, image_t image)
{
	const struct process_syscalls added = { .shown.image = image, .next.image = image };
	struct process_syscalls *process =
		hashmap_intern(&syscalls->by_image, &added, sizeof(added), NULL);

	if (!process)
		return NULL;
	if (!process->in_cut && vec_push(&syscalls->in_cut, process) < 0)
		return NULL;
	process->in_cut = true;
	return process;
}

int syscalls_cut_call(struct syscalls *syscalls, const struct record_syscall *record)
{
	_cleanup_free_ struct record_bucket *buckets =
		array_copy(record->buckets, record->n_buckets, sizeof(*buckets));
	_cleanup_free_ struct record_errno *errnos =
		array_copy(record->errnos, record->n_errnos, sizeof(*errnos));
	struct process_syscalls *process = join_cut(syscalls, record->image);
	struct record_syscall call = *record;
	int r;

	if (!buckets || !errnos || !process)
		return -ENOMEM;
	r = strings_intern(syscalls->strings, record->name, &call.name);
	call.buckets = buckets;
	call.errnos = errnos;
	if (r == 0)
		r = vec_push(&process->next.calls, call);
	if (r < 0)
		return r;
	TAKE_PTR(buckets);
	TAKE_PTR(errnos);
	return 0;
}

int syscalls_cut_file(struct syscalls *syscalls, const struct record_syscall_file *record)
{
	struct process_syscalls *process = join_cut(syscalls, record->image);
	struct record_syscall_file file = *record;
	int r;

	if (!process)
		return -ENOMEM;
	r = strings_intern(syscalls->strings, record->path ? record->path : "?", &file.path);
	return r < 0 ? r : vec_push(&process->next.files, file);
}

int syscalls_cut_stack(struct syscalls *syscalls, const struct record_syscall_stack *record)
{
	struct process_syscalls *process = join_cut(syscalls, record->image);

	return process ? vec_push(&process->next.stacks, *record) : -ENOMEM;
}

int syscalls_cut_end(struct syscalls *syscalls)
{
	int r = vec_reserve(&syscalls->list, syscalls->list.len + syscalls->in_cut.len);

	for (size_t i = 0; r == 0 && i < syscalls->in_cut.len; i++) {
		struct process_syscalls *process = syscalls->in_cut.data[i];
		struct model_syscalls before = process->shown;

		process->shown = process->next;
		process->next = before;
		if (!process->is_listed)
			syscalls->list.data[syscalls->list.len++] = &process->shown;
		process->is_listed = true;
	}
	syscalls_cut_begin(syscalls); /* what was replaced goes */
	return r;
}
