/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/debug_fetch.h"

#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A server that unpacks a large file from a package takes some seconds before its first byte. */
#define FILE_MS 15000
#define ALL_MS 60000

int debug_fetch_begin(struct debuginfod **ret_debuginfod)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	int r;

	if (!urls || strspn(urls, " ") == strlen(urls)) {
		log_error("--debuginfod: no servers: name them in DEBUGINFOD_URLS, which sudo "
			  "passes on with --preserve-env=DEBUGINFOD_URLS");
		return -EINVAL;
	}
	r = debuginfod_new(FILE_MS, ALL_MS, ret_debuginfod);
	if (r == -ENOPKG)
		log_error("--debuginfod: there is no libdebuginfod.so.1: install libdebuginfod1");
	else if (r)
		log_error("--debuginfod: %s", strerror(-r));
	return r;
}

void debug_fetch_say(const struct debuginfod *debuginfod)
{
	struct debuginfod_counts n = debuginfod_count(debuginfod);

	log_warning("debuginfod: %llu debug files found, %llu that no server has",
		    (unsigned long long)n.found, (unsigned long long)n.missing);
	if (n.failed > 0)
		log_warning("debuginfod: %s; %llu more files were not asked for",
			    strerror(-n.first_error), (unsigned long long)n.not_asked);
	else if (n.not_asked > 0)
		log_warning("debuginfod: the time was over; %llu more files were not asked for",
			    (unsigned long long)n.not_asked);
}
