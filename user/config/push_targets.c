/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/push_targets.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "config/key.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SECTION "push"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define TEXT_MOST 256

/* Nothing that ends a line, or that a terminal obeys. */
static bool is_plain(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

/* --- one choice of a few, and several -------------------------------------------------------- */

static const char *const kinds[] = {
	[PUSH_PYROSCOPE] = "pyroscope",
	[PUSH_PARCA] = "parca",
	[PUSH_OTLP] = "otlp",
	NULL,
};

static const char *const profiles[PUSH_PROFILES] = {
	[PUSH_HEAP] = "heap",
	[PUSH_ALLOCS] = "allocs",
	[PUSH_CPU] = "cpu",
	[PUSH_GROWTH] = "growth",
};

static int refuse_profile(const char *name, size_t len, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf all = {};

	for (size_t i = 0; i < PUSH_PROFILES; i++)
		strbuf_addf(&all, "%s%s", i ? ", " : "", profiles[i]);
	return config_error(why, "invalid profile '%.*s': expected some of %s", (int)len, name,
			    strbuf_str(&all));
}

static int apply_profiles(void *object, const struct key *key, const char *value,
			  struct strbuf *why)
{
	struct push_target *target = object;

	(void)key; /* sets its own field */
	target->profiles = 0;
	while (*(value += strspn(value, " \t,"))) {
		size_t len = strcspn(value, " \t,"), i = 0;

		while (i < PUSH_PROFILES &&
		       (strlen(profiles[i]) != len || memcmp(profiles[i], value, len) != 0))
			i++;
		if (i == PUSH_PROFILES)
			return refuse_profile(value, len, why);
		target->profiles |= PUSH_BIT(i);
		value += len;
	}
	return target->profiles ? 0 : config_error(why, "'profiles' names none");
}

/* --- texts ----------------------------------------------------------------------------------- */

/* No name and password: an address is logged. */
static int apply_url(void *object, const struct key *key, const char *value, struct strbuf *why)
{
	size_t scheme = strncmp(value, "http://", 7) == 0  ? 7 :
			strncmp(value, "https://", 8) == 0 ? 8 :
							     0;
	struct push_target *target = object;
	const char *host = value + scheme;
	size_t len = strlen(value);
	int r;

	if (scheme == 0 || *host == '\0' || *host == '/' || *host == ':')
		return key_refuse(key, value, why);
	if (value[strcspn(value, "?#@ \t\\")] || !is_plain(value) || len > TEXT_MOST)
		return config_error(why,
				    "invalid url '%s': expected scheme, host, port and path, "
				    "%d bytes at most; users and tokens have keys of their own",
				    value, TEXT_MOST);
	r = key_set(target, key, value, why);
	while (r == 0 && len > scheme && target->url[len - 1] == '/')
		target->url[--len] = '\0';
	return r;
}

static int apply_service(void *object, const struct key *key, const char *value, struct strbuf *why)
{
	if (value[strspn(value, LETTERS DIGITS "-_./")] || strlen(value) > TEXT_MOST)
		return key_refuse(key, value, why);
	return key_set(object, key, value, why);
}

/* RFC 7617: a colon would end the name. */
static int apply_user(void *object, const struct key *key, const char *value, struct strbuf *why)
{
	if (strchr(value, ':') || !is_plain(value) || strlen(value) > TEXT_MOST)
		return key_refuse(key, value, why);
	return key_set(object, key, value, why);
}

/* As Prometheus has names; two underscores begin its own. */
static int apply_label(void *object, const struct key *key, const char *value, struct strbuf *why)
{
	struct push_target *target = object;
	size_t len = strspn(value, LETTERS DIGITS "_");
	struct push_label *labels, label = {};
	const char *text = value + len;

	(void)key; /* sets its own field */
	text += strspn(text, " \t");
	if (len == 0 || strchr(DIGITS, *value) || strncmp(value, "__", 2) == 0 || *text != '=')
		return config_error(why, "invalid label '%s': expected one such as region=eu",
				    value);
	text += 1 + strspn(text + 1, " \t");
	if (*text == '\0' || !is_plain(text) || strlen(value) > TEXT_MOST)
		return config_error(why, "the label '%.*s' has no value, or none that can be sent",
				    (int)len, value);
	if (target->n_labels == PUSH_LABELS_MOST)
		return config_error(why, "there are more than %d labels", PUSH_LABELS_MOST);
	labels = reallocarray(target->labels, target->n_labels + 1, sizeof(*labels));
	if (!labels)
		return -ENOMEM;
	target->labels = labels;
	label.name = strndup(value, len);
	label.value = strdup(text);
	labels[target->n_labels++] = label;
	return label.name && label.value ? 0 : -ENOMEM;
}

/* What says how the body is to be read, and where it goes, is ours. */
static bool is_ours(const char *header, size_t len)
{
	static const char *const ours[] = { "Host",
					    "Authorization",
					    "Content-Type",
					    "Content-Length",
					    "Content-Encoding",
					    "Connection",
					    "Transfer-Encoding",
					    "Expect" };

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (strlen(ours[i]) == len && strncasecmp(header, ours[i], len) == 0)
			return true;
	return false;
}

static int apply_header(void *object, const struct key *key, const char *value, struct strbuf *why)
{
	struct push_target *target = object;
	size_t len = strspn(value, LETTERS DIGITS "-_");
	char **headers;

	(void)key; /* sets its own field */
	if (len == 0 || value[len] != ':' || !is_plain(value) || strlen(value) > TEXT_MOST)
		return config_error(why,
				    "invalid header '%s': expected one such as X-Scope-OrgID: team",
				    value);
	if (is_ours(value, len))
		return config_error(why,
				    "the header '%.*s' is not yours to set; token_file is for "
				    "Authorization",
				    (int)len, value);
	if (target->n_headers == PUSH_HEADERS_MOST)
		return config_error(why, "there are more than %d headers", PUSH_HEADERS_MOST);
	headers = reallocarray(target->headers, target->n_headers + 1, sizeof(*headers));
	if (!headers)
		return -ENOMEM;
	target->headers = headers;
	headers[target->n_headers] = strdup(value);
	return headers[target->n_headers++] ? 0 : -ENOMEM;
}

/* --- the table ------------------------------------------------------------------------------- */

#define FIELD(name) KEY_FIELD(struct push_target, name)
#define TIMES(lo, hi) .least = (lo)*SECOND_NS, .most = (hi)*SECOND_NS

/* clang-format off */
static const struct key keys[] = {
#define KEY_TO 0
	{ SECTION, "to", KEY_CHOICE, FIELD(to), .choices = kinds },
	{ SECTION, "url", KEY_TEXT, FIELD(url), .apply = apply_url,
	  .expected = "one as in https://profiles.example:4040" },
	{ SECTION, "every", KEY_TIME, FIELD(every_ns), TIMES(1, 3600), .fallback = "15s" },
	{ SECTION, "profiles", KEY_OWN, .apply = apply_profiles, .fallback = "heap" },
	{ SECTION, "service", KEY_TEXT, FIELD(service), .apply = apply_service,
	  .expected = "letters, digits, '-', '_', '.' and '/'" },
	{ SECTION, "label", KEY_OWN, .apply = apply_label, .repeats = true },
	{ SECTION, "header", KEY_OWN, .apply = apply_header, .repeats = true },
	{ SECTION, "token_file", KEY_PATH, FIELD(token_file) },
	{ SECTION, "user", KEY_TEXT, FIELD(user), .apply = apply_user,
	  .expected = "a name without a colon" },
	{ SECTION, "ca_file", KEY_PATH, FIELD(ca_file) },
	{ SECTION, "timeout", KEY_TIME, FIELD(timeout_ns), TIMES(1, 600), .fallback = "10s" },
	{ SECTION, "queue", KEY_SIZE, FIELD(queue_bytes), .least = 64 << 10, .most = 1 << 30,
	  .fallback = "16M" },
};
/* clang-format on */
const struct key_table push_keys = KEY_TABLE(keys);
_Static_assert(sizeof(keys) / sizeof(keys[0]) <= KEY_LINES, "key_section.lines");

/* --- all of them ----------------------------------------------------------------------------- */

bool push_targets_has(const char *section)
{
	return key_section_is(section, SECTION);
}

static void target_done(void *object)
{
	struct push_target *target = object;

	for (size_t i = 0; i < target->n_labels; i++) {
		free(target->labels[i].name);
		free(target->labels[i].value);
	}
	for (size_t i = 0; i < target->n_headers; i++)
		free(target->headers[i]);
	free(target->labels);
	free(target->headers);
}

static const struct key_sections sections = {
	.kind = SECTION,
	.table = &push_keys,
	.size = sizeof(struct push_target),
	.most = PUSH_TARGETS_MOST,
	.many = "targets of a push",
	.done = target_done,
};

int push_targets_set(struct push_targets *targets, const char *section, unsigned int line,
		     const char *name, const char *value, struct strbuf *why)
{
	void *list = targets->list;
	int r = key_sections_set(&sections, &list, &targets->n, section, line, name, value, why);

	targets->list = list;
	return r;
}

int push_targets_check(const struct push_targets *targets, unsigned int *ret_line,
		       struct strbuf *why)
{
	for (size_t i = 0; i < targets->n; i++) {
		const struct push_target *target = &targets->list[i];

		*ret_line = target->section.line;
		if (!target->section.lines[KEY_TO])
			return config_error(why, "[push %s] has no 'to': pyroscope, parca or otlp",
					    target->section.name);
		if (!target->url)
			return config_error(why, "[push %s] has no 'url'", target->section.name);
		if (target->user && !target->token_file)
			return config_error(why,
					    "[push %s] has a 'user', but no 'token_file' with its "
					    "password",
					    target->section.name);
	}
	return 0;
}

void push_targets_done(struct push_targets *targets)
{
	key_sections_done(&sections, targets->list, targets->n);
	*targets = (struct push_targets){};
}
