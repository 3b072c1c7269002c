/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is asked of the files behind objects.h: nothing here changes them.
 */
#include "trace/live/code/object_state.h"

#include <string.h>

bool object_has_allocator(const struct object *object)
{
	bool has_calls = object->facts.plan && object->facts.plan->n_probes > 0;

	return (has_calls && !object->refused) || object_has_samples(object);
}

bool object_has_own_allocator(const struct object *object)
{
	return object->facts.plan && (object->facts.plan->n_probes > 0 || object->marked);
}

uint8_t object_malloc_family(const struct object *object)
{
	for (size_t i = 0; object->facts.plan && i < object->facts.plan->n_probes; i++)
		if (strcmp(object->facts.plan->probes[i].function, "malloc") == 0)
			return object->facts.plan->probes[i].family;
	return 0;
}

bool object_has_samples(const struct object *object)
{
	return object->facts.samples && object->facts.samples->n_probes > 0 && !object->refused;
}

/* Has it functions that are probed at any depth? */
static bool is_stopped_at(const struct object *object)
{
	return object->facts.checkpoints.list.len > 0 || object->marked;
}

bool objects_probe(const struct objects *objects, const struct object *object, uint32_t owner)
{
	bool has_calls = object->facts.plan && object->facts.plan->n_probes > 0 && !object->refused;

	if (is_stopped_at(object) || (owner && object->facts.loader_stop))
		return true;
	switch (objects->depth) {
	case RECORD_DEPTH_EXACT:
		return has_calls;
	case RECORD_DEPTH_SAMPLED:
		return object_has_samples(object);
	case RECORD_DEPTH_GROWTH:
		return false;
	}
	return false;
}

/* For what all plans of a file say alike. */
static const struct plan *any_plan(const struct object *object)
{
	return object->facts.plan ? object->facts.plan : object->facts.samples;
}

bool object_is_probed(const struct object *object)
{
	return object_has_allocator(object) || is_stopped_at(object);
}

bool objects_have_checkpoint(const struct objects *objects, uint16_t function)
{
	vec_foreach(&objects->all, object)
		vec_foreach(&(*object)->facts.checkpoints.list, point)
			if (point->function == function)
				return true;
	return false;
}

/*
 * What an allocator's functions call has no symbol where the file is stripped. The compiler puts it
 * before them as a rule, being static; glibc 2.36 has 11 KiB of it before malloc.
 */
#define INNER_BEFORE (12U << 10)
#define INNER_BEHIND (4U << 10)

bool object_is_near_allocator(const struct object *object, uint64_t file_offset)
{
	const struct plan *plan = any_plan(object);

	for (size_t i = 0; plan && i < plan->n_probes; i++) {
		uint64_t at = plan->probes[i].function_offset;

		if (file_offset + INNER_BEFORE >= at && file_offset < at + INNER_BEHIND)
			return true;
	}
	return false;
}

const struct object_facts *object_facts(const struct object *object)
{
	return &object->facts;
}

bool object_is_alone(const struct object *object)
{
	const struct plan *plan = any_plan(object);

	return object->facts.kind == PROGRAM_32BIT || (plan && !plan->loads_others);
}

const char *object_path(const struct object *object)
{
	return object->path;
}

int object_fd(const struct object *object)
{
	return object->fd;
}

uint64_t object_ino(const struct object *object)
{
	return object->ino;
}

uint32_t object_dev(const struct object *object)
{
	return object->dev;
}

bool object_starts_stack(const struct object *object, uint64_t file_offset)
{
	return stack_start_contains(&object->facts.start, file_offset);
}

uint32_t object_unwind(const struct object *object)
{
	return object->table;
}

uint64_t objects_unread(const struct objects *objects)
{
	return objects->unread;
}

uint64_t objects_unopened(const struct objects *objects)
{
	return objects->unopened.all.len + objects->unopened.further;
}

size_t object_unprobed(const struct object *object)
{
	return object->unprobed.len;
}

static int describe_plan(const struct object *object, const struct plan *plan, uint16_t first_fn,
			 record_fn fn, void *userdata)
{
	for (size_t i = 0; plan && i < plan->n_probes; i++) {
		const struct plan_probe *probe = &plan->probes[i];
		const struct record record = {
			.type = RECORD_FUNCTION,
			.function = { .id = first_fn + i,
				      .name = probe->function,
				      .object = object->path,
				      .file_offset = probe->function_offset },
		};
		int r = fn(&record, userdata);

		if (r)
			return r;
	}
	return 0;
}

int object_describe(const struct object *object, record_fn fn, void *userdata)
{
	int r = describe_plan(object, object->facts.plan, object->first_fn, fn, userdata);

	if (r == 0)
		r = describe_plan(object, object->facts.samples, object->first_sample_fn, fn,
				  userdata);
	if (r)
		return r;
	vec_foreach(&object->unprobed, u) {
		const struct record record = {
			.type = RECORD_UNPROBED,
			.unprobed = { u->function, object->path, u->why },
		};

		r = fn(&record, userdata);
		if (r)
			return r;
	}
	return 0;
}
