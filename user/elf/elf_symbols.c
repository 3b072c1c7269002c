/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_symbols.h"

#include "base/vec.h"
#include "elf/elf_read.h"
#include "elf/elf_sections.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct symbol_names {
	VEC(const struct elf_symbol *) list; /* by name, then as they were */
};

static int compare_symbols(const void *item_a, const void *item_b)
{
	const struct elf_symbol *a = *(const struct elf_symbol *const *)item_a;
	const struct elf_symbol *b = *(const struct elf_symbol *const *)item_b;
	int order = strcmp(a->name, b->name);

	return order ? order : (a > b) - (a < b);
}

int symbol_names_new(const struct elf_symbol *symbols, size_t n, struct symbol_names **ret_names)
{
	_cleanup_(symbol_names_free_p) struct symbol_names *names = calloc(1, sizeof(*names));
	int r = names ? vec_reserve(&names->list, n) : -ENOMEM;

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (!symbols[i].is_ifunc)
			names->list.data[names->list.len++] = &symbols[i];
	vec_sort(&names->list, compare_symbols);
	*ret_names = TAKE_PTR(names);
	return 0;
}

void symbol_names_free(struct symbol_names *names)
{
	if (!names)
		return;
	vec_done(&names->list);
	free(names);
}

const struct elf_symbol *symbol_names_find(const struct symbol_names *names, const char *name)
{
	size_t low =
		partition_point(names->list.len, i, strcmp(names->list.data[i]->name, name) < 0);

	if (low == names->list.len || strcmp(names->list.data[low]->name, name) != 0)
		return NULL;
	return names->list.data[low];
}

/* Those of browsers have 30 MB. */
#define MAX_BYTES (64UL << 20)

struct data_symbol {
	const char *name; /* in `names` */
	uint64_t vaddr;
};

struct data_symbols {
	VEC(struct data_symbol) list; /* by name, then by address */
	uint8_t *names[2];	      /* of .symtab and of .dynsym */
};

static bool is_variable(const Elf64_Sym *symbol)
{
	unsigned char type = ELF64_ST_TYPE(symbol->st_info);

	return (type == STT_OBJECT || type == STT_NOTYPE) && symbol->st_shndx != SHN_UNDEF &&
	       symbol->st_shndx < SHN_LORESERVE;
}

static int add_symbols(struct data_symbols *symbols, const struct elf_section *table,
		       struct name_table *names)
{
	int r = 0;

	for (size_t at = 0; r == 0 && table->len - at >= sizeof(Elf64_Sym);
	     at += sizeof(Elf64_Sym)) {
		struct data_symbol symbol;
		Elf64_Sym entry;
		size_t len;

		memcpy(&entry, table->bytes + at, sizeof(entry));
		if (!is_variable(&entry) || entry.st_name == 0)
			continue;
		symbol.name = name_table_get(names, entry.st_name, &len);
		symbol.vaddr = entry.st_value;
		if (symbol.name)
			r = vec_push(&symbols->list, symbol);
	}
	return r;
}

/* The names become the symbols'. */
static int add_table(struct data_symbols *symbols, struct elf_file *file, size_t which)
{
	static const char *const sections[2][2] = { { ".symtab", ".strtab" },
						    { ".dynsym", ".dynstr" } };
	struct elf_section table = { 0 }, names = { 0 };
	int r = elf_section_read(file, sections[which][0], MAX_BYTES, &table);

	if (r == 0)
		r = elf_section_read(file, sections[which][1], MAX_BYTES, &names);
	if (r == 0) {
		struct name_table all = name_table_of(names.bytes, names.len);

		symbols->names[which] = names.bytes;
		r = add_symbols(symbols, &table, &all);
	}
	free(table.bytes);
	return r == -ENOMEM ? r : 0;
}

static int compare_variables(const void *item_a, const void *item_b)
{
	const struct data_symbol *a = item_a, *b = item_b;
	int order = strcmp(a->name, b->name);

	return order ? order : (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

int data_symbols_new(struct elf_file *file, struct data_symbols **ret_symbols)
{
	_cleanup_(data_symbols_free_p) struct data_symbols *symbols = calloc(1, sizeof(*symbols));
	int r = symbols ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < 2; i++)
		r = add_table(symbols, file, i);
	if (r < 0)
		return r;
	vec_sort(&symbols->list, compare_variables);
	*ret_symbols = TAKE_PTR(symbols);
	return 0;
}

void data_symbols_free(struct data_symbols *symbols)
{
	if (!symbols)
		return;
	vec_done(&symbols->list);
	free(symbols->names[0]);
	free(symbols->names[1]);
	free(symbols);
}

int data_symbols_find(const struct data_symbols *symbols, const char *name, uint64_t *ret_vaddr)
{
	const struct data_symbol *list = symbols->list.data;
	size_t first = partition_point(symbols->list.len, i, strcmp(list[i].name, name) < 0);

	if (first == symbols->list.len || strcmp(list[first].name, name) != 0)
		return -ENOENT;
	/* Most are in both tables, at one address. */
	for (size_t i = first + 1; i < symbols->list.len && strcmp(list[i].name, name) == 0; i++)
		if (list[i].vaddr != list[first].vaddr)
			return -ENOTUNIQ;
	*ret_vaddr = list[first].vaddr;
	return 0;
}
