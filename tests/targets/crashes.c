/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crashes CASE [wait]: how a program is killed for what it does itself, or not. With "wait"
 * it waits first.
 *
 *   freed      writes 100 bytes into a block of a MiB that was freed, and so unmapped
 *   after      writes 100 bytes behind a block of a MiB, where it may not
 *   null       writes to address 8
 *   wild       writes to an address that is none (not canonical)
 *   abort      abort()
 *   corrupt    writes over the size of what is left of the heap, where malloc then aborts
 *   cut        reads a page of a mapped file that is not in the file any more
 *   child      a child writes to address 8, then the program ends well
 *   children   100 children do, one after another, while 200,000 blocks are live
 *   astray WHERE
 *              writes to address 8 with a stack pointer and a frame pointer that are none (x86-64):
 *              `unmapped`, `kernel`, `noncanonical`, `top`; `loop`: in memory that leads to itself
 *   thread     another thread than the first one does
 *   handled    writes to address 8, which a handler of SIGSEGV takes
 *   ignored    SIGSEGV from outside, which is ignored
 */
#include "tests/targets/target.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define SIZE (1U << 20)
#define PAGE 4096

static void *volatile kept;
static sigjmp_buf back;

static __attribute__((noinline)) char *makes(void)
{
	kept = malloc(opaque(SIZE));
	CHECK(kept);
	return kept;
}

static __attribute__((noinline)) void drops(void *block)
{
	free(block);
	kept = NULL; /* no jump */
}

static __attribute__((noinline)) void touches(volatile char *at)
{
	kept = NULL; /* valgrind takes a first instruction for the caller's */
	*at = 1;
}

static void freed(void)
{
	char *block = makes();

	drops(block);
	touches(block + 100);
}

/* glibc maps whole pages for it: of the last one it has 16 bytes. */
static void after(void)
{
	char *end = makes() + SIZE, *page = (char *)((uintptr_t)end / PAGE * PAGE);

	CHECK(mprotect(page, PAGE, PROT_NONE) == 0);
	touches(end + 100);
}

static void null(void)
{
	touches((char *)opaque(8));
}

static void wild(void)
{
	touches((char *)opaque(0x1122334455667788));
}

/* A request that only the top chunk can serve, whose size is the word behind the newest block. */
static __attribute__((noinline)) void asks(void)
{
	kept = malloc(opaque(2000));
}

static void corrupt(void)
{
	size_t *block = malloc(opaque(1000));

	CHECK(block);
	block[opaque(malloc_usable_size(block) / sizeof(size_t))] = SIZE_MAX / 2;
	asks();
	kept = NULL; /* no jump */
}

static void cut(void)
{
	int fd = memfd_create("cut", 0);
	char *at;

	CHECK(fd >= 0 && ftruncate(fd, PAGE) == 0);
	at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(at != MAP_FAILED && ftruncate(fd, 0) == 0);
	touches(at);
}

static void in_child(void)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0)
		null();
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

static void *run(void *unused)
{
	null();
	return unused;
}

static void thread(void)
{
	pthread_t other;

	CHECK(pthread_create(&other, NULL, run, NULL) == 0);
	pthread_join(other, NULL);
}

static void on_signal(int signal)
{
	(void)signal;
	siglongjmp(back, 1);
}

static void handled(void)
{
	signal(SIGSEGV, on_signal);
	if (sigsetjmp(back, 1) == 0)
		null();
}

static void ignored(void)
{
	signal(SIGSEGV, SIG_IGN);
	CHECK(kill(getpid(), SIGSEGV) == 0);
}

#ifdef __x86_64__
static __attribute__((noinline)) void go_astray(uint64_t sp)
{
	__asm__ volatile("mov %0, %%rsp\n"
			 "mov %0, %%rbp\n"
			 "movq $1, 8\n"
			 :
			 : "r"(sp));
}

static void astray(const char *where)
{
	static const struct {
		const char *name;
		uint64_t sp;
	} places[] = { { "unmapped", 0x1000 },
		       { "kernel", 0xffff888000000000 },
		       { "noncanonical", 1ULL << 63 },
		       { "top", -8ULL } };
	uint64_t *words =
		mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(words != MAP_FAILED);
	for (size_t i = 0; i < SIZE / sizeof(*words); i++)
		words[i] = (uintptr_t)words;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (strcmp(where, places[i].name) == 0)
			go_astray(places[i].sp);
	go_astray((uintptr_t)words);
}
#else
static void astray(const char *where)
{
	(void)where;
	null();
}
#endif

#define BLOCKS 200000
#define CHILDREN 100

static void children(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		kept = malloc(opaque(16));
		CHECK(kept);
	}
	for (int i = 0; i < CHILDREN; i++)
		in_child();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} cases[] = {
		{ "freed", freed },	{ "after", after },	{ "null", null },
		{ "wild", wild },	{ "abort", abort },	{ "cut", cut },
		{ "child", in_child },	{ "thread", thread },	{ "handled", handled },
		{ "ignored", ignored }, { "corrupt", corrupt }, { "children", children },
	};

	if (argc > 2 && strcmp(argv[1], "astray") == 0)
		astray(argv[2]);
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[1]))
			continue;
		if (argc > 2 && strcmp(argv[2], "wait") == 0) {
			tell("ready\n");
			wait_for_line();
		}
		cases[i].function();
		return 0;
	}
	return 2;
}
