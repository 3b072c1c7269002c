/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands that trace nothing themselves, each in a file of its own. */
#ifndef MEMTRACED_SERVICE_COMMANDS_H
#define MEMTRACED_SERVICE_COMMANDS_H

#include "trace/record/record.h"

#include <stdio.h>

struct ctl_options;
struct options;

/*
 * `memtraced report FILE`: the reports of a recorded run (replay.c). 0; -EINVAL: usage; -EPIPE:
 * stdout is closed; other negative errno. What is wrong was logged.
 */
int replay_report(const struct options *options);

/* Opens a recording, with the rights that the process has now. 0 or -EIO, which is logged. */
int recorded_run_open(const char *path, FILE **ret_file);

/*
 * Hands all records of the file, which has this path, to fn, in order. What is wrong is logged. 0;
 * *ret_damaged: it ends early or is damaged, and what comes before that was handed over. -EIO: the
 * file cannot be read; -EBADMSG or the like: it is no recording; or what fn returned, of which
 * -EPROTO is a damage.
 */
int recorded_run_read(FILE *file, const char *path, record_fn fn, void *userdata,
		      bool *ret_damaged);

/*
 * `memtraced diff BEFORE AFTER`: what has changed from one recorded run to another. 0; -EINVAL:
 * usage; -EPIPE: stdout is closed; other negative errno: a file cannot be read, has nothing to
 * compare, or an output could not be written. What is wrong was logged.
 */
int diff_recordings(const struct options *options);

/*
 * `memtraced ctl`: asks a running service over its Unix socket and prints what it says. 0; -EPIPE:
 * stdout is closed; or negative errno: there is no service, or it refused (logged).
 */
int ctl_run(const struct ctl_options *options);

#endif
