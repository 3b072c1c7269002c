/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/jobs/syscalls_job.h"

#include "syscalls.skel.h"
#include "syscalls_old.skel.h"
#include "trace/bpf/bpf_link.h"
#include "trace/bpf/kernel_types.h"
#include "trace/bpf/programs.h"
#include "trace/jobs/file_names.h"
#include "trace/jobs/syscalls_read.h"
#include "trace/kernel/old_kernel.h"
#include "trace/kernel/syscall_table.h"

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
		sum += program_missed(syscalls->programs[i]);
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

DEFINE_OPEN(syscalls)

enum how {
	BY_BTF,
	BY_RAW,
	BY_PERF,
};

/* Exits first: a call between the two is then one whose beginning was not seen, and counts. */
struct points {
	struct {
		struct bpf_program *program;
		const char *category; /* NULL: a raw tracepoint */
		const char *name;     /* NULL: tp_btf programs have it from loading */
	} points[N_PROGRAMS];
};

static struct points points_by(const struct syscalls_bpf *skel, enum how how)
{
	const struct points points[] = {
		[BY_BTF] = { {
			{ skel->progs.on_thread_end, NULL, "sched_process_exit" },
			{ skel->progs.on_signal, NULL, "signal_deliver" },
			{ skel->progs.on_sys_exit, NULL, NULL },
			{ skel->progs.on_sys_enter, NULL, NULL },
		} },
		[BY_RAW] = { {
			{ skel->progs.on_thread_end, NULL, "sched_process_exit" },
			{ skel->progs.on_signal, NULL, "signal_deliver" },
			{ skel->progs.on_sys_exit_raw, NULL, "sys_exit" },
			{ skel->progs.on_sys_enter_raw, NULL, "sys_enter" },
		} },
		[BY_PERF] = { {
			{ skel->progs.on_thread_end_perf, "sched", "sched_process_exit" },
			{ skel->progs.on_signal_perf, "signal", "signal_deliver" },
			{ skel->progs.on_sys_exit_perf, "raw_syscalls", "sys_exit" },
			{ skel->progs.on_sys_enter_perf, "raw_syscalls", "sys_enter" },
		} },
	};

	return points[how];
}

static void choose_programs(struct syscalls_bpf *skel, enum how how)
{
	const struct points chosen = points_by(skel, how);
	struct bpf_program *program;

	bpf_object__for_each_program(program, skel->obj)
	{
		bool wanted = false;

		for (size_t i = 0; i < N_PROGRAMS; i++)
			wanted = wanted || chosen.points[i].program == program;
		bpf_program__set_autoload(program, wanted);
	}
}

static int load_syscalls(const struct job_context *context, uint32_t max_stack, enum how how,
			 struct syscalls_bpf **ret_skel)
{
	_cleanup_close_ int types_fd = kernel_types_open("syscalls");
	struct syscalls_bpf *skel = open_object(types_fd);
	int r;

	if (!skel)
		return -errno;
	job_set_scope(skel->rodata, context);
	for (uint32_t i = 0; i < ABI_SYSCALLS; i++)
		skel->rodata->knob_syscall_ops[i] = syscall_table_op(i);
	skel->rodata->knob_max_stack = max_stack;
	skel->rodata->knob_unwind = context->programs->unwind;
	skel->rodata->knob_check_stacks = context->programs->check_stacks;
	choose_programs(skel, how);
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

static int attach(struct syscalls_job *job, const struct job_context *context, enum how how)
{
	const struct points chosen = points_by(job->skel, how);

	for (size_t i = 0; i < N_PROGRAMS; i++) {
		const struct bpf_program *program = chosen.points[i].program;
		const char *category = chosen.points[i].category, *name = chosen.points[i].name;
		int link = category ? job_attach_tracepoint(context, program, category, name) :
				      link_raw_tracepoint(bpf_program__fd(program), name);

		if (link < 0)
			return link;
		job->programs[job->n_links] = program;
		job->links[job->n_links++] = link;
	}
	return 0;
}

/* By what costs each call least of what this kernel has and runs for every call. */
static int load_and_attach(struct syscalls_job *job, const struct job_context *context,
			   uint32_t max_stack)
{
	enum how how = context->programs->syscalls_preempted ? BY_PERF : BY_BTF;
	int r = load_syscalls(context, max_stack, how, &job->skel);

	if (how == BY_BTF && r && r != -EPERM && r != -ENOMEM) {
		how = BY_RAW;
		r = load_syscalls(context, max_stack, how, &job->skel);
	}
	if (r)
		return r;
	job->maps = (struct syscall_maps){
		.calls_fd = bpf_map__fd(job->skel->maps.syscalls),
		.errors_fd = bpf_map__fd(job->skel->maps.syscall_errors),
		.files_fd = bpf_map__fd(job->skel->maps.file_io),
		.stacks_fd = max_stack ? bpf_map__fd(job->skel->maps.syscall_stacks) : -1,
	};
	return attach(job, context, how);
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
