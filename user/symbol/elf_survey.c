/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/elf_survey.h"

#include "symbol/elf_image.h"

#include <limits.h>
#include <string.h>

#define MAX_LINK_BYTES (64 << 10)

/* NULL where there is none, or it is malformed. 0 or -ENOMEM. */
static int read_debuglink(const struct elf_image *image, struct elf_facts *facts)
{
	Elf_Scn *scn = elf_image_section(image, ".gnu_debuglink", SHT_NULL);
	Elf_Data *data = scn ? elf_image_data(scn, MAX_LINK_BYTES) : NULL;
	size_t len, crc_at;

	if (!data)
		return 0;
	len = strnlen(data->d_buf, data->d_size);
	crc_at = (len + 1 + 3) & ~(size_t)3;
	if (len == 0 || len > NAME_MAX || crc_at + 4 > data->d_size ||
	    memchr(data->d_buf, '/', len))
		return 0;
	memcpy(&facts->link_crc, (const char *)data->d_buf + crc_at, 4);
	facts->link = strdup(data->d_buf);
	return facts->link ? 0 : -ENOMEM;
}

/* The same of the common file that dwz made, with its build ID. */
static int read_altlink(const struct elf_image *image, struct elf_facts *facts)
{
	Elf_Scn *scn = elf_image_section(image, ".gnu_debugaltlink", SHT_NULL);
	Elf_Data *data = scn ? elf_image_data(scn, MAX_LINK_BYTES) : NULL;
	size_t len, id_len;

	if (!data)
		return 0;
	len = strnlen(data->d_buf, data->d_size);
	if (len == 0 || len >= PATH_MAX || len == data->d_size)
		return 0;
	id_len = data->d_size - len - 1;
	if (id_len < 2 || id_len > ELF_MAX_BUILD_ID)
		return 0;
	memcpy(facts->alt_id.bytes, (const char *)data->d_buf + len + 1, id_len);
	facts->alt_id.len = (uint8_t)id_len;
	facts->alt = strdup(data->d_buf);
	return facts->alt ? 0 : -ENOMEM;
}

static int copy_loads(const struct elf_image *image, struct elf_facts *facts)
{
	size_t n;
	const struct elf_load *loads = elf_image_loads(image, &n);
	int r = vec_reserve(&facts->loads, n);

	for (size_t i = 0; r == 0 && i < n; i++)
		facts->loads.data[facts->loads.len++] = loads[i];
	return r;
}

int elf_survey(const struct elf_image *image, struct elf_facts *ret_facts)
{
	struct elf_facts facts = { .stamp = *elf_image_stamp(image) };
	GElf_Ehdr header;
	int r;

	if (gelf_getehdr(elf_image_elf(image), &header)) {
		facts.machine = header.e_machine;
		facts.class = header.e_ident[EI_CLASS];
	}
	facts.has_dwarf = elf_image_has_dwarf(image);
	facts.has_symtab = elf_image_section(image, NULL, SHT_SYMTAB) != NULL;
	r = read_debuglink(image, &facts);
	if (r == 0)
		r = read_altlink(image, &facts);
	if (r == 0)
		r = copy_loads(image, &facts);
	if (r < 0)
		elf_facts_done(&facts);
	else
		*ret_facts = facts;
	return r;
}
