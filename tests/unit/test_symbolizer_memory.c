/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a symbolizer holds in memory, and that its answers do not depend on that. */
#include "base/cleanup.h"
#include "symbol_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define N_OBJECTS 3

static const char *const functions[] = { "outer", "follows", "hidden", "f10", "f23", "main" };
#define N_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* The same program under several names, the last without a build ID. */
static void open_copies(const struct fixture *f, struct symbol_object *objects[N_OBJECTS])
{
	static const char *const names[N_OBJECTS] = { "copy1", "copy2", "copy3" };

	for (size_t i = 0; i < N_OBJECTS; i++) {
		_cleanup_free_ char *path = built_path(f->folder, names[i]);

		fixture_build(f, names[i], i + 1 < N_OBJECTS ? "" : "-Wl,--build-id=none");
		objects[i] = fixture_open(f, path, NULL);
	}
	assert_string_equal(symbol_object_build_id(objects[N_OBJECTS - 1]), "");
}

/* All answers, where each look-up is of another object than the last. */
static void ask_in_turn(const struct fixture *f, const char *name)
{
	_cleanup_free_ char *path = built_path(f->folder, name);
	struct symbol_object *objects[N_OBJECTS];

	open_copies(f, objects);
	for (size_t k = 0; k < N_FUNCTIONS; k++)
		for (size_t i = 0; i < N_OBJECTS; i++)
			assert_function(f, objects[i], fixture_find(path, functions[k]),
					functions[k], true);
}

static void objects_are_read_once_where_there_is_room(void **state)
{
	const struct fixture *f = *state;
	struct symbolizer_counts counts;

	ask_in_turn(f, "copy3");
	counts = symbolizer_count(f->symbolizer);
	assert_int_equal(counts.open, N_OBJECTS);
	assert_int_equal(counts.reads, N_OBJECTS);
	assert_true(counts.open_bytes > 0);
}

static void objects_are_read_again_where_they_are_too_many(void **state)
{
	static const struct symbolizer_limits limits = { 2, UINT64_MAX };
	const struct fixture *f = *state;
	struct symbolizer_counts counts;

	symbolizer_limit(f->symbolizer, &limits);
	ask_in_turn(f, "copy3");
	counts = symbolizer_count(f->symbolizer);
	assert_int_equal(counts.open, 2);
	assert_int_equal(counts.reads, N_OBJECTS * N_FUNCTIONS);
}

static void objects_are_read_again_where_they_are_too_large(void **state)
{
	static const struct symbolizer_limits limits = { SIZE_MAX, 1 };
	const struct fixture *f = *state;
	struct symbolizer_counts counts;

	symbolizer_limit(f->symbolizer, &limits);
	ask_in_turn(f, "copy3");
	counts = symbolizer_count(f->symbolizer);
	assert_int_equal(counts.open, 1);
	assert_int_equal(counts.reads, N_OBJECTS * N_FUNCTIONS);
}

static void the_object_used_last_stays(void **state)
{
	static const struct symbolizer_limits limits = { 2, UINT64_MAX };
	/* 0 is used again before 2 needs room: 1 has to go. */
	static const struct {
		size_t object, function;
		uint64_t reads;
	} steps[] = { { 0, 0, 1 }, { 1, 0, 2 }, { 0, 1, 2 }, { 2, 0, 3 },
		      { 0, 2, 3 }, { 1, 1, 4 }, { 0, 3, 4 }, { 2, 1, 5 } };
	const struct fixture *f = *state;
	_cleanup_free_ char *path = built_path(f->folder, "copy1");
	struct symbol_object *objects[N_OBJECTS];

	symbolizer_limit(f->symbolizer, &limits);
	open_copies(f, objects);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const char *name = functions[steps[i].function];

		assert_function(f, objects[steps[i].object], fixture_find(path, name), name, true);
		assert_int_equal(symbolizer_count(f->symbolizer).reads, steps[i].reads);
	}
}

static void results_outlive_the_object_s_place(void **state)
{
	static const struct symbolizer_limits limits = { 1, UINT64_MAX };
	const struct fixture *f = *state;
	_cleanup_free_ char *path = built_path(f->folder, "copy1"), *file = NULL;
	struct built_symbol at;
	struct symbol_object *objects[N_OBJECTS];
	const struct symbol *symbol;

	symbolizer_limit(f->symbolizer, &limits);
	open_copies(f, objects);
	at = fixture_find(path, "follows");
	symbol = fixture_resolve(f, objects[0], at.file_offset, false);
	assert_function(f, objects[1], at, "follows", true);
	assert_int_equal(symbolizer_count(f->symbolizer).open, 1);
	file = built_path(f->folder, "program.c");
	assert_string_equal(symbol->frames[0].function, "follows");
	assert_string_equal(symbol->frames[0].file, file);
	assert_int_equal(symbol_object_vaddr(objects[0], at.file_offset), at.vaddr);
	assert_ptr_equal(fixture_resolve(f, objects[0], at.file_offset, false), symbol);
}

/* With the same size and time. */
static void write_over(const char *path)
{
	struct timespec times[2];
	struct stat st;
	_cleanup_free_ char *zeros = NULL;

	assert_int_equal(stat(path, &st), 0);
	zeros = calloc(1, (size_t)st.st_size);
	assert_non_null(zeros);
	built_write(path, zeros, (size_t)st.st_size);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void a_file_written_over_since_it_was_read_is_unknown_from_then_on(void **state)
{
	static const struct symbolizer_limits limits = { 1, UINT64_MAX };
	const struct fixture *f = *state;
	_cleanup_free_ char *path = built_path(f->folder, "copy1");
	struct symbol_object *objects[N_OBJECTS];
	struct built_symbol follows, other;

	symbolizer_limit(f->symbolizer, &limits);
	open_copies(f, objects);
	follows = fixture_find(path, "follows");
	other = fixture_find(path, "main");
	assert_function(f, objects[0], follows, "follows", true);
	assert_function(f, objects[1], follows, "follows", true);
	write_over(path);
	assert_unknown(f, objects[0], other.file_offset);
	assert_function(f, objects[0], follows, "follows", true);
	assert_function(f, objects[1], other, "main", true);
}

static void results_are_found_anew_after_they_were_forgotten(void **state)
{
	const struct fixture *f = *state;
	struct symbol_object *object = fixture_open(f, f->path, NULL);
	struct built_symbol at[N_FUNCTIONS];

	for (size_t i = 0; i < N_FUNCTIONS; i++)
		at[i] = fixture_find(f->path, functions[i]);
	for (size_t round = 0; round < 4; round++) {
		for (size_t i = 0; i < N_FUNCTIONS; i++)
			assert_function(f, object, at[i], functions[i], true);
		assert_int_equal(symbolizer_age(f->symbolizer, 0), 1);
	}
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, fixture_new_symbolizer, fixture_free_symbolizer)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(objects_are_read_once_where_there_is_room),
		TEST(objects_are_read_again_where_they_are_too_many),
		TEST(objects_are_read_again_where_they_are_too_large),
		TEST(the_object_used_last_stays),
		TEST(results_outlive_the_object_s_place),
		TEST(a_file_written_over_since_it_was_read_is_unknown_from_then_on),
		TEST(results_are_found_anew_after_they_were_forgotten),
	};

	return cmocka_run_group_tests(tests, fixture_set_up, fixture_tear_down);
}
