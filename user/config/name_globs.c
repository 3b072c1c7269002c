/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/name_globs.h"

#include <errno.h>

/* A pattern takes a bit for each element and one for its end. */
#define STATE_BITS 64

struct compiler {
	struct abi_names names; /* with this pattern */
	unsigned int bit;	/* of the next element */
};

/* One element: the bytes in `set`, or those that are not; never the end of the name. */
static void add_element(struct compiler *c, const bool set[256], bool negated)
{
	for (unsigned int i = 1; i < 256; i++)
		if (set[i] != negated)
			c->names.matching[i] |= 1ULL << c->bit;
	c->bit++;
}

static void add_byte(struct compiler *c, char byte)
{
	bool set[256] = {};

	set[(unsigned char)byte] = true;
	add_element(c, set, false);
}

/* "[...]" from the byte behind the bracket on; what comes behind it, or NULL: it is left open. */
static const char *add_set(struct compiler *c, const char *at)
{
	bool negated = *at == '!' || *at == '^', set[256] = {};
	const char *first = negated ? at + 1 : at;

	for (at = first; *at != '\0'; at++) {
		unsigned char from = (unsigned char)*at;

		if (*at == ']' && at > first) {
			add_element(c, set, negated);
			return at + 1;
		}
		if (at[1] != '-' || at[2] == ']' || at[2] == '\0') {
			set[from] = true;
			continue;
		}
		for (unsigned int i = from; i <= (unsigned char)at[2]; i++)
			set[i] = true;
		at += 2;
	}
	return NULL;
}

/* The next element, or the mark that there may be anything before it. As add_set(). */
static const char *add_next(struct compiler *c, const char *at)
{
	static const bool none[256];

	switch (*at) {
	case '*':
		c->names.stays |= 1ULL << c->bit;
		return at + 1;
	case '?':
		add_element(c, none, true);
		return at + 1;
	case '[':
		return add_set(c, at + 1);
	case '\\':
		if (at[1] == '\0')
			return NULL;
		add_byte(c, at[1]);
		return at + 2;
	}
	add_byte(c, *at);
	return at + 1;
}

static int refuse_pattern(struct strbuf *error, int r, const char *pattern, const char *why)
{
	strbuf_reset(error);
	strbuf_addf(error, "invalid --comm '%s': %s", pattern, why);
	return strbuf_error(error) < 0 ? -ENOMEM : r;
}

int name_globs_add(struct abi_names *names, const char *pattern, struct strbuf *error)
{
	const unsigned int first =
		names->last ? STATE_BITS - (unsigned int)__builtin_clzll(names->last) : 0;
	struct compiler c = { .names = *names, .bit = first };
	const char *at = pattern;

	if (*pattern == '\0')
		return refuse_pattern(error, -EINVAL, pattern,
				      "expected a name or a pattern such as 'cc1*'");
	while (at && *at != '\0') {
		if (c.bit >= STATE_BITS - 1)
			return refuse_pattern(error, -ENOSPC, pattern,
					      "all patterns together may have 63 characters");
		at = add_next(&c, at);
	}
	if (!at)
		return refuse_pattern(error, -EINVAL, pattern,
				      "it leaves a bracket open or ends in a backslash");
	if (c.bit - first > NAME_GLOBS_MAX_NAME)
		return refuse_pattern(
			error, -EINVAL, pattern,
			"the kernel keeps 15 characters of a process's name, so none is as "
			"long: cut it, or put a '*' behind its first 15");
	c.names.first |= 1ULL << first;
	c.names.last |= 1ULL << c.bit;
	*names = c.names;
	return 0;
}

bool name_globs_match(const struct abi_names *names, const char *name)
{
	__u64 state = names->first;

	for (; *name != '\0'; name++)
		state = abi_names_next(names, state, (unsigned char)*name);
	return state & names->last;
}
