/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/heaptrack/heaptrack_lines.h"

#include <errno.h>
#include <inttypes.h>

#define NUMBER_NONE UINT64_MAX

struct key {
	uint64_t size, trace;
};

/* One of the numbers of a kind. */
struct number {
	uint64_t number; /* NUMBER_NONE before it is used */
	uint64_t held;
};

struct heaptrack_kind {
	struct number turns[2], temporary;
};

void heaptrack_lines_begin(struct heaptrack_lines *lines, FILE *file)
{
	*lines = (struct heaptrack_lines){
		.file = file,
		.last = NUMBER_NONE,
		.first_kind = SIZE_MAX,
	};
}

void heaptrack_lines_done(struct heaptrack_lines *lines)
{
	interns_done(&lines->keys);
	vec_done(&lines->kinds);
}

int heaptrack_lines_kind(struct heaptrack_lines *lines, uint64_t size, uint64_t trace,
			 size_t *ret_kind)
{
	const struct key key = { size, trace };
	const struct number unused = { .number = NUMBER_NONE };
	int r = interns_add(&lines->keys, &key, sizeof(key), ret_kind);

	if (r != 1)
		return r;
	return vec_push(&lines->kinds, (struct heaptrack_kind){ { unused, unused }, unused });
}

static void put_take(struct heaptrack_lines *lines, size_t kind, struct number *number)
{
	if (number->number == NUMBER_NONE) {
		const struct key *key = interns_get(&lines->keys, kind);

		fprintf(lines->file, "a %" PRIx64 " %" PRIx64 "\n", key->size, key->trace);
		number->number = lines->n_numbers++;
	}
	fprintf(lines->file, "+ %" PRIx64 "\n", number->number);
	lines->last = number->number;
}

static void put_drop(struct heaptrack_lines *lines, uint64_t number)
{
	fprintf(lines->file, "- %" PRIx64 "\n", number);
	lines->last = NUMBER_NONE;
}

/*
 * Readers keep 0 for "no allocation before": a block of that number is freed as temporary, but
 * right after another one was allocated. So it is one block alone that has it, if it is kept.
 */
void heaptrack_lines_take(struct heaptrack_lines *lines, size_t kind)
{
	struct number *turns = lines->kinds.data[kind].turns;
	size_t i = turns[0].held > turns[1].held;

	put_take(lines, kind, &turns[i]);
	if (lines->last > 0) {
		turns[i].held++;
		return;
	}
	turns[i].number = NUMBER_NONE;
	lines->first_kind = kind;
}

static bool drop_first(struct heaptrack_lines *lines, size_t kind, bool temporary)
{
	const struct number *turns = lines->kinds.data[kind].turns;
	bool is_safe = lines->last != NUMBER_NONE && lines->last > 0;

	if (lines->first_kind != kind)
		return false;
	if (temporary ? lines->last > 0 : !is_safe && turns[0].held + turns[1].held > 0)
		return false;
	lines->n_false += !temporary && !is_safe;
	put_drop(lines, 0);
	lines->first_kind = SIZE_MAX;
	return true;
}

void heaptrack_lines_drop(struct heaptrack_lines *lines, size_t kind, bool temporary)
{
	struct number *turns = lines->kinds.data[kind].turns;
	size_t i;

	if (drop_first(lines, kind, temporary))
		return;
	/* The one that was taken last, or the other. */
	i = turns[1].held > 0 && turns[1].number == lines->last;
	if (!temporary && turns[i].number == lines->last)
		i = !i;
	if (turns[i].held == 0)
		i = !i;
	if (turns[i].held == 0)
		return;
	lines->n_false += !temporary && turns[i].number == lines->last;
	turns[i].held--;
	put_drop(lines, turns[i].number);
}

void heaptrack_lines_pass(struct heaptrack_lines *lines, size_t kind)
{
	struct number *number = &lines->kinds.data[kind].temporary;

	put_take(lines, kind, number);
	put_drop(lines, number->number);
}
