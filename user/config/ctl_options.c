/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/ctl_options.h"

#include "base/clock.h"
#include "config/near_name.h"
#include "config/units.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define DEFAULT_FOR_NS (60 * SECOND_NS)

static const char *const verbs[] = {
	[CTL_STATUS] = "status",
	[CTL_TRACE] = "trace",
	[CTL_REPORTS] = "reports",
	[CTL_TOKEN] = "token",
};
#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))

static int take_copy(char **field, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

static int take_verb(struct option_parser *p, const char *word)
{
	struct near_name near;
	const char *meant;

	near_name_init(&near, word);
	for (size_t i = CTL_STATUS; i < N_VERBS; i++) {
		if (strcmp(verbs[i], word) == 0) {
			p->options->ctl.verb = (enum ctl_verb)i;
			return 0;
		}
		near_name_offer(&near, verbs[i]);
	}
	meant = near_name_get(&near);
	if (meant)
		return option_error(p, "'ctl' does not know '%s'; did you mean '%s'?", word, meant);
	return option_error(
		p, "'ctl' does not know '%s': expected status, trace PID, reports or token", word);
}

static int take_word(struct option_parser *p, const char *word)
{
	struct ctl_options *ctl = &p->options->ctl;
	uint64_t pid;

	if (ctl->verb == CTL_NONE)
		return take_verb(p, word);
	if (ctl->verb == CTL_TRACE && ctl->pid == 0) {
		if (parse_digits(word, word + strlen(word), &pid) < 0 || pid == 0 || pid > INT_MAX)
			return option_error(p, "'%s' is no process id: 'ctl trace' takes one",
					    word);
		ctl->pid = (pid_t)pid;
		return 0;
	}
	if (ctl->verb == CTL_REPORTS && !ctl->name)
		return take_copy(&ctl->name, word);
	return option_error(p, "unexpected argument '%s' behind 'ctl %s'", word, verbs[ctl->verb]);
}

static int take_for(struct option_parser *p, const char *value)
{
	uint64_t ns;

	if (parse_duration(value, &ns) < 0 || ns < SECOND_NS || ns % SECOND_NS)
		return option_error(p,
				    "'%s' is no value of '--for': give whole seconds, or a number "
				    "with s, m or h behind it",
				    value);
	p->options->ctl.for_ns = ns;
	return 0;
}

static int take_option(struct option_parser *p, const char *word)
{
	static const char *const names[] = { "--for", "--format", "--socket" };
	struct ctl_options *ctl = &p->options->ctl;
	size_t len = strcspn(word, "="), i = 0;
	const char *value;

	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
		p->options->action = ACTION_HELP;
		return 0;
	}
	if (strcmp(word, "--sample") == 0) {
		ctl->depth = HEAP_SAMPLED;
		return 0;
	}
	if (strncmp(word, "--sample=", strlen("--sample=")) == 0)
		return option_error(p, "'--sample' of 'ctl trace' takes no value: what runs has "
				       "its own interval");
	if (strcmp(word, "--revoke") == 0) {
		ctl->revoke = true;
		return 0;
	}
	while (i < 3 && (strlen(names[i]) != len || strncmp(names[i], word, len) != 0))
		i++;
	if (i == 3)
		return option_error(p,
				    "'ctl' has no option '%.*s': --for, --format, --revoke, "
				    "--sample and --socket",
				    (int)len, word);
	value = word[len] ? word + len + 1 : p->next < p->argc ? p->argv[p->next++] : "";
	if (*value == '\0')
		return option_error(p, "'%s' needs a value", names[i]);
	if (i == 0)
		return take_for(p, value);
	return take_copy(i == 1 ? &ctl->format : &ctl->socket, value);
}

static int check(struct option_parser *p)
{
	const struct ctl_options *ctl = &p->options->ctl;

	if (ctl->verb == CTL_NONE)
		return option_error(p, "'ctl': expected status, trace PID, reports or token");
	if (ctl->verb == CTL_TRACE && ctl->pid == 0)
		return option_error(p, "'ctl trace' needs a process id");
	if (ctl->verb != CTL_TRACE && (ctl->format || ctl->depth))
		return option_error(p, "'--format' and '--sample' are for 'ctl trace'");
	if (ctl->verb != CTL_TRACE && ctl->verb != CTL_TOKEN && ctl->for_ns)
		return option_error(p, "'--for' is for 'ctl trace' and 'ctl token'");
	if (ctl->revoke && (ctl->verb != CTL_TOKEN || ctl->for_ns))
		return option_error(p, "'--revoke' is for 'ctl token', without '--for'");
	return 0;
}

int ctl_options_parse(struct option_parser *p)
{
	struct ctl_options *ctl = &p->options->ctl;
	int r = 0;

	p->options->action = ACTION_CTL;
	while (r == 0 && p->next < p->argc && p->options->action == ACTION_CTL) {
		const char *word = p->argv[p->next++];

		r = word[0] == '-' ? take_option(p, word) : take_word(p, word);
	}
	if (r < 0 || p->options->action != ACTION_CTL)
		return r;
	r = check(p);
	if (r == 0 && ctl->verb == CTL_TRACE && ctl->for_ns == 0)
		ctl->for_ns = DEFAULT_FOR_NS;
	return r;
}
