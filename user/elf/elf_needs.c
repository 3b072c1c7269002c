/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_needs.h"

#include "base/cleanup.h"
#include "elf/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PROGRAM_HEADERS 512
#define MAX_ENTRIES 4096

/* Of the dynamic section: places in .dynstr, which is found last. */
struct places {
	uint64_t strings; /* vaddr of .dynstr; 0: there is none */
	uint64_t names[ELF_NEEDS_MOST];
	size_t n_names;
	uint64_t runpath, rpath; /* 0: there is none, as no string is at 0 but the empty one */
};

void elf_needs_done(struct elf_needs *needs)
{
	vec_foreach(&needs->names, name)
		free(*name);
	vec_done(&needs->names);
	free(needs->search);
	*needs = (struct elf_needs){ 0 };
}

/* Where in the file its dynamic section is; false: it has none. */
static bool find_dynamic(const struct elf_file *file, Elf64_Phdr *ret)
{
	Elf64_Ehdr header;

	if (elf_file_read_offset(file, 0, &header, sizeof(header)) != sizeof(header) ||
	    header.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	for (size_t i = 0; i < header.e_phnum && i < MAX_PROGRAM_HEADERS; i++) {
		if (elf_file_read_offset(file, header.e_phoff + i * sizeof(*ret), ret,
					 sizeof(*ret)) != sizeof(*ret))
			return false;
		if (ret->p_type == PT_DYNAMIC)
			return true;
	}
	return false;
}

static void take_entry(const Elf64_Dyn *entry, struct places *places)
{
	switch (entry->d_tag) {
	case DT_NEEDED:
		if (places->n_names < ELF_NEEDS_MOST)
			places->names[places->n_names++] = entry->d_un.d_val;
		break;
	case DT_STRTAB:
		places->strings = entry->d_un.d_ptr;
		break;
	case DT_RUNPATH:
		places->runpath = entry->d_un.d_val;
		break;
	case DT_RPATH:
		places->rpath = entry->d_un.d_val;
		break;
	default:
		break;
	}
}

static int read_places(const struct elf_file *file, struct places *places)
{
	_cleanup_free_ Elf64_Dyn *entries = calloc(MAX_ENTRIES, sizeof(*entries));
	Elf64_Phdr dynamic;
	size_t n = 0;

	if (!entries)
		return -ENOMEM;
	if (find_dynamic(file, &dynamic)) {
		n = dynamic.p_filesz / sizeof(*entries);
		n = elf_file_read_offset(file, dynamic.p_offset, entries,
					 (n < MAX_ENTRIES ? n : MAX_ENTRIES) * sizeof(*entries)) /
		    sizeof(*entries);
	}
	for (size_t i = 0; i < n && entries[i].d_tag != DT_NULL; i++)
		take_entry(&entries[i], places);
	return 0;
}

/* A copy, or NULL: it is empty, does not end within `max` bytes, or there is no memory. */
static char *copy_string(struct elf_file *file, uint64_t vaddr, size_t max)
{
	char text[ELF_NEEDS_SEARCH_MAX + 1];
	size_t n = elf_file_read(file, vaddr, text, max + 1);

	return n > 0 && *text && memchr(text, '\0', n) ? strdup(text) : NULL;
}

int elf_needs_read(struct elf_file *file, struct elf_needs *ret_needs)
{
	struct elf_needs needs = { 0 };
	struct places places = { 0 };
	uint64_t search;
	int r = read_places(file, &places);

	if (r < 0 || !places.strings) {
		*ret_needs = needs;
		return r;
	}
	for (size_t i = 0; i < places.n_names && r == 0; i++) {
		char *name =
			copy_string(file, places.strings + places.names[i], ELF_NEEDS_NAME_MAX);

		r = name ? vec_push(&needs.names, name) : 0;
		if (r)
			free(name);
	}
	search = places.runpath ? places.runpath : places.rpath;
	if (search && r == 0)
		needs.search = copy_string(file, places.strings + search, ELF_NEEDS_SEARCH_MAX);
	if (r)
		elf_needs_done(&needs);
	*ret_needs = needs;
	return r;
}
