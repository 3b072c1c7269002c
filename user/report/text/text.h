/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text from targets (names, paths, symbols) made safe for where it goes: the author of the traced
 * program chose it. Pure functions; lengths are in columns, one a code point.
 */
#ifndef MEMTRACED_REPORT_TEXT_TEXT_H
#define MEMTRACED_REPORT_TEXT_TEXT_H

#include "base/escape.h"

#include <stdbool.h>
#include <stdint.h>

/* Escaped as one word: white space becomes '_', and a swap's `from` its `to`. */
struct text_swap {
	char from, to;
};
void text_word(struct strbuf *out, const char *s, const struct text_swap *swaps, size_t n_swaps);

/*
 * Escaped text as a frame of collapsed stacks, whose ';' becomes ':'. Blanks stay, but for one
 * before the end or before digits there, which readers would take for the count.
 */
void text_folded(struct strbuf *out, const char *s);

/* Escaped text as XML has it, in elements and in attributes. */
void text_xml(struct strbuf *out, const char *s);
/* The same in elements alone, where an apostrophe stays. */
void text_xml_element(struct strbuf *out, const char *s);

/* 1234567 as "1,234,567". */
void text_grouped(struct strbuf *out, uint64_t number);

size_t text_columns(const char *s);

/* Escaped text in at most `columns` (>= 3): what is too long loses its middle to an ellipsis. */
void text_fit(struct strbuf *out, const char *s, size_t columns);

/* The same of a function, which loses its parameters first: "ns::f(…)", then its beginning. */
void text_fit_function(struct strbuf *out, const char *name, size_t columns);

/*
 * A function and behind it where it is, its line or "(its object)" (may be empty). Before a line
 * the function gives way first, but not below a third of the columns, or half where they are few;
 * before an object not below two thirds, or at all. `full`: text_fit, and not
 * text_fit_function.
 */
void text_fit_place(struct strbuf *out, const char *function, const char *where, bool full,
		    size_t columns);

/* As text_fit, but what is too long loses its end; any number of columns. */
void text_clip(struct strbuf *out, const char *s, size_t columns);

/* Breaks escaped text at spaces into lines of at most `columns`, all but the first indented. */
void text_wrap(struct strbuf *out, const char *s, size_t columns, size_t indent);

/* "EAGAIN", or the number of what is no errno(3). */
#define TEXT_ERRNO_LEN 16
const char *text_errno(uint32_t number, char buf[TEXT_ERRNO_LEN]);

/* Does the file's name end so, with something before it? */
bool text_ends_in(const char *name, const char *suffix);

/* After the last slash. */
const char *text_base_name(const char *path);

/* Length of a path without the " (deleted)" that the kernel adds. */
size_t text_path_length(const char *path);

#endif
