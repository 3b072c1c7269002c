/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/function_name.h"

#include "base/glob.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
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
	/* The longer ones first: "operator+<int>" has template arguments. */
	static const char *const symbols[] = {
		" new[]", " new", " delete[]", " delete", " co_await", "()", "[]", "<=>", "<<=",
		">>=",	  "->*",  "<<",	       ">>",	  "<=",	       ">=", "==", "!=",  "&&",
		"||",	  "++",	  "--",	       "+=",	  "-=",	       "*=", "/=", "%=",  "^=",
		"&=",	  "|=",	  "->",	       "\"\"",	  "+",	       "-",  "*",  "/",	  "%",
		"^",	  "&",	  "|",	       "~",	  "!",	       "=",  "<",  ">",	  ",",
	};

	at += strlen("operator");
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		if (!begins_with(at, symbols[i]))
			continue;
		at += strlen(symbols[i]);
		return *at == ' ' && at[1] == '<' ? at + 1 : at;
	}
	while (*at && *at != '(')
		at = *at == '<' ? behind_bracket(at) : at + 1;
	return at;
}

/* Is the bracket that ends before `behind` part of a scope: "f(int)::A::g()"? */
static bool is_scope(const char *behind)
{
	return begins_with(behind, "::") || begins_with(behind, " const::");
}

static bool begins_word(const char *function, const char *at, const char *word)
{
	return *at == *word && begins_with(at, word) && !is_word(at[strlen(word)]) &&
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

			if (!begins_with(at, "(anonymous namespace)") && !is_scope(behind))
				break;
			at = begins_with(behind, " const") ? behind + strlen(" const") : behind;
		} else if (strchr("<[{", *at)) {
			at = behind_bracket(at);
		} else if (*at == ' ') {
			if (begins_with(at, " [")) /* "f [clone .cold]", "f [module]" */
				break;
			start = ++at;
		} else {
			at++;
		}
	}
	/* Other languages' names may have spaces, but no parameters then. */
	if (*at != '(' || at == start)
		start = function;
	return (struct function_name){ start, (size_t)(at - start) };
}

/* Templates in each other; what is deeper is left as it is. */
#define MOST_DEPTH 64

/* Of the templates of the C++ library, what stands last and begins so is a default. */
static const char *const defaults[] = {
	"std::allocator<", "std::char_traits<", "std::default_delete<",
	"std::less<",	   "std::hash<",	"std::equal_to<",
};

/* Templates of char that have a name. */
static const char *const of_char[] = {
	"std::basic_string",	   "std::basic_string_view",   "std::basic_ostream",
	"std::basic_istream",	   "std::basic_iostream",      "std::basic_ios",
	"std::basic_stringstream", "std::basic_ostringstream", "std::basic_istringstream",
	"std::basic_stringbuf",	   "std::basic_streambuf",     "std::basic_filebuf",
	"std::basic_ifstream",	   "std::basic_ofstream",      "std::basic_fstream",
};

/* Between the version and what is in it: "std::__cxx11::list" is std::list. */
static size_t inline_namespace(const char *at)
{
	static const char *const names[] = { "__cxx11::", "__1::", "__ndk1::" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (begins_with(at, names[i]))
			return strlen(names[i]);
	return 0;
}

/* The scoped name that `out` ends with, before the "<" that follows. */
static const char *last_name(struct strbuf *out)
{
	const char *text = strbuf_str(out), *at = text + out->len;

	while (at > text && (is_word(at[-1]) || at[-1] == ':' || at[-1] == '~'))
		at--;
	return at;
}

static void shorten(const char *at, const char *end, unsigned int depth, struct strbuf *out);

/* Behind the comma or bracket that ends the argument. */
static const char *end_of_argument(const char *at, const char *end)
{
	while (at < end && *at != ',')
		at = strchr("<([{", *at) ? behind_bracket(at) : at + 1;
	return at < end ? at : end;
}

static bool is_default(const char *argument)
{
	argument += strspn(argument, " ");
	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (begins_with(argument, defaults[i]))
			return true;
	return false;
}

/* "std::basic_string<char" at the end of `out`, from `name` on, becomes std::string. */
static bool name_of_char(struct strbuf *out, size_t name, size_t bracket)
{
	for (size_t i = 0; i < sizeof(of_char) / sizeof(of_char[0]); i++) {
		size_t len = strlen(of_char[i]), cut = strlen("std::basic_");

		if (bracket - name != len || strncmp(out->data + name, of_char[i], len) != 0 ||
		    strcmp(out->data + bracket, "<char") != 0)
			continue;
		out->len = name;
		out->data[name] = '\0';
		strbuf_addf(out, "std::%s", of_char[i] + cut);
		return true;
	}
	return false;
}

/* The arguments of the "<" before `at`, up to `end` with the ">" that closes it. */
static void shorten_arguments(const char *at, const char *end, unsigned int depth,
			      struct strbuf *out)
{
	size_t name = (size_t)(last_name(out) - strbuf_str(out)), bracket = out->len, keep;
	bool is_library = begins_with(strbuf_str(out) + name, "std::");

	strbuf_addch(out, '<');
	keep = out->len;
	for (bool is_first = true; at <= end; is_first = false) {
		const char *stop = end_of_argument(at, end);
		size_t before = out->len;

		if (!is_first)
			strbuf_addch(out, ',');
		shorten(at, stop, depth + 1, out);
		if (strbuf_error(out) < 0)
			return;
		if (is_first || !is_library || !is_default(out->data + before + 1))
			keep = out->len;
		at = stop + 1;
	}
	while (keep > 0 && out->data[keep - 1] == ' ')
		keep--;
	out->len = keep;
	out->data[keep] = '\0';
	if (!is_library || !name_of_char(out, name, bracket))
		strbuf_addch(out, '>');
}

static void shorten(const char *at, const char *end, unsigned int depth, struct strbuf *out)
{
	const char *start = at;

	while (at < end && strbuf_error(out) == 0) {
		if (begins_word(start, at, "operator")) {
			const char *behind = behind_operator(at);

			behind = behind < end ? behind : end;
			strbuf_add(out, at, (size_t)(behind - at));
			at = behind;
		} else if (*at == '<' && depth < MOST_DEPTH) {
			const char *behind = behind_bracket(at);

			behind = behind < end ? behind : end;
			if (behind[-1] != '>' || behind - 1 == at) {
				strbuf_add(out, at, (size_t)(behind - at));
			} else {
				shorten_arguments(at + 1, behind - 1, depth, out);
			}
			at = behind;
		} else if (at - start >= 5 && begins_with(at - 5, "std::") &&
			   inline_namespace(at)) {
			at += inline_namespace(at);
		} else {
			strbuf_addch(out, *at++);
		}
	}
}

void function_name_short(const char *function, struct strbuf *out)
{
	const char *start = function_name_of(function).start;

	shorten(start, start + strlen(start), 0, out);
}
