/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/http/server.h"

#include "base/clock.h"
#include "service/http/headers.h"
#include "target/login_users.h"

#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define TICK_NS UINT64_C(1000000000)
/* For the line and the headers of a request, and as much for those of its answer. */
#define CONNECTION_BYTES (32U << 10)
/* An answer may take this many times the timeout to be taken. */
#define ANSWER_TIMEOUTS 6
/* Rounds of the library at a time, before others have their turn. */
#define MAX_ROUNDS 16
/* Connections of root beyond all limits. */
#define ROOM_OF_ROOT 32

struct connection {
	struct http_server *server;
	struct connection *prev, *next;
	int fd;
	struct http_peer peer;	      /* as the kernel says */
	struct http_peer counted;     /* whose limits it counts for */
	uid_t person;		      /* who has that uid: login_users.h */
	bool is_shut;		      /* the library closes it next */
	uint64_t deadline_ns;	      /* 0: it is our turn */
	uint64_t answer_bytes;	      /* of an answer that is not taken yet */
	struct http_request *waiting; /* suspended until it is answered */
};

struct http_request {
	struct connection *connection;
	struct MHD_Connection *mhd;
	char *target;
	const char *method;
	struct strbuf body;
	bool has_begun, too_large, is_handled;
	bool is_last; /* of its connection */
	struct http_answer answer;
	bool is_answered;
	void *userdata;
};

struct http_server {
	struct http_server_opts opts;
	struct MHD_Daemon *daemon;
	struct loop_source *source, *tick;
	struct connection *connections;
	struct http_counts counts;
	bool is_closed; /* for new connections */
};

/* --- connections ----------------------------------------------------------------------------- */

static uint64_t deadline(const struct http_server *server, unsigned int times)
{
	return clock_monotonic_ns() + times * server->opts.limits.timeout_ns;
}

/* The library sees the end of it, and closes. */
static void shut_connection(struct connection *c)
{
	c->is_shut = true;
	(void)shutdown(c->fd, SHUT_RDWR); /* it may be gone already */
}

/* Without those of root, and those that are shut. */
struct usage {
	uint64_t known, of_user, unknown;
	struct connection *oldest_unknown;
};

static struct usage usage_of(const struct http_server *server, const struct http_peer *user)
{
	uid_t person = login_users_find(server->opts.users, user->uid);
	struct usage usage = {};

	/* The newest first. */
	for (struct connection *c = server->connections; c; c = c->next) {
		if (c->is_shut || http_peer_is_root(&c->counted))
			continue;
		if (c->counted.known) {
			usage.known++;
			usage.of_user += c->person == person;
		} else {
			usage.unknown++;
			usage.oldest_unknown = c;
		}
	}
	return usage;
}

static uint64_t most_unknown(const struct http_limits *limits)
{
	return limits->connections / 2 + 1;
}

/*
 * May this user have one connection more? Of those that have shown no token the oldest makes room:
 * a request with a token comes at once, so that who only connects keeps no other out.
 */
static bool has_room(struct http_server *server, const struct http_peer *user)
{
	const struct http_limits *limits = &server->opts.limits;
	struct usage usage;

	if (http_peer_is_root(user))
		return true;
	usage = usage_of(server, user);
	if (!user->known && usage.unknown >= most_unknown(limits)) {
		server->counts.too_many++;
		shut_connection(usage.oldest_unknown);
	}
	if (!user->known ||
	    (usage.known < limits->connections && usage.of_user < limits->connections_of_user))
		return true;
	server->counts.too_many++;
	return false;
}

static struct connection *connection_new(struct http_server *server, struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct connection *c = calloc(1, sizeof(*c));

	if (!c || !info) {
		free(c);
		return NULL;
	}
	c->server = server;
	c->fd = info->connect_fd;
	http_refuse_descriptors(c->fd); /* it may be from before ours listened */
	c->peer = http_peer_of(c->fd);
	c->deadline_ns = deadline(server, 1);
	c->counted = c->peer;
	c->person = login_users_find(server->opts.users, c->peer.uid);
	if (!has_room(server, &c->counted))
		shut_connection(c);
	c->next = server->connections;
	if (c->next)
		c->next->prev = c;
	server->connections = c;
	server->counts.connections++;
	return c;
}

static void connection_free(struct connection *c)
{
	if (c->prev)
		c->prev->next = c->next;
	else
		c->server->connections = c->next;
	if (c->next)
		c->next->prev = c->prev;
	c->server->counts.connections--;
	free(c);
}

static void on_connection(void *userdata, struct MHD_Connection *mhd, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		*context = connection_new(userdata, mhd);
	else if (*context)
		connection_free(*context);
}

static struct connection *connection_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* --- requests -------------------------------------------------------------------------------- */

static void *on_target(void *userdata, const char *target, struct MHD_Connection *mhd)
{
	struct http_request *request = calloc(1, sizeof(*request));

	(void)userdata;
	if (!request)
		return NULL;
	request->mhd = mhd;
	request->connection = connection_of(mhd);
	request->target = strdup(target);
	if (!request->target || !request->connection) {
		free(request->target);
		free(request);
		return NULL;
	}
	return request;
}

static void on_completed(void *userdata, struct MHD_Connection *mhd, void **context,
			 enum MHD_RequestTerminationCode code)
{
	struct http_server *server = userdata;
	struct http_request *request = *context;

	(void)mhd;
	(void)code;
	if (!request)
		return;
	if (request->is_handled && !request->is_answered)
		server->opts.gone(request, server->opts.userdata);
	request->connection->waiting = NULL;
	request->connection->answer_bytes = 0;
	request->connection->deadline_ns = deadline(server, 1);
	http_answer_done(&request->answer);
	strbuf_done(&request->body);
	free(request->target);
	free(request);
	*context = NULL;
}

#define NOTHING_ELSE "default-src 'none'; base-uri 'none'; form-action 'none'; "
#define OWN_STYLE "style-src 'unsafe-inline'; "
#define OWN_SCRIPTS OWN_STYLE "script-src 'unsafe-inline'; "

static const struct {
	const char *frame, *policy;
} pages[] = {
	[HTTP_PAGE_PLAIN] = { "DENY", NOTHING_ELSE OWN_STYLE "frame-ancestors 'none'" },
	[HTTP_PAGE_SCRIPTS] = { "SAMEORIGIN", NOTHING_ELSE OWN_SCRIPTS "frame-ancestors 'self'" },
	[HTTP_PAGE_HOST] = { "DENY", NOTHING_ELSE OWN_SCRIPTS
			     "connect-src 'self'; frame-src 'self'; frame-ancestors 'none'" },
	[HTTP_PAGE_STORED] = { "SAMEORIGIN", NOTHING_ELSE OWN_SCRIPTS
			       "frame-ancestors 'self'; sandbox allow-scripts" },
};

/* What the page may do, and nothing that others may do with it. */
static void add_headers(struct MHD_Response *response, const struct http_answer *answer,
			bool is_last)
{
	static const char *const headers[][2] = {
		{ MHD_HTTP_HEADER_CACHE_CONTROL, "no-store" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Cross-Origin-Opener-Policy", "same-origin" },
	};
	char name[128];

	/* None of these can fail but without memory: then the answer goes without a header. */
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		(void)MHD_add_response_header(response, headers[i][0], headers[i][1]);
	(void)MHD_add_response_header(response, "X-Frame-Options", pages[answer->page].frame);
	(void)MHD_add_response_header(response, "Content-Security-Policy",
				      pages[answer->page].policy);
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
	if (is_last)
		(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	if (answer->location)
		(void)MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, answer->location);
	if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, POST");
	if (answer->status == MHD_HTTP_UNAUTHORIZED)
		(void)MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
					      HTTP_CHALLENGE);
	if (!answer->file_name)
		return;
	(void)snprintf(name, sizeof(name), "attachment; filename=\"%s\"", answer->file_name);
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_DISPOSITION, name);
}

/* Of a user, on this listener. Root's subordinate users are the person root, and not root. */
static uint64_t untaken_bytes(const struct connection *own)
{
	uint64_t bytes = 0;

	for (const struct connection *c = own->server->connections; c; c = c->next)
		if (c->counted.known == own->counted.known && c->person == own->person &&
		    !http_peer_is_root(&c->counted))
			bytes += c->answer_bytes;
	return bytes;
}

/* Users may have many connections, and need not read what they have asked for. */
static void limit_answer(struct http_request *request)
{
	struct connection *c = request->connection;
	uint64_t untaken = http_peer_is_root(&c->counted) ? 0 : untaken_bytes(c);

	if (untaken && untaken + request->answer.body.len > c->server->opts.limits.answer_bytes)
		http_answer_error(&request->answer, MHD_HTTP_SERVICE_UNAVAILABLE,
				  "take your other answers first: together they are larger than "
				  "[http] max_answer");
	c->answer_bytes = request->answer.body.len;
}

static enum MHD_Result queue(struct http_request *request)
{
	struct http_server *server = request->connection->server;
	struct http_answer *answer = &request->answer;
	struct MHD_Response *response;
	enum MHD_Result result;

	limit_answer(request);
	if (strbuf_error(&answer->body))
		return MHD_NO;
	response = answer->is_file ?
			   MHD_create_response_from_fd64(answer->file_bytes, answer->fd) :
			   MHD_create_response_from_buffer(answer->body.len, answer->body.data,
							   MHD_RESPMEM_MUST_FREE);
	if (!response)
		return MHD_NO;
	answer->body = (struct strbuf){}; /* the response has it, */
	answer->is_file = false;	  /* or the file */
	/* A connection has one try of a token. */
	add_headers(response, answer,
		    server->is_closed || request->is_last ||
			    answer->status == MHD_HTTP_UNAUTHORIZED);
	result = MHD_queue_response(request->mhd, answer->status, response);
	MHD_destroy_response(response);
	request->connection->deadline_ns = deadline(server, ANSWER_TIMEOUTS);
	server->counts.answers[answer->status / 100 % 6]++;
	return result;
}

static void append_body(struct http_request *request, const char *data, size_t *len)
{
	if (*len > HTTP_BODY_MOST - request->body.len)
		request->too_large = true;
	else
		strbuf_add(&request->body, data, *len);
	*len = 0;
}

static enum MHD_Result on_header(void *userdata, enum MHD_ValueKind kind, const char *name,
				 size_t name_len, const char *value, size_t value_len)
{
	(void)kind;
	http_framing_add(userdata, name, name_len, value ? value : "", value_len);
	return MHD_YES;
}

/*
 * Before a body is read. What follows one that is no plain GET may be a part of it, of which the
 * library and a proxy before us have different opinions.
 */
static enum MHD_Result begin_request(struct http_request *request)
{
	struct http_framing framing = {};

	(void)MHD_get_connection_values_n(request->mhd, MHD_HEADER_KIND, on_header, &framing);
	request->is_last = framing.has_body || framing.why || strcmp(request->method, "GET") != 0;
	if (!framing.why)
		return MHD_YES;
	http_answer_error(&request->answer, MHD_HTTP_BAD_REQUEST, "%s", framing.why);
	request->is_handled = request->is_answered = true;
	return queue(request);
}

/* An MHD_AccessHandlerCallback: at the headers, with each part of the body, at the end, and after
 * the connection was resumed. */
static enum MHD_Result on_request(void *userdata, struct MHD_Connection *mhd, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *len, void **context)
{
	struct http_server *server = userdata;
	struct http_request *request = *context;
	static const struct http_answer no_answer = {};

	(void)mhd;
	(void)url;
	(void)version;
	if (!request)
		return MHD_NO; /* no memory: the connection is closed */
	if (!request->has_begun) {
		request->has_begun = true;
		request->method = method;
		return begin_request(request);
	}
	if (*len > 0) {
		append_body(request, data, len);
		return MHD_YES;
	}
	if (request->is_answered)
		return queue(request);
	if (request->is_handled)
		return MHD_YES;
	request->is_handled = true;
	request->connection->deadline_ns = 0;
	request->answer = no_answer;
	if (request->too_large || strbuf_error(&request->body)) {
		http_answer_error(&request->answer, MHD_HTTP_CONTENT_TOO_LARGE,
				  "the body is larger than %u bytes", HTTP_BODY_MOST);
		request->is_answered = true;
	} else {
		server->opts.handle(request, server->opts.userdata);
	}
	if (request->is_answered)
		return queue(request);
	request->connection->waiting = request;
	MHD_suspend_connection(request->mhd);
	return MHD_YES;
}

void http_request_answer(struct http_request *request, struct http_answer *answer)
{
	struct connection *c = request->connection;

	request->answer = *answer;
	answer->body = (struct strbuf){};
	answer->is_file = false;
	request->is_answered = true;
	if (!c->waiting)
		return;
	c->waiting = NULL;
	MHD_resume_connection(request->mhd);
}

void http_request_set_userdata(struct http_request *request, void *userdata)
{
	request->userdata = userdata;
}

void *http_request_userdata(const struct http_request *request)
{
	return request->userdata;
}

const char *http_request_method(const struct http_request *request)
{
	return request->method;
}

const char *http_request_target(const struct http_request *request)
{
	return request->target;
}

const char *http_request_header(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->mhd, MHD_HEADER_KIND, name);
}

const struct strbuf *http_request_body(const struct http_request *request)
{
	return &request->body;
}

const struct http_peer *http_request_peer(const struct http_request *request)
{
	return &request->connection->peer;
}

bool http_request_count_for(struct http_request *request, uid_t uid)
{
	struct connection *c = request->connection;
	const struct http_peer user = { .known = true, .uid = uid, .is_tcp = c->peer.is_tcp };

	if (c->counted.known && c->counted.uid == uid)
		return true;
	if (!has_room(c->server, &user))
		return false;
	c->counted = user;
	c->person = login_users_find(c->server->opts.users, uid);
	return true;
}

/* --- the server ------------------------------------------------------------------------------ */

/* The library does not look at a suspended connection. */
static bool has_left(const struct connection *c)
{
	char byte;

	return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void answer_nobody(struct http_request *request, unsigned int status, const char *text)
{
	struct http_server *server = request->connection->server;
	struct http_answer answer = {};

	server->opts.gone(request, server->opts.userdata);
	http_answer_error(&answer, status, "%s", text);
	http_request_answer(request, &answer);
	http_answer_done(&answer);
}

/* The library's own limit is on silence: a byte a second would go on for ever. */
static int on_tick(void *userdata)
{
	struct http_server *server = userdata;
	uint64_t now_ns = clock_monotonic_ns();

	for (struct connection *c = server->connections; c; c = c->next) {
		if (c->waiting && has_left(c)) {
			answer_nobody(c->waiting, MHD_HTTP_BAD_REQUEST, "gone");
		} else if (c->deadline_ns && now_ns > c->deadline_ns) {
			server->counts.too_slow++;
			c->deadline_ns = 0;
			shut_connection(c);
		}
	}
	return 0;
}

static int on_ready(int fd, uint32_t events, void *userdata)
{
	(void)fd;
	(void)events;
	(void)userdata; /* http_server_run comes in each round */
	return 0;
}

static int begin_server(struct http_server *server)
{
	const struct http_limits *limits = &server->opts.limits;
	const union MHD_DaemonInfo *info;
	int r;

	errno = 0; /* the library does not say why */
	server->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, server,
		MHD_OPTION_LISTEN_SOCKET, server->opts.fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)(limits->connections + most_unknown(limits) + ROOM_OF_ROOT),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)(limits->timeout_ns / 1000000000),
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
		on_completed, server, MHD_OPTION_URI_LOG_CALLBACK, on_target, server,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (!server->daemon)
		return errno ? -errno : -EIO;
	info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info)
		return -EIO;
	r = loop_add_fd(server->opts.loop, info->epoll_fd, EPOLLIN, on_ready, server,
			&server->source);
	return r ? r : loop_add_timer(server->opts.loop, TICK_NS, on_tick, server, &server->tick);
}

int http_server_new(const struct http_server_opts *opts, struct http_server **ret_server)
{
	_cleanup_(http_server_free_p) struct http_server *server = calloc(1, sizeof(*server));
	int r;

	if (!server)
		return -ENOMEM;
	server->opts = *opts;
	r = begin_server(server);
	if (r == 0)
		*ret_server = TAKE_PTR(server);
	return r;
}

void http_server_free(struct http_server *server)
{
	if (!server)
		return;
	loop_source_free(server->tick);
	loop_source_free(server->source);
	/* The library may not be stopped while a connection is suspended. */
	for (struct connection *c = server->connections; c; c = c->next)
		if (c->waiting)
			answer_nobody(c->waiting, MHD_HTTP_SERVICE_UNAVAILABLE, "the service ends");
	if (server->daemon) {
		http_server_run(server);
		MHD_stop_daemon(server->daemon);
	}
	free(server);
}

void http_server_close(struct http_server *server)
{
	int fd = MHD_quiesce_daemon(server->daemon);

	server->is_closed = true;
	if (fd >= 0)
		close(fd);
}

bool http_server_is_idle(const struct http_server *server)
{
	return !server->connections;
}

void http_server_run(struct http_server *server)
{
	for (int i = 0; i < MAX_ROUNDS; i++) {
		(void)MHD_run(server->daemon); /* MHD_NO: not in this mode, which it is in */
		if (http_server_timeout_ms(server) != 0)
			return;
	}
}

int http_server_timeout_ms(const struct http_server *server)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (MHD_get_timeout(server->daemon, &ms) != MHD_YES)
		return -1;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

void http_server_close_user(struct http_server *server, uid_t uid)
{
	for (struct connection *c = server->connections; c; c = c->next)
		if (c->peer.is_tcp && c->counted.known && c->counted.uid == uid)
			shut_connection(c);
}

void http_server_count(const struct http_server *server, struct http_counts *counts)
{
	for (size_t i = 0; i < sizeof(counts->answers) / sizeof(counts->answers[0]); i++)
		counts->answers[i] += server->counts.answers[i];
	counts->connections += server->counts.connections;
	counts->too_slow += server->counts.too_slow;
	counts->too_many += server->counts.too_many;
}
