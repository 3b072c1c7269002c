/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports that stay: files of the state directory, each of the user who asked for it. The oldest of
 * a user's go when they are too many, or take too much room; all when they are too old.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_REPORTS_REPORTS_H
#define MEMTRACED_SERVICE_DAEMON_REPORTS_REPORTS_H

#include "base/cleanup.h"
#include "config/service_config.h"
#include "report/report.h"

#include <sys/stat.h>
#include <time.h>

/*
 * "trace-20261122T141500Z-1-4242-python3.html"; malloc'ed, NULL: no memory. What could be no part
 * of a file's name becomes '_'. `number` tells those of one second apart.
 */
enum report_kind {
	REPORT_TRACE, /* that was asked for */
	REPORT_DEATH, /* a post-mortem */
	REPORT_KINDS
};
char *report_name(enum report_kind kind, time_t now, uint64_t number, pid_t pid, const char *comm,
		  const char *format);

/* The directory, if only that is missing. 1: it was made; 0: it was there; or negative errno. */
int reports_make_directory(const struct service_config *config);

/*
 * Writes it whole or not at all, and makes room among that user's (`users` NULL: that uid's). The
 * directory is made if only that is missing. 0 or negative errno.
 */
struct login_users;
int reports_write(const struct service_config *config, struct login_users *users, const char *name,
		  uid_t uid, const struct report_format *format, const struct view *view);

/*
 * Removes what is older than max_age at that time, of all users. 0 or the first negative
 * errno.
 */
int reports_expire(const struct service_config *config, time_t now);

struct report_row {
	char *name;
	uint64_t bytes;
	time_t time;
	uid_t uid;
};

struct report_rows {
	struct report_row *rows; /* the newest first */
	size_t n_rows;
};

/* All that are there; no directory: none. 0 or negative errno; for report_rows_done. */
int reports_list(const struct service_config *config, struct report_rows *ret_rows);
void report_rows_done(struct report_rows *rows);

/*
 * Opens one for reading, and says whose it is and how large: a descriptor; -ENOENT, also for what
 * is no report's name; or other negative errno.
 */
int reports_open(const struct service_config *config, const char *name, struct stat *ret_st);

#endif
