/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/configure.h"

#include "base/log.h"
#include "report/report.h"
#include "service/daemon/growth/host_growth.h"
#include "service/daemon/listeners.h"
#include "service/daemon/push/push.h"
#include "service/daemon/reports/reports.h"
#include "service/daemon/routes/tokens.h"
#include "service/daemon/service_state.h"
#include "service/daemon/trace/traces_cost.h"
#include "service/daemon/watch/rules.h"
#include "service/probe_cost.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static void discard(const struct reload_step *steps, size_t n, struct reload *reload)
{
	while (n-- > 0)
		if (steps[n].discard)
			steps[n].discard(reload);
}

int reload_run(const struct reload_step *steps, size_t n, struct service *service,
	       struct reload *reload, struct strbuf *error)
{
	for (size_t i = 0; i < n; i++) {
		int r = steps[i].prepare ? steps[i].prepare(service, reload, error) : 0;

		if (r < 0) {
			discard(steps, i, reload);
			return r;
		}
	}
	for (size_t i = 0; i < n; i++)
		if (steps[i].commit)
			steps[i].commit(service, reload);
	return 0;
}

/* --- the snapshot itself, and the token ------------------------------------------------------ */

static int check_format(const struct service_config *config, struct strbuf *error)
{
	const char *name = config->post_mortem_format;

	if (report_format_find(name))
		return 0;
	strbuf_addf(error, "[post_mortem] format = %s: ", name);
	report_format_unknown(name, error);
	return -EINVAL;
}

/* What the configuration names and is not there is a mistake of the configuration. */
static int as_mistake(int r)
{
	return r == 0 || r == -ENOMEM ? r : -EINVAL;
}

static int prepare_config(struct service *service, struct reload *reload, struct strbuf *error)
{
	const struct service_config *config = reload->config;
	int r = check_format(config, error);

	(void)service;
	if (r == 0 && config->token_file)
		r = token_read(config->token_file, &reload->token, error);
	return as_mistake(r);
}

static void commit_config(struct service *service, struct reload *reload)
{
	service_config_set(&service->config, reload->config);
	/* Who has shown a token that is not valid any more is not answered any more. */
	if (service->token && (!reload->token || strcmp(service->token, reload->token) != 0))
		listeners_close_user(service->listeners, 0);
	free(service->token);
	service->token = TAKE_PTR(reload->token);
}

static void discard_config(struct reload *reload)
{
	free(TAKE_PTR(reload->token));
}

/* --- the folder of reports ------------------------------------------------------------------- */

static int prepare_reports(struct service *service, struct reload *reload, struct strbuf *error)
{
	const char *path = reload->config->state_directory;
	int r;

	if (service->config && strcmp(service->config->state_directory, path) == 0)
		return 0;
	r = reports_make_directory(reload->config);
	if (r >= 0) {
		reload->made_directory = r > 0 ? path : NULL;
		return 0;
	}
	strbuf_addf(error,
		    "[state] directory %s: no reports can be written there: %s; create it, or give "
		    "another path",
		    path, strerror(-r));
	if (service->config)
		return r;
	/* A service that begins traces and answers all the same. */
	log_warning("%s", strbuf_str(error));
	strbuf_reset(error);
	return 0;
}

static void discard_reports(struct reload *reload)
{
	/* What is not empty any more is another's, too. */
	if (reload->made_directory)
		(void)rmdir(reload->made_directory);
}

/* --- rules, pushes, sockets, traces, growth, watch ------------------------------------------- */

static int prepare_rules(struct service *service, struct reload *reload, struct strbuf *error)
{
	return rules_prepare(service->rules, reload->config, &reload->rules, error);
}

static void commit_rules(struct service *service, struct reload *reload)
{
	rules_commit(service->rules, TAKE_PTR(reload->rules));
}

static void discard_rules(struct reload *reload)
{
	rules_next_free(TAKE_PTR(reload->rules));
}

static int prepare_push(struct service *service, struct reload *reload, struct strbuf *error)
{
	return as_mistake(push_prepare(service->push, reload->config, &reload->push, error));
}

static void commit_push(struct service *service, struct reload *reload)
{
	push_commit(service->push, TAKE_PTR(reload->push));
}

static void discard_push(struct reload *reload)
{
	push_next_free(TAKE_PTR(reload->push));
}

static int prepare_listeners(struct service *service, struct reload *reload, struct strbuf *error)
{
	return listeners_prepare(service->listeners, reload->config, &reload->listeners, error);
}

static void commit_listeners(struct service *service, struct reload *reload)
{
	listeners_commit(service->listeners, TAKE_PTR(reload->listeners));
}

static void discard_listeners(struct reload *reload)
{
	listeners_next_free(TAKE_PTR(reload->listeners));
}

/* Once, where there is a limit, and before a trace would be measured, too. It cannot fail. */
static int measure_cost(struct service *service, struct reload *reload, struct strbuf *error)
{
	struct probe_cost cost;

	(void)error;
	if (reload->config->max_overhead == 0 || traces_budget(service->traces).call_ns > 0)
		return 0;
	if (probe_cost_measure(service->worker, "", &cost) == 0)
		log_info("a traced call of an allocator costs %" PRIu64 " ns here", cost.call_ns);
	traces_set_cost(service->traces, &cost);
	return 0;
}

static int prepare_traces(struct service *service, struct reload *reload, struct strbuf *error)
{
	return traces_prepare(service->traces, reload->config, &reload->traces, error);
}

static void commit_traces(struct service *service, struct reload *reload)
{
	traces_commit(service->traces, TAKE_PTR(reload->traces));
}

static void discard_traces(struct reload *reload)
{
	traces_next_free(TAKE_PTR(reload->traces));
}

static void commit_growth(struct service *service, struct reload *reload)
{
	host_growth_configure(service->growth, reload->config);
}

static void commit_watch(struct service *service, struct reload *reload)
{
	watch_configure(service->watch, reload->config);
}

/* What is cheap and fails most often comes first. */
static const struct reload_step steps[] = {
	{ prepare_config, commit_config, discard_config },
	{ prepare_reports, NULL, discard_reports },
	{ prepare_rules, commit_rules, discard_rules },
	{ prepare_push, commit_push, discard_push },
	{ prepare_listeners, commit_listeners, discard_listeners },
	{ measure_cost, NULL, NULL },
	{ prepare_traces, commit_traces, discard_traces },
	{ NULL, commit_growth, NULL },
	{ NULL, commit_watch, NULL },
};

int service_configure(struct service *service, struct strbuf *error)
{
	_cleanup_(service_config_unref_p) const struct service_config *config = NULL;
	struct reload reload = {};
	int r = as_mistake(service_config_read(service->config_path, &config, error));

	reload.config = config;
	if (r == 0)
		r = reload_run(steps, sizeof(steps) / sizeof(steps[0]), service, &reload, error);
	if (r < 0 && error->len == 0)
		strbuf_adds(error, strerror(-r));
	return r;
}
