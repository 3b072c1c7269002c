/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/pprof/pprof_tables.h"

#include "base/hex.h"
#include "report/packed_out.h"

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

static void put_string(void *userdata, const char *string)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	char *text = (char *)string;

	part.n_string_table = 1;
	part.string_table = &text;
	pprof_tables_put(userdata, &part);
}

static void put_function(void *userdata, uint64_t number, const struct profile_function *from)
{
	Pprof__Function function = PPROF__FUNCTION__INIT, *pointer = &function;
	Pprof__Profile part = PPROF__PROFILE__INIT;

	function.id = number;
	function.name = (int64_t)from->name;
	/* Were both the same, pprof would strip what looks like parameters of C++. */
	function.system_name = from->linkage == from->name ? 0 : (int64_t)from->linkage;
	function.filename = (int64_t)from->file;
	part.n_function = 1;
	part.function = &pointer;
	pprof_tables_put(userdata, &part);
}

static int put_location(void *userdata, uint64_t number, const struct profile_location *from)
{
	Pprof__Location location = PPROF__LOCATION__INIT, *pointer = &location;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	struct pprof_tables *tables = userdata;
	int r = vec_reserve(&tables->lines, from->n_lines);

	if (r == 0)
		r = vec_reserve(&tables->line_pointers, from->n_lines);
	if (r < 0)
		return r;
	for (size_t i = 0; i < from->n_lines; i++) {
		pprof__line__init(&tables->lines.data[i]);
		tables->lines.data[i].function_id = from->lines[i].function;
		tables->lines.data[i].line = from->lines[i].line;
		tables->line_pointers.data[i] = &tables->lines.data[i];
	}
	location.id = number;
	location.mapping_id = from->mapping;
	location.address = from->addr;
	location.n_line = from->n_lines;
	location.line = tables->line_pointers.data;
	part.n_location = 1;
	part.location = &pointer;
	pprof_tables_put(tables, &part);
	return 0;
}

void pprof_tables_begin(struct pprof_tables *tables, struct gzip_out *out)
{
	static const struct profile_rows rows = {
		.put_string = put_string,
		.put_function = put_function,
		.put_location = put_location,
	};

	*tables =
		(struct pprof_tables){ .out = out, .rows = { .rows = &rows, .userdata = tables } };
	(void)profile_tables_string(&tables->rows, ""); /* is always the first */
}

void pprof_tables_done(struct pprof_tables *tables)
{
	profile_tables_done(&tables->rows);
	vec_done(&tables->lines);
	vec_done(&tables->line_pointers);
}

static void put_mapping(struct pprof_tables *tables, uint64_t number,
			const struct profile_mapping *from, const struct profile_known *known)
{
	const struct model_object *object = from->object;
	Pprof__Mapping mapping = PPROF__MAPPING__INIT, *pointer = &mapping;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	char build_id[2 * RECORD_BUILD_ID_MAX + 1];

	hex_text(build_id, object->build_id, object->build_id_len);
	mapping.id = number;
	mapping.memory_start = from->start;
	mapping.memory_limit = from->end;
	mapping.file_offset = from->file_offset;
	mapping.filename = (int64_t)profile_tables_string(&tables->rows, object->path);
	mapping.build_id = (int64_t)profile_tables_string(&tables->rows, build_id);
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
	const struct profile_mapping *mapping;
	struct profile_known known;

	for (uint64_t i = 1; (mapping = profile_tables_mapping(&tables->rows, i, &known)); i++)
		put_mapping(tables, i, mapping, &known);
	return tables->rows.error;
}
