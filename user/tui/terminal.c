/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tui/terminal.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <termios.h>

/*
 * A process that waits for ours to end. When it ends without having told it, the terminal gets back
 * the modes and the screen that it had. It holds the terminal and a pipe, nothing else of ours.
 */
struct guardian {
	pid_t pid;
	int pipe; /* we write */
};

/* The descriptors that the guardian keeps. */
enum { GUARDIAN_TERMINAL, GUARDIAN_PIPE, GUARDIAN_FDS };

/*
 * The shell writes its prompt as soon as it has waited for us, and that is lost if it comes before
 * the alternate screen is left. The kernel closes our pipe (exit_files() in do_exit()) before it
 * tells the shell (exit_notify()): the one that may run first comes first. Where the kernel
 * refuses, we have the usual priority.
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

/* Tells it that nothing is to be restored, and waits for its end. NULL is legal. */
static void guardian_free(struct guardian *guardian)
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
DEFINE_CLEANUP(struct guardian, guardian_free)

/* Keeps the modes of standard input's terminal. 0 or negative errno; -ENODEV: it is none. */
static int guardian_new(struct guardian **ret_guardian)
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

/* How long an ESC may be the beginning of a key's sequence. */
#define ESCAPE_MS 25

struct terminal {
	SCREEN *screen;
	bool utf8;
	struct guardian *guardian;
	int stderr_fd, messages_fd; /* the true one, and where it goes meanwhile; -1: untouched */
	off_t seen;
	char message[256];
};

/* --- standard error -------------------------------------------------------------------------- */

static void divert_messages(struct terminal *t)
{
	t->stderr_fd = t->messages_fd = -1;
	if (!isatty(STDERR_FILENO))
		return;
	t->messages_fd = memfd_create("messages", MFD_CLOEXEC);
	if (t->messages_fd < 0)
		return; /* they will stand in the picture */
	t->stderr_fd = dup(STDERR_FILENO);
	if (t->stderr_fd >= 0 && dup2(t->messages_fd, STDERR_FILENO) >= 0)
		return;
	close(t->messages_fd);
	t->messages_fd = -1;
}

static void release_messages(struct terminal *t)
{
	char buf[4096];
	ssize_t n;
	off_t at = 0;

	if (t->stderr_fd >= 0 && dup2(t->stderr_fd, STDERR_FILENO) >= 0 && t->messages_fd >= 0)
		while ((n = pread(t->messages_fd, buf, sizeof(buf), at)) > 0 &&
		       write(STDERR_FILENO, buf, (size_t)n) == n)
			at += n;
	if (t->stderr_fd >= 0)
		close(t->stderr_fd);
	if (t->messages_fd >= 0)
		close(t->messages_fd);
}

const char *terminal_last_message(struct terminal *t)
{
	off_t end = t->messages_fd >= 0 ? lseek(t->messages_fd, 0, SEEK_END) : 0, from;
	char *start;
	ssize_t n;

	t->message[0] = '\0';
	if (end <= t->seen)
		return t->message;
	from = end > (off_t)sizeof(t->message) - 1 ? end - (off_t)sizeof(t->message) + 1 : 0;
	n = pread(t->messages_fd, t->message, sizeof(t->message) - 1, from);
	t->seen = end;
	t->message[n > 0 ? n : 0] = '\0';
	while (n > 0 && t->message[n - 1] == '\n')
		t->message[--n] = '\0';
	start = strrchr(t->message, '\n');
	if (start)
		memmove(t->message, start + 1, strlen(start + 1) + 1);
	return t->message;
}

/* --- the screen ------------------------------------------------------------------------------ */

int terminal_new(struct terminal **ret_terminal)
{
	_cleanup_(terminal_free_p) struct terminal *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->stderr_fd = t->messages_fd = -1;
	/* Of characters alone: numbers keep their point. */
	(void)setlocale(LC_CTYPE, ""); /* an unknown one: ASCII */
	t->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	r = guardian_new(&t->guardian);
	if (r < 0)
		return r;
	t->screen = newterm(NULL, stdout, stdin);
	if (!t->screen)
		return -ENODEV;
	divert_messages(t);
	set_term(t->screen);
	set_escdelay(ESCAPE_MS);
	/* Keys come at once; those that make signals go on doing so. */
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	*ret_terminal = TAKE_PTR(t);
	return 0;
}

void terminal_free(struct terminal *t)
{
	if (!t)
		return;
	if (t->screen) {
		endwin();
		delscreen(t->screen);
		(void)fflush(stdout); /* a terminal that is gone needs nothing */
	}
	release_messages(t);
	guardian_free(t->guardian);
	free(t);
}

void terminal_resize(struct terminal *t, size_t *ret_height, size_t *ret_width)
{
	struct winsize size;

	set_term(t->screen);
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
	clearok(stdscr, TRUE);
	*ret_height = (size_t)LINES;
	*ret_width = (size_t)COLS;
}

/* ASCII for terminals of other character sets: a '?' for each character beyond. */
static void put_ascii(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x80)
			addch(c);
		else if ((c & 0xc0) != 0x80)
			addch('?');
	}
}

static attr_t attributes_of(enum browser_style style)
{
	switch (style) {
	case STYLE_BOLD:
		return A_BOLD;
	case STYLE_REVERSE:
		return A_REVERSE;
	case STYLE_PLAIN:
		break;
	}
	return A_NORMAL;
}

void terminal_show(struct terminal *t, const struct browser_screen *screen)
{
	set_term(t->screen);
	erase();
	for (size_t i = 0; i < screen->n_lines && i < (size_t)LINES; i++) {
		const struct browser_line *line = &screen->lines[i];
		const char *text = screen->text.data + line->start;

		if (!line->len)
			continue;
		attrset(attributes_of(line->style));
		move((int)i, 0);
		if (t->utf8)
			addnstr(text, (int)line->len);
		else
			put_ascii(text, line->len);
		if (line->style == STYLE_REVERSE)
			chgat(-1, A_REVERSE, 0, NULL);
	}
	attrset(A_NORMAL);
	refresh();
}

int terminal_key(struct terminal *t)
{
	static const struct {
		int curses, browser;
	} keys[] = {
		{ ERR, BROWSER_NO_KEY },	  { KEY_UP, BROWSER_UP },
		{ KEY_DOWN, BROWSER_DOWN },	  { KEY_PPAGE, BROWSER_PAGE_UP },
		{ KEY_NPAGE, BROWSER_PAGE_DOWN }, { KEY_HOME, BROWSER_HOME },
		{ KEY_END, BROWSER_END },	  { KEY_LEFT, BROWSER_LEFT },
		{ KEY_RIGHT, BROWSER_RIGHT },	  { KEY_ENTER, BROWSER_ENTER },
		{ '\r', BROWSER_ENTER },	  { '\n', BROWSER_ENTER },
		{ '\x1b', BROWSER_ESCAPE },	  { KEY_BACKSPACE, BROWSER_BACKSPACE },
		{ '\x7f', BROWSER_BACKSPACE },	  { '\b', BROWSER_BACKSPACE },
	};
	int key;

	set_term(t->screen);
	key = getch();
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].curses == key)
			return keys[i].browser;
	/* Other keys of curses' own mean nothing here, but are keys. */
	return key > 0xff ? 0 : key;
}
