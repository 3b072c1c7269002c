/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_wire.h"

#include <limits.h>
#include <string.h>

/*
 * Linux runs nothing with program headers of more than 64 KiB (fs/binfmt_elf.c: load_elf_phdrs),
 * which are 56 bytes each.
 */
#define MAX_LOADS 1170

static const struct field build_id_fields[] = {
	F_ARRAY(elf_build_id, bytes, len, &codec_u8),
	F_END,
};
static const struct layout build_id_layout = LAYOUT(elf_build_id, build_id_fields);

static const struct field stamp_fields[] = {
	F_STRUCT(elf_stamp, build_id, &build_id_layout),
	F(elf_stamp, size_bytes, FIELD_U64),
	F(elf_stamp, modified_s, FIELD_U64),
	F(elf_stamp, modified_ns, FIELD_U64),
	F_END,
};
static const struct layout stamp_layout = LAYOUT(elf_stamp, stamp_fields);

/* --- requests -------------------------------------------------------------------------------- */

static const struct field limits_fields[] = {
	F(object_limits, open, FIELD_U64),
	F(object_limits, open_bytes, FIELD_U64),
	F_END,
};
static const struct layout limits_layout = LAYOUT(object_limits, limits_fields);

static const struct field files_fields[] = {
	F_REPEAT(object_files, fds, int, &codec_u32),
	F_REPEAT(object_files, stamps, struct elf_stamp, &stamp_layout),
	F_END,
};
static const struct layout files_layout = LAYOUT(object_files, files_fields);

static const struct field place_asked_fields[] = {
	F(object_place, file_offset, FIELD_U64),
	F(object_place, is_call, FIELD_BOOL),
	F_END,
};
static const struct layout place_asked_layout = LAYOUT(object_place, place_asked_fields);

static const struct field look_up_fields[] = {
	F(symbol_look_up, object, FIELD_U64),
	F_STRUCT(symbol_look_up, limits, &limits_layout),
	F_STRUCT(symbol_look_up, files, &files_layout),
	F_ARRAY(symbol_look_up, places, n_places, &place_asked_layout),
	F_END,
};
const struct layout symbol_look_up_layout = LAYOUT(symbol_look_up, look_up_fields);

bool symbol_get_look_up(struct decoder *decoder, const int *fds, size_t n_fds,
			struct symbol_look_up *ret_look_up)
{
	int *ours = ret_look_up->files.fds;
	size_t used = 0;

	codec_read(decoder, &symbol_look_up_layout, ret_look_up);
	/* Theirs say which there are. */
	for (size_t i = 0; i < OBJECT_FILES; i++) {
		if (ours[i] >= 0 && used == n_fds)
			return false;
		ours[i] = ours[i] >= 0 ? fds[used++] : -1;
	}
	return decoder_end(decoder) == 0 && used == n_fds;
}

/* --- facts ----------------------------------------------------------------------------------- */

static const struct field load_fields[] = {
	F(elf_load, vaddr, FIELD_U64),	     F(elf_load, file_offset, FIELD_U64),
	F(elf_load, file_bytes, FIELD_U64),  F(elf_load, mem_bytes, FIELD_U64),
	F(elf_load, executable, FIELD_BOOL), F_END,
};
static const struct layout load_layout = LAYOUT(elf_load, load_fields);

static const struct field facts_fields[] = {
	F_STRUCT(elf_facts, stamp, &stamp_layout),
	F(elf_facts, machine, FIELD_U16),
	F(elf_facts, class, FIELD_U8),
	F(elf_facts, has_dwarf, FIELD_BOOL),
	F(elf_facts, has_symtab, FIELD_BOOL),
	F_MAX(elf_facts, link, FIELD_OPTIONAL_COPY, NAME_MAX),
	F(elf_facts, link_crc, FIELD_U32),
	F_MAX(elf_facts, alt, FIELD_OPTIONAL_COPY, PATH_MAX - 1),
	F_STRUCT(elf_facts, alt_id, &build_id_layout),
	F_LIST(elf_facts, loads.data, loads.len, MAX_LOADS, &load_layout),
	F_LOCAL(elf_facts, loads.cap),
	F_END,
};

/* A link is a file beside the image, of the image's own choice: no path. */
static bool facts_are_sound(const void *value, const void *context)
{
	const char *link = ((const struct elf_facts *)value)->link;

	(void)context;
	return !link || (*link && !strchr(link, '/'));
}

const struct layout symbol_facts_layout = LAYOUT_CHECKED(elf_facts, facts_fields, facts_are_sound);

void symbol_put_facts(struct strbuf *answer, const struct elf_facts *facts)
{
	struct elf_facts sent = *facts;

	if (sent.loads.len > MAX_LOADS)
		sent.loads.len = MAX_LOADS;
	codec_write(answer, &symbol_facts_layout, &sent, NULL);
}

/* --- places ---------------------------------------------------------------------------------- */

static const struct field counts_fields[] = {
	F(object_counts, open, FIELD_U64),
	F(object_counts, open_bytes, FIELD_U64),
	F(object_counts, reads, FIELD_U64),
	F_END,
};
static const struct layout counts_layout = LAYOUT(object_counts, counts_fields);

static const struct field head_fields[] = {
	F_STRUCT(symbol_head, counts, &counts_layout),
	F(symbol_head, is_stale, FIELD_BOOL),
	F(symbol_head, n_places, FIELD_U32),
	F_END,
};
const struct layout symbol_head_layout = LAYOUT(symbol_head, head_fields);

struct symbol_head symbol_get_head(struct decoder *decoder, size_t n_asked)
{
	struct symbol_head head;

	codec_read(decoder, &symbol_head_layout, &head);
	/* An answer to nothing would have it asked for ever. */
	if (head.n_places > n_asked || (head.n_places == 0) != head.is_stale)
		decoder_refuse(decoder);
	return head;
}

static const struct field frame_fields[] = {
	F(symbol_frame, is_inline, FIELD_BOOL),
	F(symbol_frame, offset, FIELD_U64),
	F(symbol_frame, line, FIELD_U32),
	F_MAX(symbol_frame, file, FIELD_OPTIONAL_STRING, SYMBOL_MAX_NAME),
	F_MAX(symbol_frame, function, FIELD_OPTIONAL_STRING, SYMBOL_MAX_NAME),
	F_SAME_STRING(symbol_frame, linkage, function, SYMBOL_MAX_NAME),
	F_MAX(symbol_frame, valgrind, FIELD_OPTIONAL_STRING, SYMBOL_MAX_NAME),
	F_MAX(symbol_frame, seen, FIELD_U32, SYMBOL_UNSEEN),
	F_END,
};
static const struct layout frame_layout = LAYOUT(symbol_frame, frame_fields);

static const struct field callee_fields[] = {
	F_MAX(symbol_callee, function, FIELD_OPTIONAL_STRING, SYMBOL_MAX_NAME),
	F_SAME_STRING(symbol_callee, linkage, function, SYMBOL_MAX_NAME),
	F_END,
};
static const struct layout callee_layout = LAYOUT(symbol_callee, callee_fields);

static const struct field place_fields[] = {
	F_ARRAY(symbol_found, frames, n_frames, &frame_layout),
	F_STRUCT(symbol_found, callee, &callee_layout),
	F_END,
};

/* The physical function is last, and no other is. */
static bool place_is_sound(const void *value, const void *context)
{
	const struct symbol_found *found = value;

	(void)context;
	for (size_t i = 0; i < found->n_frames; i++)
		if (found->frames[i].is_inline != (i + 1 < found->n_frames))
			return false;
	return found->n_frames > 0;
}

const struct layout symbol_found_layout =
	LAYOUT_CHECKED(symbol_found, place_fields, place_is_sound);
