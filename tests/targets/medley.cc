/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * medley SEED STEPS THREADS [held]: steps that a random sequence chooses, the same for each seed:
 * all calls of the allocator, in threads, handlers of signals and cleanup handlers, that fail,
 * throw and are left by longjmp(3); libraries come and go; children by fork, vfork, posix_spawn and
 * clone free what they inherit, execute this program again, and end in each way that there is. No
 * thread runs while there is a fork: else what it is about to count would be in no count. With one
 * thread at a time the first waits for it, so that there is one order of calls, and one right peak.
 * With a fourth word it waits for a line before its end.
 */
#include "tests/targets/target.h"

#include <csetjmp>
#include <csignal>
#include <dlfcn.h>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>

#define BLOCKS 256

extern char **environ;

static char *self; /* this program's path */

struct context {
	uint64_t random;
	unsigned depth; /* of processes */
	void *block[BLOCKS];
	char *array[8];
	char *object[8];
	sigjmp_buf out;
};

static thread_local struct context *current;

static uint64_t below(struct context *c, uint64_t n)
{
	return (next_random(&c->random) >> 11) % n;
}

static size_t size_for(struct context *c)
{
	switch (below(c, 8)) {
	case 0:
		return below(c, 3);
	case 1:
		return below(c, 400000);
	case 2:
		return below(c, 9000);
	default:
		return below(c, 300);
	}
}

/* --- calls ----------------------------------------------------------------------------------- */

static void *allocate(struct context *c)
{
	size_t size = size_for(c);
	void *block = NULL;

	switch (below(c, 9)) {
	case 0:
		return calloc(opaque(1 + below(c, 9)), size);
	case 1:
		return memalign(8UL << below(c, 8), size);
	case 2:
		return aligned_alloc(16UL << below(c, 6), size);
	case 3:
		return posix_memalign(&block, 8UL << below(c, 8), size) ? NULL : block;
	case 4:
		return below(c, 20) ? malloc(size) : valloc(size);
	case 5:
		return below(c, 20) ? malloc(size) : pvalloc(size);
	case 6:
		return realloc(NULL, size);
	case 7:
		return reallocarray(NULL, opaque(3), size);
	default:
		return malloc(size);
	}
}

static void exchange(struct context *c)
{
	void **block = &c->block[below(c, BLOCKS)];

	free(*block);
	*block = allocate(c);
}

static void resize(struct context *c)
{
	void **block = &c->block[below(c, BLOCKS)];
	size_t size = opaque(size_for(c) + 1);
	void *other = below(c, 2) ? realloc(*block, size) : reallocarray(*block, 1, size);

	if (other)
		*block = other;
}

/* None of these gives a block, and what is to be resized stays. */
static void fail(struct context *c)
{
	void **block = &c->block[below(c, BLOCKS)], *aligned = NULL;

	switch (below(c, 7)) {
	case 0:
		CHECK(!malloc(IMPOSSIBLE));
		break;
	case 1:
		CHECK(!calloc(IMPOSSIBLE, 4));
		break;
	case 2:
		CHECK(!realloc(*block, IMPOSSIBLE));
		break;
	case 3:
		CHECK(!reallocarray(*block, IMPOSSIBLE, 4));
		break;
	case 4:
		CHECK(posix_memalign(&aligned, opaque(24), 10) != 0);
		break;
	case 5:
		CHECK(!memalign(64, IMPOSSIBLE));
		break;
	default:
		free(NULL);
		free(realloc(*block, 0)); /* which frees, where there is a block */
		*block = NULL;
	}
}

static void use_operators(struct context *c)
{
	unsigned at = (unsigned)below(c, 8);

	if (below(c, 2)) {
		::operator delete[](c->array[at]);
		c->array[at] = static_cast<char *>(
			below(c, 3) ? ::operator new[](size_for(c)) :
				      ::operator new[](size_for(c), std::nothrow));
		return;
	}
	::operator delete(c->object[at], std::align_val_t(64));
	c->object[at] = static_cast<char *>(::operator new(size_for(c), std::align_val_t(64)));
}

static void throw_out()
{
	bool caught = false;

	try {
		::operator delete(::operator new(opaque(PTRDIFF_MAX - 64)));
	} catch (const std::bad_alloc &) {
		caught = true;
	}
	CHECK(caught);
	CHECK(!::operator new(opaque(PTRDIFF_MAX - 64), std::nothrow));
}

/* --- signals --------------------------------------------------------------------------------- */

static void on_signal(int number)
{
	struct context *c = current;

	exchange(c);
	resize(c);
	if (number == SIGUSR2)
		siglongjmp(c->out, 1);
}

static void be_signalled(struct context *c)
{
	if (below(c, 2))
		pthread_kill(pthread_self(), SIGUSR1);
	else if (sigsetjmp(c->out, 1) == 0)
		pthread_kill(pthread_self(), SIGUSR2);
}

/* --- libraries ------------------------------------------------------------------------------- */

static void load(struct context *c)
{
	static const char *const names[] = { "libutil.so.1", "libnone.so.7", "libanl.so.1",
					     "libBrokenLocale.so.1" };
	void *library = dlopen(names[below(c, 4)], below(c, 2) ? RTLD_NOW : RTLD_LAZY);

	exchange(c);
	if (library)
		dlclose(library);
	else
		(void)dlerror();
}

/* --- threads --------------------------------------------------------------------------------- */

static void steps(struct context *c, uint64_t n);

#define MOST_THREADS 16

struct start {
	uint64_t seed;
	unsigned depth;
	bool waits; /* until it is cancelled */
};

static void clean_up(void *context)
{
	struct context *c = static_cast<struct context *>(context);

	for (unsigned i = 0; i < BLOCKS / 2; i++)
		free(c->block[i]);
	free(c);
	current = NULL;
}

static void *thread(void *userdata)
{
	struct start *start = static_cast<struct start *>(userdata);
	struct context *c = static_cast<struct context *>(calloc(1, sizeof(*c)));
	bool waits = start->waits;

	CHECK(c);
	c->random = start->seed;
	c->depth = start->depth;
	current = c;
	free(start);
	pthread_cleanup_push(clean_up, c);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	steps(c, 300);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	while (waits)
		pause();
	pthread_cleanup_pop(1);
	return NULL;
}

static void run_threads(struct context *c, uint64_t n)
{
	pthread_t id[MOST_THREADS];
	bool waits[MOST_THREADS];

	CHECK(n <= MOST_THREADS);
	for (uint64_t i = 0; i < n; i++) {
		struct start *start = static_cast<struct start *>(malloc(sizeof(*start)));

		CHECK(start);
		waits[i] = below(c, 3) == 0;
		*start = (struct start){ next_random(&c->random), c->depth, waits[i] };
		CHECK(pthread_create(&id[i], NULL, thread, start) == 0);
	}
	if (n > 1)
		steps(c, 100);
	for (uint64_t i = 0; i < n; i++) {
		if (waits[i])
			pthread_cancel(id[i]);
		CHECK(pthread_join(id[i], NULL) == 0);
	}
}

/* --- processes ------------------------------------------------------------------------------- */

[[noreturn]] static void finish(struct context *c)
{
	switch (below(c, 6)) {
	case 0:
		kill(getpid(), SIGKILL);
		pause();
		break;
	case 1:
		exit(0);
	case 2:
		_exit(0);
	case 3:
		signal(SIGTERM, SIG_DFL);
		raise(SIGTERM);
		break;
	case 4:
		execl(self, self, "7", "3", "0", NULL);
		break;
	default:
		free(c->block[1]);
		quick_exit(0);
	}
	_exit(97);
}

static void await(pid_t pid)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(!WIFEXITED(status) || WEXITSTATUS(status) == 0);
	CHECK(!WIFSIGNALED(status) || WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM);
}

static void fork_child(struct context *c)
{
	bool waits = below(c, 2);
	pid_t pid = fork();

	if (pid == 0) {
		c->random ^= 0x5555;
		c->depth++;
		if (c->depth < 4)
			steps(c, 30);
		finish(c);
	}
	if (!waits)
		steps(c, 10); /* of what the child has, too */
	await(pid);
}

static void spawn_child(struct context *c)
{
	char *const words[] = { self, const_cast<char *>("3"), const_cast<char *>("2"),
				const_cast<char *>("0"), NULL };
	pid_t pid;

	if (below(c, 2)) {
		CHECK(posix_spawn(&pid, self, NULL, NULL, words, environ) == 0);
	} else {
		pid = vfork();
		if (pid == 0) {
			execv(self, words);
			_exit(96);
		}
	}
	await(pid);
}

/* In the same memory: one at a time. */
static int in_same_memory(void *context)
{
	struct context *c = static_cast<struct context *>(context);

	for (int i = 0; i < 5; i++)
		exchange(c);
	return 0;
}

static void clone_child(struct context *c)
{
	static char stack[1 << 18] __attribute__((aligned(16)));

	await(clone(in_same_memory, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, c));
}

/* --- steps ----------------------------------------------------------------------------------- */

static void step(struct context *c)
{
	switch (below(c, 40)) {
	case 0:
	case 1:
		fail(c);
		break;
	case 2:
		throw_out();
		break;
	case 3:
	case 4:
		be_signalled(c);
		break;
	case 5:
		load(c);
		break;
	case 6:
	case 7:
	case 8:
	case 9:
		use_operators(c);
		break;
	case 10:
	case 11:
	case 12:
	case 13:
	case 14:
	case 15:
		resize(c);
		break;
	default:
		exchange(c);
	}
}

static void steps(struct context *c, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		step(c);
}

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 2, 100), threads = argument(argc, argv, 3, 2);
	struct context *c = static_cast<struct context *>(calloc(1, sizeof(*c)));

	c->random = argument(argc, argv, 1, 1) * 7919 + 1;
	c->depth = threads ? 0 : 9; /* what a child executes begins no more of them */
	current = c;
	self = realpath("/proc/self/exe", NULL);
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	for (uint64_t i = 0; i < n; i++) {
		steps(c, 20);
		if (c->depth || below(c, 3))
			continue;
		switch (below(c, 5)) {
		case 0:
		case 1:
			fork_child(c);
			break;
		case 2:
			spawn_child(c);
			break;
		case 3:
			clone_child(c);
			break;
		default:
			run_threads(c, threads);
		}
	}
	if (argc > 4) {
		tell("ready\n");
		wait_for_line();
	}
	return 0;
}
