/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/perf/perf_script_text.h"

#include "report/text/text.h"

#include <inttypes.h>
#include <string.h>

/* It must not begin with a space or a comment's '#'. */
void perf_text_comm(struct strbuf *out, const char *comm)
{
	static const struct text_swap swaps[] = { { '#', '_' } };
	_cleanup_strbuf_ struct strbuf trimmed = { 0 };
	size_t len, before = out->len;

	comm += strspn(comm, " \t\n\v\f\r");
	len = strlen(comm);
	while (len > 0 && strchr(" \t\n\v\f\r", comm[len - 1]))
		len--;
	strbuf_add(&trimmed, comm, len);
	text_word(out, strbuf_str(&trimmed), swaps, 1);
	while (out->len < before + 2 && strbuf_error(out) == 0)
		strbuf_addch(out, '_');
	if (strbuf_error(&trimmed) < 0)
		out->error = strbuf_error(&trimmed);
}

/*
 * A symbol may hold spaces, but a leading "(" loses its frame in the collapsers, ";" is their
 * separator and "->" theirs for inlined frames.
 */
static void add_symbol(struct strbuf *out, const char *function)
{
	static const char anonymous[] = "(anonymous namespace)";
	_cleanup_strbuf_ struct strbuf clean = { 0 };
	const char *s;

	if (strncmp(function, anonymous, sizeof(anonymous) - 1) == 0) {
		strbuf_adds(&clean, "{anonymous}");
		function += sizeof(anonymous) - 1;
	}
	escape_text(&clean, function);
	for (s = strbuf_str(&clean); *s == ' '; s++)
		;
	if (*s == '(') {
		strbuf_addch(out, '{');
		s++;
	}
	for (; *s; s++)
		strbuf_addch(out, *s == ';' ? ':' : *s == '-' && s[1] == '>' ? '=' : *s);
	if (strbuf_error(&clean) < 0)
		out->error = strbuf_error(&clean);
}

static void add_dso(struct strbuf *out, const struct view_frame *frame)
{
	_cleanup_strbuf_ struct strbuf path = { 0 };
	const char *object = frame->place->object;

	if (frame->is_inline) {
		strbuf_adds(out, "inlined");
		return;
	}
	if (!object) {
		strbuf_adds(out, "[unknown]");
		return;
	}
	strbuf_add(&path, object, text_path_length(object));
	if (path.len == 0 || strcmp(strbuf_str(&path), "//anon") == 0)
		strbuf_adds(out, "[anon]");
	else
		text_word(out, strbuf_str(&path), NULL, 0);
	if (strbuf_error(&path) < 0)
		out->error = strbuf_error(&path);
}

static void add_frame(struct strbuf *out, const struct view_frame *frame)
{
	strbuf_addf(out, "\t%16" PRIx64 " ", frame->place->vaddr);
	if (frame->function && *frame->function) {
		add_symbol(out, frame->function);
		if (!frame->is_inline)
			strbuf_addf(out, "+0x%" PRIx64, frame->offset);
	} else {
		strbuf_adds(out, "[unknown]");
	}
	strbuf_adds(out, " (");
	add_dso(out, frame);
	strbuf_adds(out, ")\n");
}

void perf_text_event(struct strbuf *out, const char *name)
{
	const char *colon = strrchr(name, ':');
	size_t before = out->len;

	text_word(out, colon ? colon + 1 : name, NULL, 0);
	if (out->len == before)
		strbuf_adds(out, "event");
}

/* What is not known is a frame, too: a reader cannot tell a stack's end from its loss. */
static void add_lost(struct strbuf *out)
{
	strbuf_adds(out, "\t               0 [stack-lost] ([unknown])\n");
}

void perf_text_stack(struct strbuf *out, const struct view_stack *stack)
{
	struct view_frames it = { .stack = stack };
	struct view_frame frame;

	if (stack->kernel_lost)
		add_lost(out);
	while (view_frames_next(&it, &frame))
		add_frame(out, &frame);
	if (stack->lost)
		add_lost(out);
	/* An event without frames is dropped or miscounted. */
	else if (stack->n_places == 0 && !stack->kernel_lost)
		strbuf_adds(out, "\t               0 [unknown] ([unknown])\n");
	strbuf_addch(out, '\n');
}
