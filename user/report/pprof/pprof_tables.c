/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/pprof/pprof_tables.h"

#include "base/interns.h"
#include "model/mappings.h"
#include "report/packed_out.h"
#include "report/text/text.h"

#include <errno.h>
#include <string.h>

/* What tells mappings apart: processes share those that a fork has handed on. */
struct mapping_key {
	uint64_t start, end, file_offset;
	const struct model_object *object;
};

struct function_key {
	int64_t name, linkage, file;
};

/*
 * The symbol tells what code was at the address, where a run-time replaces code; it is one pointer
 * for one result.
 */
struct location_key {
	uint64_t addr, mapping;
	const struct symbol *symbol;
	const char *alloc, *mark;
};

/* What pprof is told of a mapping's symbols. */
struct known {
	bool functions, files, lines, inlines;
};

struct pprof_tables {
	struct gzip_out *out;
	int error; /* sticks */
	struct interns *strings, *functions, *mappings, *locations;
	VEC(struct known) known; /* of the mappings */
	VEC(Pprof__Line) lines;	 /* of the location at hand */
	VEC(Pprof__Line *) line_pointers;
};

int pprof_tables_new(struct gzip_out *out, struct pprof_tables **ret_tables)
{
	_cleanup_(pprof_tables_free_p) struct pprof_tables *tables = calloc(1, sizeof(*tables));
	int r;

	if (!tables)
		return -ENOMEM;
	tables->out = out;
	r = interns_new(&tables->strings);
	if (r == 0)
		r = interns_new(&tables->functions);
	if (r == 0)
		r = interns_new(&tables->mappings);
	if (r == 0)
		r = interns_new(&tables->locations);
	if (r < 0)
		return r;
	(void)pprof_tables_string(tables, ""); /* is always the first */
	*ret_tables = TAKE_PTR(tables);
	return 0;
}

void pprof_tables_free(struct pprof_tables *tables)
{
	if (!tables)
		return;
	interns_free(tables->strings);
	interns_free(tables->functions);
	interns_free(tables->mappings);
	interns_free(tables->locations);
	vec_done(&tables->known);
	vec_done(&tables->lines);
	vec_done(&tables->line_pointers);
	free(tables);
}

struct packer {
	ProtobufCBuffer buffer; /* first: protobuf-c hands it to append */
	struct gzip_out *out;
};

static void append(ProtobufCBuffer *buffer, size_t len, const uint8_t *data)
{
	struct packer *packer = (struct packer *)buffer;

	gzip_out_add(packer->out, data, len);
}

void pprof_tables_put(struct pprof_tables *tables, const Pprof__Profile *part)
{
	struct packer packer = { .buffer = { append }, .out = tables->out };

	pprof__profile__pack_to_buffer(part, &packer.buffer);
}

/* The result of interns_add: 1 when it was new. */
static int keep(struct pprof_tables *tables, int r)
{
	if (r < 0)
		tables->error = r;
	return r;
}

int64_t pprof_tables_string(struct pprof_tables *tables, const char *s)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	Pprof__Profile part = PPROF__PROFILE__INIT;
	char *string;
	size_t index = 0;

	escape_text(&text, s);
	string = (char *)strbuf_str(&text);
	if (keep(tables, strbuf_error(&text)) < 0 ||
	    keep(tables, interns_add_string(tables->strings, string, &index)) != 1)
		return (int64_t)index;
	part.n_string_table = 1;
	part.string_table = &string;
	pprof_tables_put(tables, &part);
	return (int64_t)index;
}

/* 0 or -ENOMEM; the first has 1. */
static int add_mapping(struct pprof_tables *tables, const struct mapping *m, uint64_t *ret_id)
{
	const struct mapping_key key = { m->start, m->end, m->file_offset, m->object };
	size_t index;
	int r = interns_add(tables->mappings, &key, sizeof(key), &index);

	if (r == 1)
		r = vec_push(&tables->known, (struct known){ 0 });
	if (r == 0)
		*ret_id = index + 1;
	return r;
}

int pprof_tables_main(struct pprof_tables *tables, const struct mapping *mapping)
{
	uint64_t id;

	return mapping ? add_mapping(tables, mapping, &id) : 0;
}

static uint64_t function_id(struct pprof_tables *tables, const char *name,
			    const struct view_frame *frame)
{
	const char *linkage = frame ? frame->linkage : NULL;
	const char *file = frame ? frame->file : NULL;
	struct function_key key = {
		.name = pprof_tables_string(tables, name),
		.linkage = pprof_tables_string(tables, linkage ? linkage : ""),
		.file = pprof_tables_string(tables, file ? file : ""),
	};
	Pprof__Function function = PPROF__FUNCTION__INIT, *pointer = &function;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	size_t index = 0;

	if (keep(tables, interns_add(tables->functions, &key, sizeof(key), &index)) == 1) {
		function.id = index + 1;
		function.name = key.name;
		/* Were both the same, pprof would strip what looks like parameters of C++. */
		function.system_name = key.linkage == key.name ? 0 : key.linkage;
		function.filename = key.file;
		part.n_function = 1;
		part.function = &pointer;
		pprof_tables_put(tables, &part);
	}
	return index + 1;
}

static int add_line(struct pprof_tables *tables, const struct sample_frame *frame,
		    struct known *known)
{
	const struct view_frame *place = frame->mark ? NULL : &frame->frame;
	_cleanup_strbuf_ struct strbuf name = { 0 };
	Pprof__Line line = PPROF__LINE__INIT;

	sample_frame_name(frame, &name);
	if (strbuf_error(&name) < 0)
		return strbuf_error(&name);
	line.function_id = function_id(tables, strbuf_str(&name), place);
	line.line = place ? place->line : 0;
	if (known && place) {
		known->functions |= place->function != NULL;
		known->files |= place->file != NULL;
		known->lines |= place->line > 0;
		known->inlines |= place->is_inline;
	}
	return vec_push(&tables->lines, line);
}

static int put_location(struct pprof_tables *tables, Pprof__Location *location,
			const struct sample_frame *frames, size_t n)
{
	struct known *known =
		location->mapping_id > 0 ? &tables->known.data[location->mapping_id - 1] : NULL;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	int r = vec_reserve(&tables->line_pointers, n);

	tables->lines.len = 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_line(tables, &frames[i], known);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		tables->line_pointers.data[i] = &tables->lines.data[i];
	location->n_line = n;
	location->line = tables->line_pointers.data;
	part.n_location = 1;
	part.location = &location;
	pprof_tables_put(tables, &part);
	return 0;
}

int pprof_tables_location(struct pprof_tables *tables, const struct sample_frame *frames, size_t n,
			  uint64_t *ret_id)
{
	const struct view_place *place = frames->mark ? NULL : frames->frame.place;
	struct location_key key = { .mark = frames->mark };
	Pprof__Location location = PPROF__LOCATION__INIT;
	size_t index;
	int r = 0;

	if (place) {
		key.symbol = place->symbol;
		key.alloc = place->alloc;
		/* Of a call its last byte: pprof looks up the address as it is. */
		key.addr = place->has_addr ? place->addr - place->is_call : 0;
	}
	if (place && place->mapping)
		r = add_mapping(tables, place->mapping, &key.mapping);
	if (r == 0)
		r = interns_add(tables->locations, &key, sizeof(key), &index);
	if (r < 0)
		return r;
	*ret_id = index + 1;
	if (r == 0)
		return 0;
	location.id = index + 1;
	location.mapping_id = key.mapping;
	location.address = key.addr;
	return put_location(tables, &location, frames, n);
}

static void put_mapping(struct pprof_tables *tables, size_t index)
{
	const struct mapping_key *key = interns_get(tables->mappings, index);
	const struct model_object *object = key->object;
	const struct known *known = &tables->known.data[index];
	Pprof__Mapping mapping = PPROF__MAPPING__INIT, *pointer = &mapping;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	char build_id[2 * RECORD_BUILD_ID_MAX + 1] = "";

	for (size_t i = 0; i < object->build_id_len; i++)
		snprintf(build_id + 2 * i, 3, "%02x", object->build_id[i]);
	mapping.id = index + 1;
	mapping.memory_start = key->start;
	mapping.memory_limit = key->end;
	mapping.file_offset = key->file_offset;
	mapping.filename = pprof_tables_string(tables, object->path);
	mapping.build_id = pprof_tables_string(tables, build_id);
	mapping.has_functions = known->functions;
	mapping.has_filenames = known->files;
	mapping.has_line_numbers = known->lines;
	mapping.has_inline_frames = known->inlines;
	part.n_mapping = 1;
	part.mapping = &pointer;
	pprof_tables_put(tables, &part);
}

int pprof_tables_end(struct pprof_tables *tables)
{
	for (size_t i = 0; i < tables->known.len; i++)
		put_mapping(tables, i);
	return tables->error;
}
