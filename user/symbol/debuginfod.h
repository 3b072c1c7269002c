/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files from debuginfod servers, by elfutils' client library, which is loaded when it is
 * asked for: it brings curl with it, and who does not ask needs neither. It blocks for as long as
 * it may take, so nothing may be waiting to be drained. One thread.
 */
#ifndef MEMTRACED_SYMBOL_DEBUGINFOD_H
#define MEMTRACED_SYMBOL_DEBUGINFOD_H

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

struct debuginfod;

/* How many files were found (fetched, or in the client's cache), and how many not. */
struct debuginfod_counts {
	uint64_t found, missing;
	uint64_t failed;    /* no server could be asked, or in time */
	uint64_t not_asked; /* because of that, or the time was over */
	int first_error;    /* of those that failed, negative errno */
};

/*
 * The servers are those in DEBUGINFOD_URLS. `file_ms` bounds the time that one file may take,
 * `all_ms` that of all. 0, -ENOPKG when there is no such library, -ENOMEM.
 */
int debuginfod_new(uint64_t file_ms, uint64_t all_ms, struct debuginfod **ret_debuginfod);
void debuginfod_free(struct debuginfod *debuginfod); /* NULL is legal */
DEFINE_CLEANUP(struct debuginfod, debuginfod_free)

/*
 * The debug file of a build ID. A descriptor; -ENOENT when no server has it, or negative errno.
 * After a failure of all servers the others are not asked for any more: -ECANCELED.
 */
int debuginfod_fetch(struct debuginfod *debuginfod, const uint8_t *build_id, size_t len);

struct debuginfod_counts debuginfod_count(const struct debuginfod *debuginfod);

#endif
