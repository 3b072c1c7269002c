/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/launch/launch_child.h"

#include "base/cleanup.h"
#include "target/loader_search.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

int launch_inherited_save(struct launch_inherited *ret_inherited)
{
	if (sigprocmask(SIG_SETMASK, NULL, &ret_inherited->mask) < 0)
		return -errno;
	sigemptyset(&ret_inherited->ignored);
	for (int sig = 1; sig < NSIG; sig++) {
		struct sigaction action;

		/* The C library hides its own two. */
		if (sigaction(sig, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			sigaddset(&ret_inherited->ignored, sig);
	}
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		if (getrlimit(i, &ret_inherited->limits[i]) < 0)
			return -errno;
	}
	return 0;
}

/* Documentation/admin-guide/devices.txt: Unix98 pseudo-terminals; 137 to 143 are no longer used. */
#define PTS_MAJOR 136

/* The terminal behind a descriptor, also behind one of /dev/tty; 0: it is no terminal. */
static dev_t terminal_device(int fd)
{
	unsigned int device; /* new_encode_dev() */

	if (ioctl(fd, TIOCGDEV, &device) < 0)
		return 0;
	return makedev(device >> 8 & 0xfff, (device & 0xff) | (device >> 12 & 0xfff00));
}

/* False also where the terminal's file is not known. */
static bool is_owned_by(dev_t device, uid_t uid)
{
	char path[32];
	struct stat st;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == device)
			return st.st_uid == uid;
	if (major(device) != PTS_MAJOR)
		return false;
	(void)snprintf(path, sizeof(path), "/dev/pts/%u", minor(device));
	return stat(path, &st) == 0 && st.st_rdev == device && st.st_uid == uid;
}

/* Opened anew, as O_NONBLOCK is shared by all that have the same open file. -1: none. */
static int open_outer(int *ret_fd)
{
	const int flags = O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
	char path[32];
	int fd = open("/dev/tty", flags);

	for (int i = STDIN_FILENO; fd < 0 && i <= STDERR_FILENO; i++) {
		if (terminal_device(i) == 0)
			continue;
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", i);
		fd = open(path, flags);
		if (fd < 0)
			return -errno;
	}
	*ret_fd = fd;
	return 0;
}

static int copy_settings(const struct launch_terminal *terminal)
{
	struct winsize size;
	struct termios modes;

	if (tcgetattr(terminal->outer, &modes) < 0 ||
	    tcsetattr(terminal->slave, TCSANOW, &modes) < 0 ||
	    ioctl(terminal->outer, TIOCGWINSZ, &size) < 0 ||
	    ioctl(terminal->slave, TIOCSWINSZ, &size) < 0)
		return -errno;
	return 0;
}

/* The group stays as devpts has it: tty, so that write(1) may write to it. */
static int open_pair(uid_t uid, struct launch_terminal *terminal)
{
	terminal->master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (terminal->master < 0 || unlockpt(terminal->master) < 0)
		return -errno;
	terminal->slave = ioctl(terminal->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal->slave < 0 || fchown(terminal->slave, uid, (gid_t)-1) < 0)
		return -errno;
	return copy_settings(terminal);
}

int launch_terminal_open(uid_t uid, struct launch_terminal *ret_terminal)
{
	struct launch_terminal terminal = LAUNCH_TERMINAL_NONE;
	int r = open_outer(&terminal.outer);
	dev_t device = terminal.outer < 0 ? 0 : terminal_device(terminal.outer);

	if (r == 0 && terminal.outer >= 0 && !is_owned_by(device, uid)) {
		r = open_pair(uid, &terminal);
		for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
			terminal.replaces[fd] = terminal_device(fd) == device;
	} else {
		launch_terminal_done(&terminal);
	}
	if (r < 0)
		launch_terminal_done(&terminal);
	else
		*ret_terminal = terminal;
	return r;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(TAKE_FD(*fd));
}

void launch_terminal_done(struct launch_terminal *terminal)
{
	close_fd(&terminal->outer);
	close_fd(&terminal->master);
	close_fd(&terminal->slave);
}

/* What env(1) and shells exit with when a command cannot be run. */
#define EXIT_NO_COMMAND 127

/* An error that cannot be sent has no reader. */
static void report(int socket, int error)
{
	while (send(socket, &error, sizeof(error), MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static void reset_dispositions(const sigset_t *ignored)
{
	for (int sig = 1; sig < NSIG; sig++) {
		struct sigaction action = {
			.sa_handler = sigismember(ignored, sig) == 1 ? SIG_IGN : SIG_DFL,
		};

		/* Refused for SIGKILL, SIGSTOP and the C library's own two. */
		(void)sigaction(sig, &action, NULL);
	}
}

static int restore_limits(const struct rlimit *limits)
{
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit now;

		if (getrlimit(i, &now) < 0)
			return -errno;
		if ((now.rlim_cur != limits[i].rlim_cur || now.rlim_max != limits[i].rlim_max) &&
		    setrlimit(i, &limits[i]) < 0)
			return -errno;
	}
	return 0;
}

static int set_identity(const struct identity *identity)
{
	if (!identity->change)
		return 0;
	if (setgroups(identity->n_groups, identity->groups) < 0 ||
	    setresgid(identity->gid, identity->gid, identity->gid) < 0 ||
	    setresuid(identity->uid, identity->uid, identity->uid) < 0)
		return -errno;
	return 0;
}

/*
 * With stderr closed, what the program prints must still not land in the report or in a file that
 * it opens next.
 */
static int redirect_stdout(void)
{
	int fd;

	if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		return 0;
	fd = open("/dev/null", O_WRONLY);
	if (fd < 0)
		return -errno;
	if (fd != STDOUT_FILENO) {
		if (dup2(fd, STDOUT_FILENO) < 0)
			return -errno;
		close(fd);
	}
	return 0;
}

/* -EACCES: it is there, but no program; -EPERM: in a directory that may not be searched. */
static int check_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == EACCES ? -EPERM : -errno;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	return access(path, X_OK) < 0 ? -errno : 0;
}

/* The directory of `len` bytes (none: the working directory) and the name. */
static int check_in_directory(const char *dir, size_t len, const char *name)
{
	size_t name_len = strlen(name);
	char path[PATH_MAX];

	if (len + 1 + name_len + 1 > sizeof(path))
		return -ENAMETOOLONG;
	memcpy(path, dir, len);
	if (len > 0)
		path[len++] = '/';
	memcpy(path + len, name, name_len + 1);
	return check_executable(path);
}

/*
 * Whether execvpe is going to find the command, so that a misspelt name is reported before anything
 * is traced. Errors other than the two common ones are left for the exec to tell; of a PATH with
 * directories that are not this user's (root's, under sudo), execvpe would say EACCES for any
 * misspelt name.
 */
static int find_command(const char *name, const char *path)
{
	bool denied = false;
	int r;

	if (strchr(name, '/')) {
		r = check_executable(name);
		if (r == -EPERM)
			r = -EACCES;
		return r == -ENOENT || r == -EACCES ? r : 0;
	}
	if (!*name)
		return -ENOENT;
	for (;;) {
		size_t len = (size_t)(strchrnul(path, ':') - path);

		r = check_in_directory(path, len, name);
		if (r == 0)
			return 0;
		denied = denied || r == -EACCES;
		if (!path[len])
			return denied ? -EACCES : -ENOENT;
		path += len + 1;
	}
}

static const char *search_path(char **environment)
{
	for (; *environment; environment++) {
		if (strncmp(*environment, "PATH=", 5) == 0)
			return *environment + 5;
	}
	return PROGRAM_DEFAULT_PATH;
}

static int replace_streams(const struct launch_terminal *terminal)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (terminal->replaces[fd] && dup2(terminal->slave, fd) < 0)
			return -errno;
	return 0;
}

static int prepare_child(const struct launch_child *child)
{
	int r;

	reset_dispositions(&child->inherited->ignored);
	/* Before the identity: only root may raise them again. */
	r = restore_limits(child->inherited->limits);
	if (r == 0)
		r = set_identity(child->identity);
	if (r == 0)
		r = replace_streams(child->terminal);
	if (r == 0 && child->stdout_to_stderr)
		r = redirect_stdout();
	if (r == 0)
		r = find_command(child->argv[0], search_path(child->environment));
	return r;
}

/* False when the parent has gone, which its end of the socket shows. */
static bool wait_for_release(int socket)
{
	ssize_t n;
	int message;

	do
		n = recv(socket, &message, sizeof(message), 0);
	while (n < 0 && errno == EINTR);
	return n == sizeof(message);
}

_Noreturn void launch_child_run(const struct launch_child *child)
{
	int r;

	/* Or the end of the parent would not close it. */
	close(child->parent_socket);
	r = prepare_child(child);
	report(child->socket, -r);
	if (r < 0 || !wait_for_release(child->socket))
		_exit(EXIT_NO_COMMAND);
	/* execvpe takes PATH from here, not from the environment it is given. */
	environ = child->environment;
	/* A signal that came meanwhile strikes now, as it would have struck the program. */
	(void)sigprocmask(SIG_SETMASK, &child->inherited->mask, NULL);
	execvpe(child->argv[0], child->argv, child->environment);
	report(child->socket, errno);
	_exit(EXIT_NO_COMMAND);
}
