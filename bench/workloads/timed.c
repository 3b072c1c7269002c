/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a command and writes what it cost to a file:
 *
 *	timed [-c CPU[,CPU]...] [-e NAME=VALUE]... [-w] [-x N] OUT COMMAND [ARG]...
 *
 * user_us sys_us maxrss_kib wall_ns minor_faults major_faults status own_us
 *
 * status as a shell gives it, own_us what this launcher used itself. The command and what it waits
 * for are counted. -c pins the command to CPUs; -e sets a variable for it alone; -w writes the
 * process id to OUT.pid and lets the command wait for SIGCONT before its exec, so that a tracer can
 * attach to it. Its input and output are /dev/null.
 *
 * -x counts CPU time by the kernel's task clock, from an exec on, in place of what is waited for
 * (user_us is then all of it, sys_us 0): 1 is the exec of the command; 2 are those of what the
 * command starts, and the command, a tracer that starts the program itself, is not counted.
 *
 * Linked statically: preloaded libraries (heaptrack) pass through it to the command, and no
 * allocator of its own shows in a trace. timed-dynamic is the same, linked dynamically, for a tool
 * that must not find a static program at the start (memtraced --exact=library).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct request {
	const char *out;
	char **command;
	cpu_set_t cpus;
	bool pinned, wait;
	enum clock_from { FROM_START, FROM_EXEC, FROM_NEXT_EXEC } clock;
};

static int usage(void)
{
	(void)fprintf(stderr, "timed [-c CPUS] [-e NAME=VALUE]... [-w] [-x N] OUT COMMAND "
			      "[ARG]...\n");
	return 125;
}

static int64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long used_us(const struct timeval *t)
{
	return t->tv_sec * 1000000LL + t->tv_usec;
}

/* In the child: never returns. */
static void become(const struct request *request)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		_exit(126);
	if (null > STDERR_FILENO)
		(void)close(null);
	if (request->pinned && sched_setaffinity(0, sizeof(request->cpus), &request->cpus) < 0)
		_exit(126);
	if (request->wait)
		(void)raise(SIGSTOP); /* cannot fail for oneself */
	if (request->clock == FROM_NEXT_EXEC && ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
		_exit(126);
	(void)execvp(request->command[0], request->command);
	(void)fprintf(stderr, "timed: %s: %s\n", request->command[0], strerror(errno));
	_exit(127);
}

static int write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	if (!file)
		return -errno;
	(void)fputs(text, file); /* fclose says whether all was written */
	return fclose(file) == 0 ? 0 : -errno;
}

/* A tracer of this child may look at it as soon as the file is there, so the file comes whole. */
static int announce(const struct request *request, pid_t child)
{
	char path[4096], temporary[4096], text[32];
	int status;

	if (waitpid(child, &status, WUNTRACED) < 0 || !WIFSTOPPED(status))
		return -ECHILD;
	(void)snprintf(path, sizeof(path), "%s.pid", request->out);
	(void)snprintf(temporary, sizeof(temporary), "%s.pid~", request->out);
	(void)snprintf(text, sizeof(text), "%d\n", child);
	if (write_text(temporary, text) < 0 || rename(temporary, path) < 0)
		return -EIO;
	return 0;
}

/*
 * The task clock of what `pid` (0: who calls) is going to start, each from its exec on: a counter
 * that is off is inherited as one that is off, and an exec switches its own on.
 */
static int open_clock(pid_t pid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.disabled = 1,
		.inherit = 1,
		.enable_on_exec = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* It stops at its exec, as it has asked for; before it starts anything, it is counted. */
static int clock_from_exec(pid_t child)
{
	int status, fd;

	if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status))
		return -ECHILD; /* there was no exec, of which it has told */
	fd = open_clock(child);
	(void)ptrace(PTRACE_DETACH, child, 0, 0); /* else it was killed: wait4 tells */
	return fd;
}

static int write_cost(const struct request *request, const struct rusage *used, int clock_fd,
		      int64_t wall_ns, int code)
{
	long long user_us = used_us(&used->ru_utime), system_us = used_us(&used->ru_stime);
	struct rusage own;
	uint64_t clock_ns;
	char text[256];

	if (request->clock != FROM_START) {
		if (read(clock_fd, &clock_ns, sizeof(clock_ns)) != sizeof(clock_ns))
			return -EIO;
		user_us = (long long)(clock_ns / 1000);
		system_us = 0;
	}
	(void)getrusage(RUSAGE_SELF, &own); /* cannot fail */
	(void)snprintf(text, sizeof(text), "%lld %lld %ld %lld %ld %ld %d %lld\n", user_us,
		       system_us, used->ru_maxrss, (long long)wall_ns, used->ru_minflt,
		       used->ru_majflt, code, used_us(&own.ru_utime) + used_us(&own.ru_stime));
	return write_text(request->out, text);
}

static int run(const struct request *request)
{
	struct rusage used;
	int status, code, clock_fd = -1;
	int64_t start;
	pid_t child;

	start = now_ns();
	if (request->clock == FROM_EXEC)
		clock_fd = open_clock(0);
	/* Not vfork: a tracer that filters by process would not see the child before its exec. */
	child = fork();
	if (child < 0)
		return 125;
	if (child == 0)
		become(request);
	if (request->wait && announce(request, child) < 0) {
		(void)kill(child, SIGKILL);
		return 125;
	}
	if (request->clock == FROM_NEXT_EXEC)
		clock_fd = clock_from_exec(child);
	while (wait4(child, &status, 0, &used) < 0) {
		if (errno != EINTR)
			return 125;
	}
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return write_cost(request, &used, clock_fd, now_ns() - start, code) < 0 ? 125 : code;
}

static void take_cpus(struct request *request, char *list)
{
	char *rest = NULL;

	for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
		CPU_SET(atoi(word), &request->cpus);
	request->pinned = true;
}

int main(int argc, char **argv)
{
	struct request request = { .pinned = false };
	int option;

	while ((option = getopt(argc, argv, "+c:e:wx:")) != -1) {
		if (option == 'c')
			take_cpus(&request, optarg);
		else if (option == 'e' && strchr(optarg, '='))
			(void)putenv(optarg); /* fails for want of memory only: the command runs */
		else if (option == 'w')
			request.wait = true;
		else if (option == 'x' && (optarg[0] == '1' || optarg[0] == '2') && !optarg[1])
			request.clock = optarg[0] == '1' ? FROM_EXEC : FROM_NEXT_EXEC;
		else
			return usage();
	}
	if (argc - optind < 2)
		return usage();
	request.out = argv[optind];
	request.command = argv + optind + 1;
	return run(&request);
}
