/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/service_config.h"

#include "base/clock.h"
#include "config/allocator_spec.h"
#include "config/key.h"
#include "config/name_globs.h"
#include "config/units.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#define MAX_FILE (1U << 20)
#define MAX_LISTENS 16
#define ADDRESS_LEN 64
#define MAX_WORDS SERVICE_MAX_ALLOCATORS /* of hosts as well */
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
	unsigned int lines[KEY_LINES];
	int result; /* of the first error */
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

/* --- [http] listen ---------------------------------------------------------------------------- */

static int parse_unix(const char *path, struct service_listen *listen, const char **ret_why)
{
	struct sockaddr_un *address = (struct sockaddr_un *)&listen->address;

	if (path[0] != '/') {
		*ret_why = "a Unix socket needs an absolute path";
		return -EINVAL;
	}
	if (strlen(path) >= sizeof(address->sun_path)) {
		*ret_why = "the path of a Unix socket has at most 107 bytes";
		return -EINVAL;
	}
	address->sun_family = AF_UNIX;
	strcpy(address->sun_path, path);
	listen->address_len = sizeof(*address);
	return 0;
}

/* `host` is without brackets. */
static int parse_host(const char *host, bool is_ipv6, uint16_t port, struct service_listen *listen)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&listen->address;
	struct sockaddr_in *in = (struct sockaddr_in *)&listen->address;

	if (is_ipv6) {
		if (inet_pton(AF_INET6, host, &in6->sin6_addr) != 1)
			return -EINVAL;
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		listen->address_len = sizeof(*in6);
		listen->is_loopback = IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
		return 0;
	}
	if (inet_pton(AF_INET, host, &in->sin_addr) != 1)
		return -EINVAL;
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	listen->address_len = sizeof(*in);
	listen->is_loopback = ntohl(in->sin_addr.s_addr) >> 24 == 127;
	return 0;
}

static int parse_tcp(const char *text, struct service_listen *listen, const char **ret_why)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	bool is_ipv6 = len > 2 && text[0] == '[' && text[len - 1] == ']';
	char host[ADDRESS_LEN];
	uint64_t port;

	*ret_why = "give 'unix PATH', 'ADDRESS:PORT' or '[ADDRESS]:PORT'; names are not looked up";
	if (len == 0 || len >= sizeof(host) ||
	    parse_digits(colon + 1, colon + strlen(colon), &port) < 0)
		return -EINVAL;
	if (port == 0 || port > UINT16_MAX) {
		*ret_why = "a port is 1 to 65535";
		return -EINVAL;
	}
	memcpy(host, text + is_ipv6, len - 2 * is_ipv6);
	host[len - 2 * is_ipv6] = '\0';
	return parse_host(host, is_ipv6, (uint16_t)port, listen);
}

static int listen_parse(const char *text, struct service_listen *ret_listen, const char **ret_why)
{
	struct service_listen listen = {};
	const char *path = strncmp(text, "unix", 4) == 0 ? text + 4 : NULL;
	int r;

	if (path && (*path == ' ' || *path == '\t'))
		r = parse_unix(path + strspn(path, " \t"), &listen, ret_why);
	else
		r = parse_tcp(text, &listen, ret_why);
	if (r < 0)
		return r;
	listen.text = strdup(text);
	if (!listen.text)
		return -ENOMEM;
	*ret_listen = listen;
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
	r = listen_parse(value, &listens[config->n_listens], ret_why);
	config->n_listens += r == 0;
	return r;
}

static int apply_listen(void *object, const struct key *key, const char *value,
			struct strbuf *error)
{
	struct service_config *config = object;
	const char *why;
	int r;

	if (config->n_listens == MAX_LISTENS)
		return config_error(error, "there are more than %d lines '%s'", MAX_LISTENS,
				    key->name);
	r = add_listen(config, value, &why);
	return r == -EINVAL ? config_error(error, "invalid %s '%s': %s", key->name, value, why) : r;
}

/* --- the other keys --------------------------------------------------------------------------- */

static int apply_mode(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	struct service_config *config = object;
	const char *at = value;
	uint64_t mode = 0;

	for (; *at >= '0' && *at <= '7' && mode <= 0777; at++)
		mode = mode * 8 + (uint64_t)(*at - '0');
	if (at == value || *at || mode > 0777)
		return key_refuse(key, value, error);
	config->socket_mode = mode;
	return 0;
}

static int apply_host(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-_";

	if (value[strspn(value, letters)])
		return key_refuse(key, value, error);
	return key_set(object, key, value, error);
}

static int apply_allocator(void *object, const struct key *key, const char *value,
			   struct strbuf *error)
{
	_cleanup_strbuf_ struct strbuf why = {};
	struct allocator_spec spec;
	int r = allocator_spec_parse(value, &spec, &why);

	if (r == -EINVAL)
		return config_error(error, "invalid %s '%s': %s", key->name, value,
				    strbuf_str(&why));
	if (r < 0)
		return r;
	allocator_spec_done(&spec);
	return key_set(object, key, value, error);
}

/* All names together must fit into one automaton. */
static int apply_standing(void *object, const struct key *key, const char *value,
			  struct strbuf *error)
{
	const struct service_config *config = object;
	_cleanup_strbuf_ struct strbuf why = {};
	struct abi_names names = {};
	int r = 0;

	for (char **name = config->standing; r == 0 && name && *name; name++)
		r = name_globs_add(&names, *name, &why);
	if (r == 0)
		r = name_globs_add(&names, value, &why);
	if (r == -EINVAL || r == -ENOSPC)
		return config_error(error, "'%s' is as '--comm': %s", key->name, strbuf_str(&why));
	return r ? r : key_set(object, key, value, error);
}

#define FIELD(name) KEY_FIELD(struct service_config, name)
#define RANGE(lo, hi) .least = (lo), .most = (hi)
#define TIMES(lo, hi) .least = (lo)*SECOND_NS, .most = (hi)*SECOND_NS

/* clang-format off */
static const struct key keys[] = {
	{ "http", "listen", KEY_OWN, .repeats = true, .apply = apply_listen },
	{ "http", "host", KEY_LIST, FIELD(hosts), .repeats = true, .apply = apply_host,
	  .most = MAX_WORDS, .expected = "a host's name without a port" },
	{ "http", "remote", KEY_BOOL, FIELD(remote), .fallback = "no" },
	{ "http", "token_file", KEY_PATH, FIELD(token_file) },
	{ "http", "socket_mode", KEY_OWN, .apply = apply_mode, .fallback = "0660",
	  .expected = "a file's mode in octal, as in 0660" },
	{ "http", "socket_group", KEY_TEXT, FIELD(socket_group) },
	{ "http", "max_connections", KEY_NUMBER, FIELD(max_connections), RANGE(1, 1000),
	  .fallback = "64" },
	{ "http", "max_connections_of_user", KEY_NUMBER, FIELD(max_connections_of_user),
	  RANGE(1, 1000), .fallback = "16" },
	{ "http", "timeout", KEY_TIME, FIELD(timeout_ns), TIMES(1, 600), .fallback = "10s" },
	{ "http", "max_answer", KEY_SIZE, FIELD(max_answer), RANGE(1 << 16, 1ULL << 32),
	  .fallback = "256M" },
	{ "trace", "target", KEY_TEXT, FIELD(target) },
	{ "trace", "seconds", KEY_TIME, FIELD(seconds_ns), TIMES(1, 3600), .fallback = "5" },
	{ "trace", "max_seconds", KEY_TIME, FIELD(max_seconds_ns), TIMES(1, 86400),
	  .fallback = "10m" },
	{ "trace", "max_traces", KEY_NUMBER, FIELD(max_traces), RANGE(1, 64), .fallback = "4" },
	{ "trace", "max_traces_of_user", KEY_NUMBER, FIELD(max_traces_of_user), RANGE(0, 64),
	  .fallback = "2" },
	{ "trace", "reserved_traces", KEY_NUMBER, FIELD(reserved_traces), RANGE(0, 64),
	  .fallback = "1" },
	{ "trace", "memory_limit", KEY_SIZE, FIELD(trace_memory), RANGE(96 << 20, 1ULL << 40) },
	{ "trace", "allocator", KEY_LIST, FIELD(allocators), .most = MAX_WORDS, .repeats = true,
	  .apply = apply_allocator },
	{ "trace", "wrapper", KEY_LIST, FIELD(wrappers), .most = SERVICE_MAX_WRAPPERS,
	  .repeats = true, .expected = "the name of a function, with * and ?" },
	{ "trace", "max_overhead", KEY_SHARE, FIELD(max_overhead), RANGE(1, 10000),
	  .apply = key_set_limit, .fallback = "5%",
	  .expected = "one from 0.01% to 100%, or none for no limit" },
	{ "watch", "enabled", KEY_BOOL, FIELD(watches), .fallback = "yes" },
	{ "watch", "interval", KEY_TIME, FIELD(watch_interval_ns), TIMES(1, 3600),
	  .fallback = "10s" },
	{ "watch", "pss_interval", KEY_TIME, FIELD(pss_interval_ns), TIMES(0, 86400),
	  .fallback = "0" },
	{ "watch", "growth", KEY_TIME, FIELD(growth_window_ns), TIMES(1, 86400),
	  .fallback = "10m" },
	{ "watch", "cgroup_root", KEY_PATH, FIELD(cgroup_root) },
	{ "growth", "enabled", KEY_BOOL, FIELD(grows), .fallback = "yes" },
	{ "growth", "mappings", KEY_BOOL, FIELD(growth_mappings), .fallback = "no" },
	{ "growth", "period", KEY_NUMBER, FIELD(growth_period), RANGE(1, 1000000000),
	  .fallback = "1000" },
	{ "growth", "max_stacks", KEY_NUMBER, FIELD(growth_stacks), RANGE(100, 200000),
	  .fallback = "32768" },
	{ "metrics", "processes", KEY_NUMBER, FIELD(processes), RANGE(0, 100000),
	  .fallback = "50" },
	{ "metrics", "cgroups", KEY_NUMBER, FIELD(cgroups), RANGE(0, 100000), .fallback = "50" },
	{ "state", "directory", KEY_PATH, FIELD(state_directory), .fallback = SERVICE_STATE_PATH },
	{ "state", "max_reports", KEY_NUMBER, FIELD(max_reports), RANGE(1, 100000),
	  .fallback = "100" },
	{ "state", "max_age", KEY_TIME, FIELD(max_age_ns), TIMES(60, 10ULL * 366 * 86400),
	  .fallback = "30d" },
	{ "state", "max_size", KEY_SIZE, FIELD(max_state_size), RANGE(1 << 20, 1ULL << 44),
	  .fallback = "1G" },
	{ "post_mortem", "reports", KEY_BOOL, FIELD(post_mortems), .fallback = "yes" },
	{ "post_mortem", "format", KEY_TEXT, FIELD(post_mortem_format), .fallback = "html" },
	{ "post_mortem", "trace", KEY_LIST, FIELD(standing), .repeats = true,
	  .most = SERVICE_MOST_TRACED, .apply = apply_standing },
	{ "post_mortem", "depth", KEY_CHOICE, FIELD(standing_depth), .choices = heap_depth_names,
	  .fallback = "exact" },
};
/* clang-format on */
const struct key_table service_keys = KEY_TABLE(keys);
_Static_assert(sizeof(keys) / sizeof(keys[0]) <= KEY_LINES, "parser.lines");

/* --- the file --------------------------------------------------------------------------------- */

static int set_key(struct parser *p, const char *section, const char *name, const char *value)
{
	_cleanup_strbuf_ struct strbuf why = {};
	int r;

	if (service_rules_has(section))
		r = service_rules_set(&p->config->rules, section, p->line, name, value, &why);
	else if (push_targets_has(section))
		r = push_targets_set(&p->config->pushes, section, p->line, name, value, &why);
	else
		r = key_table_set(&service_keys, p->config, p->lines, p->line, section, name, value,
				  &why);
	return r == -EINVAL ? fail(p, "%s", strbuf_str(&why)) : r;
}

/* An ini_handler: 0 is an error there. */
static int on_value(void *user, const char *section, const char *name, const char *value)
{
	struct parser *p = user;

	if (p->result == 0)
		p->result = set_key(p, section, name, value);
	return p->result == 0;
}

/* The library takes " ;" for the beginning of a comment, but not " #". */
static void cut_comment(char *line)
{
	for (char *s = line; (s = strchr(s, '#')); s++)
		if (s > line && (s[-1] == ' ' || s[-1] == '\t')) {
			*s = '\0';
			return;
		}
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
	cut_comment(buf);
	p->at += len + (newline != NULL);
	return buf;
}

/* Of whole rules and targets; p->line becomes the place. */
static int check_named(struct parser *p)
{
	_cleanup_strbuf_ struct strbuf why = {};
	const struct service_config *c = p->config;
	unsigned int line = p->line;
	int r = service_rules_check(&c->rules, &line, &why);

	if (r == 0 && c->rules.n > 0 && !c->watches)
		r = config_error(&why, "rules need what [watch] enabled = no turns off");
	if (r == 0)
		r = push_targets_check(&c->pushes, &line, &why);
	p->line = line;
	return r == -EINVAL ? fail(p, "%s", strbuf_str(&why)) : r;
}

/* What only all keys together can say. */
static int check_config(struct parser *p)
{
	const struct service_config *c = p->config;

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
		return fail(p, "[trace] seconds is more than [trace] max_seconds");
	return check_named(p);
}

static int parse_config(struct parser *p)
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
	return r < 0 ? r : check_config(p);
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
	p.config->path = strdup(path);
	r = p.config->path ? key_table_init(&service_keys, p.config) : -ENOMEM;
	if (r == 0)
		r = parse_config(&p);
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
	free(config->path);
	service_rules_done(&config->rules);
	push_targets_done(&config->pushes);
	key_table_done(&service_keys, config);
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
