/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Courses of heaps that are made up from sums: of programs of random calls, whose sums are known,
 * each has to add up to the same.
 */
#include "report/heaptrack/heap_replay.h"

#include "tests/unit/random_numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SITES 6
#define BLOCKS 64
#define SAMPLES 12
#define STEP_NS 1000

struct sums {
	uint64_t allocs, bytes, temporary, live, peak, blocks;
};

/* What a program does, or a made-up course. */
struct heap {
	struct sums sites[SITES];
	uint64_t live, peak, allocs, peak_ns, now_ns;
	int64_t samples[SITES][SAMPLES + 1];
	struct view_point points[SAMPLES + 1];
};

static void take(struct heap *heap, size_t site, uint64_t size)
{
	struct sums *sums = &heap->sites[site];

	sums->allocs++;
	sums->blocks++;
	sums->bytes += size;
	sums->live += size;
	heap->allocs++;
	heap->live += size;
	if (heap->live <= heap->peak)
		return;
	heap->peak = heap->live;
	heap->peak_ns = heap->now_ns;
	for (size_t i = 0; i < SITES; i++)
		heap->sites[i].peak = heap->sites[i].live;
}

static void drop(struct heap *heap, size_t site, uint64_t size, bool temporary)
{
	assert_true(heap->sites[site].live >= size && heap->sites[site].blocks > 0);
	heap->sites[site].live -= size;
	heap->sites[site].blocks--;
	heap->sites[site].temporary += temporary;
	heap->live -= size;
}

static void sample(struct heap *heap, size_t point)
{
	heap->points[point] = (struct view_point){
		.time_ns = heap->now_ns,
		.live_bytes = (int64_t)heap->live,
		.allocs = heap->allocs,
	};
	for (size_t i = 0; i < SITES; i++)
		heap->samples[i][point] = (int64_t)heap->sites[i].live;
}

/* A program of `steps` random calls; some seeds free little, some nearly all at once. */
static void run(struct heap *heap, uint64_t seed, size_t steps)
{
	struct {
		size_t site;
		uint64_t size;
	} blocks[BLOCKS];
	struct random_numbers random = random_from(seed);
	size_t n = 0, frees = 20 + random_below(&random, 60);
	bool last_is_new = false;

	for (size_t i = 0; i < steps; i++) {
		heap->now_ns = i * STEP_NS;
		if (n == BLOCKS || (n > 0 && random_below(&random, 100) < frees)) {
			size_t at = random_below(&random, 2) ? n - 1 : random_below(&random, n);

			drop(heap, blocks[at].site, blocks[at].size, last_is_new && at == n - 1);
			blocks[at] = blocks[--n];
			last_is_new = false;
		} else {
			blocks[n].site = random_below(&random, SITES);
			blocks[n].size = random_below(&random, 10) ? random_below(&random, 500) : 0;
			take(heap, blocks[n].site, blocks[n].size);
			n++;
			last_is_new = true;
		}
		if (SAMPLES * (i + 1) / steps > SAMPLES * i / steps)
			sample(heap, SAMPLES * i / steps);
	}
}

struct course {
	struct heap heap;
	size_t last_site; /* of the block that was taken last, if that was the last step */
	uint64_t last_size;
	bool is_new;
	size_t samples_seen;
};

/* Adds a step up; at samples what is held is what the program held, unless a site did without. */
static int add(const struct replay_step *step, void *userdata)
{
	struct course *course = userdata;

	if (step->what == REPLAY_TIME) {
		assert_true(step->time_ns >= course->heap.now_ns);
		course->heap.now_ns = step->time_ns;
		if (step->point != SIZE_MAX)
			course->samples_seen++;
		return 0;
	}
	for (uint64_t i = 0; i < step->count; i++) {
		bool temporary = step->what == REPLAY_TEMPORARY || (step->temporary && i == 0);

		if (step->what == REPLAY_DROP && temporary)
			assert_true(course->is_new && course->last_site == step->site &&
				    course->last_size == step->size);
		if (step->what != REPLAY_DROP)
			take(&course->heap, step->site, step->size);
		if (step->what != REPLAY_TAKE)
			drop(&course->heap, step->site, step->size, temporary);
		course->is_new = step->what == REPLAY_TAKE;
	}
	course->last_site = step->site;
	course->last_size = step->size;
	return 0;
}

static struct replay_faults replay(const struct heap *heap, size_t n_points, bool series,
				   struct course *course)
{
	_cleanup_(heap_replay_free_p) struct heap_replay *made = NULL;
	const struct view_timeline timeline = {
		.n = n_points,
		.points = (struct view_point *)heap->points,
		.peak_ns = n_points ? heap->peak_ns : UINT64_MAX,
	};
	struct replay_site sites[SITES];

	for (size_t i = 0; i < SITES; i++)
		sites[i] = (struct replay_site){
			.allocs = heap->sites[i].allocs,
			.bytes = heap->sites[i].bytes,
			.temporary = heap->sites[i].temporary,
			.peak_bytes = heap->sites[i].peak,
			.live_bytes = heap->sites[i].live,
			.live_blocks = heap->sites[i].blocks,
			.samples = series && n_points ? heap->samples[i] : NULL,
		};
	*course = (struct course){ .is_new = false };
	assert_int_equal(heap_replay_new(sites, SITES, &timeline, heap->now_ns, &made), 0);
	assert_int_equal(heap_replay_walk(made, add, course), 0);
	return heap_replay_faults(made);
}

/* What readers show: calls, temporary ones, the peak and what is left, of all and of each site. */
static void assert_same(const struct heap *heap, size_t n_points, bool series)
{
	struct course course;
	struct replay_faults faults = replay(heap, n_points, series, &course);
	uint64_t temporary = 0;

	assert_int_equal(faults.extra_allocs, 0);
	assert_int_equal(course.heap.peak, heap->peak);
	assert_int_equal(course.heap.live, heap->live);
	assert_int_equal(course.samples_seen, n_points);
	for (size_t i = 0; i < SITES; i++) {
		const struct sums *made = &course.heap.sites[i], *truth = &heap->sites[i];

		assert_int_equal(made->allocs, truth->allocs);
		assert_int_equal(made->peak, truth->peak);
		assert_int_equal(made->live, truth->live);
		assert_in_range(truth->temporary - made->temporary, 0, faults.missing_temporary);
		temporary += truth->temporary - made->temporary;
	}
	assert_int_equal(temporary, faults.missing_temporary);
	/* Where the sites were not followed, what they held at samples is a guess. */
	if (series || n_points == 0)
		assert_int_equal(faults.missing_temporary, 0);
}

static void sums_of_random_programs_are_kept(void **state)
{
	static const size_t steps[] = { 12, 13, 20, 50, 200, 3000 };

	(void)state;
	for (uint64_t seed = 1; seed <= 500; seed++)
		for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
			struct heap heap = { .now_ns = 0 };

			run(&heap, seed, steps[i]);
			assert_same(&heap, SAMPLES, true);
			assert_same(&heap, SAMPLES, false);
			assert_same(&heap, 0, false);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_of_random_programs_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
