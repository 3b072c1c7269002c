/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/output_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int output_check_path(struct option_parser *p, const char *option, const char *path,
		      const char *known)
{
	for (; (path = strchr(path, '%')); path += 2)
		if (path[1] == '\0' || (path[1] != '%' && !strchr(known, path[1])))
			return option_error(p,
					    "'%s' knows no '%.2s' in a path: give %%p for the "
					    "process id, or %%%% for a percent sign",
					    option, path);
	return 0;
}

/* Room for an empty output at `index`, the later ones moved up; NULL: no memory. */
static struct option_output *insert_output(struct options *o, size_t index)
{
	struct option_output *outputs;

	outputs = reallocarray(o->outputs, o->n_outputs + 1, sizeof(*outputs));
	if (!outputs)
		return NULL;
	o->outputs = outputs;
	memmove(outputs + index + 1, outputs + index, (o->n_outputs - index) * sizeof(*outputs));
	o->n_outputs++;
	outputs[index] = (struct option_output){ 0 };
	return &outputs[index];
}

int output_apply_format(struct option_parser *p, const struct option_def *def, const char *value)
{
	struct option_output *output;

	(void)def; /* sets its own field */
	if (*value == '\0' || *value == '-')
		return option_error(p, "'%s' is no value of '-f': give a format such as json",
				    value);
	if (strchr(value, ':'))
		return option_error(p,
				    "'-f' writes to standard output and takes no path: give "
				    "'-o %s' for a file",
				    value);
	output = insert_output(p->options, 0);
	if (!output)
		return -ENOMEM;
	output->format = strdup(value);
	return output->format ? 0 : -ENOMEM;
}

int output_apply_file(struct option_parser *p, const struct option_def *def, const char *value)
{
	const char *colon = strchr(value, ':');
	struct options *o = p->options;
	struct option_output *output;
	int r;

	(void)def; /* sets its own field */
	if (!colon || colon == value || colon[1] == '\0')
		return option_error(p,
				    "'%s' is no value of '-o': give FORMAT:PATH, such as "
				    "json:out.json",
				    value);
	if (strcmp(value, "record:-") == 0)
		return option_error(p, "a recording needs a file: give '-o record:PATH'");
	if (strcmp(colon + 1, "-") == 0)
		return option_error(p, "'-o' writes to a file: give '-f %.*s' for standard output",
				    (int)(colon - value), value);
	r = output_check_path(p, "-o", colon + 1, "ep");
	if (r < 0)
		return r;
	for (size_t i = 0; i < o->n_outputs; i++)
		if (o->outputs[i].path && strcmp(o->outputs[i].path, colon + 1) == 0)
			return option_error(p, "two outputs go to '%s': give each its own path",
					    colon + 1);
	output = insert_output(o, o->n_outputs);
	if (!output)
		return -ENOMEM;
	output->format = strndup(value, (size_t)(colon - value));
	output->path = strdup(colon + 1);
	return output->format && output->path ? 0 : -ENOMEM;
}

bool output_has_format(const struct options *o, const char *format)
{
	for (size_t i = 0; i < o->n_outputs; i++)
		if (strcmp(o->outputs[i].format, format) == 0)
			return true;
	return false;
}

uint64_t output_sample_interval_ns(const struct options *o)
{
	bool is_fine = output_has_format(o, "massif") || output_has_format(o, "heaptrack");

	return is_fine ? 10000000 : 100000000;
}
