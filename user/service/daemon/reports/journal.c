/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/reports/journal.h"

#include "base/escape.h"

#include <assert.h>
#include <sys/uio.h>
#include <unistd.h>

/* Where the code is that sends an entry is no news to its readers. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

/* sd_journal_sendv() is silent where nothing listens there. */
#define JOURNAL_SOCKET "/run/systemd/journal/socket"

#define OWN_FIELDS 3

static int send(const struct journal_field *fields, size_t n)
{
	struct strbuf texts[JOURNAL_MOST_FIELDS + OWN_FIELDS] = { 0 };
	struct iovec parts[JOURNAL_MOST_FIELDS + OWN_FIELDS];
	int used = 0, r = 0;

	assert(n <= JOURNAL_MOST_FIELDS + OWN_FIELDS);
	for (size_t i = 0; i < n; i++) {
		struct strbuf *text = &texts[used];

		if (!fields[i].value)
			continue;
		strbuf_addf(text, "%s=", fields[i].name);
		escape_text(text, fields[i].value);
		r = r ? r : strbuf_error(text);
		parts[used++] = (struct iovec){ (void *)strbuf_str(text), text->len };
	}
	if (r == 0)
		r = sd_journal_sendv(parts, used);
	for (int i = 0; i < used; i++)
		strbuf_done(&texts[i]);
	return r;
}

bool journal_warn(const char *message, const struct journal_field *fields, size_t n)
{
	struct journal_field all[JOURNAL_MOST_FIELDS + OWN_FIELDS] = {
		{ "MESSAGE", message },
		{ "PRIORITY", "4" }, /* syslog(3): LOG_WARNING */
		{ "SYSLOG_IDENTIFIER", "memtraced" },
	};

	assert(n <= JOURNAL_MOST_FIELDS);
	for (size_t i = 0; i < n; i++)
		all[OWN_FIELDS + i] = fields[i];
	return access(JOURNAL_SOCKET, F_OK) == 0 && send(all, OWN_FIELDS + n) == 0;
}
