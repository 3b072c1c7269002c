/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/leak/heap_error_log.h"

#include "base/hashmap.h"
#include "base/saturate.h"
#include "base/vec.h"
#include "report/view/view_coverage.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

/* Valgrind's VG_(maybe_record_error): Vg_MedRes, which is four frames. */
#define FRAMES_COMPARED 4

struct place {
	image_t image;
	enum record_heap_error_kind
		kind;  /* the first's: what is freed twice or never made is one */
	uint64_t hash; /* of its frames */
	uint64_t count;
	int suppression; /* -1: none */
	bool written;
	uint64_t unique; /* in XML */
	char *text;	 /* for the list of all at the end; NULL: there is none */
};

struct heap_error_log {
	struct view_resolver resolver;
	struct suppressions *suppressions;
	const struct leak_options *options;
	struct leak_xml_log *xml; /* NULL: text is written */
	VEC(struct place) places;
	VEC(image_t) faults; /* images whose ends have been told */
	struct thread_numbers threads;
	image_t last_image; /* of which an error was written as text, */
	uint32_t last_thread;
};

int heap_error_log_new(const struct view_resolver *resolver, struct suppressions *suppressions,
		       const struct leak_options *options, struct leak_xml_log *xml,
		       struct heap_error_log **ret_log)
{
	struct heap_error_log *log = calloc(1, sizeof(*log));

	if (!log)
		return -ENOMEM;
	log->resolver = *resolver;
	log->suppressions = suppressions;
	log->options = options;
	log->xml = xml;
	*ret_log = log;
	return 0;
}

void heap_error_log_free(struct heap_error_log *log)
{
	if (!log)
		return;
	vec_foreach(&log->places, place)
		free(place->text);
	vec_done(&log->places);
	vec_done(&log->faults);
	thread_numbers_done(&log->threads);
	free(log);
}

int heap_error_log_thread(struct heap_error_log *log, pid_t pid, pid_t tid, uint32_t number)
{
	return thread_numbers_add(&log->threads, pid, tid, number);
}

/* --- one image's errors ---------------------------------------------------------------------- */

/* Three stacks of each error, in this order. */
enum { STACK_OF_ERROR, STACK_ALLOCATED, STACK_FREED, STACKS_EACH };

static int compare_times(const void *item_a, const void *item_b)
{
	const struct record_heap_error *a = *(const struct record_heap_error *const *)item_a;
	const struct record_heap_error *b = *(const struct record_heap_error *const *)item_b;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

static bool is_hidden(const struct leak_options *options, enum record_heap_error_kind kind)
{
	return (options->hide_mismatches && kind == RECORD_MISMATCHED_FREE) ||
	       (options->hide_realloc_zero && kind == RECORD_REALLOC_ZERO);
}

/* In the order in which they were first seen. Those that are no errors are left out. */
static size_t order_errors(const struct heap_error_log *log, const struct model_process *image,
			   const struct record_heap_error **order)
{
	enum suppression_kind kind;
	size_t n = 0;

	for (size_t i = 0; i < image->n_errors; i++)
		if (leak_error_kind(image->errors[i].kind, &kind) &&
		    !is_hidden(log->options, image->errors[i].kind))
			order[n++] = &image->errors[i];
	qsort(order, n, sizeof(*order), compare_times);
	return n;
}

static void stacks_of(const struct record_heap_error *e, struct leak_place *places)
{
	places[STACK_OF_ERROR] = (struct leak_place){ e->stack, e->fn };
	places[STACK_ALLOCATED] = (struct leak_place){ e->block_stack, e->block_fn };
	places[STACK_FREED] = (struct leak_place){ e->freed_stack, e->freed_fn };
}

static enum record_heap_error_kind same_kind(enum record_heap_error_kind kind)
{
	return kind == RECORD_DOUBLE_FREE ? RECORD_INVALID_FREE : kind;
}

static uint64_t frames_hash(const struct leak_stack *stack)
{
	size_t n = stack->n_keys < FRAMES_COMPARED ? stack->n_keys : FRAMES_COMPARED;

	return hash_bytes(stack->keys, n * sizeof(*stack->keys), n);
}

static struct place *find_place(struct heap_error_log *log, const struct place *like)
{
	vec_foreach(&log->places, place)
		if (image_is(place->image, like->image) && place->kind == like->kind &&
		    place->hash == like->hash)
			return place;
	return NULL;
}

/* A new place, of which it is known whether it is suppressed. */
static int add_place(struct heap_error_log *log, struct place *place,
		     const struct record_heap_error *error, const struct leak_stack *stack)
{
	enum suppression_kind kind = SUPPRESSION_FREE;
	int r;

	(void)leak_error_kind(error->kind, &kind); /* others were left out */
	r = suppressions_match(log->suppressions, kind, REACH_DEFINITE, stack->names,
			       stack->n_frames);
	if (r < 0 && r != -ENOENT)
		return r;
	place->suppression = r < 0 ? -1 : r;
	return vec_push(&log->places, *place);
}

static int count_error(struct heap_error_log *log, const struct record_heap_error *error,
		       const struct leak_stack *stack)
{
	struct place like = { .image = error->image,
			      .kind = same_kind(error->kind),
			      .hash = frames_hash(stack) };
	struct place *place = find_place(log, &like);

	if (place) {
		place->count = saturate_add_u64(place->count, error->count);
		return 0;
	}
	like.count = error->count;
	return add_place(log, &like, error, stack);
}

static int write_xml(struct heap_error_log *log, const struct model_process *image,
		     struct place *place, const struct leak_error *error, bool certain)
{
	_cleanup_strbuf_ struct strbuf xml = { 0 };
	struct leak_xml_id id;
	int r = leak_xml_log_number(log->xml, image, &id);

	if (r < 0)
		return r;
	place->unique = id.unique;
	leak_xml_error(&xml, &id, error, certain, log->options);
	return leak_xml_log_add(log->xml, image, &xml);
}

/* Where the thread is another one than before; before the first error it is the first thread. */
static void name_thread(struct heap_error_log *log, const struct model_process *image,
			uint32_t thread, struct strbuf *out)
{
	uint32_t last = image_is(log->last_image, image->id) ? log->last_thread : 1;

	log->last_image = image->id;
	log->last_thread = thread ? thread : last;
	if (log->last_thread != last)
		strbuf_addf(out, "==%" PRIu32 "== Thread %" PRIu32 ":\n", image->pid, thread);
}

/* And kept for the list of all. */
static int write_text(struct heap_error_log *log, const struct model_process *image,
		      struct place *place, const struct leak_error *error, bool certain,
		      struct strbuf *out)
{
	size_t begin;

	name_thread(log, image, error->thread, out);
	begin = out->len;
	leak_error_text(out, (pid_t)image->pid, error, certain, log->options);
	if (!log->options->error_list || strbuf_error(out) < 0)
		return strbuf_error(out);
	place->text = strdup(strbuf_str(out) + begin);
	return place->text ? 0 : -ENOMEM;
}

static int write_error(struct heap_error_log *log, const struct model_process *image,
		       const struct record_heap_error *error, const struct leak_stack *stacks,
		       struct strbuf *out)
{
	const struct place like = { .image = error->image,
				    .kind = same_kind(error->kind),
				    .hash = frames_hash(&stacks[STACK_OF_ERROR]) };
	struct place *place = find_place(log, &like);
	const struct leak_error text = {
		.values = error,
		.count = place->count,
		.stack = &stacks[STACK_OF_ERROR],
		.allocated = error->block && (error->block_fn || error->block_stack) ?
				     &stacks[STACK_ALLOCATED] :
				     NULL,
		.freed = error->freed_fn || error->freed_stack ? &stacks[STACK_FREED] : NULL,
		.thread = thread_numbers_find(&log->threads, (pid_t)image->pid, (pid_t)error->tid),
	};

	bool certain = view_saw_all(log->resolver.model, image);

	if (place->written || place->suppression >= 0)
		return 0;
	place->written = true;
	return log->xml ? write_xml(log, image, place, &text, certain) :
			  write_text(log, image, place, &text, certain, out);
}

static int write_errors(struct heap_error_log *log, const struct model_process *image,
			const struct record_heap_error *const *errors, size_t n, struct strbuf *out)
{
	_cleanup_free_ struct leak_place *places = calloc(STACKS_EACH * n + 1, sizeof(*places));
	_cleanup_(leak_stacks_done) struct leak_stacks stacks = { 0 };
	int r;

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		stacks_of(errors[i], &places[STACKS_EACH * i]);
	r = leak_stacks_init(&log->resolver, image, places, STACKS_EACH * n,
			     log->options->num_callers, &stacks);
	for (size_t i = 0; i < n && r == 0; i++)
		r = count_error(log, errors[i], &stacks.stacks[STACKS_EACH * i]);
	for (size_t i = 0; i < n && r == 0; i++)
		r = write_error(log, image, errors[i], &stacks.stacks[STACKS_EACH * i], out);
	return r ? r : strbuf_error(out);
}

static int fault_xml(struct heap_error_log *log, const struct model_process *image,
		     const struct leak_fault *fault)
{
	_cleanup_strbuf_ struct strbuf xml = { 0 };

	leak_xml_fault(&xml, fault, log->options);
	return leak_xml_log_add(log->xml, image, &xml);
}

static int write_fault(struct heap_error_log *log, const struct model_process *image,
		       struct strbuf *out)
{
	const struct record_fault *v = &image->fault;
	const struct leak_place places[STACKS_EACH] = {
		[STACK_OF_ERROR] = { v->stack, 0 },
		[STACK_ALLOCATED] = { v->block_stack, v->block_fn },
		[STACK_FREED] = { v->freed_stack, v->freed_fn },
	};
	struct leak_fault fault = {
		.values = v,
		.thread = thread_numbers_find(&log->threads, (pid_t)image->pid, (pid_t)v->tid),
	};
	_cleanup_(leak_stacks_done) struct leak_stacks stacks = { 0 };
	int r;

	vec_foreach(&log->faults, image_told)
		if (image_is(*image_told, image->id))
			return 0;
	r = leak_stacks_init(&log->resolver, image, places, STACKS_EACH, log->options->num_callers,
			     &stacks);
	if (r == 0)
		r = vec_push(&log->faults, image->id);
	if (r < 0)
		return r;
	if (v->stack)
		fault.stack = &stacks.stacks[STACK_OF_ERROR];
	if (v->block && (v->block_fn || v->block_stack))
		fault.allocated = &stacks.stacks[STACK_ALLOCATED];
	if (v->block && v->freed && (v->freed_fn || v->freed_stack))
		fault.freed = &stacks.stacks[STACK_FREED];
	if (log->xml)
		return fault_xml(log, image, &fault);
	leak_fault_text(out, (pid_t)image->pid, &fault, log->options);
	return strbuf_error(out);
}

int heap_error_log_write(struct heap_error_log *log, const struct model_process *image,
			 struct strbuf *out)
{
	_cleanup_free_ const struct record_heap_error **order =
		calloc(image->n_errors + 1, sizeof(*order));
	size_t n;
	int r;

	if (!order)
		return -ENOMEM;
	/* The model's counts are those of all the time. */
	vec_foreach(&log->places, place)
		if (image_is(place->image, image->id))
			place->count = 0;
	n = order_errors(log, image, order);
	r = n > 0 ? write_errors(log, image, order, n, out) : 0;
	return r == 0 && image->has_fault ? write_fault(log, image, out) : r;
}

/*
 * An access to an address where nothing is mapped is an invalid read or write for memcheck, too. Of
 * what is mapped without the right it is not known whether memcheck would call it so.
 */
static bool ends_by_invalid_access(const struct model_process *image)
{
	const struct record_fault *fault = &image->fault;

	return image->has_fault && fault->signal == SIGSEGV && fault->has_addr &&
	       fault->code == SEGV_MAPERR;
}

void heap_error_log_end(struct heap_error_log *log, const struct model_process *image,
			struct leak_errors *errors)
{
	bool is_invalid = ends_by_invalid_access(image);

	vec_foreach(&log->places, place) {
		if (!image_is(place->image, image->id))
			continue;
		if (place->suppression < 0) {
			errors->errors = saturate_add_u64(errors->errors, place->count);
			errors->contexts++;
			if (log->xml)
				leak_xml_log_count(log->xml, (pid_t)image->pid, place->unique,
						   place->count);
			continue;
		}
		errors->suppressed = saturate_add_u64(errors->suppressed, place->count);
		errors->suppressed_contexts++;
		suppressions_count_errors(log->suppressions, place->suppression, place->count);
	}
	/* Of places that were too many nothing is known but that they are. */
	errors->further = image->totals.further_errors;
	errors->errors = saturate_add_u64(errors->errors, errors->further + is_invalid);
	errors->contexts += is_invalid;
}

static int compare_counts(const void *item_a, const void *item_b)
{
	const struct place *const *a = item_a, *const *b = item_b;

	if ((*a)->count != (*b)->count)
		return (*a)->count < (*b)->count ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

int heap_error_log_list(const struct heap_error_log *log, const struct model_process *image,
			uint64_t contexts, struct strbuf *out)
{
	_cleanup_free_ const struct place **order = calloc(log->places.len + 1, sizeof(*order));
	size_t n = 0;

	if (!order)
		return -ENOMEM;
	vec_foreach(&log->places, place)
		if (image_is(place->image, image->id) && place->text)
			order[n++] = place;
	qsort(order, n, sizeof(*order), compare_counts);
	for (size_t i = 0; i < n; i++) {
		strbuf_addf(out, "==%" PRIu32 "== \n==%" PRIu32 "== %" PRIu64 " errors in context ",
			    image->pid, image->pid, order[i]->count);
		strbuf_addf(out, "%zu of %" PRIu64 ":\n", i + 1, contexts);
		strbuf_adds(out, order[i]->text);
	}
	return strbuf_error(out);
}

/* --- numbers of threads ----------------------------------------------------------------------- */

/* A program may begin threads for as long as it runs. */
#define MOST 65536

int thread_numbers_add(struct thread_numbers *numbers, pid_t pid, pid_t tid, uint32_t number)
{
	const struct thread_number added = { pid, tid, number };

	if (numbers->all.len < MOST)
		return vec_push(&numbers->all, added);
	numbers->all.data[numbers->oldest] = added;
	numbers->oldest = (numbers->oldest + 1) % MOST;
	return 0;
}

uint32_t thread_numbers_find(const struct thread_numbers *numbers, pid_t pid, pid_t tid)
{
	size_t n = numbers->all.len;

	if (tid == pid)
		return 1;
	/* The newest first: the kernel gives ids again. */
	for (size_t i = 1; i <= n; i++) {
		const struct thread_number *at = &numbers->all.data[(numbers->oldest + n - i) % n];

		if (at->tid == tid && at->pid == pid)
			return at->number;
	}
	return 0;
}

void thread_numbers_done(struct thread_numbers *numbers)
{
	vec_done(&numbers->all);
}
