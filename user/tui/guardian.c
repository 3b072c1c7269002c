/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tui/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>

struct guardian {
	pid_t pid;
	int pipe; /* we write */
};

/* The descriptors that the guardian keeps. */
enum { GUARDIAN_TERMINAL, GUARDIAN_PIPE, GUARDIAN_FDS };

/*
 * The shell writes its prompt as soon as it has waited for us, and that is lost if it comes before
 * the alternate screen is left. The kernel closes our pipe (exit_files() in do_exit()) before it
 * tells the shell (exit_notify()): whoever may run first comes first. Where the kernel refuses, we
 * have the usual priority.
 */
static void run_before_the_shell(void)
{
	static const struct sched_param lowest = { .sched_priority = 1 };

	(void)sched_setscheduler(0, SCHED_FIFO, &lowest);
}

/* Between fork and end only what is async-signal-safe: we may have threads. */
static _Noreturn void guard(int pipe_fd, const struct termios *modes)
{
	/* xterm's alternate screen off, cursor on, plain characters: terminfo may not be read. */
	static const char restore[] = "\033[?1049l\033[?25h\033[0m\033[?1l\033>";
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGTTOU };
	ssize_t n;
	char byte;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		(void)signal(ignored[i], SIG_IGN); /* these signals exist */
	/* Whatever else we hold must go with us alone: probes, files, the other end of the pipe. */
	if (pipe_fd != GUARDIAN_PIPE && dup2(pipe_fd, GUARDIAN_PIPE) < 0)
		_exit(1);
	if (close_range(GUARDIAN_FDS, ~0U, 0))
		_exit(1);
	run_before_the_shell();
	do
		n = read(GUARDIAN_PIPE, &byte, 1);
	while (n < 0 && errno == EINTR);
	/* A shell that has the terminal again has set modes of its own. */
	if (n == 0 && write(GUARDIAN_TERMINAL, restore, sizeof(restore) - 1) > 0 &&
	    tcgetpgrp(GUARDIAN_TERMINAL) == getpgrp())
		(void)tcsetattr(GUARDIAN_TERMINAL, TCSADRAIN, modes); /* or it has gone */
	_exit(0);
}

int guardian_new(struct guardian **ret_guardian)
{
	_cleanup_(guardian_free_p) struct guardian *guardian = calloc(1, sizeof(*guardian));
	struct termios modes;
	int ends[2], r;

	if (!guardian)
		return -ENOMEM;
	guardian->pipe = -1;
	guardian->pid = -1;
	if (tcgetattr(STDIN_FILENO, &modes))
		return -ENODEV;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	guardian->pipe = ends[1];
	guardian->pid = fork();
	if (guardian->pid == 0)
		guard(ends[0], &modes);
	r = guardian->pid < 0 ? -errno : 0;
	close(ends[0]);
	if (r < 0)
		return r;
	*ret_guardian = TAKE_PTR(guardian);
	return 0;
}

void guardian_free(struct guardian *guardian)
{
	if (!guardian)
		return;
	if (guardian->pipe >= 0) {
		/* A guardian that was killed cannot be told. */
		ssize_t ignored = write(guardian->pipe, "x", 1);

		(void)ignored;
		close(guardian->pipe);
	}
	while (guardian->pid > 0 && waitpid(guardian->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(guardian);
}
