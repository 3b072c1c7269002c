/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * By which links processes are counted, those of their own or those that all share; and what tells
 * of the code that they map.
 *
 * Programs that translate code of their own architecture have none: they copy a probe's breakpoint
 * with the code, the kernel does not know the copy, and SIGTRAP ends the process. They are
 * recognised by their executables' names, before they have translated anything.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "target/process.h"
#include "target/process_list.h"
#include "trace/bpf/link_home.h"
#include "trace/live/live_process.h"

#include <errno.h>

/* For translators, on all of the host. */
#define LOOK_EVERY_NS 1000000000ULL

uint32_t live_owner(const struct live *live, const struct live_process *process)
{
	return live->programs->control->shared ? 0 : process->slot + 1;
}

int live_attach(struct live *live, struct object *object, uint32_t owner, pid_t pid, bool *ret_late)
{
	size_t unprobed = object_unprobed(object);
	int r;

	if (!objects_probe(live->objects, object, owner) || object_attached(object, owner))
		return 0;
	if (owner && live_process_at(live, owner - 1)->translator)
		return 0; /* it cannot bear breakpoints */
	*ret_late |= object_is_probed(object);
	if (owner)
		live_process_at(live, owner - 1)->own_links = true;
	r = objects_attach(live->objects, object, owner, owner ? pid : 0);
	if (r)
		return r;
	if (object_unprobed(object) > unprobed) {
		r = object_describe(object, live->fn, live->userdata);
		if (r)
			return r;
	}
	return owner ? 0 : objects_publish(live->objects, object);
}

/* Probes what is mapped. */
int live_attach_all(struct live *live, struct live_process *process, bool *ret_late)
{
	vec_foreach(&process->code, range) {
		int r = range->object ? live_attach(live, range->object, live_owner(live, process),
						    process->pid, ret_late) :
					0;

		if (r)
			return r;
	}
	return 0;
}

/*
 * Do samples and dynamic linkers tell of code? Not where there is a linker of another kind, which
 * maps a library with probes before there are samples; and not by links that all processes of the
 * host share: a breakpoint in everybody's linker would kill whoever runs on a translator, as
 * Valgrind's programs do, which takes it for the program's own.
 */
static bool watches_code(const struct live *live)
{
	if (!live->opts.watch_code || (live->opts.both && live->depth == RECORD_DEPTH_EXACT))
		return false;
	return !live->opts.sampled || !(live->programs->control->shared || live->unknown_loader);
}

int live_trace_calls(struct live *live)
{
	const bool watch = watches_code(live);
	int r = 0;

	/* The one begins before the other ends. */
	if (!watch && live->n_calls == 0)
		r = programs_attach_calls(live->programs, live->calls, &live->n_calls);
	if (r)
		return r;
	programs_watch_code(live->programs, watch);
	for (size_t i = 0; watch && i < live->n_calls; i++)
		link_home_close(live->programs->link_home, live->calls[i]);
	if (watch)
		live->n_calls = 0;
	return 0;
}

static bool has_unknown_loader(const struct live_process *process)
{
	bool loads = false;

	vec_foreach(&process->code, range) {
		if (!range->object)
			continue;
		if (object_is_loader(range->object))
			return false;
		loads |= !object_is_alone(range->object);
	}
	return loads;
}

int live_watch_loader(struct live *live, const struct live_process *process)
{
	if (!live->opts.watch_code || !live->opts.sampled || live->unknown_loader)
		return 0;
	live->unknown_loader = has_unknown_loader(process);
	return live->unknown_loader ? live_trace_calls(live) : 0;
}

/*
 * Does a translator run, which shared links would end? It is looked for once a second at most. 0 or
 * negative errno.
 */
static int sharing_harms(struct live *live, bool *ret_harms)
{
	const uint64_t now_ns = clock_monotonic_ns();
	_cleanup_free_ char *exe = NULL;
	struct record record = { .type = RECORD_UNPROBED };
	int r;

	*ret_harms = now_ns < live->share_after_ns;
	if (*ret_harms)
		return 0;
	r = translator_find(&exe);
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

int live_go_shared(struct live *live)
{
	bool late, harms;
	int error = sharing_harms(live, &harms);

	if (error || harms)
		return error;
	for (size_t i = 0; i < objects_count(live->objects); i++) {
		int r = live_attach(live, objects_at(live->objects, i), 0, 0, &late);

		if (r)
			return r;
	}
	__atomic_store_n(&live->programs->control->shared, 1, __ATOMIC_RELEASE);
	live->shared_ns = clock_monotonic_ns();
	return live_trace_calls(live);
}

/* A process that was counted by shared links gets its own. */
static int leave_shared(struct live *live, struct live_process *process)
{
	struct abi_proc *proc = &live->programs->procs[process->slot];
	bool late = false;
	int r;

	if (process->ended || process->unwanted || proc->state != ABI_PROC_ACTIVE || proc->owner)
		return 0;
	r = live_attach_all(live, process, &late);
	if (r == -ESRCH) /* ended: an event will tell */
		return 0;
	if (r)
		return r;
	/* A call in progress that the shared link has seen begin may end after that is gone. */
	live_count_loss(live, process, LOSS_ATTACHED_LATE);
	return live_activate(live, process, live_owner(live, process));
}

/* From now on each process is counted by links of its own, and no shared one is left. */
static int go_own(struct live *live)
{
	int r = 0;

	__atomic_store_n(&live->programs->control->shared, 0, __ATOMIC_RELEASE);
	live->shared_ns = UINT64_MAX;
	for (size_t slot = 0; slot < live->processes.len && r == 0; slot++)
		if (live->processes.data[slot])
			r = leave_shared(live, live->processes.data[slot]);
	if (r == 0)
		r = objects_detach_now(live->objects, 0);
	if (r == 0)
		r = objects_publish_all(live->objects);
	return r ? r : live_trace_calls(live);
}

int live_note_translator(struct live *live, struct live_process *process)
{
	_cleanup_free_ char *exe = NULL;
	struct record record = { .type = RECORD_UNPROBED };
	const bool by_rule = live->opts.rule.scope != ABI_SCOPE_PROCESSES;
	int r;

	if (!live->opts.features || process_exe(process->pid, &exe) || !translator_is(exe))
		return 0;
	/* What a rule finds is probed for all before it is known which program it runs. */
	if (by_rule)
		return 0;
	process->translator = true;
	/* What its process had before the exec goes on with it. */
	r = objects_detach_now(live->objects, process->pid);
	if (r == 0 && live->programs->control->shared)
		r = go_own(live);
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
