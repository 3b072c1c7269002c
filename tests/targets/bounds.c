/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bounds CASE [ARG]...: what bounds a whole program, of which a library that counts it is a part.
 *
 *   space N       limits its address space (RLIMIT_AS) to 512 MiB while N threads allocate, and
 *                 fails if that leaves it too little
 *   lock FLAGS    mlockall(FLAGS) must succeed, and lock no more than some MiB
 *   strict N [early]
 *                 allows itself no system calls but those of malloc (seccomp(2)), and makes N
 *                 blocks; early: and one before
 *   crowd N       allows itself no more than malloc itself calls, and makes N blocks in each of
 *                 three threads: one has not called it before
 *   child         forbids itself memfd_create, and forks a child that frees ten blocks of its
 *                 parent's and makes 50
 *   exec PROGRAM  the same, and executes the program
 */
#include "tests/targets/target.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static void *busy(void *arg)
{
	for (int i = 0; i < 100000; i++)
		free(malloc((size_t)(10 + i % 100)));
	return arg;
}

static void limit_space(size_t n)
{
	const struct rlimit limit = { 512 << 20, 512 << 20 };
	pthread_t threads[16];

	CHECK(n <= LEN(threads) && malloc(10));
	for (size_t i = 0; i < n; i++)
		CHECK(!pthread_create(&threads[i], NULL, busy, NULL));
	CHECK(!setrlimit(RLIMIT_AS, &limit));
	for (int i = 0; i < 1000; i++)
		CHECK(malloc(100000));
	for (size_t i = 0; i < n; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(!malloc((size_t)512 << 20));
}

static void lock_all(int flags)
{
	unsigned long locked = 0;
	FILE *status;
	char line[256];

	CHECK(malloc(10));
	CHECK(!mlockall(flags));
	for (int i = 0; i < 100; i++)
		CHECK(malloc(1000));
	status = fopen("/proc/self/status", "r");
	CHECK(status);
	while (fgets(line, sizeof(line), status))
		(void)sscanf(line, "VmLck: %lu", &locked); /* other lines */
	CHECK(locked < 64 << 10 && (!(flags & MCL_CURRENT) || locked > 0));
}

static void set_filter_of(const struct sock_filter *code, size_t n, unsigned int flags)
{
	struct sock_fprog program = { .len = (unsigned short)n,
				      .filter = (struct sock_filter *)code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}

static void set_filter(const struct sock_filter *code, size_t n)
{
	set_filter_of(code, n, 0);
}

#define LOAD_CALL BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_##what)
#define IF_CALL(name, what) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), RETURN(what)

static void be_strict(size_t n, bool early)
{
	static const struct sock_filter code[] = {
		LOAD_CALL,
		IF_CALL(read, ALLOW),
		IF_CALL(write, ALLOW),
		IF_CALL(brk, ALLOW),
		IF_CALL(mmap, ALLOW),
		IF_CALL(munmap, ALLOW),
		IF_CALL(mremap, ALLOW),
		IF_CALL(exit_group, ALLOW),
		IF_CALL(getrandom, ALLOW),
		RETURN(KILL_PROCESS),
	};

	if (early)
		CHECK(malloc(16));
	set_filter(code, LEN(code));
	while (n--)
		CHECK(malloc(16));
	_exit(0);
}

static struct {
	size_t n;
	bool is_first[2]; /* calls malloc before the filter is set */
	int n_ready, may_go, n_done;
} crowd;

static void count_up(int *n)
{
	__atomic_fetch_add(n, 1, __ATOMIC_ACQ_REL);
}

/* Nothing is called. */
static void wait_for(const int *n, int what)
{
	while (__atomic_load_n(n, __ATOMIC_ACQUIRE) < what)
		;
}

/* From as deep as it was before, and from deeper. */
static __attribute__((noinline)) void make_deep(size_t depth, size_t n)
{
	char room[512];

	__asm__ volatile("" : : "r"(room) : "memory");
	if (depth)
		make_deep(depth - 1, n);
	for (size_t i = 0; i < n && depth % 16 == 0; i++) {
		void *block = malloc(16 + i % 4 * 8);

		CHECK(block);
		if (i % 2)
			free(block);
	}
	__asm__ volatile("" : : "r"(room) : "memory");
}

static void *join_crowd(void *is_first)
{
	if (*(bool *)is_first)
		CHECK(malloc(16));
	count_up(&crowd.n_ready);
	wait_for(&crowd.may_go, 1);
	make_deep(63, crowd.n / 4);
	count_up(&crowd.n_done);
	for (;;)
		; /* the end of a thread makes further calls */
	return NULL;
}

static void be_crowd(size_t n)
{
	static const struct sock_filter code[] = {
		LOAD_CALL,
		IF_CALL(mmap, ALLOW),
		IF_CALL(munmap, ALLOW),
		IF_CALL(brk, ALLOW),
		IF_CALL(mprotect, ALLOW),
		IF_CALL(madvise, ALLOW),
		IF_CALL(futex, ALLOW),
		IF_CALL(write, ALLOW),
		IF_CALL(exit, ALLOW),
		IF_CALL(exit_group, ALLOW),
		RETURN(KILL_PROCESS),
	};
	pthread_t threads[2];

	/* Else it asks how many CPUs there are. */
	CHECK(mallopt(M_ARENA_MAX, 2));
	crowd.n = n;
	crowd.is_first[0] = true;
	for (size_t i = 0; i < LEN(threads); i++)
		CHECK(!pthread_create(&threads[i], NULL, join_crowd, &crowd.is_first[i]));
	wait_for(&crowd.n_ready, LEN(threads));
	set_filter_of(code, LEN(code), SECCOMP_FILTER_FLAG_TSYNC);
	count_up(&crowd.may_go);
	make_deep(63, n / 4);
	wait_for(&crowd.n_done, LEN(threads));
	_exit(0);
}

static void forbid_files(void)
{
	static const struct sock_filter code[] = {
		LOAD_CALL,
		IF_CALL(memfd_create, KILL_PROCESS),
		RETURN(ALLOW),
	};

	set_filter(code, LEN(code));
}

static void fork_child(void)
{
	void *blocks[30];
	int status;
	pid_t pid;

	for (size_t i = 0; i < LEN(blocks); i++)
		CHECK((blocks[i] = malloc(100)));
	forbid_files();
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		for (int i = 0; i < 50; i++)
			CHECK(malloc(10));
		for (int i = 0; i < 10; i++)
			free(blocks[i]);
		_exit(7);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "space") == 0)
		limit_space(argument(argc, argv, 2, 0));
	else if (strcmp(what, "lock") == 0)
		lock_all((int)argument(argc, argv, 2, MCL_CURRENT));
	else if (strcmp(what, "strict") == 0)
		be_strict(argument(argc, argv, 2, 0), argc > 3);
	else if (strcmp(what, "crowd") == 0)
		be_crowd(argument(argc, argv, 2, 0));
	else if (strcmp(what, "child") == 0)
		fork_child();
	else if (strcmp(what, "exec") == 0 && argc > 2) {
		forbid_files();
		execv(argv[2], argv + 2);
		return 127;
	} else
		return 2;
	return 0;
}
