/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The statistics of sampling, over programs whose allocations are known. Seeds are the numbers from
 * 0 on, so that each run of the test is the same one; none was chosen.
 */
#include "sample/sampler.h"
#include "tests/unit/random_numbers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))
#define RUNS 1000
#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

/* Two-sided, of the normal distribution. */
#define P_001 2.576
#define P_005 1.960

/* A program: blocks of sizes from `least` to `most`, some of which live on. */
struct program {
	const char *name;
	uint64_t interval;
	uint64_t least, most;
	uint32_t n;
	uint32_t keeps; /* in 100 */
	uint32_t seed;
};

static const struct program programs[] = {
	{ "small blocks", 64 * KIB, 16, 256, 75000, 100, 1 },
	{ "small blocks of which few stay", 64 * KIB, 16, 2048, 75000, 20, 2 },
	{ "blocks around the interval", 64 * KIB, 32 * KIB, 128 * KIB, 400, 100, 3 },
	{ "blocks of many intervals", 4 * KIB, 16 * KIB, 64 * KIB, 40, 100, 4 },
	{ "all sizes", 512 * KIB, 1, 4 * MIB, 100, 100, 5 },
	{ "a short interval", 100, 1, 50, 2000, 50, 6 },
};

struct outcome {
	double truth, mean, deviation;
	uint32_t covered; /* runs whose 95 % interval holds the truth */
};

/* Of a sample of weight w and size s, w (w - s) is the variance, as the contract has it. */
static double one_run(const struct program *program, uint64_t seed, uint64_t *ret_truth,
		      double *ret_variance)
{
	struct random_numbers sizes = random_from(program->seed);
	struct sample_rate rate;
	struct sampler sampler;
	uint64_t estimate = 0, truth = 0;
	double variance = 0;

	sample_rate_init(&rate, program->interval);
	sampler_init(&sampler, &rate, seed);
	for (uint32_t i = 0; i < program->n; i++) {
		uint64_t size =
			program->least + random_below(&sizes, program->most - program->least + 1);
		bool stays = random_below(&sizes, 100) < program->keeps;
		uint64_t weight = 0;

		if (!sampler_pass(&sampler, size))
			weight = sampler_take(&sampler, &rate, size);
		if (stays) {
			truth += size;
			estimate += weight;
			variance += weight ? (double)weight * (double)(weight - size) : 0;
		}
	}
	*ret_truth = truth;
	*ret_variance = variance;
	return (double)estimate;
}

static struct outcome many_runs(const struct program *program)
{
	struct outcome outcome = {};
	double sum = 0, squares = 0, interval = (double)program->interval;

	for (uint64_t seed = 0; seed < RUNS; seed++) {
		uint64_t truth;
		double variance, estimate = one_run(program, seed, &truth, &variance), error;

		outcome.truth = (double)truth;
		error = estimate - outcome.truth;
		sum += error;
		squares += error * error;
		/* as reports have it: docs/hacking/sampling.md, "Margins" */
		if (fabs(error) <= P_005 * sqrt(variance + P_005 * P_005 / 2 * interval * interval))
			outcome.covered++;
	}
	outcome.mean = sum / RUNS;
	outcome.deviation = sqrt((squares - sum * sum / RUNS) / (RUNS - 1));
	return outcome;
}

/* The z test of the mean error: were there none, one program in a hundred would fail. */
static void estimates_are_unbiased_and_intervals_cover_the_truth(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(programs); i++) {
		struct outcome outcome = many_runs(&programs[i]);
		double z = outcome.mean / (outcome.deviation / sqrt(RUNS));

		print_message("# %s: mean error %.1f of %.0f bytes, z = %.2f; %.1f %% covered\n",
			      programs[i].name, outcome.mean, outcome.truth, z,
			      100.0 * outcome.covered / RUNS);
		assert_true(fabs(z) < P_001);
		assert_in_range(outcome.covered, 930, 970);
	}
}

/* Pearson's test over 20 classes of equal probability: 19 degrees of freedom. */
static void gaps_are_geometric(void **state)
{
	enum { CLASSES = 20, DRAWS = 100000 };
	const double chi_square_001 = 36.19, interval = 1000;
	uint32_t counts[CLASSES] = {};
	struct sample_rate rate;
	struct sampler sampler;
	double chi_square = 0;

	(void)state;
	sample_rate_init(&rate, (uint64_t)interval);
	sampler_init(&sampler, &rate, 0);
	for (int i = 0; i < DRAWS; i++) {
		double below = 1 - pow(1 - 1 / interval, (double)sampler.left);

		counts[(int)(below * CLASSES)]++;
		assert_true(sampler_take(&sampler, &rate, sampler.left + 1) >= interval);
	}
	for (int i = 0; i < CLASSES; i++) {
		/* Whole gaps move a class's limits by less than one in a thousand. */
		double expected = (double)DRAWS / CLASSES;

		chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
	}
	print_message("# chi square %.1f\n", chi_square);
	assert_true(chi_square < chi_square_001);
}

static void of_interval_one_each_byte_is_a_sample(void **state)
{
	static const uint64_t sizes[] = { 1, 2, 63, 64, 65, 1 << 20 };
	struct sample_rate rate;
	struct sampler sampler;

	(void)state;
	sample_rate_init(&rate, 1);
	sampler_init(&sampler, &rate, 0);
	assert_true(sampler_pass(&sampler, 0));
	for (size_t i = 0; i < N_ELEMENTS(sizes); i++) {
		assert_false(sampler_pass(&sampler, sizes[i]));
		assert_int_equal(sampler_take(&sampler, &rate, sizes[i]), sizes[i]);
	}
}

static void a_block_that_is_chosen_for_certain_stands_for_itself(void **state)
{
	static const uint64_t sizes[] = { 100 * MIB, 100 * MIB + 1, (UINT64_C(1) << 60) + 1 };
	struct sample_rate rate;
	struct sampler sampler;

	(void)state;
	sample_rate_init(&rate, SAMPLE_INTERVAL);
	sampler_init(&sampler, &rate, 0);
	for (size_t i = 0; i < N_ELEMENTS(sizes); i++)
		assert_int_equal(sampler_take(&sampler, &rate, sizes[i]), sizes[i]);
}

/* S / (1 - exp(-S / R)): beside n intervals of n samples, whose error is R sqrt(S / R). */
static void a_weight_is_the_size_by_the_chance_to_be_chosen(void **state)
{
	const double interval = SAMPLE_INTERVAL;
	struct sample_rate rate;

	(void)state;
	sample_rate_init(&rate, SAMPLE_INTERVAL);
	for (double size = 1; size < 100 * interval; size = floor(size * 1.7) + 1) {
		double expected = size / -expm1(-size / interval);
		struct sampler sampler = { .left = 0, .random = 7 };
		uint64_t weight = sampler_take(&sampler, &rate, (uint64_t)size);

		/* Of gaps of whole bytes the chance differs by less than a part in R. */
		assert_true(fabs((double)weight - expected) <= 1 + expected / interval);
		assert_true((double)weight >= size);
	}
}

static void of_the_longest_interval_nothing_overflows(void **state)
{
	struct sample_rate rate;
	struct sampler sampler;

	(void)state;
	sample_rate_init(&rate, UINT64_MAX);
	for (uint64_t seed = 0; seed < RUNS; seed++) {
		sampler_init(&sampler, &rate, seed);
		assert_true(sampler.left <= UINT64_C(1) << 62);
	}
}

static void a_seed_says_what_comes_and_another_says_something_else(void **state)
{
	struct sample_rate rate;
	struct sampler a, b, c;

	(void)state;
	sample_rate_init(&rate, SAMPLE_INTERVAL);
	sampler_init(&a, &rate, 7);
	sampler_init(&b, &rate, 7);
	sampler_init(&c, &rate, 8);
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_not_equal(a.left, c.left);
}

static void a_zeroed_sampler_lets_nothing_pass_but_nothing(void **state)
{
	struct sampler sampler = {};

	(void)state;
	assert_true(sampler_pass(&sampler, 0));
	assert_false(sampler_pass(&sampler, 1));
	assert_false(sampler_pass(&sampler, SIZE_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(estimates_are_unbiased_and_intervals_cover_the_truth),
		cmocka_unit_test(gaps_are_geometric),
		cmocka_unit_test(of_interval_one_each_byte_is_a_sample),
		cmocka_unit_test(a_block_that_is_chosen_for_certain_stands_for_itself),
		cmocka_unit_test(a_weight_is_the_size_by_the_chance_to_be_chosen),
		cmocka_unit_test(of_the_longest_interval_nothing_overflows),
		cmocka_unit_test(a_seed_says_what_comes_and_another_says_something_else),
		cmocka_unit_test(a_zeroed_sampler_lets_nothing_pass_but_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
