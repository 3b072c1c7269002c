/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What trace/live/code/objects.h keeps of files. For the files that it is made of.
 */
#ifndef MEMTRACED_TRACE_LIVE_OBJECT_STATE_H
#define MEMTRACED_TRACE_LIVE_OBJECT_STATE_H

#include "base/hashmap.h"
#include "base/vec.h"
#include "trace/bpf/bpf_link.h"
#include "trace/live/code/objects.h"
#include "trace/live/code/open_ahead.h"
#include "trace/live/code/unopened_files.h"

/* What of an object a link is for. */
enum link_part {
	LINK_PART_ALL,
	LINK_PART_RETURNS, /* entry and return of one function that has sites of results, */
	LINK_PART_RESULTS, /* and those */
};

struct object_link {
	uint32_t owner;
	pid_t pid; /* the process whose calls it sees; 0: of all */
	int fd;
	uint16_t part;	   /* enum link_part */
	uint16_t function; /* of its plan, where it is not of all */
};

/* By what calls of a function that has sites of results are counted: object_results.c. */
enum result_state {
	RESULTS_UNTRIED, /* entry and return, */
	RESULTS_CHECKED, /* with which what the sites see is compared; */
	RESULTS_JOINED,	 /* the sites, with entry and return where calls have not ended yet; */
	RESULTS_COUNT,	 /* the sites alone; */
	RESULTS_REFUSED, /* entry and return: the sites saw something else */
};

struct unprobed {
	const char *function; /* static storage */
	const char *why;      /* static storage, or strerror's */
};

struct object {
	uint32_t dev;
	uint64_t ino;
	int fd;			 /* -1: closed, as nothing uses it */
	struct timespec changed; /* when it was written last, as of its plan */
	char *path;
	char open_path[32];
	/* All zero but for the kind: no ELF file of ours, or not read. */
	struct object_facts facts;
	uint16_t first_fn;	  /* function id of facts.plan->probes[0], */
	uint16_t first_sample_fn; /* and of facts.samples->probes[0] */
	uint32_t table;		  /* of unwind rows, in opts.tables; 0: in none */
	bool no_unwinding;	  /* it has no rows, or there was no room */
	bool refused;		  /* the kernel does not let it be probed for all processes */
	bool marked;		  /* its plan's marks are probed */
	uint8_t *results; /* enum result_state of each function of its plan; NULL: none has any */
	uint16_t *first_site; /* of each, in the programs' table; valid unless untried */
	uint64_t *try_after;  /* so many blocks each */
	bool is_used;	      /* by a process, as of objects_close_unused() */
	uint64_t unused_ns;   /* since when it is not; 0: it is */
	bool is_ahead;	      /* nobody was seen to map it yet (objects_read_ahead) */
	VEC(struct object_link) links;
	VEC(struct unprobed) unprobed;
};

/* A program at the entries of one allocator function. */
struct size_program {
	int fd;
	const char *function; /* borrowed */
};

struct objects {
	struct objects_opts opts;
	VEC(struct size_program) sizes;
	struct hashmap by_file;
	VEC(struct object *) all;
	struct open_ahead ahead;
	struct open_ahead asked; /* objects_ask_ahead()'s that were not in the former */
	struct unopened_files unopened;
	uint32_t next_fn;
	enum record_depth depth;
	uint64_t unread;			  /* files of which the worker said nothing */
	VEC(struct abi_sample_spec) sample_specs; /* as the programs have them */
	/* object_results.c: the function that is compared; NULL: none. */
	struct object *checked;
	size_t checked_function;
	unsigned turns;		    /* that it has been compared for, or counts by both */
	uint64_t try_results_after; /* calls */
	uint32_t n_result_sites;    /* that the programs have */
};

enum result_state object_result_state(const struct object *object, size_t function);
/* Tells the programs of the function's sites. 0 or negative errno. */
int object_publish_results(struct objects *objects, struct object *object, size_t function);
/* Are the function's calls counted by sites alone, or by them, too? */
bool object_counts_results(const struct object *object, size_t function);
/* Are its sites probed? */
bool object_probes_results(const struct object *object, size_t function);
/* Can they ever be? */
bool object_may_count_results(const struct object *object, size_t function);
/*
 * Reads the sites of results of all functions of the object, which take the reader as long as all
 * else: for an object whose plan may have some. Without an answer there are none. 0 or -ENOMEM.
 */
int object_find_results(struct objects *objects, struct object *object);
/* The states by its plan, which has been read again. */
void object_update_results(const struct objects *objects, struct object *object);
/* Before an object is attached for the first time. 0 or -ENOMEM. */
int object_results_new(const struct objects *objects, struct object *object);

/* The links of one function's sites of results for a process, or for all. */
int object_attach_results(struct objects *objects, struct object *object, size_t function,
			  uint32_t owner, pid_t pid);
/* Closes all of that part and function; on return nothing is attached by them. 0 or -ENOMEM. */
int object_close_part(const struct objects *objects, struct object *object, enum link_part part,
		      size_t function);

/*
 * All questions that a file new to us is worth: the worker has the next in hand when it has
 * answered one, and answers while we go on.
 */
void object_ask(const struct objects *objects, int fd, const char *path);

/* Was it written to since it was planned? Then its plan may not fit any more. */
bool object_has_changed(const struct object *object);

/* A file that is not known: planned, and known from now on. fd: taken. 0 or negative errno. */
int object_add(struct objects *objects, uint32_t dev, uint64_t ino, const char *path, int fd,
	       struct object **ret_object);

#endif
