/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/service_config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int parse(const char *text, const struct service_config **ret_config, struct strbuf *error)
{
	strbuf_reset(error);
	return service_config_parse(text, strlen(text), "conf", ret_config, error);
}

static void all_keys_are_taken(void **state)
{
	_cleanup_(service_config_unref_p) const struct service_config *config = NULL;
	_cleanup_strbuf_ struct strbuf error = {};
	static const char text[] = "[push a]\n"
				   "to = parca\n"
				   "url = https://box.example:7070/some/where//\n"
				   "every = 2m\n"
				   "profiles = allocs,cpu , heap, growth\n"
				   "service = web/front.1\n"
				   "label = region=eu west, north\n"
				   "label = tier = 1\n"
				   "header = X-Scope-OrgID: team\n"
				   "token_file = /etc/token\n"
				   "user = 12345\n"
				   "ca_file = /etc/ca.pem\n"
				   "timeout = 3s\n"
				   "queue = 1M\n"
				   "[push b]\n"
				   "url = http://127.0.0.1:4040\n"
				   "to = pyroscope\n";
	const struct push_target *a, *b;

	(void)state;
	assert_int_equal(parse(text, &config, &error), 0);
	assert_int_equal(config->pushes.n, 2);
	a = &config->pushes.list[0];
	b = &config->pushes.list[1];
	assert_string_equal(a->section.name, "a");
	assert_int_equal(a->to, PUSH_PARCA);
	assert_string_equal(a->url, "https://box.example:7070/some/where");
	assert_int_equal(a->every_ns, 120000000000);
	assert_int_equal(a->profiles, PUSH_BIT(PUSH_HEAP) | PUSH_BIT(PUSH_ALLOCS) |
					      PUSH_BIT(PUSH_CPU) | PUSH_BIT(PUSH_GROWTH));
	assert_string_equal(a->service, "web/front.1");
	assert_int_equal(a->n_labels, 2);
	assert_string_equal(a->labels[0].name, "region");
	assert_string_equal(a->labels[0].value, "eu west, north");
	assert_string_equal(a->labels[1].name, "tier");
	assert_string_equal(a->labels[1].value, "1");
	assert_int_equal(a->n_headers, 1);
	assert_string_equal(a->headers[0], "X-Scope-OrgID: team");
	assert_string_equal(a->token_file, "/etc/token");
	assert_string_equal(a->user, "12345");
	assert_string_equal(a->ca_file, "/etc/ca.pem");
	assert_int_equal(a->timeout_ns, 3000000000);
	assert_int_equal(a->queue_bytes, 1 << 20);
	assert_int_equal(b->to, PUSH_PYROSCOPE);
	assert_int_equal(b->every_ns, 15000000000);
	assert_int_equal(b->profiles, PUSH_BIT(PUSH_HEAP));
	assert_int_equal(b->timeout_ns, 10000000000);
	assert_int_equal(b->queue_bytes, 16 << 20);
	assert_null(b->service);
	assert_null(b->token_file);
}

#define TO "[push a]\nto = parca\n"

static void what_is_wrong_is_refused_with_file_and_line(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "[push]\nto = parca\n",
		  "conf:2: invalid section [push]: expected a name of letters" },
		{ "[push a/b]\nto = parca\n", "conf:2: invalid section [push a/b]" },
		{ "[pushed a]\nto = parca\n", "conf:2: unknown key '[pushed a] to'" },
		{ "[push a]\nurll = x\n",
		  "conf:2: unknown key '[push] urll'; did you mean '[push] url'?" },
		{ "[push a]\nto = jaeger\n", "conf:2: invalid to 'jaeger'" },
		{ "[push a]\nurl = http://x\n", "conf:2: [push a] has no 'to'" },
		{ TO, "conf:2: [push a] has no 'url'" },
		{ TO "to = parca\n", "conf:3: 'to' is given twice" },
		{ TO "url =\n", "conf:3: 'url' has no value" },
		{ TO "url = box:4040\n", "conf:3: invalid url 'box:4040'" },
		{ TO "url = ftp://box\n", "conf:3: invalid url 'ftp://box'" },
		{ TO "url = http:///x\n", "conf:3: invalid url 'http:///x'" },
		{ TO "url = http://me:secret@box\n", "conf:3: invalid url 'http://me:secret@box'" },
		{ TO "url = http://box/?a=b\n", "conf:3: invalid url 'http://box/?a=b'" },
		{ TO "every = 0\n", "conf:3: invalid every '0': expected a time from 1s to" },
		{ TO "every = 2h\n", "conf:3: invalid every '2h'" },
		{ TO "timeout = 11m\n", "conf:3: invalid timeout '11m'" },
		{ TO "profiles = heap, heaps\n",
		  "conf:3: invalid profile 'heaps': expected some of heap, allocs, cpu, growth" },
		{ TO "profiles = ,\n", "conf:3: 'profiles' names none" },
		{ TO "service = a b\n", "conf:3: invalid service 'a b'" },
		{ TO "label = 1a=b\n", "conf:3: invalid label '1a=b'" },
		{ TO "label = __name__=b\n", "conf:3: invalid label '__name__=b'" },
		{ TO "label = a-b=c\n", "conf:3: invalid label 'a-b=c'" },
		{ TO "label = a\n", "conf:3: invalid label 'a'" },
		{ TO "label = a=\n", "conf:3: the label 'a' has no value" },
		{ TO "header = X\n", "conf:3: invalid header 'X'" },
		{ TO "header = Host: x\n", "conf:3: the header 'Host' is not yours to set" },
		{ TO "header = content-type: x\n", "conf:3: the header 'content-type' is not" },
		{ TO "header = Authorization: x\n", "conf:3: the header 'Authorization' is not" },
		{ TO "token_file = token\n", "conf:3: invalid token_file 'token'" },
		{ TO "ca_file = ca\n", "conf:3: invalid ca_file 'ca'" },
		{ TO "user = a:b\n", "conf:3: invalid user 'a:b'" },
		{ TO "url = http://x\nuser = a\n", "conf:2: [push a] has a 'user', but no" },
		{ TO "queue = 1k\n", "conf:3: invalid queue '1k'" },
		{ TO "queue = 2G\n", "conf:3: invalid queue '2G'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(service_config_unref_p) const struct service_config *config = NULL;
		_cleanup_strbuf_ struct strbuf error = {};

		assert_int_equal(parse(cases[i].text, &config, &error), -EINVAL);
		assert_memory_equal(strbuf_str(&error), cases[i].error, strlen(cases[i].error));
	}
}

static void there_are_so_many_at_most(void **state)
{
	_cleanup_(service_config_unref_p) const struct service_config *config = NULL;
	_cleanup_strbuf_ struct strbuf error = {}, text = {};

	(void)state;
	for (int i = 0; i <= PUSH_TARGETS_MOST; i++)
		strbuf_addf(&text, "[push a%d]\nto = parca\nurl = http://x\n", i);
	assert_int_equal(parse(strbuf_str(&text), &config, &error), -EINVAL);
	assert_string_equal(strbuf_str(&error), "conf:26: there are more than 8 targets of a push");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_keys_are_taken),
		cmocka_unit_test(what_is_wrong_is_refused_with_file_and_line),
		cmocka_unit_test(there_are_so_many_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
