/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of the live source: its state, shared by trace/live*.c alone.
 */
#ifndef MEMTRACED_TRACE_LIVE_PROCESS_H
#define MEMTRACED_TRACE_LIVE_PROCESS_H

#include "base/clock.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "bpf/abi_syscalls.h"
#include "bpf/abi_unwind.h"
#include "trace/live.h"
#include "trace/objects.h"
#include "trace/stack_check.h"

#include <bpf/libbpf.h>

/* Function ids of the mmap class; trace/objects.c numbers the others. */
#define FUNCTION_MMAP 1
#define FUNCTION_MREMAP 2

/* Losses that only user space can see; those of enum abi_loss come before. */
enum user_loss {
	LOSS_ATTACHED_LATE = ABI_LOSSES, /* code ran before its allocator was probed */
	LOSS_MAPPING,			 /* a mapping whose file could not be found out */
	LOSS_STATE,			 /* an event of a process that is not known */
	LOSS_NOT_RUN,			 /* a program was left out: another ran on that CPU */
	LOSS_FLOOR,			 /* everything: the programs were empty */
	LOSS_UNWIND_TABLES, /* no room for a file's rows or a process's mappings: stacks are cut */
	LOSS_SHARED_MEMORY, /* a child in its parent's memory that no link of the parent sees */
	LOSSES
};

/* Why a stack is not whole, beside enum abi_stack_cut. */
enum stack_cut {
	STACK_CUT_FRAME_POINTERS = ABI_CUTS, /* they ended where no stack is known to begin */
	STACK_CUT_LOST,			     /* it never came */
	STACK_CUTS
};

struct pending_unmap {
	uint32_t tid;
	uint64_t start, end;
};

struct code_range {
	uint64_t start, end, offset;
	struct object *object; /* NULL: not a file */
	bool vdso;
};

/* A process image: one slot. */
struct live_process {
	uint32_t slot;
	uint32_t parent_slot; /* ABI_NO_SLOT: not forked from a traced one */
	uint32_t prev_slot;   /* the image that exec replaced, RECORD_NO_SLOT */
	pid_t pid;
	bool root;
	bool placeholder; /* the child of -c before its exec: not reported */
	bool ended;
	bool settled;	    /* ended, and its last values handed over */
	bool purged;	    /* its entries in the maps are deleted */
	bool counts_read;   /* the same of the jobs: it had ended before the last cut, */
	bool counts_purged; /* and its entries are deleted */
	bool oom;
	uint32_t end_tick;
	char comm[16];
	VEC(struct code_range) code;
	/* Stacks with frames in memory that may be code (trace/live_code.c). */
	VEC(struct abi_ev_stack *) waiting;
	uint64_t read_code_after_ns; /* when the list of code may be read again */
	/* Range that a munmap or mremap in flight has taken out of the regions, by thread. */
	VEC(struct pending_unmap) pending;
	struct unwind_space *space; /* NULL: ended, or stacks are not unwound by tables */
};

/* Sums over the sites of processes. */
struct cut_coverage {
	uint64_t events, stacks_complete, stacks_guided;
	uint64_t cuts[STACK_CUTS]; /* truncated ones; [ABI_CUT_NONE] stays 0 */
};

/* --check-stacks: what came of the stacks so far. */
struct live_check {
	struct stack_check *check; /* NULL: not asked for */
	uint64_t results[CHECK_RESULTS];
	uint64_t truncated[STACK_CUTS]; /* by cause */
	unsigned int differences;	/* handed over in full */
};

struct live {
	struct source source;
	struct live_opts opts;
	struct programs *programs;
	struct custom_allocators *custom; /* functions that the user has named */
	struct objects *objects;
	struct unwind_tables *tables; /* NULL: stacks are walked by frame pointers */
	struct ring_buffer *ring;
	struct live_buffer *buffer;
	int tracepoints[PROGRAMS_MAX_TRACEPOINTS];
	size_t n_tracepoints;
	int tracefs_fd;			      /* for jobs; -1: there are none */
	VEC(struct job *) jobs;		      /* their index is their id */
	struct job *syscalls;		      /* that one of them; NULL: not asked for */
	bool kernel_stacks;		      /* a job takes them */
	VEC(struct live_process *) processes; /* by slot; NULL where a slot is unused */
	VEC(pid_t) marks;		      /* threads that wait for a drain */
	VEC(uint32_t) waiting;		      /* slots with waiting stacks, each once or more */
	struct hashmap *stacks;		      /* struct live_stack: which are complete */
	uint64_t losses[LOSSES - ABI_LOSSES];
	struct cut_coverage running, settled; /* of the last cut; of all settled processes */
	uint64_t start_ns;
	uint64_t settle_after_ns;
	size_t own_forks; /* children that got links of their own */
	bool run_described;
	struct live_check check;
	/* where records go during a drain */
	record_fn fn;
	void *userdata;
	int error; /* first failure inside a ring callback */
};

struct live_stack {
	uint64_t id;
	uint8_t cut;	     /* enum stack_cut or abi_stack_cut; ABI_CUT_NONE: complete */
	bool frame_pointers; /* followed for want of call frame information */
};

/* trace/live_source.c */
int live_emit(struct live *live, const struct record *record);
/* One event of the ring: what it fails with is kept in live->error. */
void live_on_event(struct live *live, const void *data);
struct live_process *live_process_at(const struct live *live, uint32_t slot);
void live_count_loss(struct live *live, struct live_process *process, enum user_loss cause);

/* trace/live_buffer.c: what comes while nobody drains */
int live_buffer_new(struct live_buffer **ret_buffer);
void live_buffer_free(struct live_buffer *buffer);
/* From the ring's callback. False: nothing is kept now, it is to be handled. */
bool live_buffer_add(struct live_buffer *buffer, const void *data, size_t size);
/* Events taken in since live_buffer_begin are handled, in their order. Only after its end. */
void live_buffer_drain(struct live *live);
/* The same as a drain of its own: what came during a cut. */
int live_after_cut(struct live *live);

/* trace/live_follow.c: life cycle and code */
int live_process_new(struct live *live, uint32_t slot, pid_t pid, struct live_process **ret);
void live_process_free(struct live_process *process);
/* Everything that is mapped now, as of time_ns; in_time: the process has run none of it yet. */
int live_map_process(struct live *live, struct live_process *process, uint64_t time_ns,
		     bool in_time);
int live_on_process_event(struct live *live, const struct abi_ev_process *ev);
int live_on_code(struct live *live, const struct abi_ev_map *ev);
int live_activate(struct live *live, struct live_process *process, uint32_t owner);
/* One executable mapping of a process: recorded, and probed when an allocator is in it. */
int live_add_code(struct live *live, struct live_process *process, const struct proc_map *map,
		  uint64_t time_ns, bool *ret_late);

/* trace/live_code.c: code that no event announces */
int live_on_stack(struct live *live, const struct abi_ev_stack *ev);
/* NULL: no code is known to be there. */
const struct code_range *live_code_at(const struct live_process *process, uint64_t addr);
/* Memory without a file that was mapped to be executed. */
int live_on_made_code(struct live *live, struct live_process *process, const struct abi_ev_map *ev);
/* Stacks that wait are handed over: before what names them, and before the process's end. */
int live_release_stacks(struct live *live, struct live_process *process);
/* The same of all processes; unless at_once those only whose time it is. */
int live_release_all_stacks(struct live *live, bool at_once);

/* trace/live_unwind.c: the unwinder's tables, where stacks are unwound by them */
int live_unwind_new(struct live *live);
int live_unwind_process(struct live *live, struct live_process *process);
int live_unwind_child(struct live *live, struct live_process *parent, struct live_process *child);
void live_unwind_end(struct live_process *process);
/* A mapping of code; ev: the event that told of it, NULL: none. */
int live_unwind_map(struct live *live, struct live_process *process, const struct proc_map *map,
		    struct object *object, const struct abi_ev_map *ev);
/* Rows for any instruction of the file whose code is at `addr`. */
int live_unwind_fully(struct live *live, const struct live_process *process, uint64_t addr);
int live_on_code_gone(struct live *live, const struct abi_ev_map *ev);
/* Before what was held goes on, and at the end of a drain. */
int live_unwind_sync(struct live *live);
int live_unwind_drained(struct live *live);
/* Adds events with a stack to a sum. */
void live_count_stack(const struct live *live, uint64_t id, uint64_t events,
		      struct cut_coverage *coverage);
/* The name of enum stack_cut or abi_stack_cut. */
const char *live_cut_name(size_t cut);

/* trace/live_regions.c: stacks and the mmap class */
int live_take_stack(struct live *live, const struct abi_ev_stack *ev);
/* The frames that are the stack's, of the user's code. ret_cut: enum stack_cut or abi_stack_cut. */
size_t live_stack_frames(const struct live_process *process, const struct abi_ev_stack *ev,
			 uint64_t ret_frames[ABI_MAX_FRAMES], uint8_t *ret_cut);
int live_on_region(struct live *live, const struct abi_ev_map *ev);

/* trace/live_check.c */
int live_on_stack_copy(struct live *live, const struct abi_ev_stack_copy *copy);
/* Within a cut. */
int live_emit_check(struct live *live);

/* trace/live_jobs.c */
int live_describe_jobs(struct live *live);
/* Within a cut: their counts, added to `coverage`. */
int live_read_jobs(struct live *live, struct cut_coverage *coverage);
/* Times that a program, of a job or of what follows processes, was not run. */
uint64_t live_jobs_missed(const struct live *live);
int live_on_occurrence(struct live *live, const struct abi_ev_occurrence *ev);
int live_on_file(struct live *live, const struct abi_ev_file *ev);
/* After a cut: deletes what the jobs still hold of ended processes that it was the second of. */
int live_purge_jobs(struct live *live);

/* trace/live_cut.c */
int live_cut(struct source *source, record_fn fn, void *userdata);
/* Deletes what ended processes left in the maps, once their last values were handed over. */
int live_settle(struct live *live);

#endif
