/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/units.h"
#include "report/text/table.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define CELL_LEN (FORMAT_UNIT_LEN + 8)
/* What names of calls, files and processes need to be read. */
#define LEAST_NAME 11

/* As it is while it fits, else in thousands or millions. */
static void number_cell(char cell[CELL_LEN], uint64_t n, const struct table_column *column)
{
	snprintf(cell, CELL_LEN, "%" PRIu64, n);
	if (strlen(cell) >= column->columns)
		format_count((int64_t)n, cell);
}

/* Calls take a few microseconds: tenths tell them apart. */
static void time_cell(char cell[CELL_LEN], bool known, uint64_t ns)
{
	if (!known)
		snprintf(cell, CELL_LEN, "-");
	else if (ns >= 1000 && ns < 10000)
		snprintf(cell, CELL_LEN, "%.1f us", (double)ns / 1e3);
	else if (ns >= 1000000 && ns < 10000000)
		snprintf(cell, CELL_LEN, "%.1f ms", (double)ns / 1e6);
	else
		format_duration(ns, cell);
}

static void bytes_cell(char cell[CELL_LEN], uint64_t bytes)
{
	if (bytes)
		format_size((int64_t)bytes, cell);
	else
		snprintf(cell, CELL_LEN, "-");
}

/* The cells that fit, then the name in what is left of the line. */
static void put_line(struct table *t, const struct table_column *columns, size_t n_columns,
		     char cells[][CELL_LEN], const char *name)
{
	size_t used, n = table_fit(t, columns, n_columns, LEAST_NAME, &used);

	for (size_t i = 0; i < n; i++)
		table_cell(&t->out, "", cells[i], columns[i].columns);
	strbuf_adds(&t->out, "  ");
	text_fit(&t->out, name, table_rest(t, used));
	strbuf_addch(&t->out, '\n');
}

static void put_heads(struct table *t, const struct table_column *columns, size_t n_columns,
		      const char *name)
{
	size_t used;

	table_heads(t, columns, table_fit(t, columns, n_columns, LEAST_NAME, &used), name);
}

static void add_call_name(struct strbuf *out, const char *name, int32_t number)
{
	if (name)
		escape_text(out, name);
	else
		strbuf_addf(out, "number %" PRId32, number);
}

/* --- calls ----------------------------------------------------------------------------------- */

#define NOTES_INDENT 12
#define NOTES_BEGIN "            "

/* "12 ENOENT, 3 EINTR, 4 restarted, 1 without a time" */
static void call_notes(struct table *t, const struct view_call *call)
{
	const struct record_syscall *sum = &call->sum;
	_cleanup_strbuf_ struct strbuf line = { 0 };
	uint64_t untimed = sum->calls > call->timed ? sum->calls - call->timed : 0;

	for (size_t i = 0; i < sum->n_errnos; i++) {
		const char *name = strerrorname_np((int)sum->errnos[i].number);

		strbuf_addf(&line, "%s%" PRIu64 " ", line.len ? ", " : NOTES_BEGIN,
			    sum->errnos[i].count);
		if (name)
			strbuf_adds(&line, name);
		else
			strbuf_addf(&line, "error %" PRIu32, sum->errnos[i].number);
	}
	if (sum->restarted)
		strbuf_addf(&line, "%s%" PRIu64 " restarted", line.len ? ", " : NOTES_BEGIN,
			    sum->restarted);
	if (untimed)
		strbuf_addf(&line, "%s%" PRIu64 " without a time", line.len ? ", " : NOTES_BEGIN,
			    untimed);
	if (line.len)
		table_wrap(t, NOTES_INDENT, &line);
	strbuf_pass_error(&t->out, &line);
}

enum { CALLS, ERRORS, TIME, MEAN, P99, MAX, BYTES, CALL_COLUMNS };

static const struct table_column call_columns[CALL_COLUMNS] = {
	[CALLS] = { .head = "CALLS", .columns = 10, .is_count = true },
	[ERRORS] = { .head = "ERRORS", .columns = 8, .is_count = true },
	[TIME] = { .head = "TIME", .columns = 9 },
	[MEAN] = { .head = "MEAN", .columns = 8 },
	[P99] = { .head = "P99<=", .columns = 8 },
	[MAX] = { .head = "MAX", .columns = 8 },
	[BYTES] = { .head = "BYTES", .columns = 10 },
};

static void call_line(struct table *t, const struct view_call *call)
{
	const struct record_syscall *sum = &call->sum;
	_cleanup_strbuf_ struct strbuf name = { 0 };
	char cells[CALL_COLUMNS][CELL_LEN];
	bool timed = call->timed > 0;

	number_cell(cells[CALLS], sum->calls, &call_columns[CALLS]);
	number_cell(cells[ERRORS], sum->errors, &call_columns[ERRORS]);
	time_cell(cells[TIME], timed, sum->total_ns);
	time_cell(cells[MEAN], timed, timed ? sum->total_ns / call->timed : 0);
	time_cell(cells[P99], timed, call->p99_ns);
	time_cell(cells[MAX], timed, sum->max_ns);
	bytes_cell(cells[BYTES], sum->bytes);
	add_call_name(&name, sum->name, sum->number);
	put_line(t, call_columns, CALL_COLUMNS, cells, strbuf_str(&name));
	call_notes(t, call);
	strbuf_pass_error(&t->out, &name);
}

static void calls_section(struct table *t, const struct view_calls *calls)
{
	size_t n_shown = table_shown(t, calls->n_calls);
	uint64_t hidden = 0;

	put_heads(t, call_columns, CALL_COLUMNS, "SYSTEM CALL");
	for (size_t i = 0; i < n_shown; i++)
		call_line(t, &calls->calls[i]);
	for (size_t i = n_shown; i < calls->n_calls; i++)
		hidden += calls->calls[i].sum.calls;
	if (n_shown < calls->n_calls)
		table_line(t, 4,
			   "  … %zu more system call%s, called %" PRIu64
			   " time%s; --top 0 shows all",
			   calls->n_calls - n_shown, table_plural(calls->n_calls - n_shown), hidden,
			   table_plural(hidden));
	strbuf_addch(&t->out, '\n');
}

/* --- files ----------------------------------------------------------------------------------- */

enum { OPENS, READS, WRITES, BYTES_READ, BYTES_WRITTEN, FILE_TIME, FILE_COLUMNS };

static const struct table_column file_columns[FILE_COLUMNS] = {
	[OPENS] = { .head = "OPENS", .columns = 7, .is_count = true },
	[READS] = { .head = "READS", .columns = 8, .is_count = true },
	[WRITES] = { .head = "WRITES", .columns = 8, .is_count = true },
	[BYTES_READ] = { .head = "READ", .columns = 10 },
	[BYTES_WRITTEN] = { .head = "WRITTEN", .columns = 10 },
	[FILE_TIME] = { .head = "TIME", .columns = 8 },
};

static void file_line(struct table *t, const struct record_syscall_file *file)
{
	char cells[FILE_COLUMNS][CELL_LEN];

	number_cell(cells[OPENS], file->opens, &file_columns[OPENS]);
	number_cell(cells[READS], file->reads, &file_columns[READS]);
	number_cell(cells[WRITES], file->writes, &file_columns[WRITES]);
	bytes_cell(cells[BYTES_READ], file->bytes_read);
	bytes_cell(cells[BYTES_WRITTEN], file->bytes_written);
	time_cell(cells[FILE_TIME], true, file->total_ns);
	put_line(t, file_columns, FILE_COLUMNS, cells, file->path);
}

static void files_section(struct table *t, const struct view_calls *calls)
{
	size_t n_shown = table_shown(t, calls->n_files);

	if (calls->n_files == 0)
		return;
	put_heads(t, file_columns, FILE_COLUMNS, "FILE");
	for (size_t i = 0; i < n_shown; i++)
		file_line(t, &calls->files[i]);
	table_more(t, 2, calls->n_files, n_shown, " file");
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
	table_title(t, 8, &line);
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
	table_more(t, 2, all->n_callers, n_shown, " caller");
	strbuf_adds(&t->out, n_shown < all->n_callers ? "\n" : "");
}

static void processes_section(struct table *t, const struct view_syscalls *syscalls)
{
	size_t n_shown = table_shown(t, syscalls->n_processes);

	put_heads(t, call_columns, MEAN, "PROCESS");
	for (size_t i = 0; i < n_shown; i++) {
		const struct view_calls *process = &syscalls->processes[i];
		_cleanup_strbuf_ struct strbuf name = { 0 };
		char cells[MEAN][CELL_LEN];

		number_cell(cells[CALLS], process->n, &call_columns[CALLS]);
		number_cell(cells[ERRORS], process->errors, &call_columns[ERRORS]);
		time_cell(cells[TIME], true, process->total_ns);
		table_process(&name, process->image);
		put_line(t, call_columns, MEAN, cells, strbuf_str(&name));
		strbuf_pass_error(&t->out, &name);
	}
	table_more(t, 2, syscalls->n_processes, n_shown, " process");
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
	table_wrap(t, 4, &line);
	strbuf_addch(&t->out, '\n');
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
