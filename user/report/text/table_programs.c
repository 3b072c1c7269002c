/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One line for each kind of program, however many processes run it. */
#include "report/text/program_words.h"
#include "report/text/table.h"

#include <errno.h>

/* Processes that are named. */
#define MOST_NAMED 3

/*
 * "python3 (pid 4242), python3 (pid 4243), 5 more"; nothing where none is of that kind. The only
 * one, or NULL.
 */
static const struct model_process *add_processes(const struct view *before, const struct view *view,
						 enum program_kind kind, struct strbuf *line)
{
	size_t n_before = before ? view_n_processes(before) : 0, n = 0;
	const struct model_process *first = NULL;

	for (size_t i = 0; i < n_before + view_n_processes(view); i++) {
		const struct view_process *process =
			i < n_before ? view_process(before, i) : view_process(view, i - n_before);

		if (!program_is(process->image, kind) || n++ >= MOST_NAMED)
			continue;
		first = n == 1 ? process->image : NULL;
		strbuf_adds(line, n > 1 ? ", " : "");
		table_process(line, process->image);
	}
	if (n > MOST_NAMED)
		strbuf_addf(line, ", %zu more", n - MOST_NAMED);
	return first;
}

void table_programs(struct table *t, const struct view *before)
{
	for (enum program_kind kind = PROGRAM_PLAIN + 1; kind < PROGRAM_KINDS; kind++) {
		_cleanup_strbuf_ struct strbuf line = { 0 }, words = { 0 };

		const struct model_process *only = add_processes(before, t->view, kind, &line);

		program_words_of_run(kind, only, t->view, &words);
		if (line.len == 0 || words.len == 0)
			continue;
		strbuf_addf(&line, ": %s", strbuf_str(&words));
		table_wrap(t, 8, &line);
		if (strbuf_error(&line) < 0 || strbuf_error(&words) < 0)
			t->out.error = -ENOMEM;
	}
}
