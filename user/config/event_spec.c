/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/event_spec.h"

#include "config/key.h"
#include "config/spec_text.h"

#include <errno.h>
#include <string.h>

void event_spec_done(struct event_spec *spec)
{
	free(spec->text);
	free(spec->category);
	free(spec->name);
	*spec = (struct event_spec){ 0 };
}

/* "getrandom", "sys_enter_getrandom" or "sys_exit_getrandom". */
static int fill_syscall(struct event_spec *spec, const char *name)
{
	bool whole = spec_behind(name, "sys_enter_") || spec_behind(name, "sys_exit_");

	spec->is_syscall = true;
	spec->category = strdup("syscalls");
	if (asprintf(&spec->name, "%s%s", whole ? "" : "sys_enter_", name) < 0)
		spec->name = NULL;
	return spec->category && spec->name ? 0 : -ENOMEM;
}

static int fill(struct event_spec *spec, char *parts[SPEC_MAX_PARTS], int n, struct strbuf *error)
{
	if (n == 3)
		return config_error(
			error,
			"'%s' is no value of '-e': give '%s:%s' for the stacks of the event, "
			"or '--hist %s' for a histogram of its field",
			spec->text, parts[0], parts[1], spec->text);
	if (n == 1 && spec_is_allocator(parts[0]))
		return config_error(
			error,
			"'%s' is no value of '-e': leave it out, allocations are traced "
			"without it (beside other jobs: --alloc)",
			spec->text);
	if (n == 1)
		return fill_syscall(spec, parts[0]);
	spec->category = TAKE_PTR(parts[0]);
	spec->name = TAKE_PTR(parts[1]);
	return 0;
}

static int make(enum event_kind kind, const char *name, struct event_spec *ret_spec)
{
	_cleanup_(event_spec_done) struct event_spec spec = {
		.text = strdup(name),
		.name = strdup(name),
		.kind = kind,
	};

	if (!spec.text || !spec.name)
		return -ENOMEM;
	*ret_spec = spec;
	spec = (struct event_spec){ 0 };
	return 0;
}

int event_spec_cpu(uint32_t hz, struct event_spec *ret_spec)
{
	int r = make(EVENT_SAMPLE, EVENT_CPU_CLOCK, ret_spec);

	if (r == 0)
		ret_spec->hz = hz;
	return r;
}

int event_spec_off_cpu(struct event_spec *ret_spec)
{
	return make(EVENT_WAIT, EVENT_OFF_CPU, ret_spec);
}

int event_spec_page_faults(uint32_t period, struct event_spec *ret_spec)
{
	int r = make(EVENT_FAULTS, EVENT_PAGE_FAULTS, ret_spec);

	if (r == 0)
		ret_spec->period = period;
	return r;
}

bool event_spec_equal(const struct event_spec *a, const struct event_spec *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind != EVENT_TRACEPOINT)
		return true;
	return strcmp(a->category, b->category) == 0 && strcmp(a->name, b->name) == 0;
}

bool event_spec_interrupts(const struct event_spec *spec)
{
	/* Any other tracepoint may be hit by an interrupt or a page fault. */
	return spec->kind != EVENT_TRACEPOINT || (strcmp(spec->category, "syscalls") != 0 &&
						  strcmp(spec->category, "raw_syscalls") != 0);
}

int event_spec_parse(const char *text, struct event_spec *ret_spec, struct strbuf *error)
{
	_cleanup_(event_spec_done) struct event_spec spec = { .text = strdup(text) };
	char *parts[SPEC_MAX_PARTS] = { NULL };
	int n, r;

	if (!spec.text)
		return -ENOMEM;
	n = spec_split(text, strlen(text), parts);
	if (n == -EINVAL)
		return config_error(
			error,
			"'%s' is no value of '-e': give a system call such as getrandom, or "
			"CATEGORY:EVENT such as sched:sched_switch",
			text);
	if (n < 0)
		return n;
	r = fill(&spec, parts, n, error);
	for (size_t i = 0; i < SPEC_MAX_PARTS; i++)
		free(parts[i]);
	if (r < 0)
		return r;
	*ret_spec = spec;
	spec = (struct event_spec){ 0 };
	return 0;
}
