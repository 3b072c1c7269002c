/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The executable files that targets map: opened once by (device, inode), planned once, attached
 * for one process (filtered links) or for all (shared links). Probes belong to files, not to
 * processes.
 */
#ifndef MEMTRACED_TRACE_LIVE_OBJECTS_H
#define MEMTRACED_TRACE_LIVE_OBJECTS_H

#include "base/cleanup.h"
#include "probe/object_facts.h"
#include "target/proc_maps.h"
#include "trace/bpf/programs.h"
#include "trace/record/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct custom_allocators;
struct loader_search;
struct plan_emulation;
struct objects;
struct object;
struct unopened_file;
struct worker;

/* Are functions that have sites of results (probe/result_sites.h) counted by these? */
enum objects_results {
	OBJECTS_RESULTS_NEVER,
	OBJECTS_RESULTS_CHECKED, /* when they saw the same as entry and return */
	OBJECTS_RESULTS_FORCED,	 /* from the start: for tests, */
	OBJECTS_RESULTS_WRONG,	 /* as is this: they see something else */
};

struct objects_opts {
	struct programs *programs; /* borrowed */
	struct worker *worker;	   /* borrowed: files are read by it (probe/object_reader.h) */
	void (*ask_ahead)(struct worker *worker, int fd); /* live.h; NULL: nothing is asked */
	const struct run_opts *run;			  /* borrowed */
	const struct plan_emulation *emulation;		  /* borrowed */
	struct custom_allocators *custom;		  /* borrowed; may be NULL */
	bool books;	     /* processes keep books: what these do not have is looked for */
	bool returns_unsafe; /* return probes may kill filtered targets: exit sites only */
	enum objects_results results;
	bool loader; /* the dynamic linker's stop is probed for owners, at all depths: on_loader */
	char *const *checkpoint_names; /* probe/object_facts.h */
	struct unwind_tables *tables;  /* borrowed; NULL: stacks are not unwound by files' tables */
};

int objects_new(const struct objects_opts *opts, struct objects **ret_objects);
/* Detaches everything. NULL is legal. */
void objects_free(struct objects *objects);
DEFINE_CLEANUP(struct objects, objects_free)

/*
 * Runs a program at the entries of an allocator function ("malloc") as well. Before any object is
 * known. Files are looked through for allocators only for this, or with `allocations`.
 */
int objects_add_sizes(struct objects *objects, int prog_fd, const char *function);

/*
 * The object behind a mapping of a process, opened and planned when it is new (*ret_new). 0 or
 * negative errno; a file that is no ELF file, or has no allocator, is an object without probes, and
 * so is one that the worker could not read, which is counted.
 */
int objects_get(struct objects *objects, pid_t pid, const struct proc_map *map,
		struct object **ret_object, bool *ret_new);

/*
 * The file of a mapping for which objects_get() returned an error of unopened_error(); *ret_new: it
 * was opened in vain for the first time. *ret_file: NULL when it is not tried again. 0 or -ENOMEM.
 */
int objects_add_unopened(struct objects *objects, const struct proc_map *map, int error,
			 const struct unopened_file **ret_file, bool *ret_new);
/* Is any of them to be tried again? */
bool objects_retry_is_due(const struct objects *objects, uint64_t now_ns);
/* All of them that were due have been tried again. */
void objects_retried(struct objects *objects, uint64_t now_ns);

/*
 * Opens the files of a process's code that are not known yet, the first OPEN_AHEAD_MOST of them,
 * for an objects_get() that comes when it may be over.
 */
void objects_open_ahead(struct objects *objects, pid_t pid, const struct proc_maps *maps);

/*
 * Asks the worker ahead for the next files of a process's code that are not known yet, from map
 * `first` on: they are read while those before them are told to the programs.
 */
void objects_ask_ahead(struct objects *objects, pid_t pid, const struct proc_maps *maps,
		       size_t first);

/*
 * Makes files known before anybody maps them: that of a program, what it needs to be loaded, and
 * what that needs. The BPF programs are told of all but the first, so that who maps them need not
 * wait; objects_get() says that they are new when it has them first. `search`: where libraries are.
 * fd: taken. 0 or negative errno; what cannot be found or read becomes known when it is mapped.
 */
int objects_read_ahead(struct objects *objects, const struct loader_search *search, int fd);

/* The object if it is known, or NULL. */
struct object *objects_find(const struct objects *objects, uint32_t dev, uint64_t ino);

/*
 * Closes the files of which object_use() was not called between the last calls of this, for so
 * long, and what was opened ahead of need. objects_get() opens them again. `fn` is told of each.
 */
void objects_close_unused(struct objects *objects, uint64_t now_ns, uint64_t unused_ns,
			  void (*fn)(uint32_t dev, uint64_t ino, void *userdata), void *userdata);
void object_use(struct object *object);

/*
 * Compares what sites of results see with entry and return, and lets them count; a little with each
 * call of this. 0 or negative errno.
 */
int objects_try_results(struct objects *objects, record_fn fn, void *userdata);

/* Number of objects, and the i-th: in order of discovery. */
size_t objects_count(const struct objects *objects);
struct object *objects_at(const struct objects *objects, size_t i);

/* Ids for n functions that are in no file, from *ret_first on. 0 or -ENOSPC. */
int objects_number(struct objects *objects, size_t n, uint16_t *ret_first);

bool object_has_allocator(const struct object *object);
/*
 * The same whether they may be probed or not. Functions that get memory from others are none, but
 * where forms of new and delete are looked at.
 */
bool object_has_own_allocator(const struct object *object);
/* allocator_family_number() of its malloc; 0: not known, or it has none. */
uint8_t object_malloc_family(const struct object *object);
/* Does it show samples? */
bool object_has_samples(const struct object *object);
/* Is there anything in it to attach to, at any depth? */
bool object_is_probed(const struct object *object);
/* Is the function of that number in any? */
bool objects_have_checkpoint(const struct objects *objects, uint16_t function);
/* Is it in an allocator's code, or so near that it may be a function inside of one? */
bool object_is_near_allocator(const struct object *object, uint64_t file_offset);
/* All zero but for the kind: no ELF file of ours, or not read. */
const struct object_facts *object_facts(const struct object *object);
/* Has it no others loaded that may hold an allocator: a static executable, or not for 64 bits. */
bool object_is_alone(const struct object *object);
const char *object_path(const struct object *object);
/* -1: it is closed. */
int object_fd(const struct object *object);
uint64_t object_ino(const struct object *object);
uint32_t object_dev(const struct object *object); /* major << 20 | minor */

/* Tells the programs what is known of it. 0 or negative errno. */
int objects_publish(struct objects *objects, struct object *object);
int objects_publish_all(struct objects *objects);

/* Its number in the unwinder's tables; 0: it is in none. */
uint32_t object_unwind(const struct object *object);
/*
 * Makes sure of its rows in the unwinder's tables, fully: for any instruction. Where that is not
 * possible, what is there stays. 0 or negative errno.
 */
int objects_unwind(struct objects *objects, struct object *object, bool fully);
/* Where room in the tables runs short: gives up what no process has mapped. 0 or negative errno. */
int objects_unwind_less(struct objects *objects);

/* Is a link in that counts for this owner (0: shared)? */
bool object_attached(const struct object *object, uint32_t owner);

/*
 * Attaches all probes of the object: owner 0 for every process, else for process `pid` alone. A
 * function that cannot be attached is added to the object's unprobed list; so are all, if nothing
 * can be attached for every process. 0, or negative errno when nothing could be attached for `pid`.
 */
int objects_attach(struct objects *objects, struct object *object, uint32_t owner, pid_t pid);
/* Of what it has, only where threads are stopped before functions. 0 or negative errno. */
int objects_attach_checkpoints(struct objects *objects, struct object *object, uint32_t owner,
			       pid_t pid);

/* Takes all probes out, of all objects: soon nothing is attached. What comes later is attached. */
void objects_detach(struct objects *objects);

/*
 * Takes the probes out that see the calls of process `pid`, by whatever owners, or (0) those that
 * are shared. No breakpoint of theirs is left on return. 0 or -ENOMEM.
 */
int objects_detach_now(struct objects *objects, pid_t pid);

/*
 * What is attached from now on: calls, samples, or nothing. At first calls, and without `both` what
 * it says there.
 */
void objects_set_depth(struct objects *objects, enum record_depth depth);
/* Is there anything in it to attach at that depth, for this owner (0: shared)? */
bool objects_probe(const struct objects *objects, const struct object *object, uint32_t owner);

/* Function and unprobed records of the object, to be emitted when it is new. */
int object_describe(const struct object *object, record_fn fn, void *userdata);
/* Files that nobody could say anything of, as the worker died of them or was not there. */
uint64_t objects_unread(const struct objects *objects);
/* Files that could not be opened when they were mapped. */
uint64_t objects_unopened(const struct objects *objects);
/* Functions that should be probed and are not. */
size_t object_unprobed(const struct object *object);

/* Do return addresses at this file offset end a stack (process or thread start)? */
bool object_starts_stack(const struct object *object, uint64_t file_offset);

#endif
