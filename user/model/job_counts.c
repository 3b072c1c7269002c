/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/job_counts.h"

#include "trace/record/image.h"

#include <errno.h>

static void counts_done(struct record_hist_counts *counts)
{
	free((void *)counts->buckets);
	free((void *)counts->errors);
}

void histograms_done(struct histograms *histograms)
{
	histograms_cut_begin(histograms);
	vec_done(&histograms->next);
	vec_foreach(&histograms->list, it) {
		vec_foreach(&(*it)->groups, group)
			counts_done(group);
		vec_done(&(*it)->groups);
		free(*it);
	}
	vec_done(&histograms->list);
}

static struct model_histogram *find_histogram(const struct histograms *histograms, uint32_t id)
{
	vec_foreach(&histograms->list, it)
		if ((*it)->asked.id == id)
			return *it;
	return NULL;
}

int histograms_add(struct histograms *histograms, const struct record_histogram *record)
{
	_cleanup_free_ struct model_histogram *histogram = calloc(1, sizeof(*histogram));
	struct record_histogram *asked;
	int r;

	if (!histogram)
		return -ENOMEM;
	if (find_histogram(histograms, record->id))
		return -EPROTO;
	asked = &histogram->asked;
	*asked = *record;
	asked->spec = record->spec ? record->spec : "";
	r = strings_intern_members(histograms->strings, &asked->spec, &asked->unit, &asked->by,
				   NULL);
	if (r == 0)
		r = vec_push(&histograms->list, histogram);
	if (r == 0)
		TAKE_PTR(histogram);
	return r;
}

void histograms_cut_begin(struct histograms *histograms)
{
	vec_foreach(&histograms->next, counts)
		counts_done(counts);
	histograms->next.len = 0;
}

int histograms_cut_counts(struct histograms *histograms, const struct record_hist_counts *record)
{
	struct record_hist_counts counts = *record;
	int r;

	if (!find_histogram(histograms, record->id))
		return -EPROTO;
	r = strings_intern(histograms->strings, record->key, &counts.key);
	if (r < 0)
		return r;
	counts.buckets = array_copy(record->buckets, record->n_buckets, sizeof(*record->buckets));
	counts.errors = array_copy(record->errors, record->n_errors, sizeof(*record->errors));
	r = counts.buckets && counts.errors ? vec_push(&histograms->next, counts) : -ENOMEM;
	if (r < 0)
		counts_done(&counts);
	return r;
}

/* The group takes over the arrays. */
static int replace(struct model_histogram *histogram, struct record_hist_counts *counts)
{
	vec_foreach(&histogram->groups, group) {
		if (group->key != counts->key)
			continue;
		counts_done(group);
		*group = *counts;
		return 0;
	}
	return vec_push(&histogram->groups, *counts);
}

int histograms_cut_end(struct histograms *histograms)
{
	int r = 0;

	for (size_t i = 0; i < histograms->next.len; i++) {
		struct record_hist_counts *counts = &histograms->next.data[i];

		if (r == 0)
			r = replace(find_histogram(histograms, counts->id), counts);
		if (r < 0)
			counts_done(counts);
	}
	histograms->next.len = 0;
	return r;
}

/* --- events ----------------------------------------------------------------------------------- */

/* Where the counts of an event and its stacks are: an index into event.counts. */
struct place {
	struct record_event_count key;
	size_t index;
};

DEFINE_HASHMAP_OPS(place_ops, struct place, free, key.stack, key.kernel_stack, key.id, key.image.n);

void event_counts_init(struct event_counts *ret_events, struct strings *strings)
{
	*ret_events = (struct event_counts){ .strings = strings, .places.ops = &place_ops };
}

void event_counts_done(struct event_counts *events)
{
	vec_foreach(&events->list, it) {
		vec_done(&(*it)->counts);
		free(*it);
	}
	vec_done(&events->list);
	vec_done(&events->next);
	hashmap_done(&events->places);
}

static struct model_event *find_event(const struct event_counts *events, uint32_t id)
{
	vec_foreach(&events->list, it)
		if ((*it)->asked.id == id)
			return *it;
	return NULL;
}

int event_counts_add(struct event_counts *events, const struct record_event *record)
{
	_cleanup_free_ struct model_event *event = calloc(1, sizeof(*event));
	int r;

	if (!event)
		return -ENOMEM;
	if (find_event(events, record->id))
		return -EPROTO;
	event->asked = *record;
	r = strings_intern(events->strings, record->name ? record->name : "", &event->asked.name);
	if (r == 0)
		r = vec_push(&events->list, event);
	if (r == 0)
		TAKE_PTR(event);
	return r;
}

void event_counts_cut_begin(struct event_counts *events)
{
	events->next.len = 0;
}

int event_counts_cut_count(struct event_counts *events, const struct record_event_count *record)
{
	if (!find_event(events, record->id))
		return -EPROTO;
	return vec_push(&events->next, *record);
}

/* A count that is new gets its place. */
static int append(struct event_counts *events, struct model_event *event,
		  const struct record_event_count *count)
{
	const struct place place = { *count, event->counts.len };

	if (vec_push(&event->counts, *count) < 0 ||
	    !hashmap_intern(&events->places, &place, sizeof(place), NULL))
		return -ENOMEM;
	return 0;
}

int event_counts_cut_end(struct event_counts *events)
{
	int r = 0;

	for (size_t i = 0; i < events->next.len && r == 0; i++) {
		const struct place key = { .key = events->next.data[i] };
		const struct place *place = hashmap_find(&events->places, &key);
		struct model_event *event = find_event(events, key.key.id);

		if (place)
			event->counts.data[place->index] = key.key;
		else
			r = append(events, event, &key.key);
	}
	events->next.len = 0;
	return r;
}

void event_counts_forget(struct event_counts *events, const image_t *images, size_t n)
{
	vec_foreach(&events->list, it) {
		struct model_event *event = *it;
		size_t kept = 0;

		for (size_t i = 0; i < event->counts.len; i++) {
			const struct place key = { .key = event->counts.data[i] };

			if (image_list_has(images, n, key.key.image)) {
				free(hashmap_remove(&events->places, &key));
				continue;
			}
			((struct place *)hashmap_find(&events->places, &key))->index = kept;
			event->counts.data[kept++] = key.key;
		}
		event->counts.len = kept;
	}
}

const struct model_event *event_counts_find(const struct event_counts *events, uint32_t id)
{
	return find_event(events, id);
}

/* --- system calls ----------------------------------------------------------------------------- */

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
