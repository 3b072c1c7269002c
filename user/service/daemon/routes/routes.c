/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/routes/routes.h"

#include "service/daemon/growth/host_growth.h"
#include "service/daemon/reports/recordings.h"
#include "service/daemon/routes/permits.h"
#include "service/daemon/routes/process_reader.h"
#include "service/http/guard.h"

#include <errno.h>
#include <string.h>

enum { GET = 1, POST = 2 };

struct route {
	const char *path;
	unsigned int methods;
	bool is_open; /* without a token: it says nothing of any user */
	service_route_fn answer;
};

static int answer_health(struct service_call *call, struct http_answer *answer)
{
	(void)call;
	http_answer_error(answer, 200, "ok");
	return 0;
}

static const struct route routes[] = {
	{ "/", GET, false, host_route_page },
	{ "/host", GET, false, host_route_data },
	{ "/report", GET, false, ctl_route_report },
	{ "/healthz", GET, true, answer_health },
	{ "/metrics", GET, false, metrics_route },
	{ "/ctl/status", GET, false, ctl_route_status },
	{ "/ctl/trace", POST, false, ctl_route_trace },
	{ "/ctl/reports", GET, false, ctl_route_reports },
	{ "/ctl/token", POST, false, token_route_add },
	{ "/ctl/token/revoke", POST, false, token_route_revoke },
	{ "/debug/pprof", GET, false, pprof_route_start },
	{ "/debug/pprof/", GET, false, page_index },
	{ "/debug/pprof/heap", GET, false, pprof_route_heap },
	{ "/debug/pprof/allocs", GET, false, pprof_route_allocs },
	{ "/debug/pprof/profile", GET, false, pprof_route_profile },
	{ "/debug/pprof/growth", GET, false, pprof_route_growth },
	{ "/debug/pprof/mappings", GET, false, pprof_route_mappings },
	{ "/debug/pprof/cmdline", GET, false, process_route_cmdline },
	{ "/debug/pprof/symbol", GET | POST, false, process_route_symbol },
};

static const struct route *find_route(const char *path)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (strcmp(routes[i].path, path) == 0)
			return &routes[i];
	return NULL;
}

static bool pass_guard(const struct service_call *call, struct http_answer *answer)
{
	const struct http_origin origin = {
		.host = http_request_header(call->request, "Host"),
		.origin = http_request_header(call->request, "Origin"),
		.sec_fetch_site = http_request_header(call->request, "Sec-Fetch-Site"),
		.user_agent = http_request_header(call->request, "User-Agent"),
		.authorization = http_request_header(call->request, "Authorization"),
		.is_tcp = http_request_peer(call->request)->is_tcp,
	};
	const char *why = http_guard(&origin, call->service->config->hosts);

	if (why)
		http_answer_error(answer, 403, "%s", why);
	return !why;
}

/* NULL: there is none that takes this, and the answer says so. */
static const struct route *choose_route(const struct service_call *call, struct http_answer *answer)
{
	const char *method = http_request_method(call->request);
	unsigned int mask = strcmp(method, "GET") == 0	? GET :
			    strcmp(method, "POST") == 0 ? POST :
							  0;
	const struct route *route = find_route(call->query.path);

	if (!route)
		http_answer_error(answer, 404, "there is no such page; /debug/pprof/ lists them");
	else if (!(route->methods & mask))
		http_answer_error(answer, 405, "this page takes %s",
				  !(route->methods & GET) ? "POST alone" :
				  route->methods & POST	  ? "GET and POST" :
							    "GET alone");
	return answer->status ? NULL : route;
}

static int answer_call(struct service_call *call, struct http_answer *answer)
{
	const char *accept = http_request_header(call->request, "Accept"), *why;
	const struct route *route;
	int r;

	if (!pass_guard(call, answer))
		return 0;
	r = http_query_parse(http_request_target(call->request), &call->query, &why);
	if (r == -EINVAL) {
		http_answer_error(answer, 400, "%s", why);
		return 0;
	}
	if (r < 0)
		return r;
	route = choose_route(call, answer);
	if (!route || (!route->is_open && !service_identify(call, answer)))
		return 0;
	call->route = route->answer;
	call->wants_html = accept && strstr(accept, "text/html");
	return call->route(call, answer);
}

void service_handle(struct http_request *request, void *userdata)
{
	struct http_answer answer = {};
	struct service_call *call = calloc(1, sizeof(*call));
	int r = call ? 0 : -ENOMEM;

	if (call) {
		call->service = userdata;
		call->request = request;
		r = answer_call(call, &answer);
		if (r == 1) {
			http_request_set_userdata(request, call);
			return;
		}
	}
	if (r < 0)
		http_answer_error(&answer, 500, "%s", strerror(-r));
	http_request_answer(request, &answer);
	http_answer_done(&answer);
	if (call)
		service_end_call(call);
}

void service_gone(struct http_request *request, void *userdata)
{
	struct service_call *call = http_request_userdata(request);

	(void)userdata;
	if (!call)
		return;
	http_request_set_userdata(request, NULL);
	traces_forget(call->wait);
	host_growth_forget(call->growth);
	recording_forget(call->recording);
	process_question_forget(call->question);
	process_reader_forget(call);
	service_end_call(call);
}
