/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/cgroup_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static void bytes_and_no_limit_are_told_apart(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint64_t bytes;
	} rows[] = {
		{ "4096\n", 0, 4096 },
		{ "0\n", 0, 0 },
		{ "max\n", 0, CGROUP_NO_LIMIT },
		{ "9223372036854771712\n", 0, CGROUP_NO_LIMIT }, /* version 1's */
		{ "", -EBADMSG, 0 },
		{ "-1\n", -EBADMSG, 0 },
		{ "12 kB\n", -EBADMSG, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t bytes = 0;

		assert_int_equal(cgroup_parse_bytes(rows[i].text, &bytes), rows[i].r);
		assert_int_equal(bytes, rows[i].bytes);
	}
}

static void oom_kills_are_those_of_the_events_file_or_of_version_1s(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint64_t kills;
	} rows[] = {
		{ "low 0\nhigh 0\nmax 7\noom 2\noom_kill 3\noom_group_kill 1\n", 0, 3 },
		{ "oom_kill_disable 1\nunder_oom 0\noom_kill 4\n", 0, 4 },
		{ "oom_kill 0", 0, 0 },
		{ "oom_kill_disable 1\nunder_oom 0\n", -ENOENT, 9 }, /* before Linux 4.13 */
		{ "", -ENOENT, 9 },
		{ "max 1\noom_kill \n", -EBADMSG, 9 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t kills = 9;

		assert_int_equal(cgroup_parse_oom_kills(rows[i].text, &kills), rows[i].r);
		assert_int_equal(kills, rows[i].kills);
	}
}

static void pressure_is_some_avg10(void **state)
{
	uint32_t pressure = 0;

	(void)state;
	assert_int_equal(cgroup_parse_pressure("some avg10=20.05 avg60=7.00 avg300=0.00 total=1\n"
					       "full avg10=99.00 avg60=0.00 avg300=0.00 total=0\n",
					       &pressure),
			 0);
	assert_int_equal(pressure, 2005);
	assert_int_equal(cgroup_parse_pressure("some avg10=100.00 avg60=0.00\n", &pressure), 0);
	assert_int_equal(pressure, 10000);
	assert_int_equal(cgroup_parse_pressure("full avg10=1.00 avg60=0.00\n", &pressure),
			 -EBADMSG);
	assert_int_equal(cgroup_parse_pressure("", &pressure), -EBADMSG);
}

static void membership_is_of_the_hierarchy_with_memory(void **state)
{
	static const struct {
		const char *text;
		int version, r;
		const char *name;
	} rows[] = {
		{ "0::/a.slice/b\n", 2, 0, "/a.slice/b" },
		{ "5:cpu:/x\n4:memory:/y:z\n0::/\n", 1, 0, "/y:z" },
		{ "5:cpu:/x\n4:memory:/y\n0::/\n", 2, 0, "/" },
		{ "3:cpuset,memory:/both\n", 1, 0, "/both" },
		{ "3:name=memory:/no\n", 1, -ENOENT, "" },
		{ "", 2, -ENOENT, "" },
		{ "rubbish\n", 2, -EBADMSG, "" },
		{ "4:memory:no-slash\n", 1, -EBADMSG, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_strbuf_ struct strbuf name = {};

		assert_int_equal(cgroup_parse_membership(rows[i].text, rows[i].version, &name),
				 rows[i].r);
		assert_string_equal(strbuf_str(&name), rows[i].name);
	}
}

static bool yes(const char *path)
{
	return path != NULL;
}

static bool no(const char *path)
{
	return path == NULL;
}

static void the_hierarchy_with_memory_is_found(void **state)
{
	static const char both[] = "cgroup /cg/cpu cgroup rw,cpu 0 0\n"
				   "cgroup /cg/memory cgroup rw,relatime,memory 0 0\n"
				   "cgroup2 /cg/unified cgroup2 rw,memory_recursiveprot 0 0\n";
	static const char neither[] = "cgroup /cg/cpu cgroup rw,cpu,memoryless 0 0\n";
	_cleanup_strbuf_ struct strbuf path = {};

	(void)state;
	cgroup_root_find(both, yes, &path);
	assert_string_equal(strbuf_str(&path), "/cg/unified");
	strbuf_reset(&path);
	cgroup_root_find(both, no, &path);
	assert_string_equal(strbuf_str(&path), "/cg/memory");
	strbuf_reset(&path);
	cgroup_root_find(neither, yes, &path);
	assert_string_equal(strbuf_str(&path), "");
}

/* --- a tree of our own ----------------------------------------------------------------------- */

static void put(const char *root, const char *name, const char *text)
{
	char path[256];
	int fd;

	assert_in_range(snprintf(path, sizeof(path), "%s/%s", root, name), 1, sizeof(path) - 1);
	if (!text) {
		assert_int_equal(mkdir(path, 0700), 0);
		return;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void version_2_is_read_as_far_as_it_is_turned_on(void **state)
{
	char root[] = "/tmp/memtraced-cgroup-XXXXXX";
	_cleanup_strbuf_ struct strbuf names = {};
	struct cgroup_memory memory;
	size_t left_out;

	(void)state;
	assert_non_null(mkdtemp(root));
	put(root, "cgroup.controllers", "cpu memory\n");
	put(root, "memory.pressure", "some avg10=1.50 avg60=0.00 avg300=0.00 total=0\n");
	put(root, "a", NULL);
	put(root, "a/memory.current", "8192\n");
	put(root, "a/memory.max", "max\n");
	put(root, "a/memory.pressure", "some avg10=30.00 avg60=0.00 avg300=0.00 total=0\n");
	put(root, "a/b", NULL);
	put(root, "a/b/memory.current", "4096\n");
	put(root, "a/b/memory.max", "1048576\n");
	assert_int_equal(cgroup_root_version(root), 2);
	assert_int_equal(cgroup_list(root, 2, &names, &left_out), 2);
	assert_int_equal(left_out, 1);
	assert_memory_equal(names.data, "/\0/a", 5);
	assert_int_equal(cgroup_memory_read(root, 2, "/", &memory), 0);
	assert_int_equal(memory.pressure, 150);
	assert_true(memory.max_bytes == CGROUP_NO_LIMIT);
	assert_int_equal(cgroup_memory_read(root, 2, "/a", &memory), 0);
	assert_int_equal(memory.current_bytes, 8192);
	assert_true(memory.max_bytes == CGROUP_NO_LIMIT);
	assert_int_equal(memory.pressure, 3000);
	assert_int_equal(cgroup_memory_read(root, 2, "/a/b", &memory), 0);
	assert_int_equal(memory.max_bytes, 1048576);
	assert_true(memory.pressure == CGROUP_NO_PRESSURE);
	assert_int_equal(cgroup_memory_read(root, 2, "/gone", &memory), -ENOENT);
	assert_int_equal(nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void version_1_has_the_same_without_pressure(void **state)
{
	char root[] = "/tmp/memtraced-cgroup-XXXXXX";
	struct cgroup_memory memory;

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_int_equal(cgroup_root_version(root), -ENOENT);
	put(root, "memory.usage_in_bytes", "1\n");
	put(root, "a", NULL);
	put(root, "a/memory.usage_in_bytes", "12288\n");
	put(root, "a/memory.limit_in_bytes", "16384\n");
	assert_int_equal(cgroup_root_version(root), 1);
	assert_int_equal(cgroup_memory_read(root, 1, "/a", &memory), 0);
	assert_int_equal(memory.current_bytes, 12288);
	assert_int_equal(memory.max_bytes, 16384);
	assert_true(memory.pressure == CGROUP_NO_PRESSURE);
	put(root, "a/memory.limit_in_bytes", "rubbish\n");
	assert_int_equal(cgroup_memory_read(root, 1, "/a", &memory), -EBADMSG);
	assert_int_equal(nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_and_no_limit_are_told_apart),
		cmocka_unit_test(oom_kills_are_those_of_the_events_file_or_of_version_1s),
		cmocka_unit_test(pressure_is_some_avg10),
		cmocka_unit_test(membership_is_of_the_hierarchy_with_memory),
		cmocka_unit_test(the_hierarchy_with_memory_is_found),
		cmocka_unit_test(version_2_is_read_as_far_as_it_is_turned_on),
		cmocka_unit_test(version_1_has_the_same_without_pressure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
