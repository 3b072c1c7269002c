/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/listeners.h"

#include "base/log.h"
#include "base/vec.h"
#include "service/http/listen.h"

#include <errno.h>
#include <string.h>
#include <systemd/sd-daemon.h>

struct served {
	struct listener listener;
	struct http_server *server;
	char *name; /* for messages */
	bool is_inherited;
	bool is_named; /* by the configuration that is prepared */
	bool is_leaving, is_closed;
};

typedef VEC(struct served *) served_vec;

struct listeners {
	struct http_server_opts opts;
	int n_inherited;
	const struct service_config *config; /* a reference */
	served_vec list;
	struct http_counts past; /* of servers that are gone */
};

struct listeners_next {
	struct listeners *listeners;
	const struct service_config *config;
	served_vec made;
	served_vec list; /* empty, with room for all that the commit puts there */
};

int listeners_new(const struct http_server_opts *server, int n_inherited,
		  struct listeners **ret_listeners)
{
	struct listeners *listeners = calloc(1, sizeof(*listeners));

	if (!listeners)
		return -ENOMEM;
	listeners->opts = *server;
	listeners->n_inherited = n_inherited;
	*ret_listeners = listeners;
	return 0;
}

static void served_free(struct served *served)
{
	if (!served)
		return;
	http_server_free(served->server);
	listener_done(&served->listener);
	free(served->name);
	free(served);
}
DEFINE_CLEANUP(struct served, served_free)

static void free_all(served_vec *list)
{
	vec_foreach(list, served)
		served_free(*served);
	vec_done(list);
}

void listeners_free(struct listeners *listeners)
{
	if (!listeners)
		return;
	free_all(&listeners->list);
	service_config_unref(listeners->config);
	free(listeners);
}

void listeners_next_free(struct listeners_next *next)
{
	if (!next)
		return;
	free_all(&next->made);
	vec_done(&next->list);
	service_config_unref(next->config);
	free(next);
}

/* --- opening --------------------------------------------------------------------------------- */

static int serve_listener(struct listeners_next *next, const struct listener *listener,
			  const char *name, bool is_inherited)
{
	_cleanup_(served_free_p) struct served *served = calloc(1, sizeof(*served));
	struct http_server_opts opts = next->listeners->opts;
	struct listener taken = *listener;
	int r = served ? 0 : -ENOMEM;

	if (r < 0) {
		close(taken.fd);
		listener_done(&taken);
		return r;
	}
	served->listener = taken;
	served->is_inherited = is_inherited;
	opts.fd = taken.fd;
	opts.limits = (struct http_limits){
		.timeout_ns = next->config->timeout_ns,
		.connections = next->config->max_connections,
		.connections_of_user = next->config->max_connections_of_user,
		.answer_bytes = next->config->max_answer,
	};
	r = http_server_new(&opts, &served->server);
	if (r == 0)
		served->name = strdup(name);
	if (r == 0 && !served->name)
		r = -ENOMEM;
	if (r == 0)
		r = vec_push(&next->made, served);
	if (r == 0)
		(void)TAKE_PTR(served); /* the list has it */
	return r;
}

static int describe_open_error(const char *where, int error, struct strbuf *out)
{
	if (error == -EADDRINUSE)
		strbuf_addf(out,
			    "%s: another service listens there already; end it, or give another "
			    "address",
			    where);
	else if (error == -EEXIST)
		strbuf_addf(out,
			    "%s: there is a file that is not a socket; remove it, or give another "
			    "path",
			    where);
	else if (error == -ENODATA)
		strbuf_addf(out, "%s: there is no group of the name that socket_group gives",
			    where);
	else
		strbuf_addf(out, "%s: cannot listen there: %s", where, strerror(-error));
	return error;
}

/* One of systemd's stands for the address that it has. */
static struct served *find_served(const struct listeners *listeners,
				  const struct service_listen *listen)
{
	vec_foreach(&listeners->list, served)
		if (!(*served)->is_leaving && listener_has_address((*served)->listener.fd, listen))
			return *served;
	return NULL;
}

static bool is_inherited(const struct listeners *listeners, const struct service_listen *listen)
{
	for (int i = 0; i < listeners->n_inherited; i++)
		if (listener_has_address(SD_LISTEN_FDS_START + i, listen))
			return true;
	return false;
}

static int prepare_one(struct listeners_next *next, const struct service_listen *listen)
{
	struct served *there = find_served(next->listeners, listen);
	struct listener listener;
	int r = 0;

	if (is_inherited(next->listeners, listen))
		return 0;
	if (there) {
		there->is_named = true;
		return listener_check_group(next->config);
	}
	r = listener_open(next->config, listen, &listener);
	return r ? r : serve_listener(next, &listener, listen->text, false);
}

static int prepare_inherited(struct listeners_next *next, int fd, struct strbuf *error)
{
	const struct listener listener = { .fd = fd, .lock_fd = -1 };
	int r = listener_check(next->config, fd);

	/* Only the first configuration finds them without a server. */
	if (r == 0 && !next->listeners->config)
		r = serve_listener(next, &listener, "a socket of systemd's", true);
	if (r == -EPERM)
		strbuf_adds(error,
			    "a socket of systemd's can be reached from other hosts; to allow "
			    "this, set [http] remote = yes and token_file");
	else if (r < 0)
		strbuf_addf(error, "a socket of systemd's cannot be served: %s", strerror(-r));
	return r;
}

int listeners_prepare(struct listeners *listeners, const struct service_config *config,
		      struct listeners_next **ret_next, struct strbuf *error)
{
	_cleanup_(listeners_next_free_p) struct listeners_next *next = calloc(1, sizeof(*next));
	int r = 0;

	if (!next)
		return -ENOMEM;
	next->listeners = listeners;
	next->config = service_config_ref(config);
	vec_foreach(&listeners->list, served)
		(*served)->is_named = (*served)->is_inherited;
	for (int i = 0; r == 0 && i < listeners->n_inherited; i++)
		r = prepare_inherited(next, SD_LISTEN_FDS_START + i, error);
	for (size_t i = 0; r == 0 && i < config->n_listens; i++) {
		r = prepare_one(next, &config->listens[i]);
		if (r < 0)
			describe_open_error(config->listens[i].text, r, error);
	}
	if (r == 0)
		r = vec_reserve(&next->list, listeners->list.len + next->made.len);
	if (r == 0)
		*ret_next = TAKE_PTR(next);
	return r;
}

/* --- the change ------------------------------------------------------------------------------ */

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* The group is there; that its own socket is not was another's doing. */
static void allow(const struct listeners *listeners, const struct served *served,
		  const struct service_config *config)
{
	const struct service_config *now = listeners->config;
	int r;

	if (!served->listener.path || (now->socket_mode == config->socket_mode &&
				       is_same_text(now->socket_group, config->socket_group)))
		return;
	r = listener_allow(config, served->listener.path);
	if (r < 0)
		log_error("%s: cannot set its mode and group: %s", served->name, strerror(-r));
}

void listeners_commit(struct listeners *listeners, struct listeners_next *next)
{
	served_vec old = listeners->list;

	vec_foreach(&old, served) {
		(*served)->is_leaving |= !(*served)->is_named;
		if (!(*served)->is_leaving)
			allow(listeners, *served, next->config);
		(void)vec_push(&next->list, *served); /* there is room */
	}
	vec_foreach(&next->made, served) {
		log_info("listening on %s", (*served)->name);
		(void)vec_push(&next->list, *served); /* as above */
	}
	next->made.len = 0;
	listeners->list = next->list;
	next->list = old;
	service_config_set(&listeners->config, next->config);
	listeners_next_free(next);
}

/* --- the loop -------------------------------------------------------------------------------- */

/* Those that have connected by now are accepted before. */
static void close_leaving(struct served *served)
{
	log_info("no longer listening on %s", served->name);
	http_server_close(served->server);
	listener_done(&served->listener);
	served->is_closed = true;
}

void listeners_run(struct listeners *listeners)
{
	size_t n = 0;

	vec_foreach(&listeners->list, served) {
		http_server_run((*served)->server);
		if ((*served)->is_leaving && !(*served)->is_closed)
			close_leaving(*served);
		if ((*served)->is_closed && http_server_is_idle((*served)->server)) {
			http_server_count((*served)->server, &listeners->past);
			served_free(*served);
		} else {
			listeners->list.data[n++] = *served;
		}
	}
	listeners->list.len = n;
}

int listeners_timeout_ms(const struct listeners *listeners)
{
	int first = -1;

	vec_foreach(&listeners->list, served) {
		int ms = http_server_timeout_ms((*served)->server);

		if ((*served)->is_leaving && !(*served)->is_closed)
			ms = 0;
		if (first < 0 || (ms >= 0 && ms < first))
			first = ms;
	}
	return first;
}

void listeners_close_user(struct listeners *listeners, uid_t uid)
{
	vec_foreach(&listeners->list, served)
		http_server_close_user((*served)->server, uid);
}

struct http_counts listeners_count(const struct listeners *listeners)
{
	struct http_counts counts = listeners->past;

	vec_foreach(&listeners->list, served)
		http_server_count((*served)->server, &counts);
	return counts;
}
