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
#define MAX_CHECKPOINTS 4096
#define CHECKPOINT_BYTES 10
#define CUSTOM_BYTES 21

/* --- requests -------------------------------------------------------------------------------- */

static void put_custom(struct strbuf *request, struct custom_allocators *custom)
{
	size_t n;
	const struct custom_function *all = custom_allocators_all(custom, &n);

	wire_put_u32(request, (uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		wire_put_string(request, all[i].row.name);
		wire_put_u8(request, all[i].row.kind);
		wire_put_u16(request, all[i].row.args);
		wire_put_u8(request, all[i].row.may_throw);
		wire_put_u8(request, all[i].row.may_forward);
		wire_put_u64(request, all[i].address);
		wire_put_string(request, all[i].object);
	}
}

static int get_custom(struct wire_reader *reader, struct custom_allocators **ret_custom)
{
	uint32_t n = wire_get_count(reader, CUSTOM_BYTES);
	_cleanup_free_ struct custom_function *all = calloc(n ? n : 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		all[i].row.name = wire_get_string(reader, MAX_NAME);
		all[i].row.kind = wire_get_u8(reader);
		all[i].row.args = wire_get_u16(reader);
		all[i].row.may_throw = wire_get_bool(reader);
		all[i].row.may_forward = wire_get_bool(reader);
		all[i].row.by_user = true;
		all[i].address = wire_get_u64(reader);
		all[i].object = wire_get_string(reader, PATH_MAX);
		if (!all[i].row.name)
			return -EBADMSG;
	}
	return reader->bad ? -EBADMSG : custom_allocators_copy(all, n, ret_custom);
}

static void put_names(struct strbuf *request, char *const *names)
{
	uint32_t n = 0;

	while (names && names[n])
		n++;
	wire_put_u32(request, n);
	for (uint32_t i = 0; i < n; i++)
		wire_put_string(request, names[i]);
}

static int get_names(struct wire_reader *reader, char ***ret_names)
{
	uint32_t n = wire_get_count(reader, sizeof(uint32_t));

	*ret_names = calloc((size_t)n + 1, sizeof(char *));
	if (!*ret_names)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		(*ret_names)[i] = (char *)wire_get_string(reader, MAX_NAME);
		if (!(*ret_names)[i])
			return -EBADMSG;
	}
	return 0;
}

void object_put_wants(struct strbuf *request, const struct object_wants *wants)
{
	static const struct plan_emulation none;

	wire_put_u8(request, wants->allocators);
	wire_put_u8(request, wants->samples);
	wire_put_u8(request, wants->is_stand_in);
	wire_put_u8(request, wants->loader);
	wire_put_u8(request, wants->checkpoints);
	wire_put_u8(request, wants->unwinding);
	wire_put_string(request, wants->path);
	strbuf_add(request, wants->emulation ? wants->emulation : &none, sizeof(none));
	put_custom(request, wants->custom);
	put_names(request, wants->checkpoint_names);
}

int object_get_wants(struct wire_reader *reader, struct object_asked *ret_asked)
{
	struct object_wants *wants = &ret_asked->wants;
	const char *emulation;
	int r;

	*ret_asked = (struct object_asked){};
	wants->allocators = wire_get_bool(reader);
	wants->samples = wire_get_bool(reader);
	wants->is_stand_in = wire_get_bool(reader);
	wants->loader = wire_get_bool(reader);
	wants->checkpoints = wire_get_bool(reader);
	wants->unwinding = wire_get_bool(reader);
	wants->path = wire_get_string(reader, PATH_MAX);
	emulation = wire_get_bytes(reader, sizeof(ret_asked->emulation));
	if (!emulation || !wants->path)
		return -EBADMSG;
	/* Flags, of which any byte but 0 says yes. */
	for (size_t i = 0; i < sizeof(ret_asked->emulation); i++)
		((bool *)&ret_asked->emulation)[i] = emulation[i] != 0;
	r = get_custom(reader, &ret_asked->custom);
	if (r == 0)
		r = get_names(reader, &ret_asked->names);
	if (r == 0 && !wire_is_read(reader))
		r = -EBADMSG;
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
	free(asked->names);
	*asked = (struct object_asked){};
}

/* --- facts ----------------------------------------------------------------------------------- */

static void put_found(struct strbuf *answer, struct custom_allocators *custom)
{
	size_t n;
	const struct custom_function *all = custom_allocators_all(custom, &n);

	for (size_t i = 0; i < n; i++)
		wire_put_u8(answer, all[i].found);
}

static void get_found(struct wire_reader *reader, struct custom_allocators *custom)
{
	size_t n;
	struct custom_function *all = custom_allocators_all(custom, &n);

	for (size_t i = 0; i < n; i++)
		if (wire_get_bool(reader))
			all[i].found = true;
}

static void put_checkpoints(struct strbuf *answer, const struct checkpoints *points)
{
	wire_put_u32(answer, (uint32_t)points->list.len);
	vec_foreach(&points->list, point) {
		wire_put_u64(answer, point->offset);
		wire_put_u16(answer, point->function);
	}
}

static int get_checkpoints(struct wire_reader *reader, uint64_t file_bytes, char *const *names,
			   struct checkpoints *points)
{
	uint32_t n = wire_get_count(reader, CHECKPOINT_BYTES), n_names = 0;
	int r = 0;

	while (names && names[n_names])
		n_names++;
	if (n > MAX_CHECKPOINTS)
		return -EBADMSG;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct checkpoint point = { .offset = wire_get_u64(reader) };

		point.function = wire_get_u16(reader);
		if (point.offset >= file_bytes || point.function > n_names)
			return -EBADMSG;
		r = vec_push(&points->list, point);
	}
	return r;
}

void object_put_key(struct strbuf *message, const struct cfi_key *key)
{
	strbuf_add(message, key, sizeof(*key));
}

void object_get_key(struct wire_reader *reader, struct cfi_key *key)
{
	const char *bytes = wire_get_bytes(reader, sizeof(*key));

	if (bytes)
		memcpy(key, bytes, sizeof(*key));
}

static void put_unwind(struct strbuf *answer, const struct cfi_facts *facts)
{
	object_put_key(answer, &facts->key);
	wire_put_u32(answer, facts->n_segments);
	strbuf_add(answer, facts->segments, facts->n_segments * sizeof(facts->segments[0]));
}

static void get_unwind(struct wire_reader *reader, struct cfi_facts *facts)
{
	const char *segments = NULL;
	size_t len;

	object_get_key(reader, &facts->key);
	facts->n_segments = wire_get_u32(reader);
	if (facts->n_segments > ABI_UNWIND_SEGMENTS) {
		reader->bad = true;
		return;
	}
	len = facts->n_segments * sizeof(facts->segments[0]);
	segments = wire_get_bytes(reader, len);
	if (segments)
		memcpy(facts->segments, segments, len);
	for (uint32_t i = 0; i < facts->n_segments; i++)
		if (facts->segments[i].end < facts->segments[i].offset)
			reader->bad = true;
}

static void put_start(struct strbuf *answer, const struct stack_start *start)
{
	wire_put_u64(answer, start->entry);
	wire_put_u64(answer, start->main_call);
	wire_put_u64(answer, start->main_call_end);
	for (size_t i = 0; i < STACK_START_THREADS; i++) {
		wire_put_u64(answer, start->threads[i].start);
		wire_put_u64(answer, start->threads[i].end);
	}
}

static void get_start(struct wire_reader *reader, struct stack_start *start)
{
	start->entry = wire_get_u64(reader);
	start->main_call = wire_get_u64(reader);
	start->main_call_end = wire_get_u64(reader);
	for (size_t i = 0; i < STACK_START_THREADS; i++) {
		start->threads[i].start = wire_get_u64(reader);
		start->threads[i].end = wire_get_u64(reader);
	}
}

static void put_needs(struct strbuf *answer, const struct elf_needs *needs)
{
	wire_put_u32(answer, (uint32_t)needs->names.len);
	vec_foreach(&needs->names, name)
		wire_put_string(answer, *name);
	wire_put_string(answer, needs->search ? needs->search : "");
}

static int get_needs(struct wire_reader *reader, struct elf_needs *needs)
{
	uint32_t n = wire_get_count(reader, sizeof(uint32_t));
	const char *search;
	int r = n > ELF_NEEDS_MOST ? -EBADMSG : 0;

	for (uint32_t i = 0; i < n && r == 0; i++) {
		const char *name = wire_get_string(reader, ELF_NEEDS_NAME_MAX);
		char *copy = name ? strdup(name) : NULL;

		r = !name ? -EBADMSG : copy ? vec_push(&needs->names, copy) : -ENOMEM;
		if (r)
			free(copy);
	}
	search = r == 0 ? wire_get_string(reader, ELF_NEEDS_SEARCH_MAX) : NULL;
	if (search && *search)
		needs->search = strdup(search);
	return search && *search && !needs->search ? -ENOMEM : r;
}

void object_put_facts(struct strbuf *answer, const struct object_facts *facts,
		      const struct object_wants *wants)
{
	wire_put_u8(answer, facts->is_elf);
	wire_put_u8(answer, facts->is_32bit);
	put_found(answer, wants->custom);
	if (!facts->is_elf)
		return;
	if (wants->allocators)
		plan_put(answer, facts->plan, wants->custom);
	if (wants->samples)
		plan_put(answer, facts->samples, wants->custom);
	put_start(answer, &facts->start);
	put_checkpoints(answer, &facts->checkpoints);
	wire_put_u64(answer, facts->loader_stop);
	wire_put_u8(answer, facts->build_id_len);
	strbuf_add(answer, facts->build_id, facts->build_id_len);
	if (wants->unwinding)
		put_unwind(answer, &facts->unwind);
	put_needs(answer, &facts->needs);
}

static void get_build_id(struct wire_reader *reader, struct object_facts *facts)
{
	uint8_t len = wire_get_u8(reader);
	const char *bytes = len <= sizeof(facts->build_id) ? wire_get_bytes(reader, len) : NULL;

	if (!bytes) {
		reader->bad = true;
		return;
	}
	memcpy(facts->build_id, bytes, len);
	facts->build_id_len = len;
}

static int get_elf_facts(struct wire_reader *reader, uint64_t file_bytes,
			 const struct object_wants *wants, struct object_facts *facts)
{
	int r = 0;

	if (wants->allocators)
		r = plan_get(reader, file_bytes, wants->custom, &facts->plan);
	if (r == 0 && wants->samples)
		r = plan_get(reader, file_bytes, wants->custom, &facts->samples);
	if (r < 0)
		return r;
	get_start(reader, &facts->start);
	r = get_checkpoints(reader, file_bytes, wants->checkpoint_names, &facts->checkpoints);
	if (r < 0)
		return r;
	facts->loader_stop = wire_get_u64(reader);
	if (facts->loader_stop >= file_bytes)
		return -EBADMSG;
	get_build_id(reader, facts);
	if (wants->unwinding)
		get_unwind(reader, &facts->unwind);
	return get_needs(reader, &facts->needs);
}

int object_get_facts(struct wire_reader *reader, uint64_t file_bytes,
		     const struct object_wants *wants, struct object_facts *ret_facts)
{
	struct object_facts facts = {};
	int r = 0;

	facts.is_elf = wire_get_bool(reader);
	facts.is_32bit = wire_get_bool(reader);
	get_found(reader, wants->custom);
	if (facts.is_elf)
		r = get_elf_facts(reader, file_bytes, wants, &facts);
	if (r == 0 && !wire_is_read(reader))
		r = -EBADMSG;
	if (r < 0)
		object_facts_done(&facts);
	else
		*ret_facts = facts;
	return r;
}

/* --- functions of a name --------------------------------------------------------------------- */

void object_put_ranges(struct strbuf *answer, const struct object_ranges *ranges)
{
	wire_put_u32(answer, (uint32_t)ranges->n);
	for (size_t i = 0; i < ranges->n; i++) {
		wire_put_u64(answer, ranges->list[i].offset);
		wire_put_u64(answer, ranges->list[i].size);
	}
}

int object_get_ranges(struct wire_reader *reader, uint64_t file_bytes,
		      struct object_ranges *ret_ranges)
{
	struct object_ranges ranges = { .n = wire_get_u32(reader) };

	if (reader->bad || ranges.n > OBJECT_MAX_RANGES)
		return -EBADMSG;
	for (size_t i = 0; i < ranges.n; i++) {
		struct object_range *range = &ranges.list[i];

		range->offset = wire_get_u64(reader);
		range->size = wire_get_u64(reader);
		if (range->offset > file_bytes || range->size > file_bytes - range->offset)
			return -EBADMSG;
	}
	if (!wire_is_read(reader))
		return -EBADMSG;
	*ret_ranges = ranges;
	return 0;
}

/* --- names that come near -------------------------------------------------------------------- */

void object_put_near(struct strbuf *answer, const struct near_names *near)
{
	wire_put_u8(answer, (uint8_t)near->n);
	for (size_t i = 0; i < near->n; i++)
		wire_put_string(answer, near->best[i].shown);
}

int object_get_near(struct wire_reader *reader, struct near_names *near)
{
	uint8_t n = wire_get_u8(reader);

	if (n > NEAR_NAMES)
		return -EBADMSG;
	for (uint8_t i = 0; i < n; i++) {
		const char *name = wire_get_string(reader, NEAR_NAME_LEN);

		if (!name)
			return -EBADMSG;
		if (!near_names_have(near, name))
			near_names_offer(near, name, name);
	}
	return wire_is_read(reader) ? 0 : -EBADMSG;
}
