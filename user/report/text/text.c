/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ELLIPSIS "\xe2\x80\xa6"

/*
 * Decodes the character at s: its length in bytes, or 0 when it is no valid UTF-8 (overlong forms,
 * surrogates and what is beyond Unicode are none; RFC 3629).
 */
static size_t decode(const char *s, uint32_t *ret_code)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *u = (const unsigned char *)s;
	uint32_t code = u[0];
	size_t n = 1;

	if (u[0] >= 0xf0 && u[0] < 0xf8) {
		n = 4;
		code = u[0] & 0x07;
	} else if (u[0] >= 0xe0 && u[0] < 0xf0) {
		n = 3;
		code = u[0] & 0x0f;
	} else if (u[0] >= 0xc0 && u[0] < 0xe0) {
		n = 2;
		code = u[0] & 0x1f;
	} else if (u[0] >= 0x80) {
		return 0;
	}
	for (size_t i = 1; i < n; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (u[i] & 0x3f);
	}
	if (code < smallest[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	*ret_code = code;
	return n;
}

static bool is_unsafe(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || /* C0, DEL, C1 */
	       code == 0x2028 || code == 0x2029 ||	       /* line and paragraph separator */
	       (code >= 0x202a && code <= 0x202e) ||	       /* direction embeddings, overrides */
	       (code >= 0x2066 && code <= 0x2069) ||	       /* direction isolates */
	       code == 0x200e || code == 0x200f || code == 0x061c; /* direction marks */
}

static void add_text(struct strbuf *out, const char *s, bool clean)
{
	while (*s) {
		uint32_t code;
		size_t n = decode(s, &code);

		if (n == 0 || (clean && is_unsafe(code)))
			strbuf_addch(out, '?');
		else
			strbuf_add(out, s, n);
		s += n ? n : 1;
	}
}

void text_utf8(struct strbuf *out, const char *s)
{
	add_text(out, s, false);
}

void text_clean(struct strbuf *out, const char *s)
{
	add_text(out, s, true);
}

/* U+FFFE and U+FFFF, of which XML 1.0 allows no mention. */
static bool is_noncharacter(const char *s)
{
	return strncmp(s, "\xef\xbf\xbe", 3) == 0 || strncmp(s, "\xef\xbf\xbf", 3) == 0;
}

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

void text_xml(struct strbuf *out, const char *s)
{
	_cleanup_strbuf_ struct strbuf clean = { 0 };

	text_clean(&clean, s);
	if (strbuf_error(&clean) < 0)
		out->error = strbuf_error(&clean);
	for (const char *at = strbuf_str(&clean); *at; at++) {
		if (is_noncharacter(at)) {
			strbuf_addch(out, '?');
			at += 2;
		} else if (xml_entity(*at)) {
			strbuf_adds(out, xml_entity(*at));
		} else {
			strbuf_addch(out, *at);
		}
	}
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

void text_word(struct strbuf *out, const char *s, const struct text_swap *swaps, size_t n_swaps)
{
	while (*s) {
		uint32_t code;
		size_t n = decode(s, &code);
		char c = *s;

		for (size_t i = 0; n == 1 && i < n_swaps; i++)
			if (c == swaps[i].from)
				c = swaps[i].to;
		if (n == 1 && is_space(c))
			strbuf_addch(out, '_');
		else if (n == 0 || is_unsafe(code))
			strbuf_addch(out, '?');
		else if (n == 1)
			strbuf_addch(out, c);
		else
			strbuf_add(out, s, n);
		s += n ? n : 1;
	}
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

	text_clean(&clean, s);
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
	if (strbuf_error(&clean) < 0)
		out->error = strbuf_error(&clean);
}

void text_clip(struct strbuf *out, const char *s, size_t columns)
{
	_cleanup_strbuf_ struct strbuf clean = { 0 };
	const char *text;
	size_t len = 0;

	text_clean(&clean, s);
	if (strbuf_error(&clean) < 0) {
		out->error = strbuf_error(&clean);
		return;
	}
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
