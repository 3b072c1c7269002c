/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/push_targets.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "config/named_section.h"
#include "config/spec_text.h"
#include "config/units.h"

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
};

static const char *const profiles[PUSH_PROFILES] = {
	[PUSH_HEAP] = "heap",
	[PUSH_ALLOCS] = "allocs",
	[PUSH_CPU] = "cpu",
	[PUSH_GROWTH] = "growth",
};

static int apply_to(struct push_target *target, const char *value, struct strbuf *why)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i], value) != 0)
			continue;
		target->to = (enum push_to)i;
		return 0;
	}
	return spec_error(why, "'%s' is no value of 'to': give pyroscope, parca or otlp", value);
}

static int apply_profiles(struct push_target *target, const char *value, struct strbuf *why)
{
	target->profiles = 0;
	while (*(value += strspn(value, " \t,"))) {
		size_t len = strcspn(value, " \t,"), i = 0;

		while (i < PUSH_PROFILES &&
		       (strlen(profiles[i]) != len || memcmp(profiles[i], value, len) != 0))
			i++;
		if (i == PUSH_PROFILES)
			return spec_error(why,
					  "'%.*s' is no profile that can be pushed: give some of "
					  "heap, allocs and cpu, with commas between them",
					  (int)len, value);
		target->profiles |= PUSH_BIT(i);
		value += len;
	}
	return target->profiles ? 0 : spec_error(why, "'profiles' names none");
}

/* --- texts ----------------------------------------------------------------------------------- */

/* No name and password: an address is logged. */
static int apply_url(struct push_target *target, const char *value, struct strbuf *why)
{
	size_t scheme = strncmp(value, "http://", 7) == 0  ? 7 :
			strncmp(value, "https://", 8) == 0 ? 8 :
							     0;
	const char *host = value + scheme;
	size_t len = strlen(value);
	int r;

	if (scheme == 0 || *host == '\0' || *host == '/' || *host == ':')
		return spec_error(why,
				  "'%s' is no value of 'url': give one as in "
				  "https://profiles.example:4040",
				  value);
	if (value[strcspn(value, "?#@ \t\\")] || !is_plain(value) || len > TEXT_MOST)
		return spec_error(why,
				  "'%s' is no value of 'url': give scheme, host, port and path, "
				  "%d bytes at most; users and tokens have keys of their own",
				  value, TEXT_MOST);
	r = named_section_text(&target->url, value);
	while (r == 0 && len > scheme && target->url[len - 1] == '/')
		target->url[--len] = '\0';
	return r;
}

static int apply_service(struct push_target *target, const char *value, struct strbuf *why)
{
	if (value[strspn(value, LETTERS DIGITS "-_./")] || strlen(value) > TEXT_MOST)
		return spec_error(why,
				  "'%s' is no value of 'service': give letters, digits, '-', '_', "
				  "'.' and '/'",
				  value);
	return named_section_text(&target->service, value);
}

/* As Prometheus has names; two underscores begin its own. */
static int apply_label(struct push_target *target, const char *value, struct strbuf *why)
{
	size_t len = strspn(value, LETTERS DIGITS "_");
	struct push_label *labels, label = {};
	const char *text = value + len;

	text += strspn(text, " \t");
	if (len == 0 || strchr(DIGITS, *value) || strncmp(value, "__", 2) == 0 || *text != '=')
		return spec_error(why, "'%s' is no label: give one as in region=eu", value);
	text += 1 + strspn(text + 1, " \t");
	if (*text == '\0' || !is_plain(text) || strlen(value) > TEXT_MOST)
		return spec_error(why, "the label '%.*s' has no value, or none that can be sent",
				  (int)len, value);
	if (target->n_labels == PUSH_LABELS_MOST)
		return spec_error(why, "there are more than %d labels", PUSH_LABELS_MOST);
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

static int apply_header(struct push_target *target, const char *value, struct strbuf *why)
{
	size_t len = strspn(value, LETTERS DIGITS "-_");
	char **headers;

	if (len == 0 || value[len] != ':' || !is_plain(value) || strlen(value) > TEXT_MOST)
		return spec_error(why, "'%s' is no header: give one as in X-Scope-OrgID: team",
				  value);
	if (is_ours(value, len))
		return spec_error(why,
				  "the header '%.*s' is not yours to set; token_file is for "
				  "Authorization",
				  (int)len, value);
	if (target->n_headers == PUSH_HEADERS_MOST)
		return spec_error(why, "there are more than %d headers", PUSH_HEADERS_MOST);
	headers = reallocarray(target->headers, target->n_headers + 1, sizeof(*headers));
	if (!headers)
		return -ENOMEM;
	target->headers = headers;
	headers[target->n_headers] = strdup(value);
	return headers[target->n_headers++] ? 0 : -ENOMEM;
}

static int set_path(char **field, const char *key, const char *value, struct strbuf *why)
{
	if (*value != '/')
		return spec_error(why, "'%s' is no value of '%s': give an absolute path", value,
				  key);
	return named_section_text(field, value);
}

static int apply_token_file(struct push_target *target, const char *value, struct strbuf *why)
{
	return set_path(&target->token_file, "token_file", value, why);
}

static int apply_ca_file(struct push_target *target, const char *value, struct strbuf *why)
{
	return set_path(&target->ca_file, "ca_file", value, why);
}

/* RFC 7617: a colon would end the name. */
static int apply_user(struct push_target *target, const char *value, struct strbuf *why)
{
	if (strchr(value, ':') || !is_plain(value) || strlen(value) > TEXT_MOST)
		return spec_error(why, "'%s' is no value of 'user': a name without a colon", value);
	return named_section_text(&target->user, value);
}

/* --- numbers --------------------------------------------------------------------------------- */

static int apply_every(struct push_target *target, const char *value, struct strbuf *why)
{
	return named_section_time(&target->every_ns, "every", value, SECOND_NS, 3600 * SECOND_NS,
				  why);
}

static int apply_timeout(struct push_target *target, const char *value, struct strbuf *why)
{
	return named_section_time(&target->timeout_ns, "timeout", value, SECOND_NS, 600 * SECOND_NS,
				  why);
}

static int apply_queue(struct push_target *target, const char *value, struct strbuf *why)
{
	uint64_t bytes;

	if (parse_size(value, &bytes) < 0 || bytes < 64 << 10 || bytes > 1 << 30)
		return spec_error(why, "'%s' is no value of 'queue': at least 64k, at most 1G",
				  value);
	target->queue_bytes = bytes;
	return 0;
}

/* --- the table ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*apply)(struct push_target *target, const char *value, struct strbuf *why);
	bool repeats;
} keys[PUSH_TARGET_KEYS] = {
	{ "to", apply_to, false },	     { "url", apply_url, false },
	{ "every", apply_every, false },     { "profiles", apply_profiles, false },
	{ "service", apply_service, false }, { "label", apply_label, true },
	{ "header", apply_header, true },    { "token_file", apply_token_file, false },
	{ "user", apply_user, false },	     { "ca_file", apply_ca_file, false },
	{ "timeout", apply_timeout, false }, { "queue", apply_queue, false },
};
#define KEY_TO 0
#define KEY_URL 1

static int unknown_key(const char *name, struct strbuf *why)
{
	const char *names[PUSH_TARGET_KEYS + 1] = { NULL };

	for (size_t i = 0; i < PUSH_TARGET_KEYS; i++)
		names[i] = keys[i].name;
	return named_section_unknown("targets of a push", name, names, why);
}

static int apply(struct push_target *target, unsigned int line, const char *name, const char *value,
		 struct strbuf *why)
{
	for (size_t i = 0; i < PUSH_TARGET_KEYS; i++) {
		if (strcmp(keys[i].name, name) != 0)
			continue;
		if (target->lines[i] && !keys[i].repeats)
			return spec_error(why, "'%s' is given twice: give it once", name);
		target->lines[i] = line;
		if (*value == '\0')
			return spec_error(why, "'%s' has no value: give one, or leave the line out",
					  name);
		return keys[i].apply(target, value, why);
	}
	return unknown_key(name, why);
}

/* --- all of them ----------------------------------------------------------------------------- */

bool push_targets_has(const char *section)
{
	return named_section_is(section, SECTION);
}

static void target_done(struct push_target *target)
{
	for (size_t i = 0; i < target->n_labels; i++) {
		free(target->labels[i].name);
		free(target->labels[i].value);
	}
	for (size_t i = 0; i < target->n_headers; i++)
		free(target->headers[i]);
	free(target->labels);
	free(target->headers);
	free(target->name);
	free(target->url);
	free(target->service);
	free(target->token_file);
	free(target->user);
	free(target->ca_file);
}

static int add_target(struct push_targets *targets, const char *name, unsigned int line)
{
	struct push_target target = { .name = strdup(name),
				      .every_ns = 15 * SECOND_NS,
				      .profiles = PUSH_BIT(PUSH_HEAP),
				      .timeout_ns = 10 * SECOND_NS,
				      .queue_bytes = 16 << 20,
				      .line = line };
	struct push_target *list = NULL;

	if (target.name)
		list = reallocarray(targets->list, targets->n + 1, sizeof(*list));
	if (!list) {
		target_done(&target);
		return -ENOMEM;
	}
	list[targets->n++] = target;
	targets->list = list;
	return 0;
}

int push_targets_take(struct push_targets *targets, const char *section, unsigned int line,
		      const char *name, const char *value, struct strbuf *why)
{
	const char *called;
	size_t i = 0;
	int r = named_section_name(section, SECTION, &called, why);

	if (r < 0)
		return r;
	while (i < targets->n && strcmp(targets->list[i].name, called) != 0)
		i++;
	if (i == PUSH_TARGETS_MOST)
		return spec_error(why, "there are more than %d targets of a push",
				  PUSH_TARGETS_MOST);
	r = i == targets->n ? add_target(targets, called, line) : 0;
	return r ? r : apply(&targets->list[i], line, name, value, why);
}

int push_targets_check(const struct push_targets *targets, unsigned int *ret_line,
		       struct strbuf *why)
{
	for (size_t i = 0; i < targets->n; i++) {
		const struct push_target *target = &targets->list[i];

		*ret_line = target->line;
		if (!target->lines[KEY_TO])
			return spec_error(why, "[push %s] has no 'to': pyroscope, parca or otlp",
					  target->name);
		if (!target->lines[KEY_URL])
			return spec_error(why, "[push %s] has no 'url'", target->name);
		if (target->user && !target->token_file)
			return spec_error(why,
					  "[push %s] has a 'user', but no 'token_file' with his "
					  "password",
					  target->name);
	}
	return 0;
}

void push_targets_done(struct push_targets *targets)
{
	for (size_t i = 0; i < targets->n; i++)
		target_done(&targets->list[i]);
	free(targets->list);
	*targets = (struct push_targets){};
}
