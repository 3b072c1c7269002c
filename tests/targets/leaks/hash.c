/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table with chains, of which some entries are taken out and not freed. */
#include "leaks.h"

struct entry {
	struct entry *next;
	char *key, *value;
};

static struct entry *buckets[64];

static void add(unsigned int i)
{
	struct entry *entry = malloc(sizeof(*entry));

	entry->key = malloc(8 + i % 9);
	entry->value = malloc(100);
	entry->next = buckets[i * 7 % 64];
	buckets[i * 7 % 64] = entry;
}

LOSE lose(void)
{
	for (unsigned int i = 0; i < 500; i++)
		add(i);
	for (unsigned int i = 0; i < 64; i += 3)
		buckets[i] = buckets[i]->next;
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
