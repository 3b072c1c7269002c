/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes the library does not touch although it was loaded: those with more rights than
 * who started them, and those whose allocator is a sanitizer's.
 */
#ifndef MEMTRACED_SAMPLE_REFUSAL_H
#define MEMTRACED_SAMPLE_REFUSAL_H

#include <stdbool.h>

bool sample_refused(void);

/* One line on stderr, with the reason. */
void sample_say_refusal(void);

#endif
