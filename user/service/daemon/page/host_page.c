/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page of the host, which a browser is given at "/": it asks host_data.c for what it shows, and
 * frames the pages of traces and reports.
 */
#include "service/daemon/routes/routes.h"

static const char style[] =
#include "host_page_css.h"
	;
static const char markup_script[] =
#include "host_markup_js.h"
	;
static const char processes_script[] =
#include "host_processes_js.h"
	;
static const char process_script[] =
#include "host_process_js.h"
	;
static const char budget_script[] =
#include "host_budget_js.h"
	;
static const char page_script[] =
#include "host_page_js.h"
	;
/* In the order in which they build on each other. */
static const char *const scripts[] = { markup_script, processes_script, process_script,
				       budget_script, page_script };

int host_route_page(struct service_call *call, struct http_answer *answer)
{
	if (!call->wants_html)
		return pprof_route_start(call, answer);
	answer->status = 200;
	answer->type = HTTP_HTML;
	answer->page = HTTP_PAGE_HOST;
	strbuf_addf(&answer->body,
		    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    "<meta name=\"color-scheme\" content=\"light dark\">\n"
		    "<title>memtraced</title>\n<style>\n%s</style>\n</head>\n<body>\n"
		    "<noscript>This page is drawn by scripts of its own, which are switched off; "
		    "<a href=\"/debug/pprof/\">the list of processes</a> needs none.</noscript>\n"
		    "<script>\n",
		    style);
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
		strbuf_adds(&answer->body, scripts[i]);
	strbuf_adds(&answer->body, "</script>\n</body>\n</html>\n");
	return strbuf_error(&answer->body);
}
