/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_wire.h"

#include <limits.h>
#include <string.h>

/*
 * Linux runs nothing with program headers of more than 64 KiB (fs/binfmt_elf.c: load_elf_phdrs),
 * which are 56 bytes each.
 */
#define MAX_LOADS 1170
#define LOAD_BYTES 33
#define PLACE_BYTES 9

enum frame_flags { FRAME_INLINE = 1, FRAME_UNMANGLED = 2, FRAME_FLAGS = 3 };

static void put_build_id(struct strbuf *out, const struct elf_build_id *id)
{
	wire_put_u8(out, id->len);
	strbuf_add(out, id->bytes, id->len);
}

static void get_build_id(struct wire_reader *reader, struct elf_build_id *id)
{
	uint8_t len = wire_get_u8(reader);
	const char *bytes = len <= sizeof(id->bytes) ? wire_get_bytes(reader, len) : NULL;

	if (!bytes) {
		reader->bad = true;
		return;
	}
	memcpy(id->bytes, bytes, len);
	id->len = len;
}

static void put_stamp(struct strbuf *out, const struct elf_stamp *stamp)
{
	put_build_id(out, &stamp->build_id);
	wire_put_u64(out, stamp->size_bytes);
	wire_put_u64(out, stamp->modified_s);
	wire_put_u64(out, stamp->modified_ns);
}

static void get_stamp(struct wire_reader *reader, struct elf_stamp *stamp)
{
	get_build_id(reader, &stamp->build_id);
	stamp->size_bytes = wire_get_u64(reader);
	stamp->modified_s = wire_get_u64(reader);
	stamp->modified_ns = wire_get_u64(reader);
}

/* --- requests -------------------------------------------------------------------------------- */

void symbol_put_look_up(struct strbuf *request, const struct symbol_look_up *look_up)
{
	wire_put_u64(request, look_up->object);
	wire_put_u64(request, look_up->limits.open);
	wire_put_u64(request, look_up->limits.open_bytes);
	for (size_t i = 0; i < OBJECT_FILES; i++) {
		wire_put_u8(request, look_up->files.fds[i] >= 0);
		if (look_up->files.fds[i] >= 0)
			put_stamp(request, &look_up->files.stamps[i]);
	}
	wire_put_u32(request, (uint32_t)look_up->n_places);
	for (size_t i = 0; i < look_up->n_places; i++) {
		wire_put_u64(request, look_up->places[i].file_offset);
		wire_put_u8(request, look_up->places[i].is_call);
	}
}

bool symbol_get_look_up(struct wire_reader *reader, const int *fds, size_t n_fds,
			struct symbol_look_up *ret_look_up)
{
	size_t used = 0;

	ret_look_up->object = wire_get_u64(reader);
	ret_look_up->limits.open = wire_get_u64(reader);
	ret_look_up->limits.open_bytes = wire_get_u64(reader);
	for (size_t i = 0; i < OBJECT_FILES; i++) {
		ret_look_up->files.fds[i] = -1;
		if (!wire_get_bool(reader))
			continue;
		get_stamp(reader, &ret_look_up->files.stamps[i]);
		if (used >= n_fds)
			return false;
		ret_look_up->files.fds[i] = fds[used++];
	}
	ret_look_up->n_places = wire_get_count(reader, PLACE_BYTES);
	if (ret_look_up->n_places > SYMBOL_MAX_PLACES)
		return false;
	for (size_t i = 0; i < ret_look_up->n_places; i++) {
		ret_look_up->places[i].file_offset = wire_get_u64(reader);
		ret_look_up->places[i].is_call = wire_get_bool(reader);
	}
	return wire_is_read(reader) && used == n_fds;
}

/* --- facts ----------------------------------------------------------------------------------- */

void symbol_put_facts(struct strbuf *answer, const struct elf_facts *facts)
{
	size_t n = facts->loads.len < MAX_LOADS ? facts->loads.len : MAX_LOADS;

	put_stamp(answer, &facts->stamp);
	wire_put_u16(answer, facts->machine);
	wire_put_u8(answer, facts->class);
	wire_put_u8(answer, facts->has_dwarf);
	wire_put_u8(answer, facts->has_symtab);
	wire_put_string(answer, facts->link);
	wire_put_u32(answer, facts->link_crc);
	wire_put_string(answer, facts->alt);
	put_build_id(answer, &facts->alt_id);
	wire_put_u32(answer, (uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		const struct elf_load *load = &facts->loads.data[i];

		wire_put_u64(answer, load->vaddr);
		wire_put_u64(answer, load->file_offset);
		wire_put_u64(answer, load->file_bytes);
		wire_put_u64(answer, load->mem_bytes);
		wire_put_u8(answer, load->executable);
	}
}

static int copy_string(const char *text, char **ret_copy)
{
	*ret_copy = text ? strdup(text) : NULL;
	return text && !*ret_copy ? -ENOMEM : 0;
}

static int get_loads(struct wire_reader *reader, struct elf_facts *facts)
{
	uint32_t n = wire_get_count(reader, LOAD_BYTES);
	int r = n <= MAX_LOADS ? vec_reserve(&facts->loads, n) : -EBADMSG;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct elf_load *load = &facts->loads.data[facts->loads.len++];

		load->vaddr = wire_get_u64(reader);
		load->file_offset = wire_get_u64(reader);
		load->file_bytes = wire_get_u64(reader);
		load->mem_bytes = wire_get_u64(reader);
		load->executable = wire_get_bool(reader);
	}
	return r;
}

/* A file beside the image, of the image's own choice: no path. */
static bool is_sane_link(const char *link)
{
	return !link || (*link && !strchr(link, '/'));
}

int symbol_get_facts(struct wire_reader *reader, struct elf_facts *ret_facts)
{
	struct elf_facts facts = {};
	const char *link, *alt;
	int r;

	get_stamp(reader, &facts.stamp);
	facts.machine = wire_get_u16(reader);
	facts.class = wire_get_u8(reader);
	facts.has_dwarf = wire_get_bool(reader);
	facts.has_symtab = wire_get_bool(reader);
	link = wire_get_string(reader, NAME_MAX);
	facts.link_crc = wire_get_u32(reader);
	alt = wire_get_string(reader, PATH_MAX - 1);
	get_build_id(reader, &facts.alt_id);
	r = get_loads(reader, &facts);
	if (r == 0 && (!wire_is_read(reader) || !is_sane_link(link)))
		r = -EBADMSG;
	if (r == 0)
		r = copy_string(link, &facts.link);
	if (r == 0)
		r = copy_string(alt, &facts.alt);
	if (r < 0)
		elf_facts_done(&facts);
	else
		*ret_facts = facts;
	return r;
}

/* --- places ---------------------------------------------------------------------------------- */

void symbol_put_head(struct strbuf *answer, const struct symbol_head *head)
{
	wire_put_u64(answer, head->counts.open);
	wire_put_u64(answer, head->counts.open_bytes);
	wire_put_u64(answer, head->counts.reads);
	wire_put_u8(answer, head->is_stale);
	wire_put_u32(answer, head->n_places);
}

struct symbol_head symbol_get_head(struct wire_reader *reader, size_t n_asked)
{
	struct symbol_head head = {};

	head.counts.open = wire_get_u64(reader);
	head.counts.open_bytes = wire_get_u64(reader);
	head.counts.reads = wire_get_u64(reader);
	head.is_stale = wire_get_bool(reader);
	head.n_places = wire_get_u32(reader);
	/* An answer to nothing would have it asked for ever. */
	if (head.n_places > n_asked || (head.n_places == 0) != head.is_stale)
		reader->bad = true;
	return head;
}

static const char *bounded(const char *name)
{
	return name && strnlen(name, SYMBOL_MAX_NAME + 1) <= SYMBOL_MAX_NAME ? name : NULL;
}

static bool is_unmangled(const struct symbol_frame *frame)
{
	return frame->function && frame->linkage && strcmp(frame->function, frame->linkage) == 0;
}

void symbol_put_place(struct strbuf *answer, const struct symbol_frame *frames, size_t n_frames)
{
	wire_put_u8(answer, (uint8_t)n_frames);
	for (size_t i = 0; i < n_frames; i++) {
		const struct symbol_frame *frame = &frames[i];
		bool unmangled = is_unmangled(frame);

		wire_put_u8(answer, (uint8_t)((frame->is_inline ? FRAME_INLINE : 0) |
					      (unmangled ? FRAME_UNMANGLED : 0)));
		wire_put_u64(answer, frame->offset);
		wire_put_u32(answer, frame->line);
		wire_put_string(answer, bounded(frame->file));
		wire_put_string(answer, bounded(frame->function));
		if (!unmangled)
			wire_put_string(answer, bounded(frame->linkage));
	}
}

static void get_frame(struct wire_reader *reader, struct symbol_frame *frame)
{
	uint8_t flags = wire_get_u8(reader);

	frame->is_inline = flags & FRAME_INLINE;
	frame->offset = wire_get_u64(reader);
	frame->line = wire_get_u32(reader);
	frame->file = wire_get_string(reader, SYMBOL_MAX_NAME);
	frame->function = wire_get_string(reader, SYMBOL_MAX_NAME);
	if (flags & FRAME_UNMANGLED)
		frame->linkage = frame->function;
	else
		frame->linkage = wire_get_string(reader, SYMBOL_MAX_NAME);
	if (flags & ~FRAME_FLAGS)
		reader->bad = true;
}

size_t symbol_get_place(struct wire_reader *reader, struct symbol_frame frames[OBJECT_MAX_FRAMES])
{
	size_t n = wire_get_u8(reader);

	if (n == 0 || n > OBJECT_MAX_FRAMES)
		reader->bad = true;
	for (size_t i = 0; !reader->bad && i < n; i++) {
		get_frame(reader, &frames[i]);
		/* The physical function is last, and no other is. */
		if (frames[i].is_inline != (i + 1 < n))
			reader->bad = true;
	}
	return reader->bad ? 0 : n;
}
