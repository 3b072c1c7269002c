/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/http/headers.h"

#include <stddef.h>
#include <stdint.h>
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

#define USER_MOST 256
#define DECODED_MOST (USER_MOST + 1 + HTTP_TOKEN_MOST)

/* What stands behind the scheme, whose case does not matter (RFC 9110, 11.1); NULL: another one. */
static const char *behind_scheme(const char *authorization, const char *scheme)
{
	size_t len = strlen(scheme);

	if (!authorization || strncasecmp(authorization, scheme, len) != 0 ||
	    authorization[len] != ' ')
		return NULL;
	return authorization + len + strspn(authorization + len, " ");
}

/* RFC 4648, 4; -1: not a digit. */
static int base64_digit(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* The number of bytes, or -1: too many, or not base64 with its padding. */
static int base64_decode(const char *text, unsigned char *ret_bytes, size_t room)
{
	size_t len = strlen(text), n_digits = len, n = 0;
	uint32_t bits = 0;

	if (len % 4 != 0)
		return -1;
	for (int i = 0; i < 2 && n_digits > 0 && text[n_digits - 1] == '='; i++)
		n_digits--;
	if (n_digits * 3 / 4 > room)
		return -1;
	for (size_t i = 0; i < n_digits; i++) {
		int digit = base64_digit(text[i]);

		if (digit < 0)
			return -1;
		bits = bits << 6 | (uint32_t)digit;
		if (i % 4 != 0)
			ret_bytes[n++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
	}
	return (int)n;
}

/* A NUL in it would end the token early. */
static bool copy_token(const char *from, size_t len, char ret_token[HTTP_TOKEN_MOST + 1])
{
	if (len == 0 || len > HTTP_TOKEN_MOST || memchr(from, '\0', len))
		return false;
	memcpy(ret_token, from, len);
	ret_token[len] = '\0';
	return true;
}

static bool decode_password(const char *encoded, char ret_token[HTTP_TOKEN_MOST + 1])
{
	char decoded[DECODED_MOST];
	int len = base64_decode(encoded, (unsigned char *)decoded, sizeof(decoded));
	const char *colon = len > 0 ? memchr(decoded, ':', (size_t)len) : NULL;

	return colon && copy_token(colon + 1, (size_t)(decoded + len - (colon + 1)), ret_token);
}

bool http_credentials_are_basic(const char *authorization)
{
	return behind_scheme(authorization, "Basic") != NULL;
}

bool http_credentials_token(const char *authorization, char ret_token[HTTP_TOKEN_MOST + 1])
{
	const char *given = behind_scheme(authorization, "Bearer");

	if (given)
		return copy_token(given, strlen(given), ret_token);
	given = behind_scheme(authorization, "Basic");
	return given && decode_password(given, ret_token);
}
