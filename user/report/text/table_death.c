/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who killed a process, and what it and its cgroup had of memory then.
 */
#include "report/text/death_words.h"
#include "report/text/table.h"

static void add_line(struct table *t, const struct model_process *image,
		     void (*words)(struct strbuf *out, const struct model_process *image))
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	size_t none;

	strbuf_adds(&line, "  ");
	none = line.len;
	words(&line, image);
	if (line.len > none)
		table_wrap(t, 6, strbuf_str(&line));
	if (strbuf_error(&line) < 0)
		t->out.error = strbuf_error(&line);
}

void table_death(struct table *t, const struct view_process *process)
{
	table_bold(t, true);
	add_line(t, process->image, death_words_killer);
	table_bold(t, false);
	add_line(t, process->image, death_words_memory);
	add_line(t, process->image, death_words_cgroup);
}
