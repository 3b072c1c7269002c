/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/routes/routes.h"

#include "config/units.h"
#include "report/text/text.h"
#include "service/daemon/routes/process_reader.h"

static const struct {
	const char *name, *help;
} profiles[] = {
	{ "heap", "live blocks by call stack, among those allocated in the next seconds (in a "
		  "running trace: since it began); depth=sampled: by the process's samples" },
	{ "allocs", "the same, with all allocations as the first value" },
	{ "profile", "CPU time by call stack; without a pid, of the host" },
	{ "growth", "where memory was touched first, by call stack: sampled page faults; without a "
		    "pid, of the host" },
	{ "mappings",
	  "memory that is mapped (mmap, brk) and not unmapped, by call stack; without a pid, "
	  "of the host" },
	{ "cmdline", "the command line" },
	{ "symbol", "POST of addresses, as 0x1+0x2: their functions" },
};
#define N_PROFILES (sizeof(profiles) / sizeof(profiles[0]))
#define N_LINKED 5 /* profiles that are to be looked at */

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n"
	"<title>memtraced</title>\n"
	"<style>body{font:14px sans-serif;margin:2em}td,th{padding:0 1em 0 0;text-align:left}"
	"td.n{text-align:right}</style></head>\n<body>\n<h1>memtraced</h1>\n";

static void add_profiles(struct strbuf *body, bool is_html)
{
	strbuf_adds(body, is_html ? "<ul>\n" : "/debug/pprof/NAME?pid=PID&seconds=S&debug=1\n\n");
	for (size_t i = 0; i < N_PROFILES; i++)
		strbuf_addf(body, is_html ? "<li><b>%s</b>: %s</li>\n" : "%-8s %s\n",
			    profiles[i].name, profiles[i].help);
	strbuf_adds(body, is_html ? "</ul>\n" : "\n");
}

static void add_row(struct strbuf *body, const struct process_row *row, bool is_html)
{
	char size[FORMAT_UNIT_LEN];

	format_size((int64_t)row->rss_bytes, size);
	if (!is_html) {
		strbuf_addf(body, "%8d %10s ", (int)row->pid, size);
		escape_text(body, row->comm);
		strbuf_addch(body, '\n');
		return;
	}
	strbuf_addf(body, "<tr><td class=\"n\">%d</td><td class=\"n\">%s</td><td>", (int)row->pid,
		    size);
	text_xml(body, row->comm);
	strbuf_adds(body, "</td><td>");
	for (size_t i = 0; i < N_LINKED; i++)
		strbuf_addf(body, "<a href=\"/debug/pprof/%s?pid=%d\">%s</a> ", profiles[i].name,
			    (int)row->pid, profiles[i].name);
	strbuf_adds(body, "</td></tr>\n");
}

static int add_processes(const struct process_rows *rows, bool is_html, struct strbuf *body)
{
	if (is_html)
		strbuf_adds(body, "<table>\n<tr><th>pid</th><th>resident</th><th>name</th>"
				  "<th>look at it</th></tr>\n");
	else
		strbuf_addf(body, "%8s %10s %s\n", "pid", "resident", "name");
	for (size_t i = 0; i < rows->n_rows; i++)
		add_row(body, &rows->rows[i], is_html);
	strbuf_adds(body, is_html ? "</table>\n" : "");
	if (rows->n_rows < rows->n_all)
		strbuf_addf(body, is_html ? "<p>and %zu more</p>\n" : "and %zu more\n",
			    rows->n_all - rows->n_rows);
	return strbuf_error(body);
}

int page_candidates(struct service_call *call, const char *why, const char *pattern,
		    struct http_answer *answer)
{
	bool is_html = call->wants_html;
	int r = process_reader_want(call, pattern, PAGE_MOST_PROCESSES);

	if (r != 0)
		return r;
	answer->status = why ? 400 : 200;
	answer->type = is_html ? HTTP_HTML : HTTP_TEXT;
	strbuf_adds(&answer->body, is_html ? head : "");
	if (why)
		strbuf_addf(&answer->body, is_html ? "<p>%s</p>\n" : "%s\n\n", why);
	else
		add_profiles(&answer->body, is_html);
	r = add_processes(&call->rows, is_html, &answer->body);
	strbuf_adds(&answer->body, is_html ? "</body>\n</html>\n" : "");
	return r;
}

int page_index(struct service_call *call, struct http_answer *answer)
{
	return page_candidates(call, NULL, NULL, answer);
}
