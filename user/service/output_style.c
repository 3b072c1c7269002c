/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/output_style.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool colored(const struct options *options, const struct option_output *output)
{
	if (options->color == COLOR_AUTO)
		return !output->path && isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	return options->color == COLOR_ALWAYS;
}

static unsigned int terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_col < 80)
		return 80;
	return size.ws_col;
}

struct report_opts output_style(const struct options *options, const struct option_output *output)
{
	return (struct report_opts){
		.sort = options->sort,
		.top = options->top,
		.older_than_ns = options->older_than_ns,
		.where = options->where,
		.group_by = options->group_by,
		.widths = options->widths,
		.color = colored(options, output),
		.width = output->path ? 80 : terminal_width(),
		.massif = options->massif,
	};
}
