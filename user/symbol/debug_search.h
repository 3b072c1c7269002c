/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the separate debug file of an ELF image, by build ID and .gnu_debuglink, and the common
 * file that dwz moved shared DWARF to (FORMATS 10.4): in the target's root first, then on this
 * host, by no path that leaves the root it was found in; when asked for, from debuginfod servers.
 */
#ifndef MEMTRACED_SYMBOL_DEBUG_SEARCH_H
#define MEMTRACED_SYMBOL_DEBUG_SEARCH_H

#include "symbol/symbol_file.h"
#include "target/file_open.h"

struct debuginfod;

/* Each may be absent: not found, or not needed because the image holds DWARF itself. */
struct debug_files {
	struct symbol_file debug, alt;
	/*
	 * Candidates that no worker could say anything of, that the reader may not read, or that
	 * belong to others.
	 */
	uint64_t unread;
};

/*
 * `path` is the image's own, as the target sees it; `root` the target's root, or NULL for this
 * host's. A file is taken only when its build ID, or without one its CRC, is the image's, and the
 * reader may read it: whoever runs a program says what its debug file is. As other processes may
 * map the same image, it belongs to root or the image's owner, but in this host's /usr/lib/debug.
 * Adds to `files`, in which none is. 0 or -ENOMEM.
 */
int debug_search(struct worker *worker, const struct symbol_file *image, const char *path,
		 const char *root, const struct file_reader *reader, struct debug_files *files);

/* The same from debuginfod servers, for what was not found. 0 or -ENOMEM. */
int debug_fetch(struct worker *worker, const struct symbol_file *image,
		struct debuginfod *debuginfod, struct debug_files *files);

#endif
