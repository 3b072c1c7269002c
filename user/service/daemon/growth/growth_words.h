/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is said in one line of the page faults that were sampled of a process. Pure.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_GROWTH_GROWTH_WORDS_H
#define MEMTRACED_SERVICE_DAEMON_GROWTH_GROWTH_WORDS_H

#include "report/view/view_counts.h"

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

#endif
