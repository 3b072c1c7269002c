/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/smaps.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE 4096UL

static const char two_mappings[] =
	"1000-5000 rw-p 00000000 00:00 0                          [heap]\n"
	"Size:                 16 kB\n"
	"Rss:                  12 kB\n"
	"Pss:                   6 kB\n"
	"Pss_Dirty:             5 kB\n"
	"Swap:                  4 kB\n"
	"SwapPss:               3 kB\n"
	"THPeligible:           0\n"
	"VmFlags: rd wr mr mw me ac \n"
	"5000-6000 r--p 00000000 fe:01 7 /lib/a b\n"
	"Rss:                   4 kB\n"
	"SomethingNew:          9 furlongs\n";

static void each_mapping_has_its_own_values(void **state)
{
	struct smaps smaps;

	(void)state;
	assert_int_equal(smaps_parse(two_mappings, strlen(two_mappings), &smaps), 0);
	assert_int_equal(smaps.n_rows, 2);
	assert_string_equal(smaps.rows[0].map.path, "[heap]");
	assert_int_equal(smaps.rows[0].map.start, 0x1000);
	assert_int_equal(smaps.rows[0].rss_bytes, 12 * 1024);
	assert_int_equal(smaps.rows[0].pss_bytes, 6 * 1024);
	assert_int_equal(smaps.rows[0].swap_bytes, 4 * 1024);
	assert_string_equal(smaps.rows[1].map.path, "/lib/a b");
	assert_int_equal(smaps.rows[1].map.ino, 7);
	assert_int_equal(smaps.rows[1].rss_bytes, 4 * 1024);
	assert_int_equal(smaps.rows[1].pss_bytes, 0);
	smaps_done(&smaps);
}

static void what_is_no_smaps_is_refused(void **state)
{
	static const char *const rows[] = {
		"Rss: 4 kB\n", /* of no mapping */
		"1000-2000 rw-p 00000000 00:00 0\nRss: kB\n",
		"1000-2000 rw-p 00000000 00:00 0\nRss: 4 MB\n",
		"1000-2000 rw-p 00000000 00:00 0\nRss: 4\n",
		"1000-2000 rw-p 00000000 00:00 0\nRss: -4 kB\n",
		"1000-2000 rw-p 00000000 00:00 0\nRss: 99999999999999999999 kB\n",
		"1000-2000 rw-p 00000000 00:00 0\nRss: 18446744073709551615 kB\n",
		"1000-2000 rw-p 00000000 00:00 0\nRss\n",
		"1000-2000 rw-p 00000000 00:00 0\n1800-3000 rw-p 00000000 00:00 0\n",
		"2000-1000 rw-p 00000000 00:00 0\n",
		"1000-2000 rw-p\n",
		"\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct smaps smaps;

		print_message("# row %zu\n", i);
		assert_int_equal(smaps_parse(rows[i], strlen(rows[i]), &smaps), -EBADMSG);
	}
}

static void no_text_is_no_mappings(void **state)
{
	struct smaps smaps;

	(void)state;
	assert_int_equal(smaps_parse("", 0, &smaps), 0);
	assert_int_equal(smaps.n_rows, 0);
	smaps_done(&smaps);
}

static void a_line_of_status_is_found_by_its_whole_key(void **state)
{
	static const char text[] = "Name:\tVmPTE: 3 kB\nVmPTEX:\t  1 kB\nVmPTE:\t      44 kB\n";
	uint64_t bytes;

	(void)state;
	assert_int_equal(smaps_status_value(text, "VmPTE", &bytes), 0);
	assert_int_equal(bytes, 44 * 1024);
	assert_int_equal(smaps_status_value(text, "VmSwap", &bytes), -ENOENT);
	assert_int_equal(smaps_status_value("VmPTE:\t44\n", "VmPTE", &bytes), -EBADMSG);
	assert_int_equal(smaps_status_value("", "VmPTE", &bytes), -ENOENT);
}

static void the_sums_of_a_process_at_rest_are_those_of_its_mappings(void **state)
{
	const size_t pages = 300;
	struct smaps smaps;
	struct smaps_sums sums;
	uint64_t rss = 0, pss = 0, mine = 0;
	int status;
	char *p;
	pid_t pid;

	(void)state;
	p = mmap(NULL, (pages + 50) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	(void)madvise(p, (pages + 50) * PAGE, MADV_NOHUGEPAGE);
	/* Its own mapping, which neighbours do not join. */
	assert_int_equal(mprotect(p + pages * PAGE, 50 * PAGE, PROT_NONE), 0);
	for (size_t i = 0; i < pages; i += 3)
		p[i * PAGE] = 1;
	pid = fork();
	if (pid == 0) {
		(void)raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(smaps_read(pid, &smaps), 0);
	assert_int_equal(smaps_sums_read(pid, &sums), 0);
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (size_t i = 0; i < smaps.n_rows; i++) {
		const struct smaps_row *row = &smaps.rows[i];

		rss += row->rss_bytes;
		pss += row->pss_bytes;
		if (row->map.end == (uintptr_t)p + pages * PAGE)
			mine = row->rss_bytes;
	}
	assert_int_equal(rss, sums.rss_bytes);
	/* Shares are rounded down, of each mapping. */
	assert_true(sums.pss_bytes >= pss && sums.pss_bytes - pss <= smaps.n_rows * 1024);
	assert_true(mine >= 100 * PAGE);
	assert_true(sums.page_table_bytes >= 4 * PAGE);
	smaps_done(&smaps);
	munmap(p, (pages + 50) * PAGE);
}

static void a_process_that_is_gone_is_an_error(void **state)
{
	struct smaps_sums sums;
	struct smaps smaps;
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(smaps_read(pid, &smaps), -ESRCH);
	assert_int_equal(smaps_sums_read(pid, &sums), -ESRCH);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(smaps_read(pid, &smaps), -ESRCH);
	assert_int_equal(smaps_sums_read(pid, &sums), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_mapping_has_its_own_values),
		cmocka_unit_test(what_is_no_smaps_is_refused),
		cmocka_unit_test(no_text_is_no_mappings),
		cmocka_unit_test(a_line_of_status_is_found_by_its_whole_key),
		cmocka_unit_test(the_sums_of_a_process_at_rest_are_those_of_its_mappings),
		cmocka_unit_test(a_process_that_is_gone_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
