/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/service_config.h"

#include "base/clock.h"
#include "config/allocator_spec.h"
#include "config/name_globs.h"
#include "config/near_name.h"
#include "config/units.h"
#include "config/words.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define MAX_FILE (1U << 20)
#define MAX_LISTENS 16
#define MAX_WORDS SERVICE_MAX_ALLOCATORS /* of hosts as well */
#define SPELLING_LEN 64
/* Debian's libinih reads lines of this size with their end, and takes the rest for another line. */
#define MAX_LINE (INI_MAX_LINE - 3)

struct snapshot {
	struct service_config config;
	atomic_uint references;
};

struct parser {
	struct service_config *config;
	struct strbuf *error;
	const char *path;
	const char *at, *end; /* what is not read yet */
	unsigned int line;
	bool seen[48]; /* rows of the table */
	struct abi_names standing;
	int result; /* of the first error */
};

struct key {
	const char *section, *name;
	int (*apply)(struct parser *p, const struct key *key, const char *value);
	size_t offset; /* of the field that a generic apply sets */
	uint64_t least, most;
	bool repeats;
};

/* The first error is the one that is said. */
__attribute__((format(printf, 2, 3))) static int fail(struct parser *p, const char *fmt, ...)
{
	va_list ap;

	strbuf_addf(p->error, "%s:%u: ", p->path, p->line);
	va_start(ap, fmt);
	strbuf_vaddf(p->error, fmt, ap);
	va_end(ap);
	return strbuf_error(p->error) ? -ENOMEM : -EINVAL;
}

static void *field_of(const struct parser *p, const struct key *key)
{
	return (char *)p->config + key->offset;
}

/* What is said is in `unit`: 1, or seconds. */
static int in_range(struct parser *p, const struct key *key, const char *value, uint64_t number,
		    uint64_t unit)
{
	uint64_t *field = field_of(p, key);

	if (number < key->least || number > key->most)
		return fail(p,
			    "'%s' is no value of '%s': at least %" PRIu64 "%s, at most %" PRIu64
			    "%s",
			    value, key->name, key->least / unit, unit > 1 ? " s" : "",
			    key->most / unit, unit > 1 ? " s" : "");
	*field = number;
	return 0;
}

static int apply_number(struct parser *p, const struct key *key, const char *value)
{
	uint64_t number;

	if (parse_digits(value, value + strlen(value), &number) < 0)
		return fail(p, "'%s' is no value of '%s': give a number", value, key->name);
	return in_range(p, key, value, number, 1);
}

static int apply_size(struct parser *p, const struct key *key, const char *value)
{
	uint64_t number;

	if (parse_size(value, &number) < 0)
		return fail(p,
			    "'%s' is no value of '%s': give a number, or one with k, M, G or T "
			    "behind it",
			    value, key->name);
	return in_range(p, key, value, number, 1);
}

static int apply_time(struct parser *p, const struct key *key, const char *value)
{
	uint64_t number;

	if (parse_duration(value, &number) < 0)
		return fail(p,
			    "'%s' is no value of '%s': give seconds, or a number with ms, s, m, h "
			    "or d behind it",
			    value, key->name);
	return in_range(p, key, value, number, SECOND_NS);
}

static int apply_mode(struct parser *p, const struct key *key, const char *value)
{
	uint64_t mode = 0;
	const char *at = value;

	for (; *at >= '0' && *at <= '7' && mode <= 0777; at++)
		mode = mode * 8 + (uint64_t)(*at - '0');
	if (at == value || *at || mode > 0777)
		return fail(p, "'%s' is no value of '%s': give a file's mode in octal, as in 0660",
			    value, key->name);
	*(uint64_t *)field_of(p, key) = mode;
	return 0;
}

static int apply_overhead(struct parser *p, const struct key *key, const char *value)
{
	uint64_t number;

	if (strcmp(value, "no") == 0)
		number = 0;
	else if (parse_share(value, &number) < 0 || number < 1 || number > 10000)
		return fail(p,
			    "'%s' is no value of '%s': give one from 0.01%% to 100%%, or no for no "
			    "limit",
			    value, key->name);
	*(uint64_t *)field_of(p, key) = number;
	return 0;
}

static int apply_bool(struct parser *p, const struct key *key, const char *value)
{
	bool *field = field_of(p, key);

	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return fail(p, "'%s' is no value of '%s': give yes or no", value, key->name);
	*field = strcmp(value, "yes") == 0;
	return 0;
}

static int apply_string(struct parser *p, const struct key *key, const char *value)
{
	char **field = field_of(p, key);
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

static int apply_path(struct parser *p, const struct key *key, const char *value)
{
	if (value[0] != '/')
		return fail(p, "'%s' is no value of '%s': give an absolute path", value, key->name);
	return apply_string(p, key, value);
}

/* To a list that ends with NULL. */
static int add_word(struct parser *p, const struct key *key, const char *value)
{
	char ***field = field_of(p, key), **words;
	size_t n = 0;

	while (*field && (*field)[n])
		n++;
	if (n == MAX_WORDS)
		return fail(p, "there are more than %d lines '%s'", MAX_WORDS, key->name);
	words = reallocarray(*field, n + 2, sizeof(*words));
	if (!words)
		return -ENOMEM;
	*field = words;
	words[n] = strdup(value);
	words[n + 1] = NULL;
	return words[n] ? 0 : -ENOMEM;
}

static int apply_host(struct parser *p, const struct key *key, const char *value)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-_";

	if (value[strspn(value, letters)])
		return fail(p, "'%s' is no value of '%s': give a host's name without a port", value,
			    key->name);
	return add_word(p, key, value);
}

static int apply_allocator(struct parser *p, const struct key *key, const char *value)
{
	_cleanup_strbuf_ struct strbuf why = {};
	struct allocator_spec spec;
	int r = allocator_spec_parse(value, &spec, &why);

	if (r == -EINVAL)
		return fail(p, "'%s' is no value of '%s': %s", value, key->name, strbuf_str(&why));
	if (r < 0)
		return r;
	allocator_spec_done(&spec);
	return add_word(p, key, value);
}

static int apply_standing(struct parser *p, const struct key *key, const char *value)
{
	_cleanup_strbuf_ struct strbuf why = {};
	int r = name_globs_add(&p->standing, value, &why);

	if (r == -EINVAL || r == -ENOSPC)
		return fail(p, "'%s' is as '--comm': %s", key->name, strbuf_str(&why));
	return r ? r : add_word(p, key, value);
}

static int apply_depth(struct parser *p, const struct key *key, const char *value)
{
	enum heap_depth *field = (enum heap_depth *)((char *)p->config + key->offset);

	if (heap_depth_parse(value, field) < 0)
		return fail(p, "'%s' is no value of '%s': give exact or sampled", value, key->name);
	return 0;
}

static int add_listen(struct service_config *config, const char *value, const char **ret_why)
{
	struct service_listen *listens =
		reallocarray(config->listens, config->n_listens + 1, sizeof(*listens));
	int r;

	if (!listens)
		return -ENOMEM;
	config->listens = listens;
	r = service_listen_parse(value, &listens[config->n_listens], ret_why);
	config->n_listens += r == 0;
	return r;
}

static int apply_listen(struct parser *p, const struct key *key, const char *value)
{
	const char *why;
	int r;

	if (p->config->n_listens == MAX_LISTENS)
		return fail(p, "there are more than %d lines '%s'", MAX_LISTENS, key->name);
	r = add_listen(p->config, value, &why);
	return r == -EINVAL ? fail(p, "'%s' is no value of '%s': %s", value, key->name, why) : r;
}

#define FIELD(name) .offset = offsetof(struct service_config, name)
#define TIMES(lo, hi) .least = (lo)*SECOND_NS, .most = (hi)*SECOND_NS

/* clang-format off */
static const struct key keys[] = {
	{ "http", "listen", apply_listen, .repeats = true },
	{ "http", "host", apply_host, FIELD(hosts), .repeats = true },
	{ "http", "remote", apply_bool, FIELD(remote) },
	{ "http", "token_file", apply_path, FIELD(token_file) },
	{ "http", "socket_mode", apply_mode, FIELD(socket_mode) },
	{ "http", "socket_group", apply_string, FIELD(socket_group) },
	{ "http", "max_connections", apply_number, FIELD(max_connections), 1, 1000 },
	{ "http", "max_connections_of_user", apply_number, FIELD(max_connections_of_user), 1,
	  1000 },
	{ "http", "timeout", apply_time, FIELD(timeout_ns), TIMES(1, 600) },
	{ "http", "max_answer", apply_size, FIELD(max_answer), 1 << 16, 1ULL << 32 },
	{ "trace", "target", apply_string, FIELD(target) },
	{ "trace", "seconds", apply_time, FIELD(seconds_ns), TIMES(1, 3600) },
	{ "trace", "max_seconds", apply_time, FIELD(max_seconds_ns), TIMES(1, 86400) },
	{ "trace", "max_traces", apply_number, FIELD(max_traces), 1, 64 },
	{ "trace", "max_traces_of_user", apply_number, FIELD(max_traces_of_user), 0, 64 },
	{ "trace", "reserved_traces", apply_number, FIELD(reserved_traces), 0, 64 },
	{ "trace", "memory_limit", apply_size, FIELD(trace_memory), 96 << 20, 1ULL << 40 },
	{ "trace", "allocator", apply_allocator, FIELD(allocators), .repeats = true },
	{ "trace", "max_overhead", apply_overhead, FIELD(max_overhead) },
	{ "watch", "enabled", apply_bool, FIELD(watches) },
	{ "watch", "interval", apply_time, FIELD(watch_interval_ns), TIMES(1, 3600) },
	{ "watch", "pss_interval", apply_time, FIELD(pss_interval_ns), TIMES(0, 86400) },
	{ "watch", "growth", apply_time, FIELD(growth_window_ns), TIMES(1, 86400) },
	{ "watch", "cgroup_root", apply_path, FIELD(cgroup_root) },
	{ "growth", "enabled", apply_bool, FIELD(grows) },
	{ "growth", "mappings", apply_bool, FIELD(growth_mappings) },
	{ "growth", "period", apply_number, FIELD(growth_period), 1, 1000000000 },
	{ "growth", "max_stacks", apply_number, FIELD(growth_stacks), 100, 200000 },
	{ "metrics", "processes", apply_number, FIELD(processes), 0, 100000 },
	{ "metrics", "cgroups", apply_number, FIELD(cgroups), 0, 100000 },
	{ "state", "directory", apply_path, FIELD(state_directory) },
	{ "state", "max_reports", apply_number, FIELD(max_reports), 1, 100000 },
	{ "state", "max_age", apply_time, FIELD(max_age_ns), TIMES(60, 10ULL * 366 * 86400) },
	{ "post_mortem", "reports", apply_bool, FIELD(post_mortems) },
	{ "post_mortem", "format", apply_string, FIELD(post_mortem_format) },
	{ "post_mortem", "trace", apply_standing, FIELD(standing), .repeats = true },
	{ "post_mortem", "depth", apply_depth, FIELD(standing_depth) },
	{ "state", "max_size", apply_size, FIELD(max_state_size), 1 << 20, 1ULL << 44 },
};
/* clang-format on */
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))
_Static_assert(N_KEYS <= sizeof(((struct parser *)0)->seen), "parser.seen");

/* "[http] listen" */
static const char *spell(const struct key *key, char buf[SPELLING_LEN])
{
	(void)snprintf(buf, SPELLING_LEN, "[%s] %s", key->section, key->name); /* fits */
	return buf;
}

static int unknown(struct parser *p, const char *section, const char *name)
{
	char spellings[N_KEYS][SPELLING_LEN], given[SPELLING_LEN];
	struct near_name near;
	const char *meant;

	if (*section == '\0')
		return fail(p, "'%s' stands before any section: put it below one, as [http]", name);
	/* What is longer is near to none. */
	(void)snprintf(given, sizeof(given), "[%s] %s", section, name);
	near_name_init(&near, given);
	for (size_t i = 0; i < N_KEYS; i++)
		near_name_offer(&near, spell(&keys[i], spellings[i]));
	meant = near_name_get(&near);
	if (meant)
		return fail(p, "unknown key '[%s] %s'; did you mean '%s'?", section, name, meant);
	return fail(p, "unknown key '[%s] %s'; memtraced(8) lists the keys", section, name);
}

/* `r` and *why as service_rules.h and push_targets.h give them. */
static int fail_named(struct parser *p, int r, const struct strbuf *why)
{
	return r == -EINVAL ? fail(p, "%s", strbuf_str(why)) : r;
}

static int take(struct parser *p, const char *section, const char *name, const char *value)
{
	_cleanup_strbuf_ struct strbuf why = {};

	if (service_rules_has(section))
		return fail_named(p,
				  service_rules_take(&p->config->rules, section, p->line, name,
						     value, &why),
				  &why);
	if (push_targets_has(section))
		return fail_named(p,
				  push_targets_take(&p->config->pushes, section, p->line, name,
						    value, &why),
				  &why);
	for (size_t i = 0; i < N_KEYS; i++) {
		if (strcmp(keys[i].section, section) != 0 || strcmp(keys[i].name, name) != 0)
			continue;
		if (p->seen[i] && !keys[i].repeats)
			return fail(p, "'%s' is given twice: give it once", name);
		p->seen[i] = true;
		if (*value == '\0')
			return fail(p, "'%s' has no value: give one, or leave the line out", name);
		return keys[i].apply(p, &keys[i], value);
	}
	return unknown(p, section, name);
}

/* An ini_handler: 0 is an error there. */
static int on_value(void *user, const char *section, const char *name, const char *value)
{
	struct parser *p = user;

	if (p->result == 0)
		p->result = take(p, section, name, value);
	return p->result == 0;
}

/* An ini_reader: as fgets. Counts lines, and ends at one that the library would cut. */
static char *read_line(char *buf, int size, void *stream)
{
	struct parser *p = stream;
	const char *newline = memchr(p->at, '\n', (size_t)(p->end - p->at));
	size_t len = (size_t)((newline ? newline : p->end) - p->at);

	if (p->at == p->end || p->result < 0)
		return NULL;
	p->line++;
	if (len > MAX_LINE || len + 2 > (size_t)size) {
		p->result = fail(p, "the line is longer than %d bytes", MAX_LINE);
		return NULL;
	}
	if (memchr(p->at, '\0', len)) {
		p->result = fail(p, "there is a zero byte in the line");
		return NULL;
	}
	memcpy(buf, p->at, len);
	buf[len] = '\0';
	p->at += len + (newline != NULL);
	return buf;
}

static int check_rules(struct parser *p)
{
	const struct service_rules *rules = &p->config->rules;
	_cleanup_strbuf_ struct strbuf why = {};
	unsigned int line = p->line;
	int r = service_rules_check(rules, &line, &why);

	p->line = line;
	if (r == 0 && rules->n > 0 && !p->config->watches)
		return fail(p, "rules need what [watch] enabled = no turns off");
	return fail_named(p, r, &why);
}

static int check_pushes(struct parser *p)
{
	_cleanup_strbuf_ struct strbuf why = {};
	unsigned int line = p->line;
	int r = push_targets_check(&p->config->pushes, &line, &why);

	p->line = line;
	return fail_named(p, r, &why);
}

/* What only all keys together can say. */
static int check(struct parser *p)
{
	const struct service_config *c = p->config;
	int r;

	for (size_t i = 0; i < c->n_listens; i++) {
		if (c->listens[i].address.ss_family == AF_UNIX || c->listens[i].is_loopback)
			continue;
		if (!c->remote)
			return fail(p,
				    "'%s' can be reached from other hosts: give 'remote = yes', "
				    "too, if that is meant",
				    c->listens[i].text);
		if (!c->token_file)
			return fail(p,
				    "'%s' can be reached from other hosts, whose users are not "
				    "known: give a token_file, too",
				    c->listens[i].text);
	}
	if (c->seconds_ns > c->max_seconds_ns)
		return fail(p, "[trace] seconds is more than max_seconds");
	r = check_rules(p);
	return r ? r : check_pushes(p);
}

static int set_defaults(struct service_config *config, const char *path)
{
	config->path = strdup(path);
	config->socket_mode = 0660;
	config->max_connections = 64;
	config->max_connections_of_user = 16;
	config->timeout_ns = 10 * SECOND_NS;
	config->max_answer = 256ULL << 20;
	config->seconds_ns = 5 * SECOND_NS;
	config->max_seconds_ns = 600 * SECOND_NS;
	config->max_traces = 4;
	config->max_traces_of_user = 2;
	config->reserved_traces = 1;
	config->max_overhead = 500;
	config->watches = true;
	config->watch_interval_ns = 10 * SECOND_NS;
	config->growth_window_ns = 600 * SECOND_NS;
	config->grows = true;
	config->growth_period = 1000;
	config->growth_mappings = false;
	config->growth_stacks = 32768;
	config->processes = 50;
	config->cgroups = 50;
	config->max_reports = 100;
	config->max_state_size = 1ULL << 30;
	config->max_age_ns = 30ULL * 86400 * SECOND_NS;
	config->post_mortems = true;
	config->post_mortem_format = strdup("html");
	config->state_directory = strdup(SERVICE_STATE_PATH);
	return config->path && config->state_directory && config->post_mortem_format ? 0 : -ENOMEM;
}

static int parse(struct parser *p)
{
	const char *why;
	int r = ini_parse_stream(read_line, p, on_value, p);

	/* The library's own errors come without a word, and it goes on to read. */
	if (r > 0 && (p->result == 0 || (unsigned int)r < p->line)) {
		strbuf_reset(p->error);
		p->line = (unsigned int)r;
		return fail(p, "this is no [section], and no line NAME = VALUE");
	}
	if (r == -2)
		return -ENOMEM;
	if (p->result < 0)
		return p->result;
	if (p->config->n_listens == 0)
		r = add_listen(p->config, "unix " SERVICE_SOCKET_PATH, &why);
	return r < 0 ? r : check(p);
}

int service_config_parse(const char *text, size_t len, const char *path,
			 const struct service_config **ret_config, struct strbuf *error)
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));
	_cleanup_(service_config_unref_p) const struct service_config *config =
		snapshot ? &snapshot->config : NULL;
	struct parser p = { .error = error, .path = path, .at = text, .end = text + len };
	int r;

	if (!snapshot)
		return -ENOMEM;
	atomic_init(&snapshot->references, 1);
	p.config = &snapshot->config;
	r = set_defaults(p.config, path);
	if (r == 0)
		r = parse(&p);
	if (r == 0)
		*ret_config = TAKE_PTR(config);
	return r;
}

int service_config_read(const char *path, const struct service_config **ret_config,
			struct strbuf *error)
{
	const char *name = path ? path : SERVICE_CONFIG_PATH;
	_cleanup_close_ int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	_cleanup_strbuf_ struct strbuf text = {};
	int r = fd < 0 ? -errno : strbuf_read(&text, fd, MAX_FILE);

	if (r == -ENOENT && !path)
		r = 0;
	if (r < 0) {
		strbuf_addf(error, "%s: %s", name, strerror(-r));
		return r;
	}
	return service_config_parse(strbuf_str(&text), text.len, name, ret_config, error);
}

static void config_done(struct service_config *config)
{
	for (size_t i = 0; i < config->n_listens; i++)
		free(config->listens[i].text);
	free(config->listens);
	words_free(config->hosts);
	words_free(config->allocators);
	free(config->path);
	free(config->token_file);
	free(config->socket_group);
	free(config->target);
	free(config->cgroup_root);
	service_rules_done(&config->rules);
	push_targets_done(&config->pushes);
	free(config->state_directory);
	free(config->post_mortem_format);
	words_free(config->standing);
}

/* Only its count of references changes: the configuration is its first member. */
static struct snapshot *snapshot_of(const struct service_config *config)
{
	return (struct snapshot *)config;
}

const struct service_config *service_config_ref(const struct service_config *config)
{
	if (config)
		atomic_fetch_add(&snapshot_of(config)->references, 1);
	return config;
}

void service_config_unref(const struct service_config *config)
{
	struct snapshot *snapshot = snapshot_of(config);

	if (!config || atomic_fetch_sub(&snapshot->references, 1) > 1)
		return;
	config_done(&snapshot->config);
	free(snapshot);
}

void service_config_set(const struct service_config **at, const struct service_config *config)
{
	const struct service_config *old = *at;

	*at = service_config_ref(config);
	service_config_unref(old);
}
