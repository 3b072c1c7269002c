/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_build_id.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <stdbool.h>

/* libdwelf reads all of each until it finds the build ID: many may be the same bytes. */
static bool notes_fit(Elf *elf, uint64_t size)
{
	Elf_Scn *section = NULL;
	uint64_t left = size;
	GElf_Phdr phdr;
	GElf_Shdr shdr;
	size_t n;

	if (elf_getphdrnum(elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n && gelf_getphdr(elf, (int)i, &phdr); i++) {
		if (phdr.p_type == PT_NOTE && phdr.p_filesz > left)
			return false;
		left -= phdr.p_type == PT_NOTE ? phdr.p_filesz : 0;
	}
	left = size;
	while ((section = elf_nextscn(elf, section)) && gelf_getshdr(section, &shdr)) {
		if (shdr.sh_type == SHT_NOTE && shdr.sh_size > left)
			return false;
		left -= shdr.sh_type == SHT_NOTE ? shdr.sh_size : 0;
	}
	return true;
}

size_t elf_build_id(Elf *elf, uint64_t size, const uint8_t **ret_id)
{
	const void *id;
	ssize_t n = notes_fit(elf, size) ? dwelf_elf_gnu_build_id(elf, &id) : 0;

	if (n <= 0)
		return 0;
	*ret_id = id;
	return (size_t)n;
}
