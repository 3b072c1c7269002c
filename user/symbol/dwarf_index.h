/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions, inlined calls and source lines by address, from DWARF by libdw. Units are found
 * through their own ranges, since clang and rustc write no .debug_aranges; units of DWARF 2, which
 * has no such ranges, through their line tables. A unit's functions are indexed when an address
 * first falls into it. Split DWARF (.dwo) is not opened: its path is the traced program's choice.
 * One thread.
 */
#ifndef MEMTRACED_SYMBOL_DWARF_INDEX_H
#define MEMTRACED_SYMBOL_DWARF_INDEX_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Deeper inlining is cut at its inner end. */
#define DWARF_INDEX_MAX_FRAMES 64

struct dwarf_index;
struct elf_image;

/* Strings are the index's. */
struct dwarf_frame {
	const char *name;    /* as in the source, with its scope; NULL if unknown or mangled */
	const char *linkage; /* mangled, or NULL */
	const char *file;    /* with its folder; or NULL */
	uint32_t line;	     /* 0: unknown */
	uint64_t entry;	     /* of a function that is not inlined; 0: unknown */
	/* Of one that is inlined: the name without its scope, and where its description is. */
	const char *base;
	bool is_elsewhere; /* in another unit */
	/* Of the one that is not: what is inlined into it is in a type, or in clang's DWARF 5. */
	bool is_hidden;
};

/*
 * `code` says which addresses can be code, `debug` holds the DWARF (it may be the same), `alt` what
 * dwz moved out of it, or NULL. All must outlive the index. 0, -ENODATA when there is no DWARF or
 * more than can be taken in, or -ENOMEM.
 */
int dwarf_index_new(const struct elf_image *code, struct elf_image *debug, struct elf_image *alt,
		    struct dwarf_index **ret_index);
void dwarf_index_free(struct dwarf_index *index); /* NULL is legal */
DEFINE_CLEANUP(struct dwarf_index, dwarf_index_free)

/*
 * Fills the frames at the address, the innermost inlined function first, the physical function
 * last; none when the address is in no unit. 0 or -ENOMEM.
 */
int dwarf_index_find(struct dwarf_index *index, uint64_t vaddr,
		     struct dwarf_frame frames[DWARF_INDEX_MAX_FRAMES], size_t *ret_n_frames);

#endif
