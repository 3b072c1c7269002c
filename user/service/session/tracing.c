/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/session/tracing.h"

#include "base/log.h"
#include "config/units.h"
#include "symbol/symbol_file.h"
#include "target/identity.h"
#include "target/process.h"
#include "trace/kernel/old_kernel.h"
#include "trace/kernel/tracefs.h"
#include "trace/live/cuts/live_usage.h"
#include "version.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

bool tracing_needs_probes(const struct options *options)
{
	for (size_t i = 0; i < options->n_hists; i++)
		if (options->hists[i].what == HIST_ALLOC)
			return true;
	return options_trace_allocations(options);
}

/* Stacks want to know what is mapped, probes where the allocators are. */
bool tracing_needs_code(const struct options *options)
{
	return tracing_needs_probes(options) || options->mappings || options->n_events > 0 ||
	       options->stacks;
}

/* Tables of files and processes, to unwind by: only the programs for x86-64 know how. */
static bool unwinds(const struct options *options)
{
#ifdef __x86_64__
	bool stacks = options_trace_memory(options) || options->n_events > 0 || options->stacks;

	return stacks && options->unwind == UNWIND_CFI && options->max_stack > 0 && !options->floor;
#else
	(void)options;
	return false;
#endif
}

/*
 * Do stacks of named processes begin where code is interrupted? A host or cgroup has too many files
 * for the room of all their rows, and few of the large ones are ever interrupted.
 */
static bool interrupts_named(const struct options *options)
{
	for (size_t i = 0; i < options->n_events && !options_trace_widely(options); i++)
		if (event_spec_interrupts(&options->events[i]))
			return true;
	return false;
}

bool tracing_holds(const struct options *options)
{
	return options->command && tracing_needs_code(options);
}

/* --- the attach path ------------------------------------------------------------------------- */

static const struct {
	enum option_attach option;
	enum attach_path path;
	enum feature needs;
} attach_choices[] = {
	{ ATTACH_SESSION, ATTACH_PATH_SESSION, FEATURE_UPROBE_SESSION },
	{ ATTACH_MULTI, ATTACH_PATH_MULTI, FEATURE_UPROBE_MULTI },
	{ ATTACH_PERF, ATTACH_PATH_PERF, FEATURE_PERF_UPROBE },
	{ ATTACH_EXIT, ATTACH_PATH_EXIT, FEATURE_PERF_UPROBE },
};
#define N_CHOICES (sizeof(attach_choices) / sizeof(attach_choices[0]))

static bool usable(const struct features *f, size_t choice)
{
	/* Exit sites are plain uprobes of any kind; perf's is not tried where a newer one works. */
	if (attach_choices[choice].option == ATTACH_EXIT &&
	    (f->rows[FEATURE_UPROBE_SESSION].present || f->rows[FEATURE_UPROBE_MULTI].present))
		return true;
	return f->rows[attach_choices[choice].needs].present;
}

/* The path asked for, or the best that this kernel has. 0 or -EOPNOTSUPP (logged). */
static int choose_path(const struct options *options, const struct features *features,
		       enum attach_path *ret_path)
{
	enum option_attach asked = options->attach;

	if (!features->rows[FEATURE_BTF].present) {
		log_error("this kernel has no BTF (/sys/kernel/btf/vmlinux): %s; it must be built "
			  "with CONFIG_DEBUG_INFO_BTF",
			  features->rows[FEATURE_BTF].reason);
		return -EOPNOTSUPP;
	}
	if (!features->rows[FEATURE_URETPROBE_SECCOMP].present && asked == ATTACH_AUTO)
		asked = ATTACH_EXIT;
	for (size_t i = 0; i < N_CHOICES; i++) {
		const struct feature_row *row = &features->rows[attach_choices[i].needs];

		if (asked != ATTACH_AUTO && asked != attach_choices[i].option)
			continue;
		if (usable(features, i)) {
			*ret_path = attach_choices[i].path;
			return 0;
		}
		if (asked != ATTACH_AUTO) {
			log_error("--attach=%s: this kernel lacks %s: %s",
				  attach_path_name(attach_choices[i].path),
				  feature_name(attach_choices[i].needs), row->reason);
			return -EOPNOTSUPP;
		}
	}
	log_error("this kernel offers no way to attach; see memtraced --features");
	return -EOPNOTSUPP;
}

/* --- the source and its jobs ----------------------------------------------------------------- */

/* cgroup v2 alone has what BPF can ask for. The folder's descriptor, or negative errno (logged). */
static int open_cgroup(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs st;

	if (fd < 0 || fstatfs(fd, &st)) {
		log_error("--cgroup %s: %s", path, strerror(errno));
		return -EINVAL;
	}
	if (st.f_type != CGROUP2_SUPER_MAGIC) {
		log_error("--cgroup %s: not a folder of a cgroup v2 file system (usually "
			  "/sys/fs/cgroup, or /sys/fs/cgroup/unified)",
			  path);
		return -EINVAL;
	}
	return TAKE_FD(fd);
}

/* `error` says what of the options is not to be had, with -EINVAL. */
static int add_jobs(const struct options *options, struct live *live, struct strbuf *error)
{
	int r = 0;

	for (size_t i = 0; i < options->n_hists && r == 0; i++)
		r = live_add_hist(live, &options->hists[i], error);
	for (size_t i = 0; i < options->n_events && r == 0; i++)
		r = live_add_event(live, &options->events[i], options->kernel_stacks, options->each,
				   error);
	if (r == 0 && options->syscalls)
		r = live_add_syscalls(live, options->stacks, error);
	return r;
}

static int load_source(const struct options *options, const struct live_opts *opts,
		       struct strbuf *error, struct live **ret_live)
{
	_cleanup_(live_free_p) struct live *live = NULL;
	int r = live_new(opts, &live);

	if (r == 0)
		r = add_jobs(options, live, error);
	if (r == 0)
		*ret_live = TAKE_PTR(live);
	return r;
}

/* With the walk of stacks that is asked for, or without where a verifier cannot follow it. */
static int load_what_is_let_in(const struct options *options, struct live_opts *opts,
			       struct strbuf *error, struct live **ret_live)
{
	int r = load_source(options, opts, error, ret_live);

	if (r == 0 || r == -EPERM || error->len || !opts->run.unwind)
		return r;
	opts->run.unwind = false;
	opts->unwind_refused = true;
	return load_source(options, opts, error, ret_live);
}

static void log_load(int r, const struct strbuf *error)
{
	char size[FORMAT_UNIT_LEN];
	struct rlimit locked;

	if (error->len)
		log_error("%s", strbuf_str(error));
	/* Where it counts it was raised, if that was allowed. */
	else if (r == -EPERM && geteuid() == 0 && getrlimit(RLIMIT_MEMLOCK, &locked) == 0 &&
		 locked.rlim_cur != RLIM_INFINITY)
		log_error("the kernel refused the BPF programs: before Linux 5.11 their memory "
			  "counts as locked, and RLIMIT_MEMLOCK is %s, which cannot be raised "
			  "without CAP_SYS_RESOURCE: try `ulimit -l unlimited` before",
			  format_size((int64_t)locked.rlim_cur, size));
	else if (r == -EPERM)
		log_error("the kernel refused the BPF programs: missing capabilities: CAP_BPF, "
			  "CAP_PERFMON");
	else if (r == -ENOMEM)
		log_error("cannot load the BPF programs: not enough memory for their maps; a "
			  "smaller --memory-limit or --max-blocks needs less");
	else
		log_error("cannot load the BPF programs: %s; MEMTRACED_DEBUG_BPF=1 shows the "
			  "kernel's own words",
			  strerror(-r));
}

/* Where the library counts a command, what probes lack is in the report alone. */
static void log_limits(const struct live *live, bool by_library)
{
	_cleanup_strbuf_ struct strbuf lacks = {};
	struct utsname uts;

	if (*live_kernel_lacks(live, !by_library, &lacks) && uname(&uts) == 0)
		log_info("Linux %s: %s", uts.release, strbuf_str(&lacks));
}

static int probe_features(const struct options *options, struct features **ret_features)
{
	int r = features_new(options->attach != ATTACH_AUTO, ret_features);

	if (r)
		log_error("cannot probe the kernel's features: %s", strerror(-r));
	return r;
}

/* 0 or negative errno (logged). */
static int rule_of(const struct options *options, struct target_rule *ret_rule)
{
	int r = options->uid ? identity_uid(options->uid, &ret_rule->uid) : 0;

	if (r == -ENODATA)
		log_error("--uid: no such user: %s", options->uid);
	else if (r)
		log_error("--uid %s: %s", options->uid, strerror(-r));
	ret_rule->scope = options->cgroup		? ABI_SCOPE_CGROUP :
			  options_trace_widely(options) ? ABI_SCOPE_HOST :
							  ABI_SCOPE_PROCESSES;
	ret_rule->of_uid = options->uid;
	ret_rule->names = options->names;
	return r;
}

/* What follows processes is at tracepoints, whatever is traced. 0 or negative errno (logged). */
static int check_tracefs(void)
{
	_cleanup_close_ int fd = tracefs_open();

	if (fd >= 0)
		return 0;
	log_error("tracefs is not mounted, and mounting it failed: %s; mount it with "
		  "'mount -t tracefs tracefs /sys/kernel/tracing'",
		  strerror(-fd));
	return fd;
}

/* Of an interval that follows what comes. */
#define ADOPTED_FAULTS 1000U

/*
 * Processes of a host are found by their page faults, if these are sampled, and else by mapping
 * anything: as much at once as one sample stands for makes one known as well.
 */
static uint64_t adopt_bytes(const struct options *options)
{
	for (size_t i = 0; i < options->n_events; i++)
		if (options->events[i].kind == EVENT_FAULTS)
			return (options->events[i].period ? options->events[i].period :
							    ADOPTED_FAULTS) *
			       (uint64_t)sysconf(_SC_PAGESIZE);
	return 1;
}

/*
 * Do only samples use what is mapped, so that the system calls by which it is need no tracepoints?
 * Of allocations it is told by the dynamic linker, too; jobs' have nothing but themselves, and who
 * is followed from its birth is better told of its libraries by tracepoints, each at once.
 */
static bool samples_alone(const struct options *options)
{
	if (options_trace_allocations(options))
		return options->sample_bytes > 0;
	if (options->mappings || !options->no_follow || options->syscalls || options->n_hists ||
	    tracing_holds(options))
		return false;
	for (size_t i = 0; i < options->n_events; i++)
		if (options->events[i].kind != EVENT_FAULTS &&
		    options->events[i].kind != EVENT_SAMPLE)
			return false;
	return options->n_events > 0;
}

static int choose_room(const struct options *options, struct map_room *ret_room)
{
	struct map_room_opts opts = {
		.memory_limit = options->memory_limit,
		.max_blocks = options->max_blocks,
		.host_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE),
		.free_stacks = options->free_stacks,
		.without_table = old_kernel(),
	};
	uint64_t rss;

	for (size_t i = 0; i < options->n_pids && options->existing_stop_ns; i++)
		if (statm_rss(options->pids[i], &rss) == 0) /* else it is gone */
			opts.held_bytes += rss;
	return map_room_choose(&opts, ret_room);
}

/* What follows from the options alone. */
static struct live_opts live_opts_of(const struct options *options)
{
	return (struct live_opts){
		.run = {
			.allocations = options_trace_allocations(options),
			.code = tracing_needs_code(options),
			.watch_code = samples_alone(options),
			.mappings = options->mappings,
			.adopt_bytes = options->mappings ? adopt_bytes(options) : 0,
			.many_stacks =
				options->mappings || options->n_events > 0 || options->stacks,
			.access = options->access,
			.follow = !options->no_follow,
			.no_exec = options->no_exec,
			.max_stack = options->max_stack,
			.heap_errors = options->heap_errors,
			.free_stacks = options->free_stacks,
			.lifetimes = options_has_format(options, "dhat"),
			.sampled = options->sample_bytes > 0,
			.both = options->max_overhead > 0,
			.floor = options->floor,
			.checkpoints = options_check_leaks(options),
			.unwind = unwinds(options),
			.full_rows = interrupts_named(options),
			.check_stacks = options->check_stacks,
			.block_filter = options->block_filter,
		},
		.ask_ahead = symbol_file_ask,
		.allocators = options->allocators,
		.n_allocators = options->n_allocators,
		.exec_skip = { options->valgrind.skip_names, options->valgrind.skip_words },
		.held = tracing_holds(options),
		.growth_span_ns = options->growth_span_ns,
		.pss_every_ns = options->no_rss ? 0 : LIVE_PSS_EVERY_NS,
		.checkpoint_names = options->leak.at,
		.most_stacks = options->most_stacks,
		.forget_ended = options->forget_ended,
		.tool = "memtraced " MEMTRACED_VERSION,
	};
}

int tracing_new(const struct options *options, struct worker *worker, enum record_depth depth,
		const struct kept_books *books, struct features **ret_features,
		struct live **ret_live)
{
	_cleanup_(features_free_p) struct features *features = NULL;
	_cleanup_(live_free_p) struct live *live = NULL;
	_cleanup_strbuf_ struct strbuf error = {};
	_cleanup_close_ int cgroup_fd = options->cgroup ? open_cgroup(options->cgroup) : -1;
	struct live_opts opts = live_opts_of(options);
	int r = check_tracefs();

	opts.worker = worker;
	opts.cgroup_fd = cgroup_fd;
	opts.depth = depth;
	opts.book_library = books->library;
	opts.why_no_books = books->why_not;
	if (r == 0)
		r = rule_of(options, &opts.run.rule);
	if (r == 0)
		r = choose_room(options, &opts.run.room);
	if (r)
		return r;
	if (options->cgroup && cgroup_fd < 0)
		return cgroup_fd;
	if (tracing_needs_probes(options)) {
		r = probe_features(options, &features);
		if (r == 0)
			r = choose_path(options, features, &opts.run.path);
		if (r)
			return r;
		opts.features = features;
	}
	r = load_what_is_let_in(options, &opts, &error, &live);
	if (r) {
		log_load(r, &error);
		return r;
	}
	log_limits(live, books->library != NULL);
	*ret_features = TAKE_PTR(features);
	*ret_live = TAKE_PTR(live);
	return 0;
}
