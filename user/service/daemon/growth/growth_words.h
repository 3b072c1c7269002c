/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is said in one line of the page faults that were sampled of a process, and of what it has
 * mapped. Pure.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_GROWTH_GROWTH_WORDS_H
#define MEMTRACED_SERVICE_DAEMON_GROWTH_GROWTH_WORDS_H

#include "report/view/view_counts.h"
#include "report/view/view_site.h"

/*
 * "12 of its page faults were sampled, one in 1000, in 3.0 h: ~46.9 MiB if all were of small
 * pages"; or that there are none.
 */
void growth_words(const struct view_event *faults, uint64_t seen_ns, uint64_t page_size,
		  struct strbuf *out);

/*
 * "fill (grow.c:12), ~23.4 MiB": of the stack with most samples the innermost frame that is neither
 * the kernel's nor the C library's, if there is one. False: there is no stack, nothing is added.
 */
bool growth_words_place(const struct view_event *faults, uint64_t page_size, struct strbuf *out);

/*
 * "80.0 MiB of address space was mapped in that time and not unmapped (12 regions)", of its newest
 * image; "about" before it where regions were lost. How much of that is in memory or only reserved
 * (PROT_NONE) is not known. False: it has
 * nothing mapped, nothing is added.
 */
bool growth_words_mapped(const struct view_process *process, struct strbuf *out);
/* "fill (grow.c:12), 60.0 MiB", as growth_words_place, of the site of the class that holds most. */
bool growth_words_site(const struct view_process *process, enum view_class class,
		       struct strbuf *out);

#endif
