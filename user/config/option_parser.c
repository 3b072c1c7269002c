/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/option_parser.h"

#include <errno.h>
#include <stdio.h>

int option_error(struct option_parser *p, const char *fmt, ...)
{
	va_list ap;

	strbuf_reset(p->error);
	va_start(ap, fmt);
	strbuf_vaddf(p->error, fmt, ap);
	va_end(ap);
	return strbuf_error(p->error) < 0 ? -ENOMEM : -EINVAL;
}

bool option_takes_value(const struct option_def *def)
{
	return def->metavar || def->choices;
}

const char *option_spelling(const struct option_def *def, char buf[OPTION_SPELLING_LEN])
{
	if (def->long_name)
		(void)snprintf(buf, OPTION_SPELLING_LEN, "--%s", def->long_name); /* fits */
	else
		(void)snprintf(buf, OPTION_SPELLING_LEN, "-%c", def->short_name);
	return buf;
}
