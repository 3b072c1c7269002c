// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/elf_symbol.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* What is added to the addresses that it is linked with, and its dynamic section. */
struct object {
	ElfW(Addr) base;
	const ElfW(Dyn) * dynamic;
};

struct tables {
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *hash;
};

/* glibc's dynamic linker has added the object's base to these addresses, musl's has not. */
static const void *address_of(const struct object *object, ElfW(Addr) address)
{
	return (const void *)(address < object->base ? object->base + address : address);
}

static bool find_tables(const struct object *object, struct tables *ret)
{
	*ret = (struct tables){ .hash = NULL };
	for (const ElfW(Dyn) *entry = object->dynamic; entry->d_tag != DT_NULL; entry++) {
		const void *address = address_of(object, entry->d_un.d_ptr);

		if (entry->d_tag == DT_SYMTAB)
			ret->symbols = address;
		else if (entry->d_tag == DT_STRTAB)
			ret->names = address;
		else if (entry->d_tag == DT_GNU_HASH)
			ret->hash = address;
	}
	return ret->symbols && ret->names && ret->hash && ret->hash[0] != 0;
}

/* The hash of DT_GNU_HASH: djb2. */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

static bool is_equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static bool is_function(const struct tables *tables, const ElfW(Sym) * symbol, const char *name)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
	       is_equal(tables->names + symbol->st_name, name);
}

/*
 * DT_GNU_HASH: four words (buckets, number of the first symbol, words of the filter, its shift),
 * the filter, of words of an address's size, buckets, and a chain of hashes whose last has bit 0.
 */
static void *find_in(const struct object *object, const char *name)
{
	const uint32_t *buckets, *chain;
	uint32_t hash = hash_of(name), at;
	struct tables t;

	if (!find_tables(object, &t))
		return NULL;
	buckets = (const uint32_t *)((const ElfW(Addr) *)(const void *)(t.hash + 4) + t.hash[2]);
	chain = buckets + t.hash[0];
	at = buckets[hash % t.hash[0]];
	if (at < t.hash[1])
		return NULL;
	do {
		uint32_t other = chain[at - t.hash[1]];

		if ((other | 1) == (hash | 1) && is_function(&t, &t.symbols[at], name))
			return (void *)(object->base + t.symbols[at].st_value);
		if (other & 1)
			return NULL;
	} while (at++ != UINT32_MAX);
	return NULL;
}

/* The static linker's names. */
extern const char start_of_us[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const ElfW(Dyn) our_dynamic[] __asm__("_DYNAMIC") __attribute__((visibility("hidden")));

void *elf_symbol_ours(const char *name)
{
	const struct object us = { (ElfW(Addr))start_of_us, our_dynamic };

	return find_in(&us, name);
}

/* The list of loaded objects as debuggers find it: glibc's name, and musl's. */
extern const struct r_debug debug_of_glibc __asm__("_r_debug") __attribute__((weak));
extern const struct r_debug *const debug_of_musl __asm__("_dl_debug_addr") __attribute__((weak));

/* Objects behind us that a program has loaded itself, and unloads, are behind the C library. */
void *elf_symbol_next(const char *name)
{
	const struct r_debug *debug = &debug_of_musl ? debug_of_musl : &debug_of_glibc;
	bool is_behind = false;
	void *found = NULL;

	for (const struct link_map *map = debug ? debug->r_map : NULL; map && !found;
	     map = map->l_next) {
		if (is_behind)
			found = find_in(&(struct object){ map->l_addr, map->l_ld }, name);
		else
			is_behind = map->l_ld == our_dynamic;
	}
	return found;
}

bool elf_object_has(const struct dl_phdr_info *object, const void *address)
{
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &object->dlpi_phdr[i];

		if (header->p_type == PT_LOAD &&
		    (uintptr_t)address - (object->dlpi_addr + header->p_vaddr) < header->p_memsz)
			return true;
	}
	return false;
}

static const ElfW(Dyn) * dynamic_of(const struct dl_phdr_info *object)
{
	for (size_t i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
	return NULL;
}

struct search {
	const void *address;
	bool is_us_behind, is_met;
	struct object met; /* the object that has the address */
};

static int look_at(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;

	(void)size;
	search->is_met = elf_object_has(info, search->address);
	search->met = (struct object){ info->dlpi_addr, dynamic_of(info) };
	if (!search->is_met && search->met.dynamic == our_dynamic)
		search->is_us_behind = false;
	return search->is_met;
}

static struct search search_for(const void *address)
{
	struct search search = { .address = address, .is_us_behind = true };

	(void)dl_iterate_phdr(look_at, &search); /* `is_met` says it */
	return search;
}

bool elf_symbol_is_of(const void *address, const char *name)
{
	const struct search search = search_for(address);

	return search.is_met && search.met.dynamic && find_in(&search.met, name);
}

bool elf_symbol_is_before_us(const void *address)
{
	const struct search search = search_for(address);

	return search.is_met && search.is_us_behind;
}
