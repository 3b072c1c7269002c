/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/near_name.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#define MAX_NAME_LEN 63
#define MIN_COMPLETED_LEN 3 /* less of a word says too little */

void near_name_init(struct near_name *near, const char *word)
{
	*near = (struct near_name){ .word = word, .best_distance = UINT_MAX };
}

/* How many slips in this word are taken for slips. */
static unsigned int allowed_slips(const char *word)
{
	size_t slips = strlen(word) / 3;

	return slips > 1 ? (unsigned int)slips : 1;
}

/* The distance, or UINT_MAX if it is above allowed_slips(). It is at least that of the lengths. */
static unsigned int small_distance(const char *word, const char *name)
{
	unsigned int most = allowed_slips(word), distance;
	size_t len = strlen(word), len_name = strlen(name);

	if ((len > len_name ? len - len_name : len_name - len) > most)
		return UINT_MAX;
	distance = name_distance(word, name);
	return distance <= most ? distance : UINT_MAX;
}

void near_name_offer(struct near_name *near, const char *name)
{
	unsigned int distance = small_distance(near->word, name);
	size_t len = strlen(near->word);

	if (distance < near->best_distance) {
		near->best = name;
		near->best_distance = distance;
	}
	if (len >= MIN_COMPLETED_LEN && strncmp(near->word, name, len) == 0) {
		near->completion = name;
		near->n_completions++;
	}
}

const char *near_name_get(const struct near_name *near)
{
	if (near->best)
		return near->best;
	return near->n_completions == 1 ? near->completion : NULL;
}

int near_name_find(const char *const *names, size_t n, const char *word, const char **ret_meant)
{
	struct near_name near;

	near_name_init(&near, word);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(names[i], word) == 0)
			return (int)i;
		near_name_offer(&near, names[i]);
	}
	*ret_meant = near_name_get(&near);
	return -1;
}

void near_names_init(struct near_names *near, const char *word)
{
	*near = (struct near_names){ .word = word };
}

/* The less the nearer; UINT_MAX: not near. */
static unsigned int rank_of(const char *word, const char *name)
{
	unsigned int distance = small_distance(word, name);
	const char *part;

	if (distance != UINT_MAX)
		return distance;
	part = strlen(word) >= MIN_COMPLETED_LEN ? strstr(name, word) : NULL;
	if (!part)
		return UINT_MAX;
	return part == name ? MAX_NAME_LEN + 1 : MAX_NAME_LEN + 2;
}

static bool comes_before(unsigned int rank, const char *shown, unsigned int rank2,
			 const char *shown2)
{
	size_t len = strlen(shown), len2 = strlen(shown2);

	if (rank != rank2)
		return rank < rank2;
	return len != len2 ? len < len2 : strcmp(shown, shown2) < 0;
}

bool near_names_have(const struct near_names *near, const char *shown)
{
	for (size_t i = 0; i < near->n; i++)
		if (strcmp(near->best[i].shown, shown) == 0)
			return true;
	return false;
}

void near_names_offer(struct near_names *near, const char *name, const char *shown)
{
	unsigned int rank = rank_of(near->word, name);
	size_t at = near->n;

	if (rank == UINT_MAX || strlen(shown) >= NEAR_NAME_LEN)
		return;
	while (at > 0 &&
	       comes_before(rank, shown, near->best[at - 1].rank, near->best[at - 1].shown))
		at--;
	if (at == NEAR_NAMES)
		return;
	if (near->n < NEAR_NAMES)
		near->n++;
	memmove(&near->best[at + 1], &near->best[at], (near->n - 1 - at) * sizeof(near->best[0]));
	strcpy(near->best[at].shown, shown); /* fits, see above */
	near->best[at].rank = rank;
}

static unsigned int min2(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/*
 * The optimal string alignment form of the Damerau-Levenshtein distance. Of its table, row i is
 * computed from rows i - 1 and i - 2 (for the swaps), so three rows are kept.
 */
unsigned int name_distance(const char *a, const char *b)
{
	unsigned int rows[3][MAX_NAME_LEN + 1];
	size_t len_a = strlen(a), len_b = strlen(b);

	if (len_a > MAX_NAME_LEN || len_b > MAX_NAME_LEN)
		return UINT_MAX;
	for (size_t j = 0; j <= len_b; j++)
		rows[0][j] = (unsigned int)j;
	for (size_t i = 1; i <= len_a; i++) {
		unsigned int *row = rows[i % 3];
		const unsigned int *above = rows[(i - 1) % 3];
		const unsigned int *above2 = rows[(i + 1) % 3]; /* i - 2, modulo 3 */

		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= len_b; j++) {
			unsigned int change = a[i - 1] != b[j - 1];

			row[j] = min2(above[j - 1] + change, 1 + min2(above[j], row[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = min2(row[j], above2[j - 2] + 1);
		}
	}
	return rows[len_a % 3][len_b];
}
