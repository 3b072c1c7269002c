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

#include "analyze/reach.h"
#include "base/cleanup.h"
#include "base/strbuf.h"

struct suppressions;

/*
 * Of stacks, innermost first, beginning with the allocator's function. An inlined function is a
 * frame of its own, before the one that holds it, with that one's object; NULL: not known.
 */
struct suppression_frame {
	const char *linkage;  /* as in the symbol table; of inlined functions NULL */
	const char *function; /* demangled */
	const char *object;   /* its path */
	const char *file;     /* of the source; its last component is matched, too */
	uint32_t line;	      /* 0: not known */
};

enum suppression_kind { SUPPRESSION_LEAK, SUPPRESSION_FREE, SUPPRESSION_KINDS };

struct suppression_use {
	const char *name;
	const char *file; /* where it stands, and the line of its name */
	unsigned int line;
	uint64_t records, blocks, bytes;
};

int suppressions_new(struct suppressions **ret_suppressions);
void suppressions_free(struct suppressions *suppressions);
DEFINE_CLEANUP(struct suppressions, suppressions_free)

/*
 * Adds what a file says; `name` is for messages. 0; -EINVAL with "NAME:LINE: REASON" in `error`,
 * and then nothing of this text is added; -ENOMEM. Of a path also what open and read return, with
 * the reason in `error`. -EFBIG: more than 16 MiB.
 */
int suppressions_add_text(struct suppressions *suppressions, const char *name, const char *text,
			  size_t len, struct strbuf *error);
int suppressions_add_file(struct suppressions *suppressions, const char *path,
			  struct strbuf *error);
/* What libc, the dynamic linker and libstdc++ hold by design: suppressions_default.c. */
int suppressions_add_default(struct suppressions *suppressions);

/*
 * The first entry that matches, as an index for those below, or -1. `class` is looked at for leaks
 * only. Nothing is counted.
 */
int suppressions_match(const struct suppressions *suppressions, enum suppression_kind kind,
		       enum reach_class class, const struct suppression_frame *frames, size_t n);
/* A record of so many blocks and bytes was left out because of entry `index`. */
void suppressions_count(struct suppressions *suppressions, int index, uint64_t blocks,
			uint64_t bytes);

/* All entries that are kept, in the order of their files. */
size_t suppressions_n(const struct suppressions *suppressions);
struct suppression_use suppressions_use(const struct suppressions *suppressions, size_t index);

/*
 * How many frames at the start of a stack are allocator functions called by allocator functions:
 * malloc by operator new, that by operator new[]. Valgrind, which replaces the outer, has no such
 * frames: reports leave them out, and so does suppressions_match.
 */
size_t suppression_inner_frames(const struct suppression_frame *frames, size_t n);

/* Appends an entry for this record, which Valgrind reads as well. At most n_max frames; 0: 24. */
void suppression_generate(struct strbuf *sb, enum suppression_kind kind, enum reach_class class,
			  const struct suppression_frame *frames, size_t n, size_t n_max);

#endif
