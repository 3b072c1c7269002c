/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of ELF files that libelf does not read, or not within bounds: the build ID
 * (NT_GNU_BUILD_ID), sections compressed by zstd, names of string tables. Pure; any thread that
 * owns the Elf.
 */
#ifndef MEMTRACED_ELF_ELF_READ_H
#define MEMTRACED_ELF_ELF_READ_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Its length, 0: there is none. *ret_id lives as long as `elf`, a file of `size` bytes. */
size_t elf_build_id(Elf *elf, uint64_t size, const uint8_t **ret_id);

/* Is it compressed by zstd, which libelf reads from elfutils 0.189 on only? */
bool elf_zstd_is_packed(Elf_Scn *section);

/*
 * The uncompressed bytes of a section for which elf_zstd_is_packed() holds: ch_size of them, which
 * the caller has checked against its bounds. They are malloc'ed and the caller's; NULL where there
 * are none. 0, -ENOMEM or -EBADMSG.
 */
int elf_zstd_unpack(Elf *elf, Elf_Scn *section, void **ret_bytes);

/*
 * The names of a string table (SHT_STRTAB). Where its last name ends is looked for once: libelf
 * looks for each name, and goes through the whole table when it has no end. A name has a greatest
 * length, and all that are asked for together have one in proportion to the table, as many symbols
 * may point into one long name.
 */

/* What is longer is no name. Mangled names of template libraries have some thousand bytes. */
#define NAME_TABLE_MAX_NAME (16 << 10)

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
