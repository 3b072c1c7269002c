/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small program, built with debug information, and a symbolizer to resolve its addresses with.
 * Its functions: outer (lines 10 to 13) inlines middle (its call of innermost is line 8), which
 * inlines innermost (line 4); ends_in_call ends with a call (line 20) that does not return, and
 * follows begins right behind it; thing, _thing and __thing_impl are one; hidden is static; f10 to
 * f47 inline middle in a loop.
 */
#ifndef MEMTRACED_TESTS_UNIT_SYMBOL_FIXTURE_H
#define MEMTRACED_TESTS_UNIT_SYMBOL_FIXTURE_H

#include "built_program.h"
#include "symbol/symbolizer.h"
#include "trace/record/record.h"

struct fixture {
	char *folder;
	char *path; /* of the program, with its debug information */
	struct symbolizer *symbolizer;
};

/* For the group. */
int fixture_set_up(void **state);
int fixture_tear_down(void **state);
/* For each test. */
int fixture_new_symbolizer(void **state);
int fixture_free_symbolizer(void **state);

/* Builds the program again, with further flags, as FOLDER/NAME. */
void fixture_build(const struct fixture *f, const char *name, const char *flags);
struct symbol_object *fixture_open(const struct fixture *f, const char *path, const char *root);
const struct symbol *fixture_resolve(const struct fixture *f, struct symbol_object *object,
				     uint64_t file_offset, bool is_call);
/* The file's own symbol, which must be there. */
struct built_symbol fixture_find(const char *path, const char *name);
/*
 * Resolves places from `text` on in copies of the file with bytes changed. Whatever is read from
 * them, nothing may crash or hang: run with ASAN=1, too.
 */
void fixture_resolve_damaged(const struct fixture *f, const char *path, uint64_t text);

/* A process of this image, and a mapping of the program or another file in there. */
#define FIXTURE_IMAGE 3
extern const struct record fixture_process;
struct record fixture_mapping(uint64_t start, uint64_t len, uint64_t ino, const char *path);

/* The function begins at this place (the file may be gone), with or without a file and a line. */
void assert_function(const struct fixture *f, struct symbol_object *object, struct built_symbol at,
		     const char *name, bool has_lines);
void assert_unknown(const struct fixture *f, struct symbol_object *object, uint64_t file_offset);

#endif
