/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/profile_part.h"

#include "base/hashmap.h"
#include "base/saturate.h"
#include "report/view/view_resolve.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct baseline_values {
	uint64_t count, value;
};

struct row {
	image_t image;
	uint64_t key; /* of the stack */
	struct baseline_values had;
};

struct baseline {
	uint64_t time_ns;
	VEC(struct row) rows; /* sorted by image and key */
};

static struct row row_of(const struct sample *sample)
{
	const struct view_stack *stack = sample->stack;
	uint64_t class = sample->site ? (uint64_t)sample->site->class : 0;
	/* By files and by addresses: code of a run-time is told by these alone. */
	uint64_t key = hash_u64(view_stack_id(stack, class) ^ view_stack_hash(stack));
	struct row row = { .image = sample->image->id, .had = { sample->count, sample->value } };

	row.key = key ^ ((uint64_t)stack->lost << 1 | (uint64_t)stack->kernel_lost);
	if (sample->site)
		row.had = (struct baseline_values){ sample->site->allocs, sample->site->bytes };
	return row;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (!image_is(x->image, y->image))
		return x->image.n < y->image.n ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static int add_row(const struct sample *sample, void *userdata)
{
	struct baseline *baseline = userdata;

	return vec_push(&baseline->rows, row_of(sample));
}

int baseline_new(const struct view *view, struct baseline **ret_baseline)
{
	_cleanup_(baseline_free_p) struct baseline *baseline = calloc(1, sizeof(*baseline));
	int r;

	if (!baseline)
		return -ENOMEM;
	baseline->time_ns = view_now_ns(view);
	r = samples_of_classes(view, add_row, baseline);
	if (r < 0)
		return r;
	vec_sort(&baseline->rows, compare_rows);
	*ret_baseline = TAKE_PTR(baseline);
	return 0;
}

void baseline_free(struct baseline *baseline)
{
	if (!baseline)
		return;
	vec_done(&baseline->rows);
	free(baseline);
}

uint64_t baseline_time_ns(const struct baseline *baseline)
{
	return baseline->time_ns;
}

/* A count that has fallen is one that began anew. */
static uint64_t since(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

/*
 * What came since then; NULL: since the beginning. Of an allocation's stack the allocations and
 * their bytes, of an event's how often it happened, and its value.
 */
static struct baseline_values baseline_since(const struct baseline *baseline,
					     const struct sample *sample)
{
	struct row row = row_of(sample), *before = NULL;

	if (baseline && baseline->rows.len > 0)
		before = bsearch(&row, baseline->rows.data, baseline->rows.len, sizeof(row),
				 compare_rows);
	if (!before)
		return row.had;
	return (struct baseline_values){ since(row.had.count, before->had.count),
					 since(row.had.value, before->had.value) };
}

#define MAPPED_TYPES 2 /* where those of mappings begin */

static const struct profile_part_type types[PUSH_PROFILES][PROFILE_PART_TYPES] = {
	[PUSH_HEAP] = { { "inuse_objects", "count" },
			{ "inuse_space", "bytes" },
			{ "mapped_regions", "count" },
			{ "mapped_space", "bytes" } },
	[PUSH_ALLOCS] = { { "alloc_objects", "count" },
			  { "alloc_space", "bytes" },
			  { "mmap_calls", "count" },
			  { "mmap_space", "bytes" } },
	[PUSH_CPU] = { { "samples", "count" }, { "cpu", "nanoseconds" } },
	[PUSH_GROWTH] = { { "samples", "count" }, { "growth", "bytes" } },
};

const struct profile_part_type *profile_part_types(enum push_profile kind)
{
	return types[kind];
}

size_t profile_part_n_types(enum push_profile kind)
{
	return types[kind][MAPPED_TYPES].type ? PROFILE_PART_TYPES : MAPPED_TYPES;
}

bool profile_part_has(const struct sample *sample, size_t type)
{
	bool mapped = sample->site && sample->site->class == VIEW_MMAP;

	return mapped == (type >= MAPPED_TYPES);
}

/* What a sample of an event stands for: a clock's time, or page faults, in small pages. */
static uint64_t event_period(const struct view_event *event)
{
	if (view_event_weighs(event))
		return event->interval * (uint64_t)sysconf(_SC_PAGESIZE);
	return event->asked->period_ns;
}

/* Of the samples since the last profile. */
static uint64_t event_value(const struct view_event *event, const struct baseline_values *values)
{
	if (view_event_weighs(event))
		return values->value * (uint64_t)sysconf(_SC_PAGESIZE);
	return values->count * event->asked->period_ns;
}

bool profile_part_values(const struct view *view, const struct profile_part *part,
			 const struct sample *sample, int64_t values[PROFILE_PART_TYPES])
{
	const struct view_event *event = NULL;
	struct baseline_values since;

	memset(values, 0, PROFILE_PART_TYPES * sizeof(*values));
	if (sample->site && sample->site->class == VIEW_MMAP)
		values += MAPPED_TYPES;
	if (part->kind == PUSH_HEAP) {
		values[0] = sample->site->live_blocks;
		values[1] = sample->site->live_bytes;
		return values[0] > 0 || values[1] > 0;
	}
	since = baseline_since(part->base, sample);
	(void)view_job(view, &event); /* NULL: allocations */
	values[0] = saturate_signed(since.count);
	values[1] = saturate_signed(event ? event_value(event, &since) : since.value);
	return since.count > 0;
}

uint64_t profile_part_period(const struct view *view, const struct profile_part *part)
{
	const struct view_event *event = NULL;
	uint64_t period;

	(void)view_job(view, &event); /* NULL: allocations */
	period = event ? event_period(event) : part->process->totals.sample_interval;
	return period ? period : 1;
}

struct profile_part_time profile_part_time(const struct view *view, const struct profile_part *part)
{
	const struct record_run *run = model_run(view_model(view));
	uint64_t now_ns = view_now_ns(view), begin_ns = now_ns;

	if (!run || now_ns < run->start_ns)
		return (struct profile_part_time){};
	if (part->kind != PUSH_HEAP)
		begin_ns = part->base ? baseline_time_ns(part->base) : run->start_ns;
	return (struct profile_part_time){
		/* a sleep in between comes before it */
		.start_ns = view_realtime_ns(view) - (now_ns - begin_ns),
		.length_ns = now_ns - begin_ns,
	};
}

struct filter {
	const struct model_process *image;
	sample_fn fn;
	void *userdata;
};

static int filter_image(const struct sample *sample, void *userdata)
{
	const struct filter *filter = userdata;

	return sample->image == filter->image ? filter->fn(sample, filter->userdata) : 0;
}

int profile_part_each(const struct view *view, const struct profile_part *part, sample_fn fn,
		      void *userdata)
{
	struct filter filter = { part->process->image, fn, userdata };

	if (part->kind != PUSH_CPU && part->kind != PUSH_GROWTH)
		return samples_of_process(part->process, fn, userdata);
	return samples_of_classes(view, filter_image, &filter);
}
