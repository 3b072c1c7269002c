/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the library knows of the process and of each thread, and what it does at samples. It holds
 * no lock and has no thread, file or handler, so there is nothing that fork, a signal's handler or
 * a thread's end could find half done. A thread whose handler allocates while it is at a sample
 * does not count what the handler allocates.
 */
#ifndef MEMTRACED_SAMPLE_PROCESS_H
#define MEMTRACED_SAMPLE_PROCESS_H

#include "sample/sampled_set.h"
#include "sample/sampler.h"

enum sample_state {
	SAMPLE_NOT_STARTED, /* the C library has not got its environment yet */
	SAMPLE_ON,
	SAMPLE_REFUSED, /* all calls are passed on, and nothing else */
};

struct sample_process {
	enum sample_state state;
	struct sample_rate rate;
	uint64_t seed;
	uint64_t threads; /* that have been given a seed */
	uint64_t forks;
	uint64_t owed; /* weight of samples for which sampled_set had no room */
	struct sampled_set blocks;
};

struct sample_thread {
	struct sampler sampler;
	bool seeded;
	bool busy;
	uint64_t drawn; /* calls of sample_allocated() */
};

extern struct sample_process sample_process __attribute__((visibility("hidden")));
extern __thread struct sample_thread sample_thread __attribute__((visibility("hidden")));

#define SAMPLE_EXPORT __attribute__((visibility("default")))
#define SAMPLE_RARELY(x) __builtin_expect(!!(x), 0)
#define SAMPLE_SELDOM __attribute__((noinline, cold))
/*
 * What each call runs and reads lies together, as a program whose own code and data fill the caches
 * pays for each page and line of ours: the functions' code, and the addresses that they jump to.
 */
#define SAMPLE_HOT __attribute__((hot))
#define SAMPLE_PASSED __attribute__((noinline, hot))
#define SAMPLE_BESIDE_NEXT __attribute__((section(".data")))

/* True: nothing of these bytes is a sample, and they are counted; else call sample_allocated(). */
static inline bool sample_pass(size_t size)
{
	return sampler_pass(&sample_thread.sampler, size);
}

static inline bool sample_may_have(const void *block)
{
	return SAMPLE_RARELY(sampled_set_may_have(&sample_process.blocks, block));
}

/* Behind an allocation that sample_pass() has not let pass. NULL is legal: it failed. */
void sample_allocated(void *block, size_t size);

/*
 * Around a call of a function that may itself call one of ours, by which the block counts then
 * (musl's calloc calls malloc): the mark is another one afterwards.
 */
static inline uint64_t sample_mark(void)
{
	return sample_thread.sampler.left ^ sample_thread.drawn << 40;
}

static inline void sample_returned(void *block, size_t size, uint64_t mark)
{
	if (sample_mark() == mark && !sample_pass(size))
		sample_allocated(block, size);
}

/* Before a block goes for which sample_may_have() is true. True: it was sampled. */
bool sample_forget(const void *block);

/*
 * Around a call that ends the block only if it succeeds. Before: whether it is sampled. After it
 * has succeeded: its end is told, unless a sample that has come to its address meanwhile has told
 * it.
 */
bool sample_find(const void *block, struct sampled_entry *ret_entry);
void sample_ended(const void *block, const struct sampled_entry *entry);

#endif
