/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/programs.h"

#include "bpf/abi_heap_error.h"
#include "bpf/abi_result.h"
#include "bpf/abi_sample.h"
#include "bpf/abi_stack_copy.h"
#include "memtraced.skel.h"
#include "trace/bpf/bpf_link.h"
#include "trace/bpf/first_uprobe.h"
#include "trace/bpf/kernel_types.h"
#include "trace/bpf/large_maps.h"
#include "trace/bpf/link_home.h"
#include "trace/bpf/map_memory.h"
#include "trace/bpf/program_choice.h"
#include "trace/bpf/program_loader.h"
#include "trace/kernel/boot_facts.h"
#include "trace/kernel/feature.h"
#include "trace/kernel/kernel_btf.h"
#include "trace/kernel/preemption.h"
#include "trace/kernel/tracefs.h"
#include "trace/kernel/urgent.h"
#include "trace/unwind/unwind_objects.h"
#include "trace/unwind/unwind_spaces.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Below it the table of blocks is one bucket: a few long buckets would spill too unevenly. */
#define MIN_TABLE_BLOCKS (32U << 10)
/* --heap-errors: threads whose marks are kept. */
#define MARKED_THREADS (64U << 10)
#define STACKS_OF_MAPPINGS (128U << 10)
#define RING_BYTES (8U << 20)
/* Copies of stacks are up to 130 KiB. */
#define RING_BYTES_FOR_COPIES (64U << 20)

const char *attach_path_name(enum attach_path path)
{
	static const char *const names[ATTACH_PATHS] = {
		[ATTACH_PATH_SESSION] = "session",
		[ATTACH_PATH_MULTI] = "multi",
		[ATTACH_PATH_PERF] = "perf",
		[ATTACH_PATH_EXIT] = "exit",
	};

	return names[path];
}

/* libbpf's own messages, the verifier's log among them, are for debugging the programs. */
static int libbpf_print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (level == LIBBPF_DEBUG || !programs_are_debugged())
		return 0;
	return vfprintf(stderr, fmt, ap);
}

/*
 * Kernels before 5.11 charge BPF memory to RLIMIT_MEMLOCK. Later ones do not, so a limit that
 * cannot be raised is no error here; where it matters the load fails with EPERM.
 */
static void raise_memlock(void)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };

	(void)setrlimit(RLIMIT_MEMLOCK, &unlimited);
}

struct block_room {
	uint32_t buckets;
	uint32_t spilled; /* entries of the map beside them */
};

/*
 * Room for n blocks. With a bucket for eight of them, a fifth of n finds its bucket of seven full
 * when n are there (Poisson distribution), and a quarter has room in the map. The table is the
 * cheaper half: 64 MB of it take 15 ms to make, the buckets of a map for 2 M blocks 30 ms.
 */
static struct block_room block_room(uint32_t n)
{
	if (n >= MIN_TABLE_BLOCKS)
		return (struct block_room){ n / 8, n / 4 };
	return (struct block_room){ 1, n > ABI_BLOCK_WAYS ? n - ABI_BLOCK_WAYS : 1 };
}

/*
 * Where what counts calls waits, stacks are those of mappings and signals. Room for a million takes
 * 12 ms to make, for these 1.5.
 */
static uint32_t first_stacks(const struct programs_opts *opts, uint32_t room)
{
	return opts->calls_later && !opts->run.many_stacks && room > STACKS_OF_MAPPINGS ?
		       STACKS_OF_MAPPINGS :
		       room;
}

/* What stands for atomic operations and cookies on old kernels. */
static int choose_maps(struct memtraced_bpf *skel, bool old, bool tables)
{
	struct bpf_map *list[PROGRAMS_TABLES];
	int r = bpf_map__set_autocreate(skel->maps.cookies, old);

	if (r == 0)
		r = bpf_map__set_autocreate(skel->maps.stub_programs, old);
	if (r == 0)
		r = bpf_map__set_autocreate(skel->maps.slot_claims, old);
	programs_tables(skel, list);
	for (size_t i = 0; i < PROGRAMS_TABLES && r == 0; i++)
		r = bpf_map__set_autocreate(list[i], tables);
	return r;
}

static int set_map_sizes(const struct programs *p, const struct block_room *room,
			 const struct programs_opts *opts)
{
	struct memtraced_bpf *skel = p->skel;
	bool allocations = opts->run.allocations;
	const struct {
		struct bpf_map *map;
		uint32_t entries;
	} sizes[] = {
		{ skel->maps.ring, opts->run.check_stacks ? RING_BYTES_FOR_COPIES : RING_BYTES },
		{ skel->maps.copy_buffers, opts->run.check_stacks ? ABI_COPY_BUFFERS : 1 },
		{ skel->maps.procs, opts->max_procs },
		{ skel->maps.rooms, opts->max_procs },
		{ skel->maps.slot_claims, opts->max_procs },
		{ skel->maps.free_slots, opts->max_procs },
		{ skel->maps.block_buckets, room->buckets },
		{ skel->maps.block_marks, 1 + room->buckets / ABI_BUCKETS_A_MARK },
		{ skel->maps.blocks, room->spilled },
		{ skel->maps.sites, skel->rodata->knob_site_room },
		{ skel->maps.stacks, first_stacks(opts, p->stack_room) },
		{ skel->maps.tombs, allocations ? opts->run.room.tombs : 1 },
		{ skel->maps.shed, allocations ? opts->run.room.tombs : 1 },
		{ skel->maps.freed_blocks, opts->run.heap_errors ? ABI_FREED_BLOCKS : 1 },
		{ skel->maps.births, opts->run.free_stacks ? opts->run.room.blocks : 1 },
		{ skel->maps.free_pairs, opts->run.free_stacks ? opts->run.room.pairs : 1 },
		{ skel->maps.marks, programs_know_forms(opts) ? MARKED_THREADS : 1 },
		{ skel->maps.further_heap_errors, allocations ? opts->max_procs : 1 },
		{ skel->maps.sample_specs, opts->run.sampled ? ABI_SAMPLE_SPECS : 1 },
		{ skel->maps.result_sites, allocations ? ABI_RESULT_SITES : 1 },
		{ skel->maps.unwind_rows, !opts->run.unwind   ? 1 :
					  opts->run.full_rows ? ABI_UNWIND_CHUNK_ROWS :
								UNWIND_FIRST_ROWS },
		{ skel->maps.unwind_rules, opts->run.unwind ? ABI_UNWIND_RULES : 1 },
		{ skel->maps.unwind_objects, opts->run.unwind ? ABI_UNWIND_OBJECTS : 1 },
		{ skel->maps.unwind_mappings, opts->run.unwind ? UNWIND_MAPPINGS : 1 },
		{ skel->maps.unwind_spaces, opts->run.unwind ? opts->max_procs : 1 },
		{ skel->maps.unwind_sorted, opts->run.unwind ? opts->max_procs : 1 },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int r = bpf_map__set_max_entries(sizes[i].map, sizes[i].entries);

		if (r)
			return r;
	}
	return bpf_map__set_map_flags(skel->maps.procs, BPF_F_MMAPABLE);
}

static void set_rule(struct memtraced_bpf *skel, const struct target_rule *rule)
{
	skel->rodata->knob_scope = rule->scope;
	skel->rodata->knob_self = getpid();
	skel->rodata->knob_of_uid = rule->of_uid;
	skel->rodata->knob_uid = rule->uid;
	skel->rodata->knob_of_name = rule->names;
	if (rule->names)
		skel->rodata->knob_names = *rule->names;
}

static int map_arrays(struct programs *p)
{
	int r = map_memory(p->skel->maps.procs, (void **)&p->procs, &p->procs_len);

	if (r == 0)
		r = map_memory(p->skel->maps.rooms, (void **)&p->rooms, &p->rooms_len);
	if (r == 0 && p->has_tables)
		r = map_memory(p->skel->maps.site_table, (void **)&p->sites, &p->sites_len);
	return r;
}

static void set_knobs(struct programs *p, const struct programs_opts *opts,
		      const struct block_room *room)
{
	struct memtraced_bpf *skel = p->skel;

	skel->rodata->knob_block_filter = opts->run.block_filter;
	skel->rodata->knob_max_stack = opts->run.max_stack;
	skel->rodata->knob_floor = opts->run.floor;
	skel->rodata->knob_check_stacks = opts->run.check_stacks;
	skel->rodata->knob_hold_cpu = p->kernel_calls[0].btf_id != 0;
	skel->rodata->knob_find_vma = opts->find_vma;
	skel->rodata->knob_follow = opts->run.follow;
	skel->rodata->knob_no_exec = opts->run.no_exec;
	skel->rodata->knob_page_size = (__u32)sysconf(_SC_PAGESIZE);
	skel->rodata->knob_whole_life = opts->whole_life;
	skel->rodata->knob_heap_errors = opts->run.heap_errors;
	skel->rodata->knob_free_stacks = opts->run.free_stacks;
	skel->rodata->knob_lifetimes = opts->run.lifetimes;
	skel->rodata->knob_forms = programs_know_forms(opts);
	skel->rodata->knob_max_procs = opts->max_procs;
	skel->rodata->knob_sampled = opts->run.sampled;
	skel->rodata->knob_sample_room = opts->run.room.samples;
	p->stack_room = opts->run.allocations || opts->run.code ? opts->run.room.sites : 1;
	skel->rodata->knob_site_room = opts->run.allocations ? opts->run.room.sites : 1;
	skel->rodata->knob_spill_room = room->spilled;
	/* What an allocator maps is told by its calls in flight, which sampling does not see. */
	skel->rodata->knob_regions = opts->run.mappings || (opts->run.allocations &&
							    (!opts->run.sampled || opts->run.both));
	skel->rodata->knob_all_regions = opts->run.mappings;
	skel->rodata->knob_signals = programs_signals_by_mmap(opts);
	skel->rodata->knob_adopt_bytes = opts->run.adopt_bytes;
	skel->rodata->knob_adopt_scope = opts->adopt_scope;
	skel->rodata->knob_unwind = opts->run.unwind;
	if (opts->book_args)
		memcpy(skel->rodata->knob_book_args, opts->book_args,
		       sizeof(skel->rodata->knob_book_args));
	set_rule(skel, &opts->run.rule);
	skel->rodata->knob_access = opts->run.access;
	skel->rodata->knob_block_buckets = room->buckets;
}

static int load(struct programs *p, const struct programs_opts *opts)
{
	_cleanup_(program_loader_free_p) struct program_loader *loader = NULL;
	const uint32_t blocks = opts->run.allocations ? opts->run.room.blocks : 1;
	const bool old = old_kernel();
	_cleanup_close_ int model_fd = -1;
	struct memtraced_bpf *skel;
	struct block_room room;
	int r = programs_loader_new(p, &loader);

	if (r)
		return r;
	skel = programs_open_object(p);
	if (!skel)
		return -errno;
	/* In the old build all are in the map, of which one process has three quarters at most. */
	room = old ? (struct block_room){ 1, blocks + blocks / ABI_ROOM_TIMES } :
		     block_room(blocks);
	p->skel = skel;
	p->has_tables = opts->run.allocations && !opts->calls_later;
	set_knobs(p, opts, &room);
	program_choice(skel, opts);
	r = set_map_sizes(p, &room, opts);
	if (r == 0)
		r = choose_maps(skel, old, p->has_tables);
	if (r == 0)
		r = model_fd = unwind_objects_model(skel);
	if (r < 0)
		return r;
	r = large_maps_make(skel->obj);
	if (r == 0 && opts->calls_later && !programs_are_debugged())
		program_loader_put_off(loader, skel->progs.on_exit_mmap);
	if (r == 0)
		r = programs_load_object(loader, skel);
	if (r)
		return r;
	if (opts->calls_later)
		p->loader = TAKE_PTR(loader);
	if (old) {
		p->stubs.cookies_fd = bpf_map__fd(skel->maps.cookies);
		p->stubs.programs_fd = bpf_map__fd(skel->maps.stub_programs);
	}
	p->control = &skel->data_control->control;
	programs_note_stack_room(p);
	p->next_slot = &skel->data_slots->next_slot;
	p->room_of_all = &skel->data_room->room_of_all;
	p->traits = skel->data_traits->function_traits;
	p->result_check = &skel->data_results->result_check;
	programs_want_samples(p, opts->run.sampled && !opts->run.both);
	return map_arrays(p);
}

bool programs_walk_waits(const struct programs *programs)
{
	return programs->loader;
}

int programs_await_walk(struct programs *programs)
{
	int r = programs->loader ? program_loader_await(programs->loader) : 0;

	program_loader_free(TAKE_PTR(programs->loader));
	return r;
}

/* Rules are of x86-64 alone so far. */
static bool can_unwind(void)
{
#ifdef __x86_64__
	return true;
#else
	return false;
#endif
}

bool programs_has_samples(const struct programs *programs, uint32_t slot)
{
	return programs->procs[slot].sample_interval & ABI_SAMPLE_IMAGE;
}

void programs_want_samples(struct programs *programs, bool samples)
{
	__atomic_store_n(&programs->control->samples, samples, __ATOMIC_RELEASE);
}

void programs_set_samples(struct programs *programs, uint32_t slot, bool samples)
{
	programs->procs[slot].least_sample = 0;
	__atomic_store_n(&programs->procs[slot].sample_interval, samples ? ABI_SAMPLE_IMAGE : 0,
			 __ATOMIC_RELEASE);
}

void programs_double_interval(struct programs *programs, uint32_t doublings)
{
	__atomic_store_n(&programs->control->doublings, doublings, __ATOMIC_RELEASE);
}

void programs_watch_code(struct programs *programs, bool watch)
{
	__atomic_store_n(&programs->control->watch_code, watch, __ATOMIC_RELEASE);
}

static int load_perf(struct programs *p, const struct programs_opts *opts)
{
	_cleanup_(program_loader_free_p) struct program_loader *loader = NULL;
	const int prog_fd = bpf_program__fd(p->skel->progs.on_any_raw);
	const bool maps = opts->run.allocations || opts->run.code,
		   calls = programs_trace_calls(opts);
	struct preemption preempted;
	bool signals;
	int r;

	preemption_find(prog_fd, p->control, &preempted);
	p->raw_preempted = preempted.raw;
	p->syscalls_preempted = preempted.syscalls;
	if (!p->raw_preempted && !(p->syscalls_preempted && calls))
		return 0;
	signals = programs_signals_by_mmap(opts) ? p->syscalls_preempted : p->raw_preempted;
	r = programs_loader_new(p, &loader);
	if (r == 0)
		r = programs_open_again(p, &p->perf);
	if (r)
		return r;
	program_choice_perf(p->perf, opts, p->raw_preempted, signals && maps,
			    p->syscalls_preempted && calls);
	return programs_load_object(loader, p->perf);
}

/* The walk by frame pointers alone asks for them. */
static void find_kernel_calls(struct programs *p)
{
	struct hold_functions found;

	if (hold_functions_find(&found))
		return; /* as on kernels that have none */
	p->kernel_calls[0] = (struct kernel_call){ ABI_CALL_HOLD_CPU, found.disable };
	p->kernel_calls[1] = (struct kernel_call){ ABI_CALL_RELEASE_CPU, found.enable };
}

/*
 * Have these programs been let in since the boot? What the verifier refuses must show when a run
 * begins, as then it goes on without (load_what_is_let_in() in service/session/tracing.c).
 */
static const char *calls_fact(const struct programs_opts *opts)
{
	return opts->run.unwind ? "calls-cfi" : "calls-fp";
}

bool programs_tests_load_late(void)
{
	const char *told = getenv("MEMTRACED_TEST_CALLS");

	return told && strcmp(told, "later") == 0;
}

static bool calls_are_let_in(const struct programs_opts *opts)
{
	uint32_t fact;

	return programs_tests_load_late() ||
	       boot_facts_get(NULL, calls_fact(opts), &fact, sizeof(fact)) == 0;
}

static void note_calls_let_in(const struct programs_opts *opts)
{
	const uint32_t fact = 1;

	/* Else they are loaded at once the next time, too. */
	(void)boot_facts_put(NULL, calls_fact(opts), &fact, sizeof(fact));
}

static int new_programs(const struct programs_opts *opts, struct programs **ret_programs)
{
	_cleanup_(programs_free_p) struct programs *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->link_home = p->types_fd = p->result_fd = p->exit_link = p->first_stacks_fd = -1;
	if (opts->run.unwind && !can_unwind())
		return -EOPNOTSUPP;
	if (opts->run.unwind && feature_left_out(FEATURE_UNWIND_CFI))
		return -EACCES; /* what a verifier says that cannot follow the walk */
	p->link_home = link_home_open();
	p->types_fd = kernel_types_open("memtraced");
	p->path = opts->run.path;
	p->calls_wait = opts->calls_later;
	p->max_procs = opts->max_procs;
	p->access = opts->run.access;
	p->unwind = opts->run.unwind;
	p->check_stacks = opts->run.check_stacks;
	libbpf_set_print(libbpf_print);
	raise_memlock();
	if (opts->hold_cpu && !opts->run.unwind)
		find_kernel_calls(p);
	r = load(p, opts);
	if (r)
		return r;
	p->session_fd = programs_loaded_fd(p->skel->progs.on_session);
	p->entry_fd = programs_loaded_fd(p->skel->progs.on_entry);
	p->return_fd = programs_loaded_fd(p->skel->progs.on_return);
	p->checkpoint_fd = programs_loaded_fd(p->skel->progs.on_checkpoint);
	p->mark_fd = programs_loaded_fd(p->skel->progs.on_mark);
	p->sample_fd = programs_loaded_fd(p->skel->progs.on_sample);
	p->loader_fd = programs_loaded_fd(p->skel->progs.on_loader);
	p->book_fd = programs_loaded_fd(p->skel->progs.on_book);
	p->entry_type = bpf_program__expected_attach_type(p->skel->progs.on_entry);
	r = load_perf(p, opts);
	if (r)
		return r;
	*ret_programs = TAKE_PTR(p);
	return 0;
}

int programs_new(const struct programs_opts *opts, struct programs **ret_programs)
{
	struct programs_opts now = *opts;
	int r;

	now.calls_later = opts->calls_later && calls_are_let_in(opts);
	r = new_programs(&now, ret_programs);
	if (r == 0 && opts->calls_later && !now.calls_later)
		note_calls_let_in(opts);
	return r;
}

int programs_link_perf(struct programs *programs, int prog_fd, const char *path,
		       const struct uprobe_site *site, bool at_return, pid_t pid)
{
	struct uprobe_site bare = { .offset = site->offset,
				    .semaphore_offset = site->semaphore_offset };
	_cleanup_close_ int stub_fd = -1;

	if (programs->stubs.cookies_fd == 0)
		return link_perf_uprobe(prog_fd, path, site, at_return, pid);
	stub_fd = probe_stub_load(&programs->stubs, prog_fd, site->cookie);
	return stub_fd < 0 ? stub_fd : link_perf_uprobe(stub_fd, path, &bare, at_return, pid);
}

void programs_free(struct programs *programs)
{
	if (!programs)
		return;
	if (programs->procs)
		munmap(programs->procs, programs->procs_len);
	if (programs->rooms)
		munmap(programs->rooms, programs->rooms_len);
	if (programs->sites)
		munmap(programs->sites, programs->sites_len);
	first_uprobe_free(programs->first_uprobe);
	program_loader_free(programs->loader);
	memtraced_bpf__destroy(programs->late);
	memtraced_bpf__destroy(programs->late_result);
	memtraced_bpf__destroy(programs->perf);
	memtraced_bpf__destroy(programs->calls);
	memtraced_bpf__destroy(programs->skel);
	if (programs->exit_link >= 0)
		close(programs->exit_link);
	if (programs->first_stacks_fd >= 0)
		close(programs->first_stacks_fd);
	if (programs->link_home >= 0)
		close(programs->link_home);
	if (programs->types_fd >= 0)
		close(programs->types_fd);
	free(programs);
}

static int read_counters(const struct programs *programs, uint32_t from, uint32_t to, uint64_t *ret)
{
	int cpus = libbpf_num_possible_cpus(), fd = bpf_map__fd(programs->skel->maps.counters);
	_cleanup_free_ uint64_t *values = cpus < 0 ? NULL : calloc(cpus, sizeof(*values));
	_urgent_; /* once for all: to begin and to end it are four system calls */

	if (cpus < 0)
		return cpus;
	if (!values)
		return -ENOMEM;
	for (uint32_t i = from; i < to; i++) {
		int r = bpf_map_lookup_elem(fd, &i, values);

		if (r)
			return r;
		ret[i - from] = 0;
		for (int cpu = 0; cpu < cpus; cpu++)
			ret[i - from] += values[cpu];
		/* What another CPU has taken back was read, what it took back was not. */
		if ((int64_t)ret[i - from] < 0)
			ret[i - from] = 0;
	}
	return 0;
}

int programs_losses(const struct programs *programs, uint64_t ret_losses[ABI_LOSSES])
{
	return read_counters(programs, 0, ABI_LOSSES, ret_losses);
}

int programs_refused(const struct programs *programs, uint64_t *ret_events)
{
	return read_counters(programs, ABI_LOST_RING_FULL, ABI_LOST_RING_FULL + 1, ret_events);
}

int programs_events(const struct programs *programs, uint64_t *ret_events)
{
	return read_counters(programs, ABI_EVENTS, ABI_EVENTS + 1, ret_events);
}

int programs_sampled_allocs(const struct programs *programs, uint64_t *ret_parts)
{
	return read_counters(programs, ABI_SAMPLED_ALLOCS, ABI_SAMPLED_ALLOCS + 1, ret_parts);
}

uint64_t program_missed(const struct bpf_program *program)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len))
		return 0;
	return info.recursion_misses;
}

static uint64_t object_missed(const struct memtraced_bpf *skel)
{
	struct bpf_program *program;
	uint64_t sum = 0;

	if (!skel)
		return 0;
	bpf_object__for_each_program(program, skel->obj)
	{
		uint64_t missed = bpf_program__autoload(program) ? program_missed(program) : 0;

		sum += missed;
		if (missed && programs_are_debugged())
			fprintf(stderr, "%s: not run %" PRIu64 " times\n",
				bpf_program__name(program), missed);
	}
	return sum;
}

uint64_t programs_missed(const struct programs *programs)
{
	return object_missed(programs->skel) + object_missed(programs->late) +
	       object_missed(programs->late_result) + object_missed(programs->perf) +
	       object_missed(programs->calls);
}
