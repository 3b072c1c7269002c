/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls HOW [N]: makes system calls of which it writes down every result and argument: the truth
 * that histograms are compared with. Each process prints, at its end or before it executes another
 * program, a line "tally PID COMM CHANNEL VALUE COUNT" for each value that it has seen. With "held"
 * as the last word it prints "ready PID" first and waits for a line, by readv.
 *
 * lseek is what it counts where it may choose: the C library makes none at a program's start or
 * end, and its results may be any number.
 */
#include "tests/targets/target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#define ROOM 8192

struct tally {
	const char *channel; /* NULL: free */
	char comm[16];
	int64_t value;
	uint64_t count;
	pid_t pid;
};

static struct tally tallies[ROOM];
static int tallies_lock;
static const char *leaf_how = "leaf";
static int memory_fd;

extern char **environ;

static void tally_as(pid_t pid, const char *comm, const char *channel, int64_t value,
		     uint64_t count)
{
	size_t at = ((uint64_t)value * 31 + (uint64_t)pid) % ROOM, tried;

	while (__atomic_exchange_n(&tallies_lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
	for (tried = 0; tallies[at].channel; at = (at + 1) % ROOM, tried++) {
		CHECK(tried < ROOM);
		if (tallies[at].value == value && tallies[at].pid == pid &&
		    !strcmp(tallies[at].channel, channel) && !strcmp(tallies[at].comm, comm))
			break;
	}
	tallies[at].channel = channel;
	tallies[at].value = value;
	tallies[at].pid = pid;
	memcpy(tallies[at].comm, comm, strlen(comm) + 1);
	tallies[at].count += count;
	__atomic_store_n(&tallies_lock, 0, __ATOMIC_RELEASE);
}

static void tally(const char *channel, int64_t value)
{
	char comm[16];

	CHECK(!prctl(PR_GET_NAME, comm));
	tally_as(getpid(), comm, channel, value, 1);
}

/* What this process has counted, and begins anew. */
static void report(void)
{
	size_t i;

	for (i = 0; i < ROOM; i++)
		if (tallies[i].channel)
			tell("tally %d %s %s %lld %llu\n", tallies[i].pid, tallies[i].comm,
			     tallies[i].channel, (long long)tallies[i].value,
			     (unsigned long long)tallies[i].count);
	memset(tallies, 0, sizeof(tallies));
}

/* As the program sees it: -errno on failure. */
static int64_t seen(long result)
{
	return result == -1 ? -errno : result;
}

static int64_t seek(int64_t offset)
{
	int64_t result = seen(syscall(SYS_lseek, (long)memory_fd, offset, SEEK_SET));

	tally("lseek", result);
	tally("lseek:offset", offset);
	tally("lseek:fd", memory_fd);
	return result;
}

static void seeks(uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		CHECK(seek((int64_t)(i * i)) == (int64_t)(i * i));
}

/* --- values ---------------------------------------------------------------------------------- */

/* A number of times that depends on the value, so that no two buckets are mistaken. */
static void seek_often(int64_t value, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		(void)seek(value);
}

#define RUBBISH ((long)0xdeadbeef00000000)

static void narrow(int32_t value)
{
	tally("getpriority", seen(syscall(SYS_getpriority, 0L, RUBBISH | (uint32_t)value)));
	tally("getpriority:who", value);
	tally("lseek", seen(syscall(SYS_lseek, RUBBISH | (uint32_t)value, 0L, (long)SEEK_SET)));
	tally("lseek:offset", 0);
	tally("lseek:fd", (uint32_t)value);
	tally("fchmodat",
	      seen(syscall(SYS_fchmodat, (long)AT_FDCWD, "", RUBBISH | (uint32_t)value)));
	tally("fchmodat:mode", (uint16_t)value);
}

static void values(uint64_t n)
{
	static const int32_t narrow_values[] = {
		0, 1, -1, 2, 32767, 32768, 65535, 65536, -32768, 999999, INT32_MAX, INT32_MIN
	};
	size_t i, j;
	int shift;

	for (shift = 0; shift < 63; shift++) {
		int64_t power = (int64_t)1 << shift;

		seek_often(power - 1, 1 + (uint64_t)shift % 3);
		seek_often(power, n);
		seek_often(power + 1, 2);
		seek_often(-power, 1 + (uint64_t)shift % 2);
		seek_often(-power - 1, 1);
	}
	seek_often(INT64_MAX, 3);
	seek_often(INT64_MIN, 2);
	for (i = 0; i <= 300; i++)
		seek_often((int64_t)i - 150, 1 + i % 4);
	for (i = 0; i < sizeof(narrow_values) / sizeof(*narrow_values); i++)
		for (j = 0; j <= i; j++)
			narrow(narrow_values[i]);
}

/* --- threads --------------------------------------------------------------------------------- */

#define MASS 512
#define THREADS 8

struct worker {
	pthread_t thread;
	uint64_t n, seed;
	uint64_t counts[MASS];
	char comm[16];
};

static void *work(void *data)
{
	struct worker *w = data;
	uint64_t i, state = w->seed;

	CHECK(!prctl(PR_SET_NAME, w->comm));
	for (i = 0; i < w->n; i++) {
		int64_t value = (int64_t)(next_random(&state) % MASS);

		CHECK(syscall(SYS_lseek, (long)memory_fd, value, SEEK_SET) == value);
		w->counts[value]++;
	}
	return NULL;
}

static void threads(uint64_t n)
{
	static struct worker workers[THREADS];
	int i, value;

	for (i = 0; i < THREADS; i++) {
		workers[i].n = n / THREADS;
		workers[i].seed = (uint64_t)i + 1;
		snprintf(workers[i].comm, sizeof(workers[i].comm), "worker-%d", i % 4);
		CHECK(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	for (i = 0; i < THREADS; i++) {
		CHECK(!pthread_join(workers[i].thread, NULL));
		for (value = 0; value < MASS; value++) {
			if (!workers[i].counts[value])
				continue;
			tally_as(getpid(), workers[i].comm, "lseek", value,
				 workers[i].counts[value]);
			tally_as(getpid(), workers[i].comm, "lseek:offset", value,
				 workers[i].counts[value]);
		}
	}
}

/* --- children and execve --------------------------------------------------------------------- */

static void wait_for(pid_t pid)
{
	int status;

	CHECK(pid > 0);
	while (waitpid(pid, &status, 0) != pid)
		CHECK(errno == EINTR);
	CHECK(status == 0);
}

static void become_leaf(void)
{
	char *args[] = { (char *)"calls", (char *)leaf_how, NULL };

	execv("/proc/self/exe", args);
	CHECK(!"reached: exec failed");
}

static void by_fork(uint64_t n)
{
	pid_t pid = fork();

	if (pid == 0) {
		memset(tallies, 0, sizeof(tallies));
		CHECK(!prctl(PR_SET_NAME, "forked"));
		seeks(n);
		report();
		_exit(0);
	}
	wait_for(pid);
}

static void by_fork_exec(uint64_t n)
{
	pid_t pid = fork();

	if (pid == 0) {
		memset(tallies, 0, sizeof(tallies));
		seeks(n);
		report();
		become_leaf();
	}
	wait_for(pid);
}

/* What the child does before its exec is written into the table that it shares, by its own pid. */
static void by_vfork(uint64_t n)
{
	pid_t pid = vfork();

	if (pid == 0) {
		seeks(n);
		become_leaf();
	}
	wait_for(pid);
}

static void by_spawn(uint64_t n)
{
	char *args[] = { (char *)"calls", (char *)leaf_how, NULL };
	pid_t pid;

	(void)n;
	CHECK(!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, args, environ));
	wait_for(pid);
}

static void children(uint64_t n)
{
	seeks(n + 1);
	by_fork(n + 10);
	by_fork_exec(n + 20);
	by_vfork(n + 30);
	by_spawn(0);
	seeks(3);
}

static void family(uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		by_fork(1 + i % 3);
}

static void failed_exec(void)
{
	char *args[] = { (char *)"none", NULL };

	tally("execve", seen(execve("/nonexistent", args, environ)));
}

/* The call that succeeds is seen by the next program, which is this one. */
static void become_next(uint64_t n)
{
	char number[24];
	char *args[] = { (char *)"calls", (char *)leaf_how, number, NULL };

	snprintf(number, sizeof(number), "%llu", (unsigned long long)(n - 1));
	tally("execve", 0);
	report();
	execv("/proc/self/exe", args);
	CHECK(!"reached: exec failed");
}

static void execs(uint64_t n)
{
	leaf_how = "execs";
	seeks(5);
	failed_exec();
	if (n > 0)
		become_next(n);
}

static void *exec_in_thread(void *data)
{
	seeks(7);
	failed_exec();
	become_next(*(uint64_t *)data);
	return NULL;
}

static void thread_execs(uint64_t n)
{
	pthread_t thread;

	leaf_how = "thread-execs";
	seeks(5);
	if (n == 0)
		return;
	CHECK(!pthread_create(&thread, NULL, exec_in_thread, &n));
	for (;;)
		pause();
}

/* --- signals --------------------------------------------------------------------------------- */

static int pipe_ends[2];

static void on_alarm(int sig)
{
	(void)sig;
}

static void ticking(int flags)
{
	struct itimerval every = { { 0, 300 }, { 0, 300 } };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = flags };

	CHECK(!sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &every, NULL));
}

static void *write_slowly(void *data)
{
	struct pollfd none = { .fd = -1 };
	uint64_t i, n = *(uint64_t *)data;

	for (i = 0; i < n; i++) {
		(void)poll(&none, 1, 1 + (int)(i % 3));
		CHECK(write(pipe_ends[1], "12345", 1 + i % 5) == (ssize_t)(1 + i % 5));
	}
	close(pipe_ends[1]);
	return NULL;
}

/* Reads what comes, in blocking calls that SIGALRM falls upon. */
static void storm(uint64_t n, int flags)
{
	char buffer[5];
	int64_t result;
	pthread_t writer;
	sigset_t alarms;

	CHECK(!pipe(pipe_ends) && !sigemptyset(&alarms) && !sigaddset(&alarms, SIGALRM));
	CHECK(!pthread_sigmask(SIG_BLOCK, &alarms, NULL));
	CHECK(!pthread_create(&writer, NULL, write_slowly, &n));
	CHECK(!pthread_sigmask(SIG_UNBLOCK, &alarms, NULL));
	ticking(flags);
	do {
		result = seen(syscall(SYS_read, (long)pipe_ends[0], buffer, sizeof(buffer)));
		CHECK(result >= 0 || result == -EINTR);
		tally("read", result);
		tally("read:count", sizeof(buffer));
	} while (result != 0);
	CHECK(!setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 0 }, { 0, 0 } }, NULL));
	CHECK(!pthread_join(writer, NULL));
}

static void storm_restarted(uint64_t n)
{
	storm(n, SA_RESTART);
}

static void storm_interrupted(uint64_t n)
{
	storm(n, 0);
}

/* Reads that began anew, then sleeps of half a second for the test to stop and to interrupt. */
static void storm_and_sleeps(uint64_t n)
{
	static const struct timespec nap = { 0, 500000000 };
	uint64_t i;

	storm(20, SA_RESTART);
	tell("asleep\n");
	for (i = 0; i < n; i++)
		tally("nanosleep", seen(syscall(SYS_nanosleep, &nap, NULL)));
}

#define NAP_NS 2000000

/* Every call that sleeps, a while each; what a stop or a signal does to them is the test's. */
static void sleeps(uint64_t n)
{
	static const struct timespec nap = { 0, NAP_NS };
	struct timespec left;
	uint32_t word = 0;
	uint64_t i;

	for (i = 0; i < n; i++) {
		tally("nanosleep", seen(syscall(SYS_nanosleep, &nap, &left)));
		tally("clock_nanosleep",
		      seen(syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0L, &nap, &left)));
#ifdef SYS_poll /* not on arm64 */
		tally("poll", seen(syscall(SYS_poll, NULL, 0L, (long)(NAP_NS / 1000000))));
		tally("poll:timeout_msecs", NAP_NS / 1000000);
#endif
		tally("futex", seen(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0L, &nap)));
		tally("futex:val", 0);
	}
}

static void sleeps_interrupted(uint64_t n)
{
	ticking(0);
	sleeps(n);
	CHECK(!setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 0 }, { 0, 0 } }, NULL));
}

static void sleeps_restarted(uint64_t n)
{
	ticking(SA_RESTART);
	sleeps(n);
	CHECK(!setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 0 }, { 0, 0 } }, NULL));
}

/* Blocked in a read of stdin when the trace begins; the line that the test writes ends it. */
static void in_flight(uint64_t n)
{
	char line[8];
	uint64_t i;

	tell("ready %d\n", getpid());
	tally("read", seen(syscall(SYS_read, 0L, line, sizeof(line))));
	for (i = 0; i < n; i++)
		tally("read", seen(syscall(SYS_read, -1L, line, sizeof(line))));
}

/* --- the heap -------------------------------------------------------------------------------- */

static void request(size_t size, bool cleared)
{
	void *block = cleared ? calloc(size, 3) : malloc(size);

	CHECK(block);
	free(block);
	tally(cleared ? "calloc" : "malloc", (int64_t)(cleared ? size * 3 : size));
}

static void mallocs(uint64_t n)
{
	size_t size;
	uint64_t i;

	for (size = 1; size <= (size_t)1 << 24; size *= 2) {
		for (i = 0; i < n; i++)
			request(size, i % 3 == 0);
		request(size - 1, false);
		request(size + 1, true);
		request(size, false);
		request(size, false);
	}
}

static void *mallocs_in_thread(void *data)
{
	mallocs(*(uint64_t *)data);
	return NULL;
}

/* What pthread_create takes for itself it takes by calloc. */
static void malloc_threads(uint64_t n)
{
	pthread_t thread[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, mallocs_in_thread, &n));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(thread[i], NULL));
}

/* --- */

static void leaf(uint64_t n)
{
	(void)n;
	CHECK(!prctl(PR_SET_NAME, "leaf"));
	seeks(11);
}

static const struct {
	const char *name;
	void (*run)(uint64_t n);
} ways[] = {
	{ "values", values },
	{ "seeks", seeks },
	{ "threads", threads },
	{ "children", children },
	{ "family", family },
	{ "execs", execs },
	{ "thread-execs", thread_execs },
	{ "storm-restarted", storm_restarted },
	{ "storm-interrupted", storm_interrupted },
	{ "storm-and-sleeps", storm_and_sleeps },
	{ "sleeps", sleeps },
	{ "sleeps-interrupted", sleeps_interrupted },
	{ "sleeps-restarted", sleeps_restarted },
	{ "in-flight", in_flight },
	{ "mallocs", mallocs },
	{ "malloc-threads", malloc_threads },
	{ "leaf", leaf },
};

static void wait_held(void)
{
	struct iovec line = { .iov_base = (char[8]){ 0 }, .iov_len = 8 };

	tell("ready %d\n", getpid());
	CHECK(readv(0, &line, 1) >= 0);
}

int main(int argc, char **argv)
{
	bool held = argc > 2 && strcmp(argv[argc - 1], "held") == 0;
	size_t way;

	CHECK(argc >= 2);
	free(NULL); /* opens the ledger while there is one thread */
	memory_fd = memfd_create("seeks", 0);
	CHECK(memory_fd >= 0);
	if (held)
		wait_held();
	for (way = 0; way < sizeof(ways) / sizeof(*ways); way++) {
		if (strcmp(argv[1], ways[way].name) == 0) {
			ways[way].run(argument(argc, argv, 2, 3));
			report();
			if (held)
				wait_held();
			return 0;
		}
	}
	CHECK(!"reached: unknown way");
}
