/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/commands.h"

#include "base/escape.h"
#include "base/log.h"
#include "config/options.h"
#include "config/service_config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Of an answer: the service has a limit of its own. */
#define MOST (1ULL << 32)

static int open_socket(const char *path, int *ret_fd)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* HTTP/1.0: the answer ends with the connection, and has no chunks. */
static int make_request(const struct ctl_options *options, struct strbuf *out)
{
	switch (options->verb) {
	case CTL_TRACE:
		strbuf_addf(out, "POST /ctl/trace?pid=%d&seconds=%" PRIu64, (int)options->pid,
			    options->for_ns / 1000000000);
		if (options->depth)
			strbuf_addf(out, "&depth=%s", heap_depth_names[options->depth]);
		if (options->format) {
			strbuf_adds(out, "&format=");
			escape_query(out, options->format);
		}
		break;
	case CTL_REPORTS:
		strbuf_adds(out, "GET /ctl/reports");
		if (options->name) {
			strbuf_adds(out, "?name=");
			escape_query(out, options->name);
		}
		break;
	case CTL_TOKEN:
		strbuf_adds(out, options->revoke ? "POST /ctl/token/revoke" : "POST /ctl/token");
		if (options->for_ns)
			strbuf_addf(out, "?seconds=%" PRIu64, options->for_ns / 1000000000);
		break;
	default:
		strbuf_adds(out, "GET /ctl/status");
	}
	strbuf_adds(out, " HTTP/1.0\r\nContent-Length: 0\r\n\r\n");
	return strbuf_error(out);
}

static int send_all(int fd, const struct strbuf *text)
{
	for (size_t sent = 0; sent < text->len;) {
		ssize_t n = send(fd, text->data + sent, text->len - sent, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return -errno;
		sent += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* The body is what is behind the headers. 0 or negative errno (logged). */
static int print_answer(const struct strbuf *answer)
{
	_cleanup_strbuf_ struct strbuf shown = {};
	const char *text = strbuf_str(answer), *body = strstr(text, "\r\n\r\n");
	unsigned int status;
	size_t len;

	if (!body || sscanf(text, "HTTP/1.%*1[01] %3u ", &status) != 1) {
		log_error("the service's answer is not understood");
		return -EBADMSG;
	}
	body += 4;
	len = answer->len - (size_t)(body - text);
	if (status / 100 != 2) {
		log_error("%.*s", (int)strcspn(body, "\n"), body);
		return -EREMOTEIO;
	}
	/* What the other side sends may go into files as it is, but not to a terminal. */
	if (isatty(STDOUT_FILENO)) {
		escape_bytes(&shown, body, len, "\n\t");
		body = strbuf_str(&shown);
		len = shown.len;
	}
	if (strbuf_error(&shown))
		return -ENOMEM;
	if (fwrite(body, 1, len, stdout) != len || fflush(stdout) == EOF) {
		int r = -errno;

		if (r != -EPIPE)
			log_error("cannot write to stdout: %s", strerror(-r));
		return r;
	}
	return 0;
}

static int exchange(int fd, const struct ctl_options *options, struct strbuf *answer)
{
	_cleanup_strbuf_ struct strbuf request = {};
	int r = make_request(options, &request);

	if (r == 0)
		r = send_all(fd, &request);
	return r ? r : strbuf_read(answer, fd, MOST);
}

int ctl_run(const struct ctl_options *options)
{
	const char *path = options->socket ? options->socket : SERVICE_SOCKET_PATH;
	_cleanup_strbuf_ struct strbuf answer = {};
	_cleanup_close_ int fd = -1;
	int r = open_socket(path, &fd);

	if (r == -ENOENT || r == -ECONNREFUSED) {
		log_error("no service listens on %s: start it with 'memtraced --service', or name "
			  "its socket with --socket",
			  path);
		return r;
	}
	if (r == 0)
		r = exchange(fd, options, &answer);
	if (r < 0) {
		log_error("cannot ask the service on %s: %s", path, strerror(-r));
		return r == -EPIPE ? -EIO : r;
	}
	return print_answer(&answer);
}
