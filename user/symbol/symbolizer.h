/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * (object, file offset) to functions, inlined calls and lines; cached by object and offset. A file
 * is held open from symbolizer_object on, its debug files too, so that a report after a target's
 * death is as good as one before. Reading them is a worker's (symbol/symbol_server.h), which may
 * die of it: what it could not say is unknown, and counted. One thread.
 */
#ifndef MEMTRACED_SYMBOL_SYMBOLIZER_H
#define MEMTRACED_SYMBOL_SYMBOLIZER_H

#include "base/cleanup.h"
#include "symbol/symbol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct object_place;
struct symbolizer;
struct symbol_object;
struct worker;

/*
 * The worker serves symbol_server's requests, and outlives the symbolizer; NULL: files are read in
 * this process, with 5 MiB of stack left. Demangling on or off is the caller's: it takes `function`
 * or `linkage`. Separate debug files are searched as FORMATS.md 10.4 says, without network.
 */
int symbolizer_new(struct worker *worker, struct symbolizer **ret_symbolizer);
void symbolizer_free(struct symbolizer *symbolizer); /* NULL is legal */
DEFINE_CLEANUP(struct symbolizer, symbolizer_free)

/* Before the first object: its names are shown to this user, who may not read all debug files. */
void symbolizer_show_to(struct symbolizer *symbolizer, uid_t uid, gid_t gid);

/*
 * The object that a process maps. `path` is its name for people and, in the target's root, where
 * separate debug files are searched next to it. fd (>= 0, duplicated here; stays the caller's) is
 * the file, or a memfd with the image of the vDSO; -1 when it cannot be opened (its frames are then
 * unknown, unless made known). `root` is the target's root as seen from here ("/proc/7/root"), or
 * NULL for this host's. An object is one per (path, dev, ino, build ID). Never fails but for
 * -ENOMEM.
 */
int symbolizer_object(struct symbolizer *symbolizer, const char *path, uint64_t dev, uint64_t ino,
		      int fd, const char *root, struct symbol_object **ret_object);

/*
 * Closes its files, here and in the worker: known is what was looked up, as symbolizer_find().
 * symbolizer_object() with the same file opens it again.
 */
void symbolizer_close(struct symbolizer *symbolizer, struct symbol_object *object);
bool symbol_object_is_closed(const struct symbol_object *object);

/*
 * Text of /proc/kallsyms as an object of that path; file offsets are then addresses, and functions
 * of modules are named "nft_do_chain [nf_tables]". Copies what it needs. 0 or -ENOMEM.
 */
int symbolizer_kallsyms(struct symbolizer *symbolizer, const char *path, const char *text,
			size_t len, struct symbol_object **ret_object);

/*
 * Resolves a file offset. `is_call`: the offset is a return address: look up the byte before it
 * (the reported function offset is still that of the address itself). 0 or -ENOMEM.
 */
int symbolizer_resolve(struct symbolizer *symbolizer, struct symbol_object *object,
		       uint64_t file_offset, bool is_call, const struct symbol **ret_symbol);

/* The same of what was looked up or made known already; else -ENOENT. */
int symbolizer_find(struct symbolizer *symbolizer, const struct symbol_object *object,
		    const struct object_place *place, const struct symbol **ret_symbol);

/* Looks places up that symbolizer_resolve will be asked for: by the hundred. 0 or -ENOMEM. */
int symbolizer_look_up(struct symbolizer *symbolizer, struct symbol_object *object,
		       const struct object_place *places, size_t n);

/*
 * Makes a result known without looking it up (recordings), whether it is a call or not. Copies; of
 * two for the same place the first stays. 0 or -ENOMEM.
 */
int symbolizer_add(struct symbolizer *symbolizer, struct symbol_object *object,
		   uint64_t file_offset, const struct symbol *symbol);

/*
 * From now on debug information that this host lacks is fetched when the first address of an object
 * is looked up, which may take long. What was looked up or made known before is forgotten, and
 * symbols that were handed out are void. Borrowed. 0 or -ENOMEM.
 */
struct debuginfod;
int symbolizer_fetch_from(struct symbolizer *symbolizer, struct debuginfod *debuginfod);

/*
 * When more than `max_bytes` were looked up or used since it last did so: forgets what was not used
 * since then, known or looked up. 1 when it did: symbols that were handed out are void. 0, or
 * -ENOMEM.
 */
int symbolizer_age(struct symbolizer *symbolizer, uint64_t max_bytes);

/*
 * How many objects' symbols and debug information are held at most, and of how many bytes; the one
 * used last always is. Without this call 64 and 256 MiB.
 */
struct symbolizer_limits {
	size_t open;
	uint64_t open_bytes;
};
void symbolizer_limit(struct symbolizer *symbolizer, const struct symbolizer_limits *limits);

struct symbolizer_counts {
	uint64_t open;	       /* by the worker, for all that it serves */
	uint64_t open_bytes;   /* sections that were read, and what was made of symbols */
	uint64_t cached_bytes; /* symbols */
	uint64_t reads;	       /* how often an object was read */
	uint64_t unread;       /* places and debug files of which a worker could not say anything */
};
struct symbolizer_counts symbolizer_count(const struct symbolizer *symbolizer);

/*
 * Address of the mapping's ELF view: the virtual address of a file offset (for perf-script, which
 * prints addresses relative to the DSO); the offset itself when unknown.
 */
uint64_t symbol_object_vaddr(const struct symbol_object *object, uint64_t file_offset);
/* Lower-case hex or "". */
const char *symbol_object_build_id(const struct symbol_object *object);

#endif
