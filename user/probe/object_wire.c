/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/object_wire.h"

#include "config/near_name.h"
#include "probe/custom_allocators.h"
#include "probe/plan_wire.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* Names of functions on a command line; C++'s are long. */
#define MAX_NAME (128 << 10)
#define MAX_CUSTOM (1 << 16)
#define MAX_CHECKPOINTS 4096

/* --- requests -------------------------------------------------------------------------------- */

static const struct field flag_fields[] = { { .kind = FIELD_BOOL }, F_END };
static const struct layout flag_layout = { "bool", sizeof(bool), flag_fields, NULL };

static const struct field emulation_fields[] = {
	{ .kind = FIELD_REPEAT, .max = sizeof(struct plan_emulation), .of = &flag_layout },
	F_END,
};
static const struct layout emulation_layout = LAYOUT(plan_emulation, emulation_fields);

static const struct field custom_fields[] = {
	F_MAX(custom_function, row.name, FIELD_STRING, MAX_NAME),
	F(custom_function, row.kind, FIELD_U8),
	F(custom_function, row.args, FIELD_U16),
	F(custom_function, row.may_throw, FIELD_BOOL),
	F(custom_function, row.may_forward, FIELD_BOOL),
	F(custom_function, row.by_realloc, FIELD_BOOL),
	F(custom_function, row.by_user, FIELD_BOOL),
	F(custom_function, address, FIELD_U64),
	F_MAX(custom_function, object, FIELD_OPTIONAL_STRING, PATH_MAX),
	/* What is asked for stays the same while files are read: asked_ahead_find() compares it. */
	F_LOCAL(custom_function, found),
	F_END,
};
static const struct layout custom_layout = LAYOUT(custom_function, custom_fields);

static const struct field found_fields[] = {
	F_LOCAL(custom_function, row),
	F_LOCAL(custom_function, address),
	F_LOCAL(custom_function, object),
	F(custom_function, found, FIELD_BOOL),
	F_END,
};
static const struct layout found_layout = LAYOUT(custom_function, found_fields);

static const struct field name_fields[] = {
	{ .kind = FIELD_STRING, .max = MAX_NAME },
	F_END,
};
const struct layout object_name_layout = { "name", sizeof(char *), name_fields, NULL };

static const struct field asked_fields[] = {
	F(object_asked, wants.allocators, FIELD_BOOL),
	F(object_asked, wants.results, FIELD_BOOL),
	F(object_asked, wants.samples, FIELD_BOOL),
	F(object_asked, wants.books, FIELD_BOOL),
	F(object_asked, wants.is_stand_in, FIELD_BOOL),
	F(object_asked, wants.loader, FIELD_BOOL),
	F(object_asked, wants.checkpoints, FIELD_BOOL),
	F(object_asked, wants.unwinding, FIELD_BOOL),
	F_MAX(object_asked, wants.path, FIELD_STRING, PATH_MAX),
	F_LOCAL(object_asked, wants.emulation),
	F_LOCAL(object_asked, wants.custom),
	F_LOCAL(object_asked, wants.checkpoint_names),
	F_LOCAL(object_asked, custom),
	F_STRUCT(object_asked, emulation, &emulation_layout),
	F_LIST(object_asked, functions, n_functions, MAX_CUSTOM, &custom_layout),
	F_LIST(object_asked, names, n_names, UINT16_MAX, &object_name_layout),
	F_END,
};
const struct layout object_asked_layout = LAYOUT(object_asked, asked_fields);

static size_t count_names(char *const *names)
{
	size_t n = 0;

	while (names && names[n])
		n++;
	return n;
}

void object_put_wants(struct strbuf *request, const struct object_wants *wants)
{
	struct object_asked asked = {
		.wants = *wants,
		.emulation = wants->emulation ? *wants->emulation : (struct plan_emulation){},
		.names = (char **)wants->checkpoint_names,
		.n_names = count_names(wants->checkpoint_names),
	};

	/* A list of mappings has longer ones, of which the end tells most. */
	if (wants->path && strlen(wants->path) > PATH_MAX)
		asked.wants.path += strlen(wants->path) - PATH_MAX;
	asked.functions = custom_allocators_all(wants->custom, &asked.n_functions);
	codec_write(request, &object_asked_layout, &asked, NULL);
}

int object_get_wants(struct decoder *decoder, struct object_asked *ret_asked)
{
	struct object_wants *wants = &ret_asked->wants;
	int r;

	codec_read(decoder, &object_asked_layout, ret_asked);
	r = decoder_end(decoder);
	if (r == 0)
		r = custom_allocators_copy(ret_asked->functions, ret_asked->n_functions,
					   &ret_asked->custom);
	if (r < 0) {
		object_asked_done(ret_asked);
		return r;
	}
	wants->emulation = &ret_asked->emulation;
	wants->custom = ret_asked->custom;
	wants->checkpoint_names = ret_asked->names;
	return 0;
}

void object_asked_done(struct object_asked *asked)
{
	custom_allocators_free(asked->custom);
	codec_done(&object_asked_layout, asked);
	*asked = (struct object_asked){};
}

/* --- facts ----------------------------------------------------------------------------------- */

static const struct field key_fields[] = {
	{ .kind = FIELD_BYTES, .max = sizeof(struct cfi_key) },
	F_END,
};
const struct layout object_key_layout = LAYOUT(cfi_key, key_fields);

static const struct field segment_fields[] = {
	F(abi_unwind_segment, offset, FIELD_U64),
	F(abi_unwind_segment, end, FIELD_U64),
	F(abi_unwind_segment, rel, FIELD_U32),
	F(abi_unwind_segment, pad, FIELD_U32),
	F_END,
};

static bool segment_is_sound(const void *value, const void *context)
{
	const struct abi_unwind_segment *segment = value;

	(void)context;
	return segment->end >= segment->offset;
}

static const struct layout segment_layout =
	LAYOUT_CHECKED(abi_unwind_segment, segment_fields, segment_is_sound);

static const struct field unwind_fields[] = {
	F_STRUCT(cfi_facts, key, &object_key_layout),
	F_ARRAY(cfi_facts, segments, n_segments, &segment_layout),
	F_END,
};
static const struct layout unwind_layout = LAYOUT(cfi_facts, unwind_fields);

static const struct field start_fields[] = {
	F(stack_start, entry, FIELD_U64),
	F(stack_start, main_call, FIELD_U64),
	F(stack_start, main_call_end, FIELD_U64),
	F_REPEAT(stack_start, threads, uint64_t, &codec_u64),
	F_END,
};
static const struct layout start_layout = LAYOUT(stack_start, start_fields);

static const struct field checkpoint_fields[] = {
	F(checkpoint, offset, FIELD_FILE_OFFSET),
	F(checkpoint, function, FIELD_U16),
	F(checkpoint, semaphore_offset, FIELD_FILE_OFFSET),
	F_END,
};
static const struct layout checkpoint_layout = LAYOUT(checkpoint, checkpoint_fields);

static const struct field needed_fields[] = {
	{ .kind = FIELD_COPY, .max = ELF_NEEDS_NAME_MAX },
	F_END,
};
static const struct layout needed_layout = { "name", sizeof(char *), needed_fields, NULL };

static const struct field needs_fields[] = {
	F_LIST(elf_needs, names.data, names.len, ELF_NEEDS_MOST, &needed_layout),
	F_LOCAL(elf_needs, names.cap),
	F_MAX(elf_needs, search, FIELD_OPTIONAL_COPY, ELF_NEEDS_SEARCH_MAX),
	F_END,
};
static const struct layout needs_layout = LAYOUT(elf_needs, needs_fields);

static const struct field facts_fields[] = {
	F(object_facts, is_elf, FIELD_BOOL),
	F_MAX(object_facts, kind, FIELD_U32, PROGRAM_KINDS - 1),
	F_POINTER(object_facts, plan, &plan_layout),
	F_POINTER(object_facts, samples, &plan_layout),
	F_STRUCT(object_facts, start, &start_layout),
	F_LIST(object_facts, checkpoints.list.data, checkpoints.list.len, MAX_CHECKPOINTS,
	       &checkpoint_layout),
	F_LOCAL(object_facts, checkpoints.list.cap),
	F(object_facts, loader_stop, FIELD_FILE_OFFSET),
	F_ARRAY(object_facts, build_id, build_id_len, &codec_u8),
	F_STRUCT(object_facts, unwind, &unwind_layout),
	F_STRUCT(object_facts, needs, &needs_layout),
	F(object_facts, uses_own_names, FIELD_BOOL),
	F(object_facts, preloads, FIELD_BOOL),
	F(object_facts, has_sanitizer, FIELD_BOOL),
	F_END,
};
static const struct layout facts_layout = LAYOUT(object_facts, facts_fields);

static const struct field answer_fields[] = {
	F_LIST(object_answer, functions, n_functions, MAX_CUSTOM, &found_layout),
	F_STRUCT(object_answer, facts, &facts_layout),
	F_END,
};
const struct layout object_answer_layout = LAYOUT(object_answer, answer_fields);

void object_put_facts(struct strbuf *answer, const struct object_facts *facts,
		      const struct object_wants *wants)
{
	struct object_answer sent = { .facts = *facts };

	sent.functions = custom_allocators_all(wants->custom, &sent.n_functions);
	codec_write(answer, &object_answer_layout, &sent, wants->custom);
}

/* Is it an answer to that? */
static bool is_answer_to(const struct object_answer *answer, const struct object_wants *wants)
{
	const struct object_facts *facts = &answer->facts;
	size_t n, n_names = count_names(wants->checkpoint_names);

	(void)custom_allocators_all(wants->custom, &n);
	vec_foreach(&facts->checkpoints.list, point)
		if (point->function > n_names)
			return false;
	return answer->n_functions == n && !facts->plan == !(facts->is_elf && wants->allocators) &&
	       !facts->samples == !(facts->is_elf && wants->samples);
}

static void mark_found(const struct object_answer *answer, struct custom_allocators *custom)
{
	size_t n;
	struct custom_function *all = custom_allocators_all(custom, &n);

	for (size_t i = 0; i < n; i++)
		all[i].found |= answer->functions[i].found;
}

int object_get_facts(struct decoder *decoder, uint64_t file_bytes, const struct object_wants *wants,
		     struct object_facts *ret_facts)
{
	struct object_answer answer;
	int r;

	decoder->file_bytes = file_bytes;
	decoder->context = wants->custom;
	codec_read(decoder, &object_answer_layout, &answer);
	r = decoder_end(decoder);
	if (r == 0 && !is_answer_to(&answer, wants))
		r = -EBADMSG;
	if (r == 0) {
		mark_found(&answer, wants->custom);
		*ret_facts = answer.facts;
		answer.facts = (struct object_facts){};
	}
	codec_done(&object_answer_layout, &answer);
	return r;
}

/* --- functions of a name --------------------------------------------------------------------- */

static const struct field range_fields[] = {
	F(object_range, offset, FIELD_U64),
	F(object_range, size, FIELD_U64),
	F_END,
};
static const struct layout range_layout = LAYOUT(object_range, range_fields);

static const struct field ranges_fields[] = {
	F_ARRAY(object_ranges, list, n, &range_layout),
	F_END,
};
const struct layout object_ranges_layout = LAYOUT(object_ranges, ranges_fields);

int object_get_ranges(struct decoder *decoder, uint64_t file_bytes,
		      struct object_ranges *ret_ranges)
{
	struct object_ranges ranges;

	codec_read(decoder, &object_ranges_layout, &ranges);
	for (size_t i = 0; i < ranges.n; i++)
		if (ranges.list[i].offset > file_bytes ||
		    ranges.list[i].size > file_bytes - ranges.list[i].offset)
			decoder_refuse(decoder);
	if (decoder_end(decoder) < 0)
		return -EBADMSG;
	*ret_ranges = ranges;
	return 0;
}

/* --- names that come near -------------------------------------------------------------------- */

static const struct field shown_fields[] = {
	{ .kind = FIELD_STRING, .max = NEAR_NAME_LEN },
	F_END,
};
static const struct layout shown_layout = { "name", sizeof(char *), shown_fields, NULL };

static const struct field near_fields[] = {
	F_ARRAY(object_near, names, n, &shown_layout),
	F_END,
};
const struct layout object_near_layout = LAYOUT(object_near, near_fields);

void object_put_near(struct strbuf *answer, const struct near_names *near)
{
	struct object_near message = { .n = near->n };

	for (size_t i = 0; i < near->n; i++)
		message.names[i] = near->best[i].shown;
	codec_write(answer, &object_near_layout, &message, NULL);
}

static bool is_one_line(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < ' ' || *name == 0x7f)
			return false;
	return true;
}

int object_get_near(struct decoder *decoder, struct near_names *near)
{
	struct object_near message;

	codec_read(decoder, &object_near_layout, &message);
	for (size_t i = 0; i < message.n; i++)
		if (is_one_line(message.names[i]) && !near_names_have(near, message.names[i]))
			near_names_offer(near, message.names[i], message.names[i]);
	return decoder_end(decoder);
}
