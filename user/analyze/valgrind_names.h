/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What suppressions are asked about. Plain data.
 */
#ifndef MEMTRACED_ANALYZE_VALGRIND_NAMES_H
#define MEMTRACED_ANALYZE_VALGRIND_NAMES_H

#include "analyze/reach_types.h"
#include "base/strbuf.h"
#include "symbol/symbol.h"

/*
 * Of stacks, innermost first, beginning with the allocator's function. An inlined function is a
 * frame of its own, before the one that holds it, with that one's object; NULL: not known.
 */
struct suppression_frame {
	const char *linkage;  /* as in the symbol table, or mangled in the debug information */
	const char *function; /* demangled */
	const char *object;   /* its path */
	const char *file;     /* of the source; its last component is matched, too */
	uint32_t line;	      /* 0: not known */
	/* As Valgrind calls it, as of struct symbol_frame (symbol/symbol.h). */
	const char *valgrind;
	enum symbol_seen seen;
	bool is_inline;
	/*
	 * It is new, delete or free, but another form of it may have been called and have jumped to
	 * this one.
	 */
	bool is_any_form;
};

/* Memcheck's kinds of errors that can be found here. */
enum suppression_kind {
	SUPPRESSION_LEAK,
	SUPPRESSION_FREE,
	SUPPRESSION_FISHY, /* a size that is negative when it is taken as signed */
	SUPPRESSION_REALLOC_ZERO,
	SUPPRESSION_KINDS
};

/*
 * Names of functions, and patterns of such, so that they can be compared although compilers and
 * tools write them in several ways. Pure.
 */

/* `*`: any run of characters, `?`: any one; the whole string must match. */
bool supp_glob(const char *pattern, const char *string);

/*
 * The name without what changes from build to build, malloc'ed: Rust's hashes and crate
 * disambiguators, mangled or not, and ELF versions. In mangled names there is `*` for the former.
 * Of such a name there is nothing to leave out again.
 * Success with NULL: there is nothing of the kind. Or -ENOMEM.
 */
int supp_stable_name(const char *name, char **ret_name);

/* The last part of a C++ or Rust name, without arguments: where it begins, and its length. */
const char *supp_base_name(const char *name, size_t *ret_len);

/* Is it the name of a function of the C library that calls main, directly or not? */
bool supp_calls_main(const char *name);
/*
 * Does Valgrind name the frame "(below main)"? It names each symbol so that calls main, but no
 * inlined function.
 */
bool supp_is_below_main(const struct suppression_frame *frame);

/*
 * Appends the function's name as Valgrind writes it into suppressions, with a wildcard for what
 * changes from build to build, and where it is not known which name that is. A debug information's
 * name without a mangled one has scope and arguments, of which Valgrind has the last part alone.
 */
void supp_names_write(const struct suppression_frame *frame, struct strbuf *out);
/* A name of the program's in a pattern: `?` for each `*`, which would match others' names. */
void supp_write_literal(const char *name, size_t len, struct strbuf *out);

/* What a frame is called, by all names that patterns may use. */
struct supp_names {
	const struct suppression_frame *frame;
	char *stable_linkage, *stable_function; /* NULL: as the others */
	char *base;				/* of inlined functions, as Valgrind calls them */
};

/* 0 or -ENOMEM. The frame is kept. */
int supp_names_init(struct supp_names *names, const struct suppression_frame *frame);
void supp_names_done(struct supp_names *names);

/* `stable` is the pattern's supp_stable_name() or NULL. */
bool supp_names_match_function(const struct supp_names *names, const char *pattern,
			       const char *stable);

/*
 * How the inner end of a stack looks in Valgrind, which replaces the functions that a program
 * calls, where we see those that are called in the end. Pure.
 */

/* Is it one of the functions that massif takes for allocators: malloc, operator new, ...? */
bool alloc_frames_is_allocator(const struct suppression_frame *frame);

/*
 * How many frames at the start of a stack are allocator functions called by operator new: malloc by
 * that, and that by operator new[]; the same of free and operator delete. Reports leave them out,
 * as Valgrind has no such frames.
 */
size_t alloc_frames_inner(const struct suppression_frame *frames, size_t n);

/*
 * Valgrind 3.19 has a frame "memalign" within posix_memalign (*ret_skip is 0) and instead of
 * aligned_alloc and valloc (1). False: the stack begins with none of these.
 */
bool alloc_frames_memalign(const struct suppression_frame *frames, size_t n, size_t *ret_skip);

/* Is it new, delete or free, which other forms may have jumped to? */
bool alloc_frames_has_forms(const struct suppression_frame *frame);

/*
 * What Valgrind calls the function in suppressions of its argument: where the name begins, and its
 * length.
 */
const char *alloc_frames_valgrind_name(const struct suppression_frame *frame, size_t *ret_len);

#endif
