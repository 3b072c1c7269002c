/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/file_helper_process.h"

#include "base/cleanup.h"
#include "sandbox/confine.h"
#include "sandbox/forker.h"
#include "sandbox/message.h"
#include "target/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Some of them may be beyond SIGKILL until a server answers. */
#define MOST_KILLED 64

/*
 * Reading /proc/PID of any process, opening any file, and /proc/PID/map_files; without the last,
 * before Linux 5.9, files are opened by their paths.
 */
static const cap_value_t needed[] = { CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE };

static const struct field order_fields[] = {
	F_MAX(file_helper_order, what, FIELD_U8, FILE_HELPER_KILL),
	F(file_helper_order, pid, FIELD_U32),
	F_END,
};
const struct layout file_helper_order_layout = LAYOUT(file_helper_order, order_fields);

static const struct field asked_fields[] = {
	F(file_helper_asked, pid, FIELD_U32),
	F_MAX(file_helper_asked, name, FIELD_STRING, FILE_HELPER_NAME_MAX),
	F(file_helper_asked, max_bytes, FIELD_U64),
	F(file_helper_asked, flags, FIELD_U32),
	F_END,
};
const struct layout file_helper_asked_layout = LAYOUT(file_helper_asked, asked_fields);

static const struct field chunk_fields[] = {
	F(file_helper_chunk, more, FIELD_BOOL),
	F(file_helper_chunk, error, FIELD_U32),
	F_END,
};
const struct layout file_helper_chunk_layout = LAYOUT(file_helper_chunk, chunk_fields);

/* --- one that opens and reads ---------------------------------------------------------------- */

static int send_chunk(int fd, bool more, int error, const struct strbuf *text)
{
	const struct file_helper_chunk head = { more, -error };
	_cleanup_strbuf_ struct strbuf answer = {};

	codec_write(&answer, &file_helper_chunk_layout, &head, NULL);
	if (text)
		strbuf_add(&answer, strbuf_str(text), text->len);
	return strbuf_error(&answer) ? -ENOMEM : message_send(fd, &answer, NULL, 0, MESSAGE_NEVER);
}

/* Pieces as large as a chunk: who asks sees that it goes on. */
static int send_file(int fd, int file_fd, uint64_t max_bytes)
{
	static char piece[FILE_HELPER_CHUNK];
	_cleanup_strbuf_ struct strbuf text = {};
	uint64_t sent = 0;

	for (;;) {
		ssize_t n = read(file_fd, piece, sizeof(piece) - text.len);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return send_chunk(fd, false, -errno, NULL);
		strbuf_add(&text, piece, (size_t)n);
		if (strbuf_error(&text))
			return -ENOMEM;
		if (sent + text.len > max_bytes) {
			text.len = max_bytes - sent;
			return send_chunk(fd, false, -EFBIG, &text);
		}
		if (n > 0 && text.len < sizeof(piece))
			continue;
		r = send_chunk(fd, n > 0, 0, &text);
		if (r < 0 || n == 0)
			return r;
		sent += text.len;
		strbuf_reset(&text);
	}
}

static int serve_read(int fd, const struct file_helper_asked *asked)
{
	_cleanup_close_ int file_fd = proc_file_open(asked->pid, asked->name, O_RDONLY);

	if (file_fd < 0)
		return send_chunk(fd, false, file_fd == -ENOENT ? -ESRCH : file_fd, NULL);
	return send_file(fd, file_fd, asked->max_bytes);
}

static int serve_link(int fd, const struct file_helper_asked *asked)
{
	_cleanup_strbuf_ struct strbuf text = {};
	int r = proc_link_read(asked->pid, asked->name, asked->max_bytes, &text);

	return r == -ENOMEM ? r : send_chunk(fd, false, r, r < 0 ? NULL : &text);
}

/* It closes the descriptor. */
static int send_opened(int fd, int opened)
{
	_cleanup_close_ int file_fd = opened;
	_cleanup_strbuf_ struct strbuf answer = {};
	int error = opened < 0 ? -opened : 0;

	codec_write(&answer, &codec_u32, &error, NULL);
	return strbuf_error(&answer) ?
		       -ENOMEM :
		       message_send(fd, &answer, &file_fd, error ? 0 : 1, MESSAGE_NEVER);
}

static int serve_open(int fd, const struct strbuf *message, const struct message_fds *fds,
		      file_helper_open_fn open_fn)
{
	_cleanup_strbuf_ struct strbuf request = {};
	int opened;
	char byte;

	strbuf_add(&request, strbuf_str(message) + 1, message->len - 1);
	if (strbuf_error(&request))
		return -ENOMEM;
	opened = open_fn(&request, fds->n ? fds->fds[0] : -1);
	/* Its server must answer a reading, too, before anybody else may meet it. */
	if (opened >= 0 && pread(opened, &byte, 1, 0) < 0) {
		int error = -errno;

		close(opened);
		opened = error;
	}
	return send_opened(fd, opened);
}

static int serve_asked(int fd, uint8_t what, const struct file_helper_asked *asked)
{
	switch (what) {
	case FILE_HELPER_READ:
		return serve_read(fd, asked);
	case FILE_HELPER_LINK:
		return serve_link(fd, asked);
	}
	return send_opened(fd, proc_file_open(asked->pid, asked->name, asked->flags));
}

static int serve_one(int fd, file_helper_open_fn open_fn)
{
	_cleanup_strbuf_ struct strbuf request = {};
	struct message_fds fds = {};
	struct file_helper_asked asked;
	struct decoder decoder;
	uint8_t what;
	int r = message_receive(fd, FILE_HELPER_REQUEST_MAX, MESSAGE_NEVER, &request, &fds);

	if (r < 0)
		return r;
	decoder = decoder_of(&request);
	what = decoder_byte(&decoder);
	if (what == FILE_HELPER_OPEN) {
		r = serve_open(fd, &request, &fds, open_fn);
	} else if (what <= FILE_HELPER_OPEN_PROC) {
		codec_read(&decoder, &file_helper_asked_layout, &asked);
		r = decoder_end(&decoder);
		if (r == 0)
			r = serve_asked(fd, what, &asked);
	} else {
		r = -EBADMSG;
	}
	message_fds_close(&fds);
	return r;
}

static _Noreturn void run_opener(int fd, file_helper_open_fn open_fn)
{
	/* Killed by the process that forked it, and with it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || confine_calls(false) < 0)
		_exit(1);
	while (serve_one(fd, open_fn) == 0)
		;
	_exit(0);
}

/* --- the one that forks them ----------------------------------------------------------------- */

struct opener_forks {
	file_helper_open_fn open_fn;
	pid_t killed[MOST_KILLED]; /* and not gone yet */
	size_t n_killed;
};

/* What was killed is reaped when it has ended, which may be never: nothing waits for it. */
static void reap_killed(struct opener_forks *forks)
{
	size_t n = 0;

	for (size_t i = 0; i < forks->n_killed; i++)
		if (waitpid(forks->killed[i], NULL, WNOHANG) == 0)
			forks->killed[n++] = forks->killed[i];
	forks->n_killed = n;
}

static int fork_one(const struct opener_forks *forks)
{
	_cleanup_strbuf_ struct strbuf answer = {};
	int ends[2], r;
	pid_t pid = -1;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	if (forks->n_killed < MOST_KILLED)
		pid = fork();
	if (pid == 0) {
		close(ends[0]);
		close(HELPER_SOCKET);
		run_opener(ends[1], forks->open_fn);
	}
	close(ends[1]);
	codec_write(&answer, &codec_u32, &(pid_t){ pid > 0 ? pid : 0 }, NULL);
	r = strbuf_error(&answer) ?
		    -ENOMEM :
		    message_send(HELPER_SOCKET, &answer, ends, pid > 0 ? 1 : 0, MESSAGE_NEVER);
	close(ends[0]);
	return r;
}

static int serve_order(struct opener_forks *forks)
{
	_cleanup_strbuf_ struct strbuf message = {};
	struct file_helper_order order;
	int r = message_receive(HELPER_SOCKET, 16, MESSAGE_NEVER, &message, NULL);

	if (r < 0)
		return r;
	reap_killed(forks);
	r = codec_read_all(&message, &file_helper_order_layout, &order);
	if (r < 0)
		return r;
	if (order.what == FILE_HELPER_FORK)
		return fork_one(forks);
	if (order.pid <= 0 || forks->n_killed == MOST_KILLED)
		return -EBADMSG;
	/* A child of ours that was not reaped yet: the pid is still its own. */
	(void)kill(order.pid, SIGKILL);
	forks->killed[forks->n_killed++] = order.pid;
	reap_killed(forks);
	return 0;
}

static int drop_capabilities(void)
{
	cap_t mine = cap_get_proc(), kept = cap_init();
	int r = mine && kept ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < sizeof(needed) / sizeof(needed[0]); i++) {
		cap_flag_value_t has = CAP_CLEAR;

		/* A kernel that does not know one does not ask for it either. */
		if (cap_get_flag(mine, needed[i], CAP_PERMITTED, &has) == 0 && has == CAP_SET &&
		    (cap_set_flag(kept, CAP_PERMITTED, 1, &needed[i], CAP_SET) < 0 ||
		     cap_set_flag(kept, CAP_EFFECTIVE, 1, &needed[i], CAP_SET) < 0))
			r = -errno;
	}
	if (r == 0 && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || cap_set_proc(kept) < 0))
		r = -errno;
	(void)cap_free(mine); /* NULL, or a capability set */
	(void)cap_free(kept);
	return r;
}

_Noreturn void file_helper_process(int fd, file_helper_open_fn open_fn)
{
	static const int sent[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGUSR1 };
	struct opener_forks forks = { .open_fn = open_fn };

	(void)prctl(PR_SET_NAME, FILE_HELPER_COMM); /* for ps(1) */
	if (helper_isolate(fd, sent, sizeof(sent) / sizeof(sent[0])) < 0 ||
	    drop_capabilities() < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
		_exit(1);
	while (serve_order(&forks) == 0)
		;
	_exit(0);
}
