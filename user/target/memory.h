/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the memory of another process, whose threads the caller has stopped if what is read shall
 * be of one moment: its mappings by kind, which of their pages were ever touched, their contents.
 * Needs PTRACE_MODE_ATTACH on it. Any thread.
 */
#ifndef MEMTRACED_TARGET_MEMORY_H
#define MEMTRACED_TARGET_MEMORY_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct memory;

enum memory_kind {
	MEMORY_ANONYMOUS, /* private; also a file's .bss, when it has pages of its own */
	MEMORY_HEAP,	  /* [heap]: what brk(2) gave */
	MEMORY_STACK,	  /* [stack]: the first thread's */
	MEMORY_FILE,	  /* a private mapping of a file: .data, .got */
	MEMORY_SHARED,	  /* of a file, of /dev/zero, or anonymous (shmem, memfd) */
	MEMORY_DEVICE,	  /* may answer to being read: not to be read */
};

/* A mapping that can be read and written. */
struct memory_map {
	uint64_t start, end;
	enum memory_kind kind;
	bool behind_guard; /* directly behind one without access: how glibc makes stacks */
	const char *path;  /* "" for anonymous; lives as long as the object */
};

static inline bool memory_map_has(const struct memory_map *map, uint64_t addr)
{
	return addr >= map->start && addr < map->end;
}

/* Any mapping. */
struct memory_code {
	uint64_t start, end, file_offset;
	bool readable, writable, executable, shared;
	bool is_file;
	const char *path; /* as above */
};

struct memory_range {
	uint64_t start, end;
};

/* Reads the list of mappings. 0 or negative errno: -ESRCH, -EPERM. */
int memory_new(pid_t pid, struct memory **ret_memory);
void memory_free(struct memory *memory); /* NULL is legal */
DEFINE_CLEANUP(struct memory, memory_free)

/* Ascending by start. */
const struct memory_map *memory_maps(const struct memory *memory, size_t *ret_n);
/* NULL: nothing that can be read and written is there. */
const struct memory_map *memory_find(const struct memory *memory, uint64_t addr);
/* All mappings, ascending: the one at *index (0 at first), which is raised; false: no more. */
bool memory_next_any(const struct memory *memory, size_t *index, struct memory_code *ret_code);

/* The file behind the mapping at `addr`, as proc_map_open() of target/proc_maps.h. */
int memory_open_file(const struct memory *memory, uint64_t addr);

/*
 * Those pages from `start` on, up to `end`, that have been touched, merged into ranges; malloc'ed.
 * Where the kernel does not say, it is everything. 0 or -ENOMEM.
 */
int memory_touched(const struct memory *memory, uint64_t start, uint64_t end,
		   struct memory_range **ret_ranges, size_t *ret_n);

/*
 * The same of pages of a private mapping of a file that hold no longer what the file does, since
 * they were written to: whether they still may be or not.
 */
int memory_written(const struct memory *memory, uint64_t start, uint64_t end,
		   struct memory_range **ret_ranges, size_t *ret_n);

/*
 * The same of pages that are in memory and count as resident: neither swapped nor the page of
 * zeros that all share. 0, or negative errno when the kernel does not say.
 */
int memory_resident(const struct memory *memory, uint64_t start, uint64_t end,
		    struct memory_range **ret_ranges, size_t *ret_n);

/*
 * Copies `len` bytes from `addr` on. Pages that cannot be read become zeros. 0, or negative errno
 * when the process is gone or may not be read; *ret_read (may be NULL): bytes that were read.
 */
int memory_read(const struct memory *memory, uint64_t addr, void *buf, size_t len,
		size_t *ret_read);

/* The same up to the first page that cannot be read: how many bytes, or negative errno for none. */
ssize_t memory_read_some(const struct memory *memory, uint64_t addr, void *buf, size_t len);

#endif
