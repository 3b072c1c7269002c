/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi/cfi_file.h"

#include "elf/elf_file.h"
#include "elf/elf_sections.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Browsers with all their debug information stay below. */
#define MAX_SECTION_BYTES (256UL << 20)
#define MAX_TEXT_BYTES (1UL << 30)
#define MAX_TEXTS 64
#define PAGE_BYTES 4096

/*
 * ld.so's start, of two functions without information, takes 61 bytes; those of C libraries 40.
 * With information behind it, or a function of known size, it ends there.
 */
#define ENTRY_BYTES 128

struct contents {
	struct elf_section eh_frame, debug_frame;
	struct cfi_bytes texts[MAX_TEXTS];
	uint8_t *text_bytes[MAX_TEXTS];
	size_t n_texts;
	uint64_t *starts; /* of functions, by symbols */
	size_t n_starts;
};

static void contents_done(struct contents *contents)
{
	free(contents->eh_frame.bytes);
	free(contents->debug_frame.bytes);
	free(contents->starts);
	for (size_t i = 0; i < contents->n_texts; i++)
		free(contents->text_bytes[i]);
}

static int read_texts(struct elf_file *file, struct contents *contents)
{
	struct elf_text texts[MAX_TEXTS];
	size_t n = elf_code(file, texts, MAX_TEXTS);
	uint64_t left = 2 * (uint64_t)elf_file_stat(file)->st_size;

	if (n > MAX_TEXTS)
		return -E2BIG;
	for (size_t i = 0; i < n; i++) {
		uint8_t *bytes;

		if (texts[i].size > MAX_TEXT_BYTES)
			return -EFBIG;
		/* The same code at many addresses: no linker does that. */
		if (texts[i].size > left)
			return -EBADMSG;
		left -= texts[i].size;
		bytes = malloc(texts[i].size);
		if (!bytes)
			return -ENOMEM;
		contents->text_bytes[contents->n_texts] = bytes;
		contents->texts[contents->n_texts++] =
			(struct cfi_bytes){ bytes, texts[i].size, texts[i].vaddr };
		if (elf_file_read_offset(file, texts[i].offset, bytes, texts[i].size) !=
		    texts[i].size)
			return -EBADMSG;
	}
	return 0;
}

/*
 * Without section headers .eh_frame is found by what the program headers say, and ends where it
 * says so itself, or the segment does.
 */
static int read_eh_frame_by_hdr(struct elf_file *file, struct elf_section *ret)
{
	uint8_t header[8]; /* version, three encodings, .eh_frame's address */
	uint64_t hdr, at;
	int32_t distance;
	size_t len;

	if (elf_file_eh_frame_hdr(file, &hdr) < 0)
		return -ENOENT;
	if (elf_file_read(file, hdr, header, sizeof(header)) != sizeof(header))
		return -EBADMSG;
	if (header[0] != 1 || header[1] != (DW_EH_PE_pcrel | DW_EH_PE_sdata4))
		return -ENOENT;
	memcpy(&distance, header + 4, sizeof(distance));
	at = hdr + 4 + (uint64_t)(int64_t)distance;
	len = elf_file_left(file, at);
	if (len == 0)
		return -EBADMSG;
	if (len > MAX_SECTION_BYTES)
		len = MAX_SECTION_BYTES;
	ret->bytes = malloc(len);
	if (!ret->bytes)
		return -ENOMEM;
	ret->vaddr = at;
	ret->len = elf_file_read(file, at, ret->bytes, len);
	return 0;
}

static int read_sections(struct elf_file *file, struct contents *contents)
{
	int r = elf_section_read(file, ".eh_frame", MAX_SECTION_BYTES, &contents->eh_frame);

	if (r == -ENOENT)
		r = read_eh_frame_by_hdr(file, &contents->eh_frame);
	if (r < 0 && r != -ENOENT)
		return r;
	r = elf_section_read(file, ".debug_frame", MAX_SECTION_BYTES, &contents->debug_frame);
	return r == -ENOENT ? 0 : r;
}

/* Up to where code at the entry may belong to the start. */
static uint64_t entry_end(const struct elf_file *file, uint64_t entry)
{
	uint64_t end = entry + ENTRY_BYTES;
	const struct elf_symbol *symbols;
	size_t n;

	symbols = elf_file_symbols(file, &n);
	for (size_t i = 0; i < n && symbols[i].value < end; i++)
		if (symbols[i].value > entry && symbols[i].size > 0)
			return symbols[i].value;
	return end;
}

/* A part of a function that GCC and LLVM have moved away is a symbol, too: it is jumped to. */
static bool is_function(const struct elf_symbol *symbol)
{
	return symbol->size > 0 && !strstr(symbol->name, ".cold");
}

static int read_starts(struct elf_file *file, struct contents *contents)
{
	const struct elf_symbol *symbols;
	size_t n;

	symbols = elf_file_symbols(file, &n);
	contents->starts = calloc(n + 1, sizeof(*contents->starts));
	if (!contents->starts)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (is_function(&symbols[i]))
			contents->starts[contents->n_starts++] = symbols[i].value;
	return 0;
}

static struct cfi_input input_of(const struct elf_file *file, const struct contents *contents)
{
	struct cfi_input in = {
		.eh_frame = { contents->eh_frame.bytes, contents->eh_frame.len,
			      contents->eh_frame.vaddr },
		.debug_frame = { contents->debug_frame.bytes, contents->debug_frame.len,
				 contents->debug_frame.vaddr },
		.text = contents->texts,
		.n_text = contents->n_texts,
		.base = elf_file_base(file),
		.data_base = elf_file_got(file),
		.entry = elf_file_entry(file),
		.starts = contents->starts,
		.n_starts = contents->n_starts,
	};

	in.symbols = elf_file_symbols(file, &in.n_symbols);
	in.entry_end = entry_end(file, in.entry);
	return in;
}

int cfi_file_rows(struct elf_file *file, bool pruned, struct cfi_rows **ret_rows)
{
	_cleanup_(contents_done) struct contents contents = { 0 };
	_cleanup_(cfi_rows_free_p) struct cfi_rows *full = NULL;
	struct cfi_input in;
	int r;

	if (elf_file_machine(file) != EM_X86_64)
		return -EOPNOTSUPP;
	r = read_texts(file, &contents);
	if (r == 0)
		r = read_sections(file, &contents);
	if (r == 0)
		r = read_starts(file, &contents);
	if (r < 0)
		return r;
	in = input_of(file, &contents);
	r = cfi_compile(&in, &full);
	if (r == 0 && pruned)
		return cfi_prune(full, in.text, in.n_text, in.base, ret_rows);
	if (r == 0)
		*ret_rows = TAKE_PTR(full);
	return r;
}

int cfi_file_links(struct elf_file *file, const uint64_t *addresses, size_t n, bool *ret_in_link)
{
	_cleanup_(contents_done) struct contents contents = { 0 };
	struct cfi_input in;
	int r;

	memset(ret_in_link, 0, n * sizeof(*ret_in_link));
	if (elf_file_machine(file) != EM_AARCH64)
		return 0;
	r = read_sections(file, &contents);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	in = input_of(file, &contents);
	cfi_find_links(&in, addresses, n, ret_in_link);
	return 0;
}

size_t cfi_file_starts(struct elf_file *file, struct cfi_range *ret_starts, size_t max)
{
	_cleanup_(contents_done) struct contents contents = { 0 };
	struct cfi_input in;

	if (elf_file_machine(file) != EM_AARCH64 || read_sections(file, &contents) < 0)
		return 0;
	in = input_of(file, &contents);
	return cfi_find_starts(&in, ret_starts, max);
}

int cfi_file_segments(const struct elf_file *file,
		      struct abi_unwind_segment ret_segments[ABI_UNWIND_SEGMENTS], uint32_t *ret_n)
{
	struct elf_text texts[ABI_UNWIND_SEGMENTS];
	size_t n = elf_file_texts(file, texts, ABI_UNWIND_SEGMENTS);
	uint64_t base = elf_file_base(file);
	int r = n > ABI_UNWIND_SEGMENTS ? -E2BIG : 0;

	if (n > ABI_UNWIND_SEGMENTS)
		n = ABI_UNWIND_SEGMENTS;
	*ret_n = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t skip = texts[i].offset % PAGE_BYTES;

		/* The kernel maps no segment whose address and offset differ within the page. */
		if (texts[i].vaddr % PAGE_BYTES != skip)
			continue;
		if (texts[i].vaddr + texts[i].size - base > UINT32_MAX)
			return -E2BIG;
		ret_segments[(*ret_n)++] = (struct abi_unwind_segment){
			.offset = texts[i].offset - skip,
			.end = texts[i].offset + texts[i].size,
			.rel = (uint32_t)(texts[i].vaddr - skip - base)
		};
	}
	return r;
}
