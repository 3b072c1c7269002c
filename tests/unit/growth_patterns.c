/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/growth_patterns.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "tests/unit/random_numbers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define STEPS 10U /* of the program, between two samples */

struct block {
	double born;
	int64_t size;
};

/* Time is the share of the run that is over. */
struct program {
	struct random_numbers random;
	double now, step;
	VEC(struct block) blocks; /* in the order of their birth, unless taken at random */
	int64_t live_bytes;
	bool frees;
	int64_t size; /* of a block, about */
	double a, b, c, state;
};

static double between(struct program *p, double low, double high)
{
	return low + (high - low) * random_unit(&p->random);
}

/* Roughly normal: the sum of twelve. */
static double normal(struct program *p)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += random_unit(&p->random);
	return sum;
}

static void allocate(struct program *p)
{
	struct block block = { p->now, (int64_t)((double)p->size * between(p, 0.5, 1.5)) + 1 };

	assert_int_equal(vec_push(&p->blocks, block), 0);
	p->live_bytes += block.size;
}

static void release(struct program *p, size_t index)
{
	if (index >= p->blocks.len)
		return;
	p->live_bytes -= p->blocks.data[index].size;
	p->blocks.data[index] = p->blocks.data[--p->blocks.len];
	p->frees = true;
}

static void release_any(struct program *p)
{
	if (p->blocks.len)
		release(p, random_below(&p->random, p->blocks.len));
}

static void release_oldest(struct program *p)
{
	size_t oldest = 0;

	for (size_t i = 0; i < p->blocks.len; i++)
		if (p->blocks.data[i].born < p->blocks.data[oldest].born)
			oldest = i;
	release(p, oldest);
}

/* A mean of so many a step, whole ones. */
static size_t some(struct program *p, double mean)
{
	double n = mean + sqrt(mean) * normal(p) * 0.7;

	return n > 0 ? (size_t)(n + random_unit(&p->random)) : 0;
}

/* Of things that come and go there are `level`, on average; each lives for some steps. */
static void churn(struct program *p, double level, double turnover)
{
	size_t gone = some(p, turnover * (double)p->blocks.len);

	while (gone--)
		release_any(p);
	while ((double)p->blocks.len < level)
		allocate(p);
}

/* --- the patterns ---------------------------------------------------------------------------- */

static void leak_begin(struct program *p)
{
	p->a = between(p, 0.3, 4);				       /* blocks a step */
	p->b = random_below(&p->random, 3) ? 0 : between(p, 0.2, 0.5); /* begins then */
	p->c = between(p, 0, 50);				       /* was there before */
	while ((double)p->blocks.len < p->c)
		allocate(p);
}

static void leak_step(struct program *p)
{
	if (p->now >= p->b)
		for (size_t n = some(p, p->a); n; n--)
			allocate(p);
}

/*
 * Blocks that come and go, whose number wanders by itself around a mean and is read anew at each
 * sample, and among them some that stay: 2 to 6 standard deviations of them by the end.
 */
static void slow_leak_begin(struct program *p)
{
	p->a = between(p, 100, 400);		    /* come and go */
	p->b = p->a * between(p, 0.04, 0.12);	    /* standard deviation */
	p->c = p->b * between(p, 2.5, 6) * p->step; /* stay, a step */
}

/* The level moves back to its mean by 0.2 a sample or more. */
static double wander(struct program *p, double deviation)
{
	double keep = pow(0.5, 1.0 / STEPS);

	p->state = keep * p->state + sqrt(1 - keep * keep) * normal(p);
	return deviation * p->state;
}

/* Blocks that stay are those with a birth before all others': they are never taken. */
static void slow_leak_step(struct program *p)
{
	double level = p->a + wander(p, p->b);
	size_t kept = (size_t)(p->c * (p->now / p->step));
	size_t stay = 0;

	/* The first `kept` places are theirs. */
	while (p->blocks.len > kept && (double)(p->blocks.len - kept) > level)
		release(p, kept + random_below(&p->random, p->blocks.len - kept));
	for (stay = some(p, 0.3 * level); stay && p->blocks.len > kept; stay--)
		release(p, kept + random_below(&p->random, p->blocks.len - kept));
	while ((double)p->blocks.len < level + (double)kept)
		allocate(p);
}

static void cache_begin(struct program *p)
{
	p->a = between(p, 100, 500);   /* capacity */
	p->b = between(p, 0.12, 0.55); /* full then */
	p->c = between(p, 0.5, 2);     /* misses, of the rate that filled it */
}

static void cache_fill(struct program *p, void (*evict)(struct program *))
{
	double rate = p->a / p->b * p->step;

	if ((double)p->blocks.len >= p->a)
		rate *= p->c;
	for (size_t n = some(p, rate); n; n--) {
		allocate(p);
		if ((double)p->blocks.len > p->a)
			evict(p);
	}
}

static void random_cache_step(struct program *p)
{
	cache_fill(p, release_any);
}

static void lru_step(struct program *p)
{
	cache_fill(p, release_oldest);
}

/* Fills ever more slowly, as hits become frequent; entries also expire. */
static void expiring_cache_begin(struct program *p)
{
	p->a = between(p, 100, 500);   /* level */
	p->b = between(p, 0.08, 0.14); /* how long an entry lives */
}

static void expiring_cache_step(struct program *p)
{
	for (size_t n = some(p, (double)p->blocks.len * p->step / p->b); n; n--)
		release_any(p);
	for (size_t n = some(p, p->a * p->step / p->b); n; n--)
		allocate(p);
}

/* Freed all at once, or most of it. */
static void sawtooth_begin(struct program *p)
{
	p->a = between(p, 50, 400);				     /* at the top */
	p->b = between(p, 0.06, 0.35);				     /* period */
	p->c = random_below(&p->random, 2) ? 0 : between(p, 0, 0.3); /* stays */
	p->state = p->a * between(p, 0, 1);
	while ((double)p->blocks.len < p->state)
		allocate(p);
}

static void sawtooth_step(struct program *p)
{
	for (size_t n = some(p, p->a / p->b * p->step); n; n--)
		allocate(p);
	if ((double)p->blocks.len >= p->a)
		while ((double)p->blocks.len > p->c * p->a)
			release_oldest(p);
}

static void warm_up_begin(struct program *p)
{
	p->a = between(p, 100, 500);  /* loaded */
	p->b = between(p, 0.02, 0.5); /* until then */
	p->c = random_below(&p->random, 2) ? 0 :
					     between(p, 0, 0.03); /* comes and goes after that */
}

static void warm_up_step(struct program *p)
{
	if ((double)p->blocks.len < p->a) {
		for (size_t n = some(p, p->a / p->b * p->step); n; n--)
			allocate(p);
	} else if (p->c > 0) {
		/* what comes last goes first */
		while ((double)p->blocks.len > p->a)
			release(p, p->blocks.len - 1);
		for (size_t n = some(p, p->c * p->a); n; n--)
			allocate(p);
	}
}

static void busy_begin(struct program *p)
{
	p->a = between(p, 50, 400);
	p->b = p->a * between(p, 0.03, 0.3);
}

static void busy_step(struct program *p)
{
	double level = p->a + wander(p, p->b);

	while ((double)p->blocks.len > level && p->blocks.len)
		release_any(p);
	churn(p, level, 0.3);
}

/* A queue that gets more than it gives: its head is freed, its length grows. */
static void backlog_begin(struct program *p)
{
	p->a = between(p, 5, 15);	      /* come a step */
	p->b = p->a * between(p, 0.86, 0.96); /* go a step */
}

static void backlog_step(struct program *p)
{
	for (size_t n = some(p, p->a); n; n--)
		allocate(p);
	for (size_t n = some(p, p->b); n; n--)
		release_oldest(p);
}

static const struct {
	struct growth_pattern pattern;
	void (*begin)(struct program *);
	void (*step)(struct program *);
} all[] = {
	{ { "leak", GROWTH_LEAK }, leak_begin, leak_step },
	{ { "slow leak, noise", GROWTH_LEAK }, slow_leak_begin, slow_leak_step },
	{ { "bounded cache", GROWTH_CACHE }, cache_begin, random_cache_step },
	{ { "LRU", GROWTH_CACHE }, cache_begin, lru_step },
	{ { "expiring cache", GROWTH_CACHE }, expiring_cache_begin, expiring_cache_step },
	{ { "sawtooth", GROWTH_STEADY }, sawtooth_begin, sawtooth_step },
	{ { "warm-up", GROWTH_STEADY }, warm_up_begin, warm_up_step },
	{ { "busy", GROWTH_STEADY }, busy_begin, busy_step },
	{ { "backlog", GROWTH_GROWING }, backlog_begin, backlog_step },
};

const struct growth_pattern *growth_patterns(size_t *ret_n)
{
	static struct growth_pattern patterns[sizeof(all) / sizeof(all[0])];

	*ret_n = sizeof(all) / sizeof(all[0]);
	for (size_t i = 0; i < *ret_n; i++)
		patterns[i] = all[i].pattern;
	return patterns;
}

static void look(const struct program *p, struct growth_seen *seen)
{
	struct growth_input *input = &seen->input;
	double oldest = p->now;

	vec_foreach(&p->blocks, block) {
		size_t part = (size_t)(block->born / p->now * GROWTH_BIRTHS);

		input->born_bytes[part < GROWTH_BIRTHS ? part : GROWTH_BIRTHS - 1] +=
			(uint64_t)block->size;
		oldest = block->born < oldest ? block->born : oldest;
	}
	input->frees = p->frees;
	input->oldest_ns =
		p->blocks.len ?
			(uint64_t)((p->now - oldest) * (double)seen->times_ns[input->n - 1]) :
			UINT64_MAX;
}

void growth_pattern_run(size_t index, uint64_t seed, size_t n, struct growth_seen *seen)
{
	struct program p = { .random = random_from(seed * 1000 + index),
			     .step = 1.0 / (double)(n * STEPS) };

	*seen = (struct growth_seen){
		.input = { .times_ns = seen->times_ns, .live_bytes = seen->live_bytes, .n = n }
	};
	p.size = 1 << random_below(&p.random, 12);
	all[index].begin(&p);
	for (size_t i = 0; i < n; i++) {
		/* samples come a quarter early or late */
		size_t steps = STEPS * 3 / 4 + random_below(&p.random, STEPS / 2 + 1);

		for (size_t j = 0; j < steps; j++) {
			p.now += p.step;
			all[index].step(&p);
		}
		seen->times_ns[i] = (uint64_t)(p.now / p.step * 1e8);
		seen->live_bytes[i] = p.live_bytes;
	}
	look(&p, seen);
	vec_done(&p.blocks);
}
