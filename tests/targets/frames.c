/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frames MODE...: allocates in known functions, built without frame pointers. Each mode has a block
 * size of its own, so that a test finds its stack; in brackets the functions, innermost first.
 *
 *   (always)   1001 in a constructor   [step_3 step_2 step_1 early]
 *   plain      1002                    [step_3 step_2 step_1 plain main]
 *   thread     1003 in three threads   [step_3 step_2 step_1 in_thread]
 *   fork       1004 in a child         [step_3 step_2 step_1 in_child forked main]
 *   exec       1005 in main after an execve of itself, twice  [step_3 step_2 step_1 execed main]
 *   plugins    1006 and 1007           [inner_X outer_X use plugins main], X is a or b
 *   open       loads both plugins; close: unloads them again
 *   signal     1008 in a handler       [step_3 step_2 step_1 handler ... raise_it main]
 *   trap       1009 in a handler       [step_3 step_2 step_1 on_trap ... trapped trap main], where
 *              `trapped` is interrupted at an instruction that is no call, in a large library
 *   large      loads that library
 *   rows       1010, in each of the libraries of the folder $ROWS in turn [inner_rows outer
 *              use_path ...]
 *   flood      loads plugin a, and maps plugin b's code a hundred times more
 *   flooded    1006                    [inner_a outer flooded main], in the plugin of flood
 *   wait       prints "ready" and waits for a line
 */
#include "tests/targets/target.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone))

/* Frames of different sizes; what comes after the call keeps it from being a jump. */
#define STEP(name, next, room)                                                                     \
	NOINLINE static void *name(size_t size)                                                    \
	{                                                                                          \
		volatile char bytes[room];                                                         \
		void *block;                                                                       \
                                                                                                   \
		bytes[0] = (char)size;                                                             \
		block = next(size);                                                                \
		bytes[room - 1] = bytes[0];                                                        \
		return block;                                                                      \
	}

STEP(step_3, malloc, 40)
STEP(step_2, step_3, 3000)
STEP(step_1, step_2, 500)

static void *kept[64];
static size_t n_kept;

static void keep(void *block)
{
	CHECK(block);
	kept[__atomic_fetch_add(&n_kept, 1, __ATOMIC_RELAXED) % 64] = block;
}

__attribute__((constructor)) static void early(void)
{
	keep(step_1(1001));
}

NOINLINE static void plain(void)
{
	keep(step_1(1002));
}

NOINLINE static void *in_thread(void *unused)
{
	keep(step_1(1003));
	return unused;
}

static void threads(void)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++) {
		CHECK(!pthread_create(&thread, NULL, in_thread, NULL));
		CHECK(!pthread_join(thread, NULL));
	}
}

NOINLINE static void in_child(void)
{
	keep(step_1(1004));
	tell("child\n");
}

NOINLINE static void forked(void)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		in_child();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

NOINLINE static void execed(char **argv)
{
	int round = getenv("ROUND") ? atoi(getenv("ROUND")) : 0;
	char next[2] = { '1' + round };

	keep(step_1(1005));
	if (round == 2)
		return;
	CHECK(!setenv("ROUND", next, 1));
	execv("/proc/self/exe", argv);
	CHECK(false);
}

#ifndef STATIC
static void path_of(const char *name, char path[4200])
{
	char exe[4096];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	CHECK(len > 0);
	exe[len] = '\0';
	snprintf(path, 4200, "%s/lib%s.so", dirname(exe), name);
}

static void *load(const char *name)
{
	char path[4200];
	void *library;

	path_of(name, path);
	library = dlopen(path, RTLD_NOW);
	CHECK(library);
	return library;
}

static void *opened[2];

static void open_plugins(void)
{
	opened[0] = load("frames_a");
	opened[1] = load("frames_b");
}

static void open_large(void)
{
	(void)load("frames_large"); /* stays */
}

/* Code of a known library comes and goes far below all other code. */
static void distant(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *const low = (void *)0x10000000;
	char path[4200];
	int fd;

	path_of("frames_b", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && mmap(low, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE,
			      fd, (off_t)page) == low);
	CHECK(!munmap(low, page) && !close(fd));
}

static void close_plugins(void)
{
	CHECK(!dlclose(opened[0]) && !dlclose(opened[1]));
}

NOINLINE static uintptr_t use(const char *name)
{
	void *(*outer)(void);
	void *library = load(name);

	outer = (void *(*)(void))(uintptr_t)dlsym(library, "outer");
	CHECK(outer);
	keep(outer());
	CHECK(!dlclose(library));
	return (uintptr_t)outer;
}

/* Two libraries in turn, of which the second comes to the first one's place. */
NOINLINE static void plugins(void)
{
	unsigned int same = 0;

	for (int i = 0; i < 10; i++) {
		uintptr_t a = use("frames_a"), b = use("frames_b");

		same += a == b;
	}
	tell("same %u\n", same);
}

static void call_outer(void *library)
{
	void *(*outer)(void) = (void *(*)(void))(uintptr_t)dlsym(library, "outer");

	CHECK(outer);
	keep(outer());
}

NOINLINE static void rows(void)
{
	DIR *folder = opendir(getenv("ROWS"));
	const struct dirent *entry;
	char path[4200];
	void *library;

	CHECK(folder);
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", getenv("ROWS"), entry->d_name);
		library = dlopen(path, RTLD_NOW);
		CHECK(library);
		call_outer(library);
		CHECK(!dlclose(library));
	}
	closedir(folder);
}

NOINLINE static void flood(void)
{
	char path[4200];
	int fd;

	opened[0] = load("frames_a");
	path_of("frames_b", path);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	/* Its code is in the second page. */
	for (int i = 0; i < 100; i++)
		CHECK(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096) != MAP_FAILED);
	close(fd);
}

NOINLINE static void flooded(void)
{
	call_outer(opened[0]);
}

/* Goes on behind the instruction, ud2. */
static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)sig;
	(void)info;
#ifdef __x86_64__
	interrupted->uc_mcontext.gregs[REG_RIP] += 2;
#else
	(void)interrupted;
#endif
	keep(step_1(1009));
}

NOINLINE static void trap(void)
{
	const struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	void (*trapped)(void) = (void (*)(void))(uintptr_t)dlsym(load("frames_large"), "trapped");

	CHECK(trapped && !sigaction(SIGILL, &action, NULL));
	trapped();
	CHECK(signal(SIGILL, SIG_DFL) != SIG_ERR);
}
#else
static void open_large(void)
{
	CHECK(false);
}

static void distant(void)
{
	CHECK(false);
}

static void rows(void)
{
	CHECK(false);
}

static void flood(void)
{
	CHECK(false);
}

static void flooded(void)
{
	CHECK(false);
}

static void trap(void)
{
	CHECK(false);
}

static void open_plugins(void)
{
	CHECK(false);
}

static void close_plugins(void)
{
	CHECK(false);
}

static void plugins(void)
{
	CHECK(false);
}
#endif

static void handler(int sig)
{
	(void)sig;
	keep(step_1(1008));
}

NOINLINE static void raise_it(void)
{
	CHECK(signal(SIGUSR1, handler) != SIG_ERR);
	CHECK(!raise(SIGUSR1));
}

static void announced_wait(void)
{
	tell("ready\n");
	wait_for_line();
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "plain", plain },	 { "thread", threads },	     { "fork", forked },
	{ "plugins", plugins },	 { "open", open_plugins },   { "close", close_plugins },
	{ "signal", raise_it },	 { "wait", announced_wait }, { "trap", trap },
	{ "rows", rows },	 { "flood", flood },	     { "flooded", flooded },
	{ "large", open_large }, { "distant", distant },
};

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		bool known = !strcmp(argv[i], "exec");

		if (known)
			execed(argv);
		for (size_t k = 0; k < sizeof(modes) / sizeof(modes[0]); k++) {
			if (strcmp(argv[i], modes[k].name))
				continue;
			known = true;
			modes[k].run();
		}
		CHECK(known);
	}
	return 0;
}
