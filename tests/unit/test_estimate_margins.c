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
/* Of 1,000 runs: 93 to 97 %, and for the latter the half that so many can be off by. */
#define LEAST_COVERED 930
#define MOST_COVERED 975
/* Blocks that live at once at most. */
#define ROOM 4096
#define MOST_THREADS 8

/* What shows the samples. */
enum sampler_kind {
	OUR_LIBRARY,  /* tells its interval */
	BY_CONTRACT,  /* of another: the weights tell it */
	BY_MULTIPLES, /* as the contract was before: samples in a block times the interval */
	SAMPLER_KINDS,
};

/* How a program's live blocks come and go: it fills `room` places, then replaces so many. */
struct program {
	const char *name;
	uint32_t room, replaced;
	uint32_t waves; /* then frees all, and begins again, so often; 0: once */
	uint64_t least, most;
	bool may_be_wider; /* margins of peaks hold at least 95 %, and where much turns more */
	uint32_t threads;  /* each with a sampler; 0: one */
	uint32_t huge;	   /* one in so many is of 64 intervals; 0: none */
};

static const struct program programs[] = {
	{ .name = "what only grows", .room = 2000, .least = 256, .most = 4096 },
	{ .name = "grows, with some that comes and goes",
	  .room = 2000,
	  .replaced = 700,
	  .least = 256,
	  .most = 4096,
	  .may_be_wider = true },
	{ .name = "replaces all once",
	  .room = 2000,
	  .replaced = 2000,
	  .least = 256,
	  .most = 4096,
	  .may_be_wider = true },
	{ .name = "replaces all ten times",
	  .room = 1000,
	  .replaced = 10000,
	  .least = 1024,
	  .most = 8192,
	  .may_be_wider = true },
	{ .name = "replaces all a hundred times",
	  .room = 400,
	  .replaced = 40000,
	  .least = 1024,
	  .most = 16384,
	  .may_be_wider = true },
	{ .name = "waves of one height",
	  .room = 1000,
	  .waves = 30,
	  .least = 1024,
	  .most = 8192,
	  .may_be_wider = true },
	{ .name = "small blocks", .room = 4000, .least = 16, .most = 60 },
	{ .name = "many small blocks",
	  .room = 4000,
	  .replaced = 20000,
	  .least = 16,
	  .most = 60,
	  .may_be_wider = true },
	{ .name = "short runs of five samples", .room = 40, .least = 1024, .most = 3072 },
	{ .name = "short runs of ten samples", .room = 80, .least = 1024, .most = 3072 },
	{ .name = "blocks around the interval", .room = 100, .least = 8192, .most = 32768 },
	{ .name = "sizes from 64 to 4096",
	  .room = 4000,
	  .replaced = 4000,
	  .least = 64,
	  .most = 4096,
	  .may_be_wider = true },
	{ .name = "eight threads",
	  .room = 2000,
	  .replaced = 2000,
	  .least = 64,
	  .most = 4096,
	  .may_be_wider = true,
	  .threads = 8 },
	{ .name = "sizes from 16 to 4096", .room = 1000, .least = 16, .most = 4096 },
	{ .name = "sizes from 16 to 65536", .room = 500, .least = 16, .most = 65536 },
	{ .name = "huge blocks among small ones",
	  .room = 2000,
	  .least = 16,
	  .most = 2048,
	  .huge = 50 },
};

/* The same numbers of what happens and of what is seen. */
struct books {
	double live, peak, bytes, allocs, frees;
	double seen_live, seen_peak, seen_bytes, seen_allocs, seen_frees;
	double allocs_variance, frees_variance, live_variance;
	double bytes_variance, live_bytes_variance;
	double most_beyond, live_beyond; /* blocks, at most */
	uint64_t samples, live_samples;
	uint64_t known, least; /* abi_proc.sample_interval and .least_sample */
};

struct block {
	uint64_t size, weight;
};

/* What the programs note of a sample (sample.bpf.h). */
static void note(struct books *b, const struct block *block)
{
	uint64_t kind = b->known & ABI_SAMPLE_MULTIPLES;

	if (abi_sample_is_multiple(b->least, block->weight, block->size))
		kind = ABI_SAMPLE_MULTIPLES;
	b->least = abi_sample_least(b->least, block->weight, block->size);
	b->known = abi_sample_told(b->least, kind);
}

/* The variance of bytes, by what is kept of the block and what is known by now. */
static double variance_of(const struct books *b, const struct block *block)
{
	struct abi_block kept = { 0 };

	if (!block->weight)
		return 0;
	kept.size_fn = abi_sample_size_fn(block->weight, block->size);
	return (double)block->weight * (double)abi_sampled_beyond(&kept, b->known);
}

static void come(struct books *b, const struct block *block)
{
	double blocks, variance;

	b->live += (double)block->size;
	b->bytes += (double)block->size;
	b->allocs++;
	b->peak = fmax(b->peak, b->live);
	if (!block->weight)
		return;
	blocks = (double)block->weight / (double)block->size;
	variance = variance_of(b, block) / ((double)block->size * (double)block->size);
	b->seen_live += (double)block->weight;
	b->seen_bytes += (double)block->weight;
	b->seen_allocs += blocks;
	b->allocs_variance += variance;
	b->most_beyond = fmax(b->most_beyond, variance / blocks);
	b->bytes_variance += variance_of(b, block);
	b->samples++;
	b->live_samples++;
	b->seen_peak = fmax(b->seen_peak, b->seen_live);
}

static void go(struct books *b, struct block *block)
{
	double blocks = (double)block->weight / (double)block->size;

	b->live -= (double)block->size;
	b->frees++;
	b->seen_live -= (double)block->weight;
	b->seen_frees += blocks;
	b->live_samples -= block->weight > 0;
	block->size = 0;
}

struct run {
	const struct program *program;
	struct random_numbers random; /* what the program does: the same in each run */
	enum sampler_kind kind;
	struct sample_rate rate;
	struct sampler samplers[MOST_THREADS];
	struct block blocks[ROOM];
	struct books books;
	uint32_t allocations;
};

/* The samples in a block times the interval. */
static uint64_t take_multiples(struct run *run, struct sampler *sampler, uint64_t size)
{
	uint64_t weight = 0;

	while (!sampler_pass(sampler, size)) {
		size -= sampler->left + 1;
		weight += INTERVAL;
		/* It draws the next gap. */
		(void)sampler_take(sampler, &run->rate, sampler->left + 1);
	}
	return weight;
}

static void sample(struct run *run, struct block *block)
{
	uint32_t threads = run->program->threads ? run->program->threads : 1;
	struct sampler *sampler = &run->samplers[run->allocations % threads];

	if (run->kind == BY_MULTIPLES)
		block->weight = take_multiples(run, sampler, block->size);
	else if (!sampler_pass(sampler, block->size))
		block->weight = sampler_take(sampler, &run->rate, block->size);
	if (block->weight && run->kind == OUR_LIBRARY)
		run->books.known = INTERVAL;
	else if (block->weight)
		note(&run->books, block);
}

static void allocate(struct run *run, uint32_t place)
{
	const struct program *p = run->program;
	struct block *block = &run->blocks[place];

	if (block->size)
		go(&run->books, block);
	*block = (struct block){ .size = p->least +
					 random_below(&run->random, p->most - p->least + 1) };
	if (p->huge && run->allocations % p->huge == 0)
		block->size = 64 * INTERVAL;
	sample(run, block);
	run->allocations++;
	come(&run->books, block);
}

/* What lives is walked over, as it is at a snapshot. */
static void walk(struct run *run)
{
	struct books *b = &run->books;

	for (size_t i = 0; i < ROOM; i++) {
		const struct block *block = &run->blocks[i];
		double size = (double)block->size;

		if (!block->weight)
			continue;
		b->live_bytes_variance += variance_of(b, block);
		b->live_variance += variance_of(b, block) / (size * size);
		b->live_beyond =
			fmax(b->live_beyond, variance_of(b, block) / size / (double)block->weight);
	}
	b->frees_variance = fmax(b->allocs_variance - b->live_variance, 0);
}

static void one_run(const struct program *program, enum sampler_kind kind, uint64_t seed,
		    struct run *run)
{
	memset(run, 0, sizeof(*run));
	run->program = program;
	run->kind = kind;
	run->random = random_from(4711);
	sample_rate_init(&run->rate, INTERVAL);
	for (uint64_t i = 0; i < MOST_THREADS; i++)
		sampler_init(&run->samplers[i], &run->rate, seed + (i << 16));
	for (uint32_t wave = 0; wave == 0 || wave < program->waves; wave++) {
		for (uint32_t i = 0; i < program->room && wave > 0; i++)
			go(&run->books, &run->blocks[i]);
		for (uint32_t i = 0; i < program->room; i++)
			allocate(run, i);
		for (uint32_t i = 0; i < program->replaced; i++)
			allocate(run, (uint32_t)random_below(&run->random, program->room));
	}
	walk(run);
}

static struct view_estimate estimate_of(const struct books *b)
{
	const struct view_sampled sampled = {
		.live_bytes = (int64_t)b->seen_live,
		.peak_bytes = (int64_t)b->seen_peak,
		.blocks_variance = (uint64_t)ceil(fmax(b->live_variance, 0)),
		.allocs_variance = (uint64_t)ceil(b->allocs_variance),
		.frees_variance = (uint64_t)ceil(b->frees_variance),
		.live_beyond = (uint64_t)b->live_beyond,
		.most_beyond = (uint64_t)b->most_beyond,
		.allocs = (uint64_t)b->seen_allocs,
		.bytes = (uint64_t)b->seen_bytes,
		.live_blocks = (int64_t)(b->seen_allocs - b->seen_frees),
		.se_bytes = (uint64_t)ceil(sqrt(b->bytes_variance)),
		.se_live_bytes = (uint64_t)ceil(sqrt(fmax(b->live_bytes_variance, 0))),
		.samples = b->samples,
		.live_samples = b->live_samples,
	};

	return view_estimate(ABI_SAMPLE_SHOWN(b->known), &sampled);
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

/*
 * Peaks, and what was freed of blocks of many sizes, may be held more often; and, of multiples,
 * what was allocated before it was seen that they are.
 */
static bool may_be_wider(const struct program *program, enum sampler_kind kind, enum figure figure)
{
	if (figure == PEAK)
		return program->may_be_wider || kind == BY_MULTIPLES;
	if (figure == FREES)
		return true;
	return kind == BY_MULTIPLES && figure == BYTES;
}

static void check(const struct program *program, enum sampler_kind kind, enum figure figure,
		  uint32_t covered)
{
	assert_true(covered >= LEAST_COVERED);
	if (!may_be_wider(program, kind, figure))
		assert_true(covered <= MOST_COVERED);
}

/* Of what nobody freed there is nothing to be known. */
static bool tells(const struct program *program, enum figure figure)
{
	if (figure == FREES)
		return program->replaced > 0 || program->waves > 1;
	return true;
}

static void check_program(const struct program *program, enum sampler_kind kind)
{
	static struct run run;
	double errors[FIGURES], margins[FIGURES], bias = 0;
	uint32_t covered[FIGURES] = {}, plain = 0;

	for (uint64_t seed = 0; seed < RUNS; seed++) {
		one_run(program, kind, seed, &run);
		look(&run.books, errors, margins);
		for (size_t k = 0; k < FIGURES; k++)
			covered[k] += fabs(errors[k]) <= margins[k];
		plain += fabs(errors[PEAK]) <= 1.96 * sqrt(INTERVAL * run.books.seen_peak);
		bias += errors[PEAK] / sqrt(INTERVAL * run.books.peak) / RUNS;
	}
	print_message("# %s: covered", program->name);
	for (size_t k = 0; k < FIGURES; k++)
		print_message(" %s %.1f %%,", figure_names[k], covered[k] / 10.0);
	print_message(" the peak by 1.96 errors %.1f %%: it is %+.2f errors off\n", plain / 10.0,
		      bias);
	for (enum figure k = 0; k < FIGURES; k++)
		if (tells(program, k))
			check(program, kind, k, covered[k]);
}

static void margins_hold_the_truth_in_95_of_100_runs(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(programs); i++)
		check_program(&programs[i], OUR_LIBRARY);
}

/* Of the short ones. */
static void so_do_margins_of_others_samplers(void **state)
{
	(void)state;
	for (enum sampler_kind kind = BY_CONTRACT; kind < SAMPLER_KINDS; kind++)
		for (size_t i = 0; i < N_ELEMENTS(programs); i++)
			if (programs[i].replaced + programs[i].room <= 2000 && !programs[i].waves)
				check_program(&programs[i], kind);
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

		one_run(&programs[3], OUR_LIBRARY, seed, &before);
		one_run(&programs[2], OUR_LIBRARY, seed + RUNS, &after);
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
		cmocka_unit_test(so_do_margins_of_others_samplers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
