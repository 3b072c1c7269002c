/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/watch/rules.h"

#include "base/clock.h"
#include "base/log.h"
#include "service/daemon/reports/recordings.h"
#include "service/daemon/watch/episodes.h"
#include "target/identity.h"
#include "target/process_list.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

/* So many sweeps may be late, or fail, until a condition's time begins anew. */
#define GAP_SWEEPS 3
#define KEY_LEN 48

/* Of who shows no samples: its linker may not have been at the library yet. */
#define NO_SAMPLES_NS (600 * SECOND_NS)

/* What is known of a rule by its name; it outlives the configuration while its traces run. */
struct rule {
	struct rules *rules;
	const struct service_rule *config; /* NULL: there is none of this name any more */
	char *name;
	uid_t uid; /* with config->user */
	struct episodes *episodes;
	size_t running;
	uint64_t fired, refused;
	struct process_info last;
	uint64_t last_ns;
};

typedef VEC(struct rule *) rule_vec;

struct rules {
	struct service *service;
	const struct service_config *config; /* a reference: those of the list point into it */
	rule_vec list;			     /* in the file's order, then those that are gone */
};

int rules_new(struct service *service, struct rules **ret_rules)
{
	struct rules *rules = calloc(1, sizeof(*rules));

	if (!rules)
		return -ENOMEM;
	rules->service = service;
	*ret_rules = rules;
	return 0;
}

static void rule_free(struct rule *rule)
{
	if (!rule)
		return;
	episodes_free(rule->episodes);
	free(rule->name);
	free(rule);
}
DEFINE_CLEANUP(struct rule, rule_free)

void rules_free(struct rules *rules)
{
	if (!rules)
		return;
	vec_foreach(&rules->list, rule)
		rule_free(*rule);
	vec_done(&rules->list);
	service_config_unref(rules->config);
	free(rules);
}

/* --- the configuration ----------------------------------------------------------------------- */

struct rule_next {
	const struct service_rule *config;
	uid_t uid;
	struct rule *rule; /* of this name, which is there already, or `made` */
	struct rule *made; /* until the commit */
};

struct rules_next {
	const struct service_config *config;
	VEC(struct rule_next) rows; /* in the file's order */
	rule_vec list;		    /* empty, with room for all that the commit puts there */
};

void rules_next_free(struct rules_next *next)
{
	if (!next)
		return;
	vec_foreach(&next->rows, row)
		rule_free(row->made);
	vec_done(&next->rows);
	vec_done(&next->list);
	service_config_unref(next->config);
	free(next);
}

static int check_rule(const struct service_rule *rule, const char *path, uid_t *ret_uid,
		      struct strbuf *error)
{
	if (!report_format_find(rule->format)) {
		strbuf_addf(error, "%s:%u: ", path, service_rule_line(rule, "format"));
		report_format_unknown(rule->format, error);
		return -EINVAL;
	}
	if (rule->user && identity_uid(rule->user, ret_uid) < 0) {
		strbuf_addf(error, "%s:%u: there is no user '%s': give a name or a uid", path,
			    service_rule_line(rule, "uid"), rule->user);
		return -EINVAL;
	}
	return 0;
}

static int make_rule(struct rules *rules, const char *name, struct rule **ret_rule)
{
	_cleanup_(rule_free_p) struct rule *rule = calloc(1, sizeof(*rule));
	int r = rule ? episodes_new(&rule->episodes) : -ENOMEM;

	if (r < 0)
		return r;
	rule->rules = rules;
	rule->name = strdup(name);
	if (!rule->name)
		return -ENOMEM;
	*ret_rule = TAKE_PTR(rule);
	return 0;
}

static struct rule *find_rule(const struct rules *rules, const char *name)
{
	vec_foreach(&rules->list, rule)
		if (strcmp((*rule)->name, name) == 0)
			return *rule;
	return NULL;
}

static int prepare_rule(struct rules *rules, struct rules_next *next,
			const struct service_rule *config, struct strbuf *error)
{
	struct rule_next row = { .config = config, .rule = find_rule(rules, config->section.name) };
	int r = check_rule(config, next->config->path, &row.uid, error);

	if (r == 0 && !row.rule)
		r = make_rule(rules, config->section.name, &row.made);
	if (!row.rule)
		row.rule = row.made;
	if (r == 0)
		r = vec_push(&next->rows, row);
	if (r < 0)
		rule_free(row.made);
	return r;
}

int rules_prepare(struct rules *rules, const struct service_config *config,
		  struct rules_next **ret_next, struct strbuf *error)
{
	_cleanup_(rules_next_free_p) struct rules_next *next = calloc(1, sizeof(*next));
	int r = 0;

	if (!next)
		return -ENOMEM;
	next->config = service_config_ref(config);
	for (size_t i = 0; r == 0 && i < config->rules.n; i++)
		r = prepare_rule(rules, next, &config->rules.list[i], error);
	if (r == 0)
		r = vec_reserve(&next->list, rules->list.len + next->rows.len);
	if (r == 0)
		*ret_next = TAKE_PTR(next);
	return r;
}

/* Who was left alone is remembered where the condition is the same. */
static void change_rule(struct rule *rule, const struct rule_next *next)
{
	bool is_same = next && rule->config && strcmp(rule->config->when, next->config->when) == 0;

	if (!is_same)
		episodes_clear(rule->episodes);
	rule->config = next ? next->config : NULL;
	rule->uid = next ? next->uid : 0;
}

static bool is_named(const struct rules_next *next, const struct rule *rule)
{
	vec_foreach(&next->rows, row)
		if (row->rule == rule)
			return true;
	return false;
}

void rules_commit(struct rules *rules, struct rules_next *next)
{
	rule_vec old = rules->list;

	vec_foreach(&next->rows, row) {
		change_rule(row->rule, row);
		row->made = NULL;			/* it is in the list: */
		(void)vec_push(&next->list, row->rule); /* there is room */
	}
	vec_foreach(&old, rule) {
		if (is_named(next, *rule))
			continue;
		change_rule(*rule, NULL);
		if ((*rule)->running > 0)
			(void)vec_push(&next->list, *rule); /* as above */
		else
			rule_free(*rule);
	}
	rules->list = next->list;
	next->list = old;
	service_config_set(&rules->config, next->config);
	rules_next_free(next);
}

/* Those without a configuration go when no trace of theirs runs. */
static void forget_old(struct rules *rules)
{
	size_t n = 0;

	vec_foreach(&rules->list, rule) {
		if ((*rule)->config || (*rule)->running > 0)
			rules->list.data[n++] = *rule;
		else
			rule_free(*rule);
	}
	rules->list.len = n;
}

/* --- what a rule is about -------------------------------------------------------------------- */

static bool is_of_cgroup(const struct rules *rules, const char *pattern, pid_t pid)
{
	struct watch_info info = watch_info(rules->service->watch);
	_cleanup_strbuf_ struct strbuf name = {};

	return info.cgroup_version > 0 && cgroup_of_process(pid, info.cgroup_version, &name) == 0 &&
	       fnmatch(pattern, strbuf_str(&name), 0) == 0;
}

/*
 * What the watch does not know is read anew, of few. *ret_info: the process that was watched, not
 * one that has its pid by now.
 */
static bool is_in_scope(const struct rule *rule, const struct watched_process *process,
			struct process_info *ret_info)
{
	const struct service_rule *config = rule->config;

	if (config->comm && fnmatch(config->comm, process->comm, 0) != 0)
		return false;
	if (process->pid == getpid() || process_info_read(process->pid, ret_info) < 0 ||
	    ret_info->start_ticks != process->start_ticks || ret_info->zombie)
		return false;
	if (config->user && ret_info->real_uid != rule->uid)
		return false;
	return service_rule_is_of_cgroup(config) || !config->cgroup ||
	       is_of_cgroup(rule->rules, config->cgroup, process->pid);
}

/* -ENOENT: none that the rule is about. */
static int find_largest(const struct rule *rule, const char *cgroup, struct process_info *ret_info)
{
	const struct service *service = rule->rules->service;
	const struct watched *data = watch_data(service->watch);
	_cleanup_strbuf_ struct strbuf path = {};
	_cleanup_close_ int folder = -1;
	uint64_t most = 0;
	pid_vec pids = {};
	int r;

	strbuf_addf(&path, "%s%s", watch_info(service->watch).cgroup_root, cgroup);
	if (strbuf_error(&path))
		return -ENOMEM;
	folder = open(strbuf_str(&path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = folder < 0 ? -errno : process_list_cgroup(folder, &pids);
	for (size_t i = 0; r == 0 && i < pids.len; i++) {
		const struct watched_process *process = watched_process(data, pids.data[i]);
		struct process_info info;

		if (!process || process->rss_bytes <= most || !is_in_scope(rule, process, &info))
			continue;
		most = process->rss_bytes;
		*ret_info = info;
	}
	vec_done(&pids);
	return r ? r : most > 0 ? 0 : -ENOENT;
}

/* --- what it does ---------------------------------------------------------------------------- */

static void log_refused(struct rule *rule, const char *key, pid_t pid, int error)
{
	if (!episodes_refuse(rule->episodes, key))
		return;
	rule->refused++;
	if (error == -EBUSY)
		log_warning("rule %s: process %d: trace limit reached ([trace] max_traces)",
			    rule->name, (int)pid);
	else if (error == -EDQUOT)
		log_warning("rule %s: process %d: tracing budget exhausted ([trace] "
			    "max_overhead)",
			    rule->name, (int)pid);
	else if (error == -ENOENT)
		log_warning("rule %s: process %d: no allocator was found in it", rule->name,
			    (int)pid);
	else if (error == -EREMOTEIO)
		log_warning("rule %s: process %d: no allocator was found in what could be read: a "
			    "helper process was killed, took too long, or may not be started yet",
			    rule->name, (int)pid);
	else if (error == -ENODATA)
		log_warning("rule %s: process %d: it shows no samples", rule->name, (int)pid);
	else
		log_warning("rule %s: process %d: it is not traced: %s", rule->name, (int)pid,
			    strerror(-error));
}

/* For so long it is left alone, and not traced by the rule beside itself. */
static uint64_t pause_ns(const struct service_rule *config, int error)
{
	uint64_t ns =
		config->trace_ns > config->cooldown_ns ? config->trace_ns : config->cooldown_ns;

	return error == -ENODATA && ns > NO_SAMPLES_NS ? NO_SAMPLES_NS : ns;
}

/* A recording that a rule has begun. */
struct firing {
	struct rule *rule;
	char *key;
	struct process_info process;
	uint64_t now_ns;
};

static void firing_free(struct firing *firing)
{
	free(firing->key);
	free(firing);
}

static void on_over(void *userdata)
{
	struct firing *firing = userdata;
	struct rule *rule = firing->rule;

	rule->running--;
	firing_free(firing);
	if (!rule->config)
		forget_old(rule->rules);
}

static void on_begun(int error, void *userdata)
{
	const struct firing *firing = userdata;
	struct rule *rule = firing->rule;
	const struct service_rule *config = rule->config;

	if (error < 0) {
		if (config)
			episodes_settle(rule->episodes, firing->key,
					firing->now_ns + pause_ns(config, error));
		log_refused(rule, firing->key, firing->process.pid, error);
		return;
	}
	rule->fired++;
	rule->last = firing->process;
	rule->last_ns = firing->now_ns;
	if (config)
		log_info("rule %s: %s: process %d (%s) is traced for %" PRIu64 " s", rule->name,
			 config->when, (int)firing->process.pid, firing->process.comm,
			 config->trace_ns / SECOND_NS);
}

static int begin_recording(struct rule *rule, struct firing *firing)
{
	const struct service_rule *config = rule->config;
	_cleanup_strbuf_ struct strbuf why = {};
	struct recording_ask ask = {
		.who = { .known = true, .uid = 0 },
		.process = firing->process,
		.for_ns = config->trace_ns,
		.depth = config->depth,
		.format = report_format_find(config->format),
		.begun = on_begun,
		.over = on_over,
		.userdata = firing,
	};
	struct recording *recording;
	char name[SERVICE_NAME_LEN];

	strbuf_addf(&why, "rule %s", rule->name);
	ask.why = strbuf_str(&why);
	return recording_begin(rule->rules->service, &ask, name, &recording);
}

static void fire(struct rule *rule, const char *key, const struct process_info *process,
		 uint64_t now_ns)
{
	struct firing *firing = calloc(1, sizeof(*firing));
	int r = -ENOMEM;

	if (firing) {
		*firing = (struct firing){ rule, strdup(key), *process, now_ns };
		r = firing->key ? begin_recording(rule, firing) : -ENOMEM;
	}
	/* What is only a matter of time is tried again after the next sweep. */
	if (r != -EBUSY && r != -EDQUOT && r != -ENOMEM)
		episodes_settle(rule->episodes, key, now_ns + pause_ns(rule->config, r));
	if (r == 0) {
		rule->running++;
		return;
	}
	log_refused(rule, key, process->pid, r);
	if (firing)
		firing_free(firing);
}

/* --- when ------------------------------------------------------------------------------------ */

static bool process_meets(const struct service_rule *config, const struct watched_process *process)
{
	double slope;

	if (config->metric == RULE_RSS)
		return (double)process->rss_bytes > config->above;
	return watch_series_slope(&process->rss, config->for_ns, &slope) && slope > config->above;
}

static bool cgroup_meets(const struct service_rule *config, const struct watched_cgroup *cgroup)
{
	const struct cgroup_memory *memory = &cgroup->memory;

	if (config->metric == RULE_CGROUP_PRESSURE)
		return memory->pressure != CGROUP_NO_PRESSURE &&
		       (double)memory->pressure > config->above;
	if (!config->of_max)
		return (double)memory->current_bytes > config->above;
	/* A limit of 0 is met by anything. */
	return memory->max_bytes != CGROUP_NO_LIMIT &&
	       (double)memory->current_bytes * 10000 > config->above * (double)memory->max_bytes;
}

struct look {
	struct rule *rule;
	uint64_t gap_ns, now_ns;
};

/* A slope has the time in itself. */
static bool is_time(const struct look *look, const char *key)
{
	const struct service_rule *config = look->rule->config;
	uint64_t for_ns = config->metric == RULE_RSS_SLOPE ? 0 : config->for_ns;

	/* Without memory the condition's time begins anew. */
	return episodes_hold(look->rule->episodes, key, for_ns, look->gap_ns, look->now_ns) == 1 &&
	       look->rule->running < config->max_at_once;
}

static void look_at_process(const struct look *look, const struct watched_process *process)
{
	struct process_info info;
	char key[KEY_LEN];

	if (!process_meets(look->rule->config, process) || !is_in_scope(look->rule, process, &info))
		return;
	(void)snprintf(key, sizeof(key), "%d %" PRIu64, (int)process->pid,
		       process->start_ticks); /* fits */
	if (is_time(look, key))
		fire(look->rule, key, &info, look->now_ns);
}

static void look_at_cgroup(const struct look *look, const struct watched_cgroup *cgroup)
{
	const struct service_rule *config = look->rule->config;
	struct process_info info;

	if (config->cgroup && fnmatch(config->cgroup, cgroup->name, 0) != 0)
		return;
	if (cgroup_meets(config, cgroup) && is_time(look, cgroup->name) &&
	    find_largest(look->rule, cgroup->name, &info) == 0)
		fire(look->rule, cgroup->name, &info, look->now_ns);
}

void rules_check(struct rules *rules)
{
	const struct watched *data = watch_data(rules->service->watch);
	struct watch_info info = watch_info(rules->service->watch);

	vec_foreach(&rules->list, rule) {
		struct look look = { .rule = *rule,
				     .gap_ns = info.interval_ns * GAP_SWEEPS,
				     .now_ns = info.end_ns };
		const struct watched_process *process;
		const struct watched_cgroup *cgroup;

		if (!look.rule->config)
			continue;
		if (service_rule_is_of_cgroup(look.rule->config))
			for (size_t i = 0; (cgroup = watched_cgroup_at(data, i)); i++)
				look_at_cgroup(&look, cgroup);
		else
			for (size_t i = 0; (process = watched_process_at(data, i)); i++)
				look_at_process(&look, process);
		episodes_end(look.rule->episodes, look.now_ns);
	}
}

bool rules_at(const struct rules *rules, size_t index, struct rule_info *ret_info)
{
	const struct rule *rule = index < rules->list.len ? rules->list.data[index] : NULL;
	uint64_t since_ns, now_ns = clock_monotonic_ns();
	size_t held;

	if (!rule || !rule->config)
		return false;
	held = episodes_held(rule->episodes, &since_ns);
	*ret_info = (struct rule_info){
		.name = rule->name,
		.when = rule->config->when,
		.fired = rule->fired,
		.refused = rule->refused,
		.running = rule->running,
		.held = held,
		.held_ns = held ? now_ns - since_ns : 0,
		.last_pid = rule->last.pid,
		.last_comm = rule->last.comm,
		.last_ago_ns = now_ns - rule->last_ns,
	};
	return true;
}
