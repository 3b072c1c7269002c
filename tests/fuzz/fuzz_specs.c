/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What people and scripts give to --hist, -e and --where. */
#include "config/event_spec.h"
#include "config/where.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

/* Names are put into paths of tracefs. */
static void check_name(const char *name)
{
	check(name && name[0] != '\0' && name[0] != '.' && !strchr(name, '/'));
}

static void check_refusal(const char *text, const struct strbuf *error)
{
	const char *found = strbuf_str(error);

	check(found[0] != '\0');
	check(strchr(text, '\n') || !strchr(found, '\n'));
}

static void try_hist(const char *text)
{
	_cleanup_strbuf_ struct strbuf error = { 0 };
	struct hist_spec spec;

	if (hist_spec_parse(text, &spec, &error) < 0) {
		check_refusal(text, &error);
		return;
	}
	check(strcmp(spec.text, text) == 0);
	check_name(spec.name);
	check(!spec.category == (spec.what != HIST_FIELD));
	check(!spec.field == (spec.what != HIST_FIELD && spec.what != HIST_SYSCALL_ARG));
	if (spec.linear) {
		uint64_t span = (uint64_t)spec.max - (uint64_t)spec.min;

		check(spec.step > 0 && spec.min < spec.max);
		check(span % (uint64_t)spec.step == 0);
		check(span / (uint64_t)spec.step <= HIST_MAX_LINEAR);
	}
	hist_spec_done(&spec);
}

static void try_event(const char *text)
{
	_cleanup_strbuf_ struct strbuf error = { 0 };
	struct event_spec spec;

	if (event_spec_parse(text, &spec, &error) < 0) {
		check_refusal(text, &error);
		return;
	}
	check_name(spec.category);
	check_name(spec.name);
	event_spec_done(&spec);
}

/* Each comparison is asked once; every pattern matches itself, whatever it has of stars. */
static bool say(const struct where_test *test, void *userdata)
{
	size_t *asked = userdata;

	(*asked)++;
	check(!test->text == (test->field < WHERE_FUNCTION));
	if (!test->text)
		return where_compare(test, test->number);
	check(where_matches(test, test->text));
	return *asked % 2;
}

static void try_where(const char *text)
{
	_cleanup_(where_free_p) struct where *where = NULL;
	_cleanup_strbuf_ struct strbuf error = { 0 };
	size_t asked = 0;

	if (where_parse(text, &where, &error) < 0) {
		check_refusal(text, &error);
		return;
	}
	(void)where_holds(where, say, &asked); /* either is right */
	check(asked > 0 && asked <= WHERE_TESTS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = malloc(size + 1);

	if (!text)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	try_hist(text);
	try_event(text);
	try_where(text);
	return 0;
}
