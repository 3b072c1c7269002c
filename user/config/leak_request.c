/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/leak_request.h"

#include <string.h>

static const char *const functions[LEAK_REQUESTS] = {
	[LEAK_REQUEST_FULL] = "memtraced_do_leak_check",
	[LEAK_REQUEST_QUICK] = "memtraced_do_quick_leak_check",
	[LEAK_REQUEST_ADDED] = "memtraced_do_added_leak_check",
	[LEAK_REQUEST_CHANGED] = "memtraced_do_changed_leak_check",
	[LEAK_REQUEST_SUMS] = "memtraced_write_leaks",
};

const char *leak_request_function(enum leak_request request)
{
	return functions[request];
}

enum leak_request leak_request_find(const char *function)
{
	for (int i = LEAK_REQUEST_FULL; function && i < LEAK_REQUESTS; i++)
		if (strcmp(functions[i], function) == 0)
			return (enum leak_request)i;
	return LEAK_REQUEST_NONE;
}
