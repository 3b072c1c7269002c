/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel itself takes, to compare with: yardstick HITS DEPTH... prints lines of "name ns";
 * yardstick turns HITS DEPTH, for each byte of its input, what bpf_get_stackid adds to HITS of an
 * empty program, in ns of the thread's CPU time.
 *
 *	stackid-DEPTH	what bpf_get_stackid adds to an empty uprobe, DEPTH frames below main
 *	attach, close	of one empty program on syscalls:sys_exit_read
 *	exit-read	what that program adds to a read
 *
 * Built with frame pointers, which is all that bpf_get_stackid can follow; the frames are those of
 * the pair loop.
 */
#include "bench/yardstick.skel.h"
#include "frames.h"

#include <bpf/libbpf.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now); /* cannot fail with these clocks */
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Asking for its frame makes it begin with the push of the frame pointer, which is emulated. */
void probed(unsigned long n);
void __attribute__((noinline)) probed(unsigned long n)
{
	sink += n ^ (unsigned long)__builtin_frame_address(0);
}

/* The same code at another address: both have their program, and take turns. */
void probed_stack(unsigned long n);
void __attribute__((noinline)) probed_stack(unsigned long n)
{
	sink -= n ^ (unsigned long)__builtin_frame_address(0);
}

static double loop_ns;
static bool turns;

static inline __attribute__((always_inline)) void take_turns(long n)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) == 1) {
		int64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID), between;

		for (long i = 0; i < n; i++)
			probed((unsigned long)i);
		between = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		for (long i = 0; i < n; i++)
			probed_stack((unsigned long)i);
		(void)dprintf(STDOUT_FILENO, "%lld\n", /* missed there */
			      (long long)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - between -
					  (between - start)));
	}
}

static inline __attribute__((always_inline)) void count(long n)
{
	int64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	for (long i = 0; i < n; i++)
		probed((unsigned long)i);
	loop_ns = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
}

static void __attribute__((noinline)) innermost(long n)
{
	if (turns)
		take_turns(n);
	else
		count(n);
}

/* ns of this thread for a call of probed(), or -1. */
static double ns_probed(struct bpf_program *program, int depth, long hits)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .func_name = "probed");
	struct bpf_link *link =
		bpf_program__attach_uprobe_opts(program, 0, "/proc/self/exe", 0, &opts);

	if (!link)
		return -1;
	/* The loop and the probed function are two of the frames. */
	descend(depth - 2, hits);
	(void)bpf_link__destroy(link); /* the program ends soon */
	return loop_ns / (double)hits;
}

static int stackid(struct yardstick_bpf *bpf, int depth, long hits)
{
	double empty = ns_probed(bpf->progs.uprobe_empty, depth, hits);
	double stack = ns_probed(bpf->progs.uprobe_stackid, depth, hits);

	if (empty < 0 || stack < 0)
		return -1;
	printf("stackid-%d %.1f\n", depth, stack - empty);
	return 0;
}

/* ns of this thread for a read of a byte, or -1. */
static double ns_read(int zero, long reads)
{
	int64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	char byte;

	for (long i = 0; i < reads; i++) {
		if (read(zero, &byte, 1) != 1)
			return -1;
	}
	return (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / (double)reads;
}

static int tracepoint_link(struct yardstick_bpf *bpf, int zero, long reads)
{
	double bare = ns_read(zero, reads), with_program;
	int64_t start, attached, closing;
	struct bpf_link *link;

	start = clock_ns(CLOCK_MONOTONIC);
	link = bpf_program__attach(bpf->progs.tracepoint_empty);
	attached = clock_ns(CLOCK_MONOTONIC);
	if (!link)
		return -1;
	with_program = ns_read(zero, reads);
	closing = clock_ns(CLOCK_MONOTONIC);
	if (bpf_link__destroy(link) < 0 || bare < 0 || with_program < 0)
		return -1;
	printf("attach %lld\nclose %lld\nexit-read %.1f\n", (long long)(attached - start),
	       (long long)(clock_ns(CLOCK_MONOTONIC) - closing), with_program - bare);
	return 0;
}

static struct bpf_link *attach_to(struct bpf_program *program, const char *function)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .func_name = function);

	return bpf_program__attach_uprobe_opts(program, 0, "/proc/self/exe", 0, &opts);
}

static int in_turns(int depth, long hits)
{
	struct yardstick_bpf *bpf = yardstick_bpf__open_and_load();

	if (!bpf || !attach_to(bpf->progs.uprobe_empty, "probed") ||
	    !attach_to(bpf->progs.uprobe_stackid, "probed_stack"))
		return 1;
	turns = true;
	descend(depth - 2, hits);
	return 0; /* what is attached ends with the process */
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "turns") == 0)
		return in_turns(atoi(argv[3]), atol(argv[2]));
	long hits = argc > 2 ? atol(argv[1]) : 0;
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct yardstick_bpf *bpf;

	if (hits <= 0)
		return 2;
	if (zero < 0)
		return 1;
	bpf = yardstick_bpf__open_and_load();
	if (!bpf)
		return 1;
	for (int i = 2; i < argc; i++) {
		if (stackid(bpf, atoi(argv[i]), hits) < 0)
			return 1;
	}
	if (tracepoint_link(bpf, zero, hits) < 0)
		return 1;
	yardstick_bpf__destroy(bpf);
	return 0;
}
