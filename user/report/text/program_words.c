/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/program_words.h"

#include "report/text/text.h"

#include <inttypes.h>
#include <string.h>

/* The name of its file, or NULL where that would have to be quoted. */
static const char *name_of(const struct model_process *image)
{
	const char *name = image->exe ? text_base_name(image->exe) : "";
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				"._+-");

	return *name && !name[n] ? name : NULL;
}

/* PID and NAME in a command are those of the image. */
static void add_text(struct strbuf *out, const char *text, const struct model_process *image)
{
	const char *name = image ? name_of(image) : NULL;

	while (*text)
		if (image && image->known && strncmp(text, "PID", 3) == 0) {
			strbuf_addf(out, "%" PRIu32, image->pid);
			text += 3;
		} else if (name && strncmp(text, "NAME", 4) == 0) {
			strbuf_adds(out, name);
			text += 4;
		} else {
			strbuf_addch(out, *text++);
		}
}

void program_words(enum program_kind kind, const struct model_process *image, bool heap, bool code,
		   struct strbuf *out)
{
	const struct program_facts *facts = program_kind_facts(kind);

	heap &= facts->heap != NULL;
	code &= facts->code != NULL;
	if (!heap && !code)
		return;
	strbuf_addf(out, "%s; ", facts->title);
	if (heap)
		add_text(out, facts->heap, image);
	strbuf_adds(out, heap && code ? "; " : "");
	if (code)
		add_text(out, facts->code, image);
}

void program_words_of_run(enum program_kind kind, const struct model_process *image,
			  const struct view *view, struct strbuf *out)
{
	const struct record_run *run = model_run(view_model(view));

	program_words(kind, image, view_has_allocations(view), run && !run->no_stacks, out);
}
