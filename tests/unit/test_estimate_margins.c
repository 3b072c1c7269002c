/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether what reports say of their estimates is true: programs whose blocks are known are sampled
 * in 1,000 runs each, and their margins must hold the truth in 95 of 100. Peaks, which are chosen
 * for being large, have their own programs. Seeds are the numbers from 0 on; none was chosen.
 */
#include "bpf/abi_sample.h"
#include "report/view/view_estimate.h"
#include "sample/sampler.h"
#include "tests/unit/random_numbers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))
#define RUNS 1000
#define KIB UINT64_C(1024)
#define INTERVAL (16 * KIB)
/* Of 1,000 runs with 95 %: below that less than one time in a thousand, by the binomial. */
#define LEAST_COVERED 928
#define MOST_COVERED 971
/* Blocks that live at once at most. */
#define ROOM 4096

/* How a program's live blocks come and go: it fills `room` places, then replaces so many. */
struct program {
	const char *name;
	uint32_t room, replaced;
	uint32_t waves; /* then frees all, and begins again, so often */
	uint64_t least, most;
	bool may_be_wider; /* margins of peaks hold at least 95 %, and where much turns more */
};

static const struct program programs[] = {
	{ "what only grows", 2000, 0, 1, 256, 4096, false },
	{ "grows, with some that comes and goes", 2000, 700, 1, 256, 4096, true },
	{ "replaces all once", 2000, 2000, 1, 256, 4096, true },
	{ "replaces all ten times", 1000, 10000, 1, 1024, 8192, true },
	{ "replaces all a hundred times", 400, 40000, 1, 1024, 16384, true },
	{ "waves of one height", 1000, 0, 30, 1024, 8192, true },
	{ "small blocks", 4000, 0, 1, 16, 60, false },
	{ "many small blocks", 4000, 40000, 1, 16, 60, true },
	{ "short runs of five samples", 40, 0, 1, 1024, 3072, false },
	{ "short runs of ten samples", 80, 0, 1, 1024, 3072, false },
	{ "blocks around the interval", 100, 0, 1, 8192, 32768, false },
	{ "sizes from 64 to 4096", 4000, 4000, 1, 64, 4096, true },
};

/* The same numbers of what happens and of what is seen. */
struct books {
	double live, peak, bytes, allocs, frees;
	double seen_live, seen_peak, seen_bytes, seen_allocs, seen_frees;
	double allocs_variance, frees_variance, live_variance;
	double bytes_variance, live_bytes_variance;
	uint64_t samples, live_samples;
};

struct block {
	uint64_t size, weight;
};

static void come(struct books *b, const struct block *block)
{
	double blocks = (double)block->weight / (double)block->size;
	double variance = block->weight ? blocks * (blocks - 1) : 0;

	b->live += (double)block->size;
	b->bytes += (double)block->size;
	b->allocs++;
	b->seen_live += (double)block->weight;
	b->seen_bytes += (double)block->weight;
	b->seen_allocs += blocks;
	b->allocs_variance += variance;
	b->live_variance += variance;
	b->bytes_variance += variance * (double)block->size * (double)block->size;
	b->live_bytes_variance += variance * (double)block->size * (double)block->size;
	b->samples += block->weight > 0;
	b->live_samples += block->weight > 0;
	b->peak = fmax(b->peak, b->live);
	b->seen_peak = fmax(b->seen_peak, b->seen_live);
}

static void go(struct books *b, struct block *block)
{
	double blocks = (double)block->weight / (double)block->size;
	double variance = block->weight ? blocks * (blocks - 1) : 0;

	b->live -= (double)block->size;
	b->frees++;
	b->seen_live -= (double)block->weight;
	b->seen_frees += blocks;
	b->frees_variance += variance;
	b->live_variance -= variance;
	b->live_bytes_variance -= variance * (double)block->size * (double)block->size;
	b->live_samples -= block->weight > 0;
	block->size = 0;
}

struct run {
	const struct program *program;
	struct random_numbers random; /* what the program does: the same in each run */
	struct sample_rate rate;
	struct sampler sampler;
	struct block blocks[ROOM];
	struct books books;
};

static void allocate(struct run *run, uint32_t place)
{
	const struct program *p = run->program;
	struct block *block = &run->blocks[place];

	if (block->size)
		go(&run->books, block);
	*block = (struct block){ .size = p->least +
					 random_below(&run->random, p->most - p->least + 1) };
	if (!sampler_pass(&run->sampler, block->size))
		block->weight = sampler_take(&run->sampler, &run->rate, block->size);
	come(&run->books, block);
}

static void one_run(const struct program *program, uint64_t seed, struct run *run)
{
	memset(run, 0, sizeof(*run));
	run->program = program;
	run->random = random_from(4711);
	sample_rate_init(&run->rate, INTERVAL);
	sampler_init(&run->sampler, &run->rate, seed);
	for (uint32_t wave = 0; wave < program->waves; wave++) {
		for (uint32_t i = 0; i < program->room && wave > 0; i++)
			go(&run->books, &run->blocks[i]);
		for (uint32_t i = 0; i < program->room; i++)
			allocate(run, i);
		for (uint32_t i = 0; i < program->replaced; i++)
			allocate(run, (uint32_t)random_below(&run->random, program->room));
	}
}

static struct view_estimate estimate_of(const struct books *b)
{
	const struct view_sampled sampled = {
		.live_bytes = (int64_t)b->seen_live,
		.peak_bytes = (int64_t)b->seen_peak,
		.blocks_variance = (uint64_t)ceil(fmax(b->live_variance, 0)),
		.allocs_variance = (uint64_t)ceil(b->allocs_variance),
		.frees_variance = (uint64_t)ceil(b->frees_variance),
		.allocs = (uint64_t)b->seen_allocs,
		.bytes = (uint64_t)b->seen_bytes,
		.live_blocks = (int64_t)(b->seen_allocs - b->seen_frees),
		.se_bytes = (uint64_t)ceil(sqrt(b->bytes_variance)),
		.se_live_bytes = (uint64_t)ceil(sqrt(fmax(b->live_bytes_variance, 0))),
		.samples = b->samples,
		.live_samples = b->live_samples,
	};

	return view_estimate(INTERVAL, &sampled);
}

enum figure { LIVE, BLOCKS, BYTES, ALLOCS, FREES, PEAK, FIGURES };

static const char *const figure_names[] = {
	[LIVE] = "live",     [BLOCKS] = "live blocks", [BYTES] = "allocated",
	[ALLOCS] = "allocs", [FREES] = "frees",	       [PEAK] = "peak",
};

static void margins_of(const struct view_estimate *estimate, double margins[FIGURES])
{
	margins[LIVE] = (double)estimate->ci95_bytes;
	margins[BLOCKS] = (double)estimate->ci95_blocks;
	margins[BYTES] = (double)estimate->ci95_allocated_bytes;
	margins[ALLOCS] = (double)estimate->ci95_allocs;
	margins[FREES] = (double)estimate->ci95_frees;
	margins[PEAK] = (double)estimate->ci95_peak_bytes;
}

/* What a figure is off by, and what it may be off by. */
static void look(const struct books *b, double errors[FIGURES], double margins[FIGURES])
{
	const struct view_estimate estimate = estimate_of(b);

	errors[LIVE] = b->seen_live - b->live;
	errors[BLOCKS] = b->seen_allocs - b->seen_frees - (b->allocs - b->frees);
	errors[BYTES] = b->seen_bytes - b->bytes;
	errors[ALLOCS] = b->seen_allocs - b->allocs;
	errors[FREES] = b->seen_frees - b->frees;
	errors[PEAK] = b->seen_peak - b->peak;
	margins_of(&estimate, margins);
}

static void check(const struct program *program, enum figure figure, uint32_t covered)
{
	assert_true(covered >= LEAST_COVERED);
	if (figure != PEAK || !program->may_be_wider)
		assert_true(covered <= MOST_COVERED);
}

/* Of what nobody freed there is nothing to be known. */
static bool tells(const struct program *program, enum figure figure)
{
	if (figure == FREES)
		return program->replaced > 0 || program->waves > 1;
	return true;
}

static void margins_hold_the_truth_in_95_of_100_runs(void **state)
{
	static struct run run;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(programs); i++) {
		double errors[FIGURES], margins[FIGURES], bias = 0;
		uint32_t covered[FIGURES] = {}, plain = 0;

		for (uint64_t seed = 0; seed < RUNS; seed++) {
			one_run(&programs[i], seed, &run);
			look(&run.books, errors, margins);
			for (size_t k = 0; k < FIGURES; k++)
				covered[k] += fabs(errors[k]) <= margins[k];
			plain += fabs(errors[PEAK]) <= 1.96 * sqrt(INTERVAL * run.books.seen_peak);
			bias += errors[PEAK] / sqrt(INTERVAL * run.books.peak) / RUNS;
		}
		print_message("# %s: covered", programs[i].name);
		for (size_t k = 0; k < FIGURES; k++)
			print_message(" %s %.1f %%,", figure_names[k], covered[k] / 10.0);
		print_message(" the peak by 1.96 errors %.1f %%: it is %+.2f errors off\n",
			      plain / 10.0, bias);
		for (enum figure k = 0; k < FIGURES; k++)
			if (tells(&programs[i], k))
				check(&programs[i], k, covered[k]);
	}
}

/* As two runs are compared: the second replaces less than the first. */
static void margins_of_differences_hold_what_has_changed(void **state)
{
	static struct run before, after;
	uint32_t covered[FIGURES] = {};

	(void)state;
	for (uint64_t seed = 0; seed < RUNS; seed++) {
		double first[FIGURES], second[FIGURES], margins[FIGURES];
		struct view_estimate change, other;

		one_run(&programs[3], seed, &before);
		one_run(&programs[2], seed + RUNS, &after);
		look(&before.books, first, margins);
		look(&after.books, second, margins);
		change = estimate_of(&before.books);
		other = estimate_of(&after.books);
		view_estimate_subtract(&change, &other);
		margins_of(&change, margins);
		for (size_t k = 0; k < FIGURES; k++)
			covered[k] += fabs(second[k] - first[k]) <= margins[k];
	}
	for (size_t k = 0; k < FIGURES; k++) {
		print_message("# %s: %.1f %%\n", figure_names[k], covered[k] / 10.0);
		assert_true(covered[k] >= LEAST_COVERED);
		assert_true(k == PEAK || covered[k] <= MOST_COVERED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(margins_of_differences_hold_what_has_changed),
		cmocka_unit_test(margins_hold_the_truth_in_95_of_100_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
