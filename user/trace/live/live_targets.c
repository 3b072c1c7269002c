/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that run when tracing begins, named by the user or found by a rule: each gets a
 * slot, and its objects are probed.
 */
#include "base/log.h"
#include "bpf/abi.h"
#include "config/name_globs.h"
#include "memtraced.skel.h"
#include "target/loader_search.h"
#include "target/process.h"
#include "target/process_list.h"
#include "trace/kernel/urgent.h"
#include "trace/live/lifecycle/live_lifecycle.h"
#include "trace/live/live_drain.h"
#include "trace/live/probes/live_probes.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"

#include <errno.h>
#include <unistd.h>

/* The ring is emptied after so many processes that were found at the start. */
#define DRAIN_EACH 16

/* --uid and --comm. */
static bool matches_rule(const struct live *live, const struct process_info *info)
{
	const struct target_rule *rule = &live->opts.run.rule;

	if (rule->of_uid && info->real_uid != rule->uid)
		return false;
	return !rule->names || name_globs_match(rule->names, info->comm);
}

/* Takes a slot for a process that user space registers. -EEXIST: the programs know it already. */
static int register_process(struct live *live, pid_t pid, const struct image_origin *origin,
			    struct live_process **ret)
{
	uint32_t key = pid;
	int r = live_process_begin(live, pid, origin, ret);

	if (r)
		return r;
	r = urgent_add(bpf_map__fd(live->programs->skel->maps.pids), &key, &(*ret)->slot);
	if (r) {
		int error = live_process_discard(live, *ret);

		return error ? error : r;
	}
	return 0;
}

/* What is found by a rule is one of many. */
static bool is_root_by_rule(const struct live *live)
{
	return live->opts.run.rule.scope == ABI_SCOPE_PROCESSES;
}

int live_add_child(struct live *live, pid_t pid)
{
	const struct image_origin origin = { .root = is_root_by_rule(live), .placeholder = true };
	struct live_process *process;

	return register_process(live, pid, &origin, &process);
}

int live_read_ahead(struct live *live, int fd, const char *library_path)
{
	_cleanup_(loader_search_free_p) struct loader_search *search = NULL;
	int r;

	if (!live->opts.run.code) {
		close(fd);
		return 0;
	}
	r = loader_search_new(library_path, LOADER_CACHE, &search);
	if (r) {
		close(fd);
		return r;
	}
	return objects_read_ahead(live->objects, search, fd);
}

/* -EREMOTEIO: a file that may have an allocator, or the list of files, was not read. */
static int log_no_allocator(const struct live *live, const struct live_process *process)
{
	if (process->code.ranges.len == 0 || objects_unread(live->objects) > 0)
		return -EREMOTEIO;
	vec_foreach(&process->code.ranges, range)
		if (range->unopened)
			return -EREMOTEIO;
	return -ENOENT;
}

static int add_process(struct live *live, pid_t pid, bool root, record_fn fn, void *userdata)
{
	const struct image_origin origin = { .root = root, .older_blocks = true };
	struct live_process *process;
	struct process_info info;
	int r = live_begin_emitting(live, fn, userdata);

	if (r == 0)
		r = process_info_read(pid, &info);
	if (r)
		return r;
	r = live_share_early(live, &info);
	if (r == 0)
		r = register_process(live, pid, &origin, &process);
	if (r)
		return r;
	r = live_check_show(live, pid, process->image);
	if (r)
		return r;
	if (!matches_rule(live, &info)) {
		/* Only what it starts may be wanted. */
		live_process_set_unwanted(live, process);
		return 0;
	}
	/* Events before the process counts are no loss: `exact` is about what follows. */
	r = live_map_process(live, process, clock_monotonic_ns(), true);
	if (r == 0 && process->links.translator)
		return -ENOTSUP;
	if (r == 0 && info.thread_ended)
		r = live_share_without_first(live, process);
	if (r || !live->opts.run.allocations)
		return r;
	vec_foreach(&process->code.ranges, range)
		if (range->object && object_has_allocator(range->object))
			return 0;
	return log_no_allocator(live, process);
}

int live_add_process(struct live *live, pid_t pid, bool root, record_fn fn, void *userdata)
{
	int r;

	live_pin(live);
	r = add_process(live, pid, root, fn, userdata);
	live_unpin(live);
	return r;
}

/* --- all of a rule --------------------------------------------------------------------------- */

/* It may have ended before it had a slot: nothing else would ever say so. */
static int check_found(struct live *live, struct live_process *process, uint64_t start_ticks)
{
	struct process_info info;
	int r = process_info_read(process->pid, &info);

	/* What cannot be read now has not ended. */
	if (r == 0 ? !info.zombie && info.start_ticks == start_ticks : r != -ESRCH)
		return 0;
	return live_end_unseen(live, process, 0);
}

static int add_unread(struct live *live, pid_t pid)
{
	int r;

	vec_foreach(&live->unread, known)
		if (*known == pid)
			return 0;
	r = vec_push(&live->unread, pid);
	if (r)
		return r;
	live_count_loss(live, NULL, LOSS_UNREAD);
	if (live->unread.len == 1)
		log_warning("process %d: cannot be read in time, as its exec may wait for a file "
			    "server; it and others like it are not traced",
			    (int)pid);
	return 0;
}

void live_leave_out(struct live *live, pid_t keeper, pid_t opener)
{
	shared_leave_out(live->programs, keeper, opener);
}

static bool is_own(const struct live *live, const struct process_info *info)
{
	const pid_t helpers[] = { (pid_t)live->programs->control->keeper,
				  (pid_t)live->programs->control->opener };

	for (size_t i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++)
		if (helpers[i] && (info->pid == helpers[i] || info->ppid == helpers[i]))
			return true;
	return info->pid == getpid();
}

/* What waits for nothing tells whether it was to be traced. RSS may be 0: it is not exact. */
int live_count_unread(struct live *live, pid_t pid)
{
	struct process_info info;
	uint64_t rss_bytes;

	if (process_status_read(pid, &info) < 0 || process_comm(pid, info.comm) < 0 ||
	    statm_rss(pid, &rss_bytes) < 0 || info.zombie || is_own(live, &info) ||
	    !matches_rule(live, &info))
		return 0;
	return add_unread(live, pid);
}

/* 0 or negative errno; *ret_added: it was there and is counted from now on. */
static int add_found(struct live *live, pid_t pid, bool *ret_added)
{
	const struct image_origin origin = { .root = is_root_by_rule(live), .older_blocks = true };
	struct live_process *process;
	struct process_info info;
	int r;

	*ret_added = false;
	if (live_counts(live, pid))
		return 0;
	r = process_info_read(pid, &info);
	if (r == -ENOMEM)
		return r;
	if (r && r != -ESRCH)
		return live_count_unread(live, pid);
	if (r || info.zombie || info.kernel_thread || is_own(live, &info) ||
	    !matches_rule(live, &info))
		return 0; /* gone, or not to be traced */
	r = register_process(live, pid, &origin, &process);
	if (r == -EEXIST)
		return 0; /* a program was first */
	if (r == -ENOSPC) {
		live_count_loss(live, NULL, LOSS_STATE);
		return 0;
	}
	if (r)
		return r;
	*ret_added = true;
	r = live_map_process(live, process, clock_monotonic_ns(), true);
	if (r == 0 && info.thread_ended)
		r = live_share_without_first(live, process);
	return r ? r : check_found(live, process, info.start_ticks);
}

static int add_list(struct live *live, const pid_vec *pids, record_fn fn, void *userdata,
		    size_t *ret_n)
{
	*ret_n = 0;
	vec_foreach(pids, pid) {
		bool added;
		int r;

		live_pin(live);
		r = add_found(live, *pid, &added);
		live_unpin(live);
		*ret_n += added;
		if (r == 0 && added && *ret_n % DRAIN_EACH == 0)
			r = live_drain(live_source(live), fn, userdata);
		if (r)
			return r;
	}
	return 0;
}

/*
 * A process that began while the list was read, of a parent that was not known yet, is seen by the
 * programs, as is what it forks. So one list would do, but for those that came into a cgroup.
 */
int live_add_all(struct live *live, record_fn fn, void *userdata)
{
	int r = live_begin_emitting(live, fn, userdata);
	size_t n = 1;

	if (r || !live_finds_processes(&live->opts))
		return r;
	while (r == 0 && n > 0) {
		pid_vec pids = {};

		r = live->opts.run.rule.scope == ABI_SCOPE_CGROUP ?
			    process_list_cgroup(live->opts.cgroup_fd, &pids) :
			    process_list_host(&pids);
		if (r == 0)
			r = add_list(live, &pids, fn, userdata, &n);
		vec_done(&pids);
	}
	return r ? r : live_drain(live_source(live), fn, userdata);
}
