/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/otlp/otlp_tables.h"

#include "base/interns.h"
#include "model/mappings.h"
#include "report/text/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* By OpenTelemetry's semantic conventions. */
#define BUILD_ID_KEY "process.executable.build_id.gnu"
#define FRAME_KEY "profile.frame.type"

/* Keys of what is written once; padding is named and 0. */
struct function_key {
	int32_t name, linkage, file;
};

struct attribute_key {
	int32_t key, value; /* both of strings */
};

struct mapping_key {
	uint64_t start, end, file_offset;
	const struct model_object *object;
};

struct location_key {
	uint64_t addr, mapping;
	const struct symbol *symbol;
	const char *alloc, *mark;
};

struct otlp_tables {
	struct strbuf dictionary;
	int error; /* sticks */
	struct interns *strings, *functions, *attributes, *mappings, *locations, *stacks;
	struct sample_frames frames; /* of the stack at hand */
	VEC(int32_t) places;	     /* of the stack at hand */
	VEC(Otlp__Line) lines;	     /* of the location at hand */
	VEC(Otlp__Line *) line_pointers;
};

struct packer {
	ProtobufCBuffer buffer; /* first: protobuf-c hands it to append */
	struct strbuf *out;
};

static void append(ProtobufCBuffer *buffer, size_t len, const uint8_t *data)
{
	struct packer *packer = (struct packer *)buffer;

	strbuf_add(packer->out, data, len);
}

void otlp_pack(const ProtobufCMessage *message, struct strbuf *out)
{
	struct packer packer = { .buffer = { append }, .out = out };

	protobuf_c_message_pack_to_buffer(message, &packer.buffer);
}

/* Parts that follow each other are one message: what is repeated is appended. */
static void put(struct otlp_tables *tables, const Otlp__Dictionary *part)
{
	otlp_pack(&part->base, &tables->dictionary);
}

/* Of each table the one that says "none"; strings have "" when they are asked for it. */
static void put_zeros(struct otlp_tables *tables)
{
	Otlp__KeyValueAndUnit attribute = OTLP__KEY_VALUE_AND_UNIT__INIT, *attributes = &attribute;
	Otlp__Location location = OTLP__LOCATION__INIT, *locations = &location;
	Otlp__Function function = OTLP__FUNCTION__INIT, *functions = &function;
	Otlp__Mapping mapping = OTLP__MAPPING__INIT, *mappings = &mapping;
	Otlp__Stack stack = OTLP__STACK__INIT, *stacks = &stack;
	Otlp__Link link = OTLP__LINK__INIT, *links = &link;
	Otlp__Dictionary part = OTLP__DICTIONARY__INIT;

	part.n_attribute_table = part.n_location_table = part.n_function_table = 1;
	part.n_mapping_table = part.n_stack_table = part.n_link_table = 1;
	part.attribute_table = &attributes;
	part.location_table = &locations;
	part.function_table = &functions;
	part.mapping_table = &mappings;
	part.stack_table = &stacks;
	part.link_table = &links;
	put(tables, &part);
}

int otlp_tables_new(struct otlp_tables **ret_tables)
{
	_cleanup_(otlp_tables_free_p) struct otlp_tables *tables = calloc(1, sizeof(*tables));
	int r;

	if (!tables)
		return -ENOMEM;
	r = interns_new(&tables->strings);
	if (r == 0)
		r = interns_new(&tables->functions);
	if (r == 0)
		r = interns_new(&tables->attributes);
	if (r == 0)
		r = interns_new(&tables->mappings);
	if (r == 0)
		r = interns_new(&tables->locations);
	if (r == 0)
		r = interns_new(&tables->stacks);
	if (r < 0)
		return r;
	put_zeros(tables);
	(void)otlp_tables_string(tables, ""); /* is always the first */
	*ret_tables = TAKE_PTR(tables);
	return 0;
}

void otlp_tables_free(struct otlp_tables *tables)
{
	if (!tables)
		return;
	strbuf_done(&tables->dictionary);
	interns_free(tables->strings);
	interns_free(tables->functions);
	interns_free(tables->attributes);
	interns_free(tables->mappings);
	interns_free(tables->locations);
	interns_free(tables->stacks);
	sample_frames_done(&tables->frames);
	vec_done(&tables->places);
	vec_done(&tables->lines);
	vec_done(&tables->line_pointers);
	free(tables);
}

/* 1: it is new, and the caller puts it; *ret_number counts from 1. */
static int number(struct otlp_tables *tables, struct interns *interns, const void *key, size_t len,
		  int32_t *ret_number)
{
	size_t index = 0;
	int r = interns_add(interns, key, len, &index);

	*ret_number = (int32_t)index + 1;
	if (r < 0)
		tables->error = r;
	return r;
}

int32_t otlp_tables_string(struct otlp_tables *tables, const char *s)
{
	Otlp__Dictionary part = OTLP__DICTIONARY__INIT;
	_cleanup_strbuf_ struct strbuf text = {};
	char *string;
	size_t index = 0;
	int r;

	escape_text(&text, s);
	string = (char *)strbuf_str(&text);
	r = strbuf_error(&text) ? -ENOMEM : interns_add_string(tables->strings, string, &index);
	if (r < 0)
		tables->error = r;
	if (r == 1) {
		part.n_string_table = 1;
		part.string_table = &string;
		put(tables, &part);
	}
	return (int32_t)index;
}

int32_t otlp_tables_attribute(struct otlp_tables *tables, const char *key, const char *value)
{
	struct attribute_key row = { otlp_tables_string(tables, key),
				     otlp_tables_string(tables, value) };
	Otlp__KeyValueAndUnit attribute = OTLP__KEY_VALUE_AND_UNIT__INIT, *pointer = &attribute;
	Otlp__AnyValue any = OTLP__ANY_VALUE__INIT;
	Otlp__Dictionary part = OTLP__DICTIONARY__INIT;
	int32_t index;

	if (number(tables, tables->attributes, &row, sizeof(row), &index) != 1)
		return index;
	any.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	any.string_value = (char *)interns_get(tables->strings, (size_t)row.value);
	attribute.key_strindex = row.key;
	attribute.value = &any;
	part.n_attribute_table = 1;
	part.attribute_table = &pointer;
	put(tables, &part);
	return index;
}

/* --- stacks ---------------------------------------------------------------------------------- */

static int32_t function_number(struct otlp_tables *tables, const char *name,
			       const struct view_frame *frame)
{
	struct function_key key = { .name = otlp_tables_string(tables, name) };
	Otlp__Function function = OTLP__FUNCTION__INIT, *pointer = &function;
	Otlp__Dictionary part = OTLP__DICTIONARY__INIT;
	int32_t index;

	if (frame && frame->linkage)
		key.linkage = otlp_tables_string(tables, frame->linkage);
	if (frame && frame->file)
		key.file = otlp_tables_string(tables, frame->file);
	if (number(tables, tables->functions, &key, sizeof(key), &index) != 1)
		return index;
	function.name_strindex = key.name;
	function.system_name_strindex = key.linkage;
	function.filename_strindex = key.file;
	part.n_function_table = 1;
	part.function_table = &pointer;
	put(tables, &part);
	return index;
}

static int32_t mapping_number(struct otlp_tables *tables, const struct mapping *m)
{
	const struct mapping_key key = { m->start, m->end, m->file_offset, m->object };
	Otlp__Mapping mapping = OTLP__MAPPING__INIT, *pointer = &mapping;
	char build_id[2 * RECORD_BUILD_ID_MAX + 1] = "";
	Otlp__Dictionary part = OTLP__DICTIONARY__INIT;
	int32_t index, attribute;

	if (number(tables, tables->mappings, &key, sizeof(key), &index) != 1)
		return index;
	for (size_t i = 0; i < m->object->build_id_len; i++)
		(void)snprintf(build_id + 2 * i, 3, "%02x", m->object->build_id[i]); /* fits */
	mapping.memory_start = m->start;
	mapping.memory_limit = m->end;
	mapping.file_offset = m->file_offset;
	mapping.filename_strindex = otlp_tables_string(tables, m->object->path);
	if (*build_id) {
		attribute = otlp_tables_attribute(tables, BUILD_ID_KEY, build_id);
		mapping.n_attribute_indices = 1;
		mapping.attribute_indices = &attribute;
	}
	part.n_mapping_table = 1;
	part.mapping_table = &pointer;
	put(tables, &part);
	return index;
}

static int add_line(struct otlp_tables *tables, const struct sample_frame *frame)
{
	const struct view_frame *place = frame->mark ? NULL : &frame->frame;
	_cleanup_strbuf_ struct strbuf name = {};
	Otlp__Line line = OTLP__LINE__INIT;

	sample_frame_name(frame, &name);
	if (strbuf_error(&name) < 0)
		return strbuf_error(&name);
	line.function_index = function_number(tables, strbuf_str(&name), place);
	line.line = place ? place->line : 0;
	return vec_push(&tables->lines, line);
}

static int put_location(struct otlp_tables *tables, Otlp__Location *location,
			const struct sample_frame *frames, size_t n)
{
	int32_t type =
		otlp_tables_attribute(tables, FRAME_KEY, frames->is_kernel ? "kernel" : "native");
	Otlp__Dictionary part = OTLP__DICTIONARY__INIT;
	int r = vec_reserve(&tables->line_pointers, n);

	tables->lines.len = 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_line(tables, &frames[i]);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		tables->line_pointers.data[i] = &tables->lines.data[i];
	location->n_lines = n;
	location->lines = tables->line_pointers.data;
	location->n_attribute_indices = 1;
	location->attribute_indices = &type;
	part.n_location_table = 1;
	part.location_table = &location;
	put(tables, &part);
	return 0;
}

/* `frames` are the n lines of a place, or a mark. */
static int add_place(struct otlp_tables *tables, const struct sample_frame *frames, size_t n)
{
	const struct view_place *place = frames->mark ? NULL : frames->frame.place;
	struct location_key key = { .mark = frames->mark };
	Otlp__Location location = OTLP__LOCATION__INIT;
	int32_t index;
	int r;

	if (place) {
		key.symbol = place->symbol;
		key.alloc = place->alloc;
		/* Of a call its last byte, as in pprof's format. */
		key.addr = place->has_addr ? place->addr - place->is_call : 0;
		if (place->mapping)
			key.mapping = (uint64_t)mapping_number(tables, place->mapping);
	}
	r = number(tables, tables->locations, &key, sizeof(key), &index);
	location.mapping_index = (int32_t)key.mapping;
	location.address = key.addr;
	if (r == 1)
		r = put_location(tables, &location, frames, n);
	return r < 0 ? r : vec_push(&tables->places, index);
}

static int add_places(struct otlp_tables *tables, const struct view_stack *stack)
{
	int r = sample_frames_fill(&tables->frames, stack);
	size_t n;

	tables->places.len = 0;
	for (size_t i = 0; r == 0 && i < tables->frames.list.len; i += n) {
		n = sample_frames_of_place(&tables->frames, i);
		r = add_place(tables, &tables->frames.list.data[i], n);
	}
	return r;
}

int32_t otlp_tables_stack(struct otlp_tables *tables, const struct view_stack *stack)
{
	Otlp__Stack row = OTLP__STACK__INIT, *pointer = &row;
	Otlp__Dictionary part = OTLP__DICTIONARY__INIT;
	int r = add_places(tables, stack);
	int32_t index;

	if (r < 0)
		tables->error = r;
	/* Of which nothing is known: none. */
	if (r < 0 || tables->places.len == 0)
		return 0;
	row.n_location_indices = tables->places.len;
	row.location_indices = tables->places.data;
	if (number(tables, tables->stacks, row.location_indices,
		   row.n_location_indices * sizeof(int32_t), &index) != 1)
		return index;
	part.n_stack_table = 1;
	part.stack_table = &pointer;
	put(tables, &part);
	return index;
}

int otlp_tables_end(const struct otlp_tables *tables, const struct strbuf **ret_dictionary)
{
	*ret_dictionary = &tables->dictionary;
	return tables->error ? tables->error : strbuf_error(&tables->dictionary);
}
