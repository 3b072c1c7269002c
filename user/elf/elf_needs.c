/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_needs.h"

#include "base/cleanup.h"
#include "elf/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

static void read_entry(const Elf64_Dyn *entry, struct places *places)
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
	_cleanup_free_ Elf64_Dyn *entries = NULL;
	uint64_t offset;
	size_t n = elf_file_dynamic(file, &offset);

	if (n == 0)
		return 0;
	entries = calloc(n, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	n = elf_file_read_offset(file, offset, entries, n * sizeof(*entries)) / sizeof(*entries);
	for (size_t i = 0; i < n && entries[i].d_tag != DT_NULL; i++)
		read_entry(&entries[i], places);
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
