/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Suppression files of public projects, which are not ours to copy: suppression_files.tsv names
 * each by repository, path and Git's hash of its contents, with how many of its entries are for us.
 * The test reads those that are at $MEMTRACED_SUPPRESSION_FILES/HASH, else it is skipped. With
 * `--count FILE...` it prints the numbers of files.
 */
#include "analyze/suppressions.h"
#include "base/cleanup.h"
#include "skip_because.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define LIST "tests/unit/suppression_files.tsv"

struct counts {
	size_t kept;
	bool warned; /* some were not understood */
};

static void read_suppressions(const char *path, struct counts *ret)
{
	_cleanup_strbuf_ struct strbuf error = { 0 };
	_cleanup_(suppressions_free_p) struct suppressions *s = NULL;

	assert_int_equal(suppressions_new(&s), 0);
	if (suppressions_add_file(s, path, &error) != 0)
		fail_msg("%s", strbuf_str(&error));
	*ret = (struct counts){ suppressions_n(s), error.len > 0 };
}

static void files_of_public_projects_are_read(void **state)
{
	const char *folder = getenv("MEMTRACED_SUPPRESSION_FILES");
	_cleanup_fclose_ FILE *list = fopen(LIST, "re");
	char project[128], path[256], hash[64], line[512], found[1024];
	size_t n_found = 0, kept;
	int warned;

	(void)state;
	assert_non_null(list);
	while (fgets(line, sizeof(line), list)) {
		struct counts counts;

		if (*line == '#')
			continue;
		assert_int_equal(sscanf(line, "%127[^\t]\t%255[^\t]\t%63[0-9a-f]\t%zu\t%d", project,
					path, hash, &kept, &warned),
				 5);
		snprintf(found, sizeof(found), "%s/%s", folder ? folder : "", hash);
		if (!folder || access(found, R_OK) < 0)
			continue;
		read_suppressions(found, &counts);
		if (counts.kept != kept || counts.warned != (warned != 0))
			fail_msg("%s %s: %zu entries, warned %d", project, path, counts.kept,
				 counts.warned);
		n_found++;
	}
	if (n_found == 0)
		skip_because("$MEMTRACED_SUPPRESSION_FILES has none of the files");
	print_message("%zu files\n", n_found);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_public_projects_are_read),
	};

	for (int i = 2; i < argc && strcmp(argv[1], "--count") == 0; i++) {
		struct counts counts;

		read_suppressions(argv[i], &counts);
		printf("%s\t%zu\t%d\n", argv[i], counts.kept, counts.warned);
	}
	return argc > 1 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
