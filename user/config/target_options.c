/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/target_options.h"

#include "config/units.h"
#include "config/words.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int add_pid(struct options *o, pid_t pid)
{
	pid_t *pids;

	for (size_t i = 0; i < o->n_pids; i++)
		if (o->pids[i] == pid)
			return 0;
	pids = reallocarray(o->pids, o->n_pids + 1, sizeof(*pids));
	if (!pids)
		return -ENOMEM;
	o->pids = pids;
	o->pids[o->n_pids++] = pid;
	return 0;
}

int target_apply_pids(struct option_parser *p, const struct option_def *def, const char *value)
{
	const char *at = value;

	(void)def; /* sets its own field */
	for (;;) {
		const char *end = strchrnul(at, ',');
		uint64_t pid;
		int r = parse_digits(at, end, &pid);

		if (r < 0 || pid == 0 || pid > INT_MAX)
			return option_error(p,
					    "'%.*s' is no process id: '-p' takes numbers, "
					    "separated by commas",
					    (int)(end - at), at);
		r = add_pid(p->options, (pid_t)pid);
		if (r < 0)
			return r;
		if (*end == '\0')
			return 0;
		at = end + 1;
	}
}

int target_apply_command(struct option_parser *p, const struct option_def *def, const char *value)
{
	int r = words_split(value, &p->options->command);

	(void)def; /* sets its own field */
	if (r == -EINVAL)
		return option_error(p, "the command of '-c' is empty, leaves a quote open or ends "
				       "in a backslash: put it in quotes as a shell would want it");
	return r;
}

static int set_string(char **field, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

int target_apply_run_as(struct option_parser *p, const struct option_def *def, const char *value)
{
	(void)def; /* sets its own field */
	if (*value == '\0')
		return option_error(p, "'--run-as' needs a user's name or uid");
	return set_string(&p->options->run_as, value);
}

int target_apply_cgroup(struct option_parser *p, const struct option_def *def, const char *value)
{
	(void)def; /* sets its own field */
	if (*value == '\0')
		return option_error(p, "'--cgroup' needs the path of a cgroup");
	return set_string(&p->options->cgroup, value);
}

int target_apply_uid(struct option_parser *p, const struct option_def *def, const char *value)
{
	(void)def; /* sets its own field */
	if (*value == '\0')
		return option_error(p, "'--uid' needs a user's name or uid");
	return set_string(&p->options->uid, value);
}

int target_apply_comm(struct option_parser *p, const struct option_def *def, const char *value)
{
	struct options *o = p->options;
	int r;

	(void)def; /* sets its own field */
	if (!o->names)
		o->names = calloc(1, sizeof(*o->names));
	if (!o->names)
		return -ENOMEM;
	r = name_globs_add(o->names, value, p->error);
	return r == -ENOSPC ? -EINVAL : r;
}

int target_apply_env(struct option_parser *p, const struct option_def *def, const char *value)
{
	const char *equals = strchr(value, '=');
	struct options *o = p->options;
	size_t n = 0;
	char **env;

	(void)def; /* sets its own field */
	if (!equals || equals == value)
		return option_error(p, "'%s' is no value of '--env': give NAME=VALUE", value);
	while (o->env_set && o->env_set[n])
		n++;
	env = reallocarray(o->env_set, n + 2, sizeof(*env));
	if (!env)
		return -ENOMEM;
	o->env_set = env;
	env[n] = strdup(value);
	env[n + 1] = NULL;
	return env[n] ? 0 : -ENOMEM;
}
