/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/service_config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/un.h>

#include <cmocka.h>

static int parse(const char *text, const struct service_config **ret_config, struct strbuf *error)
{
	strbuf_reset(error);
	return service_config_parse(text, strlen(text), "conf", ret_config, error);
}

#define STARS                                                                                      \
	"trace = *\ntrace = *\ntrace = *\ntrace = *\ntrace = *\ntrace = *\ntrace = *\ntrace = *\n"

static void nothing_in_the_file_gives_the_defaults(void **state)
{
	_cleanup_(service_config_unref_p) const struct service_config *config = NULL;
	_cleanup_strbuf_ struct strbuf error = {};
	const struct sockaddr_un *address;

	(void)state;
	assert_int_equal(parse("", &config, &error), 0);
	assert_int_equal(config->n_listens, 1);
	address = (const struct sockaddr_un *)&config->listens[0].address;
	assert_int_equal(address->sun_family, AF_UNIX);
	assert_string_equal(address->sun_path, SERVICE_SOCKET_PATH);
	assert_string_equal(config->state_directory, SERVICE_STATE_PATH);
	assert_int_equal(config->socket_mode, 0660);
	assert_true(config->watches);
	assert_null(config->cgroup_root);
	assert_int_equal(config->max_overhead, 500);
	assert_null(config->target);
	assert_null(config->token_file);
	assert_null(config->standing);
	assert_int_equal(config->standing_depth, HEAP_EXACT);
	assert_true(config->post_mortems);
	assert_string_equal(config->post_mortem_format, "html");
	assert_int_equal(config->max_age_ns, 30 * 86400 * 1000000000ULL);
}

static void keys_of_all_sections_are_taken(void **state)
{
	_cleanup_(service_config_unref_p) const struct service_config *config = NULL;
	_cleanup_strbuf_ struct strbuf error = {};
	static const char text[] = "# a comment\n"
				   "[http]\n"
				   "listen = unix /tmp/x.sock\n"
				   "listen = 127.0.0.1:19090\n"
				   "listen = [::1]:19091\n"
				   "socket_mode = 0666 ; all\n"
				   "timeout = 2m\n"
				   "host = box.example\n"
				   "host = box\n"
				   "\n"
				   "[trace]\n"
				   "target = redis-*\n"
				   "seconds = 1.5 # and a half\n"
				   "memory_limit = 1G\n"
				   "allocator = malloc=get:size@1;free=put:ptr@1\n"
				   "allocator = object=x;malloc=f;free=g\n"
				   "wrapper = pool_*\n"
				   "wrapper = get\t#; a comment\n"
				   "  # another\n"
				   "wrapper = put#1\n"
				   "max_overhead = 0.25%\n"
				   "[watch]\n"
				   "enabled = no\n"
				   "interval = 30s\n"
				   "cgroup_root = /srv/cgroup\n"
				   "[growth]\n"
				   "enabled = no\n"
				   "period = 50\n"
				   "mappings = yes\n"
				   "max_stacks = 100\n"
				   "[state]\n"
				   "directory = /srv/state\n"
				   "max_age = 2d\n"
				   "[post_mortem]\n"
				   "reports = no\n"
				   "format = json\n"
				   "trace = redis-*\n"
				   "trace = [!k]?\n"
				   "depth = sampled\n";

	(void)state;
	assert_int_equal(parse(text, &config, &error), 0);
	assert_int_equal(config->n_listens, 3);
	assert_int_equal(config->max_age_ns, 2 * 86400 * 1000000000ULL);
	assert_false(config->post_mortems);
	assert_string_equal(config->post_mortem_format, "json");
	assert_string_equal(config->standing[0], "redis-*");
	assert_string_equal(config->standing[1], "[!k]?");
	assert_null(config->standing[2]);
	assert_int_equal(config->standing_depth, HEAP_SAMPLED);
	assert_string_equal(config->listens[1].text, "127.0.0.1:19090");
	assert_true(config->listens[1].is_loopback);
	assert_int_equal(config->listens[2].address.ss_family, AF_INET6);
	assert_true(config->listens[2].is_loopback);
	assert_int_equal(config->socket_mode, 0666);
	assert_int_equal(config->timeout_ns, 120000000000);
	assert_string_equal(config->hosts[0], "box.example");
	assert_string_equal(config->hosts[1], "box");
	assert_null(config->hosts[2]);
	assert_string_equal(config->allocators[0], "malloc=get:size@1;free=put:ptr@1");
	assert_string_equal(config->allocators[1], "object=x;malloc=f;free=g");
	assert_null(config->allocators[2]);
	assert_string_equal(config->wrappers[0], "pool_*");
	assert_string_equal(config->wrappers[1], "get");
	assert_string_equal(config->wrappers[2], "put#1");
	assert_null(config->wrappers[3]);
	assert_string_equal(config->target, "redis-*");
	assert_int_equal(config->seconds_ns, 1500000000);
	assert_int_equal(config->trace_memory, 1 << 30);
	assert_int_equal(config->max_overhead, 25);
	assert_false(config->watches);
	assert_int_equal(config->watch_interval_ns, 30000000000);
	assert_int_equal(config->pss_interval_ns, 0);
	assert_false(config->grows);
	assert_int_equal(config->growth_period, 50);
	assert_true(config->growth_mappings);
	assert_int_equal(config->growth_stacks, 100);
	assert_string_equal(config->cgroup_root, "/srv/cgroup");
	assert_string_equal(config->state_directory, "/srv/state");
}

/* "none", as on the command line; "no" is what files of before have. */
static void tracing_may_have_no_limit(void **state)
{
	static const char *const texts[] = { "[trace]\nmax_overhead = none\n",
					     "[trace]\nmax_overhead = no\n" };
	_cleanup_strbuf_ struct strbuf error = {};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		_cleanup_(service_config_unref_p) const struct service_config *config = NULL;

		assert_int_equal(parse(texts[i], &config, &error), 0);
		assert_int_equal(config->max_overhead, 0);
	}
}

static void what_is_wrong_is_refused_with_file_and_line(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "[http]\nlisten unix /x\n", "conf:2: this is no [section]" },
		{ "[http\nlisten = 127.0.0.1:1\n", "conf:1: this is no [section]" },
		{ "[http]\n\nlissten = 127.0.0.1:1\n",
		  "conf:3: unknown key '[http] lissten'; did you mean '[http] listen'?" },
		{ "[http]\nrubbish\nmore = 1\n", "conf:2: this is no [section]" },
		{ "[http]\nmore = 1\nrubbish\n", "conf:2: unknown key '[http] more'" },
		{ "listen = 127.0.0.1:1\n", "conf:1: 'listen' stands before any section" },
		{ "[html]\nlisten = 127.0.0.1:1\n", "conf:2: unknown key '[html] listen'" },
		{ "[http]\nlisten = 127.0.0.1\n", "conf:2: invalid listen '127.0.0.1'" },
		{ "[http]\nlisten = 127.0.0.1:0\n", "conf:2: invalid listen '127.0.0.1:0'" },
		{ "[http]\nlisten = 127.0.0.1:65536\n",
		  "conf:2: invalid listen '127.0.0.1:65536'" },
		{ "[http]\nlisten = 127.0.0.1:-1\n", "conf:2: invalid listen '127.0.0.1:-1'" },
		{ "[http]\nlisten = localhost:80\n", "conf:2: invalid listen 'localhost:80'" },
		{ "[http]\nlisten = ::1:80\n", "conf:2: invalid listen '::1:80'" },
		{ "[http]\nlisten = unix x.sock\n", "conf:2: invalid listen 'unix x.sock'" },
		{ "[http]\nlisten = 0.0.0.0:80\n",
		  "conf:2: '0.0.0.0:80' can be reached from other hosts: give 'remote = yes'" },
		{ "[http]\nlisten = 10.0.0.1:80\nremote = yes\n",
		  "conf:3: '10.0.0.1:80' can be reached from other hosts, whose users" },
		{ "[http]\nremote = true\n", "conf:2: invalid remote 'true'" },
		{ "[http]\ntimeout = 0\n", "conf:2: invalid timeout '0'" },
		{ "[http]\ntimeout = -1\n", "conf:2: invalid timeout '-1'" },
		{ "[http]\ntimeout = 1h\n",
		  "conf:2: invalid timeout '1h': expected a time from 1s to 10m" },
		{ "[http]\ntimeout = 1s\ntimeout = 2s\n", "conf:3: 'timeout' is given twice" },
		{ "[http]\ntimeout = 1s\n  2s\n", "conf:3: 'timeout' is given twice" },
		{ "[http]\ntimeout =\n", "conf:2: 'timeout' has no value" },
		{ "[http]\nsocket_mode = 888\n", "conf:2: invalid socket_mode '888'" },
		{ "[http]\nsocket_mode = 07777\n", "conf:2: invalid socket_mode '07777'" },
		{ "[http]\nhost = a b\n", "conf:2: invalid host 'a b'" },
		{ "[http]\nhost = a:80\n", "conf:2: invalid host 'a:80'" },
		{ "[http]\nmax_connections = 0\n", "conf:2: invalid max_connections '0'" },
		{ "[trace]\nmemory_limit = 10M\n", "conf:2: invalid memory_limit '10M'" },
		{ "[trace]\nallocator = mallok=f\n", "conf:2: invalid allocator 'mallok=f'" },
		{ "[trace]\nmax_overhead = 5\n",
		  "conf:2: invalid max_overhead '5': the percent sign is missing; give 5%" },
		{ "[trace]\nmax_overhead = 0%\n", "conf:2: invalid max_overhead '0%'" },
		{ "[trace]\nmax_overhead = yes\n",
		  "conf:2: invalid max_overhead 'yes': expected one from 0.01% to 100%, or none" },
		{ "[trace]\nmax_overhead = 101%\n", "conf:2: invalid max_overhead '101%'" },
		{ "[trace]\nseconds = 1h\nmax_seconds = 1m\n", "conf:3: [trace] seconds is more" },
		{ "[growth]\nperiod = 0\n", "conf:2: invalid period '0'" },
		{ "[growth]\nperiods = 1\n",
		  "conf:2: unknown key '[growth] periods'; did you mean '[growth] period'?" },
		{ "[watch]\ninterval = 0\n", "conf:2: invalid interval '0'" },
		{ "[watch]\ncgroup_root = cgroup\n",
		  "conf:2: invalid cgroup_root 'cgroup': expected an absolute path" },
		{ "[watch]\nintervall = 1s\n",
		  "conf:2: unknown key '[watch] intervall'; did you mean '[watch] interval'?" },
		{ "[state]\nmax_age = 1s\n",
		  "conf:2: invalid max_age '1s': expected a time from 1m to 3660d" },
		{ "[state]\nmax_age = 90000d\n", "conf:2: invalid max_age '90000d'" },
		{ "[post_mortem]\nreports = 1\n", "conf:2: invalid reports '1'" },
		{ "[post_mortem]\nformat =\n", "conf:2: 'format' has no value" },
		{ "[post_mortem]\ndepth = all\n", "conf:2: invalid depth 'all'" },
		{ "[post_mortem]\ntrace = [a\n",
		  "conf:2: 'trace' is as '--comm': invalid --comm '[a'" },
		{ "[post_mortem]\ntrace = 1234567890123456\n",
		  "conf:2: 'trace' is as '--comm': invalid --comm '1234567890123456'" },
		{ "[post_mortem]\ntrace = 123456789012345\ntrace = 123456789012345\ntrace = "
		  "123456789012345\ntrace = 123456789012345\ntrace = 123456\n",
		  "conf:6: 'trace' is as '--comm': invalid --comm '123456'" },
		{ "[post_mortem]\n" STARS STARS STARS STARS "trace = *\n",
		  "conf:34: there are more than 32 lines 'trace'" },
		{ "[postmortem]\ntrace = a\n",
		  "conf:2: unknown key '[postmortem] trace'; did you mean '[post_mortem] trace'?" },
		{ "[state]\ndirectory = state\n", "conf:2: invalid directory 'state'" },
	};
	_cleanup_strbuf_ struct strbuf error = {};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct service_config *config = NULL;
		int r = parse(cases[i].text, &config, &error);

		if (r != -EINVAL || config)
			fail_msg("'%s' gave %d", cases[i].text, r);
		if (strncmp(strbuf_str(&error), cases[i].error, strlen(cases[i].error)) != 0)
			fail_msg("'%s' gave '%s'", cases[i].text, strbuf_str(&error));
	}
}

/* The library would take the rest of a long line for a line of its own. */
static void a_line_that_is_too_long_or_has_a_zero_byte_is_refused(void **state)
{
	static const char zero[] = "[http]\ntimeout = 1s\0\n";
	_cleanup_strbuf_ struct strbuf text = {}, error = {};
	const struct service_config *config = NULL;

	(void)state;
	strbuf_adds(&text, "[trace]\ntarget = ");
	for (int i = 0; i < 400; i++)
		strbuf_addch(&text, 'x');
	assert_int_equal(parse(strbuf_str(&text), &config, &error), -EINVAL);
	assert_string_equal(strbuf_str(&error), "conf:2: the line is longer than 197 bytes");
	strbuf_reset(&error);
	assert_int_equal(service_config_parse(zero, sizeof(zero) - 1, "conf", &config, &error),
			 -EINVAL);
	assert_string_equal(strbuf_str(&error), "conf:2: there is a zero byte in the line");
	assert_null(config);
}

static void a_file_that_is_not_there_is_an_error_only_if_it_was_named(void **state)
{
	const struct service_config *config = NULL;
	_cleanup_strbuf_ struct strbuf error = {};

	(void)state;
	assert_int_equal(service_config_read("/nonexistent/conf", &config, &error), -ENOENT);
	assert_string_equal(strbuf_str(&error), "/nonexistent/conf: No such file or directory");
	assert_null(config);
}

static void a_snapshot_lives_as_long_as_its_last_user(void **state)
{
	static const char text[] =
		"[push a]\nto = parca\nurl = http://a\n[rule b]\nwhen = rss > 1\n"
		"[post_mortem]\ntrace = redis-*\n";
	const struct service_config *config = NULL, *user = NULL, *other = NULL;
	_cleanup_strbuf_ struct strbuf error = {};
	const struct push_target *target;

	(void)state;
	assert_int_equal(parse(text, &config, &error), 0);
	assert_int_equal(parse("", &other, &error), 0);
	assert_string_equal(config->path, "conf");
	service_config_set(&user, config);
	target = &user->pushes.list[0];
	service_config_unref(config);
	assert_string_equal(target->url, "http://a"); /* ASAN would see that it was freed */
	service_config_set(&user, user);
	assert_string_equal(user->rules.list[0].section.name, "b");
	service_config_set(&user, other);
	assert_ptr_equal(user, other);
	service_config_unref(service_config_ref(other));
	service_config_unref(other);
	assert_int_equal(user->n_listens, 1);
	service_config_set(&user, NULL);
	assert_null(service_config_ref(NULL));
	service_config_unref(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_in_the_file_gives_the_defaults),
		cmocka_unit_test(keys_of_all_sections_are_taken),
		cmocka_unit_test(tracing_may_have_no_limit),
		cmocka_unit_test(what_is_wrong_is_refused_with_file_and_line),
		cmocka_unit_test(a_line_that_is_too_long_or_has_a_zero_byte_is_refused),
		cmocka_unit_test(a_file_that_is_not_there_is_an_error_only_if_it_was_named),
		cmocka_unit_test(a_snapshot_lives_as_long_as_its_last_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
