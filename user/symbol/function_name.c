/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/function_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool begins(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Behind the bracket that closes the one at `at`, or the end. ">" of "->" closes none. */
static const char *behind_bracket(const char *at)
{
	size_t depth = 0;

	for (; *at; at++) {
		if (strchr("<([{", *at))
			depth++;
		else if (strchr(")]}", *at) || (*at == '>' && at[-1] != '-'))
			depth--;
		if (depth == 0)
			return at + 1;
	}
	return at;
}

/*
 * Behind "operator" and what belongs to it. Of a conversion ("operator char const*()") that is all
 * up to the parameters.
 */
static const char *behind_operator(const char *at)
{
	static const char *const words[] = { " new[]",	  " new", " delete[]", " delete",
					     " co_await", "()",	  "[]" };
	const char *symbols;

	at += strlen("operator");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (begins(at, words[i]))
			return at + strlen(words[i]);
	symbols = at + strspn(at, "<>=!+-*/%^&|~,\"");
	if (symbols > at)
		return *symbols == ' ' && symbols[1] == '<' ? symbols + 1 : symbols;
	while (*at && *at != '(')
		at = *at == '<' ? behind_bracket(at) : at + 1;
	return at;
}

/* Is the bracket that ends before `behind` part of a scope: "f(int)::A::g()"? */
static bool is_scope(const char *behind)
{
	return begins(behind, "::") || begins(behind, " const::");
}

static bool begins_word(const char *function, const char *at, const char *word)
{
	return begins(at, word) && !is_word(at[strlen(word)]) &&
	       (at == function || !is_word(at[-1]));
}

struct function_name function_name_of(const char *function)
{
	const char *start = function, *at = function;

	while (*at) {
		if (begins_word(function, at, "operator")) {
			at = behind_operator(at);
		} else if (begins_word(function, at, "decltype")) {
			at += strlen("decltype");
			at += *at == ' ';
			at = *at == '(' ? behind_bracket(at) : at;
		} else if (*at == '(') {
			const char *behind = behind_bracket(at);

			if (!begins(at, "(anonymous namespace)") && !is_scope(behind))
				break;
			at = begins(behind, " const") ? behind + strlen(" const") : behind;
		} else if (strchr("<[{", *at)) {
			at = behind_bracket(at);
		} else if (*at == ' ') {
			if (begins(at, " [clone"))
				break;
			start = ++at;
		} else {
			at++;
		}
	}
	return (struct function_name){ start, (size_t)(at - start) };
}
