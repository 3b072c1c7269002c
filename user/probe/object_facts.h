/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All that tracing must know of an ELF file that a process maps: read at once, as plain data that
 * outlives the file's being open. Its reader parses what others wrote: probe/object_server.h
 * does that for the daemon in another process.
 */
#ifndef MEMTRACED_PROBE_OBJECT_FACTS_H
#define MEMTRACED_PROBE_OBJECT_FACTS_H

#include "base/vec.h"
#include "elf/cfi/cfi_cache.h"
#include "elf/elf_needs.h"
#include "probe/plan.h"
#include "probe/program_kinds.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Where stacks begin: the code of an object that calls a program's main or is its entry point, and
 * of a C library for arm64 what threads begin with. A frame-pointer walk that ends there has seen
 * the whole stack.
 */

/* glibc has one; more are left out. */
#define STACK_START_THREADS 4

struct elf_file;

struct stack_start {
	uint64_t entry;	    /* file offset of e_entry, 0: none */
	uint64_t main_call; /* range around libc's __libc_start_main, 0: none */
	uint64_t main_call_end;
	struct {
		uint64_t start, end;
	} threads[STACK_START_THREADS]; /* ranges; 0 to 0: none */
};

/* Without such code all members are 0. */
void stack_start_read(struct elf_file *elf, struct stack_start *ret_start);

/* Is a return address at this file offset in such code? */
bool stack_start_contains(const struct stack_start *start, uint64_t file_offset);

/*
 * Functions that are to be stopped at: where they are in a file. The first ones are those by which
 * the C library executes a program; those that the user has named follow.
 */

struct checkpoint {
	uint64_t offset;	   /* in the file */
	uint16_t function;	   /* 0: execve and the like; else the index of its name, from 1 */
	uint64_t semaphore_offset; /* of include/memtraced.h; as of struct plan_probe */
};

struct checkpoints {
	VEC(struct checkpoint) list; /* each place once */
};

/* A SHA-1; linkers make no longer ones by themselves. */
#define OBJECT_BUILD_ID_MAX 20

/* What is asked. All is borrowed. */
struct object_wants {
	bool allocators;  /* plan_new() */
	bool results;	  /* with them, sites of results as well */
	bool samples;	  /* sample_plan_new() */
	bool is_stand_in; /* as of the latter */
	const char *path;
	const struct plan_emulation *emulation; /* of allocators */
	struct custom_allocators *custom;	/* NULL: none; is told what was found */
	bool loader;				/* loader_stop_find() */
	bool checkpoints; /* for leak checks, which also have the sizes that were asked for */
	char *const *checkpoint_names; /* as of checkpoints_find() */
	bool unwinding;
	bool books; /* uses_own_names, preloads, has_sanitizer */
};

struct object_facts {
	bool is_elf;		/* of this machine, and sound: else there is nothing to know */
	enum program_kind kind; /* of 32 bits it may be without being is_elf */
	struct plan *plan;	/* of allocators; NULL: was not wanted */
	struct plan *samples;	/* the same */
	struct stack_start start;
	struct checkpoints checkpoints;
	uint64_t loader_stop; /* file offset; 0: it is no dynamic linker, or that was not wanted */
	uint8_t build_id[OBJECT_BUILD_ID_MAX];
	uint8_t build_id_len; /* 0: none, or longer */
	struct cfi_facts unwind;
	struct elf_needs needs; /* what is loaded with it */
	/*
	 * It uses functions of another file's allocator by names that no other allocator has
	 * (tc_malloc), as far as its dynamic symbols tell, or has those of include/memtraced.h;
	 * false, too, if that was not wanted.
	 */
	bool uses_own_names;
	bool preloads;	    /* as preload_is_linker(), where that was wanted, too */
	bool has_sanitizer; /* the same, as preload_has_sanitizer() */
};

/* Of an open file. 0 or -ENOMEM; `ret_facts` is for object_facts_done() then. */
int object_facts_read(int fd, const struct object_wants *wants, struct object_facts *ret_facts);
void object_facts_done(struct object_facts *facts);

#endif
