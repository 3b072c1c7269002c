/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * By what calls of functions with sites of results are counted, and the programs' table of the
 * sites.
 */
#include "trace/kernel/urgent.h"
#include "trace/live/code/object_state.h"

#include "memtraced.skel.h" /* after the ABI that it is made of */

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

enum result_state object_result_state(const struct object *object, size_t function)
{
	return object->results ? object->results[function] : RESULTS_REFUSED;
}

bool object_may_count_results(const struct object *object, size_t function)
{
	return object->results && object->results[function] != RESULTS_REFUSED;
}

bool object_probes_results(const struct object *object, size_t function)
{
	enum result_state state = object_result_state(object, function);

	return state == RESULTS_CHECKED || state == RESULTS_JOINED || state == RESULTS_COUNT;
}

bool object_counts_results(const struct object *object, size_t function)
{
	enum result_state state = object_result_state(object, function);

	return state == RESULTS_JOINED || state == RESULTS_COUNT;
}

/* What leaves for other code returns there. */
static bool has_usable_sites(const struct objects *objects, const struct plan_probe *probe)
{
	bool returns = objects->opts.returns_unsafe && probe->exits != PLAN_EXIT_SITES;

	for (size_t i = 0; i < probe->n_results && returns; i++)
		if (probe->results[i].see.kind == ABI_RESULT_LEAVES)
			return false;
	return probe->n_results > 0;
}

int object_publish_results(struct objects *objects, struct object *object, size_t function)
{
	const struct plan_probe *probe = &object->facts.plan->probes[function];
	int fd = bpf_map__fd(objects->opts.programs->skel->maps.result_sites), r = 0;

	if (objects->n_result_sites + probe->n_results > ABI_RESULT_SITES)
		return -ENOSPC;
	object->first_site[function] = (uint16_t)objects->n_result_sites;
	for (size_t i = 0; i < probe->n_results && r == 0; i++) {
		struct abi_result_site see = probe->results[i].see;
		uint32_t n = objects->n_result_sites + (uint32_t)i;

		if (objects->opts.results == OBJECTS_RESULTS_WRONG)
			see.result = see.size;
		r = urgent_update(fd, &n, &see);
	}
	objects->n_result_sites += (uint32_t)probe->n_results;
	return r;
}

static bool is_forced(const struct objects *objects)
{
	return objects->opts.results == OBJECTS_RESULTS_FORCED;
}

void object_update_results(const struct objects *objects, struct object *object)
{
	for (size_t i = 0; i < object->facts.plan->n_probes; i++) {
		struct plan_probe *probe = &object->facts.plan->probes[i];

		probe->may_have_results = false;
		if (object->results[i] == RESULTS_UNTRIED && !has_usable_sites(objects, probe))
			object->results[i] = RESULTS_REFUSED;
	}
}

int object_results_new(const struct objects *objects, struct object *object)
{
	size_t n = object->facts.plan->n_probes;

	if (object->results || objects->opts.results == OBJECTS_RESULTS_NEVER)
		return 0;
	object->results = malloc(n ? n : 1);
	object->first_site = calloc(n ? n : 1, sizeof(*object->first_site));
	object->try_after = calloc(n ? n : 1, sizeof(*object->try_after));
	if (!object->results || !object->first_site || !object->try_after)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct plan_probe *probe = &object->facts.plan->probes[i];

		object->results[i] = probe->may_have_results || has_usable_sites(objects, probe) ?
					     RESULTS_UNTRIED :
					     RESULTS_REFUSED;
	}
	for (size_t i = 0; i < n && is_forced(objects); i++)
		if (object->results[i] == RESULTS_UNTRIED &&
		    object_publish_results((struct objects *)objects, object, i) == 0)
			object->results[i] = RESULTS_COUNT;
	return 0;
}
