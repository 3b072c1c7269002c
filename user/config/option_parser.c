/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/option_parser.h"

#include "base/cleanup.h"
#include "config/where.h"
#include "config/words.h"

#include <errno.h>
#include <string.h>

int options_new(struct options **ret_options)
{
	_cleanup_(options_free_p) struct options *options = calloc(1, sizeof(*options));
	int r;

	if (!options)
		return -ENOMEM;
	options->block_filter.max_size = UINT64_MAX;
	options->keep_ended = UINT64_MAX;
	r = key_table_init(&option_keys, options);
	if (r == 0)
		r = key_table_init(&sample_keys, options);
	if (r == 0)
		*ret_options = TAKE_PTR(options);
	return r;
}

void options_free(struct options *options)
{
	if (!options)
		return;
	for (size_t i = 0; i < options->n_outputs; i++) {
		free(options->outputs[i].format);
		free(options->outputs[i].path);
	}
	free(options->outputs);
	for (size_t i = 0; i < options->n_hists; i++)
		hist_spec_done(&options->hists[i]);
	free(options->hists);
	for (size_t i = 0; i < options->n_events; i++)
		event_spec_done(&options->events[i]);
	free(options->events);
	for (size_t i = 0; i < options->n_allocators; i++)
		allocator_spec_done(&options->allocators[i]);
	free(options->allocators);
	free(options->names);
	free(options->pids);
	for (size_t i = 0; i < options->n_pid_names; i++)
		free(options->pid_names[i]);
	free(options->pid_names);
	words_free(options->command);
	free(options->program);
	words_free(options->own_words);
	free(options->leak.log.path);
	free(options->leak.xml.to.path);
	free(options->leak.xtree_to.path);
	free(options->valgrind.out_file);
	free(options->valgrind.ignored);
	free(options->report_file);
	free(options->diff_files[0]);
	free(options->diff_files[1]);
	free(options->ctl.name);
	where_free(options->where);
	key_table_done(&option_keys, options);
	key_table_done(&ctl_keys, options);
	key_table_done(&sample_keys, options);
	key_table_done(&valgrind_keys, options);
	free(options);
}

const struct key *option_find_long(const struct key_table *table, const char *name, size_t len)
{
	for (const struct key *key = table->keys; key < table->keys + table->n; key++)
		if (key->name[1] == '-' && strlen(key->name + 2) == len &&
		    memcmp(key->name + 2, name, len) == 0)
			return key;
	return NULL;
}

const struct key *option_find_short(const struct key_table *table, char letter)
{
	for (const struct key *key = table->keys; key < table->keys + table->n; key++)
		if (key->letter == letter || (key->name[1] == letter && key->name[2] == '\0'))
			return key;
	return NULL;
}

/* `n` words from `words` on, malloc'ed. */
static int copy_words(char *const *words, size_t n, char ***ret_words)
{
	char **copy = calloc(n + 1, sizeof(*copy));
	int r = copy ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++) {
		copy[i] = strdup(words[i]);
		r = copy[i] ? 0 : -ENOMEM;
	}
	*ret_words = copy;
	return r;
}

int option_take_command(struct option_parser *p)
{
	size_t n = (size_t)(p->argc - p->next);
	int r = copy_words(p->argv + p->next, n, &p->options->command);

	p->own_end = p->next - (strcmp(p->argv[p->next - 1], "--") == 0);
	p->next = p->argc;
	return r;
}

int option_keep_own_words(struct option_parser *p, int first)
{
	int end = p->own_end ? p->own_end : p->argc;

	p->options->program = strdup(p->argc > 0 ? p->argv[0] : "memtraced");
	if (!p->options->program)
		return -ENOMEM;
	return copy_words(p->argv + first, end > first ? (size_t)(end - first) : 0,
			  &p->options->own_words);
}
