/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/service_rules.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "config/named_section.h"
#include "config/near_name.h"
#include "config/spec_text.h"
#include "config/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DAY_NS (86400 * SECOND_NS)
#define SECTION "rule"
#define WORD_MOST 64

/* --- when ------------------------------------------------------------------------------------ */

static const struct {
	const char *name;
	enum rule_metric metric;
} metrics[] = {
	{ "rss", RULE_RSS },
	{ "rss_slope", RULE_RSS_SLOPE },
	{ "memory.current", RULE_CGROUP_MEMORY },
	{ "memory.pressure", RULE_CGROUP_PRESSURE },
};
#define N_METRICS (sizeof(metrics) / sizeof(metrics[0]))

/* The next word, or "": between blanks, or of signs. 0 or spec_error's: it is too long. */
static int next_word(const char **at, char word[WORD_MOST], struct strbuf *why)
{
	size_t len;

	*at += strspn(*at, " \t");
	len = strspn(*at, "<>=!");
	if (len == 0)
		len = strcspn(*at, " \t<>=!");
	if (len >= WORD_MOST)
		return spec_error(why, "'%.20s...' is too long for a word of 'when'", *at);
	memcpy(word, *at, len);
	word[len] = '\0';
	*at += len;
	return 0;
}

static int find_metric(const char *word, enum rule_metric *ret_metric, struct strbuf *why)
{
	struct near_name near;
	const char *meant;

	near_name_init(&near, word);
	for (size_t i = 0; i < N_METRICS; i++) {
		if (strcmp(metrics[i].name, word) == 0) {
			*ret_metric = metrics[i].metric;
			return 0;
		}
		near_name_offer(&near, metrics[i].name);
	}
	meant = near_name_get(&near);
	if (meant)
		return spec_error(why, "rules do not know '%s'; did you mean '%s'?", word, meant);
	return spec_error(why,
			  "rules do not know '%s'; they know rss, rss_slope, memory.current and "
			  "memory.pressure",
			  word);
}

static bool take_percent(const char *word, double *ret_hundredths)
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
			return spec_error(why, "'%s' is no growth: give one as in 1MiB/min", word);
		return 0;
	case RULE_CGROUP_PRESSURE:
		if (!take_percent(word, &rule->above))
			return spec_error(why, "'%s' is no pressure: give one as in 20%%", word);
		return 0;
	case RULE_CGROUP_MEMORY:
		rule->of_max = take_percent(word, &rule->above);
		if (rule->of_max)
			return 0;
		break;
	case RULE_RSS:
		break;
	}
	if (parse_size(word, &bytes) < 0)
		return spec_error(why, "'%s' is no size: give one as in 2GiB%s", word,
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
		return spec_error(why, "'of' is for shares of a cgroup's limit: 'memory.current > "
				       "90%% of max'");
	if (rule->of_max && !is_of)
		return spec_error(why, "say of what: 'of max', a cgroup's limit");
	return is_of ? next_word(at, word, why) : 0;
}

static int parse_for(struct service_rule *rule, const char **at, char word[WORD_MOST],
		     struct strbuf *why)
{
	int r;

	if (*word == '\0' && rule->metric == RULE_RSS_SLOPE)
		return spec_error(why, "a slope needs its time: 'rss_slope > 1MiB/min for 10m'");
	if (*word == '\0')
		return 0;
	if (strcmp(word, "for") != 0)
		return spec_error(why, "'%s' is not understood: 'for' and a time may follow", word);
	r = next_word(at, word, why);
	if (r < 0)
		return r;
	if (parse_duration(word, &rule->for_ns) < 0 || rule->for_ns < SECOND_NS ||
	    rule->for_ns > DAY_NS)
		return spec_error(why, "'%s' is no time: give one from 1s to 1d", word);
	r = next_word(at, word, why);
	if (r == 0 && *word)
		return spec_error(why, "'%s' is one word too many", word);
	return r;
}

static int apply_when(struct service_rule *rule, const char *value, struct strbuf *why)
{
	char word[WORD_MOST];
	const char *at = value;
	int r = next_word(&at, word, why);

	if (r == 0)
		r = find_metric(word, &rule->metric, why);
	if (r == 0)
		r = next_word(&at, word, why);
	if (r == 0 && strcmp(word, ">") != 0)
		return spec_error(why, "'%s' where '>' should be: rules know no other comparison",
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
	if (r < 0)
		return r;
	rule->when = strdup(value);
	return rule->when ? 0 : -ENOMEM;
}

/* --- the other keys -------------------------------------------------------------------------- */

static int apply_comm(struct service_rule *rule, const char *value, struct strbuf *why)
{
	(void)why;
	return named_section_text(&rule->comm, value);
}

static int apply_cgroup(struct service_rule *rule, const char *value, struct strbuf *why)
{
	if (value[0] != '/' && value[0] != '*')
		return spec_error(why,
				  "'%s' is no value of 'cgroup': give a path below the root as a "
				  "pattern, as in /system.slice/*",
				  value);
	return named_section_text(&rule->cgroup, value);
}

static int apply_uid(struct service_rule *rule, const char *value, struct strbuf *why)
{
	(void)why;
	return named_section_text(&rule->user, value);
}

static int apply_trace(struct service_rule *rule, const char *value, struct strbuf *why)
{
	return named_section_time(&rule->trace_ns, "trace", value, SECOND_NS, 30 * DAY_NS, why);
}

static int apply_depth(struct service_rule *rule, const char *value, struct strbuf *why)
{
	if (heap_depth_parse(value, &rule->depth) < 0)
		return spec_error(why, "'%s' is no value of 'depth': give exact or sampled", value);
	return 0;
}

static int apply_format(struct service_rule *rule, const char *value, struct strbuf *why)
{
	(void)why;
	return named_section_text(&rule->format, value);
}

static int apply_cooldown(struct service_rule *rule, const char *value, struct strbuf *why)
{
	return named_section_time(&rule->cooldown_ns, "cooldown", value, 0, 30 * DAY_NS, why);
}

static int apply_max_at_once(struct service_rule *rule, const char *value, struct strbuf *why)
{
	uint64_t n;

	if (parse_digits(value, value + strlen(value), &n) < 0 || n < 1 || n > 64)
		return spec_error(why, "'%s' is no value of 'max_at_once': at least 1, at most 64",
				  value);
	rule->max_at_once = n;
	return 0;
}

static const struct {
	const char *name;
	int (*apply)(struct service_rule *rule, const char *value, struct strbuf *why);
} keys[SERVICE_RULE_KEYS] = {
	{ "when", apply_when },
	{ "comm", apply_comm },
	{ "cgroup", apply_cgroup },
	{ "uid", apply_uid },
	{ "trace", apply_trace },
	{ "depth", apply_depth },
	{ "format", apply_format },
	{ "cooldown", apply_cooldown },
	{ "max_at_once", apply_max_at_once },
};

unsigned int service_rule_line(const struct service_rule *rule, const char *key)
{
	for (size_t i = 0; i < SERVICE_RULE_KEYS; i++)
		if (strcmp(keys[i].name, key) == 0 && rule->lines[i])
			return rule->lines[i];
	return rule->line;
}

static int unknown_key(const char *name, struct strbuf *why)
{
	const char *names[SERVICE_RULE_KEYS + 1] = { NULL };

	for (size_t i = 0; i < SERVICE_RULE_KEYS; i++)
		names[i] = keys[i].name;
	return named_section_unknown("rules", name, names, why);
}

static int apply(struct service_rule *rule, unsigned int line, const char *name, const char *value,
		 struct strbuf *why)
{
	for (size_t i = 0; i < SERVICE_RULE_KEYS; i++) {
		if (strcmp(keys[i].name, name) != 0)
			continue;
		if (rule->lines[i])
			return spec_error(why, "'%s' is given twice: give it once", name);
		rule->lines[i] = line;
		if (*value == '\0')
			return spec_error(why, "'%s' has no value: give one, or leave the line out",
					  name);
		return keys[i].apply(rule, value, why);
	}
	return unknown_key(name, why);
}

/* --- all of them ----------------------------------------------------------------------------- */

bool service_rules_has(const char *section)
{
	return named_section_is(section, SECTION);
}

static void rule_done(struct service_rule *rule)
{
	free(rule->name);
	free(rule->when);
	free(rule->comm);
	free(rule->cgroup);
	free(rule->user);
	free(rule->format);
}

static int add_rule(struct service_rules *rules, const char *name, unsigned int line)
{
	struct service_rule rule = { .name = strdup(name),
				     .format = strdup("html"),
				     .trace_ns = 60 * SECOND_NS,
				     .cooldown_ns = 3600 * SECOND_NS,
				     .max_at_once = 1,
				     .line = line };
	struct service_rule *list = NULL;

	if (rule.name && rule.format)
		list = reallocarray(rules->list, rules->n + 1, sizeof(*list));
	if (!list) {
		rule_done(&rule);
		return -ENOMEM;
	}
	list[rules->n++] = rule;
	rules->list = list;
	return 0;
}

/* *ret_rule: the section's, made where it is a new one. */
static int find_rule(struct service_rules *rules, const char *section, unsigned int line,
		     struct service_rule **ret_rule, struct strbuf *why)
{
	const char *name;
	size_t i = 0;
	int r = named_section_name(section, SECTION, &name, why);

	if (r < 0)
		return r;
	while (i < rules->n && strcmp(rules->list[i].name, name) != 0)
		i++;
	if (i == SERVICE_RULES_MOST)
		return spec_error(why, "there are more than %d rules", SERVICE_RULES_MOST);
	r = i == rules->n ? add_rule(rules, name, line) : 0;
	if (r == 0)
		*ret_rule = &rules->list[i];
	return r;
}

int service_rules_take(struct service_rules *rules, const char *section, unsigned int line,
		       const char *name, const char *value, struct strbuf *why)
{
	struct service_rule *rule = NULL;
	int r = find_rule(rules, section, line, &rule, why);

	return r ? r : apply(rule, line, name, value, why);
}

int service_rules_check(const struct service_rules *rules, unsigned int *ret_line,
			struct strbuf *why)
{
	for (size_t i = 0; i < rules->n; i++) {
		*ret_line = rules->list[i].line;
		if (!rules->list[i].when)
			return spec_error(why,
					  "[rule %s] has no 'when': give one, as in 'when = rss > "
					  "2GiB'",
					  rules->list[i].name);
	}
	return 0;
}

void service_rules_done(struct service_rules *rules)
{
	for (size_t i = 0; i < rules->n; i++)
		rule_done(&rules->list[i]);
	free(rules->list);
	*rules = (struct service_rules){};
}
