/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of an ELF file only its section headers tell, which nothing loads or checks: they
 * may be missing, or lie. One thread at a time for a file.
 */
#ifndef MEMTRACED_ELF_ELF_SECTIONS_H
#define MEMTRACED_ELF_ELF_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct elf_text;

/* A section's contents, decompressed. */
struct elf_section {
	uint8_t *bytes; /* the caller frees them; NULL when len is 0 */
	size_t len;
	uint64_t vaddr;
};

/*
 * The first section of that name that has bytes. 0, or -ENOENT; -EFBIG: it has more than `max`;
 * -EBADMSG: damaged, or compressed in a way that libelf does not know; -ENOMEM.
 */
int elf_section_read(struct elf_file *file, const char *name, size_t max,
		     struct elf_section *ret_section);

/* Has it a section of that name with bytes in the file? */
bool elf_has_section(struct elf_file *file, const char *name);

/*
 * Where in the executable segments there is code: executable sections, neighbours as one; without
 * section headers, or with more than `max` of them, elf_file_texts(). By ascending address.
 */
size_t elf_code(struct elf_file *file, struct elf_text *ret_texts, size_t max);

#endif
