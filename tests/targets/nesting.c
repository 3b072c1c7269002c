/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nesting CASE N: N times heap calls that begin while others are in progress, or seem to be:
 *
 *   jump      a signal handler leaves malloc by siglongjmp; then calls from below, from the same
 *             place, and from above it
 *   realloc   the same of realloc, whose block is freed later
 *   signal    a handler that interrupts malloc allocates
 *   altstack  the same on the alternate stack
 *   switch    a coroutine that is inside malloc lets another one allocate, in a signal and without
 *   stuck     coroutines that never come back from malloc
 */
#include "tests/targets/nesting.h"
#include "tests/targets/target.h"

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK_BYTES (64 * 1024)
#define STACKS 4

static sigjmp_buf way_out;
static ucontext_t contexts[STACKS], caller;
static char *stacks; /* one below the other, without a gap */
/* volatile: handlers change it, inside functions that the compiler knows */
static void *volatile kept[4];
static bool leave;

static void *seen(void *block)
{
	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

/* Covers with what it does not write what was on the stack below its caller. */
static __attribute__((noinline)) void *with_room_below(size_t size)
{
	char room[8192];

	__asm__ volatile("" : : "r"(room) : "memory");
	return seen(malloc(size));
}

static __attribute__((noinline)) void *as_deep_as_its_caller_calls(size_t size)
{
	return seen(malloc(size));
}

static __attribute__((noinline)) void *below(unsigned frames, size_t size)
{
	void *block = frames ? below(frames - 1, size) : malloc(size);

	return seen(block);
}

static void on_signal(int signal)
{
	(void)signal;
	if (leave)
		siglongjmp(way_out, 1);
	kept[0] = below(2, 300);
	kept[1] = below(0, 301);
	free(kept[1]);
	kept[1] = calloc(3, 100);
}

static void interrupt(void)
{
	CHECK(raise(SIGUSR1) == 0);
}

static void set_handler(int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };

	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
}

static void jump(void)
{
	leave = true;
	if (sigsetjmp(way_out, 1) == 0) {
		nesting_hook = interrupt;
		kept[3] = below(3, 999);
		CHECK(false);
	}
	free(with_room_below(10));
	free(below(6, 11));
	if (sigsetjmp(way_out, 1) == 0) {
		nesting_hook = interrupt;
		kept[3] = malloc(998);
		CHECK(false);
	}
	free(as_deep_as_its_caller_calls(12));
	if (sigsetjmp(way_out, 1) == 0) {
		nesting_hook = interrupt;
		kept[3] = malloc(997);
		CHECK(false);
	}
	free(calloc(13, 1));
	if (sigsetjmp(way_out, 1) == 0) {
		nesting_hook = interrupt;
		kept[3] = below(3, 996);
		CHECK(false);
	}
	free(malloc(14));
	leave = false;
}

static void jump_out_of_realloc(void)
{
	kept[0] = malloc(400);
	leave = true;
	if (sigsetjmp(way_out, 1) == 0) {
		nesting_hook = interrupt;
		kept[3] = uncounted_realloc(kept[0], 800);
		CHECK(false);
	}
	leave = false;
	kept[1] = with_room_below(401);
	kept[0] = realloc(kept[0], 500);
	free(kept[0]);
	free(kept[1]);
}

static void interrupted(void)
{
	void *block, *moved;

	nesting_hook = interrupt;
	block = malloc(200);
	free(kept[0]);
	free(kept[1]);
	nesting_hook = interrupt;
	moved = realloc(block, 500000);
	CHECK(moved);
	free(kept[0]);
	free(kept[1]);
	free(moved);
}

static void make(unsigned i, void (*function)(void))
{
	CHECK(getcontext(&contexts[i]) == 0);
	contexts[i].uc_stack.ss_sp = stacks + (STACKS - 1 - i) * STACK_BYTES;
	contexts[i].uc_stack.ss_size = STACK_BYTES;
	contexts[i].uc_link = &caller;
	makecontext(&contexts[i], function, 0);
}

static void run(unsigned i)
{
	CHECK(swapcontext(&caller, &contexts[i]) == 0);
}

/* Inside malloc on the first stack: what is below it allocates meanwhile. */
static void to_the_second(void)
{
	CHECK(swapcontext(&contexts[0], &contexts[1]) == 0);
}

static void switch_in_handler(int signal)
{
	(void)signal;
	to_the_second();
}

static void allocate_and_go_back(void)
{
	kept[0] = below(2, 600);
	free(malloc(601));
	CHECK(swapcontext(&contexts[1], &contexts[0]) == 0);
	kept[1] = malloc(602);
	CHECK(swapcontext(&contexts[1], &contexts[0]) == 0);
	CHECK(false);
}

static void first_of_two(void)
{
	nesting_hook = to_the_second;
	kept[2] = malloc(603);
	nesting_hook = interrupt;
	kept[3] = malloc(604);
}

static void switched(void)
{
	struct sigaction action = { .sa_handler = switch_in_handler };

	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	make(0, first_of_two);
	make(1, allocate_and_go_back);
	run(0);
	for (unsigned i = 0; i < 4; i++)
		free(kept[i]);
}

static void away(void)
{
	unsigned mine = leave ? 1 : 0;

	CHECK(swapcontext(&contexts[mine], &caller) == 0);
	CHECK(false);
}

static void never_back(void)
{
	nesting_hook = away;
	kept[3] = below(1, 700);
	CHECK(false);
}

static void below_the_stuck(void)
{
	kept[0] = malloc(701);
	kept[1] = below(4, 702);
	free(malloc(703));
}

static void stuck(void)
{
	make(0, never_back);
	make(1, never_back);
	make(2, below_the_stuck);
	leave = false;
	run(0);
	leave = true;
	run(1);
	leave = false;
	run(2);
	free(kept[0]);
	free(kept[1]);
}

static void use_alternate_stack(void)
{
	static char memory[STACK_BYTES];
	const stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };

	CHECK(sigaltstack(&stack, NULL) == 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} cases[] = {
		{ "jump", jump },	   { "realloc", jump_out_of_realloc },
		{ "signal", interrupted }, { "altstack", interrupted },
		{ "switch", switched },	   { "stuck", stuck },
	};
	uint64_t n = argument(argc, argv, 2, 10);
	const char *name = argc > 1 ? argv[1] : "";

	stacks = mmap(NULL, STACKS * STACK_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(stacks != MAP_FAILED);
	set_handler(strcmp(name, "altstack") == 0 ? SA_ONSTACK : 0);
	if (strcmp(name, "altstack") == 0)
		use_alternate_stack();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, name))
			continue;
		for (uint64_t round = 0; round < n; round++)
			cases[i].function();
		kept[3] = malloc(5); /* stays */
		tell("done %llu\n", (unsigned long long)n);
		return 0;
	}
	return 2;
}
