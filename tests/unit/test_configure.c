/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of the service that take another configuration: all of it, or they stay as they are. */
#include "base/loop.h"
#include "config/service_config.h"
#include "service/daemon/listeners.h"
#include "service/daemon/push/push.h"
#include "service/daemon/watch/rules.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cmocka.h>

struct parts {
	char folder[32];
	struct loop *loop;
	struct push *push;
	struct rules *rules;
	struct listeners *listeners;
};

static int set_up(void **state)
{
	static const struct http_server_opts opts;
	struct parts *parts = calloc(1, sizeof(*parts));
	struct http_server_opts server = opts;

	assert_non_null(parts);
	strcpy(parts->folder, "/tmp/test_configure.XXXXXX");
	assert_non_null(mkdtemp(parts->folder));
	assert_int_equal(loop_new(&parts->loop), 0);
	assert_int_equal(push_new(parts->loop, NULL, NULL, &parts->push), 0);
	assert_int_equal(rules_new(NULL, &parts->rules), 0);
	server.loop = parts->loop;
	assert_int_equal(listeners_new(&server, 0, &parts->listeners), 0);
	*state = parts;
	return 0;
}

static int tear_down(void **state)
{
	struct parts *parts = *state;
	char command[64];

	listeners_free(parts->listeners);
	rules_free(parts->rules);
	push_free(parts->push);
	loop_free(parts->loop);
	(void)snprintf(command, sizeof(command), "rm -r %s", parts->folder);
	assert_int_equal(system(command), 0);
	free(parts);
	return 0;
}

/* `text` with "@" for the folder. */
static const struct service_config *parsed(const struct parts *parts, const char *text)
{
	_cleanup_strbuf_ struct strbuf whole = {}, error = {};
	const struct service_config *config = NULL;

	for (; *text; text++)
		if (*text == '@')
			strbuf_adds(&whole, parts->folder);
		else
			strbuf_addch(&whole, *text);
	if (service_config_parse(strbuf_str(&whole), whole.len, "conf", &config, &error) < 0)
		fail_msg("%s", strbuf_str(&error));
	return config;
}

static void write_token(const struct parts *parts, const char *name, mode_t mode)
{
	char path[64];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", parts->folder, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs("0123456789abcdef\n", file) != EOF);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
}

#define PUSH(name)                                                                                 \
	"[push " name "]\nto = parca\nurl = http://127.0.0.1:1/" name "\ntoken_file = @/" name "\n"
#define LISTEN(name) "[http]\nlisten = unix @/" name "\n"

/* Names of the targets, and where they push to. */
static void assert_targets(const struct push *push, const char *expected)
{
	_cleanup_strbuf_ struct strbuf names = {};
	struct push_info info;

	for (size_t i = 0; push_at(push, i, &info); i++) {
		assert_non_null(strstr(info.url, info.name));
		strbuf_addf(&names, "%s ", info.name);
	}
	assert_string_equal(strbuf_str(&names), expected);
}

/* 0, or what preparing gives, with *error. */
static int push_configure(struct parts *parts, const char *text, struct strbuf *error)
{
	_cleanup_(service_config_unref_p) const struct service_config *config = parsed(parts, text);
	struct push_next *next = NULL;
	int r = push_prepare(parts->push, config, &next, error);

	if (r == 0)
		push_commit(parts->push, next);
	return r;
}

static void a_token_that_cannot_be_read_leaves_all_targets_as_they_are(void **state)
{
	_cleanup_strbuf_ struct strbuf error = {};
	struct parts *parts = *state;

	write_token(parts, "a", 0600);
	write_token(parts, "b", 0600);
	write_token(parts, "c", 0600);
	write_token(parts, "d", 0600);
	assert_int_equal(push_configure(parts, PUSH("a") PUSH("b") PUSH("c"), &error), 0);
	assert_targets(parts->push, "a b c ");
	write_token(parts, "b", 0644);
	assert_int_equal(push_configure(parts, PUSH("d") PUSH("b") PUSH("c"), &error), -EPERM);
	assert_non_null(strstr(strbuf_str(&error), "/b: "));
	assert_targets(parts->push, "a b c ");
	write_token(parts, "b", 0600);
	assert_int_equal(push_configure(parts, PUSH("c") PUSH("d") PUSH("b"), &error), 0);
	assert_targets(parts->push, "c d b ");
	assert_int_equal(push_configure(parts, "", &error), 0);
	assert_targets(parts->push, "");
}

static void assert_rules(const struct rules *rules, const char *expected)
{
	_cleanup_strbuf_ struct strbuf names = {};
	struct rule_info info;

	for (size_t i = 0; rules_at(rules, i, &info); i++)
		strbuf_addf(&names, "%s:%s ", info.name, info.when);
	assert_string_equal(strbuf_str(&names), expected);
}

static int rules_configure(struct parts *parts, const char *text, struct strbuf *error)
{
	_cleanup_(service_config_unref_p) const struct service_config *config = parsed(parts, text);
	struct rules_next *next = NULL;
	int r = rules_prepare(parts->rules, config, &next, error);

	if (r == 0)
		rules_commit(parts->rules, next);
	return r;
}

static void a_rule_that_is_wrong_leaves_all_rules_as_they_are(void **state)
{
	static const char wrong[] = "[rule c]\nwhen = rss > 3\n"
				    "[rule b]\nwhen = rss > 4\nuid = no-such-user\n"
				    "[rule a]\nwhen = rss > 5\n";
	_cleanup_strbuf_ struct strbuf error = {};
	struct parts *parts = *state;

	assert_int_equal(rules_configure(parts,
					 "[rule a]\nwhen = rss > 1\n[rule b]\nwhen = rss > 2\n",
					 &error),
			 0);
	assert_rules(parts->rules, "a:rss > 1 b:rss > 2 ");
	assert_int_equal(rules_configure(parts, wrong, &error), -EINVAL);
	assert_string_equal(strbuf_str(&error),
			    "conf:5: there is no user 'no-such-user': give a name or a uid");
	assert_rules(parts->rules, "a:rss > 1 b:rss > 2 ");
	strbuf_reset(&error);
	assert_int_equal(rules_configure(parts,
					 "[rule c]\nwhen = rss > 3\n[rule a]\nwhen = rss > 4\n",
					 &error),
			 0);
	assert_rules(parts->rules, "c:rss > 3 a:rss > 4 ");
}

static int listeners_configure(struct parts *parts, const char *text, struct strbuf *error)
{
	_cleanup_(service_config_unref_p) const struct service_config *config = parsed(parts, text);
	struct listeners_next *next = NULL;
	int r = listeners_prepare(parts->listeners, config, &next, error);

	if (r == 0) {
		listeners_commit(parts->listeners, next);
		listeners_run(parts->listeners);
	}
	return r;
}

static bool can_connect(const struct parts *parts, const char *name)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", parts->folder, name);
	return connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
}

static mode_t mode_of(const struct parts *parts, const char *name)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/%s", parts->folder, name);
	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 0777;
}

static void an_address_that_cannot_be_had_leaves_all_listeners_as_they_are(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ LISTEN("three") "listen = unix @/file\n", "not a socket" },
		{ LISTEN("three") "listen = unix @/file/below/it\n", "cannot listen there" },
		{ LISTEN("three") "listen = unix @/one\nsocket_group = no-such-group\n",
		  "no group of the name" },
		{ LISTEN("three") "listen = 192.0.2.1:1\nremote = yes\ntoken_file = @/file\n",
		  "Cannot assign requested address" },
	};
	_cleanup_strbuf_ struct strbuf error = {};
	struct parts *parts = *state;

	write_token(parts, "file", 0600);
	assert_int_equal(listeners_configure(parts, LISTEN("one") "listen = unix @/two\n", &error),
			 0);
	assert_int_equal(mode_of(parts, "one"), 0660);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		strbuf_reset(&error);
		assert_true(listeners_configure(parts, cases[i].text, &error) < 0);
		if (!strstr(strbuf_str(&error), cases[i].error))
			fail_msg("%s", strbuf_str(&error));
		assert_true(can_connect(parts, "one") && can_connect(parts, "two"));
		assert_false(can_connect(parts, "three"));
	}
	assert_int_equal(listeners_configure(
				 parts, LISTEN("three") "listen = unix @/two\nsocket_mode = 0600\n",
				 &error),
			 0);
	assert_true(can_connect(parts, "two") && can_connect(parts, "three"));
	assert_false(can_connect(parts, "one"));
	assert_int_equal(mode_of(parts, "two"), 0600);
	/* And back: what was given up can be had again. */
	assert_int_equal(listeners_configure(parts, LISTEN("one"), &error), 0);
	assert_true(can_connect(parts, "one"));
	assert_false(can_connect(parts, "two") || can_connect(parts, "three"));
}

static void parts_hold_their_configuration_as_long_as_they_point_into_it(void **state)
{
	_cleanup_strbuf_ struct strbuf error = {};
	struct parts *parts = *state;

	/* Each of these configurations has no other user any more; ASAN sees a use after free. */
	write_token(parts, "a", 0600);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(push_configure(parts, PUSH("a"), &error), 0);
		assert_int_equal(rules_configure(parts, "[rule a]\nwhen = rss > 1\n", &error), 0);
		assert_int_equal(listeners_configure(parts, LISTEN("one"), &error), 0);
		assert_targets(parts->push, "a ");
		assert_rules(parts->rules, "a:rss > 1 ");
		assert_true(can_connect(parts, "one"));
	}
}

int main(void)
{
#define PARTS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		PARTS(a_token_that_cannot_be_read_leaves_all_targets_as_they_are),
		PARTS(a_rule_that_is_wrong_leaves_all_rules_as_they_are),
		PARTS(an_address_that_cannot_be_had_leaves_all_listeners_as_they_are),
		PARTS(parts_hold_their_configuration_as_long_as_they_point_into_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
