/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/named_section.h"

#include "base/clock.h"
#include "config/near_name.h"
#include "config/spec_text.h"
#include "config/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DAY_NS (86400 * SECOND_NS)

bool named_section_is(const char *section, const char *kind)
{
	size_t len = strlen(kind);

	return strncmp(section, kind, len) == 0 && (section[len] == '\0' || section[len] == ' ');
}

int named_section_name(const char *section, const char *kind, const char **ret_name,
		       struct strbuf *why)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_.";
	const char *name = section + strlen(kind);

	name += strspn(name, " ");
	if (*name == '\0' || name[strspn(name, letters)] || strlen(name) > NAMED_SECTION_MOST)
		return spec_error(why,
				  "[%s] is no %s: give it a name of letters, digits, '-', '_' and "
				  "'.', %d at most, as in [%s one]",
				  section, kind, NAMED_SECTION_MOST, kind);
	*ret_name = name;
	return 0;
}

int named_section_unknown(const char *who, const char *key, const char *const *names,
			  struct strbuf *why)
{
	struct near_name near;
	const char *meant;

	near_name_init(&near, key);
	for (; *names; names++)
		near_name_offer(&near, *names);
	meant = near_name_get(&near);
	if (meant)
		return spec_error(why, "%s have no key '%s'; did you mean '%s'?", who, key, meant);
	return spec_error(why, "%s have no key '%s'; memtraced(8) lists the keys", who, key);
}

int named_section_text(char **field, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

/* "30d", "10m", "1s": whole ones, as limits are. */
static const char *limit(uint64_t ns, char buf[FORMAT_UNIT_LEN])
{
	uint64_t s = ns / SECOND_NS;

	if (ns >= DAY_NS && ns % DAY_NS == 0)
		(void)snprintf(buf, FORMAT_UNIT_LEN, "%" PRIu64 "d", ns / DAY_NS); /* fits */
	else if (s >= 60 && s % 60 == 0)
		(void)snprintf(buf, FORMAT_UNIT_LEN, "%" PRIu64 "m", s / 60);
	else
		(void)snprintf(buf, FORMAT_UNIT_LEN, "%" PRIu64 "s", s);
	return buf;
}

int named_section_time(uint64_t *field, const char *key, const char *value, uint64_t least_ns,
		       uint64_t most_ns, struct strbuf *why)
{
	char least[FORMAT_UNIT_LEN], most[FORMAT_UNIT_LEN];
	uint64_t ns;

	if (parse_duration(value, &ns) < 0 || ns < least_ns || ns > most_ns)
		return spec_error(why, "'%s' is no value of '%s': give a time from %s to %s", value,
				  key, limit(least_ns, least), limit(most_ns, most));
	*field = ns;
	return 0;
}
