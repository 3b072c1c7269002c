/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/service.h"

#include "base/clock.h"
#include "base/log.h"
#include "service/daemon/configure.h"
#include "service/daemon/growth/host_growth.h"
#include "service/daemon/growth/host_usage.h"
#include "service/daemon/listeners.h"
#include "service/daemon/privileges.h"
#include "service/daemon/push/push.h"
#include "service/daemon/reports/post_mortem.h"
#include "service/daemon/reports/reports.h"
#include "service/daemon/routes/process_reader.h"
#include "service/daemon/routes/routes.h"
#include "service/daemon/routes/tokens.h"
#include "service/daemon/watch/rules.h"
#include "target/file_helper.h"
#include "target/login_users.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

/* 32 KiB of the kernel's memory. */
#define USUAL_DESCRIPTORS 4096

/* --- configuration --------------------------------------------------------------------------- */

/* What the last reload came to, for people who ask later. */
static void note_reload(struct service *service, const struct strbuf *error)
{
	struct service_reloads *reloads = &service->reloads;

	reloads->last_ns = clock_ns(CLOCK_BOOTTIME);
	reloads->done += !error;
	reloads->failed += error != NULL;
	reloads->has_failed = error != NULL;
	free(reloads->error);
	reloads->error = error ? strdup(strbuf_str(error)) : NULL;
}

/* Between two rounds of the loop: no callback is on its way. */
static void reload(struct service *service)
{
	_cleanup_strbuf_ struct strbuf error = {};

	service->wants_reload = false;
	/* sd_notify's own failures do not matter: there may be no service manager. */
	(void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu",
			 (unsigned long long)(clock_monotonic_ns() / 1000));
	if (service_configure(service, &error) == 0) {
		note_reload(service, NULL);
		service->is_settling = true;
		return;
	}
	note_reload(service, &error);
	log_error("%s", strbuf_str(&error));
	log_warning("the old configuration stays in use; correct the error and reload again");
	(void)sd_notifyf(0, "READY=1\nSTATUS=the last reload failed, the configuration stays: %s",
			 strbuf_str(&error));
}

static int on_reload(const siginfo_t *info, void *userdata)
{
	struct service *service = userdata;

	(void)info;
	service->wants_reload = true;
	return 0;
}

/* A reload is done when what it has begun runs, or cannot. */
static void look_at_reload(struct service *service)
{
	if (!service->is_settling || !traces_are_settled(service->traces) ||
	    !host_growth_is_settled(service->growth))
		return;
	service->is_settling = false;
	log_info("configuration reloaded");
	(void)sd_notify(0, "READY=1\nSTATUS=tracing on demand");
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
		.worker = service->worker,
		.users = service->users,
		.is_kill = post_mortem_is_due,
		.killed = post_mortem_of_trace,
		.ends = on_trace_ends,
		.userdata = service,
	};

	return traces_new(&opts, &service->traces);
}

static bool is_told_soon(void *userdata)
{
	const struct service *service = userdata;

	return traces_are_telling(service->traces);
}

static int begin_growth(struct service *service)
{
	const struct host_growth_opts opts = {
		.loop = service->loop,
		.worker = service->worker,
		.is_kill = post_mortem_is_due,
		.killed = post_mortem_of_growth,
		.is_told_soon = is_told_soon,
		.usage = { host_usage_points, service },
		.userdata = service,
	};

	return host_growth_new(&opts, &service->growth);
}

static int begin_listeners(struct service *service)
{
	const struct http_server_opts opts = {
		.loop = service->loop,
		.users = service->users,
		.handle = service_handle,
		.gone = service_gone,
		.userdata = service,
	};
	int n = sd_listen_fds(1);

	return listeners_new(&opts, n > 0 ? n : 0, &service->listeners);
}

/* All parts, which do nothing before their configuration. */
static int begin_parts(struct service *service)
{
	int r = loop_new(&service->loop);

	if (r == 0)
		r = login_users_new(LOGIN_USERS_SUBUID, LOGIN_USERS_PASSWD, &service->users);
	if (r == 0)
		r = user_tokens_new(service->users, &service->user_tokens);
	if (r == 0)
		r = add_signals(service);
	if (r == 0)
		r = process_reader_new(service, &service->process_reader);
	if (r == 0)
		r = begin_listeners(service);
	if (r == 0)
		r = begin_traces(service);
	if (r == 0)
		r = begin_growth(service);
	if (r == 0)
		r = watch_new(&service->watch);
	if (r == 0)
		r = rules_new(service, &service->rules);
	if (r == 0)
		r = push_new(service->loop, service->traces, service->growth, &service->push);
	if (r < 0)
		log_error("cannot set up the service: %s", strerror(-r));
	return r;
}

static int begin_service(struct service *service)
{
	_cleanup_strbuf_ struct strbuf error = {};
	int r = begin_parts(service);

	if (r < 0)
		return r;
	r = service_configure(service, &error);
	if (r < 0) {
		log_error("%s", strbuf_str(&error));
		return r;
	}
	r = add_timers(service);
	if (r < 0)
		log_error("cannot set up the service: %s", strerror(-r));
	return r;
}

/* What is always traced. Its threads have the capabilities that this one has by now. */
static void begin_standing(struct service *service)
{
	traces_start(service->traces);
	host_growth_start(service->growth);
	host_growth_settle(service->growth);
	traces_settle(service->traces);
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
	return min_timeout(ms, listeners_timeout_ms(service->listeners));
}

static int run_loop(struct service *service)
{
	while (!service->over) {
		int r = loop_run_once(service->loop, timeout_ms(service));

		if (r < 0) {
			log_error("the service's loop: %s", strerror(-r));
			return r;
		}
		if (service->wants_reload)
			reload(service);
		traces_run(service->traces);
		host_growth_run(service->growth);
		look_at_reload(service);
		if (watch_run(service->watch))
			rules_check(service->rules);
		push_run(service->push);
		listeners_run(service->listeners);
	}
	return 0;
}

/* Connections first: requests that wait for a trace are answered. Then reports are written. */
static void end_service(struct service *service)
{
	listeners_free(service->listeners);
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
	process_reader_free(service->process_reader);
	login_users_free(service->users);
	service_config_unref(service->config);
	free(service->reloads.error);
	free(service->token);
	user_tokens_free(service->user_tokens);
}

static int drop_privileges(void)
{
	int r = privileges_drop();

	if (r < 0)
		log_error("cannot drop capabilities: %s", strerror(-r));
	return r;
}

/*
 * The kernel waits until it has seen all CPUs (synchronize_rcu() in expand_fdtable()) when it
 * makes more room for descriptors, and so would the loop. What it has once it does not give back.
 */
static void make_room_for_descriptors(void)
{
	/* Refused where fewer are permitted: then it has that room later. */
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, USUAL_DESCRIPTORS - 1);

	if (fd >= 0)
		close(fd);
}

/* jemalloc's, which a build with sanitizers lacks. */
__attribute__((weak)) int mallctl(const char *name, void *old, size_t *old_len, void *new,
				  size_t new_len);

/*
 * Sessions' threads hold their arenas' locks while they wait for a CPU, and the loop would wait as
 * well. It gives no memory back: to touch that again, it would wait for the address space's lock.
 */
static void allocate_from_own_arena(void)
{
	size_t len = sizeof(unsigned);
	const ssize_t never = -1;
	char name[64];
	unsigned arena;

	if (!mallctl || mallctl("arenas.create", &arena, &len, NULL, 0) != 0)
		return;
	(void)snprintf(name, sizeof(name), "arena.%u.dirty_decay_ms", arena);
	/* Without either it is as fast as before. */
	(void)mallctl(name, NULL, NULL, (void *)&never, sizeof(never));
	(void)mallctl("thread.arena", NULL, NULL, &arena, sizeof(arena));
}

int service_run(const char *config_path, struct worker *worker)
{
	struct service service = {
		.config_path = config_path,
		.worker = worker,
		.start_realtime_ns = clock_ns(CLOCK_REALTIME),
		.start_boot_ns = clock_ns(CLOCK_BOOTTIME),
	};
	int r;

	r = own_program_find(&service.program);
	if (r < 0)
		log_warning("cannot find memtraced's own executable: %s; its processes get "
			    "post-mortems, too",
			    strerror(-r));
	if (geteuid() != 0) {
		log_error("tracing needs root: run it with sudo");
		return -EPERM;
	}
	/* Its files have the modes that it gives them: sockets have a mode of their own. */
	(void)umask(0077);
	r = begin_service(&service);
	if (r == 0)
		r = drop_privileges();
	if (r == 0) {
		make_room_for_descriptors();
		allocate_from_own_arena();
		loop_raise_priority(service.loop);
		file_helper_hurry();
		begin_standing(&service);
		(void)sd_notify(0, "READY=1\nSTATUS=tracing on demand");
		log_info("ready");
		r = run_loop(&service);
		(void)sd_notify(0, "STOPPING=1");
	}
	end_service(&service);
	return r;
}
