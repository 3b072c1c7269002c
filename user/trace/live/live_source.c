/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/live.h"

#include "memtraced.skel.h"
#include "probe/custom_allocators.h"
#include "trace/kernel/kernel_limits.h"
#include "trace/kernel/urgent.h"
#include "trace/live/live_process.h"
#include "trace/unwind/unwind_tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/utsname.h>

/* Process images in one run. A slot takes 128 bytes of kernel memory. */
#define SLOTS_FOLLOW 32768
#define SLOTS_ALONE 64

int live_emit(struct live *live, const struct record *record)
{
	return live->fn(record, live->userdata);
}

struct live_process *live_process_at(const struct live *live, uint32_t slot)
{
	return slot < live->processes.len ? live->processes.data[slot] : NULL;
}

void live_count_loss(struct live *live, struct live_process *process, enum user_loss cause)
{
	live->losses[cause - ABI_LOSSES]++;
	if (process)
		__atomic_fetch_add(&live->programs->procs[process->slot].lost, 1, __ATOMIC_RELAXED);
}

static uint64_t stack_item_hash(const void *item)
{
	return hash_u64(((const struct live_stack *)item)->id);
}

static bool stack_item_equal(const void *a, const void *b)
{
	return ((const struct live_stack *)a)->id == ((const struct live_stack *)b)->id;
}

static const struct hashmap_ops stack_ops = { stack_item_hash, stack_item_equal, free };

void live_on_event(struct live *live, const void *data)
{
	const struct abi_event *head = data;
	int r = 0;

	switch (head->type) {
	case ABI_EV_STACK:
		r = live_on_stack(live, data);
		break;
	case ABI_EV_FORK:
	case ABI_EV_EXEC:
	case ABI_EV_EXIT:
	case ABI_EV_OOM:
	case ABI_EV_SEEN:
		r = live_on_process_event(live, data);
		break;
	case ABI_EV_CODE:
		r = live_on_region(live, data);
		r = r ? r : live_on_code(live, data);
		break;
	case ABI_EV_CODE_GONE:
		r = live_on_code_gone(live, data);
		break;
	case ABI_EV_MMAP:
	case ABI_EV_MUNMAP:
	case ABI_EV_MREMAP:
	case ABI_EV_UNMAP_RESULT:
		r = live_on_region(live, data);
		break;
	case ABI_EV_STACK_COPY:
		r = live_on_stack_copy(live, data);
		break;
	case ABI_EV_FILE:
		r = live_on_file(live, data);
		break;
	case ABI_EV_OCCURRENCE:
		r = live_on_occurrence(live, data);
		break;
	}
	if (r && !live->error)
		live->error = r;
}

static int on_ring_event(void *ctx, void *data, size_t size)
{
	struct live *live = ctx;

	/* The programs are ours: each type has one layout. */
	if (!live_buffer_add(live->buffer, data, size))
		live_on_event(live, data);
	return 0;
}

const char *live_kernel_lacks(const struct live *live, struct strbuf *out)
{
	struct utsname uts;
	struct kernel_found found = {
		.features = live->opts.features,
		.release = uts.release,
		.kernel_frames = live->kernel_stacks,
		.syscalls_preempted = live->programs->syscalls_preempted,
		.unwind_refused = live->unwind_refused,
	};

	if (uname(&uts) == 0)
		kernel_limits(&found, out);
	return strbuf_str(out);
}

static int describe_run(struct live *live)
{
	static const struct record_function own[] = {
		{ .id = FUNCTION_MMAP, .name = "mmap", .object = "" },
		{ .id = FUNCTION_MREMAP, .name = "mremap", .object = "" },
	};
	_cleanup_strbuf_ struct strbuf lacks = { 0 };
	struct utsname uts;
	struct record record = {
		.type = RECORD_RUN,
		.run = { .tool = live->opts.tool,
			 .kernel = uname(&uts) ? "" : uts.release,
			 .kernel_lacks = live_kernel_lacks(live, &lacks),
			 .attach_path =
				 live->opts.features ? attach_path_name(live->opts.path) : NULL,
			 .start_realtime_ns =
				 clock_ns(CLOCK_REALTIME) - (clock_monotonic_ns() - live->start_ns),
			 .start_ns = live->start_ns,
			 .age_resolution_ns = ABI_TICK_NS,
			 .no_allocations = !live->opts.allocations,
			 .no_stacks = live->opts.max_stack == 0,
			 .unwinder = live->opts.max_stack == 0 ? NULL :
				     live->tables	       ? "cfi" :
								 "fp" },
	};
	int r = live_emit(live, &record);

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]) && r == 0; i++) {
		record = (struct record){ .type = RECORD_FUNCTION, .function = own[i] };
		r = live_emit(live, &record);
	}
	return r ? r : live_describe_jobs(live);
}

static int begin_emitting(struct live *live, record_fn fn, void *userdata)
{
	live->fn = fn;
	live->userdata = userdata;
	if (live->run_described)
		return 0;
	live->run_described = true;
	return describe_run(live);
}

/* A process whose exit event was refused by a full ring must not be waited for. */
static int check_alive(struct live *live)
{
	vec_foreach(&live->processes, p) {
		struct live_process *process = *p;
		struct abi_ev_process ev = { .head = { .type = ABI_EV_EXIT } };
		int r;

		if (!process || process->ended ||
		    live->programs->procs[process->slot].state != ABI_PROC_ENDED)
			continue;
		ev.head.slot = process->slot;
		ev.head.time_ns = clock_monotonic_ns();
		ev.pid = process->pid;
		ev.exit_code = UINT32_MAX;
		r = live_on_process_event(live, &ev);
		if (r)
			return r;
	}
	return 0;
}

static int live_drain(struct source *source, record_fn fn, void *userdata)
{
	struct live *live = (struct live *)source;
	uint64_t losses[ABI_LOSSES];
	int r = begin_emitting(live, fn, userdata);

	if (r)
		return r;
	live->error = 0;
	live_buffer_drain(live);
	r = ring_buffer__consume(live->ring);
	if (r < 0)
		return r;
	if (live->error)
		return live->error;
	r = programs_losses(live->programs, losses);
	if (r)
		return r;
	if (losses[ABI_LOST_RING_FULL]) {
		r = check_alive(live);
		if (r)
			return r;
	}
	r = live_release_all_stacks(live, false);
	if (r == 0)
		r = live_unwind_drained(live);
	if (r == 0)
		r = live_settle(live);
	return r ? r : live_after_cut(live);
}

static void source_free_live(struct source *source)
{
	live_free((struct live *)source);
}

static const struct source_ops live_ops = {
	.drain = live_drain,
	.cut = live_cut,
	.free = source_free_live,
};

static int load(struct live *live)
{
	const struct features *features = live->opts.features;
	struct programs_opts opts = {
		.allocations = live->opts.allocations,
		.code = live->opts.code,
		.path = live->opts.path,
		.exit_by_multi = features && (features->rows[FEATURE_UPROBE_MULTI].present ||
					      features->rows[FEATURE_UPROBE_SESSION].present),
		.hold_cpu = features && features->rows[FEATURE_HOLD_CPU].present,
		.follow = live->opts.follow,
		.max_procs = live->opts.follow ? SLOTS_FOLLOW : SLOTS_ALONE,
		.max_blocks = live->opts.max_blocks,
		.min_size = live->opts.min_size,
		.max_size = live->opts.max_size,
		.max_stack = live->opts.max_stack,
		.floor = live->opts.floor,
		.unwind = live->opts.unwind,
		.check_stacks = live->opts.check_stacks,
	};
	int r = programs_new(&opts, &live->programs);

	if (r && r != -EPERM && opts.unwind) { /* a verifier that cannot follow the walk */
		opts.unwind = live->opts.unwind = false;
		live->unwind_refused = true;
		r = programs_new(&opts, &live->programs);
	}
	if (r)
		return r;
	live->ring = ring_buffer__new(bpf_map__fd(live->programs->skel->maps.ring), on_ring_event,
				      live, NULL);
	if (!live->ring)
		return -errno;
	if (live->opts.scope == ABI_SCOPE_CGROUP) {
		const uint32_t first = 0, fd = live->opts.cgroup_fd;

		r = bpf_map_update_elem(bpf_map__fd(live->programs->skel->maps.cgroups), &first,
					&fd, BPF_ANY);
		if (r)
			return r;
	}
	live->programs->control->hold = live->opts.held;
	/* Nothing needs to be attached before a process counts, but for requested sizes. */
	live->programs->control->shared = !features;
	return programs_attach_tracepoints(live->programs, live->tracepoints, &live->n_tracepoints);
}

int live_new(const struct live_opts *opts, struct live **ret_live)
{
	_cleanup_(live_free_p) struct live *live = calloc(1, sizeof(*live));
	struct objects_opts objects_opts = {
		.path = opts->path,
		.allocations = opts->allocations,
	};
	int r;

	if (!live)
		return -ENOMEM;
	if (opts->features) {
		objects_opts.emulation = &opts->features->emulation;
		objects_opts.returns_unsafe =
			!opts->features->rows[FEATURE_URETPROBE_SECCOMP].present;
	}
	live->source.ops = &live_ops;
	live->tracefs_fd = -1;
	live->opts = *opts;
	live->start_ns = clock_monotonic_ns();
	live->losses[LOSS_FLOOR - ABI_LOSSES] = opts->floor;
	r = live_buffer_new(&live->buffer);
	if (r)
		return r;
	r = hashmap_new(&stack_ops, &live->stacks);
	if (r)
		return r;
	if (opts->check_stacks)
		r = stack_check_new(&live->check.check);
	if (r == 0)
		r = load(live);
	if (r)
		return r;
	r = live_unwind_new(live);
	if (r)
		return r;
	r = custom_allocators_new(opts->allocators, opts->n_allocators, &live->custom);
	if (r)
		return r;
	objects_opts.custom = live->custom;
	objects_opts.programs = live->programs;
	objects_opts.tables = live->tables;
	r = objects_new(&objects_opts, &live->objects);
	if (r)
		return r;
	*ret_live = TAKE_PTR(live);
	return 0;
}

void live_free(struct live *live)
{
	if (!live)
		return;
	objects_free(live->objects);
	custom_allocators_free(live->custom);
	for (size_t i = 0; i < live->n_tracepoints; i++)
		close(live->tracepoints[i]);
	vec_foreach(&live->jobs, job)
		job_free(*job);
	vec_done(&live->jobs);
	if (live->tracefs_fd >= 0)
		close(live->tracefs_fd);
	ring_buffer__free(live->ring);
	live_buffer_free(live->buffer);
	programs_free(live->programs);
	vec_foreach(&live->processes, p)
		live_process_free(*p);
	vec_done(&live->processes);
	vec_done(&live->marks);
	vec_done(&live->waiting);
	hashmap_free(live->stacks);
	unwind_tables_free(live->tables);
	stack_check_free(live->check.check);
	free(live);
}

struct source *live_source(struct live *live)
{
	return &live->source;
}

/* Takes a slot for a process that user space registers. */
static int register_process(struct live *live, pid_t pid, struct live_process **ret)
{
	uint32_t slot = __atomic_fetch_add(live->programs->next_slot, 1, __ATOMIC_RELAXED);
	uint32_t key = pid;
	struct abi_proc *proc;
	int r;

	if (slot >= live->programs->max_procs)
		return -ENOSPC;
	proc = &live->programs->procs[slot];
	proc->pid = pid;
	proc->parent = ABI_NO_SLOT;
	proc->cut_epoch = live->programs->control->cut_epoch;
	__atomic_store_n(&proc->state, ABI_PROC_PENDING, __ATOMIC_RELEASE);
	r = live_process_new(live, slot, pid, ret);
	if (r)
		return r;
	(*ret)->root = true;
	return urgent_add(bpf_map__fd(live->programs->skel->maps.pids), &key, &slot);
}

int live_add_child(struct live *live, pid_t pid)
{
	struct live_process *process;
	int r = register_process(live, pid, &process);

	if (r)
		return r;
	process->placeholder = true;
	return 0;
}

int live_add_process(struct live *live, pid_t pid, record_fn fn, void *userdata)
{
	struct live_process *process;
	int r = begin_emitting(live, fn, userdata);

	if (r)
		return r;
	r = register_process(live, pid, &process);
	if (r)
		return r;
	/* Events before the process counts are no loss: `exact` is about what follows. */
	r = live_map_process(live, process, clock_monotonic_ns(), true);
	if (r || !live->opts.allocations)
		return r;
	vec_foreach(&process->code, range)
		if (range->object && object_has_allocator(range->object))
			return 0;
	return -ENOENT;
}

int live_fd(const struct live *live)
{
	return ring_buffer__epoll_fd(live->ring);
}

void live_tick(struct live *live)
{
	live->programs->control->tick = (clock_monotonic_ns() - live->start_ns) / ABI_TICK_NS;
}

bool live_take_mark(struct live *live, pid_t tid)
{
	for (size_t i = 0; i < live->marks.len; i++) {
		if (live->marks.data[i] != tid)
			continue;
		live->marks.data[i] = live->marks.data[--live->marks.len];
		return true;
	}
	return false;
}

uint64_t live_events(const struct live *live)
{
	uint64_t n;

	return programs_events(live->programs, &n) ? 0 : n;
}

int64_t live_bytes(const struct live *live)
{
	int64_t sum = 0;

	vec_foreach(&live->processes, p)
		if (*p && !(*p)->ended)
			sum += live->programs->procs[(*p)->slot].live_bytes;
	return sum;
}

uint64_t live_lost(const struct live *live)
{
	uint64_t sum = 0;

	vec_foreach(&live->processes, p)
		if (*p)
			sum += live->programs->procs[(*p)->slot].lost;
	return sum;
}

bool live_counts(const struct live *live, pid_t pid)
{
	uint32_t key = pid, slot;

	return urgent_lookup(bpf_map__fd(live->programs->skel->maps.pids), &key, &slot) == 0;
}

size_t live_running(const struct live *live)
{
	size_t n = 0;

	vec_foreach(&live->processes, p)
		n += *p && !(*p)->ended;
	return n;
}

size_t live_roots_running(const struct live *live)
{
	size_t n = 0;

	vec_foreach(&live->processes, p)
		n += *p && (*p)->root && !(*p)->ended;
	return n;
}

bool live_has_allocator(const struct live *live)
{
	for (size_t i = 0; i < objects_count(live->objects); i++)
		if (object_has_allocator(objects_at(live->objects, i)))
			return true;
	return false;
}
