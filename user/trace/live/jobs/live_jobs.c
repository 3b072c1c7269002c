/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/jobs/live_jobs.h"

#include "trace/jobs/event_job.h"
#include "trace/jobs/hist_job.h"
#include "trace/jobs/syscalls_job.h"
#include "trace/kernel/tracefs.h"
#include "trace/live/code/live_code.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"
#include "trace/live/stacks/live_stacks.h"

#include "memtraced.skel.h" /* after the ABI that it is made of */
#include "trace/record/image.h"

#include <errno.h>
#include <string.h>

/* Where Linux puts its code on x86-64 and arm64: the upper half. */
#define KERNEL_START 0xffff800000000000ULL

/* `traced`: tracepoints are needed. */
static int job_context(struct live *live, bool traced, struct strbuf *error,
		       struct job_context *ret_context)
{
	if (traced && live->jobs.tracefs_fd < 0) {
		int fd = tracefs_open();

		if (fd < 0)
			return fd;
		live->jobs.tracefs_fd = fd;
	}
	*ret_context = (struct job_context){
		.programs = live->programs,
		.tracefs_fd = live->jobs.tracefs_fd,
		/* What meets a rule has a slot, so that all jobs agree on it. */
		.scope = live->opts.run.rule.of_uid || live->opts.run.rule.names ?
				 ABI_SCOPE_PROCESSES :
				 live->opts.run.rule.scope,
		.error = error,
	};
	return 0;
}

/* The job belongs to the source from now on. */
static int add_job(struct live *live, struct job *job)
{
	int r = vec_push(&live->jobs.all, job);

	if (r)
		job_free(job);
	return r;
}

int live_add_hist(struct live *live, const struct hist_spec *spec, struct strbuf *error)
{
	struct job_context context;
	struct job *job;
	int r = job_context(live, true, error, &context);

	if (r == 0)
		r = hist_job_new(&context, spec, live->jobs.all.len,
				 live->programs->entry_type != 0, &job);
	if (r == 0)
		r = add_job(live, job);
	if (r == 0 && hist_job_size_fd(job) >= 0)
		r = objects_add_sizes(live->objects, hist_job_size_fd(job), spec->name);
	return r;
}

int live_add_event(struct live *live, const struct event_spec *spec, bool kernel_stacks, bool each,
		   struct strbuf *error)
{
	const struct event_job_opts opts = {
		.id = live->jobs.all.len,
		.kernel_stacks = kernel_stacks,
		.each = each,
		.max_stack = live->opts.run.max_stack,
	};
	struct job_context context;
	struct job *job;
	bool tracefs = spec->kind == EVENT_TRACEPOINT || spec->kind == EVENT_WAIT;
	int r = job_context(live, tracefs, error, &context);

	if (r == 0)
		r = event_job_new(&context, spec, &opts, &job);
	if (r == 0)
		r = add_job(live, job);
	live->jobs.kernel_stacks |= kernel_stacks;
	live->jobs.kernel_code |= kernel_stacks || spec->kind != EVENT_TRACEPOINT;
	live->jobs.n_events++;
	return r;
}

int live_add_syscalls(struct live *live, bool stacks, struct strbuf *error)
{
	struct job_context context;
	struct job *job;
	int r = job_context(live, true, error, &context);

	if (r == 0)
		r = syscalls_job_new(&context, stacks ? live->opts.run.max_stack : 0, &job);
	if (r == 0)
		r = add_job(live, job);
	if (r == 0)
		live->jobs.syscalls = job;
	return r;
}

/* The kernel's code is mapped in no image. */
static int describe_kernel(struct live *live)
{
	const struct record record = {
		.type = RECORD_MAPPING,
		.mapping = { .image = RECORD_NO_IMAGE,
			     .start = KERNEL_START,
			     .end = UINT64_MAX,
			     .file_offset = KERNEL_START,
			     .time_ns = live->start_ns,
			     .path = "[kernel.kallsyms]",
			     .executable = true },
	};

	return live_emit(live, &record);
}

int live_describe_jobs(struct live *live)
{
	int r = live->jobs.kernel_code ? describe_kernel(live) : 0;

	for (size_t i = 0; i < live->jobs.all.len && r == 0; i++) {
		const struct job *job = live->jobs.all.data[i];

		r = job->ops->describe(job, live->sink.fn, live->sink.userdata);
	}
	return r;
}

int live_describe_event(struct live *live, bool with_kernel)
{
	const struct job *job = live->jobs.all.data[live->jobs.all.len - 1];
	int r = with_kernel ? describe_kernel(live) : 0;

	return r ? r : job->ops->describe(job, live->sink.fn, live->sink.userdata);
}

/* Images in the order of their numbers. */
struct image_list {
	VEC(image_t) images;
};

static void image_list_done(struct image_list *list)
{
	vec_done(&list->images);
}

/* Whose counts are deleted after this cut. */
static int list_last(const struct live *live, struct image_list *list)
{
	int r = 0;

	vec_foreach(&live->slots.all, p)
		if (r == 0 && *p && (*p)->counts.read && !(*p)->counts.purged)
			r = vec_push(&list->images, (*p)->image);
	image_list_sort(list->images.data, list->images.len);
	return r;
}

struct job_reading {
	struct live *live;
	struct cut_coverage *running, *settled;
	struct image_list last;
	bool ring_lost; /* what announces a process may have been lost */
};

/*
 * Passes on what a process has done by system calls. The child of -c is no process of the report
 * before its exec; what will be deleted after this cut is counted for good.
 */
static int emit_syscalls(struct job_reading *reading, image_t *image, struct record *record)
{
	const slot_t slot = { image->n }; /* syscalls_read.h */
	const struct live_process *process = live_process_at(reading->live, slot);
	bool last = process && process->counts.read;
	struct cut_coverage *coverage = last ? reading->settled : reading->running;

	if (process && process->placeholder)
		return 0;
	/* It was first seen after the drain before this cut: the next one will have it. */
	if (!process && !reading->ring_lost)
		return 0;
	if (record->type == RECORD_SYSCALL)
		coverage->events += record->syscall.calls;
	if (record->type == RECORD_SYSCALL_STACK)
		live_count_stack(reading->live, record->syscall_stack.stack,
				 record->syscall_stack.calls, coverage);
	/* An image has the number of its slot only when it is the first there. */
	*image = process ? process->image :
			   (image_t){ shared_proc(reading->live->programs, slot)->image };
	return live_emit(reading->live, record);
}

/* Passes a job's record on, and counts what it covers. */
static int emit_job_record(const struct record *record, void *userdata)
{
	struct job_reading *reading = userdata;
	struct cut_coverage *coverage = reading->running;
	const struct record_event_count *event = &record->event_count;
	const struct record_hist_counts *hist = &record->hist_counts;
	struct record of_process = *record;

	if (record->type == RECORD_SYSCALL)
		return emit_syscalls(reading, &of_process.syscall.image, &of_process);
	if (record->type == RECORD_SYSCALL_FILE)
		return emit_syscalls(reading, &of_process.syscall_file.image, &of_process);
	if (record->type == RECORD_SYSCALL_STACK)
		return emit_syscalls(reading, &of_process.syscall_stack.image, &of_process);
	if (record->type == RECORD_EVENT_COUNT) {
		uint64_t stack = event->stack;

		if (stack == RECORD_STACK_NO_CODE && event->kernel_stack)
			stack = event->kernel_stack;

		if (image_list_has(reading->last.images.data, reading->last.images.len,
				   event->image))
			coverage = reading->settled;
		coverage->events += event->count;
		live_count_stack(reading->live, stack, event->count, coverage);
	}
	for (size_t i = 0; record->type == RECORD_HIST_COUNTS && i < hist->n_buckets; i++)
		coverage->events += hist->buckets[i].count;
	return live_emit(reading->live, record);
}

int live_read_jobs(struct live *live, struct cut_coverage *running, struct cut_coverage *settled)
{
	struct job_reading reading = { .live = live, .running = running, .settled = settled };
	uint64_t refused;
	int r = programs_refused(live->programs, &refused);

	if (r)
		return r;
	reading.ring_lost = refused > 0;
	r = live->opts.forget_ended ? list_last(live, &reading.last) : 0;
	for (size_t i = 0; i < live->jobs.all.len && r == 0; i++)
		r = live->jobs.all.data[i]->ops->read(live->jobs.all.data[i], emit_job_record,
						      &reading);
	image_list_done(&reading.last);
	return r;
}

uint64_t live_jobs_missed(const struct live *live)
{
	uint64_t sum = programs_missed(live->programs);

	vec_foreach(&live->jobs.all, job)
		sum += (*job)->ops->missed(*job);
	return sum;
}

int live_check_cpus(struct live *live)
{
	int r = 0;

	for (size_t i = 0; i < live->jobs.all.len && r == 0; i++)
		r = event_job_check(live->jobs.all.data[i]);
	return r;
}

uint64_t live_cpu_gaps(const struct live *live)
{
	uint64_t sum = 0;

	vec_foreach(&live->jobs.all, job)
		sum += event_job_gaps(*job);
	return sum;
}

int live_on_occurrence(struct live *live, const struct abi_ev_occurrence *ev)
{
	struct live_process *process = live_process_at(live, event_slot(&ev->head));
	char comm[sizeof(ev->comm) + 1] = "";
	const struct record record = {
		.type = RECORD_OCCURRENCE,
		.occurrence = { .id = ev->id,
				.image = process ? process->image : RECORD_NO_IMAGE,
				.tid = ev->tid,
				.cpu = ev->cpu,
				.time_ns = ev->head.time_ns,
				.weight = ev->weight,
				.stack = ev->stack,
				.kernel_stack = ev->kernel_stack,
				.comm = comm },
	};
	int r = process ? live_release_stacks(live, process) : 0;

	/* It is named at once: of what was read before it all changes are told. */
	if (r == 0 && process && ev->head.time_ns >= process->code_times.read_ns)
		r = live_record_changes(live, process, true);
	memcpy(comm, ev->comm, sizeof(ev->comm));
	return r ? r : live_emit(live, &record);
}

int live_on_file(struct live *live, const struct abi_ev_file *ev)
{
	return live->jobs.syscalls ? syscalls_job_on_file(live->jobs.syscalls, ev) : 0;
}

bool live_purges_jobs(const struct live *live)
{
	return live->jobs.syscalls || live->opts.forget_ended;
}

/* Of events, which name images: the list is what this cut has read for the last time. */
static int purge_events(struct live *live, const struct image_list *last)
{
	int r = 0;

	for (size_t i = 0; i < live->jobs.all.len && r == 0 && last->images.len; i++)
		if (live->jobs.all.data[i] != live->jobs.syscalls)
			r = event_job_purge(live->jobs.all.data[i], last->images.data,
					    last->images.len);
	return r;
}

int live_purge_jobs(struct live *live)
{
	_cleanup_(image_list_done) struct image_list last = {};
	_cleanup_free_ bool *slots = NULL;
	bool any = false;
	int r = live->opts.forget_ended ? list_last(live, &last) : 0;

	if (r == 0)
		r = purge_events(live, &last);
	if (r || !live_purges_jobs(live))
		return r;
	slots = calloc(live->slots.all.len + 1, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t slot = 0; slot < live->slots.all.len; slot++) {
		struct live_process *process = live->slots.all.data[slot];

		if (!process || !process->ended || process->counts.purged)
			continue;
		/* Once more: its last threads may have been counted while it was read. */
		if (process->counts.read)
			slots[slot] = process->counts.purged = any = true;
		process->counts.read = true;
	}
	if (!any || !live->jobs.syscalls)
		return 0;
	return syscalls_job_purge(live->jobs.syscalls, slots, live->slots.all.len);
}
