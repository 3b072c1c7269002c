/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/leak/leak_lines.h"

#include "analyze/valgrind_names.h"
#include "report/text/text.h"

#include <inttypes.h>
#include <string.h>

void leak_line(struct strbuf *out, pid_t pid)
{
	strbuf_addf(out, "==%d== ", (int)pid);
}

void leak_say(struct strbuf *out, pid_t pid, const char *text)
{
	leak_line(out, pid);
	strbuf_adds(out, text);
	strbuf_addch(out, '\n');
}

static void frame(struct strbuf *out, const struct leak_frame *f, bool first, bool below_main)
{
	const struct view_place *place = f->place;
	const char *function = below_main ? "(below main)" : f->function;

	strbuf_addf(out, "   %s 0x%" PRIX64 ": ", first ? "at" : "by",
		    place->addr - (place->is_call && place->addr > 0));
	escape_text(out, function ? function : "???");
	if (f->file) {
		strbuf_adds(out, " (");
		escape_text(out, text_base_name(f->file));
		if (f->line)
			strbuf_addf(out, ":%" PRIu32, f->line);
		strbuf_addch(out, ')');
	} else if (place->object) {
		strbuf_adds(out, " (in ");
		escape_text(out, place->object);
		strbuf_addch(out, ')');
	}
	strbuf_addch(out, '\n');
}

static bool is_main(const struct leak_frame *f)
{
	return f->function && strcmp(f->function, "main") == 0;
}

void leak_stack_lines(struct strbuf *out, pid_t pid, const struct leak_stack *stack)
{
	for (size_t i = 0; i < stack->n_frames; i++) {
		const struct leak_frame *f = &stack->frames[i];
		bool below_main = f->function && supp_calls_main(f->function);

		leak_line(out, pid);
		frame(out, f, i == 0, below_main);
		if (below_main || is_main(f))
			break;
	}
	if (stack->n_frames == 0)
		leak_say(out, pid, "   at 0x0: ???");
}
