/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What comes over HTTP, and the service's configuration: the first byte says which. */
#include "config/key.h"
#include "config/service_config.h"
#include "service/daemon/routes/tokens.h"
#include "service/http/guard.h"
#include "service/http/query.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

static void check_plain(const char *text)
{
	for (const char *at = text; at && *at; at++)
		check((unsigned char)*at >= 0x20 && *at != 0x7f);
}

static void try_query(const char *text)
{
	struct http_query query;
	const char *why = NULL;

	if (http_query_parse(text, &query, &why) < 0) {
		check(why != NULL);
		return;
	}
	check(query.path[0] == '/' || (query.pid && query.path[0] == '\0'));
	check(!strstr(query.path, "//") && !strstr(query.path, "/../") && query.pid >= 0);
	check(query.debug <= 2);
	check_plain(query.path);
	check_plain(query.format);
	check_plain(query.name);
	http_query_done(&query);
}

/* What was let in is the configured name, localhost, or an address. */
static void try_host(const char *text)
{
	static char *const hosts[] = { "box", NULL };
	const struct http_origin origin = { .host = text, .is_tcp = true };

	if (http_guard(&origin, hosts) != NULL)
		return;
	check(strncasecmp(text, "box", 3) == 0 || strncasecmp(text, "localhost", 9) == 0 ||
	      text[strspn(text, "0123456789abcdefABCDEF.:[]")] == '\0');
}

/* Only the token lets in, behind the scheme, which is compared without case. */
static void try_token(const char *text)
{
	static const char token[] = "0123456789abcdef";
	size_t len = strlen(text);

	if (token_matches(token, text))
		check(len > sizeof(token) - 1 && strncasecmp(text, "Bearer ", 7) == 0 &&
		      strstr(text, token));
}

/* Whatever was let in has all that the service needs, within the bounds of the manual. */
static void check_rule(const struct service_rule *rule)
{
	check(rule->section.name[0] && strlen(rule->section.name) <= KEY_SECTION_NAME_MOST);
	check(rule->when && rule->format && rule->above >= 0 && rule->section.line > 0);
	check(!rule->of_max || rule->metric == RULE_CGROUP_MEMORY);
	check(rule->metric != RULE_CGROUP_PRESSURE || rule->above <= 10000);
	check(rule->metric != RULE_RSS_SLOPE || rule->for_ns > 0);
	check(rule->trace_ns >= 1000000000 && rule->max_at_once > 0 && rule->max_at_once <= 64);
}

static void try_config(const char *text, size_t len)
{
	_cleanup_(service_config_unref_p) const struct service_config *config = NULL;
	_cleanup_strbuf_ struct strbuf error = {};

	if (service_config_parse(text, len, "conf", &config, &error) < 0) {
		check(strncmp(strbuf_str(&error), "conf:", 5) == 0);
		return;
	}
	check(config->n_listens > 0 && config->state_directory[0] == '/');
	check(config->rules.n <= SERVICE_RULES_MOST && (config->rules.n == 0 || config->watches));
	for (size_t i = 0; i < config->rules.n; i++)
		check_rule(&config->rules.list[i]);
	for (size_t i = 0; i < config->n_listens; i++)
		check(config->listens[i].address.ss_family == AF_UNIX ||
		      config->listens[i].is_loopback || (config->remote && config->token_file));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = size > 0 ? strndup((const char *)data + 1, size - 1) : NULL;

	if (!text)
		return 0;
	switch (data[0] % 4) {
	case 0:
		try_query(text);
		break;
	case 1:
		try_host(text);
		break;
	case 2:
		try_config((const char *)data + 1, size - 1);
		break;
	case 3:
		try_token(text);
		break;
	}
	return 0;
}
