/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/dwarf_index.h"

#include "base/vec.h"
#include "symbol/dwarf_entry.h"
#include "symbol/elf_image.h"
#include "symbol/names.h"
#include "symbol/range_map.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#define MAX_DWARF_BYTES (4ULL << 30)

struct unit {
	Dwarf_Off die;
	uint64_t size_bytes;
	bool has_ranges; /* false in DWARF 2: one range, from the first function to the last */
	bool is_indexed;
	struct range_map functions; /* value: the entry's offset; empty until needed */
};

#define NATIVE_DATA (__BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB)

/*
 * libdw opens whatever path .gnu_debugaltlink holds unless it was given a file in its place. This
 * is that file where debug_search found none: an ELF header and an empty .debug_info.
 */
static const struct empty_elf {
	Elf64_Ehdr header;
	Elf64_Shdr sections[3];
	char names[24];
	char info[8];
} empty_elf = {
	.header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, NATIVE_DATA,
			     EV_CURRENT },
		.e_type = ET_REL,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shoff = offsetof(struct empty_elf, sections),
		.e_shnum = 3,
		.e_shstrndx = 1,
	},
	.sections = {
		[1] = {
			.sh_name = 1,
			.sh_type = SHT_STRTAB,
			.sh_offset = offsetof(struct empty_elf, names),
			.sh_size = sizeof(((struct empty_elf *) NULL)->names),
		},
		[2] = {
			.sh_name = 11,
			.sh_type = SHT_PROGBITS,
			.sh_offset = offsetof(struct empty_elf, info),
			.sh_size = sizeof(((struct empty_elf *) NULL)->info),
		},
	},
	.names = "\0.shstrtab\0.debug_info",
};

struct dwarf_index {
	const struct elf_image *code;
	Dwarf *dwarf;
	Dwarf *alt;
	struct empty_elf *empty_data; /* what `empty` is made of, where it is alt's */
	Elf *empty;
	VEC(struct unit) units;
	struct range_map unit_ranges; /* value: index in units */
	bool has_lines;
	struct range_map line_ranges; /* of units without has_ranges; empty until needed */
	struct names names;	      /* with scopes */
	uint64_t ranges_left;	      /* that may still be looked at: many entries may share them */
};

/* Adds an entry's ranges without those of discarded code, which linkers leave at or near 0. */
static int add_ranges(struct dwarf_index *index, struct range_map *map, Dwarf_Die *die,
		      uint64_t rank, uint64_t value)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	int r;

	while (index->ranges_left > 0 && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		index->ranges_left--;
		if (start == 0 || start >= end || !elf_image_is_code(index->code, start))
			continue;
		r = range_map_add(map, start, end, rank, value);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_unit(struct dwarf_index *index, Dwarf_Off die_offset, uint64_t size_bytes,
		    unsigned version)
{
	struct unit unit = { .die = die_offset, .size_bytes = size_bytes };
	Dwarf_Die die;
	int r, tag;

	if (!dwarf_offdie(index->dwarf, die_offset, &die))
		return 0;
	tag = dwarf_tag(&die);
	if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit)
		return 0;
	unit.has_ranges = version > 2 || dwarf_hasattr(&die, DW_AT_ranges);
	r = add_ranges(index, &index->unit_ranges, &die, index->units.len, index->units.len);
	return r < 0 ? r : vec_push(&index->units, unit);
}

static int add_units(struct dwarf_index *index)
{
	Dwarf_Off at = 0, next;
	size_t header_size;
	Dwarf_Half version;
	int r;

	/* Unlike dwarf_get_units, this looks for no .dwo file. */
	while (dwarf_next_unit(index->dwarf, at, &next, &header_size, &version, NULL, NULL, NULL,
			       NULL, NULL) == 0) {
		if (next <= at)
			break;
		r = add_unit(index, at + header_size, next - at, version);
		if (r < 0)
			return r;
		at = next;
	}
	return range_map_build(&index->unit_ranges);
}

/* Adds the code that the unit's line table tells of: sequences of rows with rising addresses. */
static int add_line_ranges(struct dwarf_index *index, Dwarf_Die *cu, uint64_t value)
{
	Dwarf_Addr addr, start = 0;
	bool in_sequence = false, ends;
	Dwarf_Lines *lines;
	size_t n_lines, i;
	int r;

	if (dwarf_getsrclines(cu, &lines, &n_lines) != 0)
		return 0;
	for (i = 0; i < n_lines; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);

		if (dwarf_lineaddr(line, &addr) != 0 || dwarf_lineendsequence(line, &ends) != 0)
			break;
		if (!in_sequence)
			start = addr;
		in_sequence = !ends;
		if (!ends || start == 0 || start >= addr || !elf_image_is_code(index->code, start))
			continue;
		r = range_map_add(&index->line_ranges, start, addr, value, value);
		if (r < 0)
			return r;
	}
	return 0;
}

static int index_lines(struct dwarf_index *index)
{
	Dwarf_Die cu;
	size_t i;
	int r = 0;

	if (index->has_lines)
		return 0;
	index->has_lines = true;
	for (i = 0; r == 0 && i < index->units.len; i++) {
		struct unit *unit = &index->units.data[i];

		if (!unit->has_ranges && dwarf_offdie(index->dwarf, unit->die, &cu))
			r = add_line_ranges(index, &cu, i);
	}
	return r < 0 ? r : range_map_build(&index->line_ranges);
}

/* 1 and the unit that holds the address; 0: none; or -ENOMEM. */
static int find_unit(struct dwarf_index *index, uint64_t vaddr, struct unit **ret_unit)
{
	uint64_t i;
	int r;

	if (!range_map_find(&index->unit_ranges, vaddr, &i) || !index->units.data[i].has_ranges) {
		r = index_lines(index);
		if (r < 0)
			return r;
		if (!range_map_find(&index->line_ranges, vaddr, &i) &&
		    !range_map_find(&index->unit_ranges, vaddr, &i))
			return 0;
	}
	*ret_unit = &index->units.data[i];
	return 1;
}

struct unit_walk {
	struct dwarf_index *index;
	struct range_map functions;
	uint64_t visits_left;
	uint64_t n_functions;
};

/* Does it hold functions, as a type does not in C and C++? */
static bool is_scope(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_namespace || tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block ||
	       tag == DW_TAG_inlined_subroutine;
}

/*
 * Each entry is checked before libdw is asked to step over it. Values are entries' offsets, with
 * bit 0 for those inside of types. 0, -EBADMSG or -ENOMEM.
 */
static int index_children(struct unit_walk *walk, Dwarf_Die *parent, unsigned depth, bool in_type)
{
	Dwarf_Die die;
	int r;

	if (depth == DWARF_ENTRY_MAX_DEPTH)
		return -EBADMSG;
	for (r = dwarf_child(parent, &die); r == 0; r = dwarf_siblingof(&die, &die)) {
		if (walk->visits_left-- == 0 || !dwarf_entry_sibling_is_ahead(&die))
			return -EBADMSG;
		if (dwarf_tag(&die) == DW_TAG_subprogram) {
			r = add_ranges(walk->index, &walk->functions, &die, walk->n_functions++,
				       dwarf_dieoffset(&die) << 1 | in_type);
			if (r < 0)
				return r;
		}
		if (dwarf_haschildren(&die) > 0) {
			r = index_children(walk, &die, depth + 1, in_type || !is_scope(&die));
			if (r < 0)
				return r;
		}
	}
	return r < 0 ? -EBADMSG : 0;
}

/* A damaged unit gets an empty index: nothing then walks its entries. */
static int index_unit(struct dwarf_index *index, struct unit *unit, Dwarf_Die *cu)
{
	struct unit_walk walk = { .index = index, .visits_left = unit->size_bytes };
	int r;

	if (unit->is_indexed)
		return 0;
	r = index_children(&walk, cu, 0, false);
	if (r == -EBADMSG) {
		range_map_done(&walk.functions);
		r = 0;
	}
	if (r == 0)
		r = range_map_build(&walk.functions);
	if (r < 0) {
		range_map_done(&walk.functions);
		return r;
	}
	unit->functions = walk.functions;
	unit->is_indexed = true;
	return 0;
}

struct inline_walk {
	uint64_t vaddr;
	uint64_t visits_left;
	size_t len;
	Dwarf_Die chain[DWARF_INDEX_MAX_FRAMES]; /* the physical function first */
};

/*
 * Appends the inlined calls below `parent` that hold the address, the outermost first. Lexical
 * blocks are entered whatever their ranges: compilers leave them out or cut them too short. True
 * when one was found.
 */
static bool find_inlined(struct inline_walk *walk, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;
	int r;

	if (depth == DWARF_ENTRY_MAX_DEPTH)
		return false;
	for (r = dwarf_child(parent, &die); r == 0; r = dwarf_siblingof(&die, &die)) {
		if (walk->visits_left == 0 || walk->len == DWARF_INDEX_MAX_FRAMES)
			return false;
		walk->visits_left--;
		switch (dwarf_tag(&die)) {
		case DW_TAG_inlined_subroutine:
			if (dwarf_haspc(&die, walk->vaddr) <= 0)
				break;
			walk->chain[walk->len++] = die;
			find_inlined(walk, &die, depth + 1);
			return true;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			if (find_inlined(walk, &die, depth + 1))
				return true;
			break;
		default:
			break;
		}
	}
	return false;
}

/* The folder in which the unit was compiled, unless the path begins with it. */
static const char *folder_before(Dwarf_Die *cu, const char *path)
{
	Dwarf_Attribute attr;
	const char *folder;
	size_t len;

	if (*path == '/' || !dwarf_attr(cu, DW_AT_comp_dir, &attr))
		return NULL;
	folder = dwarf_entry_bounded(dwarf_formstring(&attr));
	len = folder ? strlen(folder) : 0;
	return len == 0 || (strncmp(path, folder, len) == 0 && path[len] == '/') ? NULL : folder;
}

static int set_file(struct dwarf_index *index, Dwarf_Die *cu, const char *path,
		    struct dwarf_frame *frame)
{
	_cleanup_strbuf_ struct strbuf joined = {};
	const char *folder;

	frame->file = dwarf_entry_bounded(path);
	folder = frame->file ? folder_before(cu, frame->file) : NULL;
	if (!folder)
		return 0;
	strbuf_addf(&joined, "%s/%s", folder, path);
	if (strbuf_error(&joined) < 0)
		return strbuf_error(&joined);
	return dwarf_entry_bounded(strbuf_str(&joined)) ?
		       names_add(&index->names, joined.data, joined.len, &frame->file) :
		       0;
}

static int set_call_site(struct dwarf_index *index, Dwarf_Die *cu, Dwarf_Die *inlined,
			 struct dwarf_frame *frame)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Word value;
	size_t n_files;

	if (dwarf_attr(inlined, DW_AT_call_line, &attr) && dwarf_formudata(&attr, &value) == 0 &&
	    value <= UINT32_MAX)
		frame->line = (uint32_t)value;
	if (dwarf_attr(inlined, DW_AT_call_file, &attr) && dwarf_formudata(&attr, &value) == 0 &&
	    dwarf_getsrcfiles(cu, &files, &n_files) == 0 && value < n_files)
		return set_file(index, cu, dwarf_filesrc(files, value, NULL, NULL), frame);
	return 0;
}

static int set_line(struct dwarf_index *index, Dwarf_Die *cu, uint64_t vaddr,
		    struct dwarf_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(cu, vaddr);
	int number;

	if (!line)
		return 0;
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		frame->line = (uint32_t)number;
	return set_file(index, cu, dwarf_linesrc(line, NULL, NULL), frame);
}

static uint64_t entry_address(Dwarf_Die *function)
{
	Dwarf_Addr addr;

	return dwarf_entrypc(function, &addr) == 0 ? addr : 0;
}

/* Without a mangled name the scope must come from where the function is declared. */
static int set_name(struct dwarf_index *index, const Dwarf_Die *die, struct dwarf_frame *frame)
{
	_cleanup_strbuf_ struct strbuf name = {};
	int r;

	frame->linkage = dwarf_entry_linkage_name(die);
	if (frame->linkage)
		return 0;
	dwarf_entry_add_name(die, &name);
	r = strbuf_error(&name);
	return r < 0 || name.len == 0 ? r :
					names_add(&index->names, name.data, name.len, &frame->name);
}

static int fill_frames(struct dwarf_index *index, Dwarf_Die *cu, struct inline_walk *walk,
		       struct dwarf_frame *frames)
{
	size_t i;
	int r = 0;

	memset(frames, 0, walk->len * sizeof(*frames));
	for (i = 0; r == 0 && i < walk->len; i++) {
		Dwarf_Die *die = &walk->chain[walk->len - 1 - i];

		r = set_name(index, die, &frames[i]);
		if (i + 1 < walk->len)
			frames[i].base = dwarf_entry_base_name(die, &frames[i].is_elsewhere);
		if (r == 0)
			r = i == 0 ? set_line(index, cu, walk->vaddr, &frames[i]) :
				     set_call_site(index, cu, die + 1, &frames[i]);
	}
	frames[walk->len - 1].entry = entry_address(&walk->chain[0]);
	return r;
}

int dwarf_index_find(struct dwarf_index *index, uint64_t vaddr,
		     struct dwarf_frame frames[DWARF_INDEX_MAX_FRAMES], size_t *ret_n_frames)
{
	_cleanup_free_ struct inline_walk *walk = NULL;
	struct unit *unit;
	uint64_t function;
	Dwarf_Die cu;
	int r;

	*ret_n_frames = 0;
	r = find_unit(index, vaddr, &unit);
	if (r <= 0)
		return r;
	if (!dwarf_offdie(index->dwarf, unit->die, &cu))
		return 0;
	r = index_unit(index, unit, &cu);
	if (r < 0)
		return r;
	walk = calloc(1, sizeof(*walk));
	if (!walk)
		return -ENOMEM;
	walk->vaddr = vaddr;
	walk->visits_left = DWARF_ENTRY_MAX_VISITS;
	if (range_map_find(&unit->functions, vaddr, &function) &&
	    dwarf_offdie(index->dwarf, function >> 1, &walk->chain[0])) {
		walk->len = 1;
		find_inlined(walk, &walk->chain[0], 0);
		r = fill_frames(index, &cu, walk, frames);
		frames[walk->len - 1].is_hidden =
			function & 1 || dwarf_hasattr(&cu, DW_AT_addr_base);
		*ret_n_frames = r == 0 ? walk->len : 0;
		return r;
	}
	memset(frames, 0, sizeof(*frames));
	r = set_line(index, &cu, vaddr, frames);
	*ret_n_frames = r == 0;
	return r;
}

/* libdw 0.188 reads on behind a .debug_line_str whose last string has no end. */
static bool strings_end(const struct elf_image *debug)
{
	static const char *const names[] = { ".debug_line_str", ".debug_str" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		Elf_Scn *scn = elf_image_section(debug, names[i], SHT_NULL);
		Elf_Data *data = scn ? elf_image_data(scn, MAX_DWARF_BYTES) : NULL;

		if (data && data->d_size > 0 && ((const char *)data->d_buf)[data->d_size - 1])
			return false;
	}
	return true;
}

static int set_alt(struct dwarf_index *index, struct elf_image *alt)
{
	bool is_sane = alt && elf_image_debug_bytes(alt) <= MAX_DWARF_BYTES;

	if (is_sane && elf_image_unpack_zstd(alt) < 0)
		return -ENOMEM;
	if (is_sane && strings_end(alt))
		index->alt = dwarf_begin_elf(elf_image_elf(alt), DWARF_C_READ, NULL);
	if (!index->alt) {
		index->empty_data = malloc(sizeof(*index->empty_data));
		if (!index->empty_data)
			return -ENOMEM;
		*index->empty_data = empty_elf;
		index->empty = elf_memory((char *)index->empty_data, sizeof(*index->empty_data));
		if (index->empty)
			index->alt = dwarf_begin_elf(index->empty, DWARF_C_READ, NULL);
	}
	if (!index->alt)
		return -ENOMEM;
	dwarf_setalt(index->dwarf, index->alt);
	return 0;
}

int dwarf_index_new(const struct elf_image *code, struct elf_image *debug, struct elf_image *alt,
		    struct dwarf_index **ret_index)
{
	_cleanup_(dwarf_index_free_p) struct dwarf_index *index = NULL;
	int r;

	if (!elf_image_has_dwarf(debug) || elf_image_debug_bytes(debug) > MAX_DWARF_BYTES)
		return -ENODATA;
	r = elf_image_unpack_zstd(debug);
	if (r < 0)
		return r;
	if (!strings_end(debug))
		return -ENODATA;
	index = calloc(1, sizeof(*index));
	if (!index)
		return -ENOMEM;
	index->code = code;
	index->ranges_left = elf_image_debug_bytes(debug); /* one takes 2 bytes and more */
	index->dwarf = dwarf_begin_elf(elf_image_elf(debug), DWARF_C_READ, NULL);
	if (!index->dwarf)
		return -ENODATA;
	r = set_alt(index, alt);
	names_init(&index->names);
	if (r == 0)
		r = add_units(index);
	if (r < 0)
		return r;
	*ret_index = TAKE_PTR(index);
	return 0;
}

void dwarf_index_free(struct dwarf_index *index)
{
	if (!index)
		return;
	vec_foreach(&index->units, unit)
		range_map_done(&unit->functions);
	vec_done(&index->units);
	range_map_done(&index->unit_ranges);
	range_map_done(&index->line_ranges);
	names_done(&index->names);
	dwarf_end(index->dwarf);
	dwarf_end(index->alt);
	elf_end(index->empty);
	free(index->empty_data);
	free(index);
}
