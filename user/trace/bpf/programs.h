/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The BPF object: knobs and map sizes set, loaded, maps at hand. Which programs are loaded depends
 * on the attach path.
 */
#ifndef MEMTRACED_TRACE_BPF_PROGRAMS_H
#define MEMTRACED_TRACE_BPF_PROGRAMS_H

#include "base/cleanup.h"
#include "bpf/abi.h"
#include "trace/bpf/map_room.h"
#include "trace/bpf/program_loader.h"
#include "trace/kernel/old_kernel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Which processes are counted beside those that user space names: bpf/wanted.bpf.h. */
struct target_rule {
	enum abi_scope scope; /* ABI_SCOPE_PROCESSES: none, but the rest holds for those named */
	bool of_uid;
	uid_t uid;		       /* real, where of_uid */
	const struct abi_names *names; /* borrowed; NULL: of all names */
};

/* How probes are attached; see HACKING.md. Order: best first. */
enum attach_path {
	ATTACH_PATH_SESSION, /* one uprobe-multi session link: entry and return in one program */
	ATTACH_PATH_MULTI,   /* uprobe-multi links, one for entries, one for returns */
	ATTACH_PATH_PERF,    /* perf-event uprobes and return probes */
	ATTACH_PATH_EXIT,    /* entries and exit sites, no return probe at all */
	ATTACH_PATHS
};

/* "session", "multi", "perf", "exit". */
const char *attach_path_name(enum attach_path path);

struct programs_opts {
	enum attach_path path;
	bool exit_by_multi; /* ATTACH_PATH_EXIT: by uprobe-multi links, else by perf events */
	bool hold_cpu;	    /* FEATURE_HOLD_CPU */
	bool find_vma;	    /* FEATURE_FIND_VMA */
	bool follow;
	bool whole_life;  /* no allocation of a process is before its tracing */
	bool heap_errors; /* where blocks are freed is remembered */
	bool free_stacks; /* and counted by site */
	uint32_t max_procs;
	struct map_room room;
	uint64_t min_size, max_size;
	uint32_t max_stack; /* callers kept of a stack */
	uint32_t check_stacks;
	bool allocations; /* else only what jobs need: */
	bool sampled;	  /* those that processes show: bpf/abi_sample.h */
	bool both;	  /* with `sampled`: calls as well, each image is of one kind */
	bool code;	  /* mappings of executable files are reported, */
	/*
	 * Or that they have changed, by samples and, with `sampled`, by what dynamic linkers call
	 * (on_loader): tracepoints of system calls cost all processes. For what these cannot tell
	 * of they are loaded as well, if `sampled`: programs_attach_calls().
	 */
	bool watch_code;
	/*
	 * All anonymous mappings are, and what brk moves; not with `allocations`. Who has no slot
	 * gets one by a mapping of so many bytes, if it is of this scope; 0: it gets none.
	 */
	bool mappings;
	uint64_t adopt_bytes;
	enum abi_scope adopt_scope;
	bool floor;	  /* empty programs in the probes: nothing is counted */
	bool checkpoints; /* on_checkpoint is wanted */
	bool unwind;	  /* user stacks by call frame information: trace/unwind/unwind_tables.h */
	struct target_rule rule;
};

struct first_uprobe;
struct programs {
	struct memtraced_bpf *skel;
	struct memtraced_bpf *late;  /* for programs_entry_fd; NULL: not needed so far */
	struct memtraced_bpf *perf;  /* what stands for preempted programs; NULL: none are */
	struct abi_control *control; /* shared with the programs */
	struct abi_proc *procs;	     /* by slot; shared with the programs */
	struct abi_room *rooms;	     /* by slot; shared with the programs, as is: */
	struct abi_room *room_of_all;
	struct abi_site_entry *sites; /* ABI_SITE_ENTRIES of them */
	uint32_t *next_slot;	      /* shared with the programs */
	uint8_t *traits;	      /* ABI_TRAITS, by function id; shared with the programs */
	uint32_t max_procs;
	uint32_t stack_room; /* entries of the map of stacks */
	bool unwind;	     /* as in struct programs_opts */
	bool watch_code;     /* the same */
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
	struct kernel_call kernel_calls[2]; /* bpf_preempt_disable() and _enable(), or 0 */
	struct probe_stubs stubs;
	int entry_type;	   /* LINK_TYPE_UPROBE_MULTI, 0: for perf events */
	int return_fd;	   /* -1: not loaded */
	int checkpoint_fd; /* -1: not loaded */
	int mark_fd;	   /* on_mark; -1: not loaded */
	int sample_fd;	   /* on_sample; -1: not loaded */
	int loader_fd;	   /* on_loader; -1: not loaded */
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
/* Does no tracepoint tell of mappings now, so that programs look for changes? */
void programs_watch_code(struct programs *programs, bool watch);
/* The same of one that user space makes, or that nothing has been counted of. */
void programs_set_samples(struct programs *programs, uint32_t slot, bool samples);

/*
 * The program for entries and exit sites, loaded when it is first asked for: half of what loading
 * takes, and of no use to programs without operator new. Negative errno when it cannot be loaded.
 */
int programs_entry_fd(struct programs *programs);

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
/* The same of the system calls by which they map memory; of those that are loaded. */
int programs_attach_calls(const struct programs *programs, int fds[PROGRAMS_MAX_TRACEPOINTS],
			  size_t *ret_n);

/* Sum over CPUs of a loss counter. */
int programs_losses(const struct programs *programs, uint64_t ret_losses[ABI_LOSSES]);

/* Calls of allocator functions seen so far; for people, not exact. */
int programs_events(const struct programs *programs, uint64_t *ret_events);

/* What the kernel counted of a program's runs that it left out (Linux 5.12); 0: not known. */
struct bpf_program;
uint64_t program_missed(const struct bpf_program *program);
/* The sum over all programs of these objects. */
uint64_t programs_missed(const struct programs *programs);

#endif
