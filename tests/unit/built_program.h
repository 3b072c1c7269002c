/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that a test builds with the system's compiler into a folder of its own, and what their
 * own symbol tables say. Everything that fails here fails the test.
 */
#ifndef MEMTRACED_TESTS_UNIT_BUILT_PROGRAM_H
#define MEMTRACED_TESTS_UNIT_BUILT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct built_symbol {
	uint64_t vaddr, file_offset, size_bytes;
};

/* A new folder under /tmp, malloc'ed; built_folder_remove removes it with all it holds. */
char *built_folder(void);
void built_folder_remove(char *folder);

/* malloc'ed "FOLDER/NAME". */
char *built_path(const char *folder, const char *name);
void built_write(const char *path, const void *data, size_t len);
/* malloc'ed, NUL-terminated. */
char *built_read(const char *path, size_t *ret_len);

bool built_has_tool(const char *name);
/* Runs a shell command line and waits; it must succeed. */
__attribute__((format(printf, 1, 2))) void built_run(const char *fmt, ...);

/* From .symtab, or .dynsym where there is none. False when it has no such symbol. */
bool built_find(const char *path, const char *name, struct built_symbol *ret_symbol);

#endif
