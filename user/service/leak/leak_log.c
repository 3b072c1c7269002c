/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/leak/leak_log.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/outfile.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "target/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

struct log_text {
	char *path; /* NULL: the descriptor */
	struct strbuf text;
	bool is_new; /* there is more than was written */
};

struct leak_log {
	const char *path; /* NULL: a descriptor */
	int fd;
	bool is_stderr;	 /* no other place is asked for */
	bool is_socket;	 /* of our own */
	bool owns_fd;	 /* opened here */
	bool is_stopped; /* who reads a descriptor has as much time as a socket's reader */
	uint64_t written, waited_ns; /* bytes, and until it took them */
	const char *option;	     /* "--log" */
	unsigned int number;
	uid_t uid;
	gid_t gid;
	VEC(struct leak_xml_variable) variables;
	VEC(struct log_text) texts;
	bool failed; /* the descriptor takes no more */
	bool has_stamps;
	uint64_t start_ns;
};

static int say_failed(const char *path, int r)
{
	if (r < 0)
		log_error("cannot write %s: %s", path, outfile_strerror(r));
	return r;
}

/* "NAME" of "q{NAME}", which option_text_file() has checked; NULL: it is something else. */
static char *variable_at(const char *at)
{
	return at[0] == 'q' && at[1] == '{' ? strndup(at + 2, strcspn(at + 2, "}")) : NULL;
}

static int read_variables(struct leak_log *log)
{
	for (const char *at = log->path; at && (at = strchr(at, '%')); at += 2) {
		_cleanup_free_ char *name = variable_at(at + 1);
		const char *value = name ? getenv(name) : NULL;
		int r;

		if (!name)
			continue;
		if (!value) {
			log_error("%s-file: the environment has no variable '%s'", log->option,
				  name);
			return -EINVAL;
		}
		r = vec_push(&log->variables, (struct leak_xml_variable){ name, value });
		if (r < 0)
			return r;
		name = NULL;
	}
	return 0;
}

char *leak_log_path(const struct leak_log *log, pid_t pid)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	size_t variable = 0;

	for (const char *at = log->path ? log->path : ""; *at; at++) {
		if (*at != '%') {
			strbuf_addch(&text, *at);
			continue;
		}
		at++;
		if (*at == 'p') {
			strbuf_addf(&text, "%d", (int)pid);
		} else if (*at == 'n') {
			strbuf_addf(&text, "%u", log->number);
		} else if (*at == 'q') {
			strbuf_adds(&text, log->variables.data[variable++].value);
			at += strcspn(at, "}");
		} else {
			strbuf_addch(&text, '%');
		}
	}
	return strbuf_error(&text) < 0 ? NULL : strdup(strbuf_str(&text));
}

bool leak_log_has_files(const struct leak_log *log)
{
	return log->path;
}

const struct leak_xml_variable *leak_log_variables(const struct leak_log *log, size_t *ret_n)
{
	*ret_n = log->variables.len;
	return log->variables.data;
}

/* Opens and drops a file: its contents are untouched. */
static int try_path(const struct leak_log *log)
{
	_cleanup_free_ char *path = leak_log_path(log, getpid());
	_cleanup_(outfile_free_p) struct outfile *file = NULL;
	int r = path ? outfile_new(path, log->uid, log->gid, &file) : -ENOMEM;

	return say_failed(log->path, r);
}

/* Where that cannot be done writes wait. */
static void open_own(struct leak_log *log)
{
	int fd = outfile_open_again(log->fd);

	if (fd < 0)
		return;
	log->fd = fd;
	log->owns_fd = true;
}

static void use_stderr(struct leak_log *log)
{
	log->is_stderr = true;
	log->fd = STDERR_FILENO;
	open_own(log);
}

/* It is not for the program. */
static int try_descriptor(struct leak_log *log)
{
	int flags = fcntl(log->fd, F_GETFL);

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
		log_error("%s-fd=%d: there is no such descriptor, or it cannot be written to",
			  log->option, log->fd);
		return -EINVAL;
	}
	if (log->fd > STDERR_FILENO)
		(void)fcntl(log->fd, F_SETFD, FD_CLOEXEC); /* as a rule it is open, and it is */
	open_own(log);
	return 0;
}

/*
 * Who listens at a socket may read nothing, or little, and would keep us from our end; so would who
 * reads a descriptor, which has so long from the moment on when we are told to end.
 */
#define WAIT_S 10
#define LEAST_BYTES_PER_S (256 * 1024) /* buffers of the kernel included */

static int connect_socket(struct leak_log *log, const struct text_target *target)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(target->socket.port) };
	const struct timeval wait = { .tv_sec = WAIT_S };
	const uint8_t *a = target->socket.addr;
	int r = 0;

	memcpy(&addr.sin_addr, a, sizeof(addr.sin_addr));
	log->is_socket = log->owns_fd = true;
	log->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (log->fd < 0 || setsockopt(log->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
	    connect(log->fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    fcntl(log->fd, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r < 0)
		log_error("%s-socket=%u.%u.%u.%u:%u: %s", log->option, a[0], a[1], a[2], a[3],
			  target->socket.port, strerror(-r));
	return r;
}

int leak_log_new(const struct text_target *target, const char *option, unsigned int number,
		 struct leak_log **ret_log)
{
	_cleanup_(leak_log_free_p) struct leak_log *log = calloc(1, sizeof(*log));
	int r;

	if (!log)
		return -ENOMEM;
	log->path = target->path;
	log->fd = target->fd ? (int)target->fd : -1;
	log->option = option;
	log->number = number;
	invoking_user(&log->uid, &log->gid);
	if (log->uid == geteuid())
		log->uid = (uid_t)-1;
	r = read_variables(log);
	if (r == 0 && log->path)
		r = try_path(log);
	else if (r == 0 && log->fd >= 0)
		r = try_descriptor(log);
	else if (r == 0 && target->socket.port)
		r = connect_socket(log, target);
	else if (r == 0)
		use_stderr(log);
	if (r < 0)
		return r;
	*ret_log = TAKE_PTR(log);
	return 0;
}

void leak_log_free(struct leak_log *log)
{
	if (!log)
		return;
	vec_foreach(&log->texts, text) {
		free(text->path);
		strbuf_done(&text->text);
	}
	vec_done(&log->texts);
	vec_foreach(&log->variables, variable)
		free((char *)variable->name);
	vec_done(&log->variables);
	if (log->owns_fd)
		cleanup_close(&log->fd);
	free(log);
}

static struct log_text *find_text(struct leak_log *log, const char *path)
{
	vec_foreach(&log->texts, text)
		if (strcmp(text->path ? text->path : "", path ? path : "") == 0)
			return text;
	return NULL;
}

static int add(struct leak_log *log, pid_t pid, const char *text, bool replaces)
{
	_cleanup_free_ char *path = log->path ? leak_log_path(log, pid) : NULL;
	struct log_text *found;
	int r = 0;

	if (log->path && !path)
		return -ENOMEM;
	found = find_text(log, path);
	if (!found) {
		r = vec_push(&log->texts, (struct log_text){ .path = path });
		if (r < 0)
			return r;
		path = NULL;
		found = &log->texts.data[log->texts.len - 1];
	}
	if (replaces)
		strbuf_reset(&found->text);
	strbuf_adds(&found->text, text);
	found->is_new = true;
	return strbuf_error(&found->text);
}

void leak_log_stamp_lines(struct leak_log *log)
{
	log->has_stamps = true;
	log->start_ns = clock_monotonic_ns();
}

/* "==00:00:00:01.500 1234== " for "==1234== ". */
static void add_stamps(struct strbuf *out, const char *text, uint64_t elapsed_ns)
{
	static const char begin[] = "==";

	for (const char *line = text, *end; *line; line = end) {
		end = strchr(line, '\n');
		end = end ? end + 1 : line + strlen(line);
		if (strncmp(line, begin, strlen(begin)) == 0) {
			strbuf_adds(out, begin);
			leak_xml_elapsed(out, elapsed_ns);
			line += strlen(begin);
		}
		strbuf_add(out, line, (size_t)(end - line));
	}
}

int leak_log_add(struct leak_log *log, pid_t pid, const char *text)
{
	_cleanup_strbuf_ struct strbuf stamped = { 0 };

	if (!log->has_stamps)
		return add(log, pid, text, false);
	add_stamps(&stamped, text, clock_monotonic_ns() - log->start_ns);
	return strbuf_error(&stamped) < 0 ? strbuf_error(&stamped) :
					    add(log, pid, strbuf_str(&stamped), false);
}

int leak_log_replace(struct leak_log *log, pid_t pid, const char *text)
{
	return add(log, pid, text, true);
}

static int write_file(const struct leak_log *log, const struct log_text *text)
{
	_cleanup_(outfile_free_p) struct outfile *file = NULL;
	int r = outfile_new(text->path, log->uid, log->gid, &file);

	if (r == 0 && fputs(strbuf_str(&text->text), outfile_stream(file)) == EOF)
		r = outfile_error(file, -EIO);
	if (r == 0)
		r = outfile_commit(file);
	return say_failed(text->path, r);
}

static int say_not_taken(const struct leak_log *log, int r)
{
	log_error("%s%s: %s", log->option, log->is_socket ? "-socket" : "-fd", strerror(-r));
	return r;
}

void leak_log_stop(struct leak_log *log)
{
	log->is_stopped = true;
}

/* Readable when a signal waits that is to end us: the loop, which takes them, waits for us. */
static int open_stop_signals(void)
{
	sigset_t signals;

	(void)sigemptyset(&signals); /* with valid arguments these do not fail */
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGHUP);
	return signalfd(-1, &signals, SFD_CLOEXEC);
}

/* How long it may still be waited for; -1: for as long as it takes. */
static int wait_left_ms(const struct leak_log *log)
{
	int64_t left_ms = WAIT_S * INT64_C(1000) +
			  (int64_t)(log->written * 1000 / LEAST_BYTES_PER_S) -
			  (int64_t)(log->waited_ns / 1000000);

	if (!log->is_socket && !log->is_stopped)
		return -1;
	return left_ms <= 0 ? 0 : left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

/* Until it takes more. 0; -ETIMEDOUT: not in the time that it has for what it took. */
static int wait_until_taken(struct leak_log *log)
{
	_cleanup_close_ int signals = log->is_stopped ? -1 : open_stop_signals();
	struct pollfd ready[] = { { .fd = log->fd, .events = POLLOUT },
				  { .fd = signals, .events = POLLIN } };
	uint64_t began_ns = clock_monotonic_ns();
	int n, left_ms = wait_left_ms(log);

	/* Of an error the next write tells. */
	n = left_ms ? poll(ready, 2, left_ms) : 0;
	if (n > 0 && ready[1].revents)
		log->is_stopped = true;
	if (log->is_socket || log->is_stopped)
		log->waited_ns += clock_monotonic_ns() - began_ns;
	return n == 0 ? -ETIMEDOUT : 0;
}

/* What cannot be written is told of once. */
static int write_descriptor(struct leak_log *log, const struct strbuf *text)
{
	const char *at = strbuf_str(text);
	size_t left = text->len;
	int r = 0;

	while (left > 0 && !log->failed && r == 0) {
		ssize_t n = write(log->fd, at, left);

		if (n >= 0) {
			at += n;
			left -= (size_t)n;
			log->written += (uint64_t)n;
		} else if (errno == EAGAIN) {
			r = wait_until_taken(log);
		} else if (errno != EINTR) {
			r = -errno;
		}
	}
	if (r == 0)
		return 0;
	log->failed = true;
	/* As messages: nobody who closed standard error wants to hear of that. */
	if (log->is_stderr)
		return r == -ETIMEDOUT ? r : 0;
	return say_not_taken(log, r);
}

int leak_log_flush(struct leak_log *log)
{
	int r = 0;

	vec_foreach(&log->texts, text) {
		if (!text->is_new)
			continue;
		text->is_new = false;
		if (text->path) {
			int failed = write_file(log, text);

			r = r ? r : failed;
			continue;
		}
		r = r ? r : write_descriptor(log, &text->text);
		strbuf_reset(&text->text);
	}
	return r;
}
