/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of the live source: what its files in trace/live/ do for each other.
 */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_PROCESS_H
#define MEMTRACED_TRACE_LIVE_LIVE_PROCESS_H

#include "bpf/abi_event.h"
#include "trace/live/live_state.h"

/* Without grace periods: a program that has read the old epoch has mostly written its change. */
#define CUT_GRACE_NS 1000000
/* User addresses that memory can be at (Linux: mmap_min_addr, five-level tables aside). */
#define LIVE_MIN_ADDR 0x10000ULL

/* trace/live/slots/live_process.c: what all others need */
int live_emit(struct live *live, const struct record *record);
struct live_process *live_process_at(const struct live *live, uint32_t slot);
/* NULL: no code is known to be there. */
const struct code_range *live_code_at(const struct live_process *process, uint64_t addr);
/* process: whose it is beside the run's; NULL is legal. */
void live_count_loss(struct live *live, struct live_process *process, enum user_loss cause);

/* trace/live/live_source.c */
int live_begin_emitting(struct live *live, record_fn fn, void *userdata);

/* trace/live/live_drain.c: the source's functions, and the ring's callback */
int live_drain(struct source *source, record_fn fn, void *userdata);
int live_cut(struct source *source, record_fn fn, void *userdata);
int live_on_ring(void *ctx, void *data, size_t size);

/* trace/live/slots/live_epoch.c */
/* When each process had its peak, late by at most a tick or a sample. */
void live_note_peaks(struct live *live);
/* Begins a new epoch of cuts. */
void live_raise_epoch(struct live *live);
/*
 * Waits for programs that may have read the epoch before, if any process still runs; false: they
 * could not be waited for, only for a while.
 */
bool live_await_programs(struct live *live);

/* trace/live/live_buffer.c: what comes while nobody drains */
int live_buffer_new(struct live_buffer **ret_buffer);
void live_buffer_free(struct live_buffer *buffer);
DEFINE_CLEANUP(struct live_buffer, live_buffer_free)
/* From the ring's callback. False: nothing is kept now, it is to be handled. */
bool live_buffer_add(struct live_buffer *buffer, const void *data, size_t size);
/* Events taken in since live_buffer_begin go to fn, in their order. Only after its end. */
void live_buffer_drain(struct live *live, void (*fn)(struct live *live, const void *data));
/* Is there anything for it? */
bool live_buffer_waits(const struct live *live);

/* trace/live/lifecycle/live_targets.c */
/* Do the programs find the processes of the rule, and not the jobs those of the host or cgroup? */
bool live_finds_processes(const struct live_opts *opts);

/* trace/live/slots/live_slots.c: slots, and what is known of the process in each */
/* A slot that nobody has, for a process that user space registers; -ENOSPC. */
int live_take_slot(struct live *live, uint32_t *ret_slot);
/* Nobody has seen the slot: it can be used again. */
int live_give_back_slot(struct live *live, struct live_process *process);
int live_process_new(struct live *live, uint32_t slot, pid_t pid, struct live_process **ret);
/* In a slot of its own, which no program knows by the pid yet. -ENOSPC: there is none. */
int live_process_begin(struct live *live, pid_t pid, struct live_process **ret);
void live_process_free(struct live_process *process);
/* Before anything is counted of it, the programs know it by its depth. */
void live_depth_settle(const struct live *live, const struct live_process *process);
/* From now on it is counted, by the links of this owner. */
int live_activate(struct live *live, struct live_process *process, uint32_t owner);

/* trace/live/lifecycle/live_follow.c: birth, exec and death */
/* Links are shared before a process is probed that has forked before. 0 or negative errno. */
struct process_info;
int live_share_early(struct live *live, const struct process_info *info);
/* Everything that is mapped now, as of time_ns; in_time: the process has run none of it yet. */
int live_map_process(struct live *live, struct live_process *process, uint64_t time_ns,
		     bool in_time);
/* The process's name is `comm`, 16 bytes: recorded if it is another than before. */
int live_rename(struct live *live, struct live_process *process, const char *comm);
/*
 * Reads the names of all processes that run, and the most that they had resident: no event tells of
 * either.
 */
int live_read_running(struct live *live);
/* Its end: what is left of its stacks goes before. */
int live_end_image(struct live *live, struct live_process *process, enum record_end how, int value,
		   uint64_t time_ns);
int live_on_process_event(struct live *live, const struct abi_ev_process *ev);
/*
 * live_end_unseen: the process's image has ended, which nothing told of; flags: of its ABI_EV_EXIT.
 * live_end_hidden: so have those that may not be shown any more. 0 or negative errno.
 */
int live_end_unseen(struct live *live, struct live_process *process, uint32_t flags);
int live_end_hidden(struct live *live);

/*
 * trace/live/probes/missing_allocators.c: counts the loss of a process, at its end and at cuts, in
 * whose
 * code no allocator was found. What is only being started, or is no program, is spared.
 */
int live_judge_allocator(struct live *live, struct live_process *process);
int live_judge_running(struct live *live);

/* trace/live/probes/live_links.c: by which links processes are counted */
/* The owner that this process's links carry: its own number, or 0 once links are shared. */
uint32_t live_owner(const struct live *live, const struct live_process *process);
/* Makes sure that an allocator's links for this owner are in; *ret_late when they were not yet. */
int live_attach(struct live *live, struct object *object, uint32_t owner, pid_t pid,
		bool *ret_late);
/* The same of all that the process has mapped. */
int live_attach_all(struct live *live, struct live_process *process, bool *ret_late);
/* Sees to it that what its dynamic linker maps is told of; after live_add_maps(). */
int live_watch_loader(struct live *live, const struct live_process *process);
/*
 * From now on new processes are counted by links that all share, unless a translator of code runs,
 * which they would end: ask live_owner() then.
 */
int live_go_shared(struct live *live);
/* Before a process is probed: a translator of code is not, which is said. 0 or negative errno. */
int live_note_translator(struct live *live, struct live_process *process);
/* Tracepoints of system calls come or go, as the depth wants them. 0 or negative errno. */
int live_trace_calls(struct live *live);

/* trace/live/code/live_mapped.c: what is mapped as code */
/*
 * What a process has mapped now; recorded and in the tables, not probed yet. *ret_missing is set
 * when there may be an allocator that was not found.
 */
int live_add_maps(struct live *live, struct live_process *process, uint64_t time_ns,
		  bool *ret_missing);
/*
 * As proc_maps_read(), but a process that has ended and is not waited for, whose list is empty, is
 * gone: -ESRCH. So is, for a user, one whose image is not the current one any more.
 */
struct proc_maps;
int live_read_maps(const struct live *live, const struct live_process *process,
		   struct proc_maps *ret_maps);
int live_on_code(struct live *live, const struct abi_ev_map *ev);
/* Files that could not be opened are tried again, those whose time has come. */
int live_retry_files(struct live *live);
/* One executable mapping of a process: recorded, and probed when an allocator is in it. */
int live_add_code(struct live *live, struct live_process *process, const struct proc_map *map,
		  uint64_t time_ns, bool *ret_late);

/* trace/live/stacks/live_code.c: code that no event announces */
int live_on_stack(struct live *live, const struct abi_ev_stack *ev);
/* Libraries came or went: what is mapped is read again, as soon as its time has come. */
int live_on_code_changed(struct live *live, const struct abi_ev_code_changed *ev);
/* The same when the drain ends: what was mapped before anything told of changes may be newer. */
int live_code_may_differ(struct live *live, struct live_process *process);
/* Memory without a file that was mapped to be executed. */
int live_on_made_code(struct live *live, struct live_process *process, const struct abi_ev_map *ev);
/* Stacks that wait are handed over: before what names them, and before the process's end. */
int live_release_stacks(struct live *live, struct live_process *process);
/* The same of all processes; unless at_once those only whose time it is. */
int live_release_all_stacks(struct live *live, bool at_once);

struct live_frames {
	uint64_t frame[ABI_MAX_FRAMES];
	uint64_t exact[ABI_EXACT_WORDS]; /* struct abi_ev_stack */
	size_t n;
	uint8_t cut; /* enum stack_cut or abi_stack_cut */
};

/*
 * trace/live/code/live_news.c: what a reading has shown is recorded, with times, when all events of
 * before it are known.
 */
int live_emit_mapping(struct live *live, const struct live_process *process,
		      const struct proc_map *map, const struct object *object, uint64_t time_ns);
/* Is it told of code by samples and dynamic linkers, which do not say what has changed? */
bool live_watches_code(const struct live *live);
int live_add_news(struct live *live, struct live_process *process, const struct proc_map *map,
		  struct object *object, uint64_t since_ns);
/* A file that the reading has not found any more. */
int live_add_gone(struct live *live, struct live_process *process, const struct code_range *range);
/* May the stack's frames be in other code than what is known to be there? */
int live_judge_stack(struct live *live, struct live_process *process, const struct abi_ev_stack *ev,
		     const struct live_frames *frames, struct live_stack *stack);
/* Nothing to do where there is no news. all_told: as code_times_came_ns(). */
int live_settle_news(struct live *live, struct live_process *process, bool all_told);
/* Of all processes: after the ring was empty, which it was after each of their readings. */
int live_settle_all_news(struct live *live);
void live_news_done(struct live_process *process);

/* trace/live/code/live_unwind.c: the unwinder's tables, where stacks are unwound by them */
int live_unwind_new(struct live *live);
int live_unwind_process(struct live *live, struct live_process *process);
/* After an exec of which the programs have noted so many mappings. */
int live_unwind_image(struct live *live, struct live_process *process, uint32_t noted);
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

/* trace/live/stacks/live_stacks.c */
int live_take_stack(struct live *live, const struct abi_ev_stack *ev);
/* The frames that are the stack's; the process may be NULL where they are the kernel's. */
void live_stack_frames(const struct live_process *process, const struct abi_ev_stack *ev,
		       struct live_frames *ret);

/* trace/live/regions/live_regions.c: the mmap class */
int live_on_region(struct live *live, const struct abi_ev_map *ev);

/* trace/live/stacks/live_check.c */
int live_on_stack_copy(struct live *live, const struct abi_ev_stack_copy *copy);
/* Within a cut. */
int live_emit_check(struct live *live);

/* trace/live/live_jobs.c */
int live_describe_jobs(struct live *live);
/* Within a cut: their counts, added to `coverage`. */
int live_read_jobs(struct live *live, struct cut_coverage *coverage);
/* Times that a program, of a job or of what follows processes, was not run. */
uint64_t live_jobs_missed(const struct live *live);
/* LOSS_CPU_AWAY */
uint64_t live_cpu_gaps(const struct live *live);
int live_on_occurrence(struct live *live, const struct abi_ev_occurrence *ev);
int live_on_file(struct live *live, const struct abi_ev_file *ev);

/* trace/live/cuts/live_fault.c: with the block that is near, which is looked for in the tables. */
int live_on_fault(struct live *live, const struct abi_ev_fault *ev);
/* trace/live/lifecycle/live_death.c: who kills a process; kept until its end, then handed over. */
struct abi_ev_death;
int live_on_death(struct live *live, const struct abi_ev_death *ev);
/* The process was killed by this signal. */
int live_emit_death(struct live *live, const struct live_process *process, int signal);
/*
 * Did the OOM killer choose it? Into the record, with how it ended. What is not known so is not
 * guessed. 0, or as of programs_losses().
 */
int live_death_by_oom(struct live *live, const struct live_process *process,
		      struct record_process_end *end);
/* After a cut: deletes what the jobs still hold of ended processes that it was the second of. */
int live_purge_jobs(struct live *live);
/* Does it do so? */
bool live_purges_jobs(const struct live *live);

/* trace/live/code/live_files.c: at a drain's end: closes files that no process maps any more. */
void live_close_files(struct live *live);

/* trace/live/lifecycle/live_reclaim.c: what ended images held is given back, with their slots */
int live_reclaim(struct live *live);
/* At the end of a drain: slots that no program can be in any more. */
int live_reuse(struct live *live);
/* trace/live/cuts/live_sample.c: the records of one; after a drain. *ret_cpu_ns as live_sample's */
int live_take_sample(struct live *live, uint64_t *ret_cpu_ns);

/* trace/live/cuts/live_cut.c */
/* The records of one cut, of all processes or of those that have ended; after a drain. */
int live_take_cut(struct live *live, bool ended_only);
/* Deletes what ended processes left in the maps, once their last values were handed over. */
int live_settle(struct live *live);

#endif
