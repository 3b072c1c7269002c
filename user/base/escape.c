/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/escape.h"

#include <inttypes.h>
#include <string.h>

size_t escape_decode(const char *s, size_t len, uint32_t *ret_code)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *u = (const unsigned char *)s;
	uint32_t code;
	size_t n = 1;

	if (len == 0)
		return 0;
	code = u[0];
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
	if (n > len)
		return 0;
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

/* Ranges in order. Names are of the Unicode Character Database. */
static const struct {
	uint32_t first, last;
} unsafe[] = {
	{ 0x00, 0x1f },	      /* C0 controls */
	{ 0x7f, 0x9f },	      /* DELETE, C1 controls */
	{ 0xad, 0xad },	      /* SOFT HYPHEN */
	{ 0x34f, 0x34f },     /* COMBINING GRAPHEME JOINER */
	{ 0x61c, 0x61c },     /* ARABIC LETTER MARK: direction */
	{ 0x115f, 0x1160 },   /* Hangul fillers */
	{ 0x17b4, 0x17b5 },   /* invisible Khmer vowels */
	{ 0x180b, 0x180f },   /* Mongolian selectors and separator */
	{ 0x200b, 0x200f },   /* zero width; direction marks */
	{ 0x2028, 0x202e },   /* line and paragraph separators; direction embeddings, overrides */
	{ 0x2060, 0x206f },   /* invisible operators; direction isolates; deprecated controls */
	{ 0x3164, 0x3164 },   /* HANGUL FILLER */
	{ 0xd800, 0xdfff },   /* surrogates */
	{ 0xfdd0, 0xfdef },   /* noncharacters */
	{ 0xfe00, 0xfe0f },   /* variation selectors */
	{ 0xfeff, 0xfeff },   /* ZERO WIDTH NO-BREAK SPACE, the byte order mark */
	{ 0xffa0, 0xffa0 },   /* HALFWIDTH HANGUL FILLER */
	{ 0xfff0, 0xfffb },   /* unassigned, ignorable; interlinear annotation */
	{ 0x13430, 0x1343f }, /* Egyptian hieroglyph format controls */
	{ 0x1bca0, 0x1bca3 }, /* shorthand format controls */
	{ 0x1d173, 0x1d17a }, /* musical format controls */
	{ 0xe0000, 0xe0fff }, /* tags, variation selectors */
	{ 0x110000, UINT32_MAX },
};

bool escape_is_unsafe(uint32_t code)
{
	size_t n = sizeof(unsafe) / sizeof(unsafe[0]);

	if (code >= ' ' && code < 0x7f)
		return false;
	if ((code & 0xfffe) == 0xfffe) /* the last two of each plane are noncharacters */
		return true;
	for (size_t i = 0; i < n && code >= unsafe[i].first; i++)
		if (code <= unsafe[i].last)
			return true;
	return false;
}

static bool is_in(const char *set, uint32_t code)
{
	return code > 0 && code < 0x80 && strchr(set, (int)code);
}

static bool is_never(uint32_t code)
{
	(void)code;
	return false;
}

/* `is_escaped`: which characters of valid UTF-8 are, but for those of `layout`. */
static void add_escaped(struct strbuf *out, const char *s, size_t len,
			bool (*is_escaped)(uint32_t code), const char *layout)
{
	size_t begin = 0, n;

	for (size_t at = 0; at < len; at += n) {
		uint32_t code;

		n = escape_decode(s + at, len - at, &code);
		if (n > 0 && (!is_escaped(code) || is_in(layout, code)))
			continue;
		strbuf_add(out, s + begin, at - begin);
		if (n > 1)
			strbuf_addf(out, "\\u{%" PRIx32 "}", code);
		else
			strbuf_addf(out, "\\x%02x", (unsigned char)s[at]);
		n = n ? n : 1;
		begin = at + n;
	}
	strbuf_add(out, s + begin, len - begin);
}

void escape_bytes(struct strbuf *out, const char *s, size_t len, const char *layout)
{
	add_escaped(out, s, len, escape_is_unsafe, layout);
}

void escape_text(struct strbuf *out, const char *s)
{
	add_escaped(out, s, strlen(s), escape_is_unsafe, "");
}

void escape_invalid(struct strbuf *out, const char *s)
{
	add_escaped(out, s, strlen(s), is_never, "");
}

void escape_query(struct strbuf *out, const char *s)
{
	static const char unreserved[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789-._~";

	for (; *s; s++) {
		if (strchr(unreserved, *s))
			strbuf_addch(out, *s);
		else
			strbuf_addf(out, "%%%02X", (unsigned char)*s);
	}
}
