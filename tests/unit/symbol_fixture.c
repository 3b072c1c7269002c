/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol_fixture.h"

#include "base/cleanup.h"
#include "random_numbers.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/*
 * Whose functions lie in this order, back to back (CFLAGS); the comments count the lines.
 * innermost() begins with an instruction of its own: DWARF 2 has one range, up to the first
 * instruction of another function, which is empty where gcc 16 puts middle()'s product before
 * a single addition to memory.
 */
static const char source[] =
	"volatile int sink;\n"						       /* 1 */
	"static inline __attribute__((always_inline)) void innermost(int x)\n" /* 2 */
	"{\n"								       /* 3 */
	"	sink = sink, sink += x;\n"				       /* 4 */
	"}\n"								       /* 5 */
	"static inline __attribute__((always_inline)) void middle(int x)\n"    /* 6 */
	"{\n"								       /* 7 */
	"	innermost(x * 3);\n"					       /* 8 */
	"}\n"								       /* 9 */
	"void outer(int x)\n"						       /* 10 */
	"{\n"								       /* 11 */
	"	middle(x + sink);\n"					       /* 12 */
	"}\n"								       /* 13 */
	"__attribute__((noinline, noreturn)) void stop(int x)\n"	       /* 14 */
	"{\n"								       /* 15 */
	"	for (;;) sink = x;\n"					       /* 16 */
	"}\n"								       /* 17 */
	"void ends_in_call(int x)\n"					       /* 18 */
	"{\n"								       /* 19 */
	"	stop(x + 1);\n"						       /* 20 */
	"}\n"								       /* 21 */
	"void follows(void)\n"						       /* 22 */
	"{\n"								       /* 23 */
	"	sink = 7;\n"						       /* 24 */
	"}\n"								       /* 25 */
	"void __thing_impl(void)\n"					       /* 26 */
	"{\n"								       /* 27 */
	"	sink = 1;\n"						       /* 28 */
	"}\n"								       /* 29 */
	"void thing(void) __attribute__((alias(\"__thing_impl\")));\n"	       /* 30 */
	"void _thing(void) __attribute__((weak, alias(\"__thing_impl\")));\n"  /* 31 */
	"static __attribute__((noinline, used)) void hidden(int x)\n"	       /* 32 */
	"{\n"								       /* 33 */
	"	outer(x);\n"						       /* 34 */
	"}\n"								       /* 35 */
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

void fixture_build(const struct fixture *f, const char *name, const char *flags)
{
	built_run("cd %s && gcc " CFLAGS "%s -o %s program.c", f->folder, flags, name);
}

int fixture_set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	_cleanup_free_ char *source_path = NULL;

	assert_non_null(f);
	f->folder = built_folder();
	f->path = built_path(f->folder, "program");
	source_path = built_path(f->folder, "program.c");
	built_write(source_path, source, strlen(source));
	fixture_build(f, "program", "");
	*state = f;
	return 0;
}

int fixture_tear_down(void **state)
{
	struct fixture *f = *state;

	built_folder_remove(f->folder);
	free(f->path);
	free(f);
	return 0;
}

int fixture_new_symbolizer(void **state)
{
	struct fixture *f = *state;

	return symbolizer_new(NULL, &f->symbolizer);
}

int fixture_free_symbolizer(void **state)
{
	struct fixture *f = *state;

	symbolizer_free(f->symbolizer);
	f->symbolizer = NULL;
	return 0;
}

struct symbol_object *fixture_open(const struct fixture *f, const char *path, const char *root)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct symbol_object *object = NULL;
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(
		symbolizer_object(f->symbolizer, path, st.st_dev, st.st_ino, fd, root, &object), 0);
	assert_non_null(object);
	return object;
}

const struct symbol *fixture_resolve(const struct fixture *f, struct symbol_object *object,
				     uint64_t file_offset, bool is_call)
{
	const struct symbol *symbol = NULL;

	assert_int_equal(symbolizer_resolve(f->symbolizer, object, file_offset, is_call, &symbol),
			 0);
	assert_non_null(symbol);
	assert_true(symbol->n_frames >= 1);
	return symbol;
}

struct built_symbol fixture_find(const char *path, const char *name)
{
	struct built_symbol symbol = {};

	if (!built_find(path, name, &symbol))
		fail_msg("%s has no symbol %s", path, name);
	return symbol;
}

/* The file may be gone when this is called: `at` was found before. */
void assert_function(const struct fixture *f, struct symbol_object *object, struct built_symbol at,
		     const char *name, bool has_lines)
{
	const struct symbol *symbol = fixture_resolve(f, object, at.file_offset, false);
	const struct symbol_frame *frame = &symbol->frames[symbol->n_frames - 1];

	assert_non_null(frame->function);
	assert_string_equal(frame->function, name);
	assert_string_equal(frame->linkage, name);
	assert_int_equal(frame->offset, 0);
	assert_false(frame->is_inline);
	assert_int_equal(frame->file != NULL, has_lines);
	assert_int_equal(frame->line != 0, has_lines);
}

void assert_unknown(const struct fixture *f, struct symbol_object *object, uint64_t offset)
{
	const struct symbol *symbol = fixture_resolve(f, object, offset, false);

	assert_int_equal(symbol->n_frames, 1);
	assert_null(symbol->frames[0].function);
	assert_null(symbol->frames[0].linkage);
	assert_null(symbol->frames[0].file);
	assert_int_equal(symbol->frames[0].line, 0);
	assert_int_equal(symbol->frames[0].offset, offset);
	assert_false(symbol->frames[0].is_inline);
}

void fixture_resolve_damaged(const struct fixture *f, const char *of, uint64_t text)
{
	_cleanup_free_ char *path = built_path(f->folder, "damaged"), *data = NULL, *bad = NULL;
	struct random_numbers random = { .state = 1 };
	size_t len;

	data = built_read(of, &len);
	bad = malloc(len);
	assert_non_null(bad);
	for (int round = 0; round < 60; round++) {
		struct symbol_object *object;

		memcpy(bad, data, len);
		for (int i = 0; i < 1 << round % 10; i++)
			/* Most of such a file is debug information and symbols. */
			bad[random_below(&random, len)] = (char)random_next(&random);
		built_write(path, bad, round % 7 == 6 ? random_below(&random, len) : len);
		object = fixture_open(f, path, NULL);
		for (uint64_t i = 0; i < 256; i++)
			(void)fixture_resolve(f, object, text + i * 3, i % 2);
	}
}

const struct record fixture_process = {
	.type = RECORD_PROCESS,
	.process = { .image = { FIXTURE_IMAGE },
		     .pid = 4242,
		     .parent_image = RECORD_NO_IMAGE,
		     .prev_image = RECORD_NO_IMAGE,
		     .comm = "run" },
};

struct record fixture_mapping(uint64_t start, uint64_t len, uint64_t ino, const char *path)
{
	return (struct record){
		.type = RECORD_MAPPING,
		.mapping = { .image = { FIXTURE_IMAGE },
			     .start = start,
			     .end = start + len,
			     .ino = ino,
			     .path = path,
			     .local_path = path,
			     .executable = true },
	};
}
