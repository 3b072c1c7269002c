/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where in the kernel the programs are attached: programs_attach_tracepoints.
 */
#include "bpf/abi.h"
#include "memtraced.skel.h"
#include "trace/bpf/bpf_link.h"
#include "trace/bpf/first_uprobe.h"
#include "trace/bpf/link_home.h"
#include "trace/bpf/programs.h"
#include "trace/kernel/feature.h"
#include "trace/kernel/tracefs.h"

#include <errno.h>

/* category: NULL: a raw tracepoint, which has no cookie. */
static int link_point(const struct programs *programs, struct bpf_program *prog, int tracefs_fd,
		      const char *category, const char *name, uint64_t cookie)
{
	int fd, prog_fd = bpf_program__fd(prog);
	uint32_t id;

	if (!category) {
		fd = link_raw_tracepoint(prog_fd, name);
	} else {
		fd = tracefs_event_id(tracefs_fd, category, name, &id);
		if (fd == 0)
			fd = link_tracepoint(prog_fd, id, cookie);
	}
	if (fd >= 0)
		link_home_keep(programs->link_home, fd);
	return fd;
}

static int link_kernel_function(const struct programs *programs, struct bpf_program *prog,
				const char *name)
{
	int fd = link_kprobe(bpf_program__fd(prog), name);

	if (fd >= 0)
		link_home_keep(programs->link_home, fd);
	return fd;
}

/* Who kills a process: a run does without, and says so (trace/kernel/kernel_limits.h). */
static void attach_deaths(struct programs *programs, int *fds, size_t *n)
{
	const struct memtraced_bpf *skel = programs->skel;
	const bool seen = !feature_left_out(FEATURE_DEATHS);
	const bool all = bpf_program__autoload(skel->progs.on_kill);
	int links[] = { -EOPNOTSUPP, -EOPNOTSUPP, -EOPNOTSUPP };

	if (seen)
		links[0] =
			link_point(programs, skel->progs.on_oom_victim, -1, NULL, "mark_victim", 0);
	if (seen && all)
		links[1] =
			link_point(programs, skel->progs.on_kill, -1, NULL, "signal_generate", 0);
	if (all && !feature_left_out(FEATURE_OOM_LIMIT))
		links[2] = link_kernel_function(programs, skel->progs.on_oom, "out_of_memory");
	programs->deaths_unseen = links[0] < 0 || (all && links[1] < 0);
	programs->oom_limit_unseen = all && links[2] < 0;
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		if (links[i] >= 0)
			fds[(*n)++] = links[i];
}

/* Probes of the target's files come next, when it has started and these were read. */
static void begin_probes(struct programs *programs)
{
	const bool multi = programs->entry_type == LINK_TYPE_UPROBE_MULTI;

	if (programs->session_fd < 0 && programs->return_fd < 0 && programs->sample_fd < 0)
		return;
	/* Without it the first of them takes a while longer. */
	(void)first_uprobe_new(programs->link_home, multi, &programs->first_uprobe);
}

struct point {
	struct bpf_program *prog; /* NULL: another stands for it */
	const char *category;	  /* NULL: a raw tracepoint */
	const char *name;
};

/* Those of n points whose programs are loaded. */
static int attach(const struct programs *programs, const struct point *points, size_t n, int *fds,
		  size_t *ret_n)
{
	_cleanup_close_ int tracefs_fd = tracefs_open();

	*ret_n = 0;
	if (tracefs_fd < 0)
		return tracefs_fd;
	for (size_t i = 0; i < n; i++) {
		int fd;

		if (!points[i].prog || !bpf_program__autoload(points[i].prog))
			continue;
		fd = link_point(programs, points[i].prog, tracefs_fd, points[i].category,
				points[i].name, 0);
		if (fd < 0)
			return fd;
		fds[(*ret_n)++] = fd;
	}
	return 0;
}

int programs_attach_exit(const struct programs *programs)
{
	const struct memtraced_bpf *skel = programs->calls;
	const bool raw = !programs->raw_preempted;
	const struct point point = {
		raw ? skel->progs.on_exit : skel->progs.on_exit_perf,
		raw ? NULL : "sched",
		"sched_process_exit",
	};
	size_t n;
	int fd = -1, r = attach(programs, &point, 1, &fd, &n);

	return r ? r : fd;
}

int programs_attach_calls(const struct programs *programs, int fds[PROGRAMS_MAX_TRACEPOINTS],
			  size_t *ret_n)
{
	const struct memtraced_bpf *skel = programs->skel, *perf = programs->perf;
	const bool alone = !programs->syscalls_preempted;
	const bool mremap = alone && skel->rodata->knob_regions;
	const bool brk = alone && skel->rodata->knob_all_regions;
	const struct point points[] = {
		{ alone ? skel->progs.on_exit_mmap : NULL, "syscalls", "sys_exit_mmap" },
		{ alone ? skel->progs.on_enter_munmap : NULL, "syscalls", "sys_enter_munmap" },
		{ alone ? skel->progs.on_exit_munmap : NULL, "syscalls", "sys_exit_munmap" },
		{ alone ? skel->progs.on_enter_mremap : NULL, "syscalls", "sys_enter_mremap" },
		{ mremap ? skel->progs.on_exit_mmap : NULL, "syscalls", "sys_exit_mremap" },
		{ brk ? skel->progs.on_enter_brk : NULL, "syscalls", "sys_enter_brk" },
		{ brk ? skel->progs.on_exit_mmap : NULL, "syscalls", "sys_exit_brk" },
		{ alone || !perf ? NULL : perf->progs.on_exit_any, "raw_syscalls", "sys_exit" },
		{ alone || !perf ? NULL : perf->progs.on_enter_any, "raw_syscalls", "sys_enter" },
	};

	return attach(programs, points, sizeof(points) / sizeof(points[0]), fds, ret_n);
}

int programs_attach_signals(const struct programs *programs, int *ret_fd)
{
	const struct memtraced_bpf *skel = programs->skel;
	_cleanup_close_ int tracefs_fd = -1;

	*ret_fd = -1;
	if (!skel->rodata->knob_signals || programs->syscalls_preempted)
		return 0;
	tracefs_fd = tracefs_open();
	if (tracefs_fd < 0)
		return tracefs_fd;
	*ret_fd = link_point(programs, skel->progs.on_exit_mmap, tracefs_fd, "signal",
			     "signal_deliver", ABI_COOKIE_SIGNAL);
	return *ret_fd < 0 ? *ret_fd : 0;
}

int programs_attach_tracepoints(struct programs *programs, int fds[PROGRAMS_MAX_TRACEPOINTS],
				size_t *ret_n)
{
	const struct memtraced_bpf *skel = programs->skel, *perf = programs->perf;
	const bool raw = !programs->raw_preempted;
	const struct point points[] = {
		{ raw ? skel->progs.on_fork : NULL, NULL, "sched_process_fork" },
		{ raw ? skel->progs.on_exec : NULL, NULL, "sched_process_exec" },
		{ raw ? skel->progs.on_exit : NULL, NULL, "sched_process_exit" },
		{ raw ? skel->progs.on_exit_plain : NULL, NULL, "sched_process_exit" },
		{ raw ? skel->progs.on_fault : NULL, NULL, "signal_deliver" },
		{ raw ? NULL : perf->progs.on_fork_perf, "task", "task_newtask" },
		{ raw ? NULL : perf->progs.on_exec_perf, "sched", "sched_process_exec" },
		{ raw ? NULL : perf->progs.on_exit_perf, "sched", "sched_process_exit" },
		{ raw ? NULL : perf->progs.on_exit_plain_perf, "sched", "sched_process_exit" },
		{ perf ? perf->progs.on_fault_perf : NULL, "signal", "signal_deliver" },
	};
	int r = attach(programs, points, sizeof(points) / sizeof(points[0]), fds, ret_n);

	if (r)
		return r;
	attach_deaths(programs, fds, ret_n);
	begin_probes(programs);
	return 0;
}
