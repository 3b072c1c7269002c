/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/profile_tables.h"

#include "model/mappings.h"
#include "report/text/text.h"

/*
 * The symbol tells what code was at the address, where a run-time replaces code; it is one pointer
 * for one result.
 */
struct location_key {
	uint64_t addr, mapping;
	const struct symbol *symbol;
	const char *alloc, *called, *mark;
};

void profile_tables_done(struct profile_tables *tables)
{
	interns_done(&tables->strings);
	interns_done(&tables->functions);
	interns_done(&tables->mappings);
	interns_done(&tables->locations);
	vec_done(&tables->known);
	sample_frames_done(&tables->frames);
	vec_done(&tables->numbers);
	vec_done(&tables->lines);
}

/* The result of interns_add: 1 when it was new. */
static int stick(struct profile_tables *tables, int r)
{
	if (r < 0)
		tables->error = r;
	return r;
}

uint64_t profile_tables_string(struct profile_tables *tables, const char *s)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	size_t index = 0;

	escape_text(&text, s);
	if (stick(tables, strbuf_error(&text)) == 0 &&
	    stick(tables, interns_add_string(&tables->strings, strbuf_str(&text), &index)) == 1)
		tables->rows->put_string(tables->userdata, strbuf_str(&text));
	return index;
}

uint64_t profile_tables_add_mapping(struct profile_tables *tables, const struct mapping *m)
{
	const struct profile_mapping key = { m->start, m->end, m->file_offset, m->object };
	size_t index = 0;
	int r = stick(tables, interns_add(&tables->mappings, &key, sizeof(key), &index));

	if (r < 0 ||
	    (r == 1 && stick(tables, vec_push(&tables->known, (struct profile_known){ 0 })) < 0))
		return 0;
	if (r == 1 && tables->rows->put_mapping)
		tables->rows->put_mapping(tables->userdata, &key);
	return index + 1;
}

static uint64_t add_function(struct profile_tables *tables, const char *name,
			     const struct view_frame *frame)
{
	struct profile_function function = { .name = profile_tables_string(tables, name) };
	size_t index = 0;

	if (frame && frame->linkage)
		function.linkage = profile_tables_string(tables, frame->linkage);
	if (frame && frame->file)
		function.file = profile_tables_string(tables, frame->file);
	if (stick(tables, interns_add(&tables->functions, &function, sizeof(function), &index)) ==
	    1)
		tables->rows->put_function(tables->userdata, index + 1, &function);
	return index + 1;
}

static int add_line(struct profile_tables *tables, const struct sample_frame *frame,
		    struct profile_known *known)
{
	const struct view_frame *place = frame->mark ? NULL : &frame->frame;
	_cleanup_strbuf_ struct strbuf name = { 0 };

	sample_frame_name(frame, &name);
	if (strbuf_error(&name) < 0)
		return strbuf_error(&name);
	if (known && place) {
		known->functions |= place->function != NULL;
		known->files |= place->file != NULL;
		known->lines |= place->line > 0;
		known->inlines |= place->is_inline;
	}
	return vec_push(&tables->lines,
			(struct profile_line){ add_function(tables, strbuf_str(&name), place),
					       place ? place->line : 0 });
}

static int put_location(struct profile_tables *tables, uint64_t number,
			const struct location_key *key, const struct sample_frame *frames, size_t n)
{
	struct profile_location location = {
		.addr = key->addr,
		.mapping = key->mapping,
		.is_kernel = frames->is_kernel,
	};
	int r = 0;

	tables->lines.len = 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_line(tables, &frames[i],
			     key->mapping > 0 ? &tables->known.data[key->mapping - 1] : NULL);
	location.lines = tables->lines.data;
	location.n_lines = n;
	return r < 0 ? r : tables->rows->put_location(tables->userdata, number, &location);
}

/* `frames` are the n lines of a place, or a mark. */
static int add_location(struct profile_tables *tables, const struct sample_frame *frames, size_t n)
{
	const struct view_place *place = frames->mark ? NULL : frames->frame.place;
	struct location_key key = { .mark = frames->mark };
	size_t index;
	int r;

	if (place) {
		key.symbol = place->symbol;
		key.alloc = place->alloc;
		key.called = frames[n - 1].frame.is_called ? frames[n - 1].frame.function : NULL;
		key.addr = place->has_addr ? place->addr - place->is_call : 0;
	}
	if (place && place->mapping)
		key.mapping = profile_tables_add_mapping(tables, place->mapping);
	r = tables->error;
	if (r == 0)
		r = interns_add(&tables->locations, &key, sizeof(key), &index);
	if (r == 1)
		r = put_location(tables, index + 1, &key, frames, n);
	return r < 0 ? r : vec_push(&tables->numbers, index + 1);
}

int profile_tables_stack(struct profile_tables *tables, const struct view_stack *stack,
			 const char *unknown, uint64_t **ret_numbers, size_t *ret_n)
{
	int r = sample_frames_fill(&tables->frames, stack);
	size_t n;

	if (r == 0 && unknown && tables->frames.list.len == 0)
		r = vec_push(&tables->frames.list, (struct sample_frame){ .mark = unknown });
	tables->numbers.len = 0;
	for (size_t i = 0; r == 0 && i < tables->frames.list.len; i += n) {
		n = sample_frames_of_place(&tables->frames, i);
		r = add_location(tables, &tables->frames.list.data[i], n);
	}
	*ret_numbers = tables->numbers.data;
	*ret_n = tables->numbers.len;
	return stick(tables, r);
}

const struct profile_mapping *profile_tables_mapping(const struct profile_tables *tables,
						     uint64_t number,
						     struct profile_known *ret_known)
{
	if (number > tables->known.len)
		return NULL;
	*ret_known = tables->known.data[number - 1];
	return interns_get(&tables->mappings, number - 1);
}
