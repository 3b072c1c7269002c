/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the live source says of itself: its run, its state, what the kernel lacks. */
#include "trace/live/live_drain.h"

#include "memtraced.skel.h"
#include "trace/kernel/kernel_limits.h"
#include "trace/kernel/urgent.h"
#include "trace/live/jobs/live_jobs.h"
#include "trace/live/slots/live_slots.h"

#include <sys/utsname.h>

bool live_finds_processes(const struct live_opts *opts)
{
	/* Jobs give slots to processes of the host or cgroup themselves, but know no other rule. */
	return opts->run.rule.scope != ABI_SCOPE_PROCESSES &&
	       (opts->features || opts->run.rule.of_uid || opts->run.rule.names);
}

const char *live_kernel_lacks(const struct live *live, bool for_probes, struct strbuf *out)
{
	struct utsname uts;
	struct kernel_found found = {
		.features = for_probes ? live->opts.features : NULL,
		.release = uts.release,
		.kernel_frames = live->jobs.kernel_stacks,
		.syscalls_preempted = live->programs->syscalls_preempted,
		.unwind_refused = live->opts.unwind_refused,
		.deaths_unseen = live->programs->deaths_unseen,
	};

	if (uname(&uts) == 0)
		kernel_limits(&found, out);
	return strbuf_str(out);
}

/* Probes of samples have no returns: one link for many, or perf events. */
static const char *path_name(const struct live *live)
{
	if (!live->opts.run.sampled || live->opts.run.both)
		return attach_path_name(live->opts.run.path);
	return attach_path_name(live->programs->entry_type ? ATTACH_PATH_MULTI : ATTACH_PATH_PERF);
}

/* As if it had changed at the start. */
static int describe_first_depth(struct live *live)
{
	const struct record record = {
		.type = RECORD_DEPTH,
		.depth_change = { .time_ns = live->start_ns,
				  .depth = live->depth,
				  .calls_per_s = UINT64_MAX,
				  .predicted_ppm = UINT64_MAX },
	};

	return live_emit(live, &record);
}

static int describe_run(struct live *live)
{
	static const struct record_function own[] = {
		{ .id = FUNCTION_MMAP, .name = "mmap", .object = "" },
		{ .id = FUNCTION_MREMAP, .name = "mremap", .object = "" },
		{ .id = FUNCTION_BRK, .name = "brk", .object = "" },
		{ .id = RECORD_BEFORE_ATTACH, .name = RECORD_BEFORE_ATTACH_NAME, .object = "" },
		{ .id = ABI_FN_SAMPLED, .name = RECORD_SAMPLED_NAME, .object = "" },
	};
	_cleanup_strbuf_ struct strbuf lacks = { 0 };
	struct utsname uts;
	struct record record = {
		.type = RECORD_RUN,
		.run = { .tool = live->opts.tool,
			 .kernel = uname(&uts) ? "" : uts.release,
			 .free_stacks = live->opts.run.free_stacks,
			 .sampled = live->opts.run.sampled && !live->opts.run.both,
			 .kernel_lacks = live_kernel_lacks(live, true, &lacks),
			 .attach_path = live->opts.features ? path_name(live) : NULL,
			 .start_realtime_ns =
				 clock_ns(CLOCK_REALTIME) - (clock_monotonic_ns() - live->start_ns),
			 .start_ns = live->start_ns,
			 .age_resolution_ns = ABI_TICK_NS,
			 .growth_span_ns = live->opts.growth_span_ns,
			 .no_allocations = !live->opts.run.allocations && !live->opts.run.mappings,
			 .no_heap = live->opts.run.mappings,
			 .counted_by = live->opts.book_library ? RECORD_BY_LIBRARY :
								 live->opts.why_no_books,
			 .no_stacks = live->opts.run.max_stack == 0,
			 .unwinder = live->opts.run.max_stack == 0 ? NULL :
				     live->tables		   ? "cfi" :
								     "fp" },
	};
	int r = live_emit(live, &record);

	if (r == 0 && live->opts.run.both && live->depth != RECORD_DEPTH_EXACT)
		r = describe_first_depth(live);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]) && r == 0; i++) {
		record = (struct record){ .type = RECORD_FUNCTION, .function = own[i] };
		r = live_emit(live, &record);
	}
	return r ? r : live_describe_jobs(live);
}

int live_begin_emitting(struct live *live, record_fn fn, void *userdata)
{
	live->sink.fn = fn;
	live->sink.userdata = userdata;
	if (live->sink.run_described)
		return 0;
	live->sink.run_described = true;
	return describe_run(live);
}

struct source *live_source(struct live *live)
{
	return &live->source;
}

int live_fd(const struct live *live)
{
	return ring_buffer__epoll_fd(live->ring);
}

const char *live_missing_checkpoint(const struct live *live, size_t *index)
{
	char *const *names = live->opts.checkpoint_names;

	for (; names && names[*index]; (*index)++)
		if (!objects_have_checkpoint(live->objects, (uint16_t)(*index + 1)))
			return names[(*index)++];
	return NULL;
}

uint64_t live_events(const struct live *live)
{
	uint64_t n;

	return programs_events(live->programs, &n) ? 0 : n;
}

void live_end_probes(struct live *live)
{
	objects_detach(live->objects);
}

/* In milliseconds, rounded up: a loss is never 0. */
void live_set_untraced(struct live *live, uint64_t untraced_ns)
{
	live_set_loss(live, LOSS_BUDGET, (untraced_ns + 999999) / 1000000);
}

bool live_counts(const struct live *live, pid_t pid)
{
	uint32_t key = pid, slot;

	return urgent_lookup(bpf_map__fd(live->programs->skel->maps.pids), &key, &slot) == 0;
}

bool live_any_traced(const struct live *live)
{
	return live->any_traced;
}

bool live_has_allocator(const struct live *live)
{
	for (size_t i = 0; i < objects_count(live->objects); i++)
		if (object_has_allocator(objects_at(live->objects, i)))
			return true;
	return false;
}

bool live_slot_has_allocator(const struct live *live, slot_t slot)
{
	vec_foreach(&live_process_at(live, slot)->code.ranges, range)
		if (range->object && object_has_allocator(range->object))
			return true;
	return false;
}

int live_begin_event(struct live *live, const struct event_spec *spec, record_fn fn, void *userdata,
		     struct strbuf *error)
{
	bool had_kernel = live->jobs.kernel_code;
	int r = live_begin_emitting(live, fn, userdata);

	if (r == 0)
		r = live_add_event(live, spec, false, false, error);
	return r ? r : live_describe_event(live, !had_kernel);
}
