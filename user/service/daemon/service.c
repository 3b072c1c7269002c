/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/service.h"

#include "base/clock.h"
#include "base/log.h"
#include "report/report.h"
#include "service/daemon/growth/host_growth.h"
#include "service/daemon/growth/host_usage.h"
#include "service/daemon/privileges.h"
#include "service/daemon/push/push.h"
#include "service/daemon/reports/post_mortem.h"
#include "service/daemon/reports/reports.h"
#include "service/daemon/routes/routes.h"
#include "service/daemon/routes/token.h"
#include "service/daemon/routes/user_tokens.h"
#include "service/daemon/trace/traces_cost.h"
#include "service/daemon/watch/rules.h"
#include "service/http/listen.h"
#include "service/probe_cost.h"
#include "target/login_users.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

struct running {
	struct service service;
	VEC(struct listener) listeners;
};

/* --- configuration --------------------------------------------------------------------------- */

/* Once, where there is a limit: on this kernel, and with the programs that it has loaded. */
static void measure_cost(const struct service *service)
{
	struct probe_cost cost;

	if (service->config->max_overhead == 0 || traces_budget(service->traces).call_ns > 0)
		return;
	if (probe_cost_measure(service->worker, "", &cost) == 0)
		log_info("a call of an allocator that is traced takes %" PRIu64 " ns here",
			 cost.call_ns);
	traces_set_cost(service->traces, &cost);
}

/* Who has shown the token that is not valid any more is not answered any more. */
static void replace_token(struct service *service, char *token)
{
	if (service->token && (!token || strcmp(service->token, token) != 0))
		vec_foreach(&service->servers, server)
			http_server_close_user(*server, 0);
	free(service->token);
	service->token = token;
}

static int check_format(const struct service_config *config, struct strbuf *error)
{
	const char *name = config->post_mortem_format;

	if (report_format_find(name))
		return 0;
	strbuf_addf(error, "[post_mortem] format = %s: ", name);
	report_format_unknown(name, error);
	return -EINVAL;
}

/* Only when all of it is right does anything change. 0 or negative errno (logged). */
static int configure(struct service *service)
{
	_cleanup_(service_config_free_p) struct service_config *config = NULL;
	_cleanup_strbuf_ struct strbuf error = {};
	_cleanup_free_ char *token = NULL;
	const char *path = service->config_path ? service->config_path : SERVICE_CONFIG_PATH;
	int r = service_config_read(service->config_path, &config, &error);

	if (r == 0)
		r = rules_check(config, path, &error);
	if (r == 0)
		r = check_format(config, &error);
	if (r == 0 && config->token_file)
		r = token_read(config->token_file, &token, &error);
	if (r == 0)
		r = push_check(config, &error);
	if (r == 0 && service->rules)
		r = rules_configure(service->rules, config);
	if (r < 0) {
		log_error("%s", error.len ? strbuf_str(&error) : strerror(-r));
		return r == -ENOMEM ? r : -EINVAL;
	}
	service_config_free(service->config);
	service->config = TAKE_PTR(config);
	replace_token(service, TAKE_PTR(token));
	if (service->traces)
		traces_configure(service->traces, service->config);
	if (service->watch)
		watch_configure(service->watch, service->config);
	if (service->growth)
		host_growth_configure(service->growth, service->config);
	if (service->push)
		(void)push_configure(service->push, service->config); /* the rest goes on without */
	return 0;
}

static int on_reload(const siginfo_t *info, void *userdata)
{
	struct service *service = userdata;

	(void)info;
	/* sd_notify's own failures are nobody's concern: there may be no one to tell. */
	(void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu",
			 (unsigned long long)(clock_monotonic_ns() / 1000));
	if (configure(service) == 0) {
		measure_cost(service);
		log_info("the configuration was read anew; addresses, numbers of connections and "
			 "time-outs are those of the start");
	} else {
		log_warning("the configuration stays as it was");
	}
	(void)sd_notify(0, "READY=1");
	return 0;
}

static int on_stop(const siginfo_t *info, void *userdata)
{
	struct service *service = userdata;

	(void)info;
	service->over = true;
	return 0;
}

static int on_watchdog(void *userdata)
{
	(void)userdata;
	(void)sd_notify(0, "WATCHDOG=1"); /* as above */
	return 0;
}

/* --- sockets --------------------------------------------------------------------------------- */

static int serve(struct running *running, int fd)
{
	struct service *service = &running->service;
	const struct http_server_opts opts = {
		.loop = service->loop,
		.fd = fd,
		.limits = {
			.timeout_ns = service->config->timeout_ns,
			.connections = service->config->max_connections,
			.connections_of_user = service->config->max_connections_of_user,
		},
		.users = service->users,
		.handle = service_handle,
		.gone = service_gone,
		.userdata = service,
	};
	struct http_server *server;
	int r = vec_reserve(&service->servers, service->servers.len + 1);

	if (r == 0)
		r = http_server_new(&opts, &server);
	return r ? r : vec_push(&service->servers, server);
}

static void say_not_opened(const struct service_listen *listen, int error)
{
	if (error == -EADDRINUSE)
		log_error("%s: another service listens there already", listen->text);
	else if (error == -EEXIST)
		log_error("%s: there is a file that is no socket: remove it, or give another path",
			  listen->text);
	else if (error == -ENODATA)
		log_error("%s: there is no group of the name that socket_group gives",
			  listen->text);
	else
		log_error("%s: cannot listen there: %s", listen->text, strerror(-error));
}

/* Is one of systemd's sockets of this address? It stands for it then. */
static bool is_taken(const struct service_listen *listen, int n_inherited)
{
	for (int i = 0; i < n_inherited; i++)
		if (listener_has_address(SD_LISTEN_FDS_START + i, listen))
			return true;
	return false;
}

static int open_listener(struct running *running, const struct service_listen *listen)
{
	struct listener listener;
	int r = vec_reserve(&running->listeners, running->listeners.len + 1);

	if (r == 0)
		r = listener_open(running->service.config, listen, &listener);
	if (r == 0) {
		(void)vec_push(&running->listeners, listener); /* there is room */
		r = serve(running, listener.fd);
	}
	if (r < 0)
		say_not_opened(listen, r);
	else
		log_info("listening on %s", listen->text);
	return r;
}

static int take_socket(struct running *running, int fd)
{
	int r = listener_check(running->service.config, fd);

	if (r == 0)
		r = serve(running, fd);
	if (r == -EPERM)
		log_error("a socket of systemd's can be reached from other hosts: [http] remote = "
			  "yes and token_file must say that this is meant");
	else if (r < 0)
		log_error("a socket of systemd's cannot be served: %s", strerror(-r));
	else
		log_info("listening on a socket of systemd's");
	return r;
}

static int open_listeners(struct running *running, int n_inherited)
{
	const struct service_config *config = running->service.config;
	int r = 0;

	for (int i = 0; r == 0 && i < n_inherited; i++)
		r = take_socket(running, SD_LISTEN_FDS_START + i);
	for (size_t i = 0; r == 0 && i < config->n_listens; i++)
		if (!is_taken(&config->listens[i], n_inherited))
			r = open_listener(running, &config->listens[i]);
	return r;
}

/* --- the run --------------------------------------------------------------------------------- */

static int add_signals(struct service *service)
{
	int r = loop_add_signal(service->loop, SIGTERM, on_stop, service);

	if (r == 0)
		r = loop_add_signal(service->loop, SIGINT, on_stop, service);
	if (r == 0)
		r = loop_add_signal(service->loop, SIGHUP, on_reload, service);
	return r;
}

static int add_watchdog(struct service *service)
{
	uint64_t usec;

	if (sd_watchdog_enabled(0, &usec) <= 0)
		return 0;
	return loop_add_timer(service->loop, usec * 1000 / 3 + 1, on_watchdog, service, NULL);
}

static int on_hour(void *userdata)
{
	const struct service *service = userdata;
	int r = reports_expire(service->config, time(NULL));

	if (r < 0)
		log_error("old reports in %s: %s", service->config->state_directory, strerror(-r));
	return 0;
}

static int add_timers(struct service *service)
{
	int r = add_watchdog(service);

	if (r == 0)
		r = loop_add_timer(service->loop, 3600 * SECOND_NS, on_hour, service, NULL);
	return r ? r : on_hour(service);
}

static void on_trace_ends(uint64_t trace, void *userdata)
{
	const struct service *service = userdata;

	push_trace_ends(service->push, trace);
}

static int begin_traces(struct service *service)
{
	const struct traces_opts opts = {
		.loop = service->loop,
		.config = service->config,
		.worker = service->worker,
		.users = service->users,
		.is_kill = post_mortem_is_due,
		.killed = post_mortem_write,
		.ends = on_trace_ends,
		.userdata = service,
	};

	return traces_new(&opts, &service->traces);
}

static int begin_growth(struct service *service)
{
	const struct host_growth_opts opts = {
		.loop = service->loop,
		.worker = service->worker,
		.is_kill = post_mortem_is_due,
		.killed = post_mortem_write_growth,
		.usage = { host_usage_points, service },
		.userdata = service,
	};

	return host_growth_new(&opts, &service->growth);
}

static int begin(struct running *running)
{
	struct service *service = &running->service;
	int n = sd_listen_fds(1), r = configure(service);

	if (r < 0)
		return r;
	r = loop_new(&service->loop);
	if (r == 0)
		r = login_users_new(LOGIN_USERS_SUBUID, LOGIN_USERS_PASSWD, &service->users);
	if (r == 0)
		r = user_tokens_new(service->users, &service->user_tokens);
	if (r == 0)
		r = add_signals(service);
	if (r == 0)
		r = add_timers(service);
	if (r == 0)
		r = begin_traces(service);
	if (r == 0)
		r = begin_growth(service);
	if (r == 0)
		r = watch_new(service->config, &service->watch);
	if (r == 0)
		r = rules_new(service, &service->rules);
	if (r == 0)
		r = rules_configure(service->rules, service->config);
	if (r == 0)
		r = push_new(service->loop, service->traces, service->growth, &service->push);
	if (r == 0)
		r = push_configure(service->push, service->config);
	if (r < 0) {
		log_error("setting up: %s", strerror(-r));
		return r;
	}
	measure_cost(service);
	r = open_listeners(running, n > 0 ? n : 0);
	if (r < 0)
		return r;
	traces_configure(service->traces, service->config);
	host_growth_configure(service->growth, service->config);
	return 0;
}

static int min_timeout(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

static int timeout_ms(const struct service *service)
{
	int ms = min_timeout(traces_timeout_ms(service->traces), watch_timeout_ms(service->watch));

	ms = min_timeout(ms, host_growth_timeout_ms(service->growth));
	ms = min_timeout(ms, push_timeout_ms(service->push));
	vec_foreach(&service->servers, server)
		ms = min_timeout(ms, http_server_timeout_ms(*server));
	return ms;
}

static int run(struct service *service)
{
	while (!service->over) {
		int r = loop_run_once(service->loop, timeout_ms(service));

		if (r < 0) {
			log_error("the service's loop: %s", strerror(-r));
			return r;
		}
		traces_run(service->traces);
		host_growth_run(service->growth);
		if (watch_run(service->watch))
			rules_look(service->rules);
		push_run(service->push);
		vec_foreach(&service->servers, server)
			http_server_run(*server);
	}
	return 0;
}

/* Connections first: who waits for a trace is told. Then reports are written that nobody awaits. */
static void end(struct running *running)
{
	struct service *service = &running->service;

	vec_foreach(&service->servers, server)
		http_server_free(*server);
	vec_done(&service->servers);
	vec_foreach(&running->listeners, listener)
		listener_done(listener);
	vec_done(&running->listeners);
	if (service->traces)
		traces_finish(service->traces);
	if (service->growth)
		host_growth_finish(service->growth);
	if (service->push)
		push_finish(service->push);
	push_free(service->push);
	host_growth_free(service->growth);
	traces_free(service->traces);
	rules_free(service->rules);
	watch_free(service->watch);
	loop_free(service->loop);
	login_users_free(service->users);
	service_config_free(service->config);
	free(service->token);
	user_tokens_free(service->user_tokens);
}

static int drop_privileges(void)
{
	int r = privileges_drop();

	if (r < 0)
		log_error("giving up capabilities: %s", strerror(-r));
	return r;
}

int service_run(const char *config_path, struct worker *worker)
{
	struct running running = { .service = {
					   .config_path = config_path,
					   .worker = worker,
					   .start_realtime_ns = clock_ns(CLOCK_REALTIME),
					   .start_boot_ns = clock_ns(CLOCK_BOOTTIME),
				   } };
	int r;

	if (geteuid() != 0) {
		log_error("tracing needs root: run it with sudo");
		return -EPERM;
	}
	/* What it writes is for whom it says: sockets have a mode of their own. */
	(void)umask(0077);
	r = begin(&running);
	if (r == 0)
		r = drop_privileges();
	if (r == 0) {
		(void)sd_notify(0, "READY=1\nSTATUS=tracing on demand");
		log_info("ready");
		r = run(&running.service);
		(void)sd_notify(0, "STOPPING=1");
	}
	end(&running);
	return r;
}
