/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/syscalls_job.h"

#include "syscalls.skel.h"
#include "syscalls_old.skel.h"
#include "trace/bpf_link.h"
#include "trace/file_names.h"
#include "trace/old_kernel.h"
#include "trace/programs.h"
#include "trace/syscall_table.h"
#include "trace/syscalls_read.h"

#include <bpf/bpf.h>
#include <errno.h>

#define MAX_FILES (256U << 10)
#define MAX_STACKS (256U << 10)
#define N_PROGRAMS 4

struct syscalls_job {
	struct job job;
	struct syscalls_bpf *skel;
	struct file_names *names;
	struct syscall_maps maps;
	const struct bpf_program *programs[N_PROGRAMS];
	int links[N_PROGRAMS];
	size_t n_links;
};

static int syscalls_describe(const struct job *job, record_fn fn, void *userdata)
{
	/* Its records say all of themselves. */
	(void)job;
	(void)fn;
	(void)userdata;
	return 0;
}

static int syscalls_job_read(struct job *job, record_fn fn, void *userdata)
{
	const struct syscalls_job *syscalls = (const struct syscalls_job *)job;

	return syscalls_read(&syscalls->maps, syscalls->names, fn, userdata);
}

static uint64_t syscalls_missed(const struct job *job)
{
	const struct syscalls_job *syscalls = (const struct syscalls_job *)job;
	uint64_t sum = 0;

	for (size_t i = 0; i < syscalls->n_links; i++)
		sum += job_program_missed(syscalls->programs[i]);
	return sum;
}

static void syscalls_job_free(struct job *job)
{
	struct syscalls_job *syscalls = (struct syscalls_job *)job;

	for (size_t i = 0; i < syscalls->n_links; i++)
		close(syscalls->links[i]);
	syscalls_bpf__destroy(syscalls->skel);
	file_names_free(syscalls->names);
	free(syscalls);
}

static const struct job_ops syscalls_ops = {
	.describe = syscalls_describe,
	.read = syscalls_job_read,
	.missed = syscalls_missed,
	.free = syscalls_job_free,
};

static int set_map_sizes(struct syscalls_bpf *skel, bool stacks)
{
	int r = bpf_map__set_max_entries(skel->maps.file_io, MAX_FILES);

	if (r == 0 && stacks)
		r = bpf_map__set_max_entries(skel->maps.syscall_stacks, MAX_STACKS);
	return r;
}

DEFINE_OPEN_OLD(syscalls)

static int load(const struct job_context *context, uint32_t max_stack, bool raw,
		struct syscalls_bpf **ret_skel)
{
	struct syscalls_bpf *skel = old_kernel() ? open_old() : syscalls_bpf__open();
	int r;

	if (!skel)
		return -errno;
	job_set_scope(skel->rodata, context);
	for (uint32_t i = 0; i < ABI_SYSCALLS; i++)
		skel->rodata->knob_syscall_ops[i] = syscall_table_op(i);
	skel->rodata->knob_max_stack = max_stack;
	skel->rodata->knob_unwind = context->programs->unwind;
	skel->rodata->knob_check_stacks = context->programs->check_stacks;
	bpf_program__set_autoload(skel->progs.on_sys_enter, !raw);
	bpf_program__set_autoload(skel->progs.on_sys_exit, !raw);
	bpf_program__set_autoload(skel->progs.on_sys_enter_raw, raw);
	bpf_program__set_autoload(skel->progs.on_sys_exit_raw, raw);
	r = set_map_sizes(skel, max_stack > 0);
	if (r == 0)
		r = job_share_maps(skel->obj, context->programs);
	if (r == 0)
		r = syscalls_bpf__load(skel);
	if (r)
		syscalls_bpf__destroy(skel);
	else
		*ret_skel = skel;
	return r;
}

/*
 * Exits first: a call between the two is then one whose beginning was not seen, and counts. The
 * tp_btf programs have their tracepoint from loading.
 */
static int attach(struct syscalls_job *job, bool raw)
{
	struct syscalls_bpf *skel = job->skel;
	const struct {
		const struct bpf_program *program;
		const char *name;
	} points[N_PROGRAMS] = {
		{ skel->progs.on_thread_end, "sched_process_exit" },
		{ skel->progs.on_signal, "signal_deliver" },
		{ raw ? skel->progs.on_sys_exit_raw : skel->progs.on_sys_exit,
		  raw ? "sys_exit" : NULL },
		{ raw ? skel->progs.on_sys_enter_raw : skel->progs.on_sys_enter,
		  raw ? "sys_enter" : NULL },
	};

	for (size_t i = 0; i < N_PROGRAMS; i++) {
		int link = link_raw_tracepoint(bpf_program__fd(points[i].program), points[i].name);

		if (link < 0)
			return link;
		job->programs[job->n_links] = points[i].program;
		job->links[job->n_links++] = link;
	}
	return 0;
}

/* By tp_btf, which costs each call least, or by raw tracepoints where that is refused. */
static int load_and_attach(struct syscalls_job *job, const struct job_context *context,
			   uint32_t max_stack)
{
	bool raw = false;
	int r = load(context, max_stack, raw, &job->skel);

	if (r && r != -EPERM && r != -ENOMEM) {
		raw = true;
		r = load(context, max_stack, raw, &job->skel);
	}
	if (r)
		return r;
	job->maps = (struct syscall_maps){
		.calls_fd = bpf_map__fd(job->skel->maps.syscalls),
		.errors_fd = bpf_map__fd(job->skel->maps.syscall_errors),
		.files_fd = bpf_map__fd(job->skel->maps.file_io),
		.stacks_fd = max_stack ? bpf_map__fd(job->skel->maps.syscall_stacks) : -1,
	};
	return attach(job, raw);
}

int syscalls_job_new(const struct job_context *context, uint32_t max_stack, struct job **ret_job)
{
	_cleanup_(job_free_p) struct job *job = NULL;
	struct syscalls_job *syscalls = calloc(1, sizeof(*syscalls));
	int r;

	if (!syscalls)
		return -ENOMEM;
	syscalls->job.ops = &syscalls_ops;
	job = &syscalls->job;
	r = file_names_new(&syscalls->names);
	if (r == 0)
		r = load_and_attach(syscalls, context, max_stack);
	if (r == 0)
		*ret_job = TAKE_PTR(job);
	return r;
}

int syscalls_job_on_file(struct job *job, const struct abi_ev_file *ev)
{
	return file_names_add(((struct syscalls_job *)job)->names, ev);
}

int syscalls_job_purge(struct job *job, const bool *slots, size_t n_slots)
{
	return syscalls_purge(&((struct syscalls_job *)job)->maps, slots, n_slots);
}
