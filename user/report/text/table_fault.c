/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a process was killed, and what of its heap is near.
 */
#include "report/text/fault_words.h"
#include "report/text/table.h"

static void add_line(struct table *t, const char *indent,
		     void (*words)(struct strbuf *out, const struct record_fault *fault),
		     const struct record_fault *fault)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };

	words(&line, fault);
	if (line.len > 0) {
		_cleanup_strbuf_ struct strbuf whole = { 0 };

		strbuf_addf(&whole, "%s%s", indent, strbuf_str(&line));
		table_wrap(t, 8, strbuf_str(&whole));
		if (strbuf_error(&whole) < 0)
			t->out.error = strbuf_error(&whole);
	}
	if (strbuf_error(&line) < 0)
		t->out.error = strbuf_error(&line);
}

void table_fault(struct table *t, const struct view_process *process)
{
	const struct view_fault *fault = &process->fault;

	if (!fault->values)
		return;
	strbuf_addch(&t->out, '\n');
	table_bold(t, true);
	add_line(t, "  ", fault_words_title, fault->values);
	table_bold(t, false);
	add_line(t, "    ", fault_words_cause, fault->values);
	table_stack(t, &fault->stack);
	add_line(t, "    ", fault_words_address, fault->values);
	if (fault->has_freed)
		table_stack(t, &fault->freed);
	if (fault->has_freed && fault->has_allocated)
		table_wrap(t, 6, "    Block was alloc'd at");
	if (fault->has_allocated)
		table_stack(t, &fault->allocated);
}
