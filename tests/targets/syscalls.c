/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls, counted where they return: of numbers that neither the loader nor libc uses in this
 * program, so that its own count is all there is. Tells "call NAME CALLS ERRORS BYTES" and
 * "errno NAME NUMBER COUNT".
 *
 *   threads T N    N rounds in each of T threads
 *   fork N, vfork N  N children that make calls
 *   exec N         a thread that is not the leader makes calls, then execs "threads 1 N"
 *   seccomp N      calls that a filter refuses
 *   attach N       waits for a line, then as "threads 2 N"
 */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { GETPPID, READV, WRITEV, FDATASYNC, GETSID, CALLS };

static const struct {
	const char *name;
	long number;
} names[CALLS] = {
	[GETPPID] = { "getppid", SYS_getppid }, [READV] = { "readv", SYS_readv },
	[WRITEV] = { "writev", SYS_writev },	[FDATASYNC] = { "fdatasync", SYS_fdatasync },
	[GETSID] = { "getsid", SYS_getsid },
};

struct counts {
	uint64_t calls[CALLS], bytes[CALLS];
	uint64_t errors[CALLS][134]; /* by errno */
};

static int zero_fd, null_fd;
static char room[4096];

static void made(struct counts *counts, int call, long result)
{
	counts->calls[call]++;
	if (result < 0)
		counts->errors[call][errno]++;
	else if (call == READV || call == WRITEV)
		counts->bytes[call] += (uint64_t)result;
}

static void one_round(struct counts *counts, uint64_t *random)
{
	struct iovec iov = { room, next_random(random) % sizeof(room) };

	switch (next_random(random) % 6) {
	case 0:
		made(counts, GETPPID, syscall(SYS_getppid));
		break;
	case 1:
		made(counts, READV, readv(zero_fd, &iov, 1));
		break;
	case 2:
		made(counts, WRITEV, writev(null_fd, &iov, 1));
		break;
	case 3:
		made(counts, FDATASYNC, fdatasync(-1)); /* EBADF */
		break;
	case 4:
		made(counts, FDATASYNC, fdatasync(null_fd)); /* EINVAL */
		break;
	case 5:
		made(counts, GETSID, syscall(SYS_getsid, 0x7fffffff)); /* ESRCH */
		break;
	}
}

static void add(struct counts *to, const struct counts *from)
{
	for (int i = 0; i < CALLS; i++) {
		to->calls[i] += from->calls[i];
		to->bytes[i] += from->bytes[i];
		for (int e = 0; e < 134; e++)
			to->errors[i][e] += from->errors[i][e];
	}
}

static void tell_counts(const struct counts *counts)
{
	for (int i = 0; i < CALLS; i++) {
		uint64_t errors = 0;

		for (int e = 0; e < 134; e++)
			errors += counts->errors[i][e];
		tell("call %s %lu %lu %lu\n", names[i].name, counts->calls[i], errors,
		     counts->bytes[i]);
		for (int e = 0; e < 134; e++)
			if (counts->errors[i][e])
				tell("errno %s %d %lu\n", names[i].name, e, counts->errors[i][e]);
	}
}

struct work {
	pthread_t thread;
	uint64_t rounds, seed;
	struct counts counts;
};

static void *work(void *argument)
{
	struct work *w = argument;
	uint64_t random = w->seed;

	for (uint64_t i = 0; i < w->rounds; i++)
		one_round(&w->counts, &random);
	return NULL;
}

static void run_threads(uint64_t threads, uint64_t rounds, struct counts *counts)
{
	struct work *all = calloc(threads, sizeof(*all));

	CHECK(all);
	for (uint64_t i = 0; i < threads; i++) {
		all[i].rounds = rounds;
		all[i].seed = i + 1;
		CHECK(pthread_create(&all[i].thread, NULL, work, &all[i]) == 0);
	}
	for (uint64_t i = 0; i < threads; i++) {
		CHECK(pthread_join(all[i].thread, NULL) == 0);
		add(counts, &all[i].counts);
	}
	free(all);
}

/* Each child makes three calls that succeed, and the parent counts them. */
static __attribute__((noinline)) void run_child(int by_vfork, struct counts *counts)
{
	pid_t pid = by_vfork ? vfork() : fork();
	int status;

	if (pid == 0) {
		syscall(SYS_getppid);
		syscall(SYS_getppid);
		syscall(SYS_getppid);
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	counts->calls[GETPPID] += 3;
}

static void run_children(uint64_t n, int by_vfork, struct counts *counts)
{
	for (uint64_t i = 0; i < n; i++)
		run_child(by_vfork, counts);
}

struct exec_argument {
	char **argv;
	uint64_t rounds;
};

static void *exec_in_thread(void *argument)
{
	const struct exec_argument *exec = argument;
	struct counts counts = { 0 };
	char rounds[24];
	char *argv[] = { exec->argv[0], "threads", "1", rounds, NULL };

	for (uint64_t i = 0; i < exec->rounds; i++)
		made(&counts, GETPPID, syscall(SYS_getppid));
	made(&counts, GETSID, syscall(SYS_getsid, 0x7fffffff));
	tell_counts(&counts);
	snprintf(rounds, sizeof(rounds), "%lu", exec->rounds);
	execv("/proc/self/exe", argv);
	CHECK(!"execv returned");
	return NULL;
}

static void run_exec(char **argv, uint64_t rounds)
{
	struct exec_argument argument = { argv, rounds };
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, exec_in_thread, &argument) == 0);
	for (;;)
		pause();
}

/* A filter that refuses getsid with EPERM: the kernel announces its exit, but not its entry. */
static void refuse_getsid(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "threads";
	uint64_t n = argument(argc, argv, 2, 1);
	struct counts counts = { 0 };

	zero_fd = open("/dev/zero", O_RDONLY);
	null_fd = open("/dev/null", O_WRONLY);
	CHECK(zero_fd >= 0 && null_fd >= 0);
	if (strcmp(mode, "threads") == 0)
		run_threads(n, argument(argc, argv, 3, 1000), &counts);
	else if (strcmp(mode, "fork") == 0)
		run_children(n, 0, &counts);
	else if (strcmp(mode, "vfork") == 0)
		run_children(n, 1, &counts);
	else if (strcmp(mode, "exec") == 0)
		run_exec(argv, n);
	else if (strcmp(mode, "attach") == 0) {
		tell("ready\n");
		wait_for_line();
		run_threads(2, n, &counts);
	} else if (strcmp(mode, "seccomp") == 0) {
		refuse_getsid();
		for (uint64_t i = 0; i < n; i++)
			made(&counts, GETSID, syscall(SYS_getsid, 0));
	} else {
		CHECK(!"a mode");
	}
	tell_counts(&counts);
	return 0;
}
