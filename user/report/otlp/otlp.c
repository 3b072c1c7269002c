/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/otlp/otlp.h"

#include "base/hex.h"
#include "otlp.pb-c.h"
#include "report/packed_out.h"
#include "report/profile_tables.h"
#include "report/text/text.h"
#include "version.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

/* --- the dictionary --------------------------------------------------------------------------- */

/*
 * What samples refer to (profile_tables.h), stacks and attributes, each numbered when it is first
 * named and packed at once.
 */

/* By OpenTelemetry's semantic conventions. */
#define BUILD_ID_KEY "process.executable.build_id.gnu"
#define FRAME_KEY "profile.frame.type"

struct attribute_key {
	int32_t key, value; /* both of strings */
};

struct otlp_tables {
	struct strbuf dictionary;
	int error; /* sticks */
	struct profile_tables rows;
	struct interns attributes, stacks;
	VEC(int32_t) places;   /* of the stack at hand */
	VEC(Otlp__Line) lines; /* of the location at hand */
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

/* Appends a message's bytes; a failure sticks to the output. */
static void otlp_pack(const ProtobufCMessage *message, struct strbuf *out)
{
	struct packer packer = { .buffer = { append }, .out = out };

	protobuf_c_message_pack_to_buffer(message, &packer.buffer);
}

/* Parts that follow each other are one message: what is repeated is appended. */
static void put_part(struct otlp_tables *tables, const Otlp__Dictionary *part)
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
	put_part(tables, &part);
}

/* 1: it is new, and the caller puts it; *ret_number counts from 1. */
static int intern_number(struct otlp_tables *tables, struct interns *interns, const void *key,
			 size_t len, int32_t *ret_number)
{
	size_t index = 0;
	int r = interns_add(interns, key, len, &index);

	*ret_number = (int32_t)index + 1;
	if (r < 0)
		tables->error = r;
	return r;
}

/* Numbers; an error sticks: otlp_tables_end gives it. Strings are made safe for terminals. */
static int32_t otlp_tables_string(struct otlp_tables *tables, const char *s)
{
	return (int32_t)profile_tables_string(&tables->rows, s);
}

static int32_t otlp_tables_attribute(struct otlp_tables *tables, const char *key, const char *value)
{
	struct attribute_key row = { otlp_tables_string(tables, key),
				     otlp_tables_string(tables, value) };
	Otlp__KeyValueAndUnit attribute = OTLP__KEY_VALUE_AND_UNIT__INIT, *pointer = &attribute;
	Otlp__AnyValue any = OTLP__ANY_VALUE__INIT;
	Otlp__Dictionary part = OTLP__DICTIONARY__INIT;
	int32_t index;

	if (intern_number(tables, &tables->attributes, &row, sizeof(row), &index) != 1)
		return index;
	any.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	any.string_value = (char *)interns_get(&tables->rows.strings, (size_t)row.value);
	attribute.key_strindex = row.key;
	attribute.value = &any;
	part.n_attribute_table = 1;
	part.attribute_table = &pointer;
	put_part(tables, &part);
	return index;
}

static void put_string(void *userdata, const char *string)
{
	Otlp__Dictionary part = OTLP__DICTIONARY__INIT;
	char *text = (char *)string;

	part.n_string_table = 1;
	part.string_table = &text;
	put_part(userdata, &part);
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
	put_part(userdata, &part);
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
	put_part(tables, &part);
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
	put_part(tables, &part);
	return 0;
}

/* Tables that were begun stay where they are, and have to be released. */
static void otlp_tables_begin(struct otlp_tables *tables)
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

static void otlp_tables_done(struct otlp_tables *tables)
{
	strbuf_done(&tables->dictionary);
	profile_tables_done(&tables->rows);
	interns_done(&tables->attributes);
	interns_done(&tables->stacks);
	vec_done(&tables->places);
	vec_done(&tables->lines);
	vec_done(&tables->line_pointers);
}

static int32_t otlp_tables_stack(struct otlp_tables *tables, const struct view_stack *stack)
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
	if (intern_number(tables, &tables->stacks, row.location_indices,
			  row.n_location_indices * sizeof(int32_t), &index) != 1)
		return index;
	part.n_stack_table = 1;
	part.stack_table = &pointer;
	put_part(tables, &part);
	return index;
}

/* The packed Dictionary, the tables'. 0 or -ENOMEM. */
static int otlp_tables_end(const struct otlp_tables *tables, const struct strbuf **ret_dictionary)
{
	int r = tables->rows.error;

	*ret_dictionary = &tables->dictionary;
	r = r ? r : tables->error;
	return r ? r : strbuf_error(&tables->dictionary);
}

/* --- profiles --------------------------------------------------------------------------------- */

#define ID_LEN 16
#define EXACT_KEY "memtraced.exact"

struct request {
	const struct view *view;
	const struct profile_part *part;
	struct otlp_tables tables;
	struct strbuf profiles[PROFILE_PART_TYPES]; /* packed Profiles */
	size_t n_samples[PROFILE_PART_TYPES];
};

static Otlp__ValueType value_type(struct otlp_tables *tables, const char *type, const char *unit)
{
	Otlp__ValueType value = OTLP__VALUE_TYPE__INIT;

	value.type_strindex = otlp_tables_string(tables, type);
	value.unit_strindex = otlp_tables_string(tables, unit);
	return value;
}

/* What was lost, since a profile has no comments there. */
static int32_t exact_attribute(struct request *request)
{
	const struct record_coverage *coverage = view_coverage(request->view);
	_cleanup_strbuf_ struct strbuf text = {};

	strbuf_adds(&text, view_is_exact(request->view) ? "yes" : "no");
	for (size_t i = 0; coverage && i < coverage->n_losses; i++)
		if (coverage->losses[i].count > 0)
			strbuf_addf(&text, ", lost: %s %" PRIu64, coverage->losses[i].cause,
				    coverage->losses[i].count);
	return otlp_tables_attribute(&request->tables, EXACT_KEY, strbuf_str(&text));
}

static void put_head(struct request *request, size_t type)
{
	const struct profile_part_type *names = profile_part_types(request->part->kind);
	const struct profile_part_type *name = &names[type];
	struct profile_part_time time = profile_part_time(request->view, request->part);
	Otlp__ValueType value = value_type(&request->tables, name->type, name->unit), period;
	int32_t exact = exact_attribute(request);
	Otlp__Profile head = OTLP__PROFILE__INIT;
	const struct view_event *event = NULL;
	uint8_t id[ID_LEN];

	(void)view_job(request->view, &event); /* NULL: allocations */
	period = event ? value_type(&request->tables, names[1].type, names[1].unit) :
			 value_type(&request->tables, "space", "bytes");
	head.sample_type = &value;
	head.time_unix_nano = time.start_ns;
	head.duration_nano = time.length_ns;
	head.period_type = &period;
	head.period = (int64_t)profile_part_period(request->view, request->part);
	head.n_attribute_indices = 1;
	head.attribute_indices = &exact;
	/* Without a number it has none: it is optional. */
	if (getrandom(id, sizeof(id), GRND_NONBLOCK) == sizeof(id))
		head.profile_id = (ProtobufCBinaryData){ sizeof(id), id };
	otlp_pack(&head.base, &request->profiles[type]);
}

static int put_sample(const struct sample *from, void *userdata)
{
	Otlp__Sample sample = OTLP__SAMPLE__INIT, *pointer = &sample;
	Otlp__Profile part = OTLP__PROFILE__INIT;
	struct request *request = userdata;
	int64_t values[PROFILE_PART_TYPES];
	int32_t class;

	if (!profile_part_values(request->view, request->part, from, values))
		return 0;
	sample.stack_index = otlp_tables_stack(&request->tables, from->stack);
	if (from->site && from->site->class == VIEW_MMAP) {
		class = otlp_tables_attribute(&request->tables, "class", "mmap");
		sample.n_attribute_indices = 1;
		sample.attribute_indices = &class;
	}
	sample.n_values = 1;
	part.n_samples = 1;
	part.samples = &pointer;
	for (size_t i = 0; i < profile_part_n_types(request->part->kind); i++) {
		if (!profile_part_has(from, i))
			continue;
		request->n_samples[i]++;
		sample.values = &values[i];
		otlp_pack(&part.base, &request->profiles[i]);
	}
	return 0;
}

static ProtobufCBinaryData as_bytes(const struct strbuf *text)
{
	return (ProtobufCBinaryData){ text->len, (uint8_t *)text->data };
}

/* --- around them ------------------------------------------------------------------------------ */

static void pack_scope(const struct request *request, struct strbuf *out)
{
	ProtobufCBinaryData profiles[PROFILE_PART_TYPES];
	Otlp__ScopeProfiles around = OTLP__SCOPE_PROFILES__INIT;
	Otlp__Scope scope = OTLP__SCOPE__INIT;

	for (size_t i = 0; i < PROFILE_PART_TYPES; i++)
		if (request->n_samples[i] > 0)
			profiles[around.n_profiles++] = as_bytes(&request->profiles[i]);
	scope.name = "memtraced";
	scope.version = MEMTRACED_VERSION;
	around.scope = &scope;
	around.profiles = profiles;
	otlp_pack(&around.base, out);
}

static void pack_attribute(const struct otlp_attribute *attribute, struct strbuf *out)
{
	Otlp__KeyValue row = OTLP__KEY_VALUE__INIT, *pointer = &row;
	Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;
	Otlp__Resource part = OTLP__RESOURCE__INIT;

	if (attribute->is_number) {
		value.value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
		value.int_value = strtoll(attribute->value, NULL, 10);
	} else {
		value.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
		value.string_value = (char *)attribute->value;
	}
	row.key = (char *)attribute->key;
	row.value = &value;
	part.n_attributes = 1;
	part.attributes = &pointer;
	otlp_pack(&part.base, out);
}

/* The resource, packed before, is there as bytes are. */
static void pack_resource(const struct strbuf *resource, const struct strbuf *scope,
			  struct strbuf *out)
{
	Otlp__ResourceProfiles around = OTLP__RESOURCE_PROFILES__INIT;

	around.resource = as_bytes(resource);
	around.scope_profiles = as_bytes(scope);
	otlp_pack(&around.base, out);
}

static int pack_request(const struct request *request, const struct otlp_attribute *attributes,
			size_t n_attributes, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf scope = {}, resource = {}, profiles = {};
	Otlp__Request around = OTLP__REQUEST__INIT;
	const struct strbuf *dictionary;
	int r = otlp_tables_end(&request->tables, &dictionary);

	for (size_t i = 0; i < PROFILE_PART_TYPES; i++)
		if (strbuf_error(&request->profiles[i]))
			r = -ENOMEM;
	for (size_t i = 0; i < n_attributes; i++)
		pack_attribute(&attributes[i], &resource);
	pack_scope(request, &scope);
	pack_resource(&resource, &scope, &profiles);
	if (r < 0 || strbuf_error(&scope) || strbuf_error(&resource) || strbuf_error(&profiles))
		return -ENOMEM;
	around.resource_profiles = as_bytes(&profiles);
	around.dictionary = as_bytes(dictionary);
	otlp_pack(&around.base, out);
	return strbuf_error(out);
}

static int write_gzipped(const struct strbuf *text, FILE *file)
{
	_cleanup_(gzip_out_free_p) struct gzip_out *out = NULL;
	int r = gzip_out_new(file, &out);

	if (r < 0)
		return r;
	gzip_out_add(out, text->data, text->len);
	gzip_out_end(out);
	return ferror(file) ? -EIO : 1;
}

int otlp_write_part(const struct view *view, const struct profile_part *part,
		    const struct otlp_attribute *attributes, size_t n_attributes, FILE *file)
{
	struct request request = { .view = view, .part = part };
	_cleanup_strbuf_ struct strbuf text = {};
	bool any = false;
	int r;

	otlp_tables_begin(&request.tables);
	for (size_t i = 0; i < profile_part_n_types(part->kind); i++)
		put_head(&request, i);
	r = profile_part_each(view, part, put_sample, &request);
	for (size_t i = 0; i < PROFILE_PART_TYPES; i++)
		any |= request.n_samples[i] > 0;
	if (r == 0 && any)
		r = pack_request(&request, attributes, n_attributes, &text);
	for (size_t i = 0; i < PROFILE_PART_TYPES; i++)
		strbuf_done(&request.profiles[i]);
	otlp_tables_done(&request.tables);
	if (r < 0 || !any)
		return r;
	return write_gzipped(&text, file);
}

uint64_t otlp_answer_rejected(const struct strbuf *answer, struct strbuf *words)
{
	Otlp__Response *response =
		otlp__response__unpack(NULL, answer->len, (const uint8_t *)strbuf_str(answer));
	uint64_t rejected = 0;

	if (!response)
		return 0;
	if (response->partial_success && response->partial_success->rejected_profiles > 0) {
		rejected = (uint64_t)response->partial_success->rejected_profiles;
		strbuf_adds(words, response->partial_success->error_message);
	}
	otlp__response__free_unpacked(response, NULL);
	return rejected;
}
