/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/sample_environment.h"

#include "base/log.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "config/options.h"
#include "config/words.h"
#include "target/preload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTERVAL_VARIABLE "MEMTRACED_SAMPLE_INTERVAL="
#define PRELOAD_VARIABLE "LD_PRELOAD="
#define OFF_VARIABLE "MEMTRACED_SAMPLE_PRELOAD"

typedef VEC(char *) word_list;

static int add(word_list *words, const char *word)
{
	char *copy = strdup(word);
	int r = copy ? vec_push(words, copy) : -ENOMEM;

	if (r)
		free(copy);
	return r;
}

/* What the command will find, unless --env sets it; NULL: nothing. */
static const char *value_for_command(const struct options *options, const char *name)
{
	const char *value = getenv(name);
	size_t len = strlen(name);

	for (char **word = options->env_set; word && *word; word++)
		if (strncmp(*word, name, len) == 0 && (*word)[len] == '=')
			value = *word + len + 1;
	return value;
}

static bool wants_preload(const struct options *options)
{
	const char *off = getenv(OFF_VARIABLE);

	return options->sample_bytes && !(off && strcmp(off, "no") == 0);
}

/*
 * First, so that it stands before the allocators that the user preloads; those stay. A command that
 * cannot have it is named, and runs without.
 */
static int add_preload(const struct options *options, word_list *words)
{
	_cleanup_strbuf_ struct strbuf word = {};
	const char *before = value_for_command(options, "LD_PRELOAD"), *why;
	char library[PATH_MAX];
	enum preload preload =
		preload_judge(options->command[0], value_for_command(options, "PATH"));

	if (preload == PRELOAD_NOT_NEEDED)
		return 0;
	why = preload_why_not(preload);
	if (!why && preload_library(library) < 0)
		why = "libmemtraced-sample.so is neither beside memtraced nor in ../lib/memtraced";
	if (why) {
		log_warning("%s is not sampled itself: %s; without --sample all calls are counted",
			    options->command[0], why);
		return 0;
	}
	strbuf_adds(&word, PRELOAD_VARIABLE);
	strbuf_adds(&word, library);
	if (before && *before) {
		strbuf_addch(&word, ':');
		strbuf_adds(&word, before);
	}
	return strbuf_error(&word) ? strbuf_error(&word) : add(words, strbuf_str(&word));
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
	if (r == 0 && wants_preload(options))
		r = add_preload(options, &words);
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
