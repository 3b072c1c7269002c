/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/strings.h"

#include <stdarg.h>

void strings_done(struct strings *strings)
{
	interns_done(&strings->known);
}

int strings_intern(struct strings *strings, const char *s, const char **ret_s)
{
	size_t index;
	int r = s ? interns_add_string(&strings->known, s, &index) : 0;

	if (r >= 0)
		*ret_s = s ? interns_get(&strings->known, index) : NULL;
	return r < 0 ? r : 0;
}

int strings_intern_members(struct strings *strings, ...)
{
	const char **member;
	va_list ap;
	int r = 0;

	va_start(ap, strings);
	while (r == 0 && (member = va_arg(ap, const char **)))
		r = strings_intern(strings, *member, member);
	va_end(ap);
	return r;
}
