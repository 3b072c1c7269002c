/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/calls_in_flight.h"

#include "bpf/abi_calls.h"
#include "trace/bpf/bpf_batch.h"
#include "trace/bpf/map_memory.h"
#include "trace/bpf/programs.h"

#include "memtraced.skel.h" /* after the ABI that it is made of */

#include <sys/mman.h>

static bool is_older(const struct alloc_call *call, uint16_t fn)
{
	return call->fn == fn && !call->is_sited;
}

static bool is_in_older(const struct thread *thread, uint16_t fn)
{
	return thread->busy && is_older(&thread->call, fn);
}

/* Threads that have a place of their own: 1, 0, or negative errno. */
static int in_places(const struct programs *programs, uint16_t fn)
{
	struct thread_place *places;
	bool any = false;
	size_t len;
	int r = map_memory(programs->skel->maps.thread_places, (void **)&places, &len);

	if (r)
		return r;
	for (size_t i = 0; i < len / sizeof(*places) && !any; i++)
		any = places[i].tid && is_in_older(&places[i].thread, fn);
	munmap(places, len);
	return any;
}

/* All others; 1 ends the reading. */
static int on_threads(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct thread *threads = values;
	const uint16_t *fn = userdata;

	(void)keys;
	for (size_t i = 0; i < n; i++)
		if (is_in_older(&threads[i], *fn))
			return 1;
	return 0;
}

/* The same of calls that a thread has not left, though it is in another one. */
static int on_suspended(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct alloc_call *calls = values;
	const uint16_t *fn = userdata;

	(void)keys;
	for (size_t i = 0; i < n; i++)
		if (is_older(&calls[i], *fn))
			return 1;
	return 0;
}

int calls_in_flight(const struct programs *programs, uint16_t fn)
{
	const struct memtraced_bpf *skel = programs->skel;
	int r = in_places(programs, fn);

	if (r == 0)
		r = bpf_batch_read(bpf_map__fd(skel->maps.threads), sizeof(uint32_t),
				   sizeof(struct thread), on_threads, &fn);
	if (r == 0)
		r = bpf_batch_read(bpf_map__fd(skel->maps.suspended_calls),
				   sizeof(struct suspended_key), sizeof(struct alloc_call),
				   on_suspended, &fn);
	return r;
}
