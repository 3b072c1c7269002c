/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/calls_in_flight.h"

#include "bpf/abi_calls.h"
#include "trace/bpf/map_memory.h"
#include "trace/bpf/programs.h"

#include "memtraced.skel.h" /* after the ABI that it is made of */

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>

static bool is_older(const struct alloc_call *call, uint16_t fn)
{
	return call->fn == fn && !call->is_sited;
}

static bool is_in_older(const struct thread *thread, uint16_t fn)
{
	return thread->busy && is_older(&thread->call, fn);
}

/* Threads that have a place of their own. */
static int in_places(const struct programs *programs, uint16_t fn, bool *ret_any)
{
	struct thread_place *places;
	size_t len;
	int r = map_memory(programs->skel->maps.thread_places, (void **)&places, &len);

	for (size_t i = 0; r == 0 && i < len / sizeof(*places) && !*ret_any; i++)
		*ret_any = places[i].tid && is_in_older(&places[i].thread, fn);
	if (r == 0)
		munmap(places, len);
	return r;
}

/* All others. */
static int in_threads(const struct programs *programs, uint16_t fn, bool *ret_any)
{
	int fd = bpf_map__fd(programs->skel->maps.threads);
	uint32_t key, *last = NULL;
	struct thread thread;

	while (!*ret_any && bpf_map_get_next_key(fd, last, &key) == 0) {
		last = &key;
		if (bpf_map_lookup_elem(fd, &key, &thread) == 0)
			*ret_any = is_in_older(&thread, fn);
	}
	return *ret_any || errno == ENOENT ? 0 : -errno;
}

/* Calls that a thread has not left, though it is in another one. */
static int in_suspended(const struct programs *programs, uint16_t fn, bool *ret_any)
{
	int fd = bpf_map__fd(programs->skel->maps.suspended_calls);
	struct suspended_key key, *last = NULL;
	struct alloc_call call;

	while (!*ret_any && bpf_map_get_next_key(fd, last, &key) == 0) {
		last = &key;
		if (bpf_map_lookup_elem(fd, &key, &call) == 0)
			*ret_any = is_older(&call, fn);
	}
	return *ret_any || errno == ENOENT ? 0 : -errno;
}

int calls_in_flight(const struct programs *programs, uint16_t fn, bool *ret_any)
{
	int r;

	*ret_any = false;
	r = in_places(programs, fn, ret_any);
	if (r == 0 && !*ret_any)
		r = in_threads(programs, fn, ret_any);
	return r || *ret_any ? r : in_suspended(programs, fn, ret_any);
}
