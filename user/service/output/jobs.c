/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/output/jobs.h"

#include <string.h>

size_t jobs_asked(const struct options *options)
{
	return options->n_events + (options_trace_memory(options) ? 1 : 0);
}

static bool has_allocations(const struct model *model)
{
	const struct record_run *run = model_run(model);

	return !run || !run->no_allocations;
}

size_t jobs_count(const struct model *model)
{
	return model_events(model)->list.len + (has_allocations(model) ? 1 : 0);
}

bool jobs_have_mappings(const struct model *model)
{
	if (!has_allocations(model) || (model_run(model) && model_run(model)->no_heap))
		return false;
	for (size_t i = 0; i < model_n_processes(model); i++)
		if (model_process(model, i)->regions)
			return true;
	return false;
}

size_t jobs_of_event(const struct model *model, uint32_t event_id)
{
	size_t job = has_allocations(model) ? 1 : 0;

	for (size_t i = 0; i < model_events(model)->list.len; i++, job++)
		if (model_events(model)->list.data[i]->asked.id == event_id)
			break;
	return job;
}

/* A recording's names may be anything: what could lead elsewhere or confuse a shell is replaced. */
static void add_plain_name(const struct model *model, size_t job, struct strbuf *out)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	const char *name;

	if (job == jobs_count(model)) {
		strbuf_adds(out, "mmap");
		return;
	}
	if (has_allocations(model) && job-- == 0) {
		strbuf_adds(out, model_run(model) && model_run(model)->no_heap ? "mmap" : "alloc");
		return;
	}
	name = job < model_events(model)->list.len ?
		       model_events(model)->list.data[job]->asked.name :
		       "";
	if (!*name)
		strbuf_adds(out, "event");
	for (; *name; name++)
		strbuf_addch(out, strchr(plain, *name) ? *name : '-');
}

void jobs_name(const struct model *model, size_t job, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf name = { 0 }, other = { 0 };
	size_t n_same = 0;

	add_plain_name(model, job, &name);
	for (size_t i = 0; i < job; i++) {
		strbuf_reset(&other);
		add_plain_name(model, i, &other);
		n_same += strcmp(strbuf_str(&name), strbuf_str(&other)) == 0;
	}
	strbuf_adds(out, strbuf_str(&name));
	/* A plain name has no dot: what is added makes it no other job's. */
	if (n_same > 0)
		strbuf_addf(out, ".%zu", n_same + 1);
	if (strbuf_error(&name) < 0 || strbuf_error(&other) < 0)
		out->error = strbuf_error(&name) < 0 ? strbuf_error(&name) : strbuf_error(&other);
}

static bool path_has(const char *path, char what)
{
	while ((path = strchr(path, '%')) && path[1]) {
		if (path[1] == what)
			return true;
		path += 2;
	}
	return false;
}

bool path_has_job(const char *path)
{
	return path_has(path, 'e');
}

bool path_has_pid(const char *path)
{
	return path_has(path, 'p');
}

char *path_expand(const char *path, pid_t pid, const char *job_name)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };

	for (; *path; path++) {
		char next = *path == '%' ? path[1] : '\0';

		if (next == 'p')
			strbuf_addf(&text, "%d", (int)pid);
		else if (next == 'e')
			strbuf_adds(&text, job_name);
		else if (next == '%')
			strbuf_addch(&text, '%');
		else
			strbuf_addch(&text, *path);
		if (next == 'p' || next == 'e' || next == '%')
			path++;
	}
	return strbuf_error(&text) < 0 ? NULL : strdup(strbuf_str(&text));
}
