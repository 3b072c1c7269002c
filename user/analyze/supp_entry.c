/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/supp_entry.h"

#include "analyze/alloc_frames.h"

#include <string.h>

void supp_entry_done(struct supp_entry *entry)
{
	vec_foreach(&entry->patterns, pattern)
		free(pattern->stable);
	vec_done(&entry->patterns);
}

bool supp_entry_has_function(const struct supp_entry *entry, const struct suppression_frame *frame)
{
	size_t len, of_frame;
	const char *function = alloc_frames_valgrind_name(frame, &of_frame);

	len = strcspn(entry->argument, "(");
	if (len != of_frame)
		return false;
	/* An entry that was generated has `?` for a byte that a terminal would obey. */
	for (size_t i = 0; i < len; i++)
		if (entry->argument[i] != '?' && entry->argument[i] != function[i])
			return false;
	return true;
}

static bool source_matches(const struct supp_pattern *p, const struct suppression_frame *f)
{
	const char *slash = f->file ? strrchr(f->file, '/') : NULL;

	if (!f->file || (p->line && p->line != f->line))
		return false;
	return supp_glob(p->text, f->file) || (slash && supp_glob(p->text, slash + 1));
}

static bool frame_matches(const struct supp_pattern *p, const struct supp_names *names)
{
	const struct suppression_frame *f = names->frame;

	switch (p->kind) {
	case SUPP_FUNCTION:
		return supp_names_match_function(names, p->text, p->stable);
	case SUPP_OBJECT:
		return supp_glob(p->text, f->object ? f->object : "???");
	case SUPP_SOURCE:
		return source_matches(p, f);
	case SUPP_ANY_FRAMES:
		break;
	}
	return false;
}

/* As supp_glob, with frames for characters, but that the stack may go on. */
bool supp_entry_matches(const struct supp_entry *entry, const struct supp_names *frames, size_t n)
{
	const struct supp_pattern *p = entry->patterns.data;
	size_t n_patterns = entry->patterns.len, at = 0, frame = 0;
	size_t dots = SIZE_MAX, again = 0;

	while (at < n_patterns) {
		if (p[at].kind == SUPP_ANY_FRAMES) {
			dots = at++;
			again = frame;
		} else if (frame < n && frame_matches(&p[at], &frames[frame])) {
			at++;
			frame++;
		} else if (dots != SIZE_MAX && again < n) {
			at = dots + 1;
			frame = ++again;
		} else {
			return false;
		}
	}
	return true;
}
