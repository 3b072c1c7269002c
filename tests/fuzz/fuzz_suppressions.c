/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any text: it is read or refused with a place, matching ends, and what is made of a stack whose
 * names are lines of the text is itself read, and matches that stack.
 */
#include "analyze/supp_generate.h"
#include "analyze/suppressions.h"

#include <errno.h>
#include <string.h>

#define FRAMES 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct suppressions *read_text(const char *text, size_t len, int *ret)
{
	_cleanup_strbuf_ struct strbuf error = { 0 };
	struct suppressions *s;

	if (suppressions_new(&s))
		abort();
	*ret = suppressions_add_text(s, "fuzz", text, len, &error);
	if (*ret &&
	    (*ret != -EINVAL || strncmp(strbuf_str(&error), "fuzz:", 5) != 0 || suppressions_n(s)))
		abort();
	return s;
}

/* A name that a symbol table could have: no pattern of its own, and one line. */
static bool could_be_a_name(const char *line)
{
	size_t len = strlen(line);

	return len && !strpbrk(line, "*?\r\t\f\v ") && line[0] != '#';
}

static void check_generated(const struct suppression_frame *frames, size_t n)
{
	_cleanup_strbuf_ struct strbuf sb = { 0 };
	_cleanup_(suppressions_free_p) struct suppressions *s = NULL;
	int r;

	suppression_generate(&sb, SUPPRESSION_LEAK, REACH_POSSIBLE, frames, n, 0);
	s = read_text(strbuf_str(&sb), sb.len, &r);
	if (r || suppressions_n(s) != 1)
		abort();
	/* What is made of no stack needs a frame. */
	if (suppressions_match(s, SUPPRESSION_LEAK, REACH_POSSIBLE, frames, n) != (n ? 0 : -ENOENT))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = malloc(size + 1);
	_cleanup_(suppressions_free_p) struct suppressions *s = NULL;
	struct suppression_frame frames[FRAMES] = { 0 };
	char *rest = text;
	size_t n = 0;
	int r;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	s = read_text(text, size, &r);
	for (const char *line; n < FRAMES && (line = strsep(&rest, "\n"));) {
		if (!could_be_a_name(line))
			continue;
		switch (line[0] % 3) {
		case 0:
			frames[n++].linkage = line;
			break;
		case 1:
			frames[n++].function = line;
			break;
		default:
			frames[n++].object = line;
		}
	}
	for (int class = 0; class < REACH_CLASSES; class ++)
		(void)suppressions_match(s, SUPPRESSION_LEAK, class, frames, n);
	check_generated(frames, n);
	return 0;
}
