/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Making and ending the live source: programs loaded, what follows processes attached.
 */
#include "bpf/abi.h"
#include "memtraced.skel.h"
#include "probe/custom_allocators.h"
#include "trace/bpf/grace.h"
#include "trace/kernel/old_kernel.h"
#include "trace/live/books/live_books.h"
#include "trace/live/code/live_code.h"
#include "trace/live/lifecycle/live_lifecycle.h"
#include "trace/live/live_drain.h"
#include "trace/live/probes/live_probes.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"
#include "trace/unwind/unwind_tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Process images in one run. A slot takes 128 bytes of kernel memory. */
#define SLOTS_FOLLOW 32768
#define SLOTS_ALONE 64

static void source_free_live(struct source *source)
{
	live_free((struct live *)source);
}

static const struct source_ops live_ops = {
	.drain = live_drain,
	.cut = live_cut,
	.free = source_free_live,
};

/*
 * Where processes are held at their beginning and keep books themselves, few need programs that
 * count calls, and these wait until the programs are loaded.
 */
static bool calls_wait(const struct live *live)
{
	return (live->library.fd >= 0 || programs_tests_load_late()) && live->opts.held &&
	       live->opts.run.allocations && !live->opts.run.sampled;
}

static struct programs_opts programs_opts_of(const struct live *live)
{
	const struct features *features = live->opts.features;
	const struct run_opts *run = &live->opts.run;
	const bool finds = live_finds_processes(&live->opts);
	const bool one = !run->follow && run->rule.scope == ABI_SCOPE_PROCESSES;
	struct programs_opts opts = {
		.run = *run,
		.exit_by_multi = features && (features->rows[FEATURE_UPROBE_MULTI].present ||
					      features->rows[FEATURE_UPROBE_SESSION].present),
		.hold_cpu = features && features->rows[FEATURE_HOLD_CPU].present,
		/* Who waits for us at its exec needs no haste. */
		.find_vma =
			features && features->rows[FEATURE_FIND_VMA].present && !live->opts.held,
		.whole_life = live->opts.held && !run->both,
		.max_procs = one ? SLOTS_ALONE : SLOTS_FOLLOW,
		.calls_later = calls_wait(live),
		.book_args = live->library.fd >= 0 ? live->library.probe.args : NULL,
	};

	if (finds || run->rule.scope == ABI_SCOPE_PROCESSES)
		opts.run.adopt_bytes = 0;
	if (!finds) {
		opts.adopt_scope = run->rule.scope;
		opts.run.rule.scope = ABI_SCOPE_PROCESSES;
	}
	return opts;
}

static int load(struct live *live)
{
	const struct programs_opts opts = programs_opts_of(live);
	int r = programs_new(&opts, &live->programs);

	if (r)
		return r;
	programs_want_samples(live->programs, live->depth == RECORD_DEPTH_SAMPLED);
	live->ring = ring_buffer__new(bpf_map__fd(live->programs->skel->maps.ring), live_on_ring,
				      live, NULL);
	if (!live->ring)
		return -errno;
	if (live->opts.run.rule.scope == ABI_SCOPE_CGROUP) {
		const uint32_t first = 0, fd = live->opts.cgroup_fd;

		r = bpf_map_update_elem(bpf_map__fd(live->programs->skel->maps.cgroups), &first,
					&fd, BPF_ANY);
		if (r)
			return r;
	}
	live_slots_begin(live);
	shared_set_hold(live->programs, live->opts.held);
	/*
	 * Nothing needs to be attached before a process counts, but for allocations. Who is found
	 * by a rule is counted by shared links, from the moment its files are probed.
	 */
	live_links_begin(live, !live->opts.features || live_finds_processes(&live->opts));
	r = programs_attach_tracepoints(live->programs, live->tracepoints, &live->n_tracepoints);
	if (r || programs_walk_waits(live->programs))
		return r; /* live_await_probes() does the rest */
	return live_attach_walk(live);
}

/*
 * Sites inside functions tell of calls by the stack pointer and frame pointer of their entry, by
 * which the stack is walked, if at all; the kernel's walk has those of the moment. What else is
 * asked at an entry or a return they do not see.
 */
static enum objects_results which_results(const struct live_opts *opts)
{
	static const char *const names[] = {
		[OBJECTS_RESULTS_NEVER] = "never",
		[OBJECTS_RESULTS_CHECKED] = "checked",
		[OBJECTS_RESULTS_FORCED] = "always",
		[OBJECTS_RESULTS_WRONG] = "wrong",
	};
	const char *told = getenv("MEMTRACED_TEST_RESULT_SITES");

	if (!opts->run.unwind && opts->run.max_stack && !opts->run.floor)
		return OBJECTS_RESULTS_NEVER;
	if (!opts->run.allocations || opts->run.heap_errors || opts->run.check_stacks ||
	    old_kernel() || opts->run.path == ATTACH_PATH_EXIT || !grace_is_offered())
		return OBJECTS_RESULTS_NEVER;
	for (size_t i = 0; told && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(told, names[i]) == 0)
			return (enum objects_results)i;
	/* Nothing is compared where nothing is counted. */
	return opts->run.floor ? OBJECTS_RESULTS_FORCED : OBJECTS_RESULTS_CHECKED;
}

static int make_objects(struct live *live)
{
	const struct live_opts *opts = &live->opts;
	struct objects_opts objects_opts = {
		.worker = opts->worker,
		.ask_ahead = opts->ask_ahead,
		.run = &opts->run,
		.loader = opts->run.sampled && opts->run.code,
		.checkpoint_names = opts->checkpoint_names,
		.books = opts->book_library,
		.results = which_results(opts),
		.custom = live->custom,
		.programs = live->programs,
		.tables = live->tables,
	};
	int r;

	if (opts->features) {
		objects_opts.emulation = &opts->features->emulation;
		objects_opts.returns_unsafe =
			!opts->features->rows[FEATURE_URETPROBE_SECCOMP].present;
	}
	r = objects_new(&objects_opts, &live->objects);
	if (r == 0)
		objects_set_depth(live->objects, live->depth);
	return r;
}

int live_new(const struct live_opts *opts, struct live **ret_live)
{
	_cleanup_(live_free_p) struct live *live = calloc(1, sizeof(*live));
	int64_t least;
	int r;

	if (!live)
		return -ENOMEM;
	live->source.ops = &live_ops;
	live->jobs.tracefs_fd = live->library.fd = live->library.link_fd = -1;
	live->links.signals = -1;
	live->opts = *opts;
	live->opts.cgroup_fd = -1;
	if (opts->run.rule.scope == ABI_SCOPE_CGROUP) {
		live->opts.cgroup_fd = fcntl(opts->cgroup_fd, F_DUPFD_CLOEXEC, 0);
		if (live->opts.cgroup_fd < 0)
			return -errno;
	}
	live->start_ns = clock_monotonic_ns();
	clock_asleep(&least, &live->start_asleep_ns);
	if (opts->run.sampled)
		live->depth = opts->run.both ? opts->depth : RECORD_DEPTH_SAMPLED;
	live_set_loss(live, LOSS_FLOOR, opts->run.floor);
	r = live_buffer_new(&live->buffer);
	if (r)
		return r;
	r = live_usage_new(opts->pss_every_ns, &live->usage);
	if (r)
		return r;
	r = stack_index_new(&live->stacks);
	if (r)
		return r;
	if (opts->run.check_stacks)
		r = stack_check_new(&live->check.check);
	if (r == 0)
		r = live_books_find(live);
	if (r == 0)
		r = load(live);
	if (r)
		return r;
	shared_set_tick(live->programs, live_tick_of(live, live->start_ns));
	r = live_books_attach(live);
	if (r)
		return r;
	r = live_unwind_new(live);
	if (r)
		return r;
	r = custom_allocators_new(opts->allocators, opts->n_allocators, &live->custom);
	if (r == 0)
		r = make_objects(live);
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
	for (size_t i = 0; i < live->links.n_calls; i++)
		close(live->links.calls[i]);
	if (live->links.signals >= 0)
		close(live->links.signals);
	vec_foreach(&live->jobs.all, job)
		job_free(*job);
	vec_done(&live->jobs.all);
	if (live->jobs.tracefs_fd >= 0)
		close(live->jobs.tracefs_fd);
	if (live->opts.cgroup_fd >= 0)
		close(live->opts.cgroup_fd);
	live_books_done(live);
	ring_buffer__free(live->ring);
	live_buffer_free(live->buffer);
	live_usage_free(live->usage);
	programs_free(live->programs);
	vec_foreach(&live->slots.all, p)
		live_process_free(*p);
	live_slots_done(live);
	vec_done(&live->closed.files);
	vec_done(&live->held.marks);
	vec_done(&live->held.checkpoints);
	vec_done(&live->untold.images);
	vec_done(&live->mapped.waiting);
	vec_done(&live->waiting.slots);
	vec_done(&live->unsettled);
	vec_done(&live->unread);
	vec_foreach(&live->waiting.unannounced, stack)
		free(*stack);
	vec_done(&live->waiting.unannounced);
	stack_index_free(live->stacks);
	unwind_tables_free(live->tables);
	stack_check_free(live->check.check);
	free(live);
}
