/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/program_kinds.h"

#include "base/cleanup.h"
#include "build_object.h"
#include "elf/elf_file.h"
#include "probe/object_facts.h"
#include "report/text/program_words.h"
#include "skip_because.h"
#include "tests/report_fixture.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SECTION(name) "__attribute__((section(\"" name "\"))) const char fact[] = \"a\";\n"
#define MAIN "int main(void) { return 0; }\n"

/* Facts of files, whatever they are called. */
static void a_file_is_known_by_what_it_defines(void **state)
{
	static const struct {
		const char *source, *flags;
		enum program_kind kind;
	} rows[] = {
		{ MAIN, "", PROGRAM_PLAIN },
		{ "int f(void) { return 0; }\n", "-shared -fPIC", PROGRAM_PLAIN },
		{ "int Py_Main(void) { return 0; }\n", "-shared -fPIC", PROGRAM_PYTHON },
		{ MAIN "int Py_Main(void) { return 0; }\n", "-rdynamic -s", PROGRAM_PYTHON },
		{ "int Py_Main(void);\nint f(void) { return Py_Main(); }\n", "-shared -fPIC",
		  PROGRAM_PLAIN }, /* an extension module uses it */
		{ MAIN "int _ZN4node5StartEiPPc(void) { return 0; }\n", "", PROGRAM_NODE },
		{ "int JVM_StartThread(void) { return 0; }\n", "-shared -fPIC", PROGRAM_JAVA },
		{ MAIN "int enif_alloc(void) { return 0; }\n", "-rdynamic", PROGRAM_ERLANG },
		{ MAIN SECTION(".go.buildinfo"), "", PROGRAM_GO },
		{ MAIN SECTION(".go.buildinfo"), "-static -s", PROGRAM_GO },
		{ MAIN, "-static", PROGRAM_PLAIN },
		{ MAIN, "-static -s", PROGRAM_NO_SYMBOLS },
		{ MAIN, "-static-pie -s", PROGRAM_NO_SYMBOLS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
		_cleanup_close_ int fd = build_object(rows[i].source, rows[i].flags);

		if (fd < 0)
			skip_because("no object can be built here");
		assert_int_equal(elf_file_new(fd, &file), 0);
		if (program_kind_read(file) != rows[i].kind)
			fail_msg("row %zu: %u", i, program_kind_read(file));
	}
}

static void a_file_for_32_bits_is_known_by_its_header(void **state)
{
	Elf32_Ehdr header = { .e_ident = ELFMAG, .e_type = ET_EXEC, .e_machine = EM_386 };
	const struct object_wants wants = { 0 };
	struct object_facts facts;
	_cleanup_close_ int fd = memfd_create("program", MFD_CLOEXEC);

	(void)state;
	header.e_ident[EI_CLASS] = ELFCLASS32;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	header.e_version = EV_CURRENT;
	header.e_ehsize = sizeof(header);
	assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
	assert_int_equal(object_facts_read(fd, &wants, &facts), 0);
	assert_false(facts.is_elf);
	assert_int_equal(facts.kind, PROGRAM_32BIT);
	object_facts_done(&facts);
}

/* --- what reports say ------------------------------------------------------------------------- */

static void map_of_kind(struct fixture *f, uint32_t slot, uint32_t kind)
{
	emit(&f->script, &(struct record){ .type = RECORD_MAPPING,
					   .mapping = { .image = { slot },
							.start = 0x401000,
							.end = 0x402000,
							.path = "/opt/demo/server",
							.executable = true,
							.kind = kind } });
}

/* Its lines are broken: words with one blank between them. */
static char *words_of(struct fixture *f)
{
	char *text = fixture_report(f, "table", NULL), *to = text;

	for (const char *from = text; *from; from++)
		if (*from != '\n' && (*from != ' ' || (to > text && to[-1] != ' ')))
			*to++ = *from;
		else if (*from == '\n' && to > text && to[-1] != ' ')
			*to++ = ' ';
	*to = '\0';
	return text;
}

static void a_report_says_once_which_processes_are_of_a_kind(void **state)
{
	static const char wanted[] =
		"a (pid 100), a (pid 101), a (pid 102), 2 more: Python; objects of up to 512 "
		"bytes are in Python's own arenas (class mmap), unless it runs with "
		"PYTHONMALLOC=malloc; python3 -X perf (3.12 or later) names Python functions in "
		"stacks";
	struct fixture *f = *state;
	_cleanup_free_ char *table = NULL, *json = NULL;

	emit_run(&f->script);
	for (uint32_t i = 0; i < 4; i++) {
		emit_begin(&f->script, i, 100 + i, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "a");
		map_of_kind(f, i, PROGRAM_PYTHON);
	}
	/* A child runs its parent's code. */
	emit_begin(&f->script, 4, 104, 0, SCRIPT_INHERITS | SCRIPT_ROOT, 2000, "a");
	emit_begin(&f->script, 5, 105, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "plain");
	map_of_kind(f, 5, PROGRAM_PLAIN);
	emit_begin(&f->script, 6, 106, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "later");
	map_of_kind(f, 6, PROGRAM_KINDS); /* of a later version's recording */
	table = words_of(f);
	json = fixture_report(f, "json", NULL);
	if (!strstr(table, wanted))
		fail_msg("%s", table);
	assert_null(strstr(strstr(table, wanted) + strlen(wanted), "Python;"));
	assert_non_null(strstr(json, "\"notes\":[{\"program\":\"python\",\"text\":\"Python; obj"));
}

static void only_what_a_run_looks_at_is_said(void **state)
{
	struct fixture *f = *state;
	_cleanup_free_ char *table = NULL;

	emit_run_with(&f->script, true);
	emit_begin(&f->script, 0, 100, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "node");
	map_of_kind(f, 0, PROGRAM_NODE);
	emit_begin(&f->script, 1, 101, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "of-go");
	map_of_kind(f, 1, PROGRAM_GO);
	table = words_of(f);
	if (!strstr(table, "node (pid 100): Node.js; node --perf-basic-prof names JavaScript "
			   "functions in stacks"))
		fail_msg("%s", table);
	assert_null(strstr(table, "of-go"));
}

static void commands_have_the_process_and_its_file(void **state)
{
	struct model_process image = { .known = true, .pid = 42, .exe = "/opt/demo/server" };
	_cleanup_strbuf_ struct strbuf of_java = { 0 }, of_static = { 0 }, quoted = { 0 };

	(void)state;
	program_words(PROGRAM_JAVA, &image, true, false, &of_java);
	assert_non_null(strstr(strbuf_str(&of_java), "jcmd 42 GC.class_histogram"));
	program_words(PROGRAM_NO_SYMBOLS, &image, true, false, &of_static);
	assert_non_null(strstr(strbuf_str(&of_static), "'object=server;malloc=0xADDRESS"));
	image.exe = "/opt/demo/a'; rm x";
	program_words(PROGRAM_NO_SYMBOLS, &image, true, false, &quoted);
	assert_non_null(strstr(strbuf_str(&quoted), "'object=NAME;malloc=0xADDRESS"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_known_by_what_it_defines),
		cmocka_unit_test(a_file_for_32_bits_is_known_by_its_header),
		cmocka_unit_test(commands_have_the_process_and_its_file),
		cmocka_unit_test_setup_teardown(a_report_says_once_which_processes_are_of_a_kind,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(only_what_a_run_looks_at_is_said, fixture_setup,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
