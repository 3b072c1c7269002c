/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places of a model's mappings to symbols, which are looked up late and not kept for ever. */
#include "report/view/symbols.h"

#include "symbol_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define IMAGE FIXTURE_IMAGE
/* In the first is more than any object has, so that offsets are addresses less this. */
#define START 0x10000000ULL
#define SIZE 0x1000000ULL
/* Beyond what is kept: each has an entry of its own. */
#define N_FILLING 300000

struct run {
	struct fixture *built;
	struct model *model;
	struct symbols *symbols;
};

static void map(struct run *run, uint64_t start, const char *path, uint64_t ino)
{
	const struct record record = fixture_mapping(start, SIZE, ino, path);

	assert_int_equal(model_apply(&record, run->model), 0);
}

static int begin(void **state)
{
	struct run *run = calloc(1, sizeof(*run));

	assert_non_null(run);
	run->built = *state;
	assert_int_equal(fixture_new_symbolizer((void **)&run->built), 0);
	assert_int_equal(model_new(&run->model), 0);
	assert_int_equal(symbols_new(run->model, run->built->symbolizer, true, &run->symbols), 0);
	assert_int_equal(model_apply(&fixture_process, run->model), 0);
	*state = run;
	return 0;
}

static int end(void **state)
{
	struct run *run = *state;

	symbols_free(run->symbols);
	model_free(run->model);
	*state = run->built;
	free(run);
	return fixture_free_symbolizer(state);
}

/* `image`: who asks; the mappings are the run's. */
static int try_to_resolve(struct run *run, uint32_t image, uint64_t addr,
			  const struct resolved **ret_resolved)
{
	const struct symbols_at at = { { image }, addr, 1, false };
	struct model_place place;

	assert_true(model_resolve(run->model, (image_t){ IMAGE }, addr, 1, &place));
	return symbols_resolve(run->symbols, &place, &at, ret_resolved);
}

static const struct resolved *resolve(struct run *run, uint64_t addr)
{
	const struct resolved *resolved = NULL;

	assert_int_equal(try_to_resolve(run, IMAGE, addr, &resolved), 0);
	return resolved;
}

static void assert_named(const struct resolved *resolved, const char *name)
{
	const struct symbol *symbol = resolved->symbol;

	assert_string_equal(symbol->frames[symbol->n_frames - 1].function, name);
}

static void symbols_are_looked_up_object_by_object(void **state)
{
	static const char *const names[] = { "outer", "follows", "hidden", "main" };
	static const struct symbolizer_limits one = { 1, UINT64_MAX };
	struct run *run = *state;
	const struct resolved *resolved[4][2];
	_cleanup_free_ char *other = built_path(run->built->folder, "other");

	fixture_build(run->built, "other", "");
	symbolizer_limit(run->built->symbolizer, &one);
	map(run, START, run->built->path, 1);
	map(run, START + SIZE, other, 2);
	for (size_t i = 0; i < 4; i++) {
		uint64_t at = START + fixture_find(other, names[i]).file_offset;

		resolved[i][0] = resolve(run, at);
		resolved[i][1] = resolve(run, at + SIZE);
		assert_null(resolved[i][0]->symbol->frames[0].function);
	}
	assert_int_equal(symbolizer_count(run->built->symbolizer).reads, 0);
	assert_int_equal(symbols_settle(run->symbols), 0);
	assert_int_equal(symbolizer_count(run->built->symbolizer).reads, 2);
	for (size_t i = 0; i < 4; i++) {
		assert_named(resolved[i][0], names[i]);
		assert_named(resolved[i][1], names[i]);
		assert_string_equal(resolved[i][0]->object, run->built->path);
		assert_string_equal(resolved[i][1]->object, other);
	}
}

static void what_was_forgotten_is_found_again(void **state)
{
	struct run *run = *state;
	uint64_t main_at = START + fixture_find(run->built->path, "main").file_offset, most = 0;
	const struct resolved *first;

	map(run, START, run->built->path, 1);
	first = resolve(run, main_at);
	assert_int_equal(symbols_settle(run->symbols), 0);
	assert_int_equal(symbols_age(run->symbols), 0);
	/* There is room: it is the same one. */
	assert_ptr_equal(resolve(run, main_at), first);
	for (uint64_t round = 0; round < 5; round++) {
		uint64_t bytes;

		for (uint64_t i = 0; i < N_FILLING; i++)
			(void)resolve(run, START + SIZE / 2 + round * N_FILLING + i);
		assert_int_equal(symbols_settle(run->symbols), 0);
		assert_int_equal(symbols_age(run->symbols), 0);
		bytes = symbolizer_count(run->built->symbolizer).cached_bytes;
		/* As much after the last as after the first. */
		most = round == 0 ? bytes : most;
		assert_true(bytes <= most + most / 8);
		first = resolve(run, main_at);
		assert_int_equal(symbols_settle(run->symbols), 0);
		assert_named(first, "main");
	}
}

static void what_is_kept_of_a_place_is_kept_once(void **state)
{
	struct run *run = *state;
	uint64_t main_at = START + fixture_find(run->built->path, "main").file_offset;
	const uint64_t one = 1, other = 2;
	const void *first, *again, *next;
	const struct resolved *place;

	map(run, START, run->built->path, 1);
	place = resolve(run, main_at);
	assert_int_equal(symbols_keep(run->symbols, place, &one, sizeof(one), &first), 0);
	assert_int_equal(symbols_keep(run->symbols, place, &one, sizeof(one), &again), 0);
	assert_ptr_equal(first, again);
	assert_int_equal(symbols_keep(run->symbols, place, &other, sizeof(other), &next), 0);
	assert_ptr_not_equal(first, next);
	assert_int_equal(symbols_keep(run->symbols, NULL, &one, sizeof(one), &again), 0);
	assert_memory_equal(first, &one, sizeof(one));
	assert_memory_equal(again, &one, sizeof(one));
	assert_memory_equal(next, &other, sizeof(other));
}

/* How many more the process may have. */
static uint64_t fill(struct run *run, uint32_t image, uint64_t *addr)
{
	const struct resolved *resolved;
	uint64_t n = 0;
	int r;

	while ((r = try_to_resolve(run, image, (*addr)++, &resolved)) == 0)
		n++;
	assert_int_equal(r, -ENOSPC);
	return n;
}

static void places_beyond_the_room_are_others_and_counted(void **state)
{
	struct run *run = *state;
	uint64_t addr = START + SIZE / 2, first, second;
	const struct resolved *one, *again, *none;
	struct model_place place;
	const void *kept;

	map(run, START, run->built->path, 1);
	symbols_limit(run->symbols, 1 << 20);
	one = resolve(run, START + SIZE / 2);
	assert_int_equal(symbols_keep(run->symbols, one, "a", 1, &kept), 0);
	first = fill(run, IMAGE, &addr);
	assert_in_range(first, 1 << 10, 4 << 10);
	/* Another process has a share, and the one that took much has none. */
	second = fill(run, IMAGE + 1, &addr);
	assert_in_range(second, first / 8, first / 2);

	/* What is known stays, and nothing more is kept of it. */
	assert_ptr_equal(resolve(run, START + SIZE / 2), one);
	while (try_to_resolve(run, IMAGE + 1, addr++, &again) == 0)
		continue;
	assert_int_equal(symbols_keep(run->symbols, one, "a", 1, &kept), 0);
	assert_int_equal(symbols_keep(run->symbols, one, "b", 1, &kept), -ENOSPC);

	assert_int_equal(symbols_others(run->symbols), 0);
	assert_true(model_resolve(run->model, (image_t){ IMAGE }, addr, 1, &place));
	assert_int_equal(symbols_other(run->symbols, place.object, &one), 0);
	assert_int_equal(symbols_other(run->symbols, place.object, &again), 0);
	assert_int_equal(symbols_other(run->symbols, NULL, &none), 0);
	assert_ptr_equal(one, again);
	assert_ptr_not_equal(one, none);
	assert_named(one, "[other code]");
	assert_string_equal(one->object, run->built->path);
	assert_int_equal(symbols_keep(run->symbols, one, "a", 1, &kept), 0);
	assert_int_equal(symbols_others(run->symbols), 3);

	/* No report holds them any more: there is room again. */
	assert_int_equal(symbols_settle(run->symbols), 0);
	assert_true(symbols_has_many(run->symbols));
	assert_int_equal(symbols_age(run->symbols), 0);
	assert_false(symbols_has_many(run->symbols));
	assert_true(fill(run, IMAGE, &addr) >= first);
}

/* Of two processes that ask in turn, one changes its program each time, and asks for much. */
static void the_share_is_a_processs_however_often_it_executes(void **state)
{
	struct run *run = *state;
	struct record again = fixture_process;
	uint64_t addr = START + SIZE / 2, alone, n = 0;
	const struct resolved *resolved;
	int r = 0;

	map(run, START, run->built->path, 1);
	again.process.image.n = IMAGE + 5;
	again.process.prev_image.n = IMAGE;
	assert_int_equal(model_apply(&again, run->model), 0);
	symbols_limit(run->symbols, 1 << 20);
	alone = fill(run, IMAGE, &addr);
	assert_int_equal(symbols_settle(run->symbols), 0);
	assert_int_equal(symbols_age(run->symbols), 0);
	assert_false(symbols_has_many(run->symbols));
	while (r == 0) {
		assert_int_equal(try_to_resolve(run, IMAGE + 1, START, &resolved), 0);
		r = try_to_resolve(run, n % 2 ? IMAGE : IMAGE + 5, addr++, &resolved);
		n++;
	}
	assert_int_equal(r, -ENOSPC);
	assert_in_range(n, alone / 2, alone + 1);
	/* Another has as much as if it had asked first. */
	assert_in_range(fill(run, IMAGE + 1, &addr), alone / 8, alone / 2);
}

static int count(const struct record *record, void *userdata)
{
	size_t *n = userdata;

	assert_int_equal(record->type, RECORD_SYMBOL);
	(*n)++;
	return 0;
}

static void what_is_new_is_handed_over_once(void **state)
{
	struct run *run = *state;
	uint64_t main_at = START + fixture_find(run->built->path, "main").file_offset;
	size_t n = 0;

	map(run, START, run->built->path, 1);
	(void)resolve(run, main_at);
	(void)resolve(run, main_at + 1);
	assert_int_equal(symbols_settle(run->symbols), 0);
	assert_int_equal(symbols_each_new(run->symbols, count, &n), 0);
	assert_int_equal(n, 2);
	(void)resolve(run, main_at);
	(void)resolve(run, main_at + 2);
	assert_int_equal(symbols_settle(run->symbols), 0);
	assert_int_equal(symbols_each_new(run->symbols, count, &n), 0);
	assert_int_equal(n, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(symbols_are_looked_up_object_by_object),
		TEST(what_was_forgotten_is_found_again),
		TEST(what_is_kept_of_a_place_is_kept_once),
		TEST(places_beyond_the_room_are_others_and_counted),
		TEST(the_share_is_a_processs_however_often_it_executes),
		TEST(what_is_new_is_handed_over_once),
	};

	return cmocka_run_group_tests(tests, fixture_set_up, fixture_tear_down);
}
