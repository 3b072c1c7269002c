/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries of systemd's journal with fields.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_REPORTS_JOURNAL_H
#define MEMTRACED_SERVICE_DAEMON_REPORTS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

struct journal_field {
	const char *name;  /* capital letters and '_' */
	const char *value; /* NULL: the field is left out */
};

/*
 * A warning of one line, with at most JOURNAL_MOST_FIELDS. False: there is no journal, or it took
 * nothing.
 */
#define JOURNAL_MOST_FIELDS 16
bool journal_warn(const char *message, const struct journal_field *fields, size_t n);

#endif
