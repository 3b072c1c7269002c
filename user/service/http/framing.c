/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/http/framing.h"

#include <string.h>
#include <strings.h>

/* RFC 9110, 5.6.2 */
static bool is_token(const char *text, size_t len)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < len; i++)
		if (!memchr(chars, text[i], sizeof(chars) - 1))
			return false;
	return len > 0;
}

/* RFC 9110, 5.5: no control but the tab. */
static bool is_value(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (((unsigned char)text[i] < ' ' && text[i] != '\t') || text[i] == 0x7f)
			return false;
	return true;
}

static bool is_number(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < '0' || text[i] > '9')
			return false;
	return len > 0;
}

static bool equals(const char *text, size_t len, const char *word)
{
	return len == strlen(word) && strncasecmp(text, word, len) == 0;
}

static const char *refusal(struct http_framing *framing, const char *name, size_t name_len,
			   const char *value, size_t value_len)
{
	if (!is_token(name, name_len) || !is_value(value, value_len))
		return "a header has characters that it must not have";
	if (equals(name, name_len, "Host") && framing->n_hosts++)
		return "there are two Host headers";
	if (equals(name, name_len, "Content-Length")) {
		framing->has_body = framing->has_body || !equals(value, value_len, "0");
		if (framing->n_lengths++ || !is_number(value, value_len))
			return "Content-Length is not one number";
	}
	if (equals(name, name_len, "Transfer-Encoding")) {
		framing->has_body = true;
		if (framing->n_codings++ || !equals(value, value_len, "chunked"))
			return "Transfer-Encoding is not 'chunked'";
	}
	if (framing->n_lengths && framing->n_codings)
		return "there are Content-Length and Transfer-Encoding";
	return NULL;
}

void http_framing_add(struct http_framing *framing, const char *name, size_t name_len,
		      const char *value, size_t value_len)
{
	const char *why = refusal(framing, name, name_len, value, value_len);

	if (!framing->why)
		framing->why = why;
}
