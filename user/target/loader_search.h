/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the C library's dynamic linker looks for a library (ld.so(8)), so that files are known
 * before they are mapped. It need not be right: what is named and not loaded has been read in vain,
 * and what is loaded and was not named is read when it is mapped. Any thread.
 */
#ifndef MEMTRACED_TARGET_LOADER_SEARCH_H
#define MEMTRACED_TARGET_LOADER_SEARCH_H

#include "base/cleanup.h"

/* What ldconfig(8) writes. */
#define LOADER_CACHE "/etc/ld.so.cache"

struct loader_search;

/*
 * `library_path`: LD_LIBRARY_PATH as the program has it, NULL: without; borrowed for good. `cache`:
 * LOADER_CACHE but in tests; without it, or if it is of another format, nothing is found there. 0
 * or -ENOMEM.
 */
int loader_search_new(const char *library_path, const char *cache,
		      struct loader_search **ret_search);
void loader_search_free(struct loader_search *search); /* NULL is legal */
DEFINE_CLEANUP(struct loader_search, loader_search_free)

/*
 * Calls fn with the paths at which `name` may be, the likeliest first, whether or not there is a
 * file, until it returns another value than 0, which is returned. `needed_by`: the path of the file
 * that needs it; `folders`: the DT_RUNPATH of that, NULL: none.
 */
int loader_search_find(const struct loader_search *search, const char *name, const char *needed_by,
		       const char *folders, int (*fn)(const char *path, void *userdata),
		       void *userdata);

/* confstr(_CS_PATH), which execvp(3) uses without a PATH. */
#define PROGRAM_DEFAULT_PATH "/bin:/usr/bin"

/*
 * Opens the file of the command `name`, found as execvp() would by `search` (PATH; NULL: the usual
 * one) before it is executed, for reading; of a script, its interpreter's. Negative errno: there
 * is no regular file that can be read, which its exec will tell.
 */
int program_file_open(const char *name, const char *search);

#endif
