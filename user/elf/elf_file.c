/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_file.h"

#include "base/vec.h"
#include "elf/elf_read.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* libelf reads a table whole: what one may take. Browsers with all symbols stay below. */
#define MAX_TABLE_BYTES (128UL << 20)
#define MAX_SEGMENTS 128
/* .rela.dyn and .rela.plt, and as many again for linkers that cut them finer. */
#define MAX_RELA_SECTIONS 4
#define MAX_DYNAMIC_ENTRIES 4096

#define PAGE_BYTES 4096
#define N_PAGES 32 /* a function and what it calls are close to each other */

struct segment {
	uint64_t vaddr, offset, size; /* size in the file */
	bool is_text;
};

struct slot {
	uint64_t vaddr;
	const char *name;  /* NULL: of the function that is chosen by */
	uint64_t resolver; /* this one */
};

struct page {
	bool is_valid;
	uint64_t offset;
	size_t len;
	uint8_t *bytes; /* PAGE_BYTES, from the first use on */
};

/*
 * The relocation types that bind a pointer to a function of another object, or to the one that a
 * resolver of this object chooses.
 */
struct slot_relocations {
	uint16_t machine;
	uint32_t jump_slot, glob_dat, resolved;
};

static const struct slot_relocations slot_relocations[] = {
	{ EM_X86_64, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_IRELATIVE },
	{ EM_AARCH64, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_IRELATIVE },
};

struct elf_file {
	int fd;
	Elf *elf;
	uint64_t size;
	struct stat stat;
	GElf_Ehdr ehdr;
	VEC(struct segment) segments;
	VEC(struct elf_symbol) symbols;
	VEC(struct slot) slots;
	bool has_symbols, has_interpreter, has_needed, is_pie, has_eh_frame_hdr;
	uint64_t eh_frame_hdr, got;
	uint64_t dynamic_offset;
	size_t n_dynamic;
	struct page pages[N_PAGES];
};

static bool fits(const struct elf_file *file, uint64_t offset, uint64_t size)
{
	return offset <= file->size && size <= file->size - offset;
}

static int check_header(struct elf_file *file)
{
	const char *ident;
	size_t n;

	if (elf_kind(file->elf) != ELF_K_ELF)
		return -ENOEXEC;
	ident = elf_getident(file->elf, &n);
	if (!ident || n < EI_NIDENT)
		return -EBADMSG;
	if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
		return -EOPNOTSUPP;
	if (!gelf_getehdr(file->elf, &file->ehdr))
		return -EBADMSG;
	if (file->ehdr.e_type != ET_EXEC && file->ehdr.e_type != ET_DYN)
		return -EOPNOTSUPP;
	if (file->ehdr.e_shoff &&
	    !fits(file, file->ehdr.e_shoff, (uint64_t)file->ehdr.e_shnum * sizeof(Elf64_Shdr)))
		return -EBADMSG;
	return 0;
}

bool elf_file_is_32bit(int fd)
{
	unsigned char ident[EI_NIDENT];

	return pread(fd, ident, sizeof(ident), 0) == sizeof(ident) &&
	       memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS32;
}

static int read_dynamic(struct elf_file *file, const GElf_Phdr *phdr)
{
	Elf_Data *data;
	GElf_Dyn dyn;
	size_t n;

	if (!fits(file, phdr->p_offset, phdr->p_filesz))
		return -EBADMSG;
	n = phdr->p_filesz / sizeof(Elf64_Dyn);
	if (n > MAX_DYNAMIC_ENTRIES)
		n = MAX_DYNAMIC_ENTRIES;
	if (n == 0)
		return 0;
	file->dynamic_offset = phdr->p_offset;
	file->n_dynamic = n;
	data = elf_getdata_rawchunk(file->elf, (int64_t)phdr->p_offset, n * sizeof(Elf64_Dyn),
				    ELF_T_DYN);
	if (!data)
		return -EBADMSG;
	for (size_t i = 0; i < n && gelf_getdyn(data, (int)i, &dyn) && dyn.d_tag != DT_NULL; i++) {
		if (dyn.d_tag == DT_NEEDED)
			file->has_needed = true;
		if (dyn.d_tag == DT_PLTGOT)
			file->got = dyn.d_un.d_ptr;
		if (dyn.d_tag == DT_FLAGS_1 && (dyn.d_un.d_val & DF_1_PIE))
			file->is_pie = true;
	}
	return 0;
}

static int add_segment(struct elf_file *file, const GElf_Phdr *phdr)
{
	struct segment segment = {
		.vaddr = phdr->p_vaddr,
		.offset = phdr->p_offset,
		.size = phdr->p_filesz,
		.is_text = phdr->p_flags & PF_X,
	};

	if (segment.size == 0)
		return 0;
	if (file->segments.len == MAX_SEGMENTS)
		return -EBADMSG;
	if (!fits(file, segment.offset, segment.size) ||
	    segment.vaddr + segment.size < segment.vaddr)
		return -EBADMSG;
	return vec_push(&file->segments, segment);
}

static int read_program_headers(struct elf_file *file)
{
	bool seen_dynamic = false;
	GElf_Phdr phdr;
	size_t n;
	int r = 0;

	if (elf_getphdrnum(file->elf, &n) < 0)
		return -EBADMSG;
	if (n > 0 && !fits(file, file->ehdr.e_phoff, n * sizeof(Elf64_Phdr)))
		return -EBADMSG;
	for (size_t i = 0; i < n && r == 0; i++) {
		if (!gelf_getphdr(file->elf, (int)i, &phdr))
			return -EBADMSG;
		if (phdr.p_type == PT_LOAD) {
			r = add_segment(file, &phdr);
		} else if (phdr.p_type == PT_DYNAMIC && !seen_dynamic) {
			seen_dynamic = true;
			r = read_dynamic(file, &phdr);
		} else if (phdr.p_type == PT_INTERP) {
			file->has_interpreter = true;
		} else if (phdr.p_type == PT_GNU_EH_FRAME) {
			file->has_eh_frame_hdr = true;
			file->eh_frame_hdr = phdr.p_vaddr;
		}
	}
	return r;
}

/* The section's contents, or NULL where its header is not to be believed. */
static Elf_Data *table_data(Elf_Scn *section, const GElf_Shdr *shdr)
{
	if (shdr->sh_size > MAX_TABLE_BYTES || (shdr->sh_flags & SHF_COMPRESSED))
		return NULL;
	return elf_getdata(section, NULL);
}

static int read_symbols(struct elf_file *file, Elf_Scn *section, const GElf_Shdr *shdr)
{
	Elf_Data *data = table_data(section, shdr);
	struct name_table names;
	GElf_Sym sym;
	size_t len;
	int r = 0;

	if (!data || name_table_read(file->elf, shdr->sh_link, &names) < 0)
		return -EBADMSG;
	if (data->d_size > sizeof(Elf64_Sym)) /* the first entry is always empty */
		file->has_symbols = true;
	for (int i = 1; r == 0 && gelf_getsym(data, i, &sym); i++) {
		struct elf_symbol symbol = { .value = sym.st_value, .size = sym.st_size };
		int type = GELF_ST_TYPE(sym.st_info);

		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || sym.st_shndx == SHN_UNDEF)
			continue;
		symbol.is_ifunc = type == STT_GNU_IFUNC;
		symbol.name = name_table_get(&names, sym.st_name, &len);
		if (symbol.name)
			r = vec_push(&file->symbols, symbol);
	}
	return r;
}

static const struct slot_relocations *relocations_of(uint16_t machine)
{
	for (size_t i = 0; i < sizeof(slot_relocations) / sizeof(slot_relocations[0]); i++)
		if (slot_relocations[i].machine == machine)
			return &slot_relocations[i];
	return NULL;
}

static int read_slots(struct elf_file *file, Elf_Scn *section, const GElf_Shdr *shdr)
{
	const struct slot_relocations *types = relocations_of(file->ehdr.e_machine);
	Elf_Scn *symbol_section = elf_getscn(file->elf, shdr->sh_link);
	Elf_Data *data, *symbols;
	struct name_table names;
	GElf_Shdr symbol_shdr;
	GElf_Rela rela;
	GElf_Sym sym;
	size_t len;
	int r = 0;

	/* Static executables have only relocations without symbols, and sh_link 0. */
	if (!types || !symbol_section || !gelf_getshdr(symbol_section, &symbol_shdr) ||
	    symbol_shdr.sh_type != SHT_DYNSYM)
		return 0;
	data = table_data(section, shdr);
	symbols = table_data(symbol_section, &symbol_shdr);
	if (!data || !symbols || name_table_read(file->elf, symbol_shdr.sh_link, &names) < 0)
		return -EBADMSG;
	for (int i = 0; r == 0 && gelf_getrela(data, i, &rela); i++) {
		uint32_t type = (uint32_t)GELF_R_TYPE(rela.r_info);
		struct slot slot = { .vaddr = rela.r_offset };

		if (type == types->resolved) {
			slot.resolver = (uint64_t)rela.r_addend;
			r = vec_push(&file->slots, slot);
			continue;
		}
		if (type != types->jump_slot && type != types->glob_dat)
			continue;
		if (!gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &sym))
			return -EBADMSG;
		slot.name = name_table_get(&names, sym.st_name, &len);
		if (slot.name && slot.name[0])
			r = vec_push(&file->slots, slot);
	}
	return r;
}

static int read_sections(struct elf_file *file, bool with_symbols)
{
	bool seen_symtab = !with_symbols, seen_dynsym = !with_symbols;
	Elf_Scn *section = NULL;
	int n_rela = 0, r = 0;
	GElf_Shdr shdr;

	while (r == 0 && (section = elf_nextscn(file->elf, section))) {
		if (!gelf_getshdr(section, &shdr))
			return -EBADMSG;
		if (shdr.sh_type == SHT_SYMTAB && !seen_symtab) {
			seen_symtab = true;
			r = read_symbols(file, section, &shdr);
		} else if (shdr.sh_type == SHT_DYNSYM && !seen_dynsym) {
			seen_dynsym = true;
			r = read_symbols(file, section, &shdr);
		} else if (shdr.sh_type == SHT_RELA && (shdr.sh_flags & SHF_ALLOC) &&
			   n_rela < MAX_RELA_SECTIONS) {
			n_rela++;
			r = read_slots(file, section, &shdr);
		}
	}
	return r;
}

DEFINE_COMPARE(symbol_by_value, struct elf_symbol, value)

DEFINE_COMPARE(slot_by_vaddr, struct slot, vaddr)

static int open_file(int fd, bool with_symbols, struct elf_file **ret_file)
{
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	file = calloc(1, sizeof(*file));
	if (!file)
		return -ENOMEM;
	file->fd = fd;
	file->size = (uint64_t)st.st_size;
	file->stat = st;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -EOPNOTSUPP;
	file->elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!file->elf)
		return -ENOEXEC;
	r = check_header(file);
	if (r == 0)
		r = read_program_headers(file);
	if (r == 0)
		r = read_sections(file, with_symbols);
	if (r < 0)
		return r;
	vec_sort(&file->symbols, symbol_by_value);
	vec_sort(&file->slots, slot_by_vaddr);
	*ret_file = TAKE_PTR(file);
	return 0;
}

int elf_file_new(int fd, struct elf_file **ret_file)
{
	return open_file(fd, true, ret_file);
}

int elf_file_new_without_symbols(int fd, struct elf_file **ret_file)
{
	return open_file(fd, false, ret_file);
}

void elf_file_free(struct elf_file *file)
{
	if (!file)
		return;
	vec_done(&file->segments);
	vec_done(&file->symbols);
	vec_done(&file->slots);
	for (size_t i = 0; i < N_PAGES; i++)
		free(file->pages[i].bytes);
	elf_end(file->elf);
	free(file);
}

uint64_t elf_file_entry(const struct elf_file *file)
{
	return file->ehdr.e_entry;
}

uint16_t elf_file_machine(const struct elf_file *file)
{
	return file->ehdr.e_machine;
}

uint16_t elf_file_type(const struct elf_file *file)
{
	return file->ehdr.e_type;
}

bool elf_file_is_static_executable(const struct elf_file *file)
{
	/* ld.so, too, is an ET_DYN that needs nothing: DF_1_PIE tells executables apart. */
	return !file->has_interpreter && !file->has_needed &&
	       (file->ehdr.e_type == ET_EXEC || file->is_pie);
}

bool elf_file_loads_others(const struct elf_file *file)
{
	return file->has_needed ||
	       (file->ehdr.e_type == ET_DYN && !file->is_pie && !file->has_interpreter);
}

bool elf_file_has_symbols(const struct elf_file *file)
{
	return file->has_symbols;
}

const struct elf_symbol *elf_file_symbols(const struct elf_file *file, size_t *ret_n)
{
	*ret_n = file->symbols.len;
	return file->symbols.data;
}

/* How many symbols have lower addresses. */
static size_t symbols_below(const struct elf_file *file, uint64_t vaddr)
{
	return partition_point(file->symbols.len, i, file->symbols.data[i].value < vaddr);
}

const struct elf_symbol *elf_file_symbols_at(const struct elf_file *file, uint64_t vaddr,
					     size_t *ret_n)
{
	size_t low = symbols_below(file, vaddr);
	size_t end = vaddr < UINT64_MAX ? symbols_below(file, vaddr + 1) : file->symbols.len;

	*ret_n = end - low;
	return end > low ? &file->symbols.data[low] : NULL;
}

const char *elf_file_slot_symbol(const struct elf_file *file, uint64_t slot)
{
	struct slot key = { .vaddr = slot }, *found;
	const struct elf_symbol *symbols;
	size_t n;

	if (file->slots.len == 0)
		return NULL;
	found = bsearch(&key, file->slots.data, file->slots.len, sizeof(key), slot_by_vaddr);
	if (!found || found->name)
		return found ? found->name : NULL;
	symbols = elf_file_symbols_at(file, found->resolver, &n);
	for (size_t i = 0; i < n; i++)
		if (symbols[i].is_ifunc)
			return symbols[i].name;
	return NULL;
}

static const struct segment *segment_of(const struct elf_file *file, uint64_t vaddr)
{
	vec_foreach(&file->segments, segment)
		if (vaddr >= segment->vaddr && vaddr - segment->vaddr < segment->size)
			return segment;
	return NULL;
}

int elf_file_offset_of(const struct elf_file *file, uint64_t vaddr, uint64_t *ret_offset)
{
	const struct segment *segment = segment_of(file, vaddr);

	if (!segment)
		return -ENOENT;
	*ret_offset = segment->offset + (vaddr - segment->vaddr);
	return 0;
}

/* The page of the file that holds `offset`; it is shorter at the end of the file. */
static const struct page *load_page(struct elf_file *file, uint64_t offset)
{
	uint64_t start = offset / PAGE_BYTES * PAGE_BYTES;
	struct page *page = &file->pages[offset / PAGE_BYTES % N_PAGES];
	ssize_t n;

	if (page->is_valid && page->offset == start)
		return page;
	if (!page->bytes)
		page->bytes = malloc(PAGE_BYTES);
	if (!page->bytes)
		return page; /* with a length of 0 */
	n = pread(file->fd, page->bytes, PAGE_BYTES, (off_t)start);
	page->is_valid = n >= 0;
	page->offset = start;
	page->len = n > 0 ? (size_t)n : 0;
	return page;
}

static size_t read_segment(struct elf_file *file, const struct segment *segment, uint64_t vaddr,
			   uint8_t *buf, size_t len)
{
	uint64_t offset = segment->offset + (vaddr - segment->vaddr);
	uint64_t left = segment->size - (vaddr - segment->vaddr);
	size_t done = 0;

	if (len > left)
		len = (size_t)left;
	while (done < len) {
		const struct page *page = load_page(file, offset + done);
		size_t skip = (size_t)(offset + done - page->offset), n;

		if (page->len <= skip)
			break;
		n = page->len - skip;
		if (n > len - done)
			n = len - done;
		memcpy(buf + done, page->bytes + skip, n);
		done += n;
	}
	return done;
}

size_t elf_file_read(struct elf_file *file, uint64_t vaddr, void *buf, size_t len)
{
	const struct segment *segment = segment_of(file, vaddr);

	return segment ? read_segment(file, segment, vaddr, buf, len) : 0;
}

size_t elf_file_read_text(struct elf_file *file, uint64_t vaddr, void *buf, size_t len)
{
	const struct segment *segment = segment_of(file, vaddr);

	return segment && segment->is_text ? read_segment(file, segment, vaddr, buf, len) : 0;
}

uint64_t elf_file_left(const struct elf_file *file, uint64_t vaddr)
{
	const struct segment *segment = segment_of(file, vaddr);

	return segment ? segment->vaddr + segment->size - vaddr : 0;
}

size_t elf_file_texts(const struct elf_file *file, struct elf_text *ret_texts, size_t max)
{
	size_t n = 0;

	vec_foreach(&file->segments, segment) {
		if (!segment->is_text)
			continue;
		if (n < max)
			ret_texts[n] =
				(struct elf_text){ segment->vaddr, segment->offset, segment->size };
		n++;
	}
	return n;
}

uint64_t elf_file_base(const struct elf_file *file)
{
	uint64_t lowest = file->segments.len ? UINT64_MAX : 0;

	vec_foreach(&file->segments, segment)
		if (segment->vaddr < lowest)
			lowest = segment->vaddr;
	return lowest / PAGE_BYTES * PAGE_BYTES;
}

uint64_t elf_file_got(const struct elf_file *file)
{
	return file->got;
}

size_t elf_file_dynamic(const struct elf_file *file, uint64_t *ret_offset)
{
	*ret_offset = file->dynamic_offset;
	return file->n_dynamic;
}

size_t elf_file_read_offset(const struct elf_file *file, uint64_t offset, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(file->fd, (char *)buf + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

int elf_file_eh_frame_hdr(const struct elf_file *file, uint64_t *ret_vaddr)
{
	if (!file->has_eh_frame_hdr)
		return -ENOENT;
	*ret_vaddr = file->eh_frame_hdr;
	return 0;
}

Elf *elf_file_libelf(struct elf_file *file)
{
	return file->elf;
}

const struct stat *elf_file_stat(const struct elf_file *file)
{
	return &file->stat;
}

size_t elf_file_build_id(struct elf_file *file, const uint8_t **ret_id)
{
	return elf_build_id(file->elf, file->size, ret_id);
}
