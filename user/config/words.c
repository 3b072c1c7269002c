/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/words.h"

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct splitter {
	const char *at;
	struct strbuf word;
	bool in_word;		    /* a quote starts a word even if nothing is in it */
	const char *first_operator; /* NULL: none so far */
	VEC(char *) words;
};

static void splitter_done(struct splitter *sp)
{
	vec_foreach(&sp->words, word)
		free(*word);
	vec_done(&sp->words);
	strbuf_done(&sp->word);
}

static void add_char(struct splitter *sp, char c)
{
	sp->in_word = true;
	strbuf_addch(&sp->word, c);
}

static int end_word(struct splitter *sp)
{
	char *copy;

	if (!sp->in_word)
		return 0;
	if (strbuf_error(&sp->word) < 0)
		return strbuf_error(&sp->word);
	copy = strdup(strbuf_str(&sp->word));
	if (!copy)
		return -ENOMEM;
	if (vec_push(&sp->words, copy) < 0) {
		free(copy);
		return -ENOMEM;
	}
	strbuf_reset(&sp->word);
	sp->in_word = false;
	return 0;
}

/* From behind the opening quote to behind the closing one: all characters stand for themselves. */
static int read_single_quoted(struct splitter *sp)
{
	const char *end = strchr(sp->at, '\'');

	if (!end)
		return -EINVAL;
	sp->in_word = true;
	strbuf_add(&sp->word, sp->at, (size_t)(end - sp->at));
	sp->at = end + 1;
	return 0;
}

/*
 * Between double quotes a backslash is special only before the characters that are (POSIX Shell
 * Command Language, 2.2.3), and joins lines before a newline.
 */
static int read_double_quoted(struct splitter *sp)
{
	sp->in_word = true;
	for (; *sp->at != '"'; sp->at++) {
		if (*sp->at == '\0')
			return -EINVAL;
		if (sp->at[0] == '\\' && sp->at[1] != '\0' && strchr("$`\"\\\n", sp->at[1])) {
			sp->at++;
			if (*sp->at == '\n')
				continue;
		}
		strbuf_addch(&sp->word, *sp->at);
	}
	sp->at++;
	return 0;
}

/* From behind the backslash. */
static int read_escaped(struct splitter *sp)
{
	if (*sp->at == '\0')
		return -EINVAL;
	if (*sp->at != '\n')
		add_char(sp, *sp->at);
	sp->at++;
	return 0;
}

static int split_words(struct splitter *sp)
{
	int r = 0;

	while (r == 0 && *sp->at != '\0') {
		char c = *sp->at++;

		if (c == ' ' || c == '\t' || c == '\n')
			r = end_word(sp);
		else if (c == '\'')
			r = read_single_quoted(sp);
		else if (c == '"')
			r = read_double_quoted(sp);
		else if (c == '\\')
			r = read_escaped(sp);
		else
			add_char(sp, c);
		if (!sp->first_operator && strchr(WORDS_OPERATORS, c))
			sp->first_operator = sp->at - 1;
	}
	return r < 0 ? r : end_word(sp);
}

/* The words, which the splitter has no longer. 0 or -ENOMEM. */
static int hand_over(struct splitter *sp, char ***ret_words)
{
	int r = vec_push(&sp->words, NULL);

	if (r < 0)
		return r;
	*ret_words = sp->words.data;
	sp->words.data = NULL;
	sp->words.len = 0;
	return 0;
}

int words_split(const char *s, char ***ret_words)
{
	_cleanup_(splitter_done) struct splitter sp = { .at = s };
	int r = split_words(&sp);

	if (r < 0)
		return r;
	return sp.words.len == 0 ? -EINVAL : hand_over(&sp, ret_words);
}

int words_split_plain(const char *s, char ***ret_words)
{
	_cleanup_(splitter_done) struct splitter sp = { .at = s };
	char quote = '\0';
	int r = 0;

	for (; r == 0 && *sp.at != '\0'; sp.at++) {
		char c = *sp.at;

		if (quote ? c == quote : c == '"' || c == '\'') {
			quote = quote ? '\0' : c;
			sp.in_word = true;
		} else if (!quote && strchr(" \t\n\v\f\r", c)) {
			r = end_word(&sp);
		} else {
			add_char(&sp, c);
		}
	}
	if (r == 0)
		r = end_word(&sp);
	return r < 0 ? r : hand_over(&sp, ret_words);
}

const char *words_operator(const char *s)
{
	_cleanup_(splitter_done) struct splitter sp = { .at = s };

	(void)split_words(&sp); /* an operator in front of an open quote is one, too */
	return sp.first_operator;
}

void words_free(char **words)
{
	if (!words)
		return;
	for (char **word = words; *word; word++)
		free(*word);
	free(words);
}

/* No shell gives these a meaning, nor joins or splits at them. */
static bool is_plain(const char *word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789%+,-./:=@_";

	return *word != '\0' && word[strspn(word, plain)] == '\0';
}

void words_quote(struct strbuf *out, const char *word)
{
	if (is_plain(word)) {
		strbuf_adds(out, word);
		return;
	}
	strbuf_addch(out, '\'');
	for (; *word != '\0'; word++) {
		if (*word == '\'')
			strbuf_adds(out, "'\\''");
		else
			strbuf_addch(out, *word);
	}
	strbuf_addch(out, '\'');
}
