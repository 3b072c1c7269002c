/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "symbol/object_symbols.h"
#include "symbol_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static void functions_are_named_at_their_first_and_last_byte(void **state)
{
	static const char *const names[] = { "outer",  "stop", "ends_in_call", "follows", "thing",
					     "hidden", "f10",  "f47",	       "main" };
	const struct fixture *f = *state;
	struct symbol_object *object = fixture_open(f, f->path, NULL);

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		struct built_symbol at = fixture_find(f->path, names[i]);
		const struct symbol *symbol;

		assert_function(f, object, at, names[i], true);
		assert_int_equal(symbol_object_vaddr(object, at.file_offset), at.vaddr);
		symbol = fixture_resolve(f, object, at.file_offset + at.size_bytes - 1, false);
		assert_string_equal(symbol->frames[symbol->n_frames - 1].function, names[i]);
		assert_int_equal(symbol->frames[symbol->n_frames - 1].offset, at.size_bytes - 1);
	}
	assert_string_equal(symbol_object_build_id(object), "0badc0de12345678");
}

static void inlined_calls_come_innermost_first_with_their_lines(void **state)
{
	static const struct {
		const char *function;
		uint32_t line;
	} expected[] = { { "innermost", 4 }, { "middle", 8 }, { "outer", 12 } };
	const struct fixture *f = *state;
	struct symbol_object *object = fixture_open(f, f->path, NULL);
	struct built_symbol outer = fixture_find(f->path, "outer");
	_cleanup_free_ char *file = built_path(f->folder, "program.c");
	const struct symbol *symbol = NULL;
	uint64_t i;

	for (i = 0; i < outer.size_bytes; i++) {
		symbol = fixture_resolve(f, object, outer.file_offset + i, false);
		if (symbol->n_frames == N_ELEMENTS(expected))
			break;
	}
	assert_true(i < outer.size_bytes);
	for (size_t k = 0; k < N_ELEMENTS(expected); k++) {
		assert_string_equal(symbol->frames[k].function, expected[k].function);
		assert_int_equal(symbol->frames[k].line, expected[k].line);
		assert_string_equal(symbol->frames[k].file, file);
		assert_int_equal(symbol->frames[k].is_inline, k < 2);
	}
	assert_int_equal(symbol->frames[0].offset, 0);
	assert_int_equal(symbol->frames[1].offset, 0);
	assert_int_equal(symbol->frames[2].offset, i);
}

/* The compiler has only "sub/program.c" in its table of files. */
static void a_relative_path_begins_in_the_folder_of_the_compiler(void **state)
{
	const struct fixture *f = *state;
	_cleanup_free_ char *path = built_path(f->folder, "relative");
	_cleanup_free_ char *file = built_path(f->folder, "sub/program.c");
	const struct symbol *symbol;

	built_run("cd %s && mkdir sub && cp program.c sub && gcc -g -O0 -o relative sub/program.c",
		  f->folder);
	symbol = fixture_resolve(f, fixture_open(f, path, NULL),
				 fixture_find(path, "follows").file_offset, false);
	assert_string_equal(symbol->frames[0].file, file);
}

static void a_return_address_belongs_to_the_call_before_it(void **state)
{
	const struct fixture *f = *state;
	struct symbol_object *object = fixture_open(f, f->path, NULL);
	struct built_symbol caller = fixture_find(f->path, "ends_in_call");
	struct built_symbol follows = fixture_find(f->path, "follows");
	const struct symbol *symbol;

	/* The compiler put nothing behind the call that does not return. */
	assert_int_equal(caller.vaddr + caller.size_bytes, follows.vaddr);
	symbol = fixture_resolve(f, object, follows.file_offset, true);
	assert_int_equal(symbol->n_frames, 1);
	assert_string_equal(symbol->frames[0].function, "ends_in_call");
	assert_int_equal(symbol->frames[0].offset, caller.size_bytes);
	assert_int_equal(symbol->frames[0].line, 20);
	symbol = fixture_resolve(f, object, follows.file_offset, false);
	assert_string_equal(symbol->frames[0].function, "follows");
	assert_int_equal(symbol->frames[0].offset, 0);
}

static void of_aliases_the_plain_name_is_taken(void **state)
{
	const struct fixture *f = *state;
	struct symbol_object *object = fixture_open(f, f->path, NULL);

	assert_function(f, object, fixture_find(f->path, "__thing_impl"), "thing", true);
}

static void results_are_kept(void **state)
{
	const struct fixture *f = *state;
	struct symbol_object *object = fixture_open(f, f->path, NULL);
	uint64_t at = fixture_find(f->path, "main").file_offset;
	const struct symbol *symbol = fixture_resolve(f, object, at, false);

	assert_ptr_equal(fixture_resolve(f, object, at, false), symbol);
	assert_ptr_equal(fixture_open(f, f->path, NULL), object);
}

/* Lines of `addr2line -a -f -i`: an address, then a function and a file:line for each frame. */
static void compare_with_addr2line(const struct fixture *f, struct symbol_object *object,
				   FILE *expected, uint64_t from, uint64_t to)
{
	char address[64], function[256], place[512], ours[600];
	size_t n = 0, frame = 0;
	const struct symbol *symbol = NULL;

	assert_non_null(fgets(address, sizeof(address), expected));
	while (from + n < to) {
		symbol = fixture_resolve(f, object, from + n, false);
		for (frame = 0; fgets(function, sizeof(function), expected); frame++) {
			if (strncmp(function, "0x", 2) == 0)
				break;
			assert_non_null(fgets(place, sizeof(place), expected));
			function[strcspn(function, "\n")] = '\0';
			place[strcspn(place, " \n")] = '\0';
			if (frame >= symbol->n_frames)
				fail_msg("%s has more frames", address);
			snprintf(ours, sizeof(ours), "%s:%u", symbol->frames[frame].file,
				 symbol->frames[frame].line);
			assert_string_equal(ours, place);
			assert_string_equal(symbol->frames[frame].function, function);
		}
		if (frame != symbol->n_frames)
			fail_msg("%s has fewer frames", address);
		n++;
	}
	assert_true(n > 500);
}

static void frames_and_lines_are_those_of_addr2line(void **state)
{
	static const char *const flags[] = { "-gdwarf-4 ", "-gdwarf-5 ", "-gdwarf-5 -gz " };
	const struct fixture *f = *state;

	if (!built_has_tool("addr2line")) {
		print_message("addr2line is not installed\n");
		skip();
	}
	for (size_t i = 0; i < N_ELEMENTS(flags); i++) {
		_cleanup_free_ char *path = NULL, *list = NULL, *out = NULL;
		_cleanup_fclose_ FILE *f_list = NULL, *f_out = NULL;
		struct built_symbol first, last;
		char name[8];

		snprintf(name, sizeof(name), "v%zu", i);
		fixture_build(f, name, flags[i]);
		path = built_path(f->folder, name);
		list = built_path(f->folder, "list");
		out = built_path(f->folder, "out");
		first = fixture_find(path, "outer");
		first = fixture_find(path, "hidden");
		last = fixture_find(path, "f47");
		f_list = fopen(list, "we");
		assert_non_null(f_list);
		for (uint64_t at = first.vaddr; at < last.vaddr; at++)
			fprintf(f_list, "%#lx\n", (unsigned long)at);
		assert_int_equal(fflush(f_list), 0);
		built_run("addr2line -a -f -i -C -e %s < %s > %s", path, list, out);
		f_out = fopen(out, "re");
		assert_non_null(f_out);
		compare_with_addr2line(f, fixture_open(f, path, NULL), f_out, first.file_offset,
				       last.file_offset);
	}
}

static void an_object_without_a_file_is_unknown(void **state)
{
	const struct fixture *f = *state;
	struct symbol_object *object = NULL;

	assert_int_equal(symbolizer_object(f->symbolizer, "/gone", 1, 2, -1, NULL, &object), 0);
	assert_unknown(f, object, 0x1234);
	assert_unknown(f, object, 0);
	assert_int_equal(symbol_object_vaddr(object, 0x1234), 0x1234);
	assert_string_equal(symbol_object_build_id(object), "");
}

static void places_outside_all_functions_are_unknown(void **state)
{
	const struct fixture *f = *state;
	struct symbol_object *object = fixture_open(f, f->path, NULL);

	assert_unknown(f, object, 0);
	assert_unknown(f, object, 1ULL << 40);
	assert_unknown(f, object, UINT64_MAX);
}

static void what_is_no_elf_file_is_unknown(void **state)
{
	const struct fixture *f = *state;
	_cleanup_free_ char *source_path = built_path(f->folder, "program.c");
	_cleanup_close_ int device = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct symbol_object *object = fixture_open(f, source_path, NULL);

	assert_unknown(f, object, 10);
	assert_int_equal(symbolizer_object(f->symbolizer, "/dev/zero", 0, 0, device, NULL, &object),
			 0);
	assert_unknown(f, object, 10);
}

static void change_after_opening(const struct fixture *f, bool replace)
{
	_cleanup_free_ char *path = built_path(f->folder, "changed"), *data = NULL;
	struct built_symbol at = fixture_find(f->path, "follows");
	struct symbol_object *object;
	size_t len;

	data = built_read(f->path, &len);
	built_write(path, data, len);
	object = fixture_open(f, path, NULL);
	if (replace) {
		assert_int_equal(unlink(path), 0);
		built_write(path, "other", 5);
		assert_function(f, object, at, "follows", true);
	} else {
		assert_int_equal(truncate(path, 4096), 0);
		assert_unknown(f, object, at.file_offset);
	}
}

static void a_file_replaced_after_opening_does_not_matter(void **state)
{
	change_after_opening(*state, true);
}

/* Writes the one file's bytes over the other's, with the same size and time. */
static void write_over(const char *from, const char *path)
{
	_cleanup_free_ char *data = NULL;
	struct timespec times[2];
	struct stat st;
	size_t len;

	data = built_read(from, &len);
	assert_int_equal(stat(path, &st), 0);
	built_write(path, data, len);
	assert_int_equal(truncate(path, st.st_size), 0);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void a_file_written_over_after_opening_is_unknown(void **state)
{
	const struct fixture *f = *state;
	_cleanup_free_ char *path = built_path(f->folder, "written"), *data = NULL;
	_cleanup_free_ char *other = built_path(f->folder, "another");
	struct built_symbol at = fixture_find(f->path, "follows");
	struct symbol_object *object;
	size_t len;

	fixture_build(f, "another", "-Wl,--build-id=0x22222222");
	data = built_read(f->path, &len);
	built_write(path, data, len);
	object = fixture_open(f, path, NULL);
	write_over(other, path);
	assert_unknown(f, object, at.file_offset);
}

static void a_file_that_got_another_time_is_the_same(void **state)
{
	static const struct timespec times[2] = { { 1, 0 }, { 1, 0 } };
	const struct fixture *f = *state;
	_cleanup_free_ char *path = built_path(f->folder, "touched"), *data = NULL;
	struct symbol_object *object;
	size_t len;

	data = built_read(f->path, &len);
	built_write(path, data, len);
	object = fixture_open(f, path, NULL);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_function(f, object, fixture_find(f->path, "follows"), "follows", true);
}

static void a_file_truncated_after_opening_does_no_harm(void **state)
{
	change_after_opening(*state, false);
}

static void a_file_rewritten_in_place_is_another_object(void **state)
{
	const struct fixture *f = *state;
	_cleanup_free_ char *other = built_path(f->folder, "other");
	_cleanup_close_ int fd = -1, other_fd = -1;
	struct symbol_object *a, *b;

	fixture_build(f, "other", "-Wl,--build-id=0x11111111");
	fd = open(f->path, O_RDONLY | O_CLOEXEC);
	other_fd = open(other, O_RDONLY | O_CLOEXEC);
	assert_int_equal(symbolizer_object(f->symbolizer, "/app", 1, 2, fd, NULL, &a), 0);
	assert_int_equal(symbolizer_object(f->symbolizer, "/app", 1, 2, other_fd, NULL, &b), 0);
	assert_ptr_not_equal(a, b);
	assert_string_equal(symbol_object_build_id(b), "11111111");
	/* Nor is a file that could not be opened before the one that now can. */
	assert_int_equal(symbolizer_object(f->symbolizer, "/app", 1, 2, -1, NULL, &b), 0);
	assert_ptr_not_equal(a, b);
	assert_int_equal(symbolizer_object(f->symbolizer, "/app", 1, 2, fd, NULL, &b), 0);
	assert_ptr_equal(a, b);
}

/* Does /proc/self/fd have the file? */
static bool has_open(const char *path)
{
	DIR *folder = opendir("/proc/self/fd");
	struct stat wanted, found;
	struct dirent *entry;
	bool has = false;

	assert_non_null(folder);
	assert_int_equal(stat(path, &wanted), 0);
	while ((entry = readdir(folder)))
		has |= fstatat(dirfd(folder), entry->d_name, &found, 0) == 0 &&
		       found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino;
	closedir(folder);
	return has;
}

static void a_closed_file_is_held_nowhere_and_can_be_opened_again(void **state)
{
	const struct fixture *f = *state;
	struct symbol_object *object = fixture_open(f, f->path, NULL);
	uint64_t at = fixture_find(f->path, "main").file_offset;
	const struct object_place place = { at + 1, false };
	const struct symbol *symbol = fixture_resolve(f, object, at, false);

	assert_string_equal(symbol->frames[0].function, "main");
	assert_true(has_open(f->path));
	symbolizer_close(f->symbolizer, object);
	assert_true(symbol_object_is_closed(object));
	assert_false(has_open(f->path));
	/* What was looked up is known, and nothing else. */
	assert_string_equal(fixture_resolve(f, object, at, false)->frames[0].function, "main");
	assert_int_equal(symbolizer_find(f->symbolizer, object, &place, &symbol), -ENOENT);
	assert_false(has_open(f->path));

	assert_ptr_equal(fixture_open(f, f->path, NULL), object);
	assert_false(symbol_object_is_closed(object));
	assert_string_equal(fixture_resolve(f, object, at + 1, false)->frames[0].function, "main");
}

static void what_is_made_known_is_not_looked_up(void **state)
{
	const struct fixture *f = *state;
	char function[] = "recorded(int)", linkage[] = "_Z8recordedi", file[] = "/src/a.cc";
	struct symbol_frame frames[] = {
		{ .function = "inlined", .line = 3, .is_inline = true },
		{ function, linkage, 5, file, 42, false, NULL, SYMBOL_SEEN },
	};
	const struct symbol known = { .n_frames = 2, .frames = frames };
	struct symbol_object *object = fixture_open(f, f->path, NULL);
	uint64_t at = fixture_find(f->path, "main").file_offset;
	const struct symbol *symbol;

	assert_int_equal(symbolizer_add(f->symbolizer, object, at, &known), 0);
	memset(function, 'x', sizeof(function));
	memset(linkage, 'x', sizeof(linkage));
	memset(file, 'x', sizeof(file));
	memset(frames, 0, sizeof(frames));
	assert_int_equal(symbolizer_add(f->symbolizer, object, at, &known), 0);
	for (int is_call = 0; is_call < 2; is_call++) {
		symbol = fixture_resolve(f, object, at, is_call);
		assert_int_equal(symbol->n_frames, 2);
		assert_string_equal(symbol->frames[0].function, "inlined");
		assert_null(symbol->frames[0].linkage);
		assert_true(symbol->frames[0].is_inline);
		assert_string_equal(symbol->frames[1].function, "recorded(int)");
		assert_string_equal(symbol->frames[1].linkage, "_Z8recordedi");
		assert_string_equal(symbol->frames[1].file, "/src/a.cc");
		assert_int_equal(symbol->frames[1].line, 42);
		assert_int_equal(symbol->frames[1].offset, 5);
	}
}

static void kernel_code_is_named_with_its_module(void **state)
{
	static const char text[] = "ffffffff81000000 T vfs_read\n"
				   "ffffffff81000100 t _RNvCs1234_7mycrate3foo\n"
				   "ffffffffc0a81000 t nft_do_chain\t[nf_tables]\n"
				   "bogus\n";
	const struct fixture *f = *state;
	struct symbol_object *object = NULL, *again = NULL;
	const struct symbol *symbol;

	assert_int_equal(symbolizer_kallsyms(f->symbolizer, "[kernel.kallsyms]", text,
					     sizeof(text) - 1, &object),
			 0);
	symbol = fixture_resolve(f, object, 0xffffffff81000100, true);
	assert_string_equal(symbol->frames[0].function, "vfs_read");
	assert_int_equal(symbol->frames[0].offset, 0x100);
	symbol = fixture_resolve(f, object, 0xffffffff81000100, false);
	assert_string_equal(symbol->frames[0].function, "mycrate::foo");
	assert_int_equal(symbol->frames[0].offset, 0);
	symbol = fixture_resolve(f, object, 0xffffffffc0a81010, true);
	assert_string_equal(symbol->frames[0].function, "nft_do_chain [nf_tables]");
	assert_string_equal(symbol->frames[0].linkage, "nft_do_chain");
	assert_int_equal(symbol->frames[0].offset, 0x10);
	assert_unknown(f, object, 0xffffffff80000000);
	assert_int_equal(symbol_object_vaddr(object, 0xffffffff81000010), 0xffffffff81000010);
	assert_int_equal(symbolizer_kallsyms(f->symbolizer, "[kernel.kallsyms]", text,
					     sizeof(text) - 1, &again),
			 0);
	assert_ptr_equal(again, object);
}

/* Copies this process's own vDSO to a file without a name; -1 when it has none. */
static int copy_vdso(void)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	char line[512];
	int fd;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "[vdso]") || sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		fd = memfd_create("vdso", MFD_CLOEXEC);
		assert_true(fd >= 0);
		/* read from memory, not by write(2), which sanitizers would check */
		assert_int_equal(write(fd, (const void *)start, end - start), end - start);
		return fd;
	}
	return -1;
}

static void the_vdso_is_symbolized_from_a_copy_of_its_image(void **state)
{
	const struct fixture *f = *state;
	_cleanup_close_ int fd = copy_vdso();
	struct symbol_object *object = NULL;
	struct built_symbol at = {};
	char path[64];

	if (fd < 0) {
		print_message("this process has no vDSO\n");
		skip();
	}
	assert_int_equal(symbolizer_object(f->symbolizer, "[vdso]", 0, 0, fd, "/proc/self/root",
					   &object),
			 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_true(built_find(path, "__vdso_gettimeofday", &at) ||
		    built_find(path, "__kernel_gettimeofday", &at));
	assert_function(f, object, at,
			built_find(path, "gettimeofday", &at) ? "gettimeofday" :
								"__kernel_gettimeofday",
			false);
}

static void damaged_files_do_no_harm(void **state)
{
	const struct fixture *f = *state;

	fixture_resolve_damaged(f, f->path, fixture_find(f->path, "outer").file_offset);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, fixture_new_symbolizer, fixture_free_symbolizer)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_are_named_at_their_first_and_last_byte),
		TEST(inlined_calls_come_innermost_first_with_their_lines),
		TEST(a_relative_path_begins_in_the_folder_of_the_compiler),
		TEST(a_return_address_belongs_to_the_call_before_it),
		TEST(of_aliases_the_plain_name_is_taken),
		TEST(results_are_kept),
		TEST(frames_and_lines_are_those_of_addr2line),
		TEST(an_object_without_a_file_is_unknown),
		TEST(places_outside_all_functions_are_unknown),
		TEST(what_is_no_elf_file_is_unknown),
		TEST(a_file_replaced_after_opening_does_not_matter),
		TEST(a_file_truncated_after_opening_does_no_harm),
		TEST(a_file_written_over_after_opening_is_unknown),
		TEST(a_file_that_got_another_time_is_the_same),
		TEST(a_file_rewritten_in_place_is_another_object),
		TEST(a_closed_file_is_held_nowhere_and_can_be_opened_again),
		TEST(what_is_made_known_is_not_looked_up),
		TEST(kernel_code_is_named_with_its_module),
		TEST(the_vdso_is_symbolized_from_a_copy_of_its_image),
		TEST(damaged_files_do_no_harm),
	};

	return cmocka_run_group_tests(tests, fixture_set_up, fixture_tear_down);
}
