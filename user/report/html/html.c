/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One page that needs no network: the data as JSON, a style, and scripts that draw it. Whatever a
 * name contains, it stays text: the data has no '<', the scripts make no markup of strings, and the
 * page's own policy forbids to load anything.
 */
#include "base/cleanup.h"
#include "report/flame/flamegraph.h"
#include "report/html/html_data.h"
#include "report/json/json_stacks.h"
#include "report/text/text.h"
#include "report/writers.h"

#include <errno.h>

static const char style[] =
#include "html_css.h"
	;

/* In the order in which they build on each other. */
static const char data_script[] =
#include "html_data_js.h"
	;
static const char totals_script[] =
#include "html_totals_js.h"
	;
static const char timeline_script[] =
#include "html_timeline_js.h"
	;
static const char flame_script[] =
#include "html_flame_js.h"
	;
static const char sites_script[] =
#include "html_sites_js.h"
	;
static const char jobs_script[] =
#include "html_jobs_js.h"
	;
static const char page_script[] =
#include "html_page_js.h"
	;
static const char *const scripts[] = { data_script,  totals_script, timeline_script, flame_script,
				       sites_script, jobs_script,   page_script };

static int put_head(const struct view *view, FILE *file)
{
	_cleanup_strbuf_ struct strbuf title = { 0 }, text = { 0 };

	flamegraph_title(view, &title);
	text_xml(&text, strbuf_str(&title));
	if (strbuf_error(&title) < 0 || strbuf_error(&text) < 0)
		return -ENOMEM;
	fprintf(file,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n"
		"<title>%s</title>\n<style>\n%s</style>\n</head>\n<body>\n"
		"<noscript>This report is drawn by scripts of its own, which are switched off "
		"here.</noscript>\n",
		text.len > 0 ? strbuf_str(&text) : "memtraced", style);
	return 0;
}

int html_write(const struct view *view, FILE *file)
{
	_cleanup_(json_stacks_done) struct json_out out = { .file = file, .in_html = true };
	int r = put_head(view, file);

	if (r < 0)
		return r;
	fputs("<script type=\"application/json\" id=\"data\">\n", file);
	r = html_data_put(&out, view);
	if (r == 0)
		r = out.error;
	if (r < 0)
		return r;
	fputs("</script>\n<script>\n", file);
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
		fputs(scripts[i], file);
	fputs("</script>\n</body>\n</html>\n", file);
	return ferror(file) ? -EIO : 0;
}
