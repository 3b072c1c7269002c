/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampling library that --sample preloads: where it is, and whether a program can do with it.
 * Nothing is loaded or started here; any thread.
 */
#ifndef MEMTRACED_TARGET_PRELOAD_H
#define MEMTRACED_TARGET_PRELOAD_H

#include <limits.h>
#include <stdbool.h>

enum preload {
	PRELOAD_WORKS,	    /* or nothing speaks against it */
	PRELOAD_NOT_NEEDED, /* the program carries the probes itself */
	PRELOAD_STATIC,	    /* it has no dynamic linker that would do it */
	PRELOAD_RIGHTS,	    /* it is set-user-ID or the like, where it would be passed over */
	PRELOAD_SANITIZER,  /* whose run-time library may refuse to start behind another */
	PRELOAD_OWN_MALLOC, /* the program has its malloc in its executable, which comes first */
	PRELOAD_32BIT,
	PRELOAD_LINKER, /* its dynamic linker is not preload_is_linker() */
};

/*
 * The library beside the program that runs, as in a build, or in ../lib/memtraced of it, as
 * installed. 0; -ENOENT: in neither; -ENAMETOOLONG.
 */
int preload_library(char path[PATH_MAX]);

/* What has the library keep books of calls, in the environment of a process that has it loaded. */
#define PRELOAD_KEEPS_BOOKS "MEMTRACED_EXACT=1"
/* The same also when they are not read. */
#define PRELOAD_BOOKS_STAY "MEMTRACED_EXACT=keep"

struct elf_file;

/* Is a sanitizer in it, or in a library that it needs? By the names that its linker looks for. */
bool preload_has_sanitizer(struct elf_file *file);
/* Is it the dynamic linker of a glibc that has what books need: 2.35 or later? */
bool preload_is_linker(struct elf_file *file);

/* Is a file of this path the library, wherever it is? */
bool preload_is_library(const char *path);

/*
 * Of the command `name`, found as execvp() would by `search` (PATH; NULL: the usual one); of a
 * script, its interpreter. What cannot be read is PRELOAD_WORKS: its exec will tell.
 */
enum preload preload_judge(const char *name, const char *search);

/* Why it is not preloaded, "the program is linked statically"; NULL of the first two. */
const char *preload_why_not(enum preload preload);

#endif
