/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/sample_options.h"

#include "config/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SERVICE ".service"
#define MOST_OF_NAME 255 /* systemd's UNIT_NAME_MAX */

/* systemd.unit(5): letters, digits and ":-_.\", and "@" of instances. */
static bool is_unit_name(const char *name)
{
	if (*name == '\0' || *name == '.' || *name == '@' || strlen(name) > MOST_OF_NAME)
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr(":-_.\\@", *name))
			return false;
	return true;
}

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

static int take_unit(struct option_parser *p, const char *value)
{
	static const char *const others[] = {
		".socket", ".timer", ".target", ".slice", ".scope",
		".mount",  ".path",  ".device", ".swap",  ".automount"
	};
	struct sample_unit_options *sample = &p->options->sample_unit;

	if (!is_unit_name(value))
		return option_error(p, "'%s' is no name of a unit", value);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (ends_in(value, others[i]))
			return option_error(p, "'%s' runs no program: give a service", value);
	free(sample->unit);
	sample->unit = malloc(strlen(value) + sizeof(SERVICE));
	if (!sample->unit)
		return -ENOMEM;
	strcpy(sample->unit, value);
	if (!ends_in(value, SERVICE))
		strcat(sample->unit, SERVICE);
	return 0;
}

static int take_interval(struct option_parser *p, const char *value)
{
	uint64_t *bytes = &p->options->sample_unit.interval;

	if (parse_size(value, bytes) < 0 || *bytes == 0 || *bytes > OPTIONS_SAMPLE_MOST)
		return option_error(p, "'%s' is no value of '--interval': give 1 to 1T", value);
	return 0;
}

static int take_word(struct option_parser *p, const char *word)
{
	static const struct {
		const char *name;
		int (*take)(struct option_parser *p, const char *value);
	} with_value[] = { { "--unit", take_unit }, { "--interval", take_interval } };
	struct sample_unit_options *sample = &p->options->sample_unit;
	size_t len = strcspn(word, "=");

	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
		p->options->action = ACTION_HELP;
		return 0;
	}
	if (strcmp(word, "--print") == 0 || strcmp(word, "--remove") == 0) {
		if (sample->what != SAMPLE_UNIT_WRITE)
			return option_error(p, "'sample' prints or removes: give one of them");
		sample->what = word[2] == 'p' ? SAMPLE_UNIT_PRINT : SAMPLE_UNIT_REMOVE;
		return 0;
	}
	for (size_t i = 0; i < sizeof(with_value) / sizeof(with_value[0]); i++) {
		const char *value = "";

		if (strlen(with_value[i].name) != len || strncmp(with_value[i].name, word, len))
			continue;
		if (word[len])
			value = word + len + 1;
		else if (p->next < p->argc)
			value = p->argv[p->next++];
		if (*value == '\0')
			return option_error(p, "'%s' needs a value", with_value[i].name);
		return with_value[i].take(p, value);
	}
	return option_error(p, "'sample' does not know '%s': --unit, --interval, --print, --remove",
			    word);
}

int sample_options_parse(struct option_parser *p)
{
	int r = 0;

	p->options->action = ACTION_SAMPLE_UNIT;
	p->options->sample_unit.interval = OPTIONS_SAMPLE_BYTES;
	while (r == 0 && p->next < p->argc && p->options->action == ACTION_SAMPLE_UNIT)
		r = take_word(p, p->argv[p->next++]);
	if (r == 0 && p->options->action == ACTION_SAMPLE_UNIT && !p->options->sample_unit.unit)
		return option_error(p, "'sample' needs to know whom: --unit=NAME; a command is "
				       "sampled by '--sample -c'");
	return r;
}
