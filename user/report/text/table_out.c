/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/table_out.h"

#include "config/units.h"

#include <inttypes.h>

void table_wrap(struct table *t, size_t indent, const char *text)
{
	size_t width = view_opts(t->view)->width;

	text_wrap(&t->out, text, width > indent + 20 ? width : indent + 20, indent);
}

const char *table_size(int64_t bytes, bool exact, char buf[TABLE_NUMBER_LEN])
{
	char number[FORMAT_UNIT_LEN];

	snprintf(buf, TABLE_NUMBER_LEN, "%s%s", exact ? "" : "~", format_size(bytes, number));
	return buf;
}

const char *table_count(uint64_t n, bool exact, char buf[TABLE_NUMBER_LEN])
{
	snprintf(buf, TABLE_NUMBER_LEN, "%s%" PRIu64, exact ? "" : "≥", n);
	return buf;
}

const char *table_rate(double bytes_per_s, char buf[TABLE_NUMBER_LEN])
{
	static const struct {
		const char *per;
		double seconds;
	} units[] = { { "s", 1 }, { "min", 60 }, { "h", 3600 }, { "day", 86400 } };
	char number[FORMAT_UNIT_LEN];
	size_t i = 0;

	/* what takes longer than a day for a KiB is no rate to speak of */
	while (i < 3 && bytes_per_s * units[i].seconds < 1024)
		i++;
	snprintf(buf, TABLE_NUMBER_LEN, "~%s/%s",
		 format_size((int64_t)(bytes_per_s * units[i].seconds), number), units[i].per);
	return buf;
}

size_t table_shown(const struct table *t, size_t n)
{
	uint64_t top = view_opts(t->view)->top;

	return top > 0 && top < n ? top : n;
}

void table_pid(const struct model_process *image, char buf[TABLE_PID_LEN])
{
	if (image->known)
		snprintf(buf, TABLE_PID_LEN, "%" PRIu32, image->pid);
	else
		snprintf(buf, TABLE_PID_LEN, "?");
}

void table_process(struct strbuf *out, const struct model_process *image)
{
	char pid[TABLE_PID_LEN];

	table_pid(image, pid);
	escape_text(out, *image->comm ? image->comm : "?");
	strbuf_addf(out, " (pid %s)", pid);
}
