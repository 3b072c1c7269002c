/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any text: it is read or refused with a place, matching ends, and the entry that is generated of a
 * stack whose names are parts of the text is itself one entry, and matches that stack.
 */
#include "analyze/suppression_file.h"
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

static void check_generated(enum suppression_kind kind, const struct suppression_frame *frames,
			    size_t n)
{
	_cleanup_strbuf_ struct strbuf sb = { 0 };
	_cleanup_(suppressions_free_p) struct suppressions *s = NULL;
	int r;

	suppression_generate(&sb, kind, REACH_POSSIBLE, frames, n);
	s = read_text(strbuf_str(&sb), sb.len, &r);
	if (r || suppressions_n(s) != 1)
		abort();
	/* A size is of a function. */
	if (suppressions_match(s, kind, REACH_POSSIBLE, frames, n) !=
	    (n || kind != SUPPRESSION_FISHY ? 0 : -ENOENT))
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
	/* The first byte of a part says what it names; a name may have any bytes but NUL. */
	for (char *part; n < FRAMES && (part = strsep(&rest, "\n")) && *part;) {
		char *name = part + 1;

		for (char *c = name; *c; c++)
			*c = *c == '\\' ? '\n' : *c;
		switch ((unsigned char)*part % 3) {
		case 0:
			frames[n++].linkage = name;
			break;
		case 1:
			frames[n++].function = name;
			break;
		default:
			frames[n++].object = name;
		}
	}
	for (int class = 0; class < REACH_CLASSES; class ++)
		(void)suppressions_match(s, SUPPRESSION_LEAK, class, frames, n);
	/* One kind for each input, as all differ in little. */
	check_generated((enum suppression_kind)(size % SUPPRESSION_KINDS), frames, n);
	return 0;
}
