/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/feature.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "MEMTRACED_WITHOUT"

static const struct {
	const char *name;
	const char *what;
} table[] = {
#define NAME_ROW(id, name, what) { name, what },
	FEATURE_ROWS(NAME_ROW)
};

const char *feature_name(enum feature id)
{
	return table[id].name;
}

const char *feature_what(enum feature id)
{
	return table[id].what;
}

/* The next word of a list with commas, and its length; NULL at the end. */
static const char *next_word(const char **list, size_t *ret_len)
{
	const char *word = *list + strspn(*list, ",");

	*ret_len = strcspn(word, ",");
	*list = word + *ret_len;
	return *ret_len ? word : NULL;
}

static bool is_word(const char *name, const char *word, size_t len)
{
	return strlen(name) == len && memcmp(name, word, len) == 0;
}

bool feature_left_out(enum feature id)
{
	const char *list = getenv(VARIABLE), *word;
	size_t len;

	while (list && (word = next_word(&list, &len)))
		if (is_word(table[id].name, word, len))
			return true;
	return false;
}

bool feature_any_left_out(void)
{
	return getenv(VARIABLE) != NULL;
}

int feature_check_left_out(struct strbuf *out)
{
	const char *list = getenv(VARIABLE), *word;
	size_t len;

	while (list && (word = next_word(&list, &len))) {
		bool known = false;

		for (size_t i = 0; i < FEATURES; i++)
			known = known || is_word(table[i].name, word, len);
		if (known)
			continue;
		strbuf_addf(out, "%.*s", (int)len, word);
		return -EINVAL;
	}
	return 0;
}
