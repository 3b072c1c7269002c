/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What reports and messages say of programs of which less is seen than of C
 * (probe/program_kinds.h), and what helps. Pure functions.
 */
#ifndef MEMTRACED_REPORT_TEXT_PROGRAM_WORDS_H
#define MEMTRACED_REPORT_TEXT_PROGRAM_WORDS_H

#include "base/strbuf.h"
#include "probe/program_kinds.h"
#include "report/view/view.h"

/*
 * "Python; objects of ...", or nothing where there is nothing to say of what is looked at:
 * allocations (`heap`), stacks (`code`). `image`: NULL, or whose numbers and names commands have.
 */
void program_words(enum program_kind kind, const struct model_process *image, bool heap, bool code,
		   struct strbuf *out);
/* The same of what a run has looked at. */
void program_words_of_run(enum program_kind kind, const struct model_process *image,
			  const struct view *view, struct strbuf *out);

/* Has any code of the image been of that kind? */
static inline bool program_is(const struct model_process *image, enum program_kind kind)
{
	return image->kinds & UINT32_C(1) << kind;
}

#endif
