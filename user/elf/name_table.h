/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of a string table (SHT_STRTAB). Where its last name ends is looked for once: libelf
 * looks for each name, and goes through the whole table when it has no end. A name has a greatest
 * length, and all that are asked for together have one in proportion to the table, as many symbols
 * may point into one long name.
 */
#ifndef MEMTRACED_ELF_NAME_TABLE_H
#define MEMTRACED_ELF_NAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* What is longer is no name. Mangled names of template libraries have some thousand bytes. */
#define NAME_TABLE_MAX_NAME (16 << 10)

typedef struct Elf Elf;

struct name_table {
	const char *bytes; /* borrowed */
	size_t len;	   /* up to and with its last NUL; 0: there is none */
	uint64_t left;	   /* bytes of names that may still be asked for */
};

struct name_table name_table_of(const void *bytes, size_t len);

/*
 * That of section `index`, which is read whole, and lives as long as `elf`. 0 or -EBADMSG: there is
 * none, or none that is believed.
 */
int name_table_read(Elf *elf, size_t index, struct name_table *ret_names);

/* The name at an offset, and its length, or NULL. */
const char *name_table_get(struct name_table *names, uint64_t offset, size_t *ret_len);

#endif
