/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/otlp/otlp_tables.h"

#include "base/hex.h"
#include "report/text/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* By OpenTelemetry's semantic conventions. */
#define BUILD_ID_KEY "process.executable.build_id.gnu"
#define FRAME_KEY "profile.frame.type"

struct attribute_key {
	int32_t key, value; /* both of strings */
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
	return (int32_t)profile_tables_string(&tables->rows, s);
}

int32_t otlp_tables_attribute(struct otlp_tables *tables, const char *key, const char *value)
{
	struct attribute_key row = { otlp_tables_string(tables, key),
				     otlp_tables_string(tables, value) };
	Otlp__KeyValueAndUnit attribute = OTLP__KEY_VALUE_AND_UNIT__INIT, *pointer = &attribute;
	Otlp__AnyValue any = OTLP__ANY_VALUE__INIT;
	Otlp__Dictionary part = OTLP__DICTIONARY__INIT;
	int32_t index;

	if (number(tables, &tables->attributes, &row, sizeof(row), &index) != 1)
		return index;
	any.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	any.string_value = (char *)interns_get(&tables->rows.strings, (size_t)row.value);
	attribute.key_strindex = row.key;
	attribute.value = &any;
	part.n_attribute_table = 1;
	part.attribute_table = &pointer;
	put(tables, &part);
	return index;
}

static void put_string(void *userdata, const char *string)
{
	Otlp__Dictionary part = OTLP__DICTIONARY__INIT;
	char *text = (char *)string;

	part.n_string_table = 1;
	part.string_table = &text;
	put(userdata, &part);
}

/* Rows count from 1 here, too: each table begins with one of zeros. */
static void put_function(void *userdata, uint64_t number, const struct profile_function *from)
{
	Otlp__Function function = OTLP__FUNCTION__INIT, *pointer = &function;
	Otlp__Dictionary part = OTLP__DICTIONARY__INIT;

	(void)number; /* its place says it */
	function.name_strindex = (int32_t)from->name;
	function.system_name_strindex = (int32_t)from->linkage;
	function.filename_strindex = (int32_t)from->file;
	part.n_function_table = 1;
	part.function_table = &pointer;
	put(userdata, &part);
}

static void put_mapping(void *userdata, const struct profile_mapping *from)
{
	Otlp__Mapping mapping = OTLP__MAPPING__INIT, *pointer = &mapping;
	char build_id[2 * RECORD_BUILD_ID_MAX + 1];
	Otlp__Dictionary part = OTLP__DICTIONARY__INIT;
	struct otlp_tables *tables = userdata;
	int32_t attribute;

	hex_text(build_id, from->object->build_id, from->object->build_id_len);
	mapping.memory_start = from->start;
	mapping.memory_limit = from->end;
	mapping.file_offset = from->file_offset;
	mapping.filename_strindex = otlp_tables_string(tables, from->object->path);
	if (*build_id) {
		attribute = otlp_tables_attribute(tables, BUILD_ID_KEY, build_id);
		mapping.n_attribute_indices = 1;
		mapping.attribute_indices = &attribute;
	}
	part.n_mapping_table = 1;
	part.mapping_table = &pointer;
	put(tables, &part);
}

static int put_location(void *userdata, uint64_t number, const struct profile_location *from)
{
	Otlp__Location location = OTLP__LOCATION__INIT, *pointer = &location;
	Otlp__Dictionary part = OTLP__DICTIONARY__INIT;
	struct otlp_tables *tables = userdata;
	int32_t type =
		otlp_tables_attribute(tables, FRAME_KEY, from->is_kernel ? "kernel" : "native");
	int r = vec_reserve(&tables->lines, from->n_lines);

	(void)number; /* as above */
	if (r == 0)
		r = vec_reserve(&tables->line_pointers, from->n_lines);
	if (r < 0)
		return r;
	for (size_t i = 0; i < from->n_lines; i++) {
		otlp__line__init(&tables->lines.data[i]);
		tables->lines.data[i].function_index = (int32_t)from->lines[i].function;
		tables->lines.data[i].line = from->lines[i].line;
		tables->line_pointers.data[i] = &tables->lines.data[i];
	}
	location.mapping_index = (int32_t)from->mapping;
	location.address = from->addr;
	location.n_lines = from->n_lines;
	location.lines = tables->line_pointers.data;
	location.n_attribute_indices = 1;
	location.attribute_indices = &type;
	part.n_location_table = 1;
	part.location_table = &pointer;
	put(tables, &part);
	return 0;
}

void otlp_tables_begin(struct otlp_tables *tables)
{
	static const struct profile_rows rows = {
		.put_string = put_string,
		.put_function = put_function,
		.put_mapping = put_mapping,
		.put_location = put_location,
	};

	*tables = (struct otlp_tables){ .rows = { .rows = &rows, .userdata = tables } };
	put_zeros(tables);
	(void)otlp_tables_string(tables, ""); /* is always the first */
}

void otlp_tables_done(struct otlp_tables *tables)
{
	strbuf_done(&tables->dictionary);
	profile_tables_done(&tables->rows);
	interns_done(&tables->attributes);
	interns_done(&tables->stacks);
	vec_done(&tables->places);
	vec_done(&tables->lines);
	vec_done(&tables->line_pointers);
}

int32_t otlp_tables_stack(struct otlp_tables *tables, const struct view_stack *stack)
{
	Otlp__Stack row = OTLP__STACK__INIT, *pointer = &row;
	Otlp__Dictionary part = OTLP__DICTIONARY__INIT;
	uint64_t *places;
	int32_t index;
	size_t n;
	int r = profile_tables_stack(&tables->rows, stack, NULL, &places, &n);

	tables->places.len = 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = vec_push(&tables->places, (int32_t)places[i]);
	if (r < 0)
		tables->error = r;
	/* Of which nothing is known: none. */
	if (r < 0 || tables->places.len == 0)
		return 0;
	row.n_location_indices = tables->places.len;
	row.location_indices = tables->places.data;
	if (number(tables, &tables->stacks, row.location_indices,
		   row.n_location_indices * sizeof(int32_t), &index) != 1)
		return index;
	part.n_stack_table = 1;
	part.stack_table = &pointer;
	put(tables, &part);
	return index;
}

int otlp_tables_end(const struct otlp_tables *tables, const struct strbuf **ret_dictionary)
{
	int r = tables->rows.error;

	*ret_dictionary = &tables->dictionary;
	r = r ? r : tables->error;
	return r ? r : strbuf_error(&tables->dictionary);
}
