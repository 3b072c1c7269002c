/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Suppressions in Valgrind's syntax: which leaks and heap errors are not to be reported. Filled
 * from files, asked for each record, and counts what it was used for. One thread.
 *
 * A pattern of fun: may be the name as in the symbol table (Valgrind's way), or demangled. Rust's
 * hashes and crate disambiguators, and ELF versions, need not be written, nor need they agree.
 */
#ifndef MEMTRACED_ANALYZE_SUPPRESSIONS_H
#define MEMTRACED_ANALYZE_SUPPRESSIONS_H

#include "analyze/valgrind_names.h"
#include "base/cleanup.h"
#include "base/strbuf.h"

struct suppressions;

struct suppression_use {
	enum suppression_kind kind;
	const char *name;
	const char *file; /* where it stands, and the line of its name */
	unsigned int line;
	uint64_t records, blocks, bytes;
};

int suppressions_new(struct suppressions **ret_suppressions);
void suppressions_free(struct suppressions *suppressions);
DEFINE_CLEANUP(struct suppressions, suppressions_free)

/*
 * Adds what a file says; `name` is for messages. 0, with a warning in `error` if entries were
 * skipped that are not understood; -EINVAL with "NAME:LINE: REASON" in `error`, and then nothing of
 * this text is added; -ENOMEM. Of a path also what open and read return, with
 * the reason in `error`. -EFBIG: more than 16 MiB.
 */
int suppressions_add_text(struct suppressions *suppressions, const char *name, const char *text,
			  size_t len, struct strbuf *error);
int suppressions_add_file(struct suppressions *suppressions, const char *path,
			  struct strbuf *error);
/* What libc, the dynamic linker and libstdc++ hold by design. */
int suppressions_add_default(struct suppressions *suppressions, bool libc, bool libstdcxx);

/*
 * The first entry that matches, as an index for those below; -ENOENT or -ENOMEM. `class` is looked
 * at for leaks only. Nothing is counted.
 */
int suppressions_match(const struct suppressions *suppressions, enum suppression_kind kind,
		       enum reach_class class, const struct suppression_frame *frames, size_t n);
/* The same of leaks, by the default entries alone. */
int suppressions_match_default(const struct suppressions *suppressions, enum reach_class class,
			       const struct suppression_frame *frames, size_t n);
/* A record of so many blocks and bytes was left out because of entry `index`. */
void suppressions_count(struct suppressions *suppressions, int index, uint64_t blocks,
			uint64_t bytes);
/* Entries from `first` on have left nothing out. */
void suppressions_forget_uses(struct suppressions *suppressions, size_t first);
/* So many errors of one place were left out because of entry `index`. */
void suppressions_count_errors(struct suppressions *suppressions, int index, uint64_t errors);

/* All entries that are kept, in the order of their files. */
size_t suppressions_n(const struct suppressions *suppressions);
struct suppression_use suppressions_use(const struct suppressions *suppressions, size_t index);

#endif
