/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One trap for an allocation in place of two: functions whose plan has sites of results are counted
 * by entry and return first. When calls come in numbers, what the sites see is compared with that;
 * if all was the same, the sites count, and the others' links are closed when no call is left that
 * they alone would see the end of. One function is compared at a time: result_site.bpf.h.
 */
#include "base/log.h"
#include "trace/bpf/calls_in_flight.h"
#include "trace/bpf/grace.h"
#include "trace/live/code/object_state.h"

#include "memtraced.skel.h" /* after the ABI that it is made of */

#include <errno.h>
#include <stdlib.h>
#include <time.h>

/*
 * Calls after which it is worth the while: what is compared costs three traps and the program takes
 * 30 ms to load, which a run that ends before does not pay for.
 */
#define WORTHWHILE_CALLS 100000
/* Which function most calls are of shows by the blocks that it has made: so many at least. */
#define WORTHWHILE_BLOCKS 20000
/* It is looked for again when this part as many calls more have been counted. */
#define LOOK_AGAIN_PART 4
/* Calls that are compared. */
#define COMPARED_CALLS 10000
/*
 * The least share of them that one site must see whole. Others take two traps, and more work than
 * entry and return in one program: by a seventh more of them it costs as much. A trap in code that
 * others call, too, costs two thirds of what such a call saves.
 */
#define WHOLE_PERCENT 30
#define MISSED_PERCENT 67
/* Where there were fewer it is tried again when it has made this times as many blocks. */
#define AGAIN_TIMES 4
/* So long they are waited for at once, as each call costs more meanwhile. */
#define WAIT_MS 60
/* So often; its calls have stopped, or one that began before was left and none was made since. */
#define MAX_TURNS 50

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
static int give_up(struct objects *objects, struct object *object, size_t function,
		   enum result_state state)
{
	struct abi_result_check *check = objects->opts.programs->result_check;
	int r;

	__atomic_store_n(&check->is_armed, 0, __ATOMIC_SEQ_CST);
	r = object_close_part(objects, object, LINK_PART_RESULTS, function);
	if (r)
		return r;
	object->results[function] = (uint8_t)state;
	objects->checked = NULL;
	return 0;
}

static bool is_compared(const struct abi_result_check *check)
{
	return __atomic_load_n(&check->different, __ATOMIC_SEQ_CST) ||
	       __atomic_load_n(&check->same, __ATOMIC_SEQ_CST) >= COMPARED_CALLS;
}

/* What ends at a `ret` costs a single step, which no site of results does. */
static bool pays_off(const struct object *object, size_t function,
		     const struct abi_result_check *check)
{
	return object->facts.plan->probes[function].exits == PLAN_EXIT_SITES ||
	       check->whole * 100 >= check->same * WHOLE_PERCENT + check->missed * MISSED_PERCENT;
}

static void wait_compared(const struct abi_result_check *check)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	for (int i = 0; i < WAIT_MS && !is_compared(check); i++)
		(void)nanosleep(&ms, NULL); /* a signal ends it sooner: it is tried again */
}

static int give_up_late(struct objects *objects, struct object *object, size_t function)
{
	return ++objects->turns < MAX_TURNS ? 0 :
					      give_up(objects, object, function, RESULTS_UNTRIED);
}

/* The sites count, beside entry and return. */
static int join(struct objects *objects, struct object *object, size_t function)
{
	struct abi_result_check *check = objects->opts.programs->result_check;

	if (__atomic_load_n(&check->different, __ATOMIC_SEQ_CST))
		return give_up(objects, object, function, RESULTS_REFUSED);
	if (!pays_off(object, function, check))
		return give_up(objects, object, function, RESULTS_UNTRIED);
	__atomic_store_n(&check->is_armed, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&check->fn, 0, __ATOMIC_SEQ_CST);
	object->results[function] = RESULTS_JOINED;
	objects->turns = 0;
	/* Programs that began before may still take a call for a compared one. */
	return grace_wait();
}

/*
 * Not while a call is on its way that a site has seen and entry and return are to count, or one
 * that had passed all sites before these were probed.
 */
static int can_close_returns(const struct objects *objects, const struct object *object,
			     size_t function, bool *ret_can)
{
	const struct abi_result_check *check = objects->opts.programs->result_check;
	int r = 1;

	if (__atomic_load_n(&check->pending, __ATOMIC_SEQ_CST) == 0)
		r = calls_in_flight(objects->opts.programs, function_id(object, function));
	*ret_can = r == 0;
	return r < 0 ? r : 0;
}

static int go_on(struct objects *objects)
{
	struct abi_result_check *check = objects->opts.programs->result_check;
	struct object *object = objects->checked;
	size_t function = objects->checked_function;
	bool can_close;
	int r = 0;

	if (object->results[function] == RESULTS_CHECKED) {
		wait_compared(check);
		if (!is_compared(check))
			return give_up_late(objects, object, function);
		r = join(objects, object, function);
	}
	if (r || object->results[function] != RESULTS_JOINED)
		return r;
	r = can_close_returns(objects, object, function, &can_close);
	if (r || !can_close)
		return r ? r : give_up_late(objects, object, function);
	r = object_close_part(objects, object, LINK_PART_RETURNS, function);
	if (r)
		return r;
	object->results[function] = RESULTS_COUNT;
	objects->checked = NULL;
	return 0;
}

static int begin(struct objects *objects, struct object *object, size_t function)
{
	struct abi_result_check *check = objects->opts.programs->result_check;
	int r = object_publish_results(objects, object, function);

	objects->checked = object;
	objects->checked_function = function;
	objects->turns = 0;
	*check = (struct abi_result_check){ .fn = function_id(object, function) };
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	object->results[function] = RESULTS_CHECKED;
	if (r == 0)
		r = attach_beside_returns(objects, object, function);
	if (r)
		return give_up(objects, object, function, RESULTS_REFUSED);
	__atomic_store_n(&check->sited, check->fn, __ATOMIC_SEQ_CST);
	__atomic_store_n(&check->is_armed, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static void tell(const struct objects *objects, const struct object *object, size_t function)
{
	const struct abi_result_check *check = objects->opts.programs->result_check;
	const char *name = object->facts.plan->probes[function].function;

	if (object->results[function] == RESULTS_COUNT)
		log_debug("%s in %s: one trap for an allocation: %llu calls were the same by "
			  "entry and return",
			  name, object->path, (unsigned long long)check->same);
	if (object->results[function] == RESULTS_UNTRIED)
		log_debug("%s in %s: entry and return are counted: of %llu calls %llu would take "
			  "one trap",
			  name, object->path, (unsigned long long)check->same,
			  (unsigned long long)check->whole);
	if (object->results[function] == RESULTS_REFUSED)
		log_debug("%s in %s: entry and return are counted: %llu of %llu calls were not the "
			  "same by the sites inside",
			  name, object->path, (unsigned long long)check->different,
			  (unsigned long long)(check->same + check->different));
}

static int emit_differ(const struct objects *objects, const struct object *object, size_t function,
		       record_fn fn, void *userdata)
{
	const struct abi_result_check *check = objects->opts.programs->result_check;
	const struct record record = {
		.type = RECORD_SITES_DIFFER,
		.sites_differ = { .function = object->facts.plan->probes[function].function,
				  .object = object->path,
				  .calls = check->same + check->different,
				  .different = check->different },
	};

	return check->different ? fn(&record, userdata) : 0;
}

static bool is_linked(const struct object *object, size_t function)
{
	vec_foreach(&object->links, link)
		if (link->part == LINK_PART_RETURNS && link->function == function)
			return true;
	return false;
}

/* How many blocks each function has made, of the sites that the programs find first. */
static int count_blocks(const struct objects *objects, uint64_t **ret_blocks)
{
	const struct abi_site_entry *sites = objects->opts.programs->sites;
	uint64_t *blocks = calloc(objects->next_fn + 1, sizeof(*blocks));

	for (size_t i = 0; blocks && sites && i < ABI_SITE_ENTRIES; i++)
		if (sites[i].state == ABI_SITE_USED && sites[i].key.fn < objects->next_fn)
			blocks[sites[i].key.fn] += sites[i].site.now.allocs;
	*ret_blocks = blocks;
	return blocks ? 0 : -ENOMEM;
}

static bool is_worth_it(const struct object *object, size_t function, uint64_t blocks)
{
	return object->results[function] == RESULTS_UNTRIED && blocks >= WORTHWHILE_BLOCKS &&
	       blocks >= object->try_after[function] && is_linked(object, function);
}

/* Among all that are worth it the one that has made most blocks; NULL: there is none. */
static struct object *most_worth(struct objects *objects, const uint64_t *blocks,
				 size_t *ret_function, uint64_t *ret_blocks)
{
	struct object *found = NULL;
	uint64_t most = 0;

	vec_foreach(&objects->all, at) {
		struct object *object = *at;

		for (size_t i = 0; object->results && i < object->facts.plan->n_probes; i++) {
			uint64_t n = blocks[object->first_fn + i];

			if (n <= most || !is_worth_it(object, i, n))
				continue;
			most = n;
			found = object;
			*ret_function = i;
		}
	}
	*ret_blocks = most;
	return found;
}

/* The same, with its sites. 0 or -ENOMEM. */
static int find_most_worth(struct objects *objects, const uint64_t *blocks,
			   struct object **ret_object, size_t *ret_function)
{
	struct object *object;
	uint64_t n;
	int r = 0;

	while ((object = most_worth(objects, blocks, ret_function, &n)) && r == 0 &&
	       object->facts.plan->probes[*ret_function].may_have_results) {
		r = object_find_results(objects, object);
		object_update_results(objects, object);
	}
	if (object)
		object->try_after[*ret_function] = n * AGAIN_TIMES;
	*ret_object = object;
	return r;
}

/* The function that is to be tried next, if it is time to look for one; NULL: none. */
static int next_to_try(struct objects *objects, struct object **ret_object, size_t *ret_function)
{
	uint64_t *blocks, events = 0;
	int r;

	*ret_object = NULL;
	if (programs_events(objects->opts.programs, &events) || events < WORTHWHILE_CALLS ||
	    events < objects->try_results_after)
		return 0;
	objects->try_results_after = events + events / LOOK_AGAIN_PART;
	r = count_blocks(objects, &blocks);
	if (r == 0)
		r = find_most_worth(objects, blocks, ret_object, ret_function);
	free(blocks);
	return r;
}

int objects_try_results(struct objects *objects, record_fn fn, void *userdata)
{
	enum objects_results how = objects->opts.results;
	struct object *object = objects->checked;
	size_t function = objects->checked_function;
	int r = 0;

	if (how == OBJECTS_RESULTS_NEVER || how == OBJECTS_RESULTS_FORCED ||
	    objects->depth != RECORD_DEPTH_EXACT)
		return 0;
	if (!object) {
		r = next_to_try(objects, &object, &function);
		r = r == 0 && object ? begin(objects, object, function) : r;
	}
	if (r == 0 && objects->checked)
		r = go_on(objects);
	if (r || !object || objects->checked)
		return r;
	tell(objects, object, function);
	return object->results[function] == RESULTS_REFUSED ?
		       emit_differ(objects, object, function, fn, userdata) :
		       0;
}
