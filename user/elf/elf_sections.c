/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_sections.h"

#include "base/vec.h"
#include "elf/elf_file.h"
#include "elf/elf_read.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PAGE_BYTES 4096
/* Real sections shrink to a twentieth at most: what shrinks to less was made to take long. */
#define MAX_RATIO 64
#define LEAST_UNPACKED (64 << 10)
#define MAX_SEGMENTS 16

static bool fits(const struct elf_file *file, const GElf_Shdr *shdr)
{
	uint64_t size = (uint64_t)elf_file_stat(file)->st_size;

	return shdr->sh_offset <= size && shdr->sh_size <= size - shdr->sh_offset;
}

static Elf_Scn *find_section(struct elf_file *file, const char *name, GElf_Shdr *ret_shdr)
{
	Elf_Scn *section = NULL;
	struct name_table names;
	size_t index, len;

	if (elf_getshdrstrndx(elf_file_libelf(file), &index) < 0 ||
	    name_table_read(elf_file_libelf(file), index, &names) < 0)
		return NULL;
	while ((section = elf_nextscn(elf_file_libelf(file), section))) {
		const char *its_name;

		if (!gelf_getshdr(section, ret_shdr) || ret_shdr->sh_type == SHT_NOBITS)
			continue;
		its_name = name_table_get(&names, ret_shdr->sh_name, &len);
		if (its_name && strcmp(its_name, name) == 0)
			return section;
	}
	return NULL;
}

bool elf_has_section(struct elf_file *file, const char *name)
{
	GElf_Shdr shdr;

	return find_section(file, name, &shdr) != NULL;
}

/* Decompresses a section, whose size is set. 0 or an error. */
static int decompress(Elf *elf, Elf_Scn *section, size_t packed_bytes, size_t max,
		      struct elf_section *ret_section)
{
	GElf_Chdr chdr;
	Elf_Data *data;

	if (!gelf_getchdr(section, &chdr))
		return -EBADMSG;
	if (chdr.ch_size > max)
		return -EFBIG;
	if (chdr.ch_size > LEAST_UNPACKED && chdr.ch_size / MAX_RATIO > packed_bytes)
		return -EBADMSG;
	if (elf_zstd_is_packed(section)) {
		ret_section->len = chdr.ch_size;
		return elf_zstd_unpack(elf, section, (void **)&ret_section->bytes);
	}
	if (elf_compress(section, 0, 0) < 0)
		return -EBADMSG;
	data = elf_getdata(section, NULL);
	if (!data || data->d_size > max)
		return -EBADMSG;
	ret_section->len = data->d_size;
	if (data->d_size == 0)
		return 0;
	ret_section->bytes = malloc(data->d_size);
	if (!ret_section->bytes)
		return -ENOMEM;
	memcpy(ret_section->bytes, data->d_buf, data->d_size);
	return 0;
}

int elf_section_read(struct elf_file *file, const char *name, size_t max,
		     struct elf_section *ret_section)
{
	struct elf_section found = { 0 };
	GElf_Shdr shdr;
	Elf_Scn *section = find_section(file, name, &shdr);
	int r = 0;

	if (!section)
		return -ENOENT;
	if (!fits(file, &shdr))
		return -EBADMSG;
	if (shdr.sh_size > max)
		return -EFBIG;
	found.vaddr = shdr.sh_addr;
	if (shdr.sh_flags & SHF_COMPRESSED) {
		r = decompress(elf_file_libelf(file), section, shdr.sh_size, max, &found);
	} else if (shdr.sh_size > 0) {
		found.len = shdr.sh_size;
		found.bytes = malloc(found.len);
		if (!found.bytes)
			return -ENOMEM;
		if (elf_file_read_offset(file, shdr.sh_offset, found.bytes, found.len) != found.len)
			r = -EBADMSG;
	}
	if (r < 0) {
		free(found.bytes);
		return r;
	}
	*ret_section = found;
	return 0;
}

DEFINE_COMPARE(text_by_vaddr, struct elf_text, vaddr)

/* The part of an executable section that is mapped as such; false: none is. */
static bool code_of(const GElf_Shdr *shdr, const struct elf_text *segments, size_t n,
		    struct elf_text *ret)
{
	if (!(shdr->sh_flags & SHF_EXECINSTR) || shdr->sh_type == SHT_NOBITS)
		return false;
	for (size_t i = 0; i < n; i++) {
		uint64_t skip = shdr->sh_addr - segments[i].vaddr, left = segments[i].size - skip;

		if (shdr->sh_addr < segments[i].vaddr || skip >= segments[i].size)
			continue;
		*ret = (struct elf_text){ .vaddr = shdr->sh_addr,
					  .offset = segments[i].offset + skip,
					  .size = shdr->sh_size < left ? shdr->sh_size : left };
		return shdr->sh_size > 0;
	}
	return false;
}

/* Joins sections with less than a page between them that lie so in the file, too. */
static size_t join_code(struct elf_text *texts, size_t n)
{
	size_t joined = 0;

	if (n)
		qsort(texts, n, sizeof(*texts), text_by_vaddr);
	for (size_t i = 0; i < n; i++) {
		struct elf_text *last = joined ? &texts[joined - 1] : NULL;
		uint64_t end = texts[i].vaddr + texts[i].size;

		if (last && texts[i].vaddr - last->vaddr < last->size + PAGE_BYTES &&
		    texts[i].vaddr - texts[i].offset == last->vaddr - last->offset) {
			if (end > last->vaddr + last->size)
				last->size = end - last->vaddr;
		} else {
			texts[joined++] = texts[i];
		}
	}
	return joined;
}

size_t elf_code(struct elf_file *file, struct elf_text *ret_texts, size_t max)
{
	Elf *elf = elf_file_libelf(file);
	struct elf_text segments[MAX_SEGMENTS];
	size_t n_segments = elf_file_texts(file, segments, MAX_SEGMENTS), n = 0;
	Elf_Scn *section = NULL;
	GElf_Shdr shdr;

	if (n_segments > MAX_SEGMENTS)
		n_segments = MAX_SEGMENTS;
	while ((section = elf_nextscn(elf, section)) && gelf_getshdr(section, &shdr)) {
		struct elf_text text;

		if (!code_of(&shdr, segments, n_segments, &text))
			continue;
		if (n == max)
			return elf_file_texts(file, ret_texts, max);
		ret_texts[n++] = text;
	}
	return n ? join_code(ret_texts, n) : elf_file_texts(file, ret_texts, max);
}
