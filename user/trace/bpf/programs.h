/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The BPF object: knobs and map sizes set, loaded, maps at hand. Which programs are loaded depends
 * on the attach path.
 */
#ifndef MEMTRACED_TRACE_BPF_PROGRAMS_H
#define MEMTRACED_TRACE_BPF_PROGRAMS_H

#include "base/cleanup.h"
#include "bpf/abi.h"
#include "trace/bpf/program_loader.h"
#include "trace/bpf/programs_opts.h"
#include "trace/kernel/old_kernel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bpf_map;
struct bpf_program;
struct first_uprobe;
struct memtraced_bpf;
struct programs {
	struct memtraced_bpf *skel;
	struct memtraced_bpf *late;	   /* for programs_entry_fd; NULL: not needed so far */
	struct memtraced_bpf *late_result; /* the same for programs_result_fd */
	struct memtraced_bpf *perf;	   /* what stands for preempted programs; NULL: none are */
	struct memtraced_bpf *calls;	   /* for programs_load_calls; NULL: not needed so far */
	struct program_loader *loader;	   /* on_exit_mmap is in it: programs_await_walk */
	struct abi_result_check *result_check; /* likewise */
	struct abi_control *control;	       /* shared with the programs */
	struct abi_proc *procs;		       /* by slot; shared with the programs */
	struct abi_room *rooms;		       /* by slot; shared with the programs, as is: */
	struct abi_room *room_of_all;
	struct abi_site_entry *sites; /* ABI_SITE_ENTRIES of them; NULL: there are no tables */
	uint32_t *next_slot;	      /* shared with the programs */
	uint8_t *traits;	      /* ABI_TRAITS, by function id; shared with the programs */
	enum attach_path path;
	bool has_tables; /* of blocks and sites: programs_tables() */
	bool calls_wait; /* what counts calls is not loaded so far; what came of it: */
	int calls_error;
	int exit_link; /* its on_exit; -1: it is one of programs_attach_tracepoints() */
	struct abi_access access;
	uint32_t max_procs;
	uint32_t stack_room; /* entries of the map of stacks, once calls are counted */
	int first_stacks_fd; /* that of programs before programs_load_calls(); -1: it is the same */
	bool unwind;	     /* as in struct run_opts */
	uint32_t check_stacks;
	size_t procs_len, rooms_len, sites_len;
	/* kernel/preemption.h: raw tracepoints are; those of system calls, raw or of single ones */
	bool raw_preempted, syscalls_preempted;
	/* SIGKILLs and OOM kills are not seen; nor is whose limit the OOM killer acts for */
	bool deaths_unseen, oom_limit_unseen;
	struct first_uprobe *first_uprobe; /* NULL: nothing waits for the probes to come */
	int link_home;	/* where links are kept beside their descriptors: trace/bpf/link_home.h */
	int types_fd;	/* kernel_types.h; negative: not kept */
	int session_fd; /* -1: not loaded */
	int entry_fd;	/* see programs_entry_fd */
	int result_fd;	/* see programs_result_fd */
	struct kernel_call kernel_calls[2]; /* bpf_preempt_disable() and _enable(), or 0 */
	struct probe_stubs stubs;
	int entry_type;	   /* LINK_TYPE_UPROBE_MULTI, 0: for perf events */
	int return_fd;	   /* -1: not loaded */
	int checkpoint_fd; /* -1: not loaded */
	int mark_fd;	   /* on_mark; -1: not loaded */
	int sample_fd;	   /* on_sample; -1: not loaded */
	int loader_fd;	   /* on_loader; -1: not loaded */
	int book_fd;	   /* on_book; -1: not loaded */
};

/*
 * Loads everything. 0 or negative errno; -EPERM without the rights. With `unwind` -EOPNOTSUPP where
 * that is not possible, or what the kernel answers: frame pointers are left.
 */
int programs_new(const struct programs_opts *opts, struct programs **ret_programs);
/* Unloads; maps and programs go with it. NULL is legal. */
void programs_free(struct programs *programs);
DEFINE_CLEANUP(struct programs, programs_free)

/* Are the blocks of the slot's image samples? */
bool programs_has_samples(const struct programs *programs, uint32_t slot);
/* New images, of the programs' making, have samples from now on; or calls. */
void programs_want_samples(struct programs *programs, bool samples);
/* The same of one that user space makes, or that nothing has been counted of. */
void programs_set_samples(struct programs *programs, uint32_t slot, bool samples);
/* Of samples that come from now on one in 2^doublings is kept, and stands for the others. */
void programs_double_interval(struct programs *programs, uint32_t doublings);
/* No tracepoint tells of mappings from now on, programs look for changes; or one does again. */
void programs_watch_code(struct programs *programs, bool watch);

/*
 * What counts calls, and the tables that it counts in, where opts.calls_later has left them out.
 * Before the first process is probed: from then on its descriptors are here. 0 or negative errno,
 * the same each time.
 */
int programs_load_calls(struct programs *programs);
/* Of images that are over: room for other stacks. */
void programs_forget_stacks(const struct programs *programs, const uint64_t *ids, size_t n);
/* MEMTRACED_TEST_CALLS=later: it waits in any run that holds its processes. */
bool programs_tests_load_late(void);

/*
 * The program for entries and exit sites, loaded when it is first asked for: half of what loading
 * takes, and of no use to programs without operator new. Negative errno when it cannot be loaded.
 */
int programs_entry_fd(struct programs *programs);
/* The same for sites inside functions (probe/result_sites.h), which few sessions come to use. */
int programs_result_fd(struct programs *programs);

/*
 * A perf-event uprobe with the site's cookie, which on kernels before 5.15 a program of the probe's
 * own stands for. Arguments and result as of link_perf_uprobe().
 */
struct uprobe_site;
int programs_link_perf(struct programs *programs, int prog_fd, const char *path,
		       const struct uprobe_site *site, bool at_return, pid_t pid);

/*
 * trace/bpf/tracepoints.c: attaches what follows processes; descriptors in fds[], which the caller
 * closes, also of a part when it fails.
 */
#define PROGRAMS_MAX_TRACEPOINTS 16
int programs_attach_tracepoints(struct programs *programs, int fds[PROGRAMS_MAX_TRACEPOINTS],
				size_t *ret_n);
/*
 * What walks stacks, on_exit_mmap, is loaded beside the rest of the start where opts.calls_later
 * holds. Then it has to be waited for before it is attached: here, and by programs_attach_calls().
 */
bool programs_walk_waits(const struct programs *programs);
/* 0 or negative errno, for want of memory say. */
int programs_await_walk(struct programs *programs);
/* It also tells of signals: the descriptor, -1 where another program does. 0 or negative errno. */
int programs_attach_signals(const struct programs *programs, int *ret_fd);
/* The same of programs_load_calls() alone: its descriptor, or negative errno. */
int programs_attach_exit(const struct programs *programs);
/* The same of the system calls by which they map memory; of those that are loaded. */
int programs_attach_calls(const struct programs *programs, int fds[PROGRAMS_MAX_TRACEPOINTS],
			  size_t *ret_n);

/* Sum over CPUs of a loss counter. */
int programs_losses(const struct programs *programs, uint64_t ret_losses[ABI_LOSSES]);
/* Of these alone, ABI_LOST_RING_FULL: what is asked for at each drain. */
int programs_refused(const struct programs *programs, uint64_t *ret_events);

/* Calls of allocator functions seen so far; for people, not exact. */
int programs_events(const struct programs *programs, uint64_t *ret_events);
/* Allocations that samples have stood for so far, in parts (ABI_SAMPLE_BLOCK_SHIFT). The same. */
int programs_sampled_allocs(const struct programs *programs, uint64_t *ret_parts);

/* What the kernel counted of a program's runs that it left out (Linux 5.12); 0: not known. */
uint64_t program_missed(const struct bpf_program *program);
/* The sum over all programs of these objects. */
uint64_t programs_missed(const struct programs *programs);

/*
 * --- programs_object.c, for the files of this header alone. The BPF object is opened and loaded
 * when a run begins, and once more, with the maps of the first, for programs that come later.
 */

/* MEMTRACED_DEBUG_BPF */
bool programs_are_debugged(void);

/* Before the object is opened. 0 or negative errno. */
int programs_loader_new(const struct programs *programs, struct program_loader **ret_loader);
/* NULL: errno says why. */
struct memtraced_bpf *programs_open_object(const struct programs *programs);
/* Tells the programs how many entries the map of stacks has, once that is made. */
void programs_note_stack_room(const struct programs *programs);

/* Once more, with the maps that there are, and no program chosen. *ret_skel is the caller's. */
int programs_open_again(const struct programs *programs, struct memtraced_bpf **ret_skel);

/* When its programs are chosen. 0 or negative errno. */
int programs_load_object(struct program_loader *loader, struct memtraced_bpf *skel);

/* -1: it is not loaded. */
int programs_loaded_fd(const struct bpf_program *program);

/* The maps that only programs which count calls use, made with these. */
#define PROGRAMS_TABLES 7
void programs_tables(const struct memtraced_bpf *skel, struct bpf_map *ret_maps[PROGRAMS_TABLES]);

#endif
