/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `memtraced report FILE`: the reports of a recorded run.
 */
#ifndef MEMTRACED_SERVICE_REPLAY_H
#define MEMTRACED_SERVICE_REPLAY_H

#include "trace/record/record.h"

#include <stdio.h>

struct options;

/* 0; -EINVAL: usage; -EPIPE: stdout is closed; other negative errno. What is wrong was logged. */
int replay_report(const struct options *options);

/*
 * Reading recordings: the records of a file, in order, as far as it can be read. What is wrong with
 * it is logged here.
 */

/* With the rights that the process has now. 0 or -EIO. */
int recorded_run_open(const char *path, FILE **ret_file);

/*
 * Hands all records of the file, which has this path, to fn. 0; *ret_damaged: it ends early or is
 * damaged, and what comes before that was handed over (logged as a warning). -EIO: the file cannot
 * be read; -EBADMSG or the like: it is no recording; or what fn returned, of which -EPROTO is a
 * damage.
 */
int recorded_run_read(FILE *file, const char *path, record_fn fn, void *userdata,
		      bool *ret_damaged);

#endif
