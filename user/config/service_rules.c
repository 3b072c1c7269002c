/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/service_rules.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "config/key.h"
#include "config/near_name.h"
#include "config/options.h"
#include "config/units.h"

#include <stdlib.h>
#include <string.h>

#define DAY_NS (86400 * SECOND_NS)
#define SECTION "rule"
#define WORD_MOST 64

/* --- when ------------------------------------------------------------------------------------ */

static const char *const metrics[] = {
	[RULE_RSS] = "rss",
	[RULE_RSS_SLOPE] = "rss_slope",
	[RULE_CGROUP_MEMORY] = "memory.current",
	[RULE_CGROUP_PRESSURE] = "memory.pressure",
};
#define N_METRICS (sizeof(metrics) / sizeof(metrics[0]))

/* The next word, or "": between blanks, or of signs. 0 or config_error's: it is too long. */
static int next_word(const char **at, char word[WORD_MOST], struct strbuf *why)
{
	size_t len;

	*at += strspn(*at, " \t");
	len = strspn(*at, "<>=!");
	if (len == 0)
		len = strcspn(*at, " \t<>=!");
	if (len >= WORD_MOST)
		return config_error(why, "'%.20s...' is too long for a word of 'when'", *at);
	memcpy(word, *at, len);
	word[len] = '\0';
	*at += len;
	return 0;
}

static int find_metric(const char *word, enum rule_metric *ret_metric, struct strbuf *why)
{
	const char *meant;
	int i = near_name_find(metrics, N_METRICS, word, &meant);

	if (i >= 0) {
		*ret_metric = (enum rule_metric)i;
		return 0;
	}
	if (meant)
		return config_error(why, "rules do not know '%s'; did you mean '%s'?", word, meant);
	return config_error(why,
			    "rules do not know '%s'; they know rss, rss_slope, memory.current and "
			    "memory.pressure",
			    word);
}

static bool parse_percent(const char *word, double *ret_hundredths)
{
	uint64_t hundredths;

	if (parse_share(word, &hundredths) < 0 || hundredths > 10000)
		return false;
	*ret_hundredths = (double)hundredths;
	return true;
}

/* "1MiB/min": a size, and the time in which it comes. */
static bool parse_slope(const char *word, double *ret_bytes_per_s)
{
	char size[WORD_MOST], time[WORD_MOST + 1] = "1";
	const char *slash = strchr(word, '/');
	uint64_t bytes, ns;

	if (!slash || slash[1] < 'a' || slash[1] > 'z')
		return false;
	memcpy(size, word, (size_t)(slash - word));
	size[slash - word] = '\0';
	strcat(time, slash + 1);
	if (parse_size(size, &bytes) < 0 || parse_duration(time, &ns) < 0)
		return false;
	*ret_bytes_per_s = (double)bytes * SECOND_NS / (double)ns;
	return true;
}

static int parse_value(struct service_rule *rule, const char *word, struct strbuf *why)
{
	uint64_t bytes;

	switch (rule->metric) {
	case RULE_RSS_SLOPE:
		if (!parse_slope(word, &rule->above))
			return config_error(
				why, "invalid growth '%s': expected one such as 1MiB/min", word);
		return 0;
	case RULE_CGROUP_PRESSURE:
		if (!parse_percent(word, &rule->above))
			return config_error(why, "invalid pressure '%s': expected one such as 20%%",
					    word);
		return 0;
	case RULE_CGROUP_MEMORY:
		rule->of_max = parse_percent(word, &rule->above);
		if (rule->of_max)
			return 0;
		break;
	case RULE_RSS:
		break;
	}
	if (parse_size(word, &bytes) < 0)
		return config_error(why, "invalid size '%s': expected one such as 2GiB%s", word,
				    rule->metric == RULE_CGROUP_MEMORY ? ", or '90% of max'" : "");
	rule->above = (double)bytes;
	return 0;
}

/* *word: the first one behind the value, and then behind it. */
static int parse_of_max(const struct service_rule *rule, const char **at, char word[WORD_MOST],
			struct strbuf *why)
{
	bool is_of = strcmp(word, "of") == 0;
	int r = is_of ? next_word(at, word, why) : 0;

	if (r < 0)
		return r;
	if (is_of && (!rule->of_max || strcmp(word, "max") != 0))
		return config_error(why,
				    "'of' is for shares of a cgroup's limit: 'memory.current > "
				    "90%% of max'");
	if (rule->of_max && !is_of)
		return config_error(why, "say of what: 'of max', a cgroup's limit");
	return is_of ? next_word(at, word, why) : 0;
}

static int parse_for(struct service_rule *rule, const char **at, char word[WORD_MOST],
		     struct strbuf *why)
{
	int r;

	if (*word == '\0' && rule->metric == RULE_RSS_SLOPE)
		return config_error(why, "a slope needs its time: 'rss_slope > 1MiB/min for 10m'");
	if (*word == '\0')
		return 0;
	if (strcmp(word, "for") != 0)
		return config_error(why, "'%s' is not understood: 'for' and a time may follow",
				    word);
	r = next_word(at, word, why);
	if (r < 0)
		return r;
	if (parse_duration(word, &rule->for_ns) < 0 || rule->for_ns < SECOND_NS ||
	    rule->for_ns > DAY_NS)
		return config_error(why, "invalid time '%s': expected one from 1s to 1d", word);
	r = next_word(at, word, why);
	if (r == 0 && *word)
		return config_error(why, "'%s' is one word too many", word);
	return r;
}

static int apply_when(void *object, const struct key *key, const char *value, struct strbuf *why)
{
	struct service_rule *rule = object;
	char word[WORD_MOST];
	const char *at = value;
	int r = next_word(&at, word, why);

	if (r == 0)
		r = find_metric(word, &rule->metric, why);
	if (r == 0)
		r = next_word(&at, word, why);
	if (r == 0 && strcmp(word, ">") != 0)
		return config_error(why, "'%s' where '>' should be: rules know no other comparison",
				    word);
	if (r == 0)
		r = next_word(&at, word, why);
	if (r == 0)
		r = parse_value(rule, word, why);
	if (r == 0)
		r = next_word(&at, word, why);
	if (r == 0)
		r = parse_of_max(rule, &at, word, why);
	if (r == 0)
		r = parse_for(rule, &at, word, why);
	return r ? r : key_set(rule, key, value, why);
}

static int apply_cgroup(void *object, const struct key *key, const char *value, struct strbuf *why)
{
	if (value[0] != '/' && value[0] != '*')
		return key_refuse(key, value, why);
	return key_set(object, key, value, why);
}

#define FIELD(name) KEY_FIELD(struct service_rule, name)
#define TIMES(lo, hi) .least = (lo), .most = (hi)

/* clang-format off */
static const struct key keys[] = {
	{ SECTION, "when", KEY_TEXT, FIELD(when), .apply = apply_when },
	{ SECTION, "comm", KEY_TEXT, FIELD(comm) },
	{ SECTION, "cgroup", KEY_TEXT, FIELD(cgroup), .apply = apply_cgroup,
	  .expected = "a path below the root as a pattern, as in /system.slice/*" },
	{ SECTION, "uid", KEY_TEXT, FIELD(user) },
	{ SECTION, "trace", KEY_TIME, FIELD(trace_ns), TIMES(SECOND_NS, 30 * DAY_NS),
	  .fallback = "60s" },
	{ SECTION, "depth", KEY_CHOICE, FIELD(depth), .choices = heap_depth_names,
	  .fallback = "exact" },
	{ SECTION, "format", KEY_TEXT, FIELD(format), .fallback = "html" },
	{ SECTION, "cooldown", KEY_TIME, FIELD(cooldown_ns), TIMES(0, 30 * DAY_NS),
	  .fallback = "1h" },
	{ SECTION, "max_at_once", KEY_NUMBER, FIELD(max_at_once), .least = 1, .most = 64,
	  .fallback = "1" },
};
/* clang-format on */
const struct key_table rule_keys = KEY_TABLE(keys);
_Static_assert(sizeof(keys) / sizeof(keys[0]) <= KEY_LINES, "key_section.lines");

unsigned int service_rule_line(const struct service_rule *rule, const char *name)
{
	const struct key *key = key_table_find(&rule_keys, SECTION, name);
	unsigned int line = key ? rule->section.lines[key - keys] : 0;

	return line ? line : rule->section.line;
}

/* --- all of them ----------------------------------------------------------------------------- */

bool service_rules_has(const char *section)
{
	return key_section_is(section, SECTION);
}

static const struct key_sections sections = {
	.kind = SECTION,
	.table = &rule_keys,
	.size = sizeof(struct service_rule),
	.most = SERVICE_RULES_MOST,
	.many = "rules",
};

int service_rules_set(struct service_rules *rules, const char *section, unsigned int line,
		      const char *name, const char *value, struct strbuf *why)
{
	void *list = rules->list;
	int r = key_sections_set(&sections, &list, &rules->n, section, line, name, value, why);

	rules->list = list;
	return r;
}

int service_rules_check(const struct service_rules *rules, unsigned int *ret_line,
			struct strbuf *why)
{
	for (size_t i = 0; i < rules->n; i++) {
		*ret_line = rules->list[i].section.line;
		if (!rules->list[i].when)
			return config_error(
				why,
				"[rule %s] has no 'when': give one, as in 'when = rss > "
				"2GiB'",
				rules->list[i].section.name);
	}
	return 0;
}

void service_rules_done(struct service_rules *rules)
{
	key_sections_done(&sections, rules->list, rules->n);
	*rules = (struct service_rules){};
}
