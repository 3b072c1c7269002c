/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/key_sections.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct key_section *section_at(const struct key_sections *of, void *list, size_t i)
{
	return (struct key_section *)((char *)list + i * of->size);
}

static void section_done(const struct key_sections *of, struct key_section *section)
{
	if (of->done)
		of->done(section);
	free(section->name);
	key_table_done(of->table, section);
}

static int add_section(const struct key_sections *of, void **list, size_t *n, const char *name,
		       unsigned int line)
{
	void *grown = reallocarray(*list, *n + 1, of->size);
	struct key_section *section;

	if (!grown)
		return -ENOMEM;
	*list = grown;
	section = section_at(of, grown, *n);
	memset(section, 0, of->size);
	section->name = strdup(name);
	section->line = line;
	if (!section->name || key_table_init(of->table, section) < 0) {
		section_done(of, section);
		return -ENOMEM;
	}
	++*n;
	return 0;
}

int key_sections_take(const struct key_sections *of, void **list, size_t *n, const char *section,
		      unsigned int line, const char *name, const char *value, struct strbuf *why)
{
	struct key_section *found;
	const char *wanted;
	size_t i = 0;
	int r = key_section_name(section, of->kind, &wanted, why);

	if (r < 0)
		return r;
	while (i < *n && strcmp(section_at(of, *list, i)->name, wanted) != 0)
		i++;
	if (i == of->most)
		return config_error(why, "there are more than %zu %s", of->most, of->many);
	if (i == *n)
		r = add_section(of, list, n, wanted, line);
	if (r < 0)
		return r;
	found = section_at(of, *list, i);
	return key_table_take(of->table, found, found->lines, line, of->kind, name, value, why);
}

void key_sections_done(const struct key_sections *of, void *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		section_done(of, section_at(of, list, i));
	free(list);
}
