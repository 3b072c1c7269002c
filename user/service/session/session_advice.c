/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/session/session_advice.h"

#include "base/log.h"
#include "config/leak_request.h"
#include "report/text/program_words.h"
#include "service/output/hints.h"
#include "service/session/session_state.h"
#include "service/session/tracing.h"
#include "target/process.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

void session_log_no_allocator(const struct session *s, const struct process_info *info)
{
	const struct model_process *image = session_find_running(s, info->pid);

	for (enum program_kind kind = PROGRAM_PLAIN + 1; image && kind < PROGRAM_KINDS; kind++) {
		_cleanup_strbuf_ struct strbuf words = {};

		if (!program_is(image, kind))
			continue;
		program_words(kind, image, true, false, &words);
		log_error("process %d (%s): no allocator found: %s", (int)info->pid, info->comm,
			  strbuf_str(&words));
		return;
	}
	log_error("process %d (%s): no allocator found: none of its files has symbols named "
		  "malloc, calloc, realloc, free or operator new; give names or addresses with "
		  "--allocator, or use --page-faults=10 to see where its memory grows",
		  (int)info->pid, info->comm);
}

int session_refuse_kind(const struct process_info *info)
{
	_cleanup_strbuf_ struct strbuf words = {};

	program_words(PROGRAM_32BIT, NULL, true, false, &words);
	if (info->kernel_thread)
		log_error("process %d (%s) is a kernel thread: only programs can be traced; "
			  "'memtraced -a -e kmem:kmalloc' shows which stacks allocate the kernel's "
			  "memory",
			  (int)info->pid, info->comm);
	else
		log_error("process %d (%s): %s", (int)info->pid, info->comm, strbuf_str(&words));
	return -EOPNOTSUPP;
}

static void log_nothing_matched(const struct options *o)
{
	if (!o->names && !o->uid && !o->cgroup)
		return; /* a command that was killed before its exec: there was no rule to meet */
	log_warning("no process matched%s%s%s%s%s: nothing was traced; 'ps -eo "
		    "pid,user,comm,cgroup' shows what there is",
		    o->names ? " --comm" : "", o->uid ? " --uid " : "", o->uid ? o->uid : "",
		    o->cgroup ? " --cgroup " : "", o->cgroup ? o->cgroup : "");
}

static void log_program(const struct session *s, const struct model_process *image,
			enum program_kind kind)
{
	_cleanup_strbuf_ struct strbuf words = {};

	program_words(kind, image, options_trace_allocations(s->options), s->options->max_stack > 0,
		      &words);
	if (words.len > 0)
		log_info("process %" PRIu32 " (%s): %s", image->pid, image->comm,
			 strbuf_str(&words));
}

void session_log_programs(const struct session *s, pid_t pid)
{
	const struct model_process *image = session_find_running(s, pid);

	for (enum program_kind kind = PROGRAM_PLAIN + 1; image && kind < PROGRAM_KINDS; kind++)
		if (program_is(image, kind))
			log_program(s, image, kind);
}

/* The first process of each kind: of a command. */
static void log_programs(const struct session *s)
{
	uint32_t said = 0;

	for (size_t i = 0; i < model_n_processes(s->model); i++) {
		const struct model_process *image = model_process(s->model, i);
		uint32_t new = image->kinds & ~said;

		for (enum program_kind kind = PROGRAM_PLAIN + 1; kind < PROGRAM_KINDS; kind++)
			if (new &UINT32_C(1) << kind)
				log_program(s, image, kind);
		said |= new;
	}
}

void session_log_missing(const struct session *s)
{
	_cleanup_strbuf_ struct strbuf missing = {};
	const char *line, *end, *name;

	if (!live_any_traced(s->live)) {
		log_nothing_matched(s->options);
		return;
	}
	if (s->options->command &&
	    (!hints_are_written(s->options) ||
	     (tracing_needs_probes(s->options) && !live_has_allocator(s->live))))
		log_programs(s);
	if (!tracing_needs_probes(s->options))
		return;
	for (size_t i = 0; (name = live_missing_checkpoint(s->live, &i));)
		if (leak_request_find(name) == LEAK_REQUEST_NONE)
			log_warning("--leak-check-at %s: no mapped file has a function of that "
				    "name in its symbol table",
				    name);
	if (live_missing_allocators(s->live, &missing) == 0)
		for (line = strbuf_str(&missing); (end = strchr(line, '\n')); line = end + 1)
			log_warning("%.*s", (int)(end - line), line);
	if (live_has_allocator(s->live))
		return;
	if (s->options->sample_bytes && !s->options->max_overhead) {
		log_warning("no otel_memory probes in anything that %s mapped: nothing was "
			    "counted; without --sample all calls of its allocator are",
			    s->options->command ? s->options->command[0] : "the targets");
		return;
	}
	log_warning("no allocator found in anything that %s mapped: no malloc, calloc, "
		    "realloc, free or operator new among the symbols of its files",
		    s->options->command ? s->options->command[0] : "the targets");
}

void session_log_unseen(const struct session *s)
{
	for (size_t i = 0; i < model_events(s->model)->list.len && !s->options->max_overhead; i++) {
		const struct model_event *event = model_events(s->model)->list.data[i];

		if (event->asked.page_bytes && event->asked.period > 1 && event->counts.len == 0)
			log_warning("--page-faults=%" PRIu32 ": no page fault was sampled, as too "
				    "few came; without a number the interval follows what comes",
				    event->asked.period);
	}
	if (live_any_traced(s->live) && !s->is_served)
		hints_log(s->options, s->model);
}
