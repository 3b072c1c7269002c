/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/jobs/event_job.h"

#include "base/clock.h"
#include "base/hashmap.h"
#include "bpf/abi_jobs.h"
#include "event.skel.h"
#include "event_old.skel.h"
#include "trace/bpf/bpf_batch.h"
#include "trace/bpf/bpf_link.h"
#include "trace/bpf/kernel_types.h"
#include "trace/bpf/programs.h"
#include "trace/jobs/cpu_links.h"
#include "trace/jobs/fault_clocks.h"
#include "trace/kernel/old_kernel.h"
#include "trace/kernel/sampling.h"
#include "trace/record/image.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

struct event_job {
	struct job job;
	const struct event_spec *spec;
	struct event_job_opts opts;
	enum abi_scope scope;
	struct event_bpf *skel;
	int fd;			     /* attached as long as it is open; -1: there are */
	struct cpu_links *cpus;	     /* of perf's counts; NULL: it is none */
	struct fault_clocks *faults; /* NULL: it is of something else */
};

/* --- reading: the sum over CPUs -------------------------------------------------------------- */

struct sum {
	struct abi_event_key key; /* cpu: 0 */
	struct abi_event_count count;
};

DEFINE_HASHMAP_OPS(sum_ops, struct sum, free, key.stack, key.kernel_stack, key.image);

static int add_count(struct hashmap *sums, const struct abi_event_key *key,
		     const struct abi_event_count *count)
{
	struct sum sum = { *key, *count }, *found;
	bool is_new;

	sum.key.cpu = 0;
	found = hashmap_intern(sums, &sum, sizeof(sum), &is_new);
	if (!found)
		return -ENOMEM;
	if (is_new)
		return 0;
	found->count.count += count->count;
	found->count.ns += count->ns;
	found->count.weight += count->weight;
	found->count.variance += count->variance;
	if (count->first_ns < found->count.first_ns)
		found->count.first_ns = count->first_ns;
	if (count->last_ns > found->count.last_ns)
		found->count.last_ns = count->last_ns;
	return 0;
}

static int add_entries(const void *keys, const void *values, size_t n, void *userdata)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = add_count(userdata, (const struct abi_event_key *)keys + i,
			      (const struct abi_event_count *)values + i);
	return r;
}

struct waits {
	struct hashmap *sums;
	uint64_t now_ns;
};

/* What has waited since it was last seen has done so until now. */
static int add_waits(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct abi_blocked *waits = values;
	const struct waits *to = userdata;
	int r = 0;

	(void)keys; /* whose they are does not matter */
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct abi_event_count count = {
			.count = 1,
			.first_ns = waits[i].since_ns,
			.last_ns = waits[i].since_ns,
			.ns = to->now_ns > waits[i].since_ns ? to->now_ns - waits[i].since_ns : 0,
		};

		r = add_count(to->sums, &waits[i].key, &count);
	}
	return r;
}

static int read_waits(const struct event_job *event, struct hashmap *sums)
{
	struct waits waits = { sums, clock_monotonic_ns() };

	return bpf_batch_read(bpf_map__fd(event->skel->maps.blocked), sizeof(uint32_t),
			      sizeof(struct abi_blocked), add_waits, &waits);
}

/*
 * The counts, and behind them those that are not over: one that ends between the two is in the next
 * reading alone.
 */
static int read_sums(const struct event_job *event, struct hashmap *sums)
{
	int r = bpf_batch_read(bpf_map__fd(event->skel->maps.event_counts),
			       sizeof(struct abi_event_key), sizeof(struct abi_event_count),
			       add_entries, sums);

	return r == 0 && event->spec->kind == EVENT_WAIT ? read_waits(event, sums) : r;
}

static int event_read(struct job *job, record_fn fn, void *userdata)
{
	struct event_job *event = (struct event_job *)job;
	_cleanup_(hashmap_done) struct hashmap sums = { .ops = &sum_ops };
	const struct sum *sum;
	uint64_t interval = 0;
	size_t pos = 0;
	int r = read_sums(event, &sums);

	if (event->faults) /* after them: none has a longer one */
		interval = fault_clocks_interval(event->faults);
	while (r == 0 && (sum = hashmap_next(&sums, &pos))) {
		const struct record record = {
			.type = RECORD_EVENT_COUNT,
			.event_count = { .id = event->opts.id,
					 .image = { sum->key.image },
					 .stack = sum->key.stack,
					 .kernel_stack = sum->key.kernel_stack,
					 .count = sum->count.count,
					 .first_ns = sum->count.first_ns,
					 .last_ns = sum->count.last_ns,
					 .ns = sum->count.ns,
					 .weight = sum->count.weight,
					 .variance = sum->count.variance,
					 .interval = interval },
		};

		/* An entry that is just being made has no count yet. */
		if (sum->count.count)
			r = fn(&record, userdata);
	}
	return r;
}

/* How the period of page faults follows what comes; NULL: it does not. */
static const struct fault_period_opts *adapts(const struct event_job *event)
{
	if (event->spec->kind != EVENT_FAULTS || event->spec->period)
		return NULL;
	return event->scope == ABI_SCOPE_PROCESSES ? &fault_period_of_few : &fault_period_of_host;
}

static int event_describe(const struct job *job, record_fn fn, void *userdata)
{
	const struct event_job *event = (const struct event_job *)job;
	_cleanup_strbuf_ struct strbuf name = { 0 };
	struct record record = {
		.type = RECORD_EVENT,
		.event = { .id = event->opts.id,
			   .kernel = event->opts.kernel_stacks,
			   .period_ns =
				   event->spec->hz ? UINT64_C(1000000000) / event->spec->hz : 0,
			   .timed = event->spec->kind == EVENT_WAIT,
			   .period = event->spec->period,
			   .adapts = adapts(event) != NULL,
			   .page_bytes = event->spec->kind == EVENT_FAULTS ?
						 (uint64_t)sysconf(_SC_PAGESIZE) :
						 0 },
	};

	if (event->spec->category)
		strbuf_addf(&name, "%s:", event->spec->category);
	strbuf_adds(&name, event->spec->name);
	if (strbuf_error(&name))
		return -ENOMEM;
	record.event.name = strbuf_str(&name);
	return fn(&record, userdata);
}

static struct bpf_program *program_of(const struct event_job *event)
{
	switch (event->spec->kind) {
	case EVENT_SAMPLE:
		return event->skel->progs.on_sample;
	case EVENT_FAULTS:
		return event->skel->progs.on_page_fault;
	case EVENT_WAIT:
		return event->skel->progs.on_switch;
	default:
		return event->skel->progs.on_event;
	}
}

static uint64_t event_missed(const struct job *job)
{
	return program_missed(program_of((const struct event_job *)job));
}

static void event_free(struct job *job)
{
	struct event_job *event = (struct event_job *)job;

	if (event->fd >= 0)
		close(event->fd);
	cpu_links_free(event->cpus);
	fault_clocks_free(event->faults);
	event_bpf__destroy(event->skel);
	free(event);
}

static const struct job_ops event_ops = {
	.describe = event_describe,
	.read = event_read,
	.missed = event_missed,
	.free = event_free,
};

struct images {
	const image_t *sorted;
	size_t n;
};

static bool is_of_images(const void *key, const void *userdata)
{
	const struct abi_event_key *event = key;
	const struct images *images = userdata;

	return image_list_has(images->sorted, images->n, (image_t){ event->image });
}

int event_job_purge(struct job *job, const image_t *images, size_t n)
{
	struct event_job *event = (struct event_job *)job;
	const struct images purged = { images, n };

	if (job->ops != &event_ops)
		return 0;
	return bpf_batch_purge(bpf_map__fd(event->skel->maps.event_counts),
			       sizeof(struct abi_event_key), sizeof(struct abi_event_count),
			       is_of_images, &purged, NULL, NULL);
}

static int link_count(int cpu, void *userdata)
{
	const struct event_job *event = userdata;
	const int prog_fd = bpf_program__fd(program_of(event));

	return event->spec->kind == EVENT_SAMPLE ? link_cpu_clock(prog_fd, cpu, event->spec->hz) :
						   fault_clocks_link(event->faults, prog_fd, cpu);
}

int event_job_check(struct job *job)
{
	struct event_job *event = (struct event_job *)job;
	int r;

	if (job->ops != &event_ops || !event->cpus)
		return 0;
	r = cpu_links_check(event->cpus);
	return r == 0 && event->faults ? fault_clocks_update(event->faults) : r;
}

uint64_t event_job_gaps(const struct job *job)
{
	const struct event_job *event = (const struct event_job *)job;

	return job->ops == &event_ops && event->cpus ? cpu_links_gaps(event->cpus) : 0;
}

static int attach(struct event_job *event, const struct job_context *context)
{
	const struct event_spec *spec = event->spec;
	static const char enter[] = "sys_enter_";
	bool wait = spec->kind == EVENT_WAIT;
	int fd, r;

	if (spec->kind == EVENT_FAULTS) {
		r = fault_clocks_new(event->skel->maps.fault_clocks, adapts(event), spec->period,
				     &event->faults);
		if (r < 0)
			return r;
	}
	if (spec->kind == EVENT_SAMPLE || spec->kind == EVENT_FAULTS)
		return cpu_links_new(link_count, event, &event->cpus);
	fd = job_attach_tracepoint(context, program_of(event), wait ? "sched" : spec->category,
				   wait ? "sched_switch" : spec->name);
	if (fd >= 0) {
		event->fd = fd;
		return 0;
	}
	if (fd != -ENOENT || wait)
		return fd;
	strbuf_addf(context->error, "-e %s: ", spec->text);
	return job_no_event(context, spec->category, spec->name,
			    spec->is_syscall ? spec->name + sizeof(enter) - 1 : NULL);
}

DEFINE_OPEN(event)

/*
 * They need maps that grow where nothing may sleep: an interrupt, and the scheduler with its locks.
 * Before Linux 6.1 the room comes from kmalloc(), which may wake a thread there.
 */
static int check_sampling(const struct job_context *context, const struct event_spec *spec)
{
	static const char *const options[] = { [EVENT_SAMPLE] = "--cpu",
					       [EVENT_WAIT] = "--off-cpu",
					       [EVENT_FAULTS] = "--page-faults" };
	int r = sampling_try();

	if (r == 0)
		return 0;
	strbuf_addf(context->error, "%s: this kernel lets no program sample (%s): Linux 6.1 does",
		    options[spec->kind], strerror(-r));
	return -EINVAL;
}

int event_job_new(const struct job_context *context, const struct event_spec *spec,
		  const struct event_job_opts *opts, struct job **ret_job)
{
	_cleanup_(job_free_p) struct job *job = NULL;
	struct event_job *event = calloc(1, sizeof(*event));
	_cleanup_close_ int types_fd = kernel_types_open("event");
	int r;

	if (!event)
		return -ENOMEM;
	job = &event->job;
	*event = (struct event_job){ .job.ops = &event_ops,
				     .spec = spec,
				     .opts = *opts,
				     .scope = context->scope,
				     .fd = -1 };
	if (spec->kind != EVENT_TRACEPOINT) {
		r = check_sampling(context, spec);
		if (r)
			return r;
	}
	event->skel = open_object(types_fd);
	if (!event->skel)
		return -errno;
	job_set_scope(event->skel->rodata, context);
	event->skel->rodata->knob_event = opts->id;
	event->skel->rodata->knob_kernel = opts->kernel_stacks;
	event->skel->rodata->knob_any_stack = spec->kind != EVENT_TRACEPOINT;
	event->skel->rodata->knob_each = opts->each;
	event->skel->rodata->knob_number =
		spec->kind == EVENT_TRACEPOINT ?
			job_event_number(context, spec->category, "", spec->name) :
			-1;
	event->skel->rodata->knob_max_stack = opts->max_stack;
	event->skel->rodata->knob_unwind = context->programs->unwind;
	event->skel->rodata->knob_check_stacks = context->programs->check_stacks;
	bpf_program__set_autoload(event->skel->progs.on_event, false);
	bpf_program__set_autoload(program_of(event), true);
	bpf_map__set_autocreate(event->skel->maps.blocked, spec->kind == EVENT_WAIT);
	event->skel->rodata->knob_fault_ticks = fault_clocks_ticks(adapts(event));
	bpf_map__set_autocreate(event->skel->maps.fault_clocks, spec->kind == EVENT_FAULTS);
	r = fault_clocks_set_room(event->skel->maps.fault_clocks);
	if (r == 0)
		r = job_share_maps(event->skel->obj, context->programs);
	if (r == 0)
		r = event_bpf__load(event->skel);
	if (r == 0)
		r = attach(event, context);
	if (r == 0)
		*ret_job = TAKE_PTR(job);
	return r;
}
