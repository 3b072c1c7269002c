/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What memtraced knows of allocators: one row per function that hands memory out or takes it
 * back, and one per allocator whose realloc(p, 0) has its own rule. Static data, no state. A new
 * allocator is new rows.
 */
#ifndef MEMTRACED_PROBE_ALLOCATORS_H
#define MEMTRACED_PROBE_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct allocator_function {
	const char *name;
	uint8_t kind;  /* enum abi_kind, perhaps with ABI_FAILURE_FREES */
	uint16_t args; /* ABI_SIZE_*, ABI_BLOCK_ARG */
	/* Can be left by an exception: a return probe would turn a caught one into abort. */
	bool may_throw;
	/*
	 * Is not probed where it gets its memory from, or gives it to, another function of the
	 * table. The C functions never are this: glibc's realloc calls malloc on some of its ways
	 * and resizes in place on others, tcmalloc's free_sized calls free on some.
	 */
	bool may_forward;
	/* The C library's calls realloc, whoever's that is: it makes and takes no block itself. */
	bool by_realloc;
	bool by_user; /* probe/custom_allocators.h: preferred to rows of the table */
};

/* Where an allocator leaves addresses of blocks in use, with which the program holds nothing. */
enum allocator_traces {
	ALLOCATOR_TRACES_NONE,
	/* In its own data: starts of slabs, places of a cache that were not written since. */
	ALLOCATOR_TRACES_APART,
	/* In a block when it is handed out: the next free one, which may be handed out then. */
	ALLOCATOR_TRACES_INSIDE,
};

struct allocator_family {
	const char *name;
	/* realloc(p, 0) with p not NULL frees p and returns NULL. */
	bool realloc0_frees;
	enum allocator_traces traces;
	/* It frees what its users have freed before: probe/inner_frees.h. */
	bool has_inner_frees;
	/*
	 * A symbol that is its free, where all functions by which it hands out blocks are in the
	 * table, even inside the allocator; else NULL.
	 */
	const char *own_free;
	const char *prefixes[2]; /* of its functions' own names; unused ones are NULL */
	/* Function symbol of an object whose functions without a prefix are this allocator's. */
	const char *marker;
};

/* All rows, in strcmp's order of names. */
const struct allocator_function *allocator_functions(size_t *ret_n);

/* The row of a symbol, or NULL. */
const struct allocator_function *allocator_function_find(const char *symbol);

/* Below 0 where, of two functions at one address, `a` is what the report is to call them. */
int allocator_function_compare(const struct allocator_function *a,
			       const struct allocator_function *b);

/* The family that the function's name belongs to, or NULL: any may have it. */
const struct allocator_family *allocator_family_of(const struct allocator_function *function);

/*
 * The forms that the function's name says: ABI_FORM_C, or 1 << enum abi_form, of new and delete or
 * new[] and delete[]; 0: none, such as Rust's and the user's.
 */
uint8_t allocator_function_forms(const struct allocator_function *function);

/* A number from 1 on that families of one name share; 0 for NULL. */
uint8_t allocator_family_number(const struct allocator_family *family);

/* The family of that number, or NULL. */
const struct allocator_family *allocator_family_numbered(uint8_t number);

/*
 * The family that `symbol` is a marker of, or NULL. Families are one array: of two that an object
 * has markers of the earlier counts, as an executable that brings its own allocator may hold parts
 * of libc's as well.
 */
const struct allocator_family *allocator_family_marked(const char *symbol);

/* Whether the function returns the new block itself. */
bool allocator_returns_block(const struct allocator_function *function);

/* Bit n-1 is set where a probe at the entry reads argument n. */
unsigned allocator_argument_mask(const struct allocator_function *function);

/* Whether `via` can be how `function` does its work, so that `function` needs no probe. */
bool allocator_forwards_to(const struct allocator_function *function,
			   const struct allocator_function *via);

#endif
