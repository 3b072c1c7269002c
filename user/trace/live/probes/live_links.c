/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * By which links processes are counted, those of their own or those that all share; and what tells
 * of the code that they map.
 *
 * Programs that translate code of their own architecture have none: they copy a probe's breakpoint
 * with the code, the kernel does not know the copy, and SIGTRAP ends the process. They are
 * recognised by their executables' names, before they have translated anything.
 */
#include "trace/live/probes/live_probes.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "target/preload.h"
#include "target/process.h"
#include "target/process_list.h"
#include "trace/bpf/link_home.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"

#include <errno.h>
#include <unistd.h>

/* For translators, on all of the host. */
#define LOOK_EVERY_NS 1000000000ULL
/*
 * A process has links of its own, filtered to it, while there are few processes: others that use
 * the same library then pay nothing. From OWN_LINK_FORKS followed forks on, one shared link per
 * file serves all that come after: closing a link takes 40 ms (Linux 6.18), so links per child
 * could not keep up with a build.
 */
#define OWN_LINK_FORKS 8

void live_links_begin(struct live *live, bool shared)
{
	shared_set_links(live->programs, shared);
	live->links.shared_ns = shared ? 0 : UINT64_MAX;
}

uint32_t live_owner(const struct live *live, const struct live_process *process)
{
	return live->programs->control->shared && !process->links.book ? 0 : process->slot.n + 1;
}

/*
 * Where calls are counted by a book, or will be, threads are stopped all the same before a leak
 * check.
 */
static int attach_beside_book(struct live *live, struct object *object, uint32_t owner, pid_t pid)
{
	struct live_process *process = live_process_at(live, (slot_t){ owner - 1 });

	if (!live->opts.run.checkpoints)
		return 0;
	process->links.own = true;
	return objects_attach_checkpoints(live->objects, object, owner, pid);
}

int live_attach(struct live *live, struct object *object, uint32_t owner, pid_t pid, bool *ret_late)
{
	struct live_process *process = owner ? live_process_at(live, (slot_t){ owner - 1 }) : NULL;
	size_t unprobed = object_unprobed(object);
	int r;

	if (!objects_probe(live->objects, object, owner) || object_attached(object, owner))
		return 0;
	if (process && process->links.translator)
		return 0; /* it cannot bear breakpoints */
	if (process && process->links.book)
		return attach_beside_book(live, object, owner, pid);
	/* The first: what is counted from now on is stamped by a tick that is not of the start. */
	if (!live->tick_ns)
		live_tick_programs(live);
	*ret_late |= object_is_probed(object);
	if (process) {
		process->links.own = true;
		live->links.awaits_shared |= process->links.without_first;
	}
	r = objects_attach(live->objects, object, owner, owner ? pid : 0);
	if (r)
		return r;
	if (object_unprobed(object) > unprobed) {
		r = object_describe(object, live->sink.fn, live->sink.userdata);
		if (r)
			return r;
	}
	return owner ? 0 : objects_publish(live->objects, object);
}

/* Probes what is mapped. */
int live_attach_all(struct live *live, struct live_process *process, bool *ret_late)
{
	vec_foreach(&process->code.ranges, range) {
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
	if (!live->opts.run.watch_code ||
	    (live->opts.run.both && live->depth == RECORD_DEPTH_EXACT))
		return false;
	return !live->opts.run.sampled ||
	       !(live->programs->control->shared || live->links.unknown_loader);
}

int live_trace_calls(struct live *live)
{
	const bool watch = watches_code(live);
	int r = 0;

	if (programs_walk_waits(live->programs))
		return 0; /* until live_attach_walk() */
	/* The one begins before the other ends. */
	if (!watch && live->links.n_calls == 0)
		r = programs_attach_calls(live->programs, live->links.calls, &live->links.n_calls);
	if (r)
		return r;
	programs_watch_code(live->programs, watch);
	for (size_t i = 0; watch && i < live->links.n_calls; i++)
		link_home_close(live->programs->link_home, live->links.calls[i]);
	if (watch)
		live->links.n_calls = 0;
	return 0;
}

int live_attach_walk(struct live *live)
{
	int r = programs_attach_signals(live->programs, &live->links.signals);

	return r ? r : live_trace_calls(live);
}

static bool has_unknown_loader(const struct live_process *process)
{
	bool loads = false;

	vec_foreach(&process->code.ranges, range) {
		if (!range->object)
			continue;
		if (object_facts(range->object)->loader_stop)
			return false;
		loads |= !object_is_alone(range->object);
	}
	return loads;
}

int live_watch_loader(struct live *live, const struct live_process *process)
{
	if (!live->opts.run.watch_code || !live->opts.run.sampled || live->links.unknown_loader)
		return 0;
	live->links.unknown_loader = has_unknown_loader(process);
	return live->links.unknown_loader ? live_trace_calls(live) : 0;
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

	*ret_harms = now_ns < live->links.share_after_ns;
	if (*ret_harms)
		return 0;
	r = translator_find(&exe);
	*ret_harms = exe || r == -ETIMEDOUT;
	if (!*ret_harms)
		return r;
	live->links.share_after_ns = now_ns + LOOK_EVERY_NS;
	if (exe ? live->links.translator_told : live->links.unread_told)
		return 0;
	live->links.translator_told |= exe != NULL;
	live->links.unread_told |= !exe;
	record.unprobed = (struct record_unprobed){
		"new processes, until they have probes of their own, and processes whose first "
		"thread has ended",
		exe ? exe : "[a process that cannot be read in time]",
		exe ? "it translates code, and would be ended by SIGTRAP where it copies a "
		      "breakpoint that all processes share" :
		      "it may translate code (valgrind, qemu): its exec may wait for a file server",
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
	shared_set_links(live->programs, true);
	live->links.shared_ns = clock_monotonic_ns();
	return live_trace_calls(live);
}

/* A process that was counted by shared links gets its own. */
static int leave_shared(struct live *live, struct live_process *process)
{
	const struct abi_proc *proc = shared_proc(live->programs, process->slot);
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
	shared_activate(live->programs, process->slot, live_owner(live, process));
	return 0;
}

/* From now on each process is counted by links of its own, and no shared one is left. */
static int use_own_links(struct live *live)
{
	int r = 0;

	shared_set_links(live->programs, false);
	live->links.shared_ns = UINT64_MAX;
	for (size_t slot = 0; slot < live->slots.all.len && r == 0; slot++)
		if (live->slots.all.data[slot])
			r = leave_shared(live, live->slots.all.data[slot]);
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
	const bool by_rule = live->opts.run.rule.scope != ABI_SCOPE_PROCESSES;
	int r;

	if (!live->opts.features || process_exe(process->pid, &exe) || !translator_is(exe) ||
	    !live_may_show(live, process->pid, process->image)) /* another's that has its pid */
		return 0;
	/* What a rule finds is probed for all before it is known which program it runs. */
	if (by_rule)
		return 0;
	process->links.translator = true;
	/* What its process had before the exec goes on with it. */
	r = objects_detach_now(live->objects, process->pid);
	if (r == 0 && live->programs->control->shared)
		r = use_own_links(live);
	live->links.share_after_ns = clock_monotonic_ns() + LOOK_EVERY_NS;
	if (r || !live->opts.run.allocations)
		return r;
	live_note_unseen(live, process);
	record.unprobed = (struct record_unprobed){
		"all functions",
		exe,
		"it translates code, and would be ended by SIGTRAP where it copies a breakpoint: "
		"nothing is counted of the program that it runs",
	};
	return live_emit(live, &record);
}

/* --- of children ----------------------------------------------------------------------------- */

bool live_shares_for_children(const struct live *live)
{
	return live->opts.run.follow && live->depth == RECORD_DEPTH_EXACT;
}

/*
 * Perf events are one link a site: shared from the first fork on. So are all where a child is not
 * held at its birth: until it has links of its own, its calls are lost.
 */
static size_t own_link_forks(const struct live *live)
{
	if (!live->opts.held && live_shares_for_children(live))
		return 0;
	return live->programs->entry_type ? OWN_LINK_FORKS : 0;
}

int live_share_early(struct live *live, const struct process_info *info)
{
	pid_vec children = {};
	bool forks = info->has_reaped;
	int r = 0;

	if (live->programs->control->shared)
		return 0;
	/* The kernel filters by the memory of a process's first thread, which has none then. */
	if (info->thread_ended)
		return live_go_shared(live);
	if (live->opts.held || !live_shares_for_children(live))
		return 0;
	if (!forks) {
		r = process_list_descendants(info->pid, getpid(), &children);
		forks = children.len > 0;
		vec_done(&children);
	}
	return r == 0 && forks ? live_go_shared(live) : r;
}

int live_share_for_child(struct live *live)
{
	if (live->programs->control->shared || ++live->links.own_forks <= own_link_forks(live))
		return 0;
	return live_go_shared(live);
}

void live_leave_own(struct live *live, struct live_process *process)
{
	shared_activate(live->programs, process->slot, 0);
	process->links.shared_ns = clock_monotonic_ns();
}

/* Its own links count for it, by which the kernel finds no call of it any more. */
static bool awaits_shared(const struct live *live, const struct live_process *process)
{
	return process->links.without_first && process->links.own && !process->links.book &&
	       !process->ended && shared_proc(live->programs, process->slot)->owner;
}

int live_share_without_first(struct live *live, struct live_process *process)
{
	process->links.without_first = true;
	if (!awaits_shared(live, process))
		return 0;
	live_count_loss(live, process, LOSS_ATTACHED_LATE);
	live->links.awaits_shared = true;
	return live_share_awaited(live);
}

bool live_awaits_shared(const struct live *live, pid_t pid)
{
	for (size_t slot = 0; slot < live->slots.all.len; slot++) {
		const struct live_process *process = live->slots.all.data[slot];

		if (process && (!pid || process->pid == pid) && awaits_shared(live, process))
			return true;
	}
	return false;
}

int live_share_awaited(struct live *live)
{
	int r = 0;

	/* Those that it was set for may have ended, or have a book, by now. */
	live->links.awaits_shared = live->links.awaits_shared && live_awaits_shared(live, 0);
	if (!live->links.awaits_shared)
		return 0;
	if (!live->programs->control->shared)
		r = live_go_shared(live);
	if (r || !live->programs->control->shared)
		return r;
	live->links.awaits_shared = false;
	for (size_t slot = 0; slot < live->slots.all.len; slot++) {
		struct live_process *process = live->slots.all.data[slot];

		if (process && awaits_shared(live, process))
			live_leave_own(live, process);
	}
	return 0;
}

void live_links_fork(const struct live_process *parent, struct live_process *child)
{
	/* It begins a book of its own. */
	child->links.book =
		parent->links.book == LINKS_BY_BOOK ? LINKS_BOOK_EXPECTED : parent->links.book;
	child->links.translator = child->links.unseen = parent->links.translator;
}

/* --- of processes that keep books ------------------------------------------------------------ */

bool live_is_book_library(const struct live *live, const struct object *object)
{
	return preload_is_library(object_path(object)) &&
	       file_is_same(live->library.fd, object_fd(object));
}

/* It is mapped below all libraries. */
bool live_links_own_allocator(const struct live_process *process)
{
	const struct object *first =
		process->code.ranges.len ? process->code.ranges.data[0].object : NULL;

	return first && (object_is_alone(first) || object_has_own_allocator(first));
}

static bool was_given_book(const struct live_process *process)
{
	return process_was_given(process->pid, PRELOAD_KEEPS_BOOKS) ||
	       process_was_given(process->pid, PRELOAD_BOOKS_STAY);
}

/* One that was not held at its exec may have loaded more than it had then. */
static bool has_book_library(const struct live *live, const struct live_process *process)
{
	if (live_links_own_allocator(process) || live_links_own_names(process))
		return false;
	vec_foreach(&process->code.ranges, range)
		if (range->object && live_is_book_library(live, range->object))
			return was_given_book(process);
	return false;
}

/* An executable and its dynamic linker: the library comes next, if it comes. */
#define OBJECTS_AT_EXEC 2

/* What a process has mapped at its exec. */
struct exec_objects {
	size_t n;
	bool keep_book;	   /* nothing in them speaks against it */
	bool has_preloads; /* a dynamic linker that can do with our library */
	bool has_sanitizer;
	bool is_alone; /* the last of them */
};

/* False: our library is among them, and it is no exec. */
static bool look_at_exec(const struct live *live, const struct live_process *process,
			 struct exec_objects *ret)
{
	const struct object *last = NULL;
	const struct object_facts *facts;

	*ret = (struct exec_objects){ .keep_book = true };
	vec_foreach(&process->code.ranges, range) {
		if (!range->object || range->object == last)
			continue;
		last = range->object;
		facts = object_facts(last);
		if (live_is_book_library(live, last))
			return false;
		ret->n++;
		ret->is_alone = object_is_alone(last);
		ret->has_preloads |= facts->preloads;
		ret->has_sanitizer |= facts->has_sanitizer;
		ret->keep_book &= !object_is_alone(last) && !object_has_own_allocator(last) &&
				  !facts->uses_own_names;
	}
	return true;
}

/* Would its dynamic linker, or what it has linked, do worse with our library than without? */
static bool harms(const struct live *live, const struct live_process *process,
		  const struct exec_objects *objects)
{
	if (objects->n == 1 && objects->is_alone)
		return false; /* it has none */
	return !objects->has_preloads || objects->has_sanitizer ||
	       !preload_is_usable(process->pid, live->opts.book_library, live->library.fd);
}

void live_links_expect_book(const struct live *live, struct live_process *process)
{
	struct exec_objects objects;

	process->links.book = LINKS_NO_BOOK;
	if (live->library.fd < 0 || process->alone)
		return;
	if (!live->opts.held) {
		if (!process->older_blocks && has_book_library(live, process))
			process->links.book = LINKS_BOOK_EXPECTED;
		return;
	}
	if (!look_at_exec(live, process, &objects)) {
		if (was_given_book(process) && objects.keep_book)
			process->links.book = LINKS_BOOK_EXPECTED;
	} else if (objects.n && harms(live, process, &objects)) {
		/* It may have ended, or the user has taken the library out. */
		(void)preload_withdraw(process->pid, live->opts.book_library);
	} else if (objects.n && objects.n <= OBJECTS_AT_EXEC && objects.keep_book) {
		process->links.book = LINKS_BOOK_POSSIBLE;
	}
}

/* Probes know nothing of blocks that its parent has in a book. */
static void forget_inheritance(struct live *live, struct live_process *process)
{
	if (process->links.book != LINKS_BOOK_EXPECTED || process->book.parent_was_empty ||
	    shared_proc(live->programs, process->slot)->parent == ABI_NO_SLOT)
		return;
	shared_forget_parent(live->programs, process->slot);
	live_count_loss(live, process, LOSS_BOOK_FIRST + ABI_BOOK_LOST_FORK);
}

int live_links_without_book(struct live *live, struct live_process *process, bool *ret_late)
{
	int r = 0;

	forget_inheritance(live, process);
	process->links.book = LINKS_NO_BOOK;
	/* Those by which it is stopped come anew, beside all others. */
	if (process->links.own)
		r = objects_detach_now(live->objects, process->pid);
	if (r == 0)
		r = live_attach_all(live, process, ret_late);
	if (r == 0 && shared_proc(live->programs, process->slot)->state == ABI_PROC_ACTIVE)
		shared_set_owner(live->programs, process->slot, live_owner(live, process));
	return r;
}

/* The library counts what is called by names that all allocators have. */
static int record_own_names(struct live *live, struct live_process *process,
			    const struct object *object)
{
	const struct record record = {
		.type = RECORD_UNPROBED,
		.unprobed = { "an allocator's functions by names of its own", object_path(object),
			      "the library that counts the process does not see them: give "
			      "--exact=probes" },
	};

	if (process->links.unseen)
		return 0;
	live_note_unseen(live, process);
	return live_emit(live, &record);
}

bool live_links_own_names(const struct live_process *process)
{
	vec_foreach(&process->code.ranges, range)
		if (range->object && object_facts(range->object)->uses_own_names)
			return true;
	return false;
}

int live_links_new_code(struct live *live, struct live_process *process,
			const struct object *object, bool *ret_late)
{
	bool own_names = object && object_facts(object)->uses_own_names;

	if (process->links.book == LINKS_BY_BOOK && own_names)
		return record_own_names(live, process, object);
	if (process->links.book == LINKS_BOOK_EXPECTED && own_names)
		return live_links_without_book(live, process, ret_late);
	if (process->links.book != LINKS_BOOK_POSSIBLE || !object)
		return 0;
	if (!live_is_book_library(live, object) || !was_given_book(process))
		return live_links_without_book(live, process, ret_late);
	process->links.book = LINKS_BOOK_EXPECTED;
	return 0;
}

int live_links_by_book(struct live *live, struct live_process *process)
{
	bool late = false; /* nothing of what is attached counts calls */

	process->links.book = LINKS_BY_BOOK;
	/* Links that all share do not count for it. */
	shared_set_owner(live->programs, process->slot, process->slot.n + 1);
	return live_attach_all(live, process, &late);
}

void live_note_unseen(struct live *live, struct live_process *process)
{
	process->links.unseen = true;
	live_count_loss(live, process, LOSS_NO_ALLOCATOR);
}
