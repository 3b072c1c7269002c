/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that translate code of their own architecture: they copy a probe's breakpoint with the
 * code, the kernel does not know the copy, and SIGTRAP ends the process. They are recognised by
 * their executables' names, before they have translated anything.
 */
#include "base/cleanup.h"
#include "target/process.h"
#include "target/process_list.h"
#include "trace/live/live_process.h"

#include <errno.h>
#include <fnmatch.h>

#define LOOK_EVERY_NS 1000000000ULL

/* With another architecture's code they have files that are not probed: those are left out. */
static bool is_translator(const char *exe)
{
	static const char *const patterns[] = {
#ifdef __x86_64__
		"*/valgrind/*-amd64-linux", "*/qemu-x86_64", "*/qemu-x86_64-*",
#else
		"*/valgrind/*-arm64-linux", "*/qemu-aarch64", "*/qemu-aarch64-*",
#endif
		"*/libdynamorio.so*",	    "*/pinbin",
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		if (fnmatch(patterns[i], exe, 0) == 0)
			return true;
	return false;
}

int live_note_translator(struct live *live, struct live_process *process)
{
	_cleanup_free_ char *exe = NULL;
	struct record record = { .type = RECORD_UNPROBED };
	const bool by_rule = live->opts.rule.scope != ABI_SCOPE_PROCESSES;
	int r;

	if (!live->opts.features || process_exe(process->pid, &exe) || !is_translator(exe))
		return 0;
	/* What a rule finds is probed for all before it is known which program it runs. */
	if (by_rule)
		return 0;
	process->translator = true;
	/* What its process had before the exec goes on with it. */
	r = objects_detach_now(live->objects, process->pid);
	if (r == 0 && live->programs->control->shared)
		r = live_go_own(live);
	live->share_after_ns = clock_monotonic_ns() + LOOK_EVERY_NS;
	if (r || !live->opts.allocations)
		return r;
	process->unseen = true;
	live_count_loss(live, process, LOSS_NO_ALLOCATOR);
	record.unprobed = (struct record_unprobed){
		"all functions",
		exe,
		"it translates code, and would be ended by SIGTRAP where it copies a breakpoint: "
		"nothing is counted of the program that it runs",
	};
	return live_emit(live, &record);
}

/* One that runs on the host; *ret_exe: malloc'ed, NULL: there is none. */
static int find_translator(char **ret_exe)
{
	pid_vec pids = {};
	int r = process_list_host(&pids);

	*ret_exe = NULL;
	for (size_t i = 0; i < pids.len && r == 0 && !*ret_exe; i++) {
		_cleanup_free_ char *exe = NULL;

		r = process_exe(pids.data[i], &exe);
		if (r == 0 && is_translator(exe))
			*ret_exe = TAKE_PTR(exe);
		if (r != -ENOMEM)
			r = 0; /* gone, or the kernel's */
	}
	vec_done(&pids);
	return r;
}

int live_sharing_harms(struct live *live, bool *ret_harms)
{
	const uint64_t now_ns = clock_monotonic_ns();
	_cleanup_free_ char *exe = NULL;
	struct record record = { .type = RECORD_UNPROBED };
	int r;

	*ret_harms = now_ns < live->share_after_ns;
	if (*ret_harms)
		return 0;
	r = find_translator(&exe);
	*ret_harms = exe;
	if (r || !exe)
		return r;
	live->share_after_ns = now_ns + LOOK_EVERY_NS;
	if (live->translator_told)
		return 0;
	live->translator_told = true;
	record.unprobed = (struct record_unprobed){
		"new processes, until they have probes of their own",
		exe,
		"it translates code, and would be ended by SIGTRAP where it copies a breakpoint "
		"that all processes share",
	};
	return live_emit(live, &record);
}
