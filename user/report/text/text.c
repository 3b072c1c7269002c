/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/text.h"

#include "symbol/function_name.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ELLIPSIS "\xe2\x80\xa6"

/* Columns below which a function and where it is are not both shown in full. */
#define NARROW 80
/* Less of a line, or of an object, is not worth its room. */
#define LEAST_LINE 5
#define LEAST_OBJECT 12

static const char *xml_entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

static void add_xml(struct strbuf *out, const char *s, char kept)
{
	_cleanup_strbuf_ struct strbuf clean = { 0 };

	escape_text(&clean, s);
	strbuf_pass_error(out, &clean);
	for (const char *at = strbuf_str(&clean); *at; at++)
		if (*at != kept && xml_entity(*at))
			strbuf_adds(out, xml_entity(*at));
		else
			strbuf_addch(out, *at);
}

void text_xml(struct strbuf *out, const char *s)
{
	add_xml(out, s, '\0');
}

void text_xml_element(struct strbuf *out, const char *s)
{
	add_xml(out, s, '\'');
}

void text_grouped(struct strbuf *out, uint64_t number)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, number);

	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			strbuf_addch(out, ',');
		strbuf_addch(out, digits[i]);
	}
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static char swapped(char c, const struct text_swap *swaps, size_t n_swaps)
{
	for (size_t i = 0; i < n_swaps; i++)
		if (c == swaps[i].from)
			return is_space(swaps[i].to) ? '_' : swaps[i].to;
	return is_space(c) ? '_' : c;
}

/* Blanks before `blanks_end` stay. */
static void add_swapped(struct strbuf *out, const char *s, const char *blanks_end,
			const struct text_swap *swaps, size_t n_swaps)
{
	size_t len = strlen(s), n;

	for (; len > 0; s += n, len -= n) {
		uint32_t code;
		char c = *s == ' ' && s < blanks_end ? ' ' : swapped(*s, swaps, n_swaps);

		n = escape_decode(s, len, &code);
		if (n == 1 && c != *s)
			strbuf_addch(out, c);
		else
			escape_bytes(out, s, n ? n : 1, "");
		n = n ? n : 1;
	}
}

void text_word(struct strbuf *out, const char *s, const struct text_swap *swaps, size_t n_swaps)
{
	add_swapped(out, s, s, swaps, n_swaps);
}

void text_folded(struct strbuf *out, const char *s)
{
	static const struct text_swap swaps[] = { { ';', ':' } };
	const char *end = s + strlen(s);

	while (end > s && strchr("0123456789.", end[-1]))
		end--;
	add_swapped(out, s, end > s ? end - 1 : s, swaps, 1);
}

size_t text_columns(const char *s)
{
	size_t columns = 0;

	for (; *s; s++)
		columns += ((unsigned char)*s & 0xc0) != 0x80;
	return columns;
}

/* The byte at which column `column` of valid UTF-8 begins. */
static const char *at_column(const char *s, size_t column)
{
	for (; *s; s++) {
		if (((unsigned char)*s & 0xc0) == 0x80)
			continue;
		if (column-- == 0)
			break;
	}
	return s;
}

void text_fit(struct strbuf *out, const char *s, size_t columns)
{
	_cleanup_strbuf_ struct strbuf clean = { 0 };
	size_t have, head, tail;
	const char *text;

	escape_text(&clean, s);
	text = strbuf_str(&clean);
	have = text_columns(text);
	if (have <= columns) {
		strbuf_adds(out, text);
	} else {
		tail = (columns - 1) / 2;
		head = columns - 1 - tail;
		strbuf_add(out, text, at_column(text, head) - text);
		strbuf_adds(out, ELLIPSIS);
		strbuf_adds(out, at_column(text, have - tail));
	}
	strbuf_pass_error(out, &clean);
}

/* Of a name with its scope the end tells more than the beginning. */
static void fit_end(struct strbuf *out, const char *name, size_t len, size_t columns)
{
	_cleanup_strbuf_ struct strbuf part = { 0 }, clean = { 0 };
	size_t have;

	strbuf_add(&part, name, len);
	escape_text(&clean, strbuf_str(&part));
	have = text_columns(strbuf_str(&clean));
	if (have > columns) {
		strbuf_adds(out, ELLIPSIS);
		strbuf_adds(out, at_column(strbuf_str(&clean), have - columns + 1));
	} else {
		strbuf_adds(out, strbuf_str(&clean));
	}
	if (strbuf_error(&part) < 0 || strbuf_error(&clean) < 0)
		out->error = -ENOMEM;
}

void text_fit_function(struct strbuf *out, const char *name, size_t columns)
{
	struct function_name part = function_name_of(name);
	const char *behind = part.start + part.len;
	_cleanup_strbuf_ struct strbuf bare = { 0 };

	if (*behind != '(' || text_columns(name) <= columns) {
		text_fit(out, name, columns);
		return;
	}
	strbuf_add(&bare, name, (size_t)(behind - name));
	strbuf_adds(&bare, "(" ELLIPSIS ")");
	if (text_columns(strbuf_str(&bare)) <= columns)
		text_fit(out, strbuf_str(&bare), columns);
	else
		fit_end(out, part.start, part.len, columns);
	strbuf_pass_error(out, &bare);
}

/* What a function needs without its parameters. */
static size_t function_columns(const char *function, bool full)
{
	struct function_name part = function_name_of(function);
	size_t all = text_columns(function);
	size_t bare = (size_t)(part.start + part.len - function) + strlen("(.)");

	return full || bare > all ? all : bare;
}

/*
 * Of its columns, a function has no more than so many to itself: a line tells more than the rest of
 * a long name, an object that most functions of a program are in tells less.
 */
static size_t own_columns(const char *where, size_t columns)
{
	if (*where == '(')
		return columns < NARROW ? columns : columns - columns / 3;
	return columns < NARROW / 2 ? columns / 2 : columns / 3;
}

void text_fit_place(struct strbuf *out, const char *function, const char *where, bool full,
		    size_t columns)
{
	size_t where_columns = *where ? text_columns(where) + 2 : 0;
	size_t own = own_columns(where, columns), needed = function_columns(function, full);

	if (where_columns > columns - (needed < own ? needed : own))
		where_columns = columns - (needed < own ? needed : own);
	if (where_columns < text_columns(where) + 2 &&
	    where_columns < (*where == '(' ? LEAST_OBJECT : LEAST_LINE) + 2)
		where_columns = 0;
	if (full)
		text_fit(out, function, columns - where_columns);
	else
		text_fit_function(out, function, columns - where_columns);
	if (where_columns == 0)
		return;
	strbuf_adds(out, "  ");
	text_fit(out, where, where_columns - 2);
}

void text_clip(struct strbuf *out, const char *s, size_t columns)
{
	_cleanup_strbuf_ struct strbuf clean = { 0 };
	const char *text;
	size_t len = 0;

	escape_text(&clean, s);
	strbuf_pass_error(out, &clean);
	/* A code point is a column: its first byte, and those that begin with the bits 10. */
	for (text = strbuf_str(&clean); text[len]; len++)
		if (((unsigned char)text[len] & 0xc0) != 0x80 && columns-- == 0)
			break;
	strbuf_add(out, text, len);
}

void text_wrap(struct strbuf *out, const char *s, size_t columns, size_t indent)
{
	size_t used = 0;
	bool first_word = true;

	while (*s) {
		size_t len = strcspn(s, " "), width = 0;

		for (size_t i = 0; i < len; i++)
			width += ((unsigned char)s[i] & 0xc0) != 0x80;
		if (!first_word && used + 1 + width > columns) {
			strbuf_addf(out, "\n%*s", (int)indent, "");
			used = indent;
		} else if (!first_word) {
			strbuf_addch(out, ' ');
			used++;
		}
		strbuf_add(out, s, len);
		used += width;
		first_word = false;
		s += len;
		if (*s == ' ')
			s++;
	}
	strbuf_addch(out, '\n');
}

const char *text_errno(uint32_t number, char buf[TEXT_ERRNO_LEN])
{
	const char *name = number > 0 && number <= INT_MAX ? strerrorname_np((int)number) : NULL;

	snprintf(buf, TEXT_ERRNO_LEN, "%" PRIu32, number);
	return name ? name : buf;
}

bool text_ends_in(const char *name, const char *suffix)
{
	size_t len = strlen(name), n = strlen(suffix);

	return len > n && strcmp(name + len - n, suffix) == 0;
}

const char *text_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

size_t text_path_length(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(path), n = sizeof(deleted) - 1;

	return len > n && strcmp(path + len - n, deleted) == 0 ? len - n : len;
}
