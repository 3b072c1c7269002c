/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sample/process.h"

#include "sample/probes.h"
#include "sample/refusal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define INTERVAL "MEMTRACED_SAMPLE_INTERVAL"
#define SEED "MEMTRACED_SAMPLE_SEED"

struct sample_process sample_process;
__thread struct sample_thread sample_thread;

/* By which memtraced knows the interval: no weight of blocks chosen for certain tells it. */
SAMPLE_EXPORT uint64_t memtraced_sample_interval;

/* Absent where the C library is not glibc: a child then goes on with its parent's sequence. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			     void *object) __attribute__((weak));

/* A variable that is a number and nothing else; false: it is not. */
static bool number_of(const char *name, uint64_t *ret)
{
	const char *at = getenv(name);
	uint64_t value = 0;

	if (!at || !*at)
		return false;
	for (; *at; at++)
		if (*at < '0' || *at > '9' || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return false;
	*ret = value;
	return true;
}

/* The kernel's sixteen random bytes; the second half is not what stacks are guarded by. */
static uint64_t random_seed(void)
{
	const char *bytes = (const char *)getauxval(AT_RANDOM);
	uint64_t seed = 0;

	if (bytes)
		memcpy(&seed, bytes + sizeof(seed), sizeof(seed));
	return seed;
}

/* By whichever call comes first. Two threads would find the same. */
static void start(void)
{
	uint64_t interval;

	if (!environ)
		return;
	if (!number_of(INTERVAL, &interval) || interval == 0)
		interval = SAMPLE_INTERVAL;
	sample_rate_init(&sample_process.rate, interval);
	memtraced_sample_interval = interval;
	if (!number_of(SEED, &sample_process.seed))
		sample_process.seed = random_seed();
	__atomic_store_n(&sample_process.state, sample_refused() ? SAMPLE_REFUSED : SAMPLE_ON,
			 __ATOMIC_RELEASE);
}

/* Each child has another number, and so another sequence than its parent and its siblings. */
static void before_fork(void)
{
	__atomic_fetch_add(&sample_process.forks, 1, __ATOMIC_RELAXED);
}

static void in_child(void)
{
	struct sample_thread *thread = &sample_thread;

	/* Mixed, so that a child's child has no number that another child has got. */
	sample_process.seed = sampler_mix(sample_process.seed ^ sample_process.forks);
	sample_process.owed = 0; /* the parent's, which tells of it */
	if (thread->seeded)
		sampler_init(&thread->sampler, &sample_process.rate,
			     thread->sampler.random ^ sample_process.forks);
}

__attribute__((constructor)) static void construct(void)
{
	if (sample_process.state == SAMPLE_NOT_STARTED)
		start();
	/* Who has asked for a book is told by the book's probe. */
	if (sample_process.state == SAMPLE_REFUSED && !getenv("MEMTRACED_EXACT"))
		sample_say_refusal();
	else if (sample_process.state != SAMPLE_REFUSED && __register_atfork)
		(void)__register_atfork(before_fork, NULL, in_child,
					NULL); /* no memory: as above */
}

static bool thread_counts(struct sample_thread *thread)
{
	enum sample_state state = __atomic_load_n(&sample_process.state, __ATOMIC_ACQUIRE);

	if (state == SAMPLE_NOT_STARTED)
		start();
	if (state == SAMPLE_REFUSED)
		thread->sampler.left = UINT64_MAX;
	if (sample_process.state != SAMPLE_ON)
		return false;
	if (!thread->seeded) {
		uint64_t number = __atomic_fetch_add(&sample_process.threads, 1, __ATOMIC_RELAXED);

		thread->seeded = true;
		sampler_init(&thread->sampler, &sample_process.rate,
			     sample_process.seed + (number << 16));
	}
	return true;
}

static void end(const void *block, const struct sampled_entry *entry)
{
	if (probe_free_is_heard())
		memtraced_sampled_free(block);
	sampled_set_remove(&sample_process.blocks, block, entry);
}

/*
 * What was sampled at this address has ended: in a way that we have not seen, or in a realloc that
 * has not returned yet. False: another thread is just telling its end.
 */
static bool make_way(const void *block)
{
	struct sampled_entry old;

	if (!sample_may_have(block) || !sampled_set_find(&sample_process.blocks, block, &old))
		return true;
	if (!sampled_set_end(&old))
		return false;
	end(block, &old);
	return true;
}

/*
 * With no room the weight is given to the next sample of any thread, as this one may end: sums stay
 * true, their places do not.
 */
static void tell(void *block, size_t size, uint64_t weight)
{
	uint64_t *owed = &sample_process.owed;

	if (__atomic_load_n(owed, __ATOMIC_RELAXED))
		weight += __atomic_exchange_n(owed, 0, __ATOMIC_RELAXED);
	if (make_way(block) && sampled_set_add(&sample_process.blocks, block))
		memtraced_sampled_alloc(block, size, weight);
	else
		__atomic_fetch_add(owed, weight, __ATOMIC_RELAXED);
}

void sample_allocated(void *block, size_t size)
{
	struct sample_thread *thread = &sample_thread;
	int error = errno;
	uint64_t weight;

	if (thread->busy)
		return;
	thread->drawn++;
	thread->busy = true;
	if (thread_counts(thread)) {
		weight = sampler_take(&thread->sampler, &sample_process.rate, size);
		if (weight && block && probe_alloc_is_heard())
			tell(block, size, weight);
	}
	thread->busy = false;
	errno = error;
}

bool sample_find(const void *block, struct sampled_entry *ret_entry)
{
	return sampled_set_find(&sample_process.blocks, block, ret_entry);
}

void sample_ended(const void *block, const struct sampled_entry *entry)
{
	if (sampled_set_end(entry))
		end(block, entry);
}

bool sample_forget(const void *block)
{
	struct sampled_entry entry;

	if (!sample_find(block, &entry))
		return false;
	sample_ended(block, &entry);
	return true;
}
