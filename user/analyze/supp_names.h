/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of functions, and patterns of such, so that they can be compared although compilers and
 * tools write them in several ways. Pure.
 */
#ifndef MEMTRACED_ANALYZE_SUPP_NAMES_H
#define MEMTRACED_ANALYZE_SUPP_NAMES_H

#include "analyze/supp_types.h"

/* `*`: any run of characters, `?`: any one; the whole string must match. */
bool supp_glob(const char *pattern, const char *string);

/*
 * The name without what changes from build to build, malloc'ed: Rust's hashes and crate
 * disambiguators, mangled or not, and ELF versions. In mangled names `with` is put for the former.
 * Success with NULL: there is nothing of the kind. Or -ENOMEM.
 */
int supp_stable_name(const char *name, const char *with, char **ret_name);

/* The last part of a C++ or Rust name, without arguments: where it begins, and its length. */
const char *supp_base_name(const char *name, size_t *ret_len);

/* Is it the name of a function of the C library that calls main, directly or not? */
bool supp_calls_main(const char *name);
/*
 * Does Valgrind name the frame "(below main)"? It names each symbol so that calls main, but no
 * inlined function.
 */
bool supp_is_below_main(const struct suppression_frame *frame);

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

#endif
