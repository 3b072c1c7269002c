/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/session/terminal_relay.h"

#include "target/launch/launch.h"
#include "target/launch/terminal_keeper.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>

/*
 * The kernel has at most 8 KiB on the way (pty_common_install) and 4 KiB to be read: what comes
 * after so much was not written before the command's end.
 */
#define LEFT_BYTES 65536

/* Bytes that have been read from one side and wait for the other. */
struct direction {
	char data[TERMINAL_OUTPUT_BYTES];
	size_t start, end;
};

struct terminal_relay {
	struct launch *launch;
	const struct launch_pty *pty;
	struct loop_source *outer, *master, *control; /* NULL: a terminal has hung up */
	struct direction input, output;
	struct termios modes;  /* of the outer terminal, when it was last not raw */
	tcflag_t output_modes; /* that it has now, where raw */
	bool is_foreground;    /* the outer terminal is raw; the command has its own */
	bool wants_foreground;
	bool has_modes; /* the command's terminal has those that the outer had in the foreground */
	unsigned int orders; /* that the keeper has not followed yet */
	bool is_ending;
	size_t left; /* when ending: what may still be read of the command's terminal */
};

/* --- bytes ----------------------------------------------------------------------------------- */

static bool is_empty(const struct direction *direction)
{
	return direction->start == direction->end;
}

/* Bytes read, 0 when there are none now, or negative errno; -EIO: the other end has been closed. */
static ssize_t fill_direction(struct direction *direction, int fd, size_t most)
{
	size_t room = sizeof(direction->data) - direction->end;
	ssize_t n;

	if (room > most)
		room = most;
	if (room == 0)
		return 0;
	n = read(fd, direction->data + direction->end, room);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	direction->end += (size_t)n;
	return n ? n : -EIO;
}

static int flush(struct direction *direction, int fd)
{
	while (!is_empty(direction)) {
		ssize_t n = write(fd, direction->data + direction->start,
				  direction->end - direction->start);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		direction->start += (size_t)n;
	}
	direction->start = direction->end = 0;
	return 0;
}

/* False when there is no room. */
static bool prepend(struct direction *direction, char byte)
{
	if (direction->start == 0) {
		if (direction->end == sizeof(direction->data))
			return false;
		memmove(direction->data + 1, direction->data, direction->end);
		direction->end++;
		direction->start++;
	}
	direction->data[--direction->start] = byte;
	return true;
}

static bool has_room(const struct direction *direction)
{
	return direction->end < sizeof(direction->data);
}

/* --- memtraced's terminal -------------------------------------------------------------------- */

/* One that is not our controlling terminal has no foreground for us, and may always be read. */
static bool may_use_outer(const struct terminal_relay *relay)
{
	pid_t pgrp = tcgetpgrp(relay->pty->outer);

	return pgrp < 0 ? errno == ENOTTY : pgrp == getpgrp();
}

static void signal_job(const struct terminal_relay *relay, int sig)
{
	if (relay->pty->job)
		(void)kill(-relay->pty->job, sig); /* it may have ended */
}

/* With `output`, what memtraced has read of the command's and not written. */
static void send_order(struct terminal_relay *relay, bool resume, bool orphan,
		       const struct direction *output)
{
	struct terminal_order order = {
		.is_foreground = relay->is_foreground,
		.resume = resume,
		.orphan = orphan,
		.modes = relay->modes,
	};
	struct iovec parts[] = { { &order, sizeof(order) }, { 0 } };
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	if (output)
		parts[1] = (struct iovec){ (char *)output->data + output->start,
					   output->end - output->start };
	/* Without its keeper the command has no terminal any more. */
	if (sendmsg(relay->pty->control, &message, MSG_NOSIGNAL) >= 0)
		relay->orders++;
}

static void order_keeper(struct terminal_relay *relay, bool resume, bool orphan)
{
	send_order(relay, resume, orphan, NULL);
}

/*
 * Line ends are the command's terminal's to make, where a program has not turned that off; then
 * ours must not. What memtraced itself writes gets them like this, too.
 */
static tcflag_t wanted_output_modes(const struct terminal_relay *relay)
{
	const tcflag_t line_ends = OPOST | ONLCR;
	struct termios modes;

	if (tcgetattr(relay->pty->master, &modes) < 0 || (modes.c_oflag & line_ends) != line_ends)
		return 0;
	return line_ends;
}

/* In the background this would stop memtraced (SIGTTOU). */
static void set_raw(struct terminal_relay *relay)
{
	struct termios raw = relay->modes;

	cfmakeraw(&raw);
	raw.c_cflag = relay->modes.c_cflag;
	raw.c_oflag = relay->output_modes = wanted_output_modes(relay);
	(void)tcsetattr(relay->pty->outer, TCSANOW, &raw); /* it may have hung up */
}

static void enter_foreground(struct terminal_relay *relay, bool resume)
{
	if (!relay->is_foreground && tcgetattr(relay->pty->outer, &relay->modes) < 0)
		return; /* it has hung up */
	if (!relay->has_modes)
		(void)tcsetattr(relay->pty->master, TCSANOW, &relay->modes);
	relay->has_modes = relay->is_foreground = true;
	/* First, so that the modes are given back even if we are killed after this. */
	order_keeper(relay, resume, false);
	set_raw(relay);
	terminal_relay_resize(relay);
}

static void leave_foreground(struct terminal_relay *relay)
{
	if (!relay->is_foreground)
		return;
	/* Else another job has it, and modes of its own. */
	if (may_use_outer(relay))
		(void)tcsetattr(relay->pty->outer, TCSANOW, &relay->modes);
	relay->is_foreground = false;
	order_keeper(relay, false, false);
}

static int hang_up(struct terminal_relay *relay)
{
	loop_source_free(relay->outer);
	loop_source_free(relay->master);
	loop_source_free(relay->control);
	relay->outer = relay->master = relay->control = NULL;
	relay->is_foreground = false;
	/* The keeper does what remains: without its terminal the command is not to wait for one. */
	launch_close_pty(relay->launch);
	return 0;
}

/* --- events ---------------------------------------------------------------------------------- */

/*
 * A key that makes a signal is for the foreground of the command's terminal, which the keeper has
 * to set first.
 */
static bool may_write_master(const struct terminal_relay *relay)
{
	return relay->orders == 0 && !is_empty(&relay->input);
}

static int wait_for_more(struct terminal_relay *relay)
{
	bool reads_outer = relay->is_foreground && has_room(&relay->input);
	bool reads_master = has_room(&relay->output) && (!relay->is_ending || relay->left > 0);
	int r = loop_source_wait_for(relay->outer,
				     (reads_outer ? EPOLLIN : 0) |
					     (is_empty(&relay->output) ? 0 : EPOLLOUT));

	if (r < 0)
		return r;
	return loop_source_wait_for(relay->master,
				    (reads_master ? EPOLLIN : 0) |
					    (may_write_master(relay) ? EPOLLOUT : 0));
}

/* Writes what is there to be written. 0 or negative errno. */
static int pass_on(struct terminal_relay *relay)
{
	/* Nothing has the command's terminal open any more: nothing is going to read it. */
	if (may_write_master(relay) && flush(&relay->input, relay->pty->master) < 0)
		relay->input.start = relay->input.end = 0;
	if (relay->is_foreground && !is_empty(&relay->output) && may_use_outer(relay) &&
	    wanted_output_modes(relay) != relay->output_modes)
		set_raw(relay);
	if (flush(&relay->output, relay->pty->outer) < 0)
		return hang_up(relay);
	return wait_for_more(relay);
}

static int on_outer(int fd, uint32_t events, void *userdata)
{
	struct terminal_relay *relay = userdata;

	if (events & (EPOLLHUP | EPOLLERR))
		return hang_up(relay);
	if (events & EPOLLIN && relay->is_foreground) {
		if (!may_use_outer(relay))
			leave_foreground(relay);
		else if (fill_direction(&relay->input, fd, SIZE_MAX) < 0)
			return hang_up(relay);
	}
	return pass_on(relay);
}

static ssize_t read_master(struct terminal_relay *relay)
{
	ssize_t n = fill_direction(&relay->output, relay->pty->master,
				   relay->is_ending ? relay->left : SIZE_MAX);

	if (relay->is_ending && n > 0)
		relay->left -= (size_t)n;
	return n;
}

/*
 * What the command has written so far. False when some of it may be left: a full buffer that is
 * written to the end after this has not been read for.
 */
static bool pass_output(struct terminal_relay *relay)
{
	size_t passed = 0;

	while (relay->master && has_room(&relay->output)) {
		ssize_t n = passed < LEFT_BYTES ? read_master(relay) : 0;

		if (n <= 0)
			return true;
		passed += (size_t)n;
		(void)pass_on(relay); /* or it has hung up */
	}
	return !relay->master;
}

static int on_master(int fd, uint32_t events, void *userdata)
{
	struct terminal_relay *relay = userdata;

	(void)fd;
	/* The keeper has the other end open as long as it lives. */
	if (events & EPOLLIN ? read_master(relay) < 0 : events & (EPOLLHUP | EPOLLERR))
		return hang_up(relay);
	return pass_on(relay);
}

/*
 * The keeper has followed an order, or the sentinel has got a signal of the terminal, which without
 * a relay had sent it to our group.
 */
static int on_control(int fd, uint32_t events, void *userdata)
{
	struct terminal_relay *relay = userdata;
	int sig;

	(void)events;
	if (recv(fd, &sig, sizeof(sig), MSG_DONTWAIT) == (ssize_t)sizeof(sig)) {
		if (sig != TERMINAL_ORDER_DONE) {
			(void)kill(0, sig);
			return 0;
		}
		relay->orders--;
		return pass_on(relay);
	}
	return hang_up(relay); /* the keeper has been killed, and with it the session */
}

/* --- job control ----------------------------------------------------------------------------- */

static void resume(struct terminal_relay *relay)
{
	if (relay->wants_foreground && may_use_outer(relay)) {
		enter_foreground(relay, true);
	} else {
		leave_foreground(relay);
		order_keeper(relay, true, false);
	}
	launch_continue(relay->launch);
}

/*
 * `pid` as kill(2)'s: our process group, as the terminal would have stopped it, or our process.
 * False when that cannot be: the signal is ignored, or the group is orphaned. A Ctrl-Z that came
 * after the SIGCONT has dropped it, and waits itself.
 */
static bool stop_ourselves(pid_t pid, int sig)
{
	sigset_t set, before;

	sigemptyset(&set);
	sigaddset(&set, sig);
	(void)pthread_sigmask(SIG_UNBLOCK, &set, &before);
	(void)kill(pid, sig); /* drops a SIGCONT that waits: one after it is new */
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return sigpending(&set) == 0 &&
	       (sigismember(&set, SIGCONT) == 1 || sigismember(&set, SIGTSTP) == 1);
}

static void suspend(struct terminal_relay *relay, pid_t pid)
{
	leave_foreground(relay);
	if (!stop_ourselves(pid, SIGTSTP))
		resume(relay);
}

void terminal_relay_command_stopped(struct terminal_relay *relay, int sig)
{
	(void)pass_output(relay); /* the rest when memtraced goes on */
	if (!relay->outer)
		return;
	if (relay->is_foreground) {
		suspend(relay, 0);
	} else if (sig == SIGTTIN || sig == SIGTTOU) {
		relay->wants_foreground = true;
		if (may_use_outer(relay))
			resume(relay);
		else if (!stop_ourselves(0, sig))
			order_keeper(relay, false, true);
	}
	(void)wait_for_more(relay); /* as before, if that fails */
}

static int on_continue(const siginfo_t *info, void *userdata)
{
	struct terminal_relay *relay = userdata;

	(void)info;
	resume(relay);
	return relay->outer ? wait_for_more(relay) : 0;
}

static bool is_of_terminal(const siginfo_t *info)
{
	return info->si_code == SI_KERNEL;
}

/* Which of the terminal's characters makes the signal; -1: none does. */
static int signal_character(int sig)
{
	switch (sig) {
	case SIGINT:
		return VINTR;
	case SIGQUIT:
		return VQUIT;
	case SIGTSTP:
		return VSUSP;
	default:
		return -1;
	}
}

/*
 * A terminal that is raw makes no signals: the key was typed after a shell had given us the
 * foreground, and before we had made the terminal raw. Had we been faster, the command's terminal
 * would have got the byte that was typed, which is our terminal's character, and would have decided
 * what it is and for which of its processes.
 */
static bool pass_key(struct terminal_relay *relay, int sig)
{
	int character = signal_character(sig);

	if (character < 0 || !relay->outer || !relay->wants_foreground || !may_use_outer(relay))
		return false;
	if (!relay->is_foreground)
		enter_foreground(relay, true);
	return relay->is_foreground && prepend(&relay->input, (char)relay->modes.c_cc[character]);
}

bool terminal_relay_pass_signal(struct terminal_relay *relay, const siginfo_t *info)
{
	if (!is_of_terminal(info))
		return false;
	if (pass_key(relay, info->si_signo)) {
		(void)pass_on(relay); /* or it has hung up */
		return true;
	}
	if (!relay->is_foreground)
		signal_job(relay, info->si_signo);
	return false;
}

static int on_suspend(const siginfo_t *info, void *userdata)
{
	struct terminal_relay *relay = userdata;

	if (terminal_relay_pass_signal(relay, info))
		return 0;
	suspend(relay, getpid());
	return relay->outer ? wait_for_more(relay) : 0;
}

/* As without a relay: it ends memtraced. */
static int on_quit(const siginfo_t *info, void *userdata)
{
	struct terminal_relay *relay = userdata;
	sigset_t set;

	if (terminal_relay_pass_signal(relay, info))
		return 0;
	leave_foreground(relay);
	sigemptyset(&set);
	sigaddset(&set, SIGQUIT);
	(void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	(void)raise(SIGQUIT);
	/* It was ignored. */
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	return on_continue(info, relay);
}

/* --- beginning and end ----------------------------------------------------------------------- */

/* Others may read the terminal until the command does: less(1) in `memtraced ... | less`. */
static bool in_pipeline(void)
{
	struct stat st;

	for (int fd = STDIN_FILENO; fd <= STDOUT_FILENO; fd++)
		if (fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
			return true;
	return false;
}

void terminal_relay_resize(struct terminal_relay *relay)
{
	struct winsize size;

	if (ioctl(relay->pty->outer, TIOCGWINSZ, &size) < 0)
		return; /* it has hung up */
	/* The kernel tells the foreground of it, which the command is once the keeper says so. */
	(void)ioctl(relay->pty->master, TIOCSWINSZ, &size);
	if (!relay->is_foreground || relay->orders > 0)
		signal_job(relay, SIGWINCH);
}

bool terminal_relay_drain(struct terminal_relay *relay)
{
	if (!relay->is_ending)
		relay->left = LEFT_BYTES;
	relay->is_ending = true;
	return pass_output(relay) && (!relay->master || is_empty(&relay->output));
}

static int begin_relay(struct loop *loop, struct terminal_relay *relay)
{
	int r = loop_add_fd(loop, relay->pty->outer, 0, on_outer, relay, &relay->outer);

	if (r == 0)
		r = loop_add_fd(loop, relay->pty->master, 0, on_master, relay, &relay->master);
	if (r == 0)
		r = loop_add_fd(loop, relay->pty->control, EPOLLIN, on_control, relay,
				&relay->control);
	if (r == 0)
		r = loop_add_signal(loop, SIGCONT, on_continue, relay);
	if (r == 0)
		r = loop_add_signal(loop, SIGTSTP, on_suspend, relay);
	if (r == 0)
		r = loop_add_signal(loop, SIGQUIT, on_quit, relay);
	if (r < 0)
		return r;
	relay->wants_foreground = !in_pipeline() && tcgetpgrp(relay->pty->outer) >= 0;
	if (relay->wants_foreground && may_use_outer(relay))
		enter_foreground(relay, false);
	return wait_for_more(relay);
}

int terminal_relay_new(struct loop *loop, struct launch *launch, struct terminal_relay **ret_relay)
{
	_cleanup_(terminal_relay_free_p) struct terminal_relay *relay = calloc(1, sizeof(*relay));
	int r;

	if (!relay)
		return -ENOMEM;
	relay->launch = launch;
	relay->pty = launch_pty(launch);
	r = begin_relay(loop, relay);
	if (r == 0)
		*ret_relay = TAKE_PTR(relay);
	return r;
}

void terminal_relay_free(struct terminal_relay *relay)
{
	if (!relay)
		return;
	if (relay->outer && relay->master)
		(void)pass_on(relay);
	leave_foreground(relay);
	/* A command that goes on is no job that is going to be continued. */
	send_order(relay, false, true, &relay->output);
	loop_source_free(relay->outer);
	loop_source_free(relay->master);
	loop_source_free(relay->control);
	free(relay);
}
