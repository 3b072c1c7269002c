/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text like that of `perf script`: one event per site that holds something, its live bytes as the
 * period (FORMATS.md section 1, whose traps are why names are changed here). Addresses are the
 * objects' own, so that frames of different runs are the same and addr2line takes them.
 */
#include "report/text.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* No colon: one client would cut the name there. */
#define EVENT_NAME "memtraced-live-bytes"

/* At least two characters, beginning with neither a space nor a comment's '#'. */
static void add_comm(struct strbuf *out, const char *comm)
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
	text_clean(&clean, function);
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

/* Times are microseconds apart: a thread's events must not go back in time. */
static void add_header(struct strbuf *out, const struct model_process *image, uint64_t time_ns,
		       int64_t period)
{
	uint64_t us = time_ns / 1000;

	add_comm(out, image->comm);
	strbuf_addf(out,
		    " %" PRIu32 "/%" PRIu32 " [000] %5" PRIu64 ".%06" PRIu64 ": %10" PRId64
		    " " EVENT_NAME ": \n",
		    image->pid, image->pid, us / 1000000, us % 1000000, period);
}

static void add_site(struct strbuf *out, const struct model_process *image,
		     const struct view_site *site, uint64_t time_ns)
{
	struct view_frames it = { .stack = &site->stack };
	struct view_frame frame;
	bool any = false;

	add_header(out, image, time_ns, site->live_bytes);
	for (; view_frames_next(&it, &frame); any = true)
		add_frame(out, &frame);
	/* An event without frames is dropped or miscounted. */
	if (!any)
		strbuf_adds(out, "\t               0 [unknown] ([unknown])\n");
	strbuf_addch(out, '\n');
}

int perf_script_write(const struct view *view, FILE *file)
{
	const struct record_run *run = model_run(view_model(view));
	_cleanup_strbuf_ struct strbuf text = { 0 };
	uint64_t time_ns = view_now_ns(view);

	strbuf_adds(&text, "# ");
	text_clean(&text, run && run->tool ? run->tool : "memtraced");
	strbuf_adds(&text, ": one event per site, its live bytes as the period\n");
	for (size_t i = 0; i < view_n_processes(view); i++) {
		const struct view_process *process = view_process(view, i);

		for (size_t j = 0; j < process->n_sites; j++) {
			if (process->sites[j].live_bytes <= 0)
				continue;
			add_site(&text, process->image, &process->sites[j], time_ns);
			time_ns += 1000;
			if (strbuf_error(&text) < 0)
				return strbuf_error(&text);
			fwrite(strbuf_str(&text), 1, text.len, file);
			strbuf_reset(&text);
		}
	}
	fwrite(strbuf_str(&text), 1, text.len, file);
	return ferror(file) ? -EIO : 0;
}
