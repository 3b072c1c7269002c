/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Separate debug files, mini debug info, and where they are not looked for. */
#include "base/cleanup.h"
#include "symbol_fixture.h"

#include <lzma.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

/* The build ID that symbol_fixture.c gives its program. */
#define BY_ID "usr/lib/debug/.build-id/0b/adc0de12345678.debug"

/* FOLDER/whole: the program, with or without its build ID. */
static void make_whole(const struct fixture *f, bool has_build_id)
{
	_cleanup_free_ char *without = built_path(f->folder, "without-id");

	if (!has_build_id && access(without, F_OK) != 0)
		fixture_build(f, "without-id", "-Wl,--build-id=none");
	built_run("cd %s && cp %s whole", f->folder, has_build_id ? "program" : "without-id");
}

/*
 * Makes FOLDER/root/app/NAME, stripped, and FOLDER/NAME.debug, which a .gnu_debuglink in the former
 * names. Returns malloc'ed FOLDER/root.
 */
static char *make_stripped(const struct fixture *f, const char *name, bool has_build_id)
{
	make_whole(f, has_build_id);
	built_run("cd %s && rm -rf root && mkdir -p root/app && objcopy --only-keep-debug whole "
		  "%s.debug && objcopy -S --add-gnu-debuglink=%s.debug whole root/app/%s",
		  f->folder, name, name, name);
	return built_path(f->folder, "root");
}

static struct symbol_object *open_in_root(const struct fixture *f, const char *name,
					  const char *root)
{
	_cleanup_free_ char *path = NULL, *inside = NULL;
	_cleanup_fclose_ FILE *file = NULL;
	struct symbol_object *object = NULL;
	struct stat st;

	assert_true(asprintf(&inside, "/app/%s", name) > 0);
	path = built_path(root, inside + 1);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	assert_int_equal(symbolizer_object(f->symbolizer, inside, st.st_dev, st.st_ino,
					   fileno(file), root, &object),
			 0);
	return object;
}

static void assert_hidden(const struct fixture *f, struct symbol_object *object, bool is_found)
{
	_cleanup_free_ char *whole = built_path(f->folder, "whole");
	struct built_symbol at = fixture_find(whole, "hidden");

	if (is_found)
		assert_function(f, object, at, "hidden", true);
	else
		assert_unknown(f, object, at.file_offset);
}

static void debug_files_are_found_where_gdb_finds_them(void **state)
{
	/* Below the target's root; NULL: nowhere. */
	static const char *const places[] = {
		NULL,
		BY_ID,
		"app/program.debug",
		"app/.debug/program.debug",
		"usr/lib/debug/app/program.debug",
	};
	const struct fixture *f = *state;

	for (size_t i = 0; i < N_ELEMENTS(places); i++) {
		_cleanup_free_ char *root = make_stripped(f, "program", true);

		if (places[i])
			built_run(
				"cd %s && mkdir -p $(dirname root/%s) && cp program.debug root/%s",
				f->folder, places[i], places[i]);
		assert_hidden(f, open_in_root(f, "program", root), places[i] != NULL);
	}
}

static void without_a_root_the_host_is_searched(void **state)
{
	const struct fixture *f = *state;
	_cleanup_free_ char *root = make_stripped(f, "program", true);
	_cleanup_free_ char *path = built_path(root, "app/program");

	built_run("cp %s/program.debug %s/app/", f->folder, root);
	assert_hidden(f, fixture_open(f, path, NULL), true);
}

static void debug_files_survive_the_target_and_its_root(void **state)
{
	const struct fixture *f = *state;
	_cleanup_free_ char *root = make_stripped(f, "program", true);
	struct symbol_object *object;

	built_run("cp %s/program.debug %s/app/", f->folder, root);
	object = open_in_root(f, "program", root);
	built_run("rm -r %s", root);
	assert_hidden(f, object, true);
}

static void debug_files_of_another_build_are_refused(void **state)
{
	const struct fixture *f = *state;
	_cleanup_free_ char *root = make_stripped(f, "program", true);

	fixture_build(f, "other", "-Wl,--build-id=0x11111111");
	built_run("cd %s && cp other root/app/program.debug && mkdir -p $(dirname root/" BY_ID
		  ") && cp other root/" BY_ID,
		  f->folder);
	assert_hidden(f, open_in_root(f, "program", root), false);
}

static void without_a_build_id_the_crc_decides(void **state)
{
	const struct fixture *f = *state;

	for (int is_right = 0; is_right < 2; is_right++) {
		_cleanup_free_ char *root = make_stripped(f, "program", false);

		/* ELF readers do not mind a byte behind the end, but the CRC does. */
		built_run("cd %s && cp program.debug root/app/ && %s", f->folder,
			  is_right ? "true" : "echo >> root/app/program.debug");
		assert_hidden(f, open_in_root(f, "program", root), is_right);
	}
}

/* Others may map the program, too. */
static void debug_files_are_of_roots_or_of_the_programs_owner(void **state)
{
	static const struct {
		const char *debug, *program;
		bool is_found;
	} cases[] = {
		{ "root", "nobody", true },
		{ "nobody", "nobody", true },
		{ "nobody", "root", false },
	};
	const struct fixture *f = *state;

	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_free_ char *root = make_stripped(f, "program", true);

		built_run("cd %s && mkdir -p $(dirname root/" BY_ID ") && "
			  "cp program.debug root/" BY_ID " && chown %s root/" BY_ID " && "
			  "cp program.debug root/app/ && chown %s root/app/program.debug && "
			  "chown %s root/app/program",
			  f->folder, cases[i].debug, cases[i].debug, cases[i].program);
		assert_hidden(f, open_in_root(f, "program", root), cases[i].is_found);
	}
}

static void links_do_not_lead_out_of_the_root(void **state)
{
	static const struct {
		const char *link;
		bool is_found;
	} cases[] = {
		{ "../../program.debug", false },
		{ "$PWD/program.debug", false },
		{ "/elsewhere/program.debug", true },
	};
	const struct fixture *f = *state;

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_free_ char *root = make_stripped(f, "program", true);

		built_run("cd %s && mkdir root/elsewhere && cp program.debug root/elsewhere/ && "
			  "ln -s \"%s\" root/app/program.debug",
			  f->folder, cases[i].link);
		assert_hidden(f, open_in_root(f, "program", root), cases[i].is_found);
	}
}

static void a_fifo_in_place_of_a_debug_file_does_not_block(void **state)
{
	const struct fixture *f = *state;
	_cleanup_free_ char *root = make_stripped(f, "program", true);

	built_run("mkfifo %s/app/program.debug", root);
	assert_hidden(f, open_in_root(f, "program", root), false);
}

static void a_fifo_in_place_of_a_common_file_does_not_block(void **state)
{
	static const char id[] = "01234567890123456789";
	const struct fixture *f = *state;
	_cleanup_free_ char *whole = built_path(f->folder, "whole"), *link = NULL, *text = NULL;
	int len;

	make_whole(f, true);
	link = built_path(f->folder, "link");
	len = asprintf(&text, "%s/fifo%c%s", f->folder, '\0', id);
	assert_true(len > 0);
	built_write(link, text, (size_t)len);
	built_run("cd %s && mkfifo fifo && objcopy --add-section .gnu_debugaltlink=link whole",
		  f->folder);
	assert_hidden(f, fixture_open(f, whole, NULL), true);
}

static void assert_same_frames(const struct fixture *f, struct symbol_object *a,
			       struct symbol_object *b, struct built_symbol at)
{
	for (uint64_t i = 0; i < at.size_bytes; i++) {
		const struct symbol *x = fixture_resolve(f, a, at.file_offset + i, false);
		const struct symbol *y = fixture_resolve(f, b, at.file_offset + i, false);

		assert_int_equal(x->n_frames, y->n_frames);
		for (size_t k = 0; k < x->n_frames; k++) {
			assert_string_equal(x->frames[k].function, y->frames[k].function);
			assert_int_equal(x->frames[k].line, y->frames[k].line);
		}
	}
}

static void dwarf_that_dwz_shares_out_reads_as_before(void **state)
{
	const struct fixture *f = *state;
	_cleanup_free_ char *a = NULL, *c = NULL, *whole = NULL;
	struct symbol_object *shared;
	struct built_symbol at;

	if (!built_has_tool("dwz")) {
		print_message("dwz is not installed\n");
		skip();
	}
	a = built_path(f->folder, "a");
	c = built_path(f->folder, "c");
	/* There must be enough to share that dwz finds it worth a file. */
	fixture_build(f, "whole",
		      "-include stdio.h -include sys/socket.h -fno-eliminate-unused-debug-types");
	whole = built_path(f->folder, "whole");
	built_run("cd %s && cp whole a && cp whole b && dwz -m common -M common a b && "
		  "readelf -SW a | grep -q gnu_debugaltlink",
		  f->folder);
	shared = fixture_open(f, a, NULL);
	at = fixture_find(whole, "outer");
	assert_same_frames(f, shared, fixture_open(f, whole, NULL), at);
	/* libdw by itself would open whatever lies at the common file's path. */
	built_run("cd %s && rm common && mkfifo common && cp a c", f->folder);
	assert_function(f, fixture_open(f, c, NULL), at, "outer", true);
}

/* Adds FOLDER/payload to the stripped program as its mini debug info. */
static void try_mini_debug(const struct fixture *f, bool is_found)
{
	_cleanup_free_ char *path = built_path(f->folder, "mini"), *whole = NULL;
	struct symbol_object *object;

	built_run("cd %s && objcopy -S --add-section .gnu_debugdata=payload whole mini", f->folder);
	whole = built_path(f->folder, "whole");
	object = fixture_open(f, path, NULL);
	if (is_found)
		assert_function(f, object, fixture_find(whole, "hidden"), "hidden", false);
	else
		assert_unknown(f, object, fixture_find(whole, "hidden").file_offset);
}

static void mini_debug_info_names_static_functions(void **state)
{
	const struct fixture *f = *state;
	_cleanup_free_ char *symbols = built_path(f->folder, "symbols"), *data = NULL;
	_cleanup_free_ char *payload = built_path(f->folder, "payload"), *packed = NULL;
	size_t len, bound, packed_len = 0;

	make_whole(f, false);
	built_run("cd %s && strip -g -o symbols whole", f->folder);
	data = built_read(symbols, &len);
	bound = lzma_stream_buffer_bound(len);
	packed = malloc(bound);
	assert_non_null(packed);
	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, (uint8_t *)data, len,
						 (uint8_t *)packed, &packed_len, bound),
			 LZMA_OK);
	built_write(payload, packed, packed_len);
	try_mini_debug(f, true);
}

static void damaged_mini_debug_info_is_ignored(void **state)
{
	const struct fixture *f = *state;
	_cleanup_free_ char *payload = built_path(f->folder, "payload");

	make_whole(f, false);
	built_write(payload, "\3757zXZ\0 and then nothing of use", 30);
	try_mini_debug(f, false);
}

/* xz packs zeros 6,800:1, so what it unpacks to must be limited, not its own size. */
static void mini_debug_info_of_gigabytes_is_ignored(void **state)
{
	const struct fixture *f = *state;
	_cleanup_free_ char *zeros = calloc(1, 1 << 20), *packed = malloc(1 << 20);
	_cleanup_free_ char *payload = built_path(f->folder, "payload");
	lzma_stream stream = LZMA_STREAM_INIT;
	size_t len;

	assert_non_null(zeros);
	assert_non_null(packed);
	make_whole(f, false);
	assert_int_equal(lzma_easy_encoder(&stream, 0, LZMA_CHECK_NONE), LZMA_OK);
	stream.next_out = (uint8_t *)packed;
	stream.avail_out = 1 << 20;
	for (int i = 0; i < 70; i++) {
		stream.next_in = (const uint8_t *)zeros;
		stream.avail_in = 1 << 20;
		assert_int_equal(lzma_code(&stream, LZMA_RUN), LZMA_OK);
	}
	assert_int_equal(lzma_code(&stream, LZMA_FINISH), LZMA_STREAM_END);
	len = stream.total_out;
	lzma_end(&stream);
	built_write(payload, packed, len);
	try_mini_debug(f, false);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, fixture_new_symbolizer, fixture_free_symbolizer)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(debug_files_are_found_where_gdb_finds_them),
		TEST(without_a_root_the_host_is_searched),
		TEST(debug_files_survive_the_target_and_its_root),
		TEST(debug_files_of_another_build_are_refused),
		TEST(without_a_build_id_the_crc_decides),
		TEST(debug_files_are_of_roots_or_of_the_programs_owner),
		TEST(links_do_not_lead_out_of_the_root),
		TEST(a_fifo_in_place_of_a_debug_file_does_not_block),
		TEST(a_fifo_in_place_of_a_common_file_does_not_block),
		TEST(dwarf_that_dwz_shares_out_reads_as_before),
		TEST(mini_debug_info_names_static_functions),
		TEST(damaged_mini_debug_info_is_ignored),
		TEST(mini_debug_info_of_gigabytes_is_ignored),
	};

	return cmocka_run_group_tests(tests, fixture_set_up, fixture_tear_down);
}
