/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/http/query.h"

#include "base/cleanup.h"
#include "config/units.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#define PROC "/proc/"

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/*
 * `len` bytes without their escapes (RFC 3986, 2.1), malloc'ed in *ret_text. Control characters,
 * escaped or not, are in no name that we know.
 */
static int unescape_query(const char *from, size_t len, char **ret_text, const char **ret_why)
{
	_cleanup_free_ char *text = malloc(len + 1);
	size_t n = 0;

	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)from[i];

		if (c == '%') {
			int high = i + 2 < len ? hex(from[i + 1]) : -1;
			int low = i + 2 < len ? hex(from[i + 2]) : -1;

			if (high < 0 || low < 0) {
				*ret_why = "a % must have two hexadecimal digits behind it";
				return -EINVAL;
			}
			c = (unsigned char)(high * 16 + low);
			i += 2;
		}
		if (c < 0x20 || c == 0x7f) {
			*ret_why = "there is a control character in the address";
			return -EINVAL;
		}
		text[n++] = (char)c;
	}
	text[n] = '\0';
	*ret_text = TAKE_PTR(text);
	return 0;
}

/* Nothing is looked up by these paths, and nothing shall ever be. */
static bool has_odd_segment(const char *path)
{
	for (const char *at = path; (at = strchr(at, '/')); at++) {
		size_t len = strcspn(at + 1, "/");

		if ((len == 0 && at[1] == '/') || (len == 1 && at[1] == '.') ||
		    (len == 2 && at[1] == '.' && at[2] == '.'))
			return true;
	}
	return false;
}

static int parse_pid(const char *text, const char *end, struct http_query *query,
		     const char **ret_why)
{
	uint64_t pid;

	if (parse_digits(text, end, &pid) < 0 || pid == 0 || pid > INT_MAX) {
		*ret_why = "expected a process id";
		return -EINVAL;
	}
	if (query->pid) {
		*ret_why = "there are two process ids";
		return -EINVAL;
	}
	query->pid = (pid_t)pid;
	return 0;
}

static int parse_path(const char *from, size_t len, struct http_query *query, const char **ret_why)
{
	const char *slash;
	int r = unescape_query(from, len, &query->path, ret_why);

	if (r < 0)
		return r;
	if (query->path[0] != '/' || has_odd_segment(query->path)) {
		*ret_why = "the path must begin with one slash, without //, /./ and /../";
		return -EINVAL;
	}
	if (strncmp(query->path, PROC, strlen(PROC)) != 0)
		return 0;
	slash = strchrnul(query->path + strlen(PROC), '/');
	r = parse_pid(query->path + strlen(PROC), slash, query, ret_why);
	if (r == 0)
		memmove(query->path, slash, strlen(slash) + 1);
	return r;
}

static int parse_number(const char *value, uint64_t most, uint64_t *ret_number,
			const char **ret_why)
{
	if (parse_digits(value, value + strlen(value), ret_number) == 0 && *ret_number <= most)
		return 0;
	*ret_why = "seconds and debug take whole numbers";
	return -EINVAL;
}

/* What was given, so that nothing is given twice; in the order of parse_value's keys. */
enum { SEEN_SECONDS = 1, SEEN_DEBUG = 2, SEEN_FORMAT = 4, SEEN_NAME = 8, SEEN_DEPTH = 16 };

static int parse_value(const char *key, char **value, unsigned int *seen, struct http_query *query,
		       const char **ret_why)
{
	static const char *const keys[] = { "seconds", "debug", "format", "name", "depth" };
	unsigned int mask = 0;
	uint64_t debug;
	int r;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(key, keys[i]) == 0)
			mask = 1U << i;
	if (*seen & mask) {
		*ret_why = "a key is given twice";
		return -EINVAL;
	}
	*seen |= mask;
	if (strcmp(key, "pid") == 0)
		return parse_pid(*value, *value + strlen(*value), query, ret_why);
	switch (mask) {
	case SEEN_SECONDS:
		return parse_number(*value, 1000000, &query->seconds, ret_why);
	case SEEN_DEBUG:
		r = parse_number(*value, 2, &debug, ret_why);
		query->debug = r == 0 ? (unsigned int)debug : 0;
		return r;
	case SEEN_FORMAT:
		query->format = TAKE_PTR(*value);
		return 0;
	case SEEN_NAME:
		query->name = TAKE_PTR(*value);
		return 0;
	case SEEN_DEPTH:
		*ret_why = "depth is exact or sampled";
		return heap_depth_parse(*value, &query->depth);
	}
	*ret_why = "the keys are pid, seconds, debug, format, depth and name";
	return -EINVAL;
}

static int parse_pair(const char *at, size_t len, unsigned int *seen, struct http_query *query,
		      const char **ret_why)
{
	_cleanup_free_ char *key = NULL, *value = NULL;
	const char *equals = memchr(at, '=', len);
	size_t key_len = equals ? (size_t)(equals - at) : len;
	int r;

	if (!equals) {
		*ret_why = "a key needs = and a value";
		return -EINVAL;
	}
	r = unescape_query(at, key_len, &key, ret_why);
	if (r == 0)
		r = unescape_query(equals + 1, len - key_len - 1, &value, ret_why);
	return r < 0 ? r : parse_value(key, &value, seen, query, ret_why);
}

int http_query_parse(const char *target, struct http_query *ret_query, const char **ret_why)
{
	struct http_query query = {};
	const char *at = strchr(target, '?');
	unsigned int seen = 0;
	int r = parse_path(target, at ? (size_t)(at - target) : strlen(target), &query, ret_why);

	for (at = at ? at + 1 : ""; r == 0 && *at;) {
		size_t len = strcspn(at, "&");

		r = len ? parse_pair(at, len, &seen, &query, ret_why) : 0;
		at += len + (at[len] == '&');
	}
	if (r < 0) {
		http_query_done(&query);
		return r;
	}
	*ret_query = query;
	return 0;
}

void http_query_done(struct http_query *query)
{
	free(query->path);
	free(query->format);
	free(query->name);
	*query = (struct http_query){};
}
