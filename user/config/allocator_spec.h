/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An allocator that --allocator names: "malloc=pool_get:size@2,ret;free=pool_put:ptr@2".
 *
 *   SPEC     = PART *( ";" PART )
 *   PART     = "object=" NAME / ROLE "=" FUNCTION [ ":" PLACE *( "," PLACE ) ]
 *   ROLE     = "malloc" / "calloc" / "realloc" / "free" / "inside"
 *   FUNCTION = SYMBOL / "0x" ADDRESS
 *   PLACE    = ( "size" / "count" / "ptr" / "out" ) "@" 1-5 / "ret" / "zero-frees" / "throws"
 *
 * Only the text is looked at; whether a program has such functions is seen when it is traced. Pure
 * functions.
 */
#ifndef MEMTRACED_CONFIG_ALLOCATOR_SPEC_H
#define MEMTRACED_CONFIG_ALLOCATOR_SPEC_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum allocator_role {
	ALLOCATOR_MALLOC,
	ALLOCATOR_CALLOC,
	ALLOCATOR_REALLOC,
	ALLOCATOR_FREE,
	ALLOCATOR_INSIDE, /* nothing that it calls counts */
};

/* What is said to be in an argument. */
enum allocator_place { PLACE_SIZE, PLACE_COUNT, PLACE_PTR, PLACE_OUT, N_PLACES };
#define ALLOCATOR_MAX_ARGUMENT 5

struct allocator_spec_function {
	enum allocator_role role;
	char *name;		    /* as given: a symbol or an address */
	uint64_t address;	    /* 0: `name` is a symbol */
	uint8_t argument[N_PLACES]; /* from 1; 0: there is none */
	bool zero_frees;	    /* realloc(p, 0) frees p and returns NULL */
	bool throws;		    /* can be left by an exception */
};

struct allocator_spec {
	char *text;   /* as given */
	char *object; /* a file's name, with a slash its path; may be a pattern; or NULL */
	struct allocator_spec_function *functions;
	size_t n_functions; /* 1 or more */
};

/*
 * 0 with *ret_spec filled, to be released with allocator_spec_done; -EINVAL with one line in *error
 * that says what is wrong, where, and what to give; or -ENOMEM.
 */
int allocator_spec_parse(const char *text, struct allocator_spec *ret_spec, struct strbuf *error);
void allocator_spec_done(struct allocator_spec *spec);

#endif
