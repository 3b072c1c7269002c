/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/name_table.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>

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
