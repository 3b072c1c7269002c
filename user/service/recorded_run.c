/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/recorded_run.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "trace/record/recording.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int recorded_run_open(const char *path, FILE **ret_file)
{
	FILE *file = fopen(path, "re");

	if (!file) {
		log_error("cannot read %s: %s", path, strerror(errno));
		return -EIO;
	}
	*ret_file = file;
	return 0;
}

int recorded_run_read(FILE *file, const char *path, record_fn fn, void *userdata, bool *ret_damaged)
{
	_cleanup_(source_free_p) struct source *source = NULL;
	bool meaningless;
	int r = recording_open(file, &source);

	if (r) {
		log_error("%s is no recording of this or an earlier version of memtraced", path);
		return r;
	}
	r = source_drain(source, fn, userdata);
	/* What the checksums cannot tell: a record that has no meaning where it stands. */
	meaningless = r == -EPROTO;
	if (meaningless)
		r = fn(&(struct record){ .type = RECORD_CUT_OFF }, userdata);
	if (r < 0) {
		log_error("cannot read %s: %s", path, strerror(-r));
		return r;
	}
	*ret_damaged = meaningless || recording_truncated(source);
	if (meaningless)
		log_warning("%s is damaged: the report is of what comes before that", path);
	else if (*ret_damaged)
		log_warning("%s ends early or is damaged: the report is of what comes before that",
			    path);
	return 0;
}
