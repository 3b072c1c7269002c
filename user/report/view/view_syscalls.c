/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_syscalls.h"

#include "base/hashmap.h"
#include "base/vec.h"
#include "report/view/view_resolve.h"

#include <errno.h>
#include <string.h>

static int compare_down(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

/* --- calls ----------------------------------------------------------------------------------- */

uint64_t view_p99_ns(const struct record_bucket *buckets, size_t n, uint64_t max_ns)
{
	uint64_t total = 0, seen = 0;

	for (size_t i = 0; i < n; i++)
		total += buckets[i].count;
	for (size_t i = 0; i < n; i++) {
		seen += buckets[i].count;
		if (total - seen <= total / 100)
			return (uint64_t)buckets[i].hi < max_ns ? (uint64_t)buckets[i].hi : max_ns;
	}
	return max_ns;
}

DEFINE_COMPARE(compare_errnos, struct record_errno, number)

/* Both lists, which ascend, in one, equal buckets summed. 0 or -ENOMEM. */
static int add_buckets(struct record_syscall *to, const struct record_syscall *from)
{
	struct record_bucket *all = calloc(to->n_buckets + from->n_buckets + 1, sizeof(*all));
	size_t i = 0, j = 0, n = 0;

	if (!all)
		return -ENOMEM;
	while (i < to->n_buckets || j < from->n_buckets) {
		bool first = j == from->n_buckets ||
			     (i < to->n_buckets && to->buckets[i].lo <= from->buckets[j].lo);
		const struct record_bucket *next = first ? &to->buckets[i++] : &from->buckets[j++];

		if (n > 0 && all[n - 1].lo == next->lo)
			all[n - 1].count += next->count;
		else
			all[n++] = *next;
	}
	free((void *)to->buckets);
	to->buckets = all;
	to->n_buckets = n;
	return 0;
}

/* The same of errors, in any order. */
static int add_errnos(struct record_syscall *to, const struct record_syscall *from)
{
	struct record_errno *all = calloc(to->n_errnos + from->n_errnos + 1, sizeof(*all));
	size_t n = to->n_errnos + from->n_errnos, used = 0;

	if (!all)
		return -ENOMEM;
	if (to->n_errnos > 0)
		memcpy(all, to->errnos, to->n_errnos * sizeof(*all));
	if (from->n_errnos > 0)
		memcpy(all + to->n_errnos, from->errnos, from->n_errnos * sizeof(*all));
	qsort(all, n, sizeof(*all), compare_errnos);
	for (size_t i = 0; i < n; i++) {
		if (used > 0 && all[used - 1].number == all[i].number)
			all[used - 1].count += all[i].count;
		else
			all[used++] = all[i];
	}
	free((void *)to->errnos);
	to->errnos = all;
	to->n_errnos = used;
	return 0;
}

static int add_call(struct view_call *to, const struct record_syscall *from)
{
	struct record_syscall *sum = &to->sum;
	int r = add_buckets(sum, from);

	if (r == 0)
		r = add_errnos(sum, from);
	sum->number = from->number;
	if (!sum->name)
		sum->name = from->name;
	sum->calls += from->calls;
	sum->errors += from->errors;
	sum->restarted += from->restarted;
	sum->total_ns += from->total_ns;
	sum->bytes += from->bytes;
	if (from->max_ns > sum->max_ns)
		sum->max_ns = from->max_ns;
	return r;
}

static int compare_numbers(const void *item_a, const void *item_b)
{
	const struct record_syscall *a = *(const struct record_syscall *const *)item_a;
	const struct record_syscall *b = *(const struct record_syscall *const *)item_b;

	return (a->number > b->number) - (a->number < b->number);
}

static int compare_calls(const void *item_a, const void *item_b)
{
	const struct view_call *a = item_a, *b = item_b;

	if (a->sum.total_ns != b->sum.total_ns)
		return compare_down(a->sum.total_ns, b->sum.total_ns);
	return (a->sum.number > b->sum.number) - (a->sum.number < b->sum.number);
}

/* Fills the calls from those of processes, in any order. 0 or -ENOMEM. */
static int sum_calls(struct view_calls *calls, const struct record_syscall **from, size_t n)
{
	calls->calls = calloc(n + 1, sizeof(calls->calls[0]));
	if (!calls->calls)
		return -ENOMEM;
	qsort(from, n, sizeof(from[0]), compare_numbers);
	for (size_t i = 0; i < n; i++) {
		bool same = i > 0 && from[i - 1]->number == from[i]->number;
		int r;

		calls->n_calls += !same;
		r = add_call(&calls->calls[calls->n_calls - 1], from[i]);
		if (r < 0)
			return r;
		calls->n += from[i]->calls;
		calls->errors += from[i]->errors;
		calls->total_ns += from[i]->total_ns;
	}
	for (size_t i = 0; i < calls->n_calls; i++) {
		struct view_call *call = &calls->calls[i];
		const struct record_syscall *sum = &call->sum;

		for (size_t j = 0; j < sum->n_buckets; j++)
			call->timed += sum->buckets[j].count;
		call->p99_ns = view_p99_ns(sum->buckets, sum->n_buckets, sum->max_ns);
	}
	qsort(calls->calls, calls->n_calls, sizeof(calls->calls[0]), compare_calls);
	return 0;
}

/* --- files ----------------------------------------------------------------------------------- */

static int compare_paths(const void *item_a, const void *item_b)
{
	const struct record_syscall_file *a = item_a, *b = item_b;

	return strcmp(a->path, b->path);
}

static int compare_files(const void *item_a, const void *item_b)
{
	const struct record_syscall_file *a = item_a, *b = item_b;

	if (a->total_ns != b->total_ns)
		return compare_down(a->total_ns, b->total_ns);
	return strcmp(a->path, b->path);
}

/* Files of one path are one. `files`: all of them, in any order; they become the calls'. */
static void sum_files(struct view_calls *calls, struct record_syscall_file *files, size_t n)
{
	qsort(files, n, sizeof(files[0]), compare_paths);
	calls->files = files;
	for (size_t i = 0; i < n; i++) {
		struct record_syscall_file *to = &files[calls->n_files], *from = &files[i];

		if (calls->n_files == 0 || strcmp(to[-1].path, from->path) != 0) {
			*to = *from;
			calls->n_files++;
			continue;
		}
		to--;
		to->opens += from->opens;
		to->reads += from->reads;
		to->writes += from->writes;
		to->others += from->others;
		to->bytes_read += from->bytes_read;
		to->bytes_written += from->bytes_written;
		to->total_ns += from->total_ns;
	}
	qsort(files, calls->n_files, sizeof(files[0]), compare_files);
}

/* --- callers --------------------------------------------------------------------------------- */

static uint64_t caller_hash(const void *item)
{
	const struct view_caller *caller = item;

	return hash_u64(view_stack_hash(&caller->stack) ^ hash_u64((uint32_t)caller->number));
}

static bool caller_equal(const void *item_a, const void *item_b)
{
	const struct view_caller *a = item_a, *b = item_b;

	return a->number == b->number && view_stack_equal(&a->stack, &b->stack);
}

static const struct hashmap_ops caller_ops = { .hash = caller_hash, .equal = caller_equal };

static void caller_free(struct view_caller *caller)
{
	if (!caller)
		return;
	view_stack_done(&caller->stack);
	free(caller);
}
DEFINE_CLEANUP(struct view_caller, caller_free)

static const char *name_of(const struct view_calls *calls, int32_t number)
{
	for (size_t i = 0; i < calls->n_calls; i++)
		if (calls->calls[i].sum.number == number)
			return calls->calls[i].sum.name;
	return NULL;
}

static int add_caller(const struct view_resolver *resolver, struct view_calls *calls,
		      const struct record_syscall_stack *from, struct hashmap *merged)
{
	_cleanup_(caller_free_p) struct view_caller *caller = calloc(1, sizeof(*caller));
	struct view_caller *same;
	int r;

	if (!caller)
		return -ENOMEM;
	caller->image = calls->image;
	caller->number = from->number;
	caller->name = name_of(calls, from->number);
	caller->calls = from->calls;
	caller->total_ns = from->total_ns;
	r = view_resolve_event(resolver, calls->image, from->stack, 0, &caller->stack);
	if (r < 0)
		return r;
	same = hashmap_find(merged, caller);
	if (same) {
		same->calls += caller->calls;
		same->total_ns += caller->total_ns;
		same->stack.truncated |= caller->stack.truncated;
		return 0;
	}
	r = hashmap_insert(merged, caller);
	if (r == 0)
		calls->callers[calls->n_callers++] = TAKE_PTR(caller);
	return r;
}

/* What does not depend on addresses decides between equal times, as far as it can. */
static int compare_callers(const void *item_a, const void *item_b)
{
	const struct view_caller *a = *(const struct view_caller *const *)item_a;
	const struct view_caller *b = *(const struct view_caller *const *)item_b;
	uint64_t id_a, id_b;

	if (a->total_ns != b->total_ns)
		return compare_down(a->total_ns, b->total_ns);
	if (a->calls != b->calls)
		return compare_down(a->calls, b->calls);
	id_a = view_stack_id(&a->stack, (uint32_t)a->number);
	id_b = view_stack_id(&b->stack, (uint32_t)b->number);
	return (id_a > id_b) - (id_a < id_b);
}

static int add_callers(const struct view_resolver *resolver, const struct model_syscalls *from,
		       struct view_calls *calls)
{
	_cleanup_(hashmap_done) struct hashmap merged = { .ops = &caller_ops };
	int r;

	calls->callers = calloc(from->stacks.len + 1, sizeof(calls->callers[0]));
	r = calls->callers ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < from->stacks.len; i++)
		r = add_caller(resolver, calls, &from->stacks.data[i], &merged);
	if (r == 0)
		qsort(calls->callers, calls->n_callers, sizeof(calls->callers[0]), compare_callers);
	return r;
}

/* --- all of it ------------------------------------------------------------------------------- */

static int add_process(const struct view_resolver *resolver, const struct model_syscalls *from,
		       struct view_calls *calls)
{
	_cleanup_free_ const struct record_syscall **list =
		calloc(from->calls.len + 1, sizeof(list[0]));
	_cleanup_free_ struct record_syscall_file *files =
		calloc(from->files.len + 1, sizeof(files[0]));
	int r;

	if (!list || !files)
		return -ENOMEM;
	calls->image = view_resolve_process(resolver, from->image);
	for (size_t i = 0; i < from->calls.len; i++)
		list[i] = &from->calls.data[i];
	r = sum_calls(calls, list, from->calls.len);
	if (r < 0)
		return r;
	if (from->files.len > 0)
		memcpy(files, from->files.data, from->files.len * sizeof(files[0]));
	sum_files(calls, TAKE_PTR(files), from->files.len);
	return add_callers(resolver, from, calls);
}

static int compare_processes(const void *item_a, const void *item_b)
{
	const struct view_calls *a = item_a, *b = item_b;

	if (a->total_ns != b->total_ns)
		return compare_down(a->total_ns, b->total_ns);
	return (a->image->id.n > b->image->id.n) - (a->image->id.n < b->image->id.n);
}

/* The callers of all are those of the processes. */
static int sum_all(struct view_syscalls *syscalls)
{
	_cleanup_free_ const struct record_syscall **list = NULL;
	_cleanup_free_ struct record_syscall_file *files = NULL;
	size_t n_calls = 0, n_files = 0, n_callers = 0;
	struct view_calls *all = &syscalls->all;
	int r;

	for (size_t i = 0; i < syscalls->n_processes; i++) {
		n_calls += syscalls->processes[i].n_calls;
		n_files += syscalls->processes[i].n_files;
		n_callers += syscalls->processes[i].n_callers;
	}
	list = calloc(n_calls + 1, sizeof(list[0]));
	files = calloc(n_files + 1, sizeof(files[0]));
	all->callers = calloc(n_callers + 1, sizeof(all->callers[0]));
	if (!list || !files || !all->callers)
		return -ENOMEM;
	n_calls = n_files = 0;
	for (size_t i = 0; i < syscalls->n_processes; i++) {
		const struct view_calls *process = &syscalls->processes[i];

		for (size_t j = 0; j < process->n_calls; j++)
			list[n_calls++] = &process->calls[j].sum;
		for (size_t j = 0; j < process->n_files; j++)
			files[n_files++] = process->files[j];
		for (size_t j = 0; j < process->n_callers; j++)
			all->callers[all->n_callers++] = process->callers[j];
	}
	qsort(all->callers, all->n_callers, sizeof(all->callers[0]), compare_callers);
	r = sum_calls(all, list, n_calls);
	if (r < 0)
		return r;
	sum_files(all, TAKE_PTR(files), n_files);
	return 0;
}

int view_syscalls_init(const struct model *model, struct symbols *symbols,
		       struct view_syscalls *ret_syscalls)
{
	const struct view_resolver resolver = { model, symbols };
	size_t n = model_syscalls(model)->list.len;
	int r = 0;

	*ret_syscalls = (struct view_syscalls){ 0 };
	ret_syscalls->processes = calloc(n + 1, sizeof(ret_syscalls->processes[0]));
	if (!ret_syscalls->processes)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_process(&resolver, model_syscalls(model)->list.data[i],
				&ret_syscalls->processes[ret_syscalls->n_processes++]);
	if (r < 0)
		return r;
	qsort(ret_syscalls->processes, n, sizeof(ret_syscalls->processes[0]), compare_processes);
	return sum_all(ret_syscalls);
}

static void calls_done(struct view_calls *calls)
{
	for (size_t i = 0; i < calls->n_calls; i++) {
		free((void *)calls->calls[i].sum.buckets);
		free((void *)calls->calls[i].sum.errnos);
	}
	free(calls->calls);
	free(calls->files);
	free(calls->callers);
}

void view_syscalls_done(struct view_syscalls *syscalls)
{
	for (size_t i = 0; i < syscalls->n_processes; i++) {
		struct view_calls *process = &syscalls->processes[i];

		for (size_t j = 0; j < process->n_callers; j++)
			caller_free(process->callers[j]);
		calls_done(process);
	}
	calls_done(&syscalls->all);
	free(syscalls->processes);
	*syscalls = (struct view_syscalls){ 0 };
}
