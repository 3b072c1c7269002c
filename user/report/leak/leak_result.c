/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/leak/leak_result.h"

#include "base/hashmap.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static_assert(LEAK_KIND_DEFINITE == 1U << REACH_DEFINITE &&
		      LEAK_KIND_POSSIBLE == 1U << REACH_POSSIBLE &&
		      LEAK_ALL_HEURISTICS << REACH_STDSTRING == REACH_ALL_HEURISTICS,
	      "options and analysis agree on kinds and heuristics");
static_assert((int)LEAK_RESOLUTION_LOW == LOSS_LOW && (int)LEAK_RESOLUTION_MED == LOSS_MED &&
		      (int)LEAK_RESOLUTION_HIGH == LOSS_HIGH,
	      "options and analysis agree on resolutions");

struct known_place {
	struct leak_place place;
	uint32_t index;
};

static uint64_t place_hash(const void *item)
{
	const struct known_place *known = item;

	return hash_u64(known->place.stack ^ hash_u64(known->place.fn));
}

static bool place_equal(const void *item_a, const void *item_b)
{
	const struct known_place *a = item_a, *b = item_b;

	return a->place.stack == b->place.stack && a->place.fn == b->place.fn;
}

static const struct hashmap_ops place_ops = { place_hash, place_equal, free };

static int find_place(struct hashmap *known, const struct live_block *block,
		      struct leak_result *result, uint32_t *ret_index)
{
	struct known_place key = { .place = { block->stack, block->fn } };
	struct known_place *found = hashmap_find(known, &key);
	int r;

	if (!found) {
		_cleanup_free_ struct known_place *added = malloc(sizeof(*added));

		if (!added)
			return -ENOMEM;
		key.index = (uint32_t)result->n_places;
		*added = key;
		r = hashmap_insert(known, added);
		if (r < 0)
			return r;
		found = TAKE_PTR(added);
		result->places[result->n_places] = key.place;
		result->classes[result->n_places++] = REACH_CLASSES;
	}
	*ret_index = found->index;
	return 0;
}

/* Each block's place, and what became of it. */
static int find_places(const struct leak_scan *scan, struct leak_result *result,
		       struct reach_block *blocks, uint32_t *places_of)
{
	_cleanup_(hashmap_done) struct hashmap known = { .ops = &place_ops };
	int r = 0;

	result->places = calloc(scan->n_blocks + 1, sizeof(*result->places));
	result->classes = calloc(scan->n_blocks + 1, sizeof(*result->classes));
	if (!result->places || !result->classes)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < scan->n_blocks; i++) {
		uint8_t class = scan->verdicts[i].class;

		r = find_place(&known, &scan->blocks[i], result, &places_of[i]);
		if (r < 0)
			break;
		blocks[i] = (struct reach_block){ .addr = scan->blocks[i].addr,
						  .size = scan->blocks[i].size };
		if (class < result->classes[places_of[i]])
			result->classes[places_of[i]] = class;
		result->blocks++;
		result->bytes += scan->blocks[i].size;
	}
	return r;
}

static_assert((int)LEAK_DELTA_ADDED == LOSS_INCREASED && (int)LEAK_DELTA_CHANGED == LOSS_CHANGED,
	      "loss_opts_of()");

void leak_options_ask(struct leak_options *options, enum leak_request request)
{
	if (request == LEAK_REQUEST_NONE)
		return;
	options->mode = request == LEAK_REQUEST_QUICK ? LEAK_CHECK_SUMMARY : LEAK_CHECK_FULL;
	if (request == LEAK_REQUEST_ADDED)
		options->delta = LEAK_DELTA_ADDED;
	else if (request == LEAK_REQUEST_CHANGED)
		options->delta = LEAK_DELTA_CHANGED;
}

static bool shows_records(const struct leak_options *options)
{
	return options->mode == LEAK_CHECK_FULL || options->mode == LEAK_CHECK_YES;
}

static struct loss_opts loss_opts_of(const struct leak_options *options)
{
	return (struct loss_opts){
		.resolution = (enum loss_resolution)options->resolution,
		.num_callers = options->num_callers,
		/* as memcheck, where a summary has no errors */
		.show = shows_records(options) ? options->show_kinds : 0,
		.errors = shows_records(options) ? options->error_kinds : 0,
		.delta = (enum loss_delta)options->delta,
	};
}

static int make_records(const struct leak_scan *scan, const struct leak_stacks *stacks,
			const struct leak_options *options, const struct leak_result *earlier,
			const struct reach_block *blocks, const uint32_t *places_of,
			struct leak_result *result)
{
	_cleanup_free_ struct loss_stack *loss_stacks = calloc(stacks->n + 1, sizeof(*loss_stacks));
	const struct loss_opts opts = loss_opts_of(options);
	const struct loss_input input = {
		.blocks = blocks,
		.verdicts = scan->verdicts,
		.stacks_of = places_of,
		.n_blocks = scan->n_blocks,
		.stacks = loss_stacks,
		.n_stacks = stacks->n,
	};

	if (!loss_stacks)
		return -ENOMEM;
	for (size_t i = 0; i < stacks->n; i++)
		loss_stacks[i] =
			(struct loss_stack){ stacks->stacks[i].keys, stacks->stacks[i].n_keys };
	return loss_records_new(&input, &opts, options->delta && earlier ? earlier->records : NULL,
				&result->records);
}

static int fill(const struct leak_scan *scan, const struct view_resolver *resolver,
		const struct leak_options *options, const struct leak_result *earlier,
		struct leak_result *result)
{
	_cleanup_free_ struct reach_block *blocks = calloc(scan->n_blocks + 1, sizeof(*blocks));
	_cleanup_free_ uint32_t *places_of = calloc(scan->n_blocks + 1, sizeof(*places_of));
	_cleanup_(leak_stacks_done) struct leak_stacks stacks = { 0 };
	int r;

	if (!blocks || !places_of)
		return -ENOMEM;
	r = find_places(scan, result, blocks, places_of);
	if (r == 0)
		r = leak_stacks_init(resolver, view_resolve_process(resolver, result->seen.image),
				     result->places, result->n_places, options->num_callers,
				     &stacks);
	if (r < 0)
		return r;
	return make_records(scan, &stacks, options, earlier, blocks, places_of, result);
}

int leak_result_new(const struct leak_scan *scan, const struct view_resolver *resolver,
		    const struct leak_options *options, const struct leak_result *earlier,
		    struct leak_result **ret_result)
{
	_cleanup_(leak_result_free_p) struct leak_result *result = calloc(1, sizeof(*result));
	int r;

	if (!result)
		return -ENOMEM;
	result->seen = scan->seen;
	result->number = earlier ? earlier->number + 1 : 1;
	r = fill(scan, resolver, options, earlier, result);
	if (r < 0)
		return r;
	*ret_result = TAKE_PTR(result);
	return 0;
}

void leak_result_free(struct leak_result *result)
{
	if (!result)
		return;
	loss_records_free(result->records);
	free(result->places);
	free(result->classes);
	free(result);
}

static int frames_of(void *ctx, uint32_t stack, const struct suppression_frame **ret,
		     size_t *ret_all)
{
	const struct leak_stacks *stacks = ctx;

	*ret = stacks->stacks[stack].names;
	*ret_all = stacks->stacks[stack].n_names;
	return (int)stacks->stacks[stack].n_frames;
}

int leak_result_suppress(struct leak_result *result, const struct leak_stacks *stacks,
			 struct suppressions *suppressions, bool default_first)
{
	return loss_records_suppress(result->records, suppressions, default_first, frames_of,
				     (void *)stacks);
}

void leak_result_free_libraries(struct leak_result *result, size_t first_default)
{
	struct loss_sum freed = loss_records_take_out(result->records, first_default);

	result->blocks -= freed.blocks;
	result->bytes -= freed.bytes;
	result->freed_blocks = freed.blocks + result->seen.kept_blocks;
}

const struct record_totals *leak_result_totals(const struct leak_result *result,
					       const struct model_process *image)
{
	if (result->has_totals)
		return &result->totals;
	return image->ended && image->has_totals ? &image->totals : NULL;
}

#define SUPPRESSED "suppressed"

int leak_record_emit(const struct leak_result *result, record_fn fn, void *userdata)
{
	const struct loss_totals *totals = loss_records_totals(result->records);
	_cleanup_free_ struct record_leak_place *places =
		calloc(result->n_places + 1, sizeof(*places));
	struct record_leak_sum sums[REACH_CLASSES + 1];
	struct record record = {
		.type = RECORD_LEAKS,
		.leaks = { .image = result->seen.image,
			   .number = result->number,
			   .errors = totals->errors,
			   .complete = result->seen.stats.end == REACH_COMPLETE,
			   .stopped_ns = result->seen.stopped_ns,
			   .running_threads = result->seen.running_threads,
			   .unknown_blocks = result->seen.unknown_blocks,
			   .older_blocks = result->seen.older_blocks,
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
	result->seen.image = record->image;
	result->number = record->number;
	result->seen.stats.end = record->complete ? REACH_COMPLETE : REACH_CUT_ROOTS;
	result->seen.stopped_ns = record->stopped_ns;
	result->seen.running_threads = record->running_threads;
	result->seen.unknown_blocks = record->unknown_blocks;
	result->seen.older_blocks = record->older_blocks;
	result->written = true;
	r = read_places(record, result);
	if (r == 0)
		r = loss_records_of_totals(&totals, &result->records);
	if (r < 0)
		return r;
	*ret_result = TAKE_PTR(result);
	return 0;
}
