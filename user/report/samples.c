/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/samples.h"

#include "base/saturate.h"

#include <string.h>

uint64_t sample_weight(const struct sample *sample, enum option_sort sort)
{
	if (!sample->site)
		return sample->value;
	return saturate_unsigned(view_site_weight(sample->site, view_site_quantity(sort)));
}

const struct sample_cost_type sample_cost_types[SAMPLE_COSTS] = {
	[COST_LIVE] = { "Live", "Live bytes", "bytes" },
	[COST_LIVE_BLOCKS] = { "LiveBlocks", "Live blocks", "none" },
	[COST_PEAK] = { "Peak", "Bytes at the heap's peak", "bytes" },
	[COST_ALLOCATED] = { "Allocated", "Allocated bytes", "bytes" },
	[COST_ALLOCS] = { "Allocs", "Allocations", "none" },
	[COST_TEMPORARY] = { "Temporary", "Temporary allocations", "none" },
	[COST_MAPPED] = { "Mapped", "Mapped bytes", "bytes" },
	[COST_REGIONS] = { "Regions", "Mapped regions", "none" },
	[COST_MAPPED_PEAK] = { "MappedPeak", "Bytes at the mappings' peak", "bytes" },
	[COST_MAPPED_BYTES] = { "MappedInAll", "Bytes of all mappings", "bytes" },
	[COST_MAPPINGS] = { "Mappings", "Mappings made", "none" },
};

/* Which sites of the heap know what was temporary; both false: there are none. */
static void temporary_known(const struct view *view, bool *ret_any_knows, bool *ret_any_lacks)
{
	*ret_any_knows = *ret_any_lacks = false;
	for (size_t i = 0; i < view_n_processes(view); i++) {
		const struct view_process *process = view_process(view, i);

		for (size_t j = 0; j < process->n_sites; j++) {
			if (process->sites[j].class == VIEW_MMAP)
				continue;
			if (process->sites[j].temporary == VIEW_UNKNOWN)
				*ret_any_lacks = true;
			else
				*ret_any_knows = true;
		}
	}
}

struct sample_cost_list sample_cost_list(const struct view *view)
{
	struct sample_cost_list list = { .n = 0 };
	const struct view_event *event;
	bool any_knows, any_lacks;

	if (view_job(view, &event) && event) {
		list.costs[list.n++] = COST_TIMES;
		return list;
	}
	temporary_known(view, &any_knows, &any_lacks);
	for (enum sample_cost cost = 0; cost < SAMPLE_COSTS; cost++)
		if (cost != COST_TEMPORARY || any_knows || !any_lacks)
			list.costs[list.n++] = cost;
	return list;
}

static const char *temporary_name(const struct view *view)
{
	bool any_knows, any_lacks;

	temporary_known(view, &any_knows, &any_lacks);
	return any_lacks ? "Temporary allocations, without those of samples" :
			   sample_cost_types[COST_TEMPORARY].name;
}

const char *sample_cost_name(const struct view *view, enum sample_cost cost)
{
	if (cost == COST_TEMPORARY)
		return temporary_name(view);
	if (view_n_programs(view) < 2)
		return sample_cost_types[cost].name;
	switch (cost) {
	case COST_PEAK:
		return "Bytes at the heap's peak, " SAMPLE_PEAKS_DIFFER;
	case COST_MAPPED_PEAK:
		return "Bytes at the mappings' peak, " SAMPLE_PEAKS_DIFFER;
	default:
		return sample_cost_types[cost].name;
	}
}

const char *sample_cost_id(const struct view *view, enum sample_cost cost)
{
	if (view_n_programs(view) < 2)
		return sample_cost_types[cost].id;
	switch (cost) {
	case COST_PEAK:
		return "PeakOfEachProcess";
	case COST_MAPPED_PEAK:
		return "MappedPeakOfEachProcess";
	default:
		return sample_cost_types[cost].id;
	}
}

bool sample_peaks_differ(const struct view *view, enum option_sort sort)
{
	const struct view_event *event;

	return view_n_programs(view) > 1 && view_site_quantity(sort) == SORT_PEAK &&
	       view_job(view, &event) && !event;
}

static void site_costs(const struct view_site *site, uint64_t costs[SAMPLE_COSTS])
{
	memset(costs, 0, SAMPLE_COSTS * sizeof(*costs));
	if (site->class == VIEW_MMAP) {
		costs[COST_MAPPED] = saturate_unsigned(site->live_bytes);
		costs[COST_REGIONS] = saturate_unsigned(site->live_blocks);
		costs[COST_MAPPED_PEAK] = saturate_unsigned(site->peak_bytes);
		costs[COST_MAPPED_BYTES] = site->bytes;
		costs[COST_MAPPINGS] = site->allocs;
		return;
	}
	costs[COST_LIVE] = saturate_unsigned(site->live_bytes);
	costs[COST_LIVE_BLOCKS] = saturate_unsigned(site->live_blocks);
	costs[COST_PEAK] = saturate_unsigned(site->peak_bytes);
	costs[COST_ALLOCATED] = site->bytes;
	costs[COST_ALLOCS] = site->allocs;
	costs[COST_TEMPORARY] = saturate_unsigned(view_site_weight(site, SORT_TEMPORARY));
}

size_t sample_costs(const struct sample *sample, uint64_t costs[SAMPLE_COSTS])
{
	size_t n = sample->site ? SAMPLE_COSTS : 1;
	uint64_t any = 0;

	if (sample->site)
		site_costs(sample->site, costs);
	else
		costs[COST_TIMES] = sample_weight(sample, SORT_BYTES);
	for (size_t i = 0; i < n; i++)
		any |= costs[i];
	return any ? n : 0;
}

const char *sample_what(const struct view_event *event, enum view_class class,
			enum option_sort sort)
{
	if (event)
		return event->asked->name;
	switch (view_site_quantity(sort)) {
	case SORT_TEMPORARY:
		return "Temporary allocations";
	case SORT_PEAK:
		return class == VIEW_MMAP ? "Mapped memory at its peak" : "Heap at its peak";
	default:
		return class == VIEW_MMAP ? "Mapped memory" : "Heap";
	}
}

const char *sample_unit(const struct view_event *event, enum option_sort sort)
{
	if (event && event->asked->timed)
		return "ns";
	if (event && view_event_weighs(event))
		return "page faults";
	if (event)
		return event->asked->period_ns ? "samples" : "events";
	return view_site_quantity(sort) == SORT_TEMPORARY ? "allocations" : "bytes";
}

int samples_of_process(const struct view_process *process, sample_fn fn, void *userdata)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < process->n_sites; i++) {
		const struct view_site site = view_site_in_sums(process, &process->sites[i]);
		const struct sample sample = {
			.image = process->image,
			.stack = &process->sites[i].stack,
			.site = &site,
		};

		r = fn(&sample, userdata);
	}
	return r;
}

static int each_site(const struct view *view, sample_fn fn, void *userdata)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < view_n_processes(view); i++)
		r = samples_of_process(view_process(view, i), fn, userdata);
	return r;
}

int samples_of_classes(const struct view *view, sample_fn fn, void *userdata)
{
	const struct view_event *event;
	int r = 0;

	if (!view_job(view, &event))
		return 0;
	if (!event)
		return each_site(view, fn, userdata);
	for (size_t i = 0; r == 0 && i < event->n_stacks; i++) {
		const struct sample sample = {
			.image = event->stacks[i].image,
			.stack = &event->stacks[i].stack,
			.count = event->stacks[i].count,
			.value = view_event_value(event, &event->stacks[i]),
		};

		r = fn(&sample, userdata);
	}
	return r;
}

struct class_filter {
	enum view_class class;
	sample_fn fn;
	void *userdata;
};

static int pass_class(const struct sample *sample, void *userdata)
{
	const struct class_filter *filter = userdata;

	if (sample->site && sample->site->class != filter->class)
		return 0;
	return filter->fn(sample, filter->userdata);
}

int samples_each(const struct view *view, sample_fn fn, void *userdata)
{
	struct class_filter filter = { view_class_shown(view), fn, userdata };

	return samples_of_classes(view, pass_class, &filter);
}

static int push_mark(struct sample_frames *frames, const char *mark, bool is_kernel)
{
	return vec_push(&frames->list,
			(struct sample_frame){ .mark = mark, .is_kernel = is_kernel });
}

int sample_frames_fill(struct sample_frames *frames, const struct view_stack *stack)
{
	struct view_frames it = { .stack = stack };
	struct sample_frame next = { 0 };
	int r = 0;

	frames->list.len = 0;
	if (stack->kernel_lost)
		r = push_mark(frames, "[stack-lost]", true);
	while (r == 0 && view_frames_next(&it, &next.frame)) {
		const struct model_object *mapped = next.frame.place->mapped;

		next.is_kernel = mapped && model_object_is_kernel(mapped);
		r = vec_push(&frames->list, next);
	}
	if (r == 0 && stack->truncated)
		r = push_mark(frames, "[truncated]", false);
	else if (r == 0 && stack->lost)
		r = push_mark(frames, "[stack-lost]", false);
	return r;
}

size_t sample_frames_name_index(const struct view_stack *stack)
{
	size_t index = view_stack_name_index(stack);

	return index ? index + stack->kernel_lost : 0;
}

size_t sample_frames_of_place(const struct sample_frames *frames, size_t index)
{
	const struct sample_frame *first = &frames->list.data[index];
	size_t n = 1;

	while (!first->mark && index + n < frames->list.len && !first[n].mark &&
	       first[n].frame.index == first->frame.index)
		n++;
	return n;
}

void sample_frames_done(struct sample_frames *frames)
{
	vec_done(&frames->list);
}

void sample_frame_name(const struct sample_frame *frame, struct strbuf *out)
{
	if (frame->mark)
		strbuf_adds(out, frame->mark);
	else
		view_frame_name(&frame->frame, out);
}
