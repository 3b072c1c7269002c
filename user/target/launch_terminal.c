/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/launch_terminal.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>

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

/* Opened anew, as O_NONBLOCK is shared with whoever else has the same open file. -1: none. */
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
