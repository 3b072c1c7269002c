/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts that people, sudo and scripts give: command strings, sizes, times. */
#include "base/cleanup.h"
#include "config/units.h"
#include "config/words.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

/* Splitting only ever takes characters away: quotes, backslashes and blanks. */
static void try_words(const char *text)
{
	char **words = NULL;
	size_t total = 0;

	if (words_split(text, &words) < 0) {
		check(!words);
		return;
	}
	check(words[0] != NULL);
	for (size_t i = 0; words[i]; i++)
		total += strlen(words[i]);
	check(total <= strlen(text));
	words_free(words);
}

/* As above: quotes and blanks. */
static void try_plain_words(const char *text)
{
	char **words = NULL;
	size_t total = 0;

	if (words_split_plain(text, &words) < 0)
		return;
	for (size_t i = 0; words[i]; i++)
		total += strlen(words[i]);
	check(total <= strlen(text));
	words_free(words);
}

static void try_numbers(const char *text)
{
	char buf[FORMAT_UNIT_LEN];
	uint64_t value;

	if (parse_size(text, &value) == 0) {
		check(strlen(format_size((int64_t)value, buf)) <= 10);
		check(strlen(format_count((int64_t)value, buf)) <= 10);
	}
	if (parse_duration(text, &value) == 0)
		check(strlen(format_duration(value, buf)) <= 10);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = malloc(size + 1);

	if (!text)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	try_words(text);
	try_plain_words(text);
	try_numbers(text);
	return 0;
}
