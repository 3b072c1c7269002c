/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recordings of a run: what they have of symbols. */
#include "service/output/recorder.h"

#include "report/view/view_resolve.h"
#include "trace/record/recording.h"

#include "symbol_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define START 0x10000000ULL
#define N_STACKS 2000
#define N_FRAMES 10

static void apply(struct model *model, struct recorder *recorder, const struct record *record)
{
	assert_int_equal(model_apply(record, model), 0);
	assert_int_equal(recorder_add(record, recorder), 0);
}

static void add_stacks(struct model *model, struct recorder *recorder, const char *path)
{
	const struct record mapping = fixture_mapping(START, 1 << 24, 1, path);
	uint64_t frames[N_FRAMES], at = START;

	apply(model, recorder, &fixture_process);
	apply(model, recorder, &mapping);
	for (uint64_t i = 1; i <= N_STACKS; i++) {
		const struct record stack = {
			.type = RECORD_STACK,
			.stack = { .id = i,
				   .image = { FIXTURE_IMAGE },
				   .n_frames = N_FRAMES,
				   .frames = frames },
		};

		for (size_t k = 0; k < N_FRAMES; k++)
			frames[k] = at += 16;
		apply(model, recorder, &stack);
	}
}

static int count_symbol(const struct record *record, void *userdata)
{
	size_t *n = userdata;

	*n += record->type == RECORD_SYMBOL;
	return 0;
}

static size_t symbols_in(const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	struct source *source;
	size_t n = 0;

	assert_non_null(file);
	assert_int_equal(recording_open(file, &source), 0);
	assert_int_equal(source_drain(source, count_symbol, &n), 1);
	source_free(source);
	return n;
}

/* More places than symbols may hold at a time. */
static void all_places_have_their_symbols(void **state)
{
	struct fixture *built = *state;
	_cleanup_free_ char *path = built_path(built->folder, "recording");
	_cleanup_(symbols_free_p) struct symbols *symbols = NULL;
	_cleanup_(recorder_free_p) struct recorder *recorder = NULL;
	_cleanup_(model_free_p) struct model *model = NULL;
	struct view_resolver resolver;

	assert_int_equal(model_new(&model), 0);
	assert_int_equal(symbols_new(model, built->symbolizer, true, &symbols), 0);
	symbols_limit(symbols, 1 << 20);
	assert_int_equal(recorder_new(path, (uid_t)-1, (gid_t)-1, &recorder), 0);
	resolver = (struct view_resolver){ model, symbols };
	add_stacks(model, recorder, built->path);
	assert_int_equal(recorder_checkpoint(recorder, &resolver, true), 0);
	assert_int_equal(recorder_finish(recorder, symbols), 0);
	assert_int_equal(symbols_others(symbols), 0);
	assert_int_equal(symbols_in(path), N_STACKS * N_FRAMES);
	(void)unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_places_have_their_symbols,
						fixture_new_symbolizer, fixture_free_symbolizer),
	};

	return cmocka_run_group_tests(tests, fixture_set_up, fixture_tear_down);
}
