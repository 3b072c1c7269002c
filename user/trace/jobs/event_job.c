/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/jobs/event_job.h"

#include "base/hashmap.h"
#include "event.skel.h"
#include "event_old.skel.h"
#include "trace/bpf/bpf_batch.h"
#include "trace/bpf/programs.h"
#include "trace/kernel/old_kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

struct event_job {
	struct job job;
	const struct event_spec *spec;
	struct event_job_opts opts;
	struct event_bpf *skel;
	int fd; /* -1: not attached */
};

/* --- reading: the sum over CPUs -------------------------------------------------------------- */

struct sum {
	struct abi_event_key key; /* cpu: 0 */
	struct abi_event_count count;
};

static uint64_t sum_hash(const void *item)
{
	return hash_bytes(&((const struct sum *)item)->key, sizeof(struct abi_event_key), 0);
}

static bool sum_equal(const void *item_a, const void *item_b)
{
	const struct abi_event_key *a = &((const struct sum *)item_a)->key;
	const struct abi_event_key *b = &((const struct sum *)item_b)->key;

	return a->stack == b->stack && a->kernel_stack == b->kernel_stack && a->image == b->image;
}

static const struct hashmap_ops sum_ops = { sum_hash, sum_equal, free };

static int add_count(struct hashmap *sums, const struct abi_event_key *key,
		     const struct abi_event_count *count)
{
	_cleanup_free_ struct sum *sum = malloc(sizeof(*sum));
	struct sum *found;
	int r;

	if (!sum)
		return -ENOMEM;
	*sum = (struct sum){ *key, *count };
	sum->key.cpu = 0;
	found = hashmap_find(sums, sum);
	if (!found) {
		r = hashmap_insert(sums, sum);
		if (r == 0)
			TAKE_PTR(sum);
		return r;
	}
	found->count.count += count->count;
	if (count->first_ns < found->count.first_ns)
		found->count.first_ns = count->first_ns;
	if (count->last_ns > found->count.last_ns)
		found->count.last_ns = count->last_ns;
	return 0;
}

static int take_entries(const void *keys, const void *values, size_t n, void *userdata)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = add_count(userdata, (const struct abi_event_key *)keys + i,
			      (const struct abi_event_count *)values + i);
	return r;
}

static int event_read(struct job *job, record_fn fn, void *userdata)
{
	struct event_job *event = (struct event_job *)job;
	_cleanup_(hashmap_free_p) struct hashmap *sums = NULL;
	const struct sum *sum;
	size_t pos = 0;
	int r = hashmap_new(&sum_ops, &sums);

	if (r == 0)
		r = bpf_batch_read(bpf_map__fd(event->skel->maps.event_counts),
				   sizeof(struct abi_event_key), sizeof(struct abi_event_count),
				   take_entries, sums);
	while (r == 0 && (sum = hashmap_next(sums, &pos))) {
		const struct record record = {
			.type = RECORD_EVENT_COUNT,
			.event_count = { .id = event->opts.id,
					 .slot = sum->key.image,
					 .stack = sum->key.stack,
					 .kernel_stack = sum->key.kernel_stack,
					 .count = sum->count.count,
					 .first_ns = sum->count.first_ns,
					 .last_ns = sum->count.last_ns },
		};

		/* An entry that is just being made has no count yet. */
		if (sum->count.count)
			r = fn(&record, userdata);
	}
	return r;
}

static int event_describe(const struct job *job, record_fn fn, void *userdata)
{
	const struct event_job *event = (const struct event_job *)job;
	_cleanup_strbuf_ struct strbuf name = { 0 };
	struct record record = {
		.type = RECORD_EVENT,
		.event = { .id = event->opts.id, .kernel = event->opts.kernel_stacks },
	};

	strbuf_addf(&name, "%s:%s", event->spec->category, event->spec->name);
	if (strbuf_error(&name))
		return -ENOMEM;
	record.event.name = strbuf_str(&name);
	return fn(&record, userdata);
}

static uint64_t event_missed(const struct job *job)
{
	return program_missed(((const struct event_job *)job)->skel->progs.on_event);
}

static void event_free(struct job *job)
{
	struct event_job *event = (struct event_job *)job;

	if (event->fd >= 0)
		close(event->fd);
	event_bpf__destroy(event->skel);
	free(event);
}

static const struct job_ops event_ops = {
	.describe = event_describe,
	.read = event_read,
	.missed = event_missed,
	.free = event_free,
};

static int attach(struct event_job *event, const struct job_context *context)
{
	const struct event_spec *spec = event->spec;
	static const char enter[] = "sys_enter_";

	event->fd = job_attach_tracepoint(context, event->skel->progs.on_event, spec->category,
					  spec->name);
	if (event->fd >= 0)
		return 0;
	if (event->fd != -ENOENT)
		return event->fd;
	strbuf_addf(context->error, "-e %s: ", spec->text);
	return job_no_event(context, spec->category, spec->name,
			    spec->is_syscall ? spec->name + sizeof(enter) - 1 : NULL);
}

DEFINE_OPEN_OLD(event)

int event_job_new(const struct job_context *context, const struct event_spec *spec,
		  const struct event_job_opts *opts, struct job **ret_job)
{
	_cleanup_(job_free_p) struct job *job = NULL;
	struct event_job *event = calloc(1, sizeof(*event));
	int r;

	if (!event)
		return -ENOMEM;
	job = &event->job;
	*event = (struct event_job){ .job.ops = &event_ops, .spec = spec, .opts = *opts, .fd = -1 };
	event->skel = old_kernel() ? open_old() : event_bpf__open();
	if (!event->skel)
		return -errno;
	job_set_scope(event->skel->rodata, context);
	event->skel->rodata->knob_event = opts->id;
	event->skel->rodata->knob_kernel = opts->kernel_stacks;
	event->skel->rodata->knob_each = opts->each;
	event->skel->rodata->knob_number =
		job_event_number(context, spec->category, "", spec->name);
	event->skel->rodata->knob_max_stack = opts->max_stack;
	event->skel->rodata->knob_unwind = context->programs->unwind;
	event->skel->rodata->knob_check_stacks = context->programs->check_stacks;
	r = job_share_maps(event->skel->obj, context->programs);
	if (r == 0)
		r = event_bpf__load(event->skel);
	if (r == 0)
		r = attach(event, context);
	if (r == 0)
		*ret_job = TAKE_PTR(job);
	return r;
}
