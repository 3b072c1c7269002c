/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/massif_options.h"

#include <string.h>

/* One to `most` digits at *s, which moves behind them; returns how many, 0: none or too many. */
static size_t take_digits(const char **s, size_t most, uint32_t *ret)
{
	size_t n = strspn(*s, "0123456789");

	*ret = 0;
	if (n > most)
		return 0;
	for (size_t i = 0; i < n; i++)
		*ret = *ret * 10 + (uint32_t)(*(*s)++ - '0');
	return n;
}

int massif_apply_threshold(struct option_parser *p, const struct option_def *def, const char *value)
{
	const char *at = value;
	uint32_t whole, part = 0;
	bool ok = take_digits(&at, 3, &whole) > 0;

	(void)def; /* sets its own field */
	if (ok && *at == '.') {
		size_t n;

		at++;
		n = take_digits(&at, 2, &part);
		ok = n > 0;
		if (n == 1)
			part *= 10;
	}
	if (!ok || *at || whole * 100 + part > 10000)
		return option_error(p,
				    "'%s' is no value of '--threshold': give percent from 0 to "
				    "100, with two decimals at most",
				    value);
	p->options->massif.threshold = whole * 100 + part;
	return 0;
}

int massif_apply_max_snapshots(struct option_parser *p, const struct option_def *def,
			       const char *value)
{
	const char *at = value;
	uint32_t n;

	(void)def; /* sets its own field */
	if (take_digits(&at, 4, &n) == 0 || *at || n < 10 || n > 1000)
		return option_error(p, "'%s' is no value of '--max-snapshots': give 10 to 1000",
				    value);
	p->options->massif.max_snapshots = n;
	return 0;
}

int massif_apply_time_unit(struct option_parser *p, const struct option_def *def, const char *value)
{
	(void)def; /* sets its own field */
	if (strcmp(value, "i") == 0)
		return option_error(p, "'i' is no value of '--time-unit' here, since instructions "
				       "are not counted: give ms or B");
	if (strcmp(value, "ms") != 0 && strcmp(value, "B") != 0)
		return option_error(p, "'%s' is no value of '--time-unit': give one of ms, B",
				    value);
	p->options->massif.time_unit = *value == 'B' ? MASSIF_BYTES : MASSIF_MS;
	return 0;
}

static const struct {
	const char *name;
	const char *why;
} refused[] = {
	{ "detailed-freq", "each tenth snapshot is detailed, and those of the peak and the end: "
			   "leave it out" },
	{ "peak-inaccuracy", "the peak is exact: leave it out" },
	{ "massif-out-file", "give -o massif:FILE" },
	{ "pages-as-heap", "mappings are no part of massif's format here: leave it out" },
};

const char *massif_option_refused(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (strlen(refused[i].name) == len && strncmp(refused[i].name, name, len) == 0)
			return refused[i].why;
	return NULL;
}
