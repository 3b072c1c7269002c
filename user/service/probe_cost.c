/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/probe_cost.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "config/options.h"
#include "service/session/session.h"
#include "trace/bpf/run_stats.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define ROUNDS 12
/* A round is a millisecond or two, so that some are not interrupted. */
#define PAIRS 500
#define BLOCK_SIZE 64
/* Seldom calls: before each so much is read, which is more than a core's own caches hold. */
#define SELDOM_PAIRS 11
#define OTHER_BYTES (16U << 20)
#define CACHE_LINE 64

/* What the child is asked for. */
enum round { ROUND_PAIRS = 'p', ROUND_SELDOM = 's' };

struct child {
	pid_t pid;
	int fd;
};

/* --- the child: a round for each byte that comes ---------------------------------------------- */

struct allocator {
	void *(*malloc)(size_t size);
	void (*free)(void *block);
};

/*
 * The C library's, since ours is another one; it is probed as in other programs. 0 or -ENOENT: the
 * library has another name.
 */
static int find_allocator(struct allocator *ret_allocator)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);

	if (!libc)
		return -ENOENT;
	*(void **)&ret_allocator->malloc = dlsym(libc, "malloc");
	*(void **)&ret_allocator->free = dlsym(libc, "free");
	return ret_allocator->malloc && ret_allocator->free ? 0 : -ENOENT;
}

static uint64_t run_round(const struct allocator *allocator)
{
	uint64_t start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	for (int i = 0; i < PAIRS; i++) {
		void *block = allocator->malloc(BLOCK_SIZE);

		if (!block)
			return 0;
		allocator->free(block);
	}
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
}

static void read_other(const volatile unsigned char *other)
{
	for (size_t i = 0; i < OTHER_BYTES; i += CACHE_LINE)
		(void)other[i];
}

static int compare_ns(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Before each pair other memory drives out what it needs, of the kernel as well: the median. */
static uint64_t run_seldom_round(const struct allocator *allocator)
{
	uint64_t ns[SELDOM_PAIRS];
	unsigned char *other = malloc(OTHER_BYTES);

	if (!other)
		return 0;
	memset(other, 1, OTHER_BYTES); /* what was not written to is all one page */
	for (size_t i = 0; i < SELDOM_PAIRS; i++) {
		uint64_t start_ns;

		read_other(other);
		start_ns = clock_monotonic_ns();
		allocator->free(allocator->malloc(BLOCK_SIZE));
		ns[i] = clock_monotonic_ns() - start_ns;
	}
	free(other);
	qsort(ns, SELDOM_PAIRS, sizeof(ns[0]), compare_ns);
	return ns[SELDOM_PAIRS / 2];
}

static void run_child(int fd, const struct allocator *allocator)
{
	char asked;

	/* Its maker may have ended before this was said; then the socket has, too. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, &asked, 1) == 1) {
		uint64_t ns =
			asked == ROUND_SELDOM ? run_seldom_round(allocator) : run_round(allocator);

		if (write(fd, &ns, sizeof(ns)) != sizeof(ns))
			break;
	}
	_exit(0);
}

static int child_begin(struct child *ret_child)
{
	struct allocator allocator;
	int fds[2], r = find_allocator(&allocator);
	pid_t pid;

	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -errno;
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		run_child(fds[1], &allocator);
	}
	r = pid < 0 ? -errno : 0;
	close(fds[1]);
	if (r < 0) {
		close(fds[0]);
		return r;
	}
	*ret_child = (struct child){ .pid = pid, .fd = fds[0] };
	return 0;
}

static void child_end(const struct child *child)
{
	close(child->fd);
	(void)kill(child->pid, SIGKILL); /* it may have ended: it is waited for */
	(void)waitpid(child->pid, NULL, 0);
}

/* --- what we see of it ----------------------------------------------------------------------- */

static int measure_round(const struct child *child, enum round round, uint64_t *ret_ns)
{
	char asked = (char)round;
	ssize_t n = write(child->fd, &asked, 1);

	if (n != 1)
		return n < 0 ? -errno : -EIO;
	if (read(child->fd, ret_ns, sizeof(*ret_ns)) != sizeof(*ret_ns))
		return -EIO;
	return *ret_ns > 0 ? 0 : -ENOMEM;
}

/* The fastest of all rounds, and their sum. */
static int time_rounds(const struct child *child, uint64_t *ret_ns, uint64_t *ret_total_ns)
{
	uint64_t best_ns = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t ns = 0;
		int r = measure_round(child, ROUND_PAIRS, &ns);

		if (r < 0)
			return r;
		*ret_total_ns += ns;
		if (ns < best_ns)
			best_ns = ns;
	}
	*ret_ns = best_ns;
	return 0;
}

static int begin_session(struct worker *worker, pid_t pid, struct options **ret_options,
			 struct session **ret_session)
{
	_cleanup_strbuf_ struct strbuf error = {};
	char word[16];
	char *words[] = { "memtraced", "--quiet", "--no-follow", "--memory-limit=96M", "-p", word };
	int r;

	(void)snprintf(word, sizeof(word), "%d", (int)pid); /* fits */
	r = options_parse(sizeof(words) / sizeof(words[0]), words, ret_options, &error);
	return r ? r : session_new_served(*ret_options, worker, NULL, NULL, ret_session);
}

/*
 * What is not the programs' own time is the traps': where the kernel counts it, which is for the
 * caller to ask for (run_stats_open). Over all rounds, of which `total_ns` is the time.
 */
static uint64_t trap_ns(const struct session *session, uint64_t total_ns)
{
	struct run_stats stats;

	if (session_run_stats(session, &stats) < 0 || stats.ns == 0 || stats.ns > total_ns)
		return 0;
	return (total_ns - stats.ns) / stats.runs;
}

static int measure(struct worker *worker, const struct child *child, struct probe_cost *ret_cost)
{
	_cleanup_(options_free_p) struct options *options = NULL;
	_cleanup_(session_free_p) struct session *session = NULL;
	uint64_t ns = 0, total_ns = 0, seldom_ns = 0;
	struct probe_cost cost = { 0 };
	int r = begin_session(worker, child->pid, &options, &session);

	if (r == 0)
		r = time_rounds(child, &ns, &total_ns);
	if (r < 0)
		return r;
	/* What is not seen costs nothing, and all traces would pass for free. */
	if (session_calls(session) < (uint64_t)PAIRS * ROUNDS)
		return -ENODATA;
	cost.call_ns = ns / (2UL * PAIRS) + 1;
	cost.trap_ns = trap_ns(session, total_ns);
	r = measure_round(child, ROUND_SELDOM, &seldom_ns);
	if (r < 0)
		return r;
	cost.seldom_call_ns = seldom_ns / 2 > cost.call_ns ? seldom_ns / 2 : cost.call_ns;
	*ret_cost = cost;
	return 0;
}

static int measure_with_child(struct worker *worker, struct probe_cost *ret_cost)
{
	struct child child = { .fd = -1 };
	int r = child_begin(&child);

	if (r < 0)
		return r;
	r = measure(worker, &child, ret_cost);
	child_end(&child);
	return r;
}

int probe_cost_measure(struct worker *worker, const char *whose, struct probe_cost *ret_cost)
{
	struct probe_cost cost = PROBE_COST_ASSUMED;
	int r = measure_with_child(worker, &cost);

	if (r < 0)
		log_warning("%scannot measure the cost of tracing: %s; assuming %" PRIu64
			    " ns for each call of an allocator",
			    whose, strerror(-r), cost.call_ns);
	*ret_cost = cost;
	return r;
}
