/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * By which form does the program ask for a block, or give it back: malloc and free, new and delete,
 * new[] and delete[]. Those of a C++ run-time library call C's, which alone are counted; ours of
 * their names then leave a mark with their caller's frame. Who begins looks on its stack whether a
 * marked function has called it. The rules are those of bpf/form.bpf.h. Only with ABI_BOOK_ERRORS.
 */
#ifndef MEMTRACED_SAMPLE_BOOK_FORMS_H
#define MEMTRACED_SAMPLE_BOOK_FORMS_H

#include "bpf/abi_book.h"
#include "sample/walk.h"

#include <stdbool.h>
#include <stdint.h>

enum book_form_of { BOOK_FORM_OF_ALLOCS, BOOK_FORM_OF_FREES };

/* A marked call, by its caller's frame; sp 0: there is none. */
struct book_mark_place {
	uint64_t sp, pc;
};

/* What a thread keeps; all zero at its start. */
struct book_mark {
	struct book_mark_place at;
	struct book_mark_place hidden; /* one further out, whose form is not known any more */
	uint32_t form;		       /* enum abi_form; 0: what is at `at` has been done */
	bool is_known;		       /* a marked call or another one was seen to begin */
};

/* A marked function of this form begins whose caller's stack was walked last. */
void book_mark_add(struct book_mark *mark, const struct walker *w, uint32_t form);

/*
 * The form of a call whose caller's stack was walked last; whole_life: all calls of the process
 * have left marks.
 */
uint32_t book_mark_form(struct book_mark *mark, const struct walker *w, bool whole_life);
/* The call of this form has made or freed its block: its mark is done with. */
void book_mark_used(struct book_mark *mark, uint32_t form);

/* Was a block made by one form, and is taken by another? Each with its enum abi_book_function. */
bool book_is_mismatched(uint32_t made, uint32_t made_by, uint32_t taken, uint32_t taken_by);

#endif
