/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules of the service's configuration, [rule NAME]: when something about memory holds, a process
 * is traced. The parser of their keys; service_config.c reads the file. Pure functions.
 *
 *	when = METRIC > VALUE [of max] [for TIME]
 */
#ifndef MEMTRACED_CONFIG_SERVICE_RULES_H
#define MEMTRACED_CONFIG_SERVICE_RULES_H

#include "config/key.h"
#include "config/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVICE_RULES_MOST 32

enum rule_metric {
	RULE_RSS,	      /* of a process: bytes */
	RULE_RSS_SLOPE,	      /* of a process: bytes a second, over for_ns */
	RULE_CGROUP_MEMORY,   /* bytes, or hundredths of a percent of its limit */
	RULE_CGROUP_PRESSURE, /* some avg10, hundredths of a percent */
};

struct service_rule {
	struct key_section section;
	char *when; /* as it was written */
	enum rule_metric metric;
	double above; /* in the unit of the metric */
	bool of_max;
	uint64_t for_ns; /* 0: at once */
	/* What it is about; NULL: all. */
	char *comm, *cgroup; /* patterns */
	char *user;	     /* a name or a uid */
	/* What is done. */
	uint64_t trace_ns;
	enum heap_depth depth;
	char *format;
	uint64_t cooldown_ns; /* for the same process or cgroup */
	uint64_t max_at_once;
};

extern const struct key_table rule_keys;

struct service_rules {
	struct service_rule *list;
	size_t n;
};

/* Is this section's header that of a rule, well-formed or not? */
bool service_rules_has(const char *section);

/*
 * A line of a rule. 0; -EINVAL with one line without its place in *why; or -ENOMEM.
 */
int service_rules_set(struct service_rules *rules, const char *section, unsigned int line,
		      const char *name, const char *value, struct strbuf *why);

/* What only a whole rule can say: as above, *ret_line is the place. */
int service_rules_check(const struct service_rules *rules, unsigned int *ret_line,
			struct strbuf *why);

/* The line that has the rule's key, or its first one. */
unsigned int service_rule_line(const struct service_rule *rule, const char *name);

void service_rules_done(struct service_rules *rules);

/* Is the metric one of cgroups? */
static inline bool service_rule_is_of_cgroup(const struct service_rule *rule)
{
	return rule->metric == RULE_CGROUP_MEMORY || rule->metric == RULE_CGROUP_PRESSURE;
}

#endif
