/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/service_config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)

static int parse(const char *text, const struct service_config **ret_config, struct strbuf *error)
{
	strbuf_reset(error);
	return service_config_parse(text, strlen(text), "conf", ret_config, error);
}

static void conditions_are_taken_with_their_units(void **state)
{
	static const struct {
		const char *when;
		enum rule_metric metric;
		double above;
		bool of_max;
		uint64_t for_s;
	} rows[] = {
		{ "rss > 2GiB", RULE_RSS, 2147483648.0, false, 0 },
		{ "rss>4096 for 1m", RULE_RSS, 4096, false, 60 },
		{ "rss_slope > 1MiB/min for 10m", RULE_RSS_SLOPE, 1048576 / 60.0, false, 600 },
		{ "rss_slope > 1.5k/s for 5s", RULE_RSS_SLOPE, 1536, false, 5 },
		{ "rss_slope  >  1G/h  for  1d", RULE_RSS_SLOPE, 1073741824 / 3600.0, false,
		  86400 },
		{ "memory.current > 512M", RULE_CGROUP_MEMORY, 536870912.0, false, 0 },
		{ "memory.current > 90% of max", RULE_CGROUP_MEMORY, 9000, true, 0 },
		{ "memory.current > 99.5% of max for 30s", RULE_CGROUP_MEMORY, 9950, true, 30 },
		{ "memory.pressure > 20% for 30s", RULE_CGROUP_PRESSURE, 2000, false, 30 },
		{ "memory.pressure > 0%", RULE_CGROUP_PRESSURE, 0, false, 0 },
	};
	_cleanup_strbuf_ struct strbuf error = {};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_(service_config_unref_p) const struct service_config *config = NULL;
		_cleanup_strbuf_ struct strbuf text = {};
		const struct service_rule *rule;

		strbuf_addf(&text, "[rule a]\nwhen = %s\n", rows[i].when);
		if (parse(strbuf_str(&text), &config, &error) < 0)
			fail_msg("'%s': %s", rows[i].when, strbuf_str(&error));
		rule = &config->rules.list[0];
		assert_string_equal(rule->when, rows[i].when);
		assert_int_equal(rule->metric, rows[i].metric);
		assert_true(rule->above > rows[i].above - 0.001);
		assert_true(rule->above < rows[i].above + 0.001);
		assert_int_equal(rule->of_max, rows[i].of_max);
		assert_int_equal(rule->for_ns, rows[i].for_s * SECOND);
	}
}

static void rules_have_their_own_keys_and_defaults(void **state)
{
	static const char text[] = "[rule leak]\n"
				   "when = rss > 1G\n"
				   "[trace]\n"
				   "seconds = 1\n"
				   "[rule redis.oom]\n"
				   "when = memory.pressure > 20% for 30s\n"
				   "comm = redis*\n"
				   "cgroup = /system.slice/*\n"
				   "uid = redis\n"
				   "trace = 2m\n"
				   "format = pprof\n"
				   "depth = sampled\n"
				   "cooldown = 0\n"
				   "max_at_once = 3\n";
	_cleanup_(service_config_unref_p) const struct service_config *config = NULL;
	_cleanup_strbuf_ struct strbuf error = {};
	const struct service_rule *rule;

	(void)state;
	assert_int_equal(parse(text, &config, &error), 0);
	assert_int_equal(config->rules.n, 2);
	rule = &config->rules.list[0];
	assert_string_equal(rule->section.name, "leak");
	assert_string_equal(rule->format, "html");
	assert_null(rule->comm);
	assert_null(rule->cgroup);
	assert_null(rule->user);
	assert_int_equal(rule->trace_ns, 60 * SECOND);
	assert_int_equal(rule->cooldown_ns, 3600 * SECOND);
	assert_int_equal(rule->max_at_once, 1);
	assert_int_equal(rule->depth, HEAP_EXACT);
	rule = &config->rules.list[1];
	assert_string_equal(rule->section.name, "redis.oom");
	assert_string_equal(rule->comm, "redis*");
	assert_string_equal(rule->cgroup, "/system.slice/*");
	assert_string_equal(rule->user, "redis");
	assert_int_equal(rule->trace_ns, 120 * SECOND);
	assert_string_equal(rule->format, "pprof");
	assert_int_equal(rule->cooldown_ns, 0);
	assert_int_equal(rule->max_at_once, 3);
	assert_int_equal(rule->depth, HEAP_SAMPLED);
	assert_int_equal(service_rule_line(rule, "format"), 11);
	assert_int_equal(service_rule_line(&config->rules.list[0], "format"), 2);
}

static void what_is_wrong_in_a_condition_is_said(void **state)
{
	static const struct {
		const char *when, *error;
	} cases[] = {
		{ "", "'when' has no value" },
		{ "rsss > 1G", "rules do not know 'rsss'; did you mean 'rss'?" },
		{ "memory.presure > 1%", "rules do not know 'memory.presure'; did you mean "
					 "'memory.pressure'?" },
		{ "cpu > 1%", "rules do not know 'cpu'; they know rss, rss_slope," },
		{ "rss", "'' where '>' should be: rules know no other comparison" },
		{ "rss < 1G", "'<' where '>' should be" },
		{ "rss >= 1G", "'>=' where '>' should be" },
		{ "rss >", "invalid size '': expected one such as 2GiB" },
		{ "rss > -1", "invalid size '-1'" },
		{ "rss > 10%", "invalid size '10%': expected one such as 2GiB" },
		{ "rss > 1G of max", "'of' is for shares of a cgroup's limit" },
		{ "rss > 1G for", "invalid time '': expected one from 1s to 1d" },
		{ "rss > 1G for 10ms", "invalid time '10ms'" },
		{ "rss > 1G for 10 m", "'m' is one word too many" },
		{ "rss > 1G during 10m", "'during' is not understood: 'for' and a time" },
		{ "rss_slope > 1M/min", "a slope needs its time" },
		{ "rss_slope > 1M for 10m", "invalid growth '1M': expected one such as 1MiB/min" },
		{ "rss_slope > 1M/5m for 10m", "invalid growth '1M/5m'" },
		{ "rss_slope > 1M/ for 10m", "invalid growth '1M/'" },
		{ "rss_slope > /s for 10m", "invalid growth '/s'" },
		{ "memory.current > 90%", "say of what: 'of max'" },
		{ "memory.current > 90% of min", "'of' is for shares of a cgroup's limit" },
		{ "memory.current > 1G of max", "'of' is for shares of a cgroup's limit" },
		{ "memory.current > x",
		  "invalid size 'x': expected one such as 2GiB, or '90% of max'" },
		{ "memory.pressure > 20", "invalid pressure '20': expected one such as 20%" },
		{ "memory.pressure > 101%", "invalid pressure '101%'" },
		{ "memory.pressure > nan%", "invalid pressure 'nan%'" },
		{ "memory.pressure > 20%%", "invalid pressure '20%%'" },
		{ "rss > 1111111111111111111111111111111111111111111111111111111111111111111111",
		  "'11111111111111111111...' is too long" },
	};
	_cleanup_strbuf_ struct strbuf error = {};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_strbuf_ struct strbuf text = {};
		const struct service_config *config = NULL;
		const char *said;

		strbuf_addf(&text, "[rule a]\ncomm = x\nwhen = %s\n", cases[i].when);
		if (parse(strbuf_str(&text), &config, &error) != -EINVAL || config)
			fail_msg("'%s' was taken", cases[i].when);
		said = strbuf_str(&error);
		if (strncmp(said, "conf:3: ", 8) != 0 ||
		    strncmp(said + 8, cases[i].error, strlen(cases[i].error)) != 0)
			fail_msg("'%s' gave '%s'", cases[i].when, said);
	}
}

static void what_is_wrong_in_a_rule_is_said_with_its_line(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "[rule a]\ncomm = x\n[rule b]\nwhen = rss > 1\n",
		  "conf:2: [rule a] has no 'when': give one, as in 'when = rss > 2GiB'" },
		{ "[rule]\nwhen = rss > 1\n", "conf:2: invalid section [rule]: expected a name" },
		{ "[rule a b]\nwhen = rss > 1\n", "conf:2: invalid section [rule a b]: expected" },
		{ "[rule a]\nwhenn = rss > 1\n",
		  "conf:2: unknown key '[rule] whenn'; did you mean '[rule] when'?" },
		{ "[rule a]\nlisten = 1\n",
		  "conf:2: unknown key '[rule] listen'; memtraced.conf(5) lists the keys" },
		{ "[rule a]\nwhen = rss > 1\nwhen = rss > 2\n", "conf:3: 'when' is given twice" },
		{ "[rule a]\nwhen = rss > 1\ndepth = growth\n",
		  "conf:3: invalid depth 'growth': expected one of exact, sampled" },
		{ "[rule a]\nwhen = rss > 1\n[rule a]\nwhen = rss > 2\n",
		  "conf:4: 'when' is given twice" },
		{ "[rule a]\nwhen = rss > 1\ncgroup = x\n",
		  "conf:3: invalid cgroup 'x': expected a path below the root" },
		{ "[rule a]\nwhen = rss > 1\ntrace = 0\n",
		  "conf:3: invalid trace '0': expected a time from 1s to 30d" },
		{ "[rule a]\nwhen = rss > 1\ncooldown = 1y\n",
		  "conf:3: invalid cooldown '1y': expected a time from 0s to 30d" },
		{ "[rule a]\nwhen = rss > 1\nmax_at_once = 0\n",
		  "conf:3: invalid max_at_once '0': expected 1 to 64" },
		{ "[rule a]\nwhen = rss > 1\n[watch]\nenabled = no\n",
		  "conf:2: rules need what [watch] enabled = no turns off" },
		{ "[rules a]\nwhen = rss > 1\n", "conf:2: unknown key '[rules a] when'" },
	};
	_cleanup_strbuf_ struct strbuf error = {};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct service_config *config = NULL;

		if (parse(cases[i].text, &config, &error) != -EINVAL || config)
			fail_msg("'%s' was taken", cases[i].text);
		if (strncmp(strbuf_str(&error), cases[i].error, strlen(cases[i].error)) != 0)
			fail_msg("'%s' gave '%s'", cases[i].text, strbuf_str(&error));
	}
}

static void there_are_so_many_rules_and_no_more(void **state)
{
	_cleanup_strbuf_ struct strbuf text = {}, error = {};
	const struct service_config *config = NULL;

	(void)state;
	for (int i = 0; i <= SERVICE_RULES_MOST; i++)
		strbuf_addf(&text, "[rule r%d]\nwhen = rss > 1\n", i);
	assert_int_equal(parse(strbuf_str(&text), &config, &error), -EINVAL);
	assert_string_equal(strbuf_str(&error), "conf:66: there are more than 32 rules");
	assert_null(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_are_taken_with_their_units),
		cmocka_unit_test(rules_have_their_own_keys_and_defaults),
		cmocka_unit_test(what_is_wrong_in_a_condition_is_said),
		cmocka_unit_test(what_is_wrong_in_a_rule_is_said_with_its_line),
		cmocka_unit_test(there_are_so_many_rules_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
