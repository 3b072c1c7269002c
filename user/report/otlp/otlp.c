/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/otlp/otlp.h"

#include "report/otlp/otlp_tables.h"
#include "report/packed_out.h"
#include "report/text/text.h"
#include "version.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>

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

/* --- around them ----------------------------------------------------------------------------- */

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
