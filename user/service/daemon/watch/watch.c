/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/watch/watch.h"

#include "base/clock.h"
#include "base/log.h"
#include "target/file_helper.h"
#include "target/process_list.h"
#include "target/smaps.h"

#include <errno.h>
#include <string.h>

/* One slice takes some milliseconds, for which requests wait. */
#define SLICE_PROCESSES 256
/* And one more process, which may let us wait (target/file_helper.h). */
#define SLICE_NS (10 * MS_NS)
#define SLICE_CGROUPS 64
/* Of a CPU, by sweeps; as much again by reading PSS. */
#define COST_SHARE 200

enum sweep_state { SWEEP_NONE, SWEEP_PROCESSES, SWEEP_CGROUPS };

struct watch {
	const struct service_config *config;
	struct watched *data;
	enum sweep_state state;
	pid_vec pids;
	size_t next_pid;
	struct strbuf root, names; /* of cgroups: each ends with a zero byte */
	size_t next_name;
	uint64_t start_ns, cpu_ns; /* of this sweep */
	uint64_t next_ns;
	pid_vec pss_pids; /* whose PSS is still to be read */
	uint64_t next_pss_ns, next_pss_round_ns;
	struct watch_info info;
	bool said_no_cgroups, said_error;
};

int watch_new(struct watch **ret_watch)
{
	_cleanup_(watch_free_p) struct watch *watch = calloc(1, sizeof(*watch));
	int r = watch ? watched_new(&watch->data) : -ENOMEM;

	if (r == 0)
		*ret_watch = TAKE_PTR(watch);
	return r;
}

void watch_free(struct watch *watch)
{
	if (!watch)
		return;
	watched_free(watch->data);
	vec_done(&watch->pids);
	vec_done(&watch->pss_pids);
	strbuf_done(&watch->root);
	strbuf_done(&watch->names);
	service_config_unref(watch->config);
	free(watch);
}

void watch_configure(struct watch *watch, const struct service_config *config)
{
	service_config_set(&watch->config, config);
	watch->said_no_cgroups = false;
	/* A shorter interval does not wait for the end of a long one. */
	if (watch->next_ns > clock_monotonic_ns() + config->watch_interval_ns)
		watch->next_ns = clock_monotonic_ns() + config->watch_interval_ns;
}

/* What this thread has used, and what reads for it. */
static uint64_t used_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) + file_helper_cpu_ns();
}

/* --- PSS ------------------------------------------------------------------------------------- */

static void begin_pss(struct watch *watch, uint64_t now_ns)
{
	if (watch->config->pss_interval_ns == 0 || watch->pss_pids.len > 0 ||
	    now_ns < watch->next_pss_round_ns)
		return;
	watch->next_pss_round_ns = now_ns + watch->config->pss_interval_ns;
	for (size_t i = 0; i < watched_count(watch->data).processes; i++) {
		const struct watched_process *process = watched_process_at(watch->data, i);

		/* What has no room is asked for in the next round. */
		(void)vec_push(&watch->pss_pids, process->pid);
	}
}

/* One process: its page tables are walked, for which its own mmap calls wait. */
static void read_pss(struct watch *watch)
{
	uint64_t cpu_ns = used_cpu_ns(), now_ns;
	pid_t pid = watch->pss_pids.data[--watch->pss_pids.len];
	struct smaps_sums sums;
	int r = smaps_sums_read(pid, &sums);

	cpu_ns = used_cpu_ns() - cpu_ns;
	now_ns = clock_monotonic_ns();
	watch->next_pss_ns = now_ns + cpu_ns * COST_SHARE;
	/* Else it has ended. */
	if (r == 0)
		watched_set_pss(watch->data, pid, sums.pss_bytes, now_ns);
}

/* --- sweeps ---------------------------------------------------------------------------------- */

/* Where cgroups are may change with the configuration. */
static void find_cgroups(struct watch *watch)
{
	int r = 0, version;

	strbuf_reset(&watch->root);
	if (watch->config->cgroup_root)
		strbuf_adds(&watch->root, watch->config->cgroup_root);
	else
		r = cgroup_root_of_host(&watch->root);
	version = r < 0 ? r : cgroup_root_version(strbuf_str(&watch->root));
	watch->info.cgroup_version = version > 0 ? version : 0;
	if (version > 0 || watch->said_no_cgroups)
		return;
	watch->said_no_cgroups = true;
	if (watch->config->cgroup_root)
		log_warning("[watch] cgroup_root %s: not the root of cgroup v2 or of v1's memory "
			    "controller: cgroups are not watched",
			    watch->config->cgroup_root);
	else
		log_info("no cgroup hierarchy with memory is mounted: cgroups are not watched");
}

static int begin_sweep(struct watch *watch, uint64_t now_ns)
{
	size_t left_out = 0;
	ssize_t n;
	int r;

	watch->start_ns = now_ns;
	watch->cpu_ns = 0;
	watch->pids.len = watch->next_pid = watch->next_name = 0;
	strbuf_reset(&watch->names);
	r = process_list_host(&watch->pids);
	if (r < 0)
		return r;
	find_cgroups(watch);
	if (watch->info.cgroup_version > 0) {
		n = cgroup_list(strbuf_str(&watch->root), WATCHED_CGROUPS, &watch->names,
				&left_out);
		if (n < 0)
			return (int)n;
	}
	watched_begin(watch->data);
	watched_leave_out_cgroups(watch->data, left_out);
	watch->state = SWEEP_PROCESSES;
	return 0;
}

/*
 * What has the memory that it had is taken for the same process: statm waits for nothing, but stat
 * is read by another process (target/file_helper.h). 0, or negative errno: it has ended, or it has
 * no memory (a kernel thread, a zombie).
 */
static int read_process(const struct watch *watch, pid_t pid, struct process_info *ret_info)
{
	const struct watched_process *known = watched_process(watch->data, pid);
	uint64_t rss_bytes;
	int r = statm_rss(pid, &rss_bytes);

	if (r < 0 || rss_bytes == 0)
		return r < 0 ? r : -ESRCH;
	if (!known || known->rss_bytes != rss_bytes) {
		r = process_stat_read(pid, ret_info);
		/* stat may have it less precisely (Linux 6.2). */
		ret_info->rss_bytes = rss_bytes;
		/* It is there, if it cannot be read now. */
		if (r == 0 || r == -ESRCH || !known)
			return r;
	}
	*ret_info = (struct process_info){
		.pid = pid,
		.start_ticks = known->start_ticks,
		.rss_bytes = rss_bytes,
	};
	memcpy(ret_info->comm, known->comm, sizeof(known->comm));
	return 0;
}

static int sweep_processes(struct watch *watch)
{
	const uint64_t end_ns = clock_monotonic_ns() + SLICE_NS;

	for (size_t i = 0; i < SLICE_PROCESSES && watch->next_pid < watch->pids.len; i++) {
		struct process_info info;
		int r;

		if (clock_monotonic_ns() > end_ns)
			break;
		r = read_process(watch, watch->pids.data[watch->next_pid++], &info);
		if (r < 0)
			continue;
		r = watched_add_process(watch->data, &info, clock_monotonic_ns());
		if (r < 0)
			return r;
	}
	if (watch->next_pid == watch->pids.len)
		watch->state = SWEEP_CGROUPS;
	return 0;
}

static int sweep_cgroups(struct watch *watch)
{
	for (size_t i = 0; i < SLICE_CGROUPS && watch->next_name < watch->names.len; i++) {
		const char *name = watch->names.data + watch->next_name;
		struct cgroup_memory memory;
		int r;

		watch->next_name += strlen(name) + 1;
		/* It was removed, or memory is not accounted there. */
		if (cgroup_memory_read(strbuf_str(&watch->root), watch->info.cgroup_version, name,
				       &memory) < 0)
			continue;
		r = watched_add_cgroup(watch->data, name, &memory, clock_monotonic_ns());
		if (r < 0)
			return r;
	}
	return 0;
}

static void end_sweep(struct watch *watch)
{
	uint64_t interval_ns = watch->config->watch_interval_ns;

	if (interval_ns < watch->cpu_ns * COST_SHARE)
		interval_ns = watch->cpu_ns * COST_SHARE;
	watched_end(watch->data);
	watch->state = SWEEP_NONE;
	watch->next_ns = watch->start_ns + interval_ns;
	watch->info.sweeps++;
	watch->info.sweep_cpu_ns = watch->cpu_ns;
	watch->info.interval_ns = interval_ns;
	watch->info.end_ns = clock_monotonic_ns();
	begin_pss(watch, watch->info.end_ns);
}

/* What was read of a sweep that failed stays; the next one begins at its time. */
static void end_sweep_failed(struct watch *watch, int error)
{
	if (!watch->said_error)
		log_error("cannot watch the host: %s", strerror(-error));
	watch->said_error = true;
	watch->state = SWEEP_NONE;
	watch->next_ns = clock_monotonic_ns() + watch->config->watch_interval_ns;
}

static int run_slice(struct watch *watch)
{
	switch (watch->state) {
	case SWEEP_NONE:
		return begin_sweep(watch, clock_monotonic_ns());
	case SWEEP_PROCESSES:
		return sweep_processes(watch);
	case SWEEP_CGROUPS:
		return sweep_cgroups(watch);
	}
	return 0;
}

static bool is_due(const struct watch *watch, uint64_t now_ns)
{
	return watch->state != SWEEP_NONE || now_ns >= watch->next_ns;
}

int watch_timeout_ms(const struct watch *watch)
{
	uint64_t now_ns = clock_monotonic_ns(), next_ns = watch->next_ns;

	if (!watch->config->watches)
		return -1;
	if (is_due(watch, now_ns))
		return 0;
	if (watch->pss_pids.len > 0 && watch->next_pss_ns < next_ns)
		next_ns = watch->next_pss_ns;
	return clock_until_ms(next_ns, now_ns);
}

bool watch_run(struct watch *watch)
{
	uint64_t now_ns = clock_monotonic_ns(), cpu_ns;
	int r;

	if (!watch->config->watches)
		return false;
	if (!is_due(watch, now_ns)) {
		if (watch->pss_pids.len > 0 && now_ns >= watch->next_pss_ns)
			read_pss(watch);
		return false;
	}
	cpu_ns = used_cpu_ns();
	r = run_slice(watch);
	watch->cpu_ns += used_cpu_ns() - cpu_ns;
	if (r < 0) {
		end_sweep_failed(watch, r);
		return false;
	}
	watch->said_error = false;
	if (watch->state != SWEEP_CGROUPS || watch->next_name < watch->names.len)
		return false;
	end_sweep(watch);
	return true;
}

const struct watched *watch_data(const struct watch *watch)
{
	return watch->data;
}

struct watch_info watch_info(const struct watch *watch)
{
	struct watch_info info = watch->info;

	if (!watch->config->watches)
		info.interval_ns = 0;
	info.cgroup_root = info.cgroup_version > 0 ? strbuf_str(&watch->root) : NULL;
	return info;
}
