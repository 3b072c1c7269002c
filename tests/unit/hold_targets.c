/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hold_targets.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition, status)                                                                   \
	do {                                                                                       \
		if (!(condition))                                                                  \
			_exit(status);                                                             \
	} while (0)

static void sleep_ms(long ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

/* Waits for a child that must exit with this status. */
static void expect_exit(pid_t pid, int exit_status)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid, 100);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == exit_status, 101);
}

static int target_exit(const char *arg)
{
	return atoi(arg);
}

static int target_signal(const char *arg)
{
	raise(atoi(arg));
	return 102;
}

static pid_t fork_and_exit(int exit_status)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(exit_status);
	return pid;
}

static int target_forks(const char *arg)
{
	(void)arg;
	for (int i = 0; i < TARGET_CHILDREN; i++)
		expect_exit(fork_and_exit(i), i);
	return 0;
}

/* A function of its own, whose variables the child cannot clobber. */
__attribute__((noinline)) static pid_t vfork_and_exit(const int *exit_status)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(*exit_status);
	return pid;
}

static int target_vforks(const char *arg)
{
	(void)arg;
	for (int i = 0; i < TARGET_CHILDREN; i++)
		expect_exit(vfork_and_exit(&i), i);
	return 0;
}

static int target_spawns(const char *arg)
{
	char *argv[] = { "target", "exit", "3", NULL };

	(void)arg;
	for (int i = 0; i < TARGET_CHILDREN; i++) {
		pid_t pid;

		CHECK(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) == 0, 103);
		expect_exit(pid, 3);
	}
	return 0;
}

static int cloned(void *arg)
{
	(void)arg;
	return 5;
}

/* Processes that share everything but are no threads, and whose end sends no SIGCHLD. */
static int target_clones(const char *arg)
{
	static char stack[65536];

	(void)arg;
	for (int i = 0; i < TARGET_CHILDREN; i++) {
		pid_t pid = clone(cloned, stack + sizeof(stack), CLONE_VM | CLONE_FILES, NULL);
		int status;

		CHECK(pid > 0, 104);
		CHECK(waitpid(pid, &status, __WCLONE) == pid, 105);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5, 106);
	}
	return 0;
}

static void *count_thread(void *arg)
{
	__atomic_add_fetch((int *)arg, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static int target_threads(const char *arg)
{
	pthread_t threads[TARGET_THREADS];
	int count = 0;

	(void)arg;
	for (int i = 0; i < TARGET_THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, count_thread, &count) == 0, 107);
	for (int i = 0; i < TARGET_THREADS; i++)
		pthread_join(threads[i], NULL);
	return count == TARGET_THREADS ? 0 : 108;
}

static void *exit_later(void *arg)
{
	(void)arg;
	sleep_ms(20);
	_exit(6);
}

static int target_leader_leaves(const char *arg)
{
	pthread_t thread;

	(void)arg;
	CHECK(pthread_create(&thread, NULL, exit_later, NULL) == 0, 109);
	pthread_exit(NULL);
}

/* The first thread stops before this one has ended: the close of what it watches takes a while. */
static void *exit_all(void *arg)
{
	CHECK(unshare(CLONE_FILES) == 0, 120);
	CHECK(inotify_add_watch(inotify_init1(0), "/", IN_CREATE) >= 0, 121);
	_exit(atoi(arg));
}

static int target_thread_exits(const char *arg)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, exit_all, (void *)arg) == 0, 109);
	sleep_ms(60000);
	return 113;
}

static void *sleep_long(void *arg)
{
	(void)arg;
	sleep_ms(60000);
	return NULL;
}

/* By default one that exits with 4. */
static void *exec_target(void *arg)
{
	bool is_given = strcmp(arg, "0") != 0;

	execl("/proc/self/exe", "target", is_given ? (char *)arg : "exit", is_given ? NULL : "4",
	      NULL);
	_exit(110);
}

static int target_thread_execs(const char *arg)
{
	pthread_t thread;

	for (int i = 0; i < 5; i++)
		CHECK(pthread_create(&thread, NULL, sleep_long, NULL) == 0, 111);
	CHECK(pthread_create(&thread, NULL, exec_target, (void *)arg) == 0, 112);
	sleep_ms(60000);
	return 113;
}

static volatile sig_atomic_t n_queued, queue_error;
static volatile sig_atomic_t n_urgent, urgent_code;

static void on_queued(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (info->si_code != SI_QUEUE || info->si_value.sival_int != n_queued ||
	    info->si_pid != getppid())
		queue_error = 1;
	n_queued = n_queued + 1;
}

static void handle(int sig, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	CHECK(sigaction(sig, &action, NULL) == 0, 114);
}

/* Queued signals arrive all, in order, and with what they carry. */
static int target_queue(const char *arg)
{
	int ready[2];
	pid_t pid;
	char c;

	(void)arg;
	CHECK(pipe(ready) == 0, 115);
	pid = fork();
	if (pid == 0) {
		handle(SIGRTMIN, on_queued);
		CHECK(write(ready[1], "", 1) == 1, 116);
		while (n_queued < TARGET_SIGNALS && !queue_error)
			sched_yield();
		_exit(queue_error ? 117 : 0);
	}
	CHECK(read(ready[0], &c, 1) == 1, 118);
	for (int i = 0; i < TARGET_SIGNALS; i++) {
		CHECK(sigqueue(pid, SIGRTMIN, (union sigval){ .sival_int = i }) == 0, 119);
		if (i % 10 == 0)
			sched_yield();
	}
	expect_exit(pid, 0);
	return 0;
}

/* What a shell sees of ^Z, bg and fg. */
static int target_job_control(const char *arg)
{
	static const int stop_signals[] = { SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU };
	int status;
	pid_t pid;

	(void)arg;
	pid = fork();
	if (pid == 0) {
		for (;;)
			pause();
	}
	/* An orphaned process group would ignore the terminal's stop signals. */
	CHECK(setpgid(pid, pid) == 0, 120);
	sleep_ms(5);
	for (int i = 0; i < 12; i++) {
		int sig = stop_signals[i % 4];

		CHECK(kill(pid, sig) == 0, 121);
		CHECK(waitpid(pid, &status, WUNTRACED) == pid, 122);
		CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == sig, 123);
		CHECK(kill(pid, SIGCONT) == 0, 124);
		CHECK(waitpid(pid, &status, WCONTINUED) == pid, 125);
		CHECK(WIFCONTINUED(status), 126);
	}
	CHECK(kill(pid, SIGTERM) == 0, 127);
	CHECK(waitpid(pid, &status, 0) == pid, 128);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM ? 0 : 129;
}

static void on_urgent(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	n_urgent = n_urgent + 1;
	urgent_code = info->si_code;
}

/* The number of SIGURGs that the target gets is its exit status. */
static int target_urgent_kill(const char *arg)
{
	handle(SIGURG, on_urgent);
	for (int i = 0; i < atoi(arg); i++) {
		kill(getpid(), SIGURG);
		CHECK(urgent_code == SI_USER, 130);
	}
	return n_urgent;
}

/* As above, sent by the kernel for a socket: siginfo is that of bpf_send_signal. */
static int target_urgent_socket(const char *arg)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	int server;
	char c;

	handle(SIGURG, on_urgent);
	CHECK(bind(listener, (struct sockaddr *)&addr, len) == 0 && listen(listener, 1) == 0 &&
		      getsockname(listener, (struct sockaddr *)&addr, &len) == 0 &&
		      connect(client, (struct sockaddr *)&addr, len) == 0,
	      131);
	server = accept(listener, NULL, NULL);
	CHECK(server >= 0 && fcntl(server, F_SETOWN, getpid()) == 0, 132);
	for (int i = 0; i < atoi(arg); i++) {
		CHECK(send(client, "!", 1, MSG_OOB) == 1, 133);
		/* The signal comes no later than the byte. */
		while (recv(server, &c, 1, MSG_OOB) < 0)
			sched_yield();
		CHECK(n_urgent == 0 || urgent_code == SI_KERNEL, 134);
	}
	return n_urgent;
}

static int target_storm(const char *arg)
{
	pid_t parents[TARGET_STORM_PARENTS];

	(void)arg;
	for (int p = 0; p < TARGET_STORM_PARENTS; p++) {
		parents[p] = fork();
		if (parents[p] > 0)
			continue;
		for (int i = 0; i < TARGET_STORM_CHILDREN; i++) {
			int exit_status = i & 0x3f;

			expect_exit(i % 2 ? vfork_and_exit(&exit_status) :
					    fork_and_exit(exit_status),
				    exit_status);
		}
		_exit(0);
	}
	for (int p = 0; p < TARGET_STORM_PARENTS; p++)
		expect_exit(parents[p], 0);
	return 0;
}

/* Cloners that die at any moment of a fork: their orphans must not stay stopped. */
static int target_kill_forkers(const char *arg)
{
	(void)arg;
	for (int i = 0; i < 40; i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			for (;;) {
				if (fork() == 0)
					_exit(0);
				while (waitpid(-1, NULL, WNOHANG) > 0)
					;
			}
		}
		for (volatile int spin = 0; spin < 20000 * (i % 8); spin = spin + 1)
			;
		kill(pid, SIGKILL);
		CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), 135);
	}
	return 0;
}

/* Until the other end of a pipe is closed. */
static void read_to_the_end(int fd)
{
	char c;

	while (read(fd, &c, 1) > 0)
		;
}

/* Is held up in vfork until the pipe is closed. */
static int run_vforker(int fd)
{
	char *argv[] = { "target", "exit", "3", NULL };
	pid_t pid = vfork();

	if (pid == 0) {
		read_to_the_end(fd);
		execv("/proc/self/exe", argv);
		_exit(137);
	}
	expect_exit(pid, 3);
	return 0;
}

/* A parent that vfork holds in the kernel, a stopped child, a sleeping thread: for detaching. */
static int target_all_states(const char *arg)
{
	pthread_t thread;
	pid_t stopped, vforker;
	int status;

	CHECK(pthread_create(&thread, NULL, sleep_long, NULL) == 0, 136);
	stopped = fork();
	if (stopped == 0) {
		raise(SIGSTOP);
		_exit(0);
	}
	vforker = fork();
	if (vforker == 0)
		_exit(run_vforker(atoi(arg)));
	CHECK(waitpid(stopped, &status, WUNTRACED) == stopped && WIFSTOPPED(status), 138);
	expect_exit(vforker, 0);
	/* Still stopped, whatever came and went meanwhile. */
	CHECK(waitpid(stopped, &status, WNOHANG) == 0, 139);
	kill(stopped, SIGCONT);
	expect_exit(stopped, 0);
	return 0;
}

/* The first child ends, and the third one is born and killed, when the pipe is closed. */
static int target_late_child(const char *arg)
{
	int status, runs[2];
	pid_t first;
	char c;

	CHECK(pipe(runs) == 0, 143);
	first = fork();
	if (first == 0) {
		CHECK(write(runs[1], "", 1) == 1, 144);
		read_to_the_end(atoi(arg));
		_exit(0);
	}
	CHECK(read(runs[0], &c, 1) == 1, 145);
	fork_and_exit(0);
	read_to_the_end(atoi(arg));
	CHECK(waitpid(fork_and_exit(0), &status, 0) > 0, 146);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : 147;
}

static int target_reads(const char *arg)
{
	read_to_the_end(atoi(arg));
	return 0;
}

static int target_is_root(const char *arg)
{
	(void)arg;
	return geteuid() == 0 ? 0 : 140;
}

static int target_exec_is_root(const char *arg)
{
	CHECK(geteuid() != 0, 141);
	execl(arg, arg, "is_root", NULL);
	return 142;
}

static const struct {
	const char *name;
	int (*run)(const char *arg);
} targets[] = {
	{ "exit", target_exit },
	{ "signal", target_signal },
	{ "forks", target_forks },
	{ "vforks", target_vforks },
	{ "spawns", target_spawns },
	{ "clones", target_clones },
	{ "threads", target_threads },
	{ "leader_leaves", target_leader_leaves },
	{ "thread_execs", target_thread_execs },
	{ "thread_exits", target_thread_exits },
	{ "queue", target_queue },
	{ "job_control", target_job_control },
	{ "urgent_kill", target_urgent_kill },
	{ "urgent_socket", target_urgent_socket },
	{ "storm", target_storm },
	{ "kill_forkers", target_kill_forkers },
	{ "all_states", target_all_states },
	{ "late_child", target_late_child },
	{ "reads", target_reads },
	{ "is_root", target_is_root },
	{ "exec_is_root", target_exec_is_root },
};

void hold_target_main(int argc, char **argv)
{
	if (argc < 2)
		return;
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		if (strcmp(argv[1], targets[i].name) == 0)
			_exit(targets[i].run(argc > 2 ? argv[2] : "0"));
	}
	_exit(99);
}
