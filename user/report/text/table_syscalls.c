/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/units.h"
#include "report/text/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* Right-aligned. */
static void add_cell(struct table *t, const char *text, size_t columns)
{
	size_t have = text_columns(text);

	strbuf_addf(&t->out, "%*s%s", have < columns ? (int)(columns - have) : 0, "", text);
}

/* As it is while it fits, else in thousands or millions. */
static void add_number(struct table *t, uint64_t n, size_t columns)
{
	char number[FORMAT_UNIT_LEN + 8];

	snprintf(number, sizeof(number), "%" PRIu64, n);
	if (strlen(number) >= columns)
		format_count((int64_t)n, number);
	add_cell(t, number, columns);
}

/* Calls take a few microseconds: tenths tell them apart. */
static void add_time(struct table *t, bool known, uint64_t ns, size_t columns)
{
	char duration[FORMAT_UNIT_LEN];

	if (ns >= 1000 && ns < 10000)
		snprintf(duration, sizeof(duration), "%.1f us", (double)ns / 1e3);
	else if (ns >= 1000000 && ns < 10000000)
		snprintf(duration, sizeof(duration), "%.1f ms", (double)ns / 1e6);
	else
		format_duration(ns, duration);
	add_cell(t, known ? duration : "-", columns);
}

static void add_bytes(struct table *t, uint64_t bytes, size_t columns)
{
	char size[FORMAT_UNIT_LEN];

	add_cell(t, bytes ? format_size((int64_t)bytes, size) : "-", columns);
}

/* Text in what is left of a line of which `used` columns are taken. */
static void add_rest(struct table *t, const char *text, size_t used)
{
	text_fit(&t->out, text, table_rest(t, used));
	strbuf_addch(&t->out, '\n');
}

static void add_call_name(struct strbuf *out, const char *name, int32_t number)
{
	if (name)
		escape_text(out, name);
	else
		strbuf_addf(out, "number %" PRId32, number);
}

/* --- calls ----------------------------------------------------------------------------------- */

/* "12 ENOENT, 3 EINTR, 4 restarted, 1 without a time" */
static void call_notes(struct table *t, const struct view_call *call)
{
	const struct record_syscall *sum = &call->sum;
	_cleanup_strbuf_ struct strbuf line = { 0 };
	uint64_t untimed = sum->calls > call->timed ? sum->calls - call->timed : 0;

	for (size_t i = 0; i < sum->n_errnos; i++) {
		const char *name = strerrorname_np((int)sum->errnos[i].number);

		strbuf_addf(&line, "%s%" PRIu64 " ", line.len ? ", " : "", sum->errnos[i].count);
		if (name)
			strbuf_adds(&line, name);
		else
			strbuf_addf(&line, "error %" PRIu32, sum->errnos[i].number);
	}
	if (sum->restarted)
		strbuf_addf(&line, "%s%" PRIu64 " restarted", line.len ? ", " : "", sum->restarted);
	if (untimed)
		strbuf_addf(&line, "%s%" PRIu64 " without a time", line.len ? ", " : "", untimed);
	if (line.len) {
		strbuf_adds(&t->out, "            ");
		table_wrap(t, 12, strbuf_str(&line));
	}
	if (strbuf_error(&line) < 0)
		t->out.error = strbuf_error(&line);
}

static void call_line(struct table *t, const struct view_call *call)
{
	const struct record_syscall *sum = &call->sum;
	_cleanup_strbuf_ struct strbuf name = { 0 };
	bool timed = call->timed > 0;

	add_number(t, sum->calls, 10);
	add_number(t, sum->errors, 8);
	add_time(t, timed, sum->total_ns, 9);
	add_time(t, timed, timed ? sum->total_ns / call->timed : 0, 8);
	add_time(t, timed, call->p99_ns, 8);
	add_time(t, timed, sum->max_ns, 8);
	add_bytes(t, sum->bytes, 10);
	strbuf_adds(&t->out, "  ");
	add_call_name(&name, sum->name, sum->number);
	add_rest(t, strbuf_str(&name), 63);
	call_notes(t, call);
	if (strbuf_error(&name) < 0)
		t->out.error = strbuf_error(&name);
}

static void calls_section(struct table *t, const struct view_calls *calls)
{
	size_t n_shown = table_shown(t, calls->n_calls);
	uint64_t hidden = 0;

	table_bold(t, true);
	strbuf_addf(&t->out, "%10s%8s%9s%8s%8s%8s%10s  %s\n", "CALLS", "ERRORS", "TIME", "MEAN",
		    "P99<=", "MAX", "BYTES", "SYSTEM CALL");
	table_bold(t, false);
	for (size_t i = 0; i < n_shown; i++)
		call_line(t, &calls->calls[i]);
	for (size_t i = n_shown; i < calls->n_calls; i++)
		hidden += calls->calls[i].sum.calls;
	if (n_shown < calls->n_calls)
		strbuf_addf(&t->out,
			    "  … %zu more system call%s, called %" PRIu64
			    " time%s; --top 0 shows all\n",
			    calls->n_calls - n_shown, table_plural(calls->n_calls - n_shown),
			    hidden, table_plural(hidden));
	strbuf_addch(&t->out, '\n');
}

/* --- files ----------------------------------------------------------------------------------- */

static void file_line(struct table *t, const struct record_syscall_file *file)
{
	add_number(t, file->opens, 7);
	add_number(t, file->reads, 8);
	add_number(t, file->writes, 8);
	add_bytes(t, file->bytes_read, 10);
	add_bytes(t, file->bytes_written, 10);
	add_time(t, true, file->total_ns, 8);
	strbuf_adds(&t->out, "  ");
	add_rest(t, file->path, 53);
}

static void files_section(struct table *t, const struct view_calls *calls)
{
	size_t n_shown = table_shown(t, calls->n_files);

	if (calls->n_files == 0)
		return;
	table_bold(t, true);
	strbuf_addf(&t->out, "%7s%8s%8s%10s%10s%8s  %s\n", "OPENS", "READS", "WRITES", "READ",
		    "WRITTEN", "TIME", "FILE");
	table_bold(t, false);
	for (size_t i = 0; i < n_shown; i++)
		file_line(t, &calls->files[i]);
	if (n_shown < calls->n_files)
		strbuf_addf(&t->out, "  … %zu more file%s; --top 0 shows all\n",
			    calls->n_files - n_shown, table_plural(calls->n_files - n_shown));
	strbuf_addch(&t->out, '\n');
}

/* --- callers and processes ------------------------------------------------------------------- */

static void caller_head(struct table *t, const struct view_caller *caller, size_t rank,
			bool with_process)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char number[TABLE_NUMBER_LEN], duration[FORMAT_UNIT_LEN];

	strbuf_addf(&line, "  #%zu  ", rank);
	add_call_name(&line, caller->name, caller->number);
	strbuf_addf(&line, ", %s in %s call%s", format_duration(caller->total_ns, duration),
		    table_count(caller->calls, view_lost_nothing(t->view), number),
		    table_plural(caller->calls));
	if (with_process) {
		strbuf_adds(&line, ", ");
		table_process(&line, caller->image);
	}
	table_bold(t, true);
	table_wrap(t, 8, strbuf_str(&line));
	table_bold(t, false);
	if (strbuf_error(&line) < 0)
		t->out.error = strbuf_error(&line);
}

static void callers_section(struct table *t, const struct view_syscalls *syscalls)
{
	const struct view_calls *all = &syscalls->all;
	size_t n_shown = table_shown(t, all->n_callers);

	if (all->n_callers == 0)
		return;
	for (size_t i = 0; i < n_shown; i++) {
		caller_head(t, all->callers[i], i + 1, syscalls->n_processes > 1);
		table_stack(t, &all->callers[i]->stack);
		strbuf_addch(&t->out, '\n');
	}
	if (n_shown < all->n_callers)
		strbuf_addf(&t->out, "  … %zu more caller%s; --top 0 shows all\n\n",
			    all->n_callers - n_shown, table_plural(all->n_callers - n_shown));
}

static void processes_section(struct table *t, const struct view_syscalls *syscalls)
{
	size_t n_shown = table_shown(t, syscalls->n_processes);

	table_bold(t, true);
	strbuf_addf(&t->out, "%10s%8s%9s  %s\n", "CALLS", "ERRORS", "TIME", "PROCESS");
	table_bold(t, false);
	for (size_t i = 0; i < n_shown; i++) {
		const struct view_calls *process = &syscalls->processes[i];
		_cleanup_strbuf_ struct strbuf name = { 0 };

		add_number(t, process->n, 10);
		add_number(t, process->errors, 8);
		add_time(t, true, process->total_ns, 9);
		strbuf_adds(&t->out, "  ");
		table_process(&name, process->image);
		add_rest(t, strbuf_str(&name), 29);
		if (strbuf_error(&name) < 0)
			t->out.error = strbuf_error(&name);
	}
	if (n_shown < syscalls->n_processes)
		strbuf_addf(&t->out, "  … %zu more process%s; --top 0 shows all\n",
			    syscalls->n_processes - n_shown,
			    syscalls->n_processes - n_shown == 1 ? "" : "es");
	strbuf_addch(&t->out, '\n');
}

static void head_line(struct table *t, const struct view_syscalls *syscalls)
{
	const struct view_calls *all = &syscalls->all;
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char number[TABLE_NUMBER_LEN], duration[FORMAT_UNIT_LEN];

	strbuf_addf(&line, "system calls: %s of ",
		    table_count(all->n, view_lost_nothing(t->view), number));
	if (syscalls->n_processes == 1)
		table_process(&line, syscalls->processes[0].image);
	else
		strbuf_addf(&line, "%zu processes", syscalls->n_processes);
	strbuf_addf(&line, ", %s with an error; %s in them",
		    table_count(all->errors, view_lost_nothing(t->view), number),
		    format_duration(all->total_ns, duration));
	table_wrap(t, 4, strbuf_str(&line));
	strbuf_addch(&t->out, '\n');
	if (strbuf_error(&line) < 0)
		t->out.error = strbuf_error(&line);
}

void table_syscalls(struct table *t)
{
	const struct view_syscalls *syscalls = view_syscalls(t->view);

	if (syscalls->n_processes == 0)
		return;
	head_line(t, syscalls);
	calls_section(t, &syscalls->all);
	files_section(t, &syscalls->all);
	if (syscalls->n_processes > 1)
		processes_section(t, syscalls);
	callers_section(t, syscalls);
}
