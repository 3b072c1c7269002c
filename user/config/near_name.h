/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * "Did you mean": of the names offered one by one, the one that a mistyped word most likely stands
 * for. For option names here, for formats and probes elsewhere. Pure; allocates nothing.
 */
#ifndef MEMTRACED_CONFIG_NEAR_NAME_H
#define MEMTRACED_CONFIG_NEAR_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define NEAR_NAMES 3
#define NEAR_NAME_LEN 160

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
 * The index of the word among `n` names; -1: it is none of them, *ret_meant is the nearest or NULL.
 */
int near_name_find(const char *const *names, size_t n, const char *word, const char **ret_meant);

/* Several, for names that do not outlive being offered. */
struct near_names {
	const char *word;
	struct {
		char shown[NEAR_NAME_LEN];
		unsigned int rank;
	} best[NEAR_NAMES]; /* the nearest first */
	size_t n;
};

/*
 * `word` must live until the last name has been offered. `shown` is what is kept for `name`. Kept
 * are names at a distance that near_name_get allows, then those that the word begins, then those
 * that it is a part of; of equal ones, first the shorter, then by the alphabet.
 */
void near_names_init(struct near_names *near, const char *word);
void near_names_offer(struct near_names *near, const char *name, const char *shown);
/* Is that kept already? */
bool near_names_have(const struct near_names *near, const char *shown);

/*
 * Single-character insertions, deletions, substitutions and swaps of neighbours that turn one into
 * the other, no part being edited twice; UINT_MAX when either is longer than 63 bytes.
 */
unsigned int name_distance(const char *a, const char *b);

#endif
