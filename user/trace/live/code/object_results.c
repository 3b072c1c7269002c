/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One trap for an allocation in place of two: functions whose plan has sites of results are counted
 * by entry and return first. When calls come in numbers, what the sites see is compared with that;
 * if all was the same, the sites count, and the others' links are closed when no call is left that
 * they alone would see the end of. One function is compared at a time: result_site.bpf.h.
 */
#include "base/log.h"
#include "trace/bpf/grace.h"
#include "trace/live/code/object_state.h"

#include "memtraced.skel.h" /* after the ABI that it is made of */

#include <errno.h>

/* Calls after which it is worth loading the program: a run that ends before pays nothing. */
#define WORTHWHILE_CALLS 20000
/* Calls that are compared. */
#define COMPARED_CALLS 10000

static uint16_t function_id(const struct object *object, size_t function)
{
	return (uint16_t)(object->first_fn + function);
}

/* The sites' links for all that have links of its entry and return. */
static int attach_beside_returns(struct objects *objects, struct object *object, size_t function)
{
	size_t n = object->links.len;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct object_link link = object->links.data[i];
		bool first = true;

		if (link.part != LINK_PART_RETURNS || link.function != function)
			continue;
		/* On some paths entry and return are links of their own. */
		for (size_t k = 0; k < i; k++)
			first &= object->links.data[k].part != LINK_PART_RETURNS ||
				 object->links.data[k].function != function ||
				 object->links.data[k].owner != link.owner;
		if (first)
			r = object_attach_results(objects, object, function, link.owner, link.pid);
	}
	return r;
}

/* The sites are given up: their links are closed before entry and return are no longer compared. */
static int refuse(struct objects *objects, struct object *object, size_t function)
{
	struct abi_result_check *check = objects->opts.programs->result_check;
	int r;

	__atomic_store_n(&check->is_armed, 0, __ATOMIC_SEQ_CST);
	r = object_close_part(objects, object, LINK_PART_RESULTS, function);
	if (r)
		return r;
	object->results[function] = RESULTS_REFUSED;
	objects->checked = NULL;
	return 0;
}

static int begin(struct objects *objects, struct object *object, size_t function)
{
	struct abi_result_check *check = objects->opts.programs->result_check;
	int r = object_publish_results(objects, object, function);

	objects->checked = object;
	objects->checked_function = function;
	*check = (struct abi_result_check){ .fn = function_id(object, function) };
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	object->results[function] = RESULTS_CHECKED;
	if (r == 0)
		r = attach_beside_returns(objects, object, function);
	if (r)
		return refuse(objects, object, function);
	__atomic_store_n(&check->is_armed, 1, __ATOMIC_SEQ_CST);
	return 0;
}

/* Are there no more calls that a site has seen, and entry and return are to count? */
static bool is_settled(const struct abi_result_check *check)
{
	return __atomic_load_n(&check->pending, __ATOMIC_SEQ_CST) == 0;
}

static int go_on(struct objects *objects)
{
	struct abi_result_check *check = objects->opts.programs->result_check;
	struct object *object = objects->checked;
	size_t function = objects->checked_function;
	int r;

	if (object->results[function] == RESULTS_CHECKED) {
		if (__atomic_load_n(&check->different, __ATOMIC_SEQ_CST))
			return refuse(objects, object, function);
		if (__atomic_load_n(&check->same, __ATOMIC_SEQ_CST) < COMPARED_CALLS)
			return 0;
		__atomic_store_n(&check->is_armed, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&check->fn, 0, __ATOMIC_SEQ_CST);
		object->results[function] = RESULTS_JOINED;
		/* Programs that began before may still take a call for a compared one. */
		return grace_wait();
	}
	if (!is_settled(check))
		return 0;
	r = object_close_part(objects, object, LINK_PART_RETURNS, function);
	if (r)
		return r;
	object->results[function] = RESULTS_COUNT;
	objects->checked = NULL;
	return 0;
}

static void tell(const struct objects *objects, const struct object *object, size_t function)
{
	const struct abi_result_check *check = objects->opts.programs->result_check;
	const char *name = object->plan->probes[function].function;

	if (object->results[function] == RESULTS_COUNT)
		log_debug("%s in %s: one trap for an allocation: %llu calls were the same by "
			  "entry and return",
			  name, object->path, (unsigned long long)check->same);
	if (object->results[function] == RESULTS_REFUSED)
		log_debug("%s in %s: entry and return are counted: %llu of %llu calls were not the "
			  "same by the sites inside",
			  name, object->path, (unsigned long long)check->different,
			  (unsigned long long)(check->same + check->different));
}

static bool is_linked(const struct object *object, size_t function)
{
	vec_foreach(&object->links, link)
		if (link->part == LINK_PART_RETURNS && link->function == function)
			return true;
	return false;
}

int objects_try_results(struct objects *objects)
{
	struct object *checked = objects->checked;
	size_t function = objects->checked_function;
	uint64_t events = 0;
	int r;

	if (checked) {
		enum result_state before = object_result_state(checked, function);

		r = go_on(objects);
		if (object_result_state(checked, function) != before)
			tell(objects, checked, function);
		return r;
	}
	if (objects->opts.results == OBJECTS_RESULTS_NEVER ||
	    objects->opts.results == OBJECTS_RESULTS_FORCED || objects->depth != RECORD_DEPTH_EXACT)
		return 0;
	vec_foreach(&objects->all, at) {
		struct object *object = *at;

		for (size_t i = 0; object->results && i < object->plan->n_probes; i++) {
			if (object->results[i] != RESULTS_UNTRIED || !is_linked(object, i))
				continue;
			if (!events && programs_events(objects->opts.programs, &events))
				return 0;
			return events < WORTHWHILE_CALLS ? 0 : begin(objects, object, i);
		}
	}
	return 0;
}
