/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/sample_environment.h"

#include "base/vec.h"
#include "config/options.h"
#include "config/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define INTERVAL_VARIABLE "MEMTRACED_SAMPLE_INTERVAL="

typedef VEC(char *) word_list;

static int add(word_list *words, const char *word)
{
	char *copy = strdup(word);
	int r = copy ? vec_push(words, copy) : -ENOMEM;

	if (r)
		free(copy);
	return r;
}

int sample_environment(const struct options *options, char ***ret_words)
{
	char interval[sizeof(INTERVAL_VARIABLE) + 20];
	word_list words = { 0 };
	int r = 0;

	if (options->sample_bytes) {
		(void)snprintf(interval, sizeof(interval), INTERVAL_VARIABLE "%" PRIu64,
			       options->sample_bytes); /* fits */
		r = add(&words, interval);
	}
	/* Behind it, as the last one holds. */
	for (char **word = options->env_set; word && *word && r == 0; word++)
		r = add(&words, *word);
	if (r == 0)
		r = vec_push(&words, NULL);
	if (r) {
		vec_foreach(&words, word)
			free(*word);
		vec_done(&words);
		return r;
	}
	*ret_words = words.data;
	return 0;
}
