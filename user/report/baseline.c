/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/baseline.h"

#include "base/hashmap.h"
#include "report/view/view_resolve.h"

#include <errno.h>

struct row {
	image_t image;
	uint64_t key; /* of the stack */
	struct baseline_values had;
};

struct baseline {
	uint64_t time_ns;
	VEC(struct row) rows; /* sorted by image and key */
};

static struct row row_of(const struct sample *sample)
{
	const struct view_stack *stack = sample->stack;
	uint64_t class = sample->site ? (uint64_t)sample->site->class : 0;
	/* By files and by addresses: code of a run-time is told by these alone. */
	uint64_t key = hash_u64(view_stack_id(stack, class) ^ view_stack_hash(stack));
	struct row row = { .image = sample->image->id, .had = { sample->count, sample->value } };

	row.key = key ^ ((uint64_t)stack->lost << 1 | (uint64_t)stack->kernel_lost);
	if (sample->site)
		row.had = (struct baseline_values){ sample->site->allocs, sample->site->bytes };
	return row;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (!image_is(x->image, y->image))
		return x->image.n < y->image.n ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static int add_row(const struct sample *sample, void *userdata)
{
	struct baseline *baseline = userdata;

	return vec_push(&baseline->rows, row_of(sample));
}

int baseline_take(const struct view *view, struct baseline **ret_baseline)
{
	_cleanup_(baseline_free_p) struct baseline *baseline = calloc(1, sizeof(*baseline));
	int r;

	if (!baseline)
		return -ENOMEM;
	baseline->time_ns = view_now_ns(view);
	r = samples_of_classes(view, add_row, baseline);
	if (r < 0)
		return r;
	vec_sort(&baseline->rows, compare_rows);
	*ret_baseline = TAKE_PTR(baseline);
	return 0;
}

void baseline_free(struct baseline *baseline)
{
	if (!baseline)
		return;
	vec_done(&baseline->rows);
	free(baseline);
}

uint64_t baseline_time_ns(const struct baseline *baseline)
{
	return baseline->time_ns;
}

/* A count that has fallen is one that began anew. */
static uint64_t since(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

struct baseline_values baseline_since(const struct baseline *baseline, const struct sample *sample)
{
	struct row row = row_of(sample), *before = NULL;

	if (baseline && baseline->rows.len > 0)
		before = bsearch(&row, baseline->rows.data, baseline->rows.len, sizeof(row),
				 compare_rows);
	if (!before)
		return row.had;
	return (struct baseline_values){ since(row.had.count, before->had.count),
					 since(row.had.value, before->had.value) };
}
