/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * samples ROUNDS [INTERVAL [WAIT [FORK]]]: blocks of known sizes, by an allocator that shows
 * samples of them (sampler.h), one in INTERVAL bytes or as MEMTRACED_SAMPLE_INTERVAL says. With
 * DLOPEN the allocator is in a library that is loaded in between. Prints of each place what was
 * made there and what of it was shown. WAIT: for a line of input; then for somebody who listens to
 * the probes, and one more line; and for another at the end. FORK: a child that does nothing.
 */
#include "tests/targets/sampler.h"
#include "tests/targets/target.h"

#ifdef DLOPEN
#include <dlfcn.h>
#include <libgen.h>
#endif

#include <sys/wait.h>

#define KEPT 4096

struct place {
	const char *name;
	struct sampled_place sums;
};

static struct place small = { .name = "make_small" }, large = { .name = "make_large" },
		    freed = { .name = "make_freed" };

static const struct sampler *find_sampler(void)
{
#ifdef DLOPEN
	char exe[4096], path[5000];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	const struct sampler *found;
	void *library;

	CHECK(len > 0);
	exe[len] = '\0';
	snprintf(path, sizeof(path), "%s/libsampler.so", dirname(exe));
	library = dlopen(path, RTLD_NOW);
	CHECK(library);
	found = dlsym(library, "sampler");
	CHECK(found);
	return found;
#else
	return &sampler;
#endif
}

static __attribute__((noipa)) void *make_small(const struct sampler *s, size_t size)
{
	void *block = s->allocate(&small.sums, size);

	CHECK(block);
	return block;
}

static __attribute__((noipa)) void *make_large(const struct sampler *s, size_t size)
{
	void *block = s->allocate(&large.sums, size);

	CHECK(block);
	return block;
}

static __attribute__((noipa)) void make_freed(const struct sampler *s, size_t size)
{
	void *block = s->allocate(&freed.sums, size);

	CHECK(block);
	s->release(&freed.sums, block, size);
}

static void say(const struct place *place)
{
	const struct sampled_place *p = &place->sums;

	tell("place %s %llu %llu %llu %llu %llu %llu %llu %llu\n", place->name,
	     (unsigned long long)p->blocks, (unsigned long long)p->bytes,
	     (unsigned long long)p->live_blocks, (unsigned long long)p->live_bytes,
	     (unsigned long long)p->samples, (unsigned long long)p->weight,
	     (unsigned long long)p->live_samples, (unsigned long long)p->live_weight);
}

/* It holds what its parent does, to the end. */
static void run_child(void)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0)
		_exit(0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(int argc, char **argv)
{
	static void *kept[KEPT];
	static size_t sizes[KEPT];
	uint64_t rounds = argument(argc, argv, 1, 1000), i, state = 7;
	const char *asked = getenv("MEMTRACED_SAMPLE_INTERVAL");
	uint64_t interval = argument(argc, argv, 2, asked ? strtoull(asked, NULL, 10) : 65536);
	bool waits = argument(argc, argv, 3, 0);
	const struct sampler *s;

	if (waits) {
		tell("ready\n");
		wait_for_line();
	}
	s = find_sampler();
	while (waits && !s->is_watched())
		usleep(1000);
	if (waits) {
		tell("watched\n");
		wait_for_line();
	}
	s->begin(interval, 42);
	for (i = 0; i < rounds; i++) {
		size_t at = i % KEPT;

		if (kept[at])
			s->release(&small.sums, kept[at], sizes[at]);
		sizes[at] = 16 + next_random(&state) % 4000;
		kept[at] = make_small(s, sizes[at]);
		make_freed(s, 100 + next_random(&state) % 10000);
		if (i % 100 == 0)
			make_large(s, 300000 + next_random(&state) % 1000000);
	}
	say(&small);
	say(&large);
	say(&freed);
	if (waits)
		wait_for_line();
	if (argument(argc, argv, 4, 0))
		run_child();
	return 0;
}
