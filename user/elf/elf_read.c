/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_read.h"

#include "base/cleanup.h"
#include "base/zstd_frame.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

/* From the System V ABI; glibc's elf.h has it from 2.37 on. */
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

bool elf_zstd_is_packed(Elf_Scn *section)
{
	GElf_Shdr sh;
	GElf_Chdr ch;

	return gelf_getshdr(section, &sh) && (sh.sh_flags & SHF_COMPRESSED) &&
	       gelf_getchdr(section, &ch) && ch.ch_type == ELFCOMPRESS_ZSTD;
}

int elf_zstd_unpack(Elf *elf, Elf_Scn *section, void **ret_bytes)
{
	size_t head = gelf_fsize(elf, ELF_T_CHDR, 1, EV_CURRENT);
	Elf_Data *packed = elf_rawdata(section, NULL);
	_cleanup_free_ char *bytes = NULL;
	GElf_Chdr ch;
	int r;

	if (!packed || !packed->d_buf || packed->d_size < head || !gelf_getchdr(section, &ch))
		return -EBADMSG;
	if (ch.ch_size == 0) {
		*ret_bytes = NULL;
		return 0;
	}
	bytes = malloc(ch.ch_size);
	if (!bytes)
		return -ENOMEM;
	r = zstd_frame_unpack(bytes, ch.ch_size, (const char *)packed->d_buf + head,
			      packed->d_size - head);
	if (r == 0)
		*ret_bytes = TAKE_PTR(bytes);
	return r;
}

/* Browsers with all symbols stay below. */
#define MAX_TABLE_BYTES (512UL << 20)

/*
 * So often each byte of a table is part of a name, on average. Linkers share the ends of names, and
 * local symbols their whole names, so that it is about once.
 */
#define USES_OF_A_BYTE 16
#define LEAST_LEFT (1 << 20)

struct name_table name_table_of(const void *bytes, size_t len)
{
	const char *last = len > 0 ? memrchr(bytes, '\0', len) : NULL;
	struct name_table names = { .bytes = bytes, .left = LEAST_LEFT };

	if (last)
		names.len = (size_t)(last - names.bytes) + 1;
	names.left += (uint64_t)names.len * USES_OF_A_BYTE;
	return names;
}

int name_table_read(Elf *elf, size_t index, struct name_table *ret_names)
{
	Elf_Scn *section = elf_getscn(elf, index);
	Elf_Data *data;
	GElf_Shdr shdr;

	if (!section || !gelf_getshdr(section, &shdr) || shdr.sh_type != SHT_STRTAB ||
	    shdr.sh_size > MAX_TABLE_BYTES || (shdr.sh_flags & SHF_COMPRESSED))
		return -EBADMSG;
	data = elf_getdata(section, NULL);
	if (!data)
		return -EBADMSG;
	*ret_names = name_table_of(data->d_buf, data->d_buf ? data->d_size : 0);
	return 0;
}

const char *name_table_get(struct name_table *names, uint64_t offset, size_t *ret_len)
{
	const char *name;
	size_t len;

	if (offset >= names->len || names->left == 0)
		return NULL;
	name = names->bytes + offset;
	len = strnlen(name, NAME_TABLE_MAX_NAME + 1);
	names->left -= len < names->left ? len : names->left;
	if (len > NAME_TABLE_MAX_NAME)
		return NULL;
	*ret_len = len;
	return name;
}
