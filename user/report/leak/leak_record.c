/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/leak/leak_record.h"

#include <errno.h>
#include <string.h>

#define SUPPRESSED "suppressed"

int leak_record_emit(const struct leak_result *result, record_fn fn, void *userdata)
{
	const struct loss_totals *totals = loss_records_totals(result->records);
	_cleanup_free_ struct record_leak_place *places =
		calloc(result->n_places + 1, sizeof(*places));
	struct record_leak_sum sums[REACH_CLASSES + 1];
	struct record record = {
		.type = RECORD_LEAKS,
		.leaks = { .slot = result->image,
			   .number = result->number,
			   .errors = totals->errors,
			   .complete = result->stats.end == REACH_COMPLETE,
			   .stopped_ns = result->stopped_ns,
			   .running_threads = result->running_threads,
			   .unknown_blocks = result->unknown_blocks,
			   .older_blocks = result->older_blocks,
			   .n_sums = REACH_CLASSES + 1,
			   .sums = sums,
			   .n_places = result->n_places,
			   .places = places },
	};

	if (!places)
		return -ENOMEM;
	for (int class = 0; class < REACH_CLASSES; class ++)
		sums[class] = (struct record_leak_sum){ reach_class_name((enum reach_class) class),
							totals->classes[class].blocks,
							totals->classes[class].bytes };
	sums[REACH_CLASSES] = (struct record_leak_sum){ SUPPRESSED, totals->suppressed.blocks,
							totals->suppressed.bytes };
	for (size_t i = 0; i < result->n_places; i++)
		places[i] = (struct record_leak_place){ result->places[i].stack,
							result->places[i].fn, result->classes[i] };
	return fn(&record, userdata);
}

static struct loss_sum *find_sum(struct loss_totals *totals, const char *name)
{
	for (int class = 0; class < REACH_CLASSES; class ++)
		if (strcmp(name, reach_class_name((enum reach_class) class)) == 0)
			return &totals->classes[class];
	return strcmp(name, SUPPRESSED) == 0 ? &totals->suppressed : NULL;
}

static struct loss_totals read_totals(const struct record_leaks *record)
{
	struct loss_totals totals = { .errors = record->errors };

	for (size_t i = 0; i < record->n_sums; i++) {
		const struct record_leak_sum *from = &record->sums[i];
		struct loss_sum *to = from->name ? find_sum(&totals, from->name) : NULL;

		if (to)
			*to = (struct loss_sum){ .blocks = from->blocks, .bytes = from->bytes };
	}
	return totals;
}

static int read_places(const struct record_leaks *record, struct leak_result *result)
{
	result->places = calloc(record->n_places + 1, sizeof(*result->places));
	result->classes = calloc(record->n_places + 1, sizeof(*result->classes));
	if (!result->places || !result->classes)
		return -ENOMEM;
	for (size_t i = 0; i < record->n_places; i++) {
		const struct record_leak_place *from = &record->places[i];

		if (from->class >= REACH_CLASSES)
			continue;
		result->places[result->n_places] = (struct leak_place){ from->stack, from->fn };
		result->classes[result->n_places++] = from->class;
	}
	return 0;
}

int leak_record_read(const struct record_leaks *record, struct leak_result **ret_result)
{
	_cleanup_(leak_result_free_p) struct leak_result *result = calloc(1, sizeof(*result));
	struct loss_totals totals = read_totals(record);
	int r;

	if (!result)
		return -ENOMEM;
	result->image = record->slot;
	result->number = record->number;
	result->stats.end = record->complete ? REACH_COMPLETE : REACH_CUT_ROOTS;
	result->stopped_ns = record->stopped_ns;
	result->running_threads = record->running_threads;
	result->unknown_blocks = record->unknown_blocks;
	result->older_blocks = record->older_blocks;
	result->written = true;
	r = read_places(record, result);
	if (r == 0)
		r = loss_records_of_totals(&totals, &result->records);
	if (r < 0)
		return r;
	*ret_result = TAKE_PTR(result);
	return 0;
}
