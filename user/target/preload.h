/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Our library that is preloaded, for --sample and for books: where it is, whether a program can do
 * with it, and how it is taken out of an environment. Nothing is loaded or started; any thread.
 */
#ifndef MEMTRACED_TARGET_PRELOAD_H
#define MEMTRACED_TARGET_PRELOAD_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

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

/* --- in the environment of a process ---------------------------------------------------------- */

/*
 * Our library in the environment of a process that stands at its exec, before its dynamic linker
 * has looked there. Needs PTRACE_MODE_ATTACH; any thread.
 */

/*
 * Can the process open the library by this path: is it the same file in its root, and may its user
 * read it? Where that is not certain (by supplementary groups alone), false; and where its system
 * calls are filtered (seccomp(2)), as one of the library's may end it. library_fd: open.
 */
bool preload_is_usable(pid_t pid, const char *library, int library_fd);

/*
 * Takes the library out of the process's LD_PRELOAD; what else is there stays. 1: it was there; 0;
 * or negative errno.
 */
int preload_withdraw(pid_t pid, const char *library);

/* The new text of LD_PRELOAD's value, in place; false: the library is not in it. Pure. */
bool preload_drop(char *value, const char *library);

#endif
