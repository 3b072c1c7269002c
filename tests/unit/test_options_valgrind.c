/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Valgrind's command line: what its options become, and what is said of those without effect. */
#include "config/option_table.h"
#include "tests/unit/parse_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int parse_behind(char *const *before, const char *const *words, struct options **ret_options,
			struct strbuf *error)
{
	char *argv[MAX_ARGS + 2] = { "/usr/bin/valgrind-memtraced" };
	int argc = 1;

	for (; words[argc - 1]; argc++)
		argv[argc] = (char *)words[argc - 1]; /* is not written to */
	return options_parse_valgrind(before, argc, argv, ret_options, error);
}

static struct options *parsed(char *const *before, const char *const *words)
{
	_cleanup_strbuf_ struct strbuf error = { 0 };
	struct options *o = NULL;

	if (parse_behind(before, words, &o, &error) != 0)
		fail_msg("%s", strbuf_str(&error));
	return o;
}

static void its_name_or_the_first_word_makes_it_valgrinds(void **state)
{
	static const struct {
		char *words[3];
		int first;
	} rows[] = {
		{ { "/x/valgrind-memtraced", "./p" }, 1 },
		{ { "valgrind-memtraced" }, 1 },
		{ { "memtraced", "valgrind", "./p" }, 2 },
		{ { "memtraced", "./valgrind" }, 0 },
		{ { "memtraced", "-v", "valgrind" }, 0 },
		{ { "valgrind-memtraced/memtraced", "./p" }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int argc = 0;

		while (argc < 3 && rows[i].words[argc])
			argc++;
		assert_int_equal(options_valgrind_words(argc, rows[i].words), rows[i].first);
	}
}

static void defaults_are_valgrinds(void **state)
{
	static const char *const words[] = { "valgrind", "./prog", "--tool=massif", NULL };
	_cleanup_strbuf_ struct strbuf error = { 0 };
	_cleanup_(options_free_p) struct options *o = NULL;

	(void)state;
	assert_int_equal(parse(words, &o, &error), 0);
	assert_int_equal(o->action, ACTION_TRACE);
	assert_true(o->valgrind.on);
	assert_int_equal(o->valgrind.tool, VALGRIND_MEMCHECK);
	assert_int_equal(o->leak.mode, LEAK_CHECK_SUMMARY);
	assert_int_equal(o->leak.shape, LEAK_SHAPE_VALGRIND);
	assert_true(o->heap_errors && o->no_exec && !o->no_follow);
	assert_int_equal(o->leak.num_callers, 12);
	assert_string_equal(o->command[0], "./prog");
	assert_string_equal(o->command[1], "--tool=massif");
	assert_null(o->command[2]);
	assert_null(o->valgrind.ignored);
	assert_int_equal(o->n_outputs, 0);
}

static void values_are_taken(void **state)
{
	static const char *const words[] = { "-q",
					     "--tool=memcheck",
					     "--leak-check=yes",
					     "--show-reachable=yes",
					     "--num-callers=50",
					     "--trace-children=yes",
					     "--fullpath-after=",
					     "--log-file=/x/%p.%q{A}.%n.%%",
					     "--track-origins=yes",
					     "--vgdb=no",
					     "--read-var-info=no",
					     "--vex-iropt-level=1",
					     "--massif:depth=3",
					     "--memcheck:show-mismatched-frees=no",
					     "--error-exitcode=9",
					     "./prog",
					     NULL };
	_cleanup_(options_free_p) struct options *o = parsed(NULL, words);

	(void)state;
	assert_int_equal(o->leak.mode, LEAK_CHECK_YES);
	assert_int_equal(o->leak.shape, LEAK_SHAPE_QUIET);
	assert_int_equal(o->leak.show_kinds, 15);
	assert_int_equal(o->leak.num_callers, 50);
	assert_false(o->no_exec);
	assert_true(o->leak.full_paths && o->leak.hide_mismatches);
	assert_string_equal(o->leak.log.path, "/x/%p.%q{A}.%n.%%");
	assert_int_equal(o->leak.error_exitcode, 9);
	assert_string_equal(o->valgrind.ignored, "--track-origins");
}

static void patterns_of_programs_may_be_none(void **state)
{
	static const char *const words[] = { "--trace-children-skip=*/sh,/x",
					     "--trace-children-skip-by-arg=", "--time-stamp=yes",
					     "./prog", NULL };
	_cleanup_(options_free_p) struct options *o = parsed(NULL, words);

	(void)state;
	assert_string_equal(o->valgrind.skip_names, "*/sh,/x");
	assert_string_equal(o->valgrind.skip_words, ",");
	assert_true(o->leak.time_stamps);
	assert_null(o->valgrind.ignored);
}

static void tools_that_make_a_file_have_an_output(void **state)
{
	static const struct {
		const char *words[5], *format, *path;
	} rows[] = {
		{ { "--tool=massif", "./p" }, "massif", "massif.out.%p" },
		{ { "--tool=massif", "--massif-out-file=a.%p", "./p" }, "massif", "a.%p" },
		{ { "--tool=massif", "--time-unit=B", "--threshold=0.5", "./p" },
		  "massif",
		  "massif.out.%p" },
		{ { "--tool=dhat", "./p" }, "dhat", "dhat.out.%p" },
		{ { "--dhat-out-file=b", "--tool=dhat", "./p" }, "dhat", "b" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_(options_free_p) struct options *o = parsed(NULL, rows[i].words);

		assert_false(options_check_leaks(o));
		assert_false(o->heap_errors);
		assert_int_equal(o->n_outputs, 1);
		assert_string_equal(o->outputs[0].format, rows[i].format);
		assert_string_equal(o->outputs[0].path, rows[i].path);
	}
}

static void fills_and_xtrees_are_glibcs_and_an_output(void **state)
{
	static const char *const words[] = { "--malloc-fill=0x5a", "--free-fill=a5",
					     "--xtree-memory=full", "./p", NULL };
	static const char *const other[] = { "--malloc-fill=0x5a",
					     "--free-fill=0x77",
					     "--xtree-memory=allocs",
					     "--xtree-memory-file=a.ms",
					     "./p",
					     NULL };
	_cleanup_(options_free_p) struct options *o = parsed(NULL, words);
	_cleanup_(options_free_p) struct options *p = parsed(NULL, other);

	(void)state;
	assert_string_equal(o->env_set[0], "GLIBC_TUNABLES=glibc.malloc.perturb=165:"
					   "glibc.malloc.tcache_count=0");
	assert_null(o->env_set[1]);
	assert_null(o->valgrind.ignored);
	assert_string_equal(o->outputs[0].format, "callgrind");
	assert_string_equal(o->outputs[0].path, "xtmemory.kcg.%p");
	assert_string_equal(p->valgrind.ignored, "--free-fill");
	assert_string_equal(p->outputs[0].format, "massif");
	assert_string_equal(p->outputs[0].path, "a.ms");
}

static void xml_has_all_leaks_and_the_words_of_both_commands(void **state)
{
	static char *const before[] = { "--num-callers=3", NULL };
	static const char *const words[] = { "--xml=yes", "--xml-file=a", "--", "./p", "b", NULL };
	_cleanup_(options_free_p) struct options *o = parsed(before, words);

	(void)state;
	assert_int_equal(o->leak.mode, LEAK_CHECK_FULL);
	assert_true(o->leak.xml.on);
	assert_string_equal(o->program, "/usr/bin/valgrind-memtraced");
	assert_string_equal(o->own_words[0], "--num-callers=3");
	assert_string_equal(o->own_words[1], "--xml=yes");
	assert_string_equal(o->own_words[2], "--xml-file=a");
	assert_null(o->own_words[3]);
	assert_string_equal(o->command[0], "./p");
	assert_string_equal(o->command[1], "b");
}

static void the_last_place_that_was_given_holds(void **state)
{
	static const char *const words[] = { "--log-file=a",
					     "--log-fd=3",
					     "--log-socket=127.0.0.1",
					     "--xml-socket=10.0.0.1:80",
					     "--xml=yes",
					     "./p",
					     NULL };
	_cleanup_(options_free_p) struct options *o = parsed(NULL, words);

	(void)state;
	assert_null(o->leak.log.path);
	assert_int_equal(o->leak.log.fd, 0);
	assert_int_equal(o->leak.log.socket.addr[0], 127);
	assert_int_equal(o->leak.log.socket.port, 1500);
	assert_int_equal(o->leak.xml.to.socket.addr[3], 1);
	assert_int_equal(o->leak.xml.to.socket.port, 80);
}

static void later_words_take_the_place_of_those_of_files(void **state)
{
	static char *const before[] = { "--leak-check=full", "--suppressions=a", "-q", NULL };
	static const char *const words[] = { "--leak-check=no", "--suppressions=b", "-v", "./p",
					     NULL };
	static const char *const alone[] = { "--command-line-only=yes", "./p", NULL };
	_cleanup_(options_free_p) struct options *o = parsed(before, words);
	_cleanup_(options_free_p) struct options *without = parsed(before, alone);

	(void)state;
	assert_int_equal(o->leak.mode, LEAK_CHECK_ERRORS);
	assert_string_equal(o->leak.suppressions[0], "a");
	assert_string_equal(o->leak.suppressions[1], "b");
	assert_int_equal(o->leak.shape, LEAK_SHAPE_VALGRIND);
	assert_int_equal(without->leak.mode, LEAK_CHECK_SUMMARY);
	assert_null(without->leak.suppressions);
}

static void words_of_files_are_split_as_valgrind_does(void **state)
{
	static const struct {
		const char *text, *words[4];
	} rows[] = {
		{ "", { NULL } },
		{ " \n\t", { NULL } },
		{ "--a  --b\n--c", { "--a", "--b", "--c" } },
		{ "--a='b c' \"d 'e\"", { "--a=b c", "d 'e" } },
		{ "a\\ b", { "a\\", "b" } },
		{ "'' x", { "", "x" } },
		{ "\"open and", { "open and" } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char **words = NULL;
		size_t n = 0;

		assert_int_equal(words_split_plain(rows[i].text, &words), 0);
		for (; rows[i].words[n]; n++) {
			assert_non_null(words[n]);
			assert_string_equal(words[n], rows[i].words[n]);
		}
		assert_null(words[n]);
		words_free(words);
	}
}

static void what_is_wrong_is_refused_with_the_reason(void **state)
{
	static const struct {
		const char *words[4];
		const char *said;
	} rows[] = {
		{ { NULL }, "no program: give one behind the options" },
		{ { "--leak-check=full" }, "no program: give one behind the options" },
		{ { "--leak-chekc=full", "./p" },
		  "unknown option '--leak-chekc'; did you mean '--leak-check'?" },
		{ { "--suppresions=a", "./p" },
		  "unknown option '--suppresions'; did you mean '--suppressions'?" },
		{ { "--trace-childern=yes", "./p" },
		  "unknown option '--trace-childern'; did you mean '--trace-children'?" },
		{ { "-x", "./p" }, "unknown option '-x'; see 'memtraced --help valgrind'" },
		{ { "--tool=helgrind", "./p" },
		  "invalid --tool 'helgrind': expected one of memcheck, massif, dhat" },
		{ { "--leak-check", "full", "./p" },
		  "'--leak-check' needs a value behind '=', as --leak-check=no" },
		{ { "--tool=massif", "--leak-check=full", "./p" },
		  "'--leak-check' is not an option of massif: leave it out, or give it to its own "
		  "tool alone, as --memcheck:NAME" },
		{ { "--show-reachable=some", "./p" },
		  "invalid --show-reachable 'some': expected one of no, yes" },
		{ { "--xml=yes", "./p" }, "'--xml=yes' needs --xml-file=FILE or --xml-fd=N" },
		{ { "--log-socket=1.2.3", "./p" },
		  "invalid --log-socket '1.2.3': expected an address of IPv4, and a port as in "
		  "127.0.0.1:1500" },
		{ { "--log-socket=1.2.3.4:65536", "./p" },
		  "invalid --log-socket '1.2.3.4:65536': expected an address of IPv4, and a port "
		  "as in 127.0.0.1:1500" },
		{ { "--quiet=yes", "./p" }, "'--quiet' takes no value: leave out '=yes'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_strbuf_ struct strbuf error = { 0 };
		struct options *o = NULL;

		assert_int_equal(parse_behind(NULL, rows[i].words, &o, &error), -EINVAL);
		assert_string_equal(strbuf_str(&error), rows[i].said);
	}
}

static void all_rows_have_help_and_no_name_twice(void **state)
{
	uint32_t tools;

	(void)state;
	for (size_t i = 0; i < valgrind_keys.n; i++) {
		const struct key *key = &valgrind_keys.keys[i];

		assert_non_null(key->help);
		assert_true(valgrind_key_tools(key) != 0);
		if (key->name[1] != '-')
			continue;
		assert_int_equal(valgrind_option_find(key->name + 2, strlen(key->name + 2), &tools),
				 VALGRIND_UNKNOWN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_name_or_the_first_word_makes_it_valgrinds),
		cmocka_unit_test(defaults_are_valgrinds),
		cmocka_unit_test(values_are_taken),
		cmocka_unit_test(patterns_of_programs_may_be_none),
		cmocka_unit_test(tools_that_make_a_file_have_an_output),
		cmocka_unit_test(fills_and_xtrees_are_glibcs_and_an_output),
		cmocka_unit_test(xml_has_all_leaks_and_the_words_of_both_commands),
		cmocka_unit_test(the_last_place_that_was_given_holds),
		cmocka_unit_test(later_words_take_the_place_of_those_of_files),
		cmocka_unit_test(words_of_files_are_split_as_valgrind_does),
		cmocka_unit_test(what_is_wrong_is_refused_with_the_reason),
		cmocka_unit_test(all_rows_have_help_and_no_name_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
