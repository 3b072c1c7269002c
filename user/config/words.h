/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Splits a command string into words as a shell would (quotes, backslash), without any expansion,
 * and writes words so that this is undone.
 */
#ifndef MEMTRACED_CONFIG_WORDS_H
#define MEMTRACED_CONFIG_WORDS_H

struct strbuf;

/*
 * 0 with a malloc'ed, NULL-terminated array of malloc'ed words; -EINVAL for an unclosed quote, a
 * trailing backslash, or no word at all; -ENOMEM. An unquoted shell operator (| & ; < > ( ) $ ` #
 * and so on) is an ordinary character: there is no shell.
 */
int words_split(const char *s, char ***ret_words);

/*
 * The same without escapes, as Valgrind reads its files: blanks separate, quotes of both kinds keep
 * what stands between them, and one that is left open ends with the string. No word is no error.
 */
int words_split_plain(const char *s, char ***ret_words);

/* By which a shell joins and redirects commands (POSIX Shell Command Language, 2.10). */
#define WORDS_OPERATORS "|&;<>"

/* The first of them in `s` that is not quoted; NULL: there is none. */
const char *words_operator(const char *s);
void words_free(char **words); /* NULL is legal */

/* Appends the word so that words_split(), or a shell, reads it back: quoted where it must be. */
void words_quote(struct strbuf *out, const char *word);

#endif
