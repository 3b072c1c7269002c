/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/reports/reports.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define REPORT_BYTES 1000

/* A directory that is not there yet, below one that is removed with all that is in it. */
struct place {
	char top[32], state[48];
	struct service_config config;
};

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	assert_non_null(place);
	strcpy(place->top, "/tmp/test_reports.XXXXXX");
	assert_non_null(mkdtemp(place->top));
	(void)snprintf(place->state, sizeof(place->state), "%s/state", place->top); /* fits */
	place->config.state_directory = place->state;
	place->config.max_reports = 3;
	place->config.max_state_size = 1 << 20;
	*state = place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -rf %s", place->top); /* fits */
	assert_int_equal(system(command), 0);
	free(place);
	return 0;
}

static int write_bytes(const struct view *view, FILE *file)
{
	(void)view;
	return fprintf(file, "%*s", REPORT_BYTES, "end") == REPORT_BYTES ? 0 : -EIO;
}

static int write_nothing(const struct view *view, FILE *file)
{
	(void)view;
	(void)file;
	return -EIO;
}

/* A report of the second `at`. */
static void write_at(const struct place *place, time_t at)
{
	static const struct report_format format = { .name = "json", .write = write_bytes };
	_cleanup_free_ char *name = report_name(REPORT_TRACE, at, 1, 7, "x", "json");
	struct timespec times[2] = { { .tv_sec = at }, { .tv_sec = at } };
	char path[128];

	assert_int_equal(reports_write(&place->config, NULL, name, geteuid(), &format, NULL), 0);
	(void)snprintf(path, sizeof(path), "%s/%s", place->state, name); /* fits */
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void expect(const struct place *place, const time_t *newest_first, size_t n)
{
	struct report_rows rows;

	assert_int_equal(reports_list(&place->config, &rows), 0);
	assert_int_equal(rows.n_rows, n);
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *name =
			report_name(REPORT_TRACE, newest_first[i], 1, 7, "x", "json");

		assert_string_equal(rows.rows[i].name, name);
		assert_int_equal(rows.rows[i].bytes, REPORT_BYTES);
		assert_int_equal(rows.rows[i].uid, geteuid());
	}
	report_rows_done(&rows);
}

static void names_are_words_of_a_path(void **state)
{
	static const struct {
		const char *comm, *format, *name;
	} cases[] = {
		{ "python3", "html", "trace-20261122T141500Z-3-42-python3.html" },
		{ "../../x", "json", "trace-20261122T141500Z-3-42-.._.._x.json" },
		{ "a b\n/\xff%", "pprof", "trace-20261122T141500Z-3-42-a_b____.pb.gz" },
		{ "", "folded", "trace-20261122T141500Z-3-42-.folded" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_free_ char *name = report_name(REPORT_TRACE, 1795356900, 3, 42,
							cases[i].comm, cases[i].format);

		assert_string_equal(name, cases[i].name);
	}
}

static void the_oldest_go_when_there_are_too_many(void **state)
{
	struct place *place = *state;

	expect(place, NULL, 0);
	for (time_t at = 1000; at < 1005; at++)
		write_at(place, at);
	expect(place, (const time_t[]){ 1004, 1003, 1002 }, 3);
}

static void the_oldest_go_when_they_take_too_much_room(void **state)
{
	struct place *place = *state;

	place->config.max_reports = 100;
	place->config.max_state_size = 2 * REPORT_BYTES + 1;
	for (time_t at = 1000; at < 1005; at++)
		write_at(place, at);
	expect(place, (const time_t[]){ 1004, 1003 }, 2);
	/* one alone may be larger than all may be */
	place->config.max_state_size = 1;
	write_at(place, 1005);
	expect(place, (const time_t[]){ 1005 }, 1);
}

static void what_is_too_old_goes_and_what_is_of_the_future_stays(void **state)
{
	struct place *place = *state;

	place->config.max_reports = 100;
	place->config.max_age_ns = 60 * 1000000000ULL;
	assert_int_equal(reports_expire(&place->config, 1000), 0); /* there is no folder yet */
	write_at(place, 1000);
	write_at(place, 1001);
	write_at(place, 5000);
	assert_int_equal(reports_expire(&place->config, 1060), 0);
	expect(place, (const time_t[]){ 5000, 1001, 1000 }, 3);
	assert_int_equal(reports_expire(&place->config, 1061), 0);
	expect(place, (const time_t[]){ 5000, 1001 }, 2);
}

static void what_could_not_be_written_leaves_nothing(void **state)
{
	static const struct report_format format = { .name = "json", .write = write_nothing };
	struct place *place = *state;

	write_at(place, 1000);
	assert_int_equal(reports_write(&place->config, NULL, "trace-x", geteuid(), &format, NULL),
			 -EIO);
	expect(place, (const time_t[]){ 1000 }, 1);
}

static void one_of_a_user_is_not_larger_than_all_may_be(void **state)
{
	static const struct report_format format = { .name = "json", .write = write_bytes };
	struct place *place = *state;

	write_at(place, 1000);
	place->config.max_state_size = REPORT_BYTES - 1;
	assert_int_equal(reports_write(&place->config, NULL, "trace-x", geteuid() + 1, &format,
				       NULL),
			 -EFBIG);
	expect(place, (const time_t[]){ 1000 }, 1);
}

static void only_reports_are_opened(void **state)
{
	static const char *const names[] = { "",
					     "..",
					     "trace-/../x",
					     "../top",
					     "other",
					     "trace-nothing",
					     "trace-folder",
					     "trace-link",
					     "trace- x" };
	struct place *place = *state;
	char path[128];
	struct stat st;
	int fd;

	write_at(place, 1000);
	(void)snprintf(path, sizeof(path), "%s/other", place->state); /* fits */
	fclose(fopen(path, "we"));
	(void)snprintf(path, sizeof(path), "%s/trace-folder", place->state); /* fits */
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/trace-link", place->state); /* fits */
	assert_int_equal(symlink("/etc/passwd", path), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (reports_open(&place->config, names[i], &st) >= 0)
			fail_msg("'%s' was opened", names[i]);
	expect(place, (const time_t[]){ 1000 }, 1);
	fd = reports_open(&place->config, "trace-19700101T001640Z-1-7-x.json", &st);
	assert_true(fd >= 0);
	assert_int_equal(st.st_uid, geteuid());
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_words_of_a_path),
		cmocka_unit_test_setup_teardown(the_oldest_go_when_there_are_too_many, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_oldest_go_when_they_take_too_much_room, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_too_old_goes_and_what_is_of_the_future_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_could_not_be_written_leaves_nothing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(one_of_a_user_is_not_larger_than_all_may_be, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(only_reports_are_opened, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
