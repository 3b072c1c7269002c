/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/model.h"

#include "base/vec.h"
#include "model/coverage.h"
#include "model/job_counts.h"
#include "model/mappings.h"
#include "model/process.h"
#include "model/regions.h"
#include "model/series.h"

#include <errno.h>

struct model {
	struct strings strings;
	struct object_table objects;
	struct stacks stacks;
	struct processes *processes;
	struct mappings kernel; /* code of RECORD_NO_IMAGE */
	struct histograms histograms;
	struct event_counts events;
	struct syscalls syscalls;
	struct series *series;
	struct coverage coverage;
	struct depths depths;
	bool has_run;
	struct record_run run;
	VEC(struct record_function) functions; /* by id; name NULL where none was announced */
	uint64_t latest_ns;
	size_t keep_ended;
	bool forgets_counts;

	bool has_cut;
	uint64_t cut_ns, slept_ns;
	/* The cut that is being read. */
	bool in_cut;
	uint64_t next_cut_ns, next_slept_ns;
};

int model_new(struct model **ret_model)
{
	_cleanup_(model_free_p) struct model *model = calloc(1, sizeof(*model));
	int r;

	if (!model)
		return -ENOMEM;
	stacks_init(&model->stacks);
	object_table_init(&model->objects, &model->strings);
	event_counts_init(&model->events, &model->strings);
	syscalls_init(&model->syscalls, &model->strings);
	model->histograms.strings = model->coverage.strings = &model->strings;
	model->keep_ended = SIZE_MAX;
	r = processes_new(&model->strings, &model->processes);
	if (r == 0)
		r = series_new(&model->series);
	if (r == 0)
		*ret_model = TAKE_PTR(model);
	return r;
}

void model_free(struct model *model)
{
	if (!model)
		return;
	vec_done(&model->functions);
	coverage_done(&model->coverage);
	depths_done(&model->depths);
	syscalls_done(&model->syscalls);
	series_free(model->series);
	event_counts_done(&model->events);
	histograms_done(&model->histograms);
	mappings_done(&model->kernel);
	processes_free(model->processes);
	stacks_done(&model->stacks);
	object_table_done(&model->objects);
	strings_done(&model->strings);
	free(model);
}

static int apply_run(struct model *model, const struct record_run *record)
{
	struct record_run run = *record;
	int r = strings_intern_members(&model->strings, &run.tool, &run.kernel, &run.attach_path,
				       &run.unwinder, &run.kernel_lacks, &run.counted_by, NULL);

	if (r < 0)
		return r;
	model->run = run;
	model->has_run = true;
	return 0;
}

static int apply_function(struct model *model, const struct record_function *record)
{
	struct record_function function = *record;
	int r = vec_reserve(&model->functions, (size_t)record->id + 1);

	/* A system call is in no object. */
	if (function.object && !*function.object)
		function.object = NULL;
	if (r == 0)
		r = strings_intern_members(&model->strings, &function.name, &function.object, NULL);
	if (r < 0)
		return r;
	while (model->functions.len <= record->id)
		model->functions.data[model->functions.len++] = (struct record_function){ 0 };
	model->functions.data[record->id] = function;
	return 0;
}

static int apply_mapping(struct model *model, const struct record_mapping *record)
{
	const struct model_object *object;
	int r;

	/* Only code can be in a stack; data that is mapped over code takes its place. */
	if (!record->executable) {
		struct record_unmapping gone = {
			.image = record->image,
			.start = record->start,
			.end = record->end,
			.time_ns = record->time_ns,
		};

		return processes_unmap(model->processes, &gone);
	}
	r = object_table_intern(&model->objects, record, &object);
	if (r < 0)
		return r;
	if (image_is_none(record->image))
		return mappings_add(&model->kernel, record, object);
	return processes_map(model->processes, record, object);
}

static int apply_cut(struct model *model, const struct record_cut *record)
{
	processes_cut_begin(model->processes);
	histograms_cut_begin(&model->histograms);
	event_counts_cut_begin(&model->events);
	coverage_cut_begin(&model->coverage);
	model->in_cut = true;
	model->next_cut_ns = record->time_ns;
	model->next_slept_ns = record->slept_ns;
	syscalls_cut_begin(&model->syscalls);
	return 0;
}

/* Jobs that count by process name those that have ended, too, unless these are to be forgotten. */
static int fold_ended(struct model *model)
{
	_cleanup_free_ image_t *folded = NULL;
	size_t n;
	int r;

	if (model->keep_ended == SIZE_MAX || model->syscalls.list.len > 0 ||
	    (model->events.list.len > 0 && !model->forgets_counts))
		return 0;
	if (model->forgets_counts)
		processes_cut_ended(model->processes);
	r = processes_fold(model->processes, model->keep_ended, &folded, &n);
	if (r < 0 || n == 0)
		return r;
	event_counts_forget(&model->events, folded, n);
	r = series_forget(model->series, folded, n);
	return r ? r : stacks_forget(&model->stacks, folded, n);
}

static int apply_cut_end(struct model *model)
{
	int r = histograms_cut_end(&model->histograms);

	if (r == 0)
		r = event_counts_cut_end(&model->events);
	if (r == 0)
		r = syscalls_cut_end(&model->syscalls);
	if (r < 0)
		return r;
	model->in_cut = false;
	model->has_cut = true;
	model->cut_ns = model->next_cut_ns;
	model->slept_ns = model->next_slept_ns;
	coverage_cut_end(&model->coverage);
	processes_cut_end(model->processes);
	return fold_ended(model);
}

static int apply_in_cut(struct model *model, const struct record *record)
{
	if (!model->in_cut)
		return -EPROTO;
	switch (record->type) {
	case RECORD_TOTALS:
		return processes_cut_totals(model->processes, &record->totals);
	case RECORD_SITE:
		return processes_cut_site(model->processes, &record->site);
	case RECORD_HEAP_ERROR:
		return processes_cut_error(model->processes, &record->heap_error);
	case RECORD_FREE_PAIR:
		return processes_cut_free_pair(model->processes, &record->free_pair);
	case RECORD_HIST_COUNTS:
		return histograms_cut_counts(&model->histograms, &record->hist_counts);
	case RECORD_EVENT_COUNT:
		return event_counts_cut_count(&model->events, &record->event_count);
	case RECORD_SYSCALL:
		return syscalls_cut_call(&model->syscalls, &record->syscall);
	case RECORD_SYSCALL_FILE:
		return syscalls_cut_file(&model->syscalls, &record->syscall_file);
	case RECORD_SYSCALL_STACK:
		return syscalls_cut_stack(&model->syscalls, &record->syscall_stack);
	case RECORD_COVERAGE:
		return coverage_cut(&model->coverage, &record->coverage);
	case RECORD_STACK_CHECK:
		return coverage_stack_check(&model->coverage, &record->stack_check);
	case RECORD_CUT_END:
		return apply_cut_end(model);
	default:
		return -EPROTO;
	}
}

/* 0 for records without a time. */
static uint64_t record_time_ns(const struct record *record)
{
	switch (record->type) {
	case RECORD_RUN:
		return record->run.start_ns;
	case RECORD_PROCESS:
		return record->process.time_ns;
	case RECORD_PROCESS_END:
		return record->process_end.time_ns;
	case RECORD_MAPPING:
		return record->mapping.time_ns;
	case RECORD_UNMAPPING:
		return record->unmapping.time_ns;
	case RECORD_STACK:
		return record->stack.time_ns;
	case RECORD_REGION:
		return record->region.time_ns;
	case RECORD_REGION_GONE:
		return record->region_gone.time_ns;
	case RECORD_OCCURRENCE:
		return record->occurrence.time_ns;
	case RECORD_CUT:
		return record->cut.time_ns;
	case RECORD_SAMPLE:
		return record->sample.time_ns;
	case RECORD_DEPTH:
		return record->depth_change.time_ns;
	default:
		return 0;
	}
}

int model_apply(const struct record *record, void *userdata)
{
	struct model *model = userdata;
	uint64_t time_ns = record_time_ns(record);

	if (time_ns > model->latest_ns)
		model->latest_ns = time_ns;

	switch (record->type) {
	case RECORD_RUN:
		return apply_run(model, &record->run);
	case RECORD_FUNCTION:
		return apply_function(model, &record->function);
	case RECORD_PROCESS:
		return processes_begin(model->processes, &record->process);
	case RECORD_PROCESS_END:
		return processes_end(model->processes, &record->process_end);
	case RECORD_NAME:
		return processes_rename(model->processes, &record->name);
	case RECORD_MAPPING:
		return apply_mapping(model, &record->mapping);
	case RECORD_UNMAPPING:
		return processes_unmap(model->processes, &record->unmapping);
	case RECORD_STACK:
		return stacks_add(&model->stacks, &record->stack);
	case RECORD_REGION:
		return processes_region(model->processes, &record->region);
	case RECORD_REGION_GONE:
		return processes_region_gone(model->processes, &record->region_gone);
	case RECORD_RESIDENT:
		return processes_resident(model->processes, &record->resident);
	case RECORD_FAULT:
		return processes_fault(model->processes, &record->fault);
	case RECORD_DEATH:
		return processes_death(model->processes, &record->death);
	case RECORD_CUT:
		return apply_cut(model, &record->cut);
	case RECORD_TOTALS:
	case RECORD_SITE:
	case RECORD_FREE_PAIR:
	case RECORD_HEAP_ERROR:
	case RECORD_HIST_COUNTS:
	case RECORD_EVENT_COUNT:
	case RECORD_SYSCALL:
	case RECORD_SYSCALL_FILE:
	case RECORD_SYSCALL_STACK:
	case RECORD_COVERAGE:
	case RECORD_STACK_CHECK:
	case RECORD_CUT_END:
		return apply_in_cut(model, record);
	case RECORD_CUT_OFF:
		return coverage_cut_off(&model->coverage);
	case RECORD_UNPROBED:
		return coverage_add_unprobed(&model->coverage, &record->unprobed);
	case RECORD_SITES_DIFFER:
		return coverage_add_sites(&model->coverage, &record->sites_differ);
	case RECORD_STACK_DIFFERS:
		return coverage_add_differs(&model->coverage, &record->stack_differs);
	case RECORD_HISTOGRAM:
		return histograms_add(&model->histograms, &record->histogram);
	case RECORD_EVENT:
		return event_counts_add(&model->events, &record->event);
	case RECORD_SAMPLE:
		return series_begin(model->series, &record->sample);
	case RECORD_SAMPLE_PROCESS:
		return series_add_process(model->series, &record->sample_process);
	case RECORD_SAMPLE_SITE:
		return series_add_site(model->series, &record->sample_site);
	case RECORD_SAMPLE_END:
		return series_end(model->series, &record->sample_end);
	case RECORD_DEPTH:
		return depths_add_change(&model->depths, &record->depth_change);
	case RECORD_OVERHEAD:
		depths_set_overhead(&model->depths, &record->overhead);
		return 0;
	case RECORD_COST:
		depths_set_cost(&model->depths, &record->cost);
		return 0;
	case RECORD_OCCURRENCE:
	case RECORD_SYMBOL:
	case RECORD_JIT_CODE:
	case RECORD_SYMBOLS_UNREAD:
	case RECORD_LEAKS:
	case RECORD_LEAK_TEXT:
		return 0;
	}
	return -EPROTO;
}

void model_keep_ended(struct model *model, size_t n)
{
	model->keep_ended = n;
}

void model_forget_counts(struct model *model)
{
	model->forgets_counts = true;
}

void model_limit_regions(struct model *model, size_t most)
{
	processes_limit_regions(model->processes, most);
}

struct model_size model_size(const struct model *model)
{
	struct model_size size = {
		.objects = model->objects.list.len,
		.mappings = processes_n_mappings(model->processes),
		.stacks = model->stacks.map.len,
	};

	vec_foreach(&model->events.list, event)
		size.counts += (*event)->counts.len;
	for (size_t i = 0; i < processes_count(model->processes); i++) {
		const struct model_process *image = processes_get(model->processes, i);

		if (!image->regions || image->ended)
			continue;
		size.regions += regions_count(image->regions);
		size.region_sites += regions_n_sites(image->regions);
	}
	return size;
}

uint64_t model_regions_left_out(const struct model *model)
{
	uint64_t n = 0;

	for (size_t i = 0; i < processes_count(model->processes); i++) {
		const struct model_process *image = processes_get(model->processes, i);

		n += image->regions ? regions_left_out(image->regions) : 0;
	}
	return n;
}

const struct ended *model_ended(const struct model *model)
{
	return processes_ended(model->processes);
}

const struct record_run *model_run(const struct model *model)
{
	return model->has_run ? &model->run : NULL;
}

uint64_t model_now_ns(const struct model *model)
{
	return model->has_cut ? model->cut_ns : model->latest_ns;
}

uint64_t model_slept_ns(const struct model *model)
{
	return model->slept_ns;
}

bool model_is_later(const struct model *model, const struct model_process *image)
{
	return processes_is_later(model->processes, image);
}

size_t model_n_processes(const struct model *model)
{
	return processes_count(model->processes);
}

const struct model_process *model_process(const struct model *model, size_t index)
{
	return processes_get(model->processes, index);
}

const struct model_process *model_find_process(const struct model *model, image_t image)
{
	return processes_find(model->processes, image);
}

const struct record_function *model_function(const struct model *model, uint16_t id)
{
	if (id >= model->functions.len || !model->functions.data[id].name)
		return NULL;
	return &model->functions.data[id];
}

const struct model_stack *model_next_stack(const struct model *model, size_t *pos,
					   const struct model_stack *last)
{
	return stacks_next(&model->stacks, pos, last);
}

const struct model_stack *model_stack(const struct model *model, uint64_t id, image_t image)
{
	return stacks_find(&model->stacks, id, image);
}

bool model_resolve(const struct model *model, image_t image, uint64_t addr, uint64_t time_ns,
		   struct model_place *ret_place)
{
	const struct mapping *m;

	if (image_is_none(image))
		m = mappings_find(&model->kernel, addr, time_ns);
	else
		m = processes_find_mapping(model->processes, image, addr, time_ns);
	if (!m)
		return false;
	*ret_place = (struct model_place){
		.object = m->object,
		.file_offset = m->file_offset + (addr - m->start),
		.mapping = m,
	};
	return true;
}

bool model_locate(const struct model *model, image_t image, const struct record_function *function,
		  uint64_t time_ns, uint64_t *ret_addr, struct model_place *ret_place)
{
	const struct mapping *m;

	if (!function->object)
		return false;
	m = processes_find_file(model->processes, image, function->object, function->file_offset,
				time_ns);
	if (!m)
		return false;
	*ret_addr = m->start + (function->file_offset - m->file_offset);
	*ret_place = (struct model_place){
		.object = m->object,
		.file_offset = function->file_offset,
		.mapping = m,
	};
	return true;
}

const struct mapping *model_exe_mapping(const struct model *model, image_t image)
{
	return processes_find_exe(model->processes, image);
}

const char *model_command(const struct model *model, image_t image)
{
	return processes_command(model->processes, image);
}

const struct object_table *model_objects(const struct model *model)
{
	return &model->objects;
}

const struct histograms *model_histograms(const struct model *model)
{
	return &model->histograms;
}

const struct event_counts *model_events(const struct model *model)
{
	return &model->events;
}

const struct syscalls *model_syscalls(const struct model *model)
{
	return &model->syscalls;
}

const struct coverage *model_coverage(const struct model *model)
{
	return &model->coverage;
}

const struct series *model_series(const struct model *model)
{
	return model->series;
}

const struct depths *model_depths(const struct model *model)
{
	return &model->depths;
}
