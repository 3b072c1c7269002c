/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * "Did you mean": of the names offered one by one, the one that a mistyped word most likely stands
 * for. For option names here, for formats and probes elsewhere. Pure; allocates nothing.
 */
#ifndef MEMTRACED_CONFIG_NEAR_NAME_H
#define MEMTRACED_CONFIG_NEAR_NAME_H

#include <stddef.h>

struct near_name {
	const char *word;
	const char *best;
	unsigned int best_distance;
	const char *completion; /* the name that the word begins */
	unsigned int n_completions;
};

/* `word` and the names offered must live until near_name_get. */
void near_name_init(struct near_name *near, const char *word);
void near_name_offer(struct near_name *near, const char *name);

/*
 * The name at the smallest distance, if that is at most a third of the word's length (but at least
 * one slip is allowed); else the only one that the word begins; else NULL.
 */
const char *near_name_get(const struct near_name *near);

/*
 * Single-character insertions, deletions, substitutions and swaps of neighbours that turn one into
 * the other, no part being edited twice; UINT_MAX when either is longer than 63 bytes.
 */
unsigned int name_distance(const char *a, const char *b);

#endif
