/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes: by which links processes are counted, what is probed, and what is not there to probe. */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_PROBES_H
#define MEMTRACED_TRACE_LIVE_LIVE_PROBES_H

#include "trace/live/live_state.h"

struct process_info;

/* --- live_links.c: by which links processes are counted --------------------------------------- */

/* After the programs are loaded: are all counted by links that all share? */
void live_links_begin(struct live *live, bool shared);
/* The owner that this process's links carry: its own number, or 0 once links are shared. */
uint32_t live_owner(const struct live *live, const struct live_process *process);
/* Makes sure that an allocator's links for this owner are in; *ret_late when they were not yet. */
int live_attach(struct live *live, struct object *object, uint32_t owner, pid_t pid,
		bool *ret_late);
/* The same of all that the process has mapped. */
int live_attach_all(struct live *live, struct live_process *process, bool *ret_late);
/* Sees to it that what its dynamic linker maps is told of; after live_add_maps(). */
int live_watch_loader(struct live *live, const struct live_process *process);
/* Are the first calls of children that are not held at their birth worth probes for all? */
bool live_shares_for_children(const struct live *live);
/*
 * Links are shared before a process is probed that has forked before, or whose first thread has
 * ended. 0 or negative errno.
 */
int live_share_early(struct live *live, const struct process_info *info);
/* A child is to be counted: of many, by links that are shared. 0 or negative errno. */
int live_share_for_child(struct live *live);
/*
 * From now on new processes are counted by links that all share, unless a translator of code runs,
 * which they would end: ask live_owner() then.
 */
int live_go_shared(struct live *live);
/*
 * The process's first thread has ended: the kernel filters its own links by the memory of that one,
 * which has none. Shared ones take over, once no translator of code runs. 0 or negative errno.
 */
int live_share_without_first(struct live *live, struct live_process *process);
/* From time to time: processes that wait for shared links have them. 0 or negative errno. */
int live_share_awaited(struct live *live);
/* From now on it is counted by these, not by its own. */
void live_leave_own(struct live *live, struct live_process *process);
/* Before a process is probed: a translator of code is not, which is said. 0 or negative errno. */
int live_note_translator(struct live *live, struct live_process *process);
/* The child of a translator is one. */
void live_links_fork(const struct live_process *parent, struct live_process *child);
/*
 * Processes that keep books of their own calls (books/live_books.h) have no links. After
 * live_add_maps() of a new image: may it come to keep one?
 */
void live_links_expect_book(const struct live *live, struct live_process *process);
/* Is it our library, where processes keep books? */
bool live_is_book_library(const struct live *live, const struct object *object);
/* It has mapped a file: our library, or another one before it, so that it is probed. */
int live_links_new_code(struct live *live, struct live_process *process,
			const struct object *object, bool *ret_late);
/* Does what it has mapped use an allocator's functions that a book would not have? */
bool live_links_own_names(const struct live_process *process);
/* Has its executable an allocator, which then comes first for all libraries? */
bool live_links_own_allocator(const struct live_process *process);
/* It keeps none, and is probed. */
int live_links_without_book(struct live *live, struct live_process *process, bool *ret_late);
/* It keeps one. */
int live_links_by_book(struct live *live, struct live_process *process);
/* The calls of its allocator are not seen, which is counted. */
void live_note_unseen(struct live *live, struct live_process *process);
/* What walks stacks is loaded: signals are told of, and mappings. 0 or negative errno. */
int live_attach_walk(struct live *live);
/* Tracepoints of system calls come or go, as the depth wants them. 0 or negative errno. */
int live_trace_calls(struct live *live);

/* --- live_new_code.c: code that is new is mapped, then probed --------------------------------- */

int live_on_code(struct live *live, const struct abi_ev_map *ev);
/* One executable mapping of a process: recorded, and probed when an allocator is in it. */
int live_add_code(struct live *live, struct live_process *process, const struct proc_map *map,
		  uint64_t time_ns, bool *ret_late);
/* Files that could not be opened are tried again, those whose time has come. */
int live_retry_files(struct live *live);

/*
 * --- missing_allocators.c: counts the loss of a process, at its end and at cuts, in whose code no
 * allocator was found. What is only being started, or is no program, is spared. ---------------
 */

int live_judge_allocator(struct live *live, struct live_process *process);
int live_judge_running(struct live *live);

#endif
