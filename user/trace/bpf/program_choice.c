/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/program_choice.h"

#include "bpf/abi.h"
#include "memtraced.skel.h"
#include "trace/bpf/bpf_link.h"
#include "trace/bpf/programs_opts.h"
#include "trace/kernel/old_kernel.h"

#include <bpf/libbpf.h>

bool programs_know_forms(const struct programs_opts *opts)
{
	return opts->run.heap_errors && opts->run.allocations && opts->run.unwind &&
	       opts->run.max_stack && !opts->run.floor && !old_kernel();
}

/* No call is in progress where a thread ends, unless calls are counted. */
static bool ends_plainly(const struct programs_opts *opts)
{
	return !opts->run.allocations || opts->calls_later ||
	       (opts->run.sampled && !opts->run.both);
}

void program_choice_perf(struct memtraced_bpf *skel, const struct programs_opts *opts,
			 bool lifecycle, bool faults, bool syscalls)
{
	const bool plain = ends_plainly(opts);

	bpf_program__set_autoload(skel->progs.on_fork_perf, lifecycle);
	bpf_program__set_autoload(skel->progs.on_exec_perf, lifecycle);
	bpf_program__set_autoload(skel->progs.on_exit_perf, lifecycle && !plain);
	bpf_program__set_autoload(skel->progs.on_exit_plain_perf, lifecycle && plain);
	bpf_program__set_autoload(skel->progs.on_fault_perf, faults);
	bpf_program__set_autoload(skel->progs.on_enter_any, syscalls);
	bpf_program__set_autoload(skel->progs.on_exit_any, syscalls);
}

bool programs_trace_calls(const struct programs_opts *opts)
{
	if (opts->run.watch_code && !opts->run.sampled)
		return false;
	return opts->run.allocations || opts->run.code;
}

bool programs_signals_by_mmap(const struct programs_opts *opts)
{
	return programs_trace_calls(opts) && !old_kernel(); /* links have cookies */
}

/* Mappings of code are of interest to all of them, those that are blocks to some. */
static void choose_calls(struct memtraced_bpf *skel, const struct programs_opts *opts)
{
	const bool calls = programs_trace_calls(opts);
	const bool regions = calls && (opts->run.allocations || opts->run.mappings);

	bpf_program__set_autoload(skel->progs.on_exit_mmap, calls);
	bpf_program__set_autoload(skel->progs.on_enter_munmap, calls);
	bpf_program__set_autoload(skel->progs.on_exit_munmap, regions);
	bpf_program__set_autoload(skel->progs.on_enter_mremap, regions);
	bpf_program__set_autoload(skel->progs.on_enter_brk, opts->run.mappings);
}

/* Without allocations: what follows processes, and their code where stacks are wanted. */
static void choose_for_jobs(struct memtraced_bpf *skel, const struct programs_opts *opts)
{
	const bool code = opts->run.code;

	bpf_program__set_autoload(skel->progs.on_session, false);
	bpf_program__set_autoload(skel->progs.on_entry, false);
	bpf_program__set_autoload(skel->progs.on_return, false);
	bpf_program__set_autoload(skel->progs.on_kill, code);
	bpf_program__set_autoload(skel->progs.on_oom, code);
}

/* libbpf 1.1 does not know these types by section name. */
static void set_type(struct bpf_program *program, int type)
{
	(void)bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)type);
}

static void set_multi(struct memtraced_bpf *skel)
{
	set_type(skel->progs.on_entry, LINK_TYPE_UPROBE_MULTI);
	set_type(skel->progs.on_return, LINK_TYPE_UPROBE_MULTI);
	set_type(skel->progs.on_result, LINK_TYPE_UPROBE_MULTI);
	set_type(skel->progs.on_checkpoint, LINK_TYPE_UPROBE_MULTI);
	set_type(skel->progs.on_mark, LINK_TYPE_UPROBE_MULTI);
	set_type(skel->progs.on_sample, LINK_TYPE_UPROBE_MULTI);
	set_type(skel->progs.on_loader, LINK_TYPE_UPROBE_MULTI);
	set_type(skel->progs.on_book, LINK_TYPE_UPROBE_MULTI);
}

static void choose_programs(struct memtraced_bpf *skel, const struct programs_opts *opts)
{
	bool session = opts->run.path == ATTACH_PATH_SESSION;
	bool multi = session || opts->run.path == ATTACH_PATH_MULTI ||
		     (opts->run.path == ATTACH_PATH_EXIT && opts->exit_by_multi);
	bool returns = !session; /* the exit path needs it where exit sites are not provable */

	program_choice_perf(skel, opts, false, false, false);
	choose_calls(skel, opts);
	bpf_program__set_autoload(skel->progs.on_exit, !ends_plainly(opts));
	bpf_program__set_autoload(skel->progs.on_exit_plain, ends_plainly(opts));
	bpf_program__set_autoload(skel->progs.on_session, session);
	/* beside sessions only for exit sites, which not every program has: programs_entry_fd */
	bpf_program__set_autoload(skel->progs.on_entry, !session);
	bpf_program__set_autoload(skel->progs.on_return, returns);
	bpf_program__set_autoload(skel->progs.on_result, false); /* programs_result_fd */
	bpf_program__set_autoload(skel->progs.on_checkpoint, opts->run.checkpoints);
	bpf_program__set_autoload(skel->progs.on_mark, programs_know_forms(opts));
	bpf_program__set_autoload(skel->progs.on_sample, opts->run.sampled);
	bpf_program__set_autoload(skel->progs.on_loader, opts->run.sampled);
	bpf_program__set_autoload(skel->progs.on_book, opts->book_args);
	if (opts->calls_later || (opts->run.sampled && !opts->run.both)) {
		bpf_program__set_autoload(skel->progs.on_session, false);
		bpf_program__set_autoload(skel->progs.on_entry, false);
		bpf_program__set_autoload(skel->progs.on_return, false);
	}
	set_type(skel->progs.on_session, LINK_TYPE_UPROBE_SESSION);
	if (multi)
		set_multi(skel);
}

void program_choice(struct memtraced_bpf *skel, const struct programs_opts *opts)
{
	choose_programs(skel, opts);
	bpf_program__set_autoload(skel->progs.on_fault, (opts->run.allocations || opts->run.code) &&
								!programs_signals_by_mmap(opts));
	if (!opts->run.allocations)
		choose_for_jobs(skel, opts);
}

void program_choice_calls(struct memtraced_bpf *skel, enum attach_path path, int entry_type,
			  bool raw_preempted)
{
	const bool session = path == ATTACH_PATH_SESSION;

	bpf_program__set_autoload(skel->progs.on_session, session);
	bpf_program__set_autoload(skel->progs.on_entry, !session);
	bpf_program__set_autoload(skel->progs.on_return, !session);
	bpf_program__set_autoload(skel->progs.on_exit, !raw_preempted);
	bpf_program__set_autoload(skel->progs.on_exit_perf, raw_preempted);
	set_type(skel->progs.on_session, LINK_TYPE_UPROBE_SESSION);
	set_type(skel->progs.on_entry, entry_type);
	set_type(skel->progs.on_return, entry_type);
}
