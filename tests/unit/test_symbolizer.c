/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "built_program.h"
#include "symbol/symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

/* Whose functions lie in this order, back to back (CFLAGS); the comments count the lines. */
static const char source[] =
	"volatile int sink;\n"							 /* 1 */
	"static inline __attribute__((always_inline)) void innermost(int x)\n"	 /* 2 */
	"{\n"									 /* 3 */
	"	sink += x;\n"							 /* 4 */
	"}\n"									 /* 5 */
	"static inline __attribute__((always_inline)) void middle(int x)\n"	 /* 6 */
	"{\n"									 /* 7 */
	"	innermost(x * 3);\n"						 /* 8 */
	"}\n"									 /* 9 */
	"void outer(int x)\n"							 /* 10 */
	"{\n"									 /* 11 */
	"	middle(x + sink);\n"						 /* 12 */
	"}\n"									 /* 13 */
	"__attribute__((noinline, noreturn)) void stop(int x)\n"		 /* 14 */
	"{\n"									 /* 15 */
	"	for (;;) sink = x;\n"						 /* 16 */
	"}\n"									 /* 17 */
	"void ends_in_call(int x)\n"						 /* 18 */
	"{\n"									 /* 19 */
	"	stop(x + 1);\n"							 /* 20 */
	"}\n"									 /* 21 */
	"void follows(void)\n"							 /* 22 */
	"{\n"									 /* 23 */
	"	sink = 7;\n"							 /* 24 */
	"}\n"									 /* 25 */
	"void __thing_impl(void)\n"						 /* 26 */
	"{\n"									 /* 27 */
	"	sink = 1;\n"							 /* 28 */
	"}\n"									 /* 29 */
	"void thing(void) __attribute__((alias(\"__thing_impl\")));\n"		 /* 30 */
	"void _thing(void) __attribute__((weak, alias(\"__thing_impl\")));\n"	 /* 31 */
	"static __attribute__((noinline, used)) void hidden(int x)\n"		 /* 32 */
	"{\n"									 /* 33 */
	"	outer(x);\n"							 /* 34 */
	"}\n"									 /* 35 */
	"#define F(n) void f##n(int x) { while (x--) { middle(n); outer(n); } }\n"
	"#define T(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7)\n"
	"T(1) T(2) T(3) T(4)\n"
	"int main(void)\n"
	"{\n"
	"	hidden(1);\n"
	"	return sink;\n"
	"}\n";

#define CFLAGS                                                                                     \
	"-O2 -g -fno-toplevel-reorder -falign-functions=1 -fno-optimize-sibling-calls "            \
	"-fcf-protection=none -fno-ipa-icf -Wl,--build-id=0x0badc0de12345678 "

struct fixture {
	char *folder;
	char *path; /* of the program, with its debug information */
	struct symbolizer *symbolizer;
};

static void build(const struct fixture *f, const char *name, const char *flags)
{
	built_run("cd %s && gcc " CFLAGS "%s -o %s program.c", f->folder, flags, name);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	_cleanup_free_ char *source_path = NULL;

	assert_non_null(f);
	f->folder = built_folder();
	f->path = built_path(f->folder, "program");
	source_path = built_path(f->folder, "program.c");
	built_write(source_path, source, strlen(source));
	build(f, "program", "");
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	built_folder_remove(f->folder);
	free(f->path);
	free(f);
	return 0;
}

static int new_symbolizer(void **state)
{
	struct fixture *f = *state;

	return symbolizer_new(&f->symbolizer);
}

static int free_symbolizer(void **state)
{
	struct fixture *f = *state;

	symbolizer_free(f->symbolizer);
	f->symbolizer = NULL;
	return 0;
}

static struct symbol_object *open_object(const struct fixture *f, const char *path,
					 const char *root)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct symbol_object *object = NULL;
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(symbolizer_object(f->symbolizer, path, st.st_dev, st.st_ino, fd, root,
					   &object),
			 0);
	assert_non_null(object);
	return object;
}

static const struct symbol *resolve(const struct fixture *f, struct symbol_object *object,
				    uint64_t file_offset, bool is_call)
{
	const struct symbol *symbol = NULL;

	assert_int_equal(
		symbolizer_resolve(f->symbolizer, object, file_offset, is_call, &symbol), 0);
	assert_non_null(symbol);
	assert_true(symbol->n_frames >= 1);
	return symbol;
}

static struct built_symbol find(const char *path, const char *name)
{
	struct built_symbol symbol = {};

	if (!built_find(path, name, &symbol))
		fail_msg("%s has no symbol %s", path, name);
	return symbol;
}

/* The file may be gone when this is called: `at` was found before. */
static void assert_function(const struct fixture *f, struct symbol_object *object,
			    struct built_symbol at, const char *name, bool has_lines)
{
	const struct symbol *symbol = resolve(f, object, at.file_offset, false);
	const struct symbol_frame *frame = &symbol->frames[symbol->n_frames - 1];

	assert_non_null(frame->function);
	assert_string_equal(frame->function, name);
	assert_string_equal(frame->linkage, name);
	assert_int_equal(frame->offset, 0);
	assert_false(frame->is_inline);
	assert_int_equal(frame->file != NULL, has_lines);
	assert_int_equal(frame->line != 0, has_lines);
}

static void assert_unknown(const struct fixture *f, struct symbol_object *object, uint64_t offset)
{
	const struct symbol *symbol = resolve(f, object, offset, false);

	assert_int_equal(symbol->n_frames, 1);
	assert_null(symbol->frames[0].function);
	assert_null(symbol->frames[0].linkage);
	assert_null(symbol->frames[0].file);
	assert_int_equal(symbol->frames[0].line, 0);
	assert_int_equal(symbol->frames[0].offset, offset);
	assert_false(symbol->frames[0].is_inline);
}

static void functions_are_named_at_their_first_and_last_byte(void **state)
{
	static const char *const names[] = { "outer", "stop", "ends_in_call", "follows",
					     "thing", "hidden", "f10", "f47", "main" };
	const struct fixture *f = *state;
	struct symbol_object *object = open_object(f, f->path, NULL);

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		struct built_symbol at = find(f->path, names[i]);
		const struct symbol *symbol;

		assert_function(f, object, at, names[i], true);
		assert_int_equal(symbol_object_vaddr(object, at.file_offset), at.vaddr);
		symbol = resolve(f, object, at.file_offset + at.size_bytes - 1, false);
		assert_string_equal(symbol->frames[symbol->n_frames - 1].function, names[i]);
		assert_int_equal(symbol->frames[symbol->n_frames - 1].offset, at.size_bytes - 1);
	}
	assert_string_equal(symbol_object_build_id(object), "0badc0de12345678");
	assert_string_equal(symbol_object_path(object), f->path);
	assert_int_equal(symbol_object_malformed(object), 0);
}

static void inlined_calls_come_innermost_first_with_their_lines(void **state)
{
	static const struct {
		const char *function;
		uint32_t line;
	} expected[] = { { "innermost", 4 }, { "middle", 8 }, { "outer", 12 } };
	const struct fixture *f = *state;
	struct symbol_object *object = open_object(f, f->path, NULL);
	struct built_symbol outer = find(f->path, "outer");
	_cleanup_free_ char *file = built_path(f->folder, "program.c");
	const struct symbol *symbol = NULL;
	uint64_t i;

	for (i = 0; i < outer.size_bytes; i++) {
		symbol = resolve(f, object, outer.file_offset + i, false);
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

static void a_return_address_belongs_to_the_call_before_it(void **state)
{
	const struct fixture *f = *state;
	struct symbol_object *object = open_object(f, f->path, NULL);
	struct built_symbol caller = find(f->path, "ends_in_call");
	struct built_symbol follows = find(f->path, "follows");
	const struct symbol *symbol;

	/* The compiler put nothing behind the call that does not return. */
	assert_int_equal(caller.vaddr + caller.size_bytes, follows.vaddr);
	symbol = resolve(f, object, follows.file_offset, true);
	assert_int_equal(symbol->n_frames, 1);
	assert_string_equal(symbol->frames[0].function, "ends_in_call");
	assert_int_equal(symbol->frames[0].offset, caller.size_bytes);
	assert_int_equal(symbol->frames[0].line, 20);
	symbol = resolve(f, object, follows.file_offset, false);
	assert_string_equal(symbol->frames[0].function, "follows");
	assert_int_equal(symbol->frames[0].offset, 0);
}

static void of_aliases_the_plain_name_is_taken(void **state)
{
	const struct fixture *f = *state;
	struct symbol_object *object = open_object(f, f->path, NULL);

	assert_function(f, object, find(f->path, "__thing_impl"), "thing", true);
}

static void results_are_kept(void **state)
{
	const struct fixture *f = *state;
	struct symbol_object *object = open_object(f, f->path, NULL);
	uint64_t at = find(f->path, "main").file_offset;
	const struct symbol *symbol = resolve(f, object, at, false);

	assert_ptr_equal(resolve(f, object, at, false), symbol);
	assert_ptr_equal(open_object(f, f->path, NULL), object);
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
		symbol = resolve(f, object, from + n, false);
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
		print_message("SKIP: addr2line is not installed\n");
		skip();
	}
	for (size_t i = 0; i < N_ELEMENTS(flags); i++) {
		_cleanup_free_ char *path = NULL, *list = NULL, *out = NULL;
		_cleanup_fclose_ FILE *f_list = NULL, *f_out = NULL;
		struct built_symbol first, last;
		char name[8];

		snprintf(name, sizeof(name), "v%zu", i);
		build(f, name, flags[i]);
		path = built_path(f->folder, name);
		list = built_path(f->folder, "list");
		out = built_path(f->folder, "out");
		first = find(path, "outer");
		/* __thing_impl has three names, and which of them to print is a matter of taste. */
		last = find(path, i == 0 ? "thing" : "f47");
		if (i > 0)
			first = find(path, "hidden");
		f_list = fopen(list, "we");
		assert_non_null(f_list);
		for (uint64_t at = first.vaddr; at < last.vaddr; at++)
			fprintf(f_list, "%#lx\n", (unsigned long)at);
		assert_int_equal(fflush(f_list), 0);
		built_run("addr2line -a -f -i -C -e %s < %s > %s", path, list, out);
		f_out = fopen(out, "re");
		assert_non_null(f_out);
		compare_with_addr2line(f, open_object(f, path, NULL), f_out, first.file_offset,
				       last.file_offset);
	}
}
