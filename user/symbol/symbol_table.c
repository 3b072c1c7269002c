/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_table.h"

#include "base/vec.h"
#include "elf/elf_read.h"
#include "symbol/elf_image.h"
#include "symbol/range_map.h"

#include <errno.h>
#include <lzma.h>
#include <stddef.h>
#include <string.h>

/*
 * Mini debug info: an xz-compressed ELF file in the section .gnu_debugdata, whose symbol table
 * holds the functions that .dynsym lacks (FORMATS 10.4).
 */
#define MAX_PACKED_BYTES (16 << 20)
#define MAX_UNPACKED_BYTES (64 << 20)
/* Symbols shrink to a third or a tenth: what shrinks to less was made to take long. */
#define MAX_RATIO 64
#define FIRST_BYTES (64 << 10)
/* xz -9 needs 65 MiB to unpack. */
#define MAX_DECODER_BYTES (128 << 20)

static int unpack_to(lzma_stream *stream, size_t packed_bytes, char **buf, size_t *cap)
{
	lzma_ret code = LZMA_OK;
	char *grown;

	while (code == LZMA_OK) {
		if (stream->total_out == *cap) {
			if (*cap >= MAX_UNPACKED_BYTES || *cap / MAX_RATIO > packed_bytes)
				return -EBADMSG;
			grown = realloc(*buf, *cap * 2);
			if (!grown)
				return -ENOMEM;
			*buf = grown;
			*cap *= 2;
		}
		stream->next_out = (uint8_t *)*buf + stream->total_out;
		stream->avail_out = *cap - stream->total_out;
		code = lzma_code(stream, LZMA_FINISH);
	}
	if (code == LZMA_MEM_ERROR)
		return -ENOMEM;
	return code == LZMA_STREAM_END ? 0 : -EBADMSG;
}

static int unpack(const Elf_Data *data, char **ret_buf, size_t *ret_len)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	_cleanup_free_ char *buf = NULL;
	size_t cap = FIRST_BYTES;
	int r;

	buf = malloc(cap);
	if (!buf || lzma_stream_decoder(&stream, MAX_DECODER_BYTES, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = data->d_buf;
	stream.avail_in = data->d_size;
	r = unpack_to(&stream, data->d_size, &buf, &cap);
	if (r == 0) {
		*ret_len = stream.total_out;
		*ret_buf = TAKE_PTR(buf);
	}
	lzma_end(&stream);
	return r;
}

/* 0, -ENOENT when there is none, -EBADMSG when it is damaged or implausibly large, -ENOMEM. */
static int mini_debug_open(const struct elf_image *image, struct elf_image **ret_mini)
{
	Elf_Scn *scn = elf_image_section(image, ".gnu_debugdata", SHT_NULL);
	Elf_Data *data;
	char *buf;
	size_t len;
	int r;

	if (!scn)
		return -ENOENT;
	data = elf_image_data(scn, MAX_PACKED_BYTES);
	if (!data)
		return -EBADMSG;
	r = unpack(data, &buf, &len);
	if (r < 0)
		return r;
	r = elf_image_from_memory(buf, len, ret_mini);
	return r == -ENOMEM ? r : r < 0 ? -EBADMSG : 0;
}

#define MAX_SYMTAB_BYTES (256 << 20)
#define MAX_STRTAB_BYTES (1 << 30)

/* Of names of one address; of longer ones it does not matter which is taken. */
#define MOST_COMPARED 256

struct entry {
	struct table_symbol symbol;
	uint64_t section_end;
	uint8_t type, bind;
	uint16_t n_bars; /* in front of its name */
};

struct symbol_table {
	VEC(struct entry) entries; /* by start, then the better name last */
	struct range_map functions;
	struct range_map labels;
	struct elf_image *mini;
	uint64_t section_bytes;
};

static bool is_candidate(const GElf_Sym *sym, const char *name)
{
	switch (GELF_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return sym->st_value != 0 && name[0] != '\0';
	case STT_NOTYPE:
		/* "$x" and "$d" mark code and data on arm64, ".L" what an assembler kept. */
		return sym->st_value != 0 && name[0] != '\0' && name[0] != '$' && name[0] != '.';
	default:
		return false;
	}
}

/* Where the section that the symbol names ends; 0 when that section holds no code. */
static uint64_t code_section_end(Elf *elf, const GElf_Sym *sym)
{
	Elf_Scn *scn;
	GElf_Shdr sh;
	uint64_t end;

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE)
		return 0;
	scn = elf_getscn(elf, sym->st_shndx);
	if (!scn || !gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_EXECINSTR))
		return 0;
	if (sym->st_value < sh.sh_addr || __builtin_add_overflow(sh.sh_addr, sh.sh_size, &end))
		return 0;
	return end;
}

static int add_symbol(struct symbol_table *table, const struct elf_image *image,
		      struct name_table *names, const GElf_Sym *sym)
{
	size_t whole_len, len;
	const char *name = name_table_get(names, sym->st_name, &whole_len), *version;
	struct entry entry = { .type = GELF_ST_TYPE(sym->st_info),
			       .bind = GELF_ST_BIND(sym->st_info) };
	uint64_t end;

	if (!name || !is_candidate(sym, name))
		return 0;
	entry.section_end = code_section_end(elf_image_elf(image), sym);
	if (entry.section_end <= sym->st_value)
		return 0;
	/* "memcpy@@GLIBC_2.14"; a '@' in front would be part of the name. */
	version = memchr(name + 1, '@', whole_len - 1);
	entry.n_bars = (uint16_t)strspn(name, "_"); /* NAME_TABLE_MAX_NAME at most */
	len = version ? (size_t)(version - name) : whole_len;
	if (__builtin_add_overflow(sym->st_value, sym->st_size, &end) || end > entry.section_end)
		end = entry.section_end;
	entry.symbol =
		(struct table_symbol){ .start = sym->st_value,
				       .end = end,
				       .name = name,
				       .name_len = (uint32_t)len,
				       .is_label = sym->st_size == 0 || entry.type == STT_NOTYPE };
	return vec_push(&table->entries, entry);
}

/* -ENOENT when the image has no readable table of the type. */
static int add_table(struct symbol_table *table, const struct elf_image *image, uint32_t type)
{
	Elf_Scn *scn = elf_image_section(image, NULL, type);
	Elf_Data *data = scn ? elf_image_data(scn, MAX_SYMTAB_BYTES) : NULL;
	Elf_Data *strings_data;
	struct name_table names;
	Elf_Scn *strings;
	GElf_Shdr sh;
	GElf_Sym sym;
	int i, r;

	if (!data || !gelf_getshdr(scn, &sh))
		return -ENOENT;
	strings = elf_getscn(elf_image_elf(image), sh.sh_link);
	strings_data = strings ? elf_image_data(strings, MAX_STRTAB_BYTES) : NULL;
	if (!strings_data)
		return -ENOENT;
	names = name_table_of(strings_data->d_buf, strings_data->d_size);
	table->section_bytes += data->d_size + strings_data->d_size;
	for (i = 0; gelf_getsym(data, i, &sym); i++) {
		r = add_symbol(table, image, &names, &sym);
		if (r < 0)
			return r;
	}
	return 0;
}

static int compare_preference(const struct entry *a, const struct entry *b)
{
	bool a_local = a->bind == STB_LOCAL, b_local = b->bind == STB_LOCAL;
	size_t len = a->symbol.name_len < MOST_COMPARED ? a->symbol.name_len : MOST_COMPARED;
	int order;

	if ((a->type == STT_NOTYPE) != (b->type == STT_NOTYPE))
		return a->type == STT_NOTYPE ? -1 : 1;
	if (a_local != b_local)
		return a_local ? -1 : 1;
	if (a->n_bars != b->n_bars)
		return a->n_bars > b->n_bars ? -1 : 1;
	if (a->bind != b->bind)
		return a->bind == STB_WEAK ? -1 : 1;
	if (a->symbol.name_len != b->symbol.name_len)
		return a->symbol.name_len > b->symbol.name_len ? -1 : 1;
	order = memcmp(b->symbol.name, a->symbol.name, len);
	return order ? order :
		       (a->symbol.name > b->symbol.name) - (a->symbol.name < b->symbol.name);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->symbol.start != y->symbol.start)
		return x->symbol.start < y->symbol.start ? -1 : 1;
	return compare_preference(x, y);
}

/* A symbol's rank is its place, so that of those that hold an address the last to start wins. */
static int index_entries(struct symbol_table *table)
{
	uint64_t next_start = UINT64_MAX;
	size_t i = table->entries.len;
	int r;

	while (i-- > 0) {
		struct entry *entry = &table->entries.data[i];
		struct table_symbol *symbol = &entry->symbol;

		if (i + 1 < table->entries.len && entry[1].symbol.start > symbol->start)
			next_start = entry[1].symbol.start;
		if (symbol->end == symbol->start)
			symbol->end =
				next_start < entry->section_end ? next_start : entry->section_end;
		r = range_map_add(symbol->is_label ? &table->labels : &table->functions,
				  symbol->start, symbol->end, i, i);
		if (r < 0)
			return r;
	}
	r = range_map_build(&table->functions);
	return r < 0 ? r : range_map_build(&table->labels);
}

static int add_all(struct symbol_table *table, const struct elf_image *image,
		   const struct elf_image *debug)
{
	int r = add_table(table, image, SHT_SYMTAB);

	if (r == -ENOENT && debug)
		r = add_table(table, debug, SHT_SYMTAB);
	if (r != -ENOENT)
		return r;
	r = add_table(table, image, SHT_DYNSYM);
	if (r == -ENOMEM)
		return r;
	r = mini_debug_open(image, &table->mini);
	if (r == 0)
		r = add_table(table, table->mini, SHT_SYMTAB);
	return r == -ENOMEM ? r : 0;
}

int symbol_table_new(const struct elf_image *image, const struct elf_image *debug,
		     struct symbol_table **ret_table)
{
	_cleanup_(symbol_table_free_p) struct symbol_table *table = calloc(1, sizeof(*table));
	int r;

	if (!table)
		return -ENOMEM;
	r = add_all(table, image, debug);
	if (r < 0)
		return r;
	vec_sort(&table->entries, compare_entries);
	r = index_entries(table);
	if (r < 0)
		return r;
	*ret_table = TAKE_PTR(table);
	return 0;
}

void symbol_table_free(struct symbol_table *table)
{
	if (!table)
		return;
	vec_done(&table->entries);
	range_map_done(&table->functions);
	range_map_done(&table->labels);
	elf_image_free(table->mini);
	free(table);
}

const struct table_symbol *symbol_table_find(const struct symbol_table *table, uint64_t vaddr)
{
	uint64_t i;

	if (range_map_find(&table->functions, vaddr, &i) ||
	    range_map_find(&table->labels, vaddr, &i))
		return &table->entries.data[i].symbol;
	return NULL;
}

/*
 * The shorter one without versions, the one with a version, the first of the alphabet: as
 * preferName() of Valgrind's coregrind/m_debuginfo/storage.c.
 */
static bool valgrind_prefers(const struct table_symbol *a, const struct table_symbol *b)
{
	bool a_has_version = a->name[a->name_len], b_has_version = b->name[b->name_len];

	if (a->name_len != b->name_len)
		return a->name_len < b->name_len;
	if (a_has_version != b_has_version)
		return a_has_version;
	return strcmp(a->name, b->name) < 0;
}

const char *symbol_table_valgrind_name(const struct symbol_table *table,
				       const struct table_symbol *symbol)
{
	const struct entry *list = table->entries.data, *end = list + table->entries.len;
	const struct entry *at =
		(const struct entry *)((const char *)symbol - offsetof(struct entry, symbol));
	const struct table_symbol *best = symbol;
	size_t n = 0;

	for (; at > list && at[-1].symbol.start == symbol->start && n < MOST_COMPARED; n++)
		at--;
	for (n = 0; at < end && at->symbol.start == symbol->start && n < MOST_COMPARED; n++, at++)
		if (at->type != STT_NOTYPE && valgrind_prefers(&at->symbol, best))
			best = &at->symbol;
	return best == symbol && !best->name[best->name_len] ? NULL : best->name;
}

uint64_t symbol_table_bytes(const struct symbol_table *table)
{
	return table->entries.cap * sizeof(table->entries.data[0]) + table->section_bytes +
	       range_map_bytes(&table->functions) + range_map_bytes(&table->labels);
}
