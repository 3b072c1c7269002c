/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/jobs/hist_job.h"

#include "base/vec.h"
#include "bpf/abi_jobs.h"
#include "hist.skel.h"
#include "hist_old.skel.h"
#include "trace/bpf/bpf_batch.h"
#include "trace/bpf/bpf_link.h"
#include "trace/bpf/kernel_types.h"
#include "trace/bpf/programs.h"
#include "trace/kernel/old_kernel.h"
#include "trace/kernel/tracefs.h"
#include "trace/kernel/tracepoint_format.h"
#include "trace/kernel/urgent.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

/* Where the kernel's syscall tracepoints have these, see bpf/hist.bpf.c. */
#define ARGS_OFFSET 16
#define RESULT_OFFSET 16
#define MAX_FDS 5

struct hist_job {
	struct job job;
	const struct hist_spec *spec;
	uint32_t id;
	struct hist_bpf *skel;
	int fds[MAX_FDS];
	size_t n_fds;
};

/* --- what is asked for ----------------------------------------------------------------------- */

/* System calls that restart_syscall goes on with: those that set a restart block. */
static bool has_restart_block(const char *name)
{
	static const char *const names[] = { "nanosleep", "clock_nanosleep", "poll", "futex" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static int unknown_field(const struct job_context *context, const struct hist_spec *spec,
			 const struct tp_format *format, const char *what)
{
	_cleanup_strbuf_ struct strbuf fields = { 0 };

	tp_format_list(format, TP_FIELD_INT, &fields);
	strbuf_addf(context->error, "--hist %s: %s has no %s '%s'; it has %s", spec->text,
		    spec->name, what, spec->field,
		    fields.len ? strbuf_str(&fields) : "no numbers at all");
	return strbuf_error(context->error) ? -ENOMEM : -EINVAL;
}

/* Describes the value to the programs. */
static int set_field(struct hist_bpf *skel, const struct job_context *context,
		     const struct hist_spec *spec, const struct tp_format *format)
{
	const struct tp_field *field = tp_format_find(format, spec->field);
	bool is_arg = spec->what == HIST_SYSCALL_ARG;

	if (!field || (is_arg && field->offset < ARGS_OFFSET))
		return unknown_field(context, spec, format, is_arg ? "argument" : "field");
	if (field->kind != TP_FIELD_INT || field->value_size > 8) {
		strbuf_addf(context->error, "--hist %s: '%s' is not a number", spec->text,
			    spec->field);
		return -EINVAL;
	}
	skel->rodata->knob_offset = field->offset;
	skel->rodata->knob_index = (field->offset - ARGS_OFFSET) / 8;
	skel->rodata->knob_size = field->value_size;
	skel->rodata->knob_signed = field->is_signed;
	return 0;
}

/* `prefix`: what the kernel puts before a system call's name. */
static int read_format(const struct job_context *context, const struct hist_spec *spec,
		       const char *category, const char *prefix, struct tp_format *ret_format)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };
	int r;

	strbuf_addf(&name, "%s%s", prefix, spec->name);
	if (strbuf_error(&name))
		return -ENOMEM;
	r = tracefs_read_format(context->tracefs_fd, category, strbuf_str(&name), ret_format);
	if (r != -ENOENT)
		return r;
	strbuf_addf(context->error, "--hist %s: ", spec->text);
	return job_no_event(context, category, strbuf_str(&name), *prefix ? spec->name : NULL);
}

static int set_syscall(struct hist_bpf *skel, const struct job_context *context,
		       const struct hist_spec *spec)
{
	_cleanup_(tp_format_done) struct tp_format enter = { 0 }, leave = { 0 };
	const struct tp_field *result;
	int r = read_format(context, spec, "syscalls", "sys_enter_", &enter);

	if (r == 0)
		r = read_format(context, spec, "syscalls", "sys_exit_", &leave);
	if (r)
		return r;
	result = tp_format_find(&leave, "ret");
	if (!result || result->offset != RESULT_OFFSET)
		return -EPROTO;
	skel->rodata->knob_signed = true;
	if (spec->what == HIST_SYSCALL_ARG)
		return set_field(skel, context, spec, &enter);
	return 0;
}

static int set_source(struct hist_bpf *skel, const struct job_context *context,
		      const struct hist_spec *spec)
{
	static const enum abi_hist_source sources[] = {
		[HIST_SYSCALL_RESULT] = ABI_HIST_RESULT,
		[HIST_SYSCALL_ARG] = ABI_HIST_ARGUMENT,
		[HIST_SYSCALL_NS] = ABI_HIST_LATENCY,
		[HIST_FIELD] = ABI_HIST_FIELD,
		[HIST_ALLOC] = ABI_HIST_SIZE,
	};
	_cleanup_(tp_format_done) struct tp_format format = { 0 };
	int r;

	skel->rodata->knob_source = sources[spec->what];
	if (spec->what == HIST_ALLOC)
		return 0;
	if (spec->what != HIST_FIELD)
		return set_syscall(skel, context, spec);
	r = read_format(context, spec, spec->category, "", &format);
	return r ? r : set_field(skel, context, spec, &format);
}

static void set_shape(struct hist_bpf *skel, const struct hist_spec *spec)
{
	static const enum abi_hist_by by[] = {
		[HIST_BY_NONE] = ABI_HIST_BY_NONE,
		[HIST_BY_COMM] = ABI_HIST_BY_COMM,
		[HIST_BY_PID] = ABI_HIST_BY_PID,
	};

	skel->rodata->knob_by = by[spec->by];
	skel->rodata->knob_linear = spec->linear;
	skel->rodata->knob_min = spec->min;
	skel->rodata->knob_max = spec->max;
	skel->rodata->knob_step = spec->linear ? spec->step : 1;
}

/* --- loading and attaching ------------------------------------------------------------------- */

static bool is_syscall(const struct hist_spec *spec)
{
	return spec->what == HIST_SYSCALL_RESULT || spec->what == HIST_SYSCALL_ARG ||
	       spec->what == HIST_SYSCALL_NS;
}

static void choose_programs(struct hist_bpf *skel, const struct hist_spec *spec, bool raw,
			    bool multi)
{
	bool syscall = is_syscall(spec), size = spec->what == HIST_ALLOC;

	bpf_program__set_autoload(skel->progs.on_enter,
				  syscall && spec->what != HIST_SYSCALL_RESULT);
	bpf_program__set_autoload(skel->progs.on_exit_call, syscall);
	bpf_program__set_autoload(skel->progs.on_exit_restart,
				  syscall && has_restart_block(spec->name));
	bpf_program__set_autoload(skel->progs.on_signal, raw && syscall);
	bpf_program__set_autoload(skel->progs.on_signal_perf, !raw && syscall);
	bpf_program__set_autoload(skel->progs.on_thread_exit, raw && (syscall || size));
	bpf_program__set_autoload(skel->progs.on_thread_exit_perf, !raw && (syscall || size));
	bpf_program__set_autoload(skel->progs.on_field, spec->what == HIST_FIELD);
	bpf_program__set_autoload(skel->progs.on_size, size);
	if (size && multi)
		(void)bpf_program__set_expected_attach_type(
			skel->progs.on_size, (enum bpf_attach_type)LINK_TYPE_UPROBE_MULTI);
}

static int add_fd(struct hist_job *job, int fd)
{
	if (fd < 0)
		return fd;
	job->fds[job->n_fds++] = fd;
	return 0;
}

static int attach_raw(struct hist_job *job, const struct bpf_program *program, const char *name)
{
	if (!bpf_program__autoload(program))
		return 0;
	return add_fd(job, link_raw_tracepoint(bpf_program__fd(program), name));
}

static int attach_named(struct hist_job *job, const struct job_context *context,
			const struct bpf_program *program, const char *category, const char *prefix,
			const char *name)
{
	_cleanup_strbuf_ struct strbuf event = { 0 };

	if (!bpf_program__autoload(program))
		return 0;
	strbuf_addf(&event, "%s%s", prefix, name);
	if (strbuf_error(&event))
		return -ENOMEM;
	return add_fd(job, job_attach_tracepoint(context, program, category, strbuf_str(&event)));
}

/* What follows a call comes before what begins it. */
static int attach(struct hist_job *job, const struct job_context *context)
{
	const struct hist_spec *spec = job->spec;
	const struct hist_bpf *skel = job->skel;
	int r = attach_raw(job, skel->progs.on_thread_exit, "sched_process_exit");

	if (r == 0)
		r = attach_named(job, context, skel->progs.on_thread_exit_perf, "sched", "",
				 "sched_process_exit");
	if (r == 0)
		r = attach_raw(job, skel->progs.on_signal, "signal_deliver");
	if (r == 0)
		r = attach_named(job, context, skel->progs.on_signal_perf, "signal", "",
				 "signal_deliver");
	if (r == 0)
		r = attach_named(job, context, skel->progs.on_exit_restart, "syscalls", "sys_exit_",
				 "restart_syscall");
	if (r == 0)
		r = attach_named(job, context, skel->progs.on_exit_call, "syscalls", "sys_exit_",
				 spec->name);
	if (r == 0)
		r = attach_named(job, context, skel->progs.on_enter, "syscalls", "sys_enter_",
				 spec->name);
	if (r == 0)
		r = attach_named(job, context, skel->progs.on_field, spec->category, "",
				 spec->name);
	return r;
}

/* --- reading --------------------------------------------------------------------------------- */

struct group {
	char name[sizeof(((struct abi_hist_key *)0)->group)];
	uint64_t counts[ABI_HIST_MAX_BUCKETS];
	VEC(struct record_errno) errors;
	uint64_t restarted;
	uint64_t passed_on;
};

struct reading {
	const struct hist_job *job;
	VEC(struct group *) groups;
	int error;
};

static void reading_done(struct reading *reading)
{
	vec_foreach(&reading->groups, it) {
		vec_done(&(*it)->errors);
		free(*it);
	}
	vec_done(&reading->groups);
}

static int find_group(struct reading *reading, const char *name, struct group **ret_group)
{
	_cleanup_free_ struct group *group = NULL;
	int r;

	vec_foreach(&reading->groups, it) {
		if (memcmp((*it)->name, name, sizeof((*it)->name)) == 0) {
			*ret_group = *it;
			return 0;
		}
	}
	group = calloc(1, sizeof(*group));
	if (!group)
		return -ENOMEM;
	memcpy(group->name, name, sizeof(group->name));
	r = vec_push(&reading->groups, group);
	if (r == 0)
		*ret_group = TAKE_PTR(group);
	return r;
}

static int add_error(struct group *group, uint32_t number, uint64_t count)
{
	vec_foreach(&group->errors, error) {
		if (error->number == number) {
			error->count += count;
			return 0;
		}
	}
	return vec_push(&group->errors, (struct record_errno){ number, count });
}

static int add_count(struct group *group, const struct abi_hist_key *key, uint64_t count)
{
	switch (key->count) {
	case ABI_HIST_ERROR:
		return add_error(group, key->which, count);
	case ABI_HIST_RESTARTED:
		group->restarted += count;
		return 0;
	case ABI_HIST_PASSED_ON:
		group->passed_on += count;
		return 0;
	}
	if (key->which < ABI_HIST_MAX_BUCKETS)
		group->counts[key->which] += count;
	return 0;
}

static int add_entries(const void *keys, const void *values, size_t n, void *userdata)
{
	struct reading *reading = userdata;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct abi_hist_key *key = (const struct abi_hist_key *)keys + i;
		struct group *group;

		r = find_group(reading, key->group, &group);
		if (r == 0)
			r = add_count(group, key, ((const uint64_t *)values)[i]);
	}
	return r;
}

/* The sum over CPUs of one bucket of the array. */
static int read_bucket(const struct hist_job *job, uint32_t bucket, uint64_t *values, int n_cpus,
		       uint64_t *ret_count)
{
	int r = urgent_lookup(bpf_map__fd(job->skel->maps.buckets), &bucket, values);

	*ret_count = 0;
	for (int cpu = 0; r == 0 && cpu < n_cpus; cpu++)
		*ret_count += values[cpu];
	return r;
}

static uint32_t n_buckets(const struct hist_spec *spec)
{
	return spec->linear ? (spec->max - spec->min) / spec->step + 2 : ABI_HIST_LOG2_BUCKETS;
}

/* Buckets of the histogram without groups. */
static int read_array(struct reading *reading)
{
	static const char everything[sizeof(((struct group *)0)->name)];
	const struct hist_job *job = reading->job;
	int n_cpus = libbpf_num_possible_cpus(), r;
	_cleanup_free_ uint64_t *values = NULL;
	struct group *group;

	if (job->spec->by != HIST_BY_NONE)
		return 0;
	if (n_cpus < 0)
		return n_cpus;
	values = calloc(n_cpus, sizeof(*values));
	if (!values)
		return -ENOMEM;
	r = find_group(reading, everything, &group);
	for (uint32_t i = 0; i < n_buckets(job->spec) && r == 0; i++)
		r = read_bucket(job, i, values, n_cpus, &group->counts[i]);
	return r;
}

static struct record_bucket bucket_at(const struct hist_spec *spec, uint32_t i, uint64_t count)
{
	struct record_bucket b = { .lo = INT64_MIN, .hi = INT64_MAX, .count = count };
	uint32_t last = n_buckets(spec) - 1;

	if (spec->linear) {
		if (i > 0)
			b.lo = spec->min + (int64_t)(i - 1) * spec->step;
		if (i < last)
			b.hi = spec->min + (int64_t)i * spec->step;
	} else if (i < 2) {
		b.lo = i ? 0 : INT64_MIN;
		b.hi = i;
	} else if (i < 64) {
		b.lo = (int64_t)1 << (i - 2);
		b.hi = (int64_t)1 << (i - 1);
	} else {
		/* from 2^62 on: what lies above does not fit */
		b.lo = (int64_t)1 << 62;
	}
	return b;
}

static int emit_group(const struct hist_job *job, const struct group *group, record_fn fn,
		      void *userdata)
{
	struct record_bucket buckets[ABI_HIST_MAX_BUCKETS];
	struct record record = { .type = RECORD_HIST_COUNTS };
	char key[sizeof(group->name) + 1] = "";
	size_t n = 0;
	uint32_t pid;

	for (uint32_t i = 0; i < n_buckets(job->spec); i++) {
		if (!group->counts[i])
			continue;
		if (!job->spec->linear && i > 64 && n && buckets[n - 1].hi == INT64_MAX)
			buckets[n - 1].count += group->counts[i];
		else
			buckets[n++] = bucket_at(job->spec, i, group->counts[i]);
	}
	/* A call that was to begin anew made it, and a handler's EINTR has taken that back. */
	if (n == 0 && !group->restarted && !group->passed_on)
		return 0;
	memcpy(&pid, group->name, sizeof(pid));
	if (job->spec->by == HIST_BY_PID)
		snprintf(key, sizeof(key), "%u", pid);
	else
		memcpy(key, group->name, sizeof(group->name));
	record.hist_counts = (struct record_hist_counts){
		.id = job->id,
		.key = job->spec->by == HIST_BY_NONE ? NULL : key,
		.n_buckets = n,
		.buckets = buckets,
		.n_errors = group->errors.len,
		.errors = group->errors.data,
		.restarted = group->restarted,
		.passed_on = group->passed_on,
	};
	return fn(&record, userdata);
}

static int hist_read(struct job *job, record_fn fn, void *userdata)
{
	struct hist_job *hist = (struct hist_job *)job;
	_cleanup_(reading_done) struct reading reading = { .job = hist };
	int r = read_array(&reading);

	if (r == 0)
		r = bpf_batch_read(bpf_map__fd(hist->skel->maps.groups),
				   sizeof(struct abi_hist_key), sizeof(uint64_t), add_entries,
				   &reading);
	for (size_t i = 0; i < reading.groups.len && r == 0; i++)
		r = emit_group(hist, reading.groups.data[i], fn, userdata);
	return r;
}

static int hist_describe(const struct job *job, record_fn fn, void *userdata)
{
	static const char *const by[] = { [HIST_BY_COMM] = "comm", [HIST_BY_PID] = "pid" };
	const struct hist_job *hist = (const struct hist_job *)job;
	const struct hist_spec *spec = hist->spec;
	struct record record = {
		.type = RECORD_HISTOGRAM,
		.histogram = { .id = hist->id,
			       .spec = spec->text,
			       .unit = spec->what == HIST_SYSCALL_NS ? "ns" :
				       spec->what == HIST_ALLOC	     ? "bytes" :
								       NULL,
			       .by = by[spec->by],
			       .linear = spec->linear,
			       .step = spec->linear ? spec->step : 0 },
	};

	return fn(&record, userdata);
}

static uint64_t hist_missed(const struct job *job)
{
	const struct hist_job *hist = (const struct hist_job *)job;
	struct bpf_program *program;
	uint64_t sum = 0;

	bpf_object__for_each_program(program, hist->skel->obj) if (bpf_program__autoload(program))
		sum += program_missed(program);
	return sum;
}

static void hist_free(struct job *job)
{
	struct hist_job *hist = (struct hist_job *)job;

	for (size_t i = 0; i < hist->n_fds; i++)
		close(hist->fds[i]);
	hist_bpf__destroy(hist->skel);
	free(hist);
}

static const struct job_ops hist_ops = {
	.describe = hist_describe,
	.read = hist_read,
	.missed = hist_missed,
	.free = hist_free,
};

DEFINE_OPEN(hist)

int hist_job_new(const struct job_context *context, const struct hist_spec *spec, uint32_t id,
		 bool multi, struct job **ret_job)
{
	_cleanup_(job_free_p) struct job *job = NULL;
	struct hist_job *hist = calloc(1, sizeof(*hist));
	_cleanup_close_ int types_fd = kernel_types_open("hist");
	int r;

	if (!hist)
		return -ENOMEM;
	job = &hist->job;
	*hist = (struct hist_job){ .job.ops = &hist_ops, .spec = spec, .id = id };
	hist->skel = open_object(types_fd);
	if (!hist->skel)
		return -errno;
	job_set_scope(hist->skel->rodata, context);
	set_shape(hist->skel, spec);
	hist->skel->rodata->knob_number =
		is_syscall(spec) ? job_event_number(context, "syscalls", "sys_enter_", spec->name) :
				   job_event_number(context, spec->category, "", spec->name);
	r = set_source(hist->skel, context, spec);
	if (r)
		return r;
	choose_programs(hist->skel, spec, !context->programs->raw_preempted, multi);
	r = job_share_maps(hist->skel->obj, context->programs);
	if (r == 0)
		r = hist_bpf__load(hist->skel);
	if (r == 0)
		r = attach(hist, context);
	if (r == 0)
		*ret_job = TAKE_PTR(job);
	return r;
}

int hist_job_size_fd(const struct job *job)
{
	const struct hist_job *hist = (const struct hist_job *)job;

	if (job->ops != &hist_ops || hist->spec->what != HIST_ALLOC)
		return -1;
	return bpf_program__fd(hist->skel->progs.on_size);
}
